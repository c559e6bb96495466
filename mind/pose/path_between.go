package pose

import (
	"math"

	"github.com/seed-301d4374/engram"
)

// legs are the two paths of a Between through one fixed frame.
type legs struct {
	fixed    string
	to, from *Path // target ← fixed, fixed ← source
}

func (p *Path) legsThrough(st *state, fixed string) (*legs, Failure) {
	if l := p.legs.Load(); l != nil && l.fixed == fixed {
		return l, Failure{}
	}
	id, ok := p.store.frameID(st.content, fixed)
	if !ok {
		return nil, unknownFrame(fixed, 0)
	}
	l := &legs{
		fixed: fixed,
		to:    p.store.pathOf(p.view, p.about.of, fixed, p.target, id),
		from:  p.store.pathOf(p.view, fixed, p.about.to, id, p.source),
	}
	p.legs.Store(l)
	return l, Failure{}
}

// Between answers where the source was at sourceTime, as seen from the target at
// targetTime, given that the frame fixed did not move meanwhile:
// target(targetTime) ← fixed ← source(sourceTime). Where the base was a second ago,
// seen from itself, is Between(now, now-1s, "rover1/odom") on the path from the base
// to the base.
func (p *Path) Between(targetTime, sourceTime engram.Time, fixed string) (T Pose, info Info, fail Failure) {
	st := p.now()
	l, fail := p.legsThrough(st, fixed)
	if fail.Code != OK {
		return Pose{}, Info{Revision: st.rev}, fail
	}
	to, info, fail := l.to.at(st, targetTime)
	if fail.Code != OK {
		return Pose{}, info, fail
	}
	from, info2, fail := l.from.at(st, sourceTime)
	if fail.Code != OK {
		return Pose{}, info2, fail
	}
	return to.Mul(from), info.then(&info2), Failure{}
}

// then returns the info of an answer made of two.
func (i Info) then(j *Info) Info {
	static := i.Flags & j.Flags & Static
	i.SourceTime = j.SourceTime
	i.Oldest = min(i.Oldest, j.Oldest)
	i.Flags = (i.Flags|j.Flags)&^Static | static
	return i
}

// BetweenCov is Between with the covariance. What is on both ways errs on both:
//
//   - a constant edge has one error, the same at both times;
//   - a free edge whose uncertainty adds up (GrowthNoise, or samples whose own
//     covariances grow) contributes its error at the earlier time to both, and the
//     increment since to one; for the motion within one trajectory only the increment
//     remains;
//   - the keys of an anchor err independently of each other, and each alike at both
//     times: under one held key nothing remains of it, and from one key to another
//     both count. Between two keys the errors of both are mixed by the square roots of
//     their shares, which gives the covariance of [Path.AtCov] at each time, and less
//     the nearer the two times are;
//   - joints, and free edges with constant noise or samples whose own covariances do
//     not grow, err anew at each time.
func (p *Path) BetweenCov(targetTime, sourceTime engram.Time, fixed string) (T Pose, cov Cov, info Info, fail Failure) {
	st := p.now()
	l, fail := p.legsThrough(st, fixed)
	if fail.Code != OK {
		return Pose{}, Cov{}, Info{Revision: st.rev}, fail
	}
	ts1, ts2 := terms{linked: true}, terms{linked: true}
	to, info, fail := l.to.collect(st, targetTime, &ts1)
	if fail.Code != OK {
		return Pose{}, Cov{}, info, fail
	}
	from, info2, fail := l.from.collect(st, sourceTime, &ts2)
	if fail.Code != OK {
		return Pose{}, Cov{}, info2, fail
	}
	b := between{Cov: Cov{Mask: AllDims}}
	// Everything is brought into the axes of the source at its time: the second
	// leg's own source, and the first leg's, fixed, seen from there.
	b.first = ts1.movedTo(from.Inverse().Mul(ts1.source.Inverse()))
	b.second = ts2.movedTo(ts2.source.Inverse())
	info = info.then(&info2)
	if targetTime == sourceTime {
		_, b.Cov, _, _ = p.askCov(st, targetTime) // of what is on both ways nothing remains
	} else {
		b.sum(targetTime, sourceTime, st.rev)
	}
	if b.SigmaRot() > maxLinearSigma {
		info.Flags |= BeyondLinear
	}
	return to.Mul(from), b.Cov, info, Failure{}
}

// collect evaluates an unfolded segment and collects its terms.
func (p *Path) collect(st *state, t engram.Time, ts *terms) (T Pose, info Info, fail Failure) {
	var q query
	q.init(t, st.rev)
	q.fail = &fail
	if !st.content.compile(p.target, p.source, t, p.view, true).walk(&T, &q, ts) {
		p.blame(&fail)
		return Pose{}, q.info(), fail
	}
	return T, q.info(), fail
}

// link is one edge of a way at one time.
type link struct {
	step  *step
	side  float64
	frame Pose // of the child, in the chains' top frame or where movedTo brought it
	own   Pose // of the child in the parent
}

// movedTo brings frames into the axes of another frame, to which move leads.
func (ts *terms) movedTo(move Pose) *terms {
	for i := range ts.list {
		ts.list[i].frame = move.Mul(ts.list[i].frame)
	}
	for i := range ts.links {
		ts.links[i].frame = move.Mul(ts.links[i].frame)
	}
	return ts
}

func (ts *terms) link(e *edge) *link {
	for i := range ts.links {
		if ts.links[i].step.edge == e {
			return &ts.links[i]
		}
	}
	return nil
}

// between sums the terms of two legs, all in the source's axes.
type between struct {
	Cov
	first, second *terms // at the target's and at the source's time
}

