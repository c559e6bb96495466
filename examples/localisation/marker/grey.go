package marker

import (
	"math"

	"github.com/seed-301d4374/engram/pose"
)

// pixel is one of the image that sees the marker or the white around it.
type pixel struct {
	value  float64       // grey level
	beyond float64       // grey level of what is beside the white around the marker there
	u, v   float64       // of the place that it sees: cells to the right and down
	du, dv vec2          // how they change with the image, per pixel
	move   [2][6]float64 // how that place moves over the image, in x and y, with the pose
	drawn
}

// drawn is what a blurred pixel sees, and how that changes with u and v: how much of it is white
// cells, and how much the marker with the white around it.
type drawn struct{ white, whiteU, whiteV, inside, insideU, insideV float64 }

// fitGrey moves a pose until the marker as it would be seen from there is most like the image,
// pixel by pixel. Noise counts less than where single edges are looked for; but light must fall
// evenly on the marker, and the lens blur alike. It returns the pose with its covariance; ok is
// false where the image is not of that kind.
func (s *sampler) fitGrey(p pose.Pose, f *Family, id int, size float64) (fit, bool) {
	const rounds = 3
	start := p
	blur := 0.0
	for round := range rounds {
		seen := s.pixels(p, f, size)
		if len(seen) < leastPixels {
			return fit{}, false
		}
		if round < 2 { // then it is known
			var ok bool
			if blur, ok = s.blurOf(seen, f, id); !ok {
				return fit{}, false
			}
		}
		f.draw(id, seen, blur)
		lit, rms, weights, ok := lightOf(seen, f)
		if !ok {
			return fit{}, false
		}
		var n normal
		for i := range seen {
			x := &seen[i]
			dark, gain := lit.at(x.u, x.v)
			other := dark - x.beyond
			g := x.du.scale(gain*x.whiteU + other*x.insideU).add(x.dv.scale(gain*x.whiteV + other*x.insideV))
			o := observation{offset: x.value - x.inside*dark - x.white*gain - (1-x.inside)*x.beyond, weight: weights[i]}
			for k := range o.row {
				o.row[k] = -g.x*x.move[0][k] - g.y*x.move[1][k]
			}
			n.add(o)
		}
		inverse, step, ok := n.solve()
		if !ok {
			return fit{}, false
		}
		p = moved(p, limited(step, p.T.Norm()))
		if !finite(p) || p.T.Z <= 0 {
			return fit{}, false
		}
		if round < rounds-1 {
			continue
		}
		// What is not drawn so is not evenly lit, or something else.
		_, gain := lit.at(lit.cells/2, lit.cells/2)
		far, turned := p.Distance(start)
		if rms > 0.15*gain || far > 0.05*p.T.Norm() || turned > 0.2 {
			return fit{}, false
		}
		one := fit{pose: p}
		if one.cov, ok = covariance(s.lens, p, inverse, rms, size); ok {
			return one, true
		}
	}
	return fit{}, false
}

// How many pixels are needed, and about how many are used.
const (
	leastPixels = 100
	mostPixels  = 6000
)

