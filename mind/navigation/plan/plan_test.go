package plan_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/navigation/plan"
)

// drawing reads a grid of cells of 1 m from a drawing, the upper row first: . is free, # occupied,
// ? unknown.
func drawing(rows ...string) *grid.Grid {
	g := &grid.Grid{Width: len(rows[0]), Height: len(rows), Resolution: 1}
	for i := range rows {
		for _, r := range rows[len(rows)-1-i] {
			g.Cells = append(g.Cells, map[rune]int8{'.': 0, '#': 100, '?': grid.Unknown}[r])
		}
	}
	return g
}

// drawMap draws a cost map, and the options to plan with.
func drawMap(t *rapid.T) (*grid.Costmap, plan.Options) {
	g := &grid.Grid{
		Width: rapid.IntRange(1, 24).Draw(t, "width"), Height: rapid.IntRange(1, 24).Draw(t, "height"),
		Resolution: rapid.SampledFrom([]float64{0.05, 1}).Draw(t, "resolution"),
		Origin:     grid.Point{X: rapid.Float64Range(-5, 5).Draw(t, "x")},
		Yaw:        rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "yaw"),
	}
	kinds := rapid.SampledFrom([][]int8{{0}, {0, 0, 0, 0, 0, 0, 0, 100}, {0, 0, 0, 100, grid.Unknown}}).Draw(t, "kinds")
	g.Cells = rapid.SliceOfN(rapid.SampledFrom(kinds), g.Width*g.Height, g.Width*g.Height).Draw(t, "cells")
	m, err := grid.New(g, grid.Config{
		Footprint: grid.Footprint{Radius: rapid.SampledFrom([]float64{0, 1.2, 2}).Draw(t, "radius") * g.Resolution},
		Inflation: rapid.SampledFrom([]float64{0, 4}).Draw(t, "inflation") * g.Resolution,
		Decay:     1 / g.Resolution,
		Unknown:   rapid.SampledFrom([]float64{0, 1, 5, grid.MostUnknown}).Draw(t, "unknown"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, plan.Options{Weight: rapid.SampledFrom([]float64{0, 0, 1, 20, plan.MostWeight}).Draw(t, "weight")}
}

// drawPoint draws a point of a map, often where the robot may be.
func drawPoint(t *rapid.T, m *grid.Costmap, name string) grid.Point {
	g := m.Grid()
	at := func(i int) grid.Position {
		share := rapid.SampledFrom([]float64{0, 0.25, 0.5, 0.5, 0.5}).Draw(t, name+" in its cell")
		return grid.Position{U: float64(i%g.Width) + share, V: float64(i/g.Width) + share}
	}
	var free []int
	for i := range g.Cells {
		if m.CanEnter(grid.Cell{X: i % g.Width, Y: i / g.Width}) {
			free = append(free, i)
		}
	}
	if len(free) == 0 || rapid.IntRange(0, 9).Draw(t, name+" anywhere") == 0 {
		return g.PointOf(at(rapid.IntRange(0, len(g.Cells)-1).Draw(t, name)))
	}
	return g.PointOf(at(rapid.SampledFrom(free).Draw(t, name)))
}

// factor returns what a metre in a cell costs.
func factor(m *grid.Costmap, c grid.Cell, weight float64) float64 {
	distance, _ := m.Clearance(c)
	inscribed, _ := m.Config().Footprint.Radii()
	f := 1.0
	if distance <= m.Config().Inflation+1e-9 {
		f += weight * min(math.Floor(252*math.Exp(-m.Config().Decay*(distance-inscribed))), 252) / 252
	}
	if m.Unknown(c) {
		f += m.Config().Unknown - 1
	}
	return f
}

// dijkstra returns what a path from a cell to each other one costs at least, in cells, as package
// plan defines it. Those that are not there cannot be reached.
func dijkstra(m *grid.Costmap, from grid.Cell, weight float64) map[grid.Cell]float64 {
	costs, done := map[grid.Cell]float64{from: 0}, map[grid.Cell]bool{}
	for {
		best, at := math.Inf(1), grid.Cell{}
		for c, cost := range costs {
			if !done[c] && cost < best {
				best, at = cost, c
			}
		}
		if math.IsInf(best, 1) {
			return costs
		}
		done[at] = true
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				to := grid.Cell{X: at.X + dx, Y: at.Y + dy}
				if !m.CanEnter(to) || !m.CanEnter(grid.Cell{X: at.X, Y: to.Y}) || !m.CanEnter(grid.Cell{X: to.X, Y: at.Y}) {
					continue
				}
				cost := best + math.Hypot(float64(dx), float64(dy))*(factor(m, at, weight)+factor(m, to, weight))/2
				if old, ok := costs[to]; !ok || cost < old {
					costs[to] = cost
				}
			}
		}
	}
}

