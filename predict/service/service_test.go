package service_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/predict/service"
	"github.com/seed-301d4374/engram/server"
)

// memory is a server with a core segment for any data.
func memory(t testing.TB) *server.Server {
	t.Helper()
	s, err := server.New(server.Config{Memories: []server.Memory{{Name: "M", Segments: []engram.CoreSegment{{ID: engram.MustID("M/C")}}}}, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

const step = 100 * time.Millisecond

func put(t testing.TB, s *server.Server, entity engram.ID, i int, v any) {
	t.Helper()
	p, err := idf.ValuePayload(v)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, s, engram.EntityUpdate{Entity: entity, Time: engram.Time(0).Add(time.Duration(i) * step), Instances: []engram.Instance{engram.NewInstance(p)}})
}

func ask(t testing.TB, s *server.Server, entity engram.ID, i float64) engram.Prediction {
	t.Helper()
	got, err := s.Predict(t.Context(), []engram.ID{entity.At(engram.Time(0).Add(time.Duration(i * float64(step))))})
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	return got[0]
}

// What is committed is followed from question to question; the rest of the payload stays; what is
// known is answered as it is.
func TestPredict(t *testing.T) {
	s := memory(t)
	car := engram.MustID("M/C/p/car")
	at := func(i int) any {
		return map[string]any{"x": 2 * float64(i), "gear": int64(3), "name": "car", "seen": engram.Time(0).Add(time.Duration(i) * step)}
	}
	for i := range 200 {
		put(t, s, car, i, at(i))
	}
	check := func(i float64, x float64) {
		t.Helper()
		p := ask(t, s, car, i)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		v, err := idf.DecodeValue(p.Snapshot.Instances[0].Payload.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		o := v.(map[string]any)
		if d := math.Abs(o["x"].(float64) - x); d > 0.01 || o["gear"] != int64(3) || o["name"] != "car" {
			t.Errorf("at %v it is predicted to be %v, not at %v", i, o, x)
		}
		if i > 200 && o["seen"] != p.Snapshot.Time {
			t.Errorf("its time is %v, that of the snapshot %v", o["seen"], p.Snapshot.Time)
		}
	}
	check(205, 410)
	check(199, 398)
	check(150.5, 301)
	if p := ask(t, s, car, 199); len(p.Members) != 2 || p.Members[1].Path != `["x"]` || p.Members[1].Low != 398 || p.Members[1].SD != 0 || p.Members[1].Model != "known" {
		t.Errorf("what is known is %+v", p)
	}
	for i := 200; i < 240; i++ {
		put(t, s, car, i, at(i))
	}
	check(250, 500)
	p := ask(t, s, car, 249)
	if p.Horizon != 10*step || len(p.From) != 1 || p.From[0] != car.At(engram.Time(0).Add(239*step)) {
		t.Errorf("the horizon is %v, from %v", p.Horizon, p.From)
	}
	for _, m := range p.Members {
		if m.Path == "x" && (m.Low > 498 || m.High < 498 || m.Skill < 0.9) {
			t.Errorf("x is %+v", m)
		}
	}
}

// Whatever cannot be predicted says why; a type that changes is no harm.
func TestPredictRefuses(t *testing.T) {
	s := memory(t)
	e := engram.MustID("M/C/p/e")
	if p := ask(t, s, e, 1); !errors.Is(p.Err, engram.NotFound) {
		t.Errorf("of nothing: %v", p.Err)
	}
	put(t, s, e, 0, "text")
	if p := ask(t, s, e, 1); !errors.Is(p.Err, engram.Unsupported) {
		t.Errorf("of a text: %v", p.Err)
	}
	put(t, s, e, 1, 5.0)
	if p := ask(t, s, e, 3); p.Err != nil || len(p.Members) != 1 || p.Members[0].Mean != 5 {
		t.Errorf("of a number: %+v", p)
	}
	put(t, s, e, 2, map[string]any{"list": []any{1.0, 2.0}})
	put(t, s, e, 3, map[string]any{"list": []any{1.0, 2.0, 3.0}})
	if p := ask(t, s, e, 4); p.Err != nil || len(p.Members) != 3 {
		t.Errorf("of a list that grew: %+v", p)
	}
	got, err := s.Predict(t.Context(), []engram.ID{e})
	if err != nil || !errors.Is(got[0].Err, engram.Invalid) {
		t.Errorf("without a time: %v, %v", got, err)
	}
}

// However many entities are asked for, a bounded number of bytes is kept.
func TestBounded(t *testing.T) {
	s := memory(t)
	p := service.New(s, idf.NewRegistry())
	list := make([]any, 500)
	for i := range list {
		list[i] = float64(i)
	}
	const many = 70
	for i := range many {
		e := engram.MustID(fmt.Sprintf("M/C/p/%d", i))
		put(t, s, e, 0, list)
		if _, err := p.Predict(t.Context(), []engram.ID{e.At(engram.Time(0).Add(step))}); err != nil {
			t.Fatal(err)
		}
	}
	n := len(p.Entities())
	if each := service.MaxBytes / n; n == many || n < 10 || each < 500*2<<10 || each > 500*8<<10 {
		t.Errorf("%d of %d entities are kept", n, many)
	}
}

// A number that is not told once is no new beginning.
func TestNotTold(t *testing.T) {
	s := memory(t)
	e := engram.MustID("M/C/p/e")
	for i := range 100 {
		x, y := any(float64(i)), any(-float64(i))
		if i == 97 {
			x = math.NaN()
		}
		put(t, s, e, i, map[string]any{"x": x, "y": y})
	}
	p := ask(t, s, e, 105)
	if p.Err != nil || len(p.Members) != 2 || p.Members[0].Skill < 0.5 || math.Abs(p.Members[1].Mean+105) > 0.5 {
		t.Errorf("%+v", p)
	}
}

// A number that is too large to be predicted stays as it is: it is not told to be something else.
func TestTooLarge(t *testing.T) {
	s := memory(t)
	e, only := engram.MustID("M/C/p/e"), engram.MustID("M/C/p/only")
	for i := range 50 {
		put(t, s, e, i, map[string]any{"ns": int64(1772614800000000000), "x": float64(i), "y": math.Inf(1)})
		put(t, s, only, i, map[string]any{"x": 1e200})
	}
	p := ask(t, s, e, 52)
	if p.Err != nil || len(p.Members) != 1 || math.Abs(p.Members[0].Mean-52) > 1 {
		t.Fatalf("%+v", p)
	}
	v, err := idf.DecodeValue(p.Snapshot.Instances[0].Payload.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if o := v.(map[string]any); o["ns"] != int64(1772614800000000000) || o["y"] != math.Inf(1) {
		t.Errorf("they are predicted to be %v", o)
	}
	if p := ask(t, s, only, 52); !errors.Is(p.Err, engram.Unsupported) {
		t.Errorf("without another number: %+v", p)
	}
}
