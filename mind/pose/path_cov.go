package pose

import (
	"math"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// A path's covariance is the sum, over everything uncertain on it, of that thing's
// covariance transported to the source's axes. A perturbation in the axes of a
// frame c below the common ancestor, on either side, moves the answer by
// Ad(T_source←c) (on the target's side with the opposite sign, which the square
// does not see). So one walk collects a term per uncertain thing, with the pose of
// its frame in the common ancestor, and a second loop sums them up. Nothing is
// counted that lies above the common ancestor.

// term is one contribution to a covariance.
type term struct {
	frame  Pose // of the frame whose axes it is in, in the chain's top frame
	weight float64
	side   float64 // -1 on the target's side
	edge   *edge   // nil for constant edges folded together
	cov    *Sym6   // weight·cov, or
	twist  Twist   // weight·twist·twistᵀ if cov is nil
	mask   uint8   // of what is estimated; 0 of a twist: unknown
	// reading tells the values of one joint apart, of a twist.
	reading reading
}

// reading is where a joint's value is from: the time of a sample, and how far behind that it
// is, in shares of the way to the next.
type reading struct {
	t engram.Time
	u float64
}

// terms collects contributions.
type terms struct {
	list   []term
	side   float64 // of the chain being walked
	source Pose    // of the source in the chains' top frame
	linked bool    // note the edges as well
	links  []link
}

// walk is eval that collects the terms.
func (seg *segment) walk(p *Pose, q *query, ts *terms) bool {
	if !seg.connected {
		return seg.eval(p, q)
	}
	ts.side = 1
	if !seg.down.walk(p, q, ts) {
		return false
	}
	ts.source = *p
	ts.side = -1
	var up Pose
	if !seg.up.walk(&up, q, ts) {
		return false
	}
	up = up.Inverse()
	up.mul(p)
	*p = up
	return true
}

func (c *chain) walk(acc *Pose, q *query, ts *terms) bool {
	*acc = Identity()
	ts.addRoot(c.rootCov)
	for i := range c.steps {
		st := &c.steps[i]
		if st.hasPre {
			acc.mul(&st.pre)
		}
		ts.addCov(acc, st.preCov, nil)
		parent := *acc
		if st.kind == KindFree {
			if !ts.walkFree(acc, st, q) {
				return false
			}
		} else if !st.move(acc, q) {
			return false
		}
		switch st.kind {
		case KindJoint:
			ts.addJoint(acc, st, q)
		case KindAnchor:
			ts.addAnchor(&parent, st, q.t)
		case KindFixed:
			ts.addCov(acc, &st.edge.fixed.cov, st.edge)
		}
		if ts.linked {
			ts.links = append(ts.links, link{st, ts.side, *acc, parent.Inverse().Mul(*acc)})
		}
	}
	if c.hasPost {
		acc.mul(&c.post)
	}
	ts.addCov(acc, c.postCov, nil)
	return true
}

// termsPool saves every AtCov an allocation. What is in it has no links.
var termsPool = sync.Pool{New: func() any { return &terms{list: make([]term, 0, 16)} }}

// next returns a new term, which the caller fills in where it stands.
func (ts *terms) next() *term {
	if n := len(ts.list); n < cap(ts.list) {
		ts.list = ts.list[:n+1]
	} else {
		ts.list = append(ts.list, term{})
	}
	return &ts.list[len(ts.list)-1]
}

func (ts *terms) add(frame *Pose, weight float64, cov *Cov, e *edge) {
	t := ts.next()
	t.frame, t.weight, t.side, t.edge, t.cov, t.mask = *frame, weight, ts.side, e, &cov.S, cov.Mask
}

// addCov adds a constant covariance in the axes of frame; nil is exact.
func (ts *terms) addCov(frame *Pose, cov *Cov, e *edge) {
	if cov != nil {
		ts.add(frame, 1, cov, e)
	}
}

// addRoot adds the covariance of the constant end that was folded into the chain's
// top frame.
func (ts *terms) addRoot(cov *Cov) {
	root := Identity()
	ts.addCov(&root, cov, nil)
}

// walkFree moves acc from the parent of a free edge to its child and adds the edge's
// covariance.
func (ts *terms) walkFree(acc *Pose, st *step, q *query) bool {
	s := st.posesNow()
	if !s.b.extras && !st.edge.cfg.propagate {
		if !st.free(acc, q) {
			return false
		}
		ts.addSample(acc, 1, nil, st, s, q)
		return true
	}
	res := s.at(q.t, st.rules(q), q.rev)
	if res.code != OK {
		return failed(st.edge, res.code, res.a, res.b, s, q)
	}
	parent := *acc
	q.moveBetween(acc, res.a, res.b, res.u, res.flags)
	ts.addFree(&parent, acc, &res, st, s, q)
	return true
}

// addFree adds the covariance of a free edge whose samples bring theirs; parent and
// child are the poses of its frames.
func (ts *terms) addFree(parent, child *Pose, res *around[Pose], st *step, s snapshot[Pose, Cov], q *query) {
	xa, xb := s.extras(res, q.t, q.rev)
	if res.flags&Extrapolated != 0 && res.b != nil {
		// The last sample's covariance is the best there is.
		xa, res.b = xb, nil
	}
	knownA, knownB := xa != nil && xa.Mask != 0, xb != nil && xb.Mask != 0
	if knownA && (res.b == nil || knownB) && st.below != nil && len(st.below.keys) > 0 {
		if ts.addSinceKey(parent, st, s, q) {
			return
		}
	}
	if res.b != nil && st.edge.cfg.propagate && st.edge.cfg.noise.kind != noiseGrowth {
		ca, cb := st.edge.ownOr(xa), st.edge.ownOr(xb)
		cov := PropagateCov(res.a.v, ca, res.b.v, cb, res.u)
		ts.add(child, 1, &cov, st.edge)
		return
	}
	if res.b == nil || !knownA && !knownB {
		// A model gives both samples, and so what is between them, the same.
		ts.addSample(child, 1, xa, st, s, q)
		return
	}
	// On a line the position errs by what those of the samples err: how they are turned moves it
	// not at all.
	atA, atB := parent.Mul(res.a.v), parent.Mul(res.b.v)
	atA.T, atB.T = child.T, child.T
	ts.addSample(&atA, 1-res.u, xa, st, s, q)
	ts.addSample(&atB, res.u, xb, st, s, q)
}

// ownOr returns a sample's own covariance, or that of the edge's noise model.
func (e *edge) ownOr(own *Cov) *Cov {
	if own != nil && own.Mask != 0 {
		return own
	}
	return &e.cfg.noise.cov
}

// addSample adds one sample's own covariance or that of the edge's noise model.
func (ts *terms) addSample(at *Pose, weight float64, own *Cov, st *step, s snapshot[Pose, Cov], q *query) {
	if own != nil && own.Mask != 0 {
		ts.add(at, weight, own, st.edge)
		return
	}
	noise := &st.edge.cfg.noise
	if noise.kind == noiseExact {
		return
	}
	ts.add(at, weight, &noise.cov, st.edge)
	if noise.kind == noiseGrowth {
		ts.add(at, weight*growthSeconds(st, s, q.t), &noise.rate, st.edge)
	}
}

// growthSeconds returns how long the uncertainty of a free edge has grown at t:
// since the nearest key of the anchor above it, or its first sample.
func growthSeconds(st *step, s snapshot[Pose, Cov], t engram.Time) float64 {
	since := s.b.born
	if st.below != nil && len(st.below.keys) > 0 {
		since = st.below.nearest(t)
	}
	return math.Abs(t.Sub(since).Seconds())
}

// addSinceKey adds what a trajectory below an anchor gathered since the anchor's
// nearest key: the key says where the trajectory was then, and how well that is
// known, so only the increments from there count. It returns false if the samples'
// covariances do not say what the increments are.
func (ts *terms) addSinceKey(acc *Pose, st *step, s snapshot[Pose, Cov], q *query) bool {
	key := st.below.nearest(q.t)
	now, covNow, ok1 := poseAndCov(s, q.t, &st.edge.rules, q.rev)
	then, covThen, ok2 := poseAndCov(s, key, &st.edge.rules, q.rev)
	if !ok1 || !ok2 {
		return false
	}
	early, late, covEarly, covLate := then, now, covThen, covNow
	if key > q.t {
		early, late, covEarly, covLate = now, then, covNow, covThen
	}
	inc, ok := increment(early, &covEarly, late, &covLate)
	if !ok {
		return false
	}
	at := acc.Mul(late)
	ts.add(&at, 1, &inc, st.edge)
	return true
}

// poseAndCov returns what a free edge says alone at t: the pose and the covariance
// that its samples bring, if they bring any.
func poseAndCov(s snapshot[Pose, Cov], t engram.Time, r *rules, rev Revision) (p Pose, cov Cov, ok bool) {
	res := s.at(t, r, rev)
	if res.code != OK || res.flags&Extrapolated != 0 {
		return p, cov, false
	}
	xa, xb := s.extras(&res, t, rev)
	if res.b == nil {
		cov = valueOr(xa)
		return res.a.v, cov, cov.Mask != 0
	}
	if xa == nil || xb == nil {
		return p, cov, false
	}
	interpolate(&p, &res.a.v, &res.b.v, res.u)
	cov = InterpolateCov(res.a.v, xa, res.b.v, xb, res.u, p)
	return p, cov, cov.Mask != 0
}

// increment returns the covariance of early⁻¹·late, in the axes of late, for a
// trajectory whose uncertainty adds up along the way: that of late without what
// early had already. It returns false if the covariances are not such.
func increment(early Pose, covEarly *Cov, late Pose, covLate *Cov) (inc Cov, ok bool) {
	inc = *covLate
	d := late.Inverse().Mul(early)
	inc.Mask &= transportMask(covEarly.Mask, &d)
	inc.S.addTransported(-1, &d, &covEarly.S)
	inc.settle()
	for _, i := range [6]int{0, 6, 11, 15, 18, 20} {
		// What rounding leaves of equal variances is none.
		if math.Abs(inc.S[i]) < 1e-12*covLate.S[i] {
			inc.S[i] = 0
		}
	}
	if inc.S.diagonal() == [6]float64{} {
		inc.S = Sym6{}
	}
	return inc, inc.Mask != 0 && inc.S.positiveSemidefinite()
}

// addJoint adds σ²·s·sᵀ of a joint; acc is the pose of its child.
func (ts *terms) addJoint(acc *Pose, st *step, q *query) {
	e := st.edge
	own := func(x *float64) float64 {
		if x != nil && *x != 0 {
			return *x * *x
		}
		return e.value.sigma * e.value.sigma
	}
	s := st.valuesNow()
	res := s.at(q.t, st.rules(q), q.rev)
	variance := e.value.unset.Sigma * e.value.unset.Sigma
	from := reading{t: engram.MinTime}
	if res.code == OK {
		from = reading{res.a.t, res.u}
		xa, xb := s.extras(&res, q.t, q.rev)
		variance = own(xa)
		if res.b != nil {
			u := min(res.u, 1)
			variance = (1-u)*variance + u*own(xb)
		}
	}
	scale, _ := e.joint.scaleOffset()
	t := ts.next()
	t.frame, t.weight, t.side, t.edge = *acc, variance, ts.side, e
	t.cov, t.twist, t.mask, t.reading = nil, e.joint.twist().Scale(scale), AllDims, from
	most := unmeasuredRot
	if e.value.of.Type == urdf.Prismatic {
		most = unmeasuredTrans
	}
	if !(variance < most) { // NaN, too
		t.weight, t.mask = 0, 0
	}
}

// addAnchor adds the covariance of an anchor at t; acc is the pose of its parent.
func (ts *terms) addAnchor(acc *Pose, st *step, t engram.Time) {
	a := st.edge.keys
	i, u := a.find(t)
	if u != 0 && st.edge.cfg.propagate {
		one, two := a.keys[i].v.c, a.keys[i+1].v.c
		cov := PropagateGeodesicCov(one, a.cov(i), two, a.cov(i+1), u)
		at := acc.Mul(Geodesic(one, two, u))
		ts.add(&at, 1, &cov, st.edge)
		return
	}
	at := acc.Mul(a.keys[i].v.c)
	ts.add(&at, 1-u, a.cov(i), st.edge)
	if u != 0 {
		at = acc.Mul(a.keys[i+1].v.c)
		ts.add(&at, u, a.cov(i+1), st.edge)
	}
}

// sum sets out to the sum of all terms in the axes of the source. mimics says that
// several terms may be of one joint's value.
func (ts *terms) sum(out *Cov, mimics bool) {
	*out = Cov{Mask: AllDims}
	inv := ts.source.Inverse()
	for i := range ts.list {
		t := &ts.list[i]
		g := inv
		g.mul(&t.frame)
		if t.cov != nil {
			if t.mask != AllDims {
				out.Mask &= transportMask(t.mask, &g)
			}
			out.S.addTransported(t.weight, &g, t.cov)
			continue
		}
		switch v := g.Adjoint(t.twist); {
		case mimics:
			ts.gather(i, &inv, out)
		case t.mask == 0:
			out.Mask &^= v.dims()
		default:
			out.S.addOuter(t.weight, v)
		}
	}
	out.settle()
}

// gather adds the motions of all joints that have the value of term i's, if i is the first of
// them. They err together, each by its own standard deviation: one edge may have ended before
// the others, so that its value is from an earlier time. What is unknown of one reading is
// unknown, but where its motions cancel out.
func (ts *terms) gather(i int, inv *Pose, out *Cov) {
	values := ts.list[i].edge.value.history
	var sum Twist
	for j := range ts.list {
		t := &ts.list[j]
		if t.cov != nil || t.edge.value.history != values {
			continue
		}
		if j < i {
			return
		}
		if t.mask != 0 {
			sum = sum.plus(t.moves(inv).Scale(math.Sqrt(t.weight)))
			continue
		}
		var unknown Twist
		for k := range ts.list {
			if o := &ts.list[k]; o.cov == nil && o.edge.value.history == values && o.reading == t.reading {
				unknown = unknown.plus(o.moves(inv))
			}
		}
		out.Mask &^= unknown.dims()
	}
	out.S.addOuter(1, sum)
}

// moves returns the motion of the source, in its axes, per unit of a joint's value.
func (t *term) moves(inv *Pose) Twist {
	g := inv.Mul(t.frame)
	return g.Adjoint(t.twist).Scale(t.side)
}

func (x Twist) plus(y Twist) Twist { return Twist{x.Rho.Add(y.Rho), x.Phi.Add(y.Phi)} }

// dims returns the mask of the dimensions in which x moves.
func (x Twist) dims() (mask uint8) {
	for i, c := range x.components() {
		if math.Abs(c) > mixes {
			mask |= 1 << i
		}
	}
	return mask
}

// AtCov is At with the covariance, a right perturbation in the source's axes.
func (p *Path) AtCov(t engram.Time) (T Pose, cov Cov, info Info, fail Failure) {
	st := p.now()
	return p.askCov(st, t)
}

// maxLinearSigma is the standard deviation of a rotation up to which first order
// covariances are good: 15°.
const maxLinearSigma = 15 * math.Pi / 180

func (p *Path) askCov(st *state, t engram.Time) (T Pose, cov Cov, info Info, fail Failure) {
	ts := termsPool.Get().(*terms)
	defer termsPool.Put(ts)
	ts.list = ts.list[:0]
	var q query
	q.init(t, st.rev)
	q.fail = &fail
	seg := p.segmentAt(st, t)
	if !seg.walk(&T, &q, ts) {
		p.blame(&fail)
		return Pose{}, Cov{}, q.info(), fail
	}
	ts.sum(&cov, seg.mimics)
	if cov.SigmaRot() > maxLinearSigma {
		q.flags |= BeyondLinear
	}
	return T, cov, q.info(), fail
}

// LatestCommonCov is LatestCommon with the covariance.
func (p *Path) LatestCommonCov() (T Pose, cov Cov, info Info, fail Failure) {
	st := p.now()
	t, fail := p.latestCommon(st)
	if fail.Code != OK {
		return Pose{}, Cov{}, Info{Revision: st.rev}, fail
	}
	return p.askCov(st, t)
}
