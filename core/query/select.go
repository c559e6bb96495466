package query

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// View is what a reader sees of one entity: at most one snapshot for each time, in
// the order of times. P is a place before, between or behind snapshots. It is used
// by one goroutine.
type View[P any] interface {
	Begin() P
	End() P
	// From returns the place before the first snapshot whose time is not before t,
	// and After that behind the last one whose time is not after t.
	From(t engram.Time) P
	After(t engram.Time) P
	// Next returns the next snapshot behind p with a time up to last and the place
	// behind it, and Prev the one before p with a time from first and the place
	// before it; nil if there is none, or reading failed.
	Next(p P, last engram.Time) (*engram.Snapshot, P)
	Prev(p P, first engram.Time) (*engram.Snapshot, P)
	// Skip returns the place n snapshots behind p, and SkipBack that before it.
	Skip(p P, n int) P
	SkipBack(p P, n int) P
	// Beyond reports whether p lies behind q.
	Beyond(p, q P) bool
	// Present returns the latest time that is not beyond the present for the entity.
	Present() engram.Time
}

// Selection is what selectors select from one entity.
type Selection struct {
	Snapshots []*engram.Snapshot // by time
	Asked     []Asked            // by selector
	// Filter takes what satisfies it of what selectors select; nil takes all. What is to be
	// selected from is the view's affair, and is in its times.
	Filter *Filter
	// Times are the times, ascending, of the only snapshots that are looked at; nil looks at all. They come from an index of
	// the filter that is applied before the selectors.
	Times []engram.Time

	ahead engram.Interval // what was passed over, see Newest
}

// Reset empties the selection; its memory is used again.
func (sel *Selection) Reset() {
	sel.Snapshots, sel.Asked, sel.ahead = sel.Snapshots[:0], sel.Asked[:0], engram.Interval{}
}

// Asked is the closed span of times in which a selector wanted to know of every
// snapshot, beyond those it got, to be compared with what was lost.
type Asked struct {
	First, Last engram.Time
	Count       int  // how many are wanted at most; 0 is not known
	Met         bool // all it wanted was there; there may have been something better
}

var askedNothing = Asked{First: engram.MaxTime, Last: engram.MinTime}

// AskedBy returns what a selector wants to know of an entity that is not there.
func AskedBy(s engram.SnapshotSelector) Asked {
	switch s.Kind {
	case engram.KindAt:
		return Asked{First: s.Time, Last: s.Time}
	case engram.KindAtOrBefore:
		return Asked{First: engram.MinTime, Last: s.Time}
	case engram.KindNearest:
		return Asked{First: s.Time.Add(-s.Within), Last: s.Time.Add(s.Within)}
	case engram.KindRange:
		if s.Interval.Empty() {
			return askedNothing
		}
		return Asked{First: s.Interval.Start, Last: s.Interval.End - 1}
	case engram.KindIndexRange: // counts what is retained
		return askedNothing
	}
	return Asked{First: engram.MinTime, Last: engram.MaxTime}
}

// Newest returns the newest snapshot of v, nil if there is none, and the place before it:
// the last one that is not beyond the present, or the last of all where all are beyond it.
// This is what "newest" and "latest" mean wherever a memory is read; ahead spans the times
// of what was passed over as beyond the present.
func Newest[P any, V View[P]](v V) (snap *engram.Snapshot, before P, ahead engram.Interval) {
	snap, before = v.Prev(v.End(), engram.MinTime)
	present := v.Present()
	if snap == nil || snap.Time <= present {
		return snap, before, ahead
	}
	if s, p := v.Prev(v.After(present), engram.MinTime); s != nil {
		return s, p, engram.Interval{Start: present + 1, End: snap.Time + 1}
	}
	return snap, before, ahead
}

// Newer reports whether of two times a counts as newer than b: what is not beyond the
// present before what is, then the later.
func Newer(a, b, present engram.Time) bool {
	if (a > present) != (b > present) {
		return a <= present
	}
	return a > b
}

// Select adds to sel what one selector selects of v, at most limit snapshots and
// one more.
func Select[P any, V View[P]](sel *Selection, v V, s engram.SnapshotSelector, limit int) {
	if sel.Times != nil {
		choose[int](sel, listed[P, V]{v, sel.Times}, s, limit)
		return
	}
	choose[P](sel, v, s, limit)
}

// listed is a view of the snapshots of some times. Its places lie between these.
type listed[P any, V View[P]] struct {
	of    V
	times []engram.Time
}

// Begin implements [View].
func (l listed[P, V]) Begin() int { return 0 }

// End implements [View].
func (l listed[P, V]) End() int { return len(l.times) }

// From implements [View].
func (l listed[P, V]) From(t engram.Time) int {
	i, _ := slices.BinarySearch(l.times, t)
	return i
}

// After implements [View].
func (l listed[P, V]) After(t engram.Time) int {
	i, is := slices.BinarySearch(l.times, t)
	if is {
		i++
	}
	return i
}

// Next implements [View].
func (l listed[P, V]) Next(p int, last engram.Time) (*engram.Snapshot, int) {
	for ; p < len(l.times) && l.times[p] <= last; p++ {
		if s := l.at(p); s != nil {
			return s, p + 1
		}
	}
	return nil, p
}

// Prev implements [View].
func (l listed[P, V]) Prev(p int, first engram.Time) (*engram.Snapshot, int) {
	for ; p > 0 && l.times[p-1] >= first; p-- {
		if s := l.at(p - 1); s != nil {
			return s, p - 1
		}
	}
	return nil, p
}

func (l listed[P, V]) at(i int) *engram.Snapshot {
	s, _ := l.of.Next(l.of.From(l.times[i]), l.times[i])
	return s
}

