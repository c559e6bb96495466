package computed

import (
	"slices"

	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// FromForest returns the scene of a world. iri gives items their names. Bodies of one frame are
// those of one tree of frames; what poses share on the way to their common frame makes a
// relation between them no less certain. An item without a box has that of its shape; one of
// neither is a point.
func FromForest(f *world.Forest, rules Rules, iri func(item string) string) *Scene {
	s := &Scene{rules: rules, source: &forest{f: f, iri: iri}}
	e := s.edit()
	for m := range f.All() {
		e.put(bodyOf(f, m, iri))
	}
	return e.Scene
}

// Follow returns the scene of a later forest of the same world, at the cost of what differs. The
// scene must be of a forest.
func (s *Scene) Follow(f *world.Forest) *Scene {
	was := s.source.(*forest)
	e := s.edit()
	e.source = &forest{f: f, iri: was.iri}
	for name := range world.Changed(was.f, f) {
		if m, err := f.Get(name); err == nil {
			e.put(bodyOf(f, m, was.iri))
		} else {
			e.remove(was.iri(name))
		}
	}
	return e.Scene
}

func bodyOf(f *world.Forest, m *world.Merged, iri func(string) string) Body {
	root, rootFromItem, _ := world.Root(f, m.Name)
	b := Body{Name: iri(m.Name), Item: m.Name, Frame: root, Pose: rootFromItem, Place: m.Is(world.KindMap)}
	d := m.Description
	if d == nil {
		return b
	}
	switch {
	case d.Box != nil:
		b.Box = *d.Box
	case d.Shape != nil:
		b.Box = boxOf(d.Shape)
	}
	if s := d.Shape; b.Place && s != nil && s.Kind == world.ShapePolygon {
		b.Outline = s.Outline
		if s.Pose != nil {
			b.Outline = slices.Clone(s.Outline)
			for i, p := range s.Outline {
				b.Outline[i] = s.Pose.Apply(p)
			}
		}
		if d.Box == nil {
			b.Box.Size.Z = placeHeight
			b.Box.Pose.T.Z += placeHeight / 2
		}
	}
	if reach, ok := d.Properties["reach"].(float64); ok {
		b.Reach = reach
	}
	return b
}

// placeHeight is how high a place of which only the outline is known is, as package world has it; metres.
const placeHeight = 2.0

// boxOf returns the box around a shape; that of a mesh is not known.
func boxOf(s *world.Shape) world.Box {
	box := world.Box{Pose: pose.Identity()}
	if s.Pose != nil {
		box.Pose = *s.Pose
	}
	switch s.Kind {
	case world.ShapeBox, world.ShapeCylinder, world.ShapeSphere:
		box.Size = s.Size
	case world.ShapePolygon:
		if len(s.Outline) == 0 {
			break
		}
		in := bounds{s.Outline[0], s.Outline[0]}
		for _, p := range s.Outline {
			in.lo = pose.Vec3{X: min(in.lo.X, p.X), Y: min(in.lo.Y, p.Y), Z: min(in.lo.Z, p.Z)}
			in.hi = pose.Vec3{X: max(in.hi.X, p.X), Y: max(in.hi.Y, p.Y), Z: max(in.hi.Z, p.Z)}
		}
		box.Size = in.hi.Sub(in.lo)
		box.Pose.T = box.Pose.Apply(in.lo.Add(in.hi).Scale(0.5))
	}
	return box
}

// forest is the source of bodies that are items.
type forest struct {
	f   *world.Forest
	iri func(string) string
}

func (s *forest) between(a, b *Body) pose.Cov {
	// What both ways share is left out.
	wayA, wayB := s.way(a.Item), s.way(b.Item)
	for len(wayA) > 0 && len(wayB) > 0 && wayA[len(wayA)-1] == wayB[len(wayB)-1] {
		wayA, wayB = wayA[:len(wayA)-1], wayB[:len(wayB)-1]
	}
	fromA, covA := s.climb(wayA)
	fromB, covB := s.climb(wayB)
	return pose.BetweenCov(fromB, &covB, fromA, &covA)
}

// way returns the items from one up to the root of its tree, without that root.
func (s *forest) way(item string) (way []string) {
	for {
		e, ok := s.f.Edge(item)
		if !ok || e.Frame == "" {
			return way
		}
		way = append(way, item)
		item = e.Frame
	}
}

// climb returns where the first item of a way is in the frame of the last.
func (s *forest) climb(way []string) (pose.Pose, pose.Cov) {
	p, c := pose.Identity(), pose.ExactCov()
	for _, item := range way {
		e, _ := s.f.Edge(item)
		edge := known(e.Cov)
		c = pose.ComposeCov(&edge, p, &c)
		p = e.Pose.Mul(p)
	}
	return p, c
}

func (s *forest) within(a, place *Body) (stated, may bool) {
	above, err := s.f.PathToRoot(a.Item)
	if err != nil {
		return false, false
	}
	is := func(name string) func(*world.Merged) bool {
		return func(m *world.Merged) bool { return m.Name == name }
	}
	if slices.ContainsFunc(above[1:], is(place.Item)) {
		return true, true
	}
	// What belongs to a place is not in one that is not in it, such as behind a thin wall.
	own, err := s.f.NearestParent(a.Item, world.KindMap)
	if err != nil {
		return false, true
	}
	around, err := s.f.PathToRoot(place.Item)
	return false, err == nil && slices.ContainsFunc(around, is(own.Name)) && !slices.ContainsFunc(around, is(a.Item))
}

func (s *forest) places(of *Body) (names []string) {
	above, _ := s.f.PathToRoot(of.Item)
	for _, m := range above {
		if m.Name != of.Item {
			names = append(names, s.iri(m.Name))
		}
	}
	return names
}

func (s *forest) parts(of *Body) (names []string) {
	for m := range s.f.Subtree(of.Item) {
		names = append(names, s.iri(m.Name))
	}
	return names
}

func (s *forest) eye(b *Body) (pose.Pose, *world.View) {
	c, err := s.f.Components().Get(b.Item)
	if err != nil || c.Component.View == nil {
		return b.Pose, nil
	}
	if frame := c.Component.Frame; frame != "" {
		root, rootFromEye, ok := world.Root(s.f, frame)
		if !ok || root != b.Frame {
			return b.Pose, nil
		}
		return rootFromEye, c.Component.View
	}
	return b.Pose, c.Component.View
}
