package pose

import (
	"slices"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// Present says up to which time samples are of the present, for a store that follows a
// clock ([Config].Present). When a sample of the present comes to an edge, the edge drops those
// beyond the present, which a wrong clock has stamped: beside them neither the latest time,
// nor what lies between, nor the age of samples can be told. An edge that nothing of the
// present comes to keeps all, such as a recording of another time.
type Present struct{ until atomic.Int64 }

// NewPresent returns a Present that every time is of.
func NewPresent() *Present {
	p := &Present{}
	p.Set(engram.MaxTime)
	return p
}

// Set says that times up to t are of the present. It may go back, as a clock does that is
// set right. Safe for concurrent use.
func (p *Present) Set(t engram.Time) { p.until.Store(int64(t)) }

// ofPresent returns what there is for a write at t: all of it, or without what lies beyond
// the present if t does not.
func (h *history[V, X]) ofPresent(t engram.Time) snapshot[V, X] {
	s, until := h.snapshot(), engram.Time(h.present.until.Load())
	if s.n == 0 || s.last() <= until || t > until {
		return s
	}
	s = s.until(until + 1)
	b := s.b // nobody sees it yet, but it shares arrays that are read
	b.sealed = slices.Clip(b.sealed)
	b.setActive(chunk[V, X]{s: b.active, x: b.activeX}, max(len(b.active), minChunk))
	b.old = slices.DeleteFunc(slices.Clone(b.old), func(o superseded[V, X]) bool { return o.t > until })
	b.prunedTo = min(b.prunedTo, t)
	return snapshot[V, X]{b, int(b.n.Load())}
}
