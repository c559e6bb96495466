package navigation

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// step is how high what lies on the floor may be without being an obstacle, metres.
const step = 0.02

// outline returns what a box covers of the floor, the hull of its corners; nil if it is above the robot, or so flat that the robot
// drives over it.
func outline(mapFromItem pose.Pose, b *world.Box, height float64) []grid.Point {
	low, high := math.Inf(1), math.Inf(-1)
	var corners []grid.Point
	at := mapFromItem.Mul(b.Pose)
	for i := range 8 {
		sign := func(bit int) float64 { return float64(i>>bit&1) - 0.5 }
		c := at.Apply(pose.Vec3{X: sign(0) * b.Size.X, Y: sign(1) * b.Size.Y, Z: sign(2) * b.Size.Z})
		low, high = min(low, c.Z), max(high, c.Z)
		corners = append(corners, grid.Point{X: c.X, Y: c.Y})
	}
	if high <= step || low >= height {
		return nil
	}
	return hull(corners)
}

// hull returns the convex hull of points, counter-clockwise from the leftmost one. (Andrew's monotone chain.)
func hull(points []grid.Point) []grid.Point {
	slices.SortFunc(points, func(a, b grid.Point) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	points = slices.Compact(points)
	if len(points) < 3 {
		return points
	}
	half := func(points []grid.Point) (chain []grid.Point) {
		for _, p := range points {
			for n := len(chain); n > 1 && turn(chain[n-2], chain[n-1], p) <= 0; n = len(chain) {
				chain = chain[:n-1]
			}
			chain = append(chain, p)
		}
		return chain[:len(chain)-1] // the other half begins with the last
	}
	lower := half(points)
	slices.Reverse(points)
	return append(lower, half(points)...)
}

// turn is positive if the way from a over b to c turns left.
func turn(a, b, c grid.Point) float64 { return (b.X-a.X)*(c.Y-a.Y) - (b.Y-a.Y)*(c.X-a.X) }
