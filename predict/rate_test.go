package predict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/predict"
)

// A member whose rate is told exactly is predicted exactly, also just after the rate changed. It grows, so no
// period is seen in it.
func TestToldRateIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		rates := make([]float64, 80)
		for i := range rates {
			rates[i] = 0.5 + 2*r.Float64()
		}
		tr, err := predict.NewTracker(make([]predict.Kind, 2))
		if err != nil {
			t.Fatal(err)
		}
		tr.Tell(predict.Rates{By: []int{1, -1}})
		var f predict.Forecast
		x := 0.0
		for i := range 7 * len(rates) {
			at := engram.Time(0).Add(time.Duration(i) * step)
			rate := rates[i/7]
			tr.Observe(at, []float64{x, rate}, nil)
			x += rate * step.Seconds()
			if i < 300 {
				continue
			}
			if err := tr.Predict(at.Add(step), &f); err != nil {
				t.Fatal(err)
			}
			if math.Abs(f.Mean[0]-x) > 1e-6 {
				t.Fatalf("after snapshot %d with the rate %v: %v, want %v (%s)", i, rate, f.Mean[0], x, f.Model[0])
			}
		}
	})
}

// A rate that has nothing to do with its member, or is of another unit, makes predictions no worse.
func TestWrongRateLoses(t *testing.T) {
	for name, rate := range map[string]func(i int) float64{
		"noise":   func(i int) float64 { return 3 * math.Sin(float64(i*i)) },
		"degrees": func(i int) float64 { return 180 / math.Pi * 5 * math.Cos(float64(i)/20) },
		"negated": func(i int) float64 { return -5 * math.Cos(float64(i)/20) },
		"huge":    func(i int) float64 { return 1e15 },
	} {
		t.Run(name, func(t *testing.T) {
			with, err := predict.NewTracker(make([]predict.Kind, 2))
			if err != nil {
				t.Fatal(err)
			}
			without, err := predict.NewTracker(make([]predict.Kind, 2))
			if err != nil {
				t.Fatal(err)
			}
			with.Tell(predict.Rates{By: []int{1, -1}})
			r := rand.New(rand.NewPCG(1, 2))
			value := func(i int) float64 { return math.Sin(float64(i) / 20) }
			at := engram.Time(0)
			a, b := 0.0, 0.0
			for i := range 2000 {
				row := []float64{value(i) + 0.01*r.NormFloat64(), rate(i)}
				with.Observe(at, row, nil)
				without.Observe(at, row, nil)
				if i > 200 {
					f, g := ahead(t, with, at.Add(10*step)), ahead(t, without, at.Add(10*step))
					a += math.Pow(f.Mean[0]-value(i+10), 2)
					b += math.Pow(g.Mean[0]-value(i+10), 2)
				}
				at = at.Add(step)
			}
			if !(a <= 1.02*b) {
				t.Errorf("with it the errors are %v, without %v", math.Sqrt(a), math.Sqrt(b))
			}
		})
	}
}

// A pose that goes round a circle is predicted along the circle, whichever frame its velocities are told in.
func TestPoseGoesRound(t *testing.T) {
	for _, own := range []bool{true, false} {
		t.Run(fmt.Sprint("own frame ", own), func(t *testing.T) {
			tr, err := predict.NewTracker(make([]predict.Kind, 13))
			if err != nil {
				t.Fatal(err)
			}
			by := make([]int, 13)
			for i := range by {
				by[i] = -1
			}
			tr.Tell(predict.Rates{By: by, Poses: []predict.PoseRates{{Translation: 0, Rotation: 3, Linear: 7, Angular: 10}}})
			const w, radius = 1.5, 0.7
			r := rand.New(rand.NewPCG(1, 2))
			row := func(s, noise float64) []float64 {
				a := w * s
				v := [2]float64{radius * w, 0}
				if !own {
					v = [2]float64{radius * w * math.Cos(a), radius * w * math.Sin(a)}
				}
				return []float64{radius*math.Sin(a) + noise*r.NormFloat64(), -radius*math.Cos(a) + noise*r.NormFloat64(), 0,
					0, 0, math.Sin(a / 2), math.Cos(a / 2), v[0], v[1], 0, 0, 0, w}
			}
			at := engram.Time(0)
			for i := range 600 {
				at = engram.Time(0).Add(time.Duration(i) * step)
				tr.Observe(at, row(float64(i)*step.Seconds(), 0.005), nil)
			}
			const later = 16
			f := ahead(t, tr, at.Add(later*step))
			want := row((599+later)*step.Seconds(), 0)
			for i, x := range want[:7] {
				if off := math.Abs(f.Mean[i] - x); own && off > 0.01 || off > 0.03 {
					t.Errorf("member %d: %v, want %v (%s)", i, f.Mean[i], x, f.Model[i])
				}
			}
		})
	}
}

// Whatever a pose and its velocities are told to be, what is predicted is a number.
func TestPoseOfAnything(t *testing.T) {
	by := []int{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}
	rapid.Check(t, func(t *rapid.T) {
		tr, err := predict.NewTracker(make([]predict.Kind, len(by)))
		if err != nil {
			t.Fatal(err)
		}
		tr.Tell(predict.Rates{By: by, Poses: []predict.PoseRates{{Translation: 0, Rotation: 3, Linear: 7, Angular: 10 + rapid.IntRange(0, 1).Draw(t, "beyond")}}})
		value := rapid.SampledFrom([]float64{0, 1, -3, math.NaN(), math.Inf(1), 1e15, -1e15, 1e300, 1e-300})
		at := engram.Time(0)
		for range 40 {
			at = at.Add(time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "step")))
			tr.Observe(at, rapid.SliceOfN(value, len(by), len(by)).Draw(t, "row"), nil)
		}
		var f predict.Forecast
		if err := tr.Predict(at.Add(time.Minute), &f); err != nil {
			t.Fatal(err)
		}
		for i, x := range f.Mean {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("member %d is %v", i, x)
			}
		}
	})
}

// Rates are found by the names of members.
func TestRatesOfLocalization(t *testing.T) {
	ty, ok := memories.Type("engram.robot_state.Localization")
	if !ok {
		t.Fatal("the type is not known")
	}
	vector := map[string]any{"x": 1.0, "y": 2.0, "z": 3.0}
	b, err := ty.Encode(map[string]any{"translation": vector, "rotation": map[string]any{"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}, "linear_velocity": vector, "angular_velocity": vector})
	if err != nil {
		t.Fatal(err)
	}
	m, err := predict.MembersOf(ty, b)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Rates.Poses) != 1 {
		t.Fatalf("of %v the rates are %+v", m.Paths, m.Rates)
	}
	p := m.Rates.Poses[0]
	for at, path := range map[int]string{p.Translation: "translation.x", p.Rotation: "rotation.x", p.Linear: "linear_velocity.x", p.Angular: "angular_velocity.x"} {
		if at < 0 || m.Paths[at] != path {
			t.Errorf("%s is not found: %+v of %v", path, p, m.Paths)
		}
	}
}
