package world

import (
	"time"

	"github.com/seed-301d4374/engram"
)

// FutureFrom is how far ahead something may be said to be true: clocks that are set by NTP, and
// corrected, are closer.
const FutureFrom = time.Second

// FromFuture returns the furthest ahead of now of the statements that count of an item, of its states, of the joint that
// moves it, or the removal, and by how much, by the clock of the world's own robot; nil if that is no more than
// [FutureFrom]. Its speaker has a clock that is ahead and was not measured, or gave the time. It counts before all that
// others say until then.
func FromFuture(f *Forest, name string, now engram.Time) (*Said, time.Duration) {
	if n := f.item(name); n != nil {
		return fromFuture(f, n, now)
	}
	a := furthestAhead{f: f, now: now, by: FutureFrom}
	if s, removed := f.Removed(name); removed {
		a.look(&s.Said, s.Item.Removed.Time)
	}
	return a.furthest()
}

// FutureOf is [FromFuture] of an item that the forest has.
func FutureOf(f *Forest, m *Merged, now engram.Time) (*Said, time.Duration) {
	return fromFuture(f, f.of(m), now)
}

func fromFuture(f *Forest, n *node, now engram.Time) (*Said, time.Duration) {
	a := furthestAhead{f: f, now: now, by: FutureFrom}
	m := n.merged
	if m.Structured != nil {
		a.look(&m.Structured.Said, m.Structured.Item.Structure.Time)
	}
	if m.Placed != nil {
		a.look(&m.Placed.Said, m.Placed.Item.Placement.Time)
	}
	if m.Described != nil {
		a.look(&m.Described.Said, m.Described.Item.Description.Time)
	}
	if len(n.states) > 0 {
		states, _ := f.States(n.name) // the item is there
		for _, s := range states {
			a.look(&s.Said, s.Time)
		}
	}
	if len(n.joints) > 0 {
		described, valued, _ := f.rules.mergeJoints(n.said, n.joints, "")
		if described != nil {
			a.look(&described.Said, described.Joint.Time)
		}
		if valued != nil {
			a.look(&valued.Said, valued.Joint.ValueTime)
		}
	}
	return a.furthest()
}

// furthestAhead is the statement that is furthest ahead of now, of those looked at.
type furthestAhead struct {
	f    *Forest
	now  engram.Time
	said *Said
	by   time.Duration
}

func (a *furthestAhead) look(s *Said, stated engram.Time) {
	if by := Corrected(a.f, s, s.at(stated)).Sub(a.now); by > a.by {
		a.said, a.by = s, by
	}
}

func (a *furthestAhead) furthest() (*Said, time.Duration) {
	if a.said == nil {
		return nil, 0
	}
	return a.said, a.by
}
