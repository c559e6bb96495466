package navigation_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram/skill/navigation"
)

// A cost map on which things moved is that which is made of them anew.
func TestThingsMove(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 0))
	g := navigation.Grid{Width: 70, Height: 45, Resolution: 0.1, Origin: navigation.Pose2D{Point: navigation.Point{X: -2, Y: 1}, Yaw: 0.3}}
	for range g.Width * g.Height {
		s := navigation.Free
		if random.IntN(50) == 0 {
			s = navigation.Occupied
		}
		g.Cells = append(g.Cells, s)
	}
	i := navigation.Inflation{Radius: 0.25}
	moved := func(g navigation.Grid) *navigation.Costmap {
		g.Cells = slices.Clone(g.Cells)
		c, err := navigation.NewCostmap(g, i)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := moved(g)
	stands := map[string]navigation.Outline{}
	for range 300 {
		for range 1 + random.IntN(3) {
			name := fmt.Sprint("thing", random.IntN(6))
			if random.IntN(4) == 0 {
				delete(stands, name)
				c.Put(name)
				continue
			}
			at := c.Center(random.IntN(80)-5, random.IntN(55)-5)
			o := navigation.Circle(at, 0.3*random.Float64())
			if random.IntN(2) == 0 {
				o = navigation.Hull([]navigation.Point{at, {X: at.X + 0.5*random.Float64(), Y: at.Y}, {X: at.X, Y: at.Y - 0.7*random.Float64()}, {X: at.X + 0.2, Y: at.Y + 0.2}})
			}
			stands[name] = o
			c.Put(name, o)
		}
		c.Update()
		again := moved(g)
		for name, o := range stands {
			again.Put(name, o)
		}
		again.Update()
		if !slices.Equal(c.Cells, again.Cells) {
			t.Fatal("the cells differ")
		}
		for y := range c.Height {
			for x := range c.Width {
				if p := c.Center(x, y); c.Enterable(p) != again.Enterable(p) || c.Clearance(x, y) != again.Clearance(x, y) {
					t.Fatalf("cell %d,%d differs", x, y)
				}
			}
		}
		b1, e1 := c.Count()
		if b2, e2 := again.Count(); b1 != b2 || e1 != e2 {
			t.Fatalf("%d blocked, %d enterable; made anew %d and %d", b1, e1, b2, e2)
		}
	}
	// What stands on a cell occupies all cells that it touches, and no others.
	o := navigation.Hull([]navigation.Point{{X: 0.52, Y: 2.5}, {X: 1.1, Y: 2.9}, {X: 0.7, Y: 3.3}})
	c = moved(navigation.Grid{Width: 70, Height: 45, Resolution: 0.1, Cells: make([]navigation.State, 70*45)})
	c.Put("triangle", o)
	touched := 0
	for y := range c.Height {
		for x := range c.Width {
			center := c.Center(x, y)
			near := false // a point of the cell lies in the triangle
			for dy := -0.05; dy <= 0.0501; dy += 0.005 {
				for dx := -0.05; dx <= 0.0501; dx += 0.005 {
					near = near || o.Distance(navigation.Point{X: center.X + dx*0.999, Y: center.Y + dy*0.999}) == 0
				}
			}
			is := c.Cells[y*c.Width+x] == navigation.Occupied
			if is {
				touched++
			}
			if near && !is || is && o.Distance(center) > 0.1*math.Sqrt2/2+1e-9 {
				t.Errorf("cell %d,%d: occupied %t, touched %t", x, y, is, near)
			}
		}
	}
	if touched != c.Covers("triangle") {
		t.Errorf("%d cells, and it covers %d", touched, c.Covers("triangle"))
	}
}

func BenchmarkMove(b *testing.B) {
	c, err := navigation.NewCostmap(readMap(b, "depot"), navigation.Inflation{Radius: 0.25})
	if err != nil {
		b.Fatal(err)
	}
	k := 0
	for b.Loop() {
		k++
		c.Put("cart", navigation.Circle(navigation.Point{X: float64(k%100) * 0.1, Y: 0}, 0.4))
		c.Update()
	}
}
