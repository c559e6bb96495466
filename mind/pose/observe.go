package pose

import (
	"slices"

	"github.com/seed-301d4374/engram"
)

// Observe says that at t child was seen to hang on parent by a KindFree edge, whose
// handle it returns to set the pose with. It is for parents that come with the
// poses, in any order: the answer is the same whichever becomes known first. Where
// child hung on another frame according to the poses before and after t, or rested
// ([Statements.Observe]), it hangs on parent from t on until the next of those, or, if
// none of them is before t, until then; nothing is forgotten and nothing interpolates
// across. Where it hung on nothing it hangs on parent for all of that time. Another
// parent than was known, or motion where it rested, is a revision. The options add to
// those that child has on parent at other times.
//
// The errors are those of [Store.Free], and Conflict too for a child that has a pose
// in another frame at t, or hangs on that by an edge of another kind.
func (s *Store) Observe(t engram.Time, parent, child string, opts ...Option) (*FreeEdge, error) {
	err := s.change(func(d *draft) (bool, error) {
		o, err := d.observed(t, parent, child, KindFree)
		if err != nil || o.known {
			return false, err
		}
		e, err := d.newEdge(KindFree, o.parent, o.child, opts)
		if err != nil {
			return false, err
		}
		e.poses = newHistory[Pose, Cov](e.retention(&d.s.cfg), d.s.cfg.Present)
		d.observe(&o, e, nil)
		return o.was.edge != nil, nil
	})
	if err != nil {
		return nil, err
	}
	return s.freeEdge(parent, child), nil
}

// Statements tells, on behalf of an author, where frames rest.
type Statements struct {
	s      *Store
	author string
}

// Statements returns what states where frames rest. The author is kept with the revisions.
func (s *Store) Statements(author string) Statements { return Statements{s, author} }

// Observe says that at t child was stated to rest on parent, where it has the pose p with the
// covariance cov, by a KindFixed edge. It rests from t on until child is next seen elsewhere or
// moving ([Store.Observe]), or stated to rest elsewhere; and before t, if nothing is known of
// that time. Statements come in any order, as poses do. What a pose at t itself says of the
// same parent is replaced.
//
// While it rests, the newest statement counts for all of that time: another value than
// before is a calibration, and a revision. What was stated already changes nothing, so that
// publishers may repeat themselves without undoing a calibration ([Tx.Fix]). Of each rest 8
// statements are remembered, the first among them.
//
// The errors are those of [Store.Fixed], and Conflict for a child that has a pose in another
// frame at t, or an edge that nobody observed.
func (st Statements) Observe(t engram.Time, parent, child string, p Pose, cov Cov) error {
	value, err := checkedValue(edgeName(parent, child), p, cov)
	if err != nil {
		return err
	}
	if st.repeats(t, parent, child, &value) {
		return nil
	}
	return st.s.change(func(d *draft) (bool, error) {
		d.author = st.author
		o, err := d.observed(t, parent, child, KindFixed)
		if err != nil {
			return false, err
		}
		say := &statement{t, o.parent, &value}
		if o.known {
			return d.restate(&o, say), nil
		}
		e, err := d.newEdge(KindFixed, o.parent, o.child, nil)
		if err != nil {
			return false, err
		}
		e.fixed, e.said = value, &value
		d.observe(&o, e, say)
		return o.was.edge != nil, nil
	})
}

// repeats reports whether it is known already that a frame was stated to rest so. Most statements
// only repeat what was said, so it takes no lock.
func (st Statements) repeats(t engram.Time, parent, child string, value *fixedValue) bool {
	s := st.s
	c := s.states.now().content
	pf, ok1 := s.frameID(c, parent)
	cf, ok2 := s.frameID(c, child)
	if !ok1 || !ok2 || t == engram.MaxTime {
		return false
	}
	f := c.frames.at(cf)
	per, _ := f.periodAt(t)
	return per.restsOn(pf) && f.repeats(statement{t, pf, value}, f.rest(t))
}

// Check returns the error that Observe would return for a pose that is one, and whether child
// would hang, or begin to rest, where it did not.
func (st Statements) Check(t engram.Time, parent, child string) (changes bool, err error) {
	return checkObserve(st.s, t, parent, child, KindFixed)
}

// CheckObserve returns the error that [Store.Observe] would return, and whether that
// would change anything.
func (s *Store) CheckObserve(t engram.Time, parent, child string) (changes bool, err error) {
	return checkObserve(s, t, parent, child, KindFree)
}

func checkObserve(s *Store, t engram.Time, parent, child string, kind Kind) (changes bool, err error) {
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
	o, err := c.observed(t, edgeName(parent, child), pf, cf, kind)
	return err == nil && !o.known, err
}

