package marker_test

import (
	"errors"
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localiser/camera"
	"github.com/seed-301d4374/engram/examples/localiser/marker"
	"github.com/seed-301d4374/engram/mind/pose"
)

// seen is a detection with exact corners.
func seen(cam *camera.Camera, cameraFromMarker pose.Pose) *marker.Detection {
	return &marker.Detection{Family: marker.AprilTag36h11(), Corners: cornersSeen(cam, cameraFromMarker)}
}

// Exact corners give the exact pose, through a lens that distorts, too.
func TestLocateExactly(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	bent := vga()
	bent.Distortion = [5]float64{-0.28, 0.09, 0.001, -0.0005, -0.01}
	for _, cam := range []camera.Camera{vga(), bent} {
		for range 300 {
			truth := anyPose(random, &cam, 0.4+2*random.Float64(), 1.3*random.Float64())
			got, err := marker.Locate(seen(&cam, truth), edge, &cam, nil)
			if err != nil {
				t.Fatal(err)
			}
			if position, rotation := got.Pose.Distance(truth); !got.Ambiguous && (position > 1e-5 || rotation > 1e-4) {
				t.Errorf("%v is located at %v, off by %g m and %g rad, with an error of %g pixels", truth, got.Pose, position, rotation, got.Error)
			}
		}
	}
}

// A small marker far away looks the same in two poses. Both are told, and a guess decides.
func TestLocateAmbiguously(t *testing.T) {
	cam := vga()
	tilted := pose.AxisAngle(pose.Vec3{X: 1}, 0.35)
	truth := pose.Pose{T: pose.Vec3{X: 0.1, Z: 6}, R: tilted.Mul(facing(1).R)}
	d := seen(&cam, truth)
	for i := range d.Corners {
		d.Corners[i].UU, d.Corners[i].VV = 0.04, 0.04
	}
	got, err := marker.Locate(d, edge, &cam, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Ambiguous || got.Other == nil {
		t.Fatalf("the pose is not ambiguous: %+v", got)
	}
	if _, turn := got.Pose.Distance(got.Other.Pose); turn < 0.5 || got.Error > 0.2 || got.Other.Error > 0.2 {
		t.Errorf("the two poses differ by %g rad, with errors of %g and %g pixels; want about 0.7 and little", turn, got.Error, got.Other.Error)
	}
	for _, want := range []pose.Pose{got.Pose, got.Other.Pose} {
		near := want.Mul(pose.Exp(pose.Twist{Phi: pose.Vec3{X: 0.1, Y: 0.1}}))
		chosen, err := marker.Locate(d, edge, &cam, &near)
		if err != nil {
			t.Fatal(err)
		}
		if _, turn := chosen.Pose.Distance(want); turn > 1e-3 || !chosen.Ambiguous {
			t.Errorf("with a guess near %v the pose is %v", want, chosen.Pose)
		}
	}
}

// A guess does not overrule corners that are clear.
func TestGuessYieldsToTheImage(t *testing.T) {
	cam := vga()
	truth := pose.Pose{T: pose.Vec3{Z: 1}, R: pose.AxisAngle(pose.Vec3{X: 1}, 0.6).Mul(facing(1).R)}
	clear, err := marker.Locate(seen(&cam, truth), edge, &cam, nil)
	if err != nil {
		t.Fatal(err)
	}
	if clear.Ambiguous || clear.Other == nil {
		t.Fatalf("%+v is not one clear pose with another", clear)
	}
	got, err := marker.Locate(seen(&cam, truth), edge, &cam, &clear.Other.Pose)
	if err != nil {
		t.Fatal(err)
	}
	if _, turn := got.Pose.Distance(truth); turn > 1e-3 {
		t.Errorf("a wrong guess turns the pose by %g rad", turn)
	}
}

// The covariance is that of what comes out if the corners err as theirs say.
func TestCovarianceIsThatOfTheCorners(t *testing.T) {
	cam := vga()
	truth := pose.Pose{T: pose.Vec3{X: 0.2, Y: -0.1, Z: 1.5}, R: pose.AxisAngle(pose.Vec3{X: 0.6, Y: 0.8}, 0.7).Mul(facing(1).R)}
	random := rand.New(rand.NewPCG(7, 8))
	const n, sigma = 2000, 0.05
	var sum float64
	for range n {
		d := seen(&cam, truth)
		for i := range d.Corners {
			c := &d.Corners[i]
			c.U, c.V = c.U+sigma*random.NormFloat64(), c.V+sigma*random.NormFloat64()
			c.UU, c.VV = sigma*sigma, sigma*sigma
		}
		got, err := marker.Locate(d, edge, &cam, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum += nees(&got, truth) / n
	}
	// Where the mismatch is large by chance the covariance is, too.
	if sum < 4.5 || sum > 6.5 {
		t.Errorf("the squared error is %.2f times what the covariance says, want about 5", sum)
	}
}

func TestLocateNothing(t *testing.T) {
	cam := vga()
	good := seen(&cam, facing(1))
	bad := seen(&cam, facing(1))
	bad.Corners[0], bad.Corners[2] = bad.Corners[2], bad.Corners[0] // seen from its back
	certain := seen(&cam, facing(1))
	certain.Corners[1].UU = 0
	for name, c := range map[string]struct {
		d    *marker.Detection
		edge float64
		cam  camera.Camera
	}{
		"an edge of 0":        {good, 0, cam},
		"an edge that is NaN": {good, math.NaN(), cam},
		"no camera":           {good, edge, camera.Camera{}},
		"corners of a back":   {bad, edge, cam},
		"a certain corner":    {certain, edge, cam},
	} {
		if got, err := marker.Locate(c.d, c.edge, &c.cam, nil); !errors.Is(err, engram.Invalid) {
			t.Errorf("%s: %+v, %v; want invalid", name, got, err)
		}
	}
}

func TestRegion(t *testing.T) {
	cam := vga()
	got, err := marker.Region(facing(1), edge, &cam, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	// 83 pixels wide, and half of it more on each side.
	if want := image.Rect(236, 156, 404, 324); got.Min.X < want.Min.X-2 || got.Max.X > want.Max.X+2 || got.Min.Y < want.Min.Y-2 || got.Max.Y > want.Max.Y+2 || got.Dx() < 160 {
		t.Errorf("the region is %v, want about %v", got, want)
	}
	for _, p := range []pose.Pose{pose.Translation(0.6, 0, 1), pose.Translation(0, 0, -1)} {
		if got, err := marker.Region(p, edge, &cam, 0.5); !errors.Is(err, engram.OutOfRange) {
			t.Errorf("the region at %v is %v, %v; want out of range", p.T, got, err)
		}
	}
}
