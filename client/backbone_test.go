package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/mns/kv"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// Two computers of a robot share a backbone. A program that has a route to the
// first only, and is not on the backbone, works with the memories of both.
func TestServerWithoutARoute(t *testing.T) {
	fabric, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fabric.Close() })
	first := onBackbone(t, backbone.Options{InProcess: fabric}, "first", "A")
	onBackbone(t, backbone.Options{URL: fabric.ClientURL()}, "second", "B")

	c := connect(t, first)
	if _, err := c.Names().Wait(t.Context(), "B"); err != nil {
		t.Fatal(err)
	}
	sub, err := c.Subscribe(t.Context(), engram.Subscription{WithData: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	testkit.Commit(t, c, testkit.Update(t, entity("A"), 1, "near"), testkit.Update(t, entity("B"), 1, "far"))
	r, err := c.Query(t.Context(), engram.Pattern{}.Select(engram.Latest(1)))
	if err != nil || ids(r) != "A/Any/p/e B/Any/p/e" || len(r.Missing) > 0 {
		t.Errorf("answered %q, missing %v, %v", ids(r), r.Missing, err)
	}
	testkit.Next(t, sub, 2)
	if _, err := c.Poses("B").Revisions(t.Context()); engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("poses there, of which there are none: %v", err)
	}
	if _, err := c.LongTerm("B").Marks(t.Context(), engram.Always()); engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("the long-term memory there, which there is not: %v", err)
	}
}

// onBackbone serves one memory on a computer that others reach through the backbone
// only, and returns the address at which programs of this computer reach it.
func onBackbone(t *testing.T, o backbone.Options, identity, name string) (address string) {
	t.Helper()
	o.Log = testkit.Quiet
	b, err := backbone.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	names, err := kv.Open(t.Context(), b.JetStream(), kv.Options{TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Memories: []server.Memory{memory(name)}, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	through, err := b.Listen(identity)
	if err != nil {
		t.Fatal(err)
	}
	own, err := rpc.Listen(serving.Socket(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	h := rpc.NewHandler(s, names, rpc.Options{Server: identity, Backbone: b.Dial, Log: testkit.Quiet, Grace: 20 * time.Millisecond})
	go func() { served <- rpc.Serve(ctx, h, own, through) }()
	kept, err := mns.Keep(t.Context(), names, mns.Registration{
		Server: identity, Memories: []string{name},
		// The first is of a network that is reserved for documentation.
		Addresses: []string{"http://192.0.2.1:7411", rpc.AddressOf(through)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kept.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.Close()
		b.Close()
	})
	return rpc.AddressOf(own)
}
