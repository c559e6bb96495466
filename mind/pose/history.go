package pose

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/seed-301d4374/engram"
)

// A history is the samples of one edge, ordered by time.
//
// Most writes append. They go into the active chunk, whose array never moves: the
// writer fills the next slot and then publishes the new length, so that a reader,
// who loads the body and then the length, sees only finished samples and takes no
// lock. Everything else (a write out of order, one that replaces, a full chunk,
// pruning) makes a new body that shares the chunks that stay as they are.
//
// V is the value, X what only some samples carry (a covariance, a sigma); chunks
// have no room for X before the first sample that has one.
type history[V comparable, X comparable] struct {
	body      atomic.Pointer[body[V, X]]
	retention Retention
	present   *Present
	limit     int // samples in a chunk at most

	mu     sync.Mutex       // serialises writers, guards the rest; taken after Store.mu
	wake   chan struct{}    // closed by the next write; nil if nobody waits
	pins   []engram.Time    // sorted; times whose samples pruning keeps
	closed bool             // another history took over
	heirs  []*history[V, X] // those that did
}

// sample is a value at a time. 64 bytes for a pose, 16 for a joint's value.
type sample[V any] struct {
	t engram.Time
	v V
}

// chunk is a run of samples that is never written again.
type chunk[V, X any] struct {
	s []sample[V]
	x []X // nil, or as long as s
	// rate is the samples per nanosecond, to guess by, and balls what encloses them;
	// of sealed chunks only.
	rate  float64
	balls *chunkBalls
}

// sealed returns a chunk as it stands in body.sealed.
func (c chunk[V, X]) sealed() sample[chunk[V, X]] {
	if n := len(c.s); n > 1 {
		c.rate = float64(n-1) / span(c.s[0].t, c.s[n-1].t)
	}
	c.balls = new(chunkBalls)
	return sample[chunk[V, X]]{c.s[0].t, c}
}

// body is what a reader sees. All but n and the slots of active beyond n is
// immutable.
type body[V comparable, X comparable] struct {
	n       atomic.Int64 // samples in active; > 0 if there are sealed chunks
	active  []sample[V]
	sealed  []sample[chunk[V, X]] // each with the time of its first sample
	activeX []X                   // nil, or as long as active
	extras  bool                  // some sample has had an X
	// replacedAt is the last revision in which a sample was replaced, and old holds
	// what was replaced, by time and then revision.
	replacedAt Revision
	old        []superseded[V, X]
	// What pruning left behind.
	pruned   int64 // how many samples
	prunedTo engram.Time
	pinned   []pinnedSamples[V, X]
	born     engram.Time // the earliest time ever written
}

// superseded is a sample that was valid in revisions before until.
type superseded[V, X any] struct {
	sample[V]
	x     X
	until Revision
}

// pinnedSamples is what is needed to answer at one pinned time.
type pinnedSamples[V, X any] struct {
	at     engram.Time
	a, b   sample[V]
	xa, xb X
	single bool // b is nothing: a lies at the time itself, or the history ends with it
}

// minChunk and chunkBytes bound the size of a chunk: small at first, because a
// store may have thousands of objects that hardly move.
const (
	minChunk   = 8
	chunkBytes = 32 << 10
)

func newHistory[V, X comparable](r Retention, p *Present) *history[V, X] {
	h := &history[V, X]{retention: r, present: p, limit: chunkLimit[V](r)}
	h.body.Store(&body[V, X]{active: make([]sample[V], minChunk)})
	return h
}

// chunkLimit returns how many samples a chunk holds at most: an eighth of a small
// retention, because retention drops whole chunks.
func chunkLimit[V any](r Retention) int {
	var s sample[V]
	size := int(unsafe.Sizeof(s))
	limit := chunkBytes / size
	if r.MaxCount > 0 {
		limit = min(limit, r.MaxCount/8)
	}
	if r.MaxBytes > 0 {
		limit = int(min(int64(limit), r.MaxBytes/int64(8*size)))
	}
	return max(limit, minChunk)
}

// clone copies a body; n samples of the active chunk stay published.
func (b *body[V, X]) clone(n int) *body[V, X] {
	c := &body[V, X]{
		active: b.active, sealed: b.sealed, activeX: b.activeX, extras: b.extras,
		replacedAt: b.replacedAt, old: b.old,
		pruned: b.pruned, prunedTo: b.prunedTo, pinned: b.pinned, born: b.born,
	}
	c.n.Store(int64(n))
	return c
}

// snapshot is a body with a length: what one reader sees of a history.
type snapshot[V comparable, X comparable] struct {
	b *body[V, X]
	n int
}

func (h *history[V, X]) snapshot() snapshot[V, X] {
	b := h.body.Load()
	return snapshot[V, X]{b, int(b.n.Load())}
}

// first and last return the times of the first and the last sample; n must not be
// 0.
func (s snapshot[V, X]) first() engram.Time {
	if len(s.b.sealed) > 0 {
		return s.b.sealed[0].t
	}
	return s.b.active[0].t
}

func (s snapshot[V, X]) last() engram.Time { return s.b.active[s.n-1].t }

// chunk returns chunk k; that behind the sealed ones is the active one.
func (s snapshot[V, X]) chunk(k int) chunk[V, X] {
	if k < len(s.b.sealed) {
		return s.b.sealed[k].v
	}
	c := chunk[V, X]{s: s.b.active[:s.n]}
	if s.b.activeX != nil {
		c.x = s.b.activeX[:s.n]
	}
	return c
}

// extra returns the X of sample i of chunk k, or nil.
func (s snapshot[V, X]) extra(k, i int) *X {
	if k == len(s.b.sealed) {
		if s.b.activeX != nil {
			return &s.b.activeX[i]
		}
		return nil
	}
	if x := s.b.sealed[k].v.x; x != nil {
		return &x[i]
	}
	return nil
}

// valueOr returns what x points to, or the zero value for nil.
func valueOr[X any](x *X) (v X) {
	if x != nil {
		v = *x
	}
	return v
}
