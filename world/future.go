package world

import (
	"time"

	"github.com/seed-301d4374/engram"
)

// futureFrom is how far ahead something may be said to be true: clocks that are set by NTP, and
// corrected, are closer.
const futureFrom = time.Second

// FromFuture returns what counts of an item and was said the furthest ahead of now, and by how much, by
// the clock of the world's own robot; nil if that is no more than a second. Who said it has a clock
// that is ahead and was not measured, or gave a time that is. It counts before all that others say until then.
func FromFuture(f *Forest, name string, now engram.Time) (furthest *Statement, by time.Duration) {
	m, err := f.Get(name)
	if err != nil {
		return nil, 0
	}
	by = futureFrom
	look := func(s *Statement, of func(*Statement) (engram.Time, bool)) {
		if s == nil {
			return
		}
		if t, said := of(s); said {
			if ahead := s.at(t).Add(f.rules.Offsets[s.Robot]).Sub(now); ahead > by {
				furthest, by = s, ahead
			}
		}
	}
	look(m.Structured, structureTime)
	look(m.Placed, placementTime)
	look(m.Described, descriptionTime)
	if furthest == nil {
		by = 0
	}
	return furthest, by
}
