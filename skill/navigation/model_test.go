package navigation_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram/skill/navigation"
)

// naive is a grid on which everything is looked at anew each time.
type naive struct {
	navigation.Grid
	i navigation.Inflation
}

func (n *naive) blocks(x, y int) bool {
	s := n.Cells[y*n.Width+x]
	return s == navigation.Occupied || s == navigation.Unknown && n.i.UnknownCost == 0
}

func (n *naive) enterable(x, y int) bool {
	if x < 0 || y < 0 || x >= n.Width || y >= n.Height {
		return false
	}
	for oy := range n.Height {
		for ox := range n.Width {
			if n.blocks(ox, oy) && (ox == x && oy == y || math.Hypot(float64(ox-x), float64(oy-y))*n.Resolution < n.i.Radius-1e-9) {
				return false
			}
		}
	}
	return true
}

// cheapest returns what the cheapest path over cells costs, in metres, by looking at all steps until
// nothing becomes cheaper; infinite if there is none.
func (n *naive) cheapest(from, to [2]int) float64 {
	enter := make([]bool, len(n.Cells))
	cost := make([]float64, len(n.Cells))
	for i := range enter {
		enter[i], cost[i] = n.enterable(i%n.Width, i/n.Width), math.Inf(1)
	}
	if !enter[from[1]*n.Width+from[0]] || !enter[to[1]*n.Width+to[0]] {
		return math.Inf(1)
	}
	can := func(x, y int) bool {
		return x >= 0 && y >= 0 && x < n.Width && y < n.Height && enter[y*n.Width+x]
	}
	cost[from[1]*n.Width+from[0]] = 0
	for changed := true; changed; {
		changed = false
		for y := range n.Height {
			for x := range n.Width {
				for dy := -1; dy <= 1; dy++ {
					for dx := -1; dx <= 1; dx++ {
						if dx == 0 && dy == 0 || !can(x, y) || !can(x+dx, y+dy) || !can(x+dx, y) || !can(x, y+dy) {
							continue
						}
						l := math.Hypot(float64(dx), float64(dy)) * n.Resolution
						for _, c := range [][2]int{{x, y}, {x + dx, y + dy}, {x + dx, y}, {x, y + dy}} {
							if n.Cells[c[1]*n.Width+c[0]] == navigation.Unknown {
								l *= n.i.UnknownCost
								break
							}
						}
						if c := cost[y*n.Width+x] + l; c < cost[(y+dy)*n.Width+x+dx]-1e-9 {
							cost[(y+dy)*n.Width+x+dx] = c
							changed = true
						}
					}
				}
			}
		}
	}
	return cost[to[1]*n.Width+to[0]]
}

// On any grid the planner's path costs what the naive one finds; smoothed it is not longer, stays in cells
// that can be entered, and every line that is no step from cell to cell keeps the radius all along.
func TestPlannerIsTheNaiveOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &naive{}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) // drawn cells would mostly be alike
		n.Width, n.Height = 1+random.IntN(14), 1+random.IntN(14)
		n.Resolution = rapid.SampledFrom([]float64{0.05, 0.1, 1}).Draw(t, "resolution")
		n.i.Radius = rapid.SampledFrom([]float64{0, 0.5, 1, 1.5, 2, 3}).Draw(t, "radius") * n.Resolution
		n.i.UnknownCost = rapid.SampledFrom([]float64{0, 0, 1, 2.5}).Draw(t, "unknown")
		dense := 2 + random.IntN(40)
		for range n.Width * n.Height {
			s := navigation.State(1 + random.IntN(dense))
			if s > navigation.Unknown {
				s = navigation.Free
			}
			n.Cells = append(n.Cells, s)
		}
		cell := func() [2]int { return [2]int{random.IntN(n.Width), random.IntN(n.Height)} }
		from, to := cell(), cell()
		c, err := navigation.NewCostmap(n.Grid, n.i)
		if err != nil {
			t.Fatal(err)
		}
		start, goal := c.Center(from[0], from[1]), c.Center(to[0], to[1])
		path, err := (&navigation.GridPlanner{NoSmoothing: true}).Plan(context.Background(), c, start, goal)
		want := n.cheapest(from, to)
		if math.IsInf(want, 1) {
			if _, ok := errors.AsType[*navigation.Failure](err); !ok {
				t.Fatalf("there is no path, and the planner has %v, %v", path, err)
			}
			return
		}
		if err != nil {
			t.Fatalf("there is a path of %g m, and the planner has %v", want, err)
		}
		if n.i.UnknownCost <= 1 && math.Abs(path.Length()-want) > 1e-6 || path.Length() > want+1e-6 {
			t.Fatalf("the path has %g m, and the shortest %g m", path.Length(), want)
		}
		short, err := (&navigation.GridPlanner{}).Plan(context.Background(), c, start, goal)
		if err != nil || short.Length() > path.Length()+1e-9 {
			t.Fatalf("%g m smoothed, %g m before: %v", short.Length(), path.Length(), err)
		}
		for i := 1; i < len(short); i++ {
			a, b := short[i-1], short[i]
			step := a.Distance(b) <= 1.5*n.Resolution
			line := navigation.Outline{a, b}
			for y := range n.Height {
				for x := range n.Width {
					if n.blocks(x, y) && !step && line.Distance(c.Center(x, y)) < n.i.Radius-1e-6 && !along(path, a, b) {
						t.Fatalf("the line from %v to %v comes to %g m of cell %d,%d", a, b, line.Distance(c.Center(x, y)), x, y)
					}
				}
			}
			for k := range 101 {
				f := float64(k) / 100
				if p := (navigation.Point{X: a.X + f*(b.X-a.X), Y: a.Y + f*(b.Y-a.Y)}); !c.Enterable(p) {
					t.Fatalf("the line from %v to %v leads through %v", a, b, p)
				}
			}
		}
	})
}

// along reports whether a line is part of the path over cells.
func along(path navigation.Path, a, b navigation.Point) bool {
	for _, p := range path {
		if (navigation.Outline{a, b}).Distance(p) < 1e-9 && p.Distance(a) > 1e-9 && p.Distance(b) > 1e-9 {
			return true
		}
	}
	return false
}
