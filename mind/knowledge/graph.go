// Package knowledge answers questions over graphs of triples with what RDF
// Schema and OWL make of them: sub-properties, inverse and transitive
// properties, classes and restrictions, as the predicates of KnowRob do.
package knowledge

import (
	"iter"
	"maps"
	"sync"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// A Graph is a set of triples with indexes. It may be read by several
// goroutines at once, but not while it is changed; nor may it be changed
// within the loop over an answer. A [Graph.Fork] can be, at any time.
//
// In every question a zero term is unbound. The terms of an answer's triples
// are those that the answer has. An answer comes once, in no promised order.
// Where the predicate of the same name in Prolog raises an error because too
// little is bound, there is no answer.
type Graph struct {
	names      names
	spo        index
	pos        index
	osp        index
	length     int
	predicates map[uint32]int // how many triples have it
	shared     bool           // predicates are a fork's, too
	most       int            // names beyond which those that no triple has are left behind

	deriving sync.Mutex
	derived  *schema // what follows from the triples about properties; nil until it is asked for
}

// NewGraph returns an empty graph.
func NewGraph() *Graph {
	g := &Graph{names: newNames(), predicates: map[uint32]int{}, most: fewNames}
	for i, iri := range vocabulary {
		if id := g.names.take(rdf.NewIRI(iri)); id != uint32(i+1) {
			panic("knowledge: the vocabulary has a name twice")
		}
	}
	return g
}

// Fork returns a graph with the same triples. Each of the two may be read and changed whatever
// is done with the other. It costs next to nothing; the first changes of each copy what they
// touch. A graph that was not changed since it was forked, or came of a fork, may be forked by
// several goroutines at once.
func (g *Graph) Fork() *Graph {
	for _, x := range []*index{&g.spo, &g.pos, &g.osp} {
		if x.own != nil {
			x.own = nil
		}
	}
	if !g.shared {
		g.shared = true
	}
	g.deriving.Lock()
	defer g.deriving.Unlock()
	return &Graph{
		names: g.names, spo: g.spo, pos: g.pos, osp: g.osp, length: g.length,
		predicates: g.predicates, shared: true, most: g.most, derived: g.derived,
	}
}

// Add adds a triple and says whether it is new. A triple whose subject or
// predicate is a literal or which lacks a term is not added.
func (g *Graph) Add(t rdf.Triple) bool {
	if t.O.Kind == 0 || t.S.Kind != rdf.IRI && t.S.Kind != rdf.Blank || t.P.Kind != rdf.IRI {
		return false
	}
	if len(g.names.terms) > g.most {
		g.renumber()
	}
	s, p, o := g.names.take(t.S), g.names.take(t.P), g.names.take(t.O)
	if g.spo.has(key{s, p, o}) {
		return false
	}
	g.spo.add(key{s, p, o})
	g.pos.add(key{p, o, s})
	g.osp.add(key{o, s, p})
	g.count(p, 1)
	return true
}

// AddAll adds triples, as Add does.
func (g *Graph) AddAll(triples []rdf.Triple) {
	for _, t := range triples {
		g.Add(t)
	}
}

// Remove takes a triple away and says whether it was there.
func (g *Graph) Remove(t rdf.Triple) bool {
	s, p, o := g.names.find(t.S), g.names.find(t.P), g.names.find(t.O)
	if s == 0 || p == 0 || o == 0 || !g.spo.has(key{s, p, o}) {
		return false
	}
	g.spo.remove(key{s, p, o})
	g.pos.remove(key{p, o, s})
	g.osp.remove(key{o, s, p})
	g.count(p, -1)
	return true
}

// count counts a triple more or less.
func (g *Graph) count(p uint32, n int) {
	if g.shared {
		g.predicates, g.shared = maps.Clone(g.predicates), false
	}
	g.length += n
	if g.predicates[p] += n; g.predicates[p] == 0 {
		delete(g.predicates, p)
	}
	g.changed(p)
}

// fewNames are never too many.
const fewNames = 1 << 12

// renumber leaves the names behind that no triple has any more, if they are many: forks keep
// theirs. It comes as seldom as there are as many new names as old ones.
func (g *Graph) renumber() {
	used := map[uint32]struct{}{}
	for _, x := range []*index{&g.spo, &g.pos, &g.osp} {
		x.firstsOf(func(id uint32) bool { used[id] = struct{}{}; return true })
	}
	if len(used) < len(g.names.terms)/2 {
		anew := NewGraph()
		for t := range g.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
			s, p, o := anew.names.take(t.S), anew.names.take(t.P), anew.names.take(t.O)
			anew.spo.add(key{s, p, o})
			anew.pos.add(key{p, o, s})
			anew.osp.add(key{o, s, p})
			anew.count(p, 1)
		}
		g.names, g.spo, g.pos, g.osp = anew.names, anew.spo, anew.pos, anew.osp
		g.predicates, g.shared, g.derived = anew.predicates, false, nil
	}
	g.most = max(2*len(g.names.terms), fewNames)
}

