package computed

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"pgregory.net/rapid"
)

func somewhere(t *rapid.T, wide float64) pose.Vec3 {
	x := func() float64 { return math.Round(rapid.Float64Range(-wide, wide).Draw(t, "x")*1e5) / 1e5 }
	return pose.Vec3{X: x(), Y: x(), Z: x()}
}

// someBody has a box that is often upright, and often on or beside another one.
func someBody(t *rapid.T, name string) Body {
	turn := func() float64 { return rapid.Float64Range(-math.Pi, math.Pi).Draw(t, "angle") }
	b := Body{Name: name, Pose: pose.Pose{T: somewhere(t, 2), R: pose.RPY(0, 0, turn())}}
	if rapid.IntRange(0, 3).Draw(t, "tilted") == 0 {
		b.Pose.R = pose.RPY(turn(), turn(), turn())
	}
	if rapid.Bool().Draw(t, "on a grid") {
		on := func(x float64) float64 { return math.Round(x*2) / 2 }
		b.Pose = pose.Translation(on(b.Pose.T.X), on(b.Pose.T.Y), on(b.Pose.T.Z))
	}
	if rapid.IntRange(0, 5).Draw(t, "point") > 0 {
		edge := func() float64 { return rapid.SampledFrom([]float64{0.01, 0.1, 0.5, 1, 2}).Draw(t, "edge") }
		b.Box = world.Box{Pose: pose.Translation(0, 0, rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "raised")), Size: pose.Vec3{X: edge(), Y: edge(), Z: edge()}}
	}
	b.Place = rapid.IntRange(0, 9).Draw(t, "place") == 0
	b.Frame = rapid.SampledFrom([]string{"map", "map", "map", "other"}).Draw(t, "frame")
	return b
}

func someScene(t *rapid.T) *Scene {
	s := NewScene(DefaultRules())
	for i := range rapid.IntRange(1, 12).Draw(t, "bodies") {
		s = s.With(someBody(t, fmt.Sprint("b", i)))
	}
	return s
}

func names(s *Scene) (all []string) {
	for b := range s.Bodies() {
		all = append(all, b.Name)
	}
	slices.Sort(all)
	return all
}

var allRelations = append(slices.Clone(Relations), KnowRobRelations...)

// The index leaves nothing out and adds nothing, whatever moved, came or went before.
func TestIndexAgainstPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := someScene(t)
		before, was := s, names(s)
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			if name := rapid.SampledFrom(was).Draw(t, "name"); rapid.Bool().Draw(t, "remove") {
				s = s.Without(name)
			} else {
				s = s.With(someBody(t, name), someBody(t, name+"'"))
			}
		}
		if !slices.Equal(names(before), was) {
			t.Fatal("a scene has changed")
		}
		if rapid.Bool().Draw(t, "observed") {
			s = s.SeenBy("b0")
		}
		for _, r := range allRelations {
			for _, a := range names(s) {
				var firsts, seconds []string
				for _, b := range names(s) {
					if _, ok := s.Holds(r, b, a); ok {
						firsts = append(firsts, b)
					}
					if _, ok := s.Holds(r, a, b); ok {
						seconds = append(seconds, b)
					}
				}
				if got := slices.Sorted(maps.Keys(maps.Collect(s.Firsts(r, a)))); !slices.Equal(got, firsts) {
					t.Fatalf("%s of %s: %v, not %v", r.Property, a, got, firsts)
				}
				if got := slices.Sorted(maps.Keys(maps.Collect(s.Seconds(r, a)))); !slices.Equal(got, seconds) {
					t.Fatalf("%s of %s to others: %v, not %v", r.Property, a, got, seconds)
				}
			}
		}
	})
}

