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

// Ahead tells of the snapshots that are stamped beyond the present.
type Ahead struct {
	Entities int         // that have some; the other fields mean nothing if it is 0
	Example  engram.ID   // one of them
	Since    engram.Time // all of them are later
	Last     engram.Time // the time of the last of them
}

// Ahead looks for what is stamped beyond the present. Where there is nothing it costs a
// moment per segment, else one per entity.
func (w *WM) Ahead() (found Ahead) {
	now := w.now()
	found.Since, found.Last = engram.MaxTime, engram.MinTime
	for _, m := range w.memories.sorted() {
		least := engram.MaxTime
		for _, c := range m.value.cores.sorted() {
			least = min(least, c.value.present(now))
		}
		w.mu.Lock()
		highest := m.value.highest
		w.mu.Unlock()
		if highest <= least {
			continue
		}
		last := m.value.look(now, &found)
		w.mu.Lock()
		if m.value.highest == highest { // what had that time may be gone
			m.value.highest = last
		}
		w.mu.Unlock()
	}
	return found
}

// look adds what the memory has beyond the present, and returns the highest time of all.
func (m *memory) look(now engram.Time, found *Ahead) (highest engram.Time) {
	highest = engram.MinTime
	for _, c := range m.cores.sorted() {
		present := c.value.present(now)
		for _, p := range c.value.providers.sorted() {
			for _, e := range p.value.entities.sorted() {
				v := e.value.timeline.last()
				if v == nil {
					continue
				}
				if highest = max(highest, v.Time); v.Time > present {
					found.Entities++
					found.Example = e.value.id
					found.Since, found.Last = min(found.Since, present), max(found.Last, v.Time)
				}
			}
		}
	}
	return highest
}
