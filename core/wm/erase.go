package wm

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Erase drops the versions of an entity that unwanted tells, the newest state too, and
// returns how many those were. They count as evicted. Of the versions of one time only
// the oldest up to the first wanted one are dropped. unwanted is called under the
// memory's lock as well: it must be quick and call nothing of it.
//
// Who holds a snapshot, or has it in the queue of a subscription, keeps it. Subscriptions that ask for it are
// told ([engram.Update.Removed]).
func (w *WM) Erase(ctx context.Context, id engram.ID, unwanted func(*engram.Snapshot) bool) (n uint64, err error) {
	e := w.entity(id)
	if e == nil {
		return 0, nil
	}
	var times []engram.Time
	for _, c := range e.timeline.spans() {
		for i := range int(c.filled.Load()) {
			if v := c.slots[i].current.Load(); v != nil && v.anyOf(unwanted) {
				times = append(times, v.Time)
			}
		}
	}
	defer func() {
		if n > 0 {
			w.tellErased(e)
		}
	}()
	for len(times) > 0 {
		if err := checkContext(ctx); err != nil {
			return n, err
		}
		batch := times[:min(eraseBatch, len(times))]
		times = times[len(batch):]
		present := e.present(w.now())
		w.mu.Lock()
		for _, t := range batch {
			n += e.eraseLocked(t, unwanted, present)
		}
		w.mu.Unlock()
	}
	return n, nil
}

// erasure says that something of an entity was removed after an update.
type erasure struct {
	entity *entity
	number uint64
}

// erasures are the last keptErasures, for subscriptions that resume.
type erasures struct {
	list []erasure // in their order
	cut  bool      // there were others, up to the number
	upTo uint64
}

const keptErasures = 1024

// tellErased tells subscriptions that something of an entity was removed.
func (w *writer) tellErased(e *entity) {
	var owed notices
	now := w.now()
	w.mu.Lock()
	w.mu.feed.erasedLocked(e, w.mu.number, now, &owed)
	w.mu.Unlock()
	owed.wakeUp()
}

// erasedLocked notes that something of an entity was removed after an update, and what is owed to subscriptions.
func (f *feed) erasedLocked(e *entity, number uint64, now engram.Time, owed *notices) {
	x := &f.erasures
	if len(x.list) == keptErasures {
		x.cut, x.upTo = true, x.list[0].number
		x.list = slices.Delete(x.list, 0, 1)
	}
	x.list = append(x.list, erasure{e, number})
	for _, s := range f.match(e) {
		if !s.removals {
			continue
		}
		if _, asleep := s.queue.put(waiting{number: number, arrived: now, removed: true, entity: e}); asleep {
			owed.asleep = append(owed.asleep, s)
		}
	}
}

// resumeErasedLocked puts what was removed since an update into the queue of a subscription, to be told after its
// backfill. It reports whether all is known.
func (f *feed) resumeErasedLocked(s *subscription, since uint64, now engram.Time) bool {
	for _, x := range f.erasures.list {
		if x.number >= since && s.matches(x.entity.id) {
			s.queue.put(waiting{number: s.start, arrived: now, removed: true, entity: x.entity})
		}
	}
	return !f.erasures.cut || f.erasures.upTo < since
}

// eraseBatch is how many snapshots are erased under one hold of the lock.
const eraseBatch = 256

// anyOf reports whether one of the versions of v's time is unwanted.
func (v *version) anyOf(unwanted func(*engram.Snapshot) bool) bool {
	for ; v != nil && v != evictedVersion; v = v.older.Load() {
		if unwanted(&v.Snapshot) {
			return true
		}
	}
	return false
}

// eraseLocked drops the unwanted versions of a time, from the oldest on.
func (e *entity) eraseLocked(t engram.Time, unwanted func(*engram.Snapshot) bool, present engram.Time) (n uint64) {
	if e.removed || e.provider.removed {
		return 0
	}
	current := e.timeline.current(t)
	if current == nil {
		return 0
	}
	v := current
	if v.oldest != nil {
		v = v.oldest
	}
	for v != nil && unwanted(&v.Snapshot) {
		newer := v.newer
		if newer == nil && v == e.newest.Load() {
			e.demoteLocked(v, present)
		}
		e.evictLocked(v)
		n++
		v = newer
	}
	if !e.removed {
		e.ahead.Store(e.timeline.last().Time > e.newest.Load().Time)
	}
	return n
}

// demoteLocked makes the newest snapshot beside v, which is the newest and about to go, the
// entity's newest state, if there is one.
func (e *entity) demoteLocked(v *version, present engram.Time) {
	next := e.timeline.newest(present)
	if next == v {
		next = e.timeline.before(v.Time)
	}
	if next == nil { // all others are ahead
		next = e.timeline.last()
	}
	if next == v {
		return
	}
	if m := e.provider.core.memory; m.bounded() {
		m.current.remove(v)
		m.history.push(v)
		m.history.remove(next)
		m.current.push(next)
	}
	e.newest.Store(next)
}
