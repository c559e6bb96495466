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
	// Entities that the patterns matched when it was noted, for those who may not know the
	// patterns; of all removals together the last [MaxMatched] or so.
	Entities []engram.ID

	Order  uint64      // its place among those that this epoch knows, the first one's is 1
	Epoch  uint64      // the epoch in which it was noted, 0 if that is not known
	Number uint64      // of the newest update of that epoch when it was noted, 0 if that is not known
	Until  engram.Time // all of that epoch that arrived before it was noted arrived at or before it, what came later after it
}

// Removals are what a working memory knows of removals. Safe for concurrent use.
type Removals struct{ *writer }

// Removals returns what the memory knows of removals.
func (w *WM) Removals() Removals { return Removals{&w.writer} }

// removals are the removals of this epoch and, if there is a disk, of earlier ones, as
// many as are kept. Of one segment there is one.
type removals struct {
	keep    int
	list    []Removal // by Order
	last    uint64    // the Order of the newest
	dropped Removal   // the last one that is kept no more, with an Order if any is
}

// MaxMatched bounds the entities that are kept of removals but the last.
const MaxMatched = 50_000

// stampLocked says what a removal is about: what has come by now.
func (w *writer) stampLocked(r *Removal) {
	w.mu.arrived = max(w.mu.arrived+1, w.now())
	r.Epoch, r.Number, r.Until = w.epoch, w.mu.number, w.mu.arrived
	w.mu.arrived++ // what comes later arrives later
}

// noteLocked notes a removal and tells who watches.
func (w *writer) noteLocked(r Removal, owed *notices) {
	w.mu.feed.removals.add(r)
	w.removal.Store(w.mu.feed.removals.last)
	w.mu.feed.wakeWatchers(owed)
}

func (l *removals) add(r Removal) {
	if !r.Segment.IsRoot() { // the last removal is about all that earlier ones were about
		l.list = slices.DeleteFunc(l.list, func(old Removal) bool { return r.Segment.Contains(old.Segment) && !old.Segment.IsRoot() })
	}
	l.last++
	r.Order = l.last
	l.list = append(l.list, r)
	matched := 0
	for i := len(l.list) - 1; i >= 0; i-- {
		if matched += len(l.list[i].Entities); matched > MaxMatched && i < len(l.list)-1 {
			l.list[i].Entities = nil
		}
	}
	if n := len(l.list) - l.keep; n > 0 {
		l.dropped = l.list[n-1]
		l.list = slices.Delete(l.list, 0, n)
	}
}

// Note announces an erasure to readers of the change feed. First it calls keep with
// the removal's Number and Until set; keep may set its Entities. The removal is announced
// if keep succeeds. Until then the low watermark does not pass it.
func (rs Removals) Note(r Removal, keep func(*Removal) error) error {
	rs.defining.Lock() // removals are noted in the order of their times
	defer rs.defining.Unlock()
	rs.mu.Lock()
	rs.stampLocked(&r)
	rs.mu.removing = r.Until
	rs.mu.Unlock()
	err := keep(&r)
	var owed notices
	rs.mu.Lock()
	rs.mu.removing = engram.MaxTime
	if err == nil {
		rs.noteLocked(r, &owed)
	}
	rs.mu.Unlock()
	owed.wakeUp()
	return err
}

// Restore makes the removals of earlier epochs known, in their order, before
// anything is removed in this one. dropped, if any is true, is the last of those that are
// known no more.
//
// What is committed from now on arrives after all of them, but where the clock was set
// back by more than a little since.
func (rs Removals) Restore(list []Removal, dropped Removal, any bool) {
	latest := rs.now().Add(setBack)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	l := &rs.mu.feed.removals
	if any {
		l.last++
		l.dropped = dropped
		l.dropped.Order = l.last
	}
	for _, r := range list {
		l.add(r)
		if r.Until <= latest {
			rs.mu.arrived = max(rs.mu.arrived, r.Until+1)
		}
	}
	rs.removal.Store(l.last)
}

// setBack is how far a clock may be set back so that arrivals wait for it.
const setBack = time.Minute

// Last returns the Order of the newest removal, 0 if there is none.
func (rs Removals) Last() uint64 { return rs.removal.Load() }

// List returns the removals that are kept, in their order. cut says that there were
// others, the last of which is dropped. The slices are shared: not to be changed.
func (rs Removals) List() (list []Removal, dropped Removal, cut bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	l := &rs.mu.feed.removals
	return slices.Clone(l.list), l.dropped, l.dropped.Order > 0
}
