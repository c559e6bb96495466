package wm

import (
	"math"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// pins counts what only the queues of subscriptions hold: their places, and versions that
// the memory has evicted, each once however many queues it waits in. Queues count under
// their own locks, so it is atomic.
type pins struct{ bytes atomic.Int64 }

const (
	left       = 1 << 30 // in a version's holders: the memory has evicted it
	pinnedSize = 256     // bytes that a version takes beside its payloads, about
	placeBytes = 144     // that an update takes in a queue, the free places beside it included
)

func (v *version) pinned() int64 { return int64(v.Size()) + pinnedSize }

// queued notes that one more queue holds the version.
func (p *pins) queued(v *version) {
	if v.holders.Add(1) == left+1 {
		p.bytes.Add(v.pinned())
	}
}

// unqueued notes that one queue holds the version no more.
func (p *pins) unqueued(v *version) {
	if v.holders.Add(-1) == left {
		p.bytes.Add(-v.pinned())
	}
}

// evicted notes that the memory holds the version no more.
func (p *pins) evicted(v *version) {
	if old := v.holders.Or(left); old > 0 && old&left == 0 {
		p.bytes.Add(v.pinned())
	}
}

// relieveLocked drops updates if the queues hold more than they all may together: a few at a time from the queue whose consumer is furthest behind.
func (w *writer) relieveLocked() {
	f := &w.mu.feed
	if f.pins.bytes.Load() <= w.mu.maxPinned {
		return
	}
	target := w.mu.maxPinned - w.mu.maxPinned/8 // so that not each commit looks for a queue
	for f.pins.bytes.Load() > target {
		s := f.furthestBehind()
		if s == nil {
			return
		}
		s.queue.shed(&f.pins, target)
	}
}

// furthestBehind returns the subscription whose oldest waiting update is the oldest: of
// those with more than one, which are told soon what they lost, rather than of others; and
// of those whose oldest keeps nothing that the memory has, rather than of others. Writers that wait for a consumer
// hold its queue within bounds themselves.
func (f *feed) furthestBehind() (s *subscription) {
	rank, first := 0, uint64(math.MaxUint64)
	for _, o := range f.subscriptions {
		if o.queue.policy == engram.SlowBlock {
			continue
		}
		if r, number := o.queue.behind(); r > rank || r == rank && number < first {
			s, rank, first = o, r, number
		}
	}
	if rank == 0 {
		return nil
	}
	return s
}

// behind returns the number of the oldest update that waits, and how soon it is to be
// dropped: 0 is never, for none waits.
func (q *queue) behind() (rank int, number uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for p := q.mu.head; p < q.mu.tail; p++ {
		u := &q.mu.ring[p%uint64(len(q.mu.ring))]
		if u.dead {
			continue
		}
		rank = 1
		if u.version == nil || u.version.holders.Load()&left != 0 {
			rank = 2
		}
		if q.mu.live > 1 {
			rank += 2
		}
		return rank, u.number
	}
	return 0, 0
}

// shedAtOnce is how many updates a queue drops before the next is looked for.
const shedAtOnce = 64

// shed drops the oldest updates, but not the newest beside others, until all queues together
// hold no more than target.
func (q *queue) shed(p *pins, target int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	least := min(q.mu.live-1, 1)
	for n := 0; n < shedAtOnce && q.mu.live > least && p.bytes.Load() > target; n++ {
		q.dropOldest()
	}
	q.shrink()
}
