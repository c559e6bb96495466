package pose

import (
	"github.com/seed-301d4374/engram"
)

// Set stores that the child had the pose p in the parent at t. Times come in any
// order. The same pose at the same time changes nothing; another one at the same
// time replaces it and is a revision. The error is Invalid for a pose that is none,
// TooOld before what retention keeps, and Conflict if the child hung on another
// frame at t. What was stored stays.
//
// A pose later than all others takes no lock but the edge's own and, but for one in
// some hundred, allocates nothing.
func (e *FreeEdge) Set(t engram.Time, p Pose) error { return e.set(t, &p, nil) }

// SetCov is Set with the sample's own covariance. A covariance that is not positive
// semidefinite is Invalid.
func (e *FreeEdge) SetCov(t engram.Time, p Pose, cov Cov) error {
	cov, err := cov.Checked()
	if err != nil {
		return engram.Errorf(engram.Invalid, e.thing, "%w", err)
	}
	return e.set(t, &p, &cov)
}

func (e *FreeEdge) set(t engram.Time, p *Pose, cov *Cov) error {
	if !p.check() {
		err := p.refusal()
		err.Thing = e.thing
		return err
	}
	h := e.history(t)
	if h != nil {
		w := h.write(t, p, cov)
		if w <= repeated {
			return nil
		}
		if w == tooOld {
			return pruned(e.thing, t)
		}
	}
	return e.setSlow(t, p, cov)
}

// history returns the history that t belongs to, or nil.
func (e *FreeEdge) history(t engram.Time) *poseHistory {
	spans := *e.spans.Load()
	for i := range spans {
		if spans[i].Contains(t) {
			return spans[i].h
		}
	}
	return nil
}

// setSlow writes with the structure held still: what stands at t is replaced, or
// another history has taken over, or the edge was not there at t.
func (e *FreeEdge) setSlow(t engram.Time, p *Pose, cov *Cov) error {
	s := e.s
	s.mu.Lock()
	defer s.mu.Unlock()
	h := e.history(t)
	if h == nil {
		if t == engram.MaxTime {
			return endOfTime(engram.OutOfRange, e.thing)
		}
		f := s.states.now().content.frames.at(e.child)
		if per, _ := f.periodAt(t); per.edge != nil {
			return engram.Errorf(engram.Conflict, e.thing, "at %v, %s hangs on %s", t, f.name, per.edge.parentName)
		}
		return engram.Errorf(engram.Conflict, e.thing, "at %v, %s hangs on nothing", t, f.name)
	}
	return reviseSample(s, e.thing, h, t, p, cov)
}

// reviseSample writes to a history under Store.mu; a sample that stands at t is
// replaced under a new revision.
func reviseSample[V, X comparable](s *Store, thing string, h *history[V, X], t engram.Time, v *V, x *X) error {
	switch h.write(t, v, x) {
	case tooOld:
		return pruned(thing, t)
	case mustRevise:
		// Readers of the present revision go on to see the old sample until the
		// new revision is published.
		st := s.states.now()
		if h.replace(t, v, x, st.rev+1, s.states.oldest()) {
			s.states.revise(st.content, "")
		}
	case moved:
		return engram.Errorf(engram.Internal, thing, "the history for %v was closed and none took over", t)
	}
	return nil
}

func pruned(thing string, t engram.Time) error {
	return engram.Errorf(engram.TooOld, thing, "%v is before the times that its retention keeps", t)
}

// JointValue is the value of a joint: radians or metres, and the standard deviation
// in the same unit. Sigma 0 means that of the joint's [Sigma] option.
type JointValue struct {
	Name  string // absolute, such as "rover1/pan"
	Q     float64
	Sigma float64
}

// JointEdge is the handle to write a KindJoint edge with. It is safe for concurrent
// use.
type JointEdge struct {
	s     *Store
	thing string
	h     *valueHistory
}

// Joint adds a KindJoint edge. A joint that mimics another needs that to be there,
// and its handle cannot be written to. Adding the same joint again returns its
// handle; another one of the same name or between the same frames is a Conflict.
func (s *Store) Joint(parent, child string, spec JointSpec, opts ...Option) (*JointEdge, error) {
	if err := s.change(func(d *draft) (bool, error) { return false, d.joint(parent, child, spec, opts) }); err != nil {
		return nil, err
	}
	return s.jointEdge(s.states.now().content.joints[spec.Name]), nil
}

func (s *Store) jointEdge(e *edge) *JointEdge {
	j := &JointEdge{s: s, thing: "joint " + e.joint.Name, h: e.value.history}
	if e.joint.Mimic != nil {
		j.h = nil
	}
	return j
}

