package computed

import (
	"iter"
	"math"
	"slices"

	"github.com/seed-301d4374/engram/mind/pose"
)

// NS is the namespace of our properties.
const NS = "https://engram.dev/ontology#"

// Rules say what counts as on, near and so on. Lengths are in metres.
type Rules struct {
	Contact float64 // what is on something hovers over it or sinks into it by this at most
	Slack   float64 // what is in something sticks out by this at most
	Beside  float64 // what is next to something is this far away at most
	Near    float64 // what is near something is this far away at most
	Range   float64 // what is left or right of something, in front of it or behind it is this far away at most
	Level   float64 // and this much higher or lower at most
	Sight   float64 // what is visible is this far away at most, unless a field of view says otherwise
	Reach   float64 // what is reachable is this far away at most, unless the body says otherwise
}

// DefaultRules are those for rooms in which people live.
func DefaultRules() Rules {
	return Rules{Contact: 0.05, Slack: 0.05, Beside: 0.5, Near: 1, Range: 3, Level: 0.3, Sight: 10, Reach: 1}
}

// A Relation is between two bodies of one frame.
type Relation struct {
	// Property is the IRI of the property that says so of the first body.
	Property string
	holds    func(s *Scene, a, b *solid) bool
	// firsts and seconds bound where the box is of what is related to a body.
	firsts, seconds func(r *Rules, of *solid) bounds
}

// Our relations. Those that say left, right, front and behind are said from where the second body
// is and looks, along its x axis, or from where an observer sees it ([Scene.SeenBy]).
var (
	// On: the vertical through the first one's centre leaves the second's box where it enters the
	// first's.
	On = &Relation{Property: NS + "on", holds: on, firsts: touching, seconds: touching}
	// In: the first one's box lies in the second's, which is larger, and is not on it.
	In = &Relation{Property: NS + "in", holds: in, firsts: touching, seconds: touching}
	// Above: on the vertical through the centre of one of both the first is higher.
	Above = &Relation{Property: NS + "above", holds: above, firsts: higher, seconds: lower}
	// Below: the second is above the first.
	Below = &Relation{Property: NS + "below", holds: reverse(above), firsts: lower, seconds: higher}
	// NextTo: both are at one height side by side, neither in the other.
	NextTo = &Relation{Property: NS + "nextTo", holds: nextTo, firsts: beside, seconds: beside}
	// LeftOf, RightOf, InFrontOf, Behind: further on this side of the box than on the sides next to it.
	LeftOf    = &Relation{Property: NS + "leftOf", holds: towards(0, 1), firsts: ranging, seconds: ranging}
	RightOf   = &Relation{Property: NS + "rightOf", holds: towards(0, -1), firsts: ranging, seconds: ranging}
	InFrontOf = &Relation{Property: NS + "inFrontOf", holds: towards(1, 0), firsts: ranging, seconds: ranging}
	Behind    = &Relation{Property: NS + "behind", holds: towards(-1, 0), firsts: ranging, seconds: ranging}
	// Near: their boxes are not far from each other; a place is not near what is in it.
	Near = &Relation{Property: NS + "near", holds: near, firsts: nearby, seconds: nearby}
	// InsidePlace: the first one's centre lies in the place's box or above its outline, or it is stated to be part of
	// the place, or of what is.
	InsidePlace = &Relation{Property: NS + "insidePlace", holds: insidePlace, firsts: touching, seconds: touching}
	// VisibleFrom: no box hides all of the first body from the second.
	VisibleFrom = &Relation{Property: NS + "visibleFrom", holds: visibleFrom, firsts: far, seconds: far}
	// ReachableFrom: the first one's box is within the reach of the second's.
	ReachableFrom = &Relation{Property: NS + "reachableFrom", holds: reachableFrom,
		firsts: reaching, seconds: func(*Rules, *solid) bounds { return everywhere }}
)

