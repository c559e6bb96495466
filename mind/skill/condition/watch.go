package condition

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// demand is a pattern with a filter. Equal ones are looked at once.
type demand struct{ pattern, where string }

// watch knows which entities satisfy a demand at present.
type watch struct {
	demand
	of      engram.Pattern
	matcher *engram.PatternMatcher
	filter  *idf.Filter // nil is true of all
	there   map[engram.ID]*match
	newest  *match          // that arrived last, of those that are there; nil if that is to be looked for
	on      map[*entry]bool // whose pattern and filter it is
	terms   map[*entry]bool // that have a term of it
	why     error           // the filter costs too much; nil if it does not
}

// match is an instance that satisfies a demand.
type match struct {
	entity   engram.ID
	snapshot *engram.Snapshot
	instance int
	arrived  engram.Time
	place    Place // if it is placed
	placed   bool
}

// id returns the ID of the instance.
func (m *match) id() engram.ID { return m.entity.At(m.snapshot.Time).Instance(m.instance) }

// enter has an entity satisfy the demand.
func (w *watch) enter(m *match) {
	w.there[m.entity] = m
	if w.newest != nil && (m.arrived >= w.newest.arrived || w.newest.entity == m.entity) {
		w.newest = m
	}
}

// leave has an entity satisfy it no more, and reports whether it did.
func (w *watch) leave(entity engram.ID) bool {
	m := w.there[entity]
	if m == nil {
		return false
	}
	delete(w.there, entity)
	if w.newest == m {
		w.newest = nil
	}
	return true
}

// last returns what arrived last, of what is there; nil if nothing is.
func (w *watch) last() *match {
	if w.newest == nil {
		for _, m := range w.there {
			if w.newest == nil || m.arrived > w.newest.arrived {
				w.newest = m
			}
		}
	}
	return w.newest
}

// segment finds the watches of a core segment that an entity concerns.
type segment struct {
	byEntity   map[string][]*watch // that name one entity, of whatever providers
	byProvider map[string][]*watch // that name one provider, and not one entity
	rest       []*watch
}

// place returns the list that a watch is in, by what its pattern names.
func (g *segment) place(w *watch) (in map[string][]*watch, name string) {
	one := func(l engram.Level) (string, bool) {
		names, lists := w.matcher.Level(l).Exact()
		if !lists || len(names) != 1 {
			return "", false
		}
		return names[0], true
	}
	if name, ok := one(engram.LevelEntity); ok {
		return g.byEntity, name
	}
	if name, ok := one(engram.LevelProviderSegment); ok {
		return g.byProvider, name
	}
	return nil, ""
}

func (g *segment) add(w *watch) {
	if in, name := g.place(w); in != nil {
		in[name] = append(in[name], w)
		return
	}
	g.rest = append(g.rest, w)
}

func (g *segment) remove(w *watch) {
	without := func(all []*watch) []*watch {
		for i, o := range all {
			if o == w {
				all[i] = all[len(all)-1]
				return all[:len(all)-1]
			}
		}
		return all
	}
	in, name := g.place(w)
	if in == nil {
		g.rest = without(g.rest)
		return
	}
	if in[name] = without(in[name]); len(in[name]) == 0 {
		delete(in, name)
	}
}

func (g *segment) empty() bool { return len(g.byEntity)+len(g.byProvider)+len(g.rest) == 0 }

// find appends the watches whose patterns match an entity.
func (g *segment) find(entity engram.ID, found []*watch) []*watch {
	for _, all := range [...][]*watch{g.byEntity[entity.Entity()], g.byProvider[entity.ProviderSegment()], g.rest} {
		for _, w := range all {
			if w.matcher.Match(entity) {
				found = append(found, w)
			}
		}
	}
	return found
}
