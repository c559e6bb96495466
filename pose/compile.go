package pose

import (
	"github.com/seed-301d4374/engram"
)

// segment is a path compiled for the times of its interval, in which the structure
// does not change: from the lowest common ancestor down to the source and down to
// the target, so that no edge above it is asked, or counted, at all.
type segment struct {
	engram.Interval
	down, up chain // to the source, to the target
	// connected is false if the frames are in different trees; the rest is empty
	// then.
	connected bool
	mimics    bool // two steps have the value of the same joint
}

// chain is the way from the common ancestor down to one frame: its moving edges,
// with the constant ones between them folded into one pose each.
type chain struct {
	steps []step
	// post is the constant pose behind the last step.
	post    Pose
	hasPost bool
	postCov *Cov    // in the axes of the chain's end; nil if exact
	rootCov *Cov    // in the axes of its top frame; nil if exact; see fold
	edges   []*edge // all of them, top down
}

// step is a moving edge and the constant pose before it.
type step struct {
	edge   *edge
	poses  *poseHistory // the edge's, a pointer nearer
	kind   Kind
	hasPre bool
	pre    Pose
	preCov *Cov // in the axes behind pre; nil if exact
	// frozen is the history's state in a view; a live path asks the history.
	frozen       bool
	frozenPoses  snapshot[Pose, Cov]
	frozenValues snapshot[float64, float64]
	// below is the anchor right above this free edge, nil if there is none.
	below *anchorKeys
}

func (s *step) posesNow() snapshot[Pose, Cov] {
	if s.frozen {
		return s.frozenPoses
	}
	return s.poses.snapshot()
}

func (s *step) valuesNow() snapshot[float64, float64] {
	if s.frozen {
		return s.frozenValues
	}
	return s.edge.values.snapshot()
}

// compile resolves the path between two frames at t.
//
// With unfolded set, every constant edge is a step of its own, so that one which
// is on two ways can be told.
func (c *content) compile(target, source int32, t engram.Time, ice *frozen, unfolded bool) *segment {
	seg := &segment{Interval: engram.Always()}
	way := func(from int32) (frames []int32, edges []*edge, ends []engram.Interval) {
		frames = []int32{from}
		for {
			p, end := c.frames[from].periodAt(t)
			ends = append(ends, engram.Interval{Start: p.from, End: end})
			if p.edge == nil {
				return frames, edges, ends
			}
			edges = append(edges, p.edge)
			from = p.edge.parent
			frames = append(frames, from)
		}
	}
	sf, se, si := way(source)
	tf, te, ti := way(target)
	// The ways end with what they share; strip it from the top.
	ns, nt := len(sf), len(tf)
	for ns > 0 && nt > 0 && sf[ns-1] == tf[nt-1] {
		ns, nt = ns-1, nt-1
	}
	seg.connected = ns < len(sf)
	if !seg.connected {
		// The roots matter as well: one of them may get a parent later.
		seg.limit(si)
		seg.limit(ti)
		return seg
	}
	seg.limit(si[:ns])
	seg.limit(ti[:nt])
	seg.down = newChain(se[:ns], ice, unfolded)
	seg.up = newChain(te[:nt], ice, unfolded)
	seg.fold()
	values := map[*valueHistory]bool{}
	for _, c := range [2]*chain{&seg.down, &seg.up} {
		for i := range c.steps {
			if v := c.steps[i].edge.values; v != nil {
				seg.mimics = seg.mimics || values[v]
				values[v] = true
			}
		}
	}
	return seg
}

func (seg *segment) limit(spans []engram.Interval) {
	for _, iv := range spans {
		seg.Start, seg.End = max(seg.Start, iv.Start), min(seg.End, iv.End)
	}
}

// newChain compiles edges given from the bottom up.
func newChain(bottomUp []*edge, ice *frozen, unfolded bool) chain {
	var c chain
	acc := constant{pose: Identity(), cov: ExactCov()}
	var anchor *anchorKeys
	for i := len(bottomUp) - 1; i >= 0; i-- {
		e := bottomUp[i]
		c.edges = append(c.edges, e)
		if e.kind == KindFixed && !unfolded {
			acc.append(e.fixed.pose, &e.fixed.cov)
			continue
		}
		st := step{edge: e, kind: e.kind, poses: e.poses}
		switch e.kind {
		case KindJoint:
			exact := ExactCov()
			acc.append(e.joint.Origin, &exact)
		case KindFree:
			st.below = anchor
		}
		if e.kind != KindFixed {
			anchor = e.keys
		}
		st.pre, st.hasPre, st.preCov = acc.fold()
		ice.freeze(&st)
		c.steps = append(c.steps, st)
		acc = constant{pose: Identity(), cov: ExactCov()}
	}
	c.post, c.hasPost, c.postCov = acc.fold()
	return c
}

