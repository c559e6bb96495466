package prolog

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/seed-301d4374/engram/mind/knowledge"
)

// heap is where the variables and terms of one question are, and what they have cost.
type heap struct {
	ctx    context.Context
	limits Limits
	share  *knowledge.Share

	lastVar uint64
	young   uint64 // variables from here on are younger than the last choice, but for those that goals wait for
	trail   []*Var // older variables that have got values since

	waiting map[*Var]*suspension // goals that wait for variables
	woken   []wakening           // variables that goals waited for, which have got values by what is carried out
	passing []wakening           // those that goals began to wait for when they were younger than the last choice

	assignments []assignment // other changes that are undone with the trail
	mutable     bool         // terms may be changed: those of the program are copied

	steps, nextCheck int64
	deadline         time.Time

	allocated, nextMeasure int64
	measured               int64 // what allocated was after the last measurement
	measureEach            int64 // how much is taken between two measurements at most
	pending                int64 // what was taken by the goal that is carried out, and may not be reachable yet
	kept                   int64 // what is not measured: rows and clauses that were asserted, also those retracted since, which may still be tried
	measurement            uint16
	roots                  func(*sizing) // what is reachable
}

func (h *heap) newVar() *Var {
	h.lastVar++
	return &Var{ageLow: uint32(h.lastVar), ageHigh: uint16(h.lastVar >> 32)}
}

func (h *heap) bind(v *Var, t Term) {
	v.ref = t
	if v.age() < h.young {
		if v.age() < firstAge {
			h.wakes(v)
		}
		h.trail = append(h.trail, v)
	}
}

func (h *heap) undo(to int) {
	for n := len(h.woken); n > 0 && h.woken[n-1].at >= to; n-- {
		h.woken = h.woken[:n-1]
	}
	unassign(h, to)
	h.forget(to)
	for _, v := range h.trail[to:] {
		v.ref = nil
	}
	h.trail = h.trail[:to]
}

// spend counts steps, and ends the question when a limit is passed.
func (h *heap) spend(n int64) error {
	if h.steps += n; h.steps < h.nextCheck {
		return nil
	}
	h.nextCheck = h.steps + 1024
	if err := h.ctx.Err(); err != nil {
		return err
	}
	if err := h.share.Pause(h.ctx); err != nil {
		return h.ctx.Err()
	}
	if !h.deadline.IsZero() && time.Now().After(h.deadline) {
		return &limitError{fmt.Sprintf("it takes longer than %v: it may not end, or a longer time limit is needed", h.limits.Time)}
	}
	if h.limits.Steps > 0 && h.steps > h.limits.Steps {
		return &limitError{fmt.Sprintf("it takes more than %d steps: it may not end, or more steps are needed", h.limits.Steps)}
	}
	if h.allocated >= h.nextMeasure { // what little is taken is only added
		return h.grow()
	}
	return nil
}

// charge counts memory before it is taken. What was taken and is garbage by now counts, too, until
// so much has come together that measuring what is reachable is worth it.
func (h *heap) charge(bytes int) error {
	h.allocated += int64(bytes)
	h.pending += int64(bytes)
	if err := h.spend(int64(bytes+63) >> 6); err != nil { // to fill it takes time
		return err
	}
	if h.allocated < h.nextMeasure {
		return nil
	}
	return h.grow()
}

// grow measures what is reachable, and sees to it that there is room for more before the next measurement.
func (h *heap) grow() error {
	most := h.limits.Memory
	if most <= 0 {
		h.nextMeasure = 1 << 62
		return nil
	}
	if h.pending <= most {
		h.share.Take(h.allocated - h.measured)
		h.allocated = h.measure() + h.pending
		h.measured = h.allocated
	}
	if h.allocated > most {
		return &limitError{fmt.Sprintf("it takes more than %d MB of memory: it may recurse or collect without end, or more memory is needed", most>>20)}
	}
	// What has grown is measured when it may have doubled; where it can hardly grow, not all the time.
	least := min(h.allocated/16, h.measureEach)
	for room := min(h.measureEach, max(h.allocated, firstMeasure)); ; room /= 2 {
		room = max(room, least)
		err := h.share.Hold(min(h.allocated+room, most))
		if err == nil {
			h.nextMeasure = h.allocated + min(room, max(most-h.allocated, least, 1))
			return nil
		}
		if room <= least || room <= 1 {
			return &limitError{err.Error()}
		}
	}
}