// Skip implements [View].
func (l listed[P, V]) Skip(p, n int) int {
	for s := (*engram.Snapshot)(nil); n > 0; n-- {
		if s, p = l.Next(p, engram.MaxTime); s == nil {
			break
		}
	}
	return p
}

// SkipBack implements [View].
func (l listed[P, V]) SkipBack(p, n int) int {
	for s := (*engram.Snapshot)(nil); n > 0; n-- {
		if s, p = l.Prev(p, engram.MinTime); s == nil {
			break
		}
	}
	return p
}

// Beyond implements [View].
func (l listed[P, V]) Beyond(p, q int) bool { return p > q }

// Present implements [View].
func (l listed[P, V]) Present() engram.Time { return l.of.Present() }

func choose[P any, V View[P]](sel *Selection, v V, s engram.SnapshotSelector, limit int) {
	had := len(sel.Snapshots)
	a := AskedBy(s)
	switch s.Kind {
	case engram.KindAll, engram.KindRange:
		forward[P](sel, v, v.From(a.First), a.Last, maxInt, limit)
	case engram.KindLatest:
		got, present := 0, v.Present()
		snap, p, ahead := Newest[P](v)
		if !ahead.Empty() {
			sel.ahead = ahead
		}
		beyond := snap != nil && snap.Time > present // all is
		if snap != nil && !beyond {
			a.Last = present
		}
		for snap != nil {
			if got++; got == s.N {
				a.First, a.Met = snap.Time+1, true
			}
			if !sel.take(snap, limit) || got == s.N {
				break
			}
			snap, p = v.Prev(p, engram.MinTime)
		}
		slices.Reverse(sel.Snapshots[had:])
		switch {
		case !a.Met:
			a.Count = s.N - got
		case beyond: // anything of the present would have been better
			a.First, a.Last = engram.MinTime, present
		}
	case engram.KindAt:
		if snap, _ := v.Next(v.From(s.Time), s.Time); snap != nil {
			sel.take(snap, limit)
			a = askedNothing
		}
	case engram.KindAtOrBefore:
		if snap, _ := v.Prev(v.After(s.Time), engram.MinTime); snap != nil {
			sel.take(snap, limit)
			a.First, a.Met = snap.Time+1, true
		}
	case engram.KindNearest:
		snap := nearest[P](v, s.Time, s.Within)
		if snap == nil {
			break
		}
		sel.take(snap, limit)
		a.Met = true
		if snap.Time <= s.Time { // what is as far on the other side does not count
			a.First, a.Last = snap.Time+1, s.Time.Add(s.Time.Sub(snap.Time)-1)
		} else {
			a.First, a.Last = s.Time.Add(s.Time.Sub(snap.Time)), snap.Time-1
		}
	case engram.KindIndexRange:
		indices[P](sel, v, s.First, s.Last, limit)
	}
	sel.Asked = append(sel.Asked, a)
}

// take adds a snapshot and reports whether more may follow.
func (sel *Selection) take(snap *engram.Snapshot, limit int) (more bool) {
	if sel.Filter != nil {
		if snap = sel.Filter.Snapshot(snap); snap == nil {
			return sel.Filter.Err() == nil
		}
	}
	sel.Snapshots = append(sel.Snapshots, snap)
	return len(sel.Snapshots) <= limit
}

// forward adds at most n snapshots behind p with times up to last.
func forward[P any, V View[P]](sel *Selection, v V, p P, last engram.Time, n, limit int) {
	var snap *engram.Snapshot
	for ; n > 0; n-- {
		if snap, p = v.Next(p, last); snap == nil || !sel.take(snap, limit) {
			return
		}
	}
}

// nearest returns the snapshot closest to t.
func nearest[P any, V View[P]](v V, t engram.Time, within time.Duration) *engram.Snapshot {
	p := v.After(t)
	before, _ := v.Prev(p, t.Add(-within))
	if before != nil {
		within = distance(before.Time, t)
	}
	after, _ := v.Next(p, t.Add(within))
	if before == nil || after != nil && distance(after.Time, t) < within {
		return after
	}
	return before
}

func distance(a, b engram.Time) time.Duration { return max(a.Sub(b), b.Sub(a)) }

// indices adds what stands at the positions from first to last, both inclusive, among
// all of v; negative ones count from the end.
func indices[P any, V View[P]](sel *Selection, v V, first, last, limit int) {
	p, q := v.Begin(), v.End()
	if first >= 0 {
		p = v.Skip(p, first)
	} else {
		p = v.SkipBack(q, -max(first, -maxInt))
	}
	switch {
	case last >= 0 && first >= 0:
		if last >= first {
			forward[P](sel, v, p, engram.MaxTime, min(last-first, maxInt-1)+1, limit)
		}
		return
	case last >= 0:
		_, q = v.Next(v.Skip(v.Begin(), last), engram.MaxTime)
	default:
		q = v.SkipBack(q, -last-1)
	}
	for {
		var snap *engram.Snapshot
		if snap, p = v.Next(p, engram.MaxTime); snap == nil || v.Beyond(p, q) || !sel.take(snap, limit) {
			return
		}
	}
}

const maxInt = int(^uint(0) >> 1)

// Unite sorts what several selectors selected and drops what is there twice.
func (sel *Selection) Unite() {
	slices.SortStableFunc(sel.Snapshots, func(a, b *engram.Snapshot) int { return cmp.Compare(a.Time, b.Time) })
	sel.Snapshots = slices.CompactFunc(sel.Snapshots, func(a, b *engram.Snapshot) bool { return a.Time == b.Time })
}
