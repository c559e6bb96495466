package service_test

import (
	"math"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Programs that write to one entity and tell joints of their own do not disturb each other, also where they tell as many:
// the newest snapshot is predicted from those of the same joints.
func TestPublishersOfOneEntity(t *testing.T) {
	s := memory(t)
	states := engram.MustID("M/C/p/joint_states")
	joints := func(i int, names []any, at ...float64) {
		positions := make([]any, len(at))
		for k, x := range at {
			positions[k] = x
		}
		put(t, s, states, i, map[string]any{"name": names, "position": positions})
	}
	left, right, laser := []any{"left_a", "left_b"}, []any{"right_a", "right_b"}, []any{"tilt"}
	rising := func(i int) float64 { return 0.1 * float64(i) }
	sine := func(i int) float64 { return math.Sin(float64(i) / 20) }
	for i := 0; i < 900; i += 3 {
		joints(i, left, rising(i), 5)
		joints(i+1, right, -100-rising(i+1), 70)
		joints(i+2, laser, sine(i+2))
	}
	check := func(last, at int, names []any, want ...float64) {
		t.Helper()
		p := ask(t, s, states, float64(at))
		if p.Err != nil || len(p.Members) != len(want) || p.From[0] != states.At(engram.Time(last)*engram.Time(step)) {
			t.Fatalf("%+v", p)
		}
		v, err := idf.DecodeValue(p.Snapshot.Instances[0].Payload.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.(map[string]any)["name"].([]any); got[0] != names[0] {
			t.Errorf("what is predicted is of %v, not of %v", got, names)
		}
		for k, x := range want {
			if m := p.Members[k]; math.Abs(m.Mean-x) > 0.05 {
				t.Errorf("after %d, %s of %v is predicted to be %v at %d, not %v", last, m.Path, names[0], m.Mean, at, x)
			}
		}
	}
	check(899, 905, laser, sine(905))
	joints(900, left, rising(900), 5)
	check(900, 910, left, rising(910), 5)
	joints(901, right, -100-rising(901), 70)
	check(901, 912, right, -100-rising(912), 70)

	// Many sets of joints are followed no more than bounds allow, and each new one is predicted.
	for n := range 10 {
		names := []any{string(rune('a' + n))}
		for i := range 40 {
			joints(1000+40*n+i, names, float64(n)+rising(i))
		}
		check(1039+40*n, 1045+40*n, names, float64(n)+rising(45))
	}
}
