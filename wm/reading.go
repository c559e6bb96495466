package wm

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// reading is how a reader looks at one entity's timeline: the view it got, and
// what it takes notice of.
type reading struct {
	lens
	spans []span
	steps int // versions looked at

	// What it met on its way.
	torn    bool  // something was evicted
	newer   bool  // something is beyond the horizon
	skipped bool  // chunks were skipped by their counts
	stop    error // the reader's context ended
	// As of: how many snapshots' versions of then were evicted, and their times.
	cuts              uint64
	firstCut, lastCut engram.Time
}

// lens says what a reader takes notice of.
type lens struct {
	ctx     context.Context
	horizon uint64      // the highest update number
	asOf    engram.Time // the latest arrival; MaxTime is now
	// accept returns what of a version satisfies the reader's filter, or nil. A nil
	// accept takes every version as it is.
	accept func(*version) *engram.Snapshot
}

// visible returns what the reader sees of the snapshot whose current version is v:
// the newest version within its horizon and arrival time, if that satisfies the
// filter.
func (r *reading) visible(v *version) *engram.Snapshot {
	for v.Number > r.horizon || v.Arrived > r.asOf {
		later := v.Arrived > r.asOf
		if !later {
			r.newer = true
		}
		older := v.older.Load()
		if older == nil {
			return nil
		}
		if older == evictedVersion {
			r.torn = true
			if later {
				r.noteCut(v.Time)
			}
			return nil
		}
		v = older
	}
	if r.accept == nil {
		return &v.Snapshot
	}
	if r.steps++; r.steps%256 == 0 && r.stop == nil {
		r.stop = checkContext(r.ctx)
	}
	return r.accept(v)
}

func (r *reading) noteCut(t engram.Time) {
	if r.cuts == 0 {
		r.firstCut, r.lastCut = t, t
	}
	r.cuts++
	r.firstCut, r.lastCut = min(r.firstCut, t), max(r.lastCut, t)
}

// place is a place between two slots: before slot j of chunk i.
type place struct{ i, j int }

// after returns the place behind the last slot whose time is not after t.
func (r *reading) after(t engram.Time) place {
	if len(r.spans) == 0 {
		return place{}
	}
	i := spanAt(r.spans, t)
	return place{i, after(r.spans, i, t)}
}

// from returns the place before the first slot whose time is not before t.
func (r *reading) from(t engram.Time) place {
	if t == engram.MinTime {
		return place{}
	}
	return r.after(t - 1)
}

func (r *reading) end() place { return r.after(engram.MaxTime) }

// next returns the current version behind p and moves p behind it; nil at the end.
func (r *reading) next(p *place) *version {
	for ; p.i < len(r.spans); p.i, p.j = p.i+1, 0 {
		c := r.spans[p.i].chunk
		n := int(c.filled.Load())
		if int(c.dead.Load()) == n {
			r.torn = true
			continue
		}
		for p.j < n {
			v := c.slots[p.j].Load()
			p.j++
			if v != nil {
				return v
			}
			r.torn = true
		}
	}
	return nil
}

// prev returns the current version before p and moves p before it; nil at the
// beginning.
func (r *reading) prev(p *place) *version {
	for len(r.spans) > 0 {
		c := r.spans[p.i].chunk
		for p.j > 0 {
			p.j--
			if v := c.slots[p.j].Load(); v != nil {
				return v
			}
			r.torn = true
		}
		if p.i == 0 {
			return nil
		}
		p.i--
		p.j = int(r.spans[p.i].filled.Load())
	}
	return nil
}

// nextVisible returns what the reader sees behind p with a time up to last, and
// prevVisible what it sees before p with a time from first.
func (r *reading) nextVisible(p *place, last engram.Time) *engram.Snapshot {
	for v := r.next(p); v != nil && v.Time <= last && r.stop == nil; v = r.next(p) {
		if s := r.visible(v); s != nil {
			return s
		}
	}
	return nil
}

func (r *reading) prevVisible(p *place, first engram.Time) *engram.Snapshot {
	for v := r.prev(p); v != nil && v.Time >= first && r.stop == nil; v = r.prev(p) {
		if s := r.visible(v); s != nil {
			return s
		}
	}
	return nil
}

// asked is the closed span of times in which a selector wanted to know of every
// snapshot, beyond those it got, to be compared with what was lost.
type asked struct {
	first, last engram.Time
	count       int  // how many are wanted at most; 0 is not known
	met         bool // all it wanted was there; there may have been something better
}

var askedNothing = asked{first: engram.MaxTime, last: engram.MinTime}

// askedBy returns what a selector wants to know of an entity that is not there.
func askedBy(s engram.SnapshotSelector) asked {
	switch s.Kind {
	case engram.KindAt:
		return asked{first: s.Time, last: s.Time}
	case engram.KindAtOrBefore:
		return asked{first: engram.MinTime, last: s.Time}
	case engram.KindNearest:
		return asked{first: s.Time.Add(-s.Within), last: s.Time.Add(s.Within)}
	case engram.KindRange:
		if s.Interval.Empty() {
			return askedNothing
		}
		return asked{first: s.Interval.Start, last: s.Interval.End - 1}
	case engram.KindIndexRange: // counts what is retained
		return askedNothing
	}
	return asked{first: engram.MinTime, last: engram.MaxTime}
}

