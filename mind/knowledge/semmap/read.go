package semmap

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// ReadOptions say how a semantic map becomes a part of the world.
type ReadOptions struct {
	// Names has the names that are taken; new ones are added. Nil is new names.
	Names *Names
	// World is what is known already: its names are taken, its places may be joined. It may be nil.
	World *world.Forest
	// Join makes one item of places with the same address; without it a note tells of them.
	Join bool
	// Frame is the frame of poses that no map is known for; "" is "map".
	Frame string
	// Language is that of the labels that count before others; "" is "en".
	Language string
}

// Import is what came of a graph. All of it is in the order of names.
type Import struct {
	Items      []world.NamedItem // with the newest pose; wholes come before their parts
	Poses      []Pose            // all of each item, by time
	Joints     []Joint
	Maps       []Map
	States     []State
	Components []Component
	Notes      []Note
}

// Pose says where an item was seen at a time.
type Pose struct {
	Item, Frame string
	Pose        pose.Pose // frameFromItem, metres
	Cov         pose.Cov
	Time        engram.Time // 0 is unknown
	Event       string      // IRI of the perception
}

// Joint is an articulation with its name.
type Joint struct {
	Name string
	world.Articulation
}

// Map is a map with its name.
type Map struct {
	Name string
	world.Map
}

// State is a state with how sure it is.
type State struct {
	world.State
	Confidence float64
}

// Component is a component with its name.
type Component struct {
	Name string
	world.Component
}

// Note tells what could not be taken as the graph has it.
type Note struct {
	IRI     string // what it is about
	Text    string
	Refused bool // it is not in the import
}

// reader takes items out of a graph. What is one thing under several IRIs, a group, goes by the
// first of them.
type reader struct {
	source
	o      ReadOptions
	names  *Names
	same   union
	joined map[string]bool     // IRIs that are the same as others since they were joined
	groups map[string][]string // the IRIs of each item
	parent map[string]string   // of items: their whole
	wholes map[string][]string // of items: all of which they are parts
	maps   map[string]bool     // IRIs of maps
	only   string              // of these the semantic one, if there is one only
	name   map[string]string   // of items, by their first IRI
	poses  map[string][]Pose   // by name
}

// Read takes the items, joints, maps, states, components and poses out of a graph. With KnowRob's ontology in
// the graph more is understood of classes and properties. What cannot be taken is told in the
// notes, with the reason.
//
// An item is what is a part or has parts, is described in a map, was perceived, has a size or a
// number of an address, or is of a class of localised things. Of several wholes the
// smallest is the parent. A joint is an item, too, of the kind [KindJoint]: it has
// the name of its articulation.
func Read(g *knowledge.Graph, o ReadOptions) *Import {
	o.Frame, o.Language = cmp.Or(o.Frame, "map"), cmp.Or(o.Language, "en")
	r := &reader{source: source{g: g, kr: NSKnowRob, supers: map[string][]string{}}, o: o, names: o.Names, same: union{}, joined: map[string]bool{}, poses: map[string][]Pose{}}
	if r.names == nil {
		r.names = NewNames("")
	}
	if o.World != nil {
		r.names.Learn(o.World)
	}
	count := func(ns string) (n int) {
		for _, p := range []string{"properPhysicalParts", "describedInMap", "objectActedOn"} {
			for range g.Match(rdf.Term{}, rdf.NewIRI(ns+p), rdf.Term{}) {
				n++
			}
		}
		return n
	}
	if count(NSOldKnowRob) > count(NSKnowRob) {
		r.kr = NSOldKnowRob
	}
	r.findMaps()
	r.group(r.candidates())
	r.join()
	r.nameAll()
	r.readMaps()
	r.readPoses()
	items := r.readItems()
	r.readJoints()
	r.readStates()
	r.readComponents()
	r.finish(items)
	return &r.out
}

// values returns what a property has of an item, under each of its IRIs.
func (r *reader) values(item string, p rdf.Term) (values []rdf.Term) {
	for _, iri := range r.groups[item] {
		for _, o := range r.objects(iri, p) {
			if !slices.Contains(values, o) {
				values = append(values, o)
			}
		}
	}
	return values
}

// findMaps finds the individuals that are maps.
func (r *reader) findMaps() {
	r.maps = map[string]bool{}
	for t := range r.g.Match(rdf.Term{}, rdfType, rdf.Term{}) {
		if t.S.Kind == rdf.IRI && t.O.Kind == rdf.IRI && (slices.Contains(r.superclasses(t.O.Value), r.kr+"Map") || slices.Contains(mapClasses[:], t.O.Value)) {
			r.maps[t.S.Value] = true
		}
	}
	for t := range r.g.Match(rdf.Term{}, r.k("describedInMap"), rdf.Term{}) {
		if t.O.Kind == rdf.IRI {
			r.maps[t.O.Value] = true
		}
	}
	maps.DeleteFunc(r.maps, func(iri string, _ bool) bool {
		return r.is(iri, own("Export")) || r.is(iri, own("Item")) && r.object(iri, own("mapKind")) == ""
	})
	semantic := slices.DeleteFunc(slices.Collect(maps.Keys(r.maps)), func(iri string) bool { return !r.isA(iri, "SemanticEnvironmentMap") })
	if len(semantic) == 1 {
		r.only = semantic[0]
	}
}

