package pattern

import (
	"regexp"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// A Question is what must hold, and what rows are made of what does. It is not changed by
// asking.
type Question struct {
	Body     []Clause
	Select   []Item  // what rows have; none is all variables but those that begin with _
	Distinct bool    // each row once
	Order    []Order // none is as found
	Limit    int     // rows at most; 0 is all
	Certain  float64 // the least probability of a row; 0 is any
	Mode     knowledge.Mode
	Prefixes map[string]string // beside those of the view
}

// A Clause is one thing that must hold; one of its fields is set.
type Clause struct {
	Triple   *Triple
	Not      []Clause // nothing fulfils these together
	Optional []Clause // these too, where something fulfils them
	Where    string   // a condition in CEL, with variables as ?x

	pos int // in the text that was read
}

// A Triple is a pattern of triples.
type Triple struct {
	S Term
	P Path
	O Term
}

// A Path is a property, or a way along it.
type Path struct {
	Property Term // a name, an IRI or a variable
	Inverse  bool // from object to subject
	Repeat   Repeat
}

// A Repeat says how many steps a path has.
type Repeat uint8

// The repetitions.
const (
	Once       Repeat = iota
	OneOrMore         // +
	ZeroOrMore        // *
)

// A Term is one place of a triple. Zero is anything.
type Term struct {
	kind  termKind
	text  string // of a variable, name, text, number or regular expression
	term  rdf.Term
	class *Class
	pos   int // in the text that was read
}

type termKind uint8

const (
	anything termKind = iota
	variable
	named // local or prefix:local
	exact
	anyText
	number
	expression
	boolean
	ofClass
)

// Var is a variable; its name is without the question mark.
func Var(name string) Term { return Term{kind: variable, text: name} }

// Name is what a local name or prefix:local stands for.
func Name(name string) Term { return Term{kind: named, text: name} }

// Exactly is a term of RDF.
func Exactly(t rdf.Term) Term { return Term{kind: exact, term: t} }

// IRI is what an IRI names.
func IRI(iri string) Term { return Exactly(rdf.NewIRI(iri)) }

// Text is every literal with this text, whatever its type or language.
func Text(text string) Term { return Term{kind: anyText, text: text} }

// Number is every literal with this value.
func Number(value float64) Term { return Term{kind: number, text: formatNumber(value)} }

// Like is every literal in which a regular expression (RE2) is found.
func Like(regexp string) Term { return Term{kind: expression, text: regexp} }

// Bool is every literal that is true, or every one that is false.
func Bool(value bool) Term {
	if value {
		return Term{kind: boolean, text: "true"}
	}
	return Term{kind: boolean, text: "false"}
}

// In is every individual of a class expression, as the object of the property a.
func In(class *Class) Term { return Term{kind: ofClass, class: class} }

// A, as a property, is rdf:type.
var A = Name("a")

// Match is the clause that a triple holds.
func Match(s, property, o Term) Clause {
	return Along(s, Path{Property: property}, o)
}

// Along is the clause that a path leads from s to o.
func Along(s Term, path Path, o Term) Clause {
	return Clause{Triple: &Triple{S: s, P: path, O: o}}
}

// Not is the clause that nothing fulfils others together.
func Not(clauses ...Clause) Clause { return Clause{Not: clauses} }

// Optional is the clause that others hold, too, where something fulfils them.
func Optional(clauses ...Clause) Clause { return Clause{Optional: clauses} }

// Where is a condition in CEL, with variables as ?x.
func Where(condition string) Clause { return Clause{Where: condition} }

// An Item is what a column of rows has: a variable's value, or a count.
type Item struct {
	Var   string // without the question mark; of a count "" counts rows
	Count bool
}

// An Order puts rows in order by a column: numbers, times, then texts.
type Order struct {
	Var        string // of the column; "count" is the count
	Descending bool
}

// A Class is a class expression.
type Class struct {
	kind     classKind
	name     Term     // named, or a datatype
	of       []*Class // operands; of a restriction the filler, if there is one
	property Term
	inverse  bool
	value    Term
	members  []Term
	n        int // of a cardinality
	facets   []facet
	pos      int
}

type classKind uint8

const (
	classNamed classKind = iota
	classAnd
	classOr
	classNot
	classSome
	classOnly
	classValue
	classSelf
	classMin
	classMax
	classExactly
	classOneOf
	classData // a datatype with facets
)

// facet is a condition on a literal of a datatype.
type facet struct {
	name   string // >=, >, <=, <, length, minLength, maxLength, pattern, langRange
	value  Term
	regexp *regexp.Regexp // of a pattern
	limit  rdf.Value      // what value means, once compiled
	insts  int            // how large the regular expression is
}
