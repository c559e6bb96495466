package ltm

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Removed hides what was recorded of a segment that was just removed from the working
// memory: queries do not find it any more, also in later epochs. What is recorded of it
// when it is added again is found. The episodes keep what they hold until it is
// forgotten.
func (p *past) Removed(ctx context.Context, segment engram.ID) error {
	if p.wm == nil {
		return errNotBegun
	}
	r := removal{Segment: segment, Arrived: p.options.Now(), Epoch: p.wm.Epoch(), Number: p.wm.Number()}
	noted, _, _ := p.wm.Removals().List()
	for _, n := range noted {
		if n.Segment == segment { // what was committed since is not meant
			r.Arrived, r.Number = n.Until, n.Number
		}
	}
	err := p.recorder.do(ctx, func() error {
		p.recorder.forgetEntities(segment, r.Number)
		p.disk.recent.remove(segment)
		return nil
	})
	if err != nil {
		return err
	}
	err = p.state.change(func(c *stateContent) {
		kept := c.Removed[:0]
		for _, old := range c.Removed {
			old.lives = c.Lives
			if !segment.Contains(old.Segment) || old.Epoch != r.Epoch && !r.follows(&old) {
				kept = append(kept, old)
			}
		}
		c.Removed = append(kept, r)
	})
	p.publishState()
	return err
}

// forgetEntities lets go of what the recorder knows of the entities of a segment that was
// removed after the update of a number.
func (r *recorder) forgetEntities(segment engram.ID, last uint64) {
	r.lossCount.forget(segment, last)
	for id := range r.entities {
		if segment.Contains(id) {
			delete(r.entities, id)
			r.filters.Forget(id)
			r.counts.forget(id)
		}
	}
}
