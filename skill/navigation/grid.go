package navigation

import (
	"math"

	"github.com/seed-301d4374/engram"
)

// State is what is known of a cell.
type State uint8

const (
	Free State = iota
	Occupied
	Unknown
)

// Point is a place on the floor, metres in the frame of the map.
type Point struct{ X, Y float64 }

// Distance returns how far q is from p, metres.
func (p Point) Distance(q Point) float64 { return math.Hypot(q.X-p.X, q.Y-p.Y) }

// Pose2D is a pose on the floor: where, and the direction that is ahead.
type Pose2D struct {
	Point
	Yaw float64
}

// Grid is an occupancy grid. Cell (x, y) is Cells[y*Width+x]; cell (0, 0) has its corner at
// Origin, rows go up along the y axis of Origin.
type Grid struct {
	Width, Height int
	Resolution    float64 // metres per cell
	Origin        Pose2D  // of the lower left corner, in the frame of the map
	Cells         []State
}

// Check returns an Invalid error for a grid that is none.
func (g *Grid) Check() error {
	switch {
	case g.Width <= 0 || g.Height <= 0 || g.Width > math.MaxInt32/g.Height || len(g.Cells) != g.Width*g.Height:
		return engram.Errorf(engram.Invalid, "", "the grid has %d x %d cells and %d states", g.Width, g.Height, len(g.Cells))
	case !(g.Resolution > 0) || math.IsInf(g.Resolution, 0):
		return engram.Errorf(engram.Invalid, "", "the resolution of the grid is %g m; it is positive", g.Resolution)
	case math.IsNaN(g.Origin.X+g.Origin.Y+g.Origin.Yaw) || math.IsInf(g.Origin.X+g.Origin.Y+g.Origin.Yaw, 0):
		return engram.Errorf(engram.Invalid, "", "the origin of the grid is not finite")
	}
	return nil
}

// toCells returns a point in cells from the lower left corner; centres are at halves.
func (g *Grid) toCells(p Point) (x, y float64) {
	dx, dy := (p.X-g.Origin.X)/g.Resolution, (p.Y-g.Origin.Y)/g.Resolution
	if g.Origin.Yaw == 0 {
		return dx, dy
	}
	s, c := math.Sincos(g.Origin.Yaw)
	return c*dx + s*dy, c*dy - s*dx
}

func (g *Grid) fromCells(x, y float64) Point {
	x, y = x*g.Resolution, y*g.Resolution
	if g.Origin.Yaw != 0 {
		s, c := math.Sincos(g.Origin.Yaw)
		x, y = c*x-s*y, s*x+c*y
	}
	return Point{g.Origin.X + x, g.Origin.Y + y}
}

// Cell returns the cell that a point lies in; ok is false outside the grid.
func (g *Grid) Cell(p Point) (x, y int, ok bool) {
	fx, fy := g.toCells(p)
	if !(fx >= 0 && fy >= 0 && fx < float64(g.Width) && fy < float64(g.Height)) {
		return 0, 0, false
	}
	return int(fx), int(fy), true
}

// Center returns the centre of a cell.
func (g *Grid) Center(x, y int) Point { return g.fromCells(float64(x)+0.5, float64(y)+0.5) }
