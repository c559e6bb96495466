package boxes

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-301d4374/engram/pose"
)

// Box is something that stands on a plane.
type Box struct {
	// Pose of the middle in the camera's frame; z is up, away from the plane.
	Pose pose.Pose
	Size pose.Vec3 // m, what is seen of it along the axes
	// Hidden says of x and y which way the far side is, that nobody sees: the box may go
	// on there. 0 if both ends are seen.
	Hidden [2]float64
	Points int     // that it was made of
	Spread float64 // how far the outermost lie from its sides, m
}

// Options says what is looked for.
type Options struct {
	Up       pose.Vec3 // against gravity, in the camera's frame; zero if it is not known
	Smallest float64   // least height of a thing, m; 0 for 2 cm
	Largest  float64   // greatest extent, m; 0 for 1 m
}

// supports is how many planes things may stand on: a table, and the floor beside it.
const supports = 2

// Find returns what stands on the planes of a depth image, the largest first. It gives the
// same answer for the same image.
func Find(img *Image, o Options) []Box {
	smallest, largest := cmp.Or(o.Smallest, 0.02), cmp.Or(o.Largest, 1)
	up, least := o.Up, 0.94
	if up == (pose.Vec3{}) {
		// A camera is seldom rolled, and looks down on what it shall see: up may be anything
		// between the image's up and towards the camera.
		up, least = pose.Vec3{Y: -math.Sqrt2 / 2, Z: -math.Sqrt2 / 2}, 0.6
	}
	c := cloudOf(img)
	rnd := rand.New(rand.NewPCG(1, 2))
	var planes []Plane
	rest := cloud{c.w, c.h, slices.Clone(c.points)}
	onPlane := make([]bool, len(c.points))
	for range supports {
		p, n := rest.findPlane(rnd, up.Scale(1/up.Norm()), least)
		if n < c.w*c.h/50 {
			break
		}
		planes = append(planes, p)
		for i, q := range rest.points {
			if q.Z > 0 && math.Abs(p.Height(q)) < flat(q.Z) {
				onPlane[i] = true
				rest.points[i] = pose.Vec3{}
			}
		}
	}
	// What stands on the table is above the floor, too: the upper plane comes first.
	slices.SortFunc(planes, func(a, b Plane) int { return cmp.Compare(b.Offset, a.Offset) })
	var found []Box
	for _, p := range planes {
		for _, cluster := range c.above(p, onPlane, smallest, largest) {
			if b, ok := boxOf(cluster, p); ok && max(b.Size.X, b.Size.Y, b.Size.Z) <= largest {
				found = append(found, b)
			}
		}
	}
	slices.SortFunc(found, func(a, b Box) int { return cmp.Compare(b.Points, a.Points) })
	return found
}

// above returns the clusters of points above a plane and takes them out of the cloud:
// points on no plane whose neighbours in the image are neighbours in space.
func (c *cloud) above(p Plane, onPlane []bool, smallest, largest float64) [][]pose.Vec3 {
	const fewest = 60
	is := make([]bool, len(c.points))
	stands := make([]bool, len(c.points)) // this plane's points
	for i, q := range c.points {
		if q.Z == 0 {
			continue
		}
		h := p.Height(q)
		is[i] = !onPlane[i] && h > max(0.5*smallest, 1.5*flat(q.Z)) && h < largest
		stands[i] = math.Abs(h) < flat(q.Z)
	}
	var clusters [][]pose.Vec3
	var queue []int
	for first := range is {
		if !is[first] {
			continue
		}
		is[first] = false
		queue = append(queue[:0], first)
		touches, border := 0, 0
		for k := 0; k < len(queue); k++ {
			i := queue[k]
			x, y := i%c.w, i/c.w
			if x == 0 || y == 0 || x == c.w-1 || y == c.h-1 {
				border++
			}
			for _, d := range [8][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-2, 0}, {2, 0}, {0, -2}, {0, 2}} {
				nx, ny := x+d[0], y+d[1]
				if nx < 0 || ny < 0 || nx >= c.w || ny >= c.h {
					continue
				}
				j := ny*c.w + nx
				if stands[j] {
					touches++
				}
				if is[j] && c.points[j].Sub(c.points[i]).Norm() < 0.012+2.5*flat(c.points[i].Z) {
					is[j] = false
					queue = append(queue, j)
				}
			}
		}
		if len(queue) < fewest || touches < 5 {
			continue // noise, or nothing that stands on this plane
		}
		// What the image's border cuts has no size.
		if border > 3 {
			for _, i := range queue {
				c.points[i] = pose.Vec3{}
			}
			continue
		}
		points := make([]pose.Vec3, len(queue))
		for k, i := range queue {
			points[k] = c.points[i]
			c.points[i] = pose.Vec3{}
		}
		top := 0.0
		for _, q := range points {
			top = max(top, p.Height(q))
		}
		if top >= smallest {
			clusters = append(clusters, points)
		}
	}
	return clusters
}

