package predict_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/predict"
)

// The covariance of a rotation is that of small turns in the parent's axes, as package pose has it.
func TestPoseCovariance(t *testing.T) {
	q := pose.AxisAngle(pose.Vec3{X: 1, Y: 2, Z: -1}, 1.1)
	f := predict.Forecast{Mean: []float64{1, 2, 3, q.X, q.Y, q.Z, q.W}, SD: []float64{0.1, 0.2, 0.3, 1e-3, 3e-3, 2e-3, 1e-3}}
	p := predict.Pose{Translation: 0, Rotation: 3}
	got := p.Covariance(&f)
	r := rand.New(rand.NewPCG(1, 1))
	var want [3][3]float64
	const n = 20000
	for range n {
		o := pose.Quat{X: q.X + f.SD[3]*r.NormFloat64(), Y: q.Y + f.SD[4]*r.NormFloat64(), Z: q.Z + f.SD[5]*r.NormFloat64(), W: q.W + f.SD[6]*r.NormFloat64()}
		d := o.Mul(q.Conj()) // in the parent's axes
		v := [3]float64{2 * d.X, 2 * d.Y, 2 * d.Z}
		for a := range v {
			for b := range v {
				want[a][b] += v[a] * v[b] / n
			}
		}
	}
	for a := range 3 {
		if math.Abs(got[7*a]-f.SD[a]*f.SD[a]) > 1e-12 {
			t.Errorf("the variance of position %d is %v", a, got[7*a])
		}
		for b := range 3 {
			if d := got[6*(3+a)+3+b]; math.Abs(d-want[a][b]) > 0.05*math.Sqrt(want[a][a]*want[b][b]) {
				t.Errorf("turns %d and %d: %v, want %v", a, b, d, want[a][b])
			}
		}
	}
	if _, err := pose.CovFromROS(pose.Pose{R: q}, &got); err != nil {
		t.Error(err)
	}
}
