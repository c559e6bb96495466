package rpc_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// What goes beyond a limit is refused by name, and nothing that was stored before
// is lost.
func TestLimitsAreTypedErrors(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{MaxMessage: 1 << 20, MaxPattern: 100, MaxRegex: 20, MaxQueryNodes: 1000}, serving.Socket(t)).Address, rpc.DialOptions{})
	testkit.Commit(t, c, update(t, "kept", 1, "x"))
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("e%d", i)
	}
	many := engram.Pattern{Levels: []engram.NameSelector{engram.AllNames(), engram.AllNames(), engram.AllNames(), engram.OneOf(names...)}}
	regex := engram.Pattern{Levels: []engram.NameSelector{engram.MatchRegex(strings.Repeat("x", 21))}}
	broken := engram.Pattern{Levels: []engram.NameSelector{engram.MatchRegex("(")}}
	deep := engram.Query{Memories: []engram.QueryNode{{}}}
	for range 9 {
		deep.Memories = []engram.QueryNode{{Children: deep.Memories}}
	}
	query := func(q engram.Query) error { _, err := c.Query(t.Context(), q); return err }
	for _, tt := range []struct {
		what string
		err  error
		code engram.Code
		word string
	}{
		{"100,000 entities in one query", query(many.Select(engram.Latest(1))), engram.Exhausted, "1000"},
		{"a regex too long", query(regex.Select(engram.Latest(1))), engram.Exhausted, "20"},
		{"a regex that does not compile", query(broken.Select(engram.Latest(1))), engram.Invalid, "regex"},
		{"a query too deep", query(deep), engram.Invalid, "levels"},
		{"snapshots that make no sense", query(engram.MustPattern("Test").Select(engram.Latest(0))), engram.Invalid, "at least 1"},
		{"describing 100,000 entities", second(c.Describe(t.Context(), many)), engram.Exhausted, "1000"},
		{"counting with a long regex", second(c.Stats(t.Context(), regex, engram.LevelMemory)), engram.Exhausted, "20"},
		{"watching 100,000 entities", second(c.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{many}})), engram.Exhausted, "1000"},
		{"predicting 100,000 times", second(c.Predict(t.Context(), make([]engram.ID, 100_000))), engram.Exhausted, "1000"},
		{"a message over the limit", second(c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{update(t, "big", 1, strings.Repeat("x", 2<<20))}})), engram.Exhausted, "1048576"},
	} {
		want(t, tt.what, tt.err, tt.code, tt.word)
	}
	if _, err := c.Latest(t.Context(), engram.MustID("Test/Any/p/kept")); err != nil {
		t.Errorf("what was stored before: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestMessageOverTheLimitEndsACommitStream(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{MaxMessage: 1 << 20}, serving.Socket(t)).Address, rpc.DialOptions{})
	stream, err := c.CommitStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := stream.Send(engram.Commit{Updates: []engram.EntityUpdate{update(t, "e", 1, "x")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(engram.Commit{Updates: []engram.EntityUpdate{update(t, "e", 2, strings.Repeat("x", 2<<20))}}); err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	want(t, "the answer to a commit over the limit", err, engram.Exhausted, "1048576")
	if snap, err := c.Latest(t.Context(), engram.MustID("Test/Any/p/e")); err != nil || snap.Time != 1 {
		t.Errorf("latest is %v, %v; want the snapshot before", snap, err)
	}
}

func TestStreamsPerConnectionAreBounded(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, nil, rpc.Options{MaxStreams: 3}, serving.Socket(t))
	c := serving.Dial(t, at.Address, rpc.DialOptions{})
	var open []engram.UpdateStream
	for range 3 {
		sub, err := c.Subscribe(t.Context(), engram.Subscription{})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		open = append(open, sub)
	}
	_, err := c.Subscribe(t.Context(), engram.Subscription{})
	want(t, "one stream too many", err, engram.Exhausted, "3", "connection")
	if _, err := c.TypeNames(t.Context()); err != nil {
		t.Errorf("other calls on the same connection: %v", err)
	}
	other, err := serving.Dial(t, at.Address, rpc.DialOptions{}).Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Errorf("a stream on another connection: %v", err)
	} else {
		other.Close()
	}
	open[0].Close()
	eventually(t, "a stream after another was closed", func() error {
		sub, err := c.Subscribe(t.Context(), engram.Subscription{})
		if err == nil {
			sub.Close()
		}
		return err
	})
}

// eventually repeats f, which waits for the other side to notice something, until
// it succeeds.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	testkit.Until(t, func() (string, bool) {
		err := f()
		return fmt.Sprintf("%s: %v", what, err), err == nil
	})
}

