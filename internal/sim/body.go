package sim

import (
	"fmt"

	"github.com/seed-301d4374/engram/mind/pose"
)

// NumJoints is how many joints the robot has.
const NumJoints = 43

// joint is a joint of the body. At position 0 all links' axes are parallel: x
// forward, y left, z up.
type joint struct {
	name         string
	link         string // the link that it moves
	parent       int    // index of the joint that moves the link it sits on; -1 is the base
	origin       vec3   // of the link in its parent link, metres
	axis         vec3
	prismatic    bool
	lower, upper float64 // limits, rad or m
	rest         float64 // position when the robot does nothing
	sway         float64 // amplitude of idle movement about rest
	load         float64 // effort at full load, N m or N
}

// Joints that something else refers to.
const (
	torsoLift = iota
	torsoYaw
	torsoPitch
	neckYaw
	neckPitch
	firstArmJoint
)

const (
	armJoints    = 8
	fingerJoints = 11
)

// Sides of the body, as an index and as a sign of y.
const (
	left = iota
	right
)

var sideNames = [2]string{"left", "right"}

// arm returns the index of joint i of an arm.
func arm(side, i int) int { return firstArmJoint + side*(armJoints+fingerJoints) + i }

// finger returns the index of joint i of a hand's fingers.
func finger(side, i int) int { return arm(side, armJoints) + i }

// hand is the joint whose link is the palm.
func hand(side int) int { return arm(side, armJoints-1) }

// The frames that are not moved by a joint of their own.
const (
	baseFrame        = "base_link"
	odomFrame        = "odom"
	mapFrame         = "map"
	leftCameraFrame  = "head_camera_left"
	rightCameraFrame = "head_camera_right"
)

// stereoBaseline is the distance between the cameras, metres.
const stereoBaseline = 0.08

// cameraInHead maps the left camera's optical frame (x right, y down, z ahead)
// into the head's link; the right one stands stereoBaseline along x of it.
var cameraInHead = pose.Pose{
	R: pose.Quat{W: 0.5, X: -0.5, Y: 0.5, Z: -0.5},
	T: xyz(0.07, stereoBaseline/2, 0.06),
}

// tcpInHand is the middle of a grasp, in the palm's link.
var tcpInHand = pose.Translation(0.055, 0, -0.095)

var body = newBody()

func newBody() (b [NumJoints]joint) {
	x, y, z := vec3{X: 1}, vec3{Y: 1}, vec3{Z: 1}
	b[torsoLift] = joint{"torso_lift", "torso_column", -1, vec3{Z: 0.40}, z, true, 0, 0.25, 0.12, 0.002, 400}
	b[torsoYaw] = joint{"torso_yaw", "torso_lower", torsoLift, vec3{Z: 0.25}, z, false, -1.5, 1.5, 0, 0.01, 20}
	b[torsoPitch] = joint{"torso_pitch", "torso", torsoYaw, vec3{Z: 0.12}, y, false, -0.3, 0.9, 0.04, 0.004, 60}
	b[neckYaw] = joint{"neck_yaw", "neck", torsoPitch, vec3{Z: 0.48}, z, false, -1.4, 1.4, 0, 0.12, 1}
	b[neckPitch] = joint{"neck_pitch", "head", neckYaw, xyz(0.02, 0, 0.08), y, false, -0.6, 1.1, 0.46, 0.05, 2}
	for side, s := range [2]float64{1, -1} {
		add := func(i int, name string, parent int, origin, axis vec3, lower, upper, rest, sway, load float64) {
			n := sideNames[side] + "_" + name
			b[i] = joint{n, n + "_link", parent, origin, axis, false, lower, upper, rest, sway, load}
		}
		a := func(i int) int { return arm(side, i) }
		add(a(0), "clavicle", torsoPitch, xyz(0, s*0.08, 0.40), z, -0.6, 0.6, 0, 0.01, 15)
		add(a(1), "shoulder_pitch", a(0), xyz(0, s*0.14, 0), y, -2.8, 1.2, -0.1, 0.03, 25)
		add(a(2), "shoulder_roll", a(1), vec3{}, x, -1.6, 1.6, s*0.12, 0.02, 20)
		add(a(3), "upper_arm_yaw", a(2), vec3{Z: -0.14}, z, -1.6, 1.6, 0, 0.02, 8)
		add(a(4), "elbow", a(3), vec3{Z: -0.18}, y, -2.4, 0, -0.5, 0.03, 14)
		add(a(5), "forearm_yaw", a(4), vec3{Z: -0.12}, z, -2.6, 2.6, 0, 0.03, 4)
		add(a(6), "wrist_pitch", a(5), vec3{Z: -0.16}, y, -1.2, 1.2, 0, 0.02, 3)
		add(a(7), "wrist_roll", a(6), vec3{}, x, -0.8, 0.8, 0, 0.02, 3)
		palm, f := hand(side), func(i int) int { return finger(side, i) }
		add(f(0), "thumb_opposition", palm, xyz(0.01, 0, -0.02), z, -0.2, 1.6, 0.1, 0.02, 0.4)
		add(f(1), "thumb_proximal", f(0), xyz(0.02, 0, -0.01), y, -1.6, 0.2, -0.6, 0.02, 0.4)
		add(f(2), "thumb_distal", f(1), vec3{Z: -0.035}, y, -1.5, 0, -0.1, 0.02, 0.3)
		for i, n := range []string{"index", "middle", "ring", "pinky"} {
			add(f(3+2*i), n+"_proximal", palm, xyz(-0.01, s*(0.03-0.02*float64(i)), -0.1), y, -1.6, 0.1, -0.15, 0.03, 0.5)
			add(f(4+2*i), n+"_distal", f(3+2*i), vec3{Z: -0.04}, y, -1.7, 0, -0.15, 0.03, 0.3)
		}
	}
	for i := range b {
		if b[i].name == "" || b[i].parent >= i {
			panic(fmt.Sprintf("sim: joint %d of the body is not defined after its parent", i))
		}
	}
	return b
}

// positions are the joints' positions, rad or m.
type positions [NumJoints]float64

// link returns the pose.Pose of joint i's link in the base.
func (q *positions) link(i int) pose.Pose {
	j := &body[i]
	p := pose.Pose{T: j.origin, R: pose.Identity().R}
	if j.prismatic {
		p.T = p.T.Add(j.axis.Scale(q[i]))
	} else {
		p.R = pose.AxisAngle(j.axis, q[i])
	}
	if j.parent < 0 {
		return p
	}
	return q.link(j.parent).Mul(p)
}

// camera returns the pose.Pose of the left camera's optical frame in the base.
func (q *positions) camera() pose.Pose { return q.link(neckPitch).Mul(cameraInHead) }

// tcp returns the pose.Pose of a hand's tool centre point in the base.
func (q *positions) tcp(side int) pose.Pose { return q.link(hand(side)).Mul(tcpInHand) }
