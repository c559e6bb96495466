package wm

import (
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
)

// table maps names to nodes of the hierarchy. Reading takes no lock and allocates
// nothing; the writer holds the WM's lock. It is a hash table with linear probing
// whose slots are atomic pointers: an entry is published by storing its pointer,
// and the table grows by building a new array of slots. Its zero value is empty.
type table[V any] struct {
	slots atomic.Pointer[slotArray[V]]
	order atomic.Pointer[nameOrder[V]] // a cache; see sorted

	added   atomic.Uint64 // entries ever added; each bears its ordinal
	removed atomic.Uint64 // entries ever removed

	filled int // slots that hold an entry or the mark of a removed one; the writer's
	len    int // entries; the writer's
}

// slotArray is an array of a power of two slots, at most half of them filled.
type slotArray[V any] struct {
	slots []atomic.Pointer[entry[V]]
	gone  *entry[V] // stands where an entry was removed
}

type entry[V any] struct {
	hash    uint64
	name    string
	value   V
	ordinal uint64
}

// nameOrder holds the entries with ordinals up to added in order of their names.
type nameOrder[V any] struct {
	added, removed uint64
	entries        []*entry[V]
}

var hashSeed = maphash.MakeSeed()

// Get returns the node of that name.
func (t *table[V]) Get(name string) (v V, ok bool) {
	a := t.slots.Load()
	if a == nil {
		return v, false
	}
	hash, mask := maphash.String(hashSeed, name), uint64(len(a.slots)-1)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := a.slots[i].Load()
		if e == nil {
			return v, false
		}
		if e.hash == hash && e.name == name && e != a.gone {
			return e.value, true
		}
	}
}

// add adds a node whose name is not in the table.
func (t *table[V]) add(name string, v V) {
	a := t.slots.Load()
	if a == nil || 2*(t.filled+1) > len(a.slots) {
		a = t.grow(a)
	}
	t.len++
	e := &entry[V]{maphash.String(hashSeed, name), name, v, t.added.Load() + 1}
	if a.insert(e) {
		t.filled++
	}
	t.added.Store(e.ordinal)
}

// insert stores e in the first free slot; fresh is true if none was removed there.
func (a *slotArray[V]) insert(e *entry[V]) (fresh bool) {
	mask := uint64(len(a.slots) - 1)
	for i := e.hash & mask; ; i = (i + 1) & mask {
		if old := a.slots[i].Load(); old == nil || old == a.gone {
			a.slots[i].Store(e)
			return old == nil
		}
	}
}

// grow returns an array with room for the entries and as many again.
func (t *table[V]) grow(old *slotArray[V]) *slotArray[V] {
	n := 8
	for n < 4*(t.len+1) {
		n *= 2
	}
	a := &slotArray[V]{slots: make([]atomic.Pointer[entry[V]], n), gone: &entry[V]{}}
	if old != nil {
		for i := range old.slots {
			if e := old.slots[i].Load(); e != nil && e != old.gone {
				a.insert(e)
			}
		}
	}
	t.filled = t.len
	t.slots.Store(a)
	return a
}

// remove removes the node of that name, if there is one.
func (t *table[V]) remove(name string) {
	a := t.slots.Load()
	if a == nil {
		return
	}
	hash, mask := maphash.String(hashSeed, name), uint64(len(a.slots)-1)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := a.slots[i].Load()
		if e == nil {
			return
		}
		if e.hash == hash && e.name == name && e != a.gone {
			a.slots[i].Store(a.gone)
			t.len--
			t.removed.Add(1)
			return
		}
	}
}

// sorted returns all entries in order of their names. The order is kept until the
// table changes; then only what was added is sorted and merged into it.
func (t *table[V]) sorted() []*entry[V] {
	o := t.order.Load()
	added, removed := t.added.Load(), t.removed.Load()
	if o != nil && o.added == added && o.removed == removed {
		return o.entries
	}
	if o == nil || o.removed != removed {
		o = &nameOrder[V]{}
	}
	var fresh []*entry[V]
	if a := t.slots.Load(); a != nil {
		for i := range a.slots {
			if e := a.slots[i].Load(); e != nil && e != a.gone && e.ordinal > o.added && e.ordinal <= added {
				fresh = append(fresh, e)
			}
		}
	}
	slices.SortFunc(fresh, func(a, b *entry[V]) int { return strings.Compare(a.name, b.name) })
	next := &nameOrder[V]{added, removed, mergeByName(o.entries, fresh)}
	t.order.Store(next)
	return next.entries
}

// Sorted visits all nodes in the order of their names.
func (t *table[V]) Sorted() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, e := range t.sorted() {
			if !yield(e.name, e.value) {
				return
			}
		}
	}
}

func mergeByName[V any](a, b []*entry[V]) []*entry[V] {
	if len(a) == 0 {
		return b
	}
	out := make([]*entry[V], 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].name < b[0].name {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
