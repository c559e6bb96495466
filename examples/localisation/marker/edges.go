package marker

import (
	"math"

	"github.com/seed-301d4374/engram/pose"
)

// border is a piece of the line between a white and a dark cell of a marker of size 1.
type border struct {
	a, b pose.Vec3 // its ends
	out  pose.Vec3 // towards the white side
	side bool      // of the marker's outline
}

// borders returns where white and dark meet in a marker.
func (f *Family) borders(id int) (all []border) {
	n := f.Cells()
	size := 1 / float64(n)
	// at returns the place of a corner of cells.
	at := func(x, y int) pose.Vec3 { return pose.Vec3{X: float64(x)*size - 0.5, Y: 0.5 - float64(y)*size} }
	for y := range n + 1 {
		for x := range n + 1 {
			if here := f.white(id, x, y); here != f.white(id, x-1, y) && y < n {
				out := pose.Vec3{X: -1}
				if here {
					out.X = 1
				}
				all = append(all, border{at(x, y), at(x, y+1), out, x == 0 || x == n})
			}
			if here := f.white(id, x, y); here != f.white(id, x, y-1) && x < n {
				out := pose.Vec3{Y: 1}
				if here {
					out.Y = -1
				}
				all = append(all, border{at(x, y), at(x+1, y), out, y == 0 || y == n})
			}
		}
	}
	return all
}

// fit is a pose with what it rests on.
type fit struct {
	pose pose.Pose
	cov  pose.Cov
	rms  float64 // of the edges from where the pose puts them, pixels
	cost float64 // sum of weighted squares over rms² of the better solution's kind
	sum  float64 // of weights
}

// cornerError is how far off, in pixels, corners may lie for reasons that are no noise:
// how a sensor blurs, and how straight the paper is.
const cornerError = 0.03

// fitEdges moves a pose until the marker's edges lie where the image has them.
func (s *sampler) fitEdges(p pose.Pose, borders []border, cells int, size float64) (f fit, ok bool) {
	c := s.lens
	var seen []observation
	for round := range 4 {
		seen = seen[:0]
		for _, e := range borders {
			seen = s.observe(seen, p, e, cells, size)
		}
		if len(seen) < 24 {
			return f, false
		}
		// Tukey's weights, from how the edges are off now, apart from what a step mends.
		base := make([]float64, len(seen))
		for i := range seen {
			base[i] = seen[i].weight
		}
		var step [6]float64
		var inverse [6][6]float64
		for range 3 {
			var n normal
			for _, o := range seen {
				n.add(o)
			}
			if inverse, step, ok = n.solve(); !ok {
				return f, false
			}
			left := make([]float64, len(seen))
			for i := range seen {
				left[i] = math.Abs(seen[i].left(step))
			}
			scale := max(4.685*1.48*median(append([]float64(nil), left...)), 0.2)
			for i := range seen {
				u := min(left[i]/scale, 1)
				seen[i].weight = base[i] * (1 - u*u) * (1 - u*u)
			}
		}
		step = limited(step, p.T.Norm())
		p = moved(p, step)
		if !finite(p) || p.T.Z <= 0 {
			return f, false
		}
		sum, squares := 0.0, 0.0
		for _, o := range seen {
			e := o.left(step)
			sum += o.weight
			squares += o.weight * e * e
		}
		f.pose, f.cost, f.sum = p, squares, sum
		f.rms = math.Sqrt(squares / max(sum, 1e-9))
		if round == 3 {
			f.cov, ok = covariance(c, p, inverse, f.rms, size)
		}
	}
	return f, ok
}

// left returns what a step leaves of the offset.
func (o *observation) left(step [6]float64) float64 {
	e := o.offset
	for i, r := range o.row {
		e -= r * step[i]
	}
	return e
}

// observe measures along one border where its edge is in the image.
func (s *sampler) observe(seen []observation, p pose.Pose, e border, cells int, size float64) []observation {
	c := s.lens
	a, b := e.a.Scale(size), e.b.Scale(size)
	pa, _, _, ok1 := pinhole(c, p.Apply(a))
	pb, _, _, ok2 := pinhole(c, p.Apply(b))
	po, _, _, ok3 := pinhole(c, p.Apply(a.Add(b).Scale(0.5).Add(e.out.Scale(size/float64(cells)))))
	if !ok1 || !ok2 || !ok3 {
		return seen
	}
	along := pb.sub(pa)
	length := along.norm()
	if length < 1 {
		return seen
	}
	n := vec2{along.y / length, -along.x / length}
	width := po.sub(pa.add(pb).scale(0.5)).dot(n) // of the cell beyond
	if width < 0 {
		n, width = n.scale(-1), -width
	}
	// Cells of few pixels run into each other: only the outline has room.
	if width < 1 || !e.side && (width < 4 || length < 3) {
		return seen
	}
	reach := min(max(0.5*width, 1), 4)
	count := int(min(max(math.Round(0.7*length), 1), 12))
	for k := range count {
		t := 0.15 + 0.7*(float64(k)+0.5)/float64(count)
		m := a.Add(b.Sub(a).Scale(t))
		at, dx, dy, ok := pinhole(c, p.Apply(m))
		if !ok {
			return seen
		}
		d, strength, ok := s.edgeAt(at, n, reach)
		if !ok || strength < 2 {
			continue
		}
		seen = append(seen, observation{row(p, m, dx, dy, n), d, min(strength, 60) / 60 * max(0.7*length/float64(count), 1)})
	}
	return seen
}

// covariance returns that of a pose: the noise of the edges, as their residuals show it,
// and the corners' error besides.
func covariance(c *Camera, p pose.Pose, inverse [6][6]float64, rms, size float64) (pose.Cov, bool) {
	var n normal
	for _, m := range modelCorners {
		m = m.Scale(size)
		_, dx, dy, ok := pinhole(c, p.Apply(m))
		if !ok {
			return pose.Cov{}, false
		}
		n.add(observation{row(p, m, dx, dy, vec2{1, 0}), 0, 1})
		n.add(observation{row(p, m, dx, dy, vec2{0, 1}), 0, 1})
	}
	systematic, _, ok := n.solve()
	if !ok {
		return pose.Cov{}, false
	}
	// Samples beside each other share pixels, so there are half as many of them.
	var m [6][6]float64
	for i := range 6 {
		for j := range 6 {
			m[i][j] = 2*rms*rms*inverse[i][j] + cornerError*cornerError*systematic[i][j]
		}
	}
	cov, err := pose.NewCov(&m)
	return cov, err == nil
}
