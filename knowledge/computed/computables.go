package computed

import (
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram/knowledge"
	"github.com/seed-301d4374/engram/knowledge/rdf"
)

// Computables answers relations of a scene and of events as properties. It implements
// [knowledge.Computed]. The IRI of left, right, front or behind with a slash and a body's
// after it has that body as the observer; [DistanceTo] with a body's IRI in this way is the
// distance to its box, in metres.
type Computables struct {
	v      *knowledge.View
	scene  func() *Scene
	events func() []event
}

// DistanceTo is the property of distances, to whose IRI a slash and a body's are added.
const DistanceTo = NS + "distanceTo"

// Duration is the property of how long an event took, in seconds.
const Duration = NS + "duration"

// New returns what is computed from the facts of a view at its time, from which the scene is made
// when it is first asked for. The view must not change meanwhile.
func New(v *knowledge.View) *Computables {
	return &Computables{
		v:      v,
		scene:  sync.OnceValue(func() *Scene { return FromView(v, DefaultRules()) }),
		events: sync.OnceValue(func() []event { return events(v) }),
	}
}

// Over returns what is computed from a scene, and from the events of a view.
func Over(s *Scene, v *knowledge.View) *Computables {
	c := New(v)
	c.scene = func() *Scene { return s }
	return c
}

// Scene returns the scene.
func (c *Computables) Scene() *Scene { return c.scene() }

// spatial are the relations by their properties.
var spatial = func() map[string]*Relation {
	all := map[string]*Relation{}
	for _, relations := range [][]*Relation{Relations, KnowRobRelations, knowrob(formerly)} {
		for _, r := range relations {
			all[r.Property] = r
		}
	}
	return all
}()

// Properties implements [knowledge.Computed]. Those with an observer or a body in their IRI are
// not among them.
func (c *Computables) Properties() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, r := range append(Relations[:len(Relations):len(Relations)], KnowRobRelations...) {
			if !yield(r.Property) {
				return
			}
		}
		for name := range temporal {
			if !yield(NS + name) {
				return
			}
		}
		for name := range temporalKnowRob {
			if !yield(KnowRob + name) {
				return
			}
		}
		_ = yield(Duration) && yield(KnowRob+"duration") && yield(KnowRob+"orientation")
	}
}

// Compute implements [knowledge.Computed].
func (c *Computables) Compute(s rdf.Term, property string, o rdf.Term) (iter.Seq[knowledge.Derived], bool) {
	if r := spatial[property]; r != nil {
		return related(c.scene(), r, s, property, o), true
	}
	for _, ns := range [...]string{KnowRob, formerly, NS} {
		name, ok := strings.CutPrefix(property, ns)
		if !ok {
			continue
		}
		names := temporalKnowRob
		if ns == NS {
			names = temporal
		}
		if holds := names[name]; holds != nil {
			return c.between(s, property, holds, o), true
		}
		switch {
		case name == "duration":
			return c.durations(s, property, o, ns != NS), true
		case name == "orientation" && ns != NS:
			return c.orientations(s, property, o), true
		}
	}
	base, body, ok := strings.Cut(property, NS)
	if !ok || base != "" {
		return nil, false
	}
	name, body, ok := strings.Cut(body, "/")
	if !ok {
		return nil, false
	}
	if NS+name == DistanceTo {
		return distances(c.scene(), s, property, body, o), true
	}
	switch r := spatial[NS+name]; r {
	case LeftOf, RightOf, InFrontOf, Behind:
		return related(c.scene().SeenBy(body), r, s, property, o), true
	}
	return nil, false
}

