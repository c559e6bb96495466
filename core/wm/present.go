package wm

import (
	"time"

	"github.com/seed-301d4374/engram"
)

// A clock that was ahead leaves snapshots that are stamped beyond the present. They stay
// where they are in the timelines, are read by their times, and are the first that count
// and bytes evict; but they are not newest where there is anything of the present, neither
// for readers ([query.Newest]) nor for what the bounds protect and measure ages from. What
// is beyond the present changes with the clock; so entity.newest is a finding of the last
// write, which readers check.

// copiedAhead is how far a copy's owner may be ahead of this server's clock at least: its
// times are of another clock, which may be hours off, in another time zone for one.
const copiedAhead = 24 * time.Hour

// present returns the latest time that is not beyond the present for the segment.
func (c *core) present(now engram.Time) engram.Time {
	if c.memory.copied {
		return max(c.def.Present(now), now.Add(copiedAhead))
	}
	return c.def.Present(now)
}

func (e *entity) present(now engram.Time) engram.Time { return e.provider.core.present(now) }

// Present returns the latest time that is not beyond the present for an entity, which need
// not be there.
func (w *WM) Present(entity engram.ID) engram.Time { return w.present(entity, w.now()) }

// present is that of the segment that id lies in, or of one that says nothing.
func (w *writer) present(id engram.ID, now engram.Time) engram.Time {
	c, err := w.core(id)
	if err != nil {
		return (&engram.CoreSegment{}).Present(now)
	}
	return c.present(now)
}

// newestLocked returns the entity's newest state by the clock, nil if it has none.
func (e *entity) newestLocked(present engram.Time) *version {
	v := e.newest.Load()
	if v != nil && (e.ahead.Load() || v.Time > present) {
		return e.timeline.newest(present)
	}
	return v
}

// Ahead tells of the snapshots of a core segment that are stamped beyond its present.
type Ahead struct {
	Segment  engram.ID
	Present  engram.Time // of the segment: all of them are later
	Entities int         // that have some
	Example  engram.ID   // one of them
	Last     engram.Time // the time of the last of them
}

// Ahead looks for what is stamped beyond the present, and returns the segments that have some,
// sorted. It costs a moment per segment, and where there is something one per entity.
func (w *WM) Ahead() (found []Ahead) {
	now := w.now()
	for _, m := range w.memories.sorted() {
		for _, c := range m.value.cores.sorted() {
			w.mu.Lock()
			highest := c.value.highest
			w.mu.Unlock()
			a := Ahead{Segment: c.value.id, Present: c.value.present(now)}
			if highest <= a.Present {
				continue
			}
			a.Last = engram.MinTime
			c.value.look(&a)
			w.mu.Lock()
			if c.value.highest == highest { // what had that time may be gone
				c.value.highest = a.Last
			}
			w.mu.Unlock()
			if a.Entities > 0 {
				found = append(found, a)
			}
		}
	}
	return found
}

// look finds what the segment has beyond the present; the last time is that of all it has.
func (c *core) look(a *Ahead) {
	for _, p := range c.providers.sorted() {
		for _, e := range p.value.entities.sorted() {
			v := e.value.timeline.last()
			if v == nil {
				continue
			}
			if a.Last = max(a.Last, v.Time); v.Time > a.Present {
				a.Entities++
				a.Example = e.value.id
			}
		}
	}
}
