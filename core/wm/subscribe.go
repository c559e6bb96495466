package wm

import (
	"context"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

var (
	errServerClosed = engram.Errorf(engram.Unavailable, "", "the memory was closed")
	errStreamClosed = engram.Errorf(engram.Canceled, "", "the subscription was closed")
)

// batchSize is how many updates Next returns at most.
const batchSize = 256

// defaultQueue is how many updates may wait if the subscription does not say.
const defaultQueue = 1024

// subscription is a subscription at work, and its stream.
type subscription struct {
	w        *WM
	ordinal  uint64 // among all of the feed
	wanted   wanted
	asked    int64        // see asks
	scope    engram.Scope // nil: everything
	withData bool
	filter   *query.Filter // nil: every update
	failures bool          // what it fails on is told
	removals bool          // they are told
	shape    *query.Shape
	start    uint64 // the newest update when it began
	closed   atomic.Bool
	ended    chan struct{} // closed with it
	queue    *queue
	attend   atomic.Pointer[func() bool] // see Attend

	// The consumer's.
	backfill []recorded // still to be delivered, in the order of numbers
	lost     uint64     // updates lost before what comes next
	taken    []waiting
	next     int    // of taken: the first that was not looked at
	behind   uint64 // updates lost behind what was taken
	told     uint64 // failures of the filter
	batch    []engram.Update
}

// Subscribe implements engram.Subscriber.
//
// A subscription that begins in the past finds what is still kept. What it wanted
// and was evicted is counted in Dropped of the next update: exactly for the last
// 65,536 updates of the memory before it resumes by number, and estimated from the
// mean rate of each entity's updates beyond these and for a start by time; entities
// that were evicted as a whole are not counted. An update that is evicted between
// the call and its delivery counts as dropped as well.
//
// Where and Fields are evaluated in Next, on the consumer's time. An update whose
// instances do not satisfy Where was not wanted and does not count as dropped.
// Fields that a payload's type does not have are left out.
//
// The updates that wait keep their snapshots in memory if the subscription asks
// for data or has a filter; Limits.MaxQueueBytes bounds them, and MaxPinnedBytes what
// waits and what of it the memory has evicted, of all subscriptions together.
//
// With SlowBlock, a commit returns after the queues of all such subscriptions are
// within their bounds again or its context has ended; so who consumes such a
// stream must not commit between calls of Next what it is itself subscribed to.
func (w *WM) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	s, err := w.newSubscription(sub, engram.ScopeOf(ctx))
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	if w.mu.closed {
		w.mu.Unlock()
		return nil, errServerClosed
	}
	if err := w.checkStartLocked(sub.Start); err != nil {
		w.mu.Unlock()
		return nil, err
	}
	if err := w.checkRoomLocked(s); err != nil {
		w.mu.Unlock()
		return nil, err
	}
	s.start = w.mu.number
	w.mu.feed.add(s)
	var recent []recentUpdate
	var first uint64
	known := true
	if sub.Start.Kind == engram.StartNumber {
		recent, first = w.mu.feed.since(sub.Start.Number, s.start)
		known = !s.removals || w.mu.feed.resumeErasedLocked(s, sub.Start.Number, w.now())
	}
	w.mu.Unlock()

	if sub.Start.Kind != engram.StartNow {
		if err := s.findBackfill(ctx, sub, recent, first); err != nil {
			s.Close()
			return nil, err
		}
	}
	if !known {
		s.lost++
	}
	return s, nil
}

