package grid

import (
	"slices"

	"github.com/seed-301d4374/engram"
)

// MostObjects is how many objects lie on a map at most.
const MostObjects = 10_000

// Builder makes cost maps of a grid and the objects on it. One goroutine at a time; the cost maps
// that it has returned may be read meanwhile.
type Builder struct {
	rules   *rules
	grid    *Grid
	objects map[string][]Position
	covered [][]uint16 // how many objects cover each cell; nil for a row without
	rows    [][]int32  // as in Costmap
	shared  []bool     // rows that a cost map has, too
	last    *Costmap   // nil if something changed since
	far     distances
}

// NewBuilder returns the builder of a grid without objects. The error is Invalid, or OutOfRange if
// footprint and inflation are too many cells wide.
func NewBuilder(g *Grid, c Config) (*Builder, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	r, err := newRules(g, c)
	if err != nil {
		return nil, err
	}
	b := &Builder{
		rules: r, grid: g, objects: map[string][]Position{},
		covered: make([][]uint16, g.Height), rows: make([][]int32, g.Height+2), shared: make([]bool, g.Height+2),
	}
	width := g.Width + 2
	all := make([]int32, width*(g.Height+2))
	for i := range b.rows {
		b.rows[i] = all[i*width : (i+1)*width : (i+1)*width]
	}
	b.far = distances{reach: r.reach, obstacles: b.obstacles}
	b.far.compute(g.Whole(), g.Whole(), b.writable(g.Whole()))
	return b, nil
}

// New returns the cost map of a grid without objects. The errors are those of [NewBuilder].
func New(g *Grid, c Config) (*Costmap, error) {
	b, err := NewBuilder(g, c)
	if err != nil {
		return nil, err
	}
	return b.Costmap(), nil
}

// Costmap returns the map with the objects that lie there now.
func (b *Builder) Costmap() *Costmap {
	if b.last == nil {
		for i := range b.shared {
			b.shared[i] = true
		}
		b.last = &Costmap{rules: b.rules, grid: b.grid, rows: slices.Clone(b.rows)}
	}
	return b.last
}

// Put lays an object on the map, or moves the one with that name. The cells that its outline, a
// polygon in the map's frame, touches or has within it are obstacles; an outline of one point or
// two is a dot or a line. Put returns the regions that were computed anew: those around where the
// object lay and where it lies, one if they are close. The error is Invalid for an outline that is
// none, and Exhausted beyond [MostObjects]; then nothing has changed.
func (b *Builder) Put(id string, polygon []Point) ([]Region, error) {
	outline, err := b.grid.outline(id, polygon)
	if err != nil {
		return nil, err
	}
	old, moved := b.objects[id]
	if !moved && len(b.objects) == MostObjects {
		return nil, engram.Errorf(engram.Exhausted, id, "there are %d objects on the map already, which is the most; remove some", MostObjects)
	}
	if slices.Equal(old, outline) {
		return nil, nil
	}
	var touched []Region
	if moved {
		touched = append(touched, b.lay(old, -1))
	}
	b.objects[id] = outline
	return b.recompute(append(touched, b.lay(outline, 1))), nil
}

// Remove takes an object away, and returns the regions that were computed anew; none if there is
// no object of that name.
func (b *Builder) Remove(id string) []Region {
	old, ok := b.objects[id]
	if !ok {
		return nil
	}
	delete(b.objects, id)
	return b.recompute([]Region{b.lay(old, -1)})
}

// Update takes another grid of the same place, of which some cells have changed. It returns the
// region that was computed anew; none if the cells are the same. The error is Invalid for a grid of
// another size, place or resolution, for which a new builder is needed; then nothing has changed.
func (b *Builder) Update(g *Grid) ([]Region, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	if !g.alike(b.grid) {
		return nil, engram.Errorf(engram.Invalid, "grid", "it has %d x %d cells of %g m from %v; those before are %d x %d of %g m from %v: build a new cost map",
			g.Width, g.Height, g.Resolution, g.Origin, b.grid.Width, b.grid.Height, b.grid.Resolution, b.grid.Origin)
	}
	changed := g.difference(b.grid)
	if changed.Empty() {
		return nil, nil
	}
	b.grid = g
	return b.recompute([]Region{changed}), nil
}

// Objects returns how many objects lie on the map.
func (b *Builder) Objects() int { return len(b.objects) }

// lay counts an object in or out of the cells that it covers, and returns their region.
func (b *Builder) lay(outline []Position, by int) Region {
	m := b.grid.cover(outline)
	if m.Empty() {
		return m.Region
	}
	for y := m.Y0; y < m.Y1; y++ {
		if b.covered[y] == nil {
			b.covered[y] = make([]uint16, b.grid.Width)
		}
		row := b.covered[y][m.X0:m.X1]
		for x, covered := range m.row(y) {
			if covered {
				row[x] = uint16(int(row[x]) + by)
			}
		}
	}
	return m.Region
}

// recompute computes the distances around what changed, and returns where.
func (b *Builder) recompute(changed []Region) []Region {
	var around []Region
	for _, r := range changed {
		if r.Empty() {
			continue
		}
		r = r.Grow(b.rules.reach, b.grid.Whole())
		if n := len(around); n > 0 && around[n-1].Overlaps(r) {
			around[n-1] = around[n-1].Union(r)
			continue
		}
		around = append(around, r)
	}
	for _, r := range around {
		b.last = nil
		b.far.compute(r, b.grid.Whole(), b.writable(r))
	}
	return around
}

// obstacles tells which cells of a row are obstacles, from column x0.
func (b *Builder) obstacles(y, x0 int, dst []bool) {
	for i, occupancy := range b.grid.Cells[y*b.grid.Width+x0:][:len(dst)] {
		dst[i] = b.rules.blocked[uint8(occupancy)]
	}
	if b.covered[y] == nil {
		return
	}
	for i, objects := range b.covered[y][x0:][:len(dst)] {
		dst[i] = dst[i] || objects > 0
	}
}

// writable returns a function that returns a region's part of a row, which no cost map shares.
func (b *Builder) writable(r Region) func(y int) []int32 {
	return func(y int) []int32 {
		if i := y + 1; b.shared[i] {
			b.rows[i], b.shared[i] = slices.Clone(b.rows[i]), false
		}
		return b.rows[y+1][r.X0+1 : r.X1+1]
	}
}
