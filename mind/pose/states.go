package pose

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// state is what is believed: immutable, swapped as a whole, so that a reader sees
// all of a revision or nothing of it.
type state struct {
	rev     Revision
	author  string
	content *content
}

// revisionNow is later than every revision.
const revisionNow = ^Revision(0)

// states are the present state and those of the retained revisions before it. Readers
// of the present take no lock; who changes it holds Store.mu.
type states struct {
	current atomic.Pointer[state]
	retain  int // how many of the past

	mu      sync.Mutex    // held for moments only
	past    []*state      // oldest first
	changed chan struct{} // closed when the present changes; nil if nobody waits
}

func (s *states) init(retain int) {
	s.retain = retain
	s.current.Store(&state{content: &content{joints: map[string]*edge{}}})
}

// now returns the present state.
func (s *states) now() *state { return s.current.Load() }

// amend makes c current without a new revision: frames or edges were added, and no
// answer already given changes.
func (s *states) amend(c *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.now()
	s.publishLocked(&state{rev: was.rev, author: was.author, content: c})
}

// revise makes c current under the next revision, which it returns.
func (s *states) revise(c *content, author string) Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.now()
	s.past = append(s.past, was)
	if excess := len(s.past) - s.retain; excess > 0 {
		clear(s.past[:excess])
		s.past = s.past[excess:]
	}
	s.publishLocked(&state{rev: was.rev + 1, author: author, content: c})
	return was.rev + 1
}

func (s *states) publishLocked(st *state) {
	s.current.Store(st)
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// all returns the retained states, the present last.
func (s *states) all() []*state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(slices.Clip(s.past), s.now())
}

// oldest returns the oldest revision that can be asked for.
func (s *states) oldest() Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.oldestLocked()
}

func (s *states) oldestLocked() Revision {
	if len(s.past) > 0 {
		return s.past[0].rev
	}
	return s.now().rev
}

// of returns the state of a revision. The error is TooOld if it is retained no more,
// TooNew if it is yet to come.
func (s *states) of(rev Revision) (*state, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.now()
	switch oldest := s.oldestLocked(); {
	case rev == st.rev:
		return st, nil
	case rev > st.rev:
		return nil, engram.Errorf(engram.TooNew, "", "revision %d does not exist; the current one is %d", rev, st.rev)
	case rev < oldest:
		return nil, engram.Errorf(engram.TooOld, "", "revision %d is retained no more; the oldest is %d", rev, oldest)
	default:
		return s.past[rev-oldest], nil
	}
}

// change returns a channel that the next change of the present closes.
func (s *states) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// wait returns when the present revision is later than rev.
func (s *states) wait(ctx context.Context, rev Revision) error {
	for {
		changed := s.change()
		if s.now().rev > rev {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return engram.Errorf(engram.Canceled, "", "waiting for a revision after %d: %w", rev, ctx.Err())
		}
	}
}
