package wm

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// selection is what selectors select from one entity.
type selection struct {
	snapshots []*engram.Snapshot // by time
	asked     []asked
}

// add adds what one selector selects, at most limit snapshots and one more.
func (sel *selection) add(r *reading, s engram.SnapshotSelector, limit int) {
	had := len(sel.snapshots)
	take := func(snap *engram.Snapshot) (more bool) {
		if snap == nil {
			return false
		}
		sel.snapshots = append(sel.snapshots, snap)
		return len(sel.snapshots) <= limit
	}
	a := askedBy(s)
	switch s.Kind {
	case engram.KindAll, engram.KindRange:
		for p := r.from(a.first); take(r.nextVisible(&p, a.last)); {
		}
	case engram.KindLatest:
		for p := r.end(); len(sel.snapshots)-had < s.N && take(r.prevVisible(&p, engram.MinTime)); {
		}
		slices.Reverse(sel.snapshots[had:])
		if got := len(sel.snapshots) - had; got < s.N {
			a.count = s.N - got
		} else {
			a.first, a.met = sel.snapshots[had].Time+1, true
		}
	case engram.KindAt:
		p := r.from(s.Time)
		if take(r.nextVisible(&p, s.Time)); len(sel.snapshots) > had {
			a = askedNothing
		}
	case engram.KindAtOrBefore:
		p := r.after(s.Time)
		if snap := r.prevVisible(&p, engram.MinTime); snap != nil {
			take(snap)
			a.first, a.met = snap.Time+1, true
		}
	case engram.KindNearest:
		snap := r.nearest(s.Time, s.Within)
		a.met = snap != nil
		take(snap)
		switch {
		case snap == nil:
		case snap.Time <= s.Time: // what is as far on the other side does not count
			a.first, a.last = snap.Time+1, s.Time.Add(s.Time.Sub(snap.Time)-1)
		default:
			a.first, a.last = s.Time.Add(s.Time.Sub(snap.Time)), snap.Time-1
		}
	case engram.KindIndexRange:
		r.indices(s.First, s.Last, take)
	}
	sel.asked = append(sel.asked, a)
}

func (r *reading) nearest(t engram.Time, within time.Duration) *engram.Snapshot {
	p := r.after(t)
	q := p
	before := r.prevVisible(&p, t.Add(-within))
	if before != nil {
		within = distance(before.Time, t)
	}
	after := r.nextVisible(&q, t.Add(within))
	if before == nil || after != nil && distance(after.Time, t) < within {
		return after
	}
	return before
}

func distance(a, b engram.Time) time.Duration { return max(a.Sub(b), b.Sub(a)) }

// An entity is read again when something of what stood at the reader's horizon was
// evicted under it, and so it may have found something else. This bounds how often:
// an attempt costs one, and one more for each so many snapshots it found.
const (
	maxAttempts         = 64
	maxFilteredAttempts = 2 // with a filter each takes long
	foundPerAttempt     = 64
)

// read selects from e what selectors say, at most limit snapshots and one more of
// each, into sel. missing is nil if nothing of it was lost.
func (w *WM) read(l lens, e *entity, selectors []engram.SnapshotSelector, limit int, sel *selection) (missing *engram.Missing, err error) {
	attempts := maxAttempts
	if l.accept != nil {
		attempts = maxFilteredAttempts
	}
	var r reading
	lost := e.lost.load()
	for first := true; ; first = false {
		r = reading{lens: l, spans: e.timeline.spans(), newer: e.lastNumber.Load() > l.horizon}
		sel.snapshots, sel.asked = sel.snapshots[:0], sel.asked[:0]
		for i := range selectors {
			sel.add(&r, selectors[i], limit)
		}
		if r.stop != nil {
			return nil, r.stop
		}
		evictions := e.lost.evictions.Load()
		evicted := evictions != lost.evictions
		missed := evicted && (r.newer || r.torn)
		if first { // the horizon is older than lost, so that tells less
			missed = missed || r.newer && evictions > 0
		}
		shifted := r.skipped && (e.lastNumber.Load() > r.horizon || evicted)
		attempts -= 1 + len(sel.snapshots)/foundPerAttempt
		if attempts <= 0 || !missed && !shifted {
			break
		}
		lost = e.lost.load()
		l.horizon = w.number.Load() // after lost: what was evicted since then is noticed
	}
	if len(selectors) > 1 {
		sel.unite()
	}
	if r.torn { // also by what was evicted while it read
		lost = e.lost.load()
	}
	return e.missing(lost, &r, sel), nil
}

// unite sorts what several selectors selected and drops what is there twice.
func (sel *selection) unite() {
	slices.SortStableFunc(sel.snapshots, func(a, b *engram.Snapshot) int { return cmp.Compare(a.Time, b.Time) })
	sel.snapshots = slices.CompactFunc(sel.snapshots, func(a, b *engram.Snapshot) bool { return a.Time == b.Time })
}
