package rpc_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/edge/transport/rpc/reflection"
	"github.com/seed-301d4374/engram/fleet/mns"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// Responses are not compressed, whoever asks for it; requests may be.
func TestGzipIsReadButNotWritten(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	testkit.Commit(t, s, update(t, "e", 1, strings.Repeat("x", 10_000)))
	address := serving.Serve(t, s, nil, rpc.Options{}, serving.AnyPort).Address
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	z.Write([]byte(`{"entity": "Test/Any/p/e"}`))
	z.Close()
	r, err := http.NewRequest(http.MethodPost, address+"/engram.v1.MemoryService/Latest", &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	r.Header.Set("Accept-Encoding", "gzip") // set by hand: the transport does not unpack
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer res.Body.Close()
	answer, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "" || !bytes.HasPrefix(answer, []byte("{")) {
		t.Errorf("status %d, encoding %q, answer %.40q", res.StatusCode, res.Header.Get("Content-Encoding"), answer)
	}
}

// plainTimes asks for times as generated clients that speak JSON read them.
type plainTimes struct{ http.RoundTripper }

func (p plainTimes) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Engram-Times", "nanoseconds")
	return p.RoundTripper.RoundTrip(r)
}

// One handler speaks gRPC, gRPC-Web and Connect, over HTTP/1.1 and HTTP/2.
func TestEveryProtocol(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	testkit.Commit(t, s, update(t, "e", 1, "x"))
	address := serving.Serve(t, s, nil, rpc.Options{Server: "me"}, serving.AnyPort).Address
	for _, tt := range []struct {
		name  string
		http2 bool
		o     []connect.ClientOption
	}{
		{"connect over HTTP/1.1", false, nil},
		{"connect over HTTP/2", true, nil},
		{"connect with JSON", true, []connect.ClientOption{connect.WithProtoJSON()}},
		{"grpc over HTTP/2", true, []connect.ClientOption{connect.WithGRPC()}},
		{"grpc-web over HTTP/1.1", false, []connect.ClientOption{connect.WithGRPCWeb()}},
		{"grpc-web over HTTP/2", true, []connect.ClientOption{connect.WithGRPCWeb()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetHTTP1(!tt.http2)
			transport.Protocols.SetUnencryptedHTTP2(tt.http2)
			defer transport.CloseIdleConnections()
			by, memory := &http.Client{Transport: plainTimes{transport}}, address+"/engram.v1.MemoryService/"
			info, err := connect.NewClient[engramv1.InfoRequest, engramv1.InfoResponse](by, memory+"Info", tt.o...).
				CallUnary(t.Context(), connect.NewRequest(&engramv1.InfoRequest{}))
			if err != nil || info.Msg.GetServer() != "me" {
				t.Errorf("info %v, %v", info, err)
			}
			_, err = connect.NewClient[engramv1.LatestRequest, engramv1.LatestResponse](by, memory+"Latest", tt.o...).
				CallUnary(t.Context(), connect.NewRequest(&engramv1.LatestRequest{Entity: "Test/Any/p/nobody"}))
			if connect.CodeOf(err) != connect.CodeNotFound {
				t.Errorf("an unknown entity: %v", err)
			}
			stream, err := connect.NewClient[engramv1.SubscribeRequest, engramv1.SubscribeResponse](by, memory+"Subscribe", tt.o...).
				CallServerStream(t.Context(), connect.NewRequest(&engramv1.SubscribeRequest{Start: &engramv1.SubscribeRequest_Last{Last: 1}}))
			if err != nil {
				t.Fatal(err)
			}
			if !stream.Receive() || stream.Msg().GetEpoch() != s.Epoch() || !stream.Receive() || len(stream.Msg().GetUpdates()) != 1 {
				t.Errorf("subscription: %v, %v", stream.Msg(), stream.Err())
			}
			stream.Close()
		})
	}
}

func TestReflectionAndHealth(t *testing.T) {
	at := serving.Serve(t, serving.New(t, testMemory(server.Hooks{})), mns.NewLocal(), rpc.Options{Reflection: reflection.Handlers}, serving.Socket(t))
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(at.Address, "unix:"))
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}

	asking := grpcreflect.NewClient(client, "http://engram").NewStream(t.Context())
	services, err := asking.ListServices()
	for _, want := range []protoreflect.FullName{"engram.v1.MemoryService", "engram.v1.NameService", "grpc.health.v1.Health"} {
		if err != nil || !slices.Contains(services, want) {
			t.Errorf("services %v, %v; want %s among them", services, err, want)
		}
	}
	if _, err := asking.FileContainingSymbol("engram.v1.MemoryService"); err != nil {
		t.Error(err)
	}
	if _, err := asking.Close(); err != nil {
		t.Error(err)
	}

	health := func() string {
		res, err := client.Post("http://engram/grpc.health.v1.Health/Check", "application/json", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, _ := io.ReadAll(res.Body)
		return string(answer)
	}
	if got := health(); !strings.Contains(got, `SERVING_STATUS_SERVING`) {
		t.Errorf("health %s", got)
	}
	at.Handler.Drain()
	if got := health(); !strings.Contains(got, `NOT_SERVING`) {
		t.Errorf("health while draining %s", got)
	}
	c := serving.Dial(t, at.Address, rpc.DialOptions{})
	_, err = c.Subscribe(t.Context(), engram.Subscription{})
	want(t, "a subscription while draining", err, engram.Unavailable, "stopping")
	if _, err := c.TypeNames(t.Context()); err != nil {
		t.Errorf("a call while draining: %v", err)
	}
}
