package wm

import (
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// timeline holds an entity's snapshots in the order of their times. The writer
// holds the WM's lock; readers take a [reading] without one.
//
// The snapshots lie in chunks: arrays of times, which never change once published,
// with as many slots for the current versions. A snapshot at the end of a chunk is
// published by raising the chunk's length; a version that supersedes another one,
// by storing it in its slot, from where it links to what it superseded. Only a
// snapshot that belongs between others makes the writer copy a chunk, and publish
// a new view. Eviction clears slots, so that payloads are released at once, and
// chunks without content are dropped when a view is made.
//
// Readers find consistency in the numbers: they skip what bears a number beyond
// their horizon.
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
	filled atomic.Int32  // slots in use, published after their content
	dead   atomic.Int32  // of these, slots whose snapshot was evicted
	times  []engram.Time // ascending; of evicted snapshots too
	slots  []atomic.Pointer[version]

	evicted int // slots below it are evicted; the writer's hint
}

// Sizes of chunks, in slots. The first chunk of a timeline is small and doubles.
const (
	minChunk = 4
	midChunk = 16
	maxChunk = 256
)

func newChunk(capacity int) *chunk {
	return &chunk{times: make([]engram.Time, capacity), slots: make([]atomic.Pointer[version], capacity)}
}

// push appends v, which belongs at the end; there must be room. It publishes v.
func (c *chunk) push(v *version) {
	n := c.filled.Load()
	c.times[n] = v.Time
	c.slots[n].Store(v)
	c.filled.Store(n + 1)
}

func (c *chunk) full() bool { return int(c.filled.Load()) == len(c.times) }

func (c *chunk) live() int { return int(c.filled.Load() - c.dead.Load()) }

// after returns how many of the times in spans[i] are not after t.
//
// Snapshots mostly come at a steady rate, so it looks first where t would be then,
// and from there in growing steps: in a long timeline that touches one or two lines
// of memory where halving would touch five.
func after(spans []span, i int, t engram.Time) int {
	c := spans[i].chunk
	n := int(c.filled.Load())
	if t < spans[i].first {
		return 0
	}
	end := c.times[n-1]
	if i+1 < len(spans) {
		end = spans[i+1].first // at hand already
	} else if t >= end {
		return n
	}
	// times[lo] <= t, and times[hi] > t if hi < n.
	lo, hi := 0, n
	guess := int(float64(n) * (float64(t) - float64(spans[i].first)) / (float64(end) - float64(spans[i].first)))
	if guess = min(max(guess, 0), n-1); c.times[guess] <= t {
		lo = guess
		for step := 1; lo+step < n; step *= 2 {
			if c.times[lo+step] > t {
				hi = lo + step
				break
			}
			lo += step
		}
	} else {
		hi = guess
		for step := 1; hi-step > 0; step *= 2 {
			if c.times[hi-step] <= t {
				lo = hi - step
				break
			}
			hi -= step
		}
	}
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) / 2); c.times[mid] <= t {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// spanAt returns the index of the last span that begins at or before t, or 0.
func spanAt(spans []span, t engram.Time) int {
	lo, hi := 0, len(spans)
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) / 2); spans[mid].first <= t {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
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
	if v.Time > last.times[last.filled.Load()-1] {
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
	if j > 0 && c.times[j-1] == v.Time {
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
	old := c.slots[slot].Load()
	if old == nil { // it was evicted
		c.slots[slot].Store(v)
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
	c.slots[slot].Store(v)
	return old
}

// touch notes that chunk i has content.
func (tl *timeline) touch(i int) { tl.deadFront = min(tl.deadFront, i) }

// extend appends v to a timeline whose last chunk is full.
func (tl *timeline) extend(spans []span, v *version) {
	last := spans[len(spans)-1]
	size := len(last.times)
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

// copySlots appends the content of the slots from lo to hi to out.
func (c *chunk) copySlots(out *chunk, lo, hi int) {
	n := out.filled.Load()
	for i := lo; i < hi; i++ {
		if v := c.slots[i].Load(); v != nil {
			out.times[n] = c.times[i]
			out.slots[n].Store(v)
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
		parts = []span{{a.times[0], a}}
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
		parts = []span{{a.times[0], a}, {b.times[0], b}}
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
	if j == 0 || c.times[j-1] != t {
		return nil
	}
	return c.slots[j-1].Load()
}

// front returns the current version of the snapshot with the lowest time, or nil.
// It is the writer's.
func (tl *timeline) front() *version {
	for _, c := range tl.spans()[tl.deadFront:] {
		n := int(c.filled.Load())
		for ; c.evicted < n; c.evicted++ {
			if v := c.slots[c.evicted].Load(); v != nil {
				return v
			}
		}
	}
	return nil
}

// clear empties the slot of v, a current version without superseded ones.
func (tl *timeline) clear(v *version) {
	spans := tl.spans()
	i := spanAt(spans, v.Time)
	c := spans[i]
	j := after(spans, i, v.Time) - 1
	c.slots[j].Store(nil)
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
