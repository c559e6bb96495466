package ltm

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
)

// counts are the recorder's: what was recorded, left out and lost in this epoch.
type counts struct {
	lost    atomic.Uint64
	losses  episode.Losses // to be noted in the next episode; the recorder's
	mu      sync.Mutex
	tallies map[engram.ID]*tally
	// gone is how many versions went from the working memory with entities of which
	// nothing stayed there on request, by provider segment; they are told of the entities.
	gone map[engram.ID]uint64
}

// of returns an entity's tally.
func (c *counts) of(id engram.ID) *tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tallies[id]
	if t == nil {
		t = &tally{}
		c.tallies[id] = t
	}
	return t
}

// find returns an entity's tally, or nil.
func (c *counts) find(id engram.ID) *tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tallies[id]
}

// forget drops an entity's tally.
func (c *counts) forget(id engram.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tallies, id)
}

// forgot notes that n versions of an entity were dropped from the working memory on
// request, and returns how many of them the policy had left out: none if something of it
// is on disk. gone says that it has no other in the working memory.
func (c *counts) forgot(id engram.ID, n uint64, onDisk, gone bool) (leftOut uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	went := n
	if t := c.tallies[id]; t != nil {
		t.mu.Lock()
		if !onDisk && t.recorded == 0 {
			leftOut = min(n, t.filtered-t.forgotten)
			t.forgotten += leftOut
		}
		if gone && leftOut > 0 { // what was evicted before is told of the entity, too
			went = max(n, t.filtered-t.gone)
			t.gone = t.filtered
		}
		t.mu.Unlock()
	}
	if gone {
		if c.gone == nil {
			c.gone = map[engram.ID]uint64{}
		}
		c.gone[id.Parent()] += went
	}
	return leftOut
}

// forgottenWith returns how many versions went from the working memory with entities of
// a provider segment of which nothing stayed there on request.
func (c *counts) forgottenWith(provider engram.ID) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone[provider]
}

// forgottenOf returns how many of the versions that the working memory evicted of an
// entity are in the account instead. It counts what went with others of its provider
// segment once it was gone itself: as the working memory does.
func (c *counts) forgottenOf(id engram.ID) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tallies[id]
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone > 0 {
		return max(t.forgotten, c.gone[id.Parent()])
	}
	return t.forgotten
}

