package wm

import "github.com/seed-301d4374/engram"

// Figures are what operators watch of a working memory. Getting them costs a moment per
// segment and subscription, however many entities there are.
type Figures struct {
	Number        uint64 // of the newest update
	Subscriptions int
	Begun         uint64 // subscriptions ever
	Waiting       int    // updates in the queues of subscriptions
	WaitingBytes  int64  // their payloads
	Behind        int    // updates in the fullest queue
	Dropped       uint64 // updates that queues ever dropped
	Segments      []SegmentFigures
	Indexes       []IndexFigures // by name
}

// SegmentFigures are those of a core segment.
type SegmentFigures struct {
	Segment   engram.ID
	Entities  uint64
	Snapshots uint64 // retained, with superseded versions
	Bytes     int64  // their payloads
	Committed uint64 // snapshots ever
	Written   int64  // payload bytes ever committed
	Evicted   uint64 // snapshots and versions ever
	Refused   uint64 // entity updates ever
}

// Figures returns the figures; segments by ID.
func (w *WM) Figures() Figures {
	w.mu.Lock()
	f := Figures{Number: w.mu.number, Begun: w.mu.feed.begun, Dropped: w.mu.feed.dropped}
	subscriptions := append([]*subscription(nil), w.mu.feed.subscriptions...)
	w.mu.Unlock()
	f.Subscriptions, f.Indexes = len(subscriptions), w.indexes.Figures()
	for _, s := range subscriptions {
		live, bytes := s.queue.waits()
		f.Waiting += live
		f.WaitingBytes += bytes
		f.Behind = max(f.Behind, live)
		f.Dropped += s.queue.dropped.Load()
	}
	for _, m := range w.memories.sorted() {
		for _, c := range m.value.cores.sorted() {
			f.Segments = append(f.Segments, w.segmentFigures(c.value))
		}
	}
	return f
}

// Committed returns how many snapshots were ever committed to each provider segment that is
// there, and the number of the newest update: all of one moment. That costs a moment per
// provider segment, however many entities there are.
func (w *WM) Committed() (of map[engram.ID]uint64, number uint64) {
	var providers []*provider
	for _, m := range w.memories.sorted() {
		for _, c := range m.value.cores.sorted() {
			for _, p := range c.value.providers.sorted() {
				providers = append(providers, p.value)
			}
		}
	}
	of = make(map[engram.ID]uint64, len(providers))
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range providers {
		of[p.id] = p.held.committed
	}
	return of, w.mu.number
}

func (w *writer) segmentFigures(c *core) SegmentFigures {
	f := SegmentFigures{Segment: c.id, Refused: c.refused.Load()}
	providers := c.providers.sorted()
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := c.past
	for _, p := range providers {
		f.Entities += uint64(p.value.entities.len)
		f.Refused += p.value.refused.Load()
		sum.addHeld(&p.value.held)
		sum.addPast(&p.value.held)
	}
	f.Snapshots, f.Bytes = sum.versions(), sum.bytes
	f.Committed, f.Written, f.Evicted = sum.committed, sum.written, sum.evicted
	return f
}

// waits tells what waits in the queue.
func (q *queue) waits() (updates int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.live, q.mu.bytes
}
