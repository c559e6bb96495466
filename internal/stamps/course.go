// Package stamps finds out of the stamps of messages, in the order in which they were recorded or
// arrived, where the clock that stamped them went back: a simulation that begins anew, a bag that is
// played in a loop, a clock that was set. It is pure: it has no clock and no goroutines.
package stamps

import (
	"time"

	"github.com/seed-301d4374/engram"
)

// Of clocks that go back.
const (
	maxLate     = time.Second            // stamps of one clock may come so much later than others, or out of order
	minRun      = 3                      // stamps that go on from where a clock went back, for minSpan; fewer are late messages
	minRunAtEnd = 2                      // of them where nothing follows
	minSpan     = 250 * time.Millisecond // what was held back comes faster
	maxReturns  = 2                      // to an earlier clock: from then on it is several clocks, not one that went back
	maxLines    = 8                      // that are remembered of a stream
	maxResets   = 1 << 10
)

// line is what the stamps of a stream follow while their clock goes on evenly.
type line struct {
	run int           // of the clock: a jump back begins another one
	off time.Duration // of the newest stamp from its log time
	top engram.Time   // the latest stamp
}

func (l *line) follow(stamp, log engram.Time) {
	l.off, l.top = stamp.Sub(log), max(l.top, stamp)
}

// near reports whether a stamp goes on where the line is, give or take what comes late.
func (l *line) near(stamp, log engram.Time) bool { return (stamp.Sub(log) - l.off).Abs() <= maxLate }

// Reset is where the clock of a stream went back.
type Reset struct {
	At     engram.Time   // the log time of the first message after it
	Top    engram.Time   // the latest stamp before
	To     engram.Time   // the first one after it
	Before time.Duration // how far the stamps lay after the log times before
	run    int           // of the clock before
	count  int           // of the messages since, until it is certain
}

// A Course follows the stamps of one stream in the order of its messages, and finds where
// their clock went back: stamps that lie far before earlier ones, and go on from there. A
// message or two that are late return to where the clock was; so do stamps of several
// publishers in turn.
type Course struct {
	lines   []line // the last one is the present one
	runs    int
	resets  []Reset
	open    *Reset // not yet certain
	returns int
}

// Follow takes the next stamp, of a message that was recorded, or arrived, at log.
func (c *Course) Follow(stamp, log engram.Time) {
	if len(c.lines) == 0 {
		c.lines = append(c.lines, line{off: stamp.Sub(log), top: stamp})
		return
	}
	now := &c.lines[len(c.lines)-1]
	switch ahead := stamp.Sub(log) - now.off; {
	case c.open != nil && c.back(stamp, log): // perhaps because what was late has caught up
		return
	case now.near(stamp, log), stamp >= now.top.Add(-maxLate) && ahead < 0: // or slower than the recorder's
	case c.back(stamp, log):
		return
	case stamp >= now.top.Add(-maxLate): // a jump forward
		run := now.run
		if c.open != nil && stamp >= c.open.Top.Add(-maxLate) {
			run, c.open = c.open.run, nil // what went back was late
		}
		c.begin(line{run: run, off: stamp.Sub(log), top: stamp})
		c.certain(log)
		return
	default:
		c.runs++
		c.open = &Reset{At: log, Top: now.top, To: stamp, run: now.run, Before: now.off}
		c.begin(line{run: c.runs, off: stamp.Sub(log), top: stamp})
	}
	c.lines[len(c.lines)-1].follow(stamp, log)
	c.certain(log)
}

func (c *Course) begin(l line) {
	if c.lines = append(c.lines, l); len(c.lines) > maxLines {
		c.lines = append(c.lines[:0], c.lines[1:]...)
	}
}

// back takes a stamp that goes on where the stamps were before, if it does so.
func (c *Course) back(stamp, log engram.Time) bool {
	n := len(c.lines) - 1
	for i := n - 1; i >= 0; i-- {
		l := c.lines[i]
		// After one wild stamp the clock may have gone on slower than the recorder's.
		slow := l.run == c.lines[n].run && stamp.Sub(log) < l.off && stamp >= l.top.Add(-maxLate)
		if !slow && !l.near(stamp, log) {
			continue
		}
		if l.run != c.lines[n].run {
			if c.open == nil {
				c.returns++
			}
			c.open = nil
		}
		copy(c.lines[i:], c.lines[i+1:])
		c.lines[n] = l
		c.lines[n].follow(stamp, log)
		c.certain(log)
		return true
	}
	return false
}

// certain notes a reset that enough messages have followed.
func (c *Course) certain(log engram.Time) {
	if c.open == nil {
		return
	}
	if c.open.count++; c.open.count >= minRun && log.Sub(c.open.At) >= minSpan {
		c.note()
	}
}

// note takes the open reset for certain.
func (c *Course) note() {
	if len(c.resets) < maxResets {
		c.resets = append(c.resets, *c.open)
	}
	c.open = nil
}

// End returns where the clock went back, once all stamps are known.
func (c *Course) End() []Reset {
	if c.open != nil && c.open.count >= minRunAtEnd {
		c.note()
	}
	return c.Resets()
}

// Resets returns where the clock went back, as far as it is certain already: none while the stamps
// are those of several clocks in turn.
func (c *Course) Resets() []Reset {
	if c.returns > maxReturns {
		return nil
	}
	return c.resets
}

// Doubtful reports whether the clock went back, or a message is late: what follows will tell.
func (c *Course) Doubtful() bool { return c.open != nil }

// By returns how far the clock went back.
func (r Reset) By() time.Duration { return r.Top.Sub(r.To) }
