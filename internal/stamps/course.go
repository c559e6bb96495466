// Package stamps finds out of the stamps of messages, in the order in which they were recorded or
// arrived, where the clock that stamped them went back: a simulation that begins anew, a bag that is
// played in a loop, a clock that was set. It is pure: it has no clock and no goroutines.
//
// It is no public API: several wings share it.
package stamps

import (
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// MaxLate is how much later than others stamps of one clock may come, or out of order.
const MaxLate = time.Second

// Of clocks that go back.
const (
	minRun      = 3                      // stamps in a row that go on from where a clock went back, for minSpan
	minSpan     = 250 * time.Millisecond // what was held back comes faster
	minShortRun = 2                      // of them where nothing returns to where the clock was: it went back again, or nothing follows
	maxPace     = 10                     // of the stamps of these, against the log times
	evenPace    = 4                      // times as fast as before, or as the log times, a run of the same clock goes at most
	minSteady   = 8                      // messages in a row tell how fast a clock goes, and that it is one
	maxBurst    = 10 * time.Second       // so long what was held back, and comes at once, may hide how fast a run goes
	maxReturns  = 2                      // to an earlier clock that goes on: with more it is several clocks, not one that went back
	maxCounted  = 64
	maxLines    = 8 // that are remembered of a stream
	maxResets   = 1 << 10
)

// line is what the stamps of a stream follow while their clock goes on evenly.
type line struct {
	run *run
	off time.Duration // of the newest stamp from its log time
	top engram.Time   // the latest stamp
}

func (l *line) follow(stamp, log engram.Time) {
	l.off, l.top = stamp.Sub(log), max(l.top, stamp)
}

// near reports whether a stamp goes on where the line is, give or take what comes late.
func (l *line) near(stamp, log engram.Time) bool { return (stamp.Sub(log) - l.off).Abs() <= MaxLate }

// Reset is where the clock of a stream went back.
type Reset struct {
	At     engram.Time   // the log time of the first message after it
	Top    engram.Time   // the latest stamp before
	To     engram.Time   // the first one after it
	Before time.Duration // how far the stamps lay after the log times before
	Even   bool          // the clock goes no faster than a clock does: what is told belatedly, in any order, mostly does
	first  mark          // of the run before
	last   mark
	run    int // that begins with it
}

// mark is a message.
type mark struct{ stamp, log engram.Time }

// run is a run of the clock. Its lines share it.
type run struct {
	Reset        // not of the first run
	before  *run // until it is certain
	certain bool
	count   int  // of its messages in a row
	from    mark // the first of them
	to      mark // the last
}

// short reports whether messages that may be late are a run that ended early, if nothing returns to where the clock was:
// they come at about the pace of their stamps.
func (r *run) short() bool {
	over := r.to.stamp.Sub(r.from.stamp)
	return r.count >= minShortRun && over > 0 && over/maxPace <= r.to.log.Sub(r.from.log)
}

// pace returns how fast the stamps of a run go against the log times; 0 if that is not known.
func (r *run) pace() float64 {
	logs := r.to.log.Sub(r.from.log)
	if r.count < minRun || logs <= 0 {
		return 0
	}
	return float64(r.to.stamp.Sub(r.from.stamp)) / float64(logs)
}

// even reports whether a run goes like a clock. It may go slower than before, by any factor: simulations begin
// slowly, and pause. Where stamps come in any order, or the run before is unknown, more of them in a row tell.
func (c *Course) even(r *run) bool {
	pace := r.pace()
	inOrder := c.pace > 0 && (c.turns-2)*4 <= c.count // one turn is the first message, one the reset
	return pace > 0 && pace < evenPace*min(max(c.pace, 1), maxPace) && (inOrder || r.count >= minSteady)
}

// A Course follows the stamps of one stream in the order of its messages, and finds where
// their clock went back: stamps that lie far before earlier ones, and go on from there. A
// message or two that are late return to where the clock was, or to where it is; stamps of
// several publishers in turn return to a clock that has gone on. Stamps that go back by less
// than a second, with no pause before, may be out of order: see [Course.Step].
type Course struct {
	lines   []line // the last one is the present one
	runs    int
	resets  []Reset
	returns int
	period  time.Duration // the shortest, of log times
	step    Reset         // the farthest within a run
	least   time.Duration // of the others
	rise    time.Duration // how far a stamp came nearer to its log time than the one before, up to MaxLate
	pace    float64       // of the newest run that was even; 0 if that is not known
	count   int           // of the newest messages
	turns   int           // of these to another run
}

// Follow takes the next stamp, of a message that was recorded, or arrived, at log.
func (c *Course) Follow(stamp, log engram.Time) {
	was := c.present()
	if was == nil {
		c.begin(line{run: &run{certain: true, Reset: Reset{Even: true}}, off: stamp.Sub(log), top: stamp})
		c.followed(was, stamp, log)
		return
	}
	now := &c.lines[len(c.lines)-1]
	switch ahead := stamp.Sub(log) - now.off; {
	case !now.run.certain && c.back(stamp, log): // perhaps because what was late has caught up
	case now.near(stamp, log), ahead < 0 && stamp >= now.top.Add(-c.outOfOrder(log)): // or slower than the recorder's
		now.follow(stamp, log)
	case c.back(stamp, log):
	case stamp >= now.top.Add(-MaxLate) && ahead > 0: // a jump forward
		of := now.run
		for !of.certain && !of.short() && stamp >= of.Top.Add(-MaxLate) {
			of = of.before // what went back was late, or this is
		}
		c.begin(line{run: of, off: stamp.Sub(log), top: stamp})
	default:
		c.runs++
		of := now.run
		r := &run{Reset: Reset{At: log, Top: now.top, To: stamp, Before: now.off, run: c.runs}, before: of}
		if !of.certain && !of.short() { // it may have been late
			r.Top, r.Before, r.before = max(r.Top, of.Top), of.Before, of.before
		}
		if c.shortRuns(r) > maxLines {
			c.note(r.before)
		}
		c.begin(line{run: r, off: stamp.Sub(log), top: stamp})
	}
	c.followed(was, stamp, log)
}

// present returns the run of the newest message, nil if there is none.
func (c *Course) present() *run {
	if len(c.lines) == 0 {
		return nil
	}
	return c.lines[len(c.lines)-1].run
}

// outOfOrder returns by how much a stamp may be out of order. After a pause of the messages none is.
func (c *Course) outOfOrder(log engram.Time) time.Duration {
	switch {
	case c.period == 0:
		return MaxLate
	case log.Sub(c.present().to.log) >= 2*c.period:
		return 0
	}
	return min(c.period/2, MaxLate)
}

// shortRuns counts the runs before one, in a row, that are not certain.
func (c *Course) shortRuns(r *run) (n int) {
	for r = r.before; !r.certain; r = r.before {
		n++
	}
	return n
}

// begin makes another line the present one.
func (c *Course) begin(l line) {
	if c.lines = append(c.lines, l); len(c.lines) > maxLines {
		c.lines = append(c.lines[:0], c.lines[1:]...)
	}
}

// back takes a stamp that goes on where the stamps were before, if it does so.
func (c *Course) back(stamp, log engram.Time) bool {
	n := len(c.lines) - 1
	now, near := c.lines[n].run, c.lines[n].near(stamp, log)
	for i := n - 1; i >= 0; i-- {
		l := c.lines[i]
		if near && l.run.run > now.run { // else two lines that are near take turns, and neither run becomes certain
			continue
		}
		// After one wild stamp the clock may have gone on slower than the recorder's.
		slow := l.run == now && stamp.Sub(log) < l.off && stamp >= l.top
		if !slow && !l.near(stamp, log) {
			continue
		}
		if l.run.run < now.run && now.certain && log.Sub(now.At) > 2*MaxLate { // too late for a late message
			if c.returns++; c.returns > maxReturns {
				c.resets = slices.DeleteFunc(c.resets, func(r Reset) bool { return r.run > l.run.run })
			}
		}
		c.lines = slices.Delete(c.lines, i, i+1)
		l.follow(stamp, log)
		c.begin(l)
		return true
	}
	return false
}

// followed counts a message of the present run, and notes what enough of them tell: that the run
// began with a reset, and that later ones, not yet certain, were late messages. The message before
// was of the run was.
func (c *Course) followed(was *run, stamp, log engram.Time) {
	r := c.present()
	if c.count++; c.count == maxCounted {
		c.count, c.turns = c.count/2, c.turns/2
	}
	if r != was {
		c.turns++
		r.count, r.from = 0, mark{stamp, log}
	} else {
		if by := r.to.stamp.Sub(stamp); by > 0 {
			if c.least == 0 || by < c.least {
				c.least = by
			}
			if by > c.step.By() {
				c.step = Reset{At: log, Top: r.to.stamp, To: stamp}
			}
		}
		if d := log.Sub(r.to.log); c.period == 0 || d > 0 && d < c.period {
			c.period = d
		}
		if up := stamp.Sub(log) - r.to.stamp.Sub(r.to.log); up <= MaxLate {
			c.rise = max(c.rise, up)
		}
	}
	r.to = mark{stamp, log}
	if r.count++; r.count < minRun || log.Sub(r.from.log) < minSpan {
		return
	}
	if !r.certain {
		c.note(r)
	} else if n := len(c.resets); !r.Even && n > 0 && c.resets[n-1].run == r.run && log.Sub(r.At) <= maxBurst && c.even(r) {
		r.Even, c.resets[n-1].Even = true, true
	}
	c.lines = slices.DeleteFunc(c.lines, func(l line) bool { return l.run.run > r.run && !l.run.certain })
}

// note takes the beginning of a run for certain, and of those short ones before it that nothing returned from.
func (c *Course) note(r *run) {
	if !r.before.certain {
		c.note(r.before)
	}
	if p, was := r.before.pace(), c.pace; p > 0 && r.before.Even {
		if c.pace = p; r.before.count < minSteady {
			c.pace = max(was, min(p, 1))
		}
	}
	r.Even, r.first, r.last = c.even(r), r.before.from, r.before.to
	r.certain, r.before = true, nil
	c.returns = 0
	if len(c.resets) < maxResets {
		c.resets = append(c.resets, r.Reset)
	}
}

// End returns where the clock went back, once all stamps are known.
func (c *Course) End() []Reset {
	if c.Doubtful() {
		switch r := c.present(); {
		case r.short():
			c.note(r)
		case !r.before.certain:
			c.note(r.before)
		}
	}
	return c.resets
}

// Step returns where stamps went back the farthest by less than MaxLate, with no pause before, and went on from there; ok is
// false if there is none, or stamps come out of order: then some return to where they were, or go back by much less.
func (c *Course) Step() (r Reset, ok bool) {
	return c.step, c.step.By() > 0 && max(c.rise, c.step.By()-c.least) <= c.step.By()/2
}

// Resets returns where the clock went back, as far as it is certain already. Those are taken back
// of which the stamps turn out to be of several clocks in turn.
func (c *Course) Resets() []Reset { return c.resets }

// Last returns the newest message; ok is false before the first one.
func (c *Course) Last() (stamp, log engram.Time, ok bool) {
	r := c.present()
	if r == nil {
		return 0, 0, false
	}
	return r.to.stamp, r.to.log, true
}

// Doubtful reports whether the clock went back, or a message is late: what follows will tell.
func (c *Course) Doubtful() bool {
	_, ok := c.Doubt()
	return ok
}

// Doubt returns where the clock went back, if it did, while it is [Course.Doubtful].
func (c *Course) Doubt() (r Reset, ok bool) {
	if now := c.present(); now != nil && !now.certain {
		return now.Reset, true
	}
	return r, false
}

// Old reports whether a message lies where the clock was before, give or take what comes late: as far from its log time,
// or, of a clock that goes faster or slower, about where that was at the log time.
func (r *Reset) Old(stamp, log engram.Time) bool {
	if (stamp.Sub(log) - r.Before).Abs() <= MaxLate {
		return true
	}
	logs := r.last.log.Sub(r.first.log)
	if logs <= 0 {
		return false
	}
	since := time.Duration(float64(r.last.log.Sub(log)) * float64(r.last.stamp.Sub(r.first.stamp)) / float64(logs))
	return (r.last.stamp.Sub(stamp) - since).Abs() <= MaxLate+since.Abs()/2
}

// New reports whether a clock that went back is where another one is since it went back, give or take what comes late.
func (r *Reset) New(o *Reset) bool {
	return (o.To.Sub(o.At) - r.To.Sub(r.At)).Abs() <= MaxLate
}

// Unsettled reports whether a clock that went back and goes on too fast may still turn out to be [Reset.Even], at a log time.
func (r *Reset) Unsettled(log engram.Time) bool {
	return !r.Even && r.run > 0 && log.Sub(r.At) <= maxBurst
}

// By returns how far the clock went back.
func (r Reset) By() time.Duration { return r.Top.Sub(r.To) }
