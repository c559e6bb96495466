package ltm

import (
	"maps"
	"time"

	"github.com/seed-301d4374/engram"
)

// notedBounds are bounds as the state's file has them.
type notedBounds struct {
	MaxCount int           `json:"count,omitempty"`
	MaxAge   time.Duration `json:"age,omitempty"` // ns
	MaxBytes int64         `json:"bytes,omitempty"`
}

// Bounds returns what is noted of how much the working memory keeps of core segments and
// entities, see [Store.NoteBounds].
func (p *past) Bounds() map[engram.ID]engram.Bounds {
	all := map[engram.ID]engram.Bounds{}
	for id, b := range p.state.content().Bounds {
		all[id] = engram.Bounds(b)
	}
	return all
}

// NoteBounds notes, until they are noted again or the segment is removed, bounds that were set at
// run-time; nil takes back what is noted.
func (p *past) NoteBounds(id engram.ID, b *engram.Bounds) error {
	old, noted := p.state.content().Bounds[id]
	if b == nil && !noted || b != nil && noted && engram.Bounds(old) == *b {
		return nil
	}
	return p.state.change(func(c *stateContent) {
		if c.Bounds = maps.Clone(c.Bounds); c.Bounds == nil {
			c.Bounds = map[engram.ID]notedBounds{}
		}
		if b == nil {
			delete(c.Bounds, id)
		} else {
			c.Bounds[id] = notedBounds(*b)
		}
	})
}

// dropBounds takes back what is noted of a segment and what it holds.
func (c *stateContent) dropBounds(segment engram.ID) {
	c.Bounds = maps.Clone(c.Bounds)
	maps.DeleteFunc(c.Bounds, func(id engram.ID, _ notedBounds) bool { return segment.Contains(id) })
}
