package ltm_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm"
)

// What is read of an epoch comes in the order in which it arrived, also when early episodes were put together into one
// that has a newer name than those that followed them.
func TestHistoryKeepsTheOrder(t *testing.T) {
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	const entity = "Test/Logged/p/e"
	for round := range 5 {
		l.commit(t, entity, engram.Time(round), fmt.Sprint(round))
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	// One that is kept stays as it is, between others.
	if err := l.KeepEpisode(t.Context(), mustEpisodes(t, l)[2].Name, true); err != nil {
		t.Fatal(err)
	}
	if done, err := l.Compact(t.Context(), false, nil); err != nil || done.Before == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	h := l.History(l.wm.Epoch(), func(id engram.ID) bool { return id == engram.MustID(entity) }, 0, math.MaxUint64)
	defer h.Close()
	var last engram.Time
	n := 0
	for {
		p, more, err := h.Peek(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		if p.Arrived < last {
			t.Errorf("what arrived at %v comes after what arrived at %v", p.Arrived, last)
		}
		last = p.Arrived
		n++
		h.Skip()
	}
	if n != 5 {
		t.Errorf("%d versions", n)
	}
}
