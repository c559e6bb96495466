package ltm

import (
	"context"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/wm"
)

// before is what episodes of earlier epochs hold of an entity.
type before struct {
	any     bool
	last    engram.Time // the highest time
	arrived engram.Time // the last arrival
}

// beforeCache remembers what earlier epochs left of each entity: it does not change but
// when something is forgotten, removed or repaired.
type beforeCache struct {
	mu       sync.RWMutex
	entities map[engram.ID]before
	since    uint64 // the version of the episodes from which on it is true
}

// maxBefore bounds the entities that are remembered.
const maxBefore = 200_000

// clear has it forget what was true before a version.
func (c *beforeCache) clear(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entities)
	c.since = number
}

func (c *beforeCache) get(id engram.ID, v *version) (b before, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if v.number < c.since {
		return b, false
	}
	b, ok = c.entities[id]
	return b, ok
}

func (c *beforeCache) put(id engram.ID, b before, v *version) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.number < c.since {
		return
	}
	if c.entities == nil || len(c.entities) >= maxBefore {
		c.entities = map[engram.ID]before{}
	}
	c.entities[id] = b
}

// beforeOf returns what earlier epochs left of an entity. The version is pinned, or nil.
func (d *disk) beforeOf(ctx context.Context, v *version, id engram.ID) (b before, err error) {
	if !d.earlier {
		return b, nil
	}
	if v == nil {
		if b, ok := d.before.get(id, d.episodes.current()); ok {
			return b, nil
		}
		v = d.episodes.pin()
		defer v.release()
	}
	if b, ok := d.before.get(id, v); ok {
		return b, nil
	}
	gone := v.hiddenOf(id)
	err = d.eachHolding(ctx, v, id, func(e *handle, held *episode.Entity) {
		if e.info.Epoch == d.epoch || gone.hidesAll(held.Arrived, e.info.Epoch) {
			return
		}
		last, arrived := held.Span.End-1, held.Arrived.End-1
		if !b.any {
			b = before{true, last, arrived}
		}
		b.last, b.arrived = max(b.last, last), max(b.arrived, arrived)
	})
	if err == nil {
		d.before.put(id, b, v)
	}
	return b, err
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
func (d *disk) floor(ctx context.Context, v *version, id engram.ID, w *wm.EntityView, asOf engram.Time) (floor engram.Time, any bool, err error) {
	if len(v.tombstones) > 0 && len(v.tombstonesOf(id)) > 0 { // what is in both memories is to be looked at
		return engram.MaxTime, true, nil
	}
	lost := w.Lost()
	if asOf != engram.MaxTime && lost.Evictions > 0 {
		return engram.MaxTime, true, nil // superseded versions are gone at any time
	}
	floor = engram.MinTime
	if lost.Snapshots > 0 {
		floor, any = lost.Last, true
	}
	if forgotten := v.forgotten[id]; forgotten.Versions > 0 { // to tell of it
		floor, any = max(floor, forgotten.Last), true
	}
	if damaged := v.damageOf(id); damaged.Versions > 0 {
		floor, any = max(floor, damaged.Last), true
	}
	b, err := d.beforeOf(ctx, v, id)
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
