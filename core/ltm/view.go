package ltm

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
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
	// present is the latest time that is not beyond the present.
	present engram.Time
	// floor is the latest time for which the disk is asked: above it the working
	// memory is complete.
	floor   engram.Time
	admit   admission
	filter  *query.Filter // chooses among the versions; nil takes them all
	payload bool          // payloads are wanted
	// members are those of payloads that have to be read, nil for all.
	members     codec.Members
	membersName string

	forward, backward lane
	steps             int
	damage            *engram.Missing
	forgotten         *engram.Missing // what tombstones are about of what was met
	err               error
}

var _ query.View[engram.Time] = (*view)(nil)

// admission says which versions a reader takes notice of.
type admission struct {
	asOf    engram.Time // the latest arrival
	epoch   uint64      // this epoch …
	horizon uint64      // … and the newest of its updates
	hidden  hidden      // what was removed with its segment
	// tombstones are those that may be about the entity.
	tombstones []*tombstone
	// life returns the place of an epoch among the others; nil if that is not known.
	life func(epoch uint64) int
}

// admitsAll reports whether it is known that all versions of a run are admitted.
func (a *admission) admitsAll(epoch, upTo uint64) bool {
	return a.asOf == engram.MaxTime && len(a.hidden)+len(a.tombstones) == 0 && (epoch != a.epoch || upTo <= a.horizon)
}

func (a *admission) admits(v arrival) bool {
	return v.arrived <= a.asOf && (v.epoch != a.epoch || v.number <= a.horizon) && !a.hidden.hides(v)
}

// Begin, End, From, After, Beyond and Present implement [query.View].
func (v *view) Present() engram.Time            { return v.present }
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
	case v.filter.Excludes(f.cur.index.Snapshot(f.pos)):
		return nil
	case v.payload || v.filter.NeedsPayloads():
		if s = f.cur.load(v, f.pos); s == nil {
			return nil
		}
	default:
		s = f.cur.index.Snapshot(f.pos)
	}
	if v.filter != nil {
		if s = v.filter.Snapshot(s); s == nil && v.err == nil {
			v.err = v.filter.Err()
		}
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

// open opens a part; false if it cannot be read. What it holds less than the catalogue
// knows is damaged.
func (v *view) open(p *part) bool {
	opened := p.run != nil
	if err := p.open(); err != nil {
		v.fail(p.handle, err, p.span, p.count)
		return false
	}
	if !opened && v.members != nil {
		p.run.timeline = p.run.timeline.Members(v.membersName, v.members)
	}
	have := 0
	for i := range p.run.blocks {
		have += p.run.blocks[i].Count
	}
	if !opened && have < p.count {
		v.fail(p.handle, engram.Errorf(engram.Corrupt, p.handle.name, "it holds %d versions of %v, and held %d", have, v.entity, p.count), p.span, p.count-have)
	}
	return true
}

// fail notes an error of the disk. What is damaged is told as missing, and the rest is
// read; anything else ends the reading.
func (v *view) fail(h *handle, err error, span engram.Interval, count int) {
	if engram.CodeOf(err) == engram.NotFound { // it is in the catalogue or the index
		err = engram.Errorf(engram.Corrupt, h.name, "its file is not the one that was sealed: %w", err)
	}
	if !isDamage(err) {
		if v.err == nil {
			v.err = engram.Errorf(engram.CodeOf(err), v.entity.String(), "it cannot be read from disk: %w", err)
		}
		return
	}
	h.set.damaged(h, err)
	v.damage = grow(v.damage, engram.Missing{ID: v.entity, Reason: engram.MissingDamaged, Count: uint64(count), Interval: span})
}

// buried reports whether a tombstone is about a version, of an episode or of the working
// memory, and tells of it then.
func (v *view) buried(h *handle, d arrival, t engram.Time) bool {
	if len(v.admit.tombstones) == 0 || !slices.ContainsFunc(v.admit.tombstones, func(b *tombstone) bool { return b.covers(h, v.entity, d, t) }) {
		return false
	}
	if v.forgotten == nil || !v.forgotten.Interval.Contains(t) { // it may be met again, the other way
		v.forgotten = grow(v.forgotten, engram.Missing{ID: v.entity, Reason: engram.MissingForgotten, Count: 1, Interval: engram.Interval{Start: t, End: t.Add(1)}})
	}
	return true
}

// grow adds more of the same to what is missing.
func grow(m *engram.Missing, more engram.Missing) *engram.Missing {
	if m == nil {
		return &more
	}
	sum := *m // m stays as it is: who reads again goes back to it
	sum.Count += more.Count
	sum.Interval.Start, sum.Interval.End = min(sum.Interval.Start, more.Interval.Start), max(sum.Interval.End, more.Interval.End)
	return &sum
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
