package server

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
)

// SetHistory implements engram.Segments. With a long-term memory it lasts beyond the server's end.
func (s *Server) SetHistory(ctx context.Context, id engram.ID, b engram.Bounds) error {
	if err := s.alive(); err != nil {
		return err
	}
	if err := s.refuseCopy(id); err != nil {
		return err
	}
	s.bounds.Lock()
	defer s.bounds.Unlock()
	if err := s.wm.SetHistory(ctx, id, b); err != nil || s.ltm == nil {
		return err
	}
	usual, ok := s.usual[id]
	if id.Level() == engram.LevelEntity {
		found, err := s.wm.Describe(ctx, engram.PatternOf(id.Truncate(engram.LevelCoreSegment)))
		if err != nil {
			return err
		}
		if ok = len(found) > 0; ok {
			usual = found[0].History
		}
	}
	if !ok {
		return nil // of a segment that was added the log keeps it
	}
	noted := &b
	if b == usual {
		noted = nil
	}
	if err := s.ltm.NoteBounds(id, noted); err != nil {
		return engram.Errorf(engram.CodeOf(err), id.String(), "the bounds are set, but only until the server ends: %w", err)
	}
	return nil
}

// restoreBounds sets what was set at run-time in earlier lives of the server. What is not there
// now is left out: it may be hosted again.
func restoreBounds(s *Server) {
	if s.ltm == nil {
		return
	}
	noted := s.ltm.Bounds()
	segmentsFirst := func(a, b engram.ID) int {
		return cmp.Or(cmp.Compare(a.Level(), b.Level()), a.Compare(b))
	}
	for _, id := range slices.SortedFunc(maps.Keys(noted), segmentsFirst) {
		if err := s.wm.SetHistory(s.ctx, id, noted[id]); err != nil && engram.CodeOf(err) != engram.NotFound {
			s.log.Warn("bounds that were set at run-time do not hold any more", "of", id, "error", err)
		}
	}
}
