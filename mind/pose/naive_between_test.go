package pose

import (
	"math"

	"github.com/seed-301d4374/engram"
)

// naiveCause is what errs: a calibration, a key, a joint's value or a trajectory at a time.
// The same cause errs alike wherever it acts.
type naiveCause struct {
	fixed *naiveFixed
	edge  naiveEdge
	from  engram.Time // of the period
	leg   int         // of what errs anew in each, otherwise 0
	t     engram.Time
	late  bool // the increment of a trajectory
	i     int
	read  [2]float64 // of an unknown error of a joint: which value
}

// naiveActs is how an error moves a hop's child, in its axes, dimension by dimension.
type naiveActs struct {
	leg, hop int
	by       [6]Twist
}

// naiveError is an error with all that it moves.
type naiveError struct {
	cov  Cov
	acts []naiveActs
}

// naiveLeg is a way at one time: the hops up from the target, inverted, and then those
// down to the source.
type naiveLeg struct {
	hops []naiveHop
	ups  int
	t    engram.Time
}

func (l *naiveLeg) pose(bent int, by Twist) Pose {
	p := Identity()
	for i, h := range l.hops {
		if i == bent {
			h.p = h.p.Mul(Exp(by))
		}
		if i < l.ups {
			p = p.Mul(h.p.Inverse())
		} else {
			p = p.Mul(h.p)
		}
	}
	return p
}

// leg returns the way from source to target at t, which has an answer.
func (n *naive) leg(rev int, target, source string, t engram.Time) naiveLeg {
	way := func(f string) (hops []naiveHop) {
		for f != "" {
			h := n.hop(rev, f, t, false)
			hops = append(hops, h)
			f = h.parent
		}
		return hops[:len(hops)-1]
	}
	up, down := way(target), way(source)
	for len(up) > 0 && len(down) > 0 && up[len(up)-1].child == down[len(down)-1].child {
		up, down = up[:len(up)-1], down[:len(down)-1]
	}
	for _, hops := range [2][]naiveHop{up, down} {
		for i := range hops {
			if i+1 < len(hops) && hops[i+1].kind == KindAnchor {
				hops[i] = n.hop(rev, hops[i].child, t, true)
				hops[i].below = true
			}
		}
	}
	l := naiveLeg{up, len(up), t}
	for i := len(down) - 1; i >= 0; i-- {
		l.hops = append(l.hops, down[i])
	}
	return l
}

// betweenCov is what docs/pose.md says of BetweenCov, with the derivatives by all errors
// found by bending the ways. It does not judge samples with covariances of their own that
// are on both ways: known is false then.
func (n *naive) betweenCov(rev int, target, source, fixed string, t1, t2 engram.Time) (cov Cov, known bool) {
	if t1 == t2 {
		return n.lookup(rev, target, source, t1).cov, true
	}
	legs := [2]naiveLeg{n.leg(rev, target, fixed, t1), n.leg(rev, fixed, source, t2)}
	errors := map[naiveCause]*naiveError{}
	add := func(c naiveCause, cov Cov, a naiveActs) {
		if errors[c] == nil {
			errors[c] = &naiveError{cov: cov}
		}
		errors[c].acts = append(errors[c].acts, a)
	}
	for li, leg := range legs {
		for hi, h := range leg.hops {
			p, _ := n.states[rev].at(h.child, leg.t)
			e := naiveEdge{h.parent, h.child}
			acts := naiveActs{leg: li, hop: hi}
			moved := func(from Pose, weight float64) naiveActs {
				for k := range 6 {
					acts.by[k] = h.p.Inverse().Mul(from).Adjoint(basisTwist(k)).Scale(weight)
				}
				return acts
			}
			switch h.kind {
			case KindFixed:
				add(naiveCause{fixed: p.fixed}, p.fixed.cov, moved(h.p, 1))
			case KindAnchor:
				for _, k := range h.keys {
					add(naiveCause{edge: e, t: k.t}, k.cov, moved(k.c, math.Sqrt(k.share)))
				}
			case KindJoint:
				term := h.terms[0]
				cause := naiveCause{edge: naiveEdge{"", term.joint}, leg: 1 + li}
				acts.by[0] = term.twist
				c := Cov{S: Sym6{term.sigma * term.sigma}, Mask: AllDims}
				if math.IsNaN(term.sigma) {
					c, cause.read = Cov{Mask: AllDims &^ 1}, term.from
				}
				add(cause, c, acts)
			default:
				other := n.onOther(legs[1-li], e, rev, p.from)
				if other == nil || h.grown == nil || other.grown == nil || h.below || other.below {
					if other != nil && (h.own || other.own) {
						return cov, false
					}
					for i, term := range h.terms {
						add(naiveCause{edge: e, leg: 1 + li, i: i}, term.cov, moved(term.at, 1))
					}
					continue
				}
				cause := naiveCause{edge: e, from: p.from}
				if leg.t < legs[1-li].t {
					add(cause, *h.grown, moved(h.p, 1))
					continue
				}
				add(cause, *other.grown, moved(other.p, 1))
				cause.late = true
				add(cause, h.rate.scaled(float64(leg.t-legs[1-li].t)/1e9), moved(h.p, 1))
			}
		}
	}
	cov = ExactCov()
	whole := func(leg, hop int, by Twist) Pose {
		p := [2]Pose{}
		for i := range legs {
			p[i] = legs[i].pose(-1, by)
			if i == leg {
				p[i] = legs[i].pose(hop, by)
			}
		}
		return p[0].Mul(p[1])
	}
	for _, e := range errors {
		var j matrix6
		for k := range 6 {
			for _, a := range e.acts {
				const step = 1e-5
				d := Log(whole(a.leg, a.hop, a.by[k].Scale(-step)).Inverse().Mul(whole(a.leg, a.hop, a.by[k].Scale(step)))).components()
				for i := range 6 {
					j[i][k] += d[i] / (2 * step)
				}
			}
			for i := range 6 {
				if math.Abs(j[i][k]) < 1e-7 { // they cancel
					j[i][k] = 0
				}
			}
		}
		cov.addLinear(&j, &e.cov)
	}
	cov.clearUnmasked()
	return cov, true
}

// onOther returns the hop of the same edge, in the same period, on the other way.
func (n *naive) onOther(leg naiveLeg, e naiveEdge, rev int, from engram.Time) *naiveHop {
	for i := range leg.hops {
		h := &leg.hops[i]
		if p, _ := n.states[rev].at(h.child, leg.t); (naiveEdge{h.parent, h.child}) == e && p.from == from {
			return h
		}
	}
	return nil
}
