package boxes_test

import (
	"math"
	"testing"

	"github.com/seed-301d4374/engram/examples/localisation/boxes"
	"github.com/seed-301d4374/engram/examples/localisation/marker"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/pose"
)

var camera640 = marker.Camera{Width: 640, Height: 480, FX: 525, FY: 525, CX: 319.5, CY: 239.5}

// kinds are what may stand on the table.
var kinds = []boxes.Kind{
	{Name: "cereals", Sizes: []pose.Vec3{{X: 0.06, Y: 0.19, Z: 0.28}}},
	{Name: "tea", Sizes: []pose.Vec3{{X: 0.15, Y: 0.075, Z: 0.065}}},
	{Name: "parcel", Sizes: []pose.Vec3{{X: 0.3, Y: 0.2, Z: 0.15}, {X: 0.4, Y: 0.3, Z: 0.2}}},
}

// table is a scene with a table, seen from a standing robot.
func table(seed uint64, standing ...sim.Box) (boxes.Image, sim.SceneCamera) {
	camera := sim.SceneCamera{
		Pose: sim.LookingFrom(pose.Vec3{X: -0.9, Y: 0.1, Z: 1.45}, pose.Vec3{X: 0.1, Y: 0, Z: 0.75}), Width: 640, Height: 480, Focal: 525,
		DepthNoise: 0.0015, Seed: seed,
	}
	scene := sim.Scene{Floor: true, Boxes: append([]sim.Box{
		{Pose: pose.Translation(0.2, 0, 0.72), Size: pose.Vec3{X: 0.8, Y: 1.6, Z: 0.04}, Colour: [3]uint8{150, 110, 70}},
		{Pose: pose.Translation(2.5, 0, 1.5), Size: pose.Vec3{X: 0.1, Y: 6, Z: 3}, Colour: [3]uint8{200, 200, 190}},
	}, standing...)}
	return boxes.Image{Camera: camera640, Depth: scene.Render(camera).Depth}, camera
}

// on places a box of a size on the table, turned about z.
func on(x, y, turn float64, size pose.Vec3) sim.Box {
	return sim.Box{Pose: pose.Pose{T: pose.Vec3{X: x, Y: y, Z: 0.74 + size.Z/2}, R: pose.RPY(0, 0, turn)}, Size: size, Colour: [3]uint8{90, 120, 160}}
}

func TestFindBoxes(t *testing.T) {
	standing := []sim.Box{
		on(0.1, -0.3, 0.4, kinds[0].Sizes[0]),
		on(0, 0.1, -0.7, kinds[1].Sizes[0]),
		on(0.25, 0.45, 0.2, kinds[2].Sizes[0]),
	}
	for seed := range uint64(5) {
		img, camera := table(seed, standing...)
		for _, known := range []bool{false, true} {
			var o boxes.Options
			if known {
				o.Up = camera.Pose.R.Conj().Rotate(pose.Vec3{Z: 1})
			}
			matched := boxes.Match(boxes.Find(&img, o), kinds)
			if len(matched) != len(standing) {
				t.Fatalf("found %d things of %d: %+v", len(matched), len(standing), matched)
			}
			for _, m := range matched {
				truth := camera.Pose.Inverse().Mul(standing[m.Kind].Pose)
				nearest := math.Inf(1)
				for _, p := range m.Turns {
					_, angle := p.Distance(truth)
					nearest = min(nearest, angle*180/math.Pi)
				}
				far := m.Middle.T.Sub(truth.T).Norm()
				t.Logf("%s: off by %.1f mm and %.1f°, sizes by %.1f mm", kinds[m.Kind].Name, 1000*far, nearest, 1000*m.Error)
				if far > 0.02 || nearest > 5 {
					t.Errorf("%s is off by %.3f m and %.1f°", kinds[m.Kind].Name, far, nearest)
				}
			}
		}
	}
}

// Nothing is found where nothing stands, and nothing is made of what is no depth image.
func TestNoBoxes(t *testing.T) {
	img, _ := table(1)
	if found := boxes.Find(&img, boxes.Options{}); len(found) > 0 {
		t.Errorf("an empty table: %+v", found)
	}
	clear(img.Depth)
	if found := boxes.Find(&img, boxes.Options{}); found != nil {
		t.Errorf("no depth: %+v", found)
	}
	for i := range img.Depth {
		img.Depth[i] = float32(math.NaN())
	}
	if found := boxes.Find(&img, boxes.Options{}); found != nil {
		t.Errorf("no numbers: %+v", found)
	}
	// A thing of another size is none of the kinds.
	img, _ = table(1, on(0.1, 0, 0.3, pose.Vec3{X: 0.1, Y: 0.1, Z: 0.1}))
	found := boxes.Find(&img, boxes.Options{})
	if len(found) != 1 || len(boxes.Match(found, kinds)) > 0 {
		t.Errorf("a cube: %+v, %+v", found, boxes.Match(found, kinds))
	}
}