func related(scene *Scene, r *Relation, s rdf.Term, property string, o rdf.Term) iter.Seq[knowledge.Derived] {
	return func(yield func(knowledge.Derived) bool) {
		give := func(a, b string, p float64) bool {
			return yield(knowledge.Derived{Triple: rdf.Triple{S: rdf.NewIRI(a), P: rdf.NewIRI(property), O: rdf.NewIRI(b)}, Probability: p})
		}
		switch {
		case s.Kind > rdf.IRI || o.Kind > rdf.IRI: // bodies have IRIs
		case !s.IsZero() && !o.IsZero():
			if p, ok := scene.Holds(r, s.Value, o.Value); ok {
				give(s.Value, o.Value, p)
			}
		case !s.IsZero():
			for b, p := range scene.Seconds(r, s.Value) {
				if !give(s.Value, b, p) {
					return
				}
			}
		case !o.IsZero():
			for a, p := range scene.Firsts(r, o.Value) {
				if !give(a, o.Value, p) {
					return
				}
			}
		default:
			for b := range scene.Bodies() {
				for a, p := range scene.Firsts(r, b.Name) {
					if !give(a, b.Name, p) {
						return
					}
				}
			}
		}
	}
}

func distances(scene *Scene, s rdf.Term, property, to string, o rdf.Term) iter.Seq[knowledge.Derived] {
	return func(yield func(knowledge.Derived) bool) {
		give := func(a string) bool {
			d, ok := scene.Distance(a, to)
			if !ok {
				return true
			}
			is := rdf.NewTyped(strconv.FormatFloat(d, 'g', -1, 64), rdf.NSXSD+"double")
			return !o.IsZero() && o != is || yield(knowledge.Derived{Triple: rdf.Triple{S: rdf.NewIRI(a), P: rdf.NewIRI(property), O: is}, Probability: 1})
		}
		switch {
		case s.Kind == rdf.IRI:
			give(s.Value)
		case s.IsZero():
			for b := range scene.Bodies() {
				if !give(b.Name) {
					return
				}
			}
		}
	}
}

// between yields the pairs of events of which something holds.
func (c *Computables) between(s rdf.Term, property string, holds func(a, b event) bool, o rdf.Term) iter.Seq[knowledge.Derived] {
	return func(yield func(knowledge.Derived) bool) {
		seconds := c.bound(o)
		for _, a := range c.bound(s) {
			for _, b := range seconds {
				if holds(a, b) && !yield(knowledge.Derived{Triple: rdf.Triple{S: a.term, P: rdf.NewIRI(property), O: b.term}, Probability: 1}) {
					return
				}
			}
		}
	}
}

// bound returns the event of a term, or all of them if it is unbound.
func (c *Computables) bound(t rdf.Term) []event {
	if t.IsZero() {
		return c.events()
	}
	if e, ok := eventOf(c.v, t); ok && t.Kind != rdf.Literal {
		return []event{e}
	}
	return nil
}

// durations yields how long events took; KnowRob's need an end that is stated.
func (c *Computables) durations(s rdf.Term, property string, o rdf.Term, ended bool) iter.Seq[knowledge.Derived] {
	return func(yield func(knowledge.Derived) bool) {
		for _, e := range c.bound(s) {
			d, ok := e.duration()
			if !ok || ended && !e.ended || !o.IsZero() && o != d {
				continue
			}
			if !yield(knowledge.Derived{Triple: rdf.Triple{S: e.term, P: rdf.NewIRI(property), O: d}, Probability: 1}) {
				return
			}
		}
	}
}

// orientations yields where things are in the facts: the matrix of the newest perception.
func (c *Computables) orientations(s rdf.Term, property string, o rdf.Term) iter.Seq[knowledge.Derived] {
	return func(yield func(knowledge.Derived) bool) {
		give := func(thing rdf.Term) bool {
			at, ok := perceived(c.v, thing, c.v.At)
			return !ok || !o.IsZero() && o != at.place || yield(knowledge.Derived{Triple: rdf.Triple{S: thing, P: rdf.NewIRI(property), O: at.place}, Probability: 1})
		}
		if !s.IsZero() {
			give(s)
			return
		}
		for thing := range things(c.v) {
			if !give(thing) {
				return
			}
		}
	}
}
