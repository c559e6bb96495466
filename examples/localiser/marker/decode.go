package marker

import (
	"image"
	"math"
)

// homography maps the plane of a marker to the image: (x, y) to (h0 x + h1 y + h2, h3 x +
// h4 y + h5)/(h6 x + h7 y + 1).
type homography [8]float64

func (h *homography) apply(x, y float64) point {
	w := h[6]*x + h[7]*y + 1
	return point{(h[0]*x + h[1]*y + h[2]) / w, (h[3]*x + h[4]*y + h[5]) / w}
}

// fromSquare returns the homography that maps the square from (0, 0) to (size, size), its
// corners in the order of the quadrilateral's, to it (P. Heckbert, Fundamentals of Texture
// Mapping and Image Warping, 1989).
func fromSquare(size float64, q quad) (h homography) {
	bend := q[0].sub(q[1]).add(q[2]).sub(q[3])
	a, b := q[1].sub(q[2]), q[3].sub(q[2])
	det := a.cross(b)
	g, k := bend.cross(b)/det, a.cross(bend)/det
	across := q[1].sub(q[0]).add(q[1].scale(g))
	down := q[3].sub(q[0]).add(q[3].scale(k))
	return homography{across.x / size, down.x / size, q[0].x, across.y / size, down.y / size, q[0].y, g / size, k / size}
}

// shade is a plane of brightness over the cells of a marker: level + dx·x + dy·y with x and
// y from the marker's centre.
type shade struct{ level, dx, dy float64 }

func (s *shade) at(x, y float64) float64 { return s.level + s.dx*x + s.dy*y }

// cells reads the cells of one candidate.
type cells struct {
	img   *image.Gray
	h     homography
	count int // cells in a row, with the border
	// black and white are the shades of the border and of the margin around it.
	black, white shade
}

// cell is the brightness in a cell, of five places in it, and its centre from the marker's.
type cell struct{ mean, low, high, x, y float64 }

// sample looks into a cell. It is false outside of the image.
func (c *cells) sample(row, column int) (s cell, ok bool) {
	const d = 0.2
	half := float64(c.count) / 2
	s = cell{low: 255, x: float64(column) + 0.5 - half, y: float64(row) + 0.5 - half}
	for _, o := range [5]point{{}, {-d, -d}, {d, -d}, {d, d}, {-d, d}} {
		v, ok := brightness(c.img, c.h.apply(float64(column)+0.5+o.x, float64(row)+0.5+o.y))
		if !ok {
			return cell{}, false
		}
		s.mean += v / 5
		s.low, s.high = min(s.low, v), max(s.high, v)
	}
	return s, true
}

// ring visits the cells of the square ring that is out cells outside of the border.
func (c *cells) ring(out int, visit func(cell)) {
	low, high := -out, c.count-1+out
	for i := low; i < high; i++ {
		for _, at := range [4][2]int{{low, i}, {i, high}, {high, low + high - i}, {low + high - i, low}} {
			if s, ok := c.sample(at[0], at[1]); ok {
				visit(s)
			}
		}
	}
}

// fitShade fits a plane to a ring. Rings are symmetric, so that the sums of x, y and x·y
// are zero; where a few cells are outside of the image the plane is somewhat off.
func (c *cells) fitShade(out int) (s shade, n int) {
	var sum, sumX, sumY, squares float64
	c.ring(out, func(s cell) {
		n++
		sum += s.mean
		sumX += s.mean * s.x
		sumY += s.mean * s.y
		squares += s.x * s.x
	})
	if n == 0 {
		return shade{}, 0
	}
	return shade{sum / float64(n), sumX / squares, sumY / squares}, n
}

// level returns where the brightness of a cell lies between black, -1, and white, 1.
func (c *cells) level(s *cell, value float64) float64 {
	b, w := c.black.at(s.x, s.y), c.white.at(s.x, s.y)
	if w-b < 1 {
		return 0
	}
	return (2*value - b - w) / (w - b)
}

// framed fits the shades and reports whether the border is black and the margin white all
// around: at most one cell in twenty of each may not be.
func (c *cells) framed(contrast float64) bool {
	var inside, outside int
	c.black, inside = c.fitShade(0)
	c.white, outside = c.fitShade(1)
	if inside < 4*(c.count-1) || 2*outside < 4*(c.count+1) || c.white.level-c.black.level < contrast {
		return false
	}
	wrong := [2]int{}
	c.ring(0, func(s cell) {
		if c.level(&s, s.mean) > 0 {
			wrong[0]++
		}
	})
	c.ring(1, func(s cell) {
		if c.level(&s, s.mean) < 0 {
			wrong[1]++
		}
	})
	return 20*wrong[0] <= inside && 20*wrong[1] <= outside
}

// code reads the cells inside the border, and how clearly they are black or white: the
// mean distance from the middle, 0 to 1. It is 0 where more than one cell in sixteen is
// both, as where the cells are those of another grid.
func (c *cells) code() (code uint64, margin float64) {
	size := c.count - 2
	mixed := 0
	for row := range size {
		for column := range size {
			s, _ := c.sample(row+1, column+1)
			level := c.level(&s, s.mean)
			code <<= 1
			if level > 0 {
				code |= 1
			}
			if c.level(&s, s.low) < 0 && c.level(&s, s.high) > 0 {
				mixed++
			}
			margin += min(math.Abs(level), 1)
		}
	}
	if 16*mixed > size*size {
		return code, 0
	}
	return code, margin / float64(size*size)
}
