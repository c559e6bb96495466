package server

import (
	"context"

	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/feature/longterm"
	"github.com/seed-301d4374/engram/feature/poses"
	"github.com/seed-301d4374/engram/feature/pull"
)

var _ feature.Server = (*Server)(nil)

// Features implements feature.Server: what holders of copies pull, hosting, the poses
// and the long-term memory if there are such, and what the memories offer.
func (s *Server) Features() []feature.Feature {
	all := append([]feature.Feature{pull.Feature(s), s.hosts.Feature()}, s.features...)
	if s.poses != nil {
		all = append(all, poses.Feature(s.poses))
	}
	if s.ltm != nil {
		all = append(all, longterm.Feature(s.ltm))
	}
	return all
}

// MemoriesFor implements engram.Server. The server itself hides none.
func (s *Server) MemoriesFor(context.Context) []string { return s.Memories() }
