package ltm

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/query"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/ltm/policy"
)

// spanOf returns what a mark has kept.
func spanOf(m episode.Mark) engram.Interval {
	return engram.Interval{Start: m.Time.Add(-m.Before), End: m.Time.Add(m.After).Add(1)}
}

// Mark implements [Service].
func (s *Store) Mark(ctx context.Context, m episode.Mark) error {
	if m.Before < 0 || m.After < 0 {
		return engram.Errorf(engram.Invalid, m.Label, "a mark keeps %v before and %v after: neither may be negative", m.Before, m.After)
	}
	if err := s.changeState(func(c *stateContent) { c.Marks = append(c.Marks, m) }); err != nil {
		return err
	}
	if s.recorder == nil {
		return nil
	}
	return s.recorder.do(ctx, func() error { return s.recorder.mark(m) })
}

// Marks implements [Service].
func (s *Store) Marks(_ context.Context, iv engram.Interval) ([]episode.Mark, error) {
	s.state.mu.Lock()
	all := slices.Clone(s.state.mu.Marks)
	s.state.mu.Unlock()
	for _, h := range s.episodes.all() {
		for _, m := range h.current().Marks {
			if !slices.Contains(all, m) { // noted in another life, whose state was lost
				all = append(all, m)
			}
		}
	}
	all = slices.DeleteFunc(all, func(m episode.Mark) bool { return !spanOf(m).Overlaps(iv) })
	slices.SortStableFunc(all, func(a, b episode.Mark) int { return cmp.Compare(a.Time, b.Time) })
	return all, nil
}

// markedBytes bounds the payloads that a mark has recorded from the working memory's
// history.
const markedBytes = 256 << 20

// mark notes a mark in the open episode, records what the policies left out of its span
// as far as the working memory has it, and passes them over until its end.
func (r *recorder) mark(m episode.Mark) error {
	span := spanOf(m)
	r.full = max(r.full, span.End)
	view := r.wm.View(r.ctx, nil)
	left := int64(markedBytes)
	for entity := range view.Entities() {
		e := r.entities[entity]
		if e == nil || r.s.policies.Of(entity).Record == policy.Never {
			continue
		}
		if loss, _ := e.tally.loss(); loss.Evictions == 0 || loss.Last < span.Start || loss.First >= span.End {
			continue // everything in the span was recorded
		}
		if err := r.recordSpan(entity, e, span, &left); err != nil {
			return err
		}
	}
	if err := r.open(); err != nil {
		return engram.Errorf(engram.Unavailable, "", "the mark is kept, but no episode can be begun to note it in: %w", err)
	}
	r.writer.Mark(m)
	return nil
}

// recordSpan records the versions of an entity in a span that the working memory has
// and no episode.
func (r *recorder) recordSpan(entity engram.ID, e *recorded, span engram.Interval, left *int64) error {
	held, err := r.s.heldIn(r.ctx, entity, span)
	if err != nil {
		return err
	}
	view := r.wm.View(r.ctx, nil)
	w := view.Entity(entity)
	if w == nil {
		return nil
	}
	var found query.Selection
	if _, err := w.Read(view, []engram.SnapshotSelector{engram.In(span)}, nil, 1<<20, &found); err != nil {
		return err
	}
	for _, s := range found.Snapshots {
		if held[heldVersion{s.Arrived, s.Time}] || s.Number > r.last {
			continue
		}
		if *left -= int64(s.Size()); *left < 0 {
			r.lose(1, "a mark's span has more than can be recorded of it at once; what policies left out of it remains so")
			return nil
		}
		r.keep(entity, s)
		e.tally.unfilter()
	}
	return nil
}

// unfilter takes one of what was left out back: it was recorded after all.
func (t *tally) unfilter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.filtered > 0 {
		t.filtered--
	}
}
