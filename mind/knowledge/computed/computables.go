package computed

import (
	"iter"
	"math/big"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
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
			return c.durations(s, property, o), true
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
		return c.distances(s, property, body, o), true
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

// values yields what each of the subjects has as the value of a property, if it has one.
func values(subjects iter.Seq[rdf.Term], property string, o rdf.Term, value func(rdf.Term) (rdf.Term, bool)) iter.Seq[knowledge.Derived] {
	return func(yield func(knowledge.Derived) bool) {
		for s := range subjects {
			v, ok := value(s)
			if ok && (o.IsZero() || o == v) && !yield(knowledge.Derived{Triple: rdf.Triple{S: s, P: rdf.NewIRI(property), O: v}, Probability: 1}) {
				return
			}
		}
	}
}

// subjects yields the subject, or all of a kind if it is unbound.
func subjects(s rdf.Term, all func(yield func(rdf.Term) bool)) iter.Seq[rdf.Term] {
	if s.IsZero() {
		return all
	}
	return func(yield func(rdf.Term) bool) { yield(s) }
}

// durations are how long events took; KnowRob's need an end that is stated.
func (c *Computables) durations(s rdf.Term, property string, o rdf.Term) iter.Seq[knowledge.Derived] {
	all := func(yield func(rdf.Term) bool) {
		for _, e := range c.events() {
			if !yield(e.term) {
				return
			}
		}
	}
	return values(subjects(s, all), property, o, func(s rdf.Term) (rdf.Term, bool) {
		e, ok := eventOf(c.v, s)
		if !ok || e.End == engram.MaxTime || e.point || property != Duration && !e.ended {
			return rdf.Term{}, false
		}
		text := new(big.Rat).SetFrac64(int64(e.End)-int64(e.Start), 1e9).FloatString(9)
		return rdf.NewTyped(strings.TrimRight(strings.TrimRight(text, "0"), "."), rdf.NSXSD+"double"), true
	})
}

// orientations are where things are in the facts: what has the pose of the newest perception.
func (c *Computables) orientations(s rdf.Term, property string, o rdf.Term) iter.Seq[knowledge.Derived] {
	return values(subjects(s, things(c.v)), property, o, func(s rdf.Term) (rdf.Term, bool) {
		at, ok := perceived(c.v, s, c.v.At)
		return at.place, ok
	})
}

// distances are those to the box of a body.
func (c *Computables) distances(s rdf.Term, property, to string, o rdf.Term) iter.Seq[knowledge.Derived] {
	scene := c.scene()
	all := func(yield func(rdf.Term) bool) {
		for b := range scene.Bodies() {
			if !yield(rdf.NewIRI(b.Name)) {
				return
			}
		}
	}
	return values(subjects(s, all), property, o, func(s rdf.Term) (rdf.Term, bool) {
		d, ok := scene.Distance(s.Value, to)
		return rdf.NewTyped(strconv.FormatFloat(d, 'g', -1, 64), rdf.NSXSD+"double"), ok && s.Kind == rdf.IRI
	})
}
