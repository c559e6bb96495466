package pose

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
	"pgregory.net/rapid"
)

// randomCov returns a positive definite covariance of about sigma².
func randomCov(r *rand.Rand, sigma float64) Cov {
	c := Cov{Mask: AllDims}
	for range 8 {
		x := func() Vec3 { return Vec3{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()} }
		c.S.addOuter(sigma*sigma/8, Twist{x(), x()})
	}
	return c
}

func sameCov(t testing.TB, what string, got, want *Cov, tolerance float64) {
	t.Helper()
	if e := covError(got, want); !(e <= tolerance) {
		t.Errorf("%s: covariance %v differs from %v by %g", what, got.Matrix(), want.Matrix(), e)
	}
}

func TestPathCovIsThatOfItsEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := New(Config{})
	type edge struct {
		p Pose
		c Cov
	}
	var e [4]edge
	for i := range e {
		e[i] = edge{randomPose(r), randomCov(r, 0.01)}
	}
	// map <- base <- (arm <- hand, cam)
	ok(t, s.Fixed("map", "base", e[0].p, e[0].c))
	arm := must[*FreeEdge](t)(s.Free("base", "arm"))
	ok(t, arm.SetCov(0, e[1].p, e[1].c))
	ok(t, s.Fixed("arm", "hand", e[2].p, e[2].c))
	ok(t, s.Fixed("base", "cam", e[3].p, e[3].c))

	baseHand := ComposeCov(&e[1].c, e[2].p, &e[2].c)
	mapHand := ComposeCov(&e[0].c, e[1].p.Mul(e[2].p), &baseHand)
	camHand := BetweenCov(e[3].p, &e[3].c, e[1].p.Mul(e[2].p), &baseHand)
	handCam := BetweenCov(e[1].p.Mul(e[2].p), &baseHand, e[3].p, &e[3].c)
	handBase := InverseCov(e[1].p.Mul(e[2].p), &baseHand)
	for name, c := range map[string]struct {
		target, source string
		want           *Cov
	}{
		"down": {"map", "hand", &mapHand}, "across": {"cam", "hand", &camHand}, "back": {"hand", "cam", &handCam},
		"up": {"hand", "base", &handBase}, "one": {"base", "cam", &e[3].c},
	} {
		_, got, _, fail := pathOf(t, s, c.target, c.source).AtCov(0)
		ok(t, fail.Err())
		sameCov(t, name, &got, c.want, 1e-12)
	}
	_, self, info, _ := pathOf(t, s, "hand", "hand").AtCov(0)
	if self.State() != Exact || info.Flags != Static {
		t.Errorf("a frame in itself: %v %v", self, info.Flags)
	}
}

// TestPathCovByPerturbation moves each thing that is uncertain a little and sees how
// the answer moves: the definition of the covariance to first order.
func TestPathCovByPerturbation(t *testing.T) {
	const eps = 1e-6
	r := rand.New(rand.NewPCG(3, 4))
	a, b, origin := randomPose(r), randomPose(r), randomPose(r)
	ca, cb, q, sigma := randomCov(r, 0.01), randomCov(r, 0.02), 0.7, 0.03
	build := func(da, db Twist, dq float64) *Path {
		s := New(Config{})
		e := must[*FreeEdge](t)(s.Free("base", "arm"))
		ok(t, e.SetCov(0, a.Mul(Exp(da)), ca))
		j := must[*JointEdge](t)(s.Joint("arm", "hand", JointSpec{Name: "j", Type: urdf.Revolute, Origin: origin, Axis: Vec3{0.6, 0, 0.8}}))
		ok(t, j.Set(0, q+dq, sigma))
		e = must[*FreeEdge](t)(s.Free("base", "cam"))
		ok(t, e.SetCov(0, b.Mul(Exp(db)), cb))
		return pathOf(t, s, "hand", "cam")
	}
	mean, got, _, fail := build(Twist{}, Twist{}, 0).AtCov(0)
	ok(t, fail.Err())
	moved := func(da, db Twist, dq float64) [6]float64 {
		T, _, fail := build(da, db, dq).At(0)
		ok(t, fail.Err())
		return Log(mean.Inverse().Mul(T)).Scale(1 / eps).components()
	}
	var ja, jb [6][6]float64
	for k := range 6 {
		x, y := moved(basisTwist(k).Scale(eps), Twist{}, 0), moved(Twist{}, basisTwist(k).Scale(eps), 0)
		for i := range 6 {
			ja[i][k], jb[i][k] = x[i], y[i]
		}
	}
	want := Cov{Mask: AllDims}
	want.S.addCongruence(&ja, &ca.S)
	want.S.addCongruence(&jb, &cb.S)
	x := moved(Twist{}, Twist{}, eps)
	want.S.addOuter(sigma*sigma, Twist{Vec3{x[0], x[1], x[2]}, Vec3{x[3], x[4], x[5]}})
	sameCov(t, "by perturbation", &got, &want, 1e-5)
}

