package knowledge

import "github.com/seed-301d4374/engram/knowledge/rdf"

// A TextMatch says how the text of a literal is compared with a pattern's.
// All but Same ignore case.
type TextMatch uint8

// The ways to compare texts.
const (
	AnyText   TextMatch = iota // every text
	Same                       // the same text, case included: literal('3001')
	Exact                      // exact(T) and icase(T): the same text but for case
	Prefix                     // prefix(T)
	Substring                  // substring(T)
	Word                       // word(T): T is a word of it
	Like                       // like(T): "*" stands for any text, no other character is special
)

// A Qualifier says which literals a pattern has.
type Qualifier uint8

// The qualifiers of literals.
const (
	AnyLiteral Qualifier = iota // typed, tagged or plain
	Plain                       // neither typed nor tagged: plain(T)
	Typed                       // with a datatype: type(_, _)
	Tagged                      // with a language tag: lang(_, _)
)

// A Pattern is a condition on literals, as literal(...) states it in Prolog.
// The zero Pattern is every literal.
type Pattern struct {
	Match     TextMatch
	Text      string
	Qualifier Qualifier
	Type      string // of a Typed one: the datatype's IRI, or any if ""
	Lang      string // of a Tagged one: the tag, or any if ""
}

// Matches says whether a term is a literal that the pattern has.
func (p Pattern) Matches(t rdf.Term) bool { return t.Kind == rdf.Literal }
