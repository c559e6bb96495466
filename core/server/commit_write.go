package server

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// store stores updates in their order: those of segments with a Write hook one by
// one through that, the others together. If that fails when some are stored, the
// others are refused one by one.
func (s *Server) store(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	m := s.hosted.Load()
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

// noteKey is the key of a *error in a hook's context.
type noteKey struct{}

func noting(ctx context.Context, note *error) context.Context {
	return context.WithValue(ctx, noteKey{}, note)
}

// Note tells who commits what is to be known of an update that is stored all the same: err
// becomes the Note of its [engram.UpdateResult]. It is for Write and Stored hooks, with the
// context that they were called with; of several notes the first counts.
func Note(ctx context.Context, err *engram.Error) {
	if note, ok := ctx.Value(noteKey{}).(*error); ok && *note == nil {
		*note = err
	}
}

// recordedKey is the key of the context of commits of another clock.
type recordedKey struct{}

// hookContext returns the context that hooks are called with for a commit.
func hookContext(ctx context.Context, c engram.Commit) context.Context {
	if c.Recorded {
		ctx = context.WithValue(ctx, recordedKey{}, true)
	}
	return ctx
}

// Recorded reports whether a Write or Stored hook was called for a commit whose times are of
// another clock ([engram.Commit].Recorded), such as an import's.
func Recorded(ctx context.Context) bool { return ctx.Value(recordedKey{}) != nil }

func (m *hosted) writeHook(entity engram.ID) WriteHook {
	if h := m.hooks[entity.Memory()]; h != nil && entity.Level() == engram.LevelEntity {
		return h.Write[entity.CoreSegment()]
	}
	return nil
}

// write stores the one update of a commit through its segment's hook.
func (s *Server) write(ctx context.Context, hook WriteHook, c engram.Commit) engram.UpdateResult {
	ctx = hookContext(ctx, c)
	u := c.Updates[0]
	var result *engram.UpdateResult
	var note error
	wait := func(context.Context) {}
	err := hook(noting(ctx, &note), u, func(u engram.EntityUpdate) error {
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
		result.Note = note
		return *result
	}
	if err == nil {
		err = engram.Errorf(engram.Internal, u.Entity.String(), "the memory's Write hook neither stored nor refused the update")
	}
	s.refused.count(u.Entity)
	return engram.UpdateResult{ID: u.Entity, Err: asError(err, u.Entity)}
}
