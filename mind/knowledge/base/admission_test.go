package base

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// Questions are let in in the order in which they came, so many at once; each knows how many wait before it, also when
// some give up.
func TestQuestionsWaitInOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			const most = 2
			a := admission{most: most}
			type asked struct {
				told   int // -1: nothing
				cancel context.CancelFunc
				leave  chan struct{}
			}
			var let, waiting []*asked // as they are to be
			entered := map[*asked]bool{}
			check := func() {
				synctest.Wait()
				for len(let) < most && len(waiting) > 0 {
					let, waiting = append(let, waiting[0]), waiting[1:]
				}
				for i, q := range waiting {
					if entered[q] || q.told != i {
						r.Fatalf("the question %d waits, and was told of %d before it; let in: %v", i, q.told, entered[q])
					}
				}
				for _, q := range let {
					if !entered[q] {
						r.Fatalf("a question waits while %d of %d are answered", len(let), most)
					}
				}
				if len(a.waiting) != len(waiting) || a.let != len(let) {
					r.Fatalf("%d wait and %d are answered, not %d and %d", len(a.waiting), a.let, len(waiting), len(let))
				}
			}
			for range rapid.IntRange(1, 30).Draw(r, "steps") {
				switch what := rapid.IntRange(0, 3).Draw(r, "what"); {
				case what == 0 && len(let) > 0:
					i := rapid.IntRange(0, len(let)-1).Draw(r, "ends")
					close(let[i].leave)
					let = slices.Delete(let, i, i+1)
				case what == 1 && len(waiting) > 0:
					i := rapid.IntRange(0, len(waiting)-1).Draw(r, "gives up")
					waiting[i].cancel()
					waiting = slices.Delete(waiting, i, i+1)
				default:
					ctx, cancel := context.WithCancel(t.Context())
					q := &asked{told: -1, cancel: cancel, leave: make(chan struct{})}
					waiting = append(waiting, q)
					go func() {
						err := a.enter(ctx, 0, func(before int) { q.told = before })
						if err != nil {
							if engram.CodeOf(err) != engram.Canceled || ctx.Err() == nil {
								t.Error(err)
							}
							return
						}
						entered[q] = true
						<-q.leave
						a.leave()
					}()
				}
				check()
			}
			for _, q := range append(waiting, let...) {
				q.cancel()
				close(q.leave)
			}
		})
	})
}

// A question waits no longer than it may take, and no more wait than may; both are told how many there are.
func TestQuestionsDoNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := admission{most: 1}
		if err := a.enter(t.Context(), 0, nil); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 2*mostWaiting)
		began := time.Now()
		for i := range mostWaiting {
			go func() { ended <- a.enter(t.Context(), time.Minute+time.Duration(i), nil) }()
			synctest.Wait()
		}
		want := fmt.Sprintf("1 questions are answered at present and %d wait", mostWaiting)
		if err := a.enter(t.Context(), time.Minute, nil); engram.CodeOf(err) != engram.Exhausted || !contains(err, want) {
			t.Errorf("one more: %v", err)
		}
		if err := <-ended; engram.CodeOf(err) != engram.Exhausted || !contains(err, "1 questions are answered at present, and 0 wait before this one") || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		a.leave()
		if err := <-ended; err != nil {
			t.Errorf("the next one: %v", err)
		}
		for range mostWaiting - 2 {
			if err := <-ended; engram.CodeOf(err) != engram.Exhausted {
				t.Error(err)
			}
		}
	})
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
