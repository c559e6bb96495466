package record

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Labels of blank nodes depend on what is said of them, so that a document that is read again gives
// the same ones. Blank nodes that hang together are labelled together: by a hash of what is said of all of them, and
// the place of each. Most are a tree (a restriction, a list); the others are told apart by rounds of
// refinement. Where hashes collide or nodes cannot be told apart, labels depend on the order of the
// document, and differ from each other nevertheless.

// maxRefined bounds the work of refinement of nodes that are no tree, in triples.
const maxRefined = 4 << 20

// component are blank nodes that hang together.
type component struct {
	nodes   []int // in the order in which they occur
	triples []int // that have one of them, each once
	inner   int   // how many triples lead from one to another
}

// blanks are the blank nodes of triples, with what is known of each.
type blanks struct {
	triples []rdf.Triple
	number  map[rdf.Term]int
	out, in [][]int // triples by their subject, and by their object
	colour  []uint64
}

// relabel returns the triples with labels that depend on what is said of blank nodes.
func relabel(triples []rdf.Triple) []rdf.Triple {
	b := &blanks{triples: triples, number: map[rdf.Term]int{}}
	take := func(t rdf.Term) int {
		n, ok := b.number[t]
		if !ok {
			n = len(b.out)
			b.number[t] = n
			b.out, b.in = append(b.out, nil), append(b.in, nil)
		}
		return n
	}
	for i, t := range triples {
		if t.S.Kind == rdf.Blank {
			n := take(t.S)
			b.out[n] = append(b.out[n], i)
		}
		if t.O.Kind == rdf.Blank {
			n := take(t.O)
			b.in[n] = append(b.in[n], i)
		}
	}
	if len(b.out) == 0 {
		return triples
	}
	b.colour = make([]uint64, len(b.out))
	labels := make([]string, len(b.out))
	times := map[uint64]int{} // how often a hash has come
	for _, c := range b.components() {
		hash, order := b.order(c)
		prefix := "b" + strconv.FormatUint(hash, 36)
		if again := times[hash]; again > 0 {
			prefix += "x" + strconv.Itoa(again)
		}
		times[hash]++
		for place, n := range order {
			labels[n] = prefix + "n" + strconv.Itoa(place)
		}
	}
	out := make([]rdf.Triple, len(triples))
	for i, t := range triples {
		if t.S.Kind == rdf.Blank {
			t.S.Value = labels[b.number[t.S]]
		}
		if t.O.Kind == rdf.Blank {
			t.O.Value = labels[b.number[t.O]]
		}
		out[i] = t
	}
	return out
}

// components returns what hangs together.
func (b *blanks) components() []component {
	var all []component
	seen := make([]bool, len(b.out))
	for first := range b.out {
		if seen[first] {
			continue
		}
		seen[first] = true
		c := component{nodes: []int{first}}
		for i := 0; i < len(c.nodes); i++ {
			n := c.nodes[i]
			for _, t := range b.out[n] {
				c.triples = append(c.triples, t)
				if other, ok := b.number[b.triples[t].O]; ok {
					c.inner++
					if !seen[other] {
						seen[other] = true
						c.nodes = append(c.nodes, other)
					}
				}
			}
			for _, t := range b.in[n] {
				other, ok := b.number[b.triples[t].S]
				if !ok {
					c.triples = append(c.triples, t) // those of blank subjects come with these
				} else if !seen[other] {
					seen[other] = true
					c.nodes = append(c.nodes, other)
				}
			}
		}
		all = append(all, c)
	}
	return all
}

// order returns a hash of what is said of a component, and its nodes in an order that depends on that.
func (b *blanks) order(c component) (uint64, []int) {
	if root, ok := b.root(c); ok {
		return b.orderTree(root)
	}
	return b.orderRefined(c)
}

// root returns the node of a component from which all others hang as a tree.
func (b *blanks) root(c component) (int, bool) {
	if c.inner != len(c.nodes)-1 {
		return 0, false
	}
	root := -1
	for _, n := range c.nodes {
		inner := 0
		for _, t := range b.in[n] {
			if b.triples[t].S.Kind == rdf.Blank {
				inner++
			}
		}
		switch {
		case inner > 1 || inner == 0 && root >= 0:
			return 0, false
		case inner == 0:
			root = n
		}
	}
	return root, root >= 0
}

