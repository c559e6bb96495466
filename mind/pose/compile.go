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
	now := s.edge.value.history.snapshot()
	if s.edge.rules.until != engram.MaxTime {
		return now.until(s.edge.rules.until)
	}
	return now
}

// compile resolves the path between two frames at t.
//
// The histories are those of the view v, or what they are when they are asked if that is
// nil. With unfolded set, every constant edge is a step of its own, so that one which
// is on two ways can be told.
func (c *content) compile(target, source int32, t engram.Time, v *View, unfolded bool) *segment {
	seg := &segment{Interval: engram.Always()}
	way := func(from int32) (frames []int32, edges []*edge, ends []engram.Interval) {
		frames = []int32{from}
		for {
			p, end := c.frames.at(from).periodAt(t)
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
	seg.down = newChain(se[:ns], si, v, unfolded)
	seg.up = newChain(te[:nt], ti, v, unfolded)
	seg.fold()
	values := map[*valueHistory]bool{}
	for _, c := range [2]*chain{&seg.down, &seg.up} {
		for i := range c.steps {
			if v := c.steps[i].edge.value.history; v != nil {
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

// newChain compiles edges, and when they hold, given from the bottom up.
func newChain(bottomUp []*edge, held []engram.Interval, v *View, unfolded bool) chain {
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
		st.pre, st.preCov = acc.fold()
		if v != nil {
			st.frozen = true
			st.frozenPoses, st.frozenValues = v.samples(e, held[i])
		}
		c.steps = append(c.steps, st)
		acc = constant{pose: Identity(), cov: ExactCov()}
	}
	c.post, c.postCov = acc.fold()
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

func (c *constant) fold() (p Pose, cov *Cov) {
	if c.cov.State() != Exact {
		own := c.cov
		cov = &own
	}
	return c.pose, cov
}

// fold moves the constant pose of a side without steps to the other side, where it
// merges with another one, or costs one product instead of two. Its covariance
// moves along.
func (seg *segment) fold() {
	switch {
	case len(seg.up.steps) == 0:
		seg.down.takeRoot(&seg.up)
	case len(seg.down.steps) == 0:
		seg.up.takeRoot(&seg.down)
	}
	seg.up.notePoses()
	seg.down.notePoses()
}

// takeRoot makes the end of other, which has no steps, the top frame of c.
func (c *chain) takeRoot(other *chain) {
	first := &c.post
	if len(c.steps) > 0 {
		first = &c.steps[0].pre
	}
	*first = other.post.Inverse().Mul(*first)
	c.rootCov = other.postCov
	other.post, other.postCov = Identity(), nil
}

// notePoses notes which of the constant poses move anything.
func (c *chain) notePoses() {
	for i := range c.steps {
		st := &c.steps[i]
		st.hasPre = st.pre != Identity()
	}
	c.hasPost = c.post != Identity()
}

// static reports whether the segment has no edge with samples, but for those that rest.
func (seg *segment) static() bool {
	for _, c := range [2]*chain{&seg.down, &seg.up} {
		for i := range c.steps {
			if e := c.steps[i].edge; e.kind == KindJoint || e.kind == KindFree && !e.rules.rests() {
				return false
			}
		}
	}
	return true
}
