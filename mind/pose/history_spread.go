package pose

import (
	"math"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// ball encloses poses: translations within r of c.T, and rotations whose quaternions
// are within the chord e of c.R. The value of a joint stands as c.T.X. Balls are
// convex: one around samples holds what is interpolated between them, too.
type ball struct {
	c    Pose
	r, e float64
}

// add widens b until it holds o.
func (b *ball) add(o *ball) {
	b.r = max(b.r, o.c.T.Sub(b.c.T).Norm()+o.r)
	b.e = max(b.e, chord(&o.c.R, &b.c.R)+o.e)
}

func (b *ball) addPose(p Pose) { b.add(&ball{c: p}) }

// chunkBalls are those of a chunk that is never written again, made when they are
// first asked for: of every ballRun samples, and of all.
type chunkBalls struct {
	once sync.Once
	runs []ball
	all  ball
}

const ballRun = 64

// poseOf and poseOfValue are the poses that balls are made of.
func poseOf(p *Pose) Pose         { return *p }
func poseOfValue(v *float64) Pose { return Translation(*v, 0, 0) }
func ballOf[V any](s []sample[V], pose func(*V) Pose) ball {
	b := ball{c: pose(&s[len(s)/2].v)}
	for i := range s {
		b.addPose(pose(&s[i].v))
	}
	return b
}

// ballOfAll encloses balls.
func ballOfAll(list []ball) ball {
	b := list[len(list)/2]
	for i := range list {
		b.add(&list[i])
	}
	return b
}

// ball encloses the samples from lo up to hi of a chunk. If they are a part of n, so
// many that it does not matter, it encloses some beside them, too.
func (c *chunk[V, X]) ball(lo, hi, n int, pose func(*V) Pose) ball {
	if c.balls == nil || n <= ballRun {
		return ballOf(c.s[lo:hi], pose)
	}
	c.balls.once.Do(func() {
		for i := 0; i < len(c.s); i += ballRun {
			c.balls.runs = append(c.balls.runs, ballOf(c.s[i:min(i+ballRun, len(c.s))], pose))
		}
		c.balls.all = ballOfAll(c.balls.runs)
	})
	if n > len(c.s)/2 || hi-lo == len(c.s) {
		return c.balls.all
	}
	return ballOfAll(c.balls.runs[lo/ballRun : (hi-1)/ballRun+1])
}

// enclose returns a ball around the n samples from i of chunk k to j of chunk l.
func (s snapshot[V, X]) enclose(k, i, l, j, n int, pose func(*V) Pose) ball {
	part := func(m int) ball {
		c := s.chunk(m)
		lo, hi := 0, len(c.s)
		if m == k {
			lo = i
		}
		if m == l {
			hi = j + 1
		}
		return c.ball(lo, hi, n, pose)
	}
	b := part((k + l) / 2)
	for m := k; m <= l; m++ {
		if m != (k+l)/2 {
			o := part(m)
			b.add(&o)
		}
	}
	return b
}

// next returns the place of the sample behind sample i of chunk k, which there must
// be.
func (s snapshot[V, X]) next(k, i int) (int, int) {
	if k < len(s.b.sealed) && i+1 == len(s.b.sealed[k].v.s) {
		return k + 1, 0
	}
	return k, i + 1
}

// between encloses what a history with samples answers in a closed span, and returns
// false if that is nothing but at its ends.
func (s snapshot[V, X]) between(from, to engram.Time, r *rules, rev Revision, pose func(*V) Pose, mix func(a, b *V, u float64) Pose) (out ball, ok bool) {
	if s.n == 0 {
		return out, false
	}
	ok = true
	last := s.last()
	k, i := s.locateAny(max(from, s.first()))
	l, j := s.locateAny(max(to, s.first()))
	n := j - i // samples in (from, to]
	for m := k; m < l; m++ {
		n += len(s.chunk(m).s)
	}
	if n > ballRun {
		if l < len(s.b.sealed) || j+1 < s.n {
			l, j = s.next(l, j)
		}
		out = s.enclose(k, i, l, j, n, pose)
	} else {
		at := func(t engram.Time, k, i int) Pose { // sample i of chunk k is at or before t
			a, b, u, _, code := s.near(t, r, rev)
			switch {
			case code != OK: // outside of all that counts
				c := s.chunk(k)
				return pose(&c.s[i].v)
			case b == nil:
				return pose(&a.v)
			}
			return mix(&a.v, &b.v, u)
		}
		a, b := at(from, k, i), at(to, l, j)
		if n == 0 || n == 1 && s.chunk(l).s[j].t == to {
			ok = n == 0 || !r.tooFar(s.chunk(k).s[i].t, to)
			out.c = Interpolate(a, b, 0.5)
		} else {
			k, i = s.next(k, i)
			out = s.enclose(k, i, l, j, n, pose)
		}
		out.addPose(a)
		out.addPose(b)
	}
	if to > last && r.beyond == beyondExtrapolate {
		if before := s.previous(len(s.b.sealed), s.n-1); before != nil {
			a, b := pose(&before.v), pose(&s.b.active[s.n-1].v)
			x := Log(a.Inverse().Mul(b)).Scale(span(max(from, last), to) / span(before.t, last))
			out.r += x.Rho.Norm()
			out.e += x.Phi.Norm() / 2
		}
	}
	return out, ok
}

// spread says how far an edge moves in a span.
type spread struct {
	reach float64 // from the parent's to the child's origin at most
	r, e  float64 // as those of a ball
}

// spread returns that of an edge that can answer in a closed span, and false if it
// answers nowhere in it but at the ends.
func (st *step) spread(from, to engram.Time, rev Revision, up bool) (out spread, ok bool) {
	switch st.kind {
	case KindFree:
		b, in := st.posesNow().between(from, to, &st.edge.rules, rev, poseOf, func(a, b *Pose, u float64) Pose {
			if u > 1 {
				return Geodesic(*a, *b, u)
			}
			return Interpolate(*a, *b, u)
		})
		out, ok = spread{b.c.T.Norm() + b.r, b.r, b.e}, in
	case KindJoint:
		out, ok = st.jointSpread(from, to, rev)
	case KindAnchor:
		b := st.edge.keys.between(from, to)
		out, ok = spread{b.c.T.Norm() + b.r, b.r, b.e}, true
	}
	if out.e = min(out.e, 2); up {
		out.r += min(2*out.e, 2) * out.reach
	}
	return out, ok
}

func (st *step) jointSpread(from, to engram.Time, rev Revision) (out spread, ok bool) {
	j, of := st.edge.joint, st.edge.value.of
	s := st.valuesNow()
	b, ok := ball{c: poseOfValue(&st.edge.value.unset.Q)}, true
	if s.n > 0 {
		b, ok = s.between(from, to, &st.edge.rules, rev, poseOfValue, func(a, b *float64, u float64) Pose {
			v := of.between(*a, *b, u)
			return poseOfValue(&v)
		})
	}
	scale, offset := j.scaleOffset()
	seam := of.Type == urdf.Continuous && b.r > math.Pi/2 // values may jump there, and be up to π beyond the samples
	if seam {
		b.r += math.Pi
	}
	r := b.r * math.Abs(scale)
	switch {
	case j.Type == urdf.Prismatic:
		out = spread{math.Abs(scale*b.c.T.X+offset) + r, r, 0}
	case seam:
		out.e = 2
	default:
		out.e = r / 2
	}
	return out, ok
}

// between encloses the corrections in a closed span.
func (a *anchorKeys) between(from, to engram.Time) (b ball) {
	at := func(t engram.Time) Pose {
		p := Identity()
		a.apply(&p, t)
		return p
	}
	i, j := a.before(from, 0), a.before(to, 0)
	b.c = at(from + engram.Time(uint64(to-from)/2))
	b.addPose(at(from))
	b.addPose(at(to))
	var way, turn float64 // along the longest screw between two keys
	for m := max(i, 0); m <= j; m++ {
		if m > i {
			b.addPose(a.keys[m].v.c)
		}
		if m+1 < len(a.keys) {
			next := &a.keys[m+1].v
			part := 1.0
			if i == j {
				part = span(from, to) / span(a.keys[m].t, a.keys[m+1].t)
			}
			way, turn = max(way, part*next.way), max(turn, part*next.turn)
		}
	}
	b.r += way / 2
	b.e += turn / 4
	return b
}
