package marker_test

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-301d4374/engram/examples/localiser/camera"
	"github.com/seed-301d4374/engram/examples/localiser/marker"
	"github.com/seed-301d4374/engram/examples/localiser/render"
	"github.com/seed-301d4374/engram/mind/pose"
)

// edge is the length of the markers' edges, metres.
const edge = 0.15

// vga is the camera of the measurements: 640 × 480, 60° wide.
func vga() camera.Camera { return camera.FieldOfView(640, 480, math.Pi/3) }

// poster returns the board of a marker.
func poster(t testing.TB, f *marker.Family, id int, p pose.Pose) render.Board {
	t.Helper()
	cells, err := marker.Draw(f, id)
	if err != nil {
		t.Fatal(err)
	}
	return render.Cells(p, edge*float64(f.Size+4)/float64(f.Size+2), cells)
}

// photograph returns what the camera sees of boards, in grey.
func photograph(t testing.TB, r *render.Renderer, cam *camera.Camera, s render.Sensor, boards ...render.Board) *image.Gray {
	t.Helper()
	img := r.Render(boards, cam, pose.Identity(), s)
	grey, err := marker.Grey(nil, img.RGB, img.Width, img.Height, 3*img.Width)
	if err != nil {
		t.Fatal(err)
	}
	return grey
}

// facing is a marker that looks straight into the camera from a distance.
func facing(distance float64) pose.Pose {
	return pose.Pose{T: pose.Vec3{Z: distance}, R: pose.AxisAngle(pose.Vec3{X: 1}, math.Pi)}
}

// anyPose returns a pose at a distance in a random direction within the image, turned away
// from the line of sight by an angle and about its own normal by any angle.
func anyPose(random *rand.Rand, cam *camera.Camera, distance, away float64) pose.Pose {
	const margin = 70 // pixels
	u := margin + random.Float64()*(float64(cam.Width)-2*margin)
	v := margin + random.Float64()*(float64(cam.Height)-2*margin)
	x, y := cam.Ray(u, v)
	sight := pose.Vec3{X: x, Y: y, Z: 1}
	sight = sight.Scale(1 / sight.Norm())
	// From looking along z into the camera to looking along the line of sight.
	toSight := pose.Vec3{Z: 1}.Cross(sight)
	turn := pose.Quat{W: 1}
	if n := toSight.Norm(); n > 1e-9 {
		turn = pose.AxisAngle(toSight.Scale(1/n), math.Asin(n))
	}
	about := 2 * math.Pi * random.Float64()
	tilt := pose.AxisAngle(pose.Vec3{X: math.Cos(about), Y: math.Sin(about)}, away)
	spin := pose.AxisAngle(pose.Vec3{Z: 1}, 2*math.Pi*random.Float64())
	return pose.Pose{T: sight.Scale(distance), R: turn.Mul(tilt).Mul(pose.AxisAngle(pose.Vec3{X: 1}, math.Pi)).Mul(spin)}
}

// cornersSeen returns where the corners of a marker are seen, exactly.
func cornersSeen(cam *camera.Camera, cameraFromMarker pose.Pose) (corners [4]marker.Corner) {
	const h = edge / 2
	for i, p := range [4]pose.Vec3{{X: -h, Y: h}, {X: h, Y: h}, {X: h, Y: -h}, {X: -h, Y: -h}} {
		u, v, _ := cam.Project(cameraFromMarker.Apply(p))
		corners[i] = marker.Corner{U: u, V: v, UU: 1e-4, VV: 1e-4}
	}
	return corners
}
