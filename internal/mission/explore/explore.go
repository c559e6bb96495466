// Package explore decides where a scout looks next for what may be anywhere in a known
// map: viewpoints that show much that nobody has seen, near the scout and not nearer to
// another one. Each scout decides for itself, from what it knows of the looks and places of
// the others; so one that is alone, or cut off, goes on by itself, and takes the looks of the
// others over as it hears of them. Pure; not for concurrent use.
package explore

import (
	"math"
	"math/bits"

	"github.com/seed-301d4374/engram/internal/mission/hallway"
)

const (
	cellSize  = 0.25 // metres
	spacing   = 3    // of viewpoints, cells
	clearance = hallway.Radius + 0.1
	headings  = 12
	speed     = 1.0 // m/s, by which distances become times
)

// Search is what one scout knows of the search.
type Search struct {
	grid          *hallway.Grid
	width, height int
	open          []bool // cells that a robot can stand in
	wanted        []bool // cells that must be seen
	seen          []bool
	total, left   int
	views         []viewpoint
	reach         float64
	angle         float64
	rounds        int
}

// viewpoint is a place from where cells can be seen, with the bearing of each.
type viewpoint struct {
	cell  int
	sees  []int32
	from  []uint16 // of each: the headings under which it is seen, a bit each
	stale int      // how often the way there was blocked
}

// New returns the search of a map for what a camera sees within an angle (rad) and a
// distance (m), in what can be reached from a place.
func New(g *hallway.Grid, from hallway.Point, angle, reach float64) *Search {
	s := &Search{
		grid: g, angle: 0.95 * angle, reach: reach,
		width:  int(float64(g.Width) * g.Resolution / cellSize),
		height: int(float64(g.Height) * g.Resolution / cellSize),
	}
	n := s.width * s.height
	s.open, s.wanted, s.seen = make([]bool, n), make([]bool, n), make([]bool, n)
	for i := range n {
		s.open[i] = g.Clear(s.middle(i)) >= clearance
	}
	dist := s.distances(from)
	for i := range n {
		if math.IsInf(dist[i], 1) {
			continue
		}
		s.wanted[i] = true
		s.total++
	}
	s.left = s.total
	for y := 0; y < s.height; y += spacing {
		for x := 0; x < s.width; x += spacing {
			if i := y*s.width + x; s.wanted[i] {
				s.views = append(s.views, s.view(i))
			}
		}
	}
	return s
}

func (s *Search) middle(i int) hallway.Point {
	return hallway.Point{
		X: s.grid.Origin.X + (float64(i%s.width)+0.5)*cellSize,
		Y: s.grid.Origin.Y + (float64(i/s.width)+0.5)*cellSize,
	}
}

func (s *Search) cell(p hallway.Point) (int, bool) {
	x, y := int(math.Floor((p.X-s.grid.Origin.X)/cellSize)), int(math.Floor((p.Y-s.grid.Origin.Y)/cellSize))
	return y*s.width + x, x >= 0 && y >= 0 && x < s.width && y < s.height
}

// around calls f for each wanted cell within reach that can be seen from a place.
func (s *Search) around(from hallway.Point, f func(i int, bearing float64)) {
	r := int(s.reach/cellSize) + 1
	c, _ := s.cell(from)
	cx, cy := c%s.width, c/s.width
	for y := max(0, cy-r); y <= min(s.height-1, cy+r); y++ {
		for x := max(0, cx-r); x <= min(s.width-1, cx+r); x++ {
			i := y*s.width + x
			if !s.wanted[i] {
				continue
			}
			p := s.middle(i)
			if from.Dist(p) > s.reach-0.1 || !s.grid.Sees(from, p) {
				continue
			}
			f(i, math.Atan2(p.Y-from.Y, p.X-from.X))
		}
	}
}

func (s *Search) view(i int) viewpoint {
	v := viewpoint{cell: i}
	s.around(s.middle(i), func(j int, bearing float64) {
		var from uint16
		for h := range headings {
			if math.Abs(hallway.Wrap(bearing-heading(h))) <= s.angle/2 {
				from |= 1 << h
			}
		}
		v.sees, v.from = append(v.sees, int32(j)), append(v.from, from)
	})
	return v
}

// Look notes what was seen from a place of a camera.
func (s *Search) Look(from hallway.Pose) {
	s.around(from.Point, func(i int, bearing float64) {
		if !s.seen[i] && (math.Abs(hallway.Wrap(bearing-from.Yaw)) <= s.angle/2 || from.Dist(s.middle(i)) < 0.3) {
			s.seen[i] = true
			s.left--
		}
	})
}

// Left returns the part of the floor that nobody has seen, from 1 to 0.
func (s *Search) Left() float64 { return float64(s.left) / float64(max(1, s.total)) }

// Again begins anew: what is sought was overlooked.
func (s *Search) Again() {
	clear(s.seen)
	s.left = s.total
	s.rounds++
}

