package wm

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// Latest implements engram.LatestReader. What was evicted later, as that of a clock that was
// ahead, hides nothing; see [Feed.GoneBetween].
func (w *WM) Latest(ctx context.Context, id engram.ID) (*engram.Snapshot, error) {
	if hidden(ctx, id) {
		return nil, w.noEntity(ctx, id)
	}
	if e := w.entity(id); e != nil && id.Level() == engram.LevelEntity && !e.ahead.Load() {
		highWater := w.number.Load()
		if v := e.newest.Load(); v != nil && v.Number <= highWater && v.Time <= e.present(w.now()) {
			return &v.Snapshot, nil
		}
	}
	return w.readOne(ctx, id, engram.Latest(1))
}

// AtOrBefore implements engram.LatestReader.
func (w *WM) AtOrBefore(ctx context.Context, id engram.ID, t engram.Time) (*engram.Snapshot, error) {
	if hidden(ctx, id) {
		return nil, w.noEntity(ctx, id)
	}
	if e := w.entity(id); e != nil && id.Level() == engram.LevelEntity {
		highWater := w.number.Load()
		if v := e.timeline.atOrBefore(t); v != nil && v.Number <= highWater && !e.lost.between(v.Time, t) {
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
		return nil, w.noEntity(ctx, id)
	}
	l := w.newLens(ctx, nil)
	var sel query.Selection
	missing, err := w.read(l, e, []engram.SnapshotSelector{s}, 1, &sel, &reading{})
	if err != nil {
		return nil, err
	}
	if engram.VisibilityIn(engram.ScopeOf(ctx), e.provider.id) == engram.Visible {
		missing = e.missingBefore(&sel, l.asOf, missing)
	}
	switch {
	case len(sel.Snapshots) > 0 && (missing == nil || s.Kind == engram.KindLatest): // of later ones that are gone, a query tells
		return sel.Snapshots[0], nil
	case missing != nil:
		return nil, engram.Errorf(engram.TooOld, id.String(), "the snapshot was evicted; what was evicted has times in %v", missing.Interval)
	case s.Kind == engram.KindAtOrBefore:
		return nil, engram.Errorf(engram.NotFound, id.String(), "there is no snapshot at or before %v", s.Time)
	}
	return nil, engram.Errorf(engram.NotFound, id.String(), "the entity has no snapshot")
}

// hidden reports whether an entity does not lie in the call's scope.
func hidden(ctx context.Context, id engram.ID) bool {
	s := engram.ScopeOf(ctx)
	return s != nil && id.Level() == engram.LevelEntity && s.Visibility(id) == engram.Hidden
}

// noEntity returns the NotFound error for an entity that is not there, in the call's
// scope; it names the first level that is missing.
func (w *WM) noEntity(ctx context.Context, id engram.ID) error {
	there := func(l engram.Level) bool {
		s, v := engram.ScopeOf(ctx), w.View(ctx, nil)
		return v.Has(id.Truncate(l)) && (s == nil || query.Exists(s, id.Truncate(l), v.Names))
	}
	switch {
	case !there(engram.LevelMemory):
		return noMemory(id)
	case !there(engram.LevelCoreSegment):
		return noCore(id)
	case !there(engram.LevelProviderSegment):
		return engram.Errorf(engram.NotFound, id.String(), "there is no provider segment %s", id.Truncate(engram.LevelProviderSegment))
	}
	return engram.Errorf(engram.NotFound, id.String(), "there is no such entity, or it was evicted as a whole")
}
