package pose_test

import (
	"math"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// One sample stamped in the future drops nothing of an edge's history, and the samples
// after it are taken.
func TestOneWildStampDropsNothing(t *testing.T) {
	s := pose.New(pose.Config{Retention: pose.Retention{MaxAge: time.Second}})
	edge, err := s.Free("world", "base")
	if err != nil {
		t.Fatal(err)
	}
	add := func(at engram.Time) {
		t.Helper()
		if err := edge.Set(at, pose.Translation(at.Sub(0).Seconds(), 0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range engram.Time(3000) {
		if i == 1500 {
			add(1 << 60)
		}
		add(i * 1e6)
		for _, back := range []engram.Time{0, 500, 999} {
			at := (i - back) * 1e6
			if at < 0 {
				continue
			}
			got, _, fail := s.Lookup("world", "base", at)
			if err := fail.Err(); err != nil || math.Abs(got.T.X-at.Sub(0).Seconds()) > 1e-9 {
				t.Fatalf("after %d ms, of %v ms before: %v, %v", i, back, got, err)
			}
		}
	}
	if e := s.Edges(); e[0].Pruned == 0 {
		t.Errorf("what is old is kept: %+v", e[0])
	}
}
