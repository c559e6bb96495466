package wm

import (
	"iter"
	"math"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
)

// A memory that evicts by value (see [Values.Begin]) measures how often an entity is asked
// for in parts of the time that a state stays in the memory, its stay: that needs no clock,
// and what it counts does not fade while nothing is evicted. Time is counted in updates.
const (
	usesPerStay = 64 // parts of a stay; uses within one count once
	halfLife    = 32 // parts of a stay in which uses fade to half
	shortStay   = 1024
	heatBits    = 16
	heatOne     = 1 << 8 // one use, of heatBits with 8 after the point
	casual      = 2      // uses that count for nothing: somebody looked
	halfStretch = 8      // uses beyond those that stretch by half of what is possible
	maxSpared   = 8      // states that one eviction passes over
)

// Reason is why an entity is regarded as used, see [Values.Regard].
type Reason int

// The reasons. Surprises and marks count beside the uses that there are.
const (
	Linked    Reason = iota // it is linked with what is asked for
	Surprised               // it came to be other than predicted
	Marked                  // an incident is about it, or a standing rule; marks by hand are set by SetMarks
	reasons
)

// MaxStretch is by how much the bounds of an entity stretch at most.
const MaxStretch = 4

// MarkUses is how many uses an incident, a rule that is satisfied, or a mark by hand counts as.
const MarkUses = 8

// uses counts how often something was asked for, fading: the update number of the last part of
// the stay in which a use was counted, and above that how often. Zero is never. Readers count
// without a lock; of several at once one counts.
type uses struct{ bits atomic.Uint64 }

// raise sets the uses to at least so many at an update number.
func (u *uses) raise(n float64, number, part uint64) {
	old := u.bits.Load()
	if now := uint64(min(n*heatOne, 1<<heatBits-1)); now > faded(old, number, part) {
		u.bits.CompareAndSwap(old, number<<heatBits|now)
	}
}

// at returns the uses as they have faded at an update number.
func (u *uses) at(number, part uint64) float64 {
	return float64(faded(u.bits.Load(), number, part)) / heatOne
}

func faded(bits, number, part uint64) uint64 {
	heat, age := bits&(1<<heatBits-1), number-bits>>heatBits
	if int64(age) <= 0 {
		return heat
	}
	half := part * halfLife
	if age/half >= heatBits {
		return 0
	}
	heat >>= age / half
	return heat - heat*(age%half)/(2*half)
}

// Values is the role of a working memory that decides what stays. Safe for concurrent use.
type Values struct{ w *WM }

// Values returns what decides what stays in the memory.
func (w *WM) Values() Values { return Values{w} }

// Begin has a memory evict what is of little value first. An entity's bounds, and
// the time that its past states stay in the memory, stretch up to 4 × by how often it is
// asked for and by how many, what it is regarded for ([Values.Regard]), marks ([Values.SetMarks]), and its newest confidence. Newest states
// of what is asked for are passed over while there are others. The memory's own bounds stay
// as they are. Begin it before the memory is used.
func (x Values) Begin(memory string) error {
	w := x.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m, ok := w.memories.Get(memory)
	if !ok {
		return engram.Errorf(engram.NotFound, memory, "there is no such memory here")
	}
	m.part.CompareAndSwap(0, shortStay/usesPerStay)
	return nil
}

// Asked yields the entities of a memory that evicts by value and how much they were asked for
// lately, counted by how many askers it was: at least so much.
func (x Values) Asked(least float64, yield func(entity engram.ID, uses float64) bool) {
	number := x.w.number.Load()
	for e := range x.entities() {
		if n := needed(e.askedFor(number, e.provider.core.memory.part.Load())); n > 0 && n >= least && !yield(e.id, n) {
			return
		}
	}
}

// Stretched yields the entities of memories that evict by value and by how much their bounds
// are stretched, but for marks by hand ([Values.Mark]): at least so much, and more than 1.
func (x Values) Stretched(least float64, yield func(entity engram.ID, stretch float64) bool) {
	number := x.w.number.Load()
	for e := range x.entities() {
		if n := e.stretchWith(number, nil); n > 1 && n >= least && !yield(e.id, n) {
			return
		}
	}
}

// entities yields those of memories that evict by value.
func (x Values) entities() iter.Seq[*entity] {
	return func(yield func(*entity) bool) {
		for _, m := range x.w.memories.sorted() {
			if m.value.part.Load() == 0 {
				continue
			}
			for _, c := range m.value.cores.sorted() {
				for _, p := range c.value.providers.sorted() {
					for e := range p.value.entities.any {
						if !yield(e) {
							return
						}
					}
				}
			}
		}
	}
}

