package plan

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
)

// node is what a search knows of a cell.
type node struct {
	cost  float64 // of the best path found to it, in cells
	round uint32  // the search that this is of
	step  uint8   // that led to it, of steps
	open  bool    // it has to be expanded
}

// started is the step of the cell that a search starts from.
const started = 8

// steps are the steps to neighbours: the straight ones, then the diagonal ones.
var steps = [8]struct {
	dx, dy int
	length float64
}{{1, 0, 1}, {0, 1, 1}, {-1, 0, 1}, {0, -1, 1}, {1, 1, math.Sqrt2}, {-1, 1, math.Sqrt2}, {-1, -1, math.Sqrt2}, {1, -1, math.Sqrt2}}

// search is one search by A* and its memory, which others use again. The rows of nodes are made as
// cells are met: a short path over a large map costs little.
type search struct {
	m       *grid.Costmap
	options Options
	goal    target
	factors []float64 // of the length of a step, by the squared distance from obstacles
	unknown float64   // the same in unknown space
	rows    [][]node
	width   int
	round   uint32
	queue   queue

	found bool
	end   grid.Cell // the best cell of the target found
	best  float64   // its cost
}

var searches = sync.Pool{New: func() any { return new(search) }}

// newSearch returns a search over a map for a target; release takes it back.
func newSearch(m *grid.Costmap, goal target, o Options) *search {
	s := searches.Get().(*search)
	g := m.Grid()
	if s.width != g.Width || len(s.rows) != g.Height || s.round == math.MaxUint32 {
		s.rows, s.width, s.round = make([][]node, g.Height), g.Width, 0
	}
	s.m, s.goal, s.options, s.found, s.best = m, goal, o, false, math.Inf(1)
	s.round++
	s.weigh(o.Weight)
	return s
}

func (s *search) release() {
	s.m = nil
	searches.Put(s)
}

// weigh computes the factors.
func (s *search) weigh(weight float64) {
	s.factors = s.factors[:0]
	for _, c := range s.m.Costs() {
		s.factors = append(s.factors, 1+weight*min(float64(c)/(grid.Inscribed-1), 1))
	}
	s.unknown = s.m.Config().Unknown
}

// factor returns what a metre in a cell costs that can be entered.
func (s *search) factor(x, y int, square int32) float64 {
	f := s.factors[square]
	if s.unknown > 0 && s.m.Unknown(grid.Cell{X: x, Y: y}) {
		f += s.unknown - 1
	}
	return f
}

// often is after how many cells a search looks whether it was cancelled.
const often = 4096

// run searches. Cells are expanded by what a path through them costs at least, rounded down to
// buckets; one to which a better path is found later is expanded again.
func (s *search) run(ctx context.Context, start grid.Cell) error {
	greatest := s.factors[s.m.Needed()] + max(s.unknown-1, 0)
	s.queue.reset(s.goal.least(start.X, start.Y), 2*math.Sqrt2*greatest) // a step and what it leads away from the target
	s.reach(&s.row(start.Y)[start.X], start.X, start.Y, 0, started)
	for n := 0; ; n++ {
		if n%often == 0 {
			if err := ctx.Err(); err != nil {
				return engram.Errorf(engram.Canceled, "path", "the search was given up: %w", err)
			}
		}
		c, ok := s.queue.pop(s.best)
		if !ok {
			return nil
		}
		at := &s.rows[c.y][c.x]
		if at.open && at.cost+s.goal.least(int(c.x), int(c.y)) < s.best {
			s.expand(int(c.x), int(c.y), at.cost)
		}
		at.open = false
	}
}

// expand reaches the neighbours of a cell.
func (s *search) expand(x, y int, cost float64) {
	squares := [3][]int32{s.m.Row(y - 1), s.m.Row(y), s.m.Row(y + 1)}
	nodes := [3][]node{s.row(y - 1), s.row(y), s.row(y + 1)}
	needed := s.m.Needed()
	here := s.factor(x, y, squares[1][1+x])
	var free [4]bool // of the straight steps
	for i := range steps {
		step := &steps[i]
		toX := x + step.dx
		square := squares[1+step.dy][1+toX]
		if square < needed {
			continue
		}
		if i < 4 {
			free[i] = true
		} else if !free[i-4] || !free[(i-3)%4] {
			continue
		}
		n := &nodes[1+step.dy][toX]
		if to := cost + step.length*(here+s.factor(toX, y+step.dy, square))/2; !s.has(n, to) {
			s.reach(n, toX, y+step.dy, to, uint8(i))
		}
	}
}

// row returns the nodes of a row; none of one beside the map.
func (s *search) row(y int) []node {
	if y < 0 || y >= len(s.rows) {
		return nil
	}
	if s.rows[y] == nil {
		s.rows[y] = make([]node, s.width)
	}
	return s.rows[y]
}

// has tells whether a path to a node is known that is as good.
func (s *search) has(n *node, cost float64) bool {
	return n.round == s.round && n.cost <= cost+slack
}

// reach takes a path to a cell, which is better than those before.
func (s *search) reach(n *node, x, y int, cost float64, step uint8) {
	total := cost + s.goal.least(x, y)
	if total >= s.best {
		return
	}
	*n = node{cost: cost, round: s.round, step: step, open: true}
	if s.goal.has(x, y) {
		s.found, s.end, s.best = true, grid.Cell{X: x, Y: y}, cost
		return
	}
	s.queue.push(item{int32(x), int32(y)}, total)
}

// positions returns the way that was found, between two positions in its first and its last cell.
func (s *search) positions(from, to grid.Position) []grid.Position {
	way := []grid.Position{to}
	add := func(p grid.Position) {
		if p.Distance(way[len(way)-1]) > slack {
			way = append(way, p)
		}
	}
	for c := s.end; s.node(c).step != started; {
		add(c.Centre())
		step := steps[s.node(c).step]
		c = grid.Cell{X: c.X - step.dx, Y: c.Y - step.dy}
		if s.node(c).step == started {
			add(c.Centre())
		}
	}
	add(from)
	slices.Reverse(way)
	return way
}

// node returns that of a cell that was reached.
func (s *search) node(c grid.Cell) *node { return &s.rows[c.Y][c.X] }
