package boxes

import (
	"math"
	"math/rand/v2"

	"github.com/seed-301d4374/engram/examples/localisation/marker"
	"github.com/seed-301d4374/engram/pose"
)

// Image is a depth image: metres along the optical axis, 0 where nothing was measured.
type Image struct {
	Camera marker.Camera
	Depth  []float32
}

// Plane is the set of points p of the camera's frame with Normal·p = Offset. Its normal
// points to the side that the camera is on.
type Plane struct {
	Normal pose.Vec3
	Offset float64 // m
}

// Height returns how far above the plane a point is, metres.
func (p Plane) Height(at pose.Vec3) float64 { return p.Normal.Dot(at) - p.Offset }

// cloud are the points of an image on a grid of every stride-th pixel.
type cloud struct {
	w, h   int
	points []pose.Vec3 // z is 0 where nothing was measured or it is used
}

// stride is which pixels of the image are looked at.
const stride = 2

func cloudOf(img *Image) *cloud {
	c := &img.Camera
	out := &cloud{w: c.Width / stride, h: c.Height / stride}
	out.points = make([]pose.Vec3, out.w*out.h)
	for y := range out.h {
		for x := range out.w {
			z := float64(img.Depth[y*stride*c.Width+x*stride])
			if z > 0.1 && z < 10 {
				out.points[y*out.w+x] = c.Ray(float64(x*stride), float64(y*stride)).Scale(z)
			}
		}
	}
	return out
}

// flat is how far points of a plane lie from it at a distance, metres: what depth cameras
// are uncertain by grows with its square.
func flat(z float64) float64 { return 0.006 + 0.004*z*z }

// findPlane returns the plane with most points among those whose normal is near up, and
// how many it has. Of the given points it looks at every so many.
func (c *cloud) findPlane(rnd *rand.Rand, up pose.Vec3, least float64) (best Plane, count int) {
	var sample []pose.Vec3
	for i, p := range c.points {
		if p.Z > 0 && (i/c.w+i%c.w)%5 == 0 {
			sample = append(sample, p)
		}
	}
	if len(sample) < 100 {
		return best, 0
	}
	for range 200 {
		a := sample[rnd.IntN(len(sample))]
		b := sample[rnd.IntN(len(sample))]
		d := sample[rnd.IntN(len(sample))]
		n := b.Sub(a).Cross(d.Sub(a))
		if n.Norm() < 1e-4 {
			continue
		}
		p := facing(n, a)
		if p.Normal.Dot(up) < least {
			continue
		}
		votes := 0
		for _, q := range sample {
			if math.Abs(p.Height(q)) < flat(q.Z) {
				votes++
			}
		}
		if votes > count {
			best, count = p, votes
		}
	}
	if count == 0 {
		return best, 0
	}
	for range 3 {
		if p, ok := fitPlane(sample, best); ok {
			best = p
		}
	}
	count = 0
	for _, q := range sample {
		if math.Abs(best.Height(q)) < flat(q.Z) {
			count++
		}
	}
	return best, count * 5
}

// facing returns the plane through a point with a normal towards the camera.
func facing(n, a pose.Vec3) Plane {
	n = n.Scale(1 / n.Norm())
	if n.Dot(a) > 0 {
		n = n.Scale(-1)
	}
	return Plane{n, n.Dot(a)}
}

// fitPlane returns the plane of least squares through the points near one.
func fitPlane(points []pose.Vec3, near Plane) (Plane, bool) {
	var n, sx, sy, sz float64
	for _, p := range points {
		if math.Abs(near.Height(p)) < flat(p.Z) {
			n, sx, sy, sz = n+1, sx+p.X, sy+p.Y, sz+p.Z
		}
	}
	if n < 10 {
		return near, false
	}
	m := pose.Vec3{X: sx / n, Y: sy / n, Z: sz / n}
	// In the plane's own axes the height is a function of the place.
	u, v := axes(near.Normal)
	var uu, uv, vv, uh, vh float64
	for _, p := range points {
		if math.Abs(near.Height(p)) >= flat(p.Z) {
			continue
		}
		d := p.Sub(m)
		a, b, h := d.Dot(u), d.Dot(v), d.Dot(near.Normal)
		w := 1 / (flat(p.Z) * flat(p.Z))
		uu, uv, vv, uh, vh = uu+w*a*a, uv+w*a*b, vv+w*b*b, uh+w*a*h, vh+w*b*h
	}
	det := uu*vv - uv*uv
	if det <= 1e-9*uu*vv {
		return near, false
	}
	s, t := (vv*uh-uv*vh)/det, (uu*vh-uv*uh)/det
	return facing(near.Normal.Sub(u.Scale(s)).Sub(v.Scale(t)), m), true
}

// axes returns two directions that make a right-handed frame with a unit normal as z.
func axes(n pose.Vec3) (u, v pose.Vec3) {
	u = pose.Vec3{X: 1}
	if math.Abs(n.X) > 0.9 {
		u = pose.Vec3{Z: 1}
	}
	u = u.Sub(n.Scale(u.Dot(n)))
	u = u.Scale(1 / u.Norm())
	return u, n.Cross(u)
}
