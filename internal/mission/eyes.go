package mission

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localisation/marker"
	"github.com/seed-301d4374/engram/internal/mission/hallway"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/world"
)

// lookPeriod is how often the cameras are looked at, in simulated time.
const lookPeriod = 250 * time.Millisecond

// Images of the cameras.
const (
	imageWidth, imageHeight = 640, 480
	cameraName              = "camera"
)

var focal = imageWidth / 2 / math.Tan(hallway.CameraView/2)

var baseFromCamera = pose.Pose{
	T: pose.Vec3{X: hallway.Camera.X, Z: hallway.CameraHeight},
	R: pose.Quat{W: 0.5, X: -0.5, Y: 0.5, Z: -0.5}, // x right, y down, z ahead
}

// class is a kind of object with a marker on each of its four sides.
type class struct {
	name, spoken string
	size         pose.Vec3 // metres
	marker       float64   // side of its markers, metres
	height       float64   // of their middles above the floor, metres
	first        int       // the markers are first to first+3, counterclockwise
}

// classes are what the mission is about.
var classes = []class{
	{hallway.Garbage, "garbage", pose.Vec3{X: 0.14, Y: 0.14, Z: 0.16}, 0.105, 0.08, 0},
	{hallway.Bin, "bin", pose.Vec3{X: 0.3, Y: 0.3, Z: 0.5}, 0.17, 0.35, 4},
}

var family = marker.Aruco4x4

// side returns where a marker is on an object: objectFromMarker.
func (c *class) side(i int) pose.Pose {
	turn := pose.Pose{R: pose.AxisAngle(pose.Vec3{Z: 1}, float64(i)*math.Pi/2)}
	return turn.Mul(pose.Pose{
		T: pose.Vec3{X: c.size.X/2 + 0.001, Z: c.height},
		R: pose.Quat{W: 0.5, X: 0.5, Y: 0.5, Z: 0.5}, // x to the right and y up for who looks at it
	})
}

// photograph renders what a robot's camera sees, and returns what its wheels say then; img is nil if there
// is no marker that might be read.
func (m *Mission) photograph(robot string) (img *image.RGBA, odom hallway.Pose) {
	const walls = 48
	var things map[string]hallway.Pose
	var distances []float64
	m.truth.Sense(robot, func(s hallway.Sensors) {
		odom, _, _ = s.Odometry()
		if things = s.Before(); len(things) > 0 {
			distances = s.Walls(walls)
		}
	})
	if len(things) == 0 {
		return nil, odom
	}
	scene := sim.Scene{Floor: true}
	half := hallway.CameraView / 2
	for i, d := range distances {
		a := half * (1 - (2*float64(i)+1)/walls)
		scene.Boxes = append(scene.Boxes, sim.Box{
			Pose: pose.Pose{T: pose.Vec3{X: hallway.Camera.X + d*math.Cos(a), Y: d * math.Sin(a), Z: 1.2}, R: pose.AxisAngle(pose.Vec3{Z: 1}, a)},
			Size: pose.Vec3{X: 0.02, Y: 2.2 * half / walls * d, Z: 2.4}, Colour: [3]uint8{150, 150, 140},
		})
	}
	for name, at := range things {
		for i := range classes {
			c := &classes[i]
			if c.name != name {
				continue
			}
			baseFromThing := poseOf(at)
			scene.Boxes = append(scene.Boxes, sim.Box{
				Pose: baseFromThing.Mul(pose.Translation(0, 0, c.size.Z/2)), Size: c.size, Colour: [3]uint8{90, 120, 60},
			})
			for side := range 4 {
				bits, err := family.Bits(c.first + side)
				if err != nil {
					continue
				}
				scene.Markers = append(scene.Markers, sim.Marker{Pose: baseFromThing.Mul(c.side(side)), Size: c.marker, Bits: bits})
			}
		}
	}
	p := scene.Render(sim.SceneCamera{Pose: baseFromCamera, Width: imageWidth, Height: imageHeight, Focal: focal, Noise: 2, Seed: uint64(m.Clock.Passed())})
	img = image.NewRGBA(image.Rect(0, 0, imageWidth, imageHeight))
	for i := 0; i < len(p.RGB); i += 3 {
		copy(img.Pix[i/3*4:], []byte{p.RGB[i], p.RGB[i+1], p.RGB[i+2], 255})
	}
	return img, odom
}

// mark is a marker on objects of a class, as the memory has it.
type mark struct {
	class   string
	size    float64   // metres
	inClass pose.Pose // objectFromMarker
}

// sighting is an object that was recognised in an image.
type sighting struct {
	class      string
	at         pose.Pose // baseFromObject
	confidence float64
}

