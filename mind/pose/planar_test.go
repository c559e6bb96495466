package pose

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-301d4374/engram"
	"pgregory.net/rapid"
)

// planar has odometry, SLAM and a sensor that know x, y and yaw only (mask is
// PlanarDims), or are exact in the others (mask is AllDims).
func planar(t testing.TB, seed uint64, mask uint8) *Store {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	pose := func(scale float64) Pose {
		return Pose{T: Vec3{scale * r.NormFloat64(), scale * r.NormFloat64(), 0}, R: RPY(0, 0, r.NormFloat64())}
	}
	cov := func(k float64) Cov {
		var m [6][6]float64
		for i, x := range [3]int{0, 1, 5} {
			m[x][x] = k * float64(i+1)
		}
		m[0][1], m[1][0] = k/4, k/4
		c, err := NewPartialCov(&m, mask)
		ok(t, err)
		return c
	}
	s := New(Config{MaxGap: -1})
	ok(t, s.Anchor("site", "odom"))
	ok(t, s.Fixed("base", "laser", pose(0.3), cov(1e-6)))
	e := must[*FreeEdge](t)(s.Free("odom", "base"))
	walked := Identity()
	for i := range engram.Time(8) {
		// A random walk, whose uncertainty adds up.
		total := cov(1e-4)
		if i > 0 {
			walked = walked.Mul(pose(0.5))
			_, before, _, fail := pathOf(t, s, "odom", "base").AtCov((i - 1) * second)
			ok(t, fail.Err())
			last, _, _ := pathOf(t, s, "odom", "base").At((i - 1) * second)
			inc := cov(1e-5)
			total = ComposeCov(&before, last.Inverse().Mul(walked), &inc)
		}
		ok(t, e.SetCov(i*second, walked, total))
	}
	tx := s.Begin("slam")
	for _, at := range []engram.Time{1, 3, 6} {
		tx.Localize("site", "base", at*second, pose(5), cov(1e-4))
	}
	must[Revision](t)(tx.Commit())
	return s
}

// What is not estimated does not change what is: in the plane, answers that know x,
// y and yaw only are those that know the rest exactly, without the rest.
func TestPlanarCovariances(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		part, full := planar(t, seed, PlanarDims), planar(t, seed, AllDims)
		r := rand.New(rand.NewPCG(seed, 2))
		frames := []string{"site", "odom", "base", "laser"}
		for range 20 {
			target, source := frames[r.IntN(4)], frames[r.IntN(4)]
			at, to := engram.Time(r.Int64N(int64(7*second))), engram.Time(r.Int64N(int64(7*second)))
			if r.IntN(2) == 0 {
				at = at / second * second
			}
			_, got, info, fail := pathOf(t, part, target, source).AtCov(at)
			_, want, infoWant, failWant := pathOf(t, full, target, source).AtCov(at)
			if r.IntN(2) == 0 {
				_, got, info, fail = pathOf(t, part, target, source).BetweenCov(at, to, "odom")
				_, want, infoWant, failWant = pathOf(t, full, target, source).BetweenCov(at, to, "odom")
			}
			ok(t, fail.Err())
			ok(t, failWant.Err())
			if got.Mask != PlanarDims && got.Mask != AllDims || want.Mask != AllDims || info != infoWant {
				rt.Fatalf("%s ← %s: mask %#x and %#x, %+v and %+v", target, source, got.Mask, want.Mask, info, infoWant)
			}
			for _, i := range [3]int{0, 1, 5} {
				for _, j := range [3]int{0, 1, 5} {
					if d := math.Abs(got.At(i, j) - want.At(i, j)); d > 1e-12*(math.Abs(want.At(i, i))+math.Abs(want.At(j, j))) {
						rt.Fatalf("%s ← %s at %v: element %d %d is %g; want %g", target, source, at, i, j, got.At(i, j), want.At(i, j))
					}
				}
			}
		}
	})
}

// At a key the covariance is the one given, and below it counts from there.
func TestPlanarKey(t *testing.T) {
	s := planar(t, 7, PlanarDims)
	p := pathOf(t, s, "site", "base")
	_, at, _, fail := p.AtCov(3 * second)
	ok(t, fail.Err())
	if at.Mask != PlanarDims || at.State() != Unknown || math.Abs(at.At(5, 5)-3e-4) > 1e-15 {
		t.Errorf("at the key: %v, mask %#x", at, at.Mask)
	}
	_, later, _, fail := p.AtCov(4 * second)
	ok(t, fail.Err())
	if grown := later.At(5, 5) - at.At(5, 5); later.Mask != PlanarDims || math.Abs(grown-3e-5) > 1e-12 {
		t.Errorf("a second later the yaw's variance has grown by %g; want that of one second of odometry, 3e-5", grown)
	}
	// A tilted mount mixes what is not known into all.
	ok(t, s.Fixed("base", "up", Pose{R: RPY(1, 1, 0)}, ExactCov()))
	if _, c, _, _ := pathOf(t, s, "site", "up").AtCov(3 * second); c.Mask != 0 {
		t.Errorf("seen from a tilted sensor, mask %#x", c.Mask)
	}
	var m [6][6]float64
	m[2][3] = math.NaN() // not looked at
	if _, err := NewPartialCov(&m, PlanarDims); err != nil {
		t.Error(err)
	}
	m[0][1] = 1
	_, err := NewPartialCov(&m, PlanarDims)
	refused(t, err, engram.Invalid, "symmetric")
	_, err = NewPartialCov(&m, 0x80)
	refused(t, err, engram.Invalid, "mask")
}
