package server

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
)

// Query implements engram.Reader.
func (s *Server) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	if err := s.runQueryHooks(ctx, &q); err != nil {
		return nil, err
	}
	r, err := s.query(ctx, q)
	if err == nil {
		s.copied.tell(ctx, &q, r)
	}
	return r, err
}

// Indexes returns the secondary indexes over what the server has, in which packages register
// theirs. The index of payload types is there, as "type".
func (s *Server) Indexes() *wm.Indexes { return s.wm.Indexes() }

func (s *Server) query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	if s.ltm != nil && q.Target != engram.TargetWM {
		return s.ltm.Query(ctx, q)
	}
	return s.wm.Query(ctx, q)
}

// QueryParts implements engram.PartReader.
func (s *Server) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	if err := s.runQueryHooks(ctx, &q); err != nil {
		return err
	}
	if err := s.queryParts(ctx, q, part); err != nil {
		return err
	}
	last := &engram.Result{}
	if s.copied.tell(ctx, &q, last); len(last.Missing)+len(last.Copies) > 0 {
		return part(last)
	}
	return nil
}

func (s *Server) queryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	if s.ltm != nil && q.Target != engram.TargetWM {
		return s.ltm.QueryParts(ctx, q, part)
	}
	return s.wm.QueryParts(ctx, q, part)
}

// Present returns up to which time what is committed to an entity is of the present.
func (s *Server) Present(entity engram.ID) engram.Time { return s.wm.Present(entity) }

// Latest implements engram.LatestReader.
func (s *Server) Latest(ctx context.Context, entity engram.ID) (*engram.Snapshot, error) {
	if err := s.runLatestHooks(ctx, entity, engram.Latest(1)); err != nil {
		return nil, err
	}
	if s.ltm != nil {
		return s.ltm.Latest(ctx, entity)
	}
	return s.wm.Latest(ctx, entity)
}

// AtOrBefore implements engram.LatestReader.
func (s *Server) AtOrBefore(ctx context.Context, entity engram.ID, t engram.Time) (*engram.Snapshot, error) {
	if err := s.runLatestHooks(ctx, entity, engram.AtOrBefore(t)); err != nil {
		return nil, err
	}
	if s.ltm != nil {
		return s.ltm.AtOrBefore(ctx, entity, t)
	}
	return s.wm.AtOrBefore(ctx, entity, t)
}

func (s *Server) runLatestHooks(ctx context.Context, entity engram.ID, sel engram.SnapshotSelector) error {
	m := s.hosted.Load()
	if err := s.Alive(); err != nil || !m.has.query {
		return err
	}
	if h := m.hooks[entity.Memory()]; h == nil || h.Query == nil {
		return nil
	}
	q := engram.SelectID(entity, sel)
	return s.runQueryHooks(ctx, &q)
}

// runQueryHooks calls the Query hooks of the memories whose names the query
// selects, in the order of their names; then those of programs, which do not change it, all at
// once, so that several that hang take no longer than one.
func (s *Server) runQueryHooks(ctx context.Context, q *engram.Query) error {
	m := s.hosted.Load()
	if err := s.Alive(); err != nil || !m.has.query {
		return err
	}
	matchers := make([]engram.NameMatcher, len(q.Memories))
	for i := range q.Memories {
		var err error
		if matchers[i], err = q.Memories[i].Names.Matcher(); err != nil {
			return err
		}
	}
	call := func(name string) error {
		if err := m.hooks[name].Query(ctx, q); err != nil {
			return engram.Errorf(engram.CodeOf(err), name, "the memory's Query hook refused: %w", err)
		}
		return nil
	}
	var programs []string
	for _, name := range m.names {
		if m.hooks[name].Query == nil || !slices.ContainsFunc(matchers, func(n engram.NameMatcher) bool { return n.Match(name) }) {
			continue
		}
		if m.programs[name] {
			programs = append(programs, name)
		} else if err := call(name); err != nil {
			return err
		}
	}
	if len(programs) == 0 {
		return nil
	}
	refused := make([]error, len(programs))
	var others sync.WaitGroup
	for i := 1; i < len(programs); i++ {
		others.Go(func() { refused[i] = call(programs[i]) })
	}
	refused[0] = call(programs[0])
	others.Wait()
	return cmp.Or(refused...)
}

// Subscribe implements engram.Subscriber.
func (s *Server) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	if err := s.Alive(); err != nil {
		return nil, err
	}
	return s.wm.Subscribe(ctx, sub)
}
