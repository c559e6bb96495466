package depth_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localiser/camera"
	"github.com/seed-301d4374/engram/examples/localiser/depth"
	"github.com/seed-301d4374/engram/examples/localiser/render"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
)

// cereal and tea are boxes of different size; dice is the same from all sides.
var (
	cereal  = depth.Class{Name: "cereal", Size: pose.Vec3{X: 0.19, Y: 0.06, Z: 0.29}}
	tea     = depth.Class{Name: "tea", Size: pose.Vec3{X: 0.16, Y: 0.08, Z: 0.05}}
	dice    = depth.Class{Name: "dice", Size: pose.Vec3{X: 0.12, Y: 0.12, Z: 0.12}}
	classes = []depth.Class{cereal, tea, dice}
)

// vga is a camera of 640 × 480 pixels, 60° wide.
func vga() camera.Camera { return camera.FieldOfView(640, 480, math.Pi/3) }

// worldFromCamera is 0.9 m above a table whose middle is the origin, and looks down at it by
// 45°.
var worldFromCamera = pose.Pose{
	T: pose.Vec3{X: -0.9, Z: 0.9},
	R: camera.Rotation(pose.Vec3{Y: -1}, pose.Vec3{X: -math.Sqrt2 / 2, Z: -math.Sqrt2 / 2}),
}

// up is the world's z in the axes of that camera.
var up = worldFromCamera.R.Conj().Rotate(pose.Vec3{Z: 1})

// kitchen is a table, a wall behind it, and what is on the table.
func kitchen(things ...[]render.Board) []render.Board {
	upright := pose.Pose{T: pose.Vec3{X: 1.5}, R: pose.AxisAngle(pose.Vec3{Y: 1}, -math.Pi/2)}
	return append(slices.Concat(things...),
		render.Board{Pose: pose.Identity(), Width: 1.2, Height: 1.6, Paint: render.Plain(render.Grey(140))},
		render.Board{Pose: upright, Width: 4, Height: 6, Paint: render.Plain(render.Grey(200))})
}

// on returns a box of a class on the table, turned by yaw, and its pose in the world.
func on(class depth.Class, x, y, yaw float64) (pose.Pose, []render.Board) {
	p := pose.Pose{T: pose.Vec3{X: x, Y: y, Z: class.Size.Z / 2}, R: pose.AxisAngle(pose.Vec3{Z: 1}, yaw)}
	return p, render.Box(p, class.Size, render.Grey(120))
}

// look returns the depth of a scene, as a camera of the common kind measures it.
func look(seed uint64, boards []render.Board) *depth.Image {
	cam := vga()
	img := new(render.Renderer).Render(boards, &cam, worldFromCamera, render.Sensor{DepthNoise: 0.0015, DepthMissing: 0.02, Seed: seed})
	return &depth.Image{Width: img.Width, Height: img.Height, Z: img.Depth}
}

func find(t testing.TB, img *depth.Image) *depth.Scene {
	t.Helper()
	cam := vga()
	scene, err := depth.Find(img, &cam, depth.Options{Up: up, Classes: classes})
	if err != nil {
		t.Fatal(err)
	}
	return scene
}

// A box anywhere on the table is found by its size, within 1 cm and 2°.
func TestAccuracy(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 4))
	n := testkit.Repeats(9, 300)
	var position, rotation []float64
	for i := range n {
		class := classes[i%3]
		truth, box := on(class, 0.3*(random.Float64()-0.5), 0.6*(random.Float64()-0.5), 2*math.Pi*random.Float64())
		scene := find(t, look(random.Uint64(), kitchen(box)))
		if len(scene.Boxes) != 1 || len(scene.Boxes[0].Matches) != 1 || scene.Boxes[0].Matches[0].Class != class {
			t.Errorf("a box %s at %v is seen as %+v", class.Name, truth, scene.Boxes)
			continue
		}
		want := worldFromCamera.Inverse().Mul(truth)
		p, r := scene.Boxes[0].Matches[0].Nearest(want).Distance(want)
		if p > 0.01 || r > 2*math.Pi/180 {
			t.Errorf("a box %s at %v is off by %.1f mm and %.2f°", class.Name, truth, 1e3*p, r*180/math.Pi)
		}
		position, rotation = append(position, 1e3*p), append(rotation, r*180/math.Pi)
	}
	for name, x := range map[string][]float64{"mm": position, "°": rotation} {
		if slices.Sort(x); len(x) > 0 {
			t.Logf("of %d: median %.2f, p95 %.2f, max %.2f %s", n, x[len(x)/2], x[len(x)*95/100], x[len(x)-1], name)
		}
	}
}

