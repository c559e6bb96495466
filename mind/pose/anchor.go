package pose

import (
	"github.com/seed-301d4374/engram"
)

// anchorKeys is one version of an anchor: the corrections at its key times. It is
// immutable; versions share the array where only keys behind the last were added.
type anchorKeys struct {
	keys []sample[anchorKey]
	covs []*Cov // of the keys; nil for an unknown one
}

// anchorKey is the correction C at a key time and the twist that leads to it from
// the key before, Log(C_before⁻¹·C). It says nothing of the next key, so that a
// version may append to the array of the one before.
type anchorKey struct {
	c         Pose
	fromPrev  Twist
	way, turn float64 // how far that twist leads, and turns
}

// keyChange is a key to be written.
type keyChange struct {
	t   engram.Time
	c   Pose
	cov *Cov // nil if unknown
}

// with returns the version in which the keys in the spans replaced are gone and
// those of add, sorted by time, stand. Of two keys at the same time the later in
// add, and one in add before one that stood, wins.
func (a *anchorKeys) with(replaced []engram.Interval, add []keyChange) *anchorKeys {
	if len(replaced) == 0 && len(add) > 0 && (len(a.keys) == 0 || add[0].t > a.keys[len(a.keys)-1].t) {
		return a.appended(add)
	}
	out := &anchorKeys{
		keys: make([]sample[anchorKey], 0, len(a.keys)+len(add)),
		covs: make([]*Cov, 0, len(a.keys)+len(add)),
	}
	i := 0
	keepUntil := func(t engram.Time) { // takes over the old keys before t
		for ; i < len(a.keys) && a.keys[i].t < t; i++ {
			if !inAny(replaced, a.keys[i].t) {
				out.keys = append(out.keys, a.keys[i])
				out.covs = append(out.covs, a.covs[i])
			}
		}
	}
	for j := range add {
		k := &add[j]
		if j+1 < len(add) && add[j+1].t == k.t {
			continue
		}
		keepUntil(k.t)
		if i < len(a.keys) && a.keys[i].t == k.t {
			i++
		}
		out.keys = append(out.keys, sample[anchorKey]{k.t, anchorKey{c: k.c}})
		out.covs = append(out.covs, k.cov)
	}
	keepUntil(engram.MaxTime)
	out.link(0)
	return out
}

// appended adds keys behind the last, in the same array if it has room: older
// versions end before them, and there is only one newest version to append to.
func (a *anchorKeys) appended(add []keyChange) *anchorKeys {
	out := &anchorKeys{keys: a.keys, covs: a.covs}
	for j := range add {
		k := &add[j]
		if j+1 < len(add) && add[j+1].t == k.t {
			continue
		}
		out.keys = append(out.keys, sample[anchorKey]{k.t, anchorKey{c: k.c}})
		out.covs = append(out.covs, k.cov)
	}
	out.link(len(a.keys))
	return out
}

// link computes the twists that lead to the keys from the index from on.
func (a *anchorKeys) link(from int) {
	for i := max(from, 1); i < len(a.keys); i++ {
		before := &a.keys[i-1].v.c
		k := &a.keys[i].v
		k.fromPrev = Log(before.Inverse().Mul(k.c))
		k.way, k.turn = k.fromPrev.Rho.Norm(), k.fromPrev.Phi.Norm()
	}
}

// cov returns the covariance of key i.
func (a *anchorKeys) cov(i int) *Cov {
	if c := a.covs[i]; c != nil {
		return c
	}
	return &unknownCov
}

var unknownCov Cov

func inAny(spans []engram.Interval, t engram.Time) bool {
	for _, iv := range spans {
		if iv.Contains(t) {
			return true
		}
	}
	return false
}

// find returns the key at or before t and the fraction u of the way to the next; u
// is 0 where the correction is held: at a key, before the first and after the
// last. There must be a key.
func (a *anchorKeys) find(t engram.Time) (i int, u float64) {
	n := len(a.keys)
	last := a.keys[n-1].t
	if t >= last {
		return n - 1, 0
	}
	if t <= a.keys[0].t {
		return 0, 0
	}
	if i = n - 2; t < a.keys[i].t {
		i = search(a.keys, t, proportion(a.keys[0].t, t, last, n-1))
	}
	return i, span(a.keys[i].t, t) / span(a.keys[i].t, a.keys[i+1].t)
}

// apply sets acc to acc·C(t).
func (a *anchorKeys) apply(acc *Pose, t engram.Time) {
	i, u := a.find(t)
	acc.mul(&a.keys[i].v.c)
	if u != 0 {
		step := Exp(a.keys[i+1].v.fromPrev.Scale(u))
		acc.mul(&step)
	}
}

// nearest returns the time of the key nearest to t.
func (a *anchorKeys) nearest(t engram.Time) engram.Time {
	i, u := a.find(t)
	if u > 0.5 {
		i++
	}
	return a.keys[i].t
}
