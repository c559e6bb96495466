package wm

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// queue holds the updates that wait for a subscription's consumer, within its
// bounds. Writers push into it under the WM's lock, the consumer takes from it.
//
// It is a ring that grows as it is needed. An update that SlowLatest replaces
// leaves a dead place, which is skipped when it is its turn, or when the ring is
// tidied for want of places.
type queue struct {
	policy   engram.SlowPolicy
	max      int   // updates
	maxBytes int64 // payloads
	pins     *pins // of all queues
	wake     chan struct{}
	over     chan struct{} // closed at the end
	dropped  atomic.Uint64 // updates ever, replaced ones included

	mu struct {
		sync.Mutex
		newest     map[*entity]uint64 // of SlowLatest: where an entity's update waits
		ring       []waiting
		head, tail uint64 // of the places in use; place p is at p modulo len(ring)
		live       int    // updates among them
		bytes      int64  // their payloads
		lost       uint64 // updates lost before the one at head
		asleep     bool   // the consumer waits
		room       chan struct{}
		end        error // why there will be no more
	}
}

// waiting is an update in a queue.
type waiting struct {
	number     uint64
	time       engram.Time
	arrived    engram.Time
	supersedes bool
	removed    bool // it tells of a removal
	entity     *entity
	// version is nil if the consumer wants nothing of it, so that a queue does not
	// keep what the memory evicted.
	version *version
	bytes   int64
	lost    uint64 // updates lost between the one before and this one
	dead    bool
}

// keptRing is how many places a ring keeps that needs fewer.
const keptRing = 256

func newQueue(policy engram.SlowPolicy, max int, maxBytes int64, p *pins) *queue {
	q := &queue{pins: p, policy: policy, max: max, maxBytes: maxBytes, wake: make(chan struct{}, 1), over: make(chan struct{})}
	if policy == engram.SlowLatest {
		q.mu.newest = map[*entity]uint64{}
	}
	return q
}

// put appends u. full is true if a writer must wait for room, and asleep if the
// consumer waits and must be woken with wakeUp.
func (q *queue) put(u waiting) (full, asleep bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.end != nil {
		return false, false
	}
	if q.policy == engram.SlowLatest {
		q.replace(u.entity)
	}
	if q.policy != engram.SlowBlock {
		for q.mu.live > 0 && q.beyond(1, u.bytes) {
			q.dropOldest()
		}
	}
	if q.mu.tail-q.mu.head == uint64(len(q.mu.ring)) {
		u.lost += q.makePlace()
	}
	q.mu.ring[q.mu.tail%uint64(len(q.mu.ring))] = u
	if q.mu.newest != nil {
		q.mu.newest[u.entity] = q.mu.tail
	}
	q.mu.tail++
	q.mu.live++
	q.mu.bytes += u.bytes
	q.pins.bytes.Add(placeBytes)
	if u.version != nil {
		q.pins.queued(u.version)
	}
	asleep = q.mu.asleep
	q.mu.asleep = false
	return q.policy == engram.SlowBlock && q.beyond(0, 0), asleep
}

// wakeUp wakes a consumer that put found asleep. Writers do so once all of their
// updates are in the queue: a consumer woken by the first of a batch would take
// them one by one.
func (q *queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default: // it was woken before, and gave up waiting
	}
}

// beyond reports whether n more updates with so many bytes are more than may wait.
func (q *queue) beyond(n int, bytes int64) bool {
	return q.mu.live+n > q.max || q.mu.live+n > 1 && q.mu.bytes+bytes > q.maxBytes
}

// replace kills the update of the same entity that waits, if one does.
func (q *queue) replace(e *entity) {
	place, ok := q.mu.newest[e]
	if !ok {
		return
	}
	old := &q.mu.ring[place%uint64(len(q.mu.ring))]
	q.mu.live--
	q.leave(old)
	*old = waiting{dead: true, lost: old.lost + 1}
	q.dropped.Add(1)
}

