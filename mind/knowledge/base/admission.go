package base

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// admission lets so many questions be answered at once. Others wait in the order in which they came, and
// know how many are before them.
type admission struct {
	most int // that are answered at once

	mu      sync.Mutex
	let     int       // that are answered
	waiting []*waiter // the first is next
}

// waiter is a question that waits.
type waiter struct {
	turn  chan struct{} // closed when it is let in
	moved chan struct{} // has something when it came nearer
}

// mostWaiting is how many questions may wait.
const mostWaiting = 128

// enter waits until a question is let in, for patience at most; 0 is for ever. told, unless it is nil, is called with
// how many wait before it, again whenever that changes. The error is Exhausted or Canceled.
func (a *admission) enter(ctx context.Context, patience time.Duration, told func(before int)) error {
	a.mu.Lock()
	if a.let < a.most && len(a.waiting) == 0 {
		a.let++
		a.mu.Unlock()
		return nil
	}
	if len(a.waiting) >= mostWaiting {
		a.mu.Unlock()
		return engram.Errorf(engram.Exhausted, "", "%d questions are answered at present and %d wait, which are all that may: ask again later", a.most, mostWaiting)
	}
	w := &waiter{turn: make(chan struct{}), moved: make(chan struct{}, 1)}
	a.waiting = append(a.waiting, w)
	a.mu.Unlock()
	var late <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	for {
		if told != nil {
			if before, waits := a.before(w); waits {
				told(before)
			}
		}
		select {
		case <-w.turn:
			return nil
		case <-w.moved:
			continue
		case <-ctx.Done():
			a.giveUp(w)
			return engram.Errorf(engram.Canceled, "", "the question was given up while it waited for others: %w", ctx.Err())
		case <-late:
			before := a.giveUp(w)
			return engram.Errorf(engram.Exhausted, "", "%d questions are answered at present, and %d wait before this one, which has waited for %v, as long as it may take: ask again later, or with a longer time limit", a.most, before, patience)
		}
	}
}

// before returns how many wait before a question, if it still waits.
func (a *admission) before(w *waiter) (n int, waits bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n = slices.Index(a.waiting, w)
	return n, n >= 0
}

// giveUp takes a question away: from those that wait, or, if it was let in meanwhile, from those that are answered.
func (a *admission) giveUp(w *waiter) (before int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.waiting, w)
	if i < 0 {
		a.leaveLocked()
		return 0
	}
	a.waiting = slices.Delete(a.waiting, i, i+1)
	a.tellLocked(i)
	return i
}

// leave says that a question was answered; the next one is let in.
func (a *admission) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leaveLocked()
}

func (a *admission) leaveLocked() {
	if len(a.waiting) == 0 {
		a.let--
		return
	}
	close(a.waiting[0].turn)
	a.waiting = slices.Delete(a.waiting, 0, 1)
	a.tellLocked(0)
}

// tellLocked tells those from the i-th on that they came nearer.
func (a *admission) tellLocked(i int) {
	for _, w := range a.waiting[i:] {
		select {
		case w.moved <- struct{}{}:
		default:
		}
	}
}
