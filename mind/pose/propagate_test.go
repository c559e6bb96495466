package pose

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// What propagation says is how the answer moves when one end is moved a little.
func TestPropagationByPerturbation(t *testing.T) {
	const eps = 1e-5
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		a, b, u := randomPose(r), randomPose(r), r.Float64()
		if a.Inverse().Mul(b).R.Angle() > 3 {
			return // beyond half a turn the short way is another one
		}
		ca, cb := randomCov(r, 0.01), randomCov(r, 0.02)
		for name, c := range map[string]struct {
			between   func(a, b Pose, u float64) Pose
			propagate func(a Pose, ca *Cov, b Pose, cb *Cov, u float64) Cov
		}{
			"on a line":  {Interpolate, PropagateCov},
			"on a screw": {Geodesic, PropagateGeodesicCov},
		} {
			p := c.between(a, b, u)
			var ja, jb matrix6
			for k := range 6 {
				plus, minus := Exp(basisTwist(k).Scale(eps)), Exp(basisTwist(k).Scale(-eps))
				by := func(j *matrix6, up, down Pose) {
					x := Log(p.Inverse().Mul(up)).components()
					y := Log(p.Inverse().Mul(down)).components()
					for i := range 6 {
						j[i][k] = (x[i] - y[i]) / (2 * eps)
					}
				}
				by(&ja, c.between(a.Mul(plus), b, u), c.between(a.Mul(minus), b, u))
				by(&jb, c.between(a, b.Mul(plus), u), c.between(a, b.Mul(minus), u))
			}
			want := propagated(&ja, &ca, &jb, &cb)
			got := c.propagate(a, &ca, b, &cb, u)
			if e := covError(&got, &want); e > 1e-5 {
				rt.Errorf("%s at %g: %v; by perturbation %v", name, u, got.Matrix(), want.Matrix())
			}
			if start := c.propagate(a, &ca, b, &cb, 0); covError(&start, &ca) > 1e-9 {
				rt.Errorf("%s at the first: %v; want %v", name, start, ca)
			}
			if end := c.propagate(a, &ca, b, &cb, 1); covError(&end, &cb) > 1e-9 {
				rt.Errorf("%s at the last: %v; want %v", name, end, cb)
			}
		}
	})
}

// mixedOnLine is what look-ups mix between two samples: how these are turned does not move what
// lies on the line between them.
func mixedOnLine(a Pose, ca *Cov, b Pose, cb *Cov, u float64) Cov {
	p := Interpolate(a, b, u)
	a.T, b.T = p.T, p.T
	return InterpolateCov(a, ca, b, cb, u, p)
}

// Where yaw is not measured, as by GPS, the position between two samples is known all the same.
func TestUnmeasuredYawMovesNothingBetweenSamples(t *testing.T) {
	s := New(Config{})
	e := must[*FreeEdge](t)(s.Free("map", "base", MaxGap(10*second.Sub(0))))
	gps := DiagonalCov(0.3, 0)
	gps.Mask = 0b000111
	for i := range 3 {
		ok(t, e.SetCov(engram.Time(i)*second, Pose{T: Vec3{X: float64(10 * i)}, R: RPY(0, 0, 0.2*float64(i))}, gps))
	}
	for at := engram.Time(0); at <= 2*second; at += second / 4 {
		_, cov, _, fail := pathOf(t, s, "map", "base").AtCov(at)
		ok(t, fail.Err())
		if cov.Mask != gps.Mask || math.Abs(cov.At(0, 0)-0.09) > 1e-12 || math.Abs(cov.At(1, 1)-0.09) > 1e-12 {
			t.Errorf("at %v: %v", at, cov)
		}
	}
}

