package plan

import (
	"math"

	"github.com/seed-301d4374/engram/mind/navigation/grid"
)

// target is where a search ends: a cell, or any whose centre lies in a ring around a point.
type target struct {
	cell         grid.Cell
	ring         bool
	centre       grid.Position
	inner, outer float64 // of the ring, in cells
}

// ringTarget returns the target of a ring around a point.
func ringTarget(g *grid.Grid, around grid.Point, r Ring) target {
	return target{ring: true, centre: g.PositionOf(around), inner: r.Min / g.Resolution, outer: r.Max / g.Resolution}
}

// slack is by how much distances may miss one that is a multiple of the resolution, in cells.
const slack = 1e-9

// has tells whether a cell is one of the target.
func (t *target) has(x, y int) bool {
	if !t.ring {
		return x == t.cell.X && y == t.cell.Y
	}
	d := t.distance(x, y)
	return d >= t.inner-slack && d <= t.outer+slack
}

// distance returns how far the centre of a cell is from that of the ring.
func (t *target) distance(x, y int) float64 {
	return grid.Cell{X: x, Y: y}.Centre().Distance(t.centre)
}

// least returns what a path from a cell costs at least, in cells.
func (t *target) least(x, y int) float64 {
	if t.ring {
		return max(t.distance(x, y)-t.outer-slack, 0)
	}
	dx, dy := float64(abs(x-t.cell.X)), float64(abs(y-t.cell.Y))
	return max(dx, dy) + (math.Sqrt2-1)*min(dx, dy)
}

func abs(x int) int { return max(x, -x) }

// any tells whether the robot may be in a cell of the target.
func (t *target) any(m *grid.Costmap) bool {
	index := func(x float64, size int) int { return int(min(max(math.Floor(x), 0), float64(size))) }
	g := m.Grid()
	for y := index(t.centre.V-t.outer-1, g.Height); y < index(t.centre.V+t.outer+2, g.Height); y++ {
		for x := index(t.centre.U-t.outer-1, g.Width); x < index(t.centre.U+t.outer+2, g.Width); x++ {
			if t.has(x, y) && m.CanEnter(grid.Cell{X: x, Y: y}) {
				return true
			}
		}
	}
	return false
}
