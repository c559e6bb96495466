// Package camera is a camera driver without a camera: it renders what a robot's RGB-D
// camera would see of a table with things on it, and knows the truth. It makes commits;
// it knows no server.
package camera

import (
	"encoding/binary"
	"math"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localisation/marker"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
)

// Names of what is committed.
const (
	Provider = "Camera"
	Name     = "head" // the camera's entity
	Frame    = "head_camera"
	Base     = "base"
	Map      = "map"
	// Period is the time from one image to the next.
	Period = 100 * time.Millisecond
)

// What the camera is like.
const (
	Width, Height = 640, 480
	Focal         = 525.0
)

// inBase is where the camera sits on the robot: 1.45 m up, looking down.
var inBase = sim.LookingFrom(pose.Vec3{X: 0.1, Z: 1.45}, pose.Vec3{X: 1.1, Z: 0.78})

// Driver renders images. It is safe for concurrent use.
type Driver struct {
	start engram.Time
	seed  uint64
}

// New returns a driver whose first image is of that time.
func New(start engram.Time, seed uint64) *Driver { return &Driver{start: start, seed: seed} }

// Time returns when an image is taken.
func (d *Driver) Time(image int) engram.Time { return d.start.Add(time.Duration(image) * Period) }

// seconds returns how long after the start an image is taken.
func seconds(image int) float64 { return float64(image) * Period.Seconds() }

// BaseAt returns where the robot is at an image: it sways a little before the table.
func BaseAt(image int) pose.Pose {
	s := seconds(image)
	return pose.Pose{T: pose.Vec3{X: 0.05 * math.Sin(0.5*s), Y: 0.1 * math.Sin(0.3*s)}, R: pose.RPY(0, 0, 0.05*math.Sin(0.4*s))}
}

const tableHeight = 0.74

// on places the middle of something of that height on the table.
func on(x, y, turn, height float64) pose.Pose {
	return pose.Pose{T: pose.Vec3{X: x, Y: y, Z: tableHeight + height/2}, R: pose.RPY(0, 0, turn)}
}

// Truth returns where the objects are at an image, by class, in the map.
func Truth(image int) map[string]pose.Pose {
	return map[string]pose.Pose{
		"toolbox": on(1.25, -0.35, 0.5, sizes["toolbox"].Z),
		// The toy train goes to and fro.
		"train":   on(1.05, 0.25+0.15*math.Sin(0.6*seconds(image)), 0.3, sizes["train"].Z),
		"cereals": on(1.4, 0.05, 0.25, sizes["cereals"].Z),
		"tea":     on(1.02, -0.12, -0.5, sizes["tea"].Z),
	}
}

// sizes are those of the objects.
var sizes = map[string]pose.Vec3{
	"toolbox": {X: 0.24, Y: 0.18, Z: 0.16},
	"train":   {X: 0.14, Y: 0.1, Z: 0.1},
	"cereals": {X: 0.06, Y: 0.19, Z: 0.28},
	"tea":     {X: 0.15, Y: 0.075, Z: 0.065},
}

// markers are on which objects, and where: as examples/localisation/knowledge says.
var markers = []struct {
	class  string
	family *marker.Family
	id     int
	size   float64
	pose   pose.Pose
}{
	{"toolbox", marker.Tag36h11, 7, 0.12, onTop("toolbox")},
	{"toolbox", marker.Tag36h11, 8, 0.12, inFront("toolbox")},
	{"train", marker.Aruco4x4, 3, 0.07, onTop("train")},
}

// onTop is the middle of the upper side, seen from above.
func onTop(class string) pose.Pose { return pose.Translation(0, 0, sizes[class].Z/2) }

// inFront is the middle of the side towards -x, upright.
func inFront(class string) pose.Pose {
	return pose.Pose{T: pose.Vec3{X: -sizes[class].X / 2}, R: pose.Quat{W: 0.5, X: 0.5, Y: -0.5, Z: -0.5}}
}

// Setup returns what does not change: how the camera sees, and where it sits.
func (d *Driver) Setup() engram.Commit {
	calibration := &foxglove.CameraCalibration{
		Timestamp: stamp(d.start), FrameId: Frame, Width: Width, Height: Height, DistortionModel: "plumb_bob",
		D: make([]float64, 5), K: []float64{Focal, 0, (Width - 1) / 2.0, 0, Focal, (Height - 1) / 2.0, 0, 0, 1},
	}
	return engram.Commit{Updates: []engram.EntityUpdate{
		update("Vision", "Calibration", Name, d.start, "foxglove.CameraCalibration", marshal(calibration)),
		edge(d.start, Base, Frame, inBase, true),
	}}
}