// Len returns the number of triples.
func (g *Graph) Len() int { return g.length }

// Match returns the triples as they were added: rdf/3.
func (g *Graph) Match(s, p, o rdf.Term) iter.Seq[rdf.Triple] {
	return func(yield func(rdf.Triple) bool) {
		ids := [3]uint32{g.names.find(s), g.names.find(p), g.names.find(o)}
		if ids[0] == 0 && s.Kind != 0 || ids[1] == 0 && p.Kind != 0 || ids[2] == 0 && o.Kind != 0 {
			return
		}
		g.match(ids[0], ids[1], ids[2], func(a, b, c uint32) bool {
			t := rdf.Triple{S: s, P: p, O: o}
			if ids[0] == 0 {
				t.S = g.names.term(a)
			}
			if ids[1] == 0 {
				t.P = g.names.term(b)
			}
			if ids[2] == 0 {
				t.O = g.names.term(c)
			}
			return yield(t)
		})
	}
}

// match yields the triples with names, 0 for any.
func (g *Graph) match(s, p, o uint32, yield func(s, p, o uint32) bool) bool {
	switch {
	case s != 0 && p != 0 && o != 0:
		return !g.spo.has(key{s, p, o}) || yield(s, p, o)
	case p != 0 && s == 0:
		n := 1
		if o != 0 {
			n = 2
		}
		return g.pos.scan(key{p, o}, n, func(k key) bool { return yield(k[2], k[0], k[1]) })
	case o != 0 && p == 0:
		n := 1
		if s != 0 {
			n = 2
		}
		return g.osp.scan(key{o, s}, n, func(k key) bool { return yield(k[1], k[2], k[0]) })
	case s != 0 && p != 0:
		return g.spo.scan(key{s, p}, 2, func(k key) bool { return yield(k[0], k[1], k[2]) })
	case s != 0:
		return g.spo.scan(key{s}, 1, func(k key) bool { return yield(k[0], k[1], k[2]) })
	}
	return g.spo.scan(key{}, 0, func(k key) bool { return yield(k[0], k[1], k[2]) })
}

// literal says whether a name is a literal.
func (g *Graph) literal(id uint32) bool {
	if int(id) >= len(g.names.terms) {
		return false // known to a question only
	}
	q := g.names.terms[id].qualifier
	return q >= qualifiedPlain
}

// MatchLiteral is Match with a condition on a literal as the object.
func (g *Graph) MatchLiteral(s, p rdf.Term, o Pattern) iter.Seq[rdf.Triple] {
	return g.literals(s, p, o, g.Match)
}

// literals asks for each literal that a pattern has, where it names a text,
// else for all objects.
func (g *Graph) literals(s, p rdf.Term, o Pattern, ask func(s, p, o rdf.Term) iter.Seq[rdf.Triple]) iter.Seq[rdf.Triple] {
	return func(yield func(rdf.Triple) bool) {
		if o.Match == Same && s.IsZero() {
			for _, q := range g.names.numbers {
				id := g.names.lookup(o.Text, q)
				if id == 0 {
					continue
				}
				if literal := g.names.term(id); o.Matches(literal) {
					for t := range ask(s, p, literal) {
						if !yield(t) {
							return
						}
					}
				}
			}
			return
		}
		m := o.matcher()
		for t := range ask(s, p, rdf.Term{}) {
			if m.matches(t.O) && !yield(t) {
				return
			}
		}
	}
}
