package wm

import (
	"context"
	"iter"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// reading is how a reader looks at one entity's timeline: the view it got, and
// what it takes notice of.
type reading struct {
	lens
	spans   []span
	present engram.Time // see Present
	steps   int         // versions looked at

	// What it met on its way.
	torn    bool  // something was evicted
	newer   bool  // something is beyond the high-water mark
	skipped bool  // chunks were skipped by their counts
	stop    error // the reader's context ended
	// As of: how many snapshots' versions of then were evicted, and their times.
	cuts              uint64
	firstCut, lastCut engram.Time
}

// lens says what a reader takes notice of.
type lens struct {
	ctx       context.Context
	now       engram.Time   // by the memory's clock; as of then
	highWater uint64        // the highest update number
	asOf      engram.Time   // the latest arrival; MaxTime is now
	filter    *query.Filter // nil takes every version as it is
}

// newLens returns the lens of a reader that begins now.
func (w *WM) newLens(ctx context.Context, asOf *engram.Time) lens {
	l := lens{ctx: ctx, now: w.now(), highWater: w.number.Load(), asOf: engram.MaxTime}
	if asOf != nil {
		l.now, l.asOf = *asOf, *asOf
	}
	return l
}

// read returns how a reader with the lens looks at an entity from now on.
func (l lens) read(e *entity) reading {
	return reading{lens: l, spans: e.timeline.spans(), present: e.present(l.now), newer: e.lastNumber.Load() > l.highWater}
}

// visible returns what the reader sees of the snapshot whose current version is v:
// the newest version within its high-water mark and arrival time, if that satisfies the
// filter.
func (r *reading) visible(v *version) *engram.Snapshot {
	for v.Number > r.highWater || v.Arrived > r.asOf {
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
	if r.filter == nil {
		return &v.Snapshot
	}
	if r.steps++; r.steps%256 == 0 && r.stop == nil {
		r.stop = checkContext(r.ctx)
	}
	s := r.filter.Snapshot(&v.Snapshot)
	if s == nil && r.stop == nil {
		r.stop = r.filter.Err()
	}
	return s
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

// A reading is a [query.View].
var _ query.View[place] = (*reading)(nil)

// Begin, End, From, After, Beyond and Present implement [query.View].
func (r *reading) Begin() place              { return place{} }
func (r *reading) End() place                { return r.after(engram.MaxTime) }
func (r *reading) After(t engram.Time) place { return r.after(t) }
func (r *reading) Beyond(p, q place) bool    { return p.i > q.i || p.i == q.i && p.j > q.j }
func (r *reading) Present() engram.Time      { return r.present }
func (r *reading) From(t engram.Time) place {
	if t == engram.MinTime {
		return place{}
	}
	return r.after(t - 1)
}

// after returns the place behind the last slot whose time is not after t.
func (r *reading) after(t engram.Time) place {
	if len(r.spans) == 0 {
		return place{}
	}
	i := spanAt(r.spans, t)
	return place{i, after(r.spans, i, t)}
}

// versions yields the versions that an entity holds: in the order of time, of each
// snapshot the newest first.
func (e *entity) versions() iter.Seq[*version] {
	r := reading{spans: e.timeline.spans()}
	return r.versions(r.Begin())
}

// versions yields those behind p.
func (r *reading) versions(p place) iter.Seq[*version] {
	return func(yield func(*version) bool) {
		for p := p; ; {
			v := r.next(&p)
			if v == nil {
				return
			}
			for ; v != nil && v != evictedVersion; v = v.older.Load() {
				if !yield(v) {
					return
				}
			}
		}
	}
}

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
			v := c.slots[p.j].current.Load()
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
			if v := c.slots[p.j].current.Load(); v != nil {
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

// Next and Prev implement [query.View].
func (r *reading) Next(p place, last engram.Time) (*engram.Snapshot, place) {
	for v := r.next(&p); v != nil && v.Time <= last && r.stop == nil; v = r.next(&p) {
		if s := r.visible(v); s != nil {
			return s, p
		}
	}
	return nil, p
}

func (r *reading) Prev(p place, first engram.Time) (*engram.Snapshot, place) {
	for v := r.prev(&p); v != nil && v.Time >= first && r.stop == nil; v = r.prev(&p) {
		if s := r.visible(v); s != nil {
			return s, p
		}
	}
	return nil, p
}

// Skip and SkipBack implement [query.View]. Where the reader sees everything, whole
// chunks are skipped.
func (r *reading) Skip(p place, n int) place {
	for n > 0 {
		if r.seesAll() && p.j == 0 && p.i < len(r.spans) && r.spans[p.i].live() <= n {
			n -= r.spans[p.i].live()
			p.i++
			r.skipped = true
			continue
		}
		var s *engram.Snapshot
		if s, p = r.Next(p, engram.MaxTime); s == nil {
			break
		}
		n--
	}
	return p
}

func (r *reading) SkipBack(p place, n int) place {
	for n > 0 {
		if r.seesAll() && p.i > 0 && p.j == int(r.spans[p.i].filled.Load()) && r.spans[p.i].live() <= n {
			n -= r.spans[p.i].live()
			r.skipped = true
			p.i--
			p.j = int(r.spans[p.i].filled.Load())
			continue
		}
		var s *engram.Snapshot
		if s, p = r.Prev(p, engram.MinTime); s == nil {
			break
		}
		n--
	}
	return p
}

// seesAll reports whether nothing retained is hidden from the reader.
func (r *reading) seesAll() bool { return r.filter == nil && r.asOf == engram.MaxTime && !r.newer }
