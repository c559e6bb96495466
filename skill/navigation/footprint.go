package navigation

import (
	"context"
	"math"
	"slices"
)

// Footprint is the convex outline of a robot, metres from the point that follows the path; x is ahead.
type Footprint []Point

// Rectangle returns the footprint of a base that has its point in the middle.
func Rectangle(length, width float64) Footprint {
	x, y := length/2, width/2
	return Footprint{{-x, -y}, {x, -y}, {x, y}, {-x, y}}
}

// Radius returns the radius of the circle about the point that has all of the footprint in it:
// the robot is free of obstacles there in whatever direction it stands.
func (f Footprint) Radius() (r float64) {
	for _, p := range f {
		r = max(r, math.Hypot(p.X, p.Y))
	}
	return r
}

// Inscribed returns the radius of the greatest circle about the point that is in the footprint: the robot
// is nowhere free of what is nearer. It is 0 if the point is not in the footprint.
func (f Footprint) Inscribed() float64 { return Hull(f).inscribed() }

func (o Outline) inscribed() float64 {
	if len(o) < 3 || o.Distance(Point{}) > 0 {
		return 0
	}
	r := math.Inf(1)
	for i := range o {
		r = min(r, Outline{o[i], o[(i+1)%len(o)]}.Distance(Point{}))
	}
	return r
}

// grown returns what the footprint covers with a margin around it.
func (f Footprint) grown(margin float64) Footprint {
	const corners = 12
	var all []Point
	for _, p := range f {
		for i := range corners {
			s, c := math.Sincos(2 * math.Pi * float64(i) / corners)
			all = append(all, Point{p.X + margin*c, p.Y + margin*s})
		}
	}
	return Footprint(Hull(all))
}

// headings is how many directions a robot is looked at when it turns.
const headings = 16

// tightCost is what a metre costs where the robot fits only in some directions, compared with elsewhere.
const tightCost = 2

// turnCost is what turning there by one of the headings costs, cells.
const turnCost = 0.1

// shape is a footprint in cells.
type shape struct {
	bare, grown Outline          // without and with what is to be kept beyond it
	turned      [headings][]span // what of cells around it is covers in each direction
	moved       [8][]span        // and on each of the steps
}

func newShape(f Footprint, margin, resolution float64) *shape {
	s := &shape{}
	in := func(f Footprint) (o Outline) {
		for _, p := range f {
			o = append(o, Point{p.X / resolution, p.Y / resolution})
		}
		return Hull(o)
	}
	s.bare, s.grown = in(f), in(f.grown(margin))
	for i := range s.turned {
		s.turned[i] = centres(s.grown.at(Point{}, 2*math.Pi*float64(i)/headings))
	}
	for i, d := range steps {
		s.moved[i] = centres(s.grown.along(Point{}, Point{float64(d.x), float64(d.y)}))
	}
	return s
}

// at returns the outline turned and put at a point.
func (o Outline) at(p Point, yaw float64) Outline {
	out := make(Outline, len(o))
	sin, cos := math.Sincos(yaw)
	for i, q := range o {
		out[i] = Point{p.X + cos*q.X - sin*q.Y, p.Y + sin*q.X + cos*q.Y}
	}
	return out
}

// along returns what the outline covers on a straight line.
func (o Outline) along(a, b Point) Outline {
	yaw := direction(a, b)
	return Hull(append(o.at(a, yaw), o.at(b, yaw)...))
}

// centres returns the cells whose centres, at whole numbers, are within an outline.
func centres(o Outline) (spans []span) {
	low, high := o.Bounds()
	for y := math.Ceil(low.Y); y <= high.Y; y++ {
		left, right := math.Inf(1), math.Inf(-1)
		for i, a := range o {
			b := o[(i+1)%len(o)]
			if a.Y > b.Y {
				a, b = b, a
			}
			if a.Y <= y && y <= b.Y && a.Y < b.Y {
				x := a.X + (b.X-a.X)*(y-a.Y)/(b.Y-a.Y)
				left, right = min(left, x), max(right, x)
			}
		}
		if x0, x1 := math.Ceil(left+rounding), math.Floor(right-rounding)+1; x0 < x1 {
			spans = append(spans, span{int32(y), int32(x0), int32(x1)})
		}
	}
	return spans
}

// clear reports whether no cell blocks in spans that are seen from a cell.
func (c *Costmap) clear(spans []span, x, y int) bool {
	for _, s := range spans {
		if c.any(y+int(s.y), x+int(s.x0), x+int(s.x1)-1) {
			return false
		}
	}
	return true
}

// passes reports whether a straight line leads through cells that can be entered, and the footprint as it is
// given fits all along; a circle always does.
func (c *Costmap) passes(from, to Point, footprint Outline) bool {
	var a, b Point
	a.X, a.Y = c.toCells(from)
	b.X, b.Y = c.toCells(to)
	if c.touched(a, b)&enterable == 0 {
		return false
	}
	if footprint == nil || a == b {
		return true
	}
	return c.clear(centres(footprint.along(Point{a.X - 0.5, a.Y - 0.5}, Point{b.X - 0.5, b.Y - 0.5})), 0, 0)
}

// bare returns the footprint without what is to be kept beyond it; nil for a circle.
func (c *Costmap) bare() Outline {
	if c.shape == nil {
		return nil
	}
	return c.shape.bare
}