func TestSubscriptionsPerServerAreBounded(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, mns.NewLocal(), rpc.Options{MaxSubscriptions: 2}, serving.Socket(t))
	for range 2 {
		sub, err := serving.Dial(t, at.Address, rpc.DialOptions{}).Subscribe(t.Context(), engram.Subscription{})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
	}
	_, err := serving.Dial(t, at.Address, rpc.DialOptions{}).Subscribe(t.Context(), engram.Subscription{})
	want(t, "one subscription too many", err, engram.Exhausted, "2 subscriptions")
	for _, err := range serving.Dial(t, at.Address, rpc.DialOptions{}).Names().Watch(t.Context()) {
		want(t, "a name watch too many", err, engram.Exhausted)
	}
}

// A client that vanishes in mid-stream leaves nothing behind.
func TestClientThatDisconnectsIsForgotten(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, nil, rpc.Options{MaxSubscriptions: 1}, serving.Socket(t))
	testkit.Commit(t, s, update(t, "kept", 1, "x"))
	p := newProxy(t, at.Address)
	gone, err := serving.Dial(t, rpc.AddressOf(p), rpc.DialOptions{ReconnectFor: time.Nanosecond}).Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	p.cut()
	_, err = gone.Next(t.Context())
	want(t, "the subscription that was cut", err, engram.Unavailable)
	c := serving.Dial(t, at.Address, rpc.DialOptions{})
	eventually(t, "a subscription in the place of the one that was cut", func() error {
		sub, err := c.Subscribe(t.Context(), engram.Subscription{})
		if err == nil {
			sub.Close()
		}
		return err
	})
	testkit.Commit(t, c, update(t, "e", 1, "x"))
	if _, err := c.Latest(t.Context(), engram.MustID("Test/Any/p/kept")); err != nil {
		t.Errorf("what was stored before: %v", err)
	}
}

// Whoever takes too long for his headers, or stops in the middle of his request,
// or never reads the answer, is cut off.
func TestStallingClientsAreCutOff(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, nil, rpc.Options{HeaderTimeout: 50 * time.Millisecond, StallTimeout: 50 * time.Millisecond}, serving.Socket(t))
	const stored = 8 // of 1 MB: more than the connection's buffers hold
	for i := range stored {
		testkit.Commit(t, s, update(t, fmt.Sprint(i), 1, strings.Repeat("x", 1<<20)))
	}
	const head = "POST /engram.v1.MemoryService/Query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 14\r\n"
	for what, sent := range map[string]string{
		"headers that do not end":    head,
		"a body that does not come":  head + "\r\n",
		"half a body":                head + "\r\n{\"patt",
		"an answer that is not read": strings.Replace(head, "14", "48", 1) + "\r\n" + `{"pattern":"","snapshots":[{"all":true}]}       `,
	} {
		var conn net.Conn
		eventually(t, what, func() (err error) {
			if conn, err = net.Dial("unix", strings.TrimPrefix(at.Address, "unix:")); err != nil {
				return err
			}
			if _, err = conn.Write([]byte(sent)); err != nil {
				conn.Close() // it was cut off before it said anything
			}
			return err
		})
		// Writing on, a byte at a time, fails once the server has closed.
		eventually(t, what, func() error {
			if what == "an answer that is not read" {
				conn.SetReadDeadline(time.Time{})
			}
			if _, err := conn.Write([]byte(" ")); err != nil {
				return nil
			}
			return fmt.Errorf("the connection is still open")
		})
		conn.Close()
	}
	// Nothing stored was lost, and others are answered: here by a handler that lets them
	// be slower, as they may be on a busy machine.
	kept, err := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{}).Query(t.Context(), engram.Query{
		Memories: engram.MustPattern("Test").Select(engram.All()).Memories, WithoutPayload: true,
	})
	if err != nil || len(kept.Items()) != stored {
		t.Errorf("others: %d snapshots, %v; want all %d", len(kept.Items()), err, stored)
	}
}

