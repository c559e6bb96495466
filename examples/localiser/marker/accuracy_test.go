package marker_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram/examples/localiser/marker"
	"github.com/seed-301d4374/engram/examples/localiser/render"
	"github.com/seed-301d4374/engram/mind/pose"
)

// errors are what a series of estimates missed the truth by.
type misses struct {
	position, rotation, corner, nees []float64
	lost, ambiguous                  int
}

func (m *misses) String() string {
	spread := func(name, unit string, scale float64, x []float64) string {
		slices.Sort(x)
		if len(x) == 0 {
			return name + ": none"
		}
		return fmt.Sprintf("%s median %.3g, p95 %.3g, max %.3g %s", name, scale*x[len(x)/2], scale*x[len(x)*95/100], scale*x[len(x)-1], unit)
	}
	return fmt.Sprintf("%d found, %d lost, %d ambiguous; %s; %s; %s; %s", len(m.position), m.lost, m.ambiguous,
		spread("position", "mm", 1e3, m.position), spread("rotation", "°", 180/math.Pi, m.rotation),
		spread("corners", "px", 1, m.corner), spread("NEES", "", 1, m.nees))
}

// series locates markers in n random poses.
func series(t *testing.T, f *marker.Family, n int, distance float64, sensor render.Sensor) *misses {
	t.Helper()
	cam := vga()
	detector, err := marker.NewDetector(marker.Options{Families: []*marker.Family{f}})
	if err != nil {
		t.Fatal(err)
	}
	renderer := &render.Renderer{Background: render.Grey(110)}
	random := rand.New(rand.NewPCG(1, 2))
	m := &misses{}
	for i := range n {
		id := random.IntN(len(f.Codes))
		truth := anyPose(random, &cam, distance, (20+40*random.Float64())*math.Pi/180)
		sensor.Seed = uint64(i)
		grey := photograph(t, renderer, &cam, sensor, poster(t, f, id, truth))
		result, err := detector.Detect(grey)
		if err != nil {
			t.Fatal(err)
		}
		found, err := result.Find(f, id)
		if err != nil {
			m.lost++
			continue
		}
		if len(result.Detections) > 1 {
			t.Errorf("pose %d: %d markers are detected where there is one", i, len(result.Detections))
		}
		got, err := marker.Locate(found, edge, &cam, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.add(found, &got, truth)
	}
	return m
}

func (m *misses) add(d *marker.Detection, got *marker.Estimate, truth pose.Pose) {
	if got.Ambiguous {
		m.ambiguous++
	}
	position, rotation := got.Pose.Distance(truth)
	m.position, m.rotation = append(m.position, position), append(m.rotation, rotation)
	cam := vga()
	h := edge / 2
	for i, c := range [4]pose.Vec3{{X: -h, Y: h}, {X: h, Y: h}, {X: h, Y: -h}, {X: -h, Y: -h}} {
		u, v, _ := cam.Project(truth.Apply(c))
		m.corner = append(m.corner, math.Hypot(d.Corners[i].U-u, d.Corners[i].V-v))
	}
	m.nees = append(m.nees, nees(got, truth))
}

// nees returns the normalised squared error: the squared error in units of the covariance,
// about 6 on average where this is right.
func nees(got *marker.Estimate, truth pose.Pose) float64 {
	x := pose.Log(got.Pose.Inverse().Mul(truth))
	b := []float64{x.Rho.X, x.Rho.Y, x.Rho.Z, x.Phi.X, x.Phi.Y, x.Phi.Z}
	m := got.Cov.Matrix()
	// Gaussian elimination; the covariance is positive definite.
	y := slices.Clone(b)
	for i := range 6 {
		for j := i + 1; j < 6; j++ {
			k := m[j][i] / m[i][i]
			for c := i; c < 6; c++ {
				m[j][c] -= k * m[i][c]
			}
			y[j] -= k * y[i]
		}
	}
	var sum float64
	for i := 5; i >= 0; i-- {
		for c := i + 1; c < 6; c++ {
			y[i] -= m[i][c] * y[c]
		}
		y[i] /= m[i][i]
		sum += y[i] * b[i]
	}
	return sum
}

func TestX(t *testing.T) {
	for _, f := range []*marker.Family{marker.AprilTag36h11(), marker.ArUco4x4(), marker.ArUcoOriginal()} {
		t.Log(f.Name, series(t, f, 60, 1.5, render.Sensor{Blur: 1, Noise: 4, Vignetting: 0.3}))
	}
	f := marker.AprilTag36h11()
	t.Log("clean", series(t, f, 60, 1.5, render.Sensor{}))
	t.Log("blur", series(t, f, 60, 1.5, render.Sensor{Blur: 1}))
	t.Log("noise 10", series(t, f, 60, 1.5, render.Sensor{Blur: 1, Noise: 10}))
	t.Log("blur 1.5", series(t, f, 60, 1.5, render.Sensor{Blur: 1.5, Noise: 4}))
	t.Log("2.5 m", series(t, f, 60, 2.5, render.Sensor{Blur: 1, Noise: 4}))
	t.Log("0.6 m", series(t, f, 60, .6, render.Sensor{Blur: 1, Noise: 4}))
}
