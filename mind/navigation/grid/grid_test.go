package grid_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/world/files"
)

// drawing reads a grid from a drawing, the upper row first: . is free, # occupied, ? unknown.
func drawing(resolution float64, rows ...string) *grid.Grid {
	g := &grid.Grid{Width: len(rows[0]), Height: len(rows), Resolution: resolution}
	for i := range rows {
		for _, r := range rows[len(rows)-1-i] {
			g.Cells = append(g.Cells, map[rune]int8{'.': 0, '#': 100, '?': grid.Unknown}[r])
		}
	}
	return g
}

// drawGrid draws a grid of free, occupied and unknown cells that lies anywhere.
func drawGrid(t *rapid.T) *grid.Grid {
	g := &grid.Grid{
		Width: rapid.IntRange(1, 24).Draw(t, "width"), Height: rapid.IntRange(1, 24).Draw(t, "height"),
		Resolution: rapid.SampledFrom([]float64{0.05, 0.1, 1}).Draw(t, "resolution"),
		Origin:     grid.Point{X: rapid.Float64Range(-5, 5).Draw(t, "x"), Y: rapid.Float64Range(-5, 5).Draw(t, "y")},
		Yaw:        rapid.SampledFrom([]float64{0, 0.3, -2}).Draw(t, "yaw"),
	}
	kinds := rapid.SampledFrom([][]int8{{0, 0, 0, 0, 0, 0, 0, 100}, {0, 0, 0, 100, grid.Unknown}, {0}, {100}, {0, 30, 100}}).Draw(t, "kinds")
	g.Cells = rapid.SliceOfN(rapid.SampledFrom(kinds), g.Width*g.Height, g.Width*g.Height).Draw(t, "cells")
	return g
}

func TestConversions(t *testing.T) {
	turned := &grid.Grid{Width: 4, Height: 2, Resolution: 0.5, Origin: grid.Point{X: 1, Y: 2}, Yaw: math.Pi / 2}
	straight := &grid.Grid{Width: 4, Height: 2, Resolution: 0.5, Origin: grid.Point{X: -1, Y: 2}}
	for _, test := range []struct {
		g    *grid.Grid
		p    grid.Point
		want grid.Cell
		ok   bool
	}{
		{straight, grid.Point{X: -1, Y: 2}, grid.Cell{}, true}, // the left and the lower border belong to it
		{straight, grid.Point{X: 0.75, Y: 2.75}, grid.Cell{X: 3, Y: 1}, true},
		{straight, grid.Point{X: -0.5, Y: 2.5}, grid.Cell{X: 1, Y: 1}, true},
		{straight, grid.Point{X: 1, Y: 2.5}, grid.Cell{}, false}, // the right one does not
		{straight, grid.Point{X: 0, Y: 3}, grid.Cell{}, false},   // nor does the upper one
		{straight, grid.Point{X: -1.001, Y: 2.5}, grid.Cell{}, false},
		{straight, grid.Point{X: math.NaN(), Y: 2.5}, grid.Cell{}, false},
		{straight, grid.Point{X: math.Inf(1), Y: 2.5}, grid.Cell{}, false},
		{turned, grid.Point{X: 0.75, Y: 2.25}, grid.Cell{}, true}, // x of the grid is y of the map
		{turned, grid.Point{X: 0.25, Y: 3.75}, grid.Cell{X: 3, Y: 1}, true},
		{turned, grid.Point{X: 1.25, Y: 2.25}, grid.Cell{}, false},
	} {
		c, ok := test.g.CellOf(test.p)
		if c != test.want || ok != test.ok {
			t.Errorf("%v is in %v, %v, not in %v, %v", test.p, c, ok, test.want, test.ok)
		}
	}
}

func TestCentreIsInItsCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		want := grid.Cell{X: rapid.IntRange(0, g.Width-1).Draw(t, "column"), Y: rapid.IntRange(0, g.Height-1).Draw(t, "row")}
		if c, ok := g.CellOf(g.CentreOf(want)); !ok || c != want {
			t.Fatalf("the centre of %v is in %v, %v", want, c, ok)
		}
		p := grid.Point{X: rapid.Float64Range(-50, 50).Draw(t, "px"), Y: rapid.Float64Range(-50, 50).Draw(t, "py")}
		if q := g.PointOf(g.PositionOf(p)); q.Distance(p) > 1e-9 {
			t.Fatalf("%v becomes %v", p, q)
		}
	})
}

