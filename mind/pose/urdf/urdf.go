// Package urdf reads the Unified Robot Description Format: the links of a robot and
// the joints between them.
//
// It reads what says where things are: links, joints with origin, axis, limits and
// mimic, and the names of meshes, which it never opens. It accepts the files that
// ROS's parser (urdfdom 6 with TinyXML-2) accepts, in versions 1.0 to 1.2 of the format,
// and refuses the rest with the file, the line and the element. Beyond that it
// refuses what ROS's parser takes without asking what it means: elements that xacro
// should have expanded, an axis without a direction, a link with two parents, loops,
// mimics of unknown joints, of themselves and in a circle. What moves no link is no
// reason to refuse: the first of two limits counts, and [Robot.Doubts] tells. What is
// inside links, and materials, is not judged.
//
// It knows nothing of frames in time; package pose makes edges of it.
//
// The format: http://wiki.ros.org/urdf/XML. Lengths are metres, angles radians.
package urdf

// Robot is a description: a tree of links.
type Robot struct {
	Name   string
	Minor  int    // of the format's version, 1.0 where none is said
	Root   string // the one link without a parent
	Links  []Link // in the file's order
	Joints []Joint
	Doubts []error // what was taken although it is doubtful, or left out; as the errors of Read, the first 100
}

// Link is a rigid body.
type Link struct {
	Name   string
	Meshes []string // file names as written, visual and collision, each once
	Line   int      // where its element begins
}

// JointType is the type attribute of a joint.
type JointType uint8

// The joint types of URDF.
const (
	Fixed      JointType = iota
	Revolute             // turns about its axis, within limits
	Continuous           // turns about its axis without end
	Prismatic            // slides along its axis, within limits
	Planar               // moves in the plane perpendicular to its axis
	Floating             // moves freely
)

var jointTypeNames = [...]string{"fixed", "revolute", "continuous", "prismatic", "planar", "floating"}

// String returns the type's name in the file.
func (t JointType) String() string {
	if int(t) < len(jointTypeNames) {
		return jointTypeNames[t]
	}
	return "unknown joint type"
}

// hasAxis says whether the joint moves along or about its axis.
func (t JointType) hasAxis() bool { return t != Fixed && t != Floating }

// hasValue says whether one number tells where the joint is.
func (t JointType) hasValue() bool { return t == Revolute || t == Continuous || t == Prismatic }

// Joint connects a child link to its parent.
type Joint struct {
	Name   string
	Type   JointType
	Parent string
	Child  string
	XYZ    [3]float64  // the joint frame's origin in the parent link
	RPY    [3]float64  // its roll, pitch and yaw about the parent's fixed axes
	Quat   *[4]float64 // x, y, z, w of unit length, instead of RPY; nil before version 1.1 of the format
	Axis   [3]float64  // unit vector in the joint frame; of any type but fixed and floating
	Limit  *Limit      // never nil for revolute and prismatic joints
	Mimic  *Mimic      // nil for a joint with a value of its own
	Line   int         // where its element begins
}

// Limit bounds a joint: radians or metres, rad/s or m/s, N·m or N. Lower and Upper
// are meaningless for continuous joints.
type Limit struct {
	Lower, Upper     float64
	Velocity, Effort float64
}

// Mimic makes a joint's value Multiplier·q + Offset, q the value of Joint, which is
// not a mimic itself: chains are resolved when the file is read.
type Mimic struct {
	Joint      string
	Multiplier float64
	Offset     float64
}
