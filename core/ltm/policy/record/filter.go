// Package record decides which snapshots the long-term memory records, by their
// policies: filters that compare a snapshot with the one recorded last, count turns, and
// hold what waits for a link.
//
// It knows snapshots and types; it knows no files.
package record

import (
	"maps"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// Verdict is what a filter decides about a snapshot.
type Verdict uint8

// The verdicts.
const (
	Skip   Verdict = iota // it is not recorded
	Record                // it is recorded now
	Hold                  // the filter holds it until a link asks for it or it expires
)

// Why a snapshot was recorded or not.
const (
	WhyAll       = "all"        // recorded: everything is
	WhyFirst     = "first"      // recorded: nothing was recorded of the entity before
	WhyRate      = "rate"       // skipped: too soon after the last one; in mode Rate also recorded: its turn
	WhyCorrected = "corrected"  // recorded: it supersedes a snapshot that was recorded
	WhyChanged   = "changed"    // recorded: it differs
	WhyAtLeast   = "at least"   // recorded: nothing changed, but not for too long
	WhySame      = "same"       // skipped: too alike
	WhyLinked    = "linked"     // recorded: something that is kept links to it
	WhyNotLinked = "not linked" // skipped, or still held: nothing that is kept links to it
	WhyNever     = "never"      // skipped: nothing of the segment is recorded
)

// Decision is a filter's verdict with its reason.
type Decision struct {
	Verdict Verdict
	Why     string
}

// Counts says how many snapshots were recorded and skipped, by reason.
type Counts struct {
	Recorded map[string]uint64
	Skipped  map[string]uint64
	Held     int // waiting for a link
}

// Filter decides about the snapshots of one entity, offered in the order of their
// arrival. Its methods may be called by one goroutine at a time.
type Filter struct {
	policy  policy.Policy
	turns   [2]turn // of snapshots in the order of time, and of late ones
	newest  engram.Time
	any     bool          // something was offered
	last    engram.Time   // recorded last, but for corrections of earlier ones
	has     bool          // something was recorded
	recent  []engram.Time // of the snapshots recorded last, but for mode Linked; a ring …
	oldest  int           // … that begins here …
	latest  engram.Time   // … and holds nothing after this
	measure measure
	held    waiting
	counts  Counts
}

// NewFilter returns a filter that follows the policy; types knows the payloads'.
func NewFilter(p policy.Policy, types *idf.Registry) *Filter {
	f := &Filter{policy: p, counts: newCounts()}
	f.measure = measure{similar: similarity(p.Similar), types: types}
	f.held.bounds = orDefaults(p.Linking)
	return f
}

func newCounts() Counts {
	return Counts{Recorded: map[string]uint64{}, Skipped: map[string]uint64{}}
}

// Offer decides about a snapshot. The filter keeps s only while it holds it.
func (f *Filter) Offer(s *engram.Snapshot) Decision {
	d := f.decide(s)
	switch d.Verdict {
	case Record:
		f.counts.Recorded[d.Why]++
	case Skip:
		f.counts.Skipped[d.Why]++
	}
	return d
}

func (f *Filter) decide(s *engram.Snapshot) Decision {
	mode := f.policy.Mode()
	if mode == policy.Never {
		return Decision{Skip, WhyNever}
	}
	// A correction of what was recorded replaces a belief that would stand otherwise.
	if mode != policy.Linked && f.corrects(s.Time) {
		if s.Time == f.last {
			if mode == policy.Change && !f.measure.differs(s) {
				return Decision{Skip, WhySame}
			}
			f.recorded(s)
		}
		if mode == policy.All {
			return Decision{Record, WhyAll}
		}
		return Decision{Record, WhyCorrected}
	}
	if !f.isTurn(s.Time) {
		return Decision{Skip, WhyRate}
	}
	d := Decision{Record, WhyAll}
	switch {
	case mode == policy.Linked:
		f.counts.Skipped[WhyNotLinked] += f.held.add(s)
		d = Decision{Hold, WhyNotLinked}
	case mode == policy.Rate:
		d.Why = WhyRate
	case mode == policy.Change && !f.has:
		d.Why = WhyFirst
	case mode == policy.Change && f.measure.differs(s):
		d.Why = WhyChanged
	case mode == policy.Change && f.policy.Similar.AtLeast > 0 && apart(s.Time, f.last) >= f.policy.Similar.AtLeast:
		d.Why = WhyAtLeast
	case mode == policy.Change:
		return Decision{Skip, WhySame}
	}
	f.takeTurn(s.Time)
	if d.Verdict == Record {
		f.recorded(s)
	}
	return d
}

// Recorded tells the filter of a snapshot that was recorded without being offered,
// such as the last one before a restart: it is what the next ones are compared to.
func (f *Filter) Recorded(s *engram.Snapshot) {
	f.isTurn(s.Time)
	f.takeTurn(s.Time)
	f.recorded(s)
}

func (f *Filter) recorded(s *engram.Snapshot) {
	if !f.corrects(s.Time) {
		f.remember(s.Time)
	}
	f.last, f.has = s.Time, true
	if f.policy.Mode() == policy.Change {
		f.measure.remember(s)
	}
}

// maxRecent bounds how many snapshots back a correction is known to be one.
const maxRecent = 32

// corrects reports whether a snapshot of time t supersedes one that was recorded, of
// those recorded last.
func (f *Filter) corrects(t engram.Time) bool {
	return len(f.recent) > 0 && t <= f.latest && slices.Contains(f.recent, t)
}

func (f *Filter) remember(t engram.Time) {
	if len(f.recent) == 0 || t > f.latest {
		f.latest = t
	}
	if len(f.recent) < maxRecent {
		f.recent = append(f.recent, t)
		return
	}
	f.recent[f.oldest] = t
	f.oldest = (f.oldest + 1) % maxRecent
}

// turn is when the next snapshot may be recorded.
type turn struct {
	due engram.Time
	set bool
}

func (f *Filter) lane(t engram.Time) *turn {
	if f.any && t < f.newest {
		return &f.turns[1]
	}
	return &f.turns[0]
}

// isTurn reports whether MaxRate lets a snapshot of time t pass.
func (f *Filter) isTurn(t engram.Time) bool {
	if f.policy.MaxRate <= 0 {
		return true
	}
	l := f.lane(t)
	if !f.any || t > f.newest {
		f.newest, f.any = t, true
	}
	// Far behind its turn, time has been set back.
	return !l.set || t >= l.due || l.due.Sub(t) > 2*f.period()
}

// takeTurn sets the next turn. Turns lie on a grid, so that a stream that jitters
// is recorded at the rate asked for and not below it.
func (f *Filter) takeTurn(t engram.Time) {
	if f.policy.MaxRate <= 0 {
		return
	}
	l, period := f.lane(t), f.period()
	next := l.due.Add(period)
	if early := t.Add(period / 2); !l.set || next < early || next.Sub(t) > period {
		next = t.Add(period)
	}
	l.due, l.set = next, true
}

func (f *Filter) period() time.Duration {
	return time.Duration(float64(time.Second) / f.policy.MaxRate)
}

func apart(a, b engram.Time) time.Duration {
	if a < b {
		a, b = b, a
	}
	return a.Sub(b)
}

// Link takes the held snapshot that a link asks for: that of time at, or if exact
// is false the newest one up to then. It is nil if none is held.
func (f *Filter) Link(at engram.Time, exact bool) *engram.Snapshot {
	s := f.held.take(at, exact)
	if s != nil {
		f.counts.Recorded[WhyLinked]++
		f.last, f.has = s.Time, true
	}
	return s
}

// Expire gives up the held snapshots that no link asked for in time.
func (f *Filter) Expire(now engram.Time) {
	f.counts.Skipped[WhyNotLinked] += f.held.expire(now)
}

// Counts returns what the filter has decided so far.
func (f *Filter) Counts() Counts {
	return Counts{maps.Clone(f.counts.Recorded), maps.Clone(f.counts.Skipped), len(f.held.snapshots)}
}
