package world

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Located is where an item is in the frame of another one.
type Located struct {
	Pose pose.Pose // targetFromSource, metres
	Cov  pose.Cov  // unknown if that of an edge on the way is
}

// NotAligned says that nobody knows how two items lie to each other: they are in different
// trees of frames. It is the cause of an error of code NotFound.
type NotAligned struct {
	Target, Source         string
	TargetRoot, SourceRoot string // of their trees
}

// Error implements error.
func (e NotAligned) Error() string {
	return "it is not aligned with " + e.Target + ": their poses go back to " + e.SourceRoot + " and " + e.TargetRoot +
		"; state the pose of one of these in the tree of the other"
}

// Pose returns where the source is in the frame of the target, each an item or a bare frame, with
// the present values of the articulations on the way. What both ways to their nearest common frame share makes it
// no less certain. The cause of the error is a [NotAligned] if there is none.
func (f *Forest) Pose(target, source string) (Located, error) {
	t, s := f.frame(target), f.frame(source)
	switch {
	case t == nil:
		return Located{}, f.noFrame(target)
	case s == nil:
		return Located{}, f.noFrame(source)
	case t.root != s.root:
		why := NotAligned{target, source, f.node(t.root).name, f.node(s.root).name}
		return Located{}, &engram.Error{Code: engram.NotFound, Thing: source, Msg: why.Error(), Err: why}
	}
	common := f.common(t, s)
	ct, cs := f.climb(t, common), f.climb(s, common)
	return Located{
		Pose: ct.Pose.Inverse().Mul(cs.Pose),
		Cov:  pose.BetweenCov(ct.Pose, &ct.Cov, cs.Pose, &cs.Cov),
	}, nil
}

// Aligned reports whether [Forest.Pose] knows where an item that a forest has is in its parent; false if it has none.
func Aligned(f *Forest, m *Merged) bool {
	n := f.of(m)
	p := f.parent(n)
	return p != nil && p.root == n.root
}

// common returns the nearest frame that two items of one tree share.
func (f *graph) common(a, b *node) int32 {
	depth := func(n *node) (d int) {
		for id := f.frameOf(n); id != none; id = f.frameOf(f.node(id)) {
			d++
		}
		return d
	}
	up := func(n *node) *node { return f.node(f.frameOf(n)) }
	da, db := depth(a), depth(b)
	for ; da > db; da-- {
		a = up(a)
	}
	for ; db > da; db-- {
		b = up(b)
	}
	for a.id != b.id {
		a, b = up(a), up(b)
	}
	return a.id
}

// climb returns where an item is in the frame of one above it.
func (f *Forest) climb(n *node, to int32) Located {
	at := Located{pose.Identity(), pose.ExactCov()}
	for n.id != to {
		if n.merged != nil { // else it is a robot's frame that is an item
			p, c := f.edge(n)
			at.Cov = pose.ComposeCov(&c, at.Pose, &at.Cov)
			at.Pose = p.Mul(at.Pose)
		}
		n = f.node(f.frameOf(n))
	}
	return at
}

// in returns the item or bare frame that a node with a frame is in; of a robot's frame that is an
// item, that item.
func (f *graph) in(n *node) *node {
	in := f.node(f.frameOf(n))
	if in.merged == nil && f.exists(in.frame) {
		return f.node(in.frame)
	}
	return in
}

// itemOf returns the name of the item that a robot's frame is; else that of the frame.
func (f *graph) itemOf(frame string) string {
	if n := f.any(frame); n != nil && n.merged == nil && f.exists(n.frame) {
		return f.node(n.frame).name
	}
	return frame
}

// edge returns where a node with a frame is in it.
func (f *Forest) edge(n *node) (pose.Pose, pose.Cov) {
	p := n.merged.Placement
	if j := f.joint(n); j != nil && j.moves(n.merged.Placed, f.in(n).name) {
		return j.move(p.Pose, p.Cov)
	}
	return p.Pose, p.Cov
}

// Root returns the root of the tree of frames that an item or a bare frame is in, and where it is
// in the root's frame; ok is false if there is no such frame.
func Root(f *Forest, name string) (root string, rootFromItem pose.Pose, ok bool) {
	n := f.frame(name)
	if n == nil {
		return "", pose.Pose{}, false
	}
	return f.node(n.root).name, n.rootFromItem, true
}
