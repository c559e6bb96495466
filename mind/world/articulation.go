package world

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// JointKind is how one item can move against another.
type JointKind uint8

// The kinds of joints.
const (
	Fixed JointKind = iota
	Revolute
	Prismatic
)

// Articulation is a joint between two items, as in ROS's articulation_msgs. Without a Base
// only the value is stated, of a joint that others describe.
type Articulation struct {
	Base, Moved string // names of the item that stays and of the one that moves
	Kind        JointKind
	Pose        pose.Pose // baseFromJoint; a revolute joint turns about its z axis
	Direction   pose.Vec3 // of a prismatic joint, in its frame; a unit vector
	Limits      *Limits
	Radius      float64 // from the axis to the handle, metres; 0 if unknown
	// Reference is the value at which the moved item has the pose that is stated of it, and
	// Value the present one; rad or m. Without a Value it is at the reference.
	Reference float64
	Value     *float64
	Sigma     float64  // standard deviation of Value, rad or m
	Serves    []string // of a lift, names of the floors that it stops at
	Source    Source
	// Time is when all but the value was last stated, ValueTime when Value and Sigma were; 0
	// is the statement's time.
	Time, ValueTime engram.Time
}

// describes reports whether more is said than a value.
func (a *Articulation) describes() bool { return a.Base != "" }

// Limits are how far a joint goes, rad or m.
type Limits struct{ Lower, Upper float64 }

// JointStatement is what one provider says of a joint at present.
type JointStatement struct {
	Name string // of the joint
	Said
	Joint *Articulation
}

// Check returns an Invalid error if there can be no such joint.
func (a *Articulation) Check(name string) error {
	if !a.describes() {
		return a.checkValue(name)
	}
	if a.Base == a.Moved {
		return engram.Errorf(engram.Invalid, name, "it joins %q to itself; name two items", a.Base)
	}
	for _, item := range []string{a.Base, a.Moved} {
		if err := engram.CheckName(item); err != nil {
			return engram.Errorf(engram.Invalid, name, "an item that it joins: %w", err)
		}
	}
	if _, err := a.Pose.Checked(); err != nil {
		return engram.Errorf(engram.Invalid, name, "%w", err)
	}
	if n := a.Direction.Norm(); a.Kind == Prismatic && !(n > 1-1e-3 && n < 1+1e-3) {
		return engram.Errorf(engram.Invalid, name, "its direction has length %.6g; it must be 1", n)
	}
	if sum := a.Direction.X + a.Direction.Y + a.Direction.Z + a.Reference; sum-sum != 0 {
		return engram.Errorf(engram.Invalid, name, "its direction %s or its reference %g is not finite", numbersText(a.Direction), a.Reference)
	}
	if !(a.Radius >= 0) || math.IsInf(a.Radius, 0) {
		return engram.Errorf(engram.Invalid, name, "its radius is %g m; it is finite and not negative", a.Radius)
	}
	if l := a.Limits; l != nil && !(l.Lower <= l.Upper) {
		return engram.Errorf(engram.Invalid, name, "it goes from %g to %g; the lower limit comes first", l.Lower, l.Upper)
	}
	if err := a.checkValue(name); err != nil || a.Value == nil {
		return err
	}
	return a.within(name, *a.Value)
}

func (a *Articulation) checkValue(name string) error {
	switch {
	case a.Value == nil && !a.describes():
		return engram.Errorf(engram.Invalid, name, "nothing is said of the joint; state its value, or the items that it joins; to take a joint back, withdraw its name")
	case a.Value != nil && !(math.Abs(*a.Value) <= MaxLength):
		return engram.Errorf(engram.Invalid, name, "its value is %g; it must be finite, and 1e12 at most", *a.Value)
	case !(a.Sigma >= 0) || math.IsInf(a.Sigma, 0):
		return engram.Errorf(engram.Invalid, name, "the standard deviation of its value is %g; it is finite and not negative", a.Sigma)
	}
	return engram.CheckName(name)
}

// within returns an OutOfRange error for a value that the joint cannot have.
func (a *Articulation) within(name string, value float64) error {
	const rounding = 1e-9
	switch l := a.Limits; {
	case a.Kind == Fixed && value != a.Reference:
		return engram.Errorf(engram.OutOfRange, name, "its value cannot be %g: the joint is fixed", value)
	case l != nil && !(value >= l.Lower-rounding && value <= l.Upper+rounding):
		return engram.Errorf(engram.OutOfRange, name, "its value cannot be %g %s: it goes from %g to %g", value, a.Kind.unit(), l.Lower, l.Upper)
	}
	return nil
}

// unit returns the unit of values.
func (k JointKind) unit() string {
	if k == Prismatic {
		return "m"
	}
	return "rad"
}

var jointKindNames = [...]string{"fixed", "revolute", "prismatic"}

// String returns the kind's word.
func (k JointKind) String() string {
	if int(k) < len(jointKindNames) {
		return jointKindNames[k]
	}
	return "unknown kind of joint"
}