// Relations are ours.
var Relations = []*Relation{On, In, Above, Below, NextTo, LeftOf, RightOf, InFrontOf, Behind, Near, InsidePlace, VisibleFrom, ReachableFrom}

// Holds reports whether a relation holds between two bodies where they are estimated to be, and
// how likely it is, in (0, 1]; 1 where nothing is known of how uncertain they are. Of bodies
// that the scene does not have nothing holds, nor between a body and itself.
func (s *Scene) Holds(r *Relation, a, b string) (probability float64, ok bool) {
	x, y := s.get(a), s.get(b)
	if x == nil || y == nil || !s.related(r, x, y) {
		return 0, false
	}
	return s.probability(r, x, y, true), true
}

// Probability returns how likely a relation is between two bodies, even if it does not hold where
// they are estimated to be.
func (s *Scene) Probability(r *Relation, a, b string) float64 {
	x, y := s.get(a), s.get(b)
	if x == nil || y == nil || x.Name == y.Name || x.Frame != y.Frame {
		return 0
	}
	return s.probability(r, x, y, s.related(r, x, y))
}

// Firsts yields what has the relation to a body, with how likely it is, by name.
func (s *Scene) Firsts(r *Relation, b string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		y := s.get(b)
		if y == nil {
			return
		}
		for _, x := range s.candidates(r, y, r.firsts) {
			if s.related(r, x, y) && !yield(x.Name, s.probability(r, x, y, true)) {
				return
			}
		}
	}
}

// Seconds yields what a body has the relation to, with how likely it is, by name.
func (s *Scene) Seconds(r *Relation, a string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		x := s.get(a)
		if x == nil {
			return
		}
		for _, y := range s.candidates(r, x, r.seconds) {
			if s.related(r, x, y) && !yield(y.Name, s.probability(r, x, y, true)) {
				return
			}
		}
	}
}

// candidates returns what may have a relation with a body.
func (s *Scene) candidates(r *Relation, of *solid, where func(*Rules, *solid) bounds) []*solid {
	found := s.meeting(of.Frame, where(&s.rules, of))
	if r != InsidePlace {
		return found
	}
	stated := s.source.places(of.Body)
	if of.Place {
		stated = append(stated, s.source.parts(of.Body)...)
	}
	for _, name := range stated {
		if b := s.get(name); b != nil && b.Frame == of.Frame {
			found = append(found, b)
		}
	}
	slices.SortFunc(found, byName)
	return slices.CompactFunc(found, func(a, b *solid) bool { return a.Name == b.Name })
}

func (s *Scene) related(r *Relation, a, b *solid) bool {
	return a.Name != b.Name && a.Frame == b.Frame && r.holds(s, a, b)
}

// margin makes up for the rounding of bounds.
const margin = 1e-6

func touching(r *Rules, of *solid) bounds { return of.bounds().grown(max(r.Contact, r.Slack) + margin) }
func higher(r *Rules, of *solid) bounds   { return touching(r, of).above() }
func lower(r *Rules, of *solid) bounds    { return touching(r, of).below() }
func beside(r *Rules, of *solid) bounds {
	return of.bounds().grown(max(r.Beside, r.Contact) + margin)
}
func nearby(r *Rules, of *solid) bounds { return of.bounds().grown(r.Near + margin) }
func ranging(r *Rules, of *solid) bounds {
	return of.bounds().grown(max(math.Sqrt2*r.Range, r.Level) + margin) // at the end of both directions
}
func far(*Rules, *solid) bounds { return everywhere }
func reaching(r *Rules, of *solid) bounds {
	return of.bounds().grown(r.reach(of) + margin)
}

func (r *Rules) reach(of *solid) float64 {
	if of.Reach > 0 {
		return of.Reach
	}
	return r.Reach
}

func reverse(holds func(s *Scene, a, b *solid) bool) func(s *Scene, a, b *solid) bool {
	return func(s *Scene, a, b *solid) bool { return holds(s, b, a) }
}

