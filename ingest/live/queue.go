package live

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/recording"
)

// gather is how long a reader that has waited for a message waits for more, so that what
// comes at nearly the same time is committed together.
const gather = 5 * time.Millisecond

// queue holds messages between the network, which never waits for it, and the reader. Where
// they are more than its limit, the oldest are dropped.
type queue struct {
	limit int // bytes

	mu      sync.Mutex
	filled  sync.Cond
	waiting []recording.Message // from head on
	head    int
	bytes   int
	closed  bool
	dropped uint64
	topics  map[string]bool // of what was dropped
	span    engram.Interval // of it
}

func newQueue(limit int) *queue {
	q := &queue{limit: limit, topics: map[string]bool{}}
	q.filled.L = &q.mu
	return q
}

// overhead is what a message takes beside its data, in bytes.
const overhead = 128

func sizeOf(m *recording.Message) int { return len(m.Data) + overhead }

// put appends a message.
func (q *queue) put(m recording.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.head < len(q.waiting) && q.bytes+sizeOf(&m) > q.limit {
		d := q.takeLocked()
		if q.dropped++; q.span.Empty() {
			q.span = engram.Interval{Start: d.LogTime, End: d.LogTime.Add(1)}
		}
		q.span.Start, q.span.End = min(q.span.Start, d.LogTime), max(q.span.End, d.LogTime.Add(1))
		q.topics[d.Channel.Topic] = true
	}
	q.waiting = append(q.waiting, m)
	q.bytes += sizeOf(&m)
	q.filled.Signal()
}

// takeLocked takes the oldest message, which must be there.
func (q *queue) takeLocked() recording.Message {
	m := q.waiting[q.head]
	q.waiting[q.head] = recording.Message{} // or its data would be kept
	q.head++
	q.bytes -= sizeOf(&m)
	if q.head == len(q.waiting) {
		q.waiting, q.head = q.waiting[:0], 0
	} else if q.head >= 1024 && q.head > len(q.waiting)/2 {
		n := copy(q.waiting, q.waiting[q.head:])
		clear(q.waiting[n:])
		q.waiting, q.head = q.waiting[:n], 0
	}
	return m
}

// take waits for the next message; ok is false once the queue is closed and empty.
func (q *queue) take() (m recording.Message, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head == len(q.waiting) && !q.closed {
		for q.head == len(q.waiting) && !q.closed {
			q.filled.Wait()
		}
		q.mu.Unlock()
		time.Sleep(gather)
		q.mu.Lock()
	}
	if q.head == len(q.waiting) {
		return m, false
	}
	return q.takeLocked(), true
}

// close lets the reader have what is there, and ends it then.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) - q.head
}

// drops returns how many messages were dropped.
func (q *queue) drops() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// loss returns what was dropped, and whether anything was.
func (q *queue) loss() (l recording.Loss, any bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return recording.Loss{
		Messages: q.dropped, Topics: slices.Sorted(maps.Keys(q.topics)), Span: q.span, HasSpan: q.dropped > 0,
		Reason: "dropped, since the memory did not keep up",
	}, q.dropped > 0
}
