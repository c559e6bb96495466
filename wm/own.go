package wm

import (
	"maps"

	"github.com/seed-301d4374/engram"
)

// maxOwn bounds the entities of a core segment with bounds of their own.
const maxOwn = 1000

// history returns the bounds of an entity of the core segment: its own, or the segment's.
func (c *core) history(id engram.ID) engram.Bounds {
	if own := c.own.Load(); own != nil {
		if b, ok := (*own)[id]; ok {
			return b
		}
	}
	return c.def.Load().History
}

// setOwn sets the bounds of an entity, which need not be there yet, until the server ends. Those
// of its segment are none of its own. w.defining is held.
func setOwn(w *WM, c *core, id engram.ID, b engram.Bounds) error {
	own := map[engram.ID]engram.Bounds{}
	if before := c.own.Load(); before != nil {
		maps.Copy(own, *before)
	}
	if own[id] = b; b == c.def.Load().History {
		delete(own, id)
	}
	if len(own) > maxOwn {
		return engram.Errorf(engram.Exhausted, id.String(), "%d entities of its segment have bounds of their own, and no more may; give some their segment's ('engram segment set ID --reset'), or change the segment's", maxOwn)
	}
	c.own.Store(nil)
	if len(own) > 0 {
		c.own.Store(&own)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.entity(id); e != nil && !e.removed && !e.provider.removed {
		w.boundLocked(e)
	}
	return nil
}
