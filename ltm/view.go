package ltm

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/query"
	"github.com/seed-301d4374/engram/wm"
)

// view is what a reader sees of one entity: the versions on disk, merged slot by slot
// with those in the working memory. It is a [query.View] whose places are times: the
// place t lies before what has the time t.
//
// The version that counts at a time is the one that arrived last. The same version on
// both sides, or in several episodes, is one.
type view struct {
	ctx    context.Context
	entity engram.ID
	disk   []part
	wm     *wm.EntityView // nil if the working memory is not asked or has no such entity
	// floor is the latest time for which the disk is asked: above it the working
	// memory is complete.
	floor engram.Time
	admit admission
	// filter and types choose among the versions; a nil filter takes them all.
	filter  *idf.Filter
	types   *idf.Registry
	payload bool // payloads are wanted

	forward, backward lane
	steps             int
	damage            *engram.Missing
	err               error
}

var _ query.View[engram.Time] = (*view)(nil)

// admission says which versions a reader takes notice of.
type admission struct {
	asOf    engram.Time // the latest arrival
	epoch   uint64      // this life …
	horizon uint64      // … and the newest of its updates
	hidden  hidden      // what was removed with its segment
	// life returns the place of a life among the others; nil if that is not known.
	life func(epoch uint64) int
}

// admitsAll reports whether it is known that all versions of a run are admitted.
func (a *admission) admitsAll(epoch, upTo uint64) bool {
	return a.asOf == engram.MaxTime && len(a.hidden) == 0 && (epoch != a.epoch || upTo <= a.horizon)
}

func (a *admission) admits(v version) bool {
	return v.arrived <= a.asOf && (v.epoch != a.epoch || v.number <= a.horizon) && !a.hidden.hides(v)
}

// Begin, End, From, After and Beyond implement [query.View].
func (v *view) Begin() engram.Time              { return engram.MinTime }
func (v *view) End() engram.Time                { return engram.MaxTime }
func (v *view) From(t engram.Time) engram.Time  { return t }
func (v *view) After(t engram.Time) engram.Time { return t.Add(1) }
func (v *view) Beyond(p, q engram.Time) bool    { return p > q }

// Next implements [query.View].
func (v *view) Next(p, last engram.Time) (*engram.Snapshot, engram.Time) {
	v.forward.seek(v, ascending, p)
	for p <= last {
		found, ok := v.forward.step(v, last)
		if !ok {
			break
		}
		p = found.time + 1
		v.forward.at = p
		if s := v.take(found); s != nil {
			return s, p
		}
	}
	return nil, p
}

// Prev implements [query.View].
func (v *view) Prev(p, first engram.Time) (*engram.Snapshot, engram.Time) {
	v.backward.seek(v, descending, p)
	for p > first {
		found, ok := v.backward.step(v, first)
		if !ok {
			break
		}
		p = found.time
		v.backward.at = p
		if s := v.take(found); s != nil {
			return s, p
		}
	}
	return nil, p
}

// Skip and SkipBack implement [query.View]. Payloads are read only where a filter asks
// for them, and of what is known to have so many slots, nothing.
func (v *view) Skip(p engram.Time, n int) engram.Time {
	return v.skip(&v.forward, ascending, p, engram.MaxTime, n)
}

func (v *view) SkipBack(p engram.Time, n int) engram.Time {
	return v.skip(&v.backward, descending, p, engram.MinTime, n)
}

func (v *view) skip(l *lane, dir direction, p, last engram.Time, n int) engram.Time {
	l.seek(v, dir, p)
	for n > 0 {
		if slots := l.jump(v, n); slots > 0 {
			n, p = n-slots, l.at
			continue
		}
		found, ok := l.step(v, last)
		if !ok {
			break
		}
		if p = found.time; dir == ascending {
			p++
		}
		l.at = p
		if v.filter == nil && !found.none() || v.filter != nil && v.take(found) != nil {
			n--
		}
	}
	return p
}

// found is what stands in one slot: the working memory's snapshot, or a version on
// disk, or nothing that the reader takes notice of.
type found struct {
	time engram.Time
	snap *engram.Snapshot
	cur  *cursor
	pos  int
}

func (f *found) none() bool { return f.snap == nil && f.cur == nil }

// take returns what the reader gets of a slot, or nil.
func (v *view) take(f found) *engram.Snapshot {
	s := f.snap
	switch {
	case f.none():
		return nil
	case f.cur == nil:
	case v.payload || v.filter != nil:
		if s = f.cur.load(v, f.pos); s == nil {
			return nil
		}
	default:
		s = f.cur.index.Snapshot(f.pos)
	}
	if v.filter != nil {
		return query.FilterSnapshot(v.types, v.filter, s)
	}
	return s
}

// checkIn looks now and then whether the reader gave up; it reports whether to go on.
func (v *view) checkIn() bool {
	if v.err != nil {
		return false
	}
	if v.steps++; v.steps%256 == 0 && v.ctx.Err() != nil {
		v.err = engram.Errorf(engram.Canceled, "", "the call was given up: %w", context.Cause(v.ctx))
	}
	return v.err == nil
}

// ordered reports whether starts and ends of the episodes' spans ascend.
func (v *view) ordered() bool {
	for i := 1; i < len(v.disk); i++ {
		if a, b := v.disk[i-1].span, v.disk[i].span; a.Start > b.Start || a.End > b.End {
			return false
		}
	}
	return true
}

// fail notes an error of the disk. What is damaged or gone is told as missing, and
// the rest is read; anything else ends the reading.
func (v *view) fail(err error, span engram.Interval, count int) {
	reason := ""
	switch engram.CodeOf(err) {
	case engram.Corrupt, engram.Unsupported:
		reason = engram.MissingDamaged
	case engram.NotFound:
		reason = engram.MissingForgotten
	default:
		if v.err == nil {
			v.err = engram.Errorf(engram.CodeOf(err), v.entity.String(), "it cannot be read from disk: %w", err)
		}
		return
	}
	if v.damage == nil {
		v.damage = &engram.Missing{ID: v.entity, Reason: reason, Count: uint64(count), Interval: span}
		return
	}
	v.damage.Count += uint64(count)
	v.damage.Interval.Start = min(v.damage.Interval.Start, span.Start)
	v.damage.Interval.End = max(v.damage.Interval.End, span.End)
}

// close releases what the view holds.
func (v *view) close() {
	for i := range v.disk {
		v.disk[i].close()
	}
}

// Payload bytes that are loaded ahead of a reader who goes on in order.
const aheadBytes = 4 << 20

// window returns how many versions of that size to load after n.
func window(n, size int) int { return max(1, min(2*n, aheadBytes/max(size, 1))) }
