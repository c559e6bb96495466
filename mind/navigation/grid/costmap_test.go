package grid_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
)

// drawConfig draws a configuration for a grid.
func drawConfig(t *rapid.T, g *grid.Grid) grid.Config {
	return grid.Config{
		Footprint: grid.Footprint{Radius: rapid.Float64Range(0, 4).Draw(t, "radius") * g.Resolution},
		Inflation: rapid.Float64Range(0, 6).Draw(t, "inflation") * g.Resolution,
		Decay:     rapid.Float64Range(0, 5).Draw(t, "decay"),
		Unknown:   rapid.SampledFrom([]float64{0, 1, 3}).Draw(t, "unknown"),
	}
}

// naive is a cost map as its documentation defines it.
type naive struct {
	g        *grid.Grid
	c        grid.Config
	obstacle map[grid.Cell]bool
}

func newNaive(g *grid.Grid, c grid.Config) *naive {
	n := &naive{g, c, map[grid.Cell]bool{}}
	everyCell(g, func(c grid.Cell) {
		v := g.At(c)
		n.obstacle[c] = v > g.MostFree || v < 0 && n.c.Unknown == 0
	})
	return n
}

// distance returns how far a cell is from the nearest obstacle, metres.
func (n *naive) distance(c grid.Cell) float64 {
	nearest := math.Inf(1)
	for o, is := range n.obstacle {
		if is {
			nearest = min(nearest, math.Hypot(float64(c.X-o.X), float64(c.Y-o.Y))*n.g.Resolution)
		}
	}
	return nearest
}

// compare looks at all cells of a cost map.
func (n *naive) compare(t *rapid.T, m *grid.Costmap) {
	everyCell(n.g, func(c grid.Cell) {
		d := n.distance(c)
		if want := !n.obstacle[c] && d >= n.c.Footprint.Radius-1e-9; m.CanEnter(c) != want {
			t.Fatalf("the robot can enter %v, %g m from an obstacle: %v", c, d, m.CanEnter(c))
		}
		got, far := m.Clearance(c)
		if far && d < max(n.c.Footprint.Radius, n.c.Inflation)-1e-9 || !far && math.Abs(got-d) > 1e-9 {
			t.Fatalf("the clearance of %v is %g, %v, not %g", c, got, far, d)
		}
		cost := m.Cost(c)
		switch {
		case n.g.At(c) < 0 && (d > 0 || n.c.Unknown == 0):
			if cost != grid.NoInformation {
				t.Fatalf("unknown %v costs %d", c, cost)
			}
		case d == 0:
			if cost != grid.Lethal {
				t.Fatalf("%v, an obstacle, costs %d", c, cost)
			}
		case d < n.c.Footprint.Radius-1e-8:
			if cost != grid.Inscribed {
				t.Fatalf("%v, %g m from an obstacle, costs %d", c, d, cost)
			}
		case d > n.c.Inflation+1e-8 && d > n.c.Footprint.Radius+1e-8:
			if cost != 0 {
				t.Fatalf("%v, %g m from an obstacle, costs %d", c, d, cost)
			}
		case d < n.c.Inflation-1e-8 && d > n.c.Footprint.Radius+1e-8:
			if want := 252 * math.Exp(-n.c.Decay*(d-n.c.Footprint.Radius)); math.Abs(float64(cost)-want) > 1+1e-6 {
				t.Fatalf("%v, %g m from an obstacle, costs %d, not %g", c, d, cost, want)
			}
		}
	})
	if m.CanEnter(grid.Cell{X: -1}) || m.CanEnter(grid.Cell{Y: n.g.Height}) {
		t.Fatal("the robot can leave the map")
	}
}

func TestCostmap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		c := drawConfig(t, g)
		m, err := grid.New(g, c)
		if err != nil {
			t.Fatal(err)
		}
		newNaive(g, c).compare(t, m)
	})
}

