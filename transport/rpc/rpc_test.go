package rpc_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// testMemory is a memory "Test" with a core segment "Any" that takes any data.
func testMemory(hooks server.Hooks) server.Memory {
	return server.Memory{
		Name: "Test", Hooks: hooks,
		Segments: []engram.CoreSegment{{ID: engram.MustID("Test/Any")}},
	}
}

func newServer(t testing.TB, memories ...server.Memory) *server.Server {
	t.Helper()
	s, err := server.New(server.Config{Memories: memories, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// serving is a handler at work on one listener.
type serving struct {
	address string
	handler *rpc.Handler
	stop    func()
}

// serve serves svc at an address until the test ends or stop is called.
func serve(t testing.TB, svc engram.Service, names mns.Registry, o rpc.Options, address string) *serving {
	t.Helper()
	l, err := rpc.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	return serveListener(t, svc, names, o, l)
}

func serveListener(t testing.TB, svc engram.Service, names mns.Registry, o rpc.Options, l net.Listener) *serving {
	if o.Log == nil {
		o.Log = quiet
	}
	if o.Grace == 0 {
		o.Grace = 20 * time.Second // for a busy machine
	}
	s := &serving{address: rpc.AddressOf(l), handler: rpc.NewHandler(svc, names, o)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- rpc.Serve(ctx, s.handler, l) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func socket(t testing.TB) string { return "unix:" + filepath.Join(t.TempDir(), "s") }

const anyPort = "127.0.0.1:0"

func dial(t testing.TB, address string, o rpc.DialOptions) *rpc.Client {
	t.Helper()
	c, err := rpc.Dial(context.Background(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// value returns v as a payload that takes any data.
func value(t testing.TB, v any) engram.Payload {
	t.Helper()
	p, err := idf.ValuePayload(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// update is what entity "Test/Any/p/<name>" becomes at a time.
func update(t testing.TB, name string, at engram.Time, v any) engram.EntityUpdate {
	t.Helper()
	id, err := engram.NewID("Test", "Any", "p", name)
	if err != nil {
		t.Fatal(err)
	}
	return engram.EntityUpdate{Entity: id, Time: at, Instances: []engram.Instance{engram.NewInstance(value(t, v))}}
}

// commit stores updates and fails the test if one is refused.
func commit(t testing.TB, w engram.Writer, updates ...engram.EntityUpdate) []engram.UpdateResult {
	t.Helper()
	results, err := w.Commit(context.Background(), engram.Commit{Updates: updates})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// want fails the test if err is not of the code, or does not mention all words.
func want(t testing.TB, what string, err error, code engram.Code, words ...string) {
	t.Helper()
	if engram.CodeOf(err) != code {
		t.Errorf("%s: error %v of code %v; want %v", what, err, engram.CodeOf(err), code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %q does not mention %q", what, err, w)
		}
	}
}

// next returns a stream's next n updates.
func next(t testing.TB, s engram.UpdateStream, n int) []engram.Update {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var all []engram.Update
	for len(all) < n {
		batch, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("after %d of %d updates: %v", len(all), n, err)
		}
		all = append(all, batch...)
	}
	return all
}