func TestMimicsErrTogether(t *testing.T) {
	s := New(Config{})
	joint := func(child string, axis float64, mimic *Mimic) {
		spec := JointSpec{Name: child, Type: urdf.Prismatic, Origin: Identity(), Axis: Vec3{X: axis}, Mimic: mimic}
		must[*JointEdge](t)(s.Joint("hand", child, spec, Sigma(0.01)))
	}
	joint("left", 1, nil)
	joint("right", -1, &Mimic{"left", 1, 0})
	joint("along", 1, &Mimic{"left", 1, 0})
	ok(t, s.SetJoints(0, []JointValue{{Name: "left", Q: 0.03}}))
	for source, want := range map[string]float64{"right": 4e-4, "along": 0} {
		_, cov, _, fail := pathOf(t, s, "left", source).AtCov(0)
		ok(t, fail.Err())
		if math.Abs(cov.At(0, 0)-want) > 1e-18 {
			t.Errorf("left ← %s has variance %g; want %g", source, cov.At(0, 0), want)
		}
	}
}

func TestNoiseModels(t *testing.T) {
	own, model := DiagonalCov(0.1, 0.1), DiagonalCov(0.2, 0.2)
	rate := DiagonalCov(0.1, 0)
	for name, c := range map[string]struct {
		noise     Noise
		state     CovState
		sigma2    float64 // along x, half way between a sample with its own covariance at 0 s and one without at 1 s
		sigma2End float64 // at that one
	}{
		"unknown":  {UnknownNoise(), Unknown, 0.005, 0},
		"exact":    {ExactNoise(), Estimated, 0.005, 0},
		"constant": {ConstantNoise(model), Estimated, 0.025, 0.04},
		"growth":   {GrowthNoise(model, rate), Estimated, 0.025 + 0.5*0.005, 0.05},
	} {
		s := New(Config{})
		e := must[*FreeEdge](t)(s.Free("map", "base", Uncertain(c.noise)))
		ok(t, e.SetCov(0, Identity(), own))
		ok(t, e.Set(second, Identity()))
		p := pathOf(t, s, "map", "base")
		_, cov, _, fail := p.AtCov(second / 2)
		ok(t, fail.Err())
		if cov.State() != c.state || c.state == Estimated && math.Abs(cov.At(0, 0)-c.sigma2) > 1e-15 {
			t.Errorf("%s, between: %v, %g; want %g", name, cov.State(), cov.At(0, 0), c.sigma2)
		}
		_, cov, _, _ = p.AtCov(second)
		if math.Abs(cov.At(0, 0)-c.sigma2End) > 1e-15 {
			t.Errorf("%s, at the sample: %g; want %g", name, cov.At(0, 0), c.sigma2End)
		}
		if _, cov, _, _ = p.AtCov(0); cov != own {
			t.Errorf("%s, at the sample with its own: %v", name, cov)
		}
	}
}

func TestInterpolatedAndExtrapolatedCov(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	a, b, ca, cb := randomPose(r), randomPose(r), randomCov(r, 0.01), randomCov(r, 0.02)
	s := New(Config{})
	e := must[*FreeEdge](t)(s.Free("map", "base", Extrapolate(engram.MaxTime.Sub(0))))
	ok(t, e.SetCov(0, a, ca))
	ok(t, e.SetCov(second, b, cb))
	_, got, _, fail := pathOf(t, s, "map", "base").AtCov(second / 4)
	ok(t, fail.Err())
	want := mixedOnLine(a, &ca, b, &cb, 0.25)
	sameCov(t, "interpolated", &got, &want, 1e-12)
	_, got, info, fail := pathOf(t, s, "map", "base").AtCov(2 * second)
	ok(t, fail.Err())
	if info.Flags != Extrapolated {
		t.Errorf("flags %v", info.Flags)
	}
	sameCov(t, "extrapolated", &got, &cb, 1e-12)
}

