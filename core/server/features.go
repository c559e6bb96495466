package server

import (
	"context"

	"github.com/seed-301d4374/engram/core/feature"
	longterm "github.com/seed-301d4374/engram/core/ltm/api"
)

var _ feature.Server = (*Server)(nil)

// Features implements feature.Server: hosting, the long-term memory if there is one, and what
// the memories offer.
func (s *Server) Features() []feature.Feature {
	all := append([]feature.Feature{s.hosts.Feature()}, s.features...)
	if s.ltm != nil {
		all = append(all, longterm.Feature(s.ltm))
	}
	return all
}

// MemoriesFor implements engram.Server. The server itself hides none.
func (s *Server) MemoriesFor(context.Context) []string { return s.Memories() }
