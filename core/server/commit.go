package server

import (
	"context"
	"errors"

	"github.com/seed-301d4374/engram"
)

// Commit implements engram.Writer.
func (s *Server) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	if err := s.Alive(); err != nil {
		return nil, err
	}
	if !s.concernsHooks(c) {
		return s.wm.Commit(ctx, c)
	}
	c = c.Owned() // hooks may keep payloads
	passed, refusals := s.runCommitHooks(ctx, c)
	results, err := s.store(ctx, passed)
	if err != nil {
		return nil, err
	}
	s.runStoredHooks(ctx, passed, results)
	if len(refusals) == 0 {
		return results, nil
	}
	all := make([]engram.UpdateResult, len(c.Updates))
	next := 0
	for i := range all {
		if err, ok := refusals[i]; ok {
			all[i] = engram.UpdateResult{ID: c.Updates[i].Entity, Err: err}
			continue
		}
		all[i] = results[next]
		next++
	}
	return all, nil
}

// concernsHooks reports whether a hook has to do with what is committed to one of
// the memories.
func (s *Server) concernsHooks(c engram.Commit) bool {
	m := s.hosted.Load()
	if !m.has.commit && !m.has.write && !m.has.stored {
		return false
	}
	for i := range c.Updates {
		memory := c.Updates[i].Entity.Memory()
		if h := m.hooks[memory]; h != nil && (h.Commit != nil || len(h.Write) > 0 || h.Stored != nil) || m.elsewhere[memory] != "" {
			return true
		}
	}
	return false
}

// runCommitHooks returns the updates that the hooks let pass, and the errors of
// the others by index. The caller's commit is not changed.
func (s *Server) runCommitHooks(ctx context.Context, c engram.Commit) (passed engram.Commit, refused map[int]error) {
	m := s.hosted.Load()
	if !m.has.commit {
		return c, nil
	}
	passed = c.With(make([]engram.EntityUpdate, 0, len(c.Updates)))
	for i := range c.Updates {
		entity, last := c.Updates[i].Entity, len(passed.Updates)
		passed.Updates = append(passed.Updates, c.Updates[i])
		hook := m.commitHook(entity.Memory())
		if hook == nil {
			continue
		}
		if err := hook(ctx, &passed.Updates[last]); err != nil {
			if refused == nil {
				refused = map[int]error{}
			}
			refused[i] = asError(err, entity)
			s.refused.count(entity)
			passed.Updates = passed.Updates[:last]
		}
	}
	return passed, refused
}

func (s *Server) runStoredHooks(ctx context.Context, c engram.Commit, results []engram.UpdateResult) {
	m := s.hosted.Load()
	if !m.has.stored {
		return
	}
	ctx = context.WithoutCancel(hookContext(ctx, c)) // it is stored, whoever has given up waiting for that
	for i, r := range results {
		h := m.hooks[r.ID.Memory()]
		if r.Err != nil || h == nil || h.Stored == nil {
			continue
		}
		t, _ := r.ID.Time()
		snap, err := s.wm.AtOrBefore(ctx, r.ID.Truncate(engram.LevelEntity), t)
		if err != nil || snap.Number != r.Number {
			// It was superseded or evicted since.
			snap = &engram.Snapshot{Time: t, Arrived: s.wm.Now(), Number: r.Number, Instances: c.Updates[i].Instances}
		}
		h.Stored(noting(ctx, &results[i].Note), engram.Update{Number: r.Number, ID: r.ID, Arrived: snap.Arrived, Snapshot: snap})
	}
}

// asError makes what a hook returned an *engram.Error about id.
func asError(err error, id engram.ID) error {
	if _, ok := errors.AsType[*engram.Error](err); ok {
		return err
	}
	return engram.Errorf(engram.CodeOf(err), id.String(), "refused by the memory's hook: %w", err)
}
