package navigation

import "math"

// smooth returns a path with shortcuts: straight lines where nothing is in the way. It is never
// longer and costs never more. A shortcut stays in cells that can be entered, and keeps the radius
// from the centres of all cells that block all along, not only at the centres of its own cells.
//
// Where a robot that is no circle fits in some directions only, the way stays as it was found.
func (c *Costmap) smooth(points []Point) (out []Point) {
	if c.shape == nil {
		return c.shortcuts(points)
	}
	for i := 0; i < len(points); {
		wide := i
		for wide < len(points) && c.isWide(points[wide]) {
			wide++
		}
		out = append(out, c.shortcuts(points[i:wide])...)
		for i = wide; i < len(points) && !c.isWide(points[i]); i++ {
			out = append(out, points[i])
		}
	}
	return out
}

// isWide reports whether the robot can turn at a point of a path.
func (c *Costmap) isWide(p Point) bool {
	x, y, ok := c.Cell(p)
	return !ok || c.enter[c.padded(x, y)]&tight == 0
}

// shortcuts is smooth where the robot can turn everywhere.
func (c *Costmap) shortcuts(points []Point) []Point {
	if len(points) < 3 {
		return points
	}
	at := make([]Point, len(points)) // in cells
	upTo := make([]float64, len(points))
	for i, p := range points {
		at[i].X, at[i].Y = c.toCells(p)
		if i > 0 {
			upTo[i] = upTo[i-1] + c.priceOf(at[i-1], at[i])
		}
	}
	out := []Point{at[0]}
	for i := 0; i < len(at)-1; {
		next := c.farthest(at, upTo, i)
		out = append(out, at[next])
		i = next
	}
	out = c.tighten(out)
	for i := range out {
		out[i] = c.fromCells(out[i].X, out[i].Y)
	}
	out[0], out[len(out)-1] = points[0], points[len(points)-1]
	return out
}