// orderTree orders a tree: a node, then its children by what is said of them.
func (b *blanks) orderTree(root int) (uint64, []int) {
	down := []int{root}
	for i := 0; i < len(down); i++ {
		for _, t := range b.out[down[i]] {
			if child, ok := b.number[b.triples[t].O]; ok {
				down = append(down, child)
			}
		}
	}
	for _, n := range slices.Backward(down) {
		b.colour[n] = b.said(n, 1)
	}
	order := make([]int, 0, len(down))
	left := []int{root}
	for len(left) > 0 {
		n := left[len(left)-1]
		left = left[:len(left)-1]
		order = append(order, n)
		children := slices.Clone(b.out[n])
		children = slices.DeleteFunc(children, func(t int) bool { return b.triples[t].O.Kind != rdf.Blank })
		slices.SortStableFunc(children, func(x, y int) int {
			s, t := &b.triples[x], &b.triples[y]
			return cmp.Or(cmp.Compare(s.P.Value, t.P.Value), cmp.Compare(b.colour[b.number[s.O]], b.colour[b.number[t.O]]))
		})
		for _, t := range slices.Backward(children) {
			left = append(left, b.number[b.triples[t].O])
		}
	}
	return b.colour[root], order
}

// orderRefined orders any component: nodes get hashes of what is said of them in rounds, until there
// are no more different ones; where several are equal, the first is set apart.
func (b *blanks) orderRefined(c component) (uint64, []int) {
	work := 0
	for _, n := range c.nodes {
		b.colour[n] = 1
	}
	different := b.refine(c, &work)
	for different < len(c.nodes) && work < maxRefined {
		b.setApart(c)
		different = b.refine(c, &work)
	}
	order := slices.Clone(c.nodes)
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(b.colour[x], b.colour[y]) })
	place := make(map[int]int, len(order))
	for at, n := range order {
		place[n] = at
	}
	var parts []uint64
	for _, i := range c.triples {
		t := &b.triples[i]
		h := newHash()
		for _, term := range []rdf.Term{t.S, t.P, t.O} {
			if n, ok := b.number[term]; ok {
				h.number(uint64(place[n]))
			} else {
				h.term(term)
			}
		}
		parts = append(parts, h.Sum64())
	}
	return together(parts), order
}

// refine gives nodes new hashes until a round tells no more apart, and returns how many are different.
func (b *blanks) refine(c component, work *int) int {
	before := 0
	next := make([]uint64, len(c.nodes))
	for {
		different := map[uint64]struct{}{}
		for i, n := range c.nodes {
			next[i] = b.said(n, b.colour[n])
			different[next[i]] = struct{}{}
		}
		for i, n := range c.nodes {
			b.colour[n] = next[i]
		}
		*work += len(c.triples)
		if len(different) <= before || *work >= maxRefined {
			return len(different)
		}
		before = len(different)
	}
}

// setApart gives the first of the nodes with the least hash that several have another one.
func (b *blanks) setApart(c component) {
	count := map[uint64]int{}
	for _, n := range c.nodes {
		count[b.colour[n]]++
	}
	least, found := uint64(0), false
	for colour, times := range count {
		if times > 1 && (!found || colour < least) {
			least, found = colour, true
		}
	}
	for _, n := range c.nodes {
		if found && b.colour[n] == least {
			b.colour[n] = together([]uint64{least, 2})
			return
		}
	}
}

// said returns a hash of what is said of a node, of its own so far and of those around it.
func (b *blanks) said(n int, own uint64) uint64 {
	parts := make([]uint64, 0, len(b.out[n])+len(b.in[n])+1)
	around := func(way uint64, p, other rdf.Term) {
		h := newHash()
		h.number(way)
		h.term(p)
		if m, ok := b.number[other]; ok {
			h.number(b.colour[m])
		} else {
			h.term(other)
		}
		parts = append(parts, h.Sum64())
	}
	for _, i := range b.out[n] {
		around(1, b.triples[i].P, b.triples[i].O)
	}
	for _, i := range b.in[n] {
		around(2, b.triples[i].P, b.triples[i].S)
	}
	h := newHash()
	h.number(own)
	h.number(together(parts))
	return h.Sum64()
}

// hash is the same in each process.
type hash struct{ hasher }

type hasher interface {
	Write([]byte) (int, error)
	Sum64() uint64
}

func newHash() hash { return hash{fnv.New64a()} }

func (h hash) number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	_, _ = h.Write(b[:])
}

func (h hash) term(t rdf.Term) {
	fmt.Fprintf(h, "%d %d %s %d %s %s\x00", t.Kind, len(t.Value), t.Value, len(t.Type), t.Type, t.Lang)
}

// together returns a hash of hashes in any order.
func together(parts []uint64) uint64 {
	slices.Sort(parts)
	h := newHash()
	for _, p := range parts {
		h.number(p)
	}
	return h.Sum64()
}
