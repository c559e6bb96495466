package marker

import "math"

// edgeAt looks along a direction for the edge between dark and light near p: the centre
// of the gradient that rises along n, weighted by its square, within reach pixels. It
// returns how far from p that is, along n, and how strong the edge is.
func (s *sampler) edgeAt(p, n vec2, reach float64) (offset, strength float64, ok bool) {
	const step = 0.5
	k := int(math.Ceil(reach / step))
	var before, here float64
	var sum, weights float64
	for i := -k - 1; i <= k+1; i++ {
		v, inside := s.at(p.add(n.scale(float64(i) * step)))
		if !inside {
			return 0, 0, false
		}
		if i >= -k+1 {
			// The gradient at the point before, over one pixel.
			if g := v - before; g > 0 {
				sum += g * g * float64(i-1) * step
				weights += g * g
			}
		}
		before, here = here, v
	}
	if weights == 0 {
		return 0, 0, false
	}
	return sum / weights, math.Sqrt(weights * step), true
}

// refine moves the sides of a quad onto the edges in the image, to a fraction of a
// pixel. It fails where a side has no edge from dark to light outwards.
func (s *sampler) refine(q quad) (quad, bool) {
	for range 3 {
		var sides [4]line
		for i := range 4 {
			a, b := q[i], q[(i+1)%4]
			along := b.sub(a)
			length := along.norm()
			along = along.scale(1 / length)
			n := vec2{along.y, -along.x} // outwards
			// Half a cell of the finest family, as it is across this side.
			across := min(math.Abs(q[(i+3)%4].sub(a).dot(n)), math.Abs(q[(i+2)%4].sub(b).dot(n)))
			reach := min(max(across/16, 1.5), 5)
			count := int(min(max(length, 10), 60))
			var found []vec2
			var strengths []float64
			for k := range count {
				t := 0.06 + 0.88*(float64(k)+0.5)/float64(count)
				p := a.add(along.scale(t * length))
				d, strength, ok := s.edgeAt(p, n, reach)
				if ok {
					found, strengths = append(found, p.add(n.scale(d))), append(strengths, strength)
				}
			}
			if len(found) < count/2 || len(found) < 5 {
				return quad{}, false
			}
			l, ok := robustLine(found, strengths)
			if !ok {
				return quad{}, false
			}
			sides[i] = l
		}
		next, ok := crossings(sides)
		if !ok || !next.plausible() {
			return quad{}, false
		}
		moved := 0.0
		for i := range q {
			moved = max(moved, next[i].sub(q[i]).norm())
		}
		q = next
		if moved < 0.02 {
			break
		}
	}
	return q, true
}

// robustLine fits a line through most of the points.
func robustLine(points []vec2, weights []float64) (l line, ok bool) {
	var f lineFit
	for i, p := range points {
		f.add(p, weights[i])
	}
	if l, ok = f.line(); !ok {
		return l, false
	}
	off := make([]float64, len(points))
	for range 3 {
		for i, p := range points {
			off[i] = math.Abs(l.n.dot(p) - l.c)
		}
		scale := max(2.5*1.48*median(append([]float64(nil), off...)), 0.1)
		f = lineFit{}
		for i, p := range points {
			if u := off[i] / scale; u < 1 {
				f.add(p, weights[i]*(1-u*u)*(1-u*u))
			}
		}
		if next, good := f.line(); good {
			l = next
		}
	}
	return l, true
}

// homography maps the square from (0, 0) to (1, 1) into an image.
type homography [9]float64

// homographyTo returns the map whose corners (0,0), (1,0), (1,1), (0,1) are the quad's.
func homographyTo(q quad) (h homography, ok bool) {
	d1, d2 := q[1].sub(q[2]), q[3].sub(q[2])
	sum := q[0].sub(q[1]).add(q[2]).sub(q[3])
	det := d1.cross(d2)
	if math.Abs(det) < 1e-9 {
		return h, false
	}
	g, k := sum.cross(d2)/det, d1.cross(sum)/det
	return homography{
		q[1].x - q[0].x + g*q[1].x, q[3].x - q[0].x + k*q[3].x, q[0].x,
		q[1].y - q[0].y + g*q[1].y, q[3].y - q[0].y + k*q[3].y, q[0].y,
		g, k, 1,
	}, true
}

func (h *homography) at(u, v float64) vec2 {
	w := h[6]*u + h[7]*v + h[8]
	return vec2{(h[0]*u + h[1]*v + h[2]) / w, (h[3]*u + h[4]*v + h[5]) / w}
}
