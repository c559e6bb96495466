package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

func TestInfoTellsWhoAnswers(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, nil, rpc.Options{Server: "robot-1"}, serving.Socket(t))
	c := serving.Dial(t, at.Address, rpc.DialOptions{Server: "robot-1"})
	info := c.Server()
	if info.Server != "robot-1" || info.Epoch != s.Epoch() || !slices.Equal(info.Memories, []string{"Test"}) {
		t.Errorf("info is %+v", info)
	}
	_, err := rpc.Dial(t.Context(), at.Address, rpc.DialOptions{Server: "robot-2"})
	want(t, "dialling another server than meant", err, engram.Conflict, "robot-1", "robot-2")
}

func TestDialSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		address string
		code    engram.Code
		word    string
	}{
		{"unix:" + t.TempDir() + "/nobody", engram.Unavailable, "does not answer"},
		{"127.0.0.1:1", engram.Unavailable, "127.0.0.1:1"},
		{"unix:", engram.Invalid, "unix:/path"},
		{"robot", engram.Invalid, "host:port"},
		{"https://robot:7411", engram.Forbidden, "credentials"},
		{"ftp://robot:7411", engram.Unsupported, "ftp"},
		{"http://robot:7411/memory", engram.Invalid, "ends after its port"},
	} {
		_, err := rpc.Dial(t.Context(), tt.address, rpc.DialOptions{})
		want(t, tt.address, err, tt.code, tt.word)
	}
}

// What stands before an "@" may be a password: no error has it.
func TestUsersInAddressesAreNotShown(t *testing.T) {
	for _, before := range []string{"u:swordfish", "http://u:swordfish", "https://u:sword%zzfish", "https://u:sword@fish", "ftp://u:swordfish", "nats://u:swordfish", "u:://swordfish"} {
		_, err := rpc.Dial(t.Context(), before+"@127.0.0.1:1", rpc.DialOptions{})
		want(t, "dialling as a user", err, engram.Invalid, "xxxxx@127.0.0.1:1: ", "credentials")
		l, listenErr := rpc.Listen(before + "@127.0.0.1:0")
		if listenErr == nil {
			l.Close()
		}
		want(t, "listening as a user", listenErr, engram.Invalid)
		if all := fmt.Sprint(err, listenErr); strings.Contains(all, "sword") || strings.Contains(all, "fish") {
			t.Errorf("a password is shown: %v", all)
		}
	}
}

// Errors of the service come back as they were: code, thing and message.
func TestErrorsKeepTheirCode(t *testing.T) {
	codes := []engram.Code{
		engram.Internal, engram.Invalid, engram.NotFound, engram.AlreadyExists, engram.TypeMismatch, engram.OutOfRange,
		engram.TooOld, engram.TooNew, engram.Conflict, engram.Unavailable, engram.Exhausted, engram.Corrupt, engram.Canceled, engram.Unsupported,
	}
	var refuse engram.Error
	s := serving.New(t, testMemory(server.Hooks{
		Query:  func(context.Context, *engram.Query) error { e := refuse; return &e },
		Commit: func(context.Context, *engram.EntityUpdate) error { e := refuse; return &e },
	}))
	for _, grpc := range []bool{false, true} {
		c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{GRPC: grpc})
		for _, code := range codes {
			refuse = engram.Error{Code: code, Thing: "the thing", Msg: "what is wrong with ünicode"}
			results, err := c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{update(t, "e", 1, "x")}})
			if err != nil {
				t.Fatal(err)
			}
			got, ok := errors.AsType[*engram.Error](results[0].Err)
			if !ok || got.Code != code || got.Thing != refuse.Thing || got.Msg != refuse.Msg {
				t.Errorf("grpc=%v: an update refused with %v: got %#v", grpc, code, results[0].Err)
			}
			// The server names the memory whose hook it was.
			_, err = c.Query(t.Context(), engram.MustPattern("Test").Select(engram.Latest(1)))
			got, ok = errors.AsType[*engram.Error](err)
			if !ok || got.Code != code || got.Thing != "Test" || !strings.Contains(got.Msg, refuse.Msg) {
				t.Errorf("grpc=%v: a query refused with %v: got %#v", grpc, code, err)
			}
		}
	}
}

func TestCommitRefusesUpdateByUpdate(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{})
	unknown := update(t, "e", 3, "x")
	unknown.Entity = engram.MustID("Nowhere/Any/p/e")
	nan := update(t, "e", 4, "x")
	nan.Instances[0].Confidence = float32(nanValue())
	notAnEntity := update(t, "e", 5, "x")
	notAnEntity.Entity = engram.MustID("Test/Any")
	results, err := c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{
		update(t, "e", 1, "first"), unknown, nan, notAnEntity, update(t, "e", 2, "second"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Err != nil || results[4].Err != nil {
		t.Errorf("good updates beside bad ones: %v, %v", results[0].Err, results[4].Err)
	}
	want(t, "an unknown memory", results[1].Err, engram.NotFound, "Nowhere")
	want(t, "a NaN confidence", results[2].Err, engram.Invalid)
	want(t, "an update of a segment", results[3].Err, engram.Invalid)
	snap, err := c.Latest(t.Context(), engram.MustID("Test/Any/p/e"))
	if err != nil || snap.Time != 2 {
		t.Errorf("latest is %v, %v; want that of time 2", snap, err)
	}
}

func nanValue() float64 { zero := 0.0; return zero / zero }

// A payload crosses both ways byte for byte, whatever it holds.
func TestPayloadBytesAreKept(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{})
	u := update(t, "e", 1, "x")
	// Encoded as no encoder would: an unknown field first.
	u.Instances[0].Payload.Bytes = append([]byte{0xFA, 0x7F, 0x01, 0x00}, u.Instances[0].Payload.Bytes...)
	u.Instances[0].Sent, u.Instances[0].HasSent, u.Instances[0].Confidence = 7, true, 0
	testkit.Commit(t, c, u)
	snap, err := c.Latest(t.Context(), u.Entity)
	if err != nil {
		t.Fatal(err)
	}
	got := snap.Instances[0]
	if !bytes.Equal(got.Payload.Bytes, u.Instances[0].Payload.Bytes) || got.Payload.Type != engram.ValueType {
		t.Errorf("payload %v of %s; want %v", got.Payload.Bytes, got.Payload.Type, u.Instances[0].Payload.Bytes)
	}
	if got.Sent != 7 || !got.HasSent || got.Confidence != 0 {
		t.Errorf("metadata sent %v (%v), confidence %v; want 7 (true), 0", got.Sent, got.HasSent, got.Confidence)
	}
}

