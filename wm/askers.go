package wm

import (
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// askers are who asked for an entity within the last stay: four slots of who (10 bits, the
// highest of them set) and how many parts of the stay before the last counted part (6 bits).
type askers struct{ bits atomic.Uint64 }

const (
	slotBits = 16
	ageBits  = 6
	oldest   = 1<<ageBits - 1
	somebody = 1 << (slotBits - ageBits - 1)
	inEach   = 0x0001_0001_0001_0001 // times a slot: that slot four times
	topOf    = 0x8000_8000_8000_8000
)

// slotOf returns the slot of who asks now.
func slotOf(who engram.Asker) uint64 { return (uint64(who)&(somebody-1) | somebody) << ageBits }

// holds reports whether one of the slots is this one.
func holds(slots, slot uint64) bool {
	x := slots ^ slot*inEach
	return (x-inEach)&^x&topOf != 0
}

// grown returns the slots so many parts later.
func grown(slots, parts uint64) (out uint64) {
	for i := 0; i < 64; i += slotBits {
		out |= aged(slots>>i&(1<<slotBits-1), parts) << i
	}
	return out
}

// aged returns a slot so many parts later, 0 if that is too long ago.
func aged(slot, parts uint64) uint64 {
	if slot == 0 || slot&oldest+min(parts, oldest+1) > oldest {
		return 0
	}
	return slot + parts
}

// with returns the slots with that of who asks now, in the place of its earlier one, of none or of
// the oldest; false if all have asked in this part.
func with(slots, slot uint64) (uint64, bool) {
	place, worst := -1, uint64(0)
	for i := 0; i < 64; i += slotBits {
		s := slots >> i & (1<<slotBits - 1)
		age := s & oldest
		switch {
		case s>>ageBits == slot>>ageBits:
			age = oldest + 2
		case s == 0:
			age = oldest + 1
		}
		if age > worst {
			place, worst = i, age
		}
	}
	if place < 0 {
		return slots, false
	}
	return slots&^((1<<slotBits-1)<<place) | slot<<place, true
}

// asked notes that somebody asked for the entity at an update number.
func (e *entity) asked(number uint64, who engram.Asker) {
	part := e.provider.core.memory.part.Load()
	if part == 0 || who == engram.Nobody {
		return
	}
	last, slot := e.uses.bits.Load(), slotOf(who)
	if last != 0 && int64(number-last>>heatBits) < int64(part) && holds(e.askers.bits.Load(), slot) {
		return
	}
	e.count(number, part, last, slot)
}

// count counts a use, unless as many askers as are told apart have one in this part of the stay.
func (e *entity) count(number, part, last, slot uint64) {
	slots := e.askers.bits.Load()
	heat, begun := last&(1<<heatBits-1), last>>heatBits
	passed := int64(number - begun)
	if last == 0 || passed >= int64(part) {
		heat, begun = faded(last, number, part), number
	} else {
		passed = 0
	}
	next, ok := with(grown(slots, (uint64(passed)+part/2)/part), slot)
	if ok && e.uses.bits.CompareAndSwap(last, begun<<heatBits|min(heat+heatOne, 1<<heatBits-1)) {
		e.askers.bits.CompareAndSwap(slots, next)
	}
}

// askedFor returns how often the entity was asked for, fading, and by how many, at an update
// number.
func (e *entity) askedFor(number, part uint64) (uses float64, by int) {
	last := e.uses.bits.Load()
	passed := uint64(max(int64(number-last>>heatBits), 0))
	for slots := grown(e.askers.bits.Load(), passed/part); slots != 0; slots >>= slotBits {
		if slots&(1<<slotBits-1) != 0 {
			by++
		}
	}
	return e.uses.at(number, part), by
}

// needed is what uses of so many askers count for: what several need is worth more than what one
// program polls.
func needed(uses float64, by int) float64 { return uses * float64(max(by, 1)) }
