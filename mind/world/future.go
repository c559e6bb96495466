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
func FromFuture(f *Forest, name string, now engram.Time) (furthest *Said, by time.Duration) {
	by = FutureFrom
	look := func(s *Said, stated engram.Time) {
		if ahead := Corrected(f, s, s.at(stated)).Sub(now); ahead > by {
			furthest, by = s, ahead
		}
	}
	if n := f.item(name); n != nil {
		group := func(s *Statement, of func(*Statement) (engram.Time, bool)) {
			if s == nil {
				return
			}
			if t, said := of(s); said {
				look(&s.Said, t)
			}
		}
		group(n.merged.Structured, structureTime)
		group(n.merged.Placed, placementTime)
		group(n.merged.Described, descriptionTime)
		if len(n.states) > 0 {
			states, _ := f.States(name) // the item is there
			for _, s := range states {
				look(&s.Said, s.Time)
			}
		}
		var described, valued *JointStatement
		if len(n.joints) > 0 {
			described, valued, _ = f.rules.mergeJoints(n.said, n.joints, "")
		}
		if described != nil {
			look(&described.Said, described.Joint.Time)
		}
		if valued != nil {
			look(&valued.Said, valued.Joint.ValueTime)
		}
	} else if s, removed := f.Removed(name); removed {
		look(&s.Said, s.Item.Removed.Time)
	}
	if furthest == nil {
		by = 0
	}
	return furthest, by
}
