package executor_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
)

// BenchmarkWaiting reports the RAM of executions that wait, with the snapshots that the memory has of them.
func BenchmarkWaiting(b *testing.B) {
	for range b.N {
		s, err := server.New(server.Config{Memories: []server.Memory{memories.Skill()}, Log: testkit.Quiet})
		if err != nil {
			b.Fatal(err)
		}
		codec, err := skill.NewCodec(b.Context(), s)
		if err != nil {
			b.Fatal(err)
		}
		u, err := codec.DescriptionUpdate(&skill.Description{ID: engram.MustID("Skill/Description/Arm/Wave"), Resources: []string{"arm"}}, 1)
		if err != nil {
			b.Fatal(err)
		}
		testkit.Commit(b, s, u)
		skills, err := skill.Open(b.Context(), s)
		if err != nil {
			b.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		const n = 1000
		for i := range n {
			if _, err := skills.Start(context.Background(), skill.Ask{Skill: "Arm/Wave", Parameters: map[string]any{"to": fmt.Sprint("place ", i), "speed": 0.5}}); err != nil {
				b.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/execution")
		s.Close()
	}
}