// constant is a run of constant edges.
type constant struct {
	pose Pose
	cov  Cov
}

func (c *constant) append(p Pose, cov *Cov) {
	c.pose = c.pose.Mul(p)
	c.cov = ComposeCov(&c.cov, p, cov)
}

func (c *constant) fold() (p Pose, has bool, cov *Cov) {
	if c.cov.State() != Exact {
		own := c.cov
		cov = &own
	}
	return c.pose, c.pose != Identity(), cov
}

// fold moves the constant pose of a side without steps to the other side, where it
// merges with another one, or costs one product instead of two. Its covariance
// moves along.
func (seg *segment) fold() {
	up, down := &seg.up, &seg.down
	switch {
	case len(up.steps) == 0 && len(down.steps) > 0:
		first := &down.steps[0]
		first.pre = up.post.Inverse().Mul(first.pre)
		first.hasPre = first.hasPre || up.hasPost
		down.rootCov = up.takePost()
	case len(up.steps) == 0:
		down.post = up.post.Inverse().Mul(down.post)
		down.rootCov = up.takePost()
	case len(down.steps) == 0:
		first := &up.steps[0]
		first.pre = down.post.Inverse().Mul(first.pre)
		first.hasPre = first.hasPre || down.hasPost
		up.rootCov = down.takePost()
	}
}

// takePost empties the constant end of a chain without steps.
func (c *chain) takePost() (cov *Cov) {
	cov = c.postCov
	c.post, c.hasPost, c.postCov = Identity(), false, nil
	return cov
}

// static reports whether the segment has no edge with samples.
func (seg *segment) static() bool {
	for _, c := range [2]*chain{&seg.down, &seg.up} {
		for i := range c.steps {
			if k := c.steps[i].edge.kind; k == KindFree || k == KindJoint {
				return false
			}
		}
	}
	return true
}

// frozen is what a view has seen of the histories; a nil one freezes nothing. One
// that a content was frozen into is complete and may be read by many; others take
// what is asked for first, and are for one goroutine.
type frozen struct {
	base   *frozen // looked into first
	poses  map[*poseHistory]snapshot[Pose, Cov]
	values map[*valueHistory]snapshot[float64, float64]
}

func newFrozen(base *frozen) *frozen {
	return &frozen{base, map[*poseHistory]snapshot[Pose, Cov]{}, map[*valueHistory]snapshot[float64, float64]{}}
}

// freeze takes what every history of a content holds now.
func (c *content) freeze() *frozen {
	f := newFrozen(nil)
	for _, fr := range c.frames {
		for _, p := range fr.periods {
			switch e := p.edge; {
			case e == nil:
			case e.poses != nil:
				f.posesOf(e.poses)
			case e.values != nil:
				f.valuesOf(e.values)
			}
		}
	}
	return f
}

func (f *frozen) posesOf(h *poseHistory) snapshot[Pose, Cov] {
	if f.base != nil {
		if s, ok := f.base.poses[h]; ok {
			return s
		}
	}
	return frozenAt(f.poses, h)
}

func (f *frozen) valuesOf(h *valueHistory) snapshot[float64, float64] {
	if f.base != nil {
		if s, ok := f.base.values[h]; ok {
			return s
		}
	}
	return frozenAt(f.values, h)
}

func frozenAt[V, X comparable](m map[*history[V, X]]snapshot[V, X], h *history[V, X]) snapshot[V, X] {
	s, ok := m[h]
	if !ok {
		s = h.snapshot()
		m[h] = s
	}
	return s
}

func (f *frozen) freeze(st *step) {
	if f == nil {
		return
	}
	st.frozen = true
	if st.edge.poses != nil {
		st.frozenPoses = f.posesOf(st.edge.poses)
	}
	if st.edge.values != nil {
		st.frozenValues = f.valuesOf(st.edge.values)
	}
}