func TestCommitStreamAnswersInOrder(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{})
	stream, err := c.CommitStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	const n = 5000 // several times what may be in flight
	sendErr := make(chan error, 1)
	go func() {
		for i := range n {
			var cm engram.Commit // of no, one or two updates
			for k := range i % 3 {
				cm.Updates = append(cm.Updates, update(t, fmt.Sprintf("e%d", k), engram.Time(i), i))
			}
			if err := stream.Send(cm); err != nil {
				sendErr <- err
				return
			}
		}
		sendErr <- errors.Join(stream.Flush(), stream.CloseSend())
	}()
	for i := range n {
		results, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != i%3 {
			t.Fatalf("commit %d of %d updates has %d answers", i, i%3, len(results))
		}
		for k, r := range results {
			if want := engram.MustID(fmt.Sprintf("Test/Any/p/e%d", k)).At(engram.Time(i)); r.Err != nil || r.ID != want {
				t.Fatalf("commit %d, update %d: %v, %v; want %v", i, k, r.ID, r.Err, want)
			}
		}
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("after the last answer: %v; want io.EOF", err)
	}
	if err := <-sendErr; err != nil {
		t.Error(err)
	}
}

func TestCommitStreamOfALostServer(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t))
	c := serving.Dial(t, at.Address, rpc.DialOptions{})
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
	at.Stop()
	_, err = stream.Recv()
	want(t, "Recv after the server stopped", err, engram.Unavailable, "stopping")
	err = stream.Send(engram.Commit{Updates: []engram.EntityUpdate{update(t, "e", 2, "x")}})
	want(t, "Send after the server stopped", err, engram.Unavailable)
	_, err = c.Latest(t.Context(), engram.MustID("Test/Any/p/e"))
	want(t, "Latest after the server stopped", err, engram.Unavailable)
	if snap, err := s.Latest(t.Context(), engram.MustID("Test/Any/p/e")); err != nil || snap.Time != 1 {
		t.Errorf("the memory has %v, %v", snap, err)
	}
}

// An answer beyond what fits into one message comes in parts, and Query does not
// let its caller know.
func TestLargeAnswersComeInParts(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{MaxMessage: 3 << 20}, serving.Socket(t)).Address, rpc.DialOptions{})
	const n = 50
	for i := range n {
		testkit.Commit(t, c, update(t, fmt.Sprintf("e%d", i%3), engram.Time(i), strings.Repeat("x", 100_000)))
	}
	q := engram.MustPattern("Test").Select(engram.All())
	whole, err := c.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	items := whole.Items()
	if len(items) != n {
		t.Errorf("the answer holds %d snapshots of %d", len(items), n)
	}
	if !slices.IsSortedFunc(items, func(a, b engram.Item) int { return a.ID.Compare(b.ID) }) {
		t.Error("the answer is not sorted")
	}
	parts, seen := 0, 0
	err = c.QueryParts(t.Context(), q, func(r *engram.Result) error {
		parts++
		seen += len(r.Items())
		return nil
	})
	if err != nil || parts < 4 || seen != n {
		t.Errorf("%d parts with %d snapshots, %v; want at least 4 parts with %d", parts, seen, err, n)
	}
	stop := errors.New("enough")
	if err := c.QueryParts(t.Context(), q, func(*engram.Result) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("leaving after the first part: %v", err)
	}
}

func TestClosedClientAnswersCanceled(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{})
	updates, err := c.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	_, err = updates.Next(t.Context())
	want(t, "a subscription of a closed client", err, engram.Canceled)
	_, err = c.TypeNames(t.Context())
	want(t, "a call of a closed client", err, engram.Canceled)
	_, err = c.Subscribe(t.Context(), engram.Subscription{})
	want(t, "a new subscription of a closed client", err, engram.Canceled)
	_, err = c.CommitStream(t.Context())
	want(t, "a commit stream of a closed client", err, engram.Canceled)
}

func TestCallsKeepTheirDeadline(t *testing.T) {
	var asked atomic.Bool
	knew := make(chan struct{}, 1)
	s := serving.New(t, testMemory(server.Hooks{Query: func(ctx context.Context, _ *engram.Query) error {
		asked.Store(true)
		<-ctx.Done()
		select {
		case knew <- struct{}{}:
		default:
		}
		return ctx.Err()
	}}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{})
	// On a busy machine the deadline may pass before the server is asked.
	for in := 100 * time.Millisecond; !asked.Load(); in *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), in)
		_, err := c.Query(ctx, engram.MustPattern("Test").Select(engram.Latest(1)))
		cancel()
		want(t, "a query past its deadline", err, engram.Canceled)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error %v does not say that the deadline passed", err)
		}
	}
	<-knew // the server, too
}