func TestUnknownDimensionsSpread(t *testing.T) {
	s := New(Config{})
	planar := DiagonalCov(0.1, 0.1)
	planar.Mask = 0b100011 // x, y and yaw
	e := must[*FreeEdge](t)(s.Free("odom", "base"))
	ok(t, e.SetCov(0, Pose{R: RPY(0, 0, 1)}, planar))
	ok(t, s.Fixed("base", "turned", Pose{T: Vec3{1, 2, 0}, R: RPY(0, 0, 0.3)}, ExactCov()))
	ok(t, s.Fixed("base", "mast", Translation(0, 0, 2), ExactCov()))
	ok(t, s.Fixed("base", "guess", Identity(), Cov{}))
	for source, mask := range map[string]uint8{
		"base":   0b100011,
		"turned": 0b100000, // roll and pitch would move y and x at a distance…
		"mast":   0b100000,
		"guess":  0,
	} {
		_, cov, _, fail := pathOf(t, s, "odom", source).AtCov(0)
		ok(t, fail.Err())
		if source == "turned" {
			// …but only out of the plane, where the lever lies in it.
			mask = 0b100011
		}
		if cov.Mask != mask || cov.State() != Unknown {
			t.Errorf("%s: mask %06b; want %06b", source, cov.Mask, mask)
		}
		for i := range 6 {
			if (cov.At(i, i) != 0) != (mask>>i&1 == 1) {
				t.Errorf("%s: variance %d is %g with mask %06b", source, i, cov.At(i, i), mask)
			}
		}
	}
}

func TestBeyondLinearIsFlagged(t *testing.T) {
	for degrees, flagged := range map[float64]bool{8: false, 9: true} { // √3 axes
		s := New(Config{})
		ok(t, s.Fixed("a", "b", Identity(), DiagonalCov(0, degrees*math.Pi/180)))
		if _, _, info, _ := pathOf(t, s, "a", "b").AtCov(0); (info.Flags&BeyondLinear != 0) != flagged {
			t.Errorf("σ = %g° on each axis: flags %v", degrees, info.Flags)
		}
	}
}

// TestBetweenCov asks for relative motion, where what both times share must not be
// counted twice.
func TestBetweenCov(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	q := randomCov(r, 0.01)
	walk := func(s *Store, own bool) {
		noise := GrowthNoise(DiagonalCov(3, 0.1), q)
		if own {
			noise = UnknownNoise()
		}
		e := must[*FreeEdge](t)(s.Free("odom", "base", Uncertain(noise)))
		p, c := randomPose(r), DiagonalCov(1, 0.1)
		for i := range engram.Time(11) {
			if own {
				ok(t, e.SetCov(i*second, p, c))
			} else {
				ok(t, e.Set(i*second, p))
			}
			step := Exp(Twist{Vec3{X: 1}, Vec3{Z: 0.1}})
			p, c = p.Mul(step), ComposeCov(&c, step, &q)
		}
		ok(t, s.Fixed("base", "cam", randomPose(r), DiagonalCov(0.1, 0.01)))
	}
	for _, own := range []bool{false, true} {
		s := New(Config{})
		walk(s, own)
		base := pathOf(t, s, "base", "base")
		T, got, info, fail := base.BetweenCov(4*second, 5*second, "odom")
		ok(t, fail.Err())
		if info.TargetTime != 4*second || info.SourceTime != 5*second {
			t.Errorf("times %v, %v", info.TargetTime, info.SourceTime)
		}
		if plain, _, _ := base.Between(4*second, 5*second, "odom"); poseError(plain, T) > 1e-12 {
			t.Errorf("Between and BetweenCov differ: %v, %v", plain, T)
		}
		sameCov(t, "one second of odometry", &got, &q, 1e-9)
		// The other way round it is the inverse.
		_, back, _, _ := base.BetweenCov(5*second, 4*second, "odom")
		want := InverseCov(T, &got)
		sameCov(t, "backwards", &back, &want, 1e-9)
		if _, same, _, _ := base.BetweenCov(5*second, 5*second, "odom"); same.State() != Exact {
			t.Errorf("no time at all: %v", same)
		}
	}
}

