package navigation

import (
	"math"
	"math/bits"

	"github.com/seed-301d4374/engram"
)

// Inflation says which cells of a map can be entered.
type Inflation struct {
	// Radius is how near the robot's centre may come to the centre of a cell that is not free,
	// metres: the radius of the robot ([Footprint.Radius]) and what is to be kept beyond it.
	Radius float64
	// Footprint is the outline of a robot that is no circle; nil for a circle. It may come nearer then where it
	// fits: what Radius is more than [Footprint.Radius] is what is kept beyond the footprint.
	Footprint Footprint
	// UnknownCost is what a metre through unknown cells costs, compared with one through free
	// cells; at least 1. If it is 0, unknown cells are as occupied ones.
	UnknownCost float64
}

// Check returns an Invalid error for what is no inflation.
func (i Inflation) Check() error {
	if !(i.Radius >= 0) || math.IsInf(i.Radius, 0) {
		return engram.Errorf(engram.Invalid, "", "the radius is %g m; it is 0 or more", i.Radius)
	}
	if i.UnknownCost != 0 && !(i.UnknownCost >= 1) || math.IsInf(i.UnknownCost, 0) {
		return engram.Errorf(engram.Invalid, "", "the cost of unknown space is %g; it is at least 1, or 0 if it is not to be entered", i.UnknownCost)
	}
	for _, p := range i.Footprint {
		if math.IsNaN(p.X+p.Y) || math.IsInf(p.X+p.Y, 0) {
			return engram.Errorf(engram.Invalid, "", "the footprint has a corner at (%g, %g)", p.X, p.Y)
		}
	}
	switch r := i.Footprint.Radius(); {
	case i.Footprint == nil:
	case len(Hull(i.Footprint)) < 3:
		return engram.Errorf(engram.Invalid, "", "the footprint is no polygon; it has at least 3 corners")
	case i.Radius < r*(1-rounding):
		return engram.Errorf(engram.Invalid, "", "the radius is %g m; it is not less than that of the footprint, %.4g m", i.Radius, r)
	}
	return nil
}

// Costmap says where on a grid a robot can be: in cells whose centre is at least the radius away
// from the centre of every cell that is not free. What is outside the grid does not count. It is
// not for concurrent use.
type Costmap struct {
	Grid      // with what was put on it
	inflation Inflation

	reach  int     // cells up to which distances matter
	least2 int32   // squared distance from which on a cell can be entered, cells
	wide2  int32   // squared distance from which on it can be so in every direction
	shape  *shape  // nil: a circle
	near2  []int32 // squared distance to the next blocking cell, at most far2, cells
	far2   int32
	row2   []int32  // the same along the row only
	solid  []uint64 // which cells block, a bit each, rows of words
	words  int      // per row
	enter  []uint8  // with a border of one cell: what can be entered, and whether it is unknown
	free   int      // how many cells can be entered
	things things   // what stands on it

}

const (
	enterable uint8 = 1 << iota
	unknown
	tight // the robot fits in some directions at most
)

// NewCostmap returns the cost map of a grid, whose cells it takes over. The error is Invalid.
func NewCostmap(g Grid, i Inflation) (*Costmap, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	if err := i.Check(); err != nil {
		return nil, err
	}
	n := g.Width * g.Height
	c := &Costmap{Grid: g, inflation: i, words: (g.Width + 63) / 64}
	// Not nearer than the radius, whatever the last bit of its quotient.
	radius := math.Min(i.Radius/g.Resolution, float64(g.Width+g.Height)) * (1 - 1e-9)
	c.wide2 = max(int32(math.Ceil(radius*radius)), 1)
	c.least2 = c.wide2
	if margin := i.Radius - i.Footprint.Radius(); i.Footprint != nil {
		c.shape = newShape(i.Footprint, max(margin, 0), g.Resolution)
		inscribed := c.shape.grown.inscribed() * (1 - 1e-9)
		c.least2 = min(max(int32(math.Ceil(inscribed*inscribed)), 1), c.wide2)
	}
	c.reach = int(math.Ceil(radius))
	c.far2 = int32((c.reach + 1) * (c.reach + 1))
	c.near2, c.row2 = make([]int32, n), make([]int32, n)
	c.solid = make([]uint64, c.words*g.Height)
	c.enter = make([]uint8, (g.Width+2)*(g.Height+2))
	c.measure(Rect{0, 0, g.Width, g.Height})
	return c, nil
}

// Inflation returns which cells can be entered.
func (c *Costmap) Inflation() Inflation { return c.inflation }

// Enterable reports whether the robot's centre may be at a point.
func (c *Costmap) Enterable(p Point) bool {
	x, y, ok := c.Cell(p)
	return ok && c.enter[c.padded(x, y)]&enterable != 0
}

// Clearance returns how far the centre of a cell is from that of the next one that is not free,
// metres; at most a little more than the radius.
func (c *Costmap) Clearance(x, y int) float64 {
	return math.Sqrt(float64(c.near2[y*c.Width+x])) * c.Resolution
}

