package ltm

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Latest implements engram.LatestReader over both memories. The disk is not touched
// where the working memory has the newest state.
func (s *reader) Latest(ctx context.Context, entity engram.ID) (*engram.Snapshot, error) {
	if s.wm == nil {
		return nil, errNotBegun
	}
	snap, err := s.wm.Latest(ctx, entity)
	if err == nil && snap.Time > s.wm.Present(entity) {
		return s.readOne(ctx, entity, engram.Latest(1), nil) // the disk may have something of the present
	}
	return s.orFromDisk(ctx, entity, engram.Latest(1), engram.MaxTime, snap, err)
}

// AtOrBefore implements engram.LatestReader over both memories.
func (s *reader) AtOrBefore(ctx context.Context, entity engram.ID, t engram.Time) (*engram.Snapshot, error) {
	if s.wm == nil {
		return nil, errNotBegun
	}
	snap, err := s.wm.AtOrBefore(ctx, entity, t)
	return s.orFromDisk(ctx, entity, engram.AtOrBefore(t), t, snap, err)
}

// orFromDisk returns what the working memory answered about times up to t, unless the disk
// may know better: then it reads from both memories.
func (s *reader) orFromDisk(ctx context.Context, entity engram.ID, sel engram.SnapshotSelector, t engram.Time, snap *engram.Snapshot, wmErr error) (*engram.Snapshot, error) {
	if wmErr == nil {
		covers, err := s.covers(ctx, entity, snap, t)
		if err != nil {
			return nil, err
		}
		if covers {
			return snap, nil
		}
	}
	return s.readOne(ctx, entity, sel, wmErr)
}

// covers reports whether neither an earlier epoch nor what the working memory has evicted
// in this one can have left something on disk behind snap in time and up to t.
func (s *reader) covers(ctx context.Context, entity engram.ID, snap *engram.Snapshot, t engram.Time) (bool, error) {
	if s.wm.Feed().GoneBetween(entity, snap.Time, t) {
		return false, nil
	}
	if v := s.disk.episodes.current(); len(v.tombstones) > 0 && len(v.tombstonesOf(entity)) > 0 {
		return false, nil
	}
	b, err := s.disk.beforeOf(ctx, nil, entity)
	if err != nil {
		return false, err
	}
	return !b.any || snap.Time > b.last || snap.Time == b.last && snap.Arrived >= b.arrived, nil
}

// readOne reads from both memories. wmErr is why the working memory did not answer.
func (s *reader) readOne(ctx context.Context, entity engram.ID, sel engram.SnapshotSelector, wmErr error) (*engram.Snapshot, error) {
	switch engram.CodeOf(wmErr) {
	case 0, engram.NotFound, engram.TooOld:
	default:
		return nil, wmErr
	}
	r, err := s.Query(ctx, engram.SelectID(entity, sel))
	if err != nil {
		return nil, err
	}
	for item := range r.All() {
		return item.Snapshot, nil
	}
	if wmErr != nil && sel.Kind == engram.KindAtOrBefore { // the working memory may not know the entity, and the disk its later snapshots
		later, err := s.Query(ctx, engram.SelectID(entity, engram.Latest(1)))
		if err != nil {
			return nil, err
		}
		for item := range later.All() {
			return nil, engram.Errorf(engram.NotFound, entity.String(), "there is no snapshot at or before %v; the newest is of %v", sel.Time, item.Snapshot.Time)
		}
	}
	switch {
	case len(r.Missing) > 0:
		return nil, engram.Errorf(engram.TooOld, entity.String(), "the snapshot is kept no more (%s); what is missing has times in %v", r.Missing[0].Reason, r.Missing[0].Interval)
	case wmErr != nil:
		return nil, wmErr
	}
	return nil, engram.Errorf(engram.NotFound, entity.String(), "there is no such snapshot")
}
