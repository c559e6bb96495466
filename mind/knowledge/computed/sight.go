package computed

import (
	"math"

	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// visibleFrom reports whether b sees the first one's centre, or a corner of its box.
func visibleFrom(s *Scene, a, b *solid) bool {
	if a.Place || b.Place {
		return false
	}
	eye, view := s.source.eye(b.Body)
	reach := s.rules.Sight
	if view != nil {
		reach = view.MaxRange
	}
	for _, p := range a.points() {
		d := p.Sub(eye.T).Norm()
		if d > reach || view != nil && (d < view.MinRange || !covers(view, eye.Inverse().Apply(p))) {
			continue
		}
		if !s.hidden(eye.T, p, a, b) {
			return true
		}
	}
	return false
}

// shrunk is how far from the centre a corner is that is looked for, of what the box says.
const shrunk = 0.98

// points returns the centre of the box and its corners.
func (s *solid) points() []pose.Vec3 {
	points := []pose.Vec3{s.centre}
	if s.sized() {
		corners := s.corners(shrunk)
		points = append(points, corners[:]...)
	}
	return points
}

// covers reports whether a point in an optical frame (x right, y down, z ahead) is within the
// angles of a view.
func covers(v *world.View, p pose.Vec3) bool {
	return math.Abs(math.Atan2(p.X, p.Z)) <= v.Horizontal/2 && math.Abs(math.Atan2(p.Y, math.Hypot(p.X, p.Z))) <= v.Vertical/2
}

// surface is how far a line of sight goes through a box that it does not just touch, metres.
const surface = 1e-3

// hidden reports whether a box is in the way from an eye to a point of a. One that the eye lies
// in hides nothing; one that the point lies in hides it if the point is deeper than what touches.
func (s *Scene) hidden(eye, point pose.Vec3, a, from *solid) bool {
	way := point.Sub(eye)
	length := way.Norm()
	along := bounds{
		pose.Vec3{X: min(eye.X, point.X), Y: min(eye.Y, point.Y), Z: min(eye.Z, point.Z)},
		pose.Vec3{X: max(eye.X, point.X), Y: max(eye.Y, point.Y), Z: max(eye.Z, point.Z)},
	}
	return s.any(a.Frame, along, func(b *solid) bool {
		if b.Place || b.Name == a.Name || b.Name == from.Name {
			return false
		}
		enter, leave, ok := b.through(eye, way)
		switch {
		case !ok || enter <= 0 || enter >= 1:
			return false
		case leave < 1:
			return (leave-enter)*length > surface
		}
		return (1-enter)*length > s.rules.Contact
	})
}