// Up to 30° between two samples, what is mixed is at least what is propagated in every
// direction; beyond it may be less.
func TestMixedAgainstPropagated(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	falls := func(degrees float64) (short int) {
		for range 200 {
			random := func() Vec3 { return Vec3{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()} }
			x := Twist{Rho: random().Scale(0.1), Phi: random()}
			x.Phi = x.Phi.Scale(degrees * degree / x.Phi.Norm())
			a, u, ca, cb := randomPose(r), r.Float64(), randomCov(r, 0.01), randomCov(r, 0.01)
			b := a.Mul(Exp(x))
			line, screw := PropagateCov(a, &ca, b, &cb, u), PropagateGeodesicCov(a, &ca, b, &cb, u)
			for _, c := range []struct{ more, propagated Cov }{
				{mixedOnLine(a, &ca, b, &cb, u), line}, {InterpolateCov(a, &ca, b, &cb, u, Geodesic(a, b, u)), screw},
			} {
				more, propagated := c.more, c.propagated
				for i := range more.S {
					more.S[i] -= propagated.S[i]
				}
				if !more.S.positiveSemidefinite() {
					short++
				}
			}
		}
		return short
	}
	if n := falls(30); n > 0 {
		t.Errorf("at 30° what is mixed falls short %d times", n)
	}
	if falls(90) == 0 {
		t.Error("at 90° what is mixed never falls short")
	}
}

// Edges and anchors with Propagate answer the propagation; others mix.
func TestPropagateOption(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	a, b, ca, cb := randomPose(r), randomPose(r), randomCov(r, 0.01), randomCov(r, 0.02)
	mid := second / 4
	for _, propagate := range []bool{false, true} {
		var opts []Option
		if propagate {
			opts = []Option{Propagate()}
		}
		s := New(Config{})
		own := must[*FreeEdge](t)(s.Free("map", "own", opts...))
		ok(t, own.SetCov(0, a, ca))
		ok(t, own.SetCov(second, b, cb))
		model := must[*FreeEdge](t)(s.Free("map", "model", append(opts, Uncertain(ConstantNoise(ca)))...))
		ok(t, model.Set(0, a))
		ok(t, model.Set(second, b))
		grows := must[*FreeEdge](t)(s.Free("map", "grows", append(opts, Uncertain(GrowthNoise(ca, cb)))...))
		ok(t, grows.Set(0, a))
		ok(t, grows.Set(second, b))
		ok(t, s.Anchor("map", "anchored", opts...))
		tx := s.Begin("slam")
		tx.Key("map", "anchored", 0, a, ca)
		tx.Key("map", "anchored", second, b, cb)
		must[Revision](t)(tx.Commit())
		quarter := cb.scaled(0.25)
		want := map[string]Cov{
			"own":      mixedOnLine(a, &ca, b, &cb, 0.25),
			"model":    ca,
			"grows":    ca.plus(&quarter),
			"anchored": InterpolateCov(a, &ca, b, &cb, 0.25, Geodesic(a, b, 0.25)),
		}
		if propagate {
			want["own"] = PropagateCov(a, &ca, b, &cb, 0.25)
			want["model"] = PropagateCov(a, &ca, b, &ca, 0.25)
			want["anchored"] = PropagateGeodesicCov(a, &ca, b, &cb, 0.25)
		}
		for name, want := range want {
			T, got, _, fail := pathOf(t, s, "map", name).AtCov(mid)
			ok(t, fail.Err())
			sameCov(t, name, &got, &want, 1e-9)
			if plain, _, _ := s.Lookup("map", name, mid); poseError(T, plain) > 1e-12 {
				t.Errorf("%s: %v with the covariance, %v without", name, T, plain)
			}
			_, got, _, fail = pathOf(t, s, "map", name).AtCov(0)
			ok(t, fail.Err())
			sameCov(t, name+" at a sample", &got, &ca, 1e-9)
		}
		// Motion under an anchor: nothing in no time, and both keys from one to the other.
		p := pathOf(t, s, "anchored", "anchored")
		_, still, _, _ := p.BetweenCov(mid, mid+1, "map")
		if still.At(5, 5) > 1e-12 {
			t.Errorf("propagate %v: a nanosecond of motion has the variance %g", propagate, still.At(5, 5))
		}
		_, whole, _, _ := p.BetweenCov(0, second, "map")
		both := BetweenCov(a, &ca, b, &cb)
		sameCov(t, "from key to key", &whole, &both, 1e-9)
		if math.IsNaN(whole.At(0, 0)) {
			t.Error("not a number")
		}
	}
}
