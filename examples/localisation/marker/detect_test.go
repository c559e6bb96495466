package marker_test

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram/examples/localisation/marker"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/pose"
)

// camera640 is the simulation's camera of 640x480.
var camera640 = marker.Camera{Width: 640, Height: 480, FX: 525, FY: 525, CX: 319.5, CY: 239.5}

// seen is one rendered image of one marker with its truth.
type seen struct {
	image image.Image
	truth pose.Pose // of the marker in the camera's frame
}

// view says how a marker is looked at.
type view struct {
	family      *marker.Family
	id          int
	size        float64
	distance    float64
	tilt        float64 // greatest angle between the marker's normal and the line of sight
	blur, noise float64
}

// look renders a marker in the middle third of an image, in front of a room.
func look(t testing.TB, rnd *rand.Rand, v view) seen {
	t.Helper()
	bits, err := v.family.Bits(v.id)
	if err != nil {
		t.Fatal(err)
	}
	// The camera looks along the room from 1.2 m above the floor, a little down.
	eye := pose.Vec3{X: -2, Y: 0.3, Z: 1.2}
	camera := sim.LookingFrom(eye, pose.Vec3{X: 1, Y: 0, Z: 0.9})
	u, w := 213+213*rnd.Float64(), 160+160*rnd.Float64()
	ray := camera640.Ray(u, w)
	at := ray.Scale(v.distance / ray.Norm())
	// Facing the camera, then turned about the line of sight and tilted.
	facing := pose.Pose{T: at, R: pose.AxisAngle(pose.Vec3{X: 1}, math.Pi)}
	axis := 2 * math.Pi * rnd.Float64()
	tilt := v.tilt * math.Sqrt(rnd.Float64())
	facing.R = pose.AxisAngle(pose.Vec3{X: math.Cos(axis), Y: math.Sin(axis)}, tilt).Mul(facing.R).Mul(pose.AxisAngle(pose.Vec3{Z: 1}, 2*math.Pi*rnd.Float64()))
	world := camera.Mul(facing)
	scene := sim.Scene{
		Floor:   true,
		Boxes:   []sim.Box{{Pose: pose.Translation(2.5, 0, 1.5), Size: pose.Vec3{X: 0.1, Y: 6, Z: 3}, Colour: [3]uint8{120, 130, 90}}, {Pose: pose.Translation(1, 1.3, 0.4), Size: pose.Vec3{X: 0.5, Y: 0.5, Z: 0.8}, Colour: [3]uint8{60, 60, 160}}},
		Markers: []sim.Marker{{Pose: world, Size: v.size, Bits: bits}},
	}
	picture := scene.Render(sim.SceneCamera{Pose: camera, Width: 640, Height: 480, Focal: 525, Blur: v.blur, Noise: v.noise, Seed: rnd.Uint64()})
	return seen{rgb(picture.RGB, 640, 480), camera.Inverse().Mul(world)}
}

func rgb(pix []byte, w, h int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		copy(img.Pix[4*i:], pix[3*i:3*i+3])
		img.Pix[4*i+3] = 255
	}
	return img
}

// quantiles describes errors.
func quantiles(v []float64) string {
	slices.Sort(v)
	at := func(q float64) float64 { return v[min(int(q*float64(len(v))), len(v)-1)] }
	return fmt.Sprintf("p50 %.4f p90 %.4f p99 %.4f max %.4f", at(0.5), at(0.9), at(0.99), v[len(v)-1])
}

