// Package stamps finds out of the stamps of messages, in the order in which they were recorded or
// arrived, where the clock that stamped them went back: a simulation that begins anew, a bag that is
// played in a loop, a clock that was set. It is pure: it has no clock and no goroutines.
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
	minRun      = 3                      // stamps in a row that go on from where a clock went back, for minSpan; fewer are late messages
	minRunAtEnd = 2                      // of them where nothing follows
	minSpan     = 250 * time.Millisecond // what was held back comes faster
	maxReturns  = 2                      // to an earlier clock that goes on: with more it is several clocks, not one that went back
	maxLines    = 8                      // that are remembered of a stream
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
	run    int           // that begins with it
}

// run is a run of the clock. Its lines share it.
type run struct {
	Reset        // not of the first run
	before  *run // until it is certain
	certain bool
}

// A Course follows the stamps of one stream in the order of its messages, and finds where
// their clock went back: stamps that lie far before earlier ones, and go on from there. A
// message or two that are late return to where the clock was, or to where it is; stamps of
// several publishers in turn return to a clock that has gone on.
type Course struct {
	lines   []line // the last one is the present one
	runs    int
	resets  []Reset
	count   int         // of the messages in a row that are of the present run
	since   engram.Time // the log time of the first of them
	returns int
}

// Follow takes the next stamp, of a message that was recorded, or arrived, at log.
func (c *Course) Follow(stamp, log engram.Time) {
	if len(c.lines) == 0 {
		c.begin(line{run: &run{certain: true}, off: stamp.Sub(log), top: stamp}, log)
		return
	}
	now := &c.lines[len(c.lines)-1]
	switch ahead := stamp.Sub(log) - now.off; {
	case !now.run.certain && c.back(stamp, log): // perhaps because what was late has caught up
	case now.near(stamp, log), stamp >= now.top.Add(-MaxLate) && ahead < 0: // or slower than the recorder's
		now.follow(stamp, log)
	case c.back(stamp, log):
	case stamp >= now.top.Add(-MaxLate): // a jump forward
		of := now.run
		for !of.certain && stamp >= of.Top.Add(-MaxLate) {
			of = of.before // what went back was late, or this is
		}
		c.begin(line{run: of, off: stamp.Sub(log), top: stamp}, log)
	default:
		c.runs++
		r := &run{Reset: Reset{At: log, Top: now.top, To: stamp, Before: now.off, run: c.runs}, before: now.run}
		if of := now.run; !of.certain { // it may have been late
			r.Top, r.Before = max(r.Top, of.Top), of.Before
		}
		c.begin(line{run: r, off: stamp.Sub(log), top: stamp}, log)
	}
	c.followed(log)
}

// begin makes another line the present one.
func (c *Course) begin(l line, log engram.Time) {
	if n := len(c.lines); n == 0 || c.lines[n-1].run != l.run {
		c.count, c.since = 0, log
	}
	if c.lines = append(c.lines, l); len(c.lines) > maxLines {
		c.lines = append(c.lines[:0], c.lines[1:]...)
	}
}

// back takes a stamp that goes on where the stamps were before, if it does so.
func (c *Course) back(stamp, log engram.Time) bool {
	n := len(c.lines) - 1
	now := c.lines[n].run
	for i := n - 1; i >= 0; i-- {
		l := c.lines[i]
		// After one wild stamp the clock may have gone on slower than the recorder's.
		slow := l.run == now && stamp.Sub(log) < l.off && stamp >= l.top.Add(-MaxLate)
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
		c.begin(l, log)
		return true
	}
	return false
}

// followed counts a message of the present run, and notes what enough of them tell: that the run
// began with a reset, and that later ones, not yet certain, were late messages.
func (c *Course) followed(log engram.Time) {
	if c.count++; c.count < minRun || log.Sub(c.since) < minSpan {
		return
	}
	now := c.lines[len(c.lines)-1].run
	if !now.certain {
		c.note(now)
	}
	c.lines = slices.DeleteFunc(c.lines, func(l line) bool { return l.run.run > now.run && !l.run.certain })
}

// note takes the beginning of a run for certain.
func (c *Course) note(r *run) {
	r.certain, r.before = true, nil
	c.returns = 0
	if len(c.resets) < maxResets {
		c.resets = append(c.resets, r.Reset)
	}
}

// End returns where the clock went back, once all stamps are known.
func (c *Course) End() []Reset {
	if c.Doubtful() && c.count >= minRunAtEnd {
		c.note(c.lines[len(c.lines)-1].run)
	}
	return c.resets
}

// Resets returns where the clock went back, as far as it is certain already. Those are taken back
// of which the stamps turn out to be of several clocks in turn.
func (c *Course) Resets() []Reset { return c.resets }

// Doubtful reports whether the clock went back, or a message is late: what follows will tell.
func (c *Course) Doubtful() bool {
	return len(c.lines) > 0 && !c.lines[len(c.lines)-1].run.certain
}

// By returns how far the clock went back.
func (r Reset) By() time.Duration { return r.Top.Sub(r.To) }
