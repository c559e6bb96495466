package marker

import (
	"math"
)

// point is a corner of pixels: (x, y) is the upper left one of pixel (x, y).
type point struct{ x, y int }

// least are what is too small for a marker: its side, and the outline's length, pixels.
const (
	leastSide    = 11.0
	leastOutline = 36
)

// outlines calls visit with the outline of each dark area, clockwise as it is seen, and
// whether it ends at the image's border. Dark pixels that only touch at a corner are of
// two areas. The slice is valid during the call.
func outlines(pixels []uint8, w, h int, visit func(outline []point, cut bool)) {
	isDark := func(x, y int) bool { return x >= 0 && y >= 0 && x < w && y < h && pixels[y*w+x] == dark }
	seen := make([]bool, w*h) // the left side of this pixel is on an outline that was followed
	var outline []point
	for y := range h {
		for x := range w {
			if pixels[y*w+x] != dark || isDark(x-1, y) || seen[y*w+x] {
				continue
			}
			// Follow the sides between pixels with what is dark on the right.
			outline = outline[:0]
			cut := false
			area := 0
			px, py, dx, dy := x, y+1, 0, -1
			for {
				if dy == -1 {
					seen[(py-1)*w+px] = true
				}
				area -= px*dy - py*dx
				cut = cut || px == 0 || py == 0 || px == w || py == h
				outline = append(outline, point{px, py})
				px, py = px+dx, py+dy
				// The pixels ahead of the corner, on the right and on the left.
				rx, ry := px+(dx-dy-1)/2, py+(dy+dx-1)/2
				lx, ly := px+(dx+dy-1)/2, py+(dy-dx-1)/2
				switch {
				case !isDark(rx, ry):
					dx, dy = -dy, dx
				case isDark(lx, ly):
					dx, dy = dy, -dx
				}
				if px == x && py == y+1 && dx == 0 && dy == -1 {
					break
				}
			}
			// The outline of a hole runs the other way round.
			if area < 0 && len(outline) >= leastOutline {
				visit(outline, cut)
			}
		}
	}
}

// quad are four corners, clockwise as they are seen.
type quad [4]vec2

// quadOf returns the quad that an outline is, if it is one. A cut one is the shape of
// what may be a part of a marker.
func quadOf(outline []vec2) (q quad, ok bool) {
	v := corners(outline)
	if len(v) != 4 {
		return quad{}, false
	}
	// Lines through the middle of each side fit better than corners, which blur rounds off.
	var sides [4]line
	for i := range 4 {
		a, b := v[i], v[(i+1)%4]
		n := (b - a + len(outline)) % len(outline)
		if n < 6 {
			return quad{}, false
		}
		skip := n / 6
		var f lineFit
		for k := skip; k <= n-skip; k++ {
			f.add(outline[(a+k)%len(outline)], 1)
		}
		if sides[i], ok = f.line(); !ok {
			return quad{}, false
		}
	}
	if q, ok = crossings(sides); !ok {
		return quad{}, false
	}
	return q, q.plausible()
}

// corners returns the places of an outline that stand for its corners: Douglas and
// Peucker's, without those that hardly stick out.
func corners(outline []vec2) []int {
	n := len(outline)
	var middle vec2
	for _, p := range outline {
		middle = middle.add(p)
	}
	middle = middle.scale(1 / float64(n))
	farthest := func(from vec2) (at int) {
		most := -1.0
		for i, p := range outline {
			if d := p.sub(from).norm(); d > most {
				at, most = i, d
			}
		}
		return at
	}
	a := farthest(middle)
	b := farthest(outline[a])
	extent := outline[b].sub(outline[a]).norm()
	tolerance := max(1.6, 0.045*extent)
	var v []int
	var split func(from, n int)
	split = func(from, count int) {
		p, q := outline[from%n], outline[(from+count)%n]
		most, at := tolerance, 0
		for k := 1; k < count; k++ {
			if d := toSegment(outline[(from+k)%n], p, q); d > most {
				most, at = d, k
			}
		}
		if at == 0 {
			v = append(v, from%n)
			return
		}
		if len(v) > 16 {
			return
		}
		split(from, at)
		split(from+at, count-at)
	}
	count := (b - a + n) % n
	split(a, count)
	split(b, n-count)
	for len(v) > 4 && len(v) <= 12 {
		least, at := 2*tolerance, -1
		for i := range v {
			d := toSegment(outline[v[i]], outline[v[(i+len(v)-1)%len(v)]], outline[v[(i+1)%len(v)]])
			if d < least {
				least, at = d, i
			}
		}
		if at < 0 {
			break
		}
		v = append(v[:at], v[at+1:]...)
	}
	return v
}

// toSegment returns the distance of p from the segment from a to b.
func toSegment(p, a, b vec2) float64 {
	ab := b.sub(a)
	n := ab.dot(ab)
	if n == 0 {
		return p.sub(a).norm()
	}
	t := min(max(p.sub(a).dot(ab)/n, 0), 1)
	return p.sub(a.add(ab.scale(t))).norm()
}

// plausible reports whether a square seen from somewhere may look so: convex, not too
// small, clockwise.
func (q *quad) plausible() bool {
	longest, shortest := 0.0, math.Inf(1)
	for i := range q {
		a, b, c := q[i], q[(i+1)%4], q[(i+2)%4]
		ab, bc := b.sub(a), c.sub(b)
		longest, shortest = max(longest, ab.norm()), min(shortest, ab.norm())
		// No corner is sharper than some 15° or flatter than 165°.
		if ab.cross(bc) < 0.25*ab.norm()*bc.norm() {
			return false
		}
	}
	return longest >= leastSide && shortest >= leastSide/2 && longest < 8*shortest
}

// line is the set of points p with n·p = c, n of length 1.
type line struct {
	n vec2
	c float64
}

// lineFit gathers weighted points for a line of least squares across it.
type lineFit struct{ w, x, y, xx, xy, yy float64 }

func (f *lineFit) add(p vec2, w float64) {
	f.w += w
	f.x += w * p.x
	f.y += w * p.y
	f.xx += w * p.x * p.x
	f.xy += w * p.x * p.y
	f.yy += w * p.y * p.y
}

func (f *lineFit) line() (line, bool) {
	if f.w <= 0 {
		return line{}, false
	}
	mx, my := f.x/f.w, f.y/f.w
	xx, xy, yy := f.xx/f.w-mx*mx, f.xy/f.w-mx*my, f.yy/f.w-my*my
	if xx+yy < 1e-9 {
		return line{}, false
	}
	// The direction of most spread turns by this angle; the normal is across it.
	s, c := math.Sincos(0.5 * math.Atan2(2*xy, xx-yy))
	n := vec2{-s, c}
	return line{n, n.x*mx + n.y*my}, true
}

// crossings returns the corners between four lines, of which i goes from corner i to i+1.
func crossings(sides [4]line) (q quad, ok bool) {
	for i := range q {
		a, b := sides[(i+3)%4], sides[i]
		d := a.n.cross(b.n)
		if math.Abs(d) < 0.05 {
			return quad{}, false
		}
		q[i] = vec2{(a.c*b.n.y - b.c*a.n.y) / d, (b.c*a.n.x - a.c*b.n.x) / d}
	}
	return q, true
}