// listBytes is what an element of a list takes, beside itself.
const listBytes = 96

// firstMeasure is how much is taken before what is reachable is measured for the first time.
const firstMeasure = 1 << 20

// measure returns how many bytes are reachable, beside the program. Each object is marked
// with the number of the measurement, and so counted once. Numbers come again after 65,535
// measurements: what has lain outside of all of them since is then not counted, once. The marks say
// nothing to the machine.
func (h *heap) measure() int64 {
	if h.measurement++; h.measurement == 0 { // no mark
		h.measurement++
	}
	s := sizing{mark: h.measurement, bytes: h.kept + int64(len(h.trail))*8 + int64(len(h.passing))*16}
	for _, v := range h.trail {
		s.term(v)
	}
	for _, a := range h.assignments {
		s.bytes += 64
		if a.old != nil {
			s.term(a.old)
		}
	}
	for v, waiting := range h.waiting {
		s.term(v)
		for ; waiting != nil; waiting = waiting.before {
			s.bytes += waitingBytes
			s.term(waiting.goal)
		}
	}
	h.roots(&s)
	return s.bytes
}

// reachable adds what the machine goes on from.
func (m *machine) reachable(s *sizing) {
	s.bytes += int64(len(m.choices)) * 200
	s.frame(&m.frame)
	s.used(m.used)
	lists := map[**clause]bool{}
	for i := range m.choices {
		c := &m.choices[i]
		if c.of != nil && c.of.own && !lists[&c.rest[0]] {
			lists[&c.rest[0]] = true
			s.bytes += 8 * int64(cap(c.rest))
		}
		s.frame(&c.frame)
		s.used(c.used)
		s.terms(c.args)
		if c.again != nil && c.again.held != nil {
			c.again.held(s)
		}
	}
	for key, value := range m.globals {
		s.bytes += int64(len(key)) + 64
		s.term(value)
	}
	for _, v := range m.answered {
		s.term(v)
	}
}

// sizing adds up the sizes of what can be reached.
type sizing struct {
	mark  uint16
	bytes int64
	todo  []Term // compound terms whose arguments are still to be counted
}

func (s *sizing) frame(f *frame) {
	for ; f != nil && f.seen != s.mark; f = f.next {
		f.seen = s.mark
		s.bytes += 120
		s.terms(f.env)
		if f.into != nil {
			s.bytes += 16 * int64(len(f.into.results))
			s.terms(f.into.results)
			s.term(f.into.template)
		}
		if f.in != nil {
			s.term(f.in.catcher)
			s.term(f.in.recovery)
		}
	}
}

func (s *sizing) used(u *used) {
	for ; u != nil && u.seen != s.mark; u = u.before {
		u.seen = s.mark
		s.bytes += usedBytes
	}
}

func (s *sizing) terms(ts []Term) {
	s.bytes += 16 * int64(len(ts))
	for _, t := range ts {
		s.term(t)
	}
}

func (s *sizing) term(t Term) {
	s.todo = append(s.todo, t)
	for len(s.todo) > 0 {
		t := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		switch t := t.(type) {
		case *Var:
			if t.seen == s.mark {
				continue
			}
			t.seen = s.mark
			s.bytes += 24
			if t.ref != nil {
				s.todo = append(s.todo, t.ref)
			}
		case *Compound:
			if t.shared || t.seen == s.mark {
				continue
			}
			t.seen = s.mark
			s.bytes += 64 + 16*int64(len(t.args))
			s.todo = append(s.todo, t.args...)
		case *big.Int:
			s.bytes += int64(bigSize(t.BitLen()))
		case Atom:
			s.bytes += int64(len(t))
		case String:
			s.bytes += int64(len(t))
		}
	}
}