// Regard counts an entity as used so often, at least, for a reason. It fades as what was
// asked does. Nothing happens where the entity is not there or its memory does not evict by
// value.
func (x Values) Regard(entity engram.ID, why Reason, uses float64) {
	e := x.w.entity(entity)
	if e == nil {
		return
	}
	if part := e.provider.core.memory.part.Load(); part != 0 {
		e.regarded[why].raise(uses, x.w.number.Load(), part)
	}
}

// value returns why the entity stays longer than others, with a mark by hand unless that is nil; nil if its memory evicts by age.
func (e *entity) value(number uint64, mark *engram.Mark) *engram.Value {
	part := e.provider.core.memory.part.Load()
	if part == 0 {
		return nil
	}
	v := &engram.Value{
		Linked:    e.regarded[Linked].at(number, part),
		Surprised: e.regarded[Surprised].at(number, part), Marked: e.regarded[Marked].at(number, part),
	}
	v.Asked, v.Askers = e.askedFor(number, part)
	if mark != nil {
		v.Marked += MarkUses
	}
	if newest := e.newest.Load(); newest != nil {
		for i := range newest.Instances {
			v.Confidence = max(v.Confidence, float64(newest.Instances[i].Confidence))
		}
	}
	v.Stretch = stretchFor(max(max(needed(v.Asked, v.Askers), v.Linked)-casual, 0)+v.Surprised+v.Marked, v.Confidence)
	return v
}

// stretchFor is by how much so many uses stretch, of a confidence.
func stretchFor(uses, confidence float64) float64 {
	return 1 + (MaxStretch-1)*uses/(uses+halfStretch)*confidence
}

// stretch is the Stretch of the entity's value; 1 where its memory evicts by age.
func (e *entity) stretch(number uint64) float64 { return e.stretchWith(number, e.mark()) }

func (e *entity) stretchWith(number uint64, mark *engram.Mark) float64 {
	used := e.uses.bits.Load()
	for i := range e.regarded {
		used |= e.regarded[i].bits.Load()
	}
	if used == 0 && mark == nil || e.provider.core.memory.part.Load() == 0 {
		return 1
	}
	return e.value(number, mark).Stretch
}

// stretched returns bounds times n.
func stretched(b engram.Bounds, n float64) engram.Bounds {
	if b.MaxCount > 1 { // 1 is the newest state and no history
		b.MaxCount = int(math.Min(float64(b.MaxCount)*n, math.MaxInt32))
	}
	b.MaxBytes = int64(float64(b.MaxBytes) * n)
	b.MaxAge = time.Duration(math.Min(float64(b.MaxAge)*n, math.MaxInt64/2))
	return b
}

// victimLocked returns what the memory's bounds evict next, nil if what it holds stays: of
// what is no newest state what came first, else the newest state that came first. What is
// of value it puts behind the others, a past state as often as its entity's bounds stretch,
// and no more than maxSpared in all; never behind what came last.
func (m *memory) victimLocked(number uint64) *version {
	for passed := 0; ; passed++ {
		list := &m.history
		if list.first == nil {
			if list = &m.current; m.keepsNewest && !m.beyondBounds(&m.held) {
				return nil // a budget is no reason
			}
		}
		v := list.first
		switch {
		case v == nil || v == m.current.last:
			return nil // what came last stays: the segments themselves are beyond the bounds
		case passed == maxSpared || v == list.last || !m.sparesLocked(v, number):
			return v.entity.firstLocked(v)
		}
		if list == &m.history {
			v.spared++
		}
		list.putBehind(v)
	}
}

// sparesLocked reports whether a version is passed over once more.
func (m *memory) sparesLocked(v *version, number uint64) bool {
	stretch := v.entity.stretch(number)
	if v == v.entity.newest.Load() {
		return stretch > 1.25 // about three uses
	}
	return float64(v.spared) < math.Round(stretch)-1
}

// firstLocked returns what goes first of an entity whose version v is to go: a snapshot
// before it that was passed over, so that it keeps no hole, and of that the oldest version.
func (e *entity) firstLocked(v *version) *version {
	if e.provider.core.memory.part.Load() == 0 {
		return v
	}
	if front := e.timeline.front(); front.spared > 0 && front.Time < v.Time {
		v = front
	}
	if v.newer != nil {
		v = e.timeline.current(v.Time)
	}
	if v.oldest != nil {
		return v.oldest
	}
	return v
}

// stayedLocked notes how long a version stayed, in updates.
func (m *memory) stayedLocked(v *version, number uint64) {
	part := m.part.Load()
	if part == 0 || v.Number >= number {
		return
	}
	m.stay += (float64(number-v.Number) - m.stay) / 64
	if now := uint64(max(m.stay, shortStay) / usesPerStay); now > part+part/8 || now < part-part/8 {
		m.part.Store(now)
	}
}
