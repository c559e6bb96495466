package service_test

import (
	"math"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/predict/service"
)

// Models are trained of what is followed for it, lesson by lesson, ever more rarely, and not while the CPU is wanted.
func TestTrainingWhenIdle(t *testing.T) {
	s := whole(t)
	of, other := engram.MustID("M/C/p/arm"), engram.MustID("M/C/p/other")
	f := service.Following{Entity: of, Enabled: true, Train: true}
	u, err := f.Update(types(t), "me", 1)
	if err := commit(t, s, u, err); err != nil {
		t.Fatal(err)
	}
	f = service.Following{Entity: other, Enabled: true}
	u, err = f.Update(types(t), "me", 1)
	if err := commit(t, s, u, err); err != nil {
		t.Fatal(err)
	}
	wanted := 1.0
	trainer := service.NewTrainer(s, types(t), func(time.Time) float64 { return wanted })
	n := 0
	minutes := func(more int) { // of two numbers that are told once a second
		for range 60 * more {
			x := math.Sin(float64(n) / 7)
			v := []any{x, 2 * x}
			put(t, s, of, 10*n, v)
			put(t, s, other, 10*n, v)
			n++
		}
	}
	learned := func() int {
		v, _, err := service.NewestVersion(t.Context(), s, types(t), of)
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			return 0
		}
		return len(v.Episodes)
	}
	look := func(what string, want int) {
		t.Helper()
		trainer.Look(t.Context())
		if got := learned(); got != want {
			t.Fatalf("%s: %d lessons were learned, not %d", what, got, want)
		}
	}
	minutes(9)
	wanted = 0
	look("too little", 0)
	minutes(12)
	wanted = 1
	look("the CPU is wanted", 0)
	wanted = 0.1
	look("it is free", 1)
	look("and still", 2)
	look("nothing is new", 2)
	minutes(11)
	look("too early after twenty minutes", 2)
	minutes(2)
	look("later", 3)
	v, _, err := service.NewestVersion(t.Context(), s, types(t), of)
	if err != nil || v.Judged == 0 || v.Episodes[2].Span.End.Sub(v.Episodes[2].Span.Start) != 10*time.Minute {
		t.Errorf("the third version: %+v, %v", v, err)
	}
	if v, _, err := service.NewestVersion(t.Context(), s, types(t), other); v != nil || err != nil {
		t.Errorf("of what nobody wants a model: %v, %v", v, err)
	}
	trainer.Look(t.Context())
	f = service.Following{Entity: of, Enabled: false, Train: true}
	u, err = f.Update(types(t), "me", 2)
	if err := commit(t, s, u, err); err != nil {
		t.Fatal(err)
	}
	minutes(60)
	look("it is not followed any more", 3)
}