// What follows from what.
func TestRelationsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := someScene(t)
		seen := s.SeenBy("b0")
		holds := func(s *Scene, r *Relation, a, b string) bool { _, ok := s.Holds(r, a, b); return ok }
		for _, a := range names(s) {
			for _, b := range names(s) {
				x, y := s.get(a), s.get(b)
				if a == b {
					continue
				}
				for _, is := range []struct {
					what string
					ok   bool
				}{
					{"on is above", !holds(s, On, a, b) || holds(s, Above, a, b)},
					{"on is not in", !holds(s, On, a, b) || !holds(s, In, a, b)},
					{"above is below", holds(s, Above, a, b) == holds(s, Below, b, a)},
					{"in is one way", !holds(s, In, a, b) || !holds(s, In, b, a)},
					{"near is mutual", holds(s, Near, a, b) == holds(s, Near, b, a)},
					{"next to is mutual", holds(s, NextTo, a, b) == holds(s, NextTo, b, a)},
					{"next to is not on", !holds(s, NextTo, a, b) || !holds(s, On, a, b)},
					{"in is near", !holds(s, In, a, b) || holds(s, Near, a, b)},
					{"on is near", !holds(s, On, a, b) || holds(s, Near, a, b)},
					{"left is right, seen by one", b == "b0" || a == "b0" || holds(seen, LeftOf, a, b) == holds(seen, RightOf, b, a)},
					{"front is behind, seen by one", b == "b0" || a == "b0" || holds(seen, InFrontOf, a, b) == holds(seen, Behind, b, a)},
					{"left is right, both turned alike", x.Pose.R != y.Pose.R || holds(s, LeftOf, a, b) == holds(s, RightOf, b, a)},
					{"not left and right", !holds(s, LeftOf, a, b) || !holds(s, RightOf, a, b)},
					{"KnowRob's left is right", holds(s, spatial[KnowRob+"toTheLeftOf"], a, b) == holds(s, spatial[KnowRob+"toTheRightOf"], b, a)},
				} {
					if !is.ok {
						t.Fatalf("%s: not for %+v and %+v", is.what, x, y)
					}
				}
			}
		}
	})
}

// moved returns the scene with all of it moved.
func moved(s *Scene, by pose.Pose) *Scene {
	m := s
	for b := range s.Bodies() {
		b.Pose = by.Mul(b.Pose)
		m = m.With(b)
	}
	return m
}

// Where everything is matters to none of our relations, nor how it is turned about the vertical.
func TestMovingEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := someScene(t)
		if rapid.Bool().Draw(t, "observed") {
			s = s.SeenBy("b0")
		}
		level := moved(s, pose.Pose{T: somewhere(t, 10), R: pose.RPY(0, 0, rapid.Float64Range(-4, 4).Draw(t, "yaw"))})
		tilted := moved(s, pose.Pose{T: somewhere(t, 10), R: pose.RPY(1, -2, 0.5)})
		for _, r := range Relations {
			for _, a := range names(s) {
				for _, b := range names(s) {
					was, _ := s.Holds(r, a, b)
					if is, _ := level.Holds(r, a, b); is != was && !brittle(s, r, a, b) {
						t.Fatalf("%s of %+v and %+v: %g, moved %g", r.Property, s.get(a), s.get(b), was, is)
					}
					turned := r == Near || r == ReachableFrom || r == InsidePlace
					if is, _ := tilted.Holds(r, a, b); turned && is != was && !brittle(s, r, a, b) {
						t.Fatalf("%s of %+v and %+v: %g, turned %g", r.Property, s.get(a), s.get(b), was, is)
					}
				}
			}
		}
	})
}

// brittle reports whether a relation depends on less than rounding.
func brittle(s *Scene, r *Relation, a, b string) bool {
	_, was := s.Holds(r, a, b)
	for i := range 200 {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		little := func() float64 { return rng.NormFloat64() * 1e-6 }
		shaken := s
		for x := range s.Bodies() {
			x.Pose = x.Pose.Mul(pose.Exp(pose.Twist{Rho: pose.Vec3{X: little(), Y: little(), Z: little()}, Phi: pose.Vec3{X: little(), Y: little(), Z: little()}}))
			shaken = shaken.With(x)
		}
		if _, is := shaken.Holds(r, a, b); is != was {
			return true
		}
	}
	return false
}

