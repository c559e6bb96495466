package copies

import (
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// Explain returns what a query asks for and copies lack, and why: what their rules left
// out, and what was gone before it was pulled; and how old the copies are that it
// concerns.
func (h *Holder) Explain(q *engram.Query) (missing []engram.Missing, used []engram.CopyUsed) {
	list := h.list()
	ways := paths(q, func(memory *engram.NameMatcher) bool {
		return slices.ContainsFunc(list, func(r *replica) bool { return memory.Match(r.memory) })
	})
	for i := range ways {
		for _, r := range list {
			if ways[i].levels[0].Match(r.memory) {
				missing = r.missing(missing, &ways[i])
			}
		}
	}
	for _, r := range list {
		if !slices.ContainsFunc(ways, func(p path) bool { return p.levels[0].Match(r.memory) }) {
			continue
		}
		u := r.used()
		u.Server = h.o.Server
		if last := len(used) - 1; last >= 0 && used[last].Memory == u.Memory { // the list is sorted
			used[last].AsOf, used[last].Lag = min(used[last].AsOf, u.AsOf), max(used[last].Lag, u.Lag)
			used[last].Behind += u.Behind
			if u.Epoch != 0 { // the others are of parts
				used[last].Epoch, used[last].Number, used[last].Held = u.Epoch, u.Number, u.Held
			}
			continue
		}
		used = append(used, u)
	}
	return missing, used
}

// missing appends what is missing of what the selectors ask of the entities that
// match.
func (l *ledger) missing(out []engram.Missing, p *path) []engram.Missing {
	of := func(id engram.ID) {
		for _, t := range l.tallies[id] {
			for _, s := range p.selectors {
				if m, ok := l.asked(id, t, s); ok {
					out = append(out, m)
					break
				}
			}
		}
	}
	if id, ok := p.entity(); ok {
		for level := engram.LevelEntity; level >= engram.LevelMemory; level-- {
			of(id.Truncate(level))
		}
		return out
	}
	for id := range l.tallies {
		if p.match(id) {
			of(id)
		}
	}
	return out
}

// asked returns what a selector asks for and is missing.
func (l *ledger) asked(id engram.ID, t *tally, s engram.SnapshotSelector) (engram.Missing, bool) {
	a := query.AskedBy(s)
	first, last := a.First, a.Last
	if latest := s.Kind == engram.KindLatest && s.N == 1; latest || s.Kind == engram.KindAtOrBefore {
		until := last
		if latest {
			until = l.present(id)
		}
		// Only a newer version, or a correction, could change the answer.
		if n, ok := l.newest[id]; ok && n.at <= until {
			last = until
			if first = max(first, n.at); !n.corrected || !t.leftOut() {
				first = max(first, n.at.Add(1))
			}
		}
	}
	m := engram.Missing{ID: id, Reason: t.reason, Count: t.Count}
	if t.leftOut() {
		m.Reason = engram.MissingLeftOut
	}
	found := false
	for _, span := range t.Spans {
		if span.Start > last || span.End <= first {
			m.Count = 0 // some of those that are missing
			continue
		}
		if span.Start < first || span.End-1 > last {
			m.Count = 0
		}
		part := engram.Interval{Start: max(span.Start, first), End: min(span.End, last.Add(1))}
		if found {
			part.Start = m.Interval.Start
		}
		m.Interval, found = part, true
	}
	return m, found
}

// path is one way through a query from a memory to selectors of snapshots.
type path struct {
	levels    [4]engram.NameMatcher
	selectors []engram.SnapshotSelector
}

func (p *path) match(id engram.ID) bool {
	for i, name := range id.Names() {
		if !p.levels[i].Match(name) {
			return false
		}
	}
	return true
}

// entity returns the one entity that a path leads to.
func (p *path) entity() (engram.ID, bool) {
	var names [4]string
	for i := range p.levels {
		list, exact := p.levels[i].Exact()
		if !exact || len(list) != 1 {
			return engram.ID{}, false
		}
		names[i] = list[0]
	}
	id, err := engram.NewID(names[:]...)
	return id, err == nil
}

// paths returns the ways through a query that lead into one of the memories.
func paths(q *engram.Query, copied func(memory *engram.NameMatcher) bool) []path {
	var out []path
	var walk func(nodes []engram.QueryNode, p path, level int)
	walk = func(nodes []engram.QueryNode, p path, level int) {
		for i := range nodes {
			m, err := nodes[i].Names.Matcher()
			if err != nil || level >= len(p.levels) || level == 0 && !copied(&m) {
				continue
			}
			p.levels[level] = m
			if p.selectors = nodes[i].Snapshots; len(p.selectors) > 0 && level == len(p.levels)-1 {
				out = append(out, p)
			}
			walk(nodes[i].Children, p, level+1)
		}
	}
	walk(q.Memories, path{}, 0)
	return out
}
