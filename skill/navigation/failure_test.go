package navigation_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill/navigation"
)

// draw makes a grid of cells of a metre from rows, the last of which is y = 0: # is occupied,
// ? unknown.
func draw(rows ...string) navigation.Grid {
	g := navigation.Grid{Width: len(rows[0]), Height: len(rows), Resolution: 1}
	for y := len(rows) - 1; y >= 0; y-- {
		for _, r := range rows[y] {
			g.Cells = append(g.Cells, map[rune]navigation.State{'#': navigation.Occupied, '?': navigation.Unknown}[r])
		}
	}
	return g
}

func costmap(t testing.TB, i navigation.Inflation, rows ...string) *navigation.Costmap {
	t.Helper()
	c, err := navigation.NewCostmap(draw(rows...), i)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFailures(t *testing.T) {
	rows := []string{
		"......#.",
		"......#.",
		"......#?",
		"......#.",
	}
	at := func(x, y float64) navigation.Point { return navigation.Point{X: x, Y: y} }
	full := []string{"##", "##"}
	for _, c := range []struct {
		name        string
		rows        []string
		start, goal navigation.Point
		reason      navigation.Reason
		code        engram.Code
		says        string
	}{
		{"start in a wall", rows, at(6.5, 0.5), at(0.5, 0.5), navigation.StartBlocked, engram.Invalid, "start (6.500, 0.500) lies in an obstacle"},
		{"goal in a wall", rows, at(0.5, 0.5), at(6.5, 0.5), navigation.GoalBlocked, engram.Invalid, "goal (6.500, 0.500) lies in an obstacle"},
		{"goal near a wall", rows, at(0.5, 0.5), at(5.5, 0.5), navigation.GoalBlocked, engram.Invalid, "1.000 m from what is not free, nearer than the radius of 1.5 m"},
		{"start in unknown space", rows, at(7.5, 1.5), at(0.5, 0.5), navigation.StartBlocked, engram.Invalid, "unknown space"},
		{"start outside", rows, at(-0.1, 0.5), at(0.5, 0.5), navigation.StartOutside, engram.OutOfRange, "outside the map"},
		{"goal outside", rows, at(0.5, 0.5), at(0.5, 4), navigation.GoalOutside, engram.OutOfRange, "outside the map"},
		{"not a number", rows, at(0.5, 0.5), at(math.NaN(), 4), navigation.GoalOutside, engram.OutOfRange, "outside the map"},
		{"no free cell", full, at(0.5, 0.5), at(1.5, 0.5), navigation.NoFreeCell, engram.Invalid, "no cell"},
	} {
		_, err := (&navigation.GridPlanner{}).Plan(context.Background(), costmap(t, navigation.Inflation{Radius: 1.5}, c.rows...), c.start, c.goal)
		failure, ok := errors.AsType[*navigation.Failure](err)
		if !ok || failure.Reason != c.reason || engram.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := (&navigation.GridPlanner{}).Plan(context.Background(), costmap(t, navigation.Inflation{}, rows...), at(0.5, 0.5), at(7.5, 0.5)); !errors.Is(err, engram.NotFound) {
		t.Errorf("behind a wall: %v", err)
	}
	for _, i := range []navigation.Inflation{{Radius: -1}, {Radius: math.NaN()}, {UnknownCost: 0.5}, {UnknownCost: math.NaN()}, {UnknownCost: math.Inf(1)}} {
		if _, err := navigation.NewCostmap(draw(rows...), i); !errors.Is(err, engram.Invalid) {
			t.Errorf("%v: %v", i, err)
		}
	}
	if _, err := navigation.NewCostmap(navigation.Grid{Width: 2, Height: 2, Resolution: 1}, navigation.Inflation{}); !errors.Is(err, engram.Invalid) {
		t.Errorf("a grid without cells: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (&navigation.GridPlanner{}).Plan(ctx, costmap(t, navigation.Inflation{}, rows...), at(0.5, 0.5), at(1.5, 0.5)); !errors.Is(err, context.Canceled) {
		t.Errorf("a plan that nobody waits for: %v", err)
	}
}

// Unknown space is entered if it has a cost, and where a way around it costs more.
func TestUnknownSpace(t *testing.T) {
	rows := []string{
		"...?...",
		"...?...",
		"...?...",
		"...?...",
		".......",
	}
	start, goal := navigation.Point{X: 0.5, Y: 4.5}, navigation.Point{X: 6.5, Y: 4.5}
	for _, c := range []struct {
		cost   float64
		length float64 // over cells
	}{{0, 4*math.Sqrt2 + 6}, {1, 6}, {1.5, 6}, {100, 4*math.Sqrt2 + 6}} {
		m := costmap(t, navigation.Inflation{UnknownCost: c.cost}, rows...)
		path, err := (&navigation.GridPlanner{NoSmoothing: true}).Plan(context.Background(), m, start, goal)
		if err != nil || math.Abs(path.Length()-c.length) > 1e-9 && c.cost != 0 && c.cost != 100 || path.Length() < 6 {
			t.Errorf("at a cost of %g: %v, %v m", c.cost, err, path.Length())
		}
		through := false
		for _, p := range path {
			through = through || int(p.X) == 3 && p.Y > 1
		}
		if through != (c.cost == 1 || c.cost == 1.5) {
			t.Errorf("at a cost of %g the way goes %v", c.cost, path)
		}
		smooth, err := (&navigation.GridPlanner{}).Plan(context.Background(), m, start, goal)
		if err != nil || smooth.Length() > path.Length()+1e-9 {
			t.Errorf("at a cost of %g: %v, %v m smoothed", c.cost, err, smooth.Length())
		}
		for i := 1; c.cost == 100 && i < len(smooth); i++ {
			if a, b := smooth[i-1], smooth[i]; a.X < 3 && b.X > 4 && max(a.Y, b.Y) > 1 {
				t.Errorf("a shortcut leads through unknown space: %v", smooth)
			}
		}
	}
}

// A grid may be turned and lie anywhere.
func TestTurnedGrid(t *testing.T) {
	g := draw("....", ".##.", "....")
	g.Origin = navigation.Pose2D{Point: navigation.Point{X: -10, Y: 5}, Yaw: math.Pi / 2}
	c, err := navigation.NewCostmap(g, navigation.Inflation{Radius: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	for y := range 3 {
		for x := range 4 {
			if gx, gy, ok := c.Cell(c.Center(x, y)); !ok || gx != x || gy != y {
				t.Errorf("cell %d,%d is %d,%d", x, y, gx, gy)
			}
		}
	}
	if p := c.Center(3, 0); math.Abs(p.X+10.5) > 1e-9 || math.Abs(p.Y-8.5) > 1e-9 {
		t.Errorf("the cell 3,0 has its centre at %v", p)
	}
	path, err := (&navigation.GridPlanner{NoSmoothing: true}).Plan(context.Background(), c, c.Center(1, 0), c.Center(1, 2))
	if err != nil || math.Abs(path.Length()-4) > 1e-9 {
		t.Errorf("around the wall: %v, %v", path, err)
	}
}
