package computed

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// A Scene is bodies at one time, indexed by where they are. It is immutable and safe for
// concurrent use.
type Scene struct {
	rules    Rules
	source   source
	observer string
	ids      map[string]int32 // of bodies; shared by scenes with the same names
	solids   []*solid         // by id; nil is none
	free     []int32          // ids of none
	grids    map[string][]*grid
}

// source tells what a scene does not hold of its bodies.
type source interface {
	// between returns the covariance of bFromA, in the axes of a.
	between(a, b *Body) pose.Cov
	// within reports whether a place is stated to have the body in it, and whether the body may
	// be in it where only its box says so.
	within(a, place *Body) (stated, may bool)
	// places returns the names of what is stated to have the body in it, parts those of what is
	// stated to be in the body.
	places(of *Body) []string
	parts(of *Body) []string
	// eye returns where a body looks from, in its frame, and what it reaches; nil is all around.
	eye(b *Body) (pose.Pose, *world.View)
}

// grid has the bodies of a frame that are of about one size, each in the cell of its centre.
type grid struct {
	edge  float64 // of a cell; no box in it is wider
	cells map[[3]int32][]int32
	size  int
}

// smallest is the binary logarithm of the smallest cells' edge in metres.
const smallest = -1

// NewScene returns a scene of bodies each of which is uncertain on its own.
func NewScene(rules Rules, bodies ...Body) *Scene {
	s := &Scene{rules: rules, source: alone{}}
	return s.With(bodies...)
}

// With returns a scene with more bodies, or with others in the place of those of the same names.
func (s *Scene) With(bodies ...Body) *Scene {
	e := s.edit()
	for i := range bodies {
		e.put(bodies[i])
	}
	return e.Scene
}

// Without returns a scene without the bodies of some names.
func (s *Scene) Without(names ...string) *Scene {
	e := s.edit()
	for _, name := range names {
		e.remove(name)
	}
	return e.Scene
}

// SeenBy returns the scene as an observer sees it, who says what is left and right of a body, in
// front of it and behind it; "" is the body itself.
func (s *Scene) SeenBy(observer string) *Scene {
	n := *s
	n.observer = observer
	return &n
}

// Len returns the number of bodies.
func (s *Scene) Len() int { return len(s.ids) }

// Body returns a body.
func (s *Scene) Body(name string) (Body, bool) {
	if b := s.get(name); b != nil {
		return *b.Body, true
	}
	return Body{}, false
}

// Bodies yields all, in no promised order.
func (s *Scene) Bodies() iter.Seq[Body] {
	return func(yield func(Body) bool) {
		for _, b := range s.solids {
			if b != nil && !yield(*b.Body) {
				return
			}
		}
	}
}

// Distance returns how far the boxes of two bodies are apart in metres; 0 if they meet. ok is
// false if there are none of the names, or not in one frame.
func (s *Scene) Distance(a, b string) (metres float64, ok bool) {
	x, y := s.get(a), s.get(b)
	if x == nil || y == nil || x.Frame != y.Frame {
		return 0, false
	}
	return distance(x, y), true
}

func (s *Scene) get(name string) *solid {
	if id, ok := s.ids[name]; ok {
		return s.solids[id]
	}
	return nil
}

// meeting returns the bodies of a frame whose boxes may meet the bounds, by name.
func (s *Scene) meeting(frame string, in bounds) []*solid {
	var found []*solid
	s.any(frame, in, func(b *solid) bool { found = append(found, b); return false })
	slices.SortFunc(found, byName)
	return found
}

// any reports whether is says so of one of the bodies of a frame whose boxes may meet the bounds.
func (s *Scene) any(frame string, in bounds, is func(*solid) bool) bool {
	one := func(ids []int32) bool {
		for _, id := range ids {
			if b := s.solids[id]; b.bounds().meets(in) && is(b) {
				return true
			}
		}
		return false
	}
	for _, g := range s.grids[frame] {
		wide := in.grown(g.edge / 2)
		first, last := g.cell(wide.lo), g.cell(wide.hi)
		n := 1.0
		for i := range 3 {
			n *= float64(last[i]) - float64(first[i]) + 1
		}
		if n >= float64(len(g.cells)) {
			for _, ids := range g.cells {
				if one(ids) {
					return true
				}
			}
			continue
		}
		for x := first[0]; x <= last[0]; x++ {
			for y := first[1]; y <= last[1]; y++ {
				for z := first[2]; z <= last[2]; z++ {
					if one(g.cells[[3]int32{x, y, z}]) {
						return true
					}
				}
			}
		}
	}
	return false
}

