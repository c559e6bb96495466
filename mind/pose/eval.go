package pose

import (
	"time"

	"github.com/seed-301d4374/engram"
)

// query is one question in progress. Look-ups are so short that copying structs
// shows; so one query is handed down, and results come back in registers.
type query struct {
	t      engram.Time
	rev    Revision
	hold   int64       // >= 0: edges are held this long (ns), whatever their rules
	oldest engram.Time // sample used; MaxTime if none was
	flags  Flags
	// fail is filled in where eval returns false: the result of the question itself,
	// so that nothing has to be copied. Its about is nil if it is the path.
	fail *Failure
}

// init prepares a query, but for fail, field by field: a literal would be built
// elsewhere and copied. Whoever sets fail here would send it to the heap.
func (q *query) init(t engram.Time, rev Revision) {
	q.t, q.rev, q.hold, q.oldest = t, rev, -1, engram.MaxTime
}

func (q *query) answerFlags() Flags {
	if q.oldest == engram.MaxTime {
		return q.flags | Static
	}
	return q.flags
}

func (q *query) info() Info { return Info{q.t, q.t, q.rev, q.oldest, q.answerFlags()} }

// eval sets p to the pose of the source in the target. It returns false, with
// q.fail set, if there is none.
func (seg *segment) eval(p *Pose, q *query) bool {
	if !seg.connected {
		*q.fail = Failure{Code: NotConnected, Time: q.t}
		return false
	}
	if !seg.down.eval(p, q) {
		return false
	}
	if len(seg.up.steps) == 0 && !seg.up.hasPost {
		return true
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
		return true
	}
	for i := range c.steps {
		st := &c.steps[i]
		if i == 0 {
			*acc = st.pre
		} else if st.hasPre {
			acc.mul(&st.pre)
		}
		if st.kind == KindFree {
			if !st.free(acc, q) {
				return false
			}
		} else if !st.move(acc, q) {
			return false
		}
	}
	if c.hasPost {
		acc.mul(&c.post)
	}
	return true
}

// move sets acc, the pose of the edge's parent, to that of its child.
func (st *step) move(acc *Pose, q *query) bool {
	switch st.kind {
	case KindFree:
		return st.free(acc, q)
	case KindJoint:
		return st.joint(acc, q)
	case KindFixed:
		acc.mul(&st.edge.fixed.pose)
		return true
	}
	if len(st.edge.keys.keys) == 0 {
		*q.fail = Failure{Code: Unset, Time: q.t, about: st.edge.about}
		return false
	}
	st.edge.keys.apply(acc, q.t)
	return true
}

// rules returns the edge's rules, or those of a question that holds.
func (st *step) rules(q *query) *rules {
	if q.hold < 0 || st.edge.rules.rests() {
		return &st.edge.rules
	}
	own := st.edge.rules
	own.beyond, own.maxAge = beyondHold, time.Duration(q.hold)
	return &own
}

// free moves along a free edge.
func (st *step) free(acc *Pose, q *query) bool {
	s := st.posesNow()
	r := &st.edge.rules
	if q.hold >= 0 {
		r = st.rules(q)
	}
	a, b, u, flags, code := s.near(q.t, r, q.rev)
	if code != OK {
		return failed(st.edge, code, a, b, s, q)
	}
	q.moveBetween(acc, a, b, u, flags)
	return true
}

// moveBetween sets acc to the pose that its samples give a free edge's child.
func (q *query) moveBetween(acc *Pose, a, b *sample[Pose], u float64, flags Flags) {
	q.flags |= flags
	if a.t < q.oldest {
		q.oldest = a.t
	}
	switch {
	case b == nil:
		acc.mul(&a.v)
	case flags&Extrapolated != 0:
		p := Geodesic(a.v, b.v, u)
		acc.mul(&p)
	default:
		acc.mulInterpolated(&a.v, &b.v, u)
	}
}

// joint moves along a joint; its origin is folded into pre.
func (st *step) joint(acc *Pose, q *query) bool {
	s := st.valuesNow()
	e := st.edge
	a, b, u, flags, code := s.near(q.t, st.rules(q), q.rev)
	var value float64
	switch {
	case code == Unset && e.value.unset.Use:
		value, flags = e.value.unset.Q, Defaulted
	case code != OK:
		return failed(e, code, a, b, s, q)
	default:
		q.oldest = min(q.oldest, a.t)
		value = a.v
		if b != nil {
			value = e.value.of.between(a.v, b.v, u)
		}
	}
	q.flags |= flags
	scale, offset := e.joint.scaleOffset()
	e.joint.move(acc, scale*value+offset)
	return true
}

// failed fills in the failure of an edge; a and b are the samples beside a gap.
func failed[V, X comparable](e *edge, code FailureCode, a, b *sample[V], s snapshot[V, X], q *query) bool {
	f := q.fail
	f.Code, f.Time, f.about = code, q.t, e.about
	switch {
	case s.n == 0:
		f.First, f.Last = s.b.prunedTo, s.b.prunedTo
	case code == Gap && b != nil:
		f.First, f.Last = a.t, b.t
	default:
		f.First, f.Last = s.first(), s.last()
	}
	return false
}

// lasts returns the earliest and the latest of the times at which the histories on
// the segment end. An edge that was never set is a failure; a joint with a default
// value does not count, nor does what rests.
func (seg *segment) lasts() (earliest, latest engram.Time, fail Failure) {
	earliest, latest = engram.MaxTime, engram.MinTime
	for _, c := range [2]*chain{&seg.down, &seg.up} {
		for i := range c.steps {
			st := &c.steps[i]
			var t engram.Time
			n := 0
			switch st.kind {
			case KindFree:
				s := st.posesNow()
				if n = s.n; n > 0 && st.edge.rules.rests() {
					continue
				} else if n > 0 {
					t = s.last()
				}
			case KindJoint:
				s := st.valuesNow()
				if n = s.n; n > 0 {
					t = s.last()
				} else if st.edge.value.unset.Use {
					continue
				}
			default:
				continue
			}
			if n == 0 {
				return 0, 0, Failure{Code: Unset, Time: engram.MaxTime, about: st.edge.about}
			}
			earliest, latest = min(earliest, t), max(latest, t)
		}
	}
	return earliest, latest, Failure{}
}
