package wm

import (
	"slices"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// losses tell readers what was evicted, "as far as is known": each field is
// written before what it tells of disappears, but not all at once.
type losses struct {
	evictions  atomic.Uint64 // snapshots and versions
	arrived    atomic.Int64  // when the first of them arrived
	lastNumber atomic.Uint64 // the highest number of them
	snapshots  atomic.Uint64 // snapshots with all their versions
	first      atomic.Int64  // times of the first and the last of these snapshots
	last       atomic.Int64
	gap        atomic.Pointer[gap]
}

// gap is the widest span of times between which none of the snapshots lies: where a clock
// was wrong, what was lost of two times does not tell of all between them.
type gap struct{ after, before engram.Time }

// version tells of a version that is evicted, with its snapshot if it is the last.
func (l *losses) version(v *version) {
	l.add(1, v.Arrived, v.Number)
	if v.newer == nil {
		l.addSnapshots(1, v.Time, v.Time)
	}
}

// all adds what o tells of.
func (l *losses) all(o *losses) {
	l.add(o.evictions.Load(), engram.Time(o.arrived.Load()), o.lastNumber.Load())
	l.addSnapshots(o.snapshots.Load(), engram.Time(o.first.Load()), engram.Time(o.last.Load()))
}

func (l *losses) add(n uint64, arrived engram.Time, number uint64) {
	if l.evictions.Load() > 0 {
		arrived = min(arrived, engram.Time(l.arrived.Load()))
	}
	l.arrived.Store(int64(arrived))
	l.lastNumber.Store(max(number, l.lastNumber.Load()))
	l.evictions.Add(n)
}

func (l *losses) addSnapshots(n uint64, first, last engram.Time) {
	if l.snapshots.Load() > 0 {
		was := l.load()
		widest := gap{}
		for _, g := range [...]gap{{was.last, first}, {last, was.first}, {was.gap.after, min(first, was.gap.before)}, {max(last, was.gap.after), was.gap.before}} {
			if g.after < g.before && g.before.Sub(g.after) > widest.before.Sub(widest.after) {
				widest = g
			}
		}
		if widest != was.gap {
			g := widest // the only one that is allocated
			l.gap.Store(&g)
		}
		first, last = min(first, was.first), max(last, was.last)
	}
	l.first.Store(int64(first))
	l.last.Store(int64(last))
	l.snapshots.Add(n)
}

// loss is what losses told of at one time.
type loss struct {
	evictions, snapshots uint64
	arrived, first, last engram.Time
	gap                  gap
}

func (l *losses) load() loss {
	was := loss{
		evictions: l.evictions.Load(), snapshots: l.snapshots.Load(),
		arrived: engram.Time(l.arrived.Load()), first: engram.Time(l.first.Load()), last: engram.Time(l.last.Load()),
	}
	if g := l.gap.Load(); g != nil {
		was.gap = *g
	}
	return was
}

// within reports whether some of what was lost may have had a time in [first, last].
func (l *loss) within(first, last engram.Time) bool {
	return l.snapshots > 0 && l.last >= first && l.first <= last && (first <= l.gap.after || last >= l.gap.before)
}

// between reports whether some of what was lost may have had a time in (after, last].
func (l *losses) between(after, last engram.Time) bool {
	was := l.load()
	return after < last && was.within(after+1, last)
}

// GoneBetween reports whether a snapshot with a time in (after, last] may have been evicted: of
// the entity, if that time is not beyond the present, or with an earlier entity of that name.
func (f Feed) GoneBetween(entity engram.ID, after, last engram.Time) bool {
	e := f.entity(entity)
	return e == nil || e.lost.between(after, min(last, e.present(f.now()))) || e.reborn() && e.provider.gone.between(after, last)
}

// reborn reports whether an entity of that name may have been evicted as a whole before.
func (e *entity) reborn() bool {
	from := e.provider.goneFrom.Load()
	return from != 0 && e.firstNumber.Load() > from
}

// missing returns what was asked for and was lost, or nil.
func (e *entity) missing(lost loss, r *reading, sel *query.Selection) *engram.Missing {
	var m *engram.Missing
	for _, a := range sel.Asked {
		m = lost.missing(e.id, a, r.asOf, m)
	}
	if r.cuts > 0 {
		m = widen(m, e.id, r.firstCut, r.lastCut, r.cuts)
	}
	return m
}

// missingBefore adds to m what was asked of e, not met, and may have been of an
// entity of its name that was evicted as a whole before it.
func (e *entity) missingBefore(sel *query.Selection, asOf engram.Time, m *engram.Missing) *engram.Missing {
	if !e.reborn() {
		return m
	}
	p := e.provider
	for _, a := range sel.Asked {
		if !a.Met {
			m = p.gone.load().missing(p.id, a, asOf, m)
		}
	}
	return m
}

// missing adds to m what was asked for and was lost.
func (l loss) missing(id engram.ID, a query.Asked, asOf engram.Time, m *engram.Missing) *engram.Missing {
	if a.First > a.Last || !l.within(a.First, a.Last) || l.arrived > asOf {
		return m
	}
	count := l.snapshots
	switch {
	case a.Count > 0:
		count = min(count, uint64(a.Count))
	case a.First > l.first || a.Last < l.last:
		count = 0 // some of those that were lost
	}
	return widen(m, id, max(l.first, a.First), min(l.last, a.Last), count)
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

// goneEntities tells what was lost of entities that are gone as a whole, if what
// the nodes ask for may have been theirs.
func (x *execution) goneEntities(p *provider, nodes []*query.Node) {
	for _, n := range nodes {
		if names, lists := n.Names(); lists && !slices.ContainsFunc(names, func(name string) bool { _, there := p.entities.Get(name); return !there }) {
			continue
		}
		for _, s := range n.Snapshots {
			x.gone = p.gone.load().missing(p.id, query.AskedBy(s), x.lens.asOf, x.gone)
		}
	}
	if x.gone != nil {
		x.answer.Miss(*x.gone)
		x.gone = nil
	}
}
