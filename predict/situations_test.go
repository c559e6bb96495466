package predict_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/predict"
)

// walked is a person who walks along x to 3, and there does as turn says of each walk; then the walk
// begins again. It returns the situations when a last walk has come to x = 2.95.
func walked(t *testing.T, walks int, turn func(walk int) float64) *predict.Situations {
	t.Helper()
	tr, err := predict.NewTracker(make([]predict.Kind, 2))
	if err != nil {
		t.Fatal(err)
	}
	s := predict.NewSituations(tr, 0)
	r := rand.New(rand.NewPCG(1, 2))
	at := engram.Time(0)
	observe := func(x, y float64) {
		at = at.Add(100 * time.Millisecond)
		s.Observe(at, []float64{x + 0.01*r.NormFloat64(), y + 0.01*r.NormFloat64()}, nil, false)
	}
	for walk := range walks + 1 {
		speed := 1 + 0.05*r.NormFloat64()
		x := 0.0
		for ; x < 2.95; x += 0.1 * speed {
			observe(x, 0)
		}
		if walk == walks {
			observe(2.95, 0)
			break
		}
		side := turn(walk)
		for k := range 25 {
			d := 0.1 * speed * float64(k)
			if side == 0 {
				observe(x+d, 0)
			} else {
				observe(x+0.2*d, side*d)
			}
		}
	}
	return s
}

// At a fork there are two ways, as often as they were taken; a straight walker has one, at each horizon.
func TestFork(t *testing.T) {
	fork := walked(t, 50, func(walk int) float64 {
		if walk%5 < 3 {
			return 1
		}
		return -1
	})
	got := fork.Outcomes(1e9)
	if len(got) != 2 {
		t.Fatalf("at the fork: %+v", got)
	}
	left, right := got[0], got[1]
	if math.Abs(left.Probability-0.6) > 0.05 || math.Abs(right.Probability-0.4) > 0.05 || left.Mean[1] < 0.6 || right.Mean[1] > -0.6 || !(left.Low[1] > 0) || left.SD[1] > 0.3 || len(left.From) == 0 {
		t.Errorf("left %+v, right %+v", left, right)
	}
	straight := walked(t, 50, func(int) float64 { return 0 })
	for _, horizon := range []float64{0.1e9, 0.3e9, 1e9, 2e9} {
		if got := straight.Outcomes(horizon); got != nil {
			t.Errorf("straight on, at %v ns: %+v", horizon, got)
		}
	}
	// Who has turned does not go the other way.
	if got := walked(t, 50, func(int) float64 { return 1 }).Outcomes(1e9); got != nil {
		t.Errorf("always left: %+v", got)
	}
}

// What never was is one thing.
func TestNoOutcomes(t *testing.T) {
	for name, f := range map[string]func(i int, r *rand.Rand) float64{
		"rest":   func(int, *rand.Rand) float64 { return 3 },
		"line":   func(i int, _ *rand.Rand) float64 { return float64(i) },
		"coarse": func(i int, _ *rand.Rand) float64 { return math.Floor(float64(i) * 0.37) },
		"noise":  func(_ int, r *rand.Rand) float64 { return r.NormFloat64() },
		"sine":   func(i int, _ *rand.Rand) float64 { return math.Sin(float64(i) / 10) },
		"noisy":  func(i int, r *rand.Rand) float64 { return math.Sin(float64(i)/10) + 0.1*r.NormFloat64() },
		"random": nil,
		"quantised": func(i int, r *rand.Rand) float64 {
			return math.Round(20*(math.Sin(float64(i)/10)+0.02*r.NormFloat64())) / 20
		},
	} {
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 3))
			tr, err := predict.NewTracker(make([]predict.Kind, 1))
			if err != nil {
				t.Fatal(err)
			}
			s := predict.NewSituations(tr, 0)
			walk := 0.0
			for i := range 3000 {
				x := 0.0
				if f != nil {
					x = f(i, r)
				} else {
					walk += r.NormFloat64()
					x = walk
				}
				s.Observe(engram.Time(0).Add(time.Duration(i)*step), []float64{x}, nil, false)
				if i%300 == 299 {
					for _, h := range []float64{1, 7.5, 40} {
						if got := s.Outcomes(h * float64(step)); got != nil {
							t.Errorf("%s, after %d, at %v steps: %+v", name, i, h, got)
						}
					}
				}
			}
		}
	}
}

// A light that changes after so long, a text that follows another one in three of four cases.
func TestStates(t *testing.T) {
	tr, err := predict.NewTracker([]predict.Kind{predict.Held})
	if err != nil {
		t.Fatal(err)
	}
	s := predict.NewSituations(tr, 1)
	at := engram.Time(0)
	r := rand.New(rand.NewPCG(5, 6))
	way := "left"
	for i := range 3003 { // red for 20, green for 10; where it goes then is told by a text
		light, text := 0.0, "wait"
		if i%30 == 0 {
			if way = "left"; r.Float64() < 0.25 {
				way = "right"
			}
		}
		if i%30 >= 20 {
			light, text = 1, way
		}
		at = at.Add(time.Second)
		s.Observe(at, []float64{light}, []string{text}, false)
	}
	if got := s.Outcomes(5e9); got != nil { // it is red for 3 s
		t.Errorf("after 5 s: %+v", got)
	}
	got := s.Outcomes(20e9)
	if len(got) != 2 || got[0].Mean[0] != 1 || got[0].Texts[0] != "left" || got[1].Texts[0] != "right" || math.Abs(got[0].Probability-0.75) > 0.1 {
		t.Errorf("after 20 s: %+v", got)
	}
}

// What has states and no numbers that move needs no more than 8 alike situations; fewer say nothing.
func TestFewStates(t *testing.T) {
	tr, err := predict.NewTracker(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := predict.NewSituations(tr, 1)
	said := 0
	for i := range 24 {
		s.Observe(engram.Time(0).Add(time.Duration(i)*time.Second), nil, []string{[]string{"off", "on"}[i%2]}, false)
		got := s.Outcomes(1e9)
		if got == nil {
			continue
		}
		if said++; len(got) != 1 || got[0].Texts[0] != []string{"off", "on"}[(i+1)%2] {
			t.Errorf("after %d snapshots: %+v", i+1, got)
		}
		if i+1 < 16 {
			t.Errorf("after %d snapshots, fewer than 8 of each state, it says %+v", i+1, got)
		}
	}
	if said < 4 {
		t.Errorf("it is known %d times", said)
	}
}