// A distance is that between two planes that have the boxes on their sides, and is nothing where
// there are none.
func TestDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := someBody(t, "a"), someBody(t, "b")
		a, b := newSolid(&x), newSolid(&y)
		d := distance(&a, &b)
		if d != distance(&b, &a) {
			t.Fatal("it depends on the order")
		}
		least := 0.0 // what some plane proves
		p := a.centre
		for range 20000 {
			q := b.nearest(p)
			p = a.nearest(q)
			n := p.Sub(q)
			if n.Norm() < 1e-9 {
				break
			}
			least = max(least, apart(&a, &b, n.Scale(1/n.Norm())))
		}
		if d < least-precision || d > p.Sub(b.nearest(p)).Norm()+precision {
			t.Fatalf("%g, at least %g, at most %g: %+v, %+v", d, least, p.Sub(b.nearest(p)).Norm(), x, y)
		}
	})
}

// Probabilities against many random poses of both bodies.
func TestProbabilityAgainstMonteCarlo(t *testing.T) {
	table := Body{Name: "table", Pose: pose.Pose{T: pose.Vec3{Z: 0.4}, R: pose.RPY(0, 0, 0.4)}, Cov: pose.DiagonalCov(0.03, 0.01), Box: world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: 0.8, Y: 1.6, Z: 0.8}}}
	cup := Body{Name: "cup", Cov: pose.DiagonalCov(0.05, 0.1), Box: world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: 0.08, Y: 0.08, Z: 0.1}}}
	skew := [6][6]float64{{0.04, 0.01, 0, 0, 0, 0}, {0.01, 0.01, 0, 0, 0, 0.002}, {0, 0, 0.001, 0, 0, 0}, {0, 0, 0, 0.0001, 0, 0}, {0, 0, 0, 0, 0.0001, 0}, {0, 0.002, 0, 0, 0, 0.01}}
	correlated, err := pose.NewCov(&skew)
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range []struct {
		r    *Relation
		p    pose.Pose
		cov  pose.Cov
		near float64
	}{
		{On, pose.Translation(0, 0, 0.85), cup.Cov, 0},
		{On, pose.Translation(0.4, 0.1, 0.86), cup.Cov, 0},
		{On, pose.Translation(0.2, -0.7, 0.87), correlated, 0},
		{In, pose.Translation(0.1, 0.1, 0.7), cup.Cov, 0},
		{Near, pose.Translation(1.4, 0.3, 0.4), correlated, 0},
		{NextTo, pose.Translation(0.8, 0.3, 0.4), correlated, 0},
		{LeftOf, pose.Translation(-0.9, 1.1, 0.6), correlated, 0},
		{InFrontOf, pose.Translation(0.6, 0.9, 0.8), correlated, 0},
		{Above, pose.Translation(0.4, 0, 1.5), correlated, 0},
		{spatial[KnowRob+"on-Physical"], pose.Translation(0.5, 0.3, 0.8), correlated, 0},
		{spatial[KnowRob+"toTheLeftOf"], pose.Translation(0.25, 0.1, 0.6), correlated, 0},
	} {
		cup.Pose, cup.Cov = at.p, at.cov
		s := NewScene(DefaultRules(), table, cup)
		got := s.Probability(at.r, "cup", "table")
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		sample := func(b *Body) solid {
			l := rootOf(&b.Cov)
			var x [6]float64
			for k := range 6 {
				z := rng.NormFloat64()
				for i := range 6 {
					x[i] += l[i][k] * z
				}
			}
			return b.at(b.Pose.Mul(pose.Exp(pose.Twist{Rho: pose.Vec3{X: x[0], Y: x[1], Z: x[2]}, Phi: pose.Vec3{X: x[3], Y: x[4], Z: x[5]}})))
		}
		const samples = 40000
		n := 0
		for range samples {
			a, b := sample(&cup), sample(&table)
			if at.r.holds(s, &a, &b) {
				n++
			}
		}
		want := float64(n) / samples
		t.Logf("%s: %.3f, of samples %.3f", at.r.Property, got, want)
		if math.Abs(got-want) > 0.03 {
			t.Errorf("%s at %v: %.3f, of samples %.3f", at.r.Property, at.p, got, want)
		}
	}
}

