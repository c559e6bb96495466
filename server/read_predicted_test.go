package server_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/server"
)

// A query with its flag has what is predicted for times after the newest snapshot, marked so; all else is as
// without the flag.
func TestQueryPredicted(t *testing.T) {
	s, err := server.New(server.Config{Log: testkit.Quiet, Memories: []server.Memory{{Name: "M", Segments: []engram.CoreSegment{{ID: engram.MustID("M/C")}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	put := func(entity string, at engram.Time, v any) {
		t.Helper()
		p, err := idf.ValuePayload(v)
		if err != nil {
			t.Fatal(err)
		}
		testkit.Commit(t, s, engram.EntityUpdate{Entity: engram.MustID("M/C/p/" + entity), Time: at, Instances: []engram.Instance{engram.NewInstance(p)}})
	}
	for i := range 60 {
		put("car", engram.Time(i*100), map[string]any{"x": float64(i), "y": 1.0})
		put("late", engram.Time(i*100+4000), map[string]any{"x": float64(i)})
	}
	put("word", 0, "hello")
	ask := func(t testing.TB, q engram.Query) (lines []string, missing []engram.Missing) {
		t.Helper()
		r, err := s.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for item := range r.All() {
			v := any("")
			if b := item.Instances[0].Payload.Bytes; len(b) > 0 {
				if v, err = idf.DecodeValue(b); err != nil {
					t.Fatal(err)
				}
			}
			if o, ok := v.(map[string]any); ok && o["x"] != nil {
				v = math.Round(o["x"].(float64))
			}
			time, _ := item.ID.Time()
			lines = append(lines, fmt.Sprintf("%s@%d %v %v", item.ID.Entity(), int64(time), v, item.Predicted))
		}
		return lines, r.Missing
	}
	want := func(name string, q engram.Query, want ...string) []engram.Missing {
		t.Helper()
		got, missing := ask(t, q)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
		return missing
	}
	all := engram.MustPattern("M")
	with := func(q engram.Query, also ...func(*engram.Query)) engram.Query {
		q.Predict = true
		for _, f := range also {
			f(&q)
		}
		return q
	}
	want("without the flag", all.Select(engram.AtOrBefore(6400)), "car@5900 59 false", "late@6400 24 false", "word@0 hello false")
	missing := want("with it", with(all.Select(engram.AtOrBefore(6400))), "car@6400 64 true", "late@6400 24 false", "word@0 hello false")
	if len(missing) != 1 || missing[0].Reason != engram.MissingNotPredicted || missing[0].ID != engram.MustID("M/C/p/word") || missing[0].Detail == "" {
		t.Errorf("what is not predicted: %+v", missing)
	}
	car := engram.MustPattern("M/C/p/car")
	want("at a snapshot", with(car.Select(engram.AtOrBefore(5900))), "car@5900 59 false")
	want("exactly", with(car.Select(engram.At(6000))), "car@6000 60 true")
	want("a union", with(car.Select(engram.Latest(1), engram.AtOrBefore(5850), engram.AtOrBefore(6000), engram.At(6100))),
		"car@5800 58 false", "car@5900 59 false", "car@6000 60 true", "car@6100 61 true")
	want("the latest", with(car.Select(engram.Latest(1))), "car@5900 59 false")
	want("filtered", with(all.Select(engram.AtOrBefore(6400)), func(q *engram.Query) { q.Where = "payload.x > 60.0" }), "car@6400 64 true")
	want("without payload", with(car.Select(engram.AtOrBefore(6400)), func(q *engram.Query) { q.WithoutPayload = true }), "car@6400  true")
	for _, bad := range []func(*engram.Query){func(q *engram.Query) { q.AsOf = new(engram.Time) }, func(q *engram.Query) { q.Every, q.Fields = 1, []string{"x"} }} {
		if _, err := s.Query(t.Context(), with(car.Select(engram.AtOrBefore(6400)), bad)); !errors.Is(err, engram.Invalid) {
			t.Errorf("asked so: %v", err)
		}
	}
	for i := range 1001 {
		put(fmt.Sprint("many", i), 0, 1.0)
	}
	if _, err := s.Query(t.Context(), with(all.Select(engram.AtOrBefore(6400)))); !errors.Is(err, engram.Exhausted) {
		t.Errorf("of very many: %v", err)
	}
	parts := &engram.Result{}
	err = s.QueryParts(t.Context(), with(car.Select(engram.AtOrBefore(6400))), func(r *engram.Result) error { parts.Merge(r); return nil })
	if items := parts.Items(); err != nil || len(items) != 1 || !items[0].Predicted {
		t.Errorf("in parts: %v, %v", items, err)
	}
}
