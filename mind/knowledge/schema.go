package knowledge

import (
	"sync"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// vocabulary are the names that the reasoning knows, in the order of their
// numbers.
var vocabulary = [...]string{
	rdf.NS + "type", rdf.NS + "first", rdf.NS + "rest", rdf.NS + "nil", rdf.NS + "Bag", rdf.NS + "Seq", rdf.NS + "Alt",
	rdf.NSRDFS + "subPropertyOf", rdf.NSRDFS + "subClassOf", rdf.NSRDFS + "domain", rdf.NSRDFS + "range",
	rdf.NSRDFS + "Resource", rdf.NSRDFS + "Class", rdf.NSRDFS + "Literal", rdf.NSRDFS + "Datatype",
	rdf.NSOWL + "Class", rdf.NSOWL + "Restriction", rdf.NSOWL + "Thing", rdf.NSOWL + "Nothing",
	rdf.NSOWL + "TransitiveProperty", rdf.NSOWL + "SymmetricProperty", rdf.NSOWL + "inverseOf", rdf.NSOWL + "sameAs",
	rdf.NSOWL + "equivalentClass", rdf.NSOWL + "unionOf", rdf.NSOWL + "intersectionOf", rdf.NSOWL + "complementOf", rdf.NSOWL + "oneOf",
	rdf.NSOWL + "onProperty", rdf.NSOWL + "hasValue", rdf.NSOWL + "allValuesFrom", rdf.NSOWL + "someValuesFrom",
	rdf.NSOWL + "cardinality", rdf.NSOWL + "minCardinality", rdf.NSOWL + "maxCardinality",
}

const (
	rdfType = iota + 1
	rdfFirst
	rdfRest
	rdfNil
	rdfBag
	rdfSeq
	rdfAlt
	rdfsSubPropertyOf
	rdfsSubClassOf
	rdfsDomain
	rdfsRange
	rdfsResource
	rdfsClass
	rdfsLiteral
	rdfsDatatype
	owlClass
	owlRestriction
	owlThing
	owlNothing
	owlTransitive
	owlSymmetric
	owlInverseOf
	owlSameAs
	owlEquivalentClass
	owlUnionOf
	owlIntersectionOf
	owlComplementOf
	owlOneOf
	owlOnProperty
	owlHasValue
	owlAllValuesFrom
	owlSomeValuesFrom
	owlCardinality
	owlMinCardinality
	owlMaxCardinality
)

// schema is what follows about properties from the triples as they are. Each
// part is derived when it is asked for.
type schema struct {
	special    map[uint32]bool // predicates whose triples change the schema
	mutex      sync.RWMutex
	properties map[uint32]*property
}

// property is what follows about one.
type property struct {
	subs       []uint32 // itself and its sub-properties, nearest first
	transitive bool
	once       sync.Once
	paths      *paths // how OWLHas goes a step along it; see reader.pathsOf

	impliedOnce sync.Once
	implied     *implied // see reader.impliedBy
}

// schema returns what is derived from the triples, a new one if need be.
func (g *Graph) schema() *schema {
	g.deriving.Lock()
	defer g.deriving.Unlock()
	if g.derived == nil {
		s := &schema{special: map[uint32]bool{}, properties: map[uint32]*property{}}
		for i := range vocabulary {
			for _, sub := range g.subProperties(uint32(i + 1)) {
				s.special[sub] = true
			}
		}
		g.derived = s
	}
	return g.derived
}

// changed forgets what is derived, if triples of p may say something of it.
func (g *Graph) changed(p uint32) {
	if g.derived != nil && g.derived.special[p] {
		g.derived = nil
	}
}

// subProperties returns p and all that are declared below it.
func (g *Graph) subProperties(p uint32) []uint32 {
	subs := []uint32{p}
	seen := map[uint32]bool{p: true}
	for i := 0; i < len(subs); i++ {
		g.match(0, rdfsSubPropertyOf, subs[i], func(sub, _, _ uint32) bool {
			if !seen[sub] {
				seen[sub] = true
				subs = append(subs, sub)
			}
			return true
		})
	}
	return subs
}

// property returns what follows about p.
func (r *reader) property(p uint32) *property {
	r.derived.mutex.RLock()
	it := r.derived.properties[p]
	r.derived.mutex.RUnlock()
	if it != nil {
		return it
	}
	it = &property{subs: r.subProperties(p)}
	r.derived.mutex.Lock()
	if known := r.derived.properties[p]; known != nil {
		it = known
	} else if int(p) < len(r.names.terms) {
		r.derived.properties[p] = it
	}
	r.derived.mutex.Unlock()
	return it
}
