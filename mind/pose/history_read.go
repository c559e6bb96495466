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
	until  engram.Time // another parent takes over then: nothing more will come; MaxTime if none does
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

// near is at for those who need the samples only. It goes straight to where most
// questions end, between the newest samples or between any two.
func (s snapshot[V, X]) near(t engram.Time, r *rules, rev Revision) (a, b *sample[V], u float64, flags Flags, code FailureCode) {
	n := s.n
	if n >= 2 && s.b.replacedAt <= rev {
		b, a = &s.b.active[n-1], &s.b.active[n-2]
		if t == b.t {
			return b, nil, 0, 0, OK
		}
		if t < b.t {
			if t < a.t {
				k, i := s.locate(t)
				if k < 0 {
					goto anything
				}
				a, b = s.pair(k, i)
			}
			if a.t == t {
				return a, nil, 0, 0, OK
			}
			if r.tooFar(a.t, b.t) {
				return a, b, 0, 0, Gap
			}
			return a, b, span(a.t, t) / span(a.t, b.t), Interpolated, OK
		}
		if r.beyond == beyondError && r.until == engram.MaxTime {
			return b, nil, 0, 0, TooNew
		}
	}
anything:
	res := s.at(t, r, rev)
	return res.a, res.b, res.u, res.flags, res.code
}

// until returns what there is before t, for an edge that ends then while others go on
// to use its history.
func (s snapshot[V, X]) until(t engram.Time) snapshot[V, X] {
	if s.n == 0 || s.last() < t {
		return s
	}
	n, b := 0, s.b.clone(0)
	b.sealed, b.active, b.activeX = nil, nil, nil
	if b.born >= t {
		b.pruned = 0 // nothing was there
	}
	if s.first() < t {
		k, i := s.locateAny(t - 1)
		c := s.chunk(k)
		n, b.sealed, b.active = i+1, s.b.sealed[:k], c.s[:i+1]
		if c.x != nil {
			b.activeX = c.x[:i+1]
		}
	}
	b.pinned = pinnedWithin(b.pinned, engram.Interval{Start: engram.MinTime, End: t})
	b.n.Store(int64(n))
	return snapshot[V, X]{b, n}
}

// pair returns sample i of chunk k and the one behind it, which there must be.
func (s snapshot[V, X]) pair(k, i int) (a, b *sample[V]) {
	c := s.b.active
	if k < len(s.b.sealed) {
		c = s.b.sealed[k].v.s
	}
	if i+1 < len(c) {
		return &c[i], &c[i+1]
	}
	if k+1 < len(s.b.sealed) {
		return &c[i], &s.b.sealed[k+1].v.s[0]
	}
	return &c[i], &s.b.active[0]
}

// at finds what the history says at t in the revision rev.
func (s snapshot[V, X]) at(t engram.Time, r *rules, rev Revision) (res around[V]) {
	b, n := s.b, s.n
	if n == 0 {
		if b.pruned > 0 && t < b.prunedTo {
			return s.before(t, r, rev)
		}
		res.code = Unset
		return res
	}
	if last := &b.active[n-1]; t >= last.t {
		res.k, res.i, res.a = int32(len(b.sealed)), int32(n-1), last
		if t > last.t {
			s.beyond(&res, t, r)
		}
	} else if k, i := s.locate(t); k < 0 {
		return s.before(t, r, rev)
	} else if s.interior(&res, k, i, t); res.b != nil && r.tooFar(res.a.t, res.b.t) {
		res.code = Gap
		return res
	}
	if b.replacedAt > rev {
		s.restore(&res, rev)
	}
	return res
}

// interior completes the answer at t between sample i of chunk k, which is at or
// before t, and the one behind it.
func (s snapshot[V, X]) interior(res *around[V], k, i int, t engram.Time) {
	res.k, res.i = int32(k), int32(i)
	a, b := s.pair(k, i)
	if res.a = a; a.t == t {
		return
	}
	res.b = b
	res.u = span(res.a.t, t) / span(res.a.t, res.b.t)
	res.flags = Interpolated
}

// beyond completes the answer at t after the last sample, which is res.a.
func (s snapshot[V, X]) beyond(res *around[V], t engram.Time, r *rules) {
	switch {
	case r.beyond == beyondError || uint64(t-res.a.t) > uint64(r.maxAge):
		res.code = TooNew
		if r.until != engram.MaxTime {
			res.code = Gap
		}
	case r.beyond == beyondExtrapolate:
		res.flags = Held | Extrapolated // a single sample has no motion to continue
		switch before := s.previous(int(res.k), int(res.i)); {
		case before == nil && s.b.pruned > 0:
			res.code = Pruned // it had, with the samples that were dropped
		case before != nil:
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
	c := b.active[:s.n]
	if t >= c[0].t {
		return len(b.sealed), search(c, t, proportion(c[0].t, t, c[len(c)-1].t, len(c)-1))
	}
	k = len(b.sealed) - 1
	if k < 0 || t < b.sealed[0].t {
		return -1, 0
	}
	if t < b.sealed[k].t {
		k = search(b.sealed, t, proportion(b.sealed[0].t, t, b.sealed[k].t, k))
	}
	full := &b.sealed[k]
	c = full.v.s
	// Samples come at nearly equal intervals, so that this is mostly right at once.
	if i = int(span(full.t, t) * full.v.rate); i+1 < len(c) && c[i].t <= t && t < c[i+1].t {
		return k, i
	}
	return k, search(c, t, i)
}

// proportion returns where t lies between lo and hi in steps, rounded down.
func proportion(lo, t, hi engram.Time, steps int) int {
	return int(span(lo, t) / span(lo, hi) * float64(steps))
}

// search returns the index of the last element of s at or before t, which the first
// is. It gallops from a guess.
func search[V any](s []sample[V], t engram.Time, guess int) int {
	i := min(max(guess, 0), len(s)-1)
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
func (s snapshot[V, X]) before(t engram.Time, r *rules, rev Revision) (res around[V]) {
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
	switch {
	case p.single && p.a.t < t:
		s.beyond(&res, t, r)
	case p.single:
	case r.tooFar(p.a.t, p.b.t):
		res.b, res.code = &p.b, Gap
		return res
	default:
		res.b, res.flags = &p.b, Interpolated
		res.u = span(p.a.t, t) / span(p.a.t, p.b.t)
	}
	if b.replacedAt > rev {
		s.restore(&res, rev)
	}
	return res
}

func (s snapshot[V, X]) pinnedAt(t engram.Time) *pinnedSamples[V, X] {
	if i := s.b.pinnedIndex(t); i >= 0 {
		return &s.b.pinned[i]
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

// extras returns the X of both samples of an answer, nil where there is none.
func (s snapshot[V, X]) extras(res *around[V], t engram.Time, rev Revision) (xa, xb *X) {
	if !s.b.extras {
		return nil, nil
	}
	if res.k < 0 {
		p := s.pinnedAt(t)
		xa, xb = &p.xa, &p.xb
	} else {
		k, i := int(res.k), int(res.i)
		xa = s.extra(k, i)
		if res.b != nil {
			xb = s.extra(s.next(k, i))
		}
	}
	if s.b.replacedAt > rev {
		if o := s.supersededAt(res.a.t, rev); o != nil {
			xa = &o.x
		}
		if res.b != nil {
			if o := s.supersededAt(res.b.t, rev); o != nil {
				xb = &o.x
			}
		}
	}
	return xa, xb
}