func (b *between) sum(targetTime, sourceTime engram.Time, rev Revision) {
	together := map[*edge]bool{}
	for i := range b.first.links {
		one := &b.first.links[i]
		e := one.step.edge
		two := b.second.link(e)
		switch {
		case two == nil:
		case e.kind == KindFixed:
			f, g := one.frame.sideways(one.side), two.frame.sideways(two.side)
			b.addBoth(&f, &g, &e.fixed.cov)
			together[e] = true
		case e.kind == KindAnchor:
			b.addKeys(one, targetTime, two, sourceTime)
			together[e] = true
		case sourceTime < targetTime:
			together[e] = b.addTrajectory(two, sourceTime, one, targetTime, rev)
		default:
			together[e] = b.addTrajectory(one, targetTime, two, sourceTime, rev)
		}
	}
	for _, leg := range [2]*terms{b.first, b.second} {
		rest := terms{source: Identity()}
		for _, t := range leg.list {
			if !together[t.edge] {
				rest.list = append(rest.list, t)
			}
		}
		var part Cov
		rest.sum(&part, true)
		b.Cov = b.plus(&part)
	}
}

// lever says how a perturbation acts on the answer: as its derivative j, if there is
// one, in the axes of a frame, times a weight, which is negative on the target's side.
type lever struct {
	frame  Pose
	weight float64
	j      *matrix6
}

func (a Pose) sideways(side float64) lever { return lever{frame: a, weight: side} }

// act returns how the answer moves with dimension k of the perturbation.
func (l *lever) act(k int) [6]float64 {
	x := basisTwist(k)
	if l.j != nil {
		x = Twist{Vec3{l.j[0][k], l.j[1][k], l.j[2][k]}, Vec3{l.j[3][k], l.j[4][k], l.j[5][k]}}
	}
	return l.frame.Adjoint(x).Scale(l.weight).components()
}

// addBoth adds a perturbation with the covariance c that acts by f on one leg and,
// being the same, by g on the other.
func (b *between) addBoth(f, g *lever, c *Cov) {
	var j [6][6]float64
	for k := range 6 {
		x, y := f.act(k), g.act(k)
		for i := range 6 {
			if j[i][k] = x[i] + y[i]; math.Abs(j[i][k]) <= 1e-12*math.Abs(x[i]) {
				j[i][k] = 0 // they cancel but for rounding
			}
		}
	}
	b.addLinear(&j, c)
}

// addKeys adds the errors of an anchor's keys, each of which may act at both times.
func (b *between) addKeys(one *link, oneTime engram.Time, two *link, twoTime engram.Time) {
	a := one.step.edge.keys
	i, u := a.find(oneTime)
	j, v := a.find(twoTime)
	for k := min(i, j); k <= max(i, j)+1 && k < len(a.keys); k++ {
		f, g := one.ofKey(a, k, i, u), two.ofKey(a, k, j, v)
		if f.weight != 0 || g.weight != 0 {
			b.addBoth(&f, &g, a.cov(k))
		}
	}
}

// ofKey says how the error of key k acts at a time that is the fraction u behind key i.
func (l *link) ofKey(a *anchorKeys, k, i int, u float64) lever {
	share := 0.0
	switch k {
	case i:
		share = 1 - u
	case i + 1:
		share = u
	}
	if share != 0 && u != 0 && l.step.edge.cfg.propagate {
		ja, jb := geodesicJacobians(a.keys[i].v.c, a.keys[i+1].v.c, u)
		if k == i {
			jb = ja
		}
		return lever{l.frame, l.side, &jb}
	}
	return l.frame.Mul(l.own.Inverse().Mul(a.keys[k].v.c)).sideways(l.side * math.Sqrt(share))
}

// addTrajectory adds what an edge errs at the earlier time, which the later one
// inherits, and the increment between them. It returns false, and adds nothing, if
// the edge's errors do not add up along the way but are independent.
func (b *between) addTrajectory(early *link, earlyTime engram.Time, late *link, lateTime engram.Time, rev Revision) bool {
	covEarly, own1, ok1 := early.covAlone(earlyTime, rev)
	covLate, own2, ok2 := late.covAlone(lateTime, rev)
	if !ok1 || !ok2 || own1 != own2 {
		return false
	}
	inc := late.step.edge.cfg.noise.rate.scaled(lateTime.Sub(earlyTime).Seconds())
	if own1 {
		var grows bool
		inc, grows = increment(early.own, &covEarly, late.own, &covLate)
		if !grows || inc.State() == Exact && covLate.State() != Exact && early.own != late.own {
			return false
		}
	}
	f := early.frame.sideways(early.side)
	g := late.frame.Mul(late.own.Inverse().Mul(early.own)).sideways(late.side)
	b.addBoth(&f, &g, &covEarly)
	moved := inc.Transported(late.frame)
	b.Cov = b.plus(&moved)
	return true
}

// covAlone returns the covariance of the edge by itself, if it is one that may add up
// along the way: that which the samples bring, or that of GrowthNoise where none does.
func (l *link) covAlone(t engram.Time, rev Revision) (cov Cov, own, ok bool) {
	e := l.step.edge
	grows := e.cfg.noise.kind == noiseGrowth
	if e.kind != KindFree || l.step.below != nil || e.cfg.propagate && !grows {
		return cov, false, false
	}
	s := l.step.posesNow()
	if _, cov, own = poseAndCov(s, t, &e.rules, rev); own {
		return cov, true, true
	}
	res := s.at(t, &e.rules, rev)
	if a, b := s.extras(&res, t, rev); !grows || valueOr(a).Mask|valueOr(b).Mask != 0 {
		return cov, false, false
	}
	rate := e.cfg.noise.rate.scaled(growthSeconds(l.step, s, t))
	return e.cfg.noise.cov.plus(&rate), false, true
}
