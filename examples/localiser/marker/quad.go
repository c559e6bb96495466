package marker

import (
	"image"
	"math"
)

// quad is a quadrilateral, clockwise as seen in the image.
type quad [4]point

// square is an outline with four straight sides.
type square struct {
	outline []point
	corners [4]int // indices into the outline, in its order
}

// findSquare returns the four corners of an outline that has four straight sides.
func findSquare(outline []point) (s square, ok bool) {
	var centre point
	for _, p := range outline {
		centre = centre.add(p)
	}
	centre = centre.scale(1 / float64(len(outline)))
	farthest := func(score func(point) float64) int {
		best, most := 0, math.Inf(-1)
		for i, p := range outline {
			if x := score(p); x > most {
				best, most = i, x
			}
		}
		return best
	}
	// What is farthest from the centre is a corner, what is farthest from that is the
	// opposite one, and the others are farthest from the line between these.
	a := farthest(func(p point) float64 { return p.sub(centre).dot(p.sub(centre)) })
	c := farthest(func(p point) float64 { return p.sub(outline[a]).dot(p.sub(outline[a])) })
	diagonal := outline[c].sub(outline[a])
	b := farthest(func(p point) float64 { return p.sub(outline[a]).cross(diagonal) })
	d := farthest(func(p point) float64 { return diagonal.cross(p.sub(outline[a])) })
	n := len(outline)
	after := func(i int) int { return (i - a + n) % n } // along the outline from a
	if !(0 < after(b) && after(b) < after(c) && after(c) < after(d)) {
		return square{}, false
	}
	s = square{outline, [4]int{a, b, c, d}}
	for i, from := range s.corners {
		if !straight(outline, from, s.corners[(i+1)%4]) {
			return square{}, false
		}
	}
	q := s.quad()
	return s, q.plausible()
}

func (s *square) quad() (q quad) {
	for i, c := range s.corners {
		q[i] = s.outline[c]
	}
	return q
}

// straight reports whether an outline runs straight between two of its points.
func straight(outline []point, from, to int) bool {
	side := outline[to].sub(outline[from])
	length := side.norm()
	tolerance := (2.5 + 0.03*length) * length // the ends may be some pixels off the corners
	for i := from; i != to; i = (i + 1) % len(outline) {
		if math.Abs(side.cross(outline[i].sub(outline[from]))) > tolerance {
			return false
		}
	}
	return true
}

// plausible reports whether a quadrilateral is convex, without very sharp corners, and may
// be what perspective makes of a square.
func (q *quad) plausible() bool {
	const sine = 0.25 // about 15° and 165°
	shortest, longest := math.Inf(1), 0.0
	for i := range 4 {
		before, after := q[(i+1)%4].sub(q[i]), q[(i+2)%4].sub(q[(i+1)%4])
		if before.cross(after) < sine*before.norm()*after.norm() {
			return false
		}
		shortest, longest = min(shortest, before.norm()), max(longest, before.norm())
	}
	return longest <= 8*shortest
}

// width returns the least distance between opposite sides, roughly.
func (q *quad) width() float64 {
	width := math.Inf(1)
	for i := range 4 {
		side := q[(i+1)%4].sub(q[i])
		away := q[(i+2)%4].add(q[(i+3)%4]).sub(q[i].scale(2)).scale(0.5)
		width = min(width, side.cross(away)/side.norm())
	}
	return width
}

// line is {p : normal·p = offset} around a place along, with the variances of the offset
// there and of the slope.
type line struct {
	normal, along                 point
	offset                        float64
	offsetVariance, slopeVariance float64
}

// profile is how brightness changes across a side of a marker.
type profile struct {
	samples  int     // an even number, one pixel apart
	contrast float64 // that an edge must have, levels
}

// maxSamples is the length of a profile across a sharp, large edge.
const maxSamples = 8

// edges is scratch for the places at which a line's edge was found.
type edges struct{ s, d []float64 }

// refine fits a line to the edge along a side of a square, and reports whether there is one.
func (e *edges) refine(img *image.Gray, sq *square, side int, pr profile) (l line, ok bool) {
	a, b := e.smooth(sq, side)
	for range 3 {
		if l, ok = e.fit(img, a, b, pr); !ok {
			return line{}, false
		}
		a, b = l.nearest(a), l.nearest(b)
	}
	return l, true
}

// smooth returns the ends of a side on the line that is fitted to its outline without the
// corners, which blur rounds. The outline goes along dark pixels, so that the edge is half
// a pixel outward.
func (e *edges) smooth(sq *square, side int) (a, b point) {
	from, to := sq.corners[side], sq.corners[(side+1)%4]
	a, b = sq.outline[from], sq.outline[to]
	along, outward := directions(a, b)
	length := a.distance(b)
	margin := max(2, 0.15*length)
	e.s, e.d = e.s[:0], e.d[:0]
	for i := from; i != to; i = (i + 1) % len(sq.outline) {
		p := sq.outline[i].sub(a)
		if s := p.dot(along); s >= margin && s <= length-margin {
			e.s, e.d = append(e.s, s), append(e.d, p.dot(outward))
		}
	}
	if len(e.s) < 3 {
		return a, b
	}
	r := regress(e.s, e.d, every)
	return a.add(outward.scale(r.at(0) + 0.5)), b.add(outward.scale(r.at(length) + 0.5))
}

// directions returns the unit vectors along the side of a clockwise quadrilateral, and out
// of it.
func directions(a, b point) (along, outward point) {
	along = b.sub(a).scale(1 / a.distance(b))
	return along, point{along.y, -along.x}
}

