package local

import (
	"runtime"
	"sync/atomic"
	"time"
)

// vigil decides how a reader waits for what its peer sends next.
//
// Go's own way hands the goroutine to the poller: a thread of the process sleeps
// for all connections, and when it wakes it wakes another to sleep in its place.
// That is right for many connections of which few have something, and costs 10 to
// 20 µs of a small commit. So a reader to which frames come at short intervals waits
// in poll(2), on its own thread and without giving it back; and if they come at
// very short ones, and that has proved worth it, it looks for the next one without
// sleeping, because to wake a core of a virtual machine takes another 20 to 50 µs.
type vigil struct {
	spins bool // whether it may do without sleep

	began time.Time     // of the wait, zero if there is none
	last  time.Duration // how long the wait before took
	short int           // waits in a row of at most spinFor
	need  int           // how many of them make it worth to spin
}

const (
	spinFor = 60 * time.Microsecond
	// pollFor bounds for how long a thread is held, and how late a deadline or the
	// end of a context is noticed.
	pollFor = 4 * time.Millisecond
	// Spinning that was in vain doubles what it needs the next time: a core that
	// others need more is soon left to them.
	minNeed, maxNeed = 4, 1 << 12
)

// vigils is how many readers may hold a thread at once: half of those that run Go,
// as others of this process have something to do too.
var vigils atomic.Int32

func init() { vigils.Store(int32(min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) / 2)) }

// keep waits for what try, which does not wait, is to bring, or for sleep to say
// that it is there. It reports false if the poller is to wait.
func (v *vigil) keep(try func() bool, sleep func(time.Duration)) bool {
	if !v.began.IsZero() { // the poller has waited, and there was nothing after all
		return false
	}
	v.began = time.Now()
	if v.last > pollFor {
		return false
	}
	if vigils.Add(-1) < 0 {
		vigils.Add(1)
		return false
	}
	defer vigils.Add(1)
	v.need = max(v.need, minNeed)
	if v.spins && v.short >= v.need {
		for time.Since(v.began) < spinFor {
			for range 8 {
				if try() {
					v.need /= 2
					return true
				}
			}
		}
		v.need, v.short = min(2*v.need, maxNeed), 0
	}
	sleep(pollFor)
	return try()
}

// ended is called when the wait, if there was one, has ended.
func (v *vigil) ended() {
	if v.began.IsZero() {
		return
	}
	v.last = time.Since(v.began)
	v.began = time.Time{}
	if v.last > spinFor {
		v.short = 0
	} else {
		v.short++
	}
}