// candidates returns the IRIs of all that is an item.
func (r *reader) candidates() map[string]bool {
	found := map[string]bool{}
	r.edges(func(whole, part string) { found[whole], found[part] = true, true })
	inParts := maps.Clone(found)
	for _, p := range []string{"describedInMap", "depthOfObject", "widthOfObject", "heightOfObject", "roomNumber", "streetNumber", "floorNumber", "stateOfObject", "orientation"} {
		for _, s := range r.subjects(r.k(p), rdf.Term{}) {
			found[s] = true
		}
	}
	for _, p := range []string{"hingedTo", "prismaticallyConnectedTo", "connectedTo-Rigidly", "objectActedOn"} {
		for t := range r.g.Match(rdf.Term{}, r.k(p), rdf.Term{}) {
			if t.O.Kind == rdf.IRI {
				found[t.O.Value] = true
			}
			if t.S.Kind == rdf.IRI && p != "objectActedOn" {
				found[t.S.Value] = true
			}
		}
	}
	for t := range r.g.Match(rdf.Term{}, rdfType, rdf.Term{}) {
		if t.S.Kind != rdf.IRI || found[t.S.Value] || t.O.Kind != rdf.IRI {
			continue
		}
		supers := r.superclasses(t.O.Value)
		found[t.S.Value] = t.O == own("Item") || !strings.HasPrefix(t.S.Value, r.kr) &&
			(slices.Contains(supers, r.kr+"EnduringThing-Localized") || slices.Contains(supers, r.kr+"Place") || slices.Contains(supers, r.kr+"SpaceInAFixedHOC"))
	}
	maps.DeleteFunc(found, func(iri string, is bool) bool {
		switch {
		case !is:
			return true
		case r.is(iri, own("Item")):
			return false
		case r.is(iri, own("Articulation")) || r.is(iri, own("Component")) || r.is(iri, own("Export")):
			return true
		case r.maps[iri]:
			return !inParts[iri]
		}
		return r.is(iri, rdf.NewIRI(rdf.NSOWL+"Class"))
	})
	return found
}

// group joins what is the same, and finds the wholes.
func (r *reader) group(found map[string]bool) {
	for t := range r.g.Match(rdf.Term{}, sameAs, rdf.Term{}) {
		if t.S.Kind == rdf.IRI && t.O.Kind == rdf.IRI && (found[t.S.Value] || found[t.O.Value]) {
			found[t.S.Value], found[t.O.Value] = true, true
			r.same.join(t.S.Value, t.O.Value)
		}
	}
	for t := range r.g.Match(rdf.Term{}, own("joinedWith"), rdf.Term{}) {
		if t.S.Kind == rdf.IRI && found[t.S.Value] {
			found[t.O.Value], r.joined[t.O.Value] = true, true
			r.same.join(t.S.Value, t.O.Value)
		}
	}
	r.regroup(slices.Sorted(maps.Keys(found)))
}

func (r *reader) regroup(iris []string) {
	r.groups, r.wholes, r.parent = map[string][]string{}, map[string][]string{}, map[string]string{}
	for _, iri := range iris {
		first := r.same.find(iri)
		r.groups[first] = append(r.groups[first], iri)
	}
	r.edges(func(whole, part string) {
		whole, part = r.same.find(whole), r.same.find(part)
		if r.groups[whole] != nil && r.groups[part] != nil && whole != part && !slices.Contains(r.wholes[part], whole) {
			r.wholes[part] = append(r.wholes[part], whole)
		}
	})
	for _, item := range r.items() {
		r.choose(item)
	}
	for _, item := range r.items() { // what is a part of itself is cut off at one place
		seen := map[string]bool{}
		for at := r.parent[item]; at != "" && !seen[at]; at = r.parent[at] {
			if seen[at] = true; at == item {
				delete(r.parent, item)
			}
		}
	}
}

// items returns all items, sorted.
func (r *reader) items() []string { return slices.Sorted(maps.Keys(r.groups)) }

// choose makes the smallest whole of an item its parent: one that is a part of the others.
func (r *reader) choose(item string) {
	wholes := slices.Clone(r.wholes[item])
	slices.Sort(wholes)
	smallest := slices.DeleteFunc(slices.Clone(wholes), func(w string) bool {
		return slices.ContainsFunc(wholes, func(o string) bool { return o != w && r.within(o, w) && !r.within(w, o) })
	})
	if len(smallest) > 0 {
		r.parent[item] = smallest[0]
	}
}

// within reports whether an item is a part of a whole, of any depth.
func (r *reader) within(item, whole string) bool {
	seen := map[string]bool{item: true}
	for todo := []string{item}; len(todo) > 0; todo = todo[1:] {
		for _, w := range r.wholes[todo[0]] {
			if w == whole {
				return true
			}
			if !seen[w] {
				seen[w] = true
				todo = append(todo, w)
			}
		}
	}
	return false
}

// union is sets of IRIs that are the same, each known by its first.
type union map[string]string

func (u union) find(iri string) string {
	for {
		up, ok := u[iri]
		if !ok {
			return iri
		}
		iri = up
	}
}

func (u union) join(a, b string) {
	if a, b = u.find(a), u.find(b); a != b {
		u[max(a, b)] = min(a, b)
	}
}