func (d *draft) joint(parent, child string, spec JointSpec, opts []Option) error {
	if err := spec.check(); err != nil {
		return err
	}
	if spec.Mimic != nil {
		if err := d.resolveMimic(&spec); err != nil {
			return err
		}
	}
	pf, cf, err := d.frames(parent, child)
	if err != nil {
		return err
	}
	e, err := d.existing(KindJoint, pf, cf)
	if err != nil {
		return err
	}
	if e != nil {
		if !e.joint.equal(&spec) {
			return engram.Errorf(engram.Conflict, "joint "+spec.Name, "%s holds another joint, %q", edgeName(parent, child), e.joint.Name)
		}
		return nil
	}
	if other := d.c.joints[spec.Name]; other != nil {
		return engram.Errorf(engram.Conflict, "joint "+spec.Name, "the name is taken by %s", edgeName(other.parentName, other.childName))
	}
	if e, err = d.newEdge(KindJoint, pf, cf, opts); err != nil {
		return err
	}
	if e.joint = &spec; spec.Mimic == nil {
		e.value.of, e.value.history = &spec, newHistory[float64, float64](e.retention(&d.s.cfg), d.s.cfg.Present)
	} else {
		e.mimic(d.c.joints[spec.Mimic.Joint])
	}
	d.insert(e, engram.Always())
	d.addJoint(e)
	return nil
}

// resolveMimic lets a joint that mimics one that mimics follow the first.
func (d *draft) resolveMimic(spec *JointSpec) error {
	source := d.c.joints[spec.Mimic.Joint]
	if source == nil {
		return engram.Errorf(engram.NotFound, "joint "+spec.Name, "it mimics %q, and there is no joint of that name", spec.Mimic.Joint)
	}
	if first := source.joint.Mimic; first != nil {
		m := spec.Mimic
		spec.Mimic = &Mimic{Joint: first.Joint, Multiplier: m.Multiplier * first.Multiplier, Offset: m.Multiplier*first.Offset + m.Offset}
	}
	return nil
}

func (j *JointSpec) equal(k *JointSpec) bool {
	same := j.Name == k.Name && j.Type == k.Type && j.Origin == k.Origin && j.Axis == k.Axis &&
		(j.Limit == nil) == (k.Limit == nil) && (j.Mimic == nil) == (k.Mimic == nil)
	return same && (j.Limit == nil || *j.Limit == *k.Limit) && (j.Mimic == nil || *j.Mimic == *k.Mimic)
}

// Set stores the joint's value at t, as [FreeEdge.Set] does a pose. The error is
// Unsupported for a joint that mimics another.
func (j *JointEdge) Set(t engram.Time, q, sigma float64) error {
	if j.h == nil {
		return engram.Errorf(engram.Unsupported, j.thing, "it mimics another joint and has no value of its own")
	}
	if err := checkJointValue(j.thing, t, q, sigma); err != nil {
		return err
	}
	var x *float64
	if sigma != 0 {
		x = &sigma
	}
	switch j.h.write(t, &q, x) {
	case tooOld:
		return pruned(j.thing, t)
	case mustRevise:
		j.s.mu.Lock()
		defer j.s.mu.Unlock()
		return reviseSample(j.s, j.thing, j.h, t, &q, x)
	}
	return nil
}

// Clear lets go of the joint's values, of all revisions, as where the clock that stamped them began
// anew: any value that comes later is taken, whatever its time. Joints that mimic it lose theirs. A [View]
// that was made before has them still.
func (j *JointEdge) Clear() {
	if j.h != nil {
		j.h.clear()
	}
}

func checkJointValue(thing string, t engram.Time, q, sigma float64) error {
	switch {
	case t == engram.MaxTime:
		return endOfTime(engram.OutOfRange, thing)
	case !finite(q):
		return engram.Errorf(engram.Invalid, thing, "value %g is not finite", q)
	case !finite(sigma) || sigma < 0:
		return engram.Errorf(engram.Invalid, thing, "sigma %g must be finite and not negative", sigma)
	}
	return nil
}

// JointEdge returns the handle of a joint. The error is NotFound.
func (s *Store) JointEdge(name string) (*JointEdge, error) {
	e := s.states.now().content.joints[name]
	if e == nil {
		return nil, engram.Errorf(engram.NotFound, "joint "+name, "there is no such joint; joints are made by Joint and LoadURDF")
	}
	return s.jointEdge(e), nil
}

// SetJoints stores the values of several joints at t. Values of joints that mimic
// another, which drivers like to report too, are left out. If any name or value
// cannot be (NotFound, Invalid, OutOfRange) nothing is stored. With TooOld, for a
// joint that keeps less history than t needs, those named before it are.
func (s *Store) SetJoints(t engram.Time, values []JointValue) error {
	joints := s.states.now().content.joints
	for i := range values {
		v := &values[i]
		if joints[v.Name] == nil {
			return engram.Errorf(engram.NotFound, "joint "+v.Name, "there is no such joint; joints are made by Joint and LoadURDF")
		}
		if err := checkJointValue(v.Name, t, v.Q, v.Sigma); err != nil {
			return err
		}
	}
	for i := range values {
		v := &values[i]
		e := joints[v.Name]
		if e.joint.Mimic != nil {
			continue
		}
		j := JointEdge{s: s, thing: v.Name, h: e.value.history}
		if err := j.Set(t, v.Q, v.Sigma); err != nil {
			return err
		}
	}
	return nil
}
