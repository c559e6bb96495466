package record

import (
	"cmp"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Kind says what a record is of. Each kind has a core segment of the memory Knowledge.
type Kind uint8

// The kinds of records.
const (
	Ontology Kind = iota
	Class
	Property
	Individual
)

var kindNames = [...]string{"Ontology", "Class", "Property", "Individual"}

// String returns the name of the kind's core segment.
func (k Kind) String() string { return kindNames[k] }

// A Record is what one provider says of one name. It is withdrawn if it says nothing: if it
// has neither triples nor a document.
type Record struct {
	Kind Kind
	Name string // the IRI
	// Triples are what is said, those of blank nodes that only this name leads to among them.
	// Each is there once; they have an order of their own.
	Triples  []rdf.Triple
	Document *Document // of an ontology, where it comes from
}

// Document is where an ontology comes from.
type Document struct {
	Source   string            // a file's name, a URL, or the component that says it
	Base     string            // the IRI that relative ones were resolved against
	Prefixes map[string]string // prefix ("" is the default one) to namespace
}

// Withdrawn reports whether r says nothing.
func (r *Record) Withdrawn() bool { return len(r.Triples) == 0 && r.Document == nil }

// Records returns the records of a document, sorted by kind and name. The ontology that the
// document declares has where it comes from; of several the first one by name, and if it declares
// none, an ontology of the given name, which must be one ([engram.CheckName]).
//
// A subject that is declared as an ontology gives an ontology; else one that is declared or
// used as a class a class, or as a property a property; else an individual. Blank nodes lie with
// the first name by order that leads to them, and have labels that depend on what is said of them and not on the
// order or the labels of the document. With the ontology lie blank nodes that nothing named leads to, and IRIs that are
// no names.
func Records(triples []rdf.Triple, ontology string, from Document) []Record {
	triples = relabel(unique(triples))
	homes := map[rdf.Term]*Record{}
	for _, t := range triples {
		if t.S.Kind == rdf.IRI && homes[t.S] == nil && engram.CheckName(t.S.Value) == nil {
			homes[t.S] = &Record{Kind: Individual, Name: t.S.Value}
		}
	}
	leads := map[rdf.Term][]rdf.Term{} // from a subject to its blank nodes
	for _, t := range triples {
		if r := homes[t.S]; r != nil {
			r.Kind = min(r.Kind, kindBy(t))
		}
		if t.O.Kind == rdf.Blank {
			leads[t.S] = append(leads[t.S], t.O)
		}
	}
	all := make([]*Record, 0, len(homes)+1)
	for _, r := range homes {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Record) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	if len(all) == 0 || all[0].Kind != Ontology {
		document := homes[rdf.NewIRI(ontology)]
		if document != nil { // what is said of the document itself
			all = slices.DeleteFunc(all, func(r *Record) bool { return r == document })
			document.Kind = Ontology
		} else {
			document = &Record{Name: ontology}
		}
		all = slices.Insert(all, 0, document)
	}
	all[0].Document = &from
	for _, r := range all {
		reach := []rdf.Term{rdf.NewIRI(r.Name)}
		for len(reach) > 0 {
			var next []rdf.Term
			for _, blank := range leads[reach[len(reach)-1]] {
				if homes[blank] == nil {
					homes[blank] = r
					next = append(next, blank)
				}
			}
			reach = append(reach[:len(reach)-1], next...)
		}
	}
	for _, t := range triples {
		r := homes[t.S]
		if r == nil {
			r = all[0]
		}
		r.Triples = append(r.Triples, t)
	}
	records := make([]Record, len(all))
	for i, r := range all {
		slices.SortFunc(r.Triples, compareTriples)
		records[i] = *r
	}
	return records
}

// kindBy returns what a triple makes its subject.
func kindBy(t rdf.Triple) Kind {
	if t.P.Value == rdf.NS+"type" && t.O.Kind == rdf.IRI {
		if k, ok := kindOfType[t.O.Value]; ok {
			return k
		}
	}
	if k, ok := kindOfUse[t.P.Value]; ok {
		return k
	}
	return Individual
}

var kindOfType = map[string]Kind{
	rdf.NSOWL + "Ontology":                     Ontology,
	rdf.NSOWL + "Class":                        Class,
	rdf.NSOWL + "DeprecatedClass":              Class,
	rdf.NSOWL + "Restriction":                  Class,
	rdf.NSRDFS + "Class":                       Class,
	rdf.NSRDFS + "Datatype":                    Class,
	rdf.NSOWL + "DataRange":                    Class,
	rdf.NS + "Property":                        Property,
	rdf.NSOWL + "ObjectProperty":               Property,
	rdf.NSOWL + "DatatypeProperty":             Property,
	rdf.NSOWL + "AnnotationProperty":           Property,
	rdf.NSOWL + "OntologyProperty":             Property,
	rdf.NSOWL + "DeprecatedProperty":           Property,
	rdf.NSOWL + "TransitiveProperty":           Property,
	rdf.NSOWL + "SymmetricProperty":            Property,
	rdf.NSOWL + "AsymmetricProperty":           Property,
	rdf.NSOWL + "ReflexiveProperty":            Property,
	rdf.NSOWL + "IrreflexiveProperty":          Property,
	rdf.NSOWL + "FunctionalProperty":           Property,
	rdf.NSOWL + "InverseFunctionalProperty":    Property,
	rdf.NSRDFS + "ContainerMembershipProperty": Property,
}

var kindOfUse = map[string]Kind{
	rdf.NSRDFS + "subClassOf":          Class,
	rdf.NSOWL + "equivalentClass":      Class,
	rdf.NSOWL + "disjointWith":         Class,
	rdf.NSOWL + "unionOf":              Class,
	rdf.NSOWL + "intersectionOf":       Class,
	rdf.NSOWL + "complementOf":         Class,
	rdf.NSOWL + "oneOf":                Class,
	rdf.NSRDFS + "subPropertyOf":       Property,
	rdf.NSRDFS + "domain":              Property,
	rdf.NSRDFS + "range":               Property,
	rdf.NSOWL + "inverseOf":            Property,
	rdf.NSOWL + "equivalentProperty":   Property,
	rdf.NSOWL + "propertyChainAxiom":   Property,
	rdf.NSOWL + "propertyDisjointWith": Property,
}

func unique(triples []rdf.Triple) []rdf.Triple {
	seen := make(map[rdf.Triple]struct{}, len(triples))
	out := make([]rdf.Triple, 0, len(triples))
	for _, t := range triples {
		if _, again := seen[t]; !again {
			seen[t] = struct{}{}
			out = append(out, t)
		}
	}
	return out
}

func compareTerms(a, b rdf.Term) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Lang, b.Lang))
}

func compareTriples(a, b rdf.Triple) int {
	return cmp.Or(compareTerms(a.S, b.S), compareTerms(a.P, b.P), compareTerms(a.O, b.O))
}
