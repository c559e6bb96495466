package server

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/wm"
)

// Parts are what the data of a server lies in, for packages that write into it by another way than
// commits, as copies of other servers' memories are written. No hook stands before them.
type Parts struct {
	Working *wm.WM
	Store   *ltm.Store   // nil without a long-term memory
	Journal *wal.Journal // nil without a log

	Hosts   func(memory string) bool // whether the server hosts a memory, itself or for a program
	Removed func(segment engram.ID)  // drops what was counted of a segment that was removed
}

// Parts returns what the server's data lies in.
func (s *Server) Parts() Parts {
	hosts := func(memory string) bool { return s.hosted.Load().hosts(memory) }
	return Parts{Working: s.wm, Store: s.ltm, Journal: s.journal, Hosts: hosts, Removed: s.refused.forget}
}
