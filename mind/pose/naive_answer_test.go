package pose

import (
	"math"
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// naiveHop is the way from a frame to its parent: the pose, or why there is none.
type naiveHop struct {
	child, parent string
	kind          Kind
	p             Pose
	code          FailureCode
	pruned        bool // the answer may be Pruned as well
	terms         []naiveTerm
	keys          []naiveShare // of an anchor
	own           bool         // samples bring covariances
	grown         *Cov         // of a trajectory whose errors add up
	rate          Cov          // of that, per second
	below         bool         // an anchor that is asked, too
}

// naiveShare is a key with its part in the answer.
type naiveShare struct {
	naiveKey
	share float64
}

// naiveTerm is an uncertainty in the axes of a frame that has the pose at in the hop's
// parent. Those of one joint's value err together along their twists.
type naiveTerm struct {
	at    Pose
	cov   Cov
	joint string
	twist Twist
	sigma float64
	from  [2]float64 // the sample of the joint's value, and the fraction behind it
}

// hop answers for one edge in a revision; below says that the edge above it is an anchor
// that is asked, too.
func (n *naive) hop(rev int, child string, t engram.Time, below bool) naiveHop {
	st := &n.states[rev]
	p, end := st.at(child, t)
	h := naiveHop{child: child, parent: p.parent, kind: p.kind, p: Identity()}
	if p.parent == "" {
		return h
	}
	e := naiveEdge{p.parent, child}
	switch p.kind {
	case KindFixed:
		h.p = p.fixed.pose
		h.terms = []naiveTerm{{at: h.p, cov: p.fixed.cov}}
	case KindJoint:
		n.joint(rev, &h, p, end, t)
	case KindAnchor:
		h.anchor(st.keys[e], t)
	case KindFree:
		n.free(rev, &h, p, end, t, below)
	}
	return h
}

// around finds the samples beside t in a span: a alone, or the fraction u from a to b.
func (n *naive) around(rev int, e naiveEdge, o naiveOptions, from, end, t engram.Time) (a, b *naiveSample, u float64, code FailureCode) {
	list := n.list(rev, e, from, end)
	if len(list) == 0 {
		return nil, nil, 0, Unset
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].t > t }) - 1
	switch {
	case i < 0:
		return nil, nil, 0, TooOld
	case list[i].t == t:
		return &list[i], nil, 0, OK
	case i+1 == len(list):
		switch {
		case t-list[i].t <= o.hold:
			return &list[i], nil, 0, OK
		case end != engram.MaxTime:
			return nil, nil, 0, Gap
		}
		return nil, nil, 0, TooNew
	case o.maxGap > 0 && list[i+1].t-list[i].t > o.maxGap:
		return nil, nil, 0, Gap
	}
	a, b = &list[i], &list[i+1]
	return a, b, float64(t-a.t) / float64(b.t-a.t), OK
}

func (n *naive) forgets(rev int, e naiveEdge, p *naivePeriod, t engram.Time) bool {
	pinned := func(since int) bool {
		return slices.ContainsFunc(n.pins[e][t], func(at int) bool { return at >= since })
	}
	if rev == n.rev() && e.parent != "" {
		return t < p.kept.from && !pinned(p.kept.made)
	}
	return t < n.mayForget[e] && !pinned(0)
}

func (n *naive) free(rev int, h *naiveHop, p naivePeriod, end, t engram.Time, below bool) {
	e := naiveEdge{p.parent, h.child}
	o := n.states[rev].options[e]
	h.pruned = n.forgets(rev, e, &p, t)
	a, b, u, code := n.around(rev, e, o, p.from, end, t)
	if h.code = code; code != OK {
		return
	}
	// The noise of a sample that brings no covariance.
	model := o.noise.cov
	if o.noise.kind == noiseGrowth {
		since := n.list(rev, e, p.from, end)[0].t
		above, _ := n.states[rev].at(p.parent, t)
		if keys := n.states[rev].keys[naiveEdge{above.parent, p.parent}]; below && len(keys) > 0 {
			since = keys[0].t
			for _, k := range keys {
				if abs(k.t-t) < abs(since-t) {
					since = k.t
				}
			}
		}
		grown := o.noise.rate.scaled(float64(abs(t-since)) / 1e9)
		model = model.plus(&grown)
	}
	h.own = a.cov.Mask != 0 || b != nil && b.cov.Mask != 0
	if o.noise.kind == noiseGrowth && !h.own {
		h.grown, h.rate = &model, o.noise.rate
	}
	own := func(s *naiveSample) Cov {
		if s.cov.Mask != 0 {
			return s.cov
		}
		return model
	}
	if b == nil {
		h.p = a.p
		h.terms = []naiveTerm{{at: a.p, cov: own(a)}}
		return
	}
	h.p = Interpolate(a.p, b.p, u)
	if a.cov.Mask == 0 && b.cov.Mask == 0 {
		h.terms = []naiveTerm{{at: h.p, cov: model}}
		return
	}
	ca, cb := own(a), own(b)
	h.terms = []naiveTerm{{at: Pose{T: h.p.T, R: a.p.R}, cov: ca.scaled(1 - u)}, {at: Pose{T: h.p.T, R: b.p.R}, cov: cb.scaled(u)}}
}

func abs(t engram.Time) engram.Time { return max(t, -t) }

// root returns the joint whose value a joint has, and the factors.
func (n *naive) root(name string) (root JointSpec, scale, offset float64) {
	j := n.joints[name]
	if j.Mimic == nil {
		return j, 1, 0
	}
	root, s, o := n.root(j.Mimic.Joint)
	return root, j.Mimic.Multiplier * s, j.Mimic.Multiplier*o + j.Mimic.Offset
}

