package grid

import (
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
)

// MostCorners is how many corners a polygon has at most.
const MostCorners = 1000

// mask is a region of a grid, with those of its cells that something covers.
type mask struct {
	Region
	covered []bool // row by row
}

func (m *mask) row(y int) []bool {
	width := m.X1 - m.X0
	return m.covered[(y-m.Y0)*width : (y-m.Y0+1)*width]
}

// outline returns a polygon's corners as positions. The error is Invalid.
func (g *Grid) outline(id string, polygon []Point) ([]Position, error) {
	if len(polygon) == 0 || len(polygon) > MostCorners {
		return nil, engram.Errorf(engram.Invalid, id, "its outline has %d corners; it has from 1 to %d", len(polygon), MostCorners)
	}
	outline := make([]Position, len(polygon))
	for i, p := range polygon {
		if outline[i] = g.PositionOf(p); !finite(outline[i].U) || !finite(outline[i].V) {
			return nil, engram.Errorf(engram.Invalid, id, "corner %d of its outline is %v, which is not finite", i, p)
		}
	}
	return outline, nil
}

// cover returns the cells of the grid that an outline touches or has within it.
func (g *Grid) cover(outline []Position) *mask {
	m := &mask{Region: g.bounds(outline)}
	if m.Empty() {
		return m
	}
	m.covered = make([]bool, (m.X1-m.X0)*(m.Y1-m.Y0))
	last := outline[len(outline)-1]
	for _, p := range outline {
		m.edge(last, p)
		last = p
	}
	for y := m.Y0; y < m.Y1; y++ {
		m.fill(outline, y)
	}
	return m
}

// bounds returns the cells that an outline may touch.
func (g *Grid) bounds(outline []Position) Region {
	low, high := outline[0], outline[0]
	for _, p := range outline[1:] {
		low = Position{min(low.U, p.U), min(low.V, p.V)}
		high = Position{max(high.U, p.U), max(high.V, p.V)}
	}
	index := func(x float64, size int) int { return int(math.Floor(min(max(x, -1), float64(size)+1))) }
	r := Region{index(low.U, g.Width), index(low.V, g.Height), index(high.U, g.Width) + 1, index(high.V, g.Height) + 1}
	return r.Grow(0, g.Whole())
}

// edge covers the cells that a line touches.
func (m *mask) edge(a, b Position) {
	a, b, ok := m.clip(a, b)
	if !ok {
		return
	}
	Walk(a, b, func(c Cell, _ float64) bool {
		if m.Has(c) {
			m.row(c.Y)[c.X-m.X0] = true
		}
		return true
	})
}

// clip returns the part of a line that is in the region or within a cell of it (Liang and Barsky).
func (m *mask) clip(a, b Position) (from, to Position, ok bool) {
	du, dv := b.U-a.U, b.V-a.V
	first, last := 0.0, 1.0
	for _, side := range [4][2]float64{
		{-du, a.U - float64(m.X0-1)}, {du, float64(m.X1+1) - a.U},
		{-dv, a.V - float64(m.Y0-1)}, {dv, float64(m.Y1+1) - a.V},
	} {
		out, room := side[0], side[1]
		switch {
		case out == 0 && room < 0:
			return a, b, false
		case out < 0:
			first = max(first, room/out)
		case out > 0:
			last = min(last, room/out)
		}
	}
	return a.along(b, first), a.along(b, last), first <= last
}

// along returns the position at a share of the way to another one.
func (p Position) along(q Position, share float64) Position {
	switch share {
	case 0:
		return p
	case 1:
		return q
	}
	return Position{p.U + share*(q.U-p.U), p.V + share*(q.V-p.V)}
}

// fill covers the cells of a row whose centres are within an outline.
func (m *mask) fill(outline []Position, y int) {
	v := float64(y) + 0.5
	var crossings []float64
	last := outline[len(outline)-1]
	for _, p := range outline {
		if (p.V > v) != (last.V > v) {
			crossings = append(crossings, last.U+(v-last.V)/(p.V-last.V)*(p.U-last.U))
		}
		last = p
	}
	slices.Sort(crossings)
	row := m.row(y)
	index := func(u float64) int { // the first cell whose centre is not left of u
		return int(math.Ceil(min(max(u-0.5, float64(m.X0)), float64(m.X1)))) - m.X0
	}
	for i := 0; i+1 < len(crossings); i += 2 {
		for x := index(crossings[i]); x < index(crossings[i+1]); x++ {
			row[x] = true
		}
	}
}
