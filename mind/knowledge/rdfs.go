package knowledge

import (
	"iter"
	"slices"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Has is rdf_has/3: Match with the sub-properties of p. The predicate of an
// answer is p, or if p is unbound the one of the triple.
func (g *Graph) Has(s, p, o rdf.Term) iter.Seq[rdf.Triple] {
	if p.IsZero() {
		return g.Match(s, p, o)
	}
	return g.triplesOf(s, p, o, func(r *reader, s, p, o uint32, yield func(s, p, o uint32) bool) bool {
		return r.has(s, p, o, func(s, o uint32) bool { return yield(s, p, o) })
	})
}

// HasEach is Has with an answer for each triple: what is said by a property and
// a sub-property comes twice, as in rdf_has/3.
func (g *Graph) HasEach(s, p, o rdf.Term) iter.Seq[rdf.Triple] {
	if p.IsZero() {
		return g.Match(s, p, o)
	}
	return g.triplesOf(s, p, o, func(r *reader, s, p, o uint32, yield func(s, p, o uint32) bool) bool {
		for _, sub := range r.property(p).subs {
			if r.predicates[sub] > 0 && !r.match(s, sub, o, func(s, _, o uint32) bool { return yield(s, p, o) }) {
				return false
			}
		}
		return true
	})
}

// HasLiteral is HasEach with a condition on a literal as the object.
func (g *Graph) HasLiteral(s, p rdf.Term, o Pattern) iter.Seq[rdf.Triple] {
	return g.literals(s, p, o, g.HasEach)
}

// Reachable is rdf_reachable/3: the start, and the resources that are reached
// from it by steps of Has. The predicate, and the subject or the object, must
// be bound.
func (g *Graph) Reachable(s, p, o rdf.Term) iter.Seq[rdf.Triple] {
	return g.triplesOf(s, p, o, func(r *reader, s, p, o uint32, yield func(s, p, o uint32) bool) bool {
		return r.reachable(s, p, o, func(s, o uint32) bool { return yield(s, p, o) })
	})
}

// RDFSIndividualOf is rdfs_individual_of/2: individual and class, by types and
// subclasses only. One of them must be bound.
func (g *Graph) RDFSIndividualOf(i, c rdf.Term) iter.Seq2[rdf.Term, rdf.Term] {
	return g.pairsOf(i, c, (*reader).rdfsIndividual)
}

// RDFSSubclassOf is rdfs_subclass_of/2: subclass and superclass. One of them
// must be bound.
func (g *Graph) RDFSSubclassOf(sub, super rdf.Term) iter.Seq2[rdf.Term, rdf.Term] {
	return g.pairsOf(sub, super, (*reader).rdfsSubclass)
}

// RDFSSubpropertyOf is rdfs_subproperty_of/2: sub-property and property. One of
// them must be bound.
func (g *Graph) RDFSSubpropertyOf(sub, super rdf.Term) iter.Seq2[rdf.Term, rdf.Term] {
	return g.pairsOf(sub, super, func(r *reader, sub, super uint32, yield func(a, b uint32) bool) bool {
		return r.reachable(sub, rdfsSubPropertyOf, super, yield)
	})
}

// has yields the subjects and objects of rdf_has/3, each pair once.
func (r *reader) has(s, p, o uint32, yield func(s, o uint32) bool) bool {
	subs := r.property(p).subs
	for i, sub := range subs {
		if r.predicates[sub] == 0 {
			continue
		}
		goOn := r.match(s, sub, o, func(s, _, o uint32) bool {
			for _, earlier := range subs[:i] {
				if r.predicates[earlier] > 0 && r.spo.has(key{s, earlier, o}) {
					return true
				}
			}
			return yield(s, o)
		})
		if !goOn {
			return false
		}
	}
	return true
}

// value returns the first object, 0 if there is none.
func (r *reader) value(s, p uint32) uint32 {
	found := uint32(0)
	r.has(s, p, 0, func(_, o uint32) bool { found = o; return false })
	return found
}

// subject returns the first subject, 0 if there is none.
func (r *reader) subject(p, o uint32) uint32 {
	found := uint32(0)
	r.has(0, p, o, func(s, _ uint32) bool { found = s; return false })
	return found
}

func (r *reader) reachable(s, p, o uint32, yield func(s, o uint32) bool) bool {
	switch {
	case p == 0 || s != 0 && r.isLiteral(s) || o != 0 && r.isLiteral(o):
		return true
	case s != 0:
		forward := func(n uint32, to func(uint32) bool) bool {
			return r.has(n, p, 0, func(_, m uint32) bool { return r.isLiteral(m) || to(m) })
		}
		if o != 0 {
			return r.along(s, forward, func(n uint32) bool { return n != o }) || yield(s, o)
		}
		return r.along(s, forward, func(n uint32) bool { return yield(s, n) })
	case o != 0:
		return r.along(o, func(n uint32, to func(uint32) bool) bool {
			return r.has(0, p, n, func(m, _ uint32) bool { return to(m) })
		}, func(n uint32) bool { return yield(n, o) })
	}
	return true
}

// reaches says whether a way of rdf_has/3 leads from s to o.
func (r *reader) reaches(s, p, o uint32) bool {
	return !r.reachable(s, p, o, func(_, _ uint32) bool { return false })
}

// along yields a start and what steps reach from it, the nearest first.
func (r *reader) along(start uint32, steps func(n uint32, to func(uint32) bool) bool, yield func(uint32) bool) bool {
	if !yield(start) {
		return false
	}
	reached := nodes{}
	reached.add(r.Graph, start)
	for i := 0; i < len(reached.list); i++ {
		goOn := r.goOn() && steps(reached.list[i], func(n uint32) bool { return !reached.add(r.Graph, n) || yield(n) })
		if !goOn {
			return false
		}
	}
	return true
}

func (r *reader) rdfsSubclass(sub, super uint32, yield func(sub, super uint32) bool) bool {
	if super == rdfsResource { // of which all classes are
		return r.rdfsIndividual(sub, rdfsClass, func(c, _ uint32) bool { return yield(c, super) })
	}
	if !r.reachable(sub, rdfsSubClassOf, super, yield) {
		return false
	}
	if sub != 0 && super == 0 && !r.reaches(sub, rdfsSubClassOf, rdfsResource) && r.isRDFSIndividual(sub, rdfsClass) && !yield(sub, rdfsResource) {
		return false
	}
	// Datatypes are subclasses of rdfs:Literal.
	switch {
	case sub != 0 && (super == 0 || super == rdfsLiteral):
		datatype := !r.has(sub, rdfType, 0, func(_, t uint32) bool { return !r.reaches(t, rdfsSubClassOf, rdfsDatatype) })
		if datatype && !r.reaches(sub, rdfsSubClassOf, rdfsLiteral) {
			return yield(sub, rdfsLiteral)
		}
	case sub == 0 && super != 0 && super != rdfsDatatype && r.reaches(super, rdfsSubClassOf, rdfsLiteral):
		return r.rdfsIndividual(0, rdfsDatatype, func(c, _ uint32) bool { return yield(c, super) })
	}
	return true
}

func (r *reader) rdfsIndividual(i, c uint32, yield func(i, c uint32) bool) bool {
	switch {
	case i != 0 && c == rdfsResource:
		return yield(i, c)
	case i != 0 && r.isLiteral(i):
		return r.rdfsSubclass(c, rdfsLiteral, func(c, _ uint32) bool { return yield(i, c) })
	case i != 0 && c != 0:
		found := !r.has(i, rdfType, 0, func(_, t uint32) bool {
			return r.rdfsSubclass(t, c, func(_, _ uint32) bool { return false })
		})
		return !found || yield(i, c)
	case i != 0:
		typed := false
		goOn := r.has(i, rdfType, 0, func(_, t uint32) bool {
			typed = true
			return r.rdfsSubclass(t, 0, func(_, super uint32) bool { return yield(i, super) })
		})
		return goOn && (typed || yield(i, rdfsResource))
	case c == rdfsResource:
		return r.subjects(func(i uint32) bool { return yield(i, c) })
	case c != 0:
		return r.rdfsSubclass(0, c, func(sub, _ uint32) bool {
			return r.has(0, rdfType, sub, func(i, _ uint32) bool { return yield(i, c) })
		})
	}
	return true
}

func (r *reader) isRDFSIndividual(i, c uint32) bool {
	return !r.rdfsIndividual(i, c, func(_, _ uint32) bool { return false })
}

// subjects yields each subject once.
func (r *reader) subjects(yield func(uint32) bool) bool { return r.spo.firstsOf(yield) }

func (r *reader) isSubject(id uint32) bool {
	return !r.match(id, 0, 0, func(_, _, _ uint32) bool { return false })
}

// items returns what a collection or container holds: rdfs_member/2.
func (r *reader) items(list uint32) []uint32 {
	var found []uint32
	cells := nodes{}
	for cell := list; cell != 0 && cells.add(r.Graph, cell); cell = r.value(cell, rdfRest) {
		r.has(cell, rdfFirst, 0, func(_, o uint32) bool { found = append(found, o); return true })
		if len(cells.list) == 1 && len(found) == 0 {
			break // no collection
		}
	}
	if len(found) > 0 || !slices.ContainsFunc([]uint32{rdfBag, rdfSeq, rdfAlt}, func(c uint32) bool { return r.isRDFSIndividual(list, c) }) {
		return found
	}
	r.match(list, 0, 0, func(_, p, o uint32) bool {
		if isMember(r.names.terms[p].value) {
			found = append(found, o)
		}
		return true
	})
	return found
}

// isMember says whether a property is rdf:_1, rdf:_2 and so on.
func isMember(iri string) bool {
	if len(iri) <= len(rdf.NS)+1 || iri[:len(rdf.NS)] != rdf.NS || iri[len(rdf.NS)] != '_' {
		return false
	}
	for _, c := range iri[len(rdf.NS)+1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