// ParseJointKind returns the kind of a word. The error is Invalid.
func ParseJointKind(word string) (JointKind, error) {
	if i := slices.Index(jointKindNames[:], word); i >= 0 {
		return JointKind(i), nil
	}
	return 0, engram.Errorf(engram.Invalid, "joint", "%q is none of %s", word, strings.Join(jointKindNames[:], ", "))
}

// twist returns how the moved item moves per unit of value, in the joint's frame.
func (a *Articulation) twist() pose.Twist {
	switch a.Kind {
	case Revolute:
		return pose.Twist{Phi: pose.Vec3{Z: 1}}
	case Prismatic:
		return pose.Twist{Rho: a.Direction}
	}
	return pose.Twist{}
}

// moves reports whether the joint moves an item in a frame in which a statement places it. What the
// statement's robot calls its base may be a frame that no item is of.
func (a *Articulation) moves(placed *Statement, frame string) bool {
	return a.Value != nil && (a.Base == frame || ownFrame(placed.Robot, a.Base) == frame)
}

// move returns where the moved item is in the frame of the base, from where it is at the
// reference.
func (a *Articulation) move(p pose.Pose, c pose.Cov) (pose.Pose, pose.Cov) {
	x := a.twist()
	jointFromItem := a.Pose.Inverse().Mul(p)
	moved := a.Pose.Mul(pose.Exp(x.Scale(*a.Value - a.Reference))).Mul(jointFromItem)
	along := jointFromItem.Inverse().Adjoint(x).Scale(a.Sigma)
	v := [6]float64{along.Rho.X, along.Rho.Y, along.Rho.Z, along.Phi.X, along.Phi.Y, along.Phi.Z}
	value := pose.ExactCov()
	k := 0
	for i := range 6 {
		for j := i; j < 6; j++ {
			value.S[k] = v[i] * v[j]
			k++
		}
	}
	return moved, pose.ComposeCov(&c, pose.Identity(), &value)
}

// joint returns the joint that moves a node's item, with the value that counts, or nil.
func (f *Forest) joint(n *node) *Articulation { return f.rules.joint(n.said, n.joints) }

// joint returns the joint that moves an item, from what is said of the item and of joints.
func (r *Rules) joint(said []*Statement, joints []*JointStatement) *Articulation {
	if len(joints) == 0 {
		return nil
	}
	_, _, a := r.mergeJoints(said, joints, "")
	return a
}

// mergeJoints returns what counts of what is said of joints that move one item, of that of a
// name if it is not "": of all that describe one that which counts by rank, time and name, and
// of its values, those in the memory Object among them, the same; and the joint that comes of both. What was said
// before the item was removed does not count.
func (r *Rules) mergeJoints(said []*Statement, joints []*JointStatement, name string) (described, valued *JointStatement, joint *Articulation) {
	removed := r.removals(said)
	for _, s := range joints {
		if s.Home != InWorld || !s.Joint.describes() || name != "" && s.Name != name || !r.jointStamp(s, s.Joint.Time).besideAll(removed) {
			continue
		}
		if described == nil || r.jointOver(s, described, s.Joint.Time, described.Joint.Time) {
			described = s
		}
	}
	if described == nil {
		return nil, nil, nil
	}
	for _, s := range joints {
		if s.Name != described.Name || s.Joint.Value == nil || !r.jointStamp(s, s.Joint.ValueTime).besideAll(removed) {
			continue
		}
		if valued == nil || r.jointOver(s, valued, s.Joint.ValueTime, valued.Joint.ValueTime) {
			valued = s
		}
	}
	if valued == described || valued == nil && described.Joint.Value == nil {
		return described, valued, described.Joint
	}
	a := *described.Joint
	if valued == nil { // it is of what was removed
		a.Value, a.Sigma, a.ValueTime = nil, 0, 0
		return described, nil, &a
	}
	a.Value, a.Sigma, a.ValueTime = valued.Joint.Value, valued.Joint.Sigma, valued.at(valued.Joint.ValueTime)
	return described, valued, &a
}

// jointOver reports whether what a states at one time counts before what b does at another.
func (r *Rules) jointOver(a, b *JointStatement, at, bt engram.Time) bool {
	x, y := r.jointStamp(a, at), r.jointStamp(b, bt)
	return x.over(y) || !y.over(x) && a.Name < b.Name
}

func (r *Rules) jointStamp(s *JointStatement, t engram.Time) stamp {
	return stamp{rank: s.Joint.Source == Operator, time: s.at(t).Add(r.Offsets[s.Robot]), provider: s.Provider, robot: s.Robot, home: s.Home}
}

// Joint returns the articulation that moves the item; NotFound if nothing does.
func (f *Forest) Joint(moved string) (*Articulation, error) {
	n := f.item(moved)
	if n == nil {
		return nil, notFound(moved)
	}
	a := f.joint(n)
	if a == nil {
		return nil, engram.Errorf(engram.NotFound, moved, "no articulation moves it")
	}
	return a, nil
}

