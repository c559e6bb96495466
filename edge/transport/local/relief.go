package local

import (
	"errors"
	"sync/atomic"
	"time"
)

// relief lets the goroutine that reads a connection perform calls that hardly take
// longer than handing them over. If one does take longer, another goroutine goes
// on reading, and the first is just the call's.
type relief struct {
	// state is odd while the reading goroutine performs a call, and counts on with
	// each change.
	state   atomic.Uint64
	watched atomic.Bool // the timer runs
	timer   *time.Timer
	seen    uint64 // state when the timer fired last; the timer's
	next    func() // goes on reading
}

// reliefAfter is how long a call may keep the reader from its work: once to twice
// that.
const reliefAfter = time.Millisecond

var errRelieved = errors.New("another goroutine goes on reading")

func (r *relief) init(next func()) {
	r.next = next
	r.timer = time.AfterFunc(time.Hour, r.look)
	r.timer.Stop()
}

// perform does a job in the reading goroutine; errRelieved if that is no longer it.
func (r *relief) perform(job func()) error {
	busy := r.state.Add(1)
	// While calls follow each other the timer runs on, as to set it for each would
	// cost as much as what it is to spare.
	if !r.watched.Load() && r.watched.CompareAndSwap(false, true) {
		r.timer.Reset(reliefAfter)
	}
	job()
	if !r.state.CompareAndSwap(busy, busy+1) {
		return errRelieved
	}
	return nil
}

// look relieves the reading goroutine if it performs the same call as the last time.
func (r *relief) look() {
	now := r.state.Load()
	switch {
	case now != r.seen:
	case now%2 == 1:
		if r.state.CompareAndSwap(now, now+1) {
			r.next()
		}
	default: // no calls
		r.watched.Store(false)
		if r.state.Load() == now || !r.watched.CompareAndSwap(false, true) {
			return
		}
	}
	r.seen = now
	r.timer.Reset(reliefAfter)
}

// end is called when there is nothing more to be read.
func (r *relief) end() { r.timer.Stop() }
