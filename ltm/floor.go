package ltm

import (
	"context"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/wm"
)

// before is what episodes of earlier lives hold of an entity.
type before struct {
	any     bool
	last    engram.Time // the highest time
	arrived engram.Time // the last arrival
}

// beforeCache remembers what earlier lives left of each entity: it does not change but
// when something is forgotten or removed.
type beforeCache struct {
	mu       sync.RWMutex
	entities map[engram.ID]before
	changes  uint64
}

// maxBefore bounds the entities that are remembered.
const maxBefore = 200_000

func (c *beforeCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entities)
	c.changes++
}

func (c *beforeCache) get(id engram.ID) (b before, changes uint64, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	b, ok = c.entities[id]
	return b, c.changes, ok
}

func (c *beforeCache) put(id engram.ID, b before, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes {
		return
	}
	if c.entities == nil || len(c.entities) >= maxBefore {
		c.entities = map[engram.ID]before{}
	}
	c.entities[id] = b
}

// beforeOf returns what earlier lives left of an entity.
func (s *Store) beforeOf(ctx context.Context, id engram.ID) (before, error) {
	if !s.earlier {
		return before{}, nil
	}
	b, changes, ok := s.before.get(id)
	if ok {
		return b, nil
	}
	holdings, err := s.catalogue.Holdings(ctx, id)
	if err != nil {
		return b, err
	}
	gone := s.hiddenOf(id)
	epoch := s.wm.Epoch()
	for _, h := range holdings.All() {
		e, ok := s.episodes.get(h.Episode)
		if !ok || e.info.Epoch == epoch || gone.hidesAll(h.Arrived, e.info.Epoch) {
			continue
		}
		last, arrived := h.Span.End-1, h.Arrived.End-1
		if !b.any {
			b = before{true, last, arrived}
		}
		b.last, b.arrived = max(b.last, last), max(b.arrived, arrived)
	}
	s.before.put(id, b, changes)
	return b, nil
}

// hidesAll reports whether everything that arrived in an interval is hidden, as far as
// can be told without looking.
func (h hidden) hidesAll(arrived engram.Interval, epoch uint64) bool {
	for i := range h {
		if epoch != h[i].Epoch && h[i].isAfter(epoch, arrived.End-1) {
			return true
		}
	}
	return false
}

// floor returns the latest time for which the disk may know more of an entity than the
// working memory does; any is false if it knows nothing more at all.
func (s *Store) floor(ctx context.Context, id engram.ID, w *wm.EntityView, asOf engram.Time) (floor engram.Time, any bool, err error) {
	lost := w.Lost()
	if asOf != engram.MaxTime && lost.Evictions > 0 {
		return engram.MaxTime, true, nil // superseded versions are gone at any time
	}
	floor = engram.MinTime
	if lost.Snapshots > 0 {
		floor, any = lost.Last, true
	}
	if forgotten := s.account.forgotten(id); forgotten.Versions > 0 { // to tell of it
		floor, any = max(floor, forgotten.Last), true
	}
	if damaged := s.account.damage(id); damaged.Versions > 0 {
		floor, any = max(floor, damaged.Last), true
	}
	b, err := s.beforeOf(ctx, id)
	if err != nil || !b.any {
		return floor, any, err
	}
	last := b.last
	if asOf == engram.MaxTime && last > engram.MinTime {
		if snap, _ := w.Prev(w.After(last), last); snap != nil && snap.Arrived >= b.arrived {
			last-- // it was restored, or superseded since
		}
	}
	return max(floor, last), true, nil
}
