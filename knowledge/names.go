package knowledge

import (
	"hash/maphash"

	"github.com/seed-301d4374/engram/knowledge/rdf"
)

// names gives each term a number while a triple has it. Zero is none.
type names struct {
	terms      []name
	free       []uint32
	table      []uint32 // open addressing: numbers, 0 where there is none
	used       int
	qualifiers []qualifier
	numbers    map[qualifier]uint32
	seed       maphash.Seed
}

// name is a term in 24 bytes.
type name struct {
	value     string
	qualifier uint32
	triples   uint32 // how often triples have it
}

// qualifier is what terms share beside their texts.
type qualifier struct {
	kind     rdf.Kind
	datatype string
	lang     string
}

// The numbers of the qualifiers that every graph has.
const (
	qualifiedIRI = iota + 1
	qualifiedBlank
	qualifiedPlain
)

func newNames() names {
	n := names{
		terms:      make([]name, 1),
		table:      make([]uint32, 64),
		qualifiers: make([]qualifier, 1),
		numbers:    map[qualifier]uint32{},
		seed:       maphash.MakeSeed(),
	}
	for _, kind := range []rdf.Kind{rdf.IRI, rdf.Blank, rdf.Literal} {
		n.qualify(rdf.Term{Kind: kind})
	}
	return n
}

// qualify returns the number of a term's qualifier, a new one if need be.
func (n *names) qualify(t rdf.Term) uint32 {
	if number := n.qualifierOf(t); number != 0 {
		return number
	}
	q := qualifier{kind: t.Kind, datatype: t.Type, lang: t.Lang}
	number := uint32(len(n.qualifiers))
	n.qualifiers = append(n.qualifiers, q)
	n.numbers[q] = number
	return number
}

func (n *names) qualifierOf(t rdf.Term) uint32 {
	if len(n.qualifiers) > qualifiedPlain && t.Type == "" && t.Lang == "" {
		return uint32(t.Kind)
	}
	return n.numbers[qualifier{kind: t.Kind, datatype: t.Type, lang: t.Lang}]
}

func (n *names) slot(value string, qualifier uint32) uint32 {
	h := maphash.String(n.seed, value) ^ uint64(qualifier)*0x9E3779B97F4A7C15
	return uint32(h^h>>32) & uint32(len(n.table)-1)
}

// find returns the number of a term, 0 if no triple has it.
func (n *names) find(t rdf.Term) uint32 {
	q := n.qualifierOf(t)
	if q == 0 {
		return 0
	}
	return n.lookup(t.Value, q)
}

func (n *names) lookup(value string, qualifier uint32) uint32 {
	mask := uint32(len(n.table) - 1)
	for i := n.slot(value, qualifier); ; i = (i + 1) & mask {
		id := n.table[i]
		if id == 0 {
			return 0
		}
		if it := &n.terms[id]; it.qualifier == qualifier && it.value == value {
			return id
		}
	}
}

// take returns the number of a term for one more use.
func (n *names) take(t rdf.Term) uint32 {
	q := n.qualify(t)
	id := n.lookup(t.Value, q)
	if id == 0 {
		if n.used+1 > len(n.table)/4*3 {
			n.grow()
		}
		if last := len(n.free) - 1; last >= 0 {
			id, n.free = n.free[last], n.free[:last]
		} else {
			id = uint32(len(n.terms))
			n.terms = append(n.terms, name{})
		}
		n.terms[id] = name{value: t.Value, qualifier: q}
		n.put(id)
		n.used++
	}
	n.terms[id].triples++
	return id
}

func (n *names) put(id uint32) {
	mask := uint32(len(n.table) - 1)
	i := n.slot(n.terms[id].value, n.terms[id].qualifier)
	for n.table[i] != 0 {
		i = (i + 1) & mask
	}
	n.table[i] = id
}

func (n *names) grow() {
	old := n.table
	n.table = make([]uint32, 2*len(old))
	for _, id := range old {
		if id != 0 {
			n.put(id)
		}
	}
}

// drop ends one use of a number, and the number with the last.
func (n *names) drop(id uint32) {
	it := &n.terms[id]
	if it.triples--; it.triples > 0 {
		return
	}
	mask := uint32(len(n.table) - 1)
	i := n.slot(it.value, it.qualifier)
	for n.table[i] != id {
		i = (i + 1) & mask
	}
	// Those after it move up where they would not be found else.
	for j := (i + 1) & mask; n.table[j] != 0; j = (j + 1) & mask {
		other := &n.terms[n.table[j]]
		if home := n.slot(other.value, other.qualifier); (j-home)&mask >= (j-i)&mask {
			n.table[i] = n.table[j]
			i = j
		}
	}
	n.table[i] = 0
	n.used--
	*it = name{}
	n.free = append(n.free, id)
}

func (n *names) term(id uint32) rdf.Term {
	it := &n.terms[id]
	q := &n.qualifiers[it.qualifier]
	return rdf.Term{Kind: q.kind, Value: it.value, Type: q.datatype, Lang: q.lang}
}