// Of a trajectory the motion is known as well as its increments say, also if nothing is
// known of where it began, and from what the samples bring where they do.
func TestBetweenOfATrajectory(t *testing.T) {
	q := DiagonalCov(0.2, 0.03)
	one, three := DiagonalCov(1, 0.1), DiagonalCov(3, 0.3)
	rise := DiagonalCov(math.Sqrt(8), math.Sqrt(0.08))
	for name, c := range map[string]struct {
		start      Cov
		own1, own2 *Cov
		want       Cov
	}{
		"from an unknown beginning":   {Cov{}, nil, nil, q},
		"from a planar beginning":     {Cov{S: one.S, Mask: PlanarDims}, nil, nil, q},
		"with covariances":            {one, &one, &three, rise},
		"from none to a covariance":   {ExactCov(), nil, &three, three},
		"from a covariance to none":   {ExactCov(), &three, nil, three.plus(&q)},
		"nothing is known on the way": {Cov{}, nil, &three, Cov{}},
	} {
		s := New(Config{})
		c.start.clearUnmasked()
		e := must[*FreeEdge](t)(s.Free("odom", "base", Uncertain(GrowthNoise(c.start, q))))
		for at, own := range map[engram.Time]*Cov{0: c.own1, second: c.own2} {
			ok(t, e.Set(at, Identity()))
			if own != nil {
				ok(t, e.SetCov(at, Identity(), *own))
			}
		}
		_, got, _, fail := pathOf(t, s, "base", "base").BetweenCov(0, second, "odom")
		ok(t, fail.Err())
		sameCov(t, name, &got, &c.want, 1e-12)
	}
}

// TestBetweenSharesTheMounting: a camera's mounting errs at both times alike. Its
// error is moved a little to see what that does.
func TestBetweenSharesTheMounting(t *testing.T) {
	const eps = 1e-6
	r := rand.New(rand.NewPCG(11, 12))
	mount, cov := randomPose(r), randomCov(r, 0.01)
	then, now := randomPose(r), randomPose(r)
	build := func(d Twist) *Path {
		s := New(Config{})
		e := must[*FreeEdge](t)(s.Free("odom", "base", Uncertain(ExactNoise())))
		ok(t, e.Set(0, then))
		ok(t, e.Set(second, now))
		ok(t, s.Fixed("base", "cam", mount.Mul(Exp(d)), cov))
		return pathOf(t, s, "cam", "cam")
	}
	mean, got, _, fail := build(Twist{}).BetweenCov(0, second, "odom")
	ok(t, fail.Err())
	var j [6][6]float64
	for k := range 6 {
		T, _, _ := build(basisTwist(k).Scale(eps)).Between(0, second, "odom")
		for i, x := range Log(mean.Inverse().Mul(T)).Scale(1 / eps).components() {
			j[i][k] = x
		}
	}
	want := Cov{Mask: AllDims}
	want.S.addCongruence(&j, &cov.S)
	sameCov(t, "the mounting", &got, &want, 1e-5)
}

// A constant edge errs alike before and after a calibration, whatever its options.
func TestBetweenCalibrations(t *testing.T) {
	s := New(Config{MaxGap: -1})
	ok(t, s.Fixed("base", "cam", Translation(1, 0, 0), DiagonalCov(0.1, 0.01)))
	e := must[*FreeEdge](t)(s.Free("odom", "base", Uncertain(ExactNoise())))
	ok(t, e.Set(0, Identity()))
	ok(t, e.Set(9*second, Identity()))
	tx := s.Begin("calibration")
	tx.Fix("base", "cam", engram.Interval{Start: 4 * second, End: 5 * second}, Translation(2, 0, 0), DiagonalCov(0.1, 0.01))
	must[Revision](t)(tx.Commit())
	for range 2 {
		_, cov, _, fail := pathOf(t, s, "cam", "cam").BetweenCov(second, 8*second, "odom")
		if fail.Code != OK || cov.State() != Exact {
			t.Errorf("%v %v; want exact", cov, fail.Code)
		}
		ok(t, s.Configure("base", "cam", MaxGap(-1)))
	}
}

