package service_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// A person at a fork went left in 6 of 10 cases: both ways are said, with what they rest on.
func TestHypotheses(t *testing.T) {
	s := whole(t)
	person, straight := engram.MustID("M/C/p/person"), engram.MustID("M/C/p/straight")
	r := rand.New(rand.NewPCG(7, 8))
	at := 0
	both := func(x, y float64) {
		put(t, s, person, at, map[string]any{"position": []any{x + 0.01*r.NormFloat64(), y + 0.01*r.NormFloat64()}, "name": "Ada"})
		put(t, s, straight, at, map[string]any{"position": []any{x + 0.01*r.NormFloat64(), 0.01 * r.NormFloat64()}, "name": "Bob"})
		at++
	}
	for walk := range 51 {
		for k := range 30 {
			both(0.1*float64(k), 0)
		}
		if walk == 50 {
			break
		}
		side := 1.0
		if walk%5 >= 3 {
			side = -1
		}
		for k := range 20 {
			both(3, side*0.1*float64(k))
		}
	}
	p := ask(t, s, person, float64(at+9))
	if p.Err != nil || len(p.Hypotheses) != 2 {
		t.Fatalf("at the fork: %+v", p)
	}
	left, right := p.Hypotheses[0], p.Hypotheses[1]
	if math.Abs(left.Probability-0.6) > 0.05 || math.Abs(right.Probability-0.4) > 0.05 || len(left.From) == 0 {
		t.Errorf("left %+v, right %+v", left, right)
	}
	y := func(n *engram.Snapshot) float64 {
		v, err := idf.DecodeValue(n.Instances[0].Payload.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if o := v.(map[string]any); o["name"] == "Ada" {
			return o["position"].([]any)[1].(float64)
		}
		return math.NaN()
	}
	if !(y(left.Snapshot) > 0.7) || !(y(right.Snapshot) < -0.7) || y(p.Snapshot) != y(left.Snapshot) {
		t.Errorf("it goes to %v, to %v, most probably to %v", y(left.Snapshot), y(right.Snapshot), y(p.Snapshot))
	}
	if m := member(p, `["position"][1]`); !(m.Low < -0.7) || !(m.High > 0.7) || m.SD < 0.5 || m.Model != "past situations" {
		t.Errorf("together: %+v", m)
	}
	for _, i := range []float64{0.5, 2, 9} {
		if p := ask(t, s, straight, float64(at)+i); p.Err != nil || len(p.Hypotheses) != 0 || math.Abs(member(p, `["position"][1]`).Mean) > 0.2 {
			t.Errorf("straight on, %v steps: %+v", i, p)
		}
	}
}

// A text that changes in a pattern is predicted, also without any number; one that does not says why not.
func TestTexts(t *testing.T) {
	s := whole(t)
	light, note := engram.MustID("M/C/p/light"), engram.MustID("M/C/p/note")
	for i := range 604 {
		state := "red"
		if i%30 >= 20 {
			state = "green"
		}
		put(t, s, light, i, map[string]any{"state": state})
		put(t, s, note, i, strings.Repeat("a", i%60))
	}
	text := func(p engram.Prediction) any {
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		v, err := idf.DecodeValue(p.Snapshot.Instances[0].Payload.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return v.(map[string]any)["state"]
	}
	// It is red for the 4th step.
	if p := ask(t, s, light, 603+20); text(p) != "green" || len(p.Hypotheses) != 0 || len(p.From) < 2 {
		t.Errorf("20 steps later: %+v", p)
	}
	if p := ask(t, s, light, 603+5); !errors.Is(p.Err, engram.Unsupported) && text(p) != "red" {
		t.Errorf("5 steps later: %+v", p)
	}
	if p := ask(t, s, note, 610); !errors.Is(p.Err, engram.Unsupported) || !strings.Contains(p.Err.Error(), "pattern") {
		t.Errorf("of notes: %+v", p)
	}
}

// A pose in any payload has a covariance, which grows with the horizon.
func TestPoses(t *testing.T) {
	s := whole(t)
	e := engram.MustID("M/C/p/pose")
	typ, err := types(t)("foxglove.PoseInFrame")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 9))
	for i := range 200 {
		a := 0.01*float64(i) + 0.002*r.NormFloat64()
		b, err := typ.Encode(map[string]any{"frame_id": "map", "pose": map[string]any{
			"position":    map[string]any{"x": 0.1*float64(i) + 0.01*r.NormFloat64(), "y": 0.01 * r.NormFloat64(), "z": 0.5},
			"orientation": map[string]any{"x": 0.0, "y": 0.0, "z": math.Sin(a / 2), "w": math.Cos(a / 2)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, engram.EntityUpdate{Entity: e, Time: when(float64(i)), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}}, nil)
	}
	var before [36]float64
	for _, ahead := range []float64{1, 5, 20, 100} {
		p := ask(t, s, e, 199+ahead)
		if p.Err != nil || len(p.Poses) != 1 || p.Poses[0].Path != "pose" {
			t.Fatalf("%+v", p)
		}
		c := p.Poses[0].Covariance
		if !(c[0] > 1e-5) || !(c[0] >= before[0]) || !(c[35] > 1e-7) || c[35] < 0.9*before[35] || c[0] != member(p, "pose.position.x").SD*member(p, "pose.position.x").SD {
			t.Errorf("%v steps ahead it is %v, before it was %v", ahead, c, before)
		}
		before = c
	}
}

// An unsigned number is not predicted to be below 0.
func TestUnsigned(t *testing.T) {
	s := whole(t)
	e := engram.MustID("M/C/p/image")
	typ, err := types(t)("foxglove.CameraCalibration")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		b, err := typ.Encode(map[string]any{"width": uint32(400 - 4*i), "height": uint32(3 + i%2)})
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, engram.EntityUpdate{Entity: e, Time: when(float64(i)), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}}, nil)
	}
	p := ask(t, s, e, 110)
	if m := member(p, "width"); p.Err != nil || m.Path == "" || m.Mean != 0 || m.Low != 0 || m.High < 0 {
		t.Errorf("%+v, %v", m, p.Err)
	}
}