func TestFromFile(t *testing.T) {
	read := func(yaml string) *grid.Grid {
		f, err := files.ReadGrid([]byte(yaml), "map.yaml", func(string) ([]byte, error) {
			return []byte("P2 3 2 255\n254 0 205\n30 20 254\n"), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return grid.FromFile(f)
	}
	g := read("image: m.pgm\nresolution: 0.5\norigin: [1, -2, 0.5]\n")
	want := []int8{100, 100, 0, 0, 100, grid.Unknown}
	if g.Width != 3 || g.Height != 2 || g.Resolution != 0.5 || g.Origin != (grid.Point{X: 1, Y: -2}) || g.Yaw != 0.5 || string(bytesOf(g.Cells)) != string(bytesOf(want)) {
		t.Errorf("%+v, not the cells %v", g, want)
	}
	// In the mode raw a shade is an occupancy in percent, and free what is below the threshold.
	raw := read("image: m.pgm\nresolution: 0.5\norigin: [0, 0, 0]\nmode: raw\nfree_thresh: 0.25\n")
	m, err := grid.New(raw, grid.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i, enter := range []bool{false, true, false, false, true, false} {
		if c := (grid.Cell{X: i % 3, Y: i / 3}); m.CanEnter(c) != enter {
			t.Errorf("raw: the robot can enter %v, of occupancy %d: %v", c, raw.At(c), m.CanEnter(c))
		}
	}
}

func bytesOf(cells []int8) (b []byte) {
	for _, c := range cells {
		b = append(b, byte(c))
	}
	return b
}

func TestBadGrids(t *testing.T) {
	cells := make([]int8, 4)
	for _, test := range []struct {
		g    grid.Grid
		c    grid.Config
		code engram.Code
		text string
	}{
		{grid.Grid{Resolution: 1}, grid.Config{}, engram.Invalid, "0 x 0 cells"},
		{grid.Grid{Width: 2, Height: 3, Resolution: 1, Cells: cells}, grid.Config{}, engram.Invalid, "2 x 3 cells, and the occupancy of 4"},
		{grid.Grid{Width: 10_000, Height: 10_000, Resolution: 1}, grid.Config{}, engram.Invalid, "10000 x 10000 cells; at least one and at most 33554432"},
		{grid.Grid{Width: 2, Height: 2, Cells: cells}, grid.Config{}, engram.Invalid, "resolution is 0 m"},
		{grid.Grid{Width: 2, Height: 2, Resolution: math.Inf(1), Cells: cells}, grid.Config{}, engram.Invalid, "resolution is +Inf m"},
		{grid.Grid{Width: 2, Height: 2, Resolution: 1, Yaw: math.NaN(), Cells: cells}, grid.Config{}, engram.Invalid, "not finite"},
		{grid.Grid{Width: 2, Height: 2, Resolution: 1, Cells: cells}, grid.Config{Inflation: -1}, engram.Invalid, "inflation"},
		{grid.Grid{Width: 2, Height: 2, Resolution: 1, Cells: cells}, grid.Config{Decay: math.NaN()}, engram.Invalid, "decay"},
		{grid.Grid{Width: 2, Height: 2, Resolution: 1, Cells: cells}, grid.Config{Unknown: 0.5}, engram.Invalid, "unknown"},
		{grid.Grid{Width: 2, Height: 2, Resolution: 1, Cells: cells}, grid.Config{Footprint: grid.Footprint{Radius: -1}}, engram.Invalid, "radius is -1 m"},
		{grid.Grid{Width: 2, Height: 2, Resolution: 0.001, Cells: cells}, grid.Config{Footprint: grid.Footprint{Radius: 1}}, engram.OutOfRange, "reach 1 m, 1000 cells of 0.001 m"},
	} {
		_, err := grid.New(&test.g, test.c)
		if engram.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%v, not %v with %q", err, test.code, test.text)
		}
	}
}

func TestFootprint(t *testing.T) {
	box := []grid.Point{{X: 0.5, Y: 0.2}, {X: -0.3, Y: 0.2}, {X: -0.3, Y: -0.2}, {X: 0.5, Y: -0.2}}
	in, out := grid.Footprint{Polygon: box}.Radii()
	if math.Abs(in-0.2) > 1e-12 || math.Abs(out-math.Hypot(0.5, 0.2)) > 1e-12 {
		t.Errorf("a box has the radii %g and %g", in, out)
	}
	if in, out := (grid.Footprint{Radius: 0.3}).Radii(); in != 0.3 || out != 0.3 {
		t.Errorf("a circle has the radii %g and %g", in, out)
	}
	for text, f := range map[string]grid.Footprint{
		"radius and a polygon":   {Radius: 1, Polygon: box},
		"2 corners":              {Polygon: box[:2]},
		"outside of its polygon": {Polygon: []grid.Point{{X: 1, Y: 1}, {X: 2, Y: 1}, {X: 2, Y: 2}}},
		"not finite":             {Polygon: []grid.Point{{X: 1, Y: math.NaN()}, {X: 2, Y: 1}, {X: 2, Y: 2}}},
		"radius is NaN m":        {Radius: math.NaN()},
	} {
		if err := f.Check(); engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, not %q", err, text)
		}
	}
	if err := (grid.Footprint{Polygon: box}).Check(); err != nil {
		t.Error(err)
	}
}

// A robot that is no circle is kept so far from walls that it may turn anywhere.
func TestPolygonTurnsAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrid(t)
		long, wide := rapid.Float64Range(0.5, 3).Draw(t, "long")*g.Resolution, rapid.Float64Range(0.5, 3).Draw(t, "wide")*g.Resolution
		box := []grid.Point{{X: long, Y: wide}, {X: -long, Y: wide}, {X: -long, Y: -wide}, {X: long, Y: -wide}}
		m, err := grid.New(g, grid.Config{Footprint: grid.Footprint{Polygon: box}})
		if err != nil {
			t.Fatal(err)
		}
		yaw := rapid.Float64Range(-math.Pi, math.Pi).Draw(t, "yaw")
		sin, cos := math.Sincos(yaw)
		everyCell(g, func(robot grid.Cell) {
			if !m.CanEnter(robot) {
				return
			}
			at := g.CentreOf(robot)
			everyCell(g, func(wall grid.Cell) {
				if g.At(wall) == 0 {
					return
				}
				p := g.CentreOf(wall)
				x, y := cos*(p.X-at.X)+sin*(p.Y-at.Y), cos*(p.Y-at.Y)-sin*(p.X-at.X)
				if math.Abs(x) < long-1e-9 && math.Abs(y) < wide-1e-9 {
					t.Fatalf("turned by %g in %v the robot hits %v", yaw, robot, wall)
				}
			})
		})
	})
}

func everyCell(g *grid.Grid, visit func(grid.Cell)) {
	for y := range g.Height {
		for x := range g.Width {
			visit(grid.Cell{X: x, Y: y})
		}
	}
}
