package hallway

import (
	"math"

	"github.com/seed-301d4374/engram"
)

// The depth camera: what is in front of a robot, from left to right.
const (
	DepthView  = 1.5 // rad, horizontally
	DepthRange = 12  // metres
	DepthWidth = 80  // pixels
	depthSigma = 0.01
)

// Sensors are those of a robot at one moment: whatever is read from them was measured together.
type Sensors struct {
	w    *World
	name string
	r    *robot
}

// Odometry returns what the wheels say.
func (s Sensors) Odometry() (odomFromBase Pose, v, turn float64) { return s.r.odom, s.r.v, s.r.w }

// Bumped returns what the robot drives against; "" for nothing.
func (s Sensors) Bumped() string { return s.r.bumped }

// Depth returns a line of the depth camera: distances along the optical axis from left to right, metres; 0
// where nothing is near enough.
func (s Sensors) Depth() []float32 {
	at := s.r.at
	out := make([]float32, DepthWidth)
	for i := range out {
		a := PixelAngle(i)
		if d := s.w.Grid.Ray(at.Point, at.Yaw+a, DepthRange); d < DepthRange {
			out[i] = float32((d + depthSigma*s.w.random.NormFloat64()) * math.Cos(a))
		}
	}
	return out
}

// PixelAngle returns the angle of a column of the depth camera, rad counterclockwise from ahead.
func PixelAngle(i int) float64 {
	half := math.Tan(DepthView / 2)
	return math.Atan(half * (1 - 2*(float64(i)+0.5)/DepthWidth))
}

// The camera that sees markers.
const (
	CameraView  = 1.4 // rad, horizontally
	CameraRange = 3.0 // metres: smaller markers are not read
)

// Camera is where each robot's camera is, in the base: it looks ahead.
var Camera = Pose{Point{0.1, 0}, 0}

// CameraHeight is that of the cameras above the floor, metres.
const CameraHeight = 0.4

// Before returns the things before the robot's camera that are near enough for their markers to
// be read, with where they are in the base's frame. Markers are on all sides of them.
func (s Sensors) Before() map[string]Pose {
	base := s.r.at
	eye := base.Mul(Camera)
	out := map[string]Pose{}
	for _, t := range s.w.things {
		if t.In != "" || t.Held == s.name {
			continue
		}
		d := eye.Dist(t.At)
		bearing := Wrap(math.Atan2(t.At.Y-eye.Y, t.At.X-eye.X) - eye.Yaw)
		if d < CameraRange+0.5 && math.Abs(bearing) < CameraView/2 && s.w.Grid.Sees(eye.Point, t.At) {
			out[t.Name] = base.Inverse().Mul(Pose{t.At, t.Yaw})
		}
	}
	return out
}

// Disc is something round beside a robot.
type Disc struct {
	Point
	Radius float64 // metres
}

// besideRange is how far sonars reach, metres.
const besideRange = 1.5

// Beside returns what the robot's sonars notice around it that is on no map, in the base's frame.
func (s Sensors) Beside() map[string]Disc {
	base := s.r.at
	out := map[string]Disc{}
	note := func(what string, at Point, radius float64) {
		if at.Dist(base.Point) < besideRange && s.w.Grid.Sees(base.Point, at) {
			out[what] = Disc{base.Inverse().Mul(Pose{Point: at}).Point, radius}
		}
	}
	for other, o := range s.w.robots {
		if other != s.name {
			note(other, o.at.Point, Radius)
		}
	}
	for _, t := range s.w.things {
		if t.Held == "" && t.In == "" {
			note(t.Name, t.At, t.Radius)
		}
	}
	return out
}

// Walls returns the distances to what is solid in n equal steps over the camera's view, from
// left to right, metres.
func (s Sensors) Walls(n int) []float64 {
	eye := s.r.at.Mul(Camera)
	out := make([]float64, n)
	for i := range out {
		out[i] = s.w.Grid.Ray(eye.Point, eye.Yaw+CameraView/2*(1-(2*float64(i)+1)/float64(n)), 10)
	}
	return out
}

// Hand is where the gripper is, in the base.
var Hand = Pose{Point{Radius + 0.12, 0}, 0}

// Reach is how far from the hand's middle the gripper takes hold of things and lets them drop
// into others, metres.
const Reach = 0.15

// Grip closes a robot's gripper on a thing. The error is Failed-like: NotFound if nothing is
// between the fingers.
func (w *World) Grip(name, thing string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.robots[name]
	if r.holds != "" {
		return engram.Errorf(engram.Conflict, name, "the gripper holds %s already", r.holds)
	}
	hand := r.at.Mul(Hand)
	for i := range w.things {
		t := &w.things[i]
		if t.Name != thing {
			continue
		}
		if d := t.At.Dist(hand.Point); d > Reach || t.Held != "" || t.In != "" {
			return engram.Errorf(engram.NotFound, thing, "the gripper closed on nothing: %s is %.2f m away", thing, d)
		}
		t.Held, r.holds = name, thing
		return nil
	}
	return engram.Errorf(engram.NotFound, thing, "there is no such thing")
}

// Release opens a robot's gripper, and returns what fell, and into what: "" is the floor.
func (w *World) Release(name string) (thing, into string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.robots[name]
	if r.holds == "" {
		return "", ""
	}
	hand := r.at.Mul(Hand)
	var fallen *Thing
	for i := range w.things {
		if w.things[i].Name == r.holds {
			fallen = &w.things[i]
		}
	}
	thing, r.holds = r.holds, ""
	fallen.Held, fallen.At = "", hand.Point
	for i := range w.things {
		if t := &w.things[i]; t.Name == Bin && t.At.Dist(hand.Point) <= t.Radius+0.05 {
			fallen.In, fallen.At, into = t.Name, t.At, t.Name
		}
	}
	return thing, into
}
