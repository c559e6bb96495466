package base

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/knowledge"
	"github.com/seed-301d4374/engram/knowledge/computed"
	"github.com/seed-301d4374/engram/knowledge/rdf"
	"github.com/seed-301d4374/engram/knowledge/semmap"
	"github.com/seed-301d4374/engram/world"
)

// state is a graph and what it was made of.
type state struct {
	graph  *knowledge.Graph
	more   map[rdf.Triple]int             // triples that several say: how many beside the first
	said   map[engram.ID]*engram.Snapshot // what is said beside the world, by entity
	forest *world.Forest                  // nil is an empty one
	names  *semmap.Names                  // of what is in the forest
	scene  *computed.Scene                // of the forest
}

func newState(robot string) state {
	return state{
		graph: ontology().Fork(), more: map[rdf.Triple]int{}, said: map[engram.ID]*engram.Snapshot{},
		names: semmap.NewNames(robot), scene: computed.NewScene(computed.DefaultRules()),
	}
}

// ontology has what our own ontology says. It is not changed.
var ontology = sync.OnceValue(func() *knowledge.Graph {
	g := knowledge.NewGraph()
	_, err := rdf.Read(bytes.NewReader(semmap.Ontology), rdf.Turtle, rdf.ReadOptions{Name: "engram.ttl", Base: semmap.NS, Scope: "engram"}, func(q rdf.Quad) error {
		g.Add(q.Triple)
		return nil
	})
	if err != nil {
		panic(err)
	}
	return g.Fork()
})

// fork returns a state that can be changed on its own. It has the names of the first one until its world is another.
func (s *state) fork() state {
	other := *s
	other.graph, other.more, other.said = s.graph.Fork(), maps.Clone(s.more), maps.Clone(s.said)
	return other
}

// replace has somebody say other triples than before.
func (s *state) replace(before, now []rdf.Triple) {
	gone := make(map[rdf.Triple]bool, len(before))
	for _, t := range before {
		gone[t] = true
	}
	for _, t := range now {
		if gone[t] {
			gone[t] = false
			continue
		}
		if _, again := gone[t]; again {
			continue
		}
		gone[t] = false
		if !s.graph.Add(t) {
			s.more[t]++
		}
	}
	for t, is := range gone {
		if !is {
			continue
		}
		switch s.more[t] {
		case 0:
			s.graph.Remove(t)
		case 1:
			delete(s.more, t)
		default:
			s.more[t]--
		}
	}
}

// newer reports whether a snapshot counts before another of its entity.
func newer(a, b *engram.Snapshot) bool {
	return b == nil || cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Arrived, b.Arrived)) > 0
}

// say has an entity say what a snapshot says; nil is nothing.
func (b *Base) say(s *state, entity engram.ID, snapshot *engram.Snapshot) {
	s.replace(b.triplesOf(s, entity, s.said[entity]), b.triplesOf(s, entity, snapshot))
	if snapshot == nil {
		delete(s.said, entity)
		return
	}
	s.said[entity] = snapshot
}

// triplesOf returns what a snapshot says; nothing if it cannot be read.
func (b *Base) triplesOf(s *state, entity engram.ID, snapshot *engram.Snapshot) []rdf.Triple {
	if snapshot == nil {
		return nil
	}
	if entity.Memory() != knowledgeMemory {
		return b.deeds.triples(s.names, entity, snapshot)
	}
	r, err := b.codec.Decode(entity, snapshot)
	if err != nil {
		return nil
	}
	return r.Triples
}

// turn has the world be another forest, which differs in what has the names at most.
func (b *Base) turn(s *state, forest *world.Forest, names []string, anew bool) {
	before := s.world(names)
	if anew = anew || s.forest == nil; anew {
		s.names = semmap.NewNames(b.robot) // others have those that there are
	}
	s.names.Learn(forest, names...)
	s.forest = forest
	s.replace(before, s.world(names))
	if anew {
		s.scene = computed.FromForest(forest, computed.DefaultRules(), s.names.IRI)
	} else {
		s.scene = s.scene.Follow(forest)
	}
}

// world returns what the world says of what has the names.
func (s *state) world(names []string) (all []rdf.Triple) {
	if s.forest == nil {
		return nil
	}
	for _, name := range names {
		all = append(all, semmap.Triples(s.forest, s.names, name)...)
		all = append(all, semmap.JointTriples(s.forest, s.names, name)...)
		all = append(all, semmap.MapTriples(s.forest, s.names, name)...)
	}
	return all
}

// affected returns the names of all that tells something else in one forest than in the other, if the items of
// the names may differ: joints that move them, and the parts of those that came or went, too.
func affected(before, now *world.Forest, names []string) []string {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
		if before.Has(name) == now.Has(name) {
			continue
		}
		for _, f := range []*world.Forest{before, now} {
			for part := range f.Children(name) {
				all[part.Name] = true
			}
		}
	}
	for _, f := range []*world.Forest{before, now} {
		for j := range f.Joints().All() {
			if all[j.Moved] {
				all[j.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// namesIn returns the names of all that triples may tell of in one of the forests.
func namesIn(forests ...*world.Forest) []string {
	names := map[string]bool{}
	for _, f := range forests {
		if f == nil {
			continue
		}
		for name := range f.Spoken() {
			names[name] = true
		}
		for j := range f.Joints().All() {
			names[j.Name] = true
		}
		for m := range f.Maps().All() {
			names[m.Name] = true
		}
		for c := range f.Components().All() {
			names[c.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
