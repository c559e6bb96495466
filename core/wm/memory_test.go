package wm_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/memorytest"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	const maxPayload = 1 << 20
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		w := wm.New(wm.Config{Limits: wm.Limits{MaxPayload: maxPayload}})
		if err := w.AddMemory(memorytest.MemoryName, engram.Bounds{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		return w
	}, memorytest.MaxPayload(maxPayload), memorytest.Entities(testkit.Repeats(10_000, 100_000)))
}
