package marker

import "math"

// reading is what the cells of a quad say.
type reading struct {
	family *Family
	id     int
	turns  int     // quarter turns of the marker, clockwise as it is seen
	wrong  int     // cells read wrong
	margin float64 // of the bits, from 0 (undecided) to 1
}

// mixedSamples is which part of the samples may have another colour than their cell.
const mixedSamples = 0.05

// read reads the cells of a quad as a marker of the family. Brightness is compared in
// logarithms, where a shadow is a step and not a factor.
func (s *sampler) read(f *Family, q quad, noise float64) (r reading, ok bool) {
	h, ok := homographyTo(q)
	if !ok {
		return r, false
	}
	n := f.Cells()
	size := 1 / float64(n)
	var samples []float64 // of the cell that was looked at last
	cell := func(x, y int) (float64, bool) {
		sum := 0.0
		samples = samples[:0]
		for _, dy := range [3]float64{0.28, 0.5, 0.72} {
			for _, dx := range [3]float64{0.28, 0.5, 0.72} {
				if v, inside := s.at(h.at((float64(x)+dx)*size, (float64(y)+dy)*size)); inside {
					v = math.Log(v + 6)
					sum += v
					samples = append(samples, v)
				}
			}
		}
		if len(samples) < 5 {
			return 0, false
		}
		return sum / float64(len(samples)), true
	}
	// How bright white and black are changes over the marker.
	var white, black plane
	type sample struct{ x, y, v float64 }
	var outside, border []sample
	for i := -1; i <= n; i++ {
		for _, e := range [4][2]int{{i, -1}, {i, n}, {-1, i}, {n, i}} {
			if (i == -1 || i == n) && e[0] == i && e[1] != -1 && e[1] != n {
				continue // corners come once
			}
			if v, inside := cell(e[0], e[1]); inside {
				p := sample{float64(e[0]), float64(e[1]), v}
				outside = append(outside, p)
				white.add(p.x, p.y, v)
			}
		}
	}
	for y := range n {
		for x := range n {
			if x > 0 && y > 0 && x < n-1 && y < n-1 {
				continue
			}
			v, inside := cell(x, y)
			if !inside {
				return r, false
			}
			border = append(border, sample{float64(x), float64(y), v})
			black.add(float64(x), float64(y), v)
		}
	}
	w, ok1 := white.solve()
	b, ok2 := black.solve()
	if !ok1 || !ok2 || len(outside) < 2*n {
		return r, false
	}
	middle := func(x, y float64) (threshold, contrast float64) {
		u, v := w.at(x, y), b.at(x, y)
		return (u + v) / 2, u - v
	}
	centre := float64(n-1) / 2
	brightest, darkest := math.Exp(w.at(centre, centre)), math.Exp(b.at(centre, centre))
	// Ink on paper reflects a small part; in one grey level of ten there is no marker.
	if brightest-darkest < max(8, 2.5*noise) || brightest < 1.35*darkest {
		return r, false
	}
	wrong := 0
	for _, p := range border {
		if t, _ := middle(p.x, p.y); p.v >= t {
			wrong++
		}
	}
	for _, p := range outside {
		if t, _ := middle(p.x, p.y); p.v < t {
			wrong++
		}
	}
	if wrong > (len(border)+len(outside))/16 {
		return r, false
	}
	var code uint64
	margin := 0.0
	mixed := 0 // samples of another colour than their cell
	for y := 1; y <= f.side; y++ {
		for x := 1; x <= f.side; x++ {
			v, inside := cell(x, y)
			if !inside {
				return r, false
			}
			t, contrast := middle(float64(x), float64(y))
			code <<= 1
			if v > t {
				code |= 1
			}
			for _, w := range samples {
				if (w > t) != (v > t) {
					mixed++
				}
			}
			margin += min(math.Abs(v-t)/(contrast/2), 1)
		}
	}
	margin /= float64(f.side * f.side)
	id, turns, differ, found := f.find(code)
	// Cells of one colour each are what sets a marker apart from other things that are
	// dark, square and spotted.
	if !found || margin < 0.45 || float64(mixed) > mixedSamples*9*float64(f.side*f.side) {
		return r, false
	}
	return reading{family: f, id: id, turns: turns, wrong: differ, margin: margin}, true
}

// plane is a least-squares fit of v = c0 + c1 x + c2 y.
type plane struct {
	n, x, y, xx, xy, yy float64
	v, vx, vy           float64
	c0, c1, c2          float64
}

func (p *plane) add(x, y, v float64) {
	p.n++
	p.x += x
	p.y += y
	p.xx += x * x
	p.xy += x * y
	p.yy += y * y
	p.v += v
	p.vx += v * x
	p.vy += v * y
}

func (p plane) solve() (plane, bool) {
	a, b, c := p.xx-p.x*p.x/p.n, p.xy-p.x*p.y/p.n, p.yy-p.y*p.y/p.n
	det := a*c - b*b
	if p.n < 3 || math.Abs(det) < 1e-9 {
		return p, false
	}
	u, w := p.vx-p.v*p.x/p.n, p.vy-p.v*p.y/p.n
	p.c1, p.c2 = (c*u-b*w)/det, (a*w-b*u)/det
	p.c0 = (p.v - p.c1*p.x - p.c2*p.y) / p.n
	return p, true
}

func (p *plane) at(x, y float64) float64 { return p.c0 + p.c1*x + p.c2*y }
