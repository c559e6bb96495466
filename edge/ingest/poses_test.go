package ingest

import (
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// imported imports a recording of the reports into a memory, which takes all of it, and returns
// its poses and what was noted.
func imported(t *testing.T, name string) (lookup.Service, map[string]uint64) {
	t.Helper()
	s := newServer(t)
	r, err := Import(t.Context(), s, testkit.Shared(t, "reports", name), Options{Source: "run"})
	if err != nil || r.Refused > 0 || r.Lossy() {
		t.Fatalf("%v, %+v", err, r)
	}
	noted := map[string]uint64{}
	for _, topic := range r.Topics {
		for _, n := range topic.Noted {
			noted[n.Text] += n.Count
		}
	}
	return poses.NewClient(feature.Within(s)), noted
}

func answerAt(t *testing.T, p lookup.Service, target, source string, at engram.Time) lookup.Answer {
	t.Helper()
	a, err := p.LookUp(t.Context(), []lookup.Question{{Target: "run/" + target, Source: "run/" + source, Time: at, Cov: true}})
	if err != nil {
		t.Fatal(err)
	}
	return a[0]
}

func wantAt(t *testing.T, a lookup.Answer, x, y, z float64) {
	t.Helper()
	if d := a.Pose.T.Sub(pose.Vec3{X: x, Y: y, Z: z}).Norm(); a.Err != nil || d > 1e-9 {
		t.Errorf("%s ← %s at %v: %v, %v; want %g %g %g", a.Target, a.Source, a.Info.TargetTime, a.Pose, a.Err, x, y, z)
	}
}

const reportStart = engram.Time(1_700_000_000e9)

// An edge that was static and moves then is where it was stated last.
func TestStaticThenDynamic(t *testing.T) {
	p, noted := imported(t, "static_then_dynamic.mcap")
	at := func(s float64) engram.Time { return reportStart + engram.Time(s*1e9) }
	wantAt(t, answerAt(t, p, "map", "base", at(3)), 13, 6, 0)
	wantAt(t, answerAt(t, p, "map", "odom", at(2.5)), 2.5, 5, 0)
	wantAt(t, answerAt(t, p, "map", "odom", at(0)), 0, 0, 0)
	wantAt(t, answerAt(t, p, "map", "odom", at(0.5)), 0, 0, 0)
	if left, err := p.LeftOut(t.Context()); err != nil || len(left) > 0 || len(noted) > 0 {
		t.Errorf("left out are %v, noted is %v, %v", left, noted, err)
	}
}

// What a driver does not measure is unknown, and hides nothing of what it does.
func TestHugeCovariances(t *testing.T) {
	p, noted := imported(t, "odometry_huge_covariance.mcap")
	for i := range 9 {
		at := reportStart + engram.Time(i)*5e8
		a := answerAt(t, p, "odom", "base_footprint", at)
		wantAt(t, a, float64(i)/2, 0, 0)
		if a.Cov.Mask != pose.PlanarDims {
			t.Errorf("at %v the mask is %#x: %v", at, a.Cov.Mask, a.Cov)
		}
		for dim, sigma := range map[int]float64{0: math.Sqrt(0.1), 1: math.Sqrt(0.1), 5: math.Sqrt(0.2)} {
			if got := math.Sqrt(a.Cov.At(dim, dim)); math.Abs(got-sigma) > 1e-9 {
				t.Errorf("at %v dimension %d has σ %g; want %g", at, dim, got, sigma)
			}
		}
		back := answerAt(t, p, "base_footprint", "odom", at)
		if back.Err != nil || back.Cov.Mask != pose.PlanarDims || math.Abs(back.Cov.At(5, 5)-0.2) > 1e-9 {
			t.Errorf("back at %v: %v, mask %#x, %v", at, back.Cov, back.Cov.Mask, back.Err)
		}
		for _, x := range append(back.Cov.S[:], a.Cov.S[:]...) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Errorf("at %v: %v and %v", at, a.Cov, back.Cov)
			}
		}
	}
	if len(noted) > 0 {
		t.Errorf("noted is %v", noted)
	}
}

// Quaternions that libtf2 takes are taken, and the import tells of how many.
func TestQuaternionTolerance(t *testing.T) {
	p, noted := imported(t, "quaternion_tolerance.mcap")
	wantAt(t, answerAt(t, p, "odom", "cam", reportStart+2e9), 2, 0, 0.9)
	for _, e := range [][2]string{{"base", "mast"}, {"mast", "cam"}, {"odom", "base"}, {"base", "imu"}} {
		a := answerAt(t, p, e[0], e[1], reportStart+2e9)
		if n := a.Pose.R.Norm(); a.Err != nil || math.Abs(n-1) > 1e-12 {
			t.Errorf("%v: %v of length %g, %v", e, a.Pose, n, a.Err)
		}
	}
	for text, n := range noted {
		if !strings.Contains(text, "normalised") || n == 0 {
			t.Errorf("%d × %s", n, text)
		}
	}
	if len(noted) != 2 {
		t.Errorf("noted is %v; want that of two edges", noted)
	}
}
