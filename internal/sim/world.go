package sim

import "github.com/seed-301d4374/engram/mind/pose"

// shape is the form of an object.
type shape int

const (
	boxShape shape = iota
	cylinderShape
	cupShape
)

// object is a thing on the table.
type object struct {
	name   string
	class  string
	spoken string
	shape  shape
	size   vec3      // edge lengths or, of what is round, diameter, diameter and height; metres
	place  pose.Pose // in the map, of the object's middle
	colour colour
	mass   float64 // kg
}

// The table: its top's middle and size.
const (
	tableX, tableY, tableZ = 1.40, 0.0, 0.80
	tableDepth, tableWidth = 0.80, 1.60
	tableThickness         = 0.04
	wallX                  = 4.5
)

// cup is the index of the object that is grasped.
const cup = 0

var objects = [...]object{
	onTable("cup", "cup", "cup", cupShape, xyz(0.08, 0.08, 0.10), 1.17, -0.22, 2.6, colour{40, 80, 200}, 0.25),
	onTable("cereal", "cereal_box", "cereal", boxShape, xyz(0.07, 0.19, 0.28), 1.45, 0.28, 0.4, colour{205, 45, 40}, 0.4),
	onTable("can", "soup_can", "soup", cylinderShape, xyz(0.068, 0.068, 0.11), 1.28, 0.08, 0, colour{50, 160, 70}, 0.35),
	onTable("book", "book", "book", boxShape, xyz(0.24, 0.17, 0.035), 1.32, 0.42, -0.5, colour{230, 190, 50}, 0.6),
	onTable("bottle", "bottle", "bottle", cylinderShape, xyz(0.075, 0.075, 0.24), 1.55, -0.15, 0, colour{225, 120, 35}, 1.0),
}

func onTable(name, class, spoken string, s shape, size vec3, x, y, yaw float64, c colour, mass float64) object {
	return object{name, class, spoken, s, size, pose.Pose{T: xyz(x, y, tableZ+size.Z/2), R: pose.AxisAngle(vec3{Z: 1}, yaw)}, c, mass}
}

// cupInHand is the cup's pose.Pose in the right hand's tool centre point while it is
// held: what it is at the moment of the grasp.
var cupInHand = func() pose.Pose {
	p := phase{drive: 1, reach: 1, grip: 1}
	q := positionsAt(0, p)
	return baseAt(p).Mul(q.tcp(right)).Inverse().Mul(objects[cup].place)
}()

// state is the world at one time.
type state struct {
	t       float64   // seconds since the world began
	base    pose.Pose // of the robot in the map
	joints  positions
	objects [len(objects)]pose.Pose // in the map
	held    bool                    // the cup is
	since   float64                 // seconds since the course began
}

// state returns the world at a time, of which the course began at another.
func (c *course) state(t, began float64) state {
	p := c.phase(t - began)
	s := state{t: t, base: baseAt(p), joints: positionsAt(t, p)}
	for i := range objects {
		s.objects[i] = objects[i].place
	}
	if s.since, s.held = c.held(t - began); s.held {
		s.objects[cup] = s.base.Mul(s.joints.tcp(right)).Mul(cupInHand)
	}
	return s
}

// camera returns the pose.Pose of a camera's optical frame in the map.
func (s *state) camera(side int) pose.Pose {
	c := s.base.Mul(s.joints.camera())
	c.T = c.Apply(vec3{X: float64(side) * stereoBaseline})
	return c
}
