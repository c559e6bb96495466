package navigation_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/skill/navigation"
	"github.com/seed-301d4374/engram/world"
)

// hits reports whether a cell that is not free has its centre in a rectangle.
func hits(g navigation.Grid, at navigation.Pose2D, length, width float64) bool {
	sin, cos := math.Sincos(at.Yaw)
	for y := range g.Height {
		for x := range g.Width {
			p := g.Center(x, y)
			dx, dy := p.X-at.X, p.Y-at.Y
			if g.Cells[y*g.Width+x] != navigation.Free && math.Abs(cos*dx+sin*dy) < length/2-1e-6 && math.Abs(cos*dy-sin*dx) < width/2-1e-6 {
				return true
			}
		}
	}
	return false
}

// driven reports whether a rectangle gets along a path without touching anything, as it turns on the spot between
// straight lines; turns are looked at as coarsely as the planner does.
func driven(g navigation.Grid, path navigation.Path, length, width float64) bool {
	for i := 1; i < len(path); i++ {
		a, b := path[i-1], path[i]
		yaw := math.Atan2(b.Y-a.Y, b.X-a.X)
		n := int(a.Distance(b)/g.Resolution*4) + 1
		for k := range n + 1 {
			t := float64(k) / float64(n)
			if hits(g, navigation.Pose2D{Point: navigation.Point{X: a.X + t*(b.X-a.X), Y: a.Y + t*(b.Y-a.Y)}, Yaw: yaw}, length, width) {
				return false
			}
		}
		if i+1 < len(path) {
			by := math.Remainder(math.Atan2(path[i+1].Y-b.Y, path[i+1].X-b.X)-yaw, 2*math.Pi)
			for turn := 0.0; turn < math.Abs(by); turn += math.Pi / 8 {
				if hits(g, navigation.Pose2D{Point: b, Yaw: yaw + math.Copysign(turn, by)}, length, width) {
					return false
				}
			}
		}
	}
	return true
}

// A way of a rectangle can be driven by it. There is one if its outer circle has one, and none if its inner circle
// has none.
func TestFootprint(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	count := map[string]int{}
	for range 300 {
		g := navigation.Grid{Width: 12 + r.IntN(30), Height: 12 + r.IntN(20), Resolution: 0.1, Origin: navigation.Pose2D{Yaw: r.Float64()}}
		g.Cells = make([]navigation.State, g.Width*g.Height)
		for range r.IntN(40) {
			g.Cells[r.IntN(len(g.Cells))] = navigation.Occupied
		}
		for range r.IntN(4) {
			for x, y, door := r.IntN(g.Width), 0, r.IntN(g.Height); y < g.Height; y++ {
				if y < door || y > door+5 {
					g.Cells[y*g.Width+x] = navigation.Occupied
				}
			}
		}
		length, width := 0.3+r.Float64()/2, 0.1+r.Float64()/3
		f := navigation.Rectangle(length, width)
		plan := func(i navigation.Inflation, smooth bool) (navigation.Path, *navigation.Failure) {
			own := g
			own.Cells = slices.Clone(g.Cells)
			c, err := navigation.NewCostmap(own, i)
			if err != nil {
				t.Fatal(err)
			}
			path, err := (&navigation.GridPlanner{NoSmoothing: !smooth}).Plan(t.Context(), c, g.Center(1, g.Height/2), g.Center(g.Width-2, g.Height/2))
			failure, _ := errors.AsType[*navigation.Failure](err)
			if err != nil && failure == nil {
				t.Fatal(err)
			}
			return path, failure
		}
		is := navigation.Inflation{Radius: f.Radius(), Footprint: f}
		way, none := plan(is, false)
		smooth, noneSmooth := plan(is, true)
		outer, noOuter := plan(navigation.Inflation{Radius: f.Radius()}, false)
		_, noInner := plan(navigation.Inflation{Radius: f.Inscribed() * (1 - 1e-6)}, false)
		if (none == nil) != (noneSmooth == nil) || none != nil && noOuter == nil || none == nil && noInner != nil {
			t.Fatalf("%g x %g m: %v, smooth %v, outer circle %v, inner circle %v", length, width, none, noneSmooth, noOuter, noInner)
		}
		if none != nil {
			count["none"]++
			continue
		}
		if !driven(g, way, length, width) || !driven(g, smooth, length, width) {
			t.Fatalf("%g x %g m cannot drive along %v or %v", length, width, way, smooth)
		}
		if smooth.Length() > way.Length()+1e-9 || noOuter == nil && way.Length() > 1.0001*outer.Length() {
			t.Fatalf("%g x %g m: %g m, smooth %g m", length, width, way.Length(), smooth.Length())
		}
		if count["way"]++; noOuter != nil {
			count["narrow"]++
		}
	}
	if count["none"] < 20 || count["way"] < 50 || count["narrow"] < 10 {
		t.Errorf("too few of a kind: %v", count)
	}
}

// corridor is two rooms with a passage between them that is 0.8 m wide.
func corridor() navigation.Grid {
	g := navigation.Grid{Width: 120, Height: 80, Resolution: 0.1, Cells: make([]navigation.State, 120*80)}
	for y := range 80 {
		for x := 50; x < 70; x++ {
			if y < 18 || y >= 26 {
				g.Cells[y*120+x] = navigation.Occupied
			}
		}
	}
	return g
}