// TestLocalizeGivesItsCovariance asks at, and after, a key below which odometry has
// long drifted.
func TestLocalizeGivesItsCovariance(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	drift := DiagonalCov(0.1, 0.01)
	s := New(Config{})
	ok(t, s.Anchor("site", "odom"))
	e := must[*FreeEdge](t)(s.Free("odom", "base", Uncertain(GrowthNoise(ExactCov(), drift))))
	for i := range engram.Time(101) {
		ok(t, e.Set(i*second, Translation(float64(i), 0, 0)))
	}
	fix := randomCov(r, 0.01)
	tx := s.Begin("slam")
	tx.Localize("site", "base", 50*second, randomPose(r), fix)
	must[Revision](t)(tx.Commit())
	p := pathOf(t, s, "site", "base")
	_, got, _, fail := p.AtCov(50 * second)
	ok(t, fail.Err())
	sameCov(t, "at the key", &got, &fix, 1e-9)
	step := Translation(2, 0, 0)
	grown := drift.scaled(2)
	want := ComposeCov(&fix, step, &grown)
	_, got, _, fail = p.AtCov(52 * second)
	ok(t, fail.Err())
	sameCov(t, "two seconds later", &got, &want, 1e-9)

	// The same, if the odometry itself reports how uncertain it has become.
	for i := range engram.Time(101) {
		ok(t, e.SetCov(i*second, Translation(float64(i), 0, 0), driftedLine(float64(i), &drift)))
	}
	for _, at := range []engram.Time{50 * second, 52 * second} {
		_, got, _, fail = p.AtCov(at)
		ok(t, fail.Err())
		if at == 50*second {
			sameCov(t, "at the key, own covariances", &got, &fix, 1e-9)
		} else {
			increment := driftedLine(2, &drift)
			want = ComposeCov(&fix, step, &increment)
			sameCov(t, "two seconds later, own covariances", &got, &want, 1e-9)
		}
	}
	// Before the key, what was gathered since then is taken back.
	_, got, _, fail = p.AtCov(48 * second)
	ok(t, fail.Err())
	increment := driftedLine(2, &drift)
	moved := increment.Transported(step) // from the axes at the key to those before
	want = ComposeCov(&fix, step.Inverse(), &moved)
	sameCov(t, "two seconds before, own covariances", &got, &want, 1e-9)
}

// driftedLine returns the covariance after seconds steps of 1 m along x, each of
// which adds drift.
func driftedLine(seconds float64, drift *Cov) Cov {
	c := ExactCov()
	for range int(seconds) {
		c = ComposeCov(&c, Translation(1, 0, 0), drift)
	}
	return c
}

func TestConverters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		p, c := randomPose(r), randomCov(r, 0.1)
		back := func(what string, got Cov, err error) {
			if err != nil {
				rt.Fatalf("%s: %v", what, err)
			}
			if e := covError(&got, &c); e > 1e-9 {
				rt.Errorf("%s and back differs by %g", what, e)
			}
		}
		left := c.Left(p)
		got, err := CovFromLeft(p, &left)
		back("left", got, err)
		ros := c.ROS(p)
		got, err = CovFromROS(p, &ros)
		back("ROS", got, err)
		// The definition: p moved by δ in the parent's axes, R by δ about them.
		const eps = 1e-6
		for k := range 6 {
			x := basisTwist(k).Scale(eps)
			moved := Log(p.Mul(Exp(x)).Mul(p.Inverse())) // left perturbation
			d := p.Mul(Exp(x)).T.Sub(p.T).Scale(1 / eps)
			phi := moved.Phi.Scale(1 / eps)
			want := Pose{R: p.R}.Adjoint(basisTwist(k))
			if d.Sub(want.Rho).Norm() > 1e-4 || phi.Sub(want.Phi).Norm() > 1e-4 {
				rt.Errorf("ROS axis %d: %v %v; want %v", k, d, phi, want)
			}
		}
		euler, err := c.EulerZYX(p)
		if _, pitch, _ := p.R.EulerZYX(); math.Abs(pitch) > maxEulerPitch {
			if !errors.Is(err, engram.OutOfRange) {
				rt.Errorf("pitch %g was converted", pitch)
			}
			return
		} else if err != nil {
			rt.Fatal(err)
		}
		got, err = CovFromEulerZYX(p, &euler)
		back("Euler", got, err)
		roll, pitch, yaw := p.R.EulerZYX()
		if q := RPY(roll, pitch, yaw); poseError(Pose{R: q}, Pose{R: p.R}) > 1e-9 {
			rt.Errorf("Euler angles %g %g %g are not those of %v", roll, pitch, yaw, p.R)
		}
		// The variance of the roll, by its derivative.
		for n, f := range []func(Quat) float64{
			func(q Quat) float64 { a, _, _ := q.EulerZYX(); return a },
			func(q Quat) float64 { _, a, _ := q.EulerZYX(); return a },
			func(q Quat) float64 { _, _, a := q.EulerZYX(); return a },
		} {
			var g [3]float64
			for k := range 3 {
				step := Exp(basisTwist(k + 3).Scale(eps)).R
				g[k] = math.Remainder(f(p.R.Mul(step))-f(p.R), 2*math.Pi) / eps
			}
			var want float64
			for i := range 3 {
				for j := range 3 {
					want += g[i] * g[j] * c.At(i+3, j+3)
				}
			}
			if math.Abs(want-euler[n+3][n+3]) > 1e-3*want {
				rt.Errorf("variance of angle %d is %g; by perturbation %g", n, euler[n+3][n+3], want)
			}
		}
	})
	zero := [36]float64{}
	if c, err := CovFromROS(Identity(), &zero); err != nil || c.State() != Unknown {
		t.Errorf("ROS's zeros are %v, %v", c, err)
	}
}

