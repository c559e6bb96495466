package backbone_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/backbone"
	"github.com/seed-301d4374/engram/backbone/embedded"
	"github.com/seed-301d4374/engram/memorytest"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// serve serves a memory server on the listeners.
func serve(t *testing.T, h *rpc.Handler, listeners ...net.Listener) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- rpc.Serve(ctx, h, listeners...) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func newServer(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.New(server.Config{Memories: []server.Memory{{Name: memorytest.MemoryName}}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func dial(t *testing.T, address string, o rpc.DialOptions) *rpc.Client {
	t.Helper()
	c, err := rpc.Dial(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A client that keeps its connection is waited for no longer than Grace.
var options = rpc.Options{Log: quiet, Grace: 20 * time.Millisecond}

// A memory that is reached through the message fabric behaves like the memory itself.
func TestMemoryThroughTheBackbone(t *testing.T) {
	fabric, near := start(t, embedded.Options{Listen: "127.0.0.1:0"})
	far := connect(t, backbone.Options{URL: fabric.ClientURL()})
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		l, err := near.Listen(t.Name())
		if err != nil {
			t.Fatal(err)
		}
		serve(t, rpc.NewHandler(newServer(t), nil, options), l)
		return dial(t, rpc.AddressOf(l), rpc.DialOptions{Backbone: far.Dial})
	})
}

// So does one that a client without a backbone reaches through another server.
func TestMemoryViaAnotherServer(t *testing.T) {
	fabric, near := start(t, embedded.Options{Listen: "127.0.0.1:0"})
	far := connect(t, backbone.Options{URL: fabric.ClientURL()})
	home, err := rpc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := options
	o.Backbone = near.Dial
	serve(t, rpc.NewHandler(newServer(t), nil, o), home)
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		l, err := far.Listen(t.Name())
		if err != nil {
			t.Fatal(err)
		}
		serve(t, rpc.NewHandler(newServer(t), nil, options), l)
		return dial(t, rpc.AddressOf(home), rpc.DialOptions{Via: t.Name()})
	})
	_, err = rpc.Dial(t.Context(), rpc.AddressOf(home), rpc.DialOptions{Via: "nobody"})
	if engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a server that is not there: %v", err)
	}
}
