package wm

import (
	"iter"

	"github.com/seed-301d4374/engram"
)

// Cursor looks at single snapshots of one entity after another, as a view shows them. It
// is used by one goroutine.
type Cursor struct {
	w        *WM
	lens     lens
	provider engram.ID // the last one
	found    *provider
	r        reading
	place    place // behind what was found last
	at       engram.Time
}

// Cursor returns a cursor of the view, which stands at no entity.
func (v *View) Cursor() *Cursor { return &Cursor{w: v.w, lens: v.lens} }

// seek looks for a provider segment, or remembers it.
func (c *Cursor) seek(provider engram.ID) {
	if provider != c.provider {
		c.provider, c.found = provider, c.w.provider(provider)
	}
}

// Whole reports whether the memory has, as it came, all that was committed in this epoch
// to the provider segment of an entity: nothing of it was evicted, forgotten or superseded.
func (c *Cursor) Whole(entity engram.ID) bool {
	c.seek(entity.Parent())
	return c.found != nil && !c.found.evicted.Load() && !c.found.revised.Load() && c.w.removal.Load() == 0
}

// To has the cursor stand at an entity; false if there is no such entity.
func (c *Cursor) To(id engram.ID) bool {
	c.seek(id.Parent())
	c.r = reading{}
	if c.found == nil {
		return false
	}
	e, ok := c.found.entities.Get(id.Entity())
	if !ok {
		return false
	}
	c.r = reading{lens: c.lens, spans: e.timeline.spans()}
	c.place, c.at = place{}, engram.MinTime
	return true
}

// At returns the entity's snapshot of a time, or nil. One after the other in the order of
// times is quickest.
func (c *Cursor) At(t engram.Time) *engram.Snapshot {
	if t > c.at { // the next one, maybe
		if s, p := c.r.Next(c.place, t); s != nil && s.Time == t {
			c.place, c.at = p, t
			return s
		}
	}
	s, p := c.r.Next(c.r.From(t), t)
	c.place, c.at = p, t
	return s
}

// Newest returns the entity's newest snapshot, or nil.
func (c *Cursor) Newest() *engram.Snapshot {
	s, _ := c.r.Prev(c.r.End(), engram.MinTime)
	return s
}

// Since yields the entity's snapshots with numbers above one, the newest times first, until it
// comes to one with a lower number.
func (c *Cursor) Since(number uint64) iter.Seq[*engram.Snapshot] {
	return func(yield func(*engram.Snapshot) bool) {
		for s, p := c.r.Prev(c.r.End(), engram.MinTime); s != nil && s.Number > number; s, p = c.r.Prev(p, engram.MinTime) {
			if !yield(s) {
				return
			}
		}
	}
}

// Next returns the entity's first snapshot after a time, or nil, and whether it shows one at
// or before that: then none in between was evicted.
func (c *Cursor) Next(t engram.Time) (s *engram.Snapshot, complete bool) {
	p := c.r.After(t)
	before, _ := c.r.Prev(p, engram.MinTime)
	s, _ = c.r.Next(p, engram.MaxTime)
	return s, before != nil
}
