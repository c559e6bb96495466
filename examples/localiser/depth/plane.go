package depth

import (
	"math"
	"math/rand/v2"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Plane is what the boxes stand on: the points p of the camera's frame with Normal·p =
// Distance.
type Plane struct {
	Normal   pose.Vec3 // of length 1, towards the camera
	Distance float64   // metres, negative
	Sigma    float64   // standard deviation of its points from it, metres
	Points   int
}

// height returns how far a point is above the plane.
func (p *Plane) height(q pose.Vec3) float64 { return p.Normal.Dot(q) - p.Distance }

// axes returns two directions in the plane that make a right-handed frame with its normal.
func (p *Plane) axes() (x, y pose.Vec3) {
	other := pose.Vec3{X: 1}
	if math.Abs(p.Normal.X) > 0.7 {
		other = pose.Vec3{Y: 1}
	}
	y = p.Normal.Cross(other)
	y = y.Scale(1 / y.Norm())
	return y.Cross(p.Normal), y
}

// near is how far from a plane at a distance z points of it are measured at most.
func near(z float64) float64 { return 0.006 + 0.004*z*z }

// trials is how many planes through three random points are tried: with three tenths of all
// points in the plane, all miss it in one image of 10^6.
const trials = 500

// findPlane returns the plane with the most points (M. Fischler and R. Bolles, Random Sample
// Consensus, 1981). If up is not zero its normal is within tilt of it. The error is NotFound
// where no plane has a tenth of the points.
func findPlane(c *cloud, up pose.Vec3, tilt float64) (Plane, error) {
	random := rand.New(rand.NewPCG(1, 1)) // the same image gives the same answer
	sample := make([]pose.Vec3, 0, 2000)
	for range cap(sample) * 20 {
		if p := c.points[random.IntN(len(c.points))]; p.Z > 0 {
			if sample = append(sample, p); len(sample) == cap(sample) {
				break
			}
		}
	}
	var best Plane
	for range trials {
		if len(sample) < 3 {
			break
		}
		p := through(sample[random.IntN(len(sample))], sample[random.IntN(len(sample))], sample[random.IntN(len(sample))])
		if !p.level(up, tilt) {
			continue
		}
		for _, q := range sample {
			if math.Abs(p.height(q)) < near(q.Z) {
				p.Points++
			}
		}
		if p.Points > best.Points {
			best = p
		}
	}
	if 10*best.Points < len(sample) || best.Points < 3 {
		return Plane{}, engram.Errorf(engram.NotFound, "depth", "no plane has a tenth of the %d points; a table or a floor must be seen", c.valid)
	}
	for range 3 {
		best = best.refine(c)
	}
	return best, nil
}

// through returns the plane through three points, the zero plane if they are on a line.
func through(a, b, c pose.Vec3) Plane {
	n := b.Sub(a).Cross(c.Sub(a))
	length := n.Norm()
	if length < 1e-6 {
		return Plane{}
	}
	if n.Dot(a) > 0 {
		length = -length
	}
	n = n.Scale(1 / length)
	return Plane{Normal: n, Distance: n.Dot(a)}
}

func (p *Plane) level(up pose.Vec3, tilt float64) bool {
	if p.Normal == (pose.Vec3{}) {
		return false
	}
	return up == (pose.Vec3{}) || p.Normal.Dot(up) >= math.Cos(tilt)*up.Norm()
}

// refine fits the plane to the points near it: height = a·x + b·y + c over its axes.
func (p Plane) refine(c *cloud) Plane {
	x, y := p.axes()
	var centre pose.Vec3
	n := 0
	inliers := func(visit func(q pose.Vec3)) {
		for _, q := range c.points {
			if q.Z > 0 && math.Abs(p.height(q)) < near(q.Z) {
				visit(q)
			}
		}
	}
	inliers(func(q pose.Vec3) { centre, n = centre.Add(q), n+1 })
	centre = centre.Scale(1 / float64(n))
	var xx, xy, yy, xh, yh, hh float64
	inliers(func(q pose.Vec3) {
		d := q.Sub(centre)
		u, v, h := d.Dot(x), d.Dot(y), d.Dot(p.Normal)
		xx, xy, yy, xh, yh, hh = xx+u*u, xy+u*v, yy+v*v, xh+u*h, yh+v*h, hh+h*h
	})
	det := xx*yy - xy*xy
	if det <= 0 {
		return p
	}
	a, b := (xh*yy-yh*xy)/det, (yh*xx-xh*xy)/det
	normal := p.Normal.Sub(x.Scale(a)).Sub(y.Scale(b))
	normal = normal.Scale(1 / normal.Norm())
	return Plane{normal, normal.Dot(centre), math.Sqrt(max(hh-a*xh-b*yh, 0) / float64(n)), n}
}