// A grid of more rows than are computed at a time, whose obstacles lie far apart.
func TestTallCostmap(t *testing.T) {
	g := &grid.Grid{Width: 3, Height: 1200, Resolution: 0.1, Cells: make([]int8, 3600)}
	for _, y := range []int{250, 256, 700, 767} {
		g.Cells[3*y+1] = 100
	}
	m, err := grid.New(g, grid.Config{Footprint: grid.Footprint{Radius: 4}})
	if err != nil {
		t.Fatal(err)
	}
	for y := range g.Height {
		free := min(abs(y-250), abs(y-256), abs(y-700), abs(y-767)) >= 40
		if m.CanEnter(grid.Cell{X: 1, Y: y}) != free {
			t.Errorf("the robot can enter row %d: %v", y, !free)
		}
	}
}

func abs(x int) int { return max(x, -x) }

// drawBox draws the corners of a box, turned anyhow, in cells of the grid.
func drawBox(t *rapid.T, g *grid.Grid) []grid.Position {
	centre := grid.Position{U: rapid.Float64Range(-4, 28).Draw(t, "u"), V: rapid.Float64Range(-4, 28).Draw(t, "v")}
	half := rapid.SampledFrom([]float64{0, 0.01, 0.5, 1, 3, 40})
	a, b := half.Draw(t, "long"), half.Draw(t, "wide")
	sin, cos := math.Sincos(rapid.SampledFrom([]float64{0, 0.5, math.Pi / 4, 2, 3}).Draw(t, "turned"))
	var box []grid.Position
	for _, s := range [4][2]float64{{1, 1}, {-1, 1}, {-1, -1}, {1, -1}} {
		x, y := s[0]*a, s[1]*b
		box = append(box, grid.Position{U: centre.U + cos*x - sin*y, V: centre.V + sin*x + cos*y})
	}
	return box
}

// apart returns how far a convex polygon and a cell are apart along the axis that parts them most;
// negative if they overlap.
func apart(polygon []grid.Position, c grid.Cell) float64 {
	x, y := float64(c.X), float64(c.Y)
	square := []grid.Position{{U: x, V: y}, {U: x + 1, V: y}, {U: x + 1, V: y + 1}, {U: x, V: y + 1}}
	axes := []grid.Position{{U: 1}, {V: 1}}
	for i, p := range polygon {
		q := polygon[(i+1)%len(polygon)]
		if l := p.Distance(q); l > 1e-9 {
			axes = append(axes, grid.Position{U: (q.U - p.U) / l, V: (q.V - p.V) / l}, grid.Position{U: (p.V - q.V) / l, V: (q.U - p.U) / l})
		}
	}
	most := math.Inf(-1)
	for _, axis := range axes {
		span := func(of []grid.Position) (low, high float64) {
			low, high = math.Inf(1), math.Inf(-1)
			for _, p := range of {
				d := p.U*axis.U + p.V*axis.V
				low, high = min(low, d), max(high, d)
			}
			return low, high
		}
		low, high := span(polygon)
		from, to := span(square)
		most = max(most, from-high, low-to)
	}
	return most
}

func pointsOf(g *grid.Grid, outline []grid.Position) (points []grid.Point) {
	for _, p := range outline {
		points = append(points, g.PointOf(p))
	}
	return points
}

func TestObjectCoversWhatItTouches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		clear(g.Cells)
		box := drawBox(t, g)
		b, err := grid.NewBuilder(g, grid.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Put("box", pointsOf(g, box)); err != nil {
			t.Fatal(err)
		}
		m := b.Costmap()
		everyCell(g, func(c grid.Cell) {
			switch d := apart(box, c); {
			case d < -1e-6 && m.CanEnter(c):
				t.Fatalf("%v is not covered by %v", c, box)
			case d > 1e-6 && !m.CanEnter(c):
				t.Fatalf("%v is covered by %v, which is %g away", c, box, d)
			}
		})
	})
}

