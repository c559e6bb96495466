package world

import (
	"hash/maphash"
	"sync/atomic"
)

// nameTable finds nodes by their names: a table with open addressing of their indexes, each one up, with
// 0 for a free place. One goroutine adds; the others find meanwhile.
type nameTable struct {
	table atomic.Pointer[[]atomic.Int32] // a power of two places
	size  int
	seed  maphash.Seed
}

func newNameTable() *nameTable {
	n := &nameTable{seed: maphash.MakeSeed()}
	table := make([]atomic.Int32, 64)
	n.table.Store(&table)
	return n
}

// add adds a node that is not there; f has all that are.
func (n *nameTable) add(f *Forest, k *named) {
	table := *n.table.Load()
	if n.size++; 2*n.size > len(table) {
		table = make([]atomic.Int32, 2*len(table))
		for id := range k.id {
			n.enter(table, f.node(id).named)
		}
		defer n.table.Store(&table) // whoever finds has all of it, or what was before
	}
	n.enter(table, k)
}

// copy returns a table of the first nodes that f has.
func (n *nameTable) copy(f *Forest, nodes int32) *nameTable {
	c := &nameTable{seed: n.seed, size: int(nodes)}
	table := make([]atomic.Int32, len(*n.table.Load()))
	for id := range nodes {
		c.enter(table, f.node(id).named)
	}
	c.table.Store(&table)
	return c
}

func (n *nameTable) enter(table []atomic.Int32, k *named) {
	mask := uint64(len(table) - 1)
	for i := maphash.String(n.seed, k.name); ; i++ {
		if at := &table[i&mask]; at.Load() == 0 {
			at.Store(k.id + 1)
			return
		}
	}
}

// any returns the node of a name that anything was said of, or nil.
func (f *graph) any(name string) *node {
	table := *f.names.table.Load()
	mask := uint64(len(table) - 1)
	for i := maphash.String(f.names.seed, name); ; i++ {
		id := table[i&mask].Load()
		if id == 0 {
			return nil
		}
		if n := f.node(id - 1); n != nil && n.name == name { // a later forest may have more
			return n
		}
	}
}
