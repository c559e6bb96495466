// Package rdf has the terms and triples of the Resource Description
// Framework, and reads and writes them as RDF/XML, Turtle, N-Triples and
// N-Quads.
package rdf

// A Kind says what a term is. Zero is no term: unbound in a question.
type Kind uint8

// The kinds of terms.
const (
	IRI Kind = iota + 1
	Blank
	Literal
)

// A Term is an IRI, a blank node or a literal. Terms are comparable; the zero
// Term is none. Numbers are not converted: "0.80" and "0.8" are two terms, as
// are a plain text and the same text of type xsd:string. What they mean is a [Value].
type Term struct {
	Kind  Kind
	Value string // the IRI, a blank node's label, or a literal's lexical form as it was written
	Type  string // a literal's datatype IRI; "" for a plain one
	Lang  string // a literal's language tag, as written
}

// NewIRI returns the term of an IRI.
func NewIRI(iri string) Term { return Term{Kind: IRI, Value: iri} }

// NewBlank returns the blank node with a label.
func NewBlank(label string) Term { return Term{Kind: Blank, Value: label} }

// NewText returns a plain literal.
func NewText(text string) Term { return Term{Kind: Literal, Value: text} }

// NewTyped returns a literal with a datatype.
func NewTyped(lexical, datatype string) Term {
	return Term{Kind: Literal, Value: lexical, Type: datatype}
}

// NewTagged returns a literal with a language tag.
func NewTagged(text, lang string) Term { return Term{Kind: Literal, Value: text, Lang: lang} }

// IsZero says whether t is no term.
func (t Term) IsZero() bool { return t.Kind == 0 }

// A Triple is a statement: subject, predicate, object.
type Triple struct{ S, P, O Term }

// Namespaces that the formats and the reasoning know.
const (
	NS     = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	NSRDFS = "http://www.w3.org/2000/01/rdf-schema#"
	NSOWL  = "http://www.w3.org/2002/07/owl#"
	NSXSD  = "http://www.w3.org/2001/XMLSchema#"
)
