package pose

import (
	"maps"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
)

// draft is a change of the content in the making. Nothing of it is seen before
// publish, so a refused change leaves everything as it was.
type draft struct {
	s      *Store
	c      *content
	own    map[int32]bool          // pages of frames that only it has
	fresh  map[string]int32        // frames that it adds
	dirty  map[int32]bool          // frames whose edges it changes
	author string                  // of the revision that it becomes
	closed map[*poseHistory]func() // histories that take no writes meanwhile; the functions reopen them
}

// draftLocked begins a change; Store.mu is held until it is published or dropped.
func (s *Store) draftLocked() *draft {
	return &draft{
		s: s, c: s.states.now().content.clone(),
		own: map[int32]bool{}, fresh: map[string]int32{}, dirty: map[int32]bool{}, closed: map[*poseHistory]func(){},
	}
}

// close keeps writes out of a history until the draft is published, when another
// one has taken over, or dropped. Who writes waits for Store.mu meanwhile.
func (d *draft) close(h *poseHistory) {
	if d.closed[h] == nil {
		d.closed[h] = h.close()
	}
}

// drop opens the histories that no other one took over.
func (d *draft) drop() {
	for _, reopen := range d.closed {
		reopen()
	}
}

// frameID returns the number of a frame that there is, or that the draft adds.
func (d *draft) frameID(name string) (int32, bool) {
	if id, ok := d.s.frameID(d.c, name); ok {
		return id, true
	}
	id, ok := d.fresh[name]
	return id, ok
}

func (d *draft) frame(name string) (int32, error) {
	if id, ok := d.frameID(name); ok {
		return id, nil
	}
	if err := engram.CheckName(name); err != nil {
		return 0, engram.Errorf(engram.Invalid, "frame", "%w", err)
	}
	if d.c.frames.len() >= d.s.cfg.MaxFrames {
		return 0, engram.Errorf(engram.Exhausted, "frame "+name, "the store holds %d frames, as many as Config.MaxFrames allows", d.c.frames.len())
	}
	id := int32(d.c.frames.len())
	d.put(id, newFrame(name))
	d.fresh[name] = id
	return id, nil
}

func (d *draft) frames(parent, child string) (p, c int32, err error) {
	if p, err = d.frame(parent); err == nil {
		c, err = d.frame(child)
	}
	return p, c, err
}

func edgeName(parent, child string) string { return "edge " + parent + " ← " + child }

// existing returns an edge of the kind that joins the frames already. The error is
// Conflict if the edge is of another kind at all times, the child has another parent, or
// the edge would close a loop. Both may be nil.
func (d *draft) existing(kind Kind, p, c int32) (*edge, error) {
	thing := edgeName(d.c.frames.at(p).name, d.c.frames.at(c).name)
	var found, other *edge
	for _, per := range d.c.frames.at(c).periods {
		switch e := per.edge; {
		case e == nil:
		case e.parent == p && (found == nil || found.kind != kind):
			found = e
		case e.parent == p:
		default:
			other = e
		}
	}
	if found != nil && found.kind != kind {
		return nil, engram.Errorf(engram.Conflict, thing, "it is %s and cannot become %s", found.kind, kind)
	}
	if found == nil && other != nil {
		return nil, engram.Errorf(engram.Conflict, thing, "a second parent: %s hangs on %s; use Reparent if that changed at some time", other.childName, other.parentName)
	}
	if found == nil && d.c.above(c, p, engram.Always()) {
		return nil, engram.Errorf(engram.Conflict, thing, "a loop: %s is above %s", d.c.frames.at(c).name, d.c.frames.at(p).name)
	}
	return found, nil
}

// newEdge returns an edge with its options, which add to those that such an edge between
// the frames has at another time; the caller completes and inserts it.
func (d *draft) newEdge(kind Kind, p, c int32, opts []Option) (*edge, error) {
	e := (&edge{
		kind: kind, parent: p, child: c,
		parentName: d.c.frames.at(p).name, childName: d.c.frames.at(c).name,
		cfg: edgeConfig{sigma: math.NaN()}, rules: rules{until: engram.MaxTime},
	}).clone()
	for _, other := range d.c.edgesBetween(p, c) {
		if other.kind == kind {
			e.cfg = other.cfg
		}
	}
	return e, e.configure(&d.s.cfg, opts)
}

// clone returns a copy to be changed.
func (e *edge) clone() *edge {
	next := *e
	next.about = &subject{kind: "edge", of: e.parentName, to: e.childName, edge: &next}
	return &next
}

