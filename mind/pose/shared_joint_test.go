package pose

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// slides is a prismatic joint on base ← a and those that mimic it, each below the one before,
// with values of which a is re-parented in between: a has the value that was set last, the
// others what is between that and the next.
func slides(t testing.TB, types []urdf.JointType, axes []Vec3, multipliers []float64, sigmas [2]float64) *Store {
	t.Helper()
	s := New(Config{})
	parent, names := "base", []string{"a", "b", "c"}
	for i, typ := range types {
		spec := JointSpec{Name: names[i], Type: typ, Origin: Translation(0, 0.3, 0.1), Axis: axes[i]}
		if i > 0 {
			spec.Mimic = &Mimic{Joint: "a", Multiplier: multipliers[i]}
		}
		must[*JointEdge](t)(s.Joint(parent, names[i], spec, Hold(engram.MaxTime.Sub(0))))
		parent = names[i]
	}
	j := must[*JointEdge](t)(s.JointEdge("a"))
	ok(t, j.Set(0, 0.2, sigmas[0]))
	ok(t, j.Set(2e8, 0.3, sigmas[1]))
	must[*FreeEdge](t)(s.Reparent(1e8, "elsewhere", "a"))
	return s
}

func covAt(t testing.TB, s *Store, target, source string, at engram.Time) Cov {
	t.Helper()
	_, cov, _, fail := pathOf(t, s, target, source).AtCov(at)
	ok(t, fail.Err())
	return cov
}

// One joint's value on several edges, of which one ended before the others: each has its own
// standard deviation, they err together, and what is unknown of one is unknown of all.
func TestSharedJointWithTwoSigmas(t *testing.T) {
	x := []Vec3{{X: 1}, {X: 1}}
	two := []urdf.JointType{urdf.Prismatic, urdf.Prismatic}
	const at = 9e7
	const a, b = 0.01, 0.55*0.01 + 0.45*0.09 // σ² of both edges
	for name, c := range map[string]struct{ multiplier, want float64 }{
		"together": {1, math.Pow(math.Sqrt(a)+math.Sqrt(b), 2)}, "opposed": {-1, math.Pow(math.Sqrt(a)-math.Sqrt(b), 2)},
	} {
		s := slides(t, two, x, []float64{1, c.multiplier}, [2]float64{0.1, 0.3})
		one, other, both := covAt(t, s, "base", "a", at), covAt(t, s, "a", "b", at), covAt(t, s, "base", "b", at)
		if math.Abs(one.At(0, 0)-a) > 1e-12 || math.Abs(other.At(0, 0)-b) > 1e-12 || math.Abs(both.At(0, 0)-c.want) > 1e-12 || both.State() != Estimated {
			t.Errorf("%s: %v, %v and %v; want variances of %g, %g and %g", name, one, other, both, a, b, c.want)
		}
	}
	for _, multiplier := range []float64{1, -1} {
		s := slides(t, two, x, []float64{1, multiplier}, [2]float64{0.1, 0}) // the second has none
		if one, other, both := covAt(t, s, "base", "a", at), covAt(t, s, "a", "b", at), covAt(t, s, "base", "b", at); one.State() != Estimated || other.Mask != AllDims&^1 || both.Mask != AllDims&^1 {
			t.Errorf("%v, unknown %v and both %v", one, other, both)
		}
		s = slides(t, two, x, []float64{1, multiplier}, [2]float64{}) // none has any
		if both := covAt(t, s, "base", "b", at); both.Mask != AllDims&^1 {
			t.Errorf("two unknown errors of different times make %v", both)
		}
	}
	// Of one reading even an unknown error cancels out.
	s := slides(t, two, x, []float64{1, -1}, [2]float64{})
	if both := covAt(t, s, "base", "b", 0); both.State() != Exact {
		t.Errorf("a joint and its opposite: %v", both)
	}
}

// In no direction is the variance of a path below the least, or above the greatest, that any
// correlation of the values of a joint allows which stand on several of its edges.
func TestSharedJointWithinAllCorrelations(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 3).Draw(rt, "edges")
		number := rapid.Float64Range(-2, 2)
		types, axes, multipliers := make([]urdf.JointType, n), make([]Vec3, n), make([]float64, n)
		for i := range n {
			types[i] = rapid.SampledFrom([]urdf.JointType{urdf.Prismatic, urdf.Revolute}).Draw(rt, "type")
			axes[i] = Vec3{number.Draw(rt, "x"), number.Draw(rt, "y"), 2.5}
			multipliers[i] = number.Draw(rt, "multiplier")
		}
		sigma := rapid.Float64Range(0.01, 0.5)
		s := slides(t, types, axes, multipliers, [2]float64{sigma.Draw(rt, "first"), sigma.Draw(rt, "second")})
		at := engram.Time(rapid.Int64Range(0, 1e8-1).Draw(rt, "time"))
		chain := []string{"base", "a", "b", "c"}[:n+1]
		whole := covAt(t, s, "base", chain[n], at)
		parts := make([]Cov, n) // in the axes of the last frame
		for i := range n {
			edge := covAt(t, s, chain[i], chain[i+1], at)
			seen, _, fail := pathOf(t, s, chain[n], chain[i+1]).At(at)
			ok(t, fail.Err())
			parts[i] = edge.Transported(seen)
		}
		along := func(c *Cov, d [6]float64) (v float64) {
			for i := range d {
				for j := range d {
					v += d[i] * c.At(i, j) * d[j]
				}
			}
			return max(v, 0)
		}
		for range 20 {
			var d [6]float64
			for i := range d {
				d[i] = number.Draw(rt, "direction")
			}
			var sum, largest float64
			for i := range parts {
				sd := math.Sqrt(along(&parts[i], d))
				sum, largest = sum+sd, max(largest, sd)
			}
			least, greatest := math.Pow(max(0, 2*largest-sum), 2), sum*sum
			if got := along(&whole, d); got < least-1e-9*(1+greatest) || got > greatest*(1+1e-9)+1e-9 {
				rt.Fatalf("at %v in %v: variance %g; any correlation gives one within %g and %g", at, d, got, least, greatest)
			}
		}
	})
}