// dropOldest drops the oldest update that waits.
func (q *queue) dropOldest() {
	for {
		u := q.pop()
		q.mu.lost += u.lost
		if !u.dead {
			q.mu.lost++
			q.dropped.Add(1)
			return
		}
	}
}

// pop takes the place at head.
func (q *queue) pop() waiting {
	p := &q.mu.ring[q.mu.head%uint64(len(q.mu.ring))]
	u := *p
	*p = waiting{}
	q.mu.head++
	if !u.dead {
		q.mu.live--
		q.leave(&u)
	}
	return u
}

// leave notes that an update waits no more.
func (q *queue) leave(u *waiting) {
	q.mu.bytes -= u.bytes
	delete(q.mu.newest, u.entity)
	q.pins.bytes.Add(-placeBytes)
	if u.version != nil {
		q.pins.unqueued(u.version)
	}
}

// makePlace makes place for one more update in a ring that is in use all around:
// dead places are closed up if they are many, else the ring grows. It returns what
// was lost after the last update.
func (q *queue) makePlace() (lost uint64) {
	size := len(q.mu.ring)
	if 2*q.mu.live >= size {
		size = max(16, 2*size)
	}
	return q.resize(size)
}

// shrink makes the ring smaller if few of its places are in use.
func (q *queue) shrink() {
	switch size := len(q.mu.ring); {
	case size <= keptRing:
	case q.mu.head == q.mu.tail:
		q.mu.ring = nil
	case uint64(size) >= 8*(q.mu.tail-q.mu.head):
		q.resize(max(keptRing, size/4)) // the last place is not a dead one
	}
}

// resize moves what waits to a ring of so many places. It returns what was lost after the
// last update.
func (q *queue) resize(size int) (lost uint64) {
	old, head, tail := q.mu.ring, q.mu.head, q.mu.tail
	q.mu.ring = make([]waiting, size)
	q.mu.tail = head
	for p := head; p < tail; p++ {
		u := old[p%uint64(len(old))]
		lost += u.lost
		if u.dead {
			continue
		}
		u.lost, lost = lost, 0
		if q.mu.newest != nil {
			q.mu.newest[u.entity] = q.mu.tail
		}
		q.mu.ring[q.mu.tail%uint64(size)] = u
		q.mu.tail++
	}
	return lost
}

// takenBytes is how many bytes of payloads are taken at once, the last one's beyond: what a
// consumer holds that does not come back for more.
const takenBytes = 1 << 20

// take moves up to max updates into out, which is empty, and returns it. If there
// is none, it says why there will be no more, or returns neither and expects the
// consumer to wait for wake.
func (q *queue) take(out []waiting, max int) ([]waiting, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for bytes := int64(0); len(out) < max && bytes < takenBytes && q.mu.head < q.mu.tail; {
		u := q.pop()
		q.mu.lost += u.lost
		if u.dead {
			continue
		}
		u.lost, q.mu.lost = q.mu.lost, 0
		out = append(out, u)
		bytes += u.bytes
	}
	q.shrink()
	if q.mu.room != nil && !q.beyond(0, 0) {
		close(q.mu.room)
		q.mu.room = nil
	}
	if len(out) == 0 {
		if q.mu.end != nil {
			return nil, q.mu.end
		}
		q.mu.asleep = true
	}
	return out, nil
}

// waitForRoom waits until the queue is within its bounds, or it or ctx has ended.
func (q *queue) waitForRoom(ctx context.Context) {
	for {
		q.mu.Lock()
		if q.mu.end != nil || !q.beyond(0, 0) {
			q.mu.Unlock()
			return
		}
		if q.mu.room == nil {
			q.mu.room = make(chan struct{})
		}
		room := q.mu.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-q.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// finish ends the queue with err; the first end counts. What waits can still be taken
// unless discard is set.
func (q *queue) finish(err error, discard bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if discard {
		for q.mu.head < q.mu.tail {
			q.pop()
		}
		q.mu.ring, q.mu.head, q.mu.live, q.mu.bytes = nil, q.mu.tail, 0, 0
	}
	if q.mu.end == nil {
		q.mu.end = err
		close(q.over)
	}
}
