package wm

import (
	"cmp"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// timeline holds an entity's snapshots in the order of their times. The writer
// holds the WM's lock; readers take a [reading] without one.
//
// The snapshots lie in chunks: arrays of slots, each a time, which never changes
// once published, and the current version at that time. A snapshot at the end of a chunk is
// published by raising the chunk's length; a version that supersedes another one,
// by storing it in its slot, from where it links to what it superseded. Only a
// snapshot that belongs between others makes the writer copy a chunk, and publish
// a new view. Eviction clears slots, so that payloads are released at once, and
// chunks without content are dropped when a view is made.
//
// Readers find consistency in the numbers: they skip what bears a number beyond
// their high-water mark.
type timeline struct {
	view atomic.Pointer[[]span] // nil if empty

	deadFront int // leading chunks without content; the writer's
}

// span is a chunk in a view, with its first time for the search.
type span struct {
	first engram.Time
	*chunk
}

// chunk is a run of snapshots. It has at least one slot filled.
type chunk struct {
	filled atomic.Int32 // slots in use, published after their content
	dead   atomic.Int32 // of these, slots whose snapshot was evicted
	slots  []slot       // by ascending time; evicted ones too

	evicted int // slots below it are evicted; the writer's hint
}

// slot is the place of one snapshot.
type slot struct {
	time    engram.Time             // does not change
	current atomic.Pointer[version] // nil once it is evicted
}

// Sizes of chunks, in slots. The first chunk of a timeline is small and doubles.
const (
	minChunk = 4
	midChunk = 16
	maxChunk = 256
)

func newChunk(capacity int) *chunk {
	return &chunk{slots: make([]slot, capacity)}
}

// push appends v, which belongs at the end; there must be room. It publishes v.
func (c *chunk) push(v *version) {
	n := c.filled.Load()
	c.slots[n].time = v.Time
	c.slots[n].current.Store(v)
	c.filled.Store(n + 1)
}

func (c *chunk) full() bool { return int(c.filled.Load()) == len(c.slots) }

func (c *chunk) live() int { return int(c.filled.Load() - c.dead.Load()) }

// search returns the lowest i in [0, n) for which beyond(i), or n; beyond must hold
// for all above one for which it holds.
//
// Snapshots mostly come at a steady rate, so it looks first at a guess of where a
// time would be then, and from there in growing steps: in a long timeline that
// touches one or two lines of memory where halving would touch five.
func search(n, guess int, beyond func(i int) bool) int {
	lo, hi := -1, n // not beyond, and beyond
	if guess = min(max(guess, 0), n-1); beyond(guess) {
		hi = guess
		for step := 1; hi-step > lo; step *= 2 {
			if !beyond(hi - step) {
				lo = hi - step
				break
			}
			hi -= step
		}
	} else {
		lo = guess
		for step := 1; lo+step < hi; step *= 2 {
			if beyond(lo + step) {
				hi = lo + step
				break
			}
			lo += step
		}
	}
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) / 2); beyond(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// guess returns where among n steady times from first to last, which is later, t
// would be.
func guess(t, first, last engram.Time, n int) int {
	// Unsigned differences are right over the whole range of Time.
	return int(float64(n) * float64(uint64(t)-uint64(first)) / float64(uint64(last)-uint64(first)))
}

// after returns how many of the times in spans[i] are not after t.
func after(spans []span, i int, t engram.Time) int {
	c := spans[i].chunk
	n := int(c.filled.Load())
	if t < spans[i].first {
		return 0
	}
	var end engram.Time
	if i+1 < len(spans) {
		end = spans[i+1].first // at hand
	} else if end = c.slots[n-1].time; t >= end {
		return n
	}
	return search(n, guess(t, spans[i].first, end, n), func(j int) bool { return c.slots[j].time > t })
}

// spanAt returns the index of the last span that begins at or before t, or 0.
func spanAt(spans []span, t engram.Time) int {
	last := len(spans) - 1
	switch {
	case t >= spans[last].first:
		return last
	case t < spans[0].first:
		return 0
	}
	g := guess(t, spans[0].first, spans[last].first, last)
	return search(len(spans), g, func(i int) bool { return spans[i].first > t }) - 1
}

func (tl *timeline) spans() []span {
	if p := tl.view.Load(); p != nil {
		return *p
	}
	return nil
}

func (tl *timeline) publish(spans []span) { tl.view.Store(&spans) }

// put stores v and returns the version it superseded, or nil.
func (tl *timeline) put(v *version) (superseded *version) {
	spans := tl.spans()
	if len(spans) == 0 {
		tl.appendChunk(nil, v, minChunk)
		return nil
	}
	last := spans[len(spans)-1]
	if v.Time > last.slots[last.filled.Load()-1].time {
		if last.full() {
			tl.extend(spans, v)
		} else {
			last.push(v)
			tl.touch(len(spans) - 1)
		}
		return nil
	}
	i := spanAt(spans, v.Time)
	c := spans[i]
	n := int(c.filled.Load())
	j := after(spans, i, v.Time)
	if j > 0 && c.slots[j-1].time == v.Time {
		return tl.replace(i, c.chunk, j-1, v)
	}
	if j == n && !c.full() {
		c.push(v)
		tl.touch(i)
		return nil
	}
	tl.insert(spans, i, j, v)
	return nil
}

// replace stores v in the slot of its time.
func (tl *timeline) replace(i int, c *chunk, slot int, v *version) (superseded *version) {
	old := c.slots[slot].current.Load()
	if old == nil { // it was evicted
		c.slots[slot].current.Store(v)
		c.dead.Add(-1)
		c.evicted = min(c.evicted, slot)
		tl.touch(i)
		return nil
	}
	v.older.Store(old)
	old.newer = v
	if v.oldest = old.oldest; v.oldest == nil {
		v.oldest = old
	}
	old.oldest = nil
	c.slots[slot].current.Store(v)
	return old
}

// touch notes that chunk i has content.
func (tl *timeline) touch(i int) { tl.deadFront = min(tl.deadFront, i) }

// extend appends v to a timeline whose last chunk is full.
func (tl *timeline) extend(spans []span, v *version) {
	last := spans[len(spans)-1]
	size := len(last.slots)
	if len(spans) > 1 || last.dead.Load() > 0 || size >= maxChunk {
		tl.appendChunk(spans, v, min(max(2*last.live(), min(2*size, midChunk), minChunk), maxChunk))
		return
	}
	// A young timeline stays in one chunk until that is of full size.
	c := last.copyLive(2 * size)
	c.push(v)
	tl.publish([]span{{last.first, c}})
}

// appendChunk appends a new chunk that begins with v, and drops the chunks without
// content at the front.
func (tl *timeline) appendChunk(spans []span, v *version, capacity int) {
	c := newChunk(capacity)
	c.push(v)
	if tl.deadFront > 0 {
		kept := spans[tl.deadFront:]
		spans = append(make([]span, 0, len(kept)+1+len(kept)/4), kept...)
		tl.deadFront = 0
	}
	// Views share the array that append extends: each sees its own length of it.
	tl.publish(append(spans, span{v.Time, c}))
}

// copyLive returns a copy of the chunk without evicted slots.
func (c *chunk) copyLive(capacity int) *chunk {
	out := newChunk(capacity)
	c.copySlots(out, 0, int(c.filled.Load()))
	return out
}

// copySlots appends the content of the slots from lo to hi to out, which nobody sees yet.
func (c *chunk) copySlots(out *chunk, lo, hi int) {
	n := out.filled.Load()
	if int(c.dead.Load()) == c.evicted { // all others have content
		if lo = max(lo, c.evicted); lo < hi {
			n += int32(copy(out.slots[n:], c.slots[lo:hi]))
			out.filled.Store(n)
		}
		return
	}
	for i := lo; i < hi; i++ {
		if v := c.slots[i].current.Load(); v != nil {
			out.slots[n].time = c.slots[i].time
			out.slots[n].current.Store(v)
			n++
		}
	}
	out.filled.Store(n)
}

// insert stores v before slot j of chunk i, which is copied; a full one is split.
func (tl *timeline) insert(spans []span, i, j int, v *version) {
	c := spans[i].chunk
	n := int(c.filled.Load())
	live := c.live()
	var parts []span
	switch {
	case live < maxChunk:
		a := newChunk(min(max(live+1+live/4, minChunk), maxChunk))
		c.copySlots(a, 0, j)
		a.push(v)
		c.copySlots(a, j, n)
		parts = []span{{a.slots[0].time, a}}
	case j == n: // what follows will likely follow here
		b := newChunk(maxChunk / 4)
		b.push(v)
		parts = []span{spans[i], {v.Time, b}}
	default:
		a, b := newChunk(maxChunk), newChunk(maxChunk)
		half := n / 2
		if j <= half {
			c.copySlots(a, 0, j)
			a.push(v)
			c.copySlots(a, j, half)
			c.copySlots(b, half, n)
		} else {
			c.copySlots(a, 0, half)
			c.copySlots(b, half, j)
			b.push(v)
			c.copySlots(b, j, n)
		}
		parts = []span{{a.slots[0].time, a}, {b.slots[0].time, b}}
	}
	next := make([]span, 0, len(spans)+2)
	next = append(next, spans[:i]...)
	next = append(next, parts...)
	next = append(next, spans[i+1:]...)
	tl.touch(i)
	tl.publish(next)
}

// current returns the current version at time t, or nil. It is the writer's.
func (tl *timeline) current(t engram.Time) *version {
	spans := tl.spans()
	if len(spans) == 0 {
		return nil
	}
	i := spanAt(spans, t)
	c := spans[i]
	j := after(spans, i, t)
	if j == 0 || c.slots[j-1].time != t {
		return nil
	}
	return c.slots[j-1].current.Load()
}

// front returns the current version of the snapshot with the lowest time, or nil.
// It is the writer's.
func (tl *timeline) front() *version {
	for _, c := range tl.spans()[tl.deadFront:] {
		n := int(c.filled.Load())
		for ; c.evicted < n; c.evicted++ {
			if v := c.slots[c.evicted].current.Load(); v != nil {
				return v
			}
		}
	}
	return nil
}

// newest returns the current version of the snapshot that is the newest for readers
// ([query.Newest]), nil if there is none.
func (tl *timeline) newest(present engram.Time) *version {
	return cmp.Or(tl.atOrBefore(present), tl.last())
}

// last returns the current version of the snapshot with the highest time, nil if there is
// none. The others are of the last snapshot at or before t, before it, and of the first one
// after it.
func (tl *timeline) last() *version { return tl.atOrBefore(engram.MaxTime) }

func (tl *timeline) atOrBefore(t engram.Time) *version {
	r := reading{spans: tl.spans()}
	p := r.After(t)
	return r.prev(&p)
}

func (tl *timeline) before(t engram.Time) *version {
	r := reading{spans: tl.spans()}
	p := r.From(t)
	return r.prev(&p)
}

func (tl *timeline) after(t engram.Time) *version {
	r := reading{spans: tl.spans()}
	p := r.after(t)
	return r.next(&p)
}

// clear empties the slot of v, a current version without superseded ones.
func (tl *timeline) clear(v *version) {
	spans := tl.spans()
	i := spanAt(spans, v.Time)
	c := spans[i]
	j := after(spans, i, v.Time) - 1
	c.slots[j].current.Store(nil)
	if c.dead.Add(1) < c.filled.Load() {
		return
	}
	if i > tl.deadFront && i < len(spans)-1 { // a hole: rare enough for a new view
		next := make([]span, 0, len(spans)-1)
		next = append(next, spans[:i]...)
		tl.publish(append(next, spans[i+1:]...))
		return
	}
	for tl.deadFront < len(spans) && spans[tl.deadFront].live() == 0 {
		tl.deadFront++
	}
	if tl.deadFront > 1+len(spans)/8 {
		tl.publish(append([]span(nil), spans[tl.deadFront:]...))
		tl.deadFront = 0
	}
}
