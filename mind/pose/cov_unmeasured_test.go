package pose

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// planarROS is the covariance of a driver that measures x, y and yaw and writes big for the rest.
func planarROS(big float64) *[36]float64 {
	var m [36]float64
	for i, v := range [6]float64{0.1, 0.1, big, big, big, 0.2} {
		m[7*i] = v
	}
	return &m
}

// What drivers write for what they do not measure is unknown, and hides nothing of the rest:
// neither along a path nor of the checks of it.
func TestUnmeasuredIsUnknown(t *testing.T) {
	for _, big := range []float64{1e6, 1e9, 1e12, math.MaxFloat64, math.Inf(1)} {
		p := Pose{T: Vec3{1, 2, 0}, R: RPY(0, 0, 0.7)}
		c := must[Cov](t)(CovFromROS(p, planarROS(big)))
		if c.Mask != PlanarDims || math.Abs(c.At(0, 0)-0.1) > 1e-12 || c.At(2, 2) != 0 || math.Abs(c.At(5, 5)-0.2) > 1e-12 {
			t.Errorf("%g: %v, mask %#x", big, c, c.Mask)
		}
		if back := must[Cov](t)(CovFromROS(p, new(c.ROS(p)))); back.Mask != PlanarDims || covError(&back, &c) > 1e-12 {
			t.Errorf("%g: there and back it is %v, mask %#x", big, back, back.Mask)
		}
		m := planarROS(big)
		m[1], m[2], m[12] = 0.05, big/2, big/2 // a covariance with what is not measured says nothing
		if _, err := CovFromROS(p, m); err == nil {
			t.Errorf("%g: a matrix that is not symmetric where it counts is taken", big)
		}
		m[6] = 0.05
		if c := must[Cov](t)(CovFromROS(p, m)); c.Mask != PlanarDims {
			t.Errorf("%g: mask %#x", big, c.Mask)
		}
		all := ExactCov()
		for _, i := range [6]int{0, 6, 11, 15, 18, 20} {
			all.S[i] = big
		}
		if c := must[Cov](t)(all.Checked()); c != (Cov{}) {
			t.Errorf("%g everywhere: %v", big, c)
		}
	}
	// A quaternion of float32 is not quite level; one that tilts by a degree mixes z into the rest.
	for tilt, want := range map[float64]uint8{1e-7: PlanarDims, 1e-6: PlanarDims, 0.02: 0} {
		p := Pose{R: RPY(tilt, -tilt, 0.7)}
		c := must[Cov](t)(CovFromROS(p, planarROS(1e6)))
		s := New(Config{})
		e := must[*FreeEdge](t)(s.Free("odom", "base"))
		ok(t, e.SetCov(0, p, c))
		ok(t, e.SetCov(second, p, c))
		_, there, _, _ := pathOf(t, s, "odom", "base").AtCov(second / 2)
		_, back, _, _ := pathOf(t, s, "base", "odom").AtCov(second)
		for _, c := range []Cov{c, there, back} {
			if c.Mask&PlanarDims != want {
				t.Errorf("tilted by %g rad: mask %#x, want %#x", tilt, c.Mask, want)
			}
		}
	}
	refused(t, func() error { _, err := CovFromROS(Identity(), planarROS(math.NaN())); return err }(), engram.Invalid)
	// A kilometre and a turn are the bounds, in which everything stays as it was.
	c := DiagonalCov(999, 6.28)
	if got := must[Cov](t)(c.Checked()); got != c {
		t.Errorf("%v instead of %v", got, c)
	}
	s := New(Config{})
	j := must[*JointEdge](t)(s.Joint("base", "arm", JointSpec{Name: "arm", Type: urdf.Revolute, Origin: Identity(), Axis: Vec3{Z: 1}}))
	ok(t, j.Set(0, 0, math.MaxFloat64))
	if _, cov, _, fail := pathOf(t, s, "base", "arm").AtCov(0); fail.Code != OK || cov.State() != Unknown {
		t.Errorf("a joint whose sigma is the greatest number: %v, %v", cov, fail.Err())
	}
}

// What is no number is named by its place.
func TestNoNumberInACovariance(t *testing.T) {
	var m [6][6]float64
	m[0][0], m[5][5] = 0.1, math.NaN()
	if _, err := NewCov(&m); engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), "NaN at row 5, column 5") {
		t.Errorf("a variance that is no number: %v", err)
	}
}

// Whatever covariances and levers are on a way, at, between and beyond samples and in both
// directions, the answer has no NaN and no infinity, and what is measured without a lever stays.
func TestCovariancesAreFinite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		exponent := func(name string, most float64) float64 {
			return math.Pow(10, rapid.Float64Range(-3, most).Draw(rt, name))
		}
		s := New(Config{MaxGap: -1})
		opts := []Option{Extrapolate(1e9)}
		if rapid.Bool().Draw(rt, "propagate") {
			opts = append(opts, Propagate())
		}
		e := must[*FreeEdge](rt)(s.Free("odom", "base", opts...))
		lever := Translation(exponent("lever", 150), exponent("lever", 150), 0)
		ok(t, s.Fixed("base", "cam", lever, DiagonalCov(exponent("σ", 150), exponent("σ", 150))))
		for i := range 3 {
			p := Pose{T: Vec3{exponent("x", 100), 0, 0}, R: RPY(0, 0, float64(i)/2)}
			ok(t, e.SetCov(second*2*engram.Time(i), p, must[Cov](rt)(CovFromROS(p, planarROS(exponent("unmeasured", 308))))))
		}
		for at := engram.Time(0); at <= 5; at++ {
			for _, way := range [][2]string{{"odom", "base"}, {"base", "odom"}, {"odom", "cam"}, {"cam", "odom"}} {
				p := pathOf(t, s, way[0], way[1])
				_, cov, _, fail := p.AtCov(at * second)
				_, between, _, failBetween := p.BetweenCov(at*second, second, "base")
				if fail.Code != OK || failBetween.Code != OK {
					rt.Fatal(fail.Err(), failBetween.Err())
				}
				for i, x := range append(cov.S[:], between.S[:]...) {
					if math.IsNaN(x) || math.IsInf(x, 0) {
						rt.Fatalf("%v at %d: element %d is %g", way, at, i%21, x)
					}
				}
				if way[1] == "base" && cov.Mask&PlanarDims != PlanarDims && at%2 == 0 && at < 5 {
					rt.Fatalf("at %d: mask %#x", at, cov.Mask)
				}
			}
		}
	})
}
