package marker

import "math"

// point is a place in an image, in pixels.
type point struct{ x, y float64 }

func (p point) add(q point) point        { return point{p.x + q.x, p.y + q.y} }
func (p point) sub(q point) point        { return point{p.x - q.x, p.y - q.y} }
func (p point) scale(k float64) point    { return point{k * p.x, k * p.y} }
func (p point) dot(q point) float64      { return p.x*q.x + p.y*q.y }
func (p point) cross(q point) float64    { return p.x*q.y - p.y*q.x }
func (p point) norm() float64            { return math.Hypot(p.x, p.y) }
func (p point) distance(q point) float64 { return p.sub(q).norm() }

// outlines calls visit with the outline of each dark region, clockwise as seen in the
// image, and whether the region touches the image's edge. Outlines shorter than shortest
// are left out, and those of holes. The slice is valid during the call.
func (b *binary) outlines(scratch []point, shortest int, visit func(outline []point, cut bool)) []point {
	for y := range b.height {
		row := b.pix[b.at(0, y)-1 : b.at(b.width, y)]
		for x := range b.width {
			if row[x+1] != dark || row[x] != light {
				continue
			}
			scratch = b.trace(scratch[:0], x, y)
			if len(scratch) >= shortest && area(scratch) > 0 {
				visit(scratch, b.touchesEdge(scratch))
			}
		}
	}
	return scratch
}

// trace follows the border of the dark region at a pixel whose left neighbour is light
// (Moore's neighbourhood, 8-connected), marks it and appends it to outline.
func (b *binary) trace(outline []point, x, y int) []point {
	dx := [8]int{1, 1, 0, -1, -1, -1, 0, 1} // clockwise in the image from the right
	dy := [8]int{0, 1, 1, 1, 0, -1, -1, -1}
	step := [8]int{1, b.stride + 1, b.stride, b.stride - 1, -1, -b.stride - 1, -b.stride, -b.stride + 1}
	at := b.at(x, y)
	start, first := at, -1
	direction := 4 // the light pixel from which the border is looked for
	for {
		b.pix[at] = traced
		turn := 1
		for ; turn <= 8 && b.pix[at+step[(direction+turn)&7]] == light; turn++ {
		}
		if turn > 8 {
			return append(outline, point{float64(x), float64(y)}) // a single pixel
		}
		next := (direction + turn) & 7
		if at == start {
			if next == first {
				return outline
			}
			if first < 0 {
				first = next
			}
		}
		outline = append(outline, point{float64(x), float64(y)})
		at, x, y = at+step[next], x+dx[next], y+dy[next]
		// The last light neighbour, seen from the next pixel.
		direction = (next + 6 - next&1) & 7
	}
}

// area returns the area within an outline, positive if it goes clockwise in the image.
func area(outline []point) float64 {
	var sum float64
	last := outline[len(outline)-1]
	for _, p := range outline {
		sum += last.cross(p)
		last = p
	}
	return sum / 2
}

// touchesEdge reports whether an outline goes along the image's edge.
func (b *binary) touchesEdge(outline []point) bool {
	right, bottom := float64(b.width-1), float64(b.height-1)
	for _, p := range outline {
		if p.x == 0 || p.y == 0 || p.x == right || p.y == bottom {
			return true
		}
	}
	return false
}
