package pose

import (
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
)

// written says what a write did.
type written uint8

const (
	stored     written = iota
	repeated           // the same sample was there already
	mustRevise         // another sample stands at this time; replace it under a revision
	tooOld             // before the times that retention keeps
	moved              // the history is closed; look for the one that took over
)

// write stores the value v at t, and x if it is not nil. A different sample at the
// same time is not touched: the answer is mustRevise, and the caller calls replace
// under a new revision.
func (h *history[V, X]) write(t engram.Time, v *V, x *X) written {
	h.mu.Lock()
	b := h.body.Load()
	n := int(b.n.Load())
	if n > 0 && n < len(b.active) && t > b.active[n-1].t && (x == nil || b.activeX != nil) {
		slot := &b.active[n]
		slot.t, slot.v = t, *v
		if x != nil {
			b.activeX[n] = *x
		}
		b.n.Store(int64(n + 1))
		if h.wake != nil {
			h.wakeLocked()
		}
		h.mu.Unlock()
		return stored
	}
	w := h.writeSlowLocked(t, v, x)
	h.mu.Unlock()
	return w
}

func (h *history[V, X]) wakeLocked() {
	if h.wake != nil {
		close(h.wake)
		h.wake = nil
	}
}

// changed returns a channel that the next write closes.
func (h *history[V, X]) changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wake == nil {
		h.wake = make(chan struct{})
	}
	return h.wake
}

func (h *history[V, X]) writeSlowLocked(t engram.Time, v *V, x *X) written {
	if h.closed {
		return moved
	}
	s := h.ofPresent(t)
	smp := sample[V]{t, *v}
	switch {
	case s.b.pruned > 0 && t < s.b.prunedTo:
		return tooOld
	case s.n == 0:
		b := s.b.clone(0)
		b.born = t
		s.b = b
		h.publishLocked(h.withAppended(s, smp, x))
		return stored
	case t > s.last():
		h.publishLocked(h.withAppended(s, smp, x))
		return stored
	}
	k, i := s.locateAny(t)
	if k >= 0 {
		if c := s.chunk(k); c.s[i].t == t {
			if c.s[i].v == *v && (x == nil || valueOr(s.extra(k, i)) == *x) {
				return repeated
			}
			return mustRevise
		}
	}
	h.publishLocked(h.withInserted(s, k, i, smp, x))
	return stored
}

// clear drops all samples, and forgets that there were any.
func (h *history[V, X]) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := &body[V, X]{active: make([]sample[V], minChunk)}
	if h.closed { // it takes no writes
		b.active = nil
	}
	h.publishLocked(b)
}

// replace puts v and x at the time t of a stored sample, from the revision rev on.
// What was replaced up to the revision oldest is forgotten. It returns false if the
// sample is gone, or is that already.
func (h *history[V, X]) replace(t engram.Time, v *V, x *X, rev, oldest Revision) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.snapshot()
	if s.n == 0 || t > s.last() {
		return false
	}
	k, i := s.locateAny(t)
	if k < 0 {
		return false
	}
	c := s.chunk(k)
	if c.s[i].t != t || c.s[i].v == *v && (x == nil || valueOr(s.extra(k, i)) == *x) {
		return false
	}
	was := superseded[V, X]{c.s[i], valueOr(s.extra(k, i)), rev}
	fresh := chunk[V, X]{s: slices.Clone(c.s), x: slices.Clone(c.x)}
	fresh.s[i].v = *v
	if x != nil {
		fresh.allocateExtras()
		fresh.x[i] = *x
	} else if fresh.x != nil {
		var none X
		fresh.x[i] = none
	}
	b := s.b.clone(s.n)
	old := slices.DeleteFunc(slices.Clone(b.old), func(o superseded[V, X]) bool { return o.until <= oldest })
	at := sort.Search(len(old), func(j int) bool { return old[j].t > t })
	b.old = slices.Insert(old, at, was)
	for i := range b.pinned { // whose later sample may still be among the others
		if p := &b.pinned[i]; !p.single && p.b.t == t {
			b.pinned = slices.Clone(b.pinned)
			b.pinned[i].b.v, b.pinned[i].xb = *v, valueOr(x)
		}
	}
	b.replacedAt = rev
	b.extras = b.extras || x != nil
	b.setChunk(k, fresh)
	h.publishLocked(b)
	return true
}

// locateAny is locate for every t up to and including the last sample's.
func (s snapshot[V, X]) locateAny(t engram.Time) (k, i int) {
	if t >= s.last() {
		return len(s.b.sealed), s.n - 1
	}
	return s.locate(t)
}

func (c *chunk[V, X]) allocateExtras() {
	if c.x == nil {
		c.x = make([]X, len(c.s))
	}
}

// setChunk replaces chunk k of a body that is not published yet.
func (b *body[V, X]) setChunk(k int, c chunk[V, X]) {
	if k < len(b.sealed) {
		b.sealed = slices.Clone(b.sealed)
		b.sealed[k] = c.sealed()
		return
	}
	b.setActive(c, len(b.active))
}

// setActive makes c the active chunk of a body that is not published yet, with
// room for capacity samples.
func (b *body[V, X]) setActive(c chunk[V, X], capacity int) {
	b.active = make([]sample[V], max(capacity, len(c.s)))
	copy(b.active, c.s)
	b.activeX = nil
	if c.x != nil {
		b.activeX = make([]X, len(b.active))
		copy(b.activeX, c.x)
	}
	b.n.Store(int64(len(c.s)))
}