// TestPoses renders markers at random poses, tilted by up to 60°, with noise and blur. What
// it logs are the figures of the detector.
func TestPoses(t *testing.T) {
	const size = 0.16
	for _, c := range []struct {
		distance, blur, noise float64
		metres, degrees       float64 // what is allowed
	}{
		{0.5, 0.7, 2, 0.002, 0.5},
		{1, 0.7, 2, 0.005, 1},
		{1.5, 0, 0, 0.01, 2},
		{1.5, 0.7, 2, 0.01, 2},
		{1.5, 0.9, 5, 0.01, 2},
		{1.5, 1.2, 8, 0.01, 2},
		{1.5, 1.2, 12, 0.012, 2},
		{2, 0.7, 2, 0.02, 2},
		{2.5, 0.7, 2, 0.04, 3},
	} {
		for _, f := range marker.Families() {
			rnd := rand.New(rand.NewPCG(1, 2))
			var metres, degrees, fits []float64
			for i := range testkit.Repeats(2, 20) {
				s := look(t, rnd, view{f, i, size, c.distance, math.Pi / 3, c.blur, c.noise})
				found, err := marker.Detect(s.image, camera640, f, size)
				if err != nil || len(found) != 1 || found[0].ID != i {
					t.Fatalf("%s %d: %v, %+v", f, i, err, found)
				}
				far, turned := found[0].Pose.Distance(s.truth)
				metres, degrees = append(metres, far), append(degrees, turned*180/math.Pi)
				fits = append(fits, mahalanobis(found[0].Pose, s.truth, found[0].Covariance))
			}
			t.Logf("%s at %.1f m, blur %.1f, noise %.0f: m %s; ° %s; squared by the covariance %s", f, c.distance, c.blur, c.noise, quantiles(metres), quantiles(degrees), quantiles(fits))
			if worst := slices.Max(metres); worst > c.metres {
				t.Errorf("%s at %.1f m: off by %.4f m", f, c.distance, worst)
			}
			if worst := slices.Max(degrees); worst > c.degrees {
				t.Errorf("%s at %.1f m: off by %.2f°", f, c.distance, worst)
			}
			// Six on average, if errors were as the covariance says; half of them are below 12.
			if middle := fits[len(fits)/2]; middle > 12 {
				t.Errorf("%s at %.1f m: the covariance is too small: %.1f", f, c.distance, middle)
			}
		}
	}
}

// mahalanobis returns the squared distance of a pose from the truth in the terms of its
// covariance: 6 on average if that is right.
func mahalanobis(p, truth pose.Pose, cov pose.Cov) float64 {
	d := p.Inverse().Mul(truth)
	angle := d.R.Angle()
	axis := pose.Vec3{X: d.R.X, Y: d.R.Y, Z: d.R.Z}
	if d.R.W < 0 {
		axis = axis.Scale(-1)
	}
	if n := axis.Norm(); n > 1e-12 {
		axis = axis.Scale(angle / n)
	}
	// For small turns the logarithm is this.
	xi := [6]float64{d.T.X, d.T.Y, d.T.Z, axis.X, axis.Y, axis.Z}
	m := cov.Matrix()
	// Solve m·y = xi by Gauss and Jordan's method, scaled.
	var a [6][7]float64
	for i := range 6 {
		for j := range 6 {
			a[i][j] = m[i][j] / math.Sqrt(m[i][i]*m[j][j])
		}
		a[i][6] = xi[i] / math.Sqrt(m[i][i])
	}
	z := a
	for i := range 6 {
		for j := 6; j >= i; j-- {
			a[i][j] /= a[i][i]
		}
		for k := range 6 {
			if k != i {
				for j := 6; j >= i; j-- {
					a[k][j] -= a[k][i] * a[i][j]
				}
			}
		}
	}
	sum := 0.0
	for i := range 6 {
		sum += z[i][6] * a[i][6]
	}
	return sum
}

// BenchmarkDetect looks at a rendered room with a marker in 640x480.
func BenchmarkDetect(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	s := look(b, rnd, view{marker.Tag36h11, 1, 0.16, 1.5, 0.5, 0.7, 2})
	grey := marker.Grey(s.image)
	b.ReportAllocs()
	for b.Loop() {
		if found, err := marker.Detect(grey, camera640, marker.Tag36h11, 0.16); err != nil || len(found) != 1 {
			b.Fatal(found, err)
		}
	}
}
