package condition

import (
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Place is a position in a frame that stays where it is, in metres. Distances between places in different frames are not known.
type Place struct {
	Frame    string
	Position pose.Vec3
}

// Places tell where things are.
type Places interface {
	// Of returns where a thing was by an instance of its entity; false if that is not known.
	Of(entity engram.ID, s *engram.Snapshot, instance int) (Place, bool)
	// Frame returns where the origin of a frame is.
	Frame(now engram.Time, name string) (Place, bool)
}

// lookEvery is how often distances from frames are measured, since frames move without updates.
const lookEvery = 100 * time.Millisecond

// verdict is whether the terms of an entry hold.
type verdict struct {
	failed  *Term       // the first that does not hold; nil if all do
	against *match      // what stands against it; nil if nothing does
	until   engram.Time // when that may change by itself; 0 if it does not
	aging   engram.ID   // what grows too old then; the root if frames move
}

// holds looks whether the terms of an entry hold, for a thing if they are about its surroundings.
func (s *Set) holds(now engram.Time, e *entry, of *match) (v verdict) {
	soon := func(at engram.Time, aging engram.ID) {
		if v.until == 0 || at < v.until {
			v.until, v.aging = at, aging
		}
	}
	for i := range e.All {
		t, w := &e.All[i], e.terms[i]
		m := w.last()
		if m != nil && t.Near > 0 {
			if t.NearTo != "" {
				soon(now-now%engram.Time(lookEvery)+engram.Time(lookEvery), engram.ID{})
			}
			m = s.near(now, t, w, of)
		}
		if m != nil && t.Within > 0 {
			if end := m.arrived.Add(t.Within); now < end {
				soon(end, m.id())
			} else {
				m = nil
			}
		}
		if (m != nil) == t.None && v.failed == nil {
			v.failed, v.against = t, m
		}
	}
	return v
}

// near returns what arrived last of what satisfies the demand of a term and is near enough. What may be near is so if there must be
// nothing.
func (s *Set) near(now engram.Time, t *Term, w *watch, of *match) (last *match) {
	from, known := s.origin(now, t, of)
	for _, m := range w.there {
		if t.NearTo == "" && of != nil && m.entity == of.entity { // it is not beside itself
			continue
		}
		at, placed := s.placeOf(m)
		is := t.None
		if known && placed && at.Frame == from.Frame {
			is = at.Position.Sub(from.Position).Norm() <= t.Near
		}
		if is && (last == nil || m.arrived > last.arrived || m.arrived == last.arrived && m.entity.Compare(last.entity) < 0) {
			last = m
		}
	}
	return last
}

// origin returns from where a term measures distances.
func (s *Set) origin(now engram.Time, t *Term, of *match) (Place, bool) {
	switch {
	case s.places == nil:
		return Place{}, false
	case t.NearTo != "":
		return s.places.Frame(now, t.NearTo)
	case of != nil:
		return s.placeOf(of)
	}
	return Place{}, false
}

// placeOf returns where a thing was by what satisfies a demand.
func (s *Set) placeOf(m *match) (Place, bool) {
	if !m.placed && s.places != nil {
		m.place, m.placed = s.places.Of(m.entity, m.snapshot, m.instance)
	}
	return m.place, m.placed
}

// apart reports whether terms may hold for one thing and not for another.
func (e *entry) apart() bool {
	return slices.ContainsFunc(e.All, func(t Term) bool { return t.Near > 0 && t.NearTo == "" })
}

// moves reports whether terms may hold or not because a frame moves.
func (e *entry) moves() bool {
	return slices.ContainsFunc(e.All, func(t Term) bool { return t.NearTo != "" })
}
