package world

import (
	"time"

	"github.com/seed-301d4374/engram"
)

// futureFrom is how far ahead something may be said to be true: clocks that are set by NTP, and
// corrected, are closer.
const futureFrom = time.Second

// FromFuture returns who says what counts of an item, of its states, of the joint that moves it, or that it was
// removed, the furthest ahead of now, and by how much, by the clock of the world's own robot; nil if that is no
// more than a second. Who said it has a clock that is ahead and was not measured, or gave a time that is. It counts
// before all that others say until then.
func FromFuture(f *Forest, name string, now engram.Time) (furthest *Said, by time.Duration) {
	by = futureFrom
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
		states, _ := f.States(name) // the item is there
		for _, s := range states {
			look(&s.Said, s.Time)
		}
		described, joint := f.rules.mergeJoints(n.said, n.joints, "")
		for _, s := range n.joints {
			if s == described {
				look(&s.Said, s.Joint.Time)
			}
			if joint != nil && joint.Value != nil && s.Joint.Value == joint.Value { // it is who told the value
				look(&s.Said, s.Joint.ValueTime)
			}
		}
	} else if s, removed := f.Removed(name); removed {
		look(&s.Said, s.Item.Removed.Time)
	}
	if furthest == nil {
		by = 0
	}
	return furthest, by
}