func byName(a, b *solid) int { return strings.Compare(a.Name, b.Name) }

func (g *grid) cell(p pose.Vec3) [3]int32 {
	at := func(x float64) int32 {
		return int32(max(math.MinInt32+1, min(math.MaxInt32-1, math.Floor(x/g.edge))))
	}
	return [3]int32{at(p.X), at(p.Y), at(p.Z)}
}

// edit is a scene while it is made from another one, and what of it is its own.
type edit struct {
	*Scene
	named bool
	grid  map[*grid]bool
}

func (s *Scene) edit() *edit {
	n := *s
	n.solids, n.grids = slices.Clone(s.solids), maps.Clone(s.grids)
	if n.grids == nil {
		n.grids = map[string][]*grid{}
	}
	return &edit{Scene: &n, grid: map[*grid]bool{}}
}

func (e *edit) put(b Body) {
	s := newSolid(&b)
	id, ok := e.ids[b.Name]
	switch last := len(e.free) - 1; {
	case ok:
		e.lift(id)
	case last >= 0:
		id, e.free = e.free[last], e.free[:last]
		e.name()[b.Name] = id
	default:
		id = int32(len(e.solids))
		e.solids = append(e.solids, nil)
		e.name()[b.Name] = id
	}
	e.solids[id] = &s
	g := e.own(&s)
	at := g.cell(s.centre)
	g.cells[at] = append(slices.Clone(g.cells[at]), id)
	g.size++
}

func (e *edit) remove(name string) {
	if id, ok := e.ids[name]; ok {
		delete(e.name(), name)
		e.lift(id)
		e.solids[id] = nil
		e.free = append(e.free, id)
	}
}

// name returns the ids to change them.
func (e *edit) name() map[string]int32 {
	if !e.named {
		if e.ids, e.free, e.named = maps.Clone(e.ids), slices.Clone(e.free), true; e.ids == nil {
			e.ids = map[string]int32{}
		}
	}
	return e.ids
}

// lift takes a body out of its grid.
func (e *edit) lift(id int32) {
	s := e.solids[id]
	g := e.own(s)
	at := g.cell(s.centre)
	if left := slices.DeleteFunc(slices.Clone(g.cells[at]), func(i int32) bool { return i == id }); len(left) > 0 {
		g.cells[at] = left
	} else {
		delete(g.cells, at)
	}
	if g.size--; g.size == 0 {
		left := slices.DeleteFunc(slices.Clone(e.grids[s.Frame]), func(o *grid) bool { return o == g })
		if e.grids[s.Frame] = left; len(left) == 0 {
			delete(e.grids, s.Frame)
		}
	}
}

// own returns the grid that a body belongs to, which this edit may change.
func (e *edit) own(s *solid) *grid {
	b := s.bounds()
	wide := b.hi.Sub(b.lo)
	_, exponent := math.Frexp(max(wide.X, wide.Y, wide.Z))
	edge := math.Ldexp(1, max(exponent, smallest))
	grids := e.grids[s.Frame]
	i, found := slices.BinarySearchFunc(grids, edge, func(g *grid, edge float64) int { return cmp.Compare(g.edge, edge) })
	switch {
	case !found:
		g := &grid{edge: edge, cells: map[[3]int32][]int32{}}
		e.grids[s.Frame] = slices.Insert(slices.Clone(grids), i, g)
		e.grid[g] = true
	case !e.grid[grids[i]]:
		g := &grid{edge: edge, cells: maps.Clone(grids[i].cells), size: grids[i].size}
		e.grids[s.Frame] = slices.Clone(grids)
		e.grids[s.Frame][i] = g
		e.grid[g] = true
	}
	return e.grids[s.Frame][i]
}

// alone is the source of bodies that are given one by one.
type alone struct{}

func (alone) between(a, b *Body) pose.Cov {
	ca, cb := known(a.Cov), known(b.Cov)
	return pose.BetweenCov(b.Pose, &cb, a.Pose, &ca)
}

func (alone) within(_, _ *Body) (bool, bool)       { return false, true }
func (alone) places(*Body) []string                { return nil }
func (alone) parts(*Body) []string                 { return nil }
func (alone) eye(b *Body) (pose.Pose, *world.View) { return b.Pose, nil }

// known returns a covariance in which what is unknown is exact.
func known(c pose.Cov) pose.Cov {
	c.Mask = pose.AllDims
	return c
}
