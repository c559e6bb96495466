package backbone_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/memorytest"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/fabrics"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// A client that keeps its connection is waited for no longer than Grace.
var options = rpc.Options{Log: testkit.Quiet, Grace: 20 * time.Millisecond}

// A memory that is reached through the message fabric behaves like the memory itself.
func TestMemoryThroughTheBackbone(t *testing.T) {
	fabric, near := start(t, embedded.Options{Listen: "127.0.0.1:0"})
	far := fabrics.Connect(t, backbone.Options{URL: fabric.ClientURL()})
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		l, err := near.Listen(t.Name())
		if err != nil {
			t.Fatal(err)
		}
		serving.On(t, serving.New(t, server.Memory{Name: memorytest.MemoryName}), nil, options, l)
		return serving.Dial(t, rpc.AddressOf(l), rpc.DialOptions{Backbone: far.Dial})
	}, memorytest.Entities(testkit.Repeats(10_000, 100_000)))
}

// So does one that a client without a backbone reaches through another server.
func TestMemoryViaAnotherServer(t *testing.T) {
	fabric, near := start(t, embedded.Options{Listen: "127.0.0.1:0"})
	far := fabrics.Connect(t, backbone.Options{URL: fabric.ClientURL()})
	home, err := rpc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := options
	o.Backbone = near.Dial
	serving.On(t, serving.New(t, server.Memory{Name: memorytest.MemoryName}), nil, o, home)
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		l, err := far.Listen(t.Name())
		if err != nil {
			t.Fatal(err)
		}
		serving.On(t, serving.New(t, server.Memory{Name: memorytest.MemoryName}), nil, options, l)
		return serving.Dial(t, rpc.AddressOf(home), rpc.DialOptions{Via: t.Name()})
	}, memorytest.Entities(testkit.Repeats(10_000, 100_000)))
	_, err = rpc.Dial(t.Context(), rpc.AddressOf(home), rpc.DialOptions{Via: "nobody"})
	if engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a server that is not there: %v", err)
	}
}
