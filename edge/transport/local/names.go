package local

import "github.com/seed-301d4374/engram"

// defined marks a reference whose definition follows it.
const defined = 1 << 31

// sentNames is the sender's side of a table of names that are written out once
// and then referred to by their slot. When it is full, the oldest gives way.
type sentNames[K comparable] struct {
	limit uint32
	slots map[K]uint32
	names []K // by slot
	next  uint32
	last  uint32 // slot of the latest reference
}

// slot returns the name's slot, and whether it must be defined first.
func (t *sentNames[K]) slot(name K) (slot uint32, define bool) {
	// Producers go through their entities in the same order again and again.
	if n := uint32(len(t.names)); n > 0 {
		if t.names[t.last] == name {
			return t.last, false
		}
		if after := t.last + 1; after < n && t.names[after] == name {
			t.last = after
			return after, false
		}
	}
	if slot, ok := t.slots[name]; ok {
		t.last = slot
		return slot, false
	}
	if t.slots == nil {
		t.slots = map[K]uint32{}
	}
	slot = t.next
	if slot < uint32(len(t.names)) {
		delete(t.slots, t.names[slot])
		t.names[slot] = name
	} else {
		t.names = append(t.names, name)
	}
	t.slots[name] = slot
	t.last = slot
	if t.next++; t.next == t.limit {
		t.next = 0
	}
	return slot, true
}

// receivedNames is the receiver's side of the same table.
type receivedNames[K any] struct {
	limit uint32
	names []K
}

// define puts a name into a slot: a used one, or the next unused.
func (t *receivedNames[K]) define(slot uint32, name K) bool {
	switch {
	case slot < uint32(len(t.names)):
		t.names[slot] = name
	case slot == uint32(len(t.names)) && slot < t.limit:
		t.names = append(t.names, name)
	default:
		return false
	}
	return true
}

// idNames says how many names an ID of a level has.
func idNames(l engram.Level) int { return int(min(l, engram.LevelEntity)) }
