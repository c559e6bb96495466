package grid_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram/mind/navigation/grid"
)

// drawPosition draws positions anywhere, and often on borders, corners and centres of cells.
func drawPosition(t *rapid.T, name string) grid.Position {
	axis := rapid.OneOf(rapid.Float64Range(-8, 8), rapid.Map(rapid.IntRange(-16, 16), func(i int) float64 { return float64(i) / 2 }))
	return grid.Position{U: axis.Draw(t, name+".U"), V: axis.Draw(t, name+".V")}
}

func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPosition(t, "a"), drawPosition(t, "b")
		visited, sum := map[grid.Cell]bool{}, 0.0
		grid.Walk(a, b, func(c grid.Cell, length float64) bool {
			if length < 0 || math.IsNaN(length) {
				t.Fatalf("%v has the length %g", c, length)
			}
			sum += length
			visited[c] = true
			return true
		})
		if math.Abs(sum-a.Distance(b)) > 1e-9 {
			t.Fatalf("the parts are %g long, and the line %g", sum, a.Distance(b))
		}
		if !visited[a.Cell()] || !visited[b.Cell()] {
			t.Fatalf("it visits %v and not both ends", visited)
		}
		for i := range 2001 {
			share := float64(i) / 2000
			p := grid.Position{U: a.U + share*(b.U-a.U), V: a.V + share*(b.V-a.V)}
			if !visited[p.Cell()] && !nearBorder(p) {
				t.Fatalf("it does not visit %v, which has %v", p.Cell(), p)
			}
		}
		// No cell is visited that is not touched.
		for c := range visited {
			if d := distanceToCell(a, b, c); d > 1e-8 {
				t.Fatalf("it visits %v, which is %g away", c, d)
			}
		}
	})
}

func nearBorder(p grid.Position) bool {
	near := func(x float64) bool { return math.Abs(x-math.Round(x)) < 1e-6 }
	return near(p.U) || near(p.V)
}

// distanceToCell returns about how far a line passes from a cell, by halving.
func distanceToCell(a, b grid.Position, c grid.Cell) float64 {
	distance := func(share float64) float64 {
		u, v := a.U+share*(b.U-a.U), a.V+share*(b.V-a.V)
		x, y := float64(c.X), float64(c.Y)
		return math.Hypot(max(x-u, 0, u-x-1), max(y-v, 0, v-y-1))
	}
	low, high := 0.0, 1.0 // the distance is convex
	for range 100 {
		left, right := low+(high-low)/3, high-(high-low)/3
		if distance(left) <= distance(right) {
			high = right
		} else {
			low = left
		}
	}
	return min(distance(low), distance(0), distance(1))
}

func TestWalkThroughCorners(t *testing.T) {
	var visited []grid.Cell
	all := func(c grid.Cell, _ float64) bool { visited = append(visited, c); return len(visited) < 4 }
	if grid.Walk(grid.Cell{}.Centre(), grid.Cell{X: 3, Y: -3}.Centre(), all) {
		t.Error("it came to the end, though it was stopped")
	}
	want := []grid.Cell{{X: 0, Y: 0}, {X: 1, Y: 0}, {X: 0, Y: -1}, {X: 1, Y: -1}}
	for i, c := range want {
		if visited[i] != c {
			t.Fatalf("it visits %v, not %v", visited, want)
		}
	}
}