// cost returns what a path costs, in cells, and its length in metres.
func cost(m *grid.Costmap, p *plan.Path, weight float64) (cells, metres float64) {
	g := m.Grid()
	for i := range p.Points[1:] {
		metres += p.Points[i].Distance(p.Points[i+1])
		grid.Walk(g.PositionOf(p.Points[i]), g.PositionOf(p.Points[i+1]), func(c grid.Cell, length float64) bool {
			if g.Has(c) && length > 0 {
				cells += length * factor(m, c, weight)
			}
			return true
		})
	}
	return cells, metres
}

// stub returns what it costs to get from a point to the centre of its cell.
func stub(m *grid.Costmap, p grid.Point, weight float64) float64 {
	at := m.Grid().PositionOf(p)
	return at.Cell().Centre().Distance(at) * factor(m, at.Cell(), weight)
}

func TestFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := drawMap(t)
		from, to := drawPoint(t, m, "from"), drawPoint(t, m, "to")
		a, aOK := m.Grid().CellOf(from)
		b, bOK := m.Grid().CellOf(to)
		if !aOK || !bOK {
			t.Skip("rounding leads out of the map")
		}
		o.NoSmoothing = true
		raw, err := plan.Find(context.Background(), m, from, to, o)
		if !m.CanEnter(a) || !m.CanEnter(b) {
			if engram.CodeOf(err) != engram.Invalid {
				t.Fatalf("%v; one end is a place where the robot cannot be", err)
			}
			return
		}
		want, reachable := dijkstra(m, a, o.Weight)[b]
		if !reachable {
			if !errors.Is(err, plan.ErrUnreachable) || engram.CodeOf(err) != engram.NotFound {
				t.Fatalf("%v; there is no way", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		checkPath(t, m, raw, from, to)
		got, _ := cost(m, raw, o.Weight)
		if a != b {
			got -= stub(m, from, o.Weight) + stub(m, to, o.Weight)
			if math.Abs(got-want) > 1e-6 {
				t.Fatalf("it costs %g, and %g is possible: %v", got, want, raw.Points)
			}
		}
		checkSmooth(t, m, raw, o)
	})
}

// checkPath looks at a path's ends and at points of it.
func checkPath(t rapid.TB, m *grid.Costmap, p *plan.Path, from, to grid.Point) {
	t.Helper()
	if p.Points[0] != from || p.Points[len(p.Points)-1] != to {
		t.Fatalf("the path from %v to %v has other ends: %v", from, to, p.Points)
	}
	checkClearance(t, m, p)
}