// fit measures the edge along the side from a to b and fits a line.
func (e *edges) fit(img *image.Gray, a, b point, pr profile) (line, bool) {
	length := a.distance(b)
	along, outward := directions(a, b)
	margin := max(2, 0.06*length) // blur rounds the corners
	n := int(length - 2*margin)
	e.s, e.d = e.s[:0], e.d[:0]
	for i := range n + 1 {
		s := margin + (length-2*margin)*float64(i)/float64(max(n, 1))
		if d, ok := pr.edge(img, a.add(along.scale(s)), outward); ok {
			e.s, e.d = append(e.s, s), append(e.d, d)
		}
	}
	if n < 4 || 2*len(e.s) < n {
		return line{}, false
	}
	all := regress(e.s, e.d, every)
	reach := max(3*all.sigma, 0.1)
	r := regress(e.s, e.d, func(i int) bool { return math.Abs(e.d[i]-all.at(e.s[i])) <= reach }) // without outliers
	if r.n < 4 || r.sigma > 0.7 {
		return line{}, false
	}
	// d = r.at(s), as a line in the image.
	normal := outward.sub(along.scale(r.slope))
	normal = normal.scale(1 / normal.norm())
	middle := a.add(along.scale(r.mean)).add(outward.scale(r.offset))
	return line{normal: normal, along: middle, offset: normal.dot(middle), offsetVariance: r.offsetVariance(), slopeVariance: r.slopeVariance()}, true
}

// nearest returns the point of a line that is nearest to p.
func (l *line) nearest(p point) point { return p.add(l.normal.scale(l.offset - l.normal.dot(p))) }

// varianceAt returns the variance of a line's place across it, near p.
func (l *line) varianceAt(p point) float64 {
	s := p.distance(l.along)
	return l.offsetVariance + l.slopeVariance*s*s
}

// edge returns how far outward of p the edge is: the centre of the brightness gradient.
func (pr profile) edge(img *image.Gray, p, outward point) (d float64, ok bool) {
	var moment float64
	reach := float64(pr.samples-1) / 2
	first, ok := brightness(img, p.sub(outward.scale(reach)))
	if !ok {
		return 0, false
	}
	last := first
	for k := 1; k < pr.samples; k++ {
		at := float64(k) - reach
		value, ok := brightness(img, p.add(outward.scale(at)))
		if !ok {
			return 0, false
		}
		moment += (value - last) * (at - 0.5)
		last = value
	}
	if last-first < pr.contrast {
		return 0, false
	}
	d = moment / (last - first)
	return d, math.Abs(d) < reach
}

// brightness interpolates between the pixels around p. It is false outside of the image.
func brightness(img *image.Gray, p point) (float64, bool) {
	if !(p.x >= 0 && p.y >= 0 && p.x < float64(img.Rect.Dx()-1) && p.y < float64(img.Rect.Dy()-1)) {
		return 0, false // or at infinity, beyond the horizon of a homography
	}
	x, y := int(p.x), int(p.y)
	fx, fy := p.x-float64(x), p.y-float64(y)
	i := y*img.Stride + x
	upper, lower := img.Pix[i:i+2], img.Pix[i+img.Stride:i+img.Stride+2]
	top := float64(upper[0]) + fx*(float64(upper[1])-float64(upper[0]))
	bottom := float64(lower[0]) + fx*(float64(lower[1])-float64(lower[0]))
	return top + fy*(bottom-top), true
}

// regression is the line d = offset + slope·(s - mean).
type regression struct {
	n                         int
	mean, offset, slope, span float64 // span is the sum of the squares of s - mean
	sigma                     float64 // standard deviation of the residuals
}

func (r *regression) at(s float64) float64 { return r.offset + r.slope*(s-r.mean) }

func every(int) bool { return true }

// regress fits a line to some of the points.
func regress(s, d []float64, use func(i int) bool) (r regression) {
	var product float64
	for i := range s {
		if use(i) {
			r.n++
			r.mean += s[i]
			r.offset += d[i]
		}
	}
	r.mean /= float64(r.n)
	r.offset /= float64(r.n)
	for i := range s {
		if use(i) {
			r.span += (s[i] - r.mean) * (s[i] - r.mean)
			product += (s[i] - r.mean) * (d[i] - r.offset)
		}
	}
	r.slope = product / r.span
	var squares float64
	for i := range s {
		if use(i) {
			residual := d[i] - r.at(s[i])
			squares += residual * residual
		}
	}
	r.sigma = math.Sqrt(squares / float64(max(r.n-2, 1)))
	return r
}

// Neighbouring profiles share pixels, so that they count as about half as many; and no lens
// and no print is perfect.
const (
	shared     = 2
	systematic = 0.02 // pixels
)

func (r *regression) offsetVariance() float64 {
	return shared*r.sigma*r.sigma/float64(r.n) + systematic*systematic
}

func (r *regression) slopeVariance() float64 { return shared * r.sigma * r.sigma / r.span }

// meet returns where two lines meet, with the covariance that follows from theirs.
func meet(a, b *line) (c Corner, ok bool) {
	det := a.normal.cross(b.normal)
	if math.Abs(det) < 0.1 {
		return Corner{}, false
	}
	p := point{
		(a.offset*b.normal.y - b.offset*a.normal.y) / det,
		(b.offset*a.normal.x - a.offset*b.normal.x) / det,
	}
	// p moves by (b.normal turned)/det for an offset of a, and the other way round.
	va, vb := a.varianceAt(p)/(det*det), b.varianceAt(p)/(det*det)
	return Corner{U: p.x, V: p.y,
		UU: b.normal.y*b.normal.y*va + a.normal.y*a.normal.y*vb,
		UV: -b.normal.x*b.normal.y*va - a.normal.x*a.normal.y*vb,
		VV: b.normal.x*b.normal.x*va + a.normal.x*a.normal.x*vb,
	}, true
}
