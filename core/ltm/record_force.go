package ltm

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// An episode begins with the values in force: the newest state of every entity that has
// not changed for a while, so that a cut out of it stands alone. What changes all the
// time comes by itself; what is older than its policy keeps is not kept so.
const (
	forceQuiet   = 10 * time.Second // since the entity last changed
	forcePayload = 1 << 20          // of one snapshot, in bytes
	forceBytes   = 16 << 20         // of all
)

// inForce writes the values in force into the episode that was just begun.
func (r *recorder) inForce() {
	view := r.wm.View(r.ctx, nil)
	quiet := r.began.Add(-forceQuiet)
	left := forceBytes
	for entity := range view.Entities() {
		e := view.Entity(entity)
		if e == nil {
			continue
		}
		s := e.Newest()
		// What is newer than the recorder is offered to the policy yet.
		if s == nil || r.changedSince(entity, s, quiet) || s.Number > r.last {
			continue
		}
		p := r.policies.Of(entity)
		if p.Record == policy.Never || p.Keep.Outlived(min(s.Time, s.Arrived), r.began) {
			continue
		}
		size := s.Size()
		if size > forcePayload || size > left {
			continue
		}
		if r.channels >= maxChannels/2 { // there is to be room for what comes
			r.options.Log.Warn("an episode begins with the values in force of some entities only", "count", r.channels)
			return
		}
		left -= size
		if !r.add(entity, r.entity(entity), s, true) {
			return
		}
	}
}

// changedSince reports whether the newest state of an entity came after a time.
func (r *recorder) changedSince(entity engram.ID, s *engram.Snapshot, t engram.Time) bool {
	if e := r.entities[entity]; e != nil && e.copied {
		return e.came > t
	}
	return s.Arrived > t && !r.wm.Copies().Has(entity)
}
