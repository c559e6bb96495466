package pose

import (
	"slices"
	"sort"
	"time"
	"unsafe"

	"github.com/seed-301d4374/engram"
)

// Retention says how much of an edge's history is kept at least. Zero fields mean
// no bound. What is beyond is dropped a whole chunk (at most 32 KiB of samples) at
// a time, the oldest first, so a little more than asked for may be there; and the
// samples around a pinned time (see [Store.Acquire]) stay.
type Retention struct {
	// MaxAge is measured back from the newest sample; from the one before it, as long as
	// the newest lies by itself more than MaxAge ahead: one wild stamp drops nothing.
	MaxAge   time.Duration
	MaxCount int   // samples
	MaxBytes int64 // of samples and their covariances
}

// pruneLocked drops what exceeds the retention from a body that is not published
// yet. A chunk goes only if what remains satisfies every bound's minimum, so the
// newest sample is always kept.
func (h *history[V, X]) pruneLocked(b *body[V, X]) {
	if h.retention == (Retention{}) || len(b.sealed) == 0 {
		return
	}
	s := snapshot[V, X]{b, int(b.n.Load())}
	count, bytes := s.size()
	drop := 0
	for ; drop < len(b.sealed); drop++ {
		c := b.sealed[drop].v
		next := b.active[0].t
		if drop+1 < len(b.sealed) {
			next = b.sealed[drop+1].t
		}
		// A bound is exceeded if it would still be met without this chunk. For the
		// age, the sample at or before the window's start is needed too.
		r := h.retention
		over := r.MaxCount > 0 && count-len(c.s) >= r.MaxCount ||
			r.MaxBytes > 0 && bytes-c.bytes() >= r.MaxBytes ||
			r.MaxAge > 0 && s.reference(r.MaxAge).Sub(next) >= r.MaxAge
		if !over {
			break
		}
		count -= len(c.s)
		bytes -= c.bytes()
	}
	if drop > 0 {
		h.dropLocked(b, s, drop)
	}
}

// reference returns the time from which ages are measured back.
func (s snapshot[V, X]) reference(age time.Duration) engram.Time {
	last, before := s.last(), engram.MinTime
	if s.n > 1 {
		before = s.b.active[s.n-2].t
	} else if k := len(s.b.sealed); k > 0 {
		c := s.b.sealed[k-1].v
		before = c.s[len(c.s)-1].t
	}
	if last.Sub(before) > age {
		return before
	}
	return last
}

// dropLocked drops the first chunks, but for the samples around pinned times.
func (h *history[V, X]) dropLocked(b *body[V, X], s snapshot[V, X], chunks int) {
	end := b.active[0].t
	if chunks < len(b.sealed) {
		end = b.sealed[chunks].t
	}
	pinned := slices.Clip(b.pinned)
	lo := sort.Search(len(h.pins), func(i int) bool { return h.pins[i] >= b.sealed[0].t })
	for i, at := range h.pins[lo:] {
		if at >= end {
			break
		}
		if i > 0 && at == h.pins[lo+i-1] {
			continue
		}
		any := rules{until: engram.MaxTime}
		if res := s.at(at, &any, revisionNow); res.code == OK {
			p := pinnedSamples[V, X]{at: at, a: *res.a, single: res.b == nil}
			xa, xb := s.extras(&res, at, revisionNow)
			p.xa, p.xb = valueOr(xa), valueOr(xb)
			if res.b != nil {
				p.b = *res.b
			}
			pinned = append(pinned, p)
		}
	}
	for i := range chunks {
		b.pruned += int64(len(b.sealed[i].v.s))
	}
	b.pinned, b.prunedTo = pinned, end
	b.sealed = slices.Clone(b.sealed[chunks:])
	needed := map[engram.Time]bool{} // by earlier revisions, too
	for i := range pinned {
		needed[pinned[i].a.t] = true
		needed[pinned[i].b.t] = true
	}
	b.old = slices.DeleteFunc(slices.Clone(b.old), func(o superseded[V, X]) bool { return o.t < end && !needed[o.t] })
}

// size returns the number of samples and their bytes.
func (s snapshot[V, X]) size() (count int, bytes int64) {
	for k := range len(s.b.sealed) + 1 {
		c := s.chunk(k)
		count += len(c.s)
		bytes += c.bytes()
	}
	return count, bytes
}

func (c chunk[V, X]) bytes() int64 {
	var s sample[V]
	var x X
	return int64(len(c.s))*int64(unsafe.Sizeof(s)) + int64(len(c.x))*int64(unsafe.Sizeof(x))
}

// pin keeps the samples around t, and unpin lets one such wish go, here and in the
// histories that took over.
func (h *history[V, X]) pin(t engram.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := sort.Search(len(h.pins), func(i int) bool { return h.pins[i] > t })
	h.pins = slices.Insert(h.pins, i, t)
}

func (h *history[V, X]) unpin(t engram.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, heir := range h.heirs {
		heir.unpin(t)
	}
	i, found := slices.BinarySearch(h.pins, t)
	if !found {
		return
	}
	h.pins = slices.Delete(h.pins, i, i+1)
	if i < len(h.pins) && h.pins[i] == t {
		return // somebody else wishes it, too
	}
	b := h.body.Load()
	if j := b.pinnedIndex(t); j >= 0 {
		c := b.clone(int(b.n.Load()))
		c.pinned = slices.Delete(slices.Clone(c.pinned), j, j+1)
		h.body.Store(c)
	}
}

// pinnedWithin returns what is kept for pinned times in a span. Nothing interpolates
// over the ends of that.
func pinnedWithin[V, X comparable](all []pinnedSamples[V, X], iv engram.Interval) []pinnedSamples[V, X] {
	out := slices.DeleteFunc(slices.Clone(all), func(p pinnedSamples[V, X]) bool { return !iv.Contains(p.at) || p.a.t < iv.Start })
	for i := range out {
		if p := &out[i]; !p.single && p.b.t >= iv.End {
			*p = pinnedSamples[V, X]{at: p.at, a: p.a, xa: p.xa, single: true}
		}
	}
	return out
}

// pinnedIndex returns where the samples kept for t are, or -1.
func (b *body[V, X]) pinnedIndex(t engram.Time) int {
	j := sort.Search(len(b.pinned), func(j int) bool { return b.pinned[j].at >= t })
	if j < len(b.pinned) && b.pinned[j].at == t {
		return j
	}
	return -1
}