// Whatever lies on a map and was moved and removed, it is as if all was built anew; maps that were
// returned before stay as they were, and nothing changes beyond the regions that are told.
func TestBuilder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		config := drawConfig(t, g)
		b, err := grid.NewBuilder(g, config)
		if err != nil {
			t.Fatal(err)
		}
		objects := map[string][]grid.Point{}
		before := b.Costmap()
		was, costs := rowsOf(before), before.AppendCosts(nil, g.Whole())
		change := func(regions []grid.Region) {
			m := b.Costmap()
			compareWithAnew(t, g, config, objects, m)
			if !slices.EqualFunc(rowsOf(before), was, slices.Equal) || !slices.Equal(before.AppendCosts(nil, g.Whole()), costs) {
				t.Fatal("a cost map has changed")
			}
			everyCell(g, func(c grid.Cell) {
				if (m.Row(c.Y)[c.X+1] != before.Row(c.Y)[c.X+1] || m.Cost(c) != before.Cost(c)) && !slices.ContainsFunc(regions, func(r grid.Region) bool { return r.Has(c) }) {
					t.Fatalf("%v has changed and is not in %v", c, regions)
				}
			})
			before, was, costs = m, rowsOf(m), m.AppendCosts(nil, g.Whole())
		}
		ids := rapid.SampledFrom([]string{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				id, outline := ids.Draw(t, "id"), pointsOf(g, drawBox(t, g))
				outline = outline[:rapid.IntRange(1, 4).Draw(t, "corners")]
				regions, err := b.Put(id, outline)
				if err != nil {
					t.Fatal(err)
				}
				objects[id] = outline
				change(regions)
			},
			"update": func(t *rapid.T) {
				old := g
				g = new(*old)
				g.Cells = slices.Clone(old.Cells)
				for range rapid.IntRange(0, 3).Draw(t, "changes") {
					g.Cells[rapid.IntRange(0, len(g.Cells)-1).Draw(t, "cell")] = rapid.SampledFrom([]int8{grid.Unknown, 0, 100}).Draw(t, "occupancy")
				}
				regions, err := b.Update(g)
				if err != nil || slices.Equal(g.Cells, old.Cells) && regions != nil {
					t.Fatalf("%v, %v", regions, err)
				}
				change(regions)
			},
			"remove": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				delete(objects, id)
				change(b.Remove(id))
			},
		})
	})
}

func rowsOf(m *grid.Costmap) (rows [][]int32) {
	for y := -1; y <= m.Grid().Height; y++ {
		rows = append(rows, slices.Clone(m.Row(y)))
	}
	return rows
}

// compareWithAnew compares a map with one on which the cells of objects are marked by hand, of which
// each was found on a map without the others.
func compareWithAnew(t *rapid.T, g *grid.Grid, c grid.Config, objects map[string][]grid.Point, m *grid.Costmap) {
	empty := *g
	empty.Cells = make([]int8, len(g.Cells))
	marked := *g
	marked.Cells = slices.Clone(g.Cells)
	for _, id := range slices.Sorted(maps.Keys(objects)) {
		alone, err := grid.NewBuilder(&empty, grid.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := alone.Put(id, objects[id]); err != nil {
			t.Fatal(err)
		}
		one := alone.Costmap()
		everyCell(g, func(c grid.Cell) {
			if !one.CanEnter(c) {
				marked.Cells[c.Y*g.Width+c.X] = 100
			}
		})
	}
	want, err := grid.New(&marked, c)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(rowsOf(m), rowsOf(want), slices.Equal) {
		t.Fatalf("it is not as built anew with %v", objects)
	}
}

func TestBadObjects(t *testing.T) {
	b, err := grid.NewBuilder(drawing(1, "...", "..."), grid.Config{})
	if err != nil {
		t.Fatal(err)
	}
	before := b.Costmap()
	for text, outline := range map[string][]grid.Point{
		"cup: its outline has 0 corners":    nil,
		"cup: its outline has 1001 corners": make([]grid.Point, 1001),
		"which is not finite":               {{X: math.Inf(1)}},
	} {
		if _, err := b.Put("cup", outline); engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, not %q", err, text)
		}
	}
	if b.Costmap() != before || b.Objects() != 0 || b.Remove("cup") != nil {
		t.Error("something has changed all the same")
	}
	for i := range grid.MostObjects {
		if _, err := b.Put(fmt.Sprint(i), []grid.Point{{X: 100, Y: 100}}); err != nil {
			t.Fatal(err)
		}
	}
	if b.Costmap() != before {
		t.Error("objects beside the map make a new one")
	}
	if _, err := b.Put("one more", []grid.Point{{}}); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("%v; there are too many objects", err)
	}
	if _, err := b.Put("7", []grid.Point{{X: 0.5, Y: 0.5}}); err != nil || b.Costmap().CanEnter(grid.Cell{}) {
		t.Errorf("an object cannot be moved any more: %v", err)
	}
}

