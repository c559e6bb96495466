package world

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
)

// JointKind is how one item can move against another.
type JointKind uint8

// The kinds of joints.
const (
	Fixed JointKind = iota
	Revolute
	Prismatic
)

// Articulation is a joint between two items, as in ROS's articulation_msgs.
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
}

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
	if l := a.Limits; l != nil && !(l.Lower <= l.Upper) {
		return engram.Errorf(engram.Invalid, name, "it goes from %g to %g; the lower limit comes first", l.Lower, l.Upper)
	}
	return nil
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

// joint returns the joint that moves a node's item, or nil: of several statements the one
// that counts by rank, time and name. Its value is what counts of that and of what the memory
// Object says of the joint.
func (f *Forest) joint(n *node) *Articulation { return f.rules.joint(n.joints) }

func (r *Rules) joint(joints []*JointStatement) *Articulation {
	if len(joints) == 0 {
		return nil
	}
	over := func(a, b *JointStatement) bool {
		x, y := r.jointStamp(a), r.jointStamp(b)
		return x.over(y) || !y.over(x) && a.Name < b.Name
	}
	var joint, value *JointStatement
	for _, s := range joints {
		if s.Home == InWorld && (joint == nil || over(s, joint)) {
			joint = s
		}
	}
	if joint == nil {
		return nil
	}
	if value = joint; value.Joint.Value == nil {
		value = nil
	}
	for _, s := range joints {
		if s.Home != InWorld && s.Name == joint.Name && (value == nil || over(s, value)) {
			value = s
		}
	}
	if value == nil || value == joint {
		return joint.Joint
	}
	a := *joint.Joint
	a.Value, a.Sigma = value.Joint.Value, value.Joint.Sigma
	return &a
}

func (r *Rules) jointStamp(s *JointStatement) stamp {
	return stamp{rank: s.Joint.Source == Operator, time: s.Time.Add(r.Offsets[s.Robot]), provider: s.Provider, robot: s.Robot, home: s.Home}
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
