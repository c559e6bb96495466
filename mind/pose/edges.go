package pose

import (
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// change runs edit on a draft and publishes it, under a new revision if revise.
func (s *Store) change(edit func(d *draft) (revise bool, err error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.draftLocked()
	revise, err := edit(d)
	if err != nil || len(d.dirty) == 0 && len(d.fresh) == 0 {
		d.drop()
		return err
	}
	d.publishLocked(revise, d.author)
	return nil
}

// Fixed adds a KindFixed edge: child has the pose p in parent, with the covariance
// cov, at all times. Adding the same edge again changes nothing; another value is a
// Conflict, because it revises the past: use [Tx.Fix].
//
// Fixed, Free, Joint and Anchor add the frames they name. They return an Invalid
// error for a name or value that cannot be, and Conflict for a second parent, a
// loop, or an edge of another kind.
func (s *Store) Fixed(parent, child string, p Pose, cov Cov, opts ...Option) error {
	return s.change(func(d *draft) (bool, error) { return false, d.fixed(parent, child, p, cov, opts) })
}

func (d *draft) fixed(parent, child string, p Pose, cov Cov, opts []Option) error {
	thing := edgeName(parent, child)
	value, err := checkedValue(thing, p, cov)
	if err != nil {
		return err
	}
	pf, cf, err := d.frames(parent, child)
	if err != nil {
		return err
	}
	e, err := d.existing(KindFixed, pf, cf)
	if err != nil {
		return err
	}
	if e != nil {
		if e.fixed != value {
			return engram.Errorf(engram.Conflict, thing, "it stands at %v; another value revises the past and needs a transaction", e.fixed.pose)
		}
		return nil
	}
	if e, err = d.newEdge(KindFixed, pf, cf, opts); err != nil {
		return err
	}
	e.fixed = value
	d.insert(e, engram.Always())
	return nil
}

// checkedValue checks and normalises a pose and a covariance about thing.
func checkedValue(thing string, p Pose, cov Cov) (v fixedValue, err error) {
	if !p.check() {
		err := p.refusal()
		err.Thing = thing
		return v, err
	}
	if cov, err = cov.Checked(); err != nil {
		return v, engram.Errorf(engram.Invalid, thing, "%w", err)
	}
	return fixedValue{p, cov}, nil
}

// Anchor adds a KindAnchor edge. It is unset until a transaction writes its first
// key ([Tx.Key], [Tx.Localize]).
func (s *Store) Anchor(parent, child string, opts ...Option) error {
	return s.change(func(d *draft) (bool, error) { return false, d.anchor(parent, child, opts) })
}

func (d *draft) anchor(parent, child string, opts []Option) error {
	pf, cf, err := d.frames(parent, child)
	if err != nil {
		return err
	}
	e, err := d.existing(KindAnchor, pf, cf)
	if err != nil || e != nil {
		return err
	}
	if e, err = d.newEdge(KindAnchor, pf, cf, opts); err != nil {
		return err
	}
	e.keys = &anchorKeys{}
	d.insert(e, engram.Always())
	return nil
}

// FreeEdge is the handle to write a KindFree edge with. It is safe for concurrent
// use.
type FreeEdge struct {
	s     *Store
	child int32
	thing string
	spans atomic.Pointer[[]freeSpan] // in the order of time
}

// freeSpan is a time during which the edge exists, with its history.
type freeSpan struct {
	engram.Interval
	h *poseHistory
}

// Free adds a KindFree edge, or returns the handle of the one that is there; options
// then apply to it as by [Store.Configure].
func (s *Store) Free(parent, child string, opts ...Option) (*FreeEdge, error) {
	err := s.change(func(d *draft) (bool, error) { return false, d.free(parent, child, opts) })
	if err != nil {
		return nil, err
	}
	return s.freeEdge(parent, child), nil
}

func (d *draft) free(parent, child string, opts []Option) error {
	pf, cf, err := d.frames(parent, child)
	if err != nil {
		return err
	}
	e, err := d.existing(KindFree, pf, cf)
	switch {
	case err != nil:
		return err
	case e == nil:
		return d.insertFree(pf, cf, engram.Always(), opts)
	case len(opts) > 0:
		return d.configure(pf, cf, opts)
	}
	return nil
}

// insertFree puts a new Free edge above a frame during iv.
func (d *draft) insertFree(pf, cf int32, iv engram.Interval, opts []Option) error {
	e, err := d.newEdge(KindFree, pf, cf, opts)
	if err != nil {
		return err
	}
	e.poses = newHistory[Pose, Cov](e.retention(&d.s.cfg), d.s.cfg.Present)
	d.insert(e, iv)
	return nil
}

// freeEdge returns the handle of an edge that exists.
func (s *Store) freeEdge(parent, child string) *FreeEdge {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.states.now().content
	pf, _ := s.frameID(c, parent)
	cf, _ := s.frameID(c, child)
	return s.edges[[2]int32{pf, cf}]
}

// refresh brings the handles of the edges above a frame up to date, and makes those that are
// missing.
func (d *draft) refresh(child int32) {
	s, c := d.s, d.c
	spans := map[int32]*[]freeSpan{} // by parent
	for i, p := range c.frames.at(child).periods {
		if p.edge == nil {
			continue
		}
		if spans[p.edge.parent] == nil {
			spans[p.edge.parent] = &[]freeSpan{}
		}
		if p.edge.kind != KindFree {
			continue
		}
		key := [2]int32{p.edge.parent, child}
		if s.edges[key] == nil {
			s.edges[key] = &FreeEdge{s: s, child: child, thing: edgeName(p.edge.parentName, p.edge.childName)}
			s.above[child] = append(s.above[child], p.edge.parent)
		}
		list := spans[p.edge.parent]
		*list = append(*list, freeSpan{c.frames.at(child).span(i), p.edge.poses})
	}
	for _, parent := range s.above[child] {
		list := spans[parent]
		if list == nil {
			list = &[]freeSpan{}
		}
		s.edges[[2]int32{parent, child}].spans.Store(list)
	}
}

// Configure changes the options of an edge. Answers about all times change with it,
// without a new revision; views of earlier revisions keep the options of then. The
// options of a joint that mimics another are those of that one: it is Unsupported to
// change them here.
func (s *Store) Configure(parent, child string, opts ...Option) error {
	return s.change(func(d *draft) (bool, error) {
		pf, ok1 := s.frameID(d.c, parent)
		cf, ok2 := s.frameID(d.c, child)
		if !ok1 || !ok2 || len(d.c.edgesBetween(pf, cf)) == 0 {
			return false, engram.Errorf(engram.NotFound, edgeName(parent, child), "there is no such edge")
		}
		return false, d.configure(pf, cf, opts)
	})
}

func (d *draft) configure(pf, cf int32, opts []Option) (err error) {
	d.swap(cf, func(e *edge) *edge {
		if e.parent != pf || err != nil {
			return e
		}
		if e.joint != nil && e.joint.Mimic != nil {
			err = engram.Errorf(engram.Unsupported, "joint "+e.joint.Name, "it mimics %s and has the options of that", e.joint.Mimic.Joint)
			return e
		}
		next := e.clone()
		err = next.configure(&d.s.cfg, opts)
		return next
	})
	if err != nil {
		return err
	}
	for _, e := range d.c.edgesBetween(pf, cf) {
		if e.joint != nil {
			d.addJoint(e)
			d.followMimics(e)
		}
	}
	return nil
}

// followMimics gives the joints that mimic e its options.
func (d *draft) followMimics(e *edge) {
	for name, m := range d.c.joints {
		if m == e || m.value.history != e.value.history {
			continue
		}
		d.swap(m.child, func(old *edge) *edge {
			if old.joint == nil || old.joint.Name != name {
				return old
			}
			next := old.clone()
			next.mimic(e)
			d.addJoint(next)
			return next
		})
	}
}

// mimic gives a joint the value, and with that the options, of another.
func (e *edge) mimic(source *edge) {
	until := e.rules.until
	e.value, e.rules = source.value, source.rules
	e.rules.until = until
}

// Reparent says that from t on, until the next such event that is known, child
// hangs on parent by a KindFree edge, and on its present parent no more: an object
// is grasped or put down. Nothing interpolates across t, and what the edge before
// had at or after t, statements too, is forgotten. It is a revision. An empty parent makes child a
// root. The options add to those that child has on parent in the last period by time.
func (s *Store) Reparent(t engram.Time, parent, child string, opts ...Option) (*FreeEdge, error) {
	err := s.change(func(d *draft) (bool, error) { return true, d.reparent(t, parent, child, opts) })
	if err != nil || parent == "" {
		return nil, err
	}
	return s.freeEdge(parent, child), nil
}

func (d *draft) reparent(t engram.Time, parent, child string, opts []Option) error {
	thing := edgeName(parent, child)
	if t == engram.MaxTime {
		return endOfTime(engram.OutOfRange, thing)
	}
	cf, err := d.frame(child)
	if err != nil {
		return err
	}
	per, iv := d.c.frames.at(cf).hold(t)
	if parent == "" {
		if per.edge != nil {
			d.set(cf, d.c.frames.at(cf).with(iv, nil))
			d.c.frames.at(cf).settleRests()
		}
		return nil
	}
	pf, err := d.frame(parent)
	if err != nil {
		return err
	}
	if per.edge != nil && per.edge.parent == pf {
		if per.edge.kind != KindFree {
			return engram.Errorf(engram.Conflict, thing, "it is %s and cannot become free", per.edge.kind)
		}
		return nil
	}
	if d.c.above(cf, pf, iv) {
		return engram.Errorf(engram.Conflict, thing, "a loop: %s is above %s", child, parent)
	}
	if err := d.insertFree(pf, cf, iv, opts); err != nil {
		return err
	}
	d.c.frames.at(cf).settleRests()
	return nil
}
