package pose

import (
	"sort"
	"time"

	"github.com/seed-301d4374/engram"
)

// rules say which times between and beyond its samples an edge answers.
type rules struct {
	maxGap time.Duration // 0: any
	beyond beyondMode
	maxAge time.Duration
	ended  bool // another parent took over: nothing more will come
}

// tooFar reports whether nothing may be interpolated between a <= b.
func (r *rules) tooFar(a, b engram.Time) bool {
	return r.maxGap > 0 && uint64(b-a) > uint64(r.maxGap)
}

type beyondMode uint8

const (
	beyondError beyondMode = iota
	beyondHold
	beyondExtrapolate
)

// around is the answer of a history at one time: a alone (b nil) or the fraction u
// between a and b, or beyond b if extrapolated. k and i locate a, k < 0 if it is
// not among the samples (superseded, pinned).
type around[V any] struct {
	a, b  *sample[V]
	u     float64
	k, i  int32
	flags Flags
	code  FailureCode
}

// span returns b-a for a <= b, also where the difference exceeds an int64.
func span(a, b engram.Time) float64 { return float64(uint64(b - a)) }

// at finds what the history says at t in the revision rev.
func (s snapshot[V, X]) at(t engram.Time, r *rules, rev Revision) (res around[V]) {
	b, n := s.b, s.n
	if n == 0 {
		res.code = Unset
		return res
	}
	last := &b.active[n-1]
	if t >= last.t {
		res.k, res.i, res.a = int32(len(b.sealed)), int32(n-1), last
		if t > last.t {
			s.beyond(&res, t, r)
		}
		if b.replacedAt > rev {
			s.restore(&res, rev)
		}
		return res
	}
	k, i := len(b.sealed), n-2
	if i < 0 || t < b.active[i].t {
		if k, i = s.locate(t); k < 0 {
			return s.before(t, r)
		}
	}
	c := b.active
	if k < len(b.sealed) {
		c = b.sealed[k].v.s
	}
	res.k, res.i, res.a = int32(k), int32(i), &c[i]
	if res.a.t != t {
		switch {
		case i+1 < len(c):
			res.b = &c[i+1]
		case k+1 < len(b.sealed):
			res.b = &b.sealed[k+1].v.s[0]
		default:
			res.b = &b.active[0]
		}
		if r.tooFar(res.a.t, res.b.t) {
			res.code = Gap
			return res
		}
		res.u = span(res.a.t, t) / span(res.a.t, res.b.t)
		res.flags = Interpolated
	}
	if b.replacedAt > rev {
		s.restore(&res, rev)
	}
	return res
}

// beyond completes the answer at t after the last sample, which is res.a.
func (s snapshot[V, X]) beyond(res *around[V], t engram.Time, r *rules) {
	switch {
	case r.beyond == beyondError || uint64(t-res.a.t) > uint64(r.maxAge):
		res.code = TooNew
		if r.ended {
			res.code = Gap
		}
	case r.beyond == beyondExtrapolate:
		res.flags = Held | Extrapolated // a single sample has no motion to continue
		if before := s.previous(int(res.k), int(res.i)); before != nil {
			res.a, res.b = before, res.a
			res.u = span(res.a.t, t) / span(res.a.t, res.b.t)
			res.flags = Extrapolated
			if res.i--; res.i < 0 {
				res.k--
				res.i = int32(len(s.b.sealed[res.k].v.s) - 1)
			}
		}
	default:
		res.flags = Held
	}
}

// previous returns the sample before sample i of chunk k, or nil.
func (s snapshot[V, X]) previous(k, i int) *sample[V] {
	if i > 0 {
		return &s.chunk(k).s[i-1]
	}
	if k > 0 {
		c := s.b.sealed[k-1].v.s
		return &c[len(c)-1]
	}
	return nil
}

