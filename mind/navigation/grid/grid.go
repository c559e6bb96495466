package grid

import (
	"math"
	"strconv"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/world/files"
)

// Point is a position in the map's frame, metres.
type Point struct{ X, Y float64 }

// Distance returns how far another point is, metres.
func (p Point) Distance(q Point) float64 { return math.Hypot(p.X-q.X, p.Y-q.Y) }

// Between returns the point at a share of the straight line to another one.
func (p Point) Between(q Point, share float64) Point {
	return Point{p.X + share*(q.X-p.X), p.Y + share*(q.Y-p.Y)}
}

// NearestOn returns the point of the straight line from a to b that is nearest.
func (p Point) NearestOn(a, b Point) Point {
	dx, dy := b.X-a.X, b.Y-a.Y
	square := dx*dx + dy*dy
	if square == 0 {
		return a
	}
	return a.Between(b, min(max(((p.X-a.X)*dx+(p.Y-a.Y)*dy)/square, 0), 1))
}

// String returns "(x, y)", to the millimetre.
func (p Point) String() string { return "(" + milli(p.X) + ", " + milli(p.Y) + ")" }

func milli(x float64) string { return strconv.FormatFloat(math.Round(x*1000)/1000+0, 'f', -1, 64) }

// Cell is the column and the row of a cell, counted from the lower left corner.
type Cell struct{ X, Y int }

// Unknown is the occupancy of a cell of which nothing is known.
const Unknown = -1

// Grid is an occupancy grid. It must not be changed once something was built on it.
type Grid struct {
	Width, Height int
	Resolution    float64 // edge of a cell, metres
	Origin        Point   // the lower left corner, in the map's frame
	Yaw           float64 // by which the grid is turned around that corner, radians
	Cells         []int8  // from Unknown and 0, free, to 100, occupied; row by row from the lower left
	MostFree      int8    // the greatest occupancy of a cell that is free
}

// FromFile returns the grid of a map file. Free is what lies below its free_thresh.
func FromFile(f *files.Grid) *Grid {
	g := &Grid{
		Width: f.Width, Height: f.Height, Resolution: f.Resolution,
		Origin: Point{f.Origin[0], f.Origin[1]}, Yaw: f.Origin[2], Cells: f.Cells(),
	}
	if f.Mode == "raw" {
		g.MostFree = int8(math.Ceil(100*f.Free)) - 1
	}
	return g
}

// Check returns an error of the code Invalid if the numbers of the grid do not fit together.
func (g *Grid) Check() error {
	switch {
	case g.Width <= 0 || g.Height <= 0 || g.Width > files.MaxPixels || g.Height > files.MaxPixels/g.Width:
		return engram.Errorf(engram.Invalid, "grid", "it has %d x %d cells; at least one and at most %d are taken", g.Width, g.Height, files.MaxPixels)
	case len(g.Cells) != g.Width*g.Height:
		return engram.Errorf(engram.Invalid, "grid", "it has %d x %d cells, and the occupancy of %d is given", g.Width, g.Height, len(g.Cells))
	case !positive(g.Resolution):
		return engram.Errorf(engram.Invalid, "grid", "its resolution is %g m; it is positive and finite", g.Resolution)
	case !finite(g.Origin.X) || !finite(g.Origin.Y) || !finite(g.Yaw):
		return engram.Errorf(engram.Invalid, "grid", "its origin %v with the yaw %g is not finite", g.Origin, g.Yaw)
	}
	return nil
}

func finite(x float64) bool { return x-x == 0 }

func positive(x float64) bool { return x > 0 && finite(x) }

// Position is a place in a grid, counted in cells from its lower left corner: cell (2, 5) goes from
// (2, 5) to (3, 6), without its right and its upper border.
type Position struct{ U, V float64 }

// PositionOf returns where a point of the map's frame is in the grid, or beside it.
func (g *Grid) PositionOf(p Point) Position {
	sin, cos := math.Sincos(g.Yaw)
	x, y := p.X-g.Origin.X, p.Y-g.Origin.Y
	return Position{(cos*x + sin*y) / g.Resolution, (cos*y - sin*x) / g.Resolution}
}