// recognise finds the objects of known classes in an image.
func recognise(img image.Image, known map[int]mark) (found []sighting, err error) {
	d := marker.Detector{
		Camera:   marker.Camera{Width: imageWidth, Height: imageHeight, FX: focal, FY: focal, CX: imageWidth/2 - 0.5, CY: imageHeight/2 - 0.5},
		Families: []*marker.Family{family},
		Size: func(_ *marker.Family, id int) (float64, bool) {
			k, ok := known[id]
			return k.size, ok
		},
	}
	markers, _, err := d.Detect(img)
	if err != nil {
		return nil, err
	}
	for _, m := range markers {
		k := known[m.ID]
		s := sighting{k.class, baseFromCamera.Mul(m.Pose).Mul(k.inClass.Inverse()), m.Confidence()}
		if i := slices.IndexFunc(found, func(o sighting) bool { return o.class == k.class }); i < 0 {
			found = append(found, s)
		} else if s.confidence > found[i].confidence {
			found[i] = s
		}
	}
	return found, nil
}

// eyes look at what the camera sees, for known markers, until ctx ends; execution is the
// skill that wants it.
func (b *body) eyes(ctx context.Context, execution engram.ID, known map[int]mark) {
	picture := b.id("Vision", "ImageRGB", cameraName)
	sensor := b.id("World", "Observation", b.name+"/"+cameraName)
	told := map[string]engram.Time{}
	b.m.Clock.Every(ctx, lookPeriod, func() bool {
		t, now := engram.Now(), b.m.Clock.Now()
		defer b.m.Clock.Hold()() // drawing and recognising take real time
		img, odom := b.m.photograph(b.name)
		at, localized := b.inHallway(odom), b.Localized()
		var updates []engram.EntityUpdate
		var seen []string
		if img != nil {
			found, err := recognise(img, known)
			b.told("marker detector", err)
			var jpg bytes.Buffer
			for i := range found {
				s := &found[i]
				seen = append(seen, s.class)
				b.saw(s.class, at.Mul(floor(s.at)).Point, now)
				if now.Sub(told[s.class]) < time.Second {
					continue
				}
				if _, before := told[s.class]; !before && len(b.missing(ctx, []string{s.class})) > 0 {
					p := at.Mul(floor(s.at))
					b.m.said(b.member, s.class+" seen", now.Sub(b.m.Clock.At()))
					b.say("sees the %s at (%.1f, %.1f), %.1f m away", s.class, p.X, p.Y, s.at.T.Norm())
				}
				told[s.class] = now
				if jpg.Len() == 0 {
					b.told("image", jpeg.Encode(&jpg, img, nil))
					updates = append(updates, update(picture, t, payload("foxglove.CompressedImage", map[string]any{
						"timestamp": t, "frame_id": cameraName, "data": jpg.Bytes(), "format": "jpeg",
					})))
				}
				updates = append(updates, b.instance(t, s, at, picture.At(t).Instance(0), localized, execution))
			}
		}
		look := world.Look{
			Sensor: b.name + "/" + cameraName, Frame: hallwayItem, Pose: poseOf(at).Mul(baseFromCamera), Seen: seen,
			View: world.View{Horizontal: hallway.CameraView, Vertical: 2 * math.Atan(imageHeight/2/focal), MaxRange: hallway.CameraRange},
		}
		p, err := b.codec.EncodeLook(&look)
		if b.told("look", err); err == nil {
			updates = append(updates, update(sensor, t, p))
		}
		b.told("what was seen", b.commit(ctx, updates...))
		return true
	})
}

// instance is what is said of an object that was seen: with what it rests on.
func (b *body) instance(t engram.Time, s *sighting, at hallway.Pose, picture, localized, execution engram.ID) engram.EntityUpdate {
	p := poseOf(at).Mul(s.at)
	b.mu.Lock()
	sigma := b.sigma
	b.mu.Unlock()
	spread := math.Hypot(sigma, 0.02+0.01*s.at.T.Norm())
	cov := pose.DiagonalCov(spread, 0.1)
	matrix := cov.ROS(p)
	value := map[string]any{
		"timestamp": t, "frame_id": hallwayItem, "pose": posevalue.To(p), "pose_covariance": numbers(matrix[:]),
		"object_class": classID(s.class), "source_image": picture,
	}
	if !localized.IsRoot() {
		value["robot_localization"] = localized.Instance(0)
	}
	if !execution.IsRoot() {
		value["execution"] = execution
	}
	u := update(b.id("Object", "Instance", s.class), t, payload("engram.object.Instance", value))
	u.Instances[0].Confidence = float32(math.Round(s.confidence*1000) / 1000)
	return u
}

func classID(name string) engram.ID {
	return engram.MustID(fmt.Sprintf("%s:Object/Class/%s/%s", Operator, Operator, name))
}