// selection is what selectors select from one entity.
type selection struct {
	snapshots []*engram.Snapshot // by time
	asked     []asked
	picky     bool // what a selector chose, or that it found nothing, depends on what was not evicted
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
	switch s.Kind {
	case engram.KindLatest, engram.KindAtOrBefore, engram.KindNearest:
		sel.picky = true
	}
	sel.picky = sel.picky || len(sel.snapshots) == had
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

// indices visits what stands at the positions from first to last, both inclusive,
// among all the reader sees; negative ones count from the end.
func (r *reading) indices(first, last int, visit func(*engram.Snapshot) bool) {
	p, q := place{}, r.end()
	if first >= 0 {
		r.skip(&p, first)
	} else {
		p = q
		r.skipBack(&p, -max(first, -math.MaxInt))
	}
	switch {
	case last >= 0 && first >= 0:
		for n := last - first; n >= 0; n-- {
			if s := r.nextVisible(&p, engram.MaxTime); s == nil || !visit(s) {
				return
			}
		}
		return
	case last >= 0:
		q = place{}
		r.skip(&q, last)
		r.nextVisible(&q, engram.MaxTime)
	default:
		r.skipBack(&q, -last-1)
	}
	for {
		s := r.nextVisible(&p, engram.MaxTime)
		if s == nil || p.i > q.i || p.i == q.i && p.j > q.j || !visit(s) {
			return
		}
	}
}

// skip moves p forward over n of what the reader sees, or to the end; skipBack
// moves it backward. Where the reader sees everything, whole chunks are skipped.
func (r *reading) skip(p *place, n int) {
	for n > 0 {
		if r.seesAll() && p.j == 0 && p.i < len(r.spans) && r.spans[p.i].live() <= n {
			n -= r.spans[p.i].live()
			p.i++
			r.skipped = true
			continue
		}
		if r.nextVisible(p, engram.MaxTime) == nil {
			return
		}
		n--
	}
}

func (r *reading) skipBack(p *place, n int) {
	for n > 0 {
		if r.seesAll() && p.i > 0 && p.j == int(r.spans[p.i].filled.Load()) && r.spans[p.i].live() <= n {
			n -= r.spans[p.i].live()
			r.skipped = true
			p.i--
			p.j = int(r.spans[p.i].filled.Load())
			continue
		}
		if r.prevVisible(p, engram.MinTime) == nil {
			return
		}
		n--
	}
}

// seesAll reports whether nothing retained is hidden from the reader.
func (r *reading) seesAll() bool { return r.accept == nil && r.asOf == engram.MaxTime && !r.newer }

// Attempts to read an entity again when what a reader missed was evicted under it.
// With a filter each takes long.
const (
	maxAttempts         = 64
	maxFilteredAttempts = 2
)

// read selects from e what selectors say, at most limit snapshots and one more of
// each, into sel. missing is nil if nothing of it was lost.
func (w *WM) read(l lens, e *entity, selectors []engram.SnapshotSelector, limit int, sel *selection) (missing *engram.Missing, err error) {
	attempts := maxAttempts
	if l.accept != nil {
		attempts = maxFilteredAttempts
	}
	var r reading
	var lost loss
	for {
		lost = e.lost.load()
		r = reading{lens: l, spans: e.timeline.spans(), newer: e.lastNumber.Load() > l.horizon}
		sel.snapshots, sel.asked, sel.picky = sel.snapshots[:0], sel.asked[:0], false
		for i := range selectors {
			sel.add(&r, selectors[i], limit)
		}
		if r.stop != nil {
			return nil, r.stop
		}
		evicted := e.lost.evictions.Load() != lost.evictions
		missed := sel.picky && r.torn && (r.newer || evicted)
		shifted := r.skipped && (e.lastNumber.Load() > r.horizon || evicted)
		if attempts--; attempts == 0 || !missed && !shifted {
			break
		}
		l.horizon = w.number.Load()
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

// missing returns what was asked for and was lost, or nil.
func (e *entity) missing(lost loss, r *reading, sel *selection) *engram.Missing {
	var m *engram.Missing
	for _, a := range sel.asked {
		m = lost.missing(e.id, a, r.asOf, m)
	}
	if r.cuts > 0 {
		m = widen(m, e.id, r.firstCut, r.lastCut, r.cuts)
	}
	return m
}

// missingBefore adds to m what was asked of e, not met, and may have been of an
// entity of its name that was evicted as a whole before it.
func (e *entity) missingBefore(sel *selection, asOf engram.Time, m *engram.Missing) *engram.Missing {
	p := e.provider
	if from := p.goneFrom.Load(); from == 0 || e.firstNumber.Load() <= from {
		return m
	}
	for _, a := range sel.asked {
		if !a.met {
			m = p.gone.load().missing(p.id, a, asOf, m)
		}
	}
	return m
}

// missing adds to m what was asked for and was lost.
func (l loss) missing(id engram.ID, a asked, asOf engram.Time, m *engram.Missing) *engram.Missing {
	if l.snapshots == 0 || l.first > a.last || l.last < a.first || l.arrived > asOf {
		return m
	}
	count := l.snapshots
	switch {
	case a.count > 0:
		count = min(count, uint64(a.count))
	case a.first > l.first || a.last < l.last:
		count = 0 // some of those that were lost
	}
	return widen(m, id, max(l.first, a.first), min(l.last, a.last), count)
}

func widen(m *engram.Missing, id engram.ID, first, last engram.Time, count uint64) *engram.Missing {
	iv := engram.Interval{Start: first, End: last + 1}
	if m == nil {
		return &engram.Missing{ID: id, Reason: engram.MissingEvicted, Count: count, Interval: iv}
	}
	m.Interval.Start, m.Interval.End = min(m.Interval.Start, iv.Start), max(m.Interval.End, iv.End)
	m.Count = max(m.Count, count)
	return m
}