// Blocked says that the way to a target was blocked, so that others are tried first.
func (s *Search) Blocked(target Target) {
	for i := range s.views {
		if s.middle(s.views[i].cell).Dist(target.Point) < spacing*cellSize {
			s.views[i].stale++
		}
	}
}

// Gain returns how many square metres that nobody has seen a pose shows.
func (s *Search) Gain(at hallway.Pose) float64 {
	n := 0
	s.around(at.Point, func(i int, bearing float64) {
		if !s.seen[i] && math.Abs(hallway.Wrap(bearing-at.Yaw)) <= s.angle/2 {
			n++
		}
	})
	return float64(n) * cellSize * cellSize
}

// Around returns how many square metres that nobody has seen a turn around a place shows.
func (s *Search) Around(at hallway.Point) float64 {
	n := 0
	s.around(at, func(i int, _ float64) {
		if !s.seen[i] {
			n++
		}
	})
	return float64(n) * cellSize * cellSize
}

// Target is where to look from.
type Target struct {
	hallway.Pose
	Around bool    // turn once around there
	Gain   float64 // square metres that nobody has seen
}

// Next returns where to look from next; ok is false if everything was seen. others are the
// scouts that search, too, and goals where they go to.
func (s *Search) Next(me hallway.Pose, others []hallway.Point, goals []hallway.Point) (target Target, ok bool) {
	mine := s.distances(me.Point)
	theirs := make([][]float64, len(others))
	for i, o := range others {
		theirs[i] = s.distances(o)
	}
	best := 0.0
	for i := range s.views {
		v := &s.views[i]
		d := mine[v.cell]
		if math.IsInf(d, 1) {
			continue
		}
		var sectors [headings]int
		unseen := 0
		for k, j := range v.sees {
			if s.seen[j] {
				continue
			}
			unseen++
			for m := v.from[k]; m != 0; m &= m - 1 {
				sectors[bits.TrailingZeros16(m)]++
			}
		}
		if unseen == 0 {
			continue
		}
		share := 1.0 // of the gain that is this scout's
		for _, t := range theirs {
			if t[v.cell] < d {
				share *= max(0.1, t[v.cell]/(d+0.1))
			}
		}
		for _, g := range goals {
			if g.Dist(s.middle(v.cell)) < s.reach {
				share *= 0.3
			}
		}
		consider := func(t Target, n int, took float64) {
			value := share * float64(n) / (1 + d/speed + took) / float64(1+4*v.stale)
			if value > best {
				t.Gain = float64(n) * cellSize * cellSize
				best, target, ok = value, t, true
			}
		}
		p := s.middle(v.cell)
		for h, n := range sectors {
			if n > 0 {
				yaw := heading(h)
				turn := math.Abs(hallway.Wrap(yaw-me.Yaw)) / hallway.MaxTurn
				if d > 0.5 {
					turn = 0.5
				}
				consider(Target{Pose: hallway.Pose{Point: p, Yaw: yaw}}, n, turn)
			}
		}
		consider(Target{Pose: hallway.Pose{Point: p, Yaw: me.Yaw}, Around: true}, unseen, AroundTime)
	}
	return target, ok
}

// AroundTime is how long it takes to turn once around, seconds.
const AroundTime = 2*math.Pi/hallway.MaxTurn + 0.4

func heading(h int) float64 { return hallway.Wrap(2 * math.Pi * float64(h) / headings) }

// distances returns how far each cell is from a place along the floor, metres.
func (s *Search) distances(from hallway.Point) []float64 {
	dist := make([]float64, len(s.open))
	for i := range dist {
		dist[i] = math.Inf(1)
	}
	start, ok := s.cell(from)
	if !ok {
		return dist
	}
	// Dial's buckets: distances in steps of a fifth of a cell are near enough.
	const straight, diagonal = 5, 7
	var buckets [diagonal + 1][]int
	buckets[0] = append(buckets[0], start)
	dist[start] = 0
	for at, empty := 0, 0; empty <= diagonal; at++ {
		b := at % len(buckets)
		if empty++; len(buckets[b]) > 0 {
			empty = 0
		}
		list := buckets[b]
		buckets[b] = nil
		for _, i := range list {
			if dist[i] < float64(at) {
				continue
			}
			x, y := i%s.width, i/s.width
			for dy := -1; dy <= 1; dy++ {
				for dx := -1; dx <= 1; dx++ {
					nx, ny := x+dx, y+dy
					if nx < 0 || ny < 0 || nx >= s.width || ny >= s.height {
						continue
					}
					j := ny*s.width + nx
					// Out of a cell that is too near to a wall one may go.
					if !s.open[j] || dx != 0 && dy != 0 && s.open[i] && (!s.open[y*s.width+nx] || !s.open[ny*s.width+x]) {
						continue
					}
					step := straight
					if dx != 0 && dy != 0 {
						step = diagonal
					}
					if d := float64(at + step); d < dist[j] {
						dist[j] = d
						c := (at + step) % len(buckets)
						buckets[c] = append(buckets[c], j)
					}
				}
			}
		}
	}
	for i := range dist {
		dist[i] *= cellSize / straight
	}
	return dist
}