// A long robot goes through a passage that its circle is too wide for, and neither turns in it nor stops there
// across.
func TestNarrowPassage(t *testing.T) {
	const length, width = 1.2, 0.5
	f := navigation.Rectangle(length, width)
	inflation := navigation.Inflation{Radius: f.Radius() + 0.05, Footprint: f}
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, corridor())
		floor, err := navigation.NewFloor("hall", "map", corridor(), navigation.FloorOptions{Inflation: inflation})
		if err != nil {
			t.Fatal(err)
		}
		d.floor = floor
		touched, grid := 0, corridor()
		clock := navigation.NewScaledClock(engram.Now(), 10)
		d.sim = navigation.NewSimulated(clock, navigation.Pose2D{Point: navigation.Point{X: 2, Y: 2.25}}, 0, func(at navigation.Pose2D) []navigation.Obstacle {
			if math.Abs(at.X-6) < 2 && hits(grid, at, length, width) {
				touched++
			}
			return nil
		})
		d = onward(d, navigation.Options{})
		r, err := d.Go(t.Context(), goal(10, 6))
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		if kinds := d.notes.kinds(t); slices.Contains(kinds, "Replanned") || slices.Contains(kinds, "Trapped") {
			t.Errorf("the events are %v", kinds)
		}
		in := goal(6, 2.2)
		if r, err := d.Go(t.Context(), in); !errors.Is(err, engram.Invalid) || r.EndedBy != navigation.GlobalPlanningFailed {
			t.Errorf("across the passage: %+v, %v", r, err)
		}
		in.AnyYaw = true
		if r, err := d.Go(t.Context(), in); err != nil || math.Abs(math.Remainder(r.Final.Yaw, math.Pi)) > 0.3 {
			t.Errorf("in the passage: %+v, %v", r, err)
		}
		// It stands there along the passage, and goes on.
		if r, err := d.Go(t.Context(), goal(2, 6)); err != nil {
			t.Errorf("out of the passage: %+v, %v", r, err)
		}
		if touched > 0 {
			t.Errorf("it touched the walls at %d of the poses that it was at", touched)
		}
	})
	c, err := navigation.NewCostmap(corridor(), navigation.Inflation{Radius: f.Radius()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&navigation.GridPlanner{}).Plan(t.Context(), c, navigation.Point{X: 2, Y: 2.25}, navigation.Point{X: 10, Y: 6}); !errors.Is(err, engram.NotFound) {
		t.Errorf("a circle gets through: %v", err)
	}
	if c, err = navigation.NewCostmap(corridor(), inflation); err != nil {
		t.Fatal(err)
	}
	costs := c.Costs()
	at := func(x, y int) byte { return costs[y*120+x] }
	if at(60, 10) != 254 || at(60, 25) != 253 || at(60, 22) == 0 || at(60, 22) > 252 || at(60, 22) >= at(60, 21) && at(60, 22) >= at(60, 23) && at(60, 21) != at(60, 22) || at(20, 40) != 0 {
		t.Errorf("across the passage the costs are %d %d %d %d %d, in the room %d", at(60, 25), at(60, 24), at(60, 23), at(60, 22), at(60, 21), at(20, 40))
	}
	for _, bad := range []navigation.Inflation{
		{Radius: 0.3, Footprint: f}, {Radius: 1, Footprint: navigation.Footprint{{X: 1}, {X: -1}}},
		{Radius: math.Inf(1), Footprint: navigation.Footprint{{X: math.NaN()}, {X: -1}, {Y: 1}}},
	} {
		if _, err := navigation.NewCostmap(corridor(), bad); !errors.Is(err, engram.Invalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// The footprint of a floor is that of the robot's box in the world, unless a radius is given.
func TestFootprintOfTheRobot(t *testing.T) {
	m := furnished(t)
	rover := thing("rover", "hall", 1, 5, pose.Vec3{X: 1, Y: 0.4, Z: 1}, world.KindObject)
	state(t, m, rover)
	for _, c := range []struct {
		radius            float64
		inner, mid, outer byte // 0.05, 0.35 and 0.65 m beside the table
	}{{0, 253, 1, 0}, {0.3, 253, 0, 0}} {
		f, err := navigation.OpenFloor(t.Context(), m, "", navigation.FloorOptions{Robot: "rover", Inflation: navigation.Inflation{Radius: c.radius}})
		if err != nil {
			t.Fatal(err)
		}
		f.Read(func(on *navigation.Costmap) {
			costs := on.Costs()
			at := func(y float64) byte {
				x, y2, _ := on.Cell(navigation.Point{X: 5, Y: y})
				return min(costs[y2*on.Width+x], 253)
			}
			inner, mid, outer := at(5.4+0.05), at(5.4+0.35), at(5.4+0.65)
			if inner != c.inner || (mid > 0 && mid < 253) != (c.mid > 0) || outer != c.outer {
				t.Errorf("with a radius of %g m the costs are %d %d %d", c.radius, inner, mid, outer)
			}
		})
		f.Close()
	}
}
