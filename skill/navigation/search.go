package navigation

import (
	"context"
	"math"
)

// search is A* over the 8 neighbours of cells, with what it needs of memory. Costs are in cells.
//
// Open cells lie in buckets by their estimate; within a bucket the last comes first. A cell whose
// cost falls after it was expanded is expanded again, and nothing ends before all cells are
// expanded whose estimate is less than the cost of the goal: the costs are exact.
type search struct {
	cost    []float64
	stamp   []uint32 // of the search in which cost and from are valid
	from    []uint8  // by which of the steps the cell was reached
	open    []bool
	buckets [][]int32
	now     uint32
}

const bucketWidth = 0.25 // cells

// rounding is by how much costs differ that are equal.
const rounding = 1e-9

type step struct{ x, y int }

// The straight steps come first, the diagonal 4+i lies between the straight i and i+1.
var steps = [8]step{{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 1}, {-1, 1}, {-1, -1}, {1, -1}}

// octile returns the cost of the shortest path without obstacles.
func octile(dx, dy int) float64 {
	dx, dy = max(dx, -dx), max(dy, -dy)
	return float64(max(dx, dy)) + (math.Sqrt2-1)*float64(min(dx, dy))
}

// begin gets ready for a search over so many states.
func (s *search) begin(states int) {
	if len(s.cost) < states {
		*s = search{cost: make([]float64, states), stamp: make([]uint32, states), from: make([]uint8, states), open: make([]bool, states), buckets: s.buckets}
	}
	if s.now++; s.now == 0 {
		clear(s.stamp)
		s.now = 1
	}
	for i := range s.buckets {
		s.buckets[i] = s.buckets[i][:0]
	}
}

// end leaves nothing open.
func (s *search) end() {
	for i := range s.buckets {
		for _, at := range s.buckets[i] {
			s.open[at] = false
		}
	}
}

// push opens a state.
func (s *search) push(at, bucket int) {
	s.open[at] = true
	for bucket >= len(s.buckets) {
		s.buckets = append(s.buckets, nil)
	}
	s.buckets[bucket] = append(s.buckets[bucket], int32(at))
}

// run returns the cells of a cheapest path, as indices of the padded grid, or nil if there is none.
// The error is the context's.
func (s *search) run(ctx context.Context, c *Costmap, start, goal int) ([]int32, error) {
	n, width := len(c.enter), c.Width+2
	s.begin(n)
	defer s.end()
	var offset [8]int
	for i, d := range steps {
		offset[i] = d.y*width + d.x
	}
	enter, cost, stamp, from, open, now := c.enter, s.cost[:n], s.stamp[:n], s.from[:n], s.open[:n], s.now
	factor := max(c.inflation.UnknownCost, 1)
	goalX, goalY := goal%width, goal/width
	estimate := func(at int) float64 { return octile(at%width-goalX, at/width-goalY) }
	least := estimate(start)
	cost[start], stamp[start] = 0, now
	s.push(start, 0)
	best := math.Inf(1)
	expanded := 0
	for b := 0; b < len(s.buckets) && least+float64(b)*bucketWidth < best; b++ {
		for len(s.buckets[b]) > 0 {
			last := len(s.buckets[b]) - 1
			at := int(s.buckets[b][last])
			s.buckets[b] = s.buckets[b][:last]
			if !open[at] {
				continue
			}
			open[at] = false
			g := cost[at]
			if g+estimate(at) >= best-rounding {
				continue
			}
			if expanded++; expanded%4096 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			visit := func(i int, length float64, beside uint8) {
				to := at + offset[i]
				if (enter[at]|enter[to]|beside)&unknown != 0 {
					length *= factor
				}
				g := g + length
				if stamp[to] == now && cost[to] <= g+rounding {
					return
				}
				f := g + estimate(to)
				if f >= best-rounding {
					return
				}
				cost[to], stamp[to], from[to] = g, now, uint8(i)
				if to == goal {
					best = g
					return
				}
				s.push(to, max(int((f-least)/bucketWidth), b))
			}
			var straight [5]bool
			for i := range 4 {
				if enter[at+offset[i]]&enterable != 0 {
					straight[i] = true
					visit(i, 1, 0)
				}
			}
			straight[4] = straight[0]
			for i := range 4 {
				if straight[i] && straight[i+1] && enter[at+offset[4+i]]&enterable != 0 {
					visit(4+i, math.Sqrt2, enter[at+offset[i]]|enter[at+offset[(i+1)%4]])
				}
			}
		}
	}
	if start != goal && math.IsInf(best, 1) {
		return nil, nil
	}
	count := 1
	for at := goal; at != start; at -= offset[from[at]] {
		count++
	}
	path := make([]int32, count)
	for at := goal; at != start; at -= offset[from[at]] {
		count--
		path[count] = int32(at)
	}
	path[0] = int32(start)
	return path, nil
}