// least returns how near the robot may come to what is not free at least, metres.
func (c *Costmap) least() float64 {
	if c.shape == nil {
		return c.inflation.Radius
	}
	return c.shape.grown.inscribed() * c.Resolution
}

func (c *Costmap) padded(x, y int) int { return (y+1)*(c.Width+2) + x + 1 }

func (c *Costmap) blocks(s State) bool {
	return s == Occupied || s == Unknown && c.inflation.UnknownCost == 0
}

// Rect is a region of cells: from (X0, Y0) up to and without (X1, Y1).
type Rect struct{ X0, Y0, X1, Y1 int }

// Empty reports whether no cell is in it.
func (r Rect) Empty() bool { return r.X0 >= r.X1 || r.Y0 >= r.Y1 }

func (r Rect) union(s Rect) Rect {
	switch {
	case r.Empty():
		return s
	case s.Empty():
		return r
	}
	return Rect{min(r.X0, s.X0), min(r.Y0, s.Y0), max(r.X1, s.X1), max(r.Y1, s.Y1)}
}

func (r Rect) clip(width, height int) Rect {
	return Rect{max(r.X0, 0), max(r.Y0, 0), min(r.X1, width), min(r.Y1, height)}
}

// measure computes distances after the states of the cells in a region have changed, and returns
// the region in which something may have.
func (c *Costmap) measure(changed Rect) Rect {
	w := c.Width
	out := Rect{changed.X0 - c.reach, changed.Y0 - c.reach, changed.X1 + c.reach, changed.Y1 + c.reach}.clip(w, c.Height)
	for y := changed.Y0; y < changed.Y1; y++ {
		states, solid := c.Cells[y*w:(y+1)*w], c.solid[y*c.words:(y+1)*c.words]
		for x := changed.X0; x < changed.X1; x++ {
			if c.blocks(states[x]) {
				solid[x>>6] |= 1 << (x & 63)
			} else {
				solid[x>>6] &^= 1 << (x & 63)
			}
		}
		c.measureRow(y, out.X0, out.X1)
	}
	for y := out.Y0; y < out.Y1; y++ {
		near := c.near2[y*w+out.X0 : y*w+out.X1]
		for x := range near {
			near[x] = c.far2
		}
		for from := max(y-c.reach, 0); from <= min(y+c.reach, c.Height-1); from++ {
			if !c.any(from, out.X0-c.reach, out.X1+c.reach-1) {
				continue
			}
			d2 := int32((from - y) * (from - y))
			row := c.row2[from*w+out.X0 : from*w+out.X1][:len(near)]
			for x := range near {
				near[x] = min(near[x], row[x]+d2)
			}
		}
		states := c.Cells[y*w+out.X0 : y*w+out.X1]
		at := c.padded(out.X0, y)
		enter := c.enter[at : at+len(near)]
		for x, d := range near {
			c.free -= int(enter[x] & enterable)
			enter[x] = 0
			if d >= c.least2 {
				enter[x] = enterable
				c.free++
				if d < c.wide2 {
					enter[x] |= tight
				}
			}
			if states[x] == Unknown {
				enter[x] |= unknown
			}
		}
	}
	return out
}

// measureRow computes the squared distances along a row from x0 up to and without x1.
func (c *Costmap) measureRow(y, x0, x1 int) {
	solid := c.solid[y*c.words : (y+1)*c.words]
	row := c.row2[y*c.Width : (y+1)*c.Width]
	is := func(x int) bool { return solid[x>>6]>>(x&63)&1 != 0 }
	d := c.reach + 1
	for x := max(x0-c.reach, 0); x < x1; x++ {
		if d++; is(x) {
			d = 0
		}
		if d = min(d, c.reach+1); x >= x0 {
			row[x] = int32(d)
		}
	}
	d = c.reach + 1
	for x := min(x1+c.reach, c.Width) - 1; x >= x0; x-- {
		if d++; is(x) {
			d = 0
		}
		if x < x1 {
			d = min(d, int(row[x]))
			row[x] = int32(d * d)
		}
	}
}

// any reports whether a cell blocks in a row from x0 to x1.
func (c *Costmap) any(y, x0, x1 int) bool {
	x0, x1 = max(x0, 0), min(x1, c.Width-1)
	if x0 > x1 || y < 0 || y >= c.Height {
		return false
	}
	row := c.solid[y*c.words : (y+1)*c.words]
	first, last := x0>>6, x1>>6
	low, high := ^uint64(0)<<(x0&63), ^uint64(0)>>(63-x1&63)
	if first == last {
		return row[first]&low&high != 0
	}
	if row[first]&low != 0 || row[last]&high != 0 {
		return true
	}
	for _, w := range row[first+1 : last] {
		if w != 0 {
			return true
		}
	}
	return false
}

// Count returns how many cells block, and how many can be entered.
func (c *Costmap) Count() (blocked, enterable int) {
	for _, w := range c.solid {
		blocked += bits.OnesCount64(w)
	}
	return blocked, c.free
}
