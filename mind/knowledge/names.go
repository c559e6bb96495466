package knowledge

import (
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// names gives terms numbers. Zero is none. A graph and its forks share a dictionary and see of
// it what there was when they added a triple last; so they read it without a lock while others add
// to it.
type names struct {
	*dictionary
	terms      []name
	table      []uint32 // open addressing: numbers, 0 where there is none; read and written atomically
	qualifiers []qualifier
	numbers    map[qualifier]uint32 // is not changed
}

// dictionary is what only grows.
type dictionary struct {
	seed  maphash.Seed
	mutex sync.Mutex
	all   names // with everything; its own dictionary is nil
}

// name is a term in 24 bytes.
type name struct {
	value     string
	qualifier uint32
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
	d := &dictionary{seed: maphash.MakeSeed()}
	d.all = names{
		terms:      make([]name, 1),
		table:      make([]uint32, 64),
		qualifiers: make([]qualifier, 1),
		numbers:    map[qualifier]uint32{},
	}
	for _, kind := range []rdf.Kind{rdf.IRI, rdf.Blank, rdf.Literal} {
		d.qualify(rdf.Term{Kind: kind})
	}
	n := d.all
	n.dictionary = d
	return n
}

// qualify returns the number of a term's qualifier, a new one if need be.
func (d *dictionary) qualify(t rdf.Term) uint32 {
	if number := d.all.qualifierOf(t); number != 0 {
		return number
	}
	q := qualifier{kind: t.Kind, datatype: t.Type, lang: t.Lang}
	number := uint32(len(d.all.qualifiers))
	d.all.qualifiers = append(d.all.qualifiers, q)
	d.all.numbers = maps.Clone(d.all.numbers)
	d.all.numbers[q] = number
	return number
}

func (n *names) qualifierOf(t rdf.Term) uint32 {
	if len(n.qualifiers) > qualifiedPlain && t.Type == "" && t.Lang == "" {
		return uint32(t.Kind)
	}
	return n.numbers[qualifier{kind: t.Kind, datatype: t.Type, lang: t.Lang}]
}

func slot(seed maphash.Seed, table []uint32, value string, qualifier uint32) uint32 {
	h := maphash.String(seed, value) ^ uint64(qualifier)*0x9E3779B97F4A7C15
	return uint32(h^h>>32) & uint32(len(table)-1)
}

// find returns the number of a term, 0 if it has none.
func (n *names) find(t rdf.Term) uint32 {
	q := n.qualifierOf(t)
	if q == 0 {
		return 0
	}
	return n.lookup(t.Value, q)
}

func (n *names) lookup(value string, qualifier uint32) uint32 {
	return n.look(n.seed, value, qualifier)
}

func (n *names) look(seed maphash.Seed, value string, qualifier uint32) uint32 {
	mask := uint32(len(n.table) - 1)
	for i := slot(seed, n.table, value, qualifier); ; i = (i + 1) & mask {
		id := atomic.LoadUint32(&n.table[i])
		if id == 0 {
			return 0
		}
		if int(id) >= len(n.terms) {
			continue // a fork has it
		}
		if it := &n.terms[id]; it.qualifier == qualifier && it.value == value {
			return id
		}
	}
}

// take returns the number of a term, a new one if need be.
func (n *names) take(t rdf.Term) uint32 {
	if id := n.find(t); id != 0 {
		return id
	}
	d := n.dictionary
	d.mutex.Lock()
	defer d.mutex.Unlock()
	q := d.qualify(t)
	id := d.all.look(d.seed, t.Value, q)
	if id == 0 {
		if len(d.all.terms) > len(d.all.table)/4*3 {
			d.grow()
		}
		id = uint32(len(d.all.terms))
		d.all.terms = append(d.all.terms, name{value: t.Value, qualifier: q})
		d.put(d.all.table, id)
	}
	*n = d.all
	n.dictionary = d
	return id
}

func (d *dictionary) put(table []uint32, id uint32) {
	mask := uint32(len(table) - 1)
	i := slot(d.seed, table, d.all.terms[id].value, d.all.terms[id].qualifier)
	for table[i] != 0 {
		i = (i + 1) & mask
	}
	atomic.StoreUint32(&table[i], id)
}

// grow makes another table; who has the old one finds in it what it knows.
func (d *dictionary) grow() {
	table := make([]uint32, 2*len(d.all.table))
	for id := range d.all.terms[1:] {
		d.put(table, uint32(id+1))
	}
	d.all.table = table
}

func (n *names) term(id uint32) rdf.Term {
	it := &n.terms[id]
	q := &n.qualifiers[it.qualifier]
	return rdf.Term{Kind: q.kind, Value: it.value, Type: q.datatype, Lang: q.lang}
}
