package computed

import (
	"math"

	"github.com/seed-301d4374/engram/knowledge/rdf"
	"github.com/seed-301d4374/engram/pose"
)

// KnowRob is the namespace of KnowRob's ontology.
const KnowRob = "http://knowrob.org/kb/knowrob.owl#"

// formerly is the namespace that RoboEarth and KnowRob used before.
const formerly = "http://ias.cs.tum.edu/kb/knowrob.owl#"

// KnowRobRelations are those that KnowRob hydro's comp_spatial computes, as it does: from the
// centres of boxes along the axes of the frame, whose x points ahead and y to the left, whoever
// looks. An observer changes nothing of them.
var KnowRobRelations = knowrob(KnowRob)

func knowrob(ns string) []*Relation {
	about := func(by float64) func(*Rules, *solid) bounds {
		return func(_ *Rules, of *solid) bounds { return bounds{of.centre, of.centre}.grown(by + margin) }
	}
	// The box of depth and width about the centre, the first taken for the other.
	footprint := func(_ *Rules, of *solid) bounds {
		if math.Abs(of.axes[2].Z) < 1-1e-9 { // tilted, it counts as larger than it is
			b := everywhere
			b.lo.Z = of.centre.Z
			return b
		}
		return bounds{of.centre, of.centre}.grown(math.Hypot(of.half[0], of.half[1]) + margin).above()
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
		{Property: ns + "on-Physical", holds: over, firsts: footprint, seconds: far},
		{Property: ns + "above-Generally", holds: over, firsts: footprint, seconds: far},
		{Property: ns + "below-Generally", holds: reverse(over), firsts: far, seconds: footprint},
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

// over: the centre is higher, and over the rectangle of the other's width along its x axis and
// depth along its y axis.
func over(_ *Scene, a, b *solid) bool {
	depth, width := 2*b.half[0], 2*b.half[1]
	if depth <= 0 || width <= 0 || b.centre.Z >= a.centre.Z {
		return false
	}
	flat := func(v pose.Vec3) pose.Vec3 { v.Z = 0; return v }
	x, y := flat(b.axes[0]).Scale(width), flat(b.axes[1]).Scale(-depth)
	corner := b.centre.Sub(x.Scale(0.5)).Sub(y.Scale(0.5))
	p := flat(a.centre.Sub(corner))
	u, v := p.Dot(x), p.Dot(y)
	return u >= 0 && u <= x.Dot(x) && v >= 0 && v <= y.Dot(y)
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
func inContainer(s *Scene, a, b *solid) bool {
	if !a.sized() || !b.sized() {
		return false
	}
	d := a.centre.Sub(b.centre)
	for i, x := range [3]float64{d.X, d.Y, d.Z} {
		if math.Abs(x)+a.half[i] > b.half[i]+slack {
			return false
		}
	}
	return b.Container || s.classes != nil && isA(s.classes, rdf.NewIRI(b.Name), "Container")
}