// withAppended returns a body with smp behind the last sample.
func (h *history[V, X]) withAppended(s snapshot[V, X], smp sample[V], x *X) *body[V, X] {
	b := s.b.clone(s.n)
	c := s.chunk(len(b.sealed))
	if s.n == len(b.active) {
		if s.n < h.limit {
			b.setActive(c, min(2*s.n, h.limit))
		} else {
			b.sealed = append(b.sealed, c.sealed())
			// A stream that brings extras goes on to bring them.
			b.active, b.activeX = make([]sample[V], s.n), nil
			b.n.Store(0)
		}
	}
	n := int(b.n.Load())
	b.active[n] = smp
	if x != nil {
		if b.activeX == nil {
			b.activeX = make([]X, len(b.active))
		}
		b.activeX[n] = *x
		b.extras = true
	}
	b.n.Store(int64(n + 1))
	return b
}

// withInserted returns a body with smp behind sample i of chunk k, or before all
// samples if k < 0.
func (h *history[V, X]) withInserted(s snapshot[V, X], k, i int, smp sample[V], x *X) *body[V, X] {
	b := s.b.clone(s.n)
	if k < 0 {
		k, i = 0, -1
		b.born = min(b.born, smp.t)
	}
	c := s.chunk(k)
	fresh := chunk[V, X]{s: slices.Insert(slices.Clone(c.s), i+1, smp)}
	if c.x != nil || x != nil {
		c.allocateExtras()
		fresh.x = slices.Insert(slices.Clone(c.x), i+1, valueOr(x))
		b.extras = true
	}
	if len(fresh.s) <= h.limit {
		if k < len(b.sealed) || len(fresh.s) <= len(b.active) {
			b.setChunk(k, fresh)
		} else {
			b.setActive(fresh, min(2*len(b.active), h.limit))
		}
		return b
	}
	left, right := fresh.split(len(fresh.s) / 2)
	if k == len(b.sealed) {
		b.sealed = append(slices.Clip(b.sealed), left.sealed())
		b.setActive(right, h.limit)
		return b
	}
	b.sealed = slices.Clone(b.sealed)
	b.sealed[k] = left.sealed()
	b.sealed = slices.Insert(b.sealed, k+1, right.sealed())
	return b
}

// split cuts a chunk before sample i into two that do not share an array.
func (c chunk[V, X]) split(i int) (left, right chunk[V, X]) {
	left.s, right.s = slices.Clone(c.s[:i]), slices.Clone(c.s[i:])
	if c.x != nil {
		left.x, right.x = slices.Clone(c.x[:i]), slices.Clone(c.x[i:])
	}
	return left, right
}

// publishLocked prunes, shows the body to readers and wakes those who wait.
func (h *history[V, X]) publishLocked(b *body[V, X]) {
	h.pruneLocked(b)
	h.body.Store(b)
	h.wakeLocked()
}

// close refuses writes until reopen is called, or for ever if another history takes
// over. What h holds stays for earlier revisions.
func (h *history[V, X]) close() (reopen func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.snapshot()
	h.closed = true
	shut := s.b.clone(s.n)
	// Without room in the active chunk every write takes the slow way, which looks.
	shut.active = s.b.active[:s.n:s.n]
	h.body.Store(shut)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.closed = false
		b := h.body.Load().clone(s.n)
		b.active = s.b.active
		h.body.Store(b)
	}
}

// part returns a history with what h, which is closed, holds in a span. It takes
// over the pins in it.
func (h *history[V, X]) part(iv engram.Interval) *history[V, X] {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.snapshot()
	b := s.b.clone(0)
	b.sealed = nil
	var last chunk[V, X]
	for k := range len(s.b.sealed) + 1 {
		c := s.chunk(k).within(iv)
		if len(c.s) == 0 {
			continue
		}
		if len(last.s) > 0 {
			b.sealed = append(b.sealed, last.sealed())
		}
		last = c
	}
	b.setActive(last, max(len(last.s), min(len(s.b.active), h.limit), minChunk))
	if b.prunedTo = min(b.prunedTo, iv.End); b.prunedTo <= iv.Start || b.born >= iv.End {
		b.pruned = 0
	}
	switch {
	case iv.Start <= b.born:
	case b.pruned > 0:
		b.born = iv.Start
	case len(last.s) > 0:
		b.born = (snapshot[V, X]{b, len(last.s)}).first()
	}
	b.old = slices.DeleteFunc(slices.Clone(b.old), func(o superseded[V, X]) bool { return !iv.Contains(o.t) })
	b.pinned = pinnedWithin(b.pinned, iv)
	out := newHistory[V, X](h.retention, h.present)
	out.body.Store(b)
	out.pins = slices.DeleteFunc(slices.Clone(h.pins), func(t engram.Time) bool { return !iv.Contains(t) })
	h.heirs = append(h.heirs, out)
	return out
}

// within returns the part of a chunk in a span.
func (c chunk[V, X]) within(iv engram.Interval) chunk[V, X] {
	from := func(t engram.Time) int { return sort.Search(len(c.s), func(i int) bool { return c.s[i].t >= t }) }
	lo, hi := from(iv.Start), from(iv.End)
	out := chunk[V, X]{s: c.s[lo:hi:hi]}
	if c.x != nil {
		out.x = c.x[lo:hi:hi]
	}
	return out
}
