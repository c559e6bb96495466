package local

import (
	"testing"

	"github.com/seed-301d4374/engram/core/memorytest"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// The client is a memory like any other.
func TestMemory(t *testing.T) {
	const maxPayload = 1 << 20
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		svc, err := server.New(server.Config{
			Memories: []server.Memory{{Name: memorytest.MemoryName}},
			Limits:   wm.Limits{MaxPayload: maxPayload},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { svc.Close() })
		return client(t, serve(t, svc, Options{}), DialOptions{})
	}, memorytest.MaxPayload(maxPayload), memorytest.Entities(testkit.Repeats(10_000, 100_000)))
}
