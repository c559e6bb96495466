package wm

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Restored is a version that is put back into the memory.
type Restored struct {
	Entity   engram.ID
	Snapshot *engram.Snapshot // with Time, Arrived, Recalled and the instances; the memory keeps the payloads' bytes
}

// Restore puts versions back that the memory held in an earlier epoch (Recalled is
// false) or before it evicted them (Recalled is true), with their times of arrival,
// and answers each at the same index. They get new numbers and are held to the
// bounds like any others, but they are not journaled, and they are no news: live
// subscriptions are not told of them. A subscription that begins later finds them in
// its backfill; one that resumes by number does not find those that were recalled.
//
// A version is refused with AlreadyExists where the memory has one of the same time
// that arrived later or at the same time, and otherwise like an entity update. So
// versions of one time are given in the order of their arrival.
func (w *WM) Restore(ctx context.Context, versions []Restored) ([]engram.UpdateResult, error) {
	results := make([]engram.UpdateResult, len(versions))
	for rest, at := versions, 0; len(rest) > 0; {
		if err := checkContext(ctx); err != nil {
			return nil, err
		}
		n := min(restoreBatch, len(rest))
		if err := w.restore(rest[:n], results[at:at+n]); err != nil {
			return nil, err
		}
		rest, at = rest[n:], at+n
	}
	return results, nil
}

// restoreBatch is how many versions are put back under one hold of the lock.
const restoreBatch = 256

func (w *writer) restore(versions []Restored, results []engram.UpdateResult) error {
	batch := make([]pending, len(versions))
	for i := range versions {
		results[i].ID = versions[i].Entity
		batch[i], results[i].Err = w.prepareRestored(&versions[i])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.closed {
		return errServerClosed
	}
	w.mu.clock = w.now()
	for i := range batch {
		p := &batch[i]
		if p.version == nil {
			continue
		}
		if results[i].Err = w.restoreLocked(&versions[i], p); results[i].Err != nil {
			p.version = nil
			continue
		}
		results[i].ID, results[i].Number = versions[i].Entity.At(p.version.Time), p.version.Number
	}
	w.publishLocked(batch, nil)
	return nil
}

func (w *writer) prepareRestored(r *Restored) (pending, error) {
	u := r.update()
	p, err := w.prepare(&u)
	if err == nil {
		p.version.Recalled = r.Snapshot.Recalled
	}
	return p, err
}

// update returns the entity update that would make the version.
func (r *Restored) update() engram.EntityUpdate {
	return engram.EntityUpdate{Entity: r.Entity, Time: r.Snapshot.Time, Instances: r.Snapshot.Instances}
}

func (w *writer) restoreLocked(r *Restored, p *pending) error {
	u := r.update()
	if !p.standsLocked(&u) {
		again, err := w.prepareRestored(r)
		*p = again
		if err != nil {
			return err
		}
		p.standsLocked(&u)
	}
	if v := p.currentLocked(r.Entity.Entity(), r.Snapshot.Time); v != nil && v.Arrived >= r.Snapshot.Arrived {
		return engram.Errorf(engram.AlreadyExists, r.Entity.At(r.Snapshot.Time).String(), "the memory has a version that arrived at %v, this one at %v", v.Arrived, r.Snapshot.Arrived)
	}
	if err := p.pooledLocked(r.Entity); err != nil {
		return err
	}
	if !p.core.memory.copied { // those of a copy are of another clock
		w.mu.arrived = max(w.mu.arrived, r.Snapshot.Arrived)
	}
	w.putLocked(r.Entity, p, r.Snapshot.Arrived)
	if !p.version.Recalled {
		w.restored.Store(p.version.Number)
		w.mu.feed.recent[p.version.Number%w.mu.feed.keep].lowWatermark = engram.MinTime // other memories' follow
	}
	return nil
}
