package wm

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/query"
)

// Latest implements engram.LatestReader.
func (w *WM) Latest(ctx context.Context, id engram.ID) (*engram.Snapshot, error) {
	if e := w.entity(id); e != nil && id.Level() == engram.LevelEntity {
		horizon := w.number.Load()
		if v := e.newest.Load(); v != nil && v.Number <= horizon {
			return &v.Snapshot, nil
		}
	}
	return w.readOne(ctx, id, engram.Latest(1))
}

// AtOrBefore implements engram.LatestReader.
func (w *WM) AtOrBefore(ctx context.Context, id engram.ID, t engram.Time) (*engram.Snapshot, error) {
	if e := w.entity(id); e != nil && id.Level() == engram.LevelEntity {
		horizon := w.number.Load()
		r := reading{spans: e.timeline.spans()}
		p := r.after(t)
		if v := r.prev(&p); v != nil && v.Number <= horizon && !e.lost.between(v.Time, t) {
			return &v.Snapshot, nil
		}
	}
	return w.readOne(ctx, id, engram.AtOrBefore(t))
}

// readOne reads what a selector of one snapshot selects: the long way, for what is
// being written or evicted and for what is not there.
func (w *WM) readOne(ctx context.Context, id engram.ID, s engram.SnapshotSelector) (*engram.Snapshot, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	if id.Level() != engram.LevelEntity {
		return nil, engram.Errorf(engram.Invalid, id.String(), "the ID of a %s; an entity's is needed", id.Level())
	}
	e := w.entity(id)
	if e == nil {
		return nil, w.noEntity(id)
	}
	l := lens{ctx: ctx, horizon: w.number.Load(), asOf: engram.MaxTime}
	var sel query.Selection
	missing, err := w.read(l, e, []engram.SnapshotSelector{s}, 1, &sel, &reading{})
	if err != nil {
		return nil, err
	}
	missing = e.missingBefore(&sel, l.asOf, missing)
	switch {
	case len(sel.Snapshots) > 0 && missing == nil:
		return sel.Snapshots[0], nil
	case missing != nil:
		return nil, engram.Errorf(engram.TooOld, id.String(), "the snapshot was evicted; what was evicted has times in %v", missing.Interval)
	case s.Kind == engram.KindAtOrBefore:
		return nil, engram.Errorf(engram.NotFound, id.String(), "there is no snapshot at or before %v", s.Time)
	}
	return nil, engram.Errorf(engram.NotFound, id.String(), "the entity has no snapshot")
}

// noEntity returns the NotFound error for an entity that is not there; it names
// the first level that is missing.
func (w *WM) noEntity(id engram.ID) error {
	c, err := w.core(id)
	if err != nil {
		return err
	}
	if _, ok := c.providers.Get(id.ProviderSegment()); !ok {
		return engram.Errorf(engram.NotFound, id.String(), "there is no provider segment %s", id.Truncate(engram.LevelProviderSegment))
	}
	return engram.Errorf(engram.NotFound, id.String(), "there is no such entity, or it was evicted as a whole")
}