// checkSmooth compares a path with the one that is straightened.
func checkSmooth(t *rapid.T, m *grid.Costmap, raw *plan.Path, o plan.Options) {
	o.NoSmoothing = false
	from, to := raw.Points[0], raw.Points[len(raw.Points)-1]
	smooth, err := plan.Find(context.Background(), m, from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	checkPath(t, m, smooth, from, to)
	before, _ := cost(m, raw, o.Weight)
	after, _ := cost(m, smooth, o.Weight)
	if smooth.Length > raw.Length || after > before+1e-6 || len(smooth.Points) > len(raw.Points) {
		t.Fatalf("straightened it is %g m for %g m, costs %g for %g: %v for %v", smooth.Length, raw.Length, after, before, smooth.Points, raw.Points)
	}
	again, err := plan.Find(context.Background(), m, from, to, o)
	if err != nil || again.Length != smooth.Length || !slices.Equal(again.Points, smooth.Points) {
		t.Fatalf("again it is %v, %v; before %v", again, err, smooth)
	}
}

func TestApproach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := drawMap(t)
		o.NoSmoothing = true
		g := m.Grid()
		from := drawPoint(t, m, "from")
		start, ok := g.CellOf(from)
		if !ok || !m.CanEnter(start) {
			t.Skip("the robot cannot be at its start")
		}
		around := g.PointOf(grid.Position{U: rapid.Float64Range(-3, 27).Draw(t, "u"), V: rapid.Float64Range(-3, 27).Draw(t, "v")})
		ring := plan.Ring{Min: rapid.Float64Range(0, 4).Draw(t, "min") * g.Resolution}
		ring.Max = ring.Min + rapid.Float64Range(0, 4).Draw(t, "wide")*g.Resolution

		want, places := math.Inf(1), 0
		costs := dijkstra(m, start, o.Weight)
		for i := range g.Cells {
			c := grid.Cell{X: i % g.Width, Y: i / g.Width}
			if d := g.CentreOf(c).Distance(around); d < ring.Min-1e-9 || d > ring.Max+1e-9 || !m.CanEnter(c) {
				continue
			}
			places++
			if cost, ok := costs[c]; ok {
				want = min(want, cost)
			}
		}
		p, err := plan.Approach(context.Background(), m, from, around, ring, o)
		switch {
		case places == 0:
			if engram.CodeOf(err) != engram.Invalid {
				t.Fatalf("%v; there is no place", err)
			}
		case math.IsInf(want, 1):
			if !errors.Is(err, plan.ErrUnreachable) {
				t.Fatalf("%v; none of %d places can be reached", err, places)
			}
		case err != nil:
			t.Fatal(err)
		default:
			end := p.Points[len(p.Points)-1]
			checkPath(t, m, p, from, end)
			c, _ := g.CellOf(end)
			if d := g.CentreOf(c).Distance(around); d < ring.Min-1e-6 || d > ring.Max+1e-6 {
				t.Fatalf("%v is %g m from %v, not from %g to %g", end, d, around, ring.Min, ring.Max)
			}
			if math.Abs(costs[c]-want) > 1e-6 {
				t.Fatalf("it goes to %v for %g, and %g is possible", end, costs[c], want)
			}
		}
	})
}

func TestBlocked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := drawMap(t)
		g := m.Grid()
		p, err := plan.Find(context.Background(), m, drawPoint(t, m, "from"), drawPoint(t, m, "to"), o)
		if err != nil {
			t.Skip(err)
		}
		if b, blocked := p.Blocked(m, p.Points[0]); blocked {
			t.Fatalf("the path is blocked on its own map: %v", b)
		}
		// A dot is put anywhere; the robot stands on a corner of the path.
		builder, err := grid.NewBuilder(g, m.Config())
		if err != nil {
			t.Fatal(err)
		}
		dot := g.PointOf(grid.Position{U: rapid.Float64Range(0, 24).Draw(t, "u"), V: rapid.Float64Range(0, 24).Draw(t, "v")})
		if _, err := builder.Put("dot", []grid.Point{dot}); err != nil {
			t.Fatal(err)
		}
		changed := builder.Costmap()
		passed := rapid.IntRange(0, len(p.Points)-1).Draw(t, "passed")
		b, blocked := p.Blocked(changed, p.Points[passed])
		ahead, hit := firstHit(changed, p.Points[passed:])
		switch {
		case hit && (!blocked || b.Ahead > ahead+1e-6):
			t.Fatalf("it is free for %g m, and blocked in %v, %v", ahead, b, blocked)
		case blocked && !hit && !touches(changed, b.At):
			t.Fatalf("it is free, and blocked in %v", b)
		case blocked:
			if d := distanceAlong(p.Points[passed:], b.At); math.Abs(d-b.Ahead) > 1e-6 {
				t.Fatalf("%v is %g m ahead", b, d)
			}
		}
	})
}

// firstHit returns after how many metres a way first goes through a cell in which the robot cannot be,
// by points that lie densely.
func firstHit(m *grid.Costmap, points []grid.Point) (metres float64, hit bool) {
	for i := range points[1:] {
		for k := range 1001 {
			at := points[i].Between(points[i+1], float64(k)/1000)
			c, ok := m.Grid().CellOf(at)
			if (!ok || !m.CanEnter(c)) && !onBorder(m.Grid().PositionOf(at)) {
				return metres + at.Distance(points[i]), true
			}
		}
		metres += points[i].Distance(points[i+1])
	}
	return metres, false
}

// touches tells whether a point is in a cell in which the robot cannot be, or at its border.
func touches(m *grid.Costmap, p grid.Point) bool {
	at := m.Grid().PositionOf(p)
	for _, dv := range [3]float64{-1e-6, 0, 1e-6} {
		for _, du := range [3]float64{-1e-6, 0, 1e-6} {
			if !m.CanEnter((grid.Position{U: at.U + du, V: at.V + dv}).Cell()) {
				return true
			}
		}
	}
	return false
}

