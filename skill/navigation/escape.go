package navigation

// Escape returns the shortest way over cells that are not blocked from a point at which the robot must not be
// to one at which it may, no further than so many metres; nil if it may be there, or if there is
// none.
func (c *Costmap) Escape(from Point, within float64) Path {
	x, y, ok := c.Cell(from)
	if !ok || c.enter[c.padded(x, y)]&enterable != 0 || c.isSolid(x, y) {
		return nil
	}
	type reach struct{ from, steps int }
	start := y*c.Width + x
	came := map[int]reach{start: {-1, 0}}
	queue := []int{start}
	most := int(within/c.Resolution) + 1
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		ax, ay := at%c.Width, at/c.Width
		if c.enter[c.padded(ax, ay)]&enterable != 0 {
			var path Path
			for ; at >= 0; at = came[at].from {
				path = append(Path{c.Center(at%c.Width, at/c.Width)}, path...)
			}
			path[0] = from
			return path
		}
		for _, s := range steps {
			bx, by := ax+s.x, ay+s.y
			if bx < 0 || by < 0 || bx >= c.Width || by >= c.Height || c.isSolid(bx, by) || c.isSolid(bx, ay) || c.isSolid(ax, by) {
				continue
			}
			to := by*c.Width + bx
			if _, seen := came[to]; !seen && came[at].steps < most {
				came[to] = reach{at, came[at].steps + 1}
				queue = append(queue, to)
			}
		}
	}
	return nil
}

func (c *Costmap) isSolid(x, y int) bool { return c.solid[y*c.words+x>>6]>>(x&63)&1 != 0 }

// Room returns the area in which the robot can get about from a point, up to so many square metres.
func (c *Costmap) Room(from Point, most float64) float64 {
	if away := c.Escape(from, c.inflation.Radius+1); len(away) > 0 {
		from = away[len(away)-1]
	}
	x, y, ok := c.Cell(from)
	if !ok || c.enter[c.padded(x, y)]&enterable == 0 {
		return 0
	}
	cell := c.Resolution * c.Resolution
	seen := map[int]bool{c.padded(x, y): true}
	queue := []int{c.padded(x, y)}
	for len(queue) > 0 && float64(len(seen))*cell < most {
		at := queue[0]
		queue = queue[1:]
		for _, s := range steps[:4] {
			if to := at + s.y*(c.Width+2) + s.x; !seen[to] && c.enter[to]&enterable != 0 {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return min(float64(len(seen))*cell, most)
}
