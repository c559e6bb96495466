package server

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/wm"
)

// Query implements engram.Reader.
func (s *Server) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	if err := s.runQueryHooks(ctx, &q); err != nil {
		return nil, err
	}
	r, err := queryWhole(ctx, s, q)
	if err == nil {
		s.explainCopies(ctx, &q, r)
	}
	return r, err
}

// queryWhole answers a query that may want more than what is stored.
func queryWhole(ctx context.Context, s *Server, q engram.Query) (*engram.Result, error) {
	switch {
	case q.Predict:
		return queryPredicted(ctx, s, q)
	case q.WithoutDoubtful:
		return queryUndoubted(ctx, s, q)
	}
	return s.query(ctx, q)
}

// Indexes returns the secondary indexes over what the server has, in which rooms register
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
	if q.Predict || q.WithoutDoubtful {
		r, err := queryWhole(ctx, s, q)
		if err == nil {
			err = part(r)
		}
		if err != nil {
			return err
		}
	} else if err := s.queryParts(ctx, q, part); err != nil {
		return err
	}
	last := &engram.Result{}
	if s.explainCopies(ctx, &q, last); len(last.Missing)+len(last.Copies) > 0 {
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
	has := s.hosted.Load()
	if err := s.alive(); err != nil || !has.has.query {
		return err
	}
	if h := has.hooks[entity.Memory()]; h == nil || h.Query == nil {
		return nil
	}
	q := engram.SelectID(entity, sel)
	return s.runQueryHooks(ctx, &q)
}

// runQueryHooks calls the Query hooks of the memories whose names the query
// selects, in the order of their names.
func (s *Server) runQueryHooks(ctx context.Context, q *engram.Query) error {
	has := s.hosted.Load()
	if err := s.alive(); err != nil || !has.has.query {
		return err
	}
	matchers := make([]engram.NameMatcher, len(q.Memories))
	for i := range q.Memories {
		var err error
		if matchers[i], err = q.Memories[i].Names.Matcher(); err != nil {
			return err
		}
	}
	for _, name := range has.names {
		h := has.hooks[name]
		if h.Query == nil {
			continue
		}
		for i := range matchers {
			if !matchers[i].Match(name) {
				continue
			}
			if err := h.Query(ctx, q); err != nil {
				return engram.Errorf(engram.CodeOf(err), name, "the memory's Query hook refused: %w", err)
			}
			break
		}
	}
	return nil
}

// Subscribe implements engram.Subscriber.
func (s *Server) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	stream, err := s.wm.Subscribe(ctx, sub)
	if err != nil || !s.hosted.Load().has.query {
		return stream, err
	}
	// After it has begun: what the hooks bring up to date comes over it.
	var q engram.Query
	for _, p := range sub.Patterns {
		q.Memories = append(q.Memories, p.Select(engram.Latest(1)).Memories...)
	}
	if len(sub.Patterns) == 0 {
		q = engram.Pattern{}.Select(engram.Latest(1))
	}
	if err := s.runQueryHooks(ctx, &q); err != nil {
		_ = stream.Close()
		return nil, err
	}
	return stream, nil
}
