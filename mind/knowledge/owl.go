package knowledge

import (
	"cmp"
	"iter"
	"slices"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// OWLHas is owl_has/3. A transitive property is walked with its sub-properties
// and their inverses at each step; an object in a cycle has itself. Of another
// property the triples count, its inverse with that one's sub-properties, its
// symmetry, owl:sameAs, and the values that restrictions give the very classes
// of an individual. With an unbound subject the object of such a property is
// looked for as it is, as owl_has/3 does: not by what it is the same as. An unbound predicate is each that has triples or a place
// among sub-properties.
func (g *Graph) OWLHas(s, p, o rdf.Term) iter.Seq[rdf.Triple] {
	return g.triplesOf(s, p, o, (*reader).owlHas)
}

// OWLHasLiteral is OWLHas with a condition on a literal as the object. With a
// subject, Same text of AnyLiteral is that of a plain one, as owl_has/3 has it.
func (g *Graph) OWLHasLiteral(s, p rdf.Term, o Pattern) iter.Seq[rdf.Triple] {
	if !s.IsZero() && o.Match == Same && o.Qualifier == AnyLiteral {
		o.Qualifier = Plain
	}
	return g.literals(s, p, o, g.OWLHas)
}

// paths is how a step along a property goes.
type paths struct {
	forward  []uint32                   // predicates of triples
	backward []uint32                   // predicates of triples with subject and object exchanged
	values   map[uint32][]uint32        // class to the values that its members have
	valued   map[uint32]map[uint32]bool // value to the classes whose members have it
}

// pathsOf returns the paths of a property: of a transitive one with its
// sub-properties.
func (r *reader) pathsOf(p uint32) (*property, *paths) {
	it := r.property(p)
	it.once.Do(func() {
		it.transitive = r.isRDFSIndividual(p, owlTransitive)
		it.paths = &paths{values: map[uint32][]uint32{}, valued: map[uint32]map[uint32]bool{}}
		subs := []uint32{p}
		if it.transitive {
			subs = it.subs
		}
		forward, backward := nodes{}, nodes{}
		for _, sub := range subs {
			forward.add(r.Graph, sub)
			for _, inverse := range r.inverses(sub) {
				for _, of := range r.property(inverse).subs {
					backward.add(r.Graph, of)
				}
			}
			if r.isRDFSIndividual(sub, owlSymmetric) {
				backward.add(r.Graph, sub)
			}
			it.paths.restrictions(r, sub)
		}
		it.paths.forward, it.paths.backward = forward.list, backward.list
	})
	return it, it.paths
}

// inverses returns the first inverse that p is declared to have, or else all
// that are declared to have p.
func (r *reader) inverses(p uint32) []uint32 {
	if inverse := r.value(p, owlInverseOf); inverse != 0 {
		return []uint32{inverse}
	}
	var found []uint32
	r.has(0, owlInverseOf, p, func(s, _ uint32) bool { found = append(found, s); return true })
	return found
}

// restrictions adds what owl:hasValue says of p.
func (t *paths) restrictions(r *reader, p uint32) {
	r.has(0, owlOnProperty, p, func(restriction, _ uint32) bool {
		r.has(restriction, owlHasValue, 0, func(_, value uint32) bool {
			r.directSubclass(0, restriction, func(class, _ uint32) bool {
				if t.valued[value] == nil {
					t.valued[value] = map[uint32]bool{}
				}
				if !t.valued[value][class] {
					t.valued[value][class] = true
					t.values[class] = append(t.values[class], value)
				}
				return true
			})
			return true
		})
		return true
	})
}

// step yields subjects and objects that a step along a property connects.
func (r *reader) step(s uint32, t *paths, o uint32, yield func(s, o uint32) bool) bool {
	if r.live.of != t {
		r.live = livePaths{of: t, forward: r.withTriples(t.forward), backward: r.withTriples(t.backward)}
	}
	forward, backward := r.live.forward, r.live.backward
	for _, p := range forward {
		if !r.match(s, p, o, func(s, _, o uint32) bool { return yield(s, o) }) {
			return false
		}
	}
	if len(backward) > 0 && (o == 0 || !r.isLiteral(o)) {
		for _, p := range backward {
			goOn := r.match(o, p, s, func(o, _, s uint32) bool { return r.isLiteral(s) || yield(s, o) })
			if !goOn {
				return false
			}
		}
	}
	switch {
	case len(t.values) == 0:
	case s != 0:
		return r.has(s, rdfType, 0, func(_, class uint32) bool {
			for _, value := range t.values[class] {
				if (o == 0 || value == o) && !yield(s, value) {
					return false
				}
			}
			return true
		})
	case o != 0:
		for class := range t.valued[o] {
			if !r.has(0, rdfType, class, func(s, _ uint32) bool { return yield(s, o) }) {
				return false
			}
		}
	default:
		for class, values := range t.values {
			goOn := r.has(0, rdfType, class, func(s, _ uint32) bool {
				for _, value := range values {
					if !yield(s, value) {
						return false
					}
				}
				return true
			})
			if !goOn {
				return false
			}
		}
	}
	return true
}

// withTriples returns the predicates that triples have.
func (r *reader) withTriples(predicates []uint32) []uint32 {
	none := func(p uint32) bool { return r.predicates[p] == 0 }
	if !slices.ContainsFunc(predicates, none) {
		return predicates
	}
	return slices.DeleteFunc(slices.Clone(predicates), none)
}

// sames reports whether anything is said to be the same as another.
func (r *reader) sames() bool {
	if r.equals == unknownEquality {
		r.equals = noEquality
		if len(r.withTriples(r.property(owlSameAs).subs)) > 0 {
			r.equals = someEquality
		}
	}
	return r.equals == someEquality
}

// same yields all that is the same as x, x first: owl_same_as/2.
func (r *reader) same(x uint32, yield func(uint32) bool) bool {
	if r.isLiteral(x) {
		return yield(x)
	}
	return r.along(x, func(n uint32, to func(uint32) bool) bool {
		resource := func(m uint32) bool { return r.isLiteral(m) || to(m) }
		return r.has(n, owlSameAs, 0, func(_, m uint32) bool { return resource(m) }) &&
			r.has(0, owlSameAs, n, func(m, _ uint32) bool { return resource(m) })
	}, yield)
}

// equivalent is step between all that are the same as the subject and the
// object.
func (r *reader) equivalent(s uint32, t *paths, o uint32, yield func(s, o uint32) bool) bool {
	switch {
	case !r.sames():
		return r.step(s, t, o, yield)
	case s != 0:
		return r.same(s, func(s1 uint32) bool {
			return r.step(s1, t, 0, func(_, o1 uint32) bool {
				return r.same(o1, func(o2 uint32) bool { return o != 0 && o2 != o || yield(s, o2) })
			})
		})
	case o != 0:
		return r.same(o, func(o1 uint32) bool {
			return r.step(0, t, o1, func(s1, _ uint32) bool {
				return r.same(s1, func(s2 uint32) bool { return yield(s2, o) })
			})
		})
	}
	return r.step(0, t, 0, func(s1, o1 uint32) bool {
		return r.same(s1, func(s2 uint32) bool {
			return r.same(o1, func(o2 uint32) bool { return yield(s2, o2) })
		})
	})
}

func (r *reader) owlHas(s, p, o uint32, yield func(s, p, o uint32) bool) bool {
	if p != 0 {
		return r.owlHasOf(s, p, o, func(s, o uint32) bool { return yield(s, p, o) })
	}
	for _, p := range r.known() {
		if !r.owlHas(s, p, o, yield) {
			return false
		}
	}
	return true
}

// Predicates yields the predicates of triples, and all that has a place among
// sub-properties: rdf_current_predicate/1.
func (g *Graph) Predicates() iter.Seq[rdf.Term] {
	return func(yield func(rdf.Term) bool) {
		r := g.reader()
		for _, p := range r.known() {
			if !yield(r.termOf(p)) {
				return
			}
		}
	}
}

// known returns the predicates that SWI-Prolog would know: those of triples, and
// the sub-properties and properties that are declared.
func (r *reader) known() []uint32 {
	found := nodes{}
	for p := range r.predicates {
		found.add(r.Graph, p)
	}
	r.match(0, rdfsSubPropertyOf, 0, func(sub, _, super uint32) bool {
		for _, p := range [2]uint32{sub, super} {
			if !r.literal(p) {
				found.add(r.Graph, p)
			}
		}
		return true
	})
	return found.list
}

// owlHasOf yields each pair once.
func (r *reader) owlHasOf(s, p, o uint32, yield func(s, o uint32) bool) bool {
	it, t := r.pathsOf(p)
	switch {
	case !it.transitive && s == 0 && o != 0:
		yield = once(yield)
		return r.step(0, t, o, func(s, _ uint32) bool {
			return r.same(s, func(s uint32) bool { return yield(s, o) })
		})
	case !it.transitive:
		return r.equivalent(s, t, o, once(yield))
	case o != 0 && (o == p || r.isLiteral(o)):
		return true
	case o != 0: // towards the subjects: wholes have many parts, parts few wholes
		back := func(n uint32, to func(uint32) bool) bool {
			return r.equivalent(0, t, n, func(m, _ uint32) bool { return to(m) })
		}
		if s != 0 {
			return r.closure(o, p, back, func(n uint32) bool { return n != s }, true) || yield(s, o)
		}
		return r.closure(o, p, back, func(n uint32) bool { return yield(n, o) }, true)
	case s != 0:
		return r.closure(s, p, func(n uint32, to func(uint32) bool) bool {
			return r.equivalent(n, t, 0, func(_, m uint32) bool { return to(m) })
		}, func(n uint32) bool { return yield(s, n) }, false)
	}
	// All edges, those of a subject side by side.
	var edges [][2]uint32
	r.equivalent(0, t, 0, func(s, o uint32) bool { edges = append(edges, [2]uint32{s, o}); return true })
	slices.SortStableFunc(edges, func(a, b [2]uint32) int { return cmp.Compare(a[0], b[0]) })
	from := make(map[uint32]int32, len(edges))
	for i := len(edges) - 1; i >= 0; i-- {
		from[edges[i][0]] = int32(i)
	}
	steps := func(n uint32, to func(uint32) bool) bool {
		first, ok := from[n]
		if !ok {
			return true
		}
		for _, e := range edges[first:] {
			if e[0] != n {
				break
			}
			if !to(e[1]) {
				return false
			}
		}
		return true
	}
	for i, e := range edges {
		if s := e[0]; (i == 0 || edges[i-1][0] != s) && !r.closure(s, p, steps, func(n uint32) bool { return yield(s, n) }, false) {
			return false
		}
	}
	return true
}

// closure yields what one or more steps reach from a start, but no literals and
// not the property itself: owl_has/3 counts that as visited. It may still be
// where a way begins.
func (r *reader) closure(start, p uint32, steps func(n uint32, to func(uint32) bool) bool, yield func(uint32) bool, back bool) bool {
	reached := nodes{}
	expand := func(n uint32) bool {
		return r.goOn() && steps(n, func(m uint32) bool {
			if r.isLiteral(m) || m == p && !back || !reached.add(r.Graph, m) {
				return true
			}
			return yield(m)
		})
	}
	if !expand(start) {
		return false
	}
	for i := 0; i < len(reached.list); i++ {
		if n := reached.list[i]; n != start && n != p && !expand(n) {
			return false
		}
	}
	return true
}
