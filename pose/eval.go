package pose

import (
	"time"

	"github.com/seed-301d4374/engram"
)

// query is one question in progress.
type query struct {
	t    engram.Time
	rev  Revision
	hold time.Duration // >= 0: edges are held this long, whatever their rules
	info Info
	fail Failure
	// terms collects what the covariance is made of; nil if it is not asked for.
	terms *terms
}

func newQuery(t engram.Time, rev Revision) query {
	return query{
		t: t, rev: rev, hold: -1,
		info: Info{TargetTime: t, SourceTime: t, Revision: rev, Oldest: engram.MaxTime},
	}
}

// eval sets p to the pose of the source in the target.
func (seg *segment) eval(p *Pose, q *query) bool {
	if !seg.connected {
		q.fail = Failure{Code: NotConnected, Time: q.t}
		return false
	}
	if !seg.down.eval(p, q) {
		return false
	}
	if q.terms != nil {
		q.terms.source = *p
	}
	if len(seg.up.steps) == 0 && !seg.up.hasPost {
		return true
	}
	if q.terms != nil {
		q.terms.side = -1
	}
	var up Pose
	if !seg.up.eval(&up, q) {
		return false
	}
	up = up.Inverse()
	up.mul(p)
	*p = up
	return true
}

// eval sets acc to the pose of the chain's end in its top frame.
func (c *chain) eval(acc *Pose, q *query) bool {
	if len(c.steps) == 0 {
		*acc = c.post
		if q.terms != nil {
			q.terms.addRoot(c.rootCov)
			q.terms.addCov(acc, c.postCov, nil)
		}
		return true
	}
	*acc = c.steps[0].pre
	if q.terms != nil {
		q.terms.addRoot(c.rootCov)
	}
	for i := range c.steps {
		st := &c.steps[i]
		if i > 0 && st.hasPre {
			acc.mul(&st.pre)
		}
		if q.terms != nil {
			q.terms.addCov(acc, st.preCov, nil)
		}
		var parent Pose
		if q.terms != nil {
			parent = *acc
		}
		ok := true
		switch st.edge.kind {
		case KindFree:
			ok = st.free(acc, &parent, q)
		case KindJoint:
			ok = st.joint(acc, q)
		case KindFixed:
			acc.mul(&st.edge.fixed.pose)
			if q.terms != nil {
				q.terms.addCov(acc, &st.edge.fixed.cov, st.edge)
			}
		default:
			ok = st.anchor(acc, q)
		}
		if !ok {
			return false
		}
		if q.terms != nil && q.terms.linked {
			q.terms.links = append(q.terms.links, link{st, q.terms.side, *acc, parent.Inverse().Mul(*acc)})
		}
	}
	if c.hasPost {
		acc.mul(&c.post)
	}
	if q.terms != nil {
		q.terms.addCov(acc, c.postCov, nil)
	}
	return true
}

// rules returns the edge's rules, or those of a question that holds.
func (st *step) rules(q *query, own *rules) *rules {
	if q.hold < 0 {
		return &st.edge.rules
	}
	*own = st.edge.rules
	own.beyond, own.maxAge = beyondHold, q.hold
	return own
}

// free sets acc to acc·T(t). parent is what acc was, if terms are collected.
func (st *step) free(acc, parent *Pose, q *query) bool {
	s := st.posesNow()
	var own rules
	res := s.at(q.t, st.rules(q, &own), q.rev)
	if res.code != OK {
		return failed(st.edge, &res, s, q)
	}
	q.info.Flags |= res.flags
	q.info.Oldest = min(q.info.Oldest, res.a.t)
	switch {
	case res.b == nil:
		acc.mul(&res.a.v)
	case res.flags&Extrapolated != 0:
		p := Geodesic(res.a.v, res.b.v, res.u)
		acc.mul(&p)
	default:
		var p Pose
		interpolate(&p, &res.a.v, &res.b.v, res.u)
		acc.mul(&p)
	}
	if q.terms != nil {
		q.terms.addFree(parent, acc, st, s, &res, q)
	}
	return true
}

// joint sets acc to acc·motion(q(t)); the joint's origin is folded into pre.
func (st *step) joint(acc *Pose, q *query) bool {
	s := st.valuesNow()
	e := st.edge
	var own rules
	res := s.at(q.t, st.rules(q, &own), q.rev)
	var value float64
	switch {
	case res.code == Unset && e.unset.Use:
		value = e.unset.Q
		q.info.Flags |= Defaulted
	case res.code != OK:
		return failed(e, &res, s, q)
	default:
		q.info.Flags |= res.flags
		q.info.Oldest = min(q.info.Oldest, res.a.t)
		value = res.a.v
		if res.b != nil {
			value = e.joint.between(res.a.v, res.b.v, res.u)
		}
	}
	scale, offset := e.joint.scaleOffset()
	e.joint.move(acc, scale*value+offset)
	if q.terms != nil {
		q.terms.addJoint(acc, st, s, &res, q)
	}
	return true
}

// anchor sets acc to acc·C(t).
func (st *step) anchor(acc *Pose, q *query) bool {
	if len(st.edge.keys.keys) == 0 {
		q.fail = Failure{Code: Unset, Time: q.t, edge: st.edge}
		return false
	}
	if q.terms != nil {
		q.terms.addAnchor(acc, st, q.t)
	}
	st.edge.keys.apply(acc, q.t)
	return true
}

// failed fills in the failure of an edge.
func failed[V, X comparable](e *edge, res *around[V], s snapshot[V, X], q *query) bool {
	q.fail.Code, q.fail.Time, q.fail.edge = res.code, q.t, e
	switch {
	case res.code == Unset:
	case res.code == Gap && res.b != nil:
		q.fail.First, q.fail.Last = res.a.t, res.b.t
	default:
		q.fail.First, q.fail.Last = s.first(), s.last()
	}
	return false
}

// lasts returns the earliest and the latest of the times at which the histories on
// the segment end. An edge that was never set is a failure; a joint with a default
// value does not count.
func (seg *segment) lasts() (earliest, latest engram.Time, fail Failure) {
	earliest, latest = engram.MaxTime, engram.MinTime
	for _, c := range [2]*chain{&seg.down, &seg.up} {
		for i := range c.steps {
			st := &c.steps[i]
			var t engram.Time
			switch e := st.edge; e.kind {
			case KindFree:
				s := st.posesNow()
				if s.n == 0 {
					return 0, 0, Failure{Code: Unset, Time: engram.MaxTime, edge: e}
				}
				t = s.last()
			case KindJoint:
				s := st.valuesNow()
				if s.n == 0 && e.unset.Use {
					continue
				}
				if s.n == 0 {
					return 0, 0, Failure{Code: Unset, Time: engram.MaxTime, edge: e}
				}
				t = s.last()
			default:
				continue
			}
			earliest, latest = min(earliest, t), max(latest, t)
		}
	}
	return earliest, latest, Failure{}
}
