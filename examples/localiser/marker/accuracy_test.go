package marker_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram/examples/localiser/marker"
	"github.com/seed-301d4374/engram/examples/localiser/render"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
)

// A marker of 15 cm seen at 1.5 m from 20° to 60° off its normal is located within 1 cm and
// 2°, with noise, blur and vignetting, and within 2 cm where the blur is nearly half a cell.
func TestAccuracy(t *testing.T) {
	f := marker.AprilTag36h11()
	for _, c := range []struct {
		name   string
		family *marker.Family
		sensor render.Sensor
		n      int
		within float64 // metres
	}{
		{"usual", f, render.Sensor{Blur: 1, Noise: 4, Vignetting: 0.3}, testkit.Repeats(12, 500), 0.01},
		{"sharp", f, render.Sensor{}, testkit.Repeats(4, 100), 0.01},
		{"noisy", f, render.Sensor{Blur: 1, Noise: 10, Vignetting: 0.3}, testkit.Repeats(4, 200), 0.01},
		{"blurred", f, render.Sensor{Blur: 1.5, Noise: 4}, testkit.Repeats(4, 200), 0.02},
		{"4x4", marker.ArUco4x4(), render.Sensor{Blur: 1, Noise: 4}, testkit.Repeats(4, 200), 0.01},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := series(t, c.family, c.n, 1.5, c.sensor)
			t.Log(m)
			if 100*m.lost > c.n || m.ambiguous > 0 {
				t.Errorf("of %d markers %d are not found and %d are ambiguous", c.n, m.lost, m.ambiguous)
			}
			if most(m.position) > c.within || most(m.rotation) > 2*math.Pi/180 {
				t.Errorf("an error is larger than %g m or 2°", c.within)
			}
			// Covariances are never as small as in perfect images, and do not know of a blur that
			// reaches from cell to cell.
			if c.sensor.Blur == 1 && (mean(m.nees) < 0.3 || mean(m.nees) > 9) {
				t.Errorf("the squared errors are %.2f times what the covariances say on average, want 6", mean(m.nees))
			}
		})
	}
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}

func most(x []float64) float64 { return slices.Max(append(x, 0)) }

// misses are what a series of estimates missed the truth by.
type misses struct {
	position, rotation, corner, nees []float64 // metres, radians, pixels, 1
	lost, ambiguous                  int
}

func (m *misses) String() string {
	spread := func(name, unit string, scale float64, x []float64) string {
		if len(x) == 0 {
			return name + ": none"
		}
		sorted := slices.Sorted(slices.Values(x))
		return fmt.Sprintf("%s median %.3g, p95 %.3g, max %.3g%s", name, scale*sorted[len(x)/2], scale*sorted[len(x)*95/100], scale*sorted[len(x)-1], unit)
	}
	return fmt.Sprintf("%d found, %d lost, %d ambiguous; %s; %s; %s; %s", len(m.position), m.lost, m.ambiguous,
		spread("position", " mm", 1e3, m.position), spread("rotation", "°", 180/math.Pi, m.rotation),
		spread("corners", " px", 1, m.corner), spread("NEES", "", 1, m.nees))
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
	random := rand.New(rand.NewPCG(testkit.Seed(t), 2))
	m := &misses{}
	for i := range n {
		id := random.IntN(len(f.Codes))
		truth := anyPose(random, &cam, distance, (20+40*random.Float64())*math.Pi/180)
		sensor.Seed = random.Uint64()
		result, err := detector.Detect(photograph(t, renderer, &cam, sensor, poster(t, f, id, truth)))
		if err != nil {
			t.Fatal(err)
		}
		found, err := result.Find(f, id)
		if err != nil {
			m.lost++
			t.Logf("pose %d: %v; %v", i, err, result.Rejections)
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
	for i, c := range cornersSeen(&cam, truth) {
		m.corner = append(m.corner, math.Hypot(d.Corners[i].U-c.U, d.Corners[i].V-c.V))
	}
	m.nees = append(m.nees, nees(got, truth))
}

// nees returns the squared error in units of the covariance, 6 on average where this is
// right.
func nees(got *marker.Estimate, truth pose.Pose) (sum float64) {
	x := pose.Log(got.Pose.Inverse().Mul(truth))
	b := [6]float64{x.Rho.X, x.Rho.Y, x.Rho.Z, x.Phi.X, x.Phi.Y, x.Phi.Z}
	m := got.Cov.Matrix()
	// L·D·Lᵀ of the covariance by Gauss; the sum of (L⁻¹·b)²/D.
	for i := range 6 {
		for j := i + 1; j < 6; j++ {
			k := m[j][i] / m[i][i]
			for c := i; c < 6; c++ {
				m[j][c] -= k * m[i][c]
			}
			b[j] -= k * b[i]
		}
		sum += b[i] * b[i] / m[i][i]
	}
	return sum
}
