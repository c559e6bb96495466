package hallway

import (
	"fmt"
	"math"

	"github.com/seed-301d4374/engram/world/files"
)

// Point is a place in the frame of the map, metres.
type Point struct{ X, Y float64 }

// Dist returns the distance to q, metres.
func (p Point) Dist(q Point) float64 { return math.Hypot(p.X-q.X, p.Y-q.Y) }

// Grid is an occupancy grid: what is not free is solid.
type Grid struct {
	Width, Height int
	Resolution    float64 // metres
	Origin        Point   // of the lower left corner
	solid         []bool
	clear         []float32 // distance from a cell's middle to the nearest solid cell's, metres
}

// File returns the grid as a map file of ROS's map_server.
func (g *Grid) File() (*files.Grid, error) {
	image := fmt.Appendf(nil, "P5\n%d %d\n255\n", g.Width, g.Height)
	for y := g.Height - 1; y >= 0; y-- {
		for x := range g.Width {
			shade := byte(254)
			if g.solid[y*g.Width+x] {
				shade = 0
			}
			image = append(image, shade)
		}
	}
	text := fmt.Sprintf("image: hallway.pgm\nresolution: %g\norigin: [%g, %g, 0]\nnegate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.25\n",
		g.Resolution, g.Origin.X, g.Origin.Y)
	return files.ReadGrid([]byte(text), "hallway.yaml", func(string) ([]byte, error) { return image, nil })
}

// OfFile returns the grid that a map file is; what is unknown is solid.
func OfFile(f *files.Grid) *Grid {
	g := newGrid(f.Width, f.Height, f.Resolution, Point{f.Origin[0], f.Origin[1]})
	for i, c := range f.Cells() {
		g.solid[i] = c != 0
	}
	g.measure()
	return g
}

func newGrid(width, height int, resolution float64, origin Point) *Grid {
	return &Grid{Width: width, Height: height, Resolution: resolution, Origin: origin, solid: make([]bool, width*height)}
}

// Solid reports whether a place is not free.
func (g *Grid) Solid(p Point) bool {
	x, y := g.cell(p)
	return x < 0 || y < 0 || x >= g.Width || y >= g.Height || g.solid[y*g.Width+x]
}

func (g *Grid) cell(p Point) (x, y int) {
	return int(math.Floor((p.X - g.Origin.X) / g.Resolution)), int(math.Floor((p.Y - g.Origin.Y) / g.Resolution))
}

// Clear returns how far a place is from what is solid, metres; interpolated between cells.
func (g *Grid) Clear(p Point) float64 {
	c, _, _ := g.ClearAt(p)
	return c
}

// ClearAt returns Clear and its derivatives.
func (g *Grid) ClearAt(p Point) (clear, dx, dy float64) {
	fx, fy := (p.X-g.Origin.X)/g.Resolution-0.5, (p.Y-g.Origin.Y)/g.Resolution-0.5
	x, y := int(math.Floor(fx)), int(math.Floor(fy))
	if x < 0 || y < 0 || x+1 >= g.Width || y+1 >= g.Height {
		return 0, 0, 0
	}
	u, v := fx-float64(x), fy-float64(y)
	i := y*g.Width + x
	a, b := float64(g.clear[i]), float64(g.clear[i+1])
	c, d := float64(g.clear[i+g.Width]), float64(g.clear[i+g.Width+1])
	clear = a*(1-u)*(1-v) + b*u*(1-v) + c*(1-u)*v + d*u*v
	dx = ((b-a)*(1-v) + (d-c)*v) / g.Resolution
	dy = ((c-a)*(1-u) + (d-b)*u) / g.Resolution
	return clear, dx, dy
}