// The covariance says how large errors are: neither much too large nor too small.
func TestCovariance(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 5))
	n := testkit.Repeats(6, 100)
	var position, turn float64 // squared errors in units of their variances
	for range n {
		truth, box := on(tea, 0.3*(random.Float64()-0.5), 0.6*(random.Float64()-0.5), 2*math.Pi*random.Float64())
		scene := find(t, look(random.Uint64(), kitchen(box)))
		if len(scene.Boxes) != 1 || len(scene.Boxes[0].Matches) != 1 {
			t.Fatalf("a box at %v is seen as %+v", truth, scene.Boxes)
		}
		m := scene.Boxes[0].Matches[0]
		want := worldFromCamera.Inverse().Mul(truth)
		p, r := m.Nearest(want).Distance(want)
		position += p * p / (m.Cov.SigmaTrans() * m.Cov.SigmaTrans()) / float64(n)
		turn += r * r / (m.Cov.SigmaRot() * m.Cov.SigmaRot()) / float64(n)
	}
	if position < 0.05 || position > 3 || turn < 0.02 || turn > 3 {
		t.Errorf("on average the squared errors are %.2f and %.2f times their variances, want about 1", position, turn)
	}
}

// Several boxes are told apart, by where they are and what they are.
func TestSeveralBoxes(t *testing.T) {
	where := map[string]pose.Pose{}
	var things [][]render.Board
	for i, class := range classes {
		p, box := on(class, 0.05*float64(i), 0.4*float64(i-1), 0.3*float64(i))
		where[class.Name], things = p, append(things, box)
	}
	scene := find(t, look(1, kitchen(things...)))
	if len(scene.Boxes) != 3 {
		t.Fatalf("%d boxes are seen, want 3", len(scene.Boxes))
	}
	for _, b := range scene.Boxes {
		if len(b.Matches) != 1 {
			t.Errorf("a box is any of %+v", b.Matches)
			continue
		}
		got := worldFromCamera.Mul(b.Matches[0].Pose)
		if d := got.T.Sub(where[b.Matches[0].Class.Name].T).Norm(); d > 0.01 {
			t.Errorf("%s is %g m off", b.Matches[0].Class.Name, d)
		}
	}
}

// A box that lies on its side is found so.
func TestLyingBox(t *testing.T) {
	lying := pose.Pose{T: pose.Vec3{X: 0.1, Z: cereal.Size.Y / 2}, R: pose.RPY(math.Pi/2, 0, 0.5)}
	scene := find(t, look(1, kitchen(render.Box(lying, cereal.Size, render.Grey(120)))))
	if len(scene.Boxes) != 1 || len(scene.Boxes[0].Matches) != 1 {
		t.Fatalf("it is seen as %+v", scene.Boxes)
	}
	want := worldFromCamera.Inverse().Mul(lying)
	if p, r := scene.Boxes[0].Matches[0].Nearest(want).Distance(want); p > 0.01 || r > 2*math.Pi/180 {
		t.Errorf("it is off by %g m and %g rad", p, r)
	}
}

// How often a box looks the same: a cuboid in four orientations, a cube in 24.
func TestSymmetries(t *testing.T) {
	for class, want := range map[depth.Class]int{cereal: 4, dice: 24} {
		_, box := on(class, 0, 0, 0.4)
		scene := find(t, look(1, kitchen(box)))
		if len(scene.Boxes) != 1 || len(scene.Boxes[0].Matches) != 1 {
			t.Fatalf("%s is seen as %+v", class.Name, scene.Boxes)
		}
		m := scene.Boxes[0].Matches[0]
		if len(m.Symmetries) != want || m.Symmetries[0] != (pose.Quat{W: 1}) {
			t.Errorf("%s has the symmetries %v, want %d, the identity first", class.Name, m.Symmetries, want)
		}
	}
}

