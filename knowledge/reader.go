package knowledge

import (
	"iter"
	"math"

	"github.com/seed-301d4374/engram/knowledge/rdf"
)

// reader answers one question. Terms of the question that no triple has get
// numbers from above.
type reader struct {
	*Graph
	derived *schema
	extra   []rdf.Term
	proving map[[2]uint32]bool // individuals and classes in question: a proof may not rest on itself
	proved  map[[2]uint32]bool // answers to such questions
	depth   int
	cut     int // how many questions were not followed
}

// maxProof is how many classes a proof goes through; what is deeper is not
// found.
const maxProof = 5000

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

// set is a set of names.
type set map[uint32]struct{}

func (s set) has(id uint32) bool { _, ok := s[id]; return ok }

// add says whether id is new.
func (s set) add(id uint32) bool {
	if s.has(id) {
		return false
	}
	s[id] = struct{}{}
	return true
}

// nodes are names that are reached once each, in the order in which they are.
type nodes struct {
	list []uint32
	seen set
}

func (n *nodes) has(id uint32) bool {
	if n.seen != nil {
		return n.seen.has(id)
	}
	for _, known := range n.list {
		if known == id {
			return true
		}
	}
	return false
}

// add says whether id is new.
func (n *nodes) add(id uint32) bool {
	if n.has(id) {
		return false
	}
	n.list = append(n.list, id)
	if n.seen != nil {
		n.seen[id] = struct{}{}
	} else if len(n.list) == 24 {
		n.seen = make(set, 64)
		for _, known := range n.list {
			n.seen[known] = struct{}{}
		}
	}
	return true
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
		ask(r, r.id(s), r.id(p), r.id(o), func(a, b, c uint32) bool {
			return yield(rdf.Triple{S: r.termOf(a), P: r.termOf(b), O: r.termOf(c)})
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