// Moving returns the articulation that moves an item that a forest has; nil if nothing does.
func Moving(f *Forest, m *Merged) *Articulation { return f.joint(f.of(m)) }

// NamedJoint is an articulation with its name, and who describes it.
type NamedJoint struct {
	Name string
	*Articulation
	Described *JointStatement
}

// Joints are the articulations of a forest, whether their items exist or not.
type Joints struct{ f *Forest }

// Joints returns the articulations.
func (f *Forest) Joints() Joints { return Joints{f} }

// All yields the articulations by name. One that is said to move several items is there once
// for each.
func (j Joints) All() iter.Seq[NamedJoint] { return j.from("") }

func (j Joints) from(name string) iter.Seq[NamedJoint] {
	return func(yield func(NamedJoint) bool) {
		j.f.jointed.from(hung{name, &named{}}, byJoint, func(k hung) bool {
			n := j.f.node(k.id)
			s, _, a := j.f.rules.mergeJoints(n.said, n.joints, k.joint)
			return a == nil || yield(NamedJoint{k.joint, a, s})
		})
	}
}

// Get returns the articulation of the name; of several the one whose description counts. The
// error is NotFound.
func (j Joints) Get(name string) (NamedJoint, error) {
	var best NamedJoint
	for o := range j.from(name) {
		if o.Name != name {
			break
		}
		if best.Described == nil || j.f.rules.jointOver(o.Described, best.Described, o.Described.Joint.Time, best.Described.Joint.Time) {
			best = o
		}
	}
	if best.Described == nil {
		return best, engram.Errorf(engram.NotFound, name, "there is no such articulation; ask for all, or state the items that it joins")
	}
	return best, nil
}

// hung is a node that a joint of a name is said to move.
type hung struct {
	joint string
	*named
}

func byJoint(a, b hung) int {
	return cmp.Or(strings.Compare(a.joint, b.joint), strings.Compare(a.name, b.name))
}

// revisedJoint returns what the provider says of a joint once it has stated a, too, and when. What it said before stays as
// far as a says nothing else, but anew.
func (k *keeper) revisedJoint(f *Forest, joint string, a Articulation, anew bool) (*Articulation, engram.Time, error) {
	if err := a.Check(joint); err != nil {
		return nil, 0, err
	}
	a.Source = cmp.Or(a.Source, k.source)
	present, err := f.Joints().Get(joint)
	if !a.describes() {
		if err != nil {
			return nil, 0, err
		}
		if a.Moved = present.Moved; a.Value != nil {
			if err := present.within(joint, *a.Value); err != nil {
				return nil, 0, err
			}
		}
	}
	own := k.ownJoint(joint)
	if own == nil {
		return &a, k.tick(0), nil
	}
	if !anew {
		a.revise(joint, own)
	}
	return &a, k.tick(own.Time), nil
}

// revise has what a joint is, or its value, stay as its provider said before, where only the other is said; false if nothing of
// that is missing.
func (a *Articulation) revise(joint string, before *JointStatement) bool {
	was := before.Joint
	switch {
	case was.Moved != a.Moved:
	case !a.describes() && was.describes():
		value := *a
		*a = *was
		a.Time, a.ValueTime = before.at(was.Time), value.ValueTime
		a.Value, a.Sigma, a.Source = value.Value, value.Sigma, value.Source
		return true
	case a.Value == nil && was.Value != nil && a.within(joint, *was.Value) == nil:
		a.Value, a.Sigma, a.ValueTime = was.Value, was.Sigma, before.at(was.ValueTime)
		return true
	}
	return false
}

// ownJoint returns what the provider said last of a joint, which may be nothing any more; nil if it never
// said anything.
func (k *keeper) ownJoint(joint string) *JointStatement {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.builder.joints[speaker{joint, k.provider, k.robot}]
}

// SetAxis has a revolute joint turn about an axis that is given in the frame of its Pose, at
// whose place it stays: the frame is turned by the least angle until z is the axis. An axis
// without a length changes nothing.
func (a *Articulation) SetAxis(axis pose.Vec3) {
	n := axis.Norm()
	if !(n > 0) {
		return
	}
	axis = axis.Scale(1 / n)
	q := pose.Quat{W: 1 + axis.Z, X: -axis.Y, Y: axis.X} // from z to the axis, twice as long as its half angle's
	if q.W < 1e-9 {
		q = pose.Quat{X: 1}
	}
	k := 1 / math.Sqrt(q.W*q.W+q.X*q.X+q.Y*q.Y)
	a.Pose = a.Pose.Mul(pose.Pose{R: pose.Quat{W: q.W * k, X: q.X * k, Y: q.Y * k}})
}

// SetDirection has a prismatic joint go along a direction of any length, in its frame.
func (a *Articulation) SetDirection(d pose.Vec3) {
	n := d.Norm()
	if a.Direction = d; n > 0 && math.Abs(n-1) > 1e-12 { // what is of unit length stays as it is
		a.Direction = d.Scale(1 / n)
	}
}
