package navigation

// things are what stands on a grid, beside what its cells were before.
type things struct {
	under   []State  // the cells without them
	over    []uint16 // how many stand on each cell
	spans   map[string][]span
	changed []Rect
}

// maxChanged bounds the regions that are kept apart.
const maxChanged = 32

// Put says what something covers, in place of what it covered before; without outlines it is
// taken away. Cells that an outline touches are occupied. It counts from the next [Costmap.Update] on.
func (c *Costmap) Put(name string, outlines ...Outline) {
	t := &c.things
	before := t.spans[name]
	if len(outlines) == 0 && before == nil {
		return
	}
	if t.over == nil {
		t.under = append([]State(nil), c.Cells...)
		t.over = make([]uint16, len(c.Cells))
		t.spans = map[string][]span{}
	}
	var now []span
	for _, o := range outlines {
		now = append(now, c.spans(o)...)
	}
	if same(before, now) {
		return
	}
	c.stand(before, ^uint16(0)) // one less
	c.stand(now, 1)
	if now == nil {
		delete(t.spans, name)
	} else {
		t.spans[name] = now
	}
}

func same(a, b []span) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// stand adds one or takes one away.
func (c *Costmap) stand(spans []span, n uint16) {
	t := &c.things
	var changed Rect
	for _, s := range spans {
		for x := s.x0; x < s.x1; x++ {
			i := int(s.y)*c.Width + int(x)
			was := t.over[i] > 0
			if t.over[i] += n; was != (t.over[i] > 0) {
				c.Cells[i] = Occupied
				if was {
					c.Cells[i] = t.under[i]
				}
				changed = changed.union(Rect{int(x), int(s.y), int(x) + 1, int(s.y) + 1})
			}
		}
	}
	if changed.Empty() {
		return
	}
	for i, r := range t.changed { // what was there and is there now is often one region
		if all := r.union(changed); all.area() <= 2*(r.area()+changed.area()) || len(t.changed) >= maxChanged {
			t.changed[i] = all
			return
		}
	}
	t.changed = append(t.changed, changed)
}

func (r Rect) area() int {
	if r.Empty() {
		return 0
	}
	return (r.X1 - r.X0) * (r.Y1 - r.Y0)
}

// Covers returns how many cells something covers.
func (c *Costmap) Covers(name string) (n int) {
	for _, s := range c.things.spans[name] {
		n += int(s.x1 - s.x0)
	}
	return n
}

// Update computes anew what what was put changes, and returns the regions in which something may
// differ; nil if nothing does.
func (c *Costmap) Update() (changed []Rect) {
	for _, r := range c.things.changed {
		changed = append(changed, c.measure(r))
	}
	c.things.changed = c.things.changed[:0]
	return changed
}
