package service_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/predict/service"
	"github.com/seed-301d4374/engram/server"
)

func reset(t *testing.T, s *server.Server, r service.Reset) {
	t.Helper()
	u, err := r.Update(types(t), "me")
	if err := commit(t, s, u, err); err != nil {
		t.Fatal(err)
	}
}

func when(i float64) engram.Time { return engram.Time(0).Add(time.Duration(i * float64(step))) }

func member(p engram.Prediction, path string) engram.PredictedMember {
	for _, m := range p.Members {
		if m.Path == path {
			return m
		}
	}
	return engram.PredictedMember{}
}

// A battery that was charged at a declared time: nothing is said before something came, little right after, and
// then when it will be empty, as it falls now. Without the reset the jump is in the fit.
func TestReset(t *testing.T) {
	s := whole(t)
	battery, same := engram.MustID("M/C/p/battery"), engram.MustID("M/C/p/same")
	charge := func(i int) float64 {
		if i >= 200 {
			return 100 - 0.2*float64(i-200)
		}
		return 90 - 0.4*float64(i)
	}
	both := func(i int) {
		for _, e := range []engram.ID{battery, same} {
			put(t, s, e, i, map[string]any{"charge": charge(i)})
		}
	}
	for i := range 200 {
		both(i)
	}
	if p := ask(t, s, battery, 204); p.Err != nil || math.Abs(p.Members[0].Mean-charge(199)+5*0.4) > 0.3 {
		t.Fatalf("before it is %+v", p)
	}
	reset(t, s, service.Reset{Entity: battery, At: when(199.5), Reason: "charged"})
	p := ask(t, s, battery, 204)
	if !errors.Is(p.Err, engram.Unavailable) || !strings.Contains(p.Err.Error(), "charged") {
		t.Errorf("after a reset it is %+v", p)
	}
	if p := ask(t, s, same, 204); p.Err != nil {
		t.Errorf("of the other: %v", p.Err)
	}
	filter, err := idf.CompileFilter("charge < 50.0")
	if err != nil {
		t.Fatal(err)
	}
	empty := func(of engram.ID) service.Crossing {
		t.Helper()
		n, err := s.Latest(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		c, err := service.Until(t.Context(), s, types(t), filter, engram.Item{ID: of.At(n.Time), Snapshot: n}, 1000*step)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	both(200)
	p = ask(t, s, battery, 204)
	if p.Err != nil || !math.IsInf(p.Members[0].SD, 1) || p.Members[0].Mean != 100 || len(p.From) != 2 {
		t.Errorf("of one snapshot after the reset it is said %+v", p)
	}
	if c := empty(battery); !strings.Contains(c.Abstains, "since its reset") {
		t.Errorf("of one snapshot: %+v", c)
	}
	truth := when(451) // below 50
	for i := 201; i < 230; i++ {
		both(i)
		if i == 206 {
			c := empty(battery)
			if c.Time == 0 || c.Earliest > truth || c.Latest != 0 && c.Latest < truth {
				t.Errorf("after %d snapshots it is empty at %v, from %v to %v; it is at %v", i-199, c.Time, c.Earliest, c.Latest, truth)
			}
		}
	}
	c := empty(battery)
	if off := c.Time.Sub(truth); off.Abs() > 10*step || c.Earliest > truth || c.Latest != 0 && c.Latest < truth {
		t.Errorf("it is empty at %v, from %v to %v; it is at %v", c.Time, c.Earliest, c.Latest, truth)
	}
	// Declared late it is the same; withdrawn it is none.
	reset(t, s, service.Reset{Entity: same, At: when(199.5)})
	if late := empty(same); late.Time != c.Time {
		t.Errorf("declared late it is empty at %v, in time %v", late.Time, c.Time)
	}
	if p := ask(t, s, same, 240); len(p.From) != 2 {
		t.Errorf("it rests on %v", p.From)
	}
	reset(t, s, service.Reset{Entity: same, At: when(199.5), Withdrawn: true})
	if p := ask(t, s, same, 240); len(p.From) != 1 {
		t.Errorf("after it was withdrawn it rests on %v", p.From)
	}
}

// Of some members only these begin anew.
func TestResetOfMembers(t *testing.T) {
	s := whole(t)
	arm := engram.MustID("M/C/p/arm")
	at := func(i int) any {
		x := float64(i)
		if i >= 100 {
			x = -500 + 2*float64(i)
		}
		return map[string]any{"axis": []any{x, 3 * float64(i)}, "z": 1.0}
	}
	for i := range 101 {
		put(t, s, arm, i, at(i))
	}
	reset(t, s, service.Reset{Entity: arm, At: when(100), Members: []string{"axis[0]"}})
	p := ask(t, s, arm, 105)
	if m := member(p, `["axis"][0]`); !math.IsInf(m.SD, 1) {
		t.Errorf("the axis that was reset is %+v", m)
	}
	if m := member(p, `["axis"][1]`); math.Abs(m.Mean-315) > 1 || !(m.SD < 10) {
		t.Errorf("the other one is %+v", m)
	}
	for i := 101; i < 110; i++ {
		put(t, s, arm, i, at(i))
	}
	if m := member(ask(t, s, arm, 112), `["axis"][0]`); math.Abs(m.Mean-(-500+2*112)) > 2 || m.High-m.Low > 100 {
		t.Errorf("after ten snapshots the axis is %+v", m)
	}
	// To come: up to then as before, and from then on nothing is known of it.
	reset(t, s, service.Reset{Entity: arm, At: when(115), Members: []string{"axis"}})
	if m := member(ask(t, s, arm, 114), `["axis"][1]`); !(m.SD < 10) {
		t.Errorf("before a reset to come it is %+v", m)
	}
	p = ask(t, s, arm, 116)
	if m, z := member(p, `["axis"][1]`), member(p, `["z"]`); !math.IsInf(m.High, 1) || z.High != 1 {
		t.Errorf("after a reset to come it is %+v, what was not reset %+v", m, z)
	}
}

// A declared jump is no surprise, and what cannot be reset is refused.
func TestResetIsExpected(t *testing.T) {
	s := whole(t)
	e := engram.MustID("M/C/p/e")
	f := service.Following{Entity: e, Enabled: true}
	u, err := f.Update(types(t), "me", 1)
	if err := commit(t, s, u, err); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		put(t, s, e, i, map[string]any{"x": float64(i)})
	}
	await(t, s, "Prediction/Score/answer", any1) // it is followed
	reset(t, s, service.Reset{Entity: e, At: when(100)})
	for i := 100; i < 300; i++ {
		x := float64(i) + 1000
		if i >= 250 {
			x += 1000
		}
		put(t, s, e, i, map[string]any{"x": x})
	}
	await(t, s, "Prediction/Surprise/Surprise", func(o map[string]any) bool {
		if o["timestamp"] == when(100) {
			t.Errorf("the declared jump surprised: %v", o)
		}
		return o["timestamp"] == when(250)
	})
	r := service.Reset{Entity: engram.MustID("M/C/p")}
	if _, err := r.Update(types(t), "me"); !errors.Is(err, engram.Invalid) {
		t.Errorf("a segment: %v", err)
	}
	if _, err := (&service.Reset{Entity: engram.MustID("Prediction/Score/a/b")}).Update(types(t), "me"); !errors.Is(err, engram.Invalid) {
		t.Errorf("a score: %v", err)
	}
}

// Models are not trained across a reset.
func TestTrainingStopsAtReset(t *testing.T) {
	s := whole(t)
	e := engram.MustID("M/C/p/e")
	for i := range 200 {
		put(t, s, e, i, map[string]any{"x": math.Sin(float64(i))})
	}
	pieces := func() int {
		t.Helper()
		v, err := service.Train(t.Context(), s, types(t), nil, service.Training{Entity: e, Add: []service.Episode{{Name: "a", Span: engram.Interval{Start: when(0), End: when(200)}}}})
		if err != nil {
			t.Fatal(err)
		}
		return v.Model.Episodes
	}
	before := pieces()
	reset(t, s, service.Reset{Entity: e, At: when(100), Members: []string{"x"}})
	if after := pieces(); before != 1 || after != 2 {
		t.Errorf("it learned from %d pieces, and from %d with a reset", before, after)
	}
}
