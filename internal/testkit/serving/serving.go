// Package serving makes servers for tests, and puts them on listeners.
//
// It is no public API: tests of several wings share it.
package serving

import (
	"cmp"
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// AnyPort is an address that a server can listen at.
const AnyPort = "127.0.0.1:0"

// Socket returns an address of a Unix socket.
func Socket(t testing.TB) string { return "unix:" + filepath.Join(t.TempDir(), "s") }

// Memory is a memory with a core segment "Any" that takes any data.
func Memory(name string, hooks server.Hooks) server.Memory {
	return server.Memory{Name: name, Hooks: hooks, Segments: []engram.CoreSegment{{ID: engram.MustID(name + "/Any")}}}
}

// New makes a server, closed when the test ends.
func New(t testing.TB, memories ...server.Memory) *server.Server {
	t.Helper()
	return NewOf(t, server.Config{Memories: memories, Log: testkit.Quiet})
}

// NewOf is New of a configuration.
func NewOf(t testing.TB, c server.Config) *server.Server {
	t.Helper()
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Until runs serve until the test ends or stop is called, which waits for its end.
func Until(t testing.TB, serve func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// Handler is a handler at work on listeners.
type Handler struct {
	*rpc.Handler
	Address string // of its first listener
	Stop    func() // ends it and waits for its end
}

// Serve serves svc at an address, or at any port if address is empty, until the test
// ends or Stop is called.
func Serve(t testing.TB, svc feature.Server, names mns.Registry, o rpc.Options, address string) *Handler {
	t.Helper()
	l, err := rpc.Listen(cmp.Or(address, AnyPort))
	if err != nil {
		t.Fatal(err)
	}
	return On(t, svc, names, o, l)
}

// On is Serve on listeners.
func On(t testing.TB, svc feature.Server, names mns.Registry, o rpc.Options, listeners ...net.Listener) *Handler {
	if o.Log == nil {
		o.Log = testkit.Quiet
	}
	if o.Grace == 0 {
		o.Grace = 20 * time.Second // for a loaded machine
	}
	h := &Handler{Handler: rpc.NewHandler(svc, names, o), Address: rpc.AddressOf(listeners[0])}
	h.Stop = Until(t, func(ctx context.Context) error { return rpc.Serve(ctx, h.Handler, listeners...) })
	return h
}

// Dial connects to a server by gRPC.
func Dial(t testing.TB, address string, o rpc.DialOptions) *rpc.Client {
	t.Helper()
	c, err := rpc.Dial(context.Background(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
