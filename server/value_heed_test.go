package server_test

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// A surprise is of value for the entity that surprised, an incident for its cause and for the
// sensors that it is about; each is counted when it is told, and not again.
func TestSurprisesAndIncidentsAreOfValue(t *testing.T) {
	types := idf.NewRegistry()
	s, err := server.New(server.Config{Memories: memories.All(), Types: types})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	tell := func(id, typ string, at engram.Time, v map[string]any) {
		t.Helper()
		of, ok := types.Get(typ)
		if !ok {
			t.Fatal("there is no type ", typ)
		}
		b, err := of.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		testkit.Commit(t, s, engram.EntityUpdate{Entity: engram.MustID(id), Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: b})}})
	}
	thing := func(name string) engram.ID { return engram.MustID("GeneralPurpose/Thing/p/" + name) }
	if err := s.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Thing")}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cup", "hand", "camera", "chair"} {
		testkit.Commit(t, s, testkit.Update(t, thing(name).String(), 1, "something"))
	}
	surprise := func(at engram.Time, sigma float64, surprising bool) {
		tell("Prediction/Surprise/Surprise/cup", "engram.prediction.Surprise", at, map[string]any{
			"timestamp": at, "entity": thing("cup"), "sigma": sigma, "surprising": surprising, "since": engram.Time(5), "snapshot": thing("cup").At(1)})
	}
	surprise(5, 9, true)
	surprise(6, 1, false) // it is over before anybody looked
	tell("SystemState/Incident/Attention/fall 7", "engram.system_state.Incident", 7, map[string]any{
		"timestamp": engram.Time(7), "rule": engram.MustID("SystemState/Attention/me/fall"), "cause": thing("hand").At(1), "window_start": engram.Time(1),
		"sensors": []any{map[string]any{"sensor": thing("camera")}}})
	seen := server.Heed(s, 0)
	values := func(what string, want map[string][2]float64) {
		t.Helper()
		stats, err := s.Stats(t.Context(), engram.PatternOf(thing("cup").Parent()), engram.LevelEntity)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range stats {
			if v := st.Value; v != nil && ([2]float64{v.Surprised, v.Marked} != want[st.ID.Entity()]) {
				t.Errorf("%s: %s is worth %+v, want surprised and marked %v", what, st.ID, *v, want[st.ID.Entity()])
			}
		}
	}
	values("told", map[string][2]float64{"cup": {9}, "hand": {0, 8}, "camera": {0, 8}})
	for i := range 3000 {
		testkit.Commit(t, s, testkit.Update(t, thing("cup").String(), engram.Time(10+i), "something"))
	}
	faded := func() (v engram.Value) {
		t.Helper()
		st, err := s.Stats(t.Context(), engram.PatternOf(thing("cup")), engram.LevelEntity)
		if err != nil || len(st) != 1 || st[0].Value == nil {
			t.Fatal(st, err)
		}
		return *st[0].Value
	}
	before := faded()
	if seen = server.Heed(s, seen); faded() != before || before.Surprised >= 9 {
		t.Errorf("what was told already is counted again: %+v, then %+v", before, faded())
	}
	surprise(8, 20, true)
	server.Heed(s, seen)
	if v := faded(); v.Surprised != 20 {
		t.Errorf("after another surprise it is worth %+v", v)
	}
}
