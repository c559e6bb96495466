package pose

import (
	"cmp"
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
)

// frozen is what a view has seen of the histories. One that a view was made with is
// complete and may be read by many; others take what is asked for first, and are for
// one goroutine.
type frozen struct {
	base   *frozen // looked into first
	poses  map[*poseHistory]snapshot[Pose, Cov]
	values map[*valueHistory]snapshot[float64, float64]
}

func newFrozen(base *frozen) *frozen {
	return &frozen{base, map[*poseHistory]snapshot[Pose, Cov]{}, map[*valueHistory]snapshot[float64, float64]{}}
}

func (f *frozen) posesOf(h *poseHistory) snapshot[Pose, Cov] {
	if f.base != nil {
		if s, ok := f.base.poses[h]; ok {
			return s
		}
	}
	return frozenAt(f.poses, h)
}

func (f *frozen) valuesOf(h *valueHistory) snapshot[float64, float64] {
	if f.base != nil {
		if s, ok := f.base.values[h]; ok {
			return s
		}
	}
	return frozenAt(f.values, h)
}

func frozenAt[V, X comparable](m map[*history[V, X]]snapshot[V, X], h *history[V, X]) snapshot[V, X] {
	s, ok := m[h]
	if !ok {
		s = h.snapshot()
		m[h] = s
	}
	return s
}

// freeze takes what every history of a view holds now.
func (v *View) freeze() {
	v.frozen = newFrozen(nil)
	for f := range v.state.content.frames.all() {
		for i, p := range f.periods {
			switch e := p.edge; {
			case e == nil:
			case e.joint != nil:
				v.frozen.valuesOf(e.value.history)
			case e.poses != nil:
				v.frozen.posesOf(e.poses)
				for _, heir := range v.heirs(e, f.span(i)) {
					v.frozen.posesOf(heir.poses)
				}
			}
		}
	}
}

// samples returns what the histories of an edge that holds during a span say in the
// view.
func (v *View) samples(e *edge, held engram.Interval) (poses snapshot[Pose, Cov], values snapshot[float64, float64]) {
	switch {
	case e.joint != nil:
		values = v.frozen.valuesOf(e.value.history).until(e.rules.until)
	case e.poses != nil:
		poses = v.frozen.posesOf(e.poses)
		if v.changed(e.child) {
			poses = v.joined(poses, e, held)
		}
	}
	return poses, values
}

// heir is a history in which a free edge's later samples are, and when.
type heir struct {
	engram.Interval
	poses *poseHistory
}

// changed reports whether the edges above a frame have changed since the view's
// revision.
func (v *View) changed(child int32) bool {
	n := len(v.later)
	return n > 0 && v.later[n-1].frames.at(child) != v.state.content.frames.at(child)
}

// heirs returns the other histories that a free edge has had since the view's revision
// in a span in which it holds. A re-parenting gives the edge new ones; what is added to
// those at a time at which the edge held in the view's revision, too, belongs to that.
func (v *View) heirs(e *edge, held engram.Interval) (out []heir) {
	if !v.changed(e.child) {
		return nil
	}
	was := v.state.content.frames.at(e.child)
	for _, c := range v.later {
		f := c.frames.at(e.child)
		if f == was {
			continue
		}
		was = f
		for i, p := range f.periods {
			if p.edge == nil || p.edge.poses == nil || p.edge.poses == e.poses || p.edge.parent != e.parent {
				continue
			}
			h := heir{f.span(i), p.edge.poses}
			h.Start, h.End = max(h.Start, held.Start), min(h.End, held.End)
			if !h.Empty() && !slices.Contains(out, h) {
				out = append(out, h)
			}
		}
	}
	return out
}

// joined returns what an edge's history says in a span, together with its heirs. Of
// samples of one time the first that there was counts.
func (v *View) joined(own snapshot[Pose, Cov], e *edge, held engram.Interval) snapshot[Pose, Cov] {
	heirs := v.heirs(e, held)
	whole := own.n == 0 || held.Contains(own.first()) && held.Contains(own.last())
	if len(heirs) == 0 && whole {
		return own
	}
	u := union[Pose, Cov]{born: engram.MaxTime}
	u.add(own, held)
	for _, heir := range heirs {
		u.add(v.frozen.posesOf(heir.poses), heir.Interval)
	}
	if !u.more && whole {
		return own
	}
	pins := e.poses.pinsIn(held)
	for _, heir := range heirs {
		pins = append(pins, heir.poses.pinsIn(heir.Interval)...)
	}
	return u.snapshot(pins)
}

func (h *history[V, X]) pinsIn(iv engram.Interval) []engram.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.pins), func(t engram.Time) bool { return !iv.Contains(t) })
}

// union collects what several histories of one edge say.
type union[V, X comparable] struct {
	c          chunk[V, X]
	old        []superseded[V, X]
	replacedAt Revision
	extras     bool
	pinned     []pinnedSamples[V, X]
	pruned     int64
	lost       []engram.Interval // where pruning has been
	born       engram.Time
	parts      int
	more       bool // something beyond the first
}

