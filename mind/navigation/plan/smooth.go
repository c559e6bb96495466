package plan

import "github.com/seed-301d4374/engram/mind/navigation/grid"

// smooth returns a way of fewer and straighter lines that costs no more and is no longer.
func (s *search) smooth(way []grid.Position) []grid.Position {
	way = s.shorten(way)
	for len(way) > 2 && s.pull(way) {
		way = s.shorten(way)
	}
	return way
}

// line returns what a straight line costs, in cells; ok is false where the robot cannot be in all
// cells that it touches.
func (s *search) line(a, b grid.Position) (cost float64, ok bool) {
	needed := s.m.Needed()
	ok = grid.Walk(a, b, func(c grid.Cell, cells float64) bool {
		square := s.m.Row(c.Y)[c.X+1]
		if square < needed {
			return false
		}
		cost += cells * s.factor(c.X, c.Y, square)
		return true
	})
	return cost, ok
}

// shorten leaves out the points of a way that a straight line may pass.
func (s *search) shorten(way []grid.Position) []grid.Position {
	costs := make([]float64, len(way)) // up to each point
	for i := range way[1:] {
		cost, _ := s.line(way[i], way[i+1])
		costs[i+1] = costs[i] + cost
	}
	short := way[:1:1]
	for i := 0; i < len(way)-1; {
		i = farthest(i, len(way), func(to int) bool {
			cost, ok := s.line(way[i], way[to])
			return ok && cost <= costs[to]-costs[i]+slack
		})
		short = append(short, way[i])
	}
	return short
}

// farthest returns how far a line from point i of n may go, by trying twice as far each time and
// then in between: i+1 or more.
func farthest(i, n int, free func(to int) bool) int {
	good, bad := i+1, n
	for step := 2; i+step < bad; step *= 2 {
		if !free(i + step) {
			bad = i + step
			break
		}
		good = i + step
	}
	for good+1 < bad {
		if mid := (good + bad) / 2; free(mid) {
			good = mid
		} else {
			bad = mid
		}
	}
	return good
}

// gain is what moving a point must save, in cells.
const gain = 1e-6

// pull moves the inner points of a way to cells beside them while that makes it cheaper and not
// longer, and tells whether it has moved any.
func (s *search) pull(way []grid.Position) (moved bool) {
	for i := 1; i < len(way)-1; i++ {
		for s.pullOne(way[i-1], &way[i], way[i+1]) {
			moved = true
		}
	}
	return moved
}

// pullOne moves a point between two others to the best cell beside it.
func (s *search) pullOne(before grid.Position, at *grid.Position, after grid.Position) bool {
	first, _ := s.line(before, *at)
	second, _ := s.line(*at, after)
	cost, long, best := first+second-gain, before.Distance(*at)+at.Distance(after), *at
	for _, step := range steps {
		to := grid.Position{U: at.U + float64(step.dx), V: at.V + float64(step.dy)}
		if d := before.Distance(to) + to.Distance(after); d > long || d >= cost || !s.m.CanEnter(to.Cell()) {
			continue
		}
		first, one := s.line(before, to)
		second, two := s.line(to, after)
		if sum := first + second; one && two && sum < cost {
			cost, best = sum, to
		}
	}
	if best == *at {
		return false
	}
	*at = best
	return true
}
