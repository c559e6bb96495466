package pose

import (
	"iter"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Span is a time during which a frame hangs on one parent: from a time on, until the next
// span's.
type Span struct {
	From    engram.Time
	Parent  string // "" if it hangs on nothing
	Samples []Sample
}

// Sample is where a frame was, with the covariance of that; the zero Cov is that of the edge's
// noise ([Uncertain]).
type Sample struct {
	Time engram.Time
	Pose Pose
	Cov  Cov
}

// Retrace says where a frame was at all times: the spans, in the order of time, take the place of all
// edges above it. What hung on it goes with it. Their edges are free ones with the options. It
// is a revision if there were edges before. It returns the handle of the last span's edge, nil if there
// is none. The errors are those of [Store.Reparent] and [FreeEdge.SetCov]; after one nothing has
// changed.
func (s *Store) Retrace(child string, spans []Span, opts ...Option) (*FreeEdge, error) {
	err := s.change(func(d *draft) (bool, error) {
		cf, err := d.frame(child)
		if err != nil {
			return false, err
		}
		revise := d.c.frames.at(cf).hangs()
		d.set(cf, newFrame(child))
		for i := range spans {
			iv := engram.Interval{Start: spans[i].From, End: engram.MaxTime}
			if i+1 < len(spans) {
				iv.End = spans[i+1].From
			}
			if err := d.retrace(cf, &spans[i], iv, opts); err != nil {
				return false, err
			}
		}
		return revise, nil
	})
	if err != nil || len(spans) == 0 || spans[len(spans)-1].Parent == "" {
		return nil, err
	}
	return s.freeEdge(spans[len(spans)-1].Parent, child), nil
}

// maxDetached is how many of the newest calls of Detach earlier revisions still have the samples of.
const maxDetached = 4

// Detach lets go of all edges above frames, in one revision, as where the clock that stamped them began anew. Earlier revisions
// have their samples still, but only until it has been called four times more: clocks may begin anew without end. A [View] that was made
// before has them still.
func Detach(s *Store, frames ...string) {
	_ = s.change(func(d *draft) (revise bool, _ error) { // nothing is refused
		var gone []*poseHistory
		for _, name := range frames {
			id, ok := d.frameID(name)
			if !ok || !d.c.frames.at(id).hangs() {
				continue
			}
			for _, p := range d.c.frames.at(id).periods {
				if p.edge != nil && p.edge.poses != nil {
					gone = append(gone, p.edge.poses)
				}
			}
			d.set(id, newFrame(name))
			revise = true
		}
		if revise {
			s.detached = append(s.detached, gone)
		}
		if len(s.detached) > maxDetached {
			for _, h := range s.detached[0] {
				h.clear()
			}
			s.detached = slices.Delete(s.detached, 0, 1)
		}
		return revise, nil
	})
}

// retrace puts a span above a frame.
func (d *draft) retrace(cf int32, span *Span, iv engram.Interval, opts []Option) error {
	if span.Parent == "" || iv.Empty() {
		return nil
	}
	pf, err := d.frame(span.Parent)
	if err != nil {
		return err
	}
	thing := edgeName(span.Parent, d.c.frames.at(cf).name)
	if d.c.above(cf, pf, iv) {
		return engram.Errorf(engram.Conflict, thing, "a loop: %s is above %s", d.c.frames.at(cf).name, span.Parent)
	}
	e, err := d.newEdge(KindFree, pf, cf, opts)
	if err != nil {
		return err
	}
	e.poses = newHistory[Pose, Cov](e.retention(&d.s.cfg), d.s.cfg.Present)
	for _, sample := range span.Samples {
		v, err := checkedValue(thing, sample.Pose, sample.Cov)
		if err != nil {
			return err
		}
		cov := &v.cov
		if cov.Mask == 0 {
			cov = nil
		}
		e.poses.write(sample.Time, &v.pose, cov)
	}
	d.insert(e, iv)
	return nil
}

// hangs reports whether there is an edge above the frame at any time.
func (f *frame) hangs() bool {
	for _, p := range f.periods {
		if p.edge != nil {
			return true
		}
	}
	return false
}

// Structure is which frames hang on which: a look at the store without what its histories hold, which
// costs nothing. It does not change.
type Structure struct {
	s *Store
	c *content
}

// Structure returns the present structure.
func (s *Store) Structure() Structure { return Structure{s, s.states.now().content} }

// Has reports whether there is a frame of the name.
func (v Structure) Has(frame string) bool {
	_, ok := v.s.frameID(v.c, frame)
	return ok
}

// Hangs reports whether there is an edge above a frame at any time.
func (v Structure) Hangs(frame string) bool {
	id, ok := v.s.frameID(v.c, frame)
	return ok && v.c.frames.at(id).hangs()
}

// Above returns the edges above a frame at t, up to the root, without their samples.
func (v Structure) Above(t engram.Time, frame string) []EdgeInfo {
	id, ok := v.s.frameID(v.c, frame)
	var edges []EdgeInfo
	for ok {
		p, end := v.c.frames.at(id).periodAt(t)
		if p.edge == nil {
			break
		}
		edges = append(edges, p.edge.info(engram.Interval{Start: p.from, End: end}))
		id = p.edge.parent
	}
	return edges
}

// Edges visits all edges, without their samples.
func (v Structure) Edges() iter.Seq[EdgeInfo] {
	return func(yield func(EdgeInfo) bool) {
		for f := range v.c.frames.all() {
			for i, p := range f.periods {
				if p.edge != nil && !yield(p.edge.info(f.span(i))) {
					return
				}
			}
		}
	}
}

// info describes an edge without its samples.
func (e *edge) info(valid engram.Interval) EdgeInfo {
	return EdgeInfo{Parent: e.parentName, Child: e.childName, Kind: e.kind, Valid: valid, Foreign: e.cfg.foreign}
}