// statement is that a frame was said to rest on a parent at a time.
type statement struct {
	t      engram.Time
	parent int32
	value  *fixedValue
}

// maxStated bounds the statements that are remembered of one rest.
const maxStated = 8

// observation is what an observed parent changes.
type observation struct {
	t             engram.Time
	parent, child int32
	known         bool            // nothing: child hangs on the parent already, and in that way
	iv            engram.Interval // when it does from now on
	was           period          // what is known of t
	whole         engram.Interval // and for how long
	replaces      bool            // what is known of t itself
}

// observed is content.observed; what is known of the time does not change meanwhile.
func (d *draft) observed(t engram.Time, parent, child string, kind Kind) (o observation, err error) {
	pf, cf, err := d.frames(parent, child)
	if err != nil {
		return o, err
	}
	if per, _ := d.c.frames.at(cf).periodAt(t); per.edge != nil && per.edge.poses != nil && (per.edge.parent != pf || kind != KindFree) {
		d.close(per.edge.poses) // what is there decides, so nothing may come meanwhile
	}
	return d.c.observed(t, edgeName(parent, child), pf, cf, kind)
}

// observed finds out what it changes that frame cf is seen on frame pf at t, moving
// (KindFree) or at rest (KindFixed).
func (c *content) observed(t engram.Time, thing string, pf, cf int32, kind Kind) (o observation, err error) {
	if t == engram.MaxTime {
		return o, endOfTime(engram.OutOfRange, thing)
	}
	o.t, o.parent, o.child = t, pf, cf
	f := c.frames.at(cf)
	o.was, o.whole.End = f.periodAt(t)
	o.whole.Start = o.was.from
	e := o.was.edge
	var is neighbours
	switch {
	case e == nil:
	case e.kind == KindFree && e.parent == pf && kind == KindFree:
		o.known = true
		return o, nil
	case e.kind == KindFree:
		s := e.poses.snapshot()
		if s.b.pruned > 0 && t < s.b.prunedTo {
			return o, pruned(thing, t)
		}
		is = s.neighbours(t)
	case e.said != nil:
		o.whole = f.rest(t)
		if o.known = e.parent == pf && kind == KindFixed; o.known {
			return o, nil
		}
		is = f.neighbours(t, e.parent, o.whole)
	case e.parent == pf:
		return o, engram.Errorf(engram.Conflict, thing, "it is %s and cannot become %s", e.kind, kind)
	default:
		return o, engram.Errorf(engram.Conflict, thing, "a second parent: %s hangs on %s by an edge that is %s", e.childName, e.parentName, e.kind)
	}
	if is.at && e.parent != pf {
		return o, engram.Errorf(engram.Conflict, thing, "a second parent: at %v, %s hangs on %s", t, e.childName, e.parentName)
	}
	o.iv, o.replaces = o.whole, is.at
	if is.before {
		o.iv.Start = t
	}
	if is.after {
		o.iv.End = min(o.iv.End, is.next)
	}
	if c.above(cf, pf, o.iv) {
		return o, engram.Errorf(engram.Conflict, thing, "a loop: %s is above %s", c.frames.at(cf).name, c.frames.at(pf).name)
	}
	return o, nil
}

// neighbours says whether something is known before, at and after a time.
type neighbours struct {
	before, at, after bool
	next              engram.Time // the first after it
}