// pixels returns those that see the marker from a pose, with a part of the white around it.
func (s *sampler) pixels(p pose.Pose, f *Family, size float64) []pixel {
	cells := float64(f.Cells())
	const around = 0.6 // cells
	x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, m := range modelCorners {
		at, _, _, ok := pinhole(s.lens, p.Apply(m.Scale(size*(1+2*around/cells))))
		if !ok {
			return nil
		}
		x0, y0, x1, y1 = min(x0, at.x), min(y0, at.y), max(x1, at.x), max(y1, at.y)
	}
	step := max(1, math.Floor(math.Sqrt((x1-x0)*(y1-y0)/mostPixels)))
	right, up := p.R.Rotate(pose.Vec3{X: 1}), p.R.Rotate(pose.Vec3{Y: 1})
	normal := right.Cross(up)
	seen := make([]pixel, 0, int(min((x1-x0+1)*(y1-y0+1), 2*mostPixels)))
	for y := math.Ceil(y0); y <= y1; y += step {
		for x := math.Ceil(x0); x <= x1; x += step {
			value, ok := s.at(vec2{x, y})
			ray := pose.Vec3{X: (x - s.lens.CX) / s.lens.FX, Y: (y - s.lens.CY) / s.lens.FY, Z: 1}
			facing := normal.Dot(ray)
			if !ok || math.Abs(facing) < 1e-9 {
				continue
			}
			at := ray.Scale(normal.Dot(p.T) / facing)
			m := pose.Vec3{X: at.Sub(p.T).Dot(right), Y: at.Sub(p.T).Dot(up)}
			u, v := (m.X/size+0.5)*cells, (0.5-m.Y/size)*cells
			if u < -around || v < -around || u > cells+around || v > cells+around {
				continue
			}
			_, dx, dy, ok := pinhole(s.lens, at)
			if !ok {
				continue
			}
			// How the image changes with the place on the marker, and the other way round.
			xr, xu, yr, yu := dx.Dot(right), dx.Dot(up), dy.Dot(right), dy.Dot(up)
			det := xr*yu - xu*yr
			if math.Abs(det) < 1e-9 {
				continue
			}
			k := cells / size / det
			seen = append(seen, pixel{
				value: value, beyond: s.beyond(p, u, v, cells, size, value), u: u, v: v, du: vec2{yu * k, -xu * k}, dv: vec2{yr * k, -xr * k},
				move: [2][6]float64{row(p, m, dx, dy, vec2{1, 0}), row(p, m, dx, dy, vec2{0, 1})},
			})
		}
	}
	return seen
}

// beyond returns the grey level beside the white around a marker, where that is next to a place;
// otherwise if there is none. A pixel far from it does not see it.
func (s *sampler) beyond(p pose.Pose, u, v, cells, size, otherwise float64) float64 {
	const near, away = 1.5, 1.6 // cells
	if min(u, v) > near && max(u, v) < cells-near {
		return otherwise
	}
	if math.Abs(u-cells/2) > math.Abs(v-cells/2) {
		u = cells/2 + math.Copysign(cells/2+away, u-cells/2)
	} else {
		v = cells/2 + math.Copysign(cells/2+away, v-cells/2)
	}
	at, _, _, ok := pinhole(s.lens, p.Apply(pose.Vec3{X: (u/cells - 0.5) * size, Y: (0.5 - v/cells) * size}))
	if level, inside := s.at(at); ok && inside {
		return level
	}
	return otherwise
}

// draw says what pixels see of a marker, blurred by Gauss's function with this standard
// deviation in pixels.
func (f *Family) draw(id int, seen []pixel, blur float64) {
	cells := f.Cells()
	var columns, lines [maxShares]share
	for i := range seen {
		x := &seen[i]
		column, width := soft(&columns, x.u, blur*x.du.norm())
		line, height := soft(&lines, x.v, blur*x.dv.norm())
		var d drawn
		var right, down share // of the marker with the white around it
		for i, c := range columns[:width] {
			if k := column + i; k >= -1 && k <= cells {
				right.part += c.part
				right.change += c.change
			}
		}
		for j, l := range lines[:height] {
			k := line + j
			if k < -1 || k > cells {
				continue
			}
			down.part += l.part
			down.change += l.change
			for i, c := range columns[:width] {
				if h := column + i; h >= -1 && h <= cells && f.white(id, h, k) {
					d.white += l.part * c.part
					d.whiteU += l.part * c.change
					d.whiteV += l.change * c.part
				}
			}
		}
		d.inside, d.insideU, d.insideV = right.part*down.part, right.change*down.part, right.part*down.change
		x.drawn = d
	}
}

// share is how much of what is seen at a place is of a cell, and how that changes with the place.
type share struct{ part, change float64 }

// maxShares bounds the cells that a pixel sees in one direction.
const maxShares = 16