// lead has a path leave its start, which is not the centre of a cell, towards the first of its points to
// which the footprint fits.
func (c *Costmap) lead(p Path) Path {
	for _, footprint := range []Outline{c.shape.grown, c.shape.bare} {
		for k := 1; k < len(p); k++ {
			if c.passes(p[0], p[k], footprint) {
				return append(p[:1], p[k:]...)
			}
		}
	}
	return p
}

// fits reports whether the robot fits at a cell in one of the directions of steps.
func (c *Costmap) fits(x, y int) bool {
	return slices.ContainsFunc(heading[:], func(h int) bool { return c.clear(c.shape.turned[h], x, y) })
}

// Turns reports whether the robot can turn at a point from one direction to another, the short way.
func (c *Costmap) Turns(p Point, from, to float64) bool {
	x, y, ok := c.Cell(p)
	if !ok {
		return false
	}
	if c.shape == nil || c.enter[c.padded(x, y)]&tight == 0 {
		return true
	}
	var at Point
	at.X, at.Y = c.toCells(p)
	at.X, at.Y = at.X-0.5, at.Y-0.5
	by := normal(to - from)
	n := int(math.Abs(by)/(2*math.Pi/headings/2)) + 1
	for i := range n + 1 {
		yaw := from - c.Origin.Yaw + by*float64(i)/float64(n)
		if !c.clear(centres(c.shape.bare.at(at, yaw)), 0, 0) {
			return false
		}
	}
	return true
}

// heading is the direction of each of the steps, in those of turning.
var heading = [8]int{0, 4, 8, 12, 2, 6, 10, 14}

// turnsTo returns how many directions the robot goes through at a cell to turn from one to another the short
// way; ok is false if it does not fit in one of them.
func (c *Costmap) turnsTo(x, y, from, to int) (n int, ok bool) {
	by := (to - from + headings) % headings
	one := 1
	if by > headings/2 {
		by, one = headings-by, headings-1
	}
	for at := from; at != to; {
		at = (at + one) % headings
		if !c.clear(c.shape.turned[at], x, y) {
			return 0, false
		}
	}
	return by, true
}

// runShaped is run for a robot that is no circle. Where it does not fit in every direction a cell is eight
// states, one for each step by which the robot came.
func (s *search) runShaped(ctx context.Context, c *Costmap, start, goal int) ([]int32, error) {
	n, width := len(c.enter), c.Width+2
	states := n
	first, cells := make([]int32, n), []int32(nil) // the first state of a cell; the cells of those beyond n
	for at, e := range c.enter {
		if first[at] = int32(at); e&(enterable|tight) == enterable|tight {
			first[at] = int32(states)
			states += len(steps)
			cells = append(cells, int32(at))
		}
	}
	s.begin(states)
	defer s.end()
	cellOf := func(state int) (at, came int) {
		if state < n {
			return state, 0
		}
		return int(cells[(state-n)/len(steps)]), (state - n) % len(steps)
	}
	factor := max(c.inflation.UnknownCost, 1)
	goalX, goalY := goal%width, goal/width
	estimate := func(at int) float64 { return octile(at%width-goalX, at/width-goalY) }
	least, best, end := estimate(start), math.Inf(1), -1
	reach := func(at, by, came int, g float64, lowest int) {
		state, f := int(first[at]), g+estimate(at)
		if state >= n {
			state += by
		}
		if s.stamp[state] == s.now && s.cost[state] <= g+rounding || f >= best-rounding {
			return
		}
		s.cost[state], s.stamp[state], s.from[state] = g, s.now, uint8(by|came<<3)
		if at == goal {
			best, end = g, state
			return
		}
		s.push(state, max(int((f-least)/bucketWidth), lowest))
	}
	for i := range steps {
		if c.clear(c.shape.turned[heading[i]], start%width-1, start/width-1) {
			reach(start, i, 0, 0, 0)
		}
	}
	expanded := 0
	for b := 0; b < len(s.buckets) && least+float64(b)*bucketWidth < best; b++ {
		for len(s.buckets[b]) > 0 {
			last := len(s.buckets[b]) - 1
			state := int(s.buckets[b][last])
			s.buckets[b] = s.buckets[b][:last]
			if !s.open[state] {
				continue
			}
			s.open[state] = false
			if expanded++; expanded%4096 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			at, came := cellOf(state)
			for i, d := range steps {
				to := at + d.y*width + d.x
				touched := c.enter[at] | c.enter[to]
				if d.x != 0 && d.y != 0 {
					x, y := c.enter[at+d.x], c.enter[at+d.y*width]
					if x&y&enterable == 0 {
						continue
					}
					touched |= (x | y) & unknown
				}
				if c.enter[to]&enterable == 0 {
					continue
				}
				price := math.Hypot(float64(d.x), float64(d.y))
				if touched&unknown != 0 {
					price *= factor
				}
				if touched&tight != 0 {
					turn, ok := 0, true
					if state >= n {
						turn, ok = c.turnsTo(at%width-1, at/width-1, heading[came], heading[i])
					}
					if !ok || !c.clear(c.shape.moved[i], at%width-1, at/width-1) {
						continue
					}
					price = price*tightCost + turnCost*float64(turn)
				}
				reach(to, i, came, s.cost[state]+price, b)
			}
		}
	}
	if end < 0 {
		return nil, nil
	}
	var path []int32
	for state := end; ; {
		at, _ := cellOf(state)
		if path = append(path, int32(at)); at == start {
			slices.Reverse(path)
			return path, nil
		}
		d := steps[s.from[state]&7]
		if at -= d.y*width + d.x; int(first[at]) < n {
			state = at
		} else {
			state = int(first[at]) + int(s.from[state]>>3)
		}
	}
}