// Who stops in the middle of a message of a commit stream loses the stream, and the room
// that was taken for the message.
func TestCommitStreamThatStallsIsCutOff(t *testing.T) {
	at := serving.Serve(t, serving.New(t, testMemory(server.Hooks{})), nil, rpc.Options{StallTimeout: 50 * time.Millisecond}, serving.Socket(t))
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: p, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", strings.TrimPrefix(at.Address, "unix:"))
	}}
	defer tr.CloseIdleConnections()
	body, send := io.Pipe()
	defer send.Close()
	go send.Write(append([]byte{0, 0, 16, 0, 0}, make([]byte, 20<<10)...)) // of 1 MB
	res, err := (&http.Client{Transport: tr}).Post("http://x/engram.v1.MemoryService/CommitStream", "application/grpc", body)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	if status := res.Header.Get("Grpc-Status") + res.Trailer.Get("Grpc-Status"); err != nil || status != "4" {
		t.Errorf("it ended with status %q, %v; want 4, that it took too long", status, err)
	}
}

// Neither random bytes nor requests that are no messages do the server harm.
func TestGarbageIsAnswered(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, mns.NewLocal(), rpc.Options{}, serving.AnyPort)
	for _, tt := range []struct {
		path, contentType, body string
		status                  int
	}{
		{"/engram.v1.MemoryService/Commit", "application/json", "{", 400},
		{"/engram.v1.MemoryService/Commit", "application/json", `{"updates":[{"entity":7}]}`, 400},
		{"/engram.v1.MemoryService/Commit", "application/proto", "\xff\xff\xff", 400},
		{"/engram.v1.MemoryService/Commit", "text/plain", "hello", 415},
		{"/engram.v1.MemoryService/Latest", "application/json", `{"entity":"a/b/c"}`, 400},
		{"/engram.v1.MemoryService/Latest", "application/json", `{"entity":"Test/Any/p/nobody"}`, 404},
		{"/engram.v1.MemoryService/Query", "application/json", `{"pattern":"","memories":[{}]}`, 400},
		{"/engram.v1.MemoryService/Query", "application/json", `{"snapshots":[{"all":true}]}`, 400},
		{"/engram.v1.MemoryService/Query", "application/json", `{"pattern":"","snapshots":[{}]}`, 400},
		{"/engram.v1.MemoryService/Query", "application/json", `{"pattern":"","target":9}`, 400},
		{"/engram.v1.MemoryService/Stats", "application/json", `{"depth":77}`, 400},
		{"/engram.v1.MemoryService/Predict", "application/json", `{"ids":["//"]}`, 400},
		{"/engram.v1.MemoryService/AddSegment", "application/json", `{"segment":{"id":"Test/A","durability":77}}`, 400},
		{"/engram.v1.MemoryService/AddSegment", "application/json", `{"segment":{"id":"Test/Any/p","fixedProviders":true}}`, 400},
		{"/engram.v1.MemoryService/Nothing", "application/json", `{}`, 404},
		{"/engram.v1.NameService/Register", "application/json", `{}`, 400},
		{"/", "application/json", `{}`, 404},
	} {
		res, err := http.Post(at.Address+tt.path, tt.contentType, bytes.NewReader([]byte(tt.body)))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != tt.status {
			t.Errorf("%s %s: status %d; want %d", tt.path, tt.body, res.StatusCode, tt.status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	raw, err := net.Dial("tcp", strings.TrimPrefix(at.Address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	fmt.Fprint(raw, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", strings.Repeat("\xff", 1000))
	if _, err := serving.Dial(t, at.Address, rpc.DialOptions{}).TypeNames(t.Context()); err != nil {
		t.Errorf("others: %v", err)
	}
}

func TestPanicInAHookIsOneCallsError(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{Query: func(context.Context, *engram.Query) error { panic("a defect") }}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{})
	_, err := c.Query(t.Context(), engram.MustPattern("Test").Select(engram.Latest(1)))
	want(t, "a query that panics", err, engram.Internal, "a defect")
	testkit.Commit(t, c, update(t, "e", 1, "x"))
}