func (n *naive) joint(rev int, h *naiveHop, p naivePeriod, end, t engram.Time) {
	root, scale, offset := n.root(p.joint)
	e := naiveEdge{"", root.Name}
	o := n.states[rev].options[e]
	h.pruned = n.forgets(rev, e, &p, t)
	a, b, u, code := n.around(rev, e, o, engram.MinTime, end, t)
	if h.code = code; code != OK {
		return
	}
	q, variance := a.p.T.X, o.sigma*o.sigma
	if b != nil {
		d := b.p.T.X - q
		if root.Type == urdf.Continuous && math.Abs(d) > math.Pi {
			d -= 2 * math.Pi * math.Round(d/(2*math.Pi))
		}
		q += u * d
	}
	spec := n.joints[p.joint]
	x := Twist{Phi: spec.Axis}
	if spec.Type == urdf.Prismatic {
		x = Twist{Rho: spec.Axis}
	}
	h.p = spec.Origin.Mul(Exp(x.Scale(scale*q + offset)))
	h.terms = []naiveTerm{{at: h.p, joint: root.Name, twist: x.Scale(scale), sigma: math.Sqrt(variance), from: [2]float64{float64(a.t), u}}}
}

func (h *naiveHop) anchor(keys []naiveKey, t engram.Time) {
	if len(keys) == 0 {
		h.code = Unset
		return
	}
	i := sort.Search(len(keys), func(i int) bool { return keys[i].t > t })
	switch {
	case i == 0 || i == len(keys) || keys[i-1].t == t:
		k := &keys[max(i-1, 0)]
		h.p, h.terms = k.c, []naiveTerm{{at: k.c, cov: k.cov}}
		h.keys = []naiveShare{{*k, 1}}
	default:
		a, b := &keys[i-1], &keys[i]
		u := float64(t-a.t) / float64(b.t-a.t)
		h.p = Geodesic(a.c, b.c, u)
		h.terms = []naiveTerm{{at: a.c, cov: a.cov.scaled(1 - u)}, {at: b.c, cov: b.cov.scaled(u)}}
		h.keys = []naiveShare{{*a, 1 - u}, {*b, u}}
	}
}

// naiveReading is a value of a joint.
type naiveReading struct {
	joint string
	from  [2]float64
}

// naiveAnswer is target ← source, or the codes of all guilty edges on the way; Pruned
// beside an answer means that it may be forgotten.
type naiveAnswer struct {
	p      Pose
	cov    Cov
	guilty map[FailureCode]bool
}

func (n *naive) lookup(rev int, target, source string, t engram.Time) naiveAnswer {
	way := func(f string) (hops []naiveHop) {
		for f != "" {
			hops = append(hops, n.hop(rev, f, t, false))
			f = hops[len(hops)-1].parent
		}
		return hops
	}
	ws, wt := way(source), way(target)
	if ws[len(ws)-1].child != wt[len(wt)-1].child {
		return naiveAnswer{guilty: map[FailureCode]bool{NotConnected: true}}
	}
	for len(ws) > 0 && len(wt) > 0 && ws[len(ws)-1].child == wt[len(wt)-1].child {
		ws, wt = ws[:len(ws)-1], wt[:len(wt)-1]
	}
	a := naiveAnswer{cov: ExactCov(), guilty: map[FailureCode]bool{}}
	join := func(hops []naiveHop) Pose {
		p := Identity()
		for i := len(hops) - 1; i >= 0; i-- {
			if i+1 < len(hops) && hops[i+1].kind == KindAnchor {
				hops[i] = n.hop(rev, hops[i].child, t, true)
			}
			if hops[i].code != OK {
				a.guilty[hops[i].code] = true
			}
			if hops[i].pruned {
				a.guilty[Pruned] = true
			}
			for k := range hops[i].terms { // now in the common ancestor
				hops[i].terms[k].at = p.Mul(hops[i].terms[k].at)
			}
			p = p.Mul(hops[i].p)
		}
		return p
	}
	s, tt := join(ws), join(wt)
	a.p = tt.Inverse().Mul(s)
	// The twists of one joint's value, summed in the source's axes: what is known errs together,
	// and what is unknown is so by itself unless it is one reading.
	joints := map[naiveReading]*naiveTerm{}
	for side, hops := range [2][]naiveHop{ws, wt} {
		for _, h := range hops {
			for _, term := range h.terms {
				in := s.Inverse().Mul(term.at)
				if term.joint == "" {
					moved := term.cov.Transported(in)
					a.cov = a.cov.plus(&moved)
					continue
				}
				x := in.Adjoint(term.twist).Scale(1 - 2*float64(side))
				key := naiveReading{joint: term.joint}
				if math.IsNaN(term.sigma) {
					key.from = term.from
				} else {
					x = x.Scale(term.sigma)
				}
				if joints[key] == nil {
					joints[key] = &naiveTerm{sigma: term.sigma}
				}
				sum := joints[key]
				sum.twist.Rho, sum.twist.Phi = sum.twist.Rho.Add(x.Rho), sum.twist.Phi.Add(x.Phi)
			}
		}
	}
	for _, j := range joints {
		if math.IsNaN(j.sigma) {
			a.cov.Mask &^= j.twist.dims()
			continue
		}
		a.cov.S.addOuter(1, j.twist)
	}
	a.cov.clearUnmasked()
	return a
}
