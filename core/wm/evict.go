package wm

import (
	"cmp"
	"container/heap"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// boundLocked evicts what e and its memory hold beyond their bounds. Each eviction
// costs the same whatever is held (a search in the timeline apart), and removes
// what a commit brought, so the cost of a commit is bounded on average.
func (w *writer) boundLocked(e *entity) {
	if b := &e.provider.core.def.History; *b != (engram.Bounds{}) {
		for v := e.nextToGo(b); v != nil; v = e.nextToGo(b) {
			e.evictLocked(v)
		}
	}
	m := e.provider.core.memory
	if m.bounds == (engram.Bounds{}) {
		return
	}
	for m.bounds.MaxAge > 0 && len(m.byAge) > 0 {
		old := m.byAge[0]
		if m.reference(m.bounds.MaxAge).Sub(old.ageKey.time) <= m.bounds.MaxAge {
			break
		}
		old.evictLocked(old.oldestEvictable())
	}
	for most := m.maxBytes(); m.beyond(&m.held, most); {
		v := m.history.first
		if v == nil {
			v = m.current.first
		}
		if v == nil || v == m.current.last {
			break // what came last stays: the segments themselves are beyond the bounds
		}
		v.entity.evictLocked(v)
	}
}

func beyondSize(c *counters, b *engram.Bounds) bool {
	return b.MaxCount > 0 && c.versions() > uint64(b.MaxCount) || b.MaxBytes > 0 && c.bytes > b.MaxBytes
}

// beyond reports whether what the memory holds is beyond its bounds, in numbers or in
// what it costs: more than the most that it may at present, 0 without a bound.
func (m *memory) beyond(c *counters, most int64) bool {
	return m.bounds.MaxCount > 0 && c.versions() > uint64(m.bounds.MaxCount) || most > 0 && c.cost > most
}

// nextToGo returns what the entity's own bounds evict next, or nil: while there is too much,
// the oldest of what is ahead of the newest state, then the oldest of all; and what is too old.
func (e *entity) nextToGo(b *engram.Bounds) *version {
	v := e.oldestEvictable()
	if beyondSize(&e.held, b) {
		if e.ahead.Load() {
			if first := e.timeline.after(e.newest.Load().Time); first != nil {
				return cmp.Or(first.oldest, first)
			}
		}
		return v
	}
	if v == nil || b.MaxAge == 0 {
		return nil
	}
	newest := e.newest.Load().Time
	if newest.Sub(v.Time) <= b.MaxAge {
		return nil
	}
	before := e.timeline.before(newest) // v, if there is no other
	if robust(newest, before.Time, b.MaxAge).Sub(v.Time) <= b.MaxAge {
		return nil
	}
	return v
}

// reference returns the time from which the memory's ages are measured back.
func (m *memory) reference(age time.Duration) engram.Time {
	return robust(m.newest, m.second, age)
}

// reached notes the time of a version that is stored.
func (m *memory) reached(t, present engram.Time) {
	switch {
	case m.held.committed == 1, m.newest > present && t <= present: // that was no time of this clock
		m.newest, m.second = t, engram.MinTime
	case !query.Newer(m.newest, t, present):
		m.newest, m.second = t, m.newest
	case t > m.second && t <= m.newest:
		m.second = t
	}
}

// oldestEvictable returns what the entity's own bounds evict next, or nil: the
// oldest version of the snapshot with the lowest time, but not the newest state.
func (e *entity) oldestEvictable() *version {
	v := e.timeline.front()
	switch {
	case v == nil:
		return nil
	case v.oldest != nil:
		return v.oldest
	case v == e.newest.Load():
		return nil
	}
	return v
}

// evictLocked drops v, a version that supersedes no other retained one. An entity
// that has nothing left is removed.
func (e *entity) evictLocked(v *version) {
	p := e.provider
	m := p.core.memory
	one := v.counted()
	if v.newer != nil {
		one.snapshots, one.superseded = 0, 1
	}
	past := counters{evicted: 1}
	for _, c := range [...]*counters{&e.held, &p.held, &m.held} {
		if c == &m.held && p.removed {
			break // what the segment held was taken off when it was removed
		}
		c.subHeld(one)
		c.addPast(&past)
	}
	if m.bounded() {
		if v == e.newest.Load() {
			m.current.remove(v)
		} else {
			m.history.remove(v)
		}
	}

	// First the news of the loss, then the loss.
	if !p.evicted.Load() {
		p.evicted.Store(true)
	}
	e.lost.version(v)
	if v.newer == nil {
		if e.held.snapshots == 0 {
			e.removeLocked()
		}
		e.timeline.clear(v)
		if newest := e.newest.Load(); newest != nil && v.Time > newest.Time { // what was ahead may be gone
			e.ahead.Store(e.timeline.last().Time > newest.Time)
		}
	} else {
		current := e.timeline.current(v.Time)
		if current.oldest = v.newer; v.newer == current {
			current.oldest = nil
		}
		v.newer.older.Store(evictedVersion)
	}
	m.byAge.refresh(e, m.bounds)
	m.feed.pins.evicted(v)
}

// removeLocked removes an empty entity from its provider segment. The segment keeps the
// entity's loss counters.
func (e *entity) removeLocked() {
	p := e.provider
	p.gone.all(&e.lost)
	if p.goneFrom.Load() == 0 {
		p.goneFrom.Store(e.lost.lastNumber.Load())
	}
	p.entities.remove(e.id.Entity())
	p.chargeLocked(-entityCost(e.id))
	e.newest.Store(nil) // who still knows the entity is not to keep its payload
	e.removed = true
	p.core.memory.feed.forget(e)
}

// ageHeap holds the entities that have something to evict for its age, those with
// the oldest first.
type ageHeap []*entity

// ageKey is an entity's place in its memory's ageHeap.
type ageKey struct {
	time  engram.Time // of the entity's oldest evictable version
	place int         // in the heap, counted from 1; 0 if it is not there
}

// refresh puts e where it belongs after its oldest evictable version may have
// changed.
func (h *ageHeap) refresh(e *entity, b engram.Bounds) {
	if b.MaxAge == 0 {
		return
	}
	v := e.oldestEvictable()
	switch k := &e.ageKey; {
	case v == nil:
		h.drop(e)
	case k.place == 0:
		k.time = v.Time
		heap.Push(h, e)
	case k.time != v.Time:
		k.time = v.Time
		heap.Fix(h, k.place-1)
	}
}

// drop removes e if it is there.
func (h *ageHeap) drop(e *entity) {
	if e.ageKey.place > 0 {
		heap.Remove(h, e.ageKey.place-1)
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h ageHeap) Len() int           { return len(h) }
func (h ageHeap) Less(i, j int) bool { return h[i].ageKey.time < h[j].ageKey.time }
func (h ageHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].ageKey.place, h[j].ageKey.place = i+1, j+1
}
func (h *ageHeap) Push(x any) {
	e := x.(*entity)
	*h = append(*h, e)
	e.ageKey.place = len(*h)
}
func (h *ageHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.ageKey.place = 0
	return e
}