// measure computes clear: the exact Euclidean distance transform of Felzenszwalb and
// Huttenlocher, first along columns, then along rows.
func (g *Grid) measure() {
	const far = 1e12
	d := make([]float64, len(g.solid))
	for i, s := range g.solid {
		if !s {
			d[i] = far
		}
	}
	n := max(g.Width, g.Height)
	f, out, v, z := make([]float64, n), make([]float64, n), make([]int, n), make([]float64, n+1)
	line := func(m int, at func(i int) *float64) {
		for i := range m {
			f[i] = *at(i)
		}
		k := 0
		v[0], z[0], z[1] = 0, math.Inf(-1), math.Inf(1)
		for q := 1; q < m; q++ {
			var s float64
			for {
				p := v[k]
				s = ((f[q] + float64(q*q)) - (f[p] + float64(p*p))) / float64(2*q-2*p)
				if s > z[k] {
					break
				}
				k--
			}
			k++
			v[k], z[k], z[k+1] = q, s, math.Inf(1)
		}
		k = 0
		for q := range m {
			for z[k+1] < float64(q) {
				k++
			}
			out[q] = float64((q-v[k])*(q-v[k])) + f[v[k]]
		}
		for i := range m {
			*at(i) = out[i]
		}
	}
	for x := range g.Width {
		line(g.Height, func(i int) *float64 { return &d[i*g.Width+x] })
	}
	for y := range g.Height {
		line(g.Width, func(i int) *float64 { return &d[y*g.Width+i] })
	}
	g.clear = make([]float32, len(d))
	for i := range d {
		g.clear[i] = float32(math.Sqrt(d[i]) * g.Resolution)
	}
}

// Ray returns how far one sees from a place in a direction, metres, at most limit.
func (g *Grid) Ray(from Point, angle, limit float64) float64 {
	sin, cos := math.Sincos(angle)
	x, y := g.cell(from)
	// Amanatides and Woo: from one border of cells to the next.
	step := func(d float64) (int, float64) {
		if d > 0 {
			return 1, g.Resolution / d
		}
		return -1, g.Resolution / -d
	}
	sx, dx := step(cos)
	sy, dy := step(sin)
	next := func(at, origin float64, cell, s int, d float64) float64 {
		border := origin + float64(cell+(s+1)/2)*g.Resolution
		return (border - at) / d
	}
	tx, ty := math.Inf(1), math.Inf(1)
	if cos != 0 {
		tx = next(from.X, g.Origin.X, x, sx, cos)
	}
	if sin != 0 {
		ty = next(from.Y, g.Origin.Y, y, sy, sin)
	}
	for t := 0.0; t < limit; {
		if x < 0 || y < 0 || x >= g.Width || y >= g.Height || g.solid[y*g.Width+x] {
			return t
		}
		if tx < ty {
			t, tx, x = tx, tx+dx, x+sx
		} else {
			t, ty, y = ty, ty+dy, y+sy
		}
	}
	return limit
}

// Sees reports whether nothing solid is between two places.
func (g *Grid) Sees(from, to Point) bool {
	d := from.Dist(to)
	return g.Ray(from, math.Atan2(to.Y-from.Y, to.X-from.X), d) >= d-1e-9
}

// Default is a small hallway for where there is no map file: a corridor with two niches,
// pillars and a side room, 16 m × 8 m.
func Default() *Grid {
	const resolution = 0.05
	g := newGrid(320, 160, resolution, Point{-1, -1})
	box := func(x0, y0, x1, y1 float64) {
		for y := range g.Height {
			for x := range g.Width {
				px, py := (float64(x)+0.5)*resolution, (float64(y)+0.5)*resolution
				if px >= x0 && px < x1 && py >= y0 && py < y1 {
					g.solid[y*g.Width+x] = true
				}
			}
		}
	}
	box(0, 0, 16, 0.15)
	box(0, 7.85, 16, 8)
	box(0, 0, 0.15, 8)
	box(15.85, 0, 16, 8)
	box(5, 3.6, 5.15, 8) // walls of the side room, with a door
	box(5, 3.6, 8, 3.75)
	box(9.4, 3.6, 11, 3.75)
	box(11, 3.6, 11.15, 8)
	box(3, 2, 3.4, 2.4) // pillars
	box(12.5, 2, 12.9, 2.4)
	box(13.3, 5.4, 13.9, 6.4)
	box(7.2, 5.6, 8.4, 6.2)
	g.measure()
	return g
}
