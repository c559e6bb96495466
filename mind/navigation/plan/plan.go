package plan

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
)

// ErrUnreachable is wrapped by errors that say that there is no way: both ends are places where the
// robot may be, and walls part them.
var ErrUnreachable = errors.New("there is no way")

// MostWeight is how much the cost of cells may weigh.
const MostWeight = 1000

// Options say how to plan. The zero value asks for the shortest path, straightened.
type Options struct {
	// Weight keeps the path away from walls: a metre at the greatest cost that can be entered
	// counts as 1 + Weight metres. With 0 the path is as short as can be.
	Weight float64
	// NoSmoothing leaves the path as it was searched, from cell to cell.
	NoSmoothing bool
}

// check returns an error of the code Invalid for options that say nothing sensible.
func (o Options) check() error {
	if !(o.Weight >= 0 && o.Weight <= MostWeight) {
		return engram.Errorf(engram.Invalid, "weight", "it is %g; it is from 0 to %d", o.Weight, MostWeight)
	}
	return nil
}

// Find returns a path between two points of the map. It begins and ends exactly there; in between
// it goes through centres of cells. Without weight, unknown space and smoothing it is the shortest
// over steps to eight neighbours, of which a diagonal one needs both cells beside it; with
// smoothing it is never longer.
//
// The code of errors is OutOfRange for a point outside of the map, Invalid for one where the robot
// cannot be and for a map on which it can be nowhere, NotFound with [ErrUnreachable] if there is no
// way, and Canceled. Any number of goroutines may call it.
func Find(ctx context.Context, m *grid.Costmap, from, to grid.Point, o Options) (*Path, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	start, err := place(m, "start", from)
	if err != nil {
		return nil, err
	}
	goal, err := place(m, "goal", to)
	if err != nil {
		return nil, err
	}
	s := newSearch(m, target{cell: goal}, o)
	defer s.release()
	if err := s.run(ctx, start); err != nil {
		return nil, err
	}
	if !s.found {
		return nil, engram.Errorf(engram.NotFound, "path", "%w from %v to %v for a robot of %s: both places are free, and what lies between them is not",
			ErrUnreachable, from, to, size(m))
	}
	return s.path(from, to), nil
}

// place returns the cell of a point where the robot may be.
func place(m *grid.Costmap, which string, p grid.Point) (grid.Cell, error) {
	c, ok := m.Grid().CellOf(p)
	if !ok {
		return c, engram.Errorf(engram.OutOfRange, which, "%v lies outside of the map, %s", p, extent(m.Grid()))
	}
	if m.CanEnter(c) {
		return c, nil
	}
	near, away, ok := m.Nearest(p)
	if !ok {
		return c, engram.Errorf(engram.Invalid, "map", "it has no free cell for a robot of %s: %s", size(m), emptiness(m.Grid()))
	}
	return c, engram.Errorf(engram.Invalid, which, "%v %s; the nearest place for the robot is %v, %.3g m away", p, obstruction(m, c), m.Grid().CentreOf(near), away)
}

// obstruction says why the robot cannot be in a cell.
func obstruction(m *grid.Costmap, c grid.Cell) string {
	clearance, _ := m.Clearance(c)
	switch occupancy := m.Grid().At(c); {
	case clearance > 0:
		return fmt.Sprintf("is %.3g m from an obstacle, nearer than a robot of %s can be", clearance, size(m))
	case occupancy < 0:
		return "lies in unknown space, which is not entered"
	case occupancy > m.Grid().MostFree:
		return "lies in a wall"
	}
	return "lies in an object"
}

// emptiness says why a robot may be nowhere on a map.
func emptiness(g *grid.Grid) string {
	free := 0
	for _, occupancy := range g.Cells {
		if occupancy >= 0 && occupancy <= g.MostFree {
			free++
		}
	}
	if free == 0 {
		return "nothing of it is free; look at negate and free_thresh of its file"
	}
	return fmt.Sprintf("%d of %d cells are free, and all of them too near to obstacles; look at the radius and the resolution", free, len(g.Cells))
}

// size says how large the robot of a map is.
func size(m *grid.Costmap) string {
	_, radius := m.Config().Footprint.Radii()
	return fmt.Sprintf("%.3g m radius", radius)
}

// extent says where a grid lies.
func extent(g *grid.Grid) string {
	w, h := float64(g.Width), float64(g.Height)
	if g.Yaw == 0 {
		return fmt.Sprintf("which goes from %v to %v", g.Origin, g.PointOf(grid.Position{U: w, V: h}))
	}
	return fmt.Sprintf("which has the corners %v, %v, %v and %v", g.Origin, g.PointOf(grid.Position{U: w}), g.PointOf(grid.Position{U: w, V: h}), g.PointOf(grid.Position{V: h}))
}

// Ring is how near to a point a place is to be, metres.
type Ring struct{ Min, Max float64 }

// Approach returns the path to the place in a ring around a point, such as where a cup stands, that
// is nearest by way. The point may lie in an obstacle, or outside of the map.
//
// The errors are those of [Find]; if the robot can be nowhere in the ring the code is Invalid, and
// NotFound with [ErrUnreachable] if it gets to none of its places.
func Approach(ctx context.Context, m *grid.Costmap, from, around grid.Point, r Ring, o Options) (*Path, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if !(r.Min >= 0 && r.Min <= r.Max) || math.IsInf(r.Max, 0) {
		return nil, engram.Errorf(engram.Invalid, "ring", "it goes from %g m to %g m; 0 ≤ min ≤ max is expected", r.Min, r.Max)
	}
	if sum := around.X + around.Y; sum-sum != 0 {
		return nil, engram.Errorf(engram.Invalid, "goal", "%v is not finite", around)
	}
	start, err := place(m, "start", from)
	if err != nil {
		return nil, err
	}
	s := newSearch(m, ringTarget(m.Grid(), around, r), o)
	defer s.release()
	if !s.goal.any(m) {
		return nil, engram.Errorf(engram.Invalid, "goal", "a robot of %s can be nowhere from %g m to %g m around %v; widen the ring", size(m), r.Min, r.Max, around)
	}
	if err := s.run(ctx, start); err != nil {
		return nil, err
	}
	if !s.found {
		return nil, engram.Errorf(engram.NotFound, "path", "%w from %v to a place from %g m to %g m around %v for a robot of %s", ErrUnreachable, from, r.Min, r.Max, around, size(m))
	}
	if s.end == start {
		return s.path(from, from), nil
	}
	return s.path(from, m.Grid().CentreOf(s.end)), nil
}