// distanceAlong returns how far along a way a point of it is.
func distanceAlong(points []grid.Point, p grid.Point) (metres float64) {
	for i := range points[1:] {
		if p.Distance(p.NearestOn(points[i], points[i+1])) < 1e-9 {
			return metres + p.Distance(points[i])
		}
		metres += points[i].Distance(points[i+1])
	}
	return metres
}

func TestBadPlaces(t *testing.T) {
	m, err := grid.New(drawing(
		"........",
		".##.....",
		".##...??",
		"......??",
	), grid.Config{Footprint: grid.Footprint{Radius: 1.2}})
	if err != nil {
		t.Fatal(err)
	}
	empty, err := grid.New(drawing("##", "??"), grid.Config{})
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := grid.New(drawing("#.#"), grid.Config{Footprint: grid.Footprint{Radius: 2}})
	if err != nil {
		t.Fatal(err)
	}
	free := grid.Point{X: 5.5, Y: 3.5}
	for _, test := range []struct {
		m        *grid.Costmap
		from, to grid.Point
		o        plan.Options
		code     engram.Code
		text     string
	}{
		{m, grid.Point{X: -1, Y: 2}, free, plan.Options{}, engram.OutOfRange, "start: (-1, 2) lies outside of the map, which goes from (0, 0) to (8, 4)"},
		{m, free, grid.Point{X: 5, Y: 4}, plan.Options{}, engram.OutOfRange, "goal: (5, 4) lies outside of the map"},
		{m, free, grid.Point{X: math.NaN()}, plan.Options{}, engram.OutOfRange, "outside of the map"},
		{m, grid.Point{X: 2.7, Y: 2.5}, free, plan.Options{}, engram.Invalid, "start: (2.7, 2.5) lies in a wall; the nearest place for the robot is (3.5, 3.5), 1.28 m away"},
		{m, free, grid.Point{X: 3.5, Y: 2.5}, plan.Options{}, engram.Invalid, "goal: (3.5, 2.5) is 1 m from an obstacle, nearer than a robot of 1.2 m radius can be; the nearest place for the robot is (4.5, 2.5), 1 m away"},
		{m, free, grid.Point{X: 7.5, Y: 0.5}, plan.Options{}, engram.Invalid, "lies in unknown space, which is not entered"},
		{empty, grid.Point{X: 0.5, Y: 0.5}, free, plan.Options{}, engram.Invalid, "map: it has no free cell for a robot of 0 m radius: nothing of it is free; look at negate"},
		{narrow, grid.Point{X: 1.5, Y: 0.5}, free, plan.Options{}, engram.Invalid, "1 of 3 cells are free, and all of them too near to obstacles"},
		{m, free, free, plan.Options{Weight: -1}, engram.Invalid, "weight: it is -1"},
		{m, free, free, plan.Options{Weight: math.NaN()}, engram.Invalid, "weight: it is NaN"},
	} {
		_, err := plan.Find(t.Context(), test.m, test.from, test.to, test.o)
		if engram.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%v, not %v with %q", err, test.code, test.text)
		}
	}
	for _, ring := range []plan.Ring{{Min: -1}, {Min: 2, Max: 1}, {Max: math.Inf(1)}, {Max: math.NaN()}} {
		if _, err := plan.Approach(t.Context(), m, free, free, ring, plan.Options{}); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("the ring %v: %v", ring, err)
		}
	}
	for _, around := range []grid.Point{{X: math.NaN()}, {Y: math.Inf(-1)}} {
		if _, err := plan.Approach(t.Context(), m, free, around, plan.Ring{Max: 1}, plan.Options{}); engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), "not finite") {
			t.Errorf("around %v: %v", around, err)
		}
	}
}

