package world

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Cover is a component that reaches something.
type Cover struct {
	*ComponentStatement
	Share    float64 // of what was asked for, from 0 to 1
	Distance float64 // from the sensor to the nearest of it that it reaches, metres
}

// Uncovered is a component with a field of view of which nobody can say what it reaches.
type Uncovered struct {
	*ComponentStatement
	Why string
}

// placeHeight is how high a place without a box is, from its floor; metres.
const placeHeight = 2.0

// columns is how often an edge of a place is divided, and of a thing.
const placeColumns, thingColumns = 10, 3

// flat is the vertical angle of a scanner that has none, rad: rounding.
const flat = 1e-6

// column is a vertical line in what is asked for.
type column struct{ from, to pose.Vec3 }

// CoverItem returns the components whose field of view reaches an item, those that run
// first, then the nearest; and those of which it is not known, by name. Of an item with a
// box or shape a part is enough, of a place, too: it is as high as its box, or 2 m above its
// outline. A box in between hides what is behind it, unless it is the item's own or that of
// a place.
func (c Components) CoverItem(name string) ([]Cover, []Uncovered, error) {
	n := c.f.item(name)
	if n == nil {
		return nil, nil, notFound(name)
	}
	columns := n.columns()
	for i, line := range columns {
		columns[i] = column{n.rootFromItem.Apply(line.from), n.rootFromItem.Apply(line.to)}
	}
	covers, unknown := c.cover(n.root, columns, n)
	return covers, unknown, nil
}

// CoverPoint is [Components.CoverItem] for a point in an item's frame.
func (c Components) CoverPoint(frame string, p pose.Vec3) ([]Cover, []Uncovered, error) {
	n := c.f.item(frame)
	if n == nil {
		return nil, nil, notFound(frame)
	}
	if sum := p.X + p.Y + p.Z; sum-sum != 0 {
		return nil, nil, engram.Errorf(engram.Invalid, frame, "the point %s in it has a number that is not finite", numbersText(p))
	}
	at := n.rootFromItem.Apply(p)
	covers, unknown := c.cover(n.root, []column{{at, at}}, nil)
	return covers, unknown, nil
}

// columns returns what stands for the item, in its frame.
func (n *node) columns() []column {
	d := n.merged.Description
	if d == nil {
		return []column{{}}
	}
	parts := thingColumns
	if n.merged.Is(KindMap) {
		parts = placeColumns
	}
	if s := d.Shape; s != nil && s.Kind == ShapePolygon && len(s.Outline) > 2 {
		if inside := s.columns(parts); len(inside) > 0 {
			return inside
		}
	}
	box := d.Box
	if s := d.Shape; box == nil && s != nil && s.Kind <= ShapeSphere {
		box = &Box{s.frame(), s.Size}
	}
	if box == nil {
		return []column{{}}
	}
	var all []column
	for i := range parts {
		for k := range parts {
			x := ((float64(i)+0.5)/float64(parts) - 0.5) * box.Size.X
			y := ((float64(k)+0.5)/float64(parts) - 0.5) * box.Size.Y
			all = append(all, column{
				box.Pose.Apply(pose.Vec3{X: x, Y: y, Z: -box.Size.Z / 2}), box.Pose.Apply(pose.Vec3{X: x, Y: y, Z: box.Size.Z / 2}),
			})
		}
	}
	return all
}

// frame returns the pose of the shape's own frame.
func (s *Shape) frame() pose.Pose {
	if s.Pose == nil {
		return pose.Identity()
	}
	return *s.Pose
}