// add adds what a history says in a span.
func (u *union[V, X]) add(s snapshot[V, X], iv engram.Interval) {
	first := u.parts == 0
	u.parts++
	var c chunk[V, X]
	for k := range len(s.b.sealed) + 1 {
		part := s.chunk(k).within(iv)
		c.s = append(c.s, part.s...)
		if part.x == nil {
			part.x = make([]X, len(part.s))
		}
		c.x = append(c.x, part.x...)
	}
	was := u.c
	var added []engram.Time
	if u.c, added = was.merged(c); !first && len(added) > 0 {
		u.more = true
	}
	for _, o := range s.b.old {
		if _, found := slices.BinarySearch(added, o.t); found {
			u.old = append(u.old, o)
		}
	}
	u.replacedAt = max(u.replacedAt, s.b.replacedAt)
	u.extras = u.extras || s.b.extras
	for _, p := range s.b.pinned {
		if !iv.Contains(p.at) || slices.ContainsFunc(u.pinned, func(o pinnedSamples[V, X]) bool { return o.at == p.at }) {
			continue
		}
		u.pinned = append(u.pinned, p)
		u.more = u.more || !first
		for _, o := range s.b.old { // what is pinned may have been replaced
			if o.t == p.a.t || o.t == p.b.t {
				u.old = append(u.old, o)
			}
		}
	}
	if to := min(s.b.prunedTo, iv.End); s.b.pruned > 0 && to > iv.Start {
		u.more = u.more || !first && !inAny(u.lost, to-1)
		u.pruned += s.b.pruned
		u.lost = append(u.lost, engram.Interval{Start: iv.Start, End: to})
	}
	if len(c.s) > 0 {
		u.born = min(u.born, c.s[0].t)
	}
	if s.b.born >= iv.Start && (s.n > 0 || s.b.pruned > 0) {
		u.born = min(u.born, s.b.born)
	}
}

// merged returns the samples of both, sorted, and the times that are only in o.
func (c chunk[V, X]) merged(o chunk[V, X]) (out chunk[V, X], added []engram.Time) {
	for i, k := 0, 0; i < len(c.s) || k < len(o.s); {
		from, at := &c, &i
		if i == len(c.s) || k < len(o.s) && o.s[k].t < c.s[i].t {
			from, at = &o, &k
			added = append(added, o.s[k].t)
		} else if k < len(o.s) && o.s[k].t == c.s[i].t {
			k++
		}
		out.s, out.x = append(out.s, from.s[*at]), append(out.x, from.x[*at])
		*at++
	}
	return out, added
}

// snapshot returns all of it as one. What one of the histories has forgotten is
// forgotten, but for the pinned times.
func (u *union[V, X]) snapshot(pins []engram.Time) snapshot[V, X] {
	whole := u.body(u.c)
	prunedTo := engram.MinTime
	for _, iv := range u.lost {
		prunedTo = max(prunedTo, iv.End)
	}
	keep := sort.Search(len(u.c.s), func(i int) bool { return u.c.s[i].t >= prunedTo })
	u.pinAll(whole, pins, prunedTo)
	b := u.body(chunk[V, X]{s: u.c.s[keep:], x: u.c.x[keep:]})
	b.b.pruned, b.b.prunedTo, b.b.pinned = u.pruned, prunedTo, u.pinned
	return b
}

// pinAll completes what is pinned: with the times that no history has had to pin
// because it has the samples and all between them, and with the samples behind those at which one of the
// histories ends and the whole does not.
func (u *union[V, X]) pinAll(whole snapshot[V, X], pins []engram.Time, prunedTo engram.Time) {
	any := rules{until: engram.MaxTime}
	for i := range u.pinned {
		p := &u.pinned[i]
		if next := u.behind(p.at); p.single && p.a.t < p.at && next < len(u.c.s) {
			p.single, p.b, p.xb = false, u.c.s[next], u.c.x[next]
		}
	}
	for _, at := range pins {
		if at >= prunedTo || slices.ContainsFunc(u.pinned, func(p pinnedSamples[V, X]) bool { return p.at == at }) || whole.n == 0 {
			continue
		}
		res := whole.at(at, &any, revisionNow)
		surely := res.code == OK
		for _, iv := range u.lost {
			surely = surely && (res.a.t >= iv.End || cmp.Or(res.b, res.a).t < iv.Start)
		}
		if surely {
			p := pinnedSamples[V, X]{at: at, a: *res.a, single: res.b == nil}
			xa, xb := whole.extras(&res, at, revisionNow)
			p.xa, p.xb = valueOr(xa), valueOr(xb)
			if res.b != nil {
				p.b = *res.b
			}
			u.pinned = append(u.pinned, p)
		}
	}
	slices.SortFunc(u.pinned, func(a, b pinnedSamples[V, X]) int { return cmp.Compare(a.at, b.at) })
}

// behind returns the index of the first sample after t.
func (u *union[V, X]) behind(t engram.Time) int {
	return sort.Search(len(u.c.s), func(i int) bool { return u.c.s[i].t > t })
}

// body makes a snapshot of samples.
func (u *union[V, X]) body(c chunk[V, X]) snapshot[V, X] {
	b := &body[V, X]{extras: u.extras, replacedAt: u.replacedAt, born: u.born}
	b.old = slices.Clone(u.old)
	slices.SortStableFunc(b.old, func(a, b superseded[V, X]) int {
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.until, b.until))
	})
	b.old = slices.CompactFunc(b.old, func(a, b superseded[V, X]) bool { return a.t == b.t && a.until == b.until })
	limit := chunkLimit[V](Retention{})
	for len(c.s) > limit {
		part := chunk[V, X]{s: c.s[:limit]}
		if u.extras {
			part.x = c.x[:limit]
		}
		b.sealed = append(b.sealed, part.sealed())
		c.s, c.x = c.s[limit:], c.x[limit:]
	}
	if !u.extras {
		c.x = nil
	}
	b.setActive(c, len(c.s))
	return snapshot[V, X]{b, len(c.s)}
}
