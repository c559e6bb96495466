package wm

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// Stats implements engram.Statistician. Nodes that the pattern matches are told of
// even if they lie deeper than depth. The figures of one node are of one moment;
// those of different nodes may be of different ones.
func (w *WM) Stats(ctx context.Context, p engram.Pattern, depth engram.Level) ([]engram.Stats, error) {
	if depth < engram.LevelMemory || depth > engram.LevelEntity {
		return nil, engram.Errorf(engram.Invalid, "", "stats down to the level of a %s; from memory to entity is possible", depth)
	}
	names, err := w.compiler.Names(ctx, p, w.limits.MaxFilterSteps)
	if err != nil {
		return nil, err
	}
	s := &statistics{w: w, ctx: ctx, scope: engram.ScopeOf(ctx), names: names, from: max(engram.LevelMemory, engram.Level(len(p.Levels)))}
	s.to = max(depth, s.from)
	for _, m := range w.memories.sorted() {
		if !names.Match(engram.LevelMemory, m.name) {
			continue
		}
		if err := s.memory(m.value); err != nil {
			return nil, err
		}
	}
	return s.out, names.Err()
}

// statistics collects the stats of nodes from one level to another.
type statistics struct {
	w        *WM
	ctx      context.Context
	scope    engram.Scope
	names    *query.Names
	from, to engram.Level
	out      []engram.Stats
}

func (s *statistics) wants(l engram.Level, name string) bool {
	return s.names.Match(l, name)
}

// node reserves the place of a node's stats, before those below it, and returns a
// function that fills it in.
func (s *statistics) node(id engram.ID, typ string) (fill func(engram.Stats)) {
	if id.Level() < s.from || id.Level() > s.to {
		return func(engram.Stats) {}
	}
	place := len(s.out)
	s.out = append(s.out, engram.Stats{})
	return func(st engram.Stats) {
		st.ID, st.Type = id, typ
		s.out[place] = st
	}
}

// include adds what a child holds and did to its parent's stats.
func include(sum *engram.Stats, child *engram.Stats) {
	if child.Snapshots > 0 {
		if sum.Snapshots == 0 {
			sum.First, sum.Last = child.First, child.Last
		}
		sum.First, sum.Last = min(sum.First, child.First), max(sum.Last, child.Last)
	}
	sum.Entities += child.Entities
	sum.Snapshots += child.Snapshots
	sum.Superseded += child.Superseded
	sum.Instances += child.Instances
	sum.Bytes += child.Bytes
	sum.Committed += child.Committed
	sum.Evicted += child.Evicted
	sum.Refused += child.Refused
}

// set sets what counters count.
func (c *counters) set(st *engram.Stats) {
	st.Snapshots, st.Superseded, st.Instances, st.Bytes = c.snapshots, c.superseded, c.instances, c.bytes
	st.Committed, st.Evicted = c.committed, c.evicted
}

func (s *statistics) memory(m *memory) error {
	seen := engram.VisibilityIn(s.scope, m.id)
	if seen == engram.Hidden {
		return nil
	}
	place := len(s.out)
	fill := s.node(m.id, "")
	var sum engram.Stats
	exists := seen == engram.Visible
	for _, c := range m.cores.sorted() {
		if s.from >= engram.LevelCoreSegment && !s.wants(engram.LevelCoreSegment, c.name) {
			continue
		}
		st, there, err := s.core(c.value)
		if err != nil {
			return err
		}
		exists = exists || there
		include(&sum, &st)
	}
	if !exists {
		s.out = s.out[:place]
		return nil
	}
	if seen == engram.Partial {
		fill(sum)
		return nil
	}
	s.w.mu.Lock()
	sum.Committed, sum.Evicted = m.held.committed, m.held.evicted // with removed segments
	s.w.mu.Unlock()
	sum.Refused += m.refused.Load()
	fill(sum)
	return nil
}

// core counts a core segment; there is false if it does not exist in the scope.
func (s *statistics) core(c *core) (sum engram.Stats, there bool, err error) {
	seen := engram.VisibilityIn(s.scope, c.id)
	if seen == engram.Hidden {
		return sum, false, nil
	}
	place := len(s.out)
	fill := s.node(c.id, c.def.Type)
	there = seen == engram.Visible
	for _, p := range c.providers.sorted() {
		if s.from >= engram.LevelProviderSegment && !s.wants(engram.LevelProviderSegment, p.name) {
			continue
		}
		st, any, err := s.provider(p.value)
		if err != nil {
			return sum, false, err
		}
		there = there || any
		include(&sum, &st)
	}
	if !there {
		s.out = s.out[:place]
		return sum, false, nil
	}
	if seen == engram.Partial {
		fill(sum)
		return sum, true, nil
	}
	s.w.mu.Lock()
	sum.Committed += c.past.committed
	sum.Evicted += c.past.evicted
	s.w.mu.Unlock()
	sum.Refused += c.refused.Load()
	fill(sum)
	return sum, true, nil
}

// statsBatch is how many entities are counted under one hold of the lock.
const statsBatch = 256

// provider counts a provider segment; there is false if it does not exist in the scope.
func (s *statistics) provider(p *provider) (sum engram.Stats, there bool, err error) {
	seen := engram.VisibilityIn(s.scope, p.id)
	if seen == engram.Hidden {
		return sum, false, nil
	}
	place := len(s.out)
	fill := s.node(p.id, p.rule.base.name)
	there = seen == engram.Visible
	for entities := p.entities.sorted(); len(entities) > 0; {
		if err := checkContext(s.ctx); err != nil {
			return sum, false, err
		}
		n := min(statsBatch, len(entities))
		var wanted [statsBatch]bool // before the lock: matching names takes its time
		for i, e := range entities[:n] {
			wanted[i] = s.from < engram.LevelEntity || s.wants(engram.LevelEntity, e.name)
		}
		if err := s.names.Err(); err != nil {
			return sum, false, err
		}
		s.w.mu.Lock()
		for i, e := range entities[:n] {
			if seen == engram.Partial && s.scope.Visibility(e.value.id) == engram.Hidden {
				continue
			}
			there = true
			if wanted[i] {
				st := e.value.statsLocked()
				include(&sum, &st)
				if s.to == engram.LevelEntity {
					st.Entities = 0
					s.out = append(s.out, st)
				}
			}
		}
		s.w.mu.Unlock()
		entities = entities[n:]
	}
	if !there {
		s.out = s.out[:place]
		return sum, false, nil
	}
	if seen == engram.Partial {
		fill(sum)
		return sum, true, nil
	}
	s.w.mu.Lock()
	p.held.set(&sum)
	s.w.mu.Unlock()
	sum.Refused = p.refused.Load()
	fill(sum)
	return sum, true, nil
}

// statsLocked returns the entity's stats; it counts as one entity.
func (e *entity) statsLocked() engram.Stats {
	st := engram.Stats{ID: e.id, Entities: 1}
	e.held.set(&st)
	if v := e.newest.Load(); v != nil && st.Snapshots > 0 {
		st.First, st.Last = e.timeline.front().Time, e.timeline.last().Time
		st.Type = v.Instances[0].Payload.Type
	}
	return st
}
