package knowledge

import (
	"iter"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

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
	Node     rdf.Term // the restriction itself; none if a property's domain says it
	Property rdf.Term
	Facet    Facet
	Value    rdf.Term // the class or value; none of a Cardinality
	Min, Max int      // of a Cardinality; Max -1: no upper bound
}

// RestrictionOn returns the restrictions that owl_restriction_on/2 finds on a
// class and all its superclasses; the class must be bound.
func (g *Graph) RestrictionOn(class rdf.Term) iter.Seq[Restriction] {
	return func(yield func(Restriction) bool) {
		r := g.reader()
		if class.IsZero() {
			return
		}
		r.subclass(r.id(class), 0, func(_, super uint32) bool {
			if !r.isRDFSIndividual(super, owlRestriction) {
				return true
			}
			return r.restriction(super, func(it facet) bool {
				return yield(it.restriction(r, class))
			})
		})
	}
}

// DomainRestrictionOn returns the second kind that owl_restriction_on/2 finds,
// of a bound property: it applies to the class if the domain of the property
// is the class or one above, and its values are of its range, or of
// rdfs:Resource if it has none. A property has the domain and range of the
// nearest above it that has one.
func (g *Graph) DomainRestrictionOn(class, property rdf.Term) iter.Seq[Restriction] {
	return func(yield func(Restriction) bool) {
		r := g.reader()
		if class.IsZero() || property.IsZero() {
			return
		}
		p := r.id(property)
		domain := r.inherited(p, rdfsDomain)
		if domain == 0 || !r.isSubclass(r.id(class), domain) {
			return
		}
		of := r.inherited(p, rdfsRange)
		if of == 0 {
			of = rdfsResource
		}
		yield(Restriction{Class: class, Property: property, Facet: AllValuesFrom, Value: r.termOf(of)})
	}
}

// inherited returns what the nearest property at or above p has.
func (r *reader) inherited(p, what uint32) uint32 {
	found := uint32(0)
	r.reachable(p, rdfsSubPropertyOf, 0, func(_, super uint32) bool {
		found = r.value(super, what)
		return found == 0
	})
	return found
}

// facet is a restriction by names.
type facet struct {
	node, property, value uint32
	kind                  Facet
	min, max              int
}

func (f facet) restriction(r *reader, class rdf.Term) Restriction {
	it := Restriction{Class: class, Node: r.termOf(f.node), Property: r.termOf(f.property), Facet: f.kind, Min: f.min, Max: f.max}
	if f.value != 0 {
		it.Value = r.termOf(f.value)
	}
	return it
}

// restriction yields what a node says of properties: owl_restriction/2.
func (r *reader) restriction(node uint32, yield func(facet) bool) bool {
	return r.has(node, owlOnProperty, 0, func(_, property uint32) bool {
		it := facet{node: node, property: property}
		from := it
		if from.value, from.kind = r.value(node, owlAllValuesFrom), AllValuesFrom; from.value == 0 {
			from.value, from.kind = r.value(node, owlSomeValuesFrom), SomeValuesFrom
		}
		if from.value != 0 && !yield(from) {
			return false
		}
		goOn := r.has(node, owlHasValue, 0, func(_, value uint32) bool {
			it.kind, it.value = HasValue, value
			return yield(it)
		})
		if !goOn {
			return false
		}
		var ok bool
		it.kind, it.value = Cardinality, 0
		exact, least, most := r.count(node, owlCardinality), r.count(node, owlMinCardinality), r.count(node, owlMaxCardinality)
		switch {
		case exact.said:
			it.min, it.max, ok = exact.n, exact.n, exact.ok
		case least.said && most.said:
			it.min, it.max, ok = least.n, most.n, least.ok && most.ok
		case least.said:
			it.min, it.max, ok = least.n, -1, least.ok
		case most.said:
			it.min, it.max, ok = 0, most.n, most.ok
		}
		return !ok || yield(it)
	})
}

// count is a number that a restriction says.
type count struct {
	said     bool // there is a literal
	ok       bool // it is a number
	n        int
	datatype string
}

func (r *reader) count(node, predicate uint32) count {
	var c count
	r.has(node, predicate, 0, func(_, o uint32) bool {
		if !r.isLiteral(o) {
			return true
		}
		t := r.termOf(o)
		n, err := strconv.Atoi(strings.TrimSpace(t.Value))
		c = count{said: true, ok: err == nil && n >= 0 && t.Lang == "", n: n, datatype: t.Type}
		return false
	})
	return c
}

// counted is a count that membership depends on: owl_individual_of/2 takes
// plain numbers and those of xsd:nonNegativeInteger only.
func (c count) counted() bool {
	return c.ok && (c.datatype == "" || c.datatype == rdf.NSXSD+"nonNegativeInteger")
}

// ClassProperties is class_properties/3: a class, a property, and a value that
// owl:someValuesFrom or owl:hasValue gives it on the class or one above. The
// restrictions on sub-properties of a bound property count, too. The class is
// an owl:Class.
func (g *Graph) ClassProperties(class, property rdf.Term) iter.Seq[rdf.Triple] {
	return g.triplesOf(class, property, rdf.Term{}, func(r *reader, c, p, _ uint32, yield func(c, p, v uint32) bool) bool {
		classes := nodes{}
		r.rdfsIndividual(c, owlClass, func(c, _ uint32) bool { classes.add(r.Graph, c); return true })
		for _, c := range classes.list {
			if !r.classProperties(c, p, yield) {
				return false
			}
		}
		return true
	})
}

func (r *reader) classProperties(c, p uint32, yield func(c, p, v uint32) bool) bool {
	pass := once(func(p, v uint32) bool { return yield(c, p, v) })
	return r.subclass(c, 0, func(_, super uint32) bool {
		return r.directSubclass(super, 0, func(_, node uint32) bool {
			return r.restriction(node, func(f facet) bool {
				if f.kind != SomeValuesFrom && f.kind != HasValue {
					return true
				}
				if p == 0 {
					return pass(f.property, f.value)
				}
				return !r.reaches(f.property, rdfsSubPropertyOf, p) || pass(p, f.value)
			})
		})
	})
}