// configure applies options to an edge that is not published yet.
func (e *edge) configure(c *Config, opts []Option) error {
	for _, o := range opts {
		o(&e.cfg)
	}
	thing := edgeName(e.parentName, e.childName)
	if err := e.cfg.noise.check(); err != nil {
		return engram.Errorf(engram.Invalid, thing, "its noise: %w", err)
	}
	if s := e.cfg.sigma; s < 0 || math.IsInf(s, 0) {
		return engram.Errorf(engram.Invalid, thing, "sigma %g of a joint must be finite and not negative", s)
	}
	if u := e.cfg.unset; u.Use && (!finite(u.Q) || !finite(u.Sigma) || u.Sigma < 0) {
		return engram.Errorf(engram.Invalid, thing, "default value %g with sigma %g", u.Q, u.Sigma)
	}
	gap := e.cfg.maxGap
	if gap == 0 {
		gap = c.MaxGap
	}
	e.rules = rules{maxGap: max(gap, 0), beyond: e.cfg.beyond, maxAge: e.cfg.maxAge, until: e.rules.until}
	e.value.unset, e.value.sigma = e.cfg.unset, e.cfg.sigma
	if e.cfg.noise.kind == noiseExact {
		e.value.sigma = 0
	}
	return nil
}

func (e *edge) retention(c *Config) Retention {
	if e.cfg.retention != nil {
		return *e.cfg.retention
	}
	return c.Retention
}

// insert puts the edge above its child during iv.
func (d *draft) insert(e *edge, iv engram.Interval) {
	d.set(e.child, d.c.frames.at(e.child).with(iv, e))
}

// addJoint makes a joint known by its name.
func (d *draft) addJoint(e *edge) {
	d.c.joints = maps.Clone(d.c.joints)
	d.c.joints[e.joint.Name] = e
}

// swap replaces every edge above the frame child that swap changes.
func (d *draft) swap(child int32, swap func(*edge) *edge) {
	d.set(child, d.c.frames.at(child).replaced(swap))
}

// set replaces a frame.
func (d *draft) set(id int32, f *frame) {
	d.put(id, f)
	d.dirty[id] = true
}

// put has the content have a frame, which is new or takes the place of another one.
func (d *draft) put(id int32, f *frame) { d.c.frames.set(id, f, d.own) }

// settle makes the histories of a frame's free edges fit the periods that the draft
// gives them. One whose time became shorter is closed, and others with its parts
// take over, so that earlier revisions keep theirs and no write can go where
// nobody looks.
func (d *draft) settle(id int32) {
	f := d.c.frames.at(id)
	times := map[*poseHistory][]engram.Interval{} // now
	for i, p := range f.periods {
		if p.edge != nil && p.edge.poses != nil {
			times[p.edge.poses] = append(times[p.edge.poses], f.span(i))
		}
	}
	parted := map[*poseHistory]bool{}
	if was := d.s.states.now().content.frames; int(id) < was.len() {
		was := was.at(id)
		for i, p := range was.periods {
			if p.edge == nil || p.edge.poses == nil {
				continue
			}
			h, iv := p.edge.poses, was.span(i)
			if now := times[h]; len(now) != 1 || now[0].Start > iv.Start || now[0].End < iv.End {
				d.close(h)
				d.closed[h] = func() {} // for good
				parted[h] = true
			}
		}
	}
	f = &frame{name: f.name, periods: slices.Clone(f.periods), stated: f.stated}
	for i, p := range f.periods {
		if p.edge == nil || p.edge.poses == nil && p.edge.joint == nil {
			continue
		}
		until := f.span(i).End
		if until == p.edge.rules.until && !parted[p.edge.poses] {
			continue
		}
		next := p.edge.clone()
		next.rules.until = until
		if parted[next.poses] {
			next.poses = next.poses.part(f.span(i))
		}
		f.periods[i].edge = next
	}
	d.put(id, f)
}

// publishLocked makes the draft current, under a new revision if revise.
func (d *draft) publishLocked(revise bool, author string) Revision {
	for id := range d.dirty {
		d.settle(id)
	}
	d.drop() // reopens those that went on as they were
	for name, id := range d.fresh {
		d.s.ids.Store(name, id) // visible with the content that holds the frame
	}
	if revise {
		d.s.states.revise(d.c, author)
	} else {
		d.s.states.amend(d.c)
	}
	for id := range d.dirty {
		d.refresh(id)
	}
	return d.s.states.now().rev
}
