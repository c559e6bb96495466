package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/predict/service"
	"github.com/seed-301d4374/engram/server"
)

// BenchmarkCommit commits the seven joints of a hundred arms at 10,000/s, with all of them followed by the predictions and with
// none, ten runs in turn, and reports the medians of a commit, and their ratio. The target is 1.03.
func BenchmarkCommit(b *testing.B) {
	const rate, seconds = 10_000, 5
	testkit.InTurn(b, 10, func(on bool) time.Duration { return commitMedian(b, on, rate, rate*seconds) })
}

func commitMedian(b *testing.B, followed bool, rate, n int) time.Duration {
	const arms = 100
	s, err := server.New(server.Config{Memories: []server.Memory{
		{Name: "M", Segments: []engram.CoreSegment{{ID: engram.MustID("M/Any"), History: engram.Bounds{MaxCount: 1000}}}}, memories.Prediction(),
	}, Log: testkit.Quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	types := func(name string) (*idf.Type, error) {
		t, _ := memories.Type(name)
		return t, nil
	}
	arm := func(i int) string { return fmt.Sprint("M/Any/p/arm", i%arms) }
	if followed {
		for i := range arms {
			f := service.Following{Entity: engram.MustID(arm(i)), Enabled: true}
			u, err := f.Update(types, "bench", engram.Time(i))
			if err != nil {
				b.Fatal(err)
			}
			testkit.Commit(b, s, u)
		}
	}
	updates := make([]engram.EntityUpdate, n)
	for i := range updates {
		joints := make([]any, 7)
		at := time.Duration(i) * time.Second / time.Duration(rate)
		for k := range joints {
			joints[k] = math.Sin(at.Seconds()*float64(k+1) + float64(i%arms))
		}
		updates[i] = testkit.Update(b, arm(i), engram.Time(at), any(joints))
	}
	median := testkit.Paced(rate, n, func(i int) {
		if _, err := s.Commit(b.Context(), engram.Commit{Updates: updates[i : i+1]}); err != nil {
			b.Fatal(err)
		}
	})
	if followed { // they were
		testkit.Until(b, func() (string, bool) {
			r, err := s.Query(b.Context(), engram.MustPattern("Prediction/Score").Select(engram.Latest(1)))
			return fmt.Sprint("no scores: ", err), err == nil && len(r.Items()) > 0
		})
	}
	return median
}
