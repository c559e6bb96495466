package grid

import (
	"math"

	"github.com/seed-301d4374/engram"
)

// Costs of cells, as nav2 has them. What lies between 0, far from all obstacles, and Inscribed
// falls exponentially with the distance.
const (
	Inscribed     = 253 // the robot's root link there means a collision
	Lethal        = 254 // an obstacle
	NoInformation = 255 // nothing is known
)

// Config is what a cost map is made for.
type Config struct {
	Footprint Footprint
	// Inflation is how far from an obstacle a cell costs something, metres; 0 is no farther than
	// the inscribed radius. Decay is how fast that falls, per metre: at d metres from an obstacle
	// the cost is 252·exp(-Decay·(d - inscribed radius)).
	Inflation, Decay float64
	// Unknown is what a metre through unknown space costs, in metres, from 1. With 0, the default,
	// unknown space is not entered and counts as an obstacle.
	Unknown float64
}

// Bounds of a [Config].
const (
	MostReach   = 500 // of footprint and inflation, in cells
	MostUnknown = 1000
)

// Check returns an error of the code Invalid for a configuration that says nothing sensible.
func (c Config) Check() error {
	switch {
	case !(c.Inflation >= 0) || !finite(c.Inflation):
		return engram.Errorf(engram.Invalid, "inflation", "it is %g m; it is 0 or more and finite", c.Inflation)
	case !(c.Decay >= 0) || !finite(c.Decay):
		return engram.Errorf(engram.Invalid, "decay", "it is %g per metre; it is 0 or more and finite", c.Decay)
	case c.Unknown != 0 && !(c.Unknown >= 1 && c.Unknown <= MostUnknown):
		return engram.Errorf(engram.Invalid, "unknown", "a metre of unknown space costs %g m; it is 0, for not entered, or from 1 to %d", c.Unknown, MostUnknown)
	}
	return c.Footprint.Check()
}

// rules are what follows from a configuration and a resolution.
type rules struct {
	config  Config
	reach   int
	needed  int32   // the squared distance from obstacles from which on a cell can be entered
	costs   []uint8 // by squared distance
	blocked [256]bool
}

// slack is by how much rounding may miss a radius that is a multiple of the resolution.
const slack = 1e-9

func newRules(g *Grid, c Config) (*rules, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	inscribed, circumscribed := c.Footprint.Radii()
	cells := max(circumscribed, c.Inflation) / g.Resolution
	if cells > MostReach {
		return nil, engram.Errorf(engram.OutOfRange, "costmap", "footprint and inflation reach %.4g m, %.0f cells of %g m; at most %d cells are computed: use a map with larger cells",
			max(circumscribed, c.Inflation), cells, g.Resolution, MostReach)
	}
	radius := circumscribed / g.Resolution
	r := &rules{config: c, reach: max(int(math.Ceil(cells-slack)), 1), needed: max(int32(math.Ceil(radius*radius-slack)), 1)}
	r.costs = make([]uint8, r.reach*r.reach+2)
	for d := range r.costs {
		r.costs[d] = r.cost(math.Sqrt(float64(d))*g.Resolution, inscribed)
	}
	for v := range r.blocked {
		occupancy := int8(v)
		r.blocked[v] = occupancy > g.MostFree || occupancy < 0 && c.Unknown == 0
	}
	return r, nil
}

// cost returns the cost at so many metres from an obstacle.
func (r *rules) cost(distance, inscribed float64) uint8 {
	switch {
	case distance == 0:
		return Lethal
	case distance < inscribed-slack:
		return Inscribed
	case distance > r.config.Inflation+slack:
		return 0
	}
	return uint8((Inscribed - 1) * math.Exp(-r.config.Decay*(distance-inscribed)))
}

// Costmap is a map of where a robot may be. It never changes, and any goroutine may read it.
//
// A cell can be entered if it is free and no centre of an obstacle's cell is nearer to its own
// centre than the circumscribed radius of the footprint, so that the robot may turn anywhere on its
// way. What lies outside of the map is no obstacle, and cannot be entered. Distances are those
// between centres: who needs more than that adds a cell's edge to the radius.
type Costmap struct {
	rules *rules
	grid  *Grid
	rows  [][]int32 // squared distances; one row more at each end
}