// What is no box on the table is none: one of another size has no match, one that reaches
// out of the image, a heap of two and a wall are left out.
func TestWhatIsNoBox(t *testing.T) {
	stranger := depth.Class{Name: "stranger", Size: pose.Vec3{X: 0.3, Y: 0.2, Z: 0.1}}
	_, box := on(stranger, 0, 0, 0.4)
	if scene := find(t, look(1, kitchen(box))); len(scene.Boxes) != 1 || len(scene.Boxes[0].Matches) != 0 {
		t.Errorf("a box of an unknown size is seen as %+v", scene.Boxes)
	}
	_, box = on(tea, 0, 0.72, 0.4)
	if scene := find(t, look(1, kitchen(box))); len(scene.Boxes) != 0 {
		t.Errorf("a box that is cut is seen as %+v", scene.Boxes)
	}
	_, box = on(tea, 0, 0, 0)
	_, crosswise := on(tea, 0.1, 0.06, math.Pi/2)
	if scene := find(t, look(1, kitchen(box, crosswise))); len(scene.Boxes) != 0 {
		t.Errorf("two boxes side by side are seen as %+v", scene.Boxes)
	}
	if scene := find(t, look(1, kitchen())); len(scene.Boxes) != 0 {
		t.Errorf("an empty table has %+v", scene.Boxes)
	}
}

// Without a direction up the largest plane counts.
func TestPlane(t *testing.T) {
	cam := vga()
	_, box := on(tea, 0, 0, 0)
	scene, err := depth.Find(look(1, kitchen(box)), &cam, depth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if angle := math.Acos(min(scene.Plane.Normal.Dot(up), 1)); angle > 0.005 || math.Abs(scene.Plane.Distance+0.9) > 0.003 {
		t.Errorf("the table is %+v, off by %g rad; want it 0.9 m below the camera", scene.Plane, angle)
	}
	sideways := pose.Vec3{X: 1}
	if scene, err := depth.Find(look(1, kitchen(box)), &cam, depth.Options{Up: sideways}); !errors.Is(err, engram.NotFound) {
		t.Errorf("with a wrong direction up: %+v, %v; want not found", scene, err)
	}
}

func TestImagesThatAreNone(t *testing.T) {
	cam := vga()
	nan := make([]float32, 640*480)
	for i := range nan {
		nan[i] = float32(math.NaN())
	}
	for name, img := range map[string]*depth.Image{
		"no pixels":           {},
		"too few depths":      {Width: 640, Height: 480, Z: make([]float32, 640)},
		"another camera":      {Width: 320, Height: 240, Z: make([]float32, 320*240)},
		"no depth":            {Width: 640, Height: 480, Z: make([]float32, 640*480)},
		"depths that are NaN": {Width: 640, Height: 480, Z: nan},
	} {
		if scene, err := depth.Find(img, &cam, depth.Options{}); !errors.Is(err, engram.Invalid) {
			t.Errorf("%s: %+v, %v; want invalid", name, scene, err)
		}
	}
	few := &depth.Image{Width: 640, Height: 480, Z: make([]float32, 640*480)}
	few.Z[1000], few.Z[200000] = 1, 1
	if scene, err := depth.Find(few, &cam, depth.Options{}); !errors.Is(err, engram.NotFound) {
		t.Errorf("two pixels with depth: %+v, %v; want not found", scene, err)
	}
	if _, err := depth.FromMillimetres(2, 2, []uint16{1}); !errors.Is(err, engram.Invalid) {
		t.Errorf("one depth of four: %v, want invalid", err)
	}
	img, err := depth.FromMillimetres(2, 1, []uint16{1500, 0})
	if err != nil || img.Z[0] != 1.5 || img.Z[1] != 0 {
		t.Errorf("1500 and 0 mm are %v, %v", img, err)
	}
}

func BenchmarkFind(b *testing.B) {
	_, box := on(tea, 0, 0, 0.3)
	img := look(1, kitchen(box))
	for b.Loop() {
		find(b, img)
	}
}