// locate returns the place of the last sample at or before t, which is before the
// last sample; k < 0 if t is before the first.
func (s snapshot[V, X]) locate(t engram.Time) (k, i int) {
	b := s.b
	a := b.active[:s.n]
	if t >= a[0].t {
		return len(b.sealed), search(a, t, a[len(a)-1].t, len(a)-1)
	}
	if len(b.sealed) == 0 || t < b.sealed[0].t {
		return -1, 0
	}
	k = search(b.sealed, t, a[0].t, len(b.sealed))
	hi := a[0].t
	if k+1 < len(b.sealed) {
		hi = b.sealed[k+1].t
	}
	c := b.sealed[k].v.s
	return k, search(c, t, hi, len(c))
}

// search returns the index of the last element of s at or before t, given that
// s[0].t <= t < hi, where element number steps would have the time hi. Samples come
// at nearly equal intervals, so it guesses by proportion and then gallops.
func search[V any](s []sample[V], t, hi engram.Time, steps int) int {
	i := int(span(s[0].t, t) / span(s[0].t, hi) * float64(steps))
	if i >= len(s) {
		i = len(s) - 1
	}
	lo, end := 0, len(s) // s[lo].t <= t < s[end].t
	if s[i].t <= t {
		lo = i
		for step := 1; ; step *= 2 {
			j := lo + step
			if j >= len(s) {
				break
			}
			if s[j].t > t {
				end = j
				break
			}
			lo = j
		}
	} else {
		end = i
		for step := 1; ; step *= 2 {
			j := end - step
			if j <= 0 {
				break
			}
			if s[j].t <= t {
				lo = j
				break
			}
			end = j
		}
	}
	for end-lo > 1 {
		m := int(uint(lo+end) / 2)
		if s[m].t <= t {
			lo = m
		} else {
			end = m
		}
	}
	return lo
}

// before answers a time before the first sample.
func (s snapshot[V, X]) before(t engram.Time, r *rules) (res around[V]) {
	b := s.b
	if b.pruned == 0 || t >= b.prunedTo || t < b.born {
		res.code = TooOld
		return res
	}
	p := s.pinnedAt(t)
	if p == nil {
		res.code = Pruned
		return res
	}
	res.k, res.a = -1, &p.a
	if !p.single {
		if res.b = &p.b; r.tooFar(p.a.t, p.b.t) {
			res.code = Gap
			return res
		}
		res.flags = Interpolated
		res.u = span(p.a.t, t) / span(p.a.t, p.b.t)
	}
	return res
}

func (s snapshot[V, X]) pinnedAt(t engram.Time) *pinnedSamples[V, X] {
	p := s.b.pinned
	if i := sort.Search(len(p), func(i int) bool { return p[i].at >= t }); i < len(p) && p[i].at == t {
		return &p[i]
	}
	return nil
}

// restore puts back the samples that were replaced after the revision rev.
func (s snapshot[V, X]) restore(res *around[V], rev Revision) {
	if res.a != nil {
		if o := s.supersededAt(res.a.t, rev); o != nil {
			res.a = &o.sample
		}
	}
	if res.b != nil {
		if o := s.supersededAt(res.b.t, rev); o != nil {
			res.b = &o.sample
		}
	}
}

// supersededAt returns the sample that stood at time t in the revision rev, or nil
// if it still stands.
func (s snapshot[V, X]) supersededAt(t engram.Time, rev Revision) *superseded[V, X] {
	old := s.b.old
	i := sort.Search(len(old), func(i int) bool {
		return old[i].t > t || old[i].t == t && old[i].until > rev
	})
	if i < len(old) && old[i].t == t {
		return &old[i]
	}
	return nil
}

// extras returns the X of both samples of an answer.
func (s snapshot[V, X]) extras(res *around[V], t engram.Time, rev Revision) (xa, xb X) {
	if res.k < 0 {
		p := s.pinnedAt(t)
		return p.xa, p.xb
	}
	xa = s.extra(int(res.k), int(res.i))
	if res.b != nil {
		k, i := int(res.k), int(res.i)+1
		if i == len(s.chunk(k).s) {
			k, i = k+1, 0
		}
		xb = s.extra(k, i)
	}
	if s.b.replacedAt > rev {
		if o := s.supersededAt(res.a.t, rev); o != nil {
			xa = o.x
		}
		if res.b != nil {
			if o := s.supersededAt(res.b.t, rev); o != nil {
				xb = o.x
			}
		}
	}
	return xa, xb
}