// leftOut returns what the policies left out in this epoch.
func (c *counts) leftOut() map[engram.ID]forgottenOf {
	of := map[engram.ID]forgottenOf{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, t := range c.tallies {
		if l, _ := t.loss(); l.Evictions > 0 {
			of[id] = forgottenOf{l.Evictions, l.First, l.Last, l.Arrived, 0}
		}
	}
	return of
}

// tally counts what the recorder did with an entity's versions. Safe for concurrent
// use; one goroutine writes it.
type tally struct {
	mu        sync.Mutex
	recorded  uint64
	filtered  uint64      // left out by the policy
	forgotten uint64      // of these; they are in the account
	gone      uint64      // of these; they are in [counts].gone
	first     engram.Time // times of what was left out
	last      engram.Time
	before    engram.Time // the last one, if the newest of these was recorded after all
	arrived   engram.Time // when the first of these arrived
}

func (t *tally) record(*engram.Snapshot) {
	t.mu.Lock()
	t.recorded++
	t.mu.Unlock()
}

func (t *tally) filter(s *engram.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.filtered == 0 {
		t.first, t.last, t.before, t.arrived = s.Time, s.Time, engram.MinTime, s.Arrived
	}
	if t.filtered++; t.filtered > 1 {
		t.before = max(t.before, min(t.last, s.Time))
	}
	t.first, t.last = min(t.first, s.Time), max(t.last, s.Time)
}

// unfilter takes a version of what was left out back: it was recorded after all.
func (t *tally) unfilter(s *engram.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.filtered == 0 {
		return
	}
	if t.filtered--; t.filtered > 0 && s.Time == t.last {
		t.last = t.before
	}
}

// loss tells of what was left out, and not forgotten since, as of something lost.
func (t *tally) loss() (left wm.Loss, recorded uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.filtered - t.forgotten; n > 0 {
		left = wm.Loss{Evictions: n, Snapshots: n, First: t.first, Last: t.last, Arrived: t.arrived}
	}
	return left, t.recorded
}

// without takes what was forgotten, which is told as such, from what was evicted.
func without(evicted wm.Loss, forgotten uint64) wm.Loss {
	evicted.Evictions -= min(forgotten, evicted.Evictions)
	evicted.Snapshots -= min(forgotten, evicted.Snapshots)
	return evicted
}

// missing tells what of the selection just made is missing, and why.
func (x *execution) missing(id engram.ID, v *view, w *wm.EntityView) {
	if x.answer.Condition() != nil && len(x.found.Snapshots) == 0 {
		if v.damage != nil {
			x.answer.Miss(*v.damage)
		}
		return
	}
	for _, m := range []*engram.Missing{v.damage, v.forgotten} {
		if m != nil {
			x.answer.Miss(*m)
		}
	}
	x.missLost(v, x.version.forgotten[id], engram.MissingForgotten)
	x.missLost(v, x.version.damageOf(id), engram.MissingDamaged)
	x.miss(id, x.s.logs.refused[id].loss(), v.admit.asOf, engram.MissingDamaged)
	if left := x.s.account.leftOut(id); left.Evictions > 0 {
		x.miss(id, left, v.admit.asOf, engram.MissingFiltered)
	}
	var evicted wm.Loss
	if w != nil {
		evicted = w.Lost()
		if evicted.Snapshots == 0 && (v.admit.asOf == engram.MaxTime || evicted.Evictions == 0) {
			return // the working memory has what the disk was not given
		}
	}
	var left wm.Loss
	var recorded uint64
	if r := x.s.recorder; r != nil {
		if t := r.counts.find(id); t != nil {
			left, recorded = t.loss()
			evicted = without(evicted, r.counts.forgottenOf(id))
		}
		if (x.behind || r.counts.lost.Load() > 0) && evicted.Evictions > recorded+left.Evictions {
			x.miss(id, evicted, v.admit.asOf, engram.MissingEvicted)
		}
	}
	if left.Evictions == 0 {
		return
	}
	if w != nil { // what was left out and is still in the working memory is not missing
		left.First, left.Last = max(left.First, evicted.First), min(left.Last, evicted.Last)
		left.Snapshots = min(left.Snapshots, evicted.Snapshots)
		if left.First > left.Last || left.Snapshots == 0 {
			return
		}
	}
	x.miss(id, left, v.admit.asOf, engram.MissingFiltered)
}

// miss notes what was asked for and is lost.
func (x *execution) miss(id engram.ID, l wm.Loss, asOf engram.Time, reason string) {
	if m := x.asked(id, l, asOf); m != nil {
		m.Reason = reason
		x.answer.Miss(*m)
	}
}

// asked returns what of something lost was asked for, or nil.
func (x *execution) asked(id engram.ID, l wm.Loss, asOf engram.Time) (m *engram.Missing) {
	for _, a := range x.found.Asked {
		m = l.Missing(id, a, asOf, m)
	}
	return m
}

// missLost notes what was asked for and was lost, but for what is there again.
func (x *execution) missLost(v *view, lost forgottenOf, reason string) {
	if lost.Versions == 0 || x.asked(v.entity, lost.loss(), v.admit.asOf) == nil {
		return
	}
	if lost.Versions -= x.again(v, lost); lost.Versions > 0 {
		x.miss(v.entity, lost.loss(), v.admit.asOf, reason)
	}
}

// again returns at how many times of what was lost something is that arrived since, such
// as what was imported again; not more than was lost.
func (x *execution) again(v *view, lost forgottenOf) (n uint64) {
	span := engram.Interval{Start: lost.First, End: lost.Last.Add(1)}
	since := func(p part) bool { return p.arrived.End-1 > lost.Since && p.span.Overlaps(span) }
	some := slices.ContainsFunc(v.disk, since)
	if !some && v.wm != nil {
		s, _ := v.wm.Next(v.wm.From(lost.First), lost.Last)
		some = s != nil
	}
	if lost.Since == 0 || !some {
		return 0
	}
	now, err := x.s.disk.view(x.ctx, x.version, v.entity)
	if err != nil {
		return 0
	}
	defer now.close()
	now.wm, now.payload, now.admit = v.wm, false, v.admit
	now.disk = slices.DeleteFunc(now.disk, func(p part) bool {
		if since(p) {
			return false
		}
		p.close()
		return true
	})
	for at := lost.First; n < lost.Versions; {
		s, next := now.Next(at, lost.Last)
		if s == nil {
			break
		}
		if at = next; s.Arrived > lost.Since {
			n++
		}
	}
	return n
}

// missGone tells of entities that are neither in the working memory nor on disk any
// more, if what the nodes ask for may have been theirs.
func (x *execution) missGone(provider engram.ID, nodes []*query.Node) {
	if !x.both {
		return
	}
	gone := x.view.Gone(provider)
	if x.s.recorder != nil {
		gone = without(gone, x.s.recorder.counts.forgottenWith(provider))
	}
	if gone.Snapshots == 0 || x.s.policies.all(provider) && !x.behind && (x.s.recorder == nil || x.s.recorder.counts.lost.Load() == 0) {
		return // they are on disk
	}
	var m *engram.Missing
	for _, n := range nodes {
		for _, s := range n.Snapshots {
			m = gone.Missing(provider, query.AskedBy(s), x.admit.asOf, m)
		}
	}
	if m != nil {
		x.answer.Miss(*m)
	}
}
