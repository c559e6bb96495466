package marker

import (
	"cmp"
	"math"
	"slices"
)

// cutSquare reports whether an outline that touches the image's edge may be that of a square
// of which the edge cuts off a part: whether its convex hull has few corners, two or more
// sides that are not the image's, and the outline along these.
func (d *Detector) cutSquare(outline []point) bool {
	corners := simplify(hull(outline))
	if len(corners) < 3 || len(corners) > 6 {
		return false
	}
	inside := 0
	for i, a := range corners {
		b := corners[(i+1)%len(corners)]
		switch {
		case d.alongEdge(a, b):
		case follows(outline, a, b):
			inside++
		case !d.onEdge(a) || !d.onEdge(b):
			return false
		}
	}
	return inside >= 2
}

// onEdge reports whether a point is at the image's edge.
func (d *Detector) onEdge(p point) bool { return d.alongEdge(p, p) }

// alongEdge reports whether a side runs along the image's edge.
func (d *Detector) alongEdge(a, b point) bool {
	right, bottom := float64(d.binary.width-1), float64(d.binary.height-1)
	return max(a.x, b.x) < 2 || max(a.y, b.y) < 2 || min(a.x, b.x) > right-2 || min(a.y, b.y) > bottom-2
}

// follows reports whether an outline runs along most of a side.
func follows(outline []point, a, b point) bool {
	side := b.sub(a)
	length := side.norm()
	n := 0
	for _, p := range outline {
		along := side.dot(p.sub(a)) / length
		if math.Abs(side.cross(p.sub(a))) <= 2*length && along >= 0 && along <= length {
			n++
		}
	}
	return float64(n) >= 0.8*max(math.Abs(side.x), math.Abs(side.y))
}

// hull returns the corners of the convex hull of points, in the order in which their
// outline has them (A. Andrew's monotone chain).
func hull(points []point) (corners []point) {
	sorted := slices.Clone(points)
	slices.SortFunc(sorted, func(a, b point) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	half := func() {
		start := len(corners)
		for _, p := range sorted {
			for n := len(corners); n >= start+2 && corners[n-1].sub(corners[n-2]).cross(p.sub(corners[n-1])) <= 0; n-- {
				corners = corners[:n-1]
			}
			corners = append(corners, p)
		}
		corners = corners[:len(corners)-1]
	}
	half()
	slices.Reverse(sorted)
	half()
	return corners
}

// simplify returns the corners of a polygon without those that lie within 2 pixels of the
// line between their neighbours that stay, the least of them first.
func simplify(polygon []point) []point {
	polygon = slices.Clone(polygon)
	for len(polygon) > 3 {
		least, at := math.Inf(1), 0
		for i, p := range polygon {
			before, after := polygon[(i+len(polygon)-1)%len(polygon)], polygon[(i+1)%len(polygon)]
			side := after.sub(before)
			if d := math.Abs(side.cross(p.sub(before))) / side.norm(); d < least {
				least, at = d, i
			}
		}
		if least > 2 {
			break
		}
		polygon = slices.Delete(polygon, at, at+1)
	}
	return polygon
}
