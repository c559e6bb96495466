package grid

import (
	"math"

	"github.com/seed-301d4374/engram"
)

// Footprint is what a robot covers of the floor: a circle, or a polygon around its root link.
type Footprint struct {
	Radius  float64 // of a round robot, metres
	Polygon []Point // of another: its corners in the frame of its root link, x is forward; Radius is 0
}

// Radii returns the radius of the largest circle around the root link that fits into the
// footprint, and of the smallest one that has all of it, metres. An obstacle nearer than the first
// is hit in any case; one beyond the second is not hit, wherever the robot turns.
func (f Footprint) Radii() (inscribed, circumscribed float64) {
	if len(f.Polygon) == 0 {
		return f.Radius, f.Radius
	}
	inscribed = math.Inf(1)
	last := f.Polygon[len(f.Polygon)-1]
	for _, p := range f.Polygon {
		inscribed = min(inscribed, Point{}.Distance(Point{}.NearestOn(last, p)))
		circumscribed = max(circumscribed, p.Distance(Point{}))
		last = p
	}
	return inscribed, circumscribed
}

// Check returns an error of the code Invalid for what is no footprint.
func (f Footprint) Check() error {
	if len(f.Polygon) == 0 {
		if !(f.Radius >= 0) || !finite(f.Radius) {
			return engram.Errorf(engram.Invalid, "footprint", "its radius is %g m; it is 0 or more and finite", f.Radius)
		}
		return nil
	}
	if f.Radius != 0 {
		return engram.Errorf(engram.Invalid, "footprint", "it has a radius and a polygon; it has one of them")
	}
	if len(f.Polygon) < 3 || len(f.Polygon) > MostCorners {
		return engram.Errorf(engram.Invalid, "footprint", "its polygon has %d corners; it has from 3 to %d", len(f.Polygon), MostCorners)
	}
	for i, p := range f.Polygon {
		if !finite(p.X) || !finite(p.Y) {
			return engram.Errorf(engram.Invalid, "footprint", "its corner %d is %v, which is not finite", i, p)
		}
	}
	if !encloses(f.Polygon, Point{}) {
		return engram.Errorf(engram.Invalid, "footprint", "the root link, (0, 0), lies outside of its polygon; give the corners in the frame of the root link")
	}
	return nil
}

// encloses tells whether a point is inside a polygon, by how often a ray from it crosses its edges.
func encloses(polygon []Point, p Point) (inside bool) {
	last := polygon[len(polygon)-1]
	for _, corner := range polygon {
		if (corner.Y > p.Y) != (last.Y > p.Y) && p.X < last.X+(p.Y-last.Y)/(corner.Y-last.Y)*(corner.X-last.X) {
			inside = !inside
		}
		last = corner
	}
	return inside
}
