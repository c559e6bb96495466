package rpc_test

import (
	"testing"

	"github.com/seed-301d4374/engram/core/memorytest"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// A client behaves like the memory itself, on every way to it.
func TestClientIsAMemory(t *testing.T) {
	for _, tt := range []struct {
		name    string
		address func(t *testing.T) string
	}{
		{"unix", func(t *testing.T) string { return serving.Socket(t) }},
		{"tcp", func(*testing.T) string { return serving.AnyPort }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			memorytest.Run(t, func(t *testing.T) memorytest.Memory {
				s := serving.New(t, server.Memory{Name: memorytest.MemoryName})
				return serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, tt.address(t)).Address, rpc.DialOptions{})
			}, memorytest.Entities(testkit.Repeats(10_000, 100_000)))
		})
	}
}
