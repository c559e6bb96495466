package wm

import (
	"context"
	"math"

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
