package ltm_test

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// What an episode got late, because of a mark, and a value in force that a policy had left
// out before, are in a history once, and also in one that goes on where another was cut off.
func TestHistoryHasWhatIsRecordedLate(t *testing.T) {
	var now atomic.Int64
	l := begin(t, ltm.Options{Dir: fastDir(t), Policies: sparse, Now: func() engram.Time { return engram.Time(now.Load()) }})
	const cup, quiet = "Test/Volatile/p/cup", "Test/Volatile/p/quiet"
	put := func(entity string, at ...int) {
		for _, at := range seconds(at...) {
			now.Store(int64(at))
			l.commit(t, entity, at, "x")
		}
	}
	put(quiet, 90, 91)
	put(cup, 100, 101, 102, 103, 104)
	put(loggedCup, 105)
	l.wantRecorded(t, "before the mark", cup, seconds(100)...)
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	put(loggedCup, 200)
	if err := l.Mark(t.Context(), episode.Mark{Time: seconds(104)[0], Before: 4 * time.Second}); err != nil {
		t.Fatal(err)
	}
	put(cup, 210)
	put(loggedCup, 211)
	if !l.Recorded(t.Context(), l.wm.Number()) {
		t.Fatal("the recorder does not come on")
	}
	type told struct {
		entity string
		time   engram.Time
	}
	// read reads n versions, or all, from behind a number, and returns the highest number.
	read := func(after uint64, n int) (list []told, number uint64) {
		h := l.History(l.wm.Epoch(), func(engram.ID) bool { return true }, after, math.MaxUint64)
		defer h.Close()
		for number = after; n != 0; n-- {
			p, more, err := h.Peek(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
			list, number = append(list, told{p.Entity.String(), p.Time}), max(number, p.Number)
			h.Skip()
		}
		return list, number
	}
	all, _ := read(0, -1)
	want := map[told]bool{}
	for entity, times := range map[string][]engram.Time{quiet: seconds(90, 91), cup: seconds(100, 102, 103, 104), loggedCup: seconds(105, 200, 211)} {
		for _, at := range times {
			want[told{entity, at}] = true
		}
	}
	has := func(what string, list []told) {
		t.Helper()
		got := map[told]bool{}
		for _, x := range list {
			got[x] = true
		}
		for x := range want {
			if !got[x] {
				t.Errorf("%s: of %s that of %v is not told: %v", what, x.entity, x.time, list)
			}
		}
	}
	if has("in one", all); len(all) != len(want) {
		t.Errorf("%d are told, want %d, each once: %v", len(all), len(want), all)
	}
	for n := range all {
		first, number := read(0, n)
		rest, _ := read(number, -1)
		has("cut off", append(first, rest...))
	}
}