// Grid returns the map below it.
func (m *Costmap) Grid() *Grid { return m.grid }

// Config returns what it was made for.
func (m *Costmap) Config() Config { return m.rules.config }

// Row returns the squared distances to the nearest obstacle of the cells of a row, in cells. The
// first and the last are 0 and stand for what is left and right of the map: that of column x is at
// x+1. There is a row of zeros below and one above the map, -1 and Height. Distances beyond what
// matters are all the same. It must not be changed.
func (m *Costmap) Row(y int) []int32 { return m.rows[y+1] }

// Needed returns the squared distance from which on a cell can be entered.
func (m *Costmap) Needed() int32 { return m.rules.needed }

// CanEnter tells whether the robot's root link may be in a cell.
func (m *Costmap) CanEnter(c Cell) bool {
	return m.grid.Has(c) && m.rows[c.Y+1][c.X+1] >= m.rules.needed
}

// Unknown tells whether a cell of the map is unknown and can be entered all the same.
func (m *Costmap) Unknown(c Cell) bool {
	return m.rules.config.Unknown > 0 && m.grid.At(c) < 0
}

// Clearance returns how far a cell of the map is from the nearest obstacle, metres. It is 0 in an
// obstacle; far is true if there is none as near as matters, and the distance is at least that.
func (m *Costmap) Clearance(c Cell) (metres float64, far bool) {
	d := int(m.rows[c.Y+1][c.X+1])
	return math.Sqrt(float64(d)) * m.grid.Resolution, d > m.rules.reach*m.rules.reach
}

// Cost returns the cost of a cell of the map. An object in unknown space that is not entered
// does not show: neither can be entered.
func (m *Costmap) Cost(c Cell) uint8 {
	d := m.rows[c.Y+1][c.X+1]
	if m.grid.At(c) < 0 && (d > 0 || m.rules.config.Unknown == 0) {
		return NoInformation
	}
	return m.rules.costs[d]
}

// Costs returns the costs of distances: at i that of the squared distance i in cells, up to the one
// that stands for all beyond. It must not be changed.
func (m *Costmap) Costs() []uint8 { return m.rules.costs }

// AppendCosts appends the costs of the cells of a region, row by row from its lower left.
func (m *Costmap) AppendCosts(dst []uint8, r Region) []uint8 {
	r = r.Grow(0, m.grid.Whole())
	for y := r.Y0; y < r.Y1; y++ {
		for x := r.X0; x < r.X1; x++ {
			dst = append(dst, m.Cost(Cell{x, y}))
		}
	}
	return dst
}

// Nearest returns the cell that can be entered whose centre is nearest to a point of the map, and how
// far away it is, metres. ok is false if there is none. For a point beside the map it is the one
// nearest to the border there.
func (m *Costmap) Nearest(p Point) (nearest Cell, metres float64, ok bool) {
	at := m.grid.PositionOf(p)
	at.U, at.V = min(max(at.U, 0), float64(m.grid.Width)), min(max(at.V, 0), float64(m.grid.Height))
	from := at.Cell()
	from.X, from.Y = min(from.X, m.grid.Width-1), min(from.Y, m.grid.Height-1)
	best := math.Inf(1) // in cells
	for ring := 0; ring <= max(m.grid.Width, m.grid.Height) && float64(ring-1) <= best; ring++ {
		m.ring(from, ring, func(c Cell) {
			if d := c.Centre().Distance(at); d < best && m.CanEnter(c) {
				nearest, best, ok = c, d, true
			}
		})
	}
	return nearest, m.grid.CentreOf(nearest).Distance(p), ok
}

// ring visits the cells of the map that are so many columns or rows away from another one.
func (m *Costmap) ring(c Cell, away int, visit func(Cell)) {
	whole := m.grid.Whole()
	for y := max(c.Y-away, 0); y <= min(c.Y+away, whole.Y1-1); y++ {
		step := 1
		if y != c.Y-away && y != c.Y+away {
			step = 2 * away
		}
		for x := c.X - away; x <= c.X+away; x += max(step, 1) {
			if x >= 0 && x < whole.X1 {
				visit(Cell{x, y})
			}
		}
	}
}
