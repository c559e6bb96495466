package grid

// distances computes how far cells are from the nearest obstacle, squared, in cells, as far as that
// matters (Meijster, Roerdink, Hesselink: A general algorithm for computing distance transforms in
// linear time, 2000).
type distances struct {
	reach     int                         // in cells; what is farther away is as far as reach²+1
	obstacles func(y, x0 int, dst []bool) // says which cells of a row are obstacles, from column x0
	obstacle  []bool                      // of a row
	column    []int32                     // the distance to the last obstacle passed in each column
	near      []int32                     // of a band: the distance to the nearest obstacle in the same column
	parts     []part
}

// part begins in a row where the nearest obstacle is in another column than before.
type part struct{ from, column int }

// bandRows is how many rows are computed at a time: what is remembered of them stays small.
const bandRows = 256

// compute writes the distances of the cells of a region of a grid. to returns where those of a row of
// the region go.
func (d *distances) compute(r, whole Region, to func(y int) []int32) {
	for y := r.Y0; y < r.Y1; y += bandRows {
		d.band(Region{r.X0, y, r.X1, min(y+bandRows, r.Y1)}, whole, to)
	}
}

func (d *distances) band(r, whole Region, to func(y int) []int32) {
	from := r.Grow(d.reach, whole)
	width := from.X1 - from.X0
	d.obstacle, d.column = sized(d.obstacle, width), sized(d.column, width)
	d.near = sized(d.near, width*(r.Y1-r.Y0))
	row := func(y int) []int32 { return d.near[(y-r.Y0)*width : (y-r.Y0+1)*width] }

	d.start()
	for y := from.Y0; y < r.Y1; y++ {
		if d.pass(y, from.X0); y >= r.Y0 {
			copy(row(y), d.column)
		}
	}
	d.start()
	for y := from.Y1 - 1; y >= r.Y1; y-- {
		d.pass(y, from.X0)
	}
	for y := r.Y1 - 1; y >= r.Y0; y-- {
		near := row(y)
		for x, v := range d.column {
			near[x] = min(near[x], v+1) // 0 in an obstacle
			d.column[x] = near[x]
		}
	}
	for y := r.Y0; y < r.Y1; y++ {
		d.across(row(y), r.X0-from.X0, to(y))
	}
}

// start forgets the obstacles that were passed.
func (d *distances) start() {
	for x := range d.column {
		d.column[x] = int32(d.reach + 1)
	}
}

// pass goes on to the next row.
func (d *distances) pass(y, x0 int) {
	d.obstacles(y, x0, d.obstacle)
	most := int32(d.reach + 1)
	for x, is := range d.obstacle {
		v := min(d.column[x]+1, most)
		if is {
			v = 0
		}
		d.column[x] = v
	}
}

// across writes the distances of the cells of a row, from column x0, of which it has those to the
// nearest obstacle in each column.
func (d *distances) across(near []int32, x0 int, dst []int32) {
	d.envelope(near)
	most := d.reach*d.reach + 1
	i := len(d.parts) - 1
	for x := x0 + len(dst) - 1; x >= x0; x-- {
		switch {
		case near[x] == 0:
			dst[x-x0] = 0
			continue
		case i < 0:
			dst[x-x0] = int32(most)
			continue
		}
		for d.parts[i].from > x {
			i--
		}
		dst[x-x0] = int32(min(square(near, x, d.parts[i].column), most))
	}
}

// envelope finds the parts of a row, from left to right. What lies within a run of obstacles is
// the nearest to none but itself.
func (d *distances) envelope(near []int32) {
	parts := d.parts[:0]
	for x, v := range near {
		if int(v) > d.reach || v == 0 && x > 0 && x+1 < len(near) && near[x-1] == 0 && near[x+1] == 0 {
			continue
		}
		for n := len(parts); n > 0 && square(near, parts[n-1].from, parts[n-1].column) > square(near, parts[n-1].from, x); n-- {
			parts = parts[:n-1]
		}
		from := 0
		if n := len(parts); n > 0 {
			from = meet(near, parts[n-1].column, x) + 1
		}
		if from < len(near) {
			parts = append(parts, part{from, x})
		}
	}
	d.parts = parts
}

// square returns the squared distance from column x to the obstacle nearest to column c of the row.
func square(near []int32, x, c int) int { return (x-c)*(x-c) + int(near[c])*int(near[c]) }

// meet returns the last column for which column a has a nearer obstacle than column b, or one as
// near; a is left of b.
func meet(near []int32, a, b int) int {
	return (b*b - a*a + int(near[b])*int(near[b]) - int(near[a])*int(near[a])) / (2 * (b - a))
}

// sized returns a slice of that length, the same if it is large enough.
func sized[T any](s []T, length int) []T {
	if cap(s) < length {
		return make([]T, length)
	}
	return s[:length]
}
