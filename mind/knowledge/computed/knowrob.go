package computed

import (
	"iter"
	"math"

	"github.com/seed-301d4374/engram/mind/pose"
)

// KnowRob is the namespace of KnowRob's ontology.
const KnowRob = "http://knowrob.org/kb/knowrob.owl#"

// formerly is the namespace that RoboEarth and KnowRob used before.
const formerly = "http://ias.cs.tum.edu/kb/knowrob.owl#"

// KnowRobRelations are those that KnowRob's comp_spatial computes, as it does at the commit that docs/knowledge.md names: from
// the centres of boxes and along the axes of the frame, whose x points ahead and y to the left, whoever looks. An
// observer changes nothing of them. Later versions call aboveOf above-Generally, and belowOf below-Generally.
var KnowRobRelations = knowrob(KnowRob)

func knowrob(ns string) []*Relation {
	over := func(_ *Rules, of *solid) bounds { return of.footprint().above() }
	about := func(by float64) func(*Rules, *solid) bounds {
		return func(_ *Rules, of *solid) bounds { return bounds{of.centre, of.centre}.grown(by + margin) }
	}
	ahead := func(_ *Rules, of *solid) bounds {
		b := everywhere
		b.lo.X = of.centre.X
		return b
	}
	enclosed := func(_ *Rules, of *solid) bounds {
		return bounds{of.centre, of.centre}.grown(max(of.half[0], of.half[1], of.half[2]) + 2*slack)
	}
	return []*Relation{
		{Property: ns + "on-Physical", holds: onPhysical, firsts: over, seconds: far},
		{Property: ns + "aboveOf", holds: onPhysical, firsts: over, seconds: far},
		{Property: ns + "above-Generally", holds: onPhysical, firsts: over, seconds: far},
		{Property: ns + "belowOf", holds: reverse(onPhysical), firsts: far, seconds: over},
		{Property: ns + "below-Generally", holds: reverse(onPhysical), firsts: far, seconds: over},
		{Property: ns + "toTheLeftOf", holds: toTheLeft, firsts: far, seconds: far},
		{Property: ns + "toTheRightOf", holds: reverse(toTheLeft), firsts: far, seconds: far},
		{Property: ns + "toTheSideOf", holds: toTheSide, firsts: far, seconds: far},
		{Property: ns + "inFrontOf-Generally", holds: inFront, firsts: ahead, seconds: far},
		{Property: ns + "inCenterOf", holds: inCentre, firsts: about(centred), seconds: about(centred)},
		{Property: ns + "in-ContGeneric", holds: inContainer, firsts: enclosed, seconds: far},
	}
}

// What KnowRob has as tolerances, metres.
const (
	aside   = 0.30
	centred = 0.20
	slack   = 0.05
)

// onPhysical: the first centre is higher, and within the depth and width of the other box. KnowRob has the same rule for aboveOf.
func onPhysical(_ *Scene, a, b *solid) bool {
	return b.centre.Z < a.centre.Z && b.covers(a.centre)
}

// Covering yields the names of bodies whose boxes, seen from above, have a point within their depth and width (objectAtPoint2D).
func (s *Scene) Covering(x, y float64) iter.Seq[string] {
	return func(yield func(string) bool) {
		for b := range s.Bodies() {
			if s.get(b.Name).covers(pose.Vec3{X: x, Y: y}) && !yield(b.Name) {
				return
			}
		}
	}
}

// covers reports whether a point is within the depth and width of the box. A tilted box is taken
// for two strips, as wide as its edges seen from above. Many things of maps lie on the very edge of
// others, so the steps are those of KnowRob, with its rounding.
func (s *solid) covers(p pose.Vec3) bool {
	if s.half[0] <= 0 || s.half[1] <= 0 {
		return false
	}
	corner := func(x, y float64) (float64, float64) {
		dx, dy := s.centre.X+x-s.centre.X, s.centre.Y+y-s.centre.Y
		return float64(s.centre.X+float64(dx*s.axes[0].X)) + float64(dy*s.axes[1].X),
			float64(s.centre.Y+float64(dx*s.axes[0].Y)) + float64(dy*s.axes[1].Y)
	}
	x0, y0 := corner(-s.half[0], s.half[1])
	within := func(x, y float64) bool {
		along := float64((p.X-x0)*(x-x0)) + float64((p.Y-y0)*(y-y0))
		return along >= 0 && along <= float64((x-x0)*(x-x0))+float64((y-y0)*(y-y0))
	}
	return within(corner(s.half[0], s.half[1])) && within(corner(-s.half[0], -s.half[1]))
}

// footprint bounds what the box covers, at the height of its centre.
func (s *solid) footprint() bounds {
	if math.Abs(s.axes[2].Z) > 1-1e-9 {
		return bounds{s.centre, s.centre}.grown(math.Hypot(s.half[0], s.half[1]) + margin)
	}
	b := everywhere
	b.lo.Z, b.hi.Z = s.centre.Z, s.centre.Z
	return b
}

func toTheLeft(_ *Scene, a, b *solid) bool {
	d := a.centre.Sub(b.centre)
	return math.Abs(d.X) <= aside && d.Y >= 0 && math.Abs(d.Z) <= aside
}

func toTheSide(s *Scene, a, b *solid) bool { return toTheLeft(s, a, b) || toTheLeft(s, b, a) }

func inFront(_ *Scene, a, b *solid) bool { return b.centre.X <= a.centre.X }

func inCentre(_ *Scene, a, b *solid) bool {
	d := a.centre.Sub(b.centre)
	return max(math.Abs(d.X), math.Abs(d.Y), math.Abs(d.Z)) <= centred
}

// inContainer takes the boxes as if they lay along the frame's axes.
func inContainer(_ *Scene, a, b *solid) bool {
	if !a.sized() || !b.sized() {
		return false
	}
	at, in := [3]float64{a.centre.X, a.centre.Y, a.centre.Z}, [3]float64{b.centre.X, b.centre.Y, b.centre.Z}
	for i := range 3 {
		if at[i]-a.half[i] < in[i]-b.half[i]-slack || at[i]+a.half[i] > in[i]+b.half[i]+slack {
			return false
		}
	}
	return true
}
