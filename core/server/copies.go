package server

import (
	"context"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
)

// addCopies makes the memories known that the folder holds copies of, before they are
// restored.
func addCopies(s *Server) error {
	if s.ltm == nil {
		return nil
	}
	for _, name := range s.ltm.Copies() {
		if s.hosted.Load().hosts(name) {
			s.log.Warn("the folder holds a copy of a memory that this server hosts itself now", "memory", name)
			continue
		}
		if err := s.wm.Copies().Add(name); err != nil {
			return err
		}
	}
	return nil
}

// refuseCopy returns why a call that would change a segment is refused if that is a
// copy.
func refuseCopy(w *wm.WM, id engram.ID) error {
	if !w.Copies().Has(id) {
		return nil
	}
	return engram.Errorf(engram.Unsupported, id.String(), "the memory is a copy here; change it at its owner, or end the copy")
}

// ExplainCopies has queries ask what copies lack of what they ask for, and how old those are
// that they concern: what explain returns is added to their results. It is called by several
// goroutines at once and must be quick; nil ends it.
func (s *Server) ExplainCopies(explain func(*engram.Query) ([]engram.Missing, []engram.CopyUsed)) {
	if explain == nil {
		s.copied.explain.Store(nil)
		return
	}
	s.copied.explain.Store(&explain)
}

// copied is what a server knows of the copies that it holds.
type copied struct {
	explain atomic.Pointer[func(*engram.Query) ([]engram.Missing, []engram.CopyUsed)]
}

// tell adds to a result what copies lack of what a query asks for, and how old they are.
func (c *copied) tell(ctx context.Context, q *engram.Query, r *engram.Result) {
	f := c.explain.Load()
	if f == nil {
		return
	}
	scope := engram.ScopeOf(ctx)
	missing, used := (*f)(q)
	for _, m := range missing {
		if engram.VisibilityIn(scope, m.ID) == engram.Visible {
			r.Missing = append(r.Missing, m)
		}
	}
	for _, c := range used {
		if id, err := engram.NewID(c.Memory); err == nil && engram.VisibilityIn(scope, id) != engram.Hidden {
			r.Copies = append(r.Copies, c)
		}
	}
}