// soft returns the shares of the cells around a place in one direction: the first of them, and
// how many.
func soft(shares *[maxShares]share, u, sigma float64) (first, n int) {
	sigma = min(max(sigma, 0.02), maxShares/7.0)
	first = int(math.Floor(u - 3*sigma))
	n = int(math.Floor(u+3*sigma)) - first + 1
	// The outermost two have all the rest.
	var before share
	for i := range n {
		z := (float64(first+i+1) - u) / sigma
		upTo := share{part: 1}
		if i < n-1 {
			upTo = share{0.5 * math.Erfc(-z/math.Sqrt2), -math.Exp(-z*z/2) / (math.Sqrt(2*math.Pi) * sigma)}
		}
		shares[i] = share{upTo.part - before.part, upTo.change - before.change}
		before = upTo
	}
	return first, n
}

// lamp is how bright dark cells are, and how much brighter white ones, each a plane over u and v.
type lamp struct {
	plane [6]float64
	cells float64
}

func (l *lamp) at(u, v float64) (dark, gain float64) {
	u, v = u/l.cells-0.5, v/l.cells-0.5
	return l.plane[0] + l.plane[1]*u + l.plane[2]*v, l.plane[3] + l.plane[4]*u + l.plane[5]*v
}

// lightOf returns how a marker is lit, what that leaves of the pixels' grey levels, and the
// weights of those: what is far off is of something else.
func lightOf(seen []pixel, f *Family) (l lamp, rms float64, weights []float64, ok bool) {
	l.cells = float64(f.Cells())
	weights = make([]float64, len(seen))
	off, sorted := make([]float64, len(seen)), make([]float64, len(seen))
	all := make([]observation, len(seen))
	for i := range seen {
		x := &seen[i]
		u, v := x.u/l.cells-0.5, x.v/l.cells-0.5
		all[i] = observation{[6]float64{x.inside, x.inside * u, x.inside * v, x.white, x.white * u, x.white * v}, x.value - (1-x.inside)*x.beyond, 1}
	}
	for range 2 {
		var n normal
		for i := range all {
			n.add(all[i])
		}
		if _, l.plane, ok = n.solve(); !ok {
			return l, 0, nil, false
		}
		sum, squares := 0.0, 0.0
		for i := range all {
			e := all[i].left(l.plane)
			off[i] = math.Abs(e)
			sum += all[i].weight
			squares += all[i].weight * e * e
		}
		rms = math.Sqrt(squares / max(sum, 1e-9))
		copy(sorted, off)
		scale := max(4.685*1.48*median(sorted), 4)
		for i := range off {
			u := min(off[i]/scale, 1)
			all[i].weight = (1 - u*u) * (1 - u*u)
		}
	}
	for i := range all {
		weights[i] = all[i].weight
	}
	return l, rms, weights, true
}

// blurOf returns the standard deviation of what blurs the image, in pixels: that by which the
// marker is most like it.
func (s *sampler) blurOf(seen []pixel, f *Family, id int) (best float64, ok bool) {
	// Some tell as much as all.
	var few []pixel
	for i := 0; i < len(seen); i += 1 + len(seen)/800 {
		few = append(few, seen[i])
	}
	cost := func(blur float64) float64 {
		f.draw(id, few, blur)
		if _, rms, _, ok := lightOf(few, f); ok {
			return rms
		}
		return math.Inf(1)
	}
	// Golden-section search over the logarithm.
	const golden = 0.618
	low, high := math.Log(0.25), math.Log(3)
	a, b := high-golden*(high-low), low+golden*(high-low)
	costA, costB := cost(math.Exp(a)), cost(math.Exp(b))
	for range 6 {
		if costA < costB {
			high, b, costB = b, a, costA
			a = high - golden*(high-low)
			costA = cost(math.Exp(a))
		} else {
			low, a, costA = a, b, costB
			b = low + golden*(high-low)
			costB = cost(math.Exp(b))
		}
	}
	return math.Exp((low + high) / 2), !math.IsInf(min(costA, costB), 1)
}
