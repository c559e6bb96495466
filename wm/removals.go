package wm

import (
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// Removal tells that something is gone because somebody wanted that, not for its age
// or a bound: a segment that was removed, or what was forgotten on request.
type Removal struct {
	// Segment that was removed with all it held; the root if it was not a segment.
	Segment engram.ID
	// What was forgotten, if no segment was removed: what the patterns match with
	// times in Span, and the snapshots with the IDs; but for what has a time in Except.
	Patterns []engram.Pattern
	Span     engram.Interval
	IDs      []engram.ID
	Except   []engram.Interval

	Number uint64      // of the newest update when it was noted
	Until  engram.Time // all that arrived before it was noted arrived at or before it, what comes later after it
}

// removals are the removals of this life and, if there is a disk, of earlier ones, as
// many as are kept. Of one segment there is one.
type removals struct {
	keep    int
	list    []Removal   // by Until
	dropped engram.Time // Until of the last one that is kept no more, if any is
	any     bool
}

// stampLocked says what a removal is about: what has come by now.
func (w *WM) stampLocked(r *Removal) {
	w.mu.arrived = max(w.mu.arrived+1, w.now())
	r.Number, r.Until = w.mu.number, w.mu.arrived
	w.mu.arrived++ // what comes later arrives later
}

// noteLocked notes a removal and tells who watches.
func (w *WM) noteLocked(r Removal, owed *notices) {
	w.mu.feed.removals.add(r)
	w.removal.Store(int64(r.Until))
	w.mu.feed.wakeWatchers(owed)
}

func (l *removals) add(r Removal) {
	if !r.Segment.IsRoot() { // the last removal is about all that earlier ones were about
		l.list = slices.DeleteFunc(l.list, func(old Removal) bool { return r.Segment.Contains(old.Segment) && !old.Segment.IsRoot() })
	}
	l.list = append(l.list, r)
	if n := len(l.list) - l.keep; n > 0 {
		l.dropped, l.any = l.list[n-1].Until, true
		l.list = slices.Delete(l.list, 0, n)
	}
}

// NoteRemoval notes that something is about to be erased on request, for who follows
// the memory's changes, once keep, which is given it with its Number and Until, has
// succeeded. Until then nothing is settled that arrives after it.
func (w *WM) NoteRemoval(r Removal, keep func(Removal) error) error {
	w.defining.Lock() // removals are noted in the order of their times
	defer w.defining.Unlock()
	w.mu.Lock()
	w.stampLocked(&r)
	w.mu.removing = r.Until
	w.mu.Unlock()
	err := keep(r)
	var owed notices
	w.mu.Lock()
	w.mu.removing = engram.MaxTime
	if err == nil {
		w.noteLocked(r, &owed)
	}
	w.mu.Unlock()
	owed.rouse()
	return err
}

// RestoreRemovals makes the removals of earlier lives known, before anything is
// removed in this one. dropped, if any is true, is the time of the last of those that
// are known no more.
//
// What is committed from now on arrives after all of them. Where the clock was set back
// by more than a little since, they are told to have been earlier instead.
func (w *WM) RestoreRemovals(list []Removal, dropped engram.Time, any bool) {
	latest := w.now().Add(setBack)
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &w.mu.feed.removals
	l.dropped, l.any = min(dropped, latest), any
	for _, r := range list {
		if r.Until > latest {
			r.Until = latest.Add(-setBack)
		}
		l.add(r)
		w.mu.arrived = max(w.mu.arrived, r.Until+1)
		w.removal.Store(int64(r.Until))
	}
}

// setBack is how far a clock may be set back so that arrivals wait for it.
const setBack = time.Minute

// LastRemoval returns Until of the newest removal, MinTime if there is none.
func (w *WM) LastRemoval() engram.Time { return engram.Time(w.removal.Load()) }

// Removals returns the removals that are kept, in their order. cut says that there were
// others, the last of which was noted at dropped. The slices are shared: not to be
// changed.
func (w *WM) Removals() (list []Removal, dropped engram.Time, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &w.mu.feed.removals
	return slices.Clone(l.list), l.dropped, l.any
}