func (w *WM) newSubscription(sub engram.Subscription, scope engram.Scope) (*subscription, error) {
	switch {
	case sub.Queue < 0 || sub.Queue > w.limits.MaxQueue:
		return nil, engram.Errorf(engram.Exhausted, "", "a queue of %d updates; at most %d may wait", sub.Queue, w.limits.MaxQueue)
	case sub.Slow > engram.SlowBlock:
		return nil, engram.Errorf(engram.Invalid, "", "an unknown policy %d for slow consumers", sub.Slow)
	case sub.Start.Kind > engram.StartNumber:
		return nil, engram.Errorf(engram.Invalid, "", "a start of unknown kind %d", sub.Start.Kind)
	case sub.Start.Kind == engram.StartLast && sub.Start.N < 1:
		return nil, engram.Errorf(engram.Invalid, "", "a start with the last %d snapshots: at least 1 must be asked for", sub.Start.N)
	case len(sub.Patterns) > w.limits.MaxQueryNodes:
		return nil, engram.Errorf(engram.Exhausted, "", "a subscription with %d patterns; at most %d are allowed", len(sub.Patterns), w.limits.MaxQueryNodes)
	}
	if sub.Queue == 0 {
		sub.Queue = min(defaultQueue, w.limits.MaxQueue)
	}
	s := &subscription{
		w:        w,
		scope:    scope,
		withData: sub.WithData,
		failures: sub.Failures,
		removals: sub.Removals,
		ended:    make(chan struct{}),
		shape:    query.NewShape(w.types, sub.Fields, false),
		queue:    newQueue(sub.Slow, sub.Queue, w.limits.MaxQueueBytes, &w.mu.feed.pins),
	}
	var err error
	if s.wanted, err = newWanted(sub.Patterns); err != nil {
		return nil, err
	}
	s.asked = s.asks(&sub)
	s.filter, err = w.compiler.Filter(context.Background(), sub.Where, w.types, 0)
	return s, err
}

// matches reports whether the subscription wants updates of that entity.
func (s *subscription) matches(entity engram.ID) bool {
	return engram.VisibilityIn(s.scope, entity) != engram.Hidden && s.wanted.match(entity)
}

// needsVersion reports whether the consumer looks at snapshots.
func (s *subscription) needsVersion() bool { return s.withData || s.filter != nil }

// push is called by writers with each update that the subscription matches.
func (s *subscription) push(e *entity, v *version, supersedes bool) (full, asleep bool) {
	u := waiting{number: v.Number, time: v.Time, arrived: v.Arrived, supersedes: supersedes, entity: e}
	if s.needsVersion() {
		u.version, u.bytes = v, int64(v.Size())
	}
	return s.queue.put(u)
}

func (s *subscription) waitForRoom(ctx context.Context) { s.queue.waitForRoom(ctx) }

// wakeUp tells the consumer, who found nothing, that there are updates.
func (s *subscription) wakeUp() {
	if f := s.attend.Load(); f == nil || !(*f)() {
		s.queue.wakeUp()
	}
}

// isOver reports whether the subscription has ended.
func (s *subscription) isOver() bool {
	select {
	case <-s.queue.over:
		return true
	default:
		return false
	}
}

