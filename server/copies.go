package server

import (
	"context"

	"github.com/seed-301d4374/engram/copies/service"
	"github.com/seed-301d4374/engram/copies/source"
)

var _ service.Source = (*Server)(nil)

// Pull implements service.Source: it tells holders of copies what this server owns.
func (s *Server) Pull(ctx context.Context, r service.Request, f func(*service.Batch) error) error {
	if err := s.alive(); err != nil {
		return err
	}
	return source.New(s.wm, s.ltm).Pull(ctx, r, f)
}
