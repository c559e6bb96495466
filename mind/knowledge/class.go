package knowledge

import (
	"iter"
	"maps"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// IndividualOf is owl_individual_of/2: individual and class. One of them must
// be bound. A bound individual has its types and their owl_subclass_of/2; with
// an unbound one a class has the members of its rdfs:subClassOf. In both cases
// restrictions and class descriptions are evaluated on what is known, if they
// are an owl:Class, and the objects of a property are in its rdfs:range.
func (g *Graph) IndividualOf(i, c rdf.Term) iter.Seq2[rdf.Term, rdf.Term] {
	return g.pairsOf(i, c, (*reader).individual)
}

// SubclassOf is owl_subclass_of/2: subclass and superclass. One of them must be
// bound. A class without superclass is one of rdfs:Resource.
func (g *Graph) SubclassOf(sub, super rdf.Term) iter.Seq2[rdf.Term, rdf.Term] {
	return g.pairsOf(sub, super, (*reader).subclass)
}

// DirectSubclassOf is owl_direct_subclass_of/2: subclass and superclass. One of
// them must be bound.
func (g *Graph) DirectSubclassOf(sub, super rdf.Term) iter.Seq2[rdf.Term, rdf.Term] {
	return g.pairsOf(sub, super, (*reader).directSubclass)
}

func (r *reader) directSubclass(sub, super uint32, yield func(sub, super uint32) bool) bool {
	if sub == 0 && super == 0 {
		return true
	}
	if !r.has(sub, rdfsSubClassOf, super, yield) ||
		!r.has(super, owlEquivalentClass, sub, func(super, sub uint32) bool { return yield(sub, super) }) {
		return false
	}
	if super != 0 {
		return r.has(super, owlUnionOf, 0, func(_, union uint32) bool {
			for _, member := range r.items(union) {
				if (sub == 0 || member == sub) && !yield(member, super) {
					return false
				}
			}
			return true
		}) && r.has(0, rdfFirst, super, func(cell, _ uint32) bool {
			return r.has(sub, owlIntersectionOf, r.head(cell), func(sub, _ uint32) bool { return yield(sub, super) })
		})
	}
	return r.has(sub, owlIntersectionOf, 0, func(_, list uint32) bool {
		for _, member := range r.items(list) {
			if !yield(sub, member) {
				return false
			}
		}
		return true
	}) && r.has(0, rdfFirst, sub, func(cell, _ uint32) bool {
		return r.has(0, owlUnionOf, r.head(cell), func(union, _ uint32) bool { return yield(sub, union) })
	})
}

// head returns the first cell of the collection that a cell is in.
func (r *reader) head(cell uint32) uint32 {
	cells := nodes{}
	for cells.add(r.Graph, cell) {
		before := r.subject(rdfRest, cell)
		if before == 0 {
			break
		}
		cell = before
	}
	return cell
}

func (r *reader) subclass(sub, super uint32, yield func(sub, super uint32) bool) bool {
	switch {
	case super == rdfsResource && sub != 0:
		return yield(sub, super)
	case super == rdfsResource:
		return r.rdfsIndividual(0, owlClass, func(c, _ uint32) bool { return yield(c, super) })
	case sub != 0:
		if super != 0 {
			return r.along(sub, r.supers, func(n uint32) bool { return n != super }) || yield(sub, super)
		}
		return r.along(sub, r.supers, func(n uint32) bool { return yield(sub, n) })
	case super != 0:
		return r.along(super, func(n uint32, to func(uint32) bool) bool {
			return r.directSubclass(0, n, func(m, _ uint32) bool { return to(m) })
		}, func(n uint32) bool { return yield(n, super) })
	}
	return true
}

// supers are the direct superclasses, rdfs:Resource where there is none.
func (r *reader) supers(c uint32, to func(uint32) bool) bool {
	some := false
	return r.directSubclass(c, 0, func(_, super uint32) bool { some = true; return to(super) }) && (some || to(rdfsResource))
}

func (r *reader) isSubclass(sub, super uint32) bool {
	return !r.subclass(sub, super, func(_, _ uint32) bool { return false })
}

// proof is what is known of a question whether one is an individual of a class.
type proof uint8

const (
	asked  proof = iota + 1 // it is being asked: a proof may not rest on itself
	no                      // it is not
	openNo                  // it is not, unless one that was being asked turns out to be
	yes
)

// proofs are answers to questions, each an individual and a class. Definitions
// may rest on each other in loops, and many times; each question is asked once
// in a round, and rounds go on while they prove more.
type proofs struct {
	answers map[[2]uint32]proof
	lists   map[uint32][]uint32 // class to those found by its definition, or found so far
	depth   int                 // how many questions are being asked, one for the other
	nested  int                 // how many lists
	open    bool                // a question of this round was answered while it was asked
	more    bool                // this round has proved something
}

// maxProof is how many definitions a proof goes through; what rests on more is
// not found.
const maxProof = 5000

func (r *reader) isIndividual(i, c uint32) bool {
	if !r.goOn() {
		return false
	}
	question := [2]uint32{i, c}
	switch answer := r.answers[question]; {
	case answer == yes:
		return true
	case answer == no:
		return false
	case answer != 0 || r.depth >= maxProof:
		r.open = true
		return false
	}
	if r.answers == nil {
		r.answers = map[[2]uint32]proof{}
	}
	for {
		if r.depth == 0 {
			r.open, r.more = false, false
			maps.DeleteFunc(r.answers, func(_ [2]uint32, answer proof) bool { return answer == openNo })
		}
		r.answers[question] = asked
		r.depth++
		found := !r.individual(i, c, func(_, _ uint32) bool { return false })
		r.depth--
		switch {
		case found:
			r.answers[question], r.more = yes, true
			return true
		case !r.open:
			r.answers[question] = no
			return false
		case r.depth > 0 || !r.more:
			r.answers[question] = openNo
			return false
		}
	}
}

// members yields i if it is in a class, or if it is unbound all that are.
func (r *reader) members(i, c uint32, yield func(i uint32) bool) bool {
	if i != 0 {
		return !r.isIndividual(i, c) || yield(i)
	}
	return r.individual(0, c, func(i, _ uint32) bool { return yield(i) })
}

func (r *reader) individual(i, c uint32, yield func(i, c uint32) bool) bool {
	if i == 0 && c == 0 {
		return true
	}
	if c == 0 && !r.isLiteral(i) && !yield(i, owlThing) {
		return false
	}
	if c == owlThing {
		if i != 0 && !r.isLiteral(i) {
			return yield(i, c)
		}
		if i == 0 && !r.subjects(func(i uint32) bool { return yield(i, c) }) {
			return false
		}
	}
	if !r.rdfsIndividual(i, c, yield) {
		return false
	}
	if i != 0 {
		goOn := r.has(i, rdfType, 0, func(_, t uint32) bool {
			return r.subclass(t, c, func(_, super uint32) bool { return yield(i, super) })
		})
		if !goOn {
			return false
		}
	}
	return r.byDefinition(i, c, yield) && r.ranged(i, c, yield)
}

// byDefinition yields what a class has by its definition.
func (r *reader) byDefinition(i, c uint32, yield func(i, c uint32) bool) bool {
	if c == 0 || !r.isRDFSIndividual(c, owlClass) {
		return true
	}
	if i != 0 {
		// The answer is known before it is passed on: what follows may ask again.
		return definition{r, c}.individuals(i, func(uint32) bool { return false }) || yield(i, c)
	}
	list, known := r.lists[c]
	if !known {
		if r.lists == nil {
			r.lists = map[uint32][]uint32{}
		}
		r.lists[c] = nil
		if r.nested < maxProof {
			r.nested++
			found := nodes{}
			definition{r, c}.individuals(0, func(i uint32) bool { found.add(r.Graph, i); return true })
			list = found.list
			r.nested--
		}
		r.lists[c] = list
	}
	for _, i := range list {
		if !yield(i, c) {
			return false
		}
	}
	return true
}

// ranged yields the objects of properties whose range is exactly the class. A
// bound individual has the classes of one property's range, an unbound one may
// be the object of a sub-property, too.
func (r *reader) ranged(i, c uint32, yield func(i, c uint32) bool) bool {
	if i == 0 {
		return r.has(0, rdfsRange, c, func(p, _ uint32) bool {
			return r.has(0, p, 0, func(_, o uint32) bool { return yield(o, c) })
		})
	}
	found := uint32(0)
	r.match(0, 0, i, func(_, p, _ uint32) bool {
		return r.has(p, rdfsRange, c, func(_, class uint32) bool { found = class; return false })
	})
	return found == 0 || yield(i, found)
}