func TestUpdateWithAnotherGrid(t *testing.T) {
	b, err := grid.NewBuilder(drawing(1, "...", "..."), grid.Config{})
	if err != nil {
		t.Fatal(err)
	}
	before := b.Costmap()
	moved := drawing(1, "..#", "...")
	moved.Origin.X = 1
	for _, g := range []*grid.Grid{drawing(1, "..", "#."), drawing(0.5, "..#", "..."), moved, {}} {
		if _, err := b.Update(g); engram.CodeOf(err) != engram.Invalid || b.Costmap() != before {
			t.Errorf("%v, and the map is the same: %v", err, b.Costmap() == before)
		}
	}
}

// What is asked for again and again without a change is the same map.
func TestSameMap(t *testing.T) {
	b, err := grid.NewBuilder(drawing(1, "...", "..."), grid.Config{})
	if err != nil {
		t.Fatal(err)
	}
	box := []grid.Point{{X: 0.1, Y: 0.1}, {X: 0.9, Y: 0.1}, {X: 0.9, Y: 0.9}}
	if regions, err := b.Put("box", box); err != nil || len(regions) != 1 {
		t.Errorf("%v, %v", regions, err)
	}
	m := b.Costmap()
	if regions, err := b.Put("box", box); err != nil || regions != nil || b.Costmap() != m {
		t.Errorf("an object that stays where it is makes %v anew, %v", regions, err)
	}
}

func TestNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		c := drawConfig(t, g)
		m, err := grid.New(g, c)
		if err != nil {
			t.Fatal(err)
		}
		p := g.PointOf(grid.Position{U: rapid.Float64Range(0, float64(g.Width)).Draw(t, "u"), V: rapid.Float64Range(0, float64(g.Height)).Draw(t, "v")})
		want := math.Inf(1)
		everyCell(g, func(c grid.Cell) {
			if m.CanEnter(c) {
				want = min(want, g.CentreOf(c).Distance(p))
			}
		})
		near, away, ok := m.Nearest(p)
		switch {
		case !ok:
			if !math.IsInf(want, 1) {
				t.Fatalf("it finds no place, and there is one %g m away", want)
			}
		case math.Abs(away-want) > 1e-9 || !m.CanEnter(near) || math.Abs(g.CentreOf(near).Distance(p)-away) > 1e-9:
			t.Fatalf("it finds %v, %g m away; the nearest is %g m away", near, away, want)
		}
	})
}

func TestAppendCosts(t *testing.T) {
	m, err := grid.New(drawing(1, "..#", ".?."), grid.Config{})
	if err != nil {
		t.Fatal(err)
	}
	got := m.AppendCosts(nil, grid.Region{X0: 1, Y0: -5, X1: 9, Y1: 9})
	if want := []uint8{grid.NoInformation, 0, 0, grid.Lethal}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