// Next implements engram.UpdateStream. If ctx ends, the stream does not: another
// call goes on where this one would have.
func (s *subscription) Next(ctx context.Context) ([]engram.Update, error) {
	for {
		if err := checkContext(ctx); err != nil {
			return nil, err
		}
		if batch, err := s.poll(ctx); err != nil || len(batch) > 0 {
			return batch, err
		}
		if err := s.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// Poll is Next without waiting: if no updates are ready, it returns none.
func (s *subscription) Poll() ([]engram.Update, error) { return s.poll(context.Background()) }

func (s *subscription) poll(ctx context.Context) ([]engram.Update, error) {
	s.batch = s.batch[:0]
	for {
		if s.next == len(s.taken) {
			if err := s.takeMore(); err != nil {
				return nil, err
			}
		}
		idle := len(s.taken) == 0 && s.behind == 0
		if err := s.deliverTaken(ctx); err != nil && len(s.batch) == 0 {
			return nil, err
		}
		if len(s.batch) > 0 || idle {
			return s.batch, nil
		}
	}
}

// takeMore takes what comes next, of the past or of what waits.
func (s *subscription) takeMore() (err error) {
	if len(s.backfill) == 0 {
		s.taken, err = s.queue.take(s.taken, batchSize)
		return err
	}
	if s.closed.Load() {
		return errStreamClosed
	}
	s.behind = s.takeBackfill()
	return nil
}

// deliverTaken appends what was taken to the batch. What an error keeps it from looking at
// stays taken.
func (s *subscription) deliverTaken(ctx context.Context) error {
	if s.filter != nil && s.next < len(s.taken) {
		if err := s.filter.Begin(ctx, s.ended); err != nil {
			return s.givenUp(err)
		}
		defer s.filter.Yield()
	}
	for ; s.next < len(s.taken); s.next++ {
		if err := s.deliver(&s.taken[s.next]); err != nil {
			return s.givenUp(err)
		}
	}
	s.lost += s.behind
	s.behind = 0
	clear(s.taken)
	s.taken, s.next = s.taken[:0], 0
	return nil
}

// givenUp returns why the stream ended, if it did, or err.
func (s *subscription) givenUp(err error) error {
	if s.closed.Load() {
		return errStreamClosed
	}
	return err
}

// Wait waits, after Poll returned no updates, until there may be some again.
func (s *subscription) Wait(ctx context.Context) error {
	select {
	case <-s.queue.wake:
	case <-s.queue.over:
	case <-ctx.Done():
		return canceled(ctx)
	}
	return nil
}

// Attend has a writer whose updates the consumer waits for call f, on the writer's
// own goroutine and without locks, so that they need no other goroutine to get on.
// f must not wait. It reports whether it polled until there was nothing; if not,
// Wait returns. Attend returns false, and f is never called, if what this
// subscription delivers takes long to make.
func (s *subscription) Attend(f func() bool) bool {
	if s.filter != nil || !s.shape.Whole() {
		return false
	}
	s.attend.Store(&f)
	return true
}

// deliver appends an update to the batch, if it satisfies the filter.
func (s *subscription) deliver(u *waiting) error {
	if u.removed {
		s.batch = append(s.batch, engram.Update{Number: u.number, ID: u.entity.id, Arrived: u.arrived, Removed: true, Dropped: s.lost + u.lost})
		s.lost = 0
		return nil
	}
	var snap *engram.Snapshot
	if u.version != nil {
		snap = &u.version.Snapshot
	}
	if s.filter != nil {
		s.filter.Entity(u.entity.id)
		snap = s.filter.Snapshot(snap)
		if err := s.filter.Err(); err != nil {
			return err
		}
		defer s.tellFailures(u)
	}
	s.lost += u.lost
	u.lost = 0
	switch {
	case s.filter != nil && snap == nil:
		return nil
	case !s.withData:
		snap = nil
	case !s.shape.Whole():
		var err error
		if snap, err = s.shape.Apply(snap); err != nil {
			return err
		}
	}
	s.batch = append(s.batch, engram.Update{
		Number: u.number, ID: u.entity.id.At(u.time), Arrived: u.arrived,
		Supersedes: u.supersedes, Snapshot: snap, Dropped: s.lost,
	})
	s.lost = 0
	return nil
}

// tellFailures appends what the filter failed on, if that is twice as much as was told.
func (s *subscription) tellFailures(u *waiting) {
	if n := s.filter.Failures(); s.failures && n >= max(1, 2*s.told) {
		failed := s.filter.Failed()
		s.batch = append(s.batch, engram.Update{Number: u.number, ID: u.entity.id, Arrived: u.arrived, Failed: &failed})
		s.told = n
	}
}

// Epoch implements engram.UpdateStream.
func (s *subscription) Epoch() uint64 { return s.w.epoch }

// Number returns the number of the newest update when the subscription began: it
// can be resumed from there if no update has been seen.
func (s *subscription) Number() uint64 { return s.start }

// Close implements engram.UpdateStream.
func (s *subscription) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		close(s.ended)
	}
	s.queue.finish(errStreamClosed, true) // before the feed lets go of it
	s.w.mu.Lock()
	s.w.mu.feed.remove(s)
	s.w.mu.Unlock()
	return nil
}
