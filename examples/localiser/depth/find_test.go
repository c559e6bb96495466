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
	"github.com/seed-301d4374/engram/mind/pose"
)

// cereal and tea are boxes of different size; dice is the same from all sides.
var (
	cereal = depth.Class{Name: "cereal", Size: pose.Vec3{X: 0.19, Y: 0.06, Z: 0.29}}
	tea    = depth.Class{Name: "tea", Size: pose.Vec3{X: 0.16, Y: 0.08, Z: 0.07}}
	dice   = depth.Class{Name: "dice", Size: pose.Vec3{X: 0.12, Y: 0.12, Z: 0.12}}
)

// vga is a camera of 640 × 480 pixels, 60° wide.
func vga() camera.Camera { return camera.FieldOfView(640, 480, math.Pi/3) }

// above is the pose of a camera in the world, 0.9 m above a table whose middle is the
// origin, that looks down at it by 45°.
func above() pose.Pose {
	return pose.Pose{T: pose.Vec3{X: -0.9, Z: 0.9}, R: camera.Rotation(pose.Vec3{Y: -1}, pose.Vec3{X: -math.Sqrt2 / 2, Z: -math.Sqrt2 / 2})}
}

// upAbove is the world's z in the axes of that camera.
func upAbove() pose.Vec3 { return above().R.Conj().Rotate(pose.Vec3{Z: 1}) }

// kitchen is a table, and a wall behind it.
func kitchen() []render.Board {
	return []render.Board{
		{Pose: pose.Identity(), Width: 1.2, Height: 1.6, Paint: render.Plain(render.Grey(140))},
		{Pose: pose.Pose{T: pose.Vec3{X: 1.5}, R: pose.AxisAngle(pose.Vec3{Y: 1}, -math.Pi/2)}, Width: 4, Height: 6, Paint: render.Plain(render.Grey(200))},
	}
}

// standing returns a box on the table, turned by yaw, its frame's z up.
func standing(size pose.Vec3, x, y, yaw float64) pose.Pose {
	return pose.Pose{T: pose.Vec3{X: x, Y: y, Z: size.Z / 2}, R: pose.AxisAngle(pose.Vec3{Z: 1}, yaw)}
}

// measure returns the depth of a scene.
func measure(r *render.Renderer, boards []render.Board, seed uint64) *depth.Image {
	cam := vga()
	img := r.Render(boards, &cam, above(), render.Sensor{DepthNoise: 0.0015, DepthMissing: 0.02, Seed: seed})
	return &depth.Image{Width: img.Width, Height: img.Height, Z: img.Depth}
}

func TestX(t *testing.T) {
	cam := vga()
	random := rand.New(rand.NewPCG(3, 4))
	r := &render.Renderer{}
	var position, rotation, size []float64
	lost := 0
	for i := range 100 {
		class := []depth.Class{cereal, tea, dice}[i%3]
		truth := standing(class.Size, 0.3*(random.Float64()-0.5), 0.6*(random.Float64()-0.5), 2*math.Pi*random.Float64())
		boards := append(kitchen(), render.Box(truth, class.Size, render.Grey(120))...)
		scene, err := depth.Find(measure(r, boards, uint64(i)), &cam, depth.Options{Up: upAbove(), Classes: []depth.Class{cereal, tea, dice}})
		if err != nil {
			t.Fatal(err)
		}
		if len(scene.Boxes) != 1 || len(scene.Boxes[0].Matches) != 1 || scene.Boxes[0].Matches[0].Class != class {
			t.Logf("%d %s: %+v", i, class.Name, scene)
			lost++
			continue
		}
		want := above().Inverse().Mul(truth)
		m := scene.Boxes[0].Matches[0]
		p, q := m.Nearest(want).Distance(want)
		position, rotation, size = append(position, p), append(rotation, q), append(size, m.Difference)
	}
	for _, x := range [][]float64{position, rotation, size} {
		slices.Sort(x)
		t.Log(x[len(x)/2], x[len(x)*95/100], x[len(x)-1])
	}
	t.Log(lost)
	_, _ = errors.New, engram.Invalid
}