// Image returns the commit of an image: RGB, depth, and where the robot is.
func (d *Driver) Image(i int) engram.Commit {
	t := d.Time(i)
	p := d.Picture(i)
	depth := make([]byte, 0, 2*len(p.Depth))
	for _, z := range p.Depth {
		depth = binary.LittleEndian.AppendUint16(depth, uint16(min(float64(z)*1000+0.5, math.MaxUint16)))
	}
	rgb := &foxglove.RawImage{Timestamp: stamp(t), FrameId: Frame, Width: Width, Height: Height, Encoding: "rgb8", Step: 3 * Width, Data: p.RGB}
	deep := &foxglove.RawImage{Timestamp: stamp(t), FrameId: Frame, Width: Width, Height: Height, Encoding: "16UC1", Step: 2 * Width, Data: depth}
	return engram.Commit{Updates: []engram.EntityUpdate{
		edge(t, Map, Base, BaseAt(i), false),
		update("Vision", "ImageDepth", Name, t, "foxglove.RawImage", marshal(deep)),
		update("Vision", "ImageRGB", Name, t, "foxglove.RawImage", marshal(rgb)),
	}}
}

// Picture renders an image.
func (d *Driver) Picture(i int) sim.Picture {
	scene := sim.Scene{Floor: true, Boxes: []sim.Box{
		{Pose: pose.Translation(1.25, 0, tableHeight-0.02), Size: pose.Vec3{X: 0.8, Y: 1.6, Z: 0.04}, Colour: [3]uint8{150, 110, 70}},
		{Pose: pose.Translation(3.5, 0, 1.5), Size: pose.Vec3{X: 0.1, Y: 6, Z: 3}, Colour: [3]uint8{200, 200, 190}},
	}}
	truth := Truth(i)
	for class, colour := range map[string][3]uint8{"toolbox": {150, 150, 160}, "train": {60, 110, 170}, "cereals": {190, 60, 50}, "tea": {70, 140, 80}} {
		scene.Boxes = append(scene.Boxes, sim.Box{Pose: truth[class], Size: sizes[class], Colour: colour})
	}
	for _, m := range markers {
		bits, err := m.family.Bits(m.id)
		if err != nil {
			panic(err) // the table above is the program's own
		}
		scene.Markers = append(scene.Markers, sim.Marker{Pose: truth[m.class].Mul(m.pose), Size: m.size, Bits: bits})
	}
	return scene.Render(sim.SceneCamera{
		Pose: BaseAt(i).Mul(inBase), Width: Width, Height: Height, Focal: Focal,
		Blur: 0.6, Noise: 2, DepthNoise: 0.0015, Seed: d.seed<<32 + uint64(i),
	})
}

func stamp(t engram.Time) *timestamppb.Timestamp {
	return &timestamppb.Timestamp{Seconds: int64(t) / 1e9, Nanos: int32(int64(t) % 1e9)}
}

func marshal(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err) // it holds numbers and bytes
	}
	return b
}

func update(memory, segment, entity string, t engram.Time, typ string, payload []byte) engram.EntityUpdate {
	id, err := engram.NewID(memory, segment, Provider, entity)
	if err != nil {
		panic(err) // the names are constants
	}
	return engram.EntityUpdate{Entity: id, Time: t, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: payload})}}
}

// edge is an edge of the transform tree.
func edge(t engram.Time, parent, child string, p pose.Pose, static bool) engram.EntityUpdate {
	typ, ok := memories.Type("engram.robot_state.Localization")
	if !ok {
		panic("the memories have no localization")
	}
	v := map[string]any{
		"timestamp": t, "parent_frame_id": parent, "child_frame_id": child, "is_static": static,
		"translation": map[string]any{"x": p.T.X, "y": p.T.Y, "z": p.T.Z},
		"rotation":    map[string]any{"w": p.R.W, "x": p.R.X, "y": p.R.Y, "z": p.R.Z},
	}
	if !static {
		covariance := make([]float64, 36)
		for i, v := range map[int]float64{0: 4e-6, 7: 4e-6, 35: 1e-6} {
			covariance[i] = v
		}
		v["pose_covariance"] = covariance
	}
	b, err := typ.Encode(v)
	if err != nil {
		panic(err)
	}
	return update("RobotState", "Localization", parent+","+child, t, typ.Name(), b)
}
