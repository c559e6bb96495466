package world

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/mind/pose"
)

// cellSize is the edge of the cells that items are filed in, metres.
const cellSize = 2.0

// cell is a node in the index of space: per tree of frames a grid, x before y before z.
type cell struct {
	root, x, y, z int32
	id            int32
}

func byCell(a, b cell) int {
	switch {
	case a.root != b.root:
		return cmp.Compare(a.root, b.root)
	case a.x != b.x:
		return cmp.Compare(a.x, b.x)
	case a.y != b.y:
		return cmp.Compare(a.y, b.y)
	case a.z != b.z:
		return cmp.Compare(a.z, b.z)
	}
	return cmp.Compare(a.id, b.id)
}

// grid returns the cell of a coordinate. There is one more after the last.
func grid(x float64) int32 {
	return int32(min(max(math.Floor(x/cellSize), math.MinInt32), math.MaxInt32-1))
}

// statedFrame returns the item or bare frame in which a node's pose is, or none. A robot's frame
// that is an item is in that item, where it is.
func (f *graph) statedFrame(n *node) int32 {
	switch {
	case n.merged == nil:
		if f.exists(n.frame) && n.bare() {
			return n.frame
		}
		return none
	case n.merged.Placement == nil:
		return none
	case n.frame != none:
		return n.frame
	case n.merged.Placement.Frame == "" && n.merged.parent() != "" && !n.cut[parents]:
		return n.up
	}
	return none
}

// frameOf returns the item in whose frame the forest has the node, or none: then it is the
// root of a tree of frames.
func (f *graph) frameOf(n *node) int32 {
	if id := f.statedFrame(n); !n.cut[frames] && f.joins(id) {
		return id
	}
	return none
}

// place finds anew where the nodes are that moved, and all in their frames.
func (b *Builder) place() {
	apart := map[int32]bool{} // nodes that lie in the frame of none that moved
	for id := range b.moved {
		if len(b.moved) == 1 || !b.below(id, apart) {
			b.placeAll(id)
		}
	}
	b.moved = emptied(b.moved)
}

// below reports whether a node lies in the frame of another one that moved, with which it is
// placed. It adds to those that do not.
func (b *Builder) below(id int32, apart map[int32]bool) bool {
	var way []int32
	for n := b.f.node(b.f.frameOf(b.f.node(id))); n != nil && !apart[n.id]; n = b.f.node(b.f.frameOf(n)) {
		if b.moved[n.id] {
			return true
		}
		way = append(way, n.id)
	}
	for _, id := range way {
		apart[id] = true
	}
	return false
}

// placeAll places a node and all in its frame, each after the one that it is placed in.
func (b *Builder) placeAll(id int32) {
	queue := []int32{id}
	for len(queue) > 0 {
		n := b.own(queue[len(queue)-1])
		queue = queue[:len(queue)-1]
		b.placeOne(n)
		push := func(c *node) {
			// What a robot's frame joins may depend on whether somebody removed the item.
			if !b.f.joins(n.id) || b.f.frameOf(c) == n.id || c.merged == nil && c.bare() {
				queue = append(queue, c.id)
			}
		}
		n.children.all(func(k *named) bool {
			if c := b.f.node(k.id); c.frame == none { // else it is among those of another node, or framed
				push(c)
			}
			return true
		})
		n.framed.all(func(k *named) bool { push(b.f.node(k.id)); return true })
	}
}

func (b *Builder) placeOne(n *node) {
	was := n.cell()
	n.root, n.rootFromItem = n.id, pose.Identity()
	if in := b.f.node(b.f.frameOf(n)); in != nil {
		n.root, n.rootFromItem = in.root, in.rootFromItem
		if n.merged != nil { // else it is a robot's frame that is an item
			p, _ := b.f.edge(n)
			n.rootFromItem = in.rootFromItem.Mul(p)
		}
	}
	is := n.cell()
	if n.inSpace && (n.merged == nil || is != was) {
		b.f.space.remove(was, byCell, b.edit)
	}
	if n.merged != nil && !(n.inSpace && is == was) {
		b.f.space.add(is, byCell, b.edit)
	}
	n.inSpace = n.merged != nil
}

// cell returns where a node stands in the index of space, or would.
func (n *node) cell() cell {
	at := n.rootFromItem.T
	return cell{n.root, grid(at.X), grid(at.Y), grid(at.Z), n.id}
}

// Neighbour is an item with its distance from what was asked for, in metres.
type Neighbour struct {
	*Merged
	Distance float64
}

// Near returns the items whose origins lie within radius metres of a point in an item's or
// a bare frame, the nearest first, with the item itself if it does.
func (f *Forest) Near(frame string, point pose.Vec3, radius float64) ([]Neighbour, error) {
	n := f.frame(frame)
	if n == nil {
		return nil, f.noFrame(frame)
	}
	var found []Neighbour
	f.inBall(n.root, n.rootFromItem.Apply(point), radius, func(m *node, distance float64) {
		found = append(found, Neighbour{m.merged, distance})
	})
	slices.SortFunc(found, func(a, b Neighbour) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), strings.Compare(a.Name, b.Name))
	})
	return found, nil
}

// Region is a box in an item's or a bare frame.
type Region struct {
	Frame string
	Box
}

// Within returns the items whose origins lie in the region, by name.
func (f *Forest) Within(r Region) ([]*Merged, error) {
	n := f.frame(r.Frame)
	if n == nil {
		return nil, f.noFrame(r.Frame)
	}
	rootFromBox := n.rootFromItem.Mul(r.Pose)
	boxFromRoot := rootFromBox.Inverse()
	var found []*Merged
	f.inBall(n.root, rootFromBox.T, r.Size.Norm()/2, func(m *node, _ float64) {
		if inside(boxFromRoot.Apply(m.rootFromItem.T), r.Size) {
			found = append(found, m.merged)
		}
	})
	slices.SortFunc(found, func(a, b *Merged) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// inside reports whether a point lies in a box of full edge lengths about the origin.
func inside(p, size pose.Vec3) bool {
	return math.Abs(p.X) <= size.X/2 && math.Abs(p.Y) <= size.Y/2 && math.Abs(p.Z) <= size.Z/2
}

// inBall calls each with the nodes of a tree within radius of a point in the root's frame.
func (f *Forest) inBall(root int32, at pose.Vec3, radius float64, each func(*node, float64)) {
	first := cell{root: root, x: grid(at.X - radius), y: grid(at.Y - radius), z: grid(at.Z - radius), id: none}
	last := cell{x: grid(at.X + radius), y: grid(at.Y + radius), z: grid(at.Z + radius)}
	for from := first; ; {
		var next *cell // where to go on after a part of space that is not asked for
		f.space.from(from, byCell, func(c cell) bool {
			if c.root != root || c.x > last.x {
				return false
			}
			if skip, out := c.skip(first, last); out {
				next = &skip
				return false
			}
			n := f.node(c.id)
			if d := n.rootFromItem.T.Sub(at).Norm(); d <= radius {
				each(n, d)
			}
			return true
		})
		if next == nil {
			return
		}
		from = *next
	}
}

// skip returns the next cell that may lie between first and last, if c does not.
func (c cell) skip(first, last cell) (next cell, out bool) {
	next = cell{root: c.root, x: c.x, y: c.y, z: first.z, id: none}
	switch {
	case c.y < first.y:
		next.y = first.y
	case c.y > last.y || c.y == last.y && c.z > last.z:
		next.x, next.y = c.x+1, first.y
	case c.z < first.z:
	case c.z > last.z:
		next.y = c.y + 1
	default:
		return c, false
	}
	return next, true
}
