package grid

import "math"

// corner is how near to the corner of a cell a line passes through it, in cells.
const corner = 1e-9

// Walk visits the cells that the straight line from a to b touches, in order, each with the length
// of the line within it, in cells. Where the line passes through a corner, the two cells beside it
// are visited, too, with the length 0. It ends when visit returns false, and returns whether it
// came to the end.
func Walk(a, b Position, visit func(c Cell, length float64) bool) bool {
	c, end := a.Cell(), b.Cell()
	length := a.Distance(b)
	u, v := axis(a.U, b.U), axis(a.V, b.V)
	gone := 0.0 // share of the line behind
	for c != end {
		nextU, nextV := u.crosses(c.X, end.X), v.crosses(c.Y, end.Y)
		next := min(nextU, nextV, 1)
		if !visit(c, max(next-gone, 0)*length) {
			return false
		}
		gone = max(gone, next)
		switch both := math.Abs(nextU-nextV)*length < corner; {
		case both && (!visit(Cell{c.X + u.step, c.Y}, 0) || !visit(Cell{c.X, c.Y + v.step}, 0)):
			return false
		case both:
			c.X += u.step
			c.Y += v.step
		case nextU < nextV:
			c.X += u.step
		default:
			c.Y += v.step
		}
	}
	return visit(end, max(1-gone, 0)*length)
}

// along is a line along one axis.
type along struct {
	from, length float64
	step         int
}

func axis(from, to float64) along {
	if to < from {
		return along{from, to - from, -1}
	}
	return along{from, to - from, 1}
}

// crosses returns at which share of the line it leaves the cell i; +Inf if it ends in it.
func (a along) crosses(i, end int) float64 {
	if i == end {
		return math.Inf(1)
	}
	border := i
	if a.step > 0 {
		border++
	}
	return (float64(border) - a.from) / a.length
}
