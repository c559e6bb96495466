package source

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
)

// recorderTimeout is how long a pull waits for a recorder without progress. Then versions
// that are evicted and not recorded count as lost. Tests change it.
var recorderTimeout = 5 * time.Second

// askRecorder waits until everything up to a number is recorded. Tests change it.
var askRecorder = (*ltm.Store).Recorded

// await is how a share waits for the recorder, while the others go on. What it waits for
// stays the same while the stream goes on: a recorder that comes on gets there, however
// far behind the newest it is.
type await struct {
	number       uint64             // what is to be recorded, 0 if nothing is waited for …
	lowWatermark engram.Time        // … and a time at or after which everything behind arrived
	answer       chan bool          // holds what the recorder says as soon as it says it; nil if it is not asked
	cancel       context.CancelFunc // of the asking
	again        time.Time          // when it is looked after it again
	since        time.Time          // since when it has not come on …
	done         uint64             // … from this number
}

// recorded reports whether the recorder has recorded everything up to a number, from
// which on it is to be read, and whether the waiting is over.
func (sh *share) recorded() (recorded, over bool) {
	a, p := &sh.await, sh.p
	if a.number <= sh.at.Number {
		a.end()
		a.number, a.lowWatermark = p.wm.Feed().LowWatermark()
	}
	if a.answer == nil {
		var ctx context.Context
		ctx, a.cancel = context.WithCancel(p.ctx)
		a.answer = make(chan bool, 1)
		go func(number uint64, answer chan<- bool) {
			answer <- askRecorder(p.ltm, ctx, number)
			select {
			case p.answered <- struct{}{}:
			default:
			}
		}(a.number, a.answer)
	}
	select {
	case recorded = <-a.answer:
		a.cancel()
		a.answer = nil // a recorder that has stalled says so at once, and is asked again
	default:
	}
	if recorded {
		a.since = time.Time{}
		return true, true
	}
	now := time.Now()
	if done := p.ltm.Figures().Recorded; a.since.IsZero() || done != a.done {
		a.since, a.done = now, done // it comes on
	}
	if now.Sub(a.since) < recorderTimeout {
		a.again = now.Add(heartbeat / 4)
		return false, false
	}
	a.end()
	return false, true
}

// wait returns how long it is waited before it is looked after the recorder again.
func (a *await) wait(now time.Time) time.Duration {
	if a.number == 0 || len(a.answer) > 0 {
		return 0
	}
	return max(a.again.Sub(now), 0)
}

// end ends the waiting.
func (a *await) end() {
	if a.answer != nil {
		a.cancel()
		<-a.answer
	}
	*a = await{}
}