// farthest returns the last point to which a straight line leads from point i, as far as doubling
// the distance and then halving it finds.
func (c *Costmap) farthest(at []Point, upTo []float64, i int) int {
	ok := func(j int) bool { return c.cheaper(at[i], at[j], upTo[j]-upTo[i]) }
	good, bad, width := i+1, len(at), 2
	for i+width < len(at) {
		if !ok(i + width) {
			bad = i + width
			break
		}
		good = i + width
		width *= 2
	}
	if bad == len(at) && ok(len(at)-1) {
		return len(at) - 1
	}
	for bad-good > 1 {
		if middle := (good + bad) / 2; ok(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
	return good
}

// tighten takes corners out of a path, or moves them inwards as far as nothing is in the way.
func (c *Costmap) tighten(at []Point) []Point {
	for range 4 {
		moved := false
		for i := 1; i < len(at)-1; {
			a, b := at[i-1], at[i+1]
			price := c.priceOf(a, at[i]) + c.priceOf(at[i], b)
			if c.cheaper(a, b, price) {
				at = append(at[:i], at[i+1:]...)
				moved = true
				continue
			}
			// Where the line from a to b is nearest to the corner.
			d := Point{b.X - a.X, b.Y - a.Y}
			t := 0.5
			if l2 := d.X*d.X + d.Y*d.Y; l2 > 0 {
				t = min(max(((at[i].X-a.X)*d.X+(at[i].Y-a.Y)*d.Y)/l2, 0), 1)
			}
			to := Point{a.X + t*d.X, a.Y + t*d.Y}
			corner, low, high := at[i], 0.0, 1.0
			for range 5 {
				middle := (low + high) / 2
				p := Point{corner.X + middle*(to.X-corner.X), corner.Y + middle*(to.Y-corner.Y)}
				first, clear := c.line(a, p)
				second, clear2 := c.line(p, b)
				if clear && clear2 && first+second < price-rounding {
					at[i], price, low, moved = p, first+second, middle, true
				} else {
					high = middle
				}
			}
			i++
		}
		if !moved {
			break
		}
	}
	return at
}

// cheaper reports whether the straight line is clear and costs no more than a price.
func (c *Costmap) cheaper(a, b Point, price float64) bool {
	if a.Distance(b) > price+rounding {
		return false
	}
	l, ok := c.line(a, b)
	return ok && l <= price+rounding
}

// line returns what a straight line costs, in cells; ok is false if something is in the way.
func (c *Costmap) line(a, b Point) (price float64, ok bool) {
	touched := c.touched(a, b)
	if touched&enterable == 0 || !c.keepsRadius(a, b) {
		return 0, false
	}
	return c.priced(a.Distance(b), touched), true
}

// priceOf is what a line costs that may be driven in any case.
func (c *Costmap) priceOf(a, b Point) float64 { return c.priced(a.Distance(b), c.touched(a, b)) }

func (c *Costmap) priced(length float64, touched uint8) float64 {
	if touched&unknown != 0 {
		length *= max(c.inflation.UnknownCost, 1)
	}
	return length
}

// touched returns what is true of the cells that a line touches: enterable if all of them are,
// unknown if one of them is. A line through a corner touches all four cells there.
func (c *Costmap) touched(a, b Point) uint8 {
	all, some := enterable, uint8(0)
	see := func(x, y int) {
		if x < 0 || y < 0 || x >= c.Width || y >= c.Height {
			all = 0
			return
		}
		e := c.enter[c.padded(x, y)]
		all &= e
		some |= e & unknown
	}
	const nearly = 1e-9
	x, y := int(math.Floor(a.X)), int(math.Floor(a.Y))
	endX, endY := int(math.Floor(b.X)), int(math.Floor(b.Y))
	dx, dy := b.X-a.X, b.Y-a.Y
	see(x, y)
	sx, sy := 1, 1
	nextX, nextY := math.Inf(1), math.Inf(1)
	perX, perY := math.Inf(1), math.Inf(1)
	switch {
	case dx > 0:
		perX, nextX = 1/dx, (float64(x+1)-a.X)/dx
	case dx < 0:
		sx, perX, nextX = -1, -1/dx, (float64(x)-a.X)/dx
	}
	switch {
	case dy > 0:
		perY, nextY = 1/dy, (float64(y+1)-a.Y)/dy
	case dy < 0:
		sy, perY, nextY = -1, -1/dy, (float64(y)-a.Y)/dy
	}
	for all != 0 && min(nextX, nextY) <= 1 {
		switch {
		case math.Abs(nextX-nextY) < nearly:
			see(x+sx, y)
			see(x, y+sy)
			x, y = x+sx, y+sy
			nextX, nextY = nextX+perX, nextY+perY
		case nextX < nextY:
			x, nextX = x+sx, nextX+perX
		default:
			y, nextY = y+sy, nextY+perY
		}
		see(x, y)
	}
	see(endX, endY)
	return all | some
}

// keepsRadius reports whether no centre of a cell that blocks lies nearer than the radius to a
// line. In each row, what is nearer is one interval.
func (c *Costmap) keepsRadius(a, b Point) bool {
	r := c.inflation.Radius / c.Resolution * (1 - 1e-9)
	if r == 0 {
		return true
	}
	// Centres at whole numbers.
	ax, ay, bx, by := a.X-0.5, a.Y-0.5, b.X-0.5, b.Y-0.5
	dx, dy := bx-ax, by-ay
	length := math.Hypot(dx, dy)
	if length > 0 {
		dx, dy = dx/length, dy/length
	}
	for y := max(int(math.Ceil(min(ay, by)-r)), 0); y <= min(int(math.Floor(max(ay, by)+r)), c.Height-1); y++ {
		low, high := math.Inf(1), math.Inf(-1)
		ends := func(x, h float64) {
			if s := r*r - h*h; s > 0 {
				s = math.Sqrt(s)
				low, high = min(low, x-s), max(high, x+s)
			}
		}
		fy := float64(y)
		ends(ax, fy-ay)
		ends(bx, fy-by)
		if length > 0 {
			// Beside the line: 0 <= along <= length and -r < across < r, both linear in x.
			from, to := math.Inf(-1), math.Inf(1)
			within := func(slope, at0, least, most float64) {
				if math.Abs(slope) < 1e-12 {
					if at0 < least || at0 > most {
						from, to = 1, 0
					}
					return
				}
				u, v := (least-at0)/slope, (most-at0)/slope
				from, to = max(from, min(u, v)), min(to, max(u, v))
			}
			within(dx, (fy-ay)*dy-ax*dx, 0, length)
			within(-dy, (fy-ay)*dx+ax*dy, -r, r)
			if from < to {
				low, high = min(low, from), max(high, to)
			}
		}
		if low < high && c.any(y, int(math.Floor(low+rounding))+1, int(math.Ceil(high-rounding))-1) {
			return false
		}
	}
	return true
}
