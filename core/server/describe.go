package server

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// AddCoreSegment implements engram.Segments.
func (s *Server) AddCoreSegment(ctx context.Context, seg engram.CoreSegment) error {
	if err := s.Alive(); err != nil {
		return err
	}
	if err := refuseCopy(s.wm, seg.ID); err != nil {
		return err
	}
	return s.wm.AddCoreSegment(ctx, seg)
}

// AddProviderSegment implements engram.Segments.
func (s *Server) AddProviderSegment(ctx context.Context, seg engram.ProviderSegment) error {
	if err := s.Alive(); err != nil {
		return err
	}
	if err := refuseCopy(s.wm, seg.ID); err != nil {
		return err
	}
	return s.wm.AddProviderSegment(ctx, seg)
}

// RemoveSegment implements engram.Segments.
func (s *Server) RemoveSegment(ctx context.Context, id engram.ID) error {
	if err := s.Alive(); err != nil {
		return err
	}
	if err := refuseCopy(s.wm, id); err != nil {
		return err
	}
	if err := s.wm.RemoveSegment(ctx, id); err != nil {
		return err
	}
	if s.ltm != nil {
		if err := s.ltm.Removed(ctx, id); err != nil {
			return err
		}
	}
	s.refused.forget(id)
	return nil
}

// Describe implements engram.Segments.
func (s *Server) Describe(ctx context.Context, p engram.Pattern) ([]engram.Description, error) {
	if err := s.Alive(); err != nil {
		return nil, err
	}
	known, err := s.wm.Describe(ctx, p)
	if err != nil || s.ltm == nil {
		return known, err
	}
	return s.ltm.Describe(ctx, p, known)
}

// AddType implements engram.Types.
func (s *Server) AddType(ctx context.Context, t engram.TypeDef) error {
	if err := s.Alive(); err != nil {
		return err
	}
	return s.wm.AddType(ctx, t)
}

// Type implements engram.Types.
func (s *Server) Type(ctx context.Context, name string) (engram.TypeDef, error) {
	if err := s.Alive(); err != nil {
		return engram.TypeDef{}, err
	}
	return s.wm.Type(ctx, name)
}

// TypeNames implements engram.Types.
func (s *Server) TypeNames(ctx context.Context) ([]string, error) {
	if err := s.Alive(); err != nil {
		return nil, err
	}
	return s.wm.TypeNames(ctx)
}

// Stats implements engram.Statistician. What hooks refused is counted with what
// the working memory refused, and what is known only from disk is told, too.
func (s *Server) Stats(ctx context.Context, p engram.Pattern, depth engram.Level) ([]engram.Stats, error) {
	if err := s.Alive(); err != nil {
		return nil, err
	}
	stats, err := s.wm.Stats(ctx, p, depth)
	for i := range stats {
		stats[i].Refused += s.refused.at(stats[i].ID)
	}
	if err != nil || s.ltm == nil {
		return stats, err
	}
	return s.ltm.Stats(ctx, p, depth, stats)
}