func (s snapshot[V, X]) neighbours(t engram.Time) (k neighbours) {
	before, after := s.beside(t)
	if before != nil {
		k.at, k.before = before.t == t, s.first() < t
	}
	if after != nil {
		k.after, k.next = true, after.t
	}
	return k
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

// neighbours are of what was stated of a rest on a parent.
func (f *frame) neighbours(t engram.Time, parent int32, rest engram.Interval) (k neighbours) {
	for _, s := range f.statedIn(parent, rest) {
		switch {
		case s.t < t:
			k.before = true
		case s.t == t:
			k.at = true
		case !k.after:
			k.after, k.next = true, s.t
		}
	}
	return k
}

// statedIn returns what was stated of a parent in a span.
func (f *frame) statedIn(parent int32, iv engram.Interval) (out []statement) {
	for _, s := range f.stated {
		if s.parent == parent && iv.Contains(s.t) {
			out = append(out, s)
		}
	}
	return out
}

// rest returns the time around t, at which the frame rests, during which it does so on the
// same parent.
func (f *frame) rest(t engram.Time) engram.Interval {
	per, _ := f.periodAt(t)
	i := slices.Index(f.periods, per)
	from, to := i, i
	for from > 0 && f.periods[from-1].restsOn(per.edge.parent) {
		from--
	}
	for to+1 < len(f.periods) && f.periods[to+1].restsOn(per.edge.parent) {
		to++
	}
	return engram.Interval{Start: f.periods[from].from, End: f.span(to).End}
}

// restsOn reports whether the frame rests on a parent in the period.
func (p *period) restsOn(parent int32) bool {
	return p.edge != nil && p.edge.said != nil && p.edge.parent == parent
}

// observe makes an observation part of the draft: of what was known, that before the interval
// and that from its end on stay. The edge is e, if the frame does not hang on the parent in
// that way right before or after it already; and say is what was stated, if it rests.
func (d *draft) observe(o *observation, e *edge, say *statement) {
	f := d.c.frames.at(o.child)
	same := func(t engram.Time) *edge {
		if p, _ := f.periodAt(t); p.edge != nil && p.edge.parent == e.parent && p.edge.kind == e.kind && (p.edge.said != nil) == (e.said != nil) {
			return p.edge
		}
		return nil
	}
	if o.iv.End == o.whole.End && o.whole.End != engram.MaxTime {
		if next := same(o.iv.End); next != nil {
			e = next
		}
	}
	if o.replaces && o.iv.Start == o.whole.Start && o.whole.Start != engram.MinTime {
		if before := same(o.iv.Start - 1); before != nil {
			e = before
		}
	}
	f = f.with(o.iv, e)
	if say != nil {
		f.state(say)
	} else if o.replaces {
		f.stated = slices.DeleteFunc(slices.Clone(f.stated), func(s statement) bool { return s.parent == o.parent && s.t == o.t })
	}
	f.settleRests()
	d.set(o.child, f)
}

// restate takes what was stated of a frame that rests on that parent already. It reports
// whether that is a calibration.
func (d *draft) restate(o *observation, say *statement) (revise bool) {
	was := d.c.frames.at(o.child)
	if was.repeats(*say, o.whole) {
		return false
	}
	f := &frame{name: was.name, periods: slices.Clone(was.periods), stated: was.stated}
	f.state(say)
	revise = f.settleRests()
	d.set(o.child, f)
	return revise
}

// repeats reports whether a statement says nothing new of a rest.
func (f *frame) repeats(say statement, rest engram.Interval) bool {
	f.recall(&say)
	said := f.statedIn(say.parent, rest)
	return len(said) >= maxStated && said[len(said)-1].value == say.value || slices.Contains(said, say)
}

// recall gives a statement the value of one that says the same, if there is one.
func (f *frame) recall(say *statement) {
	for _, s := range f.stated {
		if s.parent == say.parent && s.value.same(say.value) {
			say.value = s.value
		}
	}
}

// state adds a statement to a frame that is not published yet.
func (f *frame) state(say *statement) {
	f.recall(say)
	var stated []statement
	for _, s := range f.stated {
		if s.parent != say.parent || s.t != say.t {
			stated = append(stated, s)
		}
	}
	i := 0
	for i < len(stated) && stated[i].t <= say.t {
		i++
	}
	f.stated = slices.Insert(stated, i, *say)
}

// same reports whether a value says nothing beyond what v says: rounding of angles to a
// quaternion and back does not.
func (v *fixedValue) same(said *fixedValue) bool {
	const rounding = 1e-9
	trans, rot := v.pose.Distance(said.pose)
	return trans < rounding && rot < rounding && (said.cov.Mask == 0 || said.cov == v.cov)
}

// settleRests gives each rest of a frame that is not published yet the value of the newest
// statement about it, forgets statements about other times, and reports whether a value changed.
func (f *frame) settleRests() (changed bool) {
	var stated []statement
	for i, end := 0, 0; i < len(f.periods); i = end {
		end = i + 1
		e := f.periods[i].edge
		if e == nil || e.said == nil {
			continue
		}
		for end < len(f.periods) && f.periods[end].restsOn(e.parent) {
			end++
		}
		said := f.statedIn(e.parent, engram.Interval{Start: f.periods[i].from, End: f.span(end - 1).End})
		if excess := len(said) - maxStated; excess > 0 {
			said = slices.Delete(said, 1, 1+excess)
		}
		stated = append(stated, said...)
		if len(said) == 0 {
			continue
		}
		newest := said[len(said)-1].value
		var fresh *edge
		for k := i; k < end; k++ {
			if f.periods[k].edge.said == newest {
				continue
			}
			if fresh == nil {
				fresh = e.clone()
				fresh.fixed, fresh.said = *newest, newest
			}
			f.periods[k].edge, changed = fresh, true
		}
	}
	f.stated = stated
	f.periods = slices.CompactFunc(f.periods, func(a, b period) bool { return a.edge != nil && a.edge == b.edge })
	return changed
}
