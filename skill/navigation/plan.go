package navigation

import (
	"context"
	"math"
	"slices"
	"sync"
)

// Path is a way that can be driven: straight lines from point to point.
type Path []Point

// Length returns its length, metres.
func (p Path) Length() (l float64) {
	for i := 1; i < len(p); i++ {
		l += p[i-1].Distance(p[i])
	}
	return l
}

// Planner finds a path on a cost map. A path begins at the start and ends at the goal. The error
// is a *[Failure] if there is none, or the context's. It may be called concurrently, with different
// cost maps.
type Planner interface {
	Plan(ctx context.Context, on *Costmap, start, goal Point) (Path, error)
}

// GridPlanner finds the cheapest path over the centres of cells, by steps to the 8 neighbours; a
// diagonal step needs both cells beside it to be enterable. Then it takes shortcuts. The zero
// GridPlanner is ready.
type GridPlanner struct {
	NoSmoothing bool // without shortcuts

	pool sync.Pool // of *search
}

// Plan implements [Planner].
func (p *GridPlanner) Plan(ctx context.Context, on *Costmap, start, goal Point) (Path, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if on.free == 0 {
		return nil, fail(NoFreeCell, start, "the map has no cell that can be entered with a radius of %g m", on.inflation.Radius)
	}
	from, err := on.endOf(start, "start", StartOutside, StartBlocked)
	if err != nil {
		return nil, err
	}
	to, err := on.endOf(goal, "goal", GoalOutside, GoalBlocked)
	if err != nil {
		return nil, err
	}
	s, _ := p.pool.Get().(*search)
	if s == nil {
		s = &search{}
	}
	run := s.run
	if on.shape != nil {
		run = s.runShaped
	}
	cells, err := run(ctx, on, from, to)
	p.pool.Put(s)
	switch {
	case err != nil:
		return nil, err
	case cells == nil:
		return nil, fail(Unreachable, goal, "nothing leads from (%.3f, %.3f) to (%.3f, %.3f) with a radius of %g m", start.X, start.Y, goal.X, goal.Y, on.inflation.Radius)
	}
	path := make(Path, 0, len(cells)+1)
	for _, at := range cells {
		path = append(path, on.Center(int(at)%(on.Width+2)-1, int(at)/(on.Width+2)-1))
	}
	if path[0] = start; len(path) == 1 {
		path = append(path, goal)
	}
	path[len(path)-1] = goal
	if on.shape != nil {
		path = on.lead(path)
		slices.Reverse(path)
		path = on.lead(path)
		slices.Reverse(path)
	}
	if p.NoSmoothing {
		return path, nil
	}
	return on.smooth(path), nil
}

// endOf returns the cell of a start or goal.
func (c *Costmap) endOf(p Point, what string, outside, blocked Reason) (int, error) {
	x, y, ok := c.Cell(p)
	if !ok {
		return 0, fail(outside, p, "the %s (%.3f, %.3f) lies outside the map", what, p.X, p.Y)
	}
	if at := c.padded(x, y); c.enter[at]&enterable != 0 {
		if c.enter[at]&tight != 0 && !c.fits(x, y) {
			return 0, fail(blocked, p, "at the %s (%.3f, %.3f) the footprint does not fit in any direction", what, p.X, p.Y)
		}
		return at, nil
	}
	switch s := c.Cells[y*c.Width+x]; {
	case s == Occupied:
		return 0, fail(blocked, p, "the %s (%.3f, %.3f) lies in an obstacle", what, p.X, p.Y)
	case c.blocks(s):
		return 0, fail(blocked, p, "the %s (%.3f, %.3f) lies in unknown space, which is not entered unless it is given a cost", what, p.X, p.Y)
	}
	return 0, fail(blocked, p, "the %s (%.3f, %.3f) lies %.3f m from what is not free, nearer than the radius of %.4g m",
		what, p.X, p.Y, c.Clearance(x, y), c.least())
}

// Nearest returns the centre of the cell that is nearest to a point and can be entered in every direction,
// within a distance in metres; the point itself if it can be entered. ok is false if there is none.
func (c *Costmap) Nearest(p Point, within float64) (q Point, ok bool) {
	if c.Enterable(p) {
		return p, true
	}
	fx, fy := c.toCells(p)
	reach := min(within/c.Resolution, float64(2*(c.Width+c.Height)))
	best := math.Inf(1)
	r := Rect{int(fx - reach - 1), int(fy - reach - 1), int(fx + reach + 2), int(fy + reach + 2)}.clip(c.Width, c.Height)
	for y := r.Y0; y < r.Y1; y++ {
		for x := r.X0; x < r.X1; x++ {
			if c.enter[c.padded(x, y)]&(enterable|tight) != enterable {
				continue
			}
			if d := math.Hypot(float64(x)+0.5-fx, float64(y)+0.5-fy); d < best && d <= reach+rounding {
				best, q, ok = d, c.Center(x, y), true
			}
		}
	}
	return q, ok
}
