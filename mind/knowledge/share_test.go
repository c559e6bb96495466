package knowledge

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// All questions together hold no more than there is, each no more than it leaves free, and one that takes less is never
// refused.
func TestSharesOfMemory(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const all = 1000
		b := NewBudget(all)
		shares := make([]*Share, 4)
		holds := map[int]int64{} // beside what is kept
		keeps := map[int]int64{}
		for i := range shares {
			shares[i] = b.Share()
		}
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			i := rapid.IntRange(0, len(shares)-1).Draw(r, "question")
			others := int64(0)
			for j := range shares {
				if j != i {
					others += holds[j] + keeps[j]
				}
			}
			before := holds[i] + keeps[i]
			hold, keep := holds[i], keeps[i]
			var err error
			switch rapid.IntRange(0, 3).Draw(r, "what") {
			case 0:
				keep = int64(rapid.IntRange(0, all).Draw(r, "kept"))
				err = shares[i].Keep(keep - keeps[i])
			case 1:
				shares[i].End()
				shares[i], hold, keep = b.Share(), 0, 0
			default:
				hold = int64(rapid.IntRange(0, all).Draw(r, "held"))
				err = shares[i].Hold(hold)
			}
			after := hold + keep
			if want := after <= before || others+2*after <= all; (err == nil) != want {
				r.Fatalf("%d instead of %d beside %d of others: %v", after, before, others, err)
			}
			if err == nil {
				holds[i], keeps[i] = hold, keep
			}
			if others+holds[i]+keeps[i] != b.mu.held || b.mu.held > all {
				r.Fatalf("%d is held, %d is counted", others+holds[i]+keeps[i], b.mu.held)
			}
		}
	})
}

// Where there is no bound, and where a question is alone, all is granted.
func TestSharesWithoutABound(t *testing.T) {
	for _, s := range []*Share{nil, NewBudget(0).Share(), ShareOf(t.Context())} {
		for _, err := range []error{s.Hold(1 << 60), s.Keep(1 << 60), s.Begin(t.Context()), s.Pause(t.Context())} {
			if err != nil {
				t.Error(err)
			}
		}
		s.Take(1)
		s.Leave()
		if s != nil {
			s.End()
		}
	}
}

// Questions take turns in the order in which they ask for them: so many at once, and each for its time, as long as others
// wait. Who gives up waits no longer.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(0)
		b.turns = make(chan struct{}, 1)
		first := b.Share()
		if err := first.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		order := make(chan string, 10)
		for i := range 3 {
			s := b.Share()
			go func() {
				if err := s.Begin(t.Context()); err != nil {
					t.Error(err)
				}
				order <- fmt.Sprint("begins ", i)
				s.End()
			}()
			synctest.Wait()
		}
		if err := first.Pause(t.Context()); err != nil || !first.inTurn || len(order) > 0 {
			t.Errorf("it has lost its turn before the time: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Share().Begin(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-ended; engram.CodeOf(err) != engram.Canceled {
			t.Errorf("who gives up gets %v", err)
		}
		first.begun = first.begun.Add(-turnTime)
		if err := first.Pause(t.Context()); err != nil {
			t.Error(err)
		}
		order <- "goes on"
		for i := range 3 {
			if got := <-order; got != fmt.Sprint("begins ", i) {
				t.Errorf("in the place of the question %d: %s", i, got)
			}
		}
		if got := <-order; got != "goes on" {
			t.Error(got)
		}
		first.End()
		if len(b.turns) > 0 {
			t.Error("a turn was not given back")
		}
	})
}
