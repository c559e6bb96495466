package wm

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// Feed is the change feed of a working memory, for readers that go on from a number:
// indexes, the recorder, holders of copies. Safe for concurrent use.
type Feed struct{ *writer }

// Feed returns the memory's change feed.
func (w *WM) Feed() Feed { return Feed{&w.writer} }

// Change is an update of the past that may still be kept.
type Change struct {
	Number uint64
	// LowWatermark is a time at or after which everything with a higher number arrived.
	LowWatermark engram.Time
	time         engram.Time
	entity       *entity
}

// EntityKey tells entities apart; one that was removed is another one than that of
// the same name that came after it. It is not for keeping: it keeps the entity.
type EntityKey struct{ entity *entity }

// Key returns the entity's key.
func (c *Change) Key() EntityKey { return EntityKey{c.entity} }

// Entity returns the entity's ID.
func (c *Change) Entity() engram.ID { return c.entity.id }

// Time returns the time of the snapshot.
func (c *Change) Time() engram.Time { return c.time }

// Find returns the version if it is still kept, nil otherwise; removed says that its
// segment was removed.
func (c *Change) Find() (s *engram.Snapshot, removed bool) {
	v := c.entity.find(c.time, c.Number)
	if v == nil {
		return nil, c.entity.provider.isGone()
	}
	return &v.Snapshot, false
}

func (p *provider) isGone() bool {
	now, _ := p.core.providers.Get(p.id.ProviderSegment())
	core, _ := p.core.memory.cores.Get(p.core.id.CoreSegment())
	return now != p || core != p.core
}

// Changes appends to buf the updates behind a number, as many as fit its capacity and
// the memory remembers, but for those of copies and what was recalled, which are no
// news of this memory. upTo is the number up to which it looked, and watermark a
// time at or after which everything behind that arrived. ok is false if the memory does not
// remember the update behind after any more; [Feed.Search] may find it.
func (f Feed) Changes(after uint64, buf []Change) (list []Change, upTo uint64, watermark engram.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.number.Load()
	if after >= last {
		return buf, after, f.lowWatermarkLocked(), true
	}
	if last-after >= f.mu.feed.keep {
		return buf, after, engram.MinTime, false
	}
	for upTo = after; upTo < last && len(buf) < cap(buf); {
		upTo++
		u := &f.mu.feed.recent[upTo%f.mu.feed.keep]
		watermark = u.lowWatermark
		if u.news && !u.entity.provider.core.memory.copied {
			buf = append(buf, Change{Number: upTo, LowWatermark: u.lowWatermark, time: u.time, entity: u.entity})
		}
	}
	if upTo == last {
		watermark = f.lowWatermarkLocked()
	}
	return buf, upTo, watermark, true
}

// lowWatermarkLocked returns a time at or after which everything will have arrived that
// gets a number later.
func (w *writer) lowWatermarkLocked() engram.Time {
	t := w.mu.arrived
	if t == engram.MinTime {
		return w.now()
	}
	t = min(t, w.mu.removing)
	if w.mu.syncing > 0 {
		for _, e := range w.memories.sorted() {
			if s := e.value.syncing; len(s) > 0 {
				t = min(t, s[0].arrived)
			}
		}
	}
	return t
}

// Restored returns the number given last to what was restored of an earlier epoch when
// this one began, 0 if nothing was.
func (f Feed) Restored() uint64 { return f.restored.Load() }

// LowWatermark returns the number of the newest update, and a time at or after which
// everything behind it arrived.
func (f Feed) LowWatermark() (number uint64, watermark engram.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.number.Load(), f.lowWatermarkLocked()
}

// Search finds the updates with numbers in (after, upTo] of the entities that match,
// as far as they are kept, in the order of their numbers; of the rest it tells, as far
// as is known. What Changes leaves out it leaves out, too. LowWatermark is not set.
func (f Feed) Search(ctx context.Context, match func(engram.ID) bool, after, upTo uint64) (list []Change, lost []engram.Missing, err error) {
	for _, m := range f.memories.sorted() {
		if m.value.copied {
			continue
		}
		for _, c := range m.value.cores.sorted() {
			for _, p := range c.value.providers.sorted() {
				if err := checkContext(ctx); err != nil {
					return nil, nil, err
				}
				matched := false
				for _, e := range p.value.entities.sorted() {
					if match(e.value.id) {
						matched = true
						list, lost = e.value.search(list, lost, after, upTo)
					}
				}
				if p.value.goneFrom.Load() > 0 && (matched || match(p.value.id)) {
					lost = p.value.searchGone(lost, after)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.Number, b.Number) })
	return list, lost, nil
}

func (e *entity) search(list []Change, lost []engram.Missing, after, upTo uint64) ([]Change, []engram.Missing) {
	if e.lastNumber.Load() <= after {
		return list, lost
	}
	for v := range e.versions() {
		if v.Number > after && v.Number <= upTo && !v.Recalled {
			list = append(list, Change{Number: v.Number, time: v.Time, entity: e})
		}
	}
	if e.lost.lastNumber.Load() > after {
		l := e.lost.load()
		estimate := e.lost.numbered(e.firstNumber.Load(), after, upTo+1)
		m := engram.Missing{ID: e.id, Reason: engram.MissingEvicted, Count: max(1, uint64(estimate+0.5))}
		if l.snapshots > 0 {
			m.Interval = engram.Interval{Start: l.first, End: l.last + 1}
		}
		lost = append(lost, m)
	}
	return list, lost
}

func (p *provider) searchGone(lost []engram.Missing, after uint64) []engram.Missing {
	l := p.gone.load()
	if p.gone.lastNumber.Load() <= after || l.snapshots == 0 {
		return lost
	}
	return append(lost, engram.Missing{
		ID: p.id, Reason: engram.MissingEvicted, Count: l.evictions, Interval: engram.Interval{Start: l.first, End: l.last + 1},
	})
}

// Watcher waits for changes of a memory. One goroutine may use it, but for Close.
type Watcher struct {
	w      *writer
	wake   chan struct{}
	asleep atomic.Bool
}

// Watch returns a watcher; it must be closed.
func (f Feed) Watch() *Watcher {
	x := &Watcher{w: f.writer, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.feed.watchers = append(f.mu.feed.watchers, x)
	return x
}

// Arm makes the next change, and the memory's end, send to the channel. Look for
// changes between arming and waiting.
func (x *Watcher) Arm() <-chan struct{} {
	select {
	case <-x.wake:
	default:
	}
	x.asleep.Store(true)
	return x.wake
}

// Close ends it.
func (x *Watcher) Close() {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	x.w.mu.feed.watchers = slices.DeleteFunc(x.w.mu.feed.watchers, func(o *Watcher) bool { return o == x })
}

func (x *Watcher) wakeUp() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// wakeWatchers notes who waits for a change.
func (f *feed) wakeWatchers(owed *notices) {
	for _, x := range f.watchers {
		if x.asleep.CompareAndSwap(true, false) {
			owed.watchers = append(owed.watchers, x)
		}
	}
}

// Closed reports whether the memory was closed.
func (w *WM) Closed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.closed
}