// PointOf is the inverse of PositionOf.
func (g *Grid) PointOf(at Position) Point {
	sin, cos := math.Sincos(g.Yaw)
	x, y := at.U*g.Resolution, at.V*g.Resolution
	return Point{g.Origin.X + cos*x - sin*y, g.Origin.Y + sin*x + cos*y}
}

// Cell returns the cell that a position is in, which may lie outside of a grid.
func (p Position) Cell() Cell { return Cell{int(math.Floor(p.U)), int(math.Floor(p.V))} }

// Centre returns the position of the centre of a cell.
func (c Cell) Centre() Position { return Position{float64(c.X) + 0.5, float64(c.Y) + 0.5} }

// Distance returns how far another position is, in cells.
func (p Position) Distance(q Position) float64 { return math.Hypot(p.U-q.U, p.V-q.V) }

// CellOf returns the cell that a point is in. ok is false outside of the grid, to which its left
// and lower borders belong, and its right and upper ones do not.
func (g *Grid) CellOf(p Point) (c Cell, ok bool) {
	at := g.PositionOf(p)
	if !(at.U >= 0 && at.V >= 0 && at.U < float64(g.Width) && at.V < float64(g.Height)) {
		return Cell{}, false
	}
	return at.Cell(), true
}

// CentreOf returns the centre of a cell.
func (g *Grid) CentreOf(c Cell) Point { return g.PointOf(c.Centre()) }

// Has tells whether a cell is in the grid.
func (g *Grid) Has(c Cell) bool {
	return uint(c.X) < uint(g.Width) && uint(c.Y) < uint(g.Height)
}

// At returns the occupancy of a cell of the grid.
func (g *Grid) At(c Cell) int8 { return g.Cells[c.Y*g.Width+c.X] }

// alike tells whether two grids differ in their cells at most.
func (g *Grid) alike(h *Grid) bool {
	return g.Width == h.Width && g.Height == h.Height && g.Resolution == h.Resolution && g.Origin == h.Origin && g.Yaw == h.Yaw && g.MostFree == h.MostFree
}

// difference returns the region of the cells in which a grid differs from one that is alike.
func (g *Grid) difference(h *Grid) (changed Region) {
	for y := range g.Height {
		row, old := g.Cells[y*g.Width:(y+1)*g.Width], h.Cells[y*g.Width:(y+1)*g.Width]
		for x := range row {
			if row[x] != old[x] {
				changed = changed.Union(Region{x, y, x + 1, y + 1})
			}
		}
	}
	return changed
}

// Region is the cells from (X0, Y0) to (X1-1, Y1-1).
type Region struct{ X0, Y0, X1, Y1 int }

// Whole returns the region of all cells.
func (g *Grid) Whole() Region { return Region{0, 0, g.Width, g.Height} }

// Empty tells whether a region has no cell.
func (r Region) Empty() bool { return r.X0 >= r.X1 || r.Y0 >= r.Y1 }

// Has tells whether a cell is in the region.
func (r Region) Has(c Cell) bool { return c.X >= r.X0 && c.X < r.X1 && c.Y >= r.Y0 && c.Y < r.Y1 }

// Grow returns a region with so many cells more at each side, as far as they are in another one.
func (r Region) Grow(cells int, within Region) Region {
	return Region{
		max(r.X0-cells, within.X0), max(r.Y0-cells, within.Y0),
		min(r.X1+cells, within.X1), min(r.Y1+cells, within.Y1),
	}
}

// Union returns the smallest region that has two.
func (r Region) Union(s Region) Region {
	switch {
	case r.Empty():
		return s
	case s.Empty():
		return r
	}
	return Region{min(r.X0, s.X0), min(r.Y0, s.Y0), max(r.X1, s.X1), max(r.Y1, s.Y1)}
}

// Overlaps tells whether two regions share cells.
func (r Region) Overlaps(s Region) bool {
	return max(r.X0, s.X0) < min(r.X1, s.X1) && max(r.Y0, s.Y0) < min(r.Y1, s.Y1)
}