func on(s *Scene, a, b *solid) bool {
	if a.Place || b.Place {
		return false
	}
	_, top, ok := b.through(a.centre, up)
	return ok && math.Abs(-a.rise()-top) <= s.rules.Contact
}

func in(s *Scene, a, b *solid) bool {
	if a.Place || b.Place || !b.contains(a.centre) || size(a) >= size(b) {
		return false
	}
	at := b.local(a.centre)
	for i, axis := range b.axes {
		if math.Abs(at[i])+a.extent(axis) > b.half[i]+s.rules.Slack {
			return false
		}
	}
	return !on(s, a, b)
}

// size is the square of the box's diagonal.
func size(s *solid) float64 {
	return s.half[0]*s.half[0] + s.half[1]*s.half[1] + s.half[2]*s.half[2]
}

func above(s *Scene, a, b *solid) bool {
	if a.Place || b.Place {
		return false
	}
	if _, top, ok := b.through(a.centre, up); ok && -a.rise() >= top-s.rules.Contact {
		return true
	}
	bottom, _, ok := a.through(b.centre, up)
	return ok && bottom >= b.rise()-s.rules.Contact
}

func nextTo(s *Scene, a, b *solid) bool {
	if a.Place || b.Place || a.contains(b.centre) || b.contains(a.centre) {
		return false
	}
	if apart(a, b, up) > s.rules.Contact || above(s, a, b) || above(s, b, a) {
		return false
	}
	return distance(a, b) <= s.rules.Beside
}

// towards returns the relation of what lies ahead or to the left, by the signs.
func towards(ahead, left float64) func(s *Scene, a, b *solid) bool {
	return func(s *Scene, a, b *solid) bool {
		if a.Place || b.Place || apart(a, b, up) > s.rules.Level {
			return false
		}
		x, y, ok := s.viewpoint(a, b)
		if !ok {
			return false
		}
		side, across := x.Scale(ahead).Add(y.Scale(left)), x.Scale(left).Add(y.Scale(ahead))
		gap := apart(a, b, side)
		return a.centre.Sub(b.centre).Dot(side) > 0 && gap >= -s.rules.Contact && gap <= s.rules.Range && gap >= apart(a, b, across)
	}
}

// viewpoint returns the horizontal directions to what is in front of b and to what is left of it.
// An observer has in front of b what is on his side, and looks at both bodies alike.
func (s *Scene) viewpoint(a, b *solid) (front, left pose.Vec3, ok bool) {
	if s.observer == "" || s.observer == b.Name {
		front, ok = horizontal(b.Pose.R.Rotate(pose.Vec3{X: 1}))
		return front, up.Cross(front), ok
	}
	o := s.get(s.observer)
	if o == nil || o.Frame != b.Frame || o.Name == a.Name {
		return front, left, false
	}
	front, ok = horizontal(o.Pose.T.Sub(a.centre.Add(b.centre).Scale(0.5)))
	return front, front.Cross(up), ok
}

// horizontal returns the unit vector of a direction on the ground; ok is false if it has none.
func horizontal(v pose.Vec3) (pose.Vec3, bool) {
	v.Z = 0
	n := v.Norm()
	if n < level {
		return v, false
	}
	return v.Scale(1 / n), true
}

// level is the length of what points nowhere but up or down.
const level = 1e-6

func near(s *Scene, a, b *solid) bool {
	d := distance(a, b)
	return d <= s.rules.Near && (d > 0 || !a.Place && !b.Place)
}

func insidePlace(s *Scene, a, b *solid) bool {
	if !b.Place {
		return false
	}
	stated, may := s.source.within(a.Body, b.Body)
	return stated || may && !a.Place && b.contains(a.centre) && b.outlines(a.centre)
}

func reachableFrom(s *Scene, a, b *solid) bool {
	return !a.Place && !b.Place && distance(a, b) <= s.rules.reach(b)
}
