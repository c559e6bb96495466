// Package knowledge answers questions over graphs of triples with what RDF
// Schema and OWL make of them: sub-properties, inverse and transitive
// properties, classes and restrictions, as the predicates of KnowRob do.
package knowledge

import (
	"iter"

	"github.com/seed-301d4374/engram/knowledge/rdf"
)

// A Graph is a set of triples with indexes. It may be read by several
// goroutines at once, but not while it is changed; nor may it be changed
// within the loop over an answer.
//
// In every question a zero term is unbound. The terms of an answer's triples
// are those that the answer has. Answers may come more than once where they
// have several proofs.
type Graph struct {
	triples map[rdf.Triple]struct{}
}

// NewGraph returns an empty graph.
func NewGraph() *Graph { return &Graph{triples: map[rdf.Triple]struct{}{}} }

// Add adds a triple and says whether it is new.
func (g *Graph) Add(t rdf.Triple) bool {
	if _, ok := g.triples[t]; ok {
		return false
	}
	g.triples[t] = struct{}{}
	return true
}

// Remove takes a triple away and says whether it was there.
func (g *Graph) Remove(t rdf.Triple) bool {
	if _, ok := g.triples[t]; !ok {
		return false
	}
	delete(g.triples, t)
	return true
}

// Len returns the number of triples.
func (g *Graph) Len() int { return len(g.triples) }

// Match returns the triples as they were added: rdf/3.
func (g *Graph) Match(s, p, o rdf.Term) iter.Seq[rdf.Triple] {
	return func(yield func(rdf.Triple) bool) {
		for t := range g.triples {
			if (s.IsZero() || s == t.S) && (p.IsZero() || p == t.P) && (o.IsZero() || o == t.O) && !yield(t) {
				return
			}
		}
	}
}

// MatchLiteral is Match with a condition on a literal as the object.
func (g *Graph) MatchLiteral(s, p rdf.Term, o Pattern) iter.Seq[rdf.Triple] {
	return literals(g.Match(s, p, rdf.Term{}), o)
}

func literals(answers iter.Seq[rdf.Triple], o Pattern) iter.Seq[rdf.Triple] {
	return func(yield func(rdf.Triple) bool) {
		for t := range answers {
			if o.Matches(t.O) && !yield(t) {
				return
			}
		}
	}
}