// columns returns those that stand on the inside of a polygon.
func (s *Shape) columns(parts int) []column {
	low, high := s.Outline[0], s.Outline[0]
	for _, c := range s.Outline {
		low = pose.Vec3{X: min(low.X, c.X), Y: min(low.Y, c.Y), Z: min(low.Z, c.Z)}
		high = pose.Vec3{X: max(high.X, c.X), Y: max(high.Y, c.Y), Z: max(high.Z, c.Z)}
	}
	in := s.frame()
	var all []column
	for i := range parts {
		for k := range parts {
			x := low.X + (float64(i)+0.5)/float64(parts)*(high.X-low.X)
			y := low.Y + (float64(k)+0.5)/float64(parts)*(high.Y-low.Y)
			if encloses(s.Outline, x, y) {
				all = append(all, column{in.Apply(pose.Vec3{X: x, Y: y, Z: low.Z}), in.Apply(pose.Vec3{X: x, Y: y, Z: low.Z + placeHeight})})
			}
		}
	}
	return all
}

// encloses reports whether a polygon has a point inside, seen from above: a ray from it
// crosses an odd number of edges.
func encloses(outline []pose.Vec3, x, y float64) bool {
	inside := false
	for i, a := range outline {
		b := outline[(i+1)%len(outline)]
		if (a.Y > y) != (b.Y > y) && x < a.X+(y-a.Y)/(b.Y-a.Y)*(b.X-a.X) {
			inside = !inside
		}
	}
	return inside
}

// cover returns which components reach columns in a root's frame; of is the item that they
// stand for, or nil.
func (all Components) cover(root int32, columns []column, of *node) (covers []Cover, unknown []Uncovered) {
	f := all.f
	var boxes []solid
	boxed := false
	for c := range all.All() {
		if c.Component.View == nil {
			continue
		}
		sensor := f.item(c.frame())
		switch {
		case sensor == nil:
			unknown = append(unknown, Uncovered{c, "its frame " + c.frame() + " is no item, so nobody knows where it is"})
			continue
		case sensor.root != root:
			unknown = append(unknown, Uncovered{c, "it is not aligned: its pose goes back to " + f.node(sensor.root).name + ", that of what is asked to " + f.node(root).name})
			continue
		}
		if !boxed {
			boxes, boxed = f.solids(root, of), true
		}
		if cover, ok := reach(c, f.item(c.Name), sensor, columns, boxes); ok {
			covers = append(covers, cover)
		}
	}
	slices.SortFunc(covers, func(a, b Cover) int {
		if a.Component.Running != b.Component.Running {
			if a.Component.Running {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), strings.Compare(a.Name, b.Name))
	})
	return covers, unknown
}

// reach returns how much of the columns a component reaches, whose own item may be nil.
func reach(c *ComponentStatement, own, sensor *node, columns []column, boxes []solid) (Cover, bool) {
	sensorFromRoot := sensor.rootFromItem.Inverse()
	v := *c.Component.View
	v.Vertical = max(v.Vertical, flat)
	cover := Cover{ComponentStatement: c, Distance: math.Inf(1)}
	reached := 0
	for _, line := range columns {
		nearest := math.Inf(1)
		for _, at := range line.samples(sensorFromRoot) {
			p := sensorFromRoot.Apply(at)
			distance := p.Norm()
			if distance > v.MaxRange || distance < v.MinRange || !v.covers(p) {
				continue
			}
			if !slices.ContainsFunc(boxes, func(b solid) bool {
				return b.of != own && b.of != sensor && b.between(sensor.rootFromItem.T, at)
			}) {
				nearest = min(nearest, distance)
			}
		}
		if !math.IsInf(nearest, 1) {
			reached++
			cover.Distance = min(cover.Distance, nearest)
		}
	}
	cover.Share = float64(reached) / float64(len(columns))
	return cover, reached > 0
}

// samples returns points of a column: its ends, its middle, and where it crosses the
// sensor's middle plane, which is all that a flat scanner has.
func (c column) samples(sensorFromRoot pose.Pose) []pose.Vec3 {
	d := c.to.Sub(c.from)
	if d == (pose.Vec3{}) {
		return []pose.Vec3{c.from}
	}
	points := []pose.Vec3{c.from, c.from.Add(d.Scale(0.5)), c.to}
	from, to := sensorFromRoot.Apply(c.from).Y, sensorFromRoot.Apply(c.to).Y
	if (from > 0) != (to > 0) {
		points = append(points, c.from.Add(d.Scale(from/(from-to))))
	}
	return points
}
