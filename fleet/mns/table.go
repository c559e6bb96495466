package mns

import (
	"cmp"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Table puts entries together from what servers host and what they hold copies of:
// what registries are made of. The zero Table is empty. Not safe for concurrent use.
type Table struct {
	hosted map[string]Entry           // by memory, without copies
	copies map[string]map[string]Copy // by memory and holder
	holds  map[string][]string        // by holder: the memories it holds copies of
}

// Host sets who hosts a memory.
func (t *Table) Host(e Entry) {
	if t.hosted == nil {
		t.hosted = map[string]Entry{}
	}
	e.Copies = nil
	t.hosted[e.Memory] = e
}

// Hosted returns who hosts a memory.
func (t *Table) Hosted(memory string) (Entry, bool) {
	e, ok := t.hosted[memory]
	return e, ok
}

// Unhost says that nobody hosts a memory any more.
func (t *Table) Unhost(memory string) { delete(t.hosted, memory) }

// Hold sets which copies a holder has: by the names that the table knows the copied
// memories by, how they are reached. holder tells holders apart.
func (t *Table) Hold(holder string, copies map[string]Copy) {
	for _, m := range t.holds[holder] {
		delete(t.copies[m], holder)
		if len(t.copies[m]) == 0 {
			delete(t.copies, m)
		}
	}
	delete(t.holds, holder)
	for m, c := range copies {
		if t.copies == nil {
			t.copies = map[string]map[string]Copy{}
		}
		if t.copies[m] == nil {
			t.copies[m] = map[string]Copy{}
		}
		t.copies[m][holder] = c
	}
	if len(copies) > 0 {
		if t.holds == nil {
			t.holds = map[string][]string{}
		}
		t.holds[holder] = slices.Collect(maps.Keys(copies))
	}
}

// Held returns the memories that a holder has copies of.
func (t *Table) Held(holder string) []string { return slices.Clone(t.holds[holder]) }

// Entry returns the entry of a memory that is hosted, or that copies are held of.
func (t *Table) Entry(memory string) (e Entry, ok bool) {
	e, ok = t.hosted[memory]
	held := t.copies[memory]
	if len(held) == 0 {
		return e, ok
	}
	if !ok {
		e.Memory = memory
		e.Robot, _ = engram.SplitName(memory)
	}
	e.Copies = slices.SortedFunc(maps.Values(held), func(a, b Copy) int {
		return cmp.Or(cmp.Compare(a.Robot, b.Robot), cmp.Compare(a.Server, b.Server))
	})
	return e, true
}

// Len returns how many entries there are.
func (t *Table) Len() int {
	n := len(t.hosted)
	for m := range t.copies {
		if _, ok := t.hosted[m]; !ok {
			n++
		}
	}
	return n
}

// All returns all entries by memory.
func (t *Table) All() map[string]Entry {
	all := make(map[string]Entry, len(t.hosted)+len(t.copies))
	maps.Copy(all, t.hosted)
	for m := range t.copies {
		all[m], _ = t.Entry(m)
	}
	return all
}

// Sorted returns entries in the order of their memories' names.
func Sorted(entries map[string]Entry) []Entry {
	return slices.SortedFunc(maps.Values(entries), func(a, b Entry) int { return cmp.Compare(a.Memory, b.Memory) })
}

// Changes returns what must be told to who knows one set of entries and is to know
// another: first what is removed, in the order of the names.
func Changes(known, now map[string]Entry) []Event {
	var events []Event
	for _, m := range slices.Sorted(maps.Keys(known)) {
		if _, ok := now[m]; !ok {
			events = append(events, Event{Entry: Entry{Memory: m}, Removed: true})
		}
	}
	for _, e := range Sorted(now) {
		if old, ok := known[e.Memory]; !ok || !old.Equal(e) {
			events = append(events, Event{Entry: e})
		}
	}
	return events
}

// HeldCopies returns the copies of a registration as [Table.Hold] wants them.
func (r Registration) HeldCopies() map[string]Copy {
	if len(r.Copies) == 0 {
		return nil
	}
	held := make(map[string]Copy, len(r.Copies))
	for _, m := range r.Copies {
		held[m] = Copy{Server: r.Server, Memory: m, Addresses: slices.Clone(r.Addresses)}
	}
	return held
}

// Clone returns a table that says the same and is changed apart.
func (t *Table) Clone() *Table {
	c := &Table{hosted: maps.Clone(t.hosted), holds: maps.Clone(t.holds), copies: make(map[string]map[string]Copy, len(t.copies))}
	for m, held := range t.copies {
		c.copies[m] = maps.Clone(held)
	}
	return c
}
