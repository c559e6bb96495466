package knowledge

import (
	"iter"
	"math"
	"slices"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// reader answers one question. Terms of the question that no triple has get
// numbers from above.
type reader struct {
	*Graph
	derived *schema
	live    livePaths // of the property that was stepped along last
	equals  equality  // whether anything is the same as another
	extra   []rdf.Term
	pause   func() bool // called at each step of a way or proof, unless nil; false ends the question
	proofs
}

// goOn says whether the question is still wanted.
func (r *reader) goOn() bool { return r.pause == nil || r.pause() }

// livePaths are paths without predicates that no triple has.
type livePaths struct {
	of                *paths
	forward, backward []uint32
}

// equality is what is known of owl:sameAs.
type equality uint8

const (
	unknownEquality equality = iota
	noEquality
	someEquality
)

func (g *Graph) reader() *reader { return &reader{Graph: g, derived: g.schema()} }

func (r *reader) id(t rdf.Term) uint32 {
	if t.Kind == 0 {
		return 0
	}
	if id := r.names.find(t); id != 0 {
		return id
	}
	for i, known := range r.extra {
		if known == t {
			return math.MaxUint32 - uint32(i)
		}
	}
	r.extra = append(r.extra, t)
	return math.MaxUint32 - uint32(len(r.extra)-1)
}

func (r *reader) termOf(id uint32) rdf.Term {
	if int(id) < len(r.names.terms) {
		return r.names.term(id)
	}
	return r.extra[math.MaxUint32-id]
}

// isLiteral says whether a name is a literal, a question's too.
func (r *reader) isLiteral(id uint32) bool {
	if int(id) < len(r.names.terms) {
		return r.literal(id)
	}
	return r.extra[math.MaxUint32-id].Kind == rdf.Literal
}

// nodes are names that are reached once each, in the order in which they are.
// Few are looked for one after the other, more in a map, many in a set of bits.
type nodes struct {
	list []uint32
	seen map[uint32]struct{}
	bits []uint64
}

const (
	fewNodes    = 24
	mapsPerBits = 1024 // a map of this part of all names takes about as long as their bits
)

func (n *nodes) has(id uint32) bool {
	if n.bits != nil && int(id>>6) < len(n.bits) {
		return n.bits[id>>6]&(1<<(id&63)) != 0
	}
	if n.seen != nil {
		_, ok := n.seen[id]
		return ok
	}
	return slices.Contains(n.list, id)
}

// add says whether id is new. What is reached beyond a few must be a name of
// the graph.
func (n *nodes) add(g *Graph, id uint32) bool {
	if n.has(id) {
		return false
	}
	n.list = append(n.list, id)
	switch {
	case n.bits != nil:
		n.mark(id)
	case len(n.list) < fewNodes:
	case len(n.list) >= len(g.names.terms)/mapsPerBits:
		n.bits, n.seen = make([]uint64, len(g.names.terms)/64+1), nil
		for _, known := range n.list {
			n.mark(known)
		}
	case n.seen == nil:
		n.seen = make(map[uint32]struct{}, 2*fewNodes)
		for _, known := range n.list {
			n.seen[known] = struct{}{}
		}
	default:
		n.seen[id] = struct{}{}
	}
	return true
}

func (n *nodes) mark(id uint32) {
	if i := id >> 6; int(i) < len(n.bits) {
		n.bits[i] |= 1 << (id & 63)
	}
}

// pairsOf asks with the names of two terms.
func (g *Graph) pairsOf(a, b rdf.Term, ask func(r *reader, a, b uint32, yield func(a, b uint32) bool) bool) iter.Seq2[rdf.Term, rdf.Term] {
	return func(yield func(rdf.Term, rdf.Term) bool) {
		r := g.reader()
		ask(r, r.id(a), r.id(b), once(func(x, y uint32) bool { return yield(r.termOf(x), r.termOf(y)) }))
	}
}

// triplesOf asks with the names of three terms.
func (g *Graph) triplesOf(s, p, o rdf.Term, ask func(r *reader, s, p, o uint32, yield func(s, p, o uint32) bool) bool) iter.Seq[rdf.Triple] {
	return func(yield func(rdf.Triple) bool) {
		r := g.reader()
		// Many answers in a row have a subject and a property in common.
		var last key
		var t rdf.Triple
		ask(r, r.id(s), r.id(p), r.id(o), func(a, b, c uint32) bool {
			if a != last[0] {
				t.S = r.termOf(a)
			}
			if b != last[1] {
				t.P = r.termOf(b)
			}
			if c != last[2] {
				t.O = r.termOf(c)
			}
			last = key{a, b, c}
			return yield(t)
		})
	}
}

// once passes each pair on once.
func once(yield func(a, b uint32) bool) func(a, b uint32) bool {
	var first uint64
	var seen map[uint64]struct{}
	n := 0
	return func(a, b uint32) bool {
		pair := uint64(a)<<32 | uint64(b)
		switch {
		case n == 0:
			first = pair
		case n == 1 && pair == first:
			return true
		case seen == nil:
			seen = map[uint64]struct{}{first: {}, pair: {}}
		default:
			if _, ok := seen[pair]; ok {
				return true
			}
			seen[pair] = struct{}{}
		}
		n++
		return yield(a, b)
	}
}
