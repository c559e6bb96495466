package ingest

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// TestTakenTimes compares with a set: each time is given once, and it is the first free
// one from the stamp on.
func TestTakenTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var taken takenTimes
		set := map[engram.Time]bool{}
		for _, at := range rapid.SliceOf(rapid.Int64Range(-5, 40)).Draw(t, "stamps") {
			want := engram.Time(at)
			for set[want] {
				want++
			}
			set[want] = true
			if got := taken.take(engram.Time(at)); got != want {
				t.Fatalf("the stamp %d got the time %d, want %d; taken are %v", at, got, want, taken.runs)
			}
		}
		n := 0
		for i, r := range taken.runs {
			if n += int(r.End - r.Start); i > 0 && taken.runs[i-1].End >= r.Start {
				t.Fatalf("the runs %v are not apart", taken.runs)
			}
		}
		if n != len(set) {
			t.Fatalf("the runs hold %d times, want %d", n, len(set))
		}
	})
}

// However many stamps there are, what is remembered of them is bounded.
func TestTakenTimesAreBounded(t *testing.T) {
	var taken takenTimes
	for i := range engram.Time(2 * maxTimeRuns) {
		taken.take(2 * i)
	}
	if n := len(taken.runs); n > maxTimeRuns || n < maxTimeRuns/2 {
		t.Errorf("%d runs are remembered, want %d at most", n, maxTimeRuns)
	}
	if last := engram.Time(4*maxTimeRuns - 2); taken.take(last) != last+1 {
		t.Error("the latest time is not remembered")
	}
}
