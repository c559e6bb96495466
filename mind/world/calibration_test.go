package world

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// detected simulates a detector of 20 Hz that misses and has false alarms, each for a third of a second or
// so, and a cup that is taken away and now and then brought back. It returns what the beliefs are that came of it
// at random times, and whether the cup was there then.
func detected(t *testing.T, rules Rules, r *rand.Rand) (beliefs []float64, there []bool) {
	const rate, seconds, halfLife, confidence = 20, 60, 60.0, 0.9
	rules.HalfLives["cup"] = time.Duration(halfLife * float64(time.Second))
	said := kitchen()
	for i := range said {
		if said[i].Name == "cup" {
			said[i].Confidence = confidence
		}
	}
	b := NewBuilder(rules)
	for _, s := range said {
		if err := b.Put(s); err != nil {
			t.Fatal(err)
		}
	}
	f := b.Forest()
	goes := 1 - math.Exp2(-1/(rate*halfLife))
	for range 200 {
		is := r.Float64() < confidence
		var was []bool
		var looks []Look
		held := r.Float64() // what the detector makes of the frames for a while
		for frame := 1; frame <= rate*seconds; frame++ {
			switch u := r.Float64(); {
			case is && u < goes, !is && u < goes*comesBack:
				is = !is
			}
			if r.Float64() < 0.15 {
				held = r.Float64()
			}
			l := ahead(2+float64(frame)/rate, -2, 2.1, 0.75)
			if is && held < rules.Detection || !is && held < rules.FalseAlarm {
				l.Seen = []string{"cup"}
			}
			looks, was = append(looks, l), append(was, is)
		}
		for range 4 {
			at := r.IntN(len(looks))
			got, err := f.Belief("cup", looks[at].Time, looks[:at+1])
			if err != nil {
				t.Fatal(err)
			}
			beliefs, there = append(beliefs, got.P), append(there, was[at])
		}
	}
	return beliefs, there
}

// calibrationError is how far beliefs are from how often they are true, in the mean over five classes of
// beliefs (the expected calibration error).
func calibrationError(beliefs []float64, there []bool) (sum float64) {
	var p, n [5]float64
	for i, b := range beliefs {
		class := min(int(b*5), 4)
		if p[class] += b; there[i] {
			n[class]++
		}
	}
	for i := range p {
		sum += math.Abs(p[i]-n[i]) / float64(len(beliefs))
	}
	return sum
}

// A belief of 0.8 is true in eight of ten cases, also of a detector with 20 frames a second whose faults last longer
// than a frame; counted frame by frame it would not be.
func TestBeliefsAreCalibrated(t *testing.T) {
	rules := DefaultRules()
	beliefs, there := detected(t, rules, rand.New(rand.NewPCG(1, 2)))
	if e := calibrationError(beliefs, there); !(e < 0.04) {
		t.Errorf("beliefs are off by %.3f in the mean", e)
	}
	sharp := slices.DeleteFunc(slices.Clone(beliefs), func(p float64) bool { return p > 0.1 && p < 0.9 })
	if len(sharp) < len(beliefs)*3/4 {
		t.Errorf("only %d of %d beliefs say much", len(sharp), len(beliefs))
	}
	rules.Correlation = 0
	if e := calibrationError(detected(t, rules, rand.New(rand.NewPCG(1, 2)))); !(e > 0.1) {
		t.Errorf("counted frame by frame they are off by %.3f only: the test cannot tell", e)
	}
}

// The table on which things are seen stays, and what nobody looks for.
func TestWhatIsNotLookedForStays(t *testing.T) {
	f := forest(t, kitchen()...)
	var looks []Look
	for i := range 40 {
		l := ahead(3+0.3*float64(i), -2, 2, 0.3, "cup")
		l.LookedFor = LookedFor{Classes: []string{"cup", "plate"}}
		looks = append(looks, l)
	}
	for name, present := range map[string]bool{"table": true, "cup": true, "cupboard": true, "door": true} {
		a, err := f.Account(name, 20*second, looks)
		if err != nil || a.Present() != present || a.Looked != 0 {
			t.Errorf("%s: %v, %v", name, &a, err)
		}
	}
	if a, _ := f.Account("table", 20*second, looks); a.By != "camera" || a.Source != Perception {
		t.Errorf("the table that bears what was seen: %v", &a)
	}
	if a, _ := f.Account("cupboard", 20*second, looks); a.By == "camera" {
		t.Errorf("the cupboard bears nothing that was seen: %v", &a)
	}
}