func TestSight(t *testing.T) {
	upright := func(name string, x, y, z, depth, width, height float64) Body {
		return Body{Name: name, Pose: pose.Translation(x, y, z), Box: world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: depth, Y: width, Z: height}}}
	}
	s := NewScene(DefaultRules(),
		upright("camera", 0, 0, 1, 0, 0, 0),
		upright("robot", 0, 0, 0.5, 0.6, 0.6, 1.2), // the camera is in it
		upright("cupboard", 2, 0, 1, 0.5, 1, 2),
		upright("handle", 1.76, 0, 1, 0.03, 0.02, 0.1),
		upright("cup", 2, 0, 1, 0.1, 0.1, 0.1),     // in the cupboard
		upright("shoes", 3, 0, 0.1, 0.3, 0.2, 0.1), // behind it
		upright("lamp", 3, 0, 2.8, 0.2, 0.2, 0.6),  // behind it, and higher
		upright("moon", 0, 0, 99, 1, 1, 1),
		upright("glass", 1, 1, 1, 0.002, 1, 2), // a thin wall
		upright("vase", 2, 2, 1, 0.1, 0.1, 0.1),
	)
	for name, want := range map[string]bool{"robot": true, "cupboard": true, "handle": true, "cup": false, "shoes": false, "lamp": true, "moon": false, "vase": false} {
		if _, got := s.Holds(VisibleFrom, name, "camera"); got != want {
			t.Errorf("%s is seen: %v", name, got)
		}
	}
	if _, ok := s.Without("cupboard").Holds(VisibleFrom, "shoes", "camera"); !ok {
		t.Error("the shoes are hidden by what is gone")
	}
	if _, ok := s.Holds(ReachableFrom, "handle", "robot"); ok {
		t.Error("the robot reaches further than a metre")
	}
	long, _ := s.Body("robot")
	long.Reach = 1.5
	if _, ok := s.With(long).Holds(ReachableFrom, "handle", "robot"); !ok {
		t.Error("the robot does not reach as far as it says")
	}
}

// crowd is n things on tables of 20 each, and the tables.
func crowd(n int) *Scene {
	var bodies []Body
	for i := range n {
		table := i / 21
		at := pose.Vec3{X: float64(table%25) * 3, Y: float64(table/25) * 3}
		b := Body{Name: fmt.Sprint("https://kitchen.example/thing", i), Frame: "map"}
		if k := i % 21; k == 0 {
			b.Name = fmt.Sprint("https://kitchen.example/table", table)
			b.Pose = pose.Translation(at.X, at.Y, 0.375)
			b.Box = world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: 0.8, Y: 1.6, Z: 0.75}}
		} else {
			b.Pose = pose.Translation(at.X+float64(k%4)*0.2-0.3, at.Y+float64(k/4)*0.25-0.7, 0.8)
			b.Box = world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: 0.1, Y: 0.1, Z: 0.1}}
		}
		bodies = append(bodies, b)
	}
	return NewScene(DefaultRules(), bodies...)
}

func BenchmarkOnTheTable(b *testing.B) {
	for _, uncertain := range []bool{false, true} {
		b.Run(fmt.Sprintf("uncertain=%v", uncertain), func(b *testing.B) {
			s := crowd(10_000)
			if uncertain {
				for body := range s.Bodies() {
					body.Cov = pose.DiagonalCov(0.01, 0.01)
					s = s.With(body)
				}
			}
			for b.Loop() {
				n := 0
				for range s.Firsts(On, "https://kitchen.example/table77") {
					n++
				}
				if n != 20 {
					b.Fatal(n)
				}
			}
		})
	}
}

func BenchmarkMoveAndAnswer(b *testing.B) {
	s := crowd(10_000)
	at := [2]pose.Pose{}
	first, _ := s.Body("https://kitchen.example/thing1618")
	at[0] = first.Pose
	at[1] = pose.Translation(0, 0, 5)
	for i := 0; b.Loop(); i++ {
		first.Pose = at[(i+1)%2]
		s = s.With(first)
		n := 0
		for range s.Firsts(On, "https://kitchen.example/table77") {
			n++
		}
		if want := 19 + i%2; n != want {
			b.Fatal(n, want)
		}
	}
}
