package base

import (
	"bytes"
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/computed"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
	"github.com/seed-301d4374/engram/mind/knowledge/semmap"
	"github.com/seed-301d4374/engram/mind/world"
)

// state is a graph and what it was made of.
type state struct {
	graph     *knowledge.Graph
	more      map[rdf.Triple]int               // triples that several say: how many beside the first
	said      map[engram.ID]*engram.Snapshot   // what is said beside the world, by entity
	documents map[engram.ID]bool               // entities of Knowledge that say something
	prefixes  map[engram.ID]knowledge.Document // of ontologies
	forest    *world.Forest                    // nil is an empty one
	names     *semmap.Names                    // of what is in the forest; it learns no more
	scene     *computed.Scene                  // of the forest
	robot     string
}

func newState(robot string) state {
	return state{
		graph: ontology().Fork(), more: map[rdf.Triple]int{}, said: map[engram.ID]*engram.Snapshot{}, documents: map[engram.ID]bool{}, prefixes: map[engram.ID]knowledge.Document{},
		robot: robot, names: semmap.NewNames(robot), scene: computed.NewScene(computed.DefaultRules()),
	}
}

// ontology has what our own ontology says. It is not changed.
var ontology = sync.OnceValue(func() *knowledge.Graph {
	g := knowledge.NewGraph()
	_, err := rdf.Read(bytes.NewReader(semmap.Ontology), rdf.Turtle, rdf.ReadOptions{Name: "engram.ttl", Base: semmap.NS, Scope: "engram"}, func(q rdf.Quad) error {
		// Classes of ours are none of the subclasses that KnowRob's ontology has.
		if q.P.Value != rdf.NSRDFS+"subClassOf" || !strings.HasPrefix(q.O.Value, semmap.NSKnowRob) {
			g.Add(q.Triple)
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return g.Fork()
})

// fork returns a state that can be changed on its own.
func (s *state) fork() state {
	other := *s
	other.graph, other.more = s.graph.Fork(), maps.Clone(s.more)
	other.said, other.documents, other.prefixes = maps.Clone(s.said), maps.Clone(s.documents), maps.Clone(s.prefixes)
	return other
}

// replace has some say other triples than before. What several say is in both as often as it is said.
func (s *state) replace(before, now []rdf.Triple) {
	more := make(map[rdf.Triple]int, len(before))
	for _, t := range before {
		more[t]--
	}
	for _, t := range now {
		more[t]++
	}
	for t, n := range more {
		for ; n > 0; n-- {
			if !s.graph.Add(t) {
				s.more[t]++
			}
		}
		for ; n < 0; n++ {
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
}

// newer reports whether a snapshot counts before another of its entity.
func newer(a, b *engram.Snapshot) bool {
	return b == nil || cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Arrived, b.Arrived)) > 0
}

// say has an entity say what a snapshot says; nil is nothing.
func (b *Base) say(s *state, entity engram.ID, snapshot *engram.Snapshot) {
	// What the world says of the same is left out where a document does.
	var same []string
	if entity.Memory() == knowledgeMemory {
		iri := entity.Entity()
		same = []string{s.names.Item(iri), s.names.Map(iri), semmap.ItemOf(s.names, iri)}
		slices.Sort(same)
		same = slices.Compact(same)
	}
	before := append(b.triplesOf(s, entity, s.said[entity]), s.world(same)...)
	now := b.triplesOf(s, entity, snapshot)
	if snapshot == nil {
		delete(s.said, entity)
	} else {
		s.said[entity] = snapshot
	}
	if len(same) > 0 && len(now) > 0 {
		s.documents[entity] = true
	} else {
		delete(s.documents, entity)
	}
	s.replace(before, append(now, s.world(same)...))
	if len(same) > 0 && entity.CoreSegment() == record.Ontology.String() {
		delete(s.prefixes, entity)
		if snapshot != nil {
			if r, err := b.codec.Decode(entity, snapshot); err == nil && r.Document != nil {
				s.prefixes[entity] = knowledge.Document{Name: entity.ProviderSegment(), Prefixes: r.Document.Prefixes}
			}
		}
	}
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
	triples := r.Triples
	for _, t := range r.Triples {
		if t.P.Value == rdf.NS+"first" { // as SWI-Prolog has collections
			triples = append(triples, rdf.Triple{S: t.S, P: rdf.NewIRI(rdf.NS + "type"), O: rdf.NewIRI(rdf.NS + "List")})
		}
	}
	return triples
}

// turn has the world be another forest, which differs in what has the names at most.
func (b *Base) turn(s *state, forest *world.Forest, names []string) {
	var said []rdf.Triple // beside the world, of what has other IRIs
	iris := s.names
	renamed := map[string]bool{}
	if s.forest == nil || semmap.MayRename(s.forest, forest, names) {
		iris = semmap.NewNames(b.robot) // others have those that there are
		iris.Learn(forest)
		for _, name := range namesIn(s.forest, forest) {
			if iris.IRI(name) != s.names.IRI(name) || iris.MapIRI(name) != s.names.MapIRI(name) {
				renamed[name] = true
			}
		}
		names = speakingOf(renamed, names, s.forest, forest)
	}
	if len(renamed) > 0 {
		said = b.deedsIn(s)
	}
	before := append(s.world(names), said...)
	fresh := s.forest == nil || len(renamed) > 0
	s.names, s.forest = iris, forest
	if len(renamed) > 0 {
		said = b.deedsIn(s)
	}
	s.replace(before, append(s.world(names), said...))
	if fresh {
		s.scene = computed.FromForest(forest, computed.DefaultRules(), s.names.IRI)
	} else {
		s.scene = s.scene.Follow(forest)
	}
}

// deedsIn returns what is said beside the world and the memory Knowledge: it has the IRIs of items.
func (b *Base) deedsIn(s *state) (all []rdf.Triple) {
	for entity, snapshot := range s.said {
		if entity.Memory() != knowledgeMemory {
			all = append(all, b.triplesOf(s, entity, snapshot)...)
		}
	}
	return all
}

// world returns what the world says of what has the names.
func (s *state) world(names []string) (all []rdf.Triple) {
	if s.forest == nil {
		return nil
	}
	for _, name := range names {
		all = append(all, s.item(name)...)
		j, err := s.forest.Joints().Get(name)
		documented := err == nil && j.Described != nil && s.documented(s.names.JointIRI(s.forest, name), &j.Described.Said)
		for _, t := range semmap.JointTriples(s.forest, s.names, name) {
			if !documented || t.P.Value == semmap.NS+"jointValue" { // which others say
				all = append(all, t)
			}
		}
		if m, err := s.forest.Maps().Get(name); err == nil && !s.documented(s.names.MapIRI(name), &m.Said) {
			all = append(all, semmap.MapTriples(s.forest, s.names, name)...)
		}
	}
	return all
}

// documented reports whether what is said of an individual stands in a document of the memory Knowledge, too, from which it was
// imported: the document's words count then.
func (s *state) documented(iri string, said *world.Said) bool {
	if said.Robot != "" && said.Robot != s.robot || said.Home != world.InWorld {
		return false
	}
	id, err := engram.NewID(knowledgeMemory, "Individual", said.Provider, iri)
	return err == nil && s.documents[id]
}

// item returns what the world says of an item beside what a document says that it was imported from.
func (s *state) item(name string) []rdf.Triple {
	all := semmap.Triples(s.forest, s.names, name)
	m, err := s.forest.Get(name)
	if err != nil || len(all) == 0 {
		return all
	}
	iri := s.names.IRI(name)
	by := func(said *world.Statement) bool { return said != nil && s.documented(iri, &said.Said) }
	described, structured, placed := by(m.Described), by(m.Structured), by(m.Placed)
	if !described && !structured && !placed {
		return all
	}
	perception := semmap.PerceptionIRI(s.names, name)
	var kept []rdf.Triple
	about := rdf.NewIRI(iri)
	for _, t := range all {
		switch {
		case t.S == about && !strings.HasPrefix(t.P.Value, semmap.NSState):
			if !described {
				kept = append(kept, t)
			}
		case t.O == about && t.P.Value == semmap.NSKnowRob+"properPhysicalParts":
			if !structured {
				kept = append(kept, t)
			}
		case perception[t.S.Value]:
			if !placed {
				kept = append(kept, t)
			}
		default:
			kept = append(kept, t)
		}
	}
	return kept
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

// speakingOf adds to names those of all that speaks of items in one of the forests.
func speakingOf(items map[string]bool, names []string, forests ...*world.Forest) []string {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	for name := range items {
		all[name] = true
	}
	for _, f := range forests {
		if f == nil || len(items) == 0 {
			continue
		}
		for m := range f.All() {
			path, _ := f.PathToRoot(m.Name)
			if len(path) > 1 && items[path[1].Name] || m.Placement != nil && items[m.Placement.Frame] {
				all[m.Name] = true
			}
			if e, ok := f.Edge(m.Name); ok && items[e.Frame] {
				all[m.Name] = true
			}
		}
		for j := range f.Joints().All() {
			if items[j.Base] || items[j.Moved] || items[j.Name] || slices.ContainsFunc(j.Serves, func(name string) bool { return items[name] }) {
				all[j.Name] = true
			}
		}
		for m := range f.Maps().All() {
			if items[m.Map.Frame] || slices.ContainsFunc(m.Map.Describes, func(name string) bool { return items[name] }) {
				all[m.Name] = true
			}
		}
		for c := range f.Components().All() {
			if items[c.Component.Robot] || items[c.Component.Frame] {
				all[c.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// differing returns the names of all that may tell something else in one forest than in the other, by who says it,
// since when: the two have nothing in common in RAM.
func differing(before, now *world.Forest) []string {
	var names []string
	for _, name := range namesIn(before, now) {
		if !sameItem(before, now, name) || !sameAside(before, now, name) {
			names = append(names, name)
		}
	}
	return affected(before, now, names)
}

func sameItem(a, b *world.Forest, name string) bool {
	if a.Has(name) != b.Has(name) {
		return false
	}
	if !slices.EqualFunc(a.Statements(name), b.Statements(name), func(x, y *world.Statement) bool { return x.Said == y.Said }) {
		return false
	}
	x, _ := a.Edge(name)
	y, _ := b.Edge(name)
	in, _ := a.States(name)
	also, _ := b.States(name)
	return x == y && slices.EqualFunc(in, also, func(x, y *world.StateStatement) bool { return x.Said == y.Said && x.State.Name == y.State.Name })
}

// sameAside compares the joint, the map and the component of a name.
func sameAside(a, b *world.Forest, name string) bool {
	joint := func(f *world.Forest) any {
		if j, err := f.Joints().Get(name); err == nil {
			return j
		}
		return nil
	}
	said := func(f *world.Forest) (all [2]world.Said) {
		if m, err := f.Maps().Get(name); err == nil {
			all[0] = m.Said
		}
		if c, err := f.Components().Get(name); err == nil {
			all[1] = c.Said
		}
		return all
	}
	return said(a) == said(b) && reflect.DeepEqual(joint(a), joint(b))
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