func TestPositiveSemidefinite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		rank := rapid.IntRange(0, 6).Draw(rt, "rank")
		var s Sym6
		var last Twist
		for range rank {
			last = Twist{Vec3{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}, Vec3{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}.Scale(1e-3)}
			s.addOuter(1, last)
		}
		if !s.positiveSemidefinite() {
			rt.Errorf("a sum of %d squares was refused", rank)
		}
		if rank == 0 {
			return
		}
		// Minus something outside the span of the rest.
		s.addOuter(-1, last)
		s.addOuter(-0.01, Twist{Vec3{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}, Vec3{}})
		if rank < 6 && s.positiveSemidefinite() {
			rt.Errorf("rank %d minus a square passed", rank)
		}
	})
}

// TestMetamorphic checks laws that need no reference.
func TestMetamorphic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		frames := []string{"world", "a", "b", "c", "d"}
		parent := []int{0, 0, r.IntN(2), r.IntN(3), r.IntN(4)}
		world := randomPose(r)
		plain, turned := New(Config{}), New(Config{})
		for i := 1; i < len(frames); i++ {
			n1, err1 := plain.Free(frames[parent[i]], frames[i])
			n2, err2 := turned.Free(frames[parent[i]], frames[i])
			if err1 != nil || err2 != nil {
				rt.Fatal(err1, err2)
			}
			for k := range engram.Time(3) {
				p, c := randomPose(r), randomCov(r, 0.02)
				if err := n1.SetCov(k*second, p, c); err != nil {
					rt.Fatal(err)
				}
				if parent[i] == 0 {
					p = world.Mul(p) // the world frame is chosen differently
				}
				if err := n2.SetCov(k*second, p, c); err != nil {
					rt.Fatal(err)
				}
			}
		}
		at := engram.Time(r.Int64N(int64(2 * second)))
		ask := func(s *Store, target, source string) (Pose, Cov) {
			p, err := s.Path(target, source)
			if err != nil {
				rt.Fatal(err)
			}
			T, cov, _, fail := p.AtCov(at)
			if fail.Code != OK {
				rt.Fatal(fail.Err())
			}
			if !cov.S.positiveSemidefinite() {
				rt.Errorf("%s ← %s: covariance %v is not positive semidefinite", target, source, cov.Matrix())
			}
			if plainT, _, _ := p.At(at); poseError(plainT, T) > 1e-12 {
				rt.Errorf("At and AtCov differ: %v, %v", plainT, T)
			}
			return T, cov
		}
		i, j, k := frames[1+r.IntN(4)], frames[1+r.IntN(4)], frames[1+r.IntN(4)]
		ij, covIJ := ask(plain, i, j)
		jk, _ := ask(plain, j, k)
		ik, _ := ask(plain, i, k)
		ji, covJI := ask(plain, j, i)
		if e := poseError(ij.Mul(jk), ik); e > 1e-12 {
			rt.Errorf("T(%s,%s)·T(%s,%s) differs from T(%s,%s) by %g", i, j, j, k, i, k, e)
		}
		if e := poseError(ij.Inverse(), ji); e > 1e-12 {
			rt.Errorf("T(%s,%s)⁻¹ differs from T(%s,%s) by %g", i, j, j, i, e)
		}
		inv := InverseCov(ij, &covIJ)
		if e := covError(&inv, &covJI); i != j && e > 1e-9 {
			rt.Errorf("the inverse's covariance differs by %g", e)
		}
		// Interpolated on a line between turned points: the same line, turned.
		other, covOther := ask(turned, i, j)
		if e := poseError(ij, other); e > 1e-9 {
			rt.Errorf("another world frame moves %s ← %s by %g", i, j, e)
		}
		if e := covError(&covIJ, &covOther); i != j && e > 1e-9 {
			rt.Errorf("another world frame changes the covariance by %g", e)
		}
	})
}

