package camera_test

import (
	"errors"
	"math"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localiser/camera"
	"github.com/seed-301d4374/engram/mind/pose"
)

func TestFieldOfView(t *testing.T) {
	cam := camera.FieldOfView(640, 480, math.Pi/3)
	left, _ := cam.Ray(-0.5, 239.5)
	right, _ := cam.Ray(639.5, 239.5)
	if angle := math.Atan(right) - math.Atan(left); math.Abs(angle-math.Pi/3) > 1e-12 {
		t.Errorf("the image is %g rad wide, want 60°", angle)
	}
	if u, v, ok := cam.Project(pose.Vec3{X: 0.1, Y: 0.2, Z: 2}); !ok || math.Abs(u-319.5-0.05*cam.Fx) > 1e-9 || math.Abs(v-239.5-0.1*cam.Fy) > 1e-9 {
		t.Errorf("a point to the right and below is seen at %g, %g, %v", u, v, ok)
	}
	if _, _, ok := cam.Project(pose.Vec3{Z: -1}); ok {
		t.Error("a point behind the camera is seen")
	}
}

// A ray goes through the point that is seen at its pixel, through a lens that distorts too.
func TestRayIsTheReverseOfProject(t *testing.T) {
	cam := camera.FieldOfView(640, 480, math.Pi/3)
	for _, distortion := range [][5]float64{{}, {-0.28, 0.09, 0.001, -0.0005, -0.01}, {0.1, -0.2, -0.002, 0.001, 0.05}} {
		cam.Distortion = distortion
		for u := 0.0; u < 640; u += 71 {
			for v := 0.0; v < 480; v += 53 {
				x, y := cam.Ray(u, v)
				gotU, gotV, _ := cam.Project(pose.Vec3{X: 3 * x, Y: 3 * y, Z: 3})
				if math.Hypot(gotU-u, gotV-v) > 1e-4 {
					t.Errorf("distortion %v: the ray of %g, %g is seen at %g, %g", distortion, u, v, gotU, gotV)
				}
			}
		}
	}
}

// The plumb_bob model as OpenCV's projectPoints has it.
func TestDistortion(t *testing.T) {
	cam := camera.Camera{Width: 640, Height: 480, Fx: 500, Fy: 500, Cx: 320, Cy: 240, Distortion: [5]float64{0.1, -0.05, 0.002, -0.003, 0.01}}
	u, v, _ := cam.Project(pose.Vec3{X: 0.3, Y: -0.2, Z: 1})
	if wantU, wantV := 471.241545500, 139.172303000; math.Hypot(u-wantU, v-wantV) > 1e-6 {
		t.Errorf("the point is seen at %.9g, %.9g, want %.9g, %.9g", u, v, wantU, wantV)
	}
}

func TestContains(t *testing.T) {
	cam := camera.FieldOfView(640, 480, math.Pi/3)
	for _, c := range []struct {
		u, v, margin float64
		want         bool
	}{{0, 0, 0, true}, {-0.6, 0, 0, false}, {639.4, 479.4, 0, true}, {639.6, 0, 0, false}, {5, 100, 10, false}, {100, 475, 10, false}} {
		if got := cam.Contains(c.u, c.v, c.margin); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestCamerasThatAreNone(t *testing.T) {
	good := camera.FieldOfView(640, 480, math.Pi/3)
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(c *camera.Camera){
		"no width":              func(c *camera.Camera) { c.Width = 0 },
		"a negative height":     func(c *camera.Camera) { c.Height = -1 },
		"no focal length":       func(c *camera.Camera) { c.Fx = 0 },
		"an endless one":        func(c *camera.Camera) { c.Fy = math.Inf(1) },
		"no principal point":    func(c *camera.Camera) { c.Cx = math.NaN() },
		"an endless distortion": func(c *camera.Camera) { c.Distortion[4] = math.Inf(1) },
	} {
		bad := good
		spoil(&bad)
		if err := bad.Check(); !errors.Is(err, engram.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
}

func TestRotation(t *testing.T) {
	x, y := pose.Vec3{X: 1}, pose.Vec3{Y: 1}
	for i := range 64 {
		want := pose.RPY(float64(i&3)*1.6-3, float64(i>>2&3)*1.6-3, float64(i>>4)*1.6-3)
		got := camera.Rotation(want.Rotate(x), want.Rotate(y))
		if angle := got.Conj().Mul(want).Angle(); angle > 1e-7 {
			t.Errorf("the rotation of the axes of %v is %v", want, got)
		}
	}
	// Axes 88° apart are both turned by 1°.
	s, c := math.Sincos(88 * math.Pi / 180)
	got := camera.Rotation(x, pose.Vec3{X: c, Y: s})
	if want := pose.AxisAngle(pose.Vec3{Z: 1}, -math.Pi/180); got.Conj().Mul(want).Angle() > 1e-9 {
		t.Errorf("the rotation of skew axes is %v, want %v", got, want)
	}
}
