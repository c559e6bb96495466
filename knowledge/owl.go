package knowledge

import (
	"iter"

	"github.com/seed-301d4374/engram/knowledge/rdf"
)

// Has is rdf_has/3: Match with sub-properties of p and inverses. The
// predicate of an answer is p, or if p is unbound the one that was added.
func (g *Graph) Has(s, p, o rdf.Term) iter.Seq[rdf.Triple] { return g.Match(s, p, o) }

// HasLiteral is Has with a condition on a literal as the object.
func (g *Graph) HasLiteral(s, p rdf.Term, o Pattern) iter.Seq[rdf.Triple] {
	return literals(g.Has(s, p, rdf.Term{}), o)
}

// Reachable is rdf_reachable/3: the start itself, and all that is reached
// from it by one or more steps of Has. s or o must be bound.
func (g *Graph) Reachable(s, p, o rdf.Term) iter.Seq[rdf.Triple] { return g.Match(s, p, o) }

// OWLHas is owl_has/3.
func (g *Graph) OWLHas(s, p, o rdf.Term) iter.Seq[rdf.Triple] { return g.Match(s, p, o) }

// OWLHasLiteral is OWLHas with a condition on a literal as the object.
func (g *Graph) OWLHasLiteral(s, p rdf.Term, o Pattern) iter.Seq[rdf.Triple] {
	return literals(g.OWLHas(s, p, rdf.Term{}), o)
}

type pairs = iter.Seq2[rdf.Term, rdf.Term]

func none(func(rdf.Term, rdf.Term) bool) {}

// RDFSIndividualOf is rdfs_individual_of/2: individual and class.
func (g *Graph) RDFSIndividualOf(i, c rdf.Term) pairs { return none }

// RDFSSubclassOf is rdfs_subclass_of/2: subclass and superclass.
func (g *Graph) RDFSSubclassOf(sub, super rdf.Term) pairs { return none }

// RDFSSubpropertyOf is rdfs_subproperty_of/2: sub-property and property.
func (g *Graph) RDFSSubpropertyOf(sub, super rdf.Term) pairs { return none }

// IndividualOf is owl_individual_of/2: individual and class.
func (g *Graph) IndividualOf(i, c rdf.Term) pairs { return none }

// SubclassOf is owl_subclass_of/2: subclass and superclass.
func (g *Graph) SubclassOf(sub, super rdf.Term) pairs { return none }

// DirectSubclassOf is owl_direct_subclass_of/2: subclass and superclass.
func (g *Graph) DirectSubclassOf(sub, super rdf.Term) pairs { return none }

// A Facet says what a restriction asks of the values of its property.
type Facet uint8

// The facets of restrictions.
const (
	AllValuesFrom  Facet = iota + 1 // all_values_from(Class)
	SomeValuesFrom                  // some_values_from(Class)
	HasValue                        // has_value(Value)
	Cardinality                     // cardinality(Min, Max)
)

// A Restriction is a condition on a property's values that members of a class
// fulfil.
type Restriction struct {
	Class    rdf.Term // the class that has it
	Node     rdf.Term // the restriction itself
	Property rdf.Term
	Facet    Facet
	Value    rdf.Term // the class or value; none of a Cardinality
	Min, Max int      // of a Cardinality; Max -1: no upper bound
}

// RestrictionOn is owl_restriction_on/2.
func (g *Graph) RestrictionOn(class rdf.Term) iter.Seq[Restriction] {
	return func(func(Restriction) bool) {}
}

// ClassProperties is class_properties/3: class, property, value.
func (g *Graph) ClassProperties(class, property rdf.Term) iter.Seq[rdf.Triple] {
	return func(func(rdf.Triple) bool) {}
}