func TestObjectInTheWay(t *testing.T) {
	b, err := grid.NewBuilder(drawing("...", "...", "..."), grid.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Put("chair", []grid.Point{{X: 1.5, Y: 1.5}}); err != nil {
		t.Fatal(err)
	}
	_, err = plan.Find(t.Context(), b.Costmap(), grid.Point{X: 0.5, Y: 0.5}, grid.Point{X: 1.5, Y: 1.5}, plan.Options{})
	if engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), "goal: (1.5, 1.5) lies in an object") {
		t.Error(err)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, err := grid.New(drawing("...", "..."), grid.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan.Find(ctx, m, grid.Point{X: 0.5, Y: 0.5}, grid.Point{X: 2.5, Y: 1.5}, plan.Options{})
	if engram.CodeOf(err) != engram.Canceled || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// canceledLater is a context that is cancelled when it has been looked at twice.
type canceledLater struct {
	context.Context
	looks int
}

func (c *canceledLater) Err() error {
	if c.looks++; c.looks > 2 {
		return context.Canceled
	}
	return nil
}

func TestLongSearchIsCanceled(t *testing.T) {
	g := &grid.Grid{Width: 300, Height: 300, Resolution: 1, Cells: make([]int8, 300*300)}
	for y := range 299 {
		g.Cells[y*300+299-y%2] = 100 // a wall that the search follows
		g.Cells[299*300+y] = 100
	}
	g.Cells[297*300+298] = 100
	m, err := grid.New(g, grid.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := &canceledLater{Context: t.Context()}
	_, err = plan.Find(ctx, m, grid.Point{X: 0.5, Y: 0.5}, grid.Point{X: 299.5, Y: 299.5}, plan.Options{})
	if engram.CodeOf(err) != engram.Canceled || ctx.looks != 3 {
		t.Errorf("after %d looks: %v", ctx.looks, err)
	}
}

// Plans are made while objects move.
func TestPlanWhileObjectsMove(t *testing.T) {
	g := &grid.Grid{Width: 60, Height: 60, Resolution: 0.1, Cells: make([]int8, 3600)}
	b, err := grid.NewBuilder(g, grid.Config{Footprint: grid.Footprint{Radius: 0.2}})
	if err != nil {
		t.Fatal(err)
	}
	var planners sync.WaitGroup
	for i := range 20 {
		x := 1 + float64(i)*0.2
		if _, err := b.Put("box", []grid.Point{{X: x, Y: 1}, {X: x + 0.1, Y: 1}, {X: x + 0.1, Y: 5}, {X: x, Y: 5}}); err != nil {
			t.Fatal(err)
		}
		m := b.Costmap()
		planners.Go(func() {
			p, err := plan.Find(t.Context(), m, grid.Point{X: 0.35, Y: 3.05}, grid.Point{X: 5.65, Y: 3.05}, plan.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if p.Length < 5.3+0.5 {
				t.Errorf("%g m: it goes through the box", p.Length)
			}
		})
	}
	planners.Wait()
}

// Weight keeps paths away from walls.
func TestWeight(t *testing.T) {
	m, err := grid.New(drawing(
		"..........",
		"..........",
		"..........",
		"..........",
		"...####...",
		"..........",
		"##########",
	), grid.Config{Inflation: 3, Decay: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	from, to := grid.Point{X: 0.5, Y: 1.5}, grid.Point{X: 9.5, Y: 1.5}
	clearance := func(o plan.Options) (least float64) {
		p, err := plan.Find(t.Context(), m, from, to, o)
		if err != nil {
			t.Fatal(err)
		}
		least = math.Inf(1)
		for i := range p.Points[1:] {
			grid.Walk(m.Grid().PositionOf(p.Points[i]), m.Grid().PositionOf(p.Points[i+1]), func(c grid.Cell, _ float64) bool {
				if c.X > 2 && c.X < 7 {
					d, _ := m.Clearance(c)
					least = min(least, d)
				}
				return true
			})
		}
		return least
	}
	if near, far := clearance(plan.Options{}), clearance(plan.Options{Weight: 10}); near != 1 || far < 2 {
		t.Errorf("without weight the path is %g m from walls, with weight %g m", near, far)
	}
}

// Unknown space is entered where that was asked for, and costs what it was said to.
func TestUnknown(t *testing.T) {
	g := drawing(
		".....",
		".???.",
		".???.",
		".???.",
		".....",
	)
	for _, test := range []struct{ unknown, length float64 }{{0, 4 + 4}, {1, 4 * math.Sqrt2}, {100, 3 + math.Sqrt2 + 3}} {
		m, err := grid.New(g, grid.Config{Unknown: test.unknown})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Find(t.Context(), m, grid.Point{X: 0.5, Y: 0.5}, grid.Point{X: 4.5, Y: 4.5}, plan.Options{})
		if err != nil || math.Abs(p.Length-test.length) > 1e-9 {
			t.Errorf("where unknown space costs %g the path is %v, %v; %g m are expected", test.unknown, p, err, test.length)
		}
	}
}
