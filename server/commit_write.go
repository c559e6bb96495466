package server

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// store stores updates in their order: those of segments with a Write hook one by
// one through that, the others together. If that fails when some are stored, the
// others are refused one by one.
func (s *Server) store(ctx context.Context, m *hosted, c engram.Commit) ([]engram.UpdateResult, error) {
	if !m.has.write {
		return s.wm.Commit(ctx, c)
	}
	results := make([]engram.UpdateResult, 0, len(c.Updates))
	for rest := c.Updates; len(rest) > 0; rest = c.Updates[len(results):] {
		if write := m.writeHook(rest[0].Entity); write != nil {
			results = append(results, s.write(ctx, write, c.With(rest[:1])))
			continue
		}
		n := 1
		for n < len(rest) && m.writeHook(rest[n].Entity) == nil {
			n++
		}
		stored, err := s.wm.Commit(ctx, c.With(rest[:n]))
		switch {
		case err != nil && len(results) == 0:
			return nil, err
		case err != nil:
			for i := range rest {
				s.refused.count(rest[i].Entity)
				results = append(results, engram.UpdateResult{ID: rest[i].Entity, Err: err})
			}
			return results, nil
		}
		results = append(results, stored...)
	}
	return results, nil
}

func (m *hosted) writeHook(entity engram.ID) WriteHook {
	if h := m.hooks[entity.Memory()]; h != nil && entity.Level() == engram.LevelEntity {
		return h.Write[entity.CoreSegment()]
	}
	return nil
}

// write stores the one update of a commit through its segment's hook.
func (s *Server) write(ctx context.Context, hook WriteHook, c engram.Commit) engram.UpdateResult {
	u := c.Updates[0]
	var result *engram.UpdateResult
	wait := func(context.Context) {}
	err := hook(ctx, u, func(u engram.EntityUpdate) error {
		if result != nil {
			return engram.Errorf(engram.Internal, u.Entity.String(), "the memory's Write hook stores an update twice")
		}
		var r engram.UpdateResult
		r, wait = s.wm.CommitOne(ctx, c.With([]engram.EntityUpdate{u}))
		result = &r
		return r.Err
	})
	if result != nil {
		wait(ctx)
		return *result
	}
	if err == nil {
		err = engram.Errorf(engram.Internal, u.Entity.String(), "the memory's Write hook neither stored nor refused the update")
	}
	s.refused.count(u.Entity)
	return engram.UpdateResult{ID: u.Entity, Err: asError(err, u.Entity)}
}
