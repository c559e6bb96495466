package plan

import (
	"math"

	"github.com/seed-301d4374/engram/mind/navigation/grid"
)

// Path is a way over a map: straight lines between points.
type Path struct {
	Points []grid.Point // from the start to the goal, in the map's frame; one if they are the same
	Length float64      // metres
}

// path returns the path that was found between two points of its first and its last cell.
func (s *search) path(from, to grid.Point) *Path {
	g := s.m.Grid()
	way := s.positions(g.PositionOf(from), g.PositionOf(to))
	cells := length(way)
	if !s.options.NoSmoothing {
		way = s.smooth(way)
		cells = min(cells, length(way)) // not longer by what rounding makes of the same line
	}
	p := &Path{Points: make([]grid.Point, len(way)), Length: cells * g.Resolution}
	for i, at := range way {
		p.Points[i] = g.PointOf(at)
	}
	p.Points[0], p.Points[len(way)-1] = from, to
	return p
}

// length returns how long a way is, in cells.
func length(way []grid.Position) (cells float64) {
	for i := range way[1:] {
		cells += way[i].Distance(way[i+1])
	}
	return cells
}

// Block is where a path cannot be followed.
type Block struct {
	At    grid.Point // where the path enters the first cell in which the robot cannot be
	Ahead float64    // how far that is along the path, metres
}

// Blocked tells whether a path is no longer free on a map, and where: from the point of it that is
// nearest to where the robot is. A path that leaves the map is blocked there.
func (p *Path) Blocked(m *grid.Costmap, robot grid.Point) (b Block, blocked bool) {
	if len(p.Points) == 0 {
		return Block{}, false
	}
	g := m.Grid()
	next, at := p.nearest(robot)
	for _, to := range append([]grid.Point{at}, p.Points[next:]...) {
		gone, whole := 0.0, at.Distance(to)
		free := grid.Walk(g.PositionOf(at), g.PositionOf(to), func(c grid.Cell, cells float64) bool {
			if !m.CanEnter(c) {
				return false
			}
			gone += cells * g.Resolution
			return true
		})
		if !free {
			gone = min(gone, whole)
			return Block{At: at.Between(to, gone/max(whole, math.SmallestNonzeroFloat64)), Ahead: b.Ahead + gone}, true
		}
		at = to
		b.Ahead += whole
	}
	return Block{}, false
}

// nearest returns the point of a path that is nearest to another one, and the index of the point
// of the path that comes next.
func (p *Path) nearest(to grid.Point) (next int, at grid.Point) {
	next, at = len(p.Points), p.Points[len(p.Points)-1]
	if len(p.Points) == 1 {
		return next, at
	}
	best := math.Inf(1)
	for i, from := range p.Points[:len(p.Points)-1] {
		onLine := to.NearestOn(from, p.Points[i+1])
		if d := onLine.Distance(to); d < best {
			best, next, at = d, i+1, onLine
		}
	}
	return next, at
}