// boxOf fits a box that stands on the plane around a cluster.
func boxOf(points []pose.Vec3, p Plane) (Box, bool) {
	u, v := axes(p.Normal)
	n := len(points)
	heights := make([]float64, n)
	flatPoints := make([][2]float64, n)
	for i, q := range points {
		heights[i] = p.Height(q)
		flatPoints[i] = [2]float64{q.Dot(u), q.Dot(v)}
	}
	angle, spread := footprint(flatPoints)
	s, c := math.Sincos(angle)
	x, y := u.Scale(c).Add(v.Scale(s)), v.Scale(c).Sub(u.Scale(s))
	along, across := make([]float64, n), make([]float64, n)
	for i, q := range points {
		along[i], across[i] = q.Dot(x), q.Dot(y)
	}
	x0, x1 := ends(along)
	y0, y1 := ends(across)
	slices.Sort(heights)
	// The top side is a layer of many points, whose noise is above it as well as below.
	top := topOf(heights)
	size := pose.Vec3{X: x1 - x0, Y: y1 - y0, Z: top}
	if min(size.X, size.Y, size.Z) < 0.005 {
		return Box{}, false
	}
	middle := x.Scale((x0 + x1) / 2).Add(y.Scale((y0 + y1) / 2)).Add(p.Normal.Scale(p.Offset + top/2))
	b := Box{
		Pose: pose.Pose{T: middle, R: fromColumns(x, y, p.Normal)}, Size: size, Points: n, Spread: spread,
	}
	// The far ends are seen where the top is: from above, and by points there.
	eyeHeight := -p.Offset
	if eyeHeight < top*1.1 {
		b.Hidden = [2]float64{math.Copysign(1, middle.Dot(x)), math.Copysign(1, middle.Dot(y))}
	}
	return b, true
}

// ends returns where values begin and end, without the few outside that noise makes.
func ends(v []float64) (lo, hi float64) {
	s := slices.Clone(v)
	slices.Sort(s)
	k := len(s) / 100
	return s[k], s[len(s)-1-k]
}

// topOf returns the height of the uppermost layer among sorted heights: the middle of
// what lies within a centimetre or so of the highest ones.
func topOf(heights []float64) float64 {
	n := len(heights)
	high := heights[n-1-n/100]
	from := slices.IndexFunc(heights, func(h float64) bool { return h > high-0.012 })
	layer := heights[from:]
	// A side that is seen from the front has as many points at each height: then there is
	// no layer, and the highest is the top.
	if float64(len(layer)) < 0.15*float64(n)+float64(n)*0.012/max(high, 0.012) {
		return high
	}
	return layer[len(layer)/2]
}

// footprint returns the angle of the smallest rectangle around points of the plane, and how
// far those of their hull are from its sides.
func footprint(points [][2]float64) (angle, spread float64) {
	hull := hullOf(points)
	around := func(a float64) (x0, x1, y0, y1 float64) {
		s, c := math.Sincos(a)
		x0, x1, y0, y1 = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
		for _, p := range hull {
			x, y := c*p[0]+s*p[1], c*p[1]-s*p[0]
			x0, x1, y0, y1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y)
		}
		return x0, x1, y0, y1
	}
	best := math.Inf(1)
	look := func(a float64) {
		if x0, x1, y0, y1 := around(a); (x1-x0)*(y1-y0) < best {
			best, angle = (x1-x0)*(y1-y0), a
		}
	}
	for k := range 90 {
		look(float64(k) * math.Pi / 180)
	}
	for step := math.Pi / 360; step > 1e-4; step /= 2 {
		here := angle
		look(here - step)
		look(here + step)
	}
	s, c := math.Sincos(angle)
	x0, x1, y0, y1 := around(angle)
	for _, p := range hull {
		x, y := c*p[0]+s*p[1], c*p[1]-s*p[0]
		spread += min(x-x0, x1-x, y-y0, y1-y) / float64(len(hull))
	}
	return angle, spread
}

// hullOf returns the convex hull of points (Andrew's monotone chain).
func hullOf(points [][2]float64) [][2]float64 {
	p := slices.Clone(points)
	slices.SortFunc(p, func(a, b [2]float64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	var hull [][2]float64
	for range 2 {
		first := len(hull)
		for _, q := range p {
			for len(hull) >= first+2 {
				a, b := hull[len(hull)-2], hull[len(hull)-1]
				if (b[0]-a[0])*(q[1]-b[1])-(b[1]-a[1])*(q[0]-b[0]) > 0 {
					break
				}
				hull = hull[:len(hull)-1]
			}
			hull = append(hull, q)
		}
		hull = hull[:len(hull)-1]
		slices.Reverse(p)
	}
	return hull
}

// fromColumns returns the rotation whose matrix has these columns.
func fromColumns(x, y, z pose.Vec3) pose.Quat {
	return pose.Quat{
		W: math.Sqrt(max(0, 1+x.X+y.Y+z.Z)) / 2,
		X: math.Copysign(math.Sqrt(max(0, 1+x.X-y.Y-z.Z))/2, y.Z-z.Y),
		Y: math.Copysign(math.Sqrt(max(0, 1-x.X+y.Y-z.Z))/2, z.X-x.Z),
		Z: math.Copysign(math.Sqrt(max(0, 1-x.X-y.Y+z.Z))/2, x.Y-y.X),
	}
}
