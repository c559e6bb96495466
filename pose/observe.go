package pose

import (
	"slices"

	"github.com/seed-301d4374/engram"
)

// Observe says that at t child was seen to hang on parent by a KindFree edge, whose
// handle it returns to set the pose with. It is for parents that come with the
// poses, in any order: the answer is the same whichever becomes known first. Where
// child hung on another frame according to the poses before and after t, it hangs on
// parent from t on until the next of those, or, if none of them is before t, until
// then; nothing is forgotten and nothing interpolates across. Where it hung on nothing
// it hangs on parent for all of that time. Another parent than was known is a
// revision. The options add to those that child has on parent at other times.
//
// The errors are those of [Store.Free], and Conflict too for a child that has a pose
// in another frame at t, or hangs on that by an edge of another kind.
func (s *Store) Observe(t engram.Time, parent, child string, opts ...Option) (*FreeEdge, error) {
	err := s.change(func(d *draft) (bool, error) {
		pf, cf, err := d.frames(parent, child)
		if err != nil {
			return false, err
		}
		if per, _ := d.c.frames[cf].periodAt(t); per.edge != nil && per.edge.poses != nil && per.edge.parent != pf {
			d.close(per.edge.poses) // what is there decides, so nothing may come meanwhile
		}
		o, err := d.c.observed(t, edgeName(parent, child), pf, cf)
		if err != nil || o.known {
			return false, err
		}
		return o.was.edge != nil, d.observe(&o, pf, cf, opts)
	})
	if err != nil {
		return nil, err
	}
	return s.freeEdge(parent, child), nil
}

// CheckObserve returns the error that [Store.Observe] would return, and whether that
// would change anything.
func (s *Store) CheckObserve(t engram.Time, parent, child string) (changes bool, err error) {
	c := s.states.now().content
	pf, ok1 := s.frameID(c, parent)
	cf, ok2 := s.frameID(c, child)
	if !ok1 || !ok2 {
		s.mu.Lock()
		defer s.mu.Unlock()
		d := s.draftLocked()
		if pf, cf, err = d.frames(parent, child); err != nil {
			return false, err
		}
		c = d.c
	}
	o, err := c.observed(t, edgeName(parent, child), pf, cf)
	return err == nil && !o.known, err
}

// observation is what an observed parent changes.
type observation struct {
	known bool // nothing: child hangs on the parent already
	iv    engram.Interval
	was   period // what is known of that time
	end   engram.Time
}

// observed finds out what it changes that frame cf is seen on frame pf at t.
func (c *content) observed(t engram.Time, thing string, pf, cf int32) (o observation, err error) {
	if t == engram.MaxTime {
		return o, endOfTime(engram.OutOfRange, thing)
	}
	o.was, o.end = c.frames[cf].periodAt(t)
	o.iv = engram.Interval{Start: o.was.from, End: o.end}
	e := o.was.edge
	switch {
	case e == nil:
	case e.parent == pf && e.kind == KindFree:
		o.known = true
		return o, nil
	case e.parent == pf:
		return o, engram.Errorf(engram.Conflict, thing, "it is %s and cannot become %s", e.kind, KindFree)
	case e.kind != KindFree:
		return o, engram.Errorf(engram.Conflict, thing, "a second parent: %s hangs on %s by an edge that is %s", e.childName, e.parentName, e.kind)
	default:
		s := e.poses.snapshot()
		if s.b.pruned > 0 && t < s.b.prunedTo {
			return o, pruned(thing, t)
		}
		before, after := s.beside(t)
		switch {
		case before != nil && before.t == t:
			return o, engram.Errorf(engram.Conflict, thing, "a second parent: at %v, %s hangs on %s", t, e.childName, e.parentName)
		case before != nil:
			o.iv.Start = t
		}
		if after != nil {
			o.iv.End = min(o.iv.End, after.t)
		}
	}
	if c.above(cf, pf, o.iv) {
		return o, engram.Errorf(engram.Conflict, thing, "a loop: %s is above %s", c.frames[cf].name, c.frames[pf].name)
	}
	return o, nil
}

// beside returns the last sample at or before t and the first after it, nil where
// there is none.
func (s snapshot[V, X]) beside(t engram.Time) (before, after *sample[V]) {
	if s.n == 0 {
		return nil, nil
	}
	k, i := s.locateAny(t)
	if k < 0 {
		return nil, &s.chunk(0).s[0]
	}
	c := s.chunk(k).s
	before = &c[i]
	switch {
	case i+1 < len(c):
		after = &c[i+1]
	case k < len(s.b.sealed):
		after = &s.chunk(k + 1).s[0]
	}
	return before, after
}

// observe makes an observation part of the draft: of the edge that was known, the
// poses before the interval and those from its end on stay.
func (d *draft) observe(o *observation, pf, cf int32, opts []Option) error {
	e, err := d.newEdge(KindFree, pf, cf, opts)
	if err != nil {
		return err
	}
	e.poses = newHistory[Pose, Cov](e.retention(&d.s.cfg))
	f := d.c.frames[cf]
	if o.iv.End == o.end && o.end != engram.MaxTime {
		// It hangs on the parent from then on already, and did so earlier.
		if next, _ := f.periodAt(o.end); next.edge != nil && next.edge.parent == pf && next.edge.kind == KindFree {
			e = next.edge
		}
	}
	f = f.with(o.iv, e)
	f.periods = slices.CompactFunc(f.periods, func(a, b period) bool { return a.edge == b.edge })
	d.set(cf, f)
	return nil
}
