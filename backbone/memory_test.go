package backbone_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/backbone"
	"github.com/seed-301d4374/engram/backbone/embedded"
	"github.com/seed-301d4374/engram/memorytest"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// A memory that is reached through the message fabric behaves like the memory itself.
func TestMemoryThroughTheBackbone(t *testing.T) {
	fabric, near := start(t, embedded.Options{Listen: "127.0.0.1:0"})
	far := connect(t, backbone.Options{URL: fabric.ClientURL()})
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		s, err := server.New(server.Config{Memories: []server.Memory{{Name: memorytest.MemoryName}}, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		l, err := near.Listen(t.Name())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() {
			served <- rpc.Serve(ctx, rpc.NewHandler(s, nil, rpc.Options{Log: quiet, Grace: time.Second}), l)
		}()
		t.Cleanup(func() {
			stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
			s.Close()
		})
		c, err := rpc.Dial(t.Context(), rpc.AddressOf(l), rpc.DialOptions{Backbone: far.Dial})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	})
}
