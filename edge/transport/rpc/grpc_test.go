package rpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/attack"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// envelope returns a message of gRPC.
func envelope(flags byte, message []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(message)))
	return append(b, message...)
}

// What is served without connect is answered as connect answers it: the same messages, the
// same status, message and details, whatever the request is.
func TestGRPCIsServedAsConnectServesIt(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{Commit: func(_ context.Context, u *engram.EntityUpdate) error {
		if strings.HasSuffix(u.Entity.String(), "/panics") {
			panic("a defect")
		}
		return nil
	}}))
	at := serving.Serve(t, s, nil, rpc.Options{MaxMessage: 1 << 20, MaxRequest: 1 << 10, MaxValues: 1000}, serving.AnyPort)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()

	commit := func(entity string, size int) []byte {
		m := &engramv1.CommitRequest{Updates: []*engramv1.EntityUpdate{{Entity: entity, Time: proto.Int64(5)}}}
		p := testkit.Value(t, strings.Repeat("x", size))
		m.Updates[0].Instances = []*engramv1.Instance{{Payload: &engramv1.Payload{Type: p.Type, Data: p.Bytes}}}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	slow, err := proto.Marshal(&engramv1.SubscribeRequest{Slow: 7})
	if err != nil {
		t.Fatal(err)
	}
	good := commit("Test/Any/p/e", 10)
	cut := envelope(0, good)
	cut = cut[:len(cut)-1]
	two := append(envelope(0, good), envelope(0, good)...)
	zip := http.Header{"Grpc-Encoding": {"gzip"}}
	for _, tt := range []struct {
		name, procedure string
		header          http.Header
		body            []byte
		status          string
	}{
		{"a commit", "Commit", nil, envelope(0, good), "0"},
		{"a commit named in full", "Commit", http.Header{"Content-Type": {"application/grpc+proto"}}, envelope(0, good), "0"},
		{"a commit with a deadline", "Commit", http.Header{"Grpc-Timeout": {"20S"}}, envelope(0, good), "0"},
		{"a commit without an end in sight", "Commit", http.Header{"Grpc-Timeout": {"99999999H"}}, envelope(0, good), "0"},
		{"a commit too late", "Commit", http.Header{"Grpc-Timeout": {"0n"}}, envelope(0, good), "4"},
		{"no deadline", "Commit", http.Header{"Grpc-Timeout": {"soon"}}, envelope(0, good), "3"},
		{"a large commit", "Commit", nil, envelope(0, commit("Test/Any/p/e", 900_000)), "0"},
		{"a compressed commit", "Commit", zip, envelope(1, attack.Gzip(commit("Test/Any/p/e", 500_000))), "0"},
		{"a commit that could be compressed", "Commit", zip, envelope(0, good), "0"},
		{"compressed, it does not say how", "Commit", nil, envelope(1, attack.Gzip(good)), "13"},
		{"compressed, it says something else", "Commit", http.Header{"Grpc-Encoding": {"br"}}, envelope(1, good), "12"},
		{"it is not compressed at all", "Commit", zip, envelope(1, good), "3"},
		{"an empty commit", "Commit", nil, envelope(0, nil), "0"},
		{"what memory there is not", "Commit", nil, envelope(0, commit("Nobody/Any/p/e", 1)), "0"},
		{"a hook that panics", "Commit", nil, envelope(0, commit("Test/Any/p/panics", 1)), "13"},
		{"too large", "Commit", nil, envelope(0, commit("Test/Any/p/e", 2<<20)), "8"},
		{"too large when it is unpacked", "Commit", zip, envelope(1, attack.Gzip(commit("Test/Any/p/e", 2<<20))), "8"},
		{"too many values", "Commit", nil, envelope(0, attack.Repeat(attack.Field(1, nil), 5000)), "8"},
		{"no message", "Commit", nil, nil, "12"},
		{"two messages", "Commit", nil, two, "12"},
		{"half an envelope", "Commit", nil, []byte{0, 0}, "13"},
		{"a message cut short", "Commit", nil, cut, "13"},
		{"flags that there are not", "Commit", nil, envelope(4, good), "13"},
		{"no protobuf", "Commit", nil, envelope(0, []byte("\xff\xff\xff")), "3"},
		{"a stream of two", "CommitStream", nil, two, "0"},
		{"an empty stream", "CommitStream", nil, nil, "0"},
		{"a stream that ends badly", "CommitStream", nil, append(envelope(0, good), 0), "13"},
		{"a stream with something too large", "CommitStream", nil, append(envelope(0, good), envelope(0, commit("Test/Any/p/e", 2<<20))...), "8"},
		{"a stream of which one is no protobuf", "CommitStream", nil, append(envelope(0, good), envelope(0, []byte("\xff"))...), "3"},
		{"a subscription that makes writers wait", "Subscribe", nil, envelope(0, slow), "12"},
		{"a subscription that is too long", "Subscribe", nil, envelope(0, make([]byte, 2<<10)), "8"},
		{"a subscription without a request", "Subscribe", nil, nil, "12"},
		{"a subscription that comes too late", "Subscribe", http.Header{"Grpc-Timeout": {"0n"}}, envelope(0, nil), "4"},
	} {
		ask := func(times string) string {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.Address+"/engram.v1.MemoryService/"+tt.procedure, bytes.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/grpc")
			r.Header.Set("Te", "trailers")
			r.Header.Set("Engram-Times", times)
			if times == "" {
				r.Header.Del("Engram-Times")
			}
			for k, v := range tt.header {
				r.Header[k] = v
			}
			res, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if got := res.Trailer.Get("Grpc-Status"); got != tt.status {
				t.Errorf("%s: status %s %s; want %s", tt.name, got, res.Trailer.Get("Grpc-Message"), tt.status)
			}
			if tt.procedure == "Subscribe" {
				body = body[:min(len(body), 1)] // the first message has the number of the last commit
			}
			return fmt.Sprintf("%d %s %s %v %d bytes", res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Grpc-Accept-Encoding"), res.Trailer, len(body))
		}
		if ours, connects := ask(""), ask("nanoseconds"); ours != connects {
			t.Errorf("%s: the answer is\n%s\nand connect's\n%s", tt.name, ours, connects)
		}
	}
}