// A covariance that has nothing but a diagonal is transported by a shorter way.
func TestDiagonalTransport(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 100 {
		p := randomPose(r)
		c := Cov{Mask: AllDims}
		for _, i := range [6]int{0, 6, 11, 15, 18, 20} {
			c.S[i] = r.Float64()
		}
		got := c.Transported(p)
		var j [6][6]float64
		for k := range 6 {
			for i, x := range p.Adjoint(basisTwist(k)).components() {
				j[i][k] = x
			}
		}
		var want Sym6
		want.addCongruence(&j, &c.S)
		for i := range want {
			if math.Abs(got.S[i]-want[i]) > 1e-13*(1+math.Abs(want[i])) {
				t.Fatalf("element %d is %g; want %g", i, got.S[i], want[i])
			}
		}
	}
}

// The pose is the same with and without its covariance, below, above and across, and
// whichever of the edges are constant.
func TestCovHasTheSamePose(t *testing.T) {
	s := New(Config{})
	ok(t, s.Fixed("base", "cam", Translation(1, 2, 3), ExactCov()))
	if T, cov, _, fail := pathOf(t, s, "cam", "base").AtCov(0); fail.Code != OK || T != Translation(-1, -2, -3) || cov.State() != Exact {
		t.Errorf("the base in the camera: %v %v %v", T, cov, fail.Err())
	}
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		s := New(Config{})
		const n = 7
		name := func(i int) string { return string(rune('a' + i)) }
		moving := r.IntN(4)
		for i := 1; i < n; i++ {
			p, cov := randomPose(r), randomCov(r, 0.01)
			switch r.IntN(4) {
			case 0:
				p = Identity()
			case 1:
				cov = ExactCov()
			}
			parent := name(r.IntN(i))
			if r.IntN(4) >= moving {
				must[any](rt)(nil, s.Fixed(parent, name(i), p, cov))
				continue
			}
			e := must[*FreeEdge](rt)(s.Free(parent, name(i)))
			must[any](rt)(nil, e.SetCov(0, p, cov))
		}
		for i := range n {
			for j := range n {
				p := must[*Path](rt)(s.Path(name(i), name(j)))
				want, _, fail := p.At(0)
				got, cov, _, failCov := p.AtCov(0)
				latest, _, _, _ := p.LatestCommonCov()
				same, covSame, _, _ := p.BetweenCov(0, 0, name(r.IntN(n)))
				if e := max(poseError(got, want), poseError(latest, want), poseError(same, want)); fail.Code != OK || failCov.Code != OK || e > 1e-12 || cov != covSame {
					rt.Fatalf("%s ← %s: %v, %v; with the covariance %v, %v, latest %v, between %v", name(i), name(j), want, fail.Code, got, failCov.Code, latest, same)
				}
				_, inverse, _, _ := must[*Path](rt)(s.Path(name(j), name(i))).AtCov(0)
				if back := InverseCov(want, &cov); covError(&back, &inverse) > 1e-9 {
					rt.Fatalf("%s ← %s: the covariance of the inverse is %v; want %v", name(i), name(j), inverse, back)
				}
			}
		}
	})
}

