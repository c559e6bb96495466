package navigation

import (
	"cmp"
	"math"
	"slices"
)

// Outline is a convex polygon on the floor, metres in the frame of the map: what something covers.
type Outline []Point

// Circle returns the outline of a round thing.
func Circle(at Point, radius float64) Outline {
	const corners = 12
	radius /= math.Cos(math.Pi / corners) // all of the circle is within
	o := make(Outline, corners)
	for i := range o {
		s, c := math.Sincos(2 * math.Pi * float64(i) / corners)
		o[i] = Point{at.X + radius*c, at.Y + radius*s}
	}
	return o
}

// Hull returns the convex outline of points.
func Hull(points []Point) Outline {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	points = slices.Compact(points)
	if len(points) < 3 {
		return points
	}
	half := func(hull []Point) []Point {
		for _, p := range points {
			for len(hull) > 1 {
				a, b := hull[len(hull)-2], hull[len(hull)-1]
				if (b.X-a.X)*(p.Y-a.Y)-(b.Y-a.Y)*(p.X-a.X) > 0 {
					break
				}
				hull = hull[:len(hull)-1]
			}
			hull = append(hull, p)
		}
		return hull[:len(hull)-1]
	}
	hull := half(nil)
	slices.Reverse(points)
	return append(hull, half(nil)...)
}

// Bounds returns the least and greatest coordinates.
func (o Outline) Bounds() (low, high Point) {
	low, high = Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	for _, p := range o {
		low.X, low.Y = min(low.X, p.X), min(low.Y, p.Y)
		high.X, high.Y = max(high.X, p.X), max(high.Y, p.Y)
	}
	return low, high
}

// Distance returns how far a point is from the outline; 0 within.
func (o Outline) Distance(p Point) float64 {
	inside, nearest := len(o) > 2, math.Inf(1)
	for i, a := range o {
		b := o[(i+1)%len(o)]
		dx, dy := b.X-a.X, b.Y-a.Y
		if dx*(p.Y-a.Y)-dy*(p.X-a.X) < 0 {
			inside = false
		}
		t := 0.0
		if l2 := dx*dx + dy*dy; l2 > 0 {
			t = min(max(((p.X-a.X)*dx+(p.Y-a.Y)*dy)/l2, 0), 1)
		}
		nearest = min(nearest, math.Hypot(p.X-a.X-t*dx, p.Y-a.Y-t*dy))
	}
	if inside {
		return 0
	}
	return nearest
}

// span is a part of a row of cells, from x0 up to and without x1.
type span struct{ y, x0, x1 int32 }

// spans returns the cells that an outline touches.
func (g *Grid) spans(o Outline) (spans []span) {
	if len(o) == 0 {
		return nil
	}
	corners := make([]Point, len(o))
	low, high := math.Inf(1), math.Inf(-1)
	for i, p := range o {
		corners[i].X, corners[i].Y = g.toCells(p)
		low, high = min(low, corners[i].Y), max(high, corners[i].Y)
	}
	const within = 1e-9 // what only touches a cell's edge is not in it
	if !(low < float64(g.Height) && high > 0) {
		return nil
	}
	for y := int32(max(math.Floor(low+within), 0)); float64(y) < min(high, float64(g.Height)); y++ {
		bottom, top := float64(y), float64(y+1)
		left, right := math.Inf(1), math.Inf(-1)
		for i, a := range corners {
			b := corners[(i+1)%len(corners)]
			if a.Y > b.Y {
				a, b = b, a
			}
			if b.Y < bottom || a.Y > top {
				continue
			}
			at := func(height float64) float64 {
				if b.Y == a.Y {
					return a.X
				}
				return a.X + (b.X-a.X)*(height-a.Y)/(b.Y-a.Y)
			}
			from, to := at(max(a.Y, bottom)), at(min(b.Y, top))
			if a.Y == b.Y {
				to = b.X
			}
			left, right = min(left, from, to), max(right, from, to)
		}
		x0 := max(math.Floor(left+within), 0)
		x1 := min(max(math.Ceil(right-within), x0+1), float64(g.Width))
		if x0 < x1 {
			spans = append(spans, span{y, int32(x0), int32(x1)})
		}
	}
	return spans
}