// Two keys with uncertainties of their own do not make the motion between them exact,
// however alike their corrections are; nor do samples that each err as much.
func TestBetweenKeys(t *testing.T) {
	const sigma = 0.05
	own := DiagonalCov(sigma, 0.01)
	for _, differ := range []float64{0, 1e-15, 1e-9, 1e-3} {
		s := New(Config{MaxGap: -1})
		ok(t, s.Anchor("site", "odom"))
		e := must[*FreeEdge](t)(s.Free("odom", "base", Uncertain(ExactNoise())))
		line(t, e)
		tx := s.Begin("slam")
		tx.Key("site", "odom", second, Translation(5, 0, 0), own)
		tx.Key("site", "odom", 5*second, Pose{T: Vec3{5 + differ, differ, 0}, R: RPY(0, 0, differ)}, own)
		must[Revision](t)(tx.Commit())
		p := pathOf(t, s, "base", "base")
		variance := func(a, b engram.Time) float64 {
			t.Helper()
			_, cov, _, fail := p.BetweenCov(a, b, "site")
			ok(t, fail.Err())
			_, back, _, _ := p.BetweenCov(b, a, "site")
			T, _, _ := p.Between(a, b, "site")
			if inverse := InverseCov(T, &cov); covError(&inverse, &back) > 1e-9 && cov.State() != Exact {
				t.Errorf("from %v to %v and back: %v and %v", a, b, inverse, back)
			}
			return cov.At(5, 5) // which levers leave alone
		}
		for _, c := range []struct {
			a, b engram.Time
			want float64 // in variances of a key
		}{
			{second, 5 * second, 2}, {0, 9 * second, 2}, {second, 0, 0}, {6 * second, 9 * second, 0},
			{second, 3 * second, (1-math.Sqrt(0.5))*(1-math.Sqrt(0.5)) + 0.5},
			{second, second + second/1000, 0.00025}, // little time, little motion
			{3 * second, 3*second + second/1000, 0},
		} {
			got := variance(c.a, c.b) / 1e-4
			if math.Abs(got-c.want) > 1e-6 && math.Abs(got-c.want) > 0.01*c.want {
				t.Errorf("keys %g apart, from %v to %v: the yaw has %g variances of a key; want %g", differ, c.a, c.b, got, c.want)
			}
		}
	}
	s := New(Config{MaxGap: -1})
	e := must[*FreeEdge](t)(s.Free("map", "base"))
	for i := range engram.Time(3) {
		ok(t, e.SetCov(i*second, Translation(float64(i), 0, 0), own))
	}
	_, cov, _, fail := pathOf(t, s, "base", "base").BetweenCov(0, 2*second, "map")
	if ok(t, fail.Err()); math.Abs(cov.At(5, 5)-2e-4) > 1e-12 {
		t.Errorf("samples that err alike: %v", cov)
	}
	// An unknown correction that is held is the same at both times.
	ok(t, s.Anchor("site", "map"))
	tx := s.Begin("slam")
	tx.Key("site", "map", 0, Identity(), Cov{})
	must[Revision](t)(tx.Commit())
	if _, cov, _, _ := pathOf(t, s, "site", "site").BetweenCov(0, 2*second, "map"); cov.State() != Exact {
		t.Errorf("the world in itself, under one key: %v", cov)
	}
}

// A rotation that was rounded makes no other covariance than the one that it stands for; and what is no covariance leaves
// the pose.
func TestMeasuredROS(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	c, p := randomCov(r, 0.1), randomPose(r)
	numbers := c.ROS(p)
	rounded := p
	rounded.R = Quat{W: p.R.W * 1.004, X: p.R.X * 1.004, Y: p.R.Y * 1.004, Z: p.R.Z * 1.004}
	got, cov, err := MeasuredROS(rounded, numbers[:])
	ok(t, err)
	if n := got.R.Norm(); math.Abs(n-1) > 1e-12 {
		t.Errorf("the rotation has the length %v", n)
	}
	sameCov(t, "of a rounded rotation", &cov, &c, 1e-12)
	for _, numbers := range [][]float64{{1, 2}, append([]float64{math.NaN()}, numbers[1:]...)} {
		got, cov, err := MeasuredROS(p, numbers)
		refused(t, err, engram.Invalid)
		if got.T != p.T || cov != (Cov{}) {
			t.Errorf("with %d numbers: %v, %v", len(numbers), got, cov)
		}
	}
	if _, cov, err := MeasuredROS(p, nil); err != nil || cov.State() != Unknown {
		t.Errorf("without numbers: %v, %v", cov, err)
	}
}
