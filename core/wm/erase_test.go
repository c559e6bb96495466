package wm_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/wm"
)

// What is erased is gone from every answer, what is not stays, and the memory counts
// right and goes on.
func TestErase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		now := engram.Time(1)
		w := wm.New(wm.Config{Now: func() engram.Time { return now }, Types: testTypes})
		defer w.Close()
		bounds := engram.Bounds{}
		if rapid.Bool().Draw(t, "bounded") {
			bounds.MaxCount = 100_000 // keeps the memory's lists, evicts nothing
		}
		if err := w.AddMemory("Test", bounds); err != nil {
			t.Fatal(err)
		}
		if err := w.AddCoreSegment(ctx, engram.CoreSegment{ID: modelCore}); err != nil {
			t.Fatal(err)
		}
		type version struct{ arrived, value int64 }
		model := map[string]map[engram.Time][]version{"a": {}, "b": {}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			entity := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "entity")
			if rapid.IntRange(0, 4).Draw(t, "erase") > 0 {
				for range rapid.SampledFrom([]int{1, 3, 40}).Draw(t, "commits") {
					now++
					at := engram.Time(rapid.IntRange(0, 60).Draw(t, "time"))
					p, _ := idf.ValuePayload(int64(now))
					r, err := w.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: modelID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(p)}}}})
					if err != nil || r[0].Err != nil {
						t.Fatal(err, r)
					}
					model[entity][at] = append(model[entity][at], version{int64(now), int64(now)})
				}
				continue
			}
			from := engram.Time(rapid.IntRange(-1, 61).Draw(t, "from"))
			to := from + engram.Time(rapid.SampledFrom([]int{1, 10, 100}).Draw(t, "length"))
			until := engram.Time(rapid.Int64Range(1, int64(now)+1).Draw(t, "arrived until"))
			n, err := w.Erase(ctx, modelID(entity), func(s *engram.Snapshot) bool { return s.Time >= from && s.Time < to && s.Arrived <= until })
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for at, list := range model[entity] {
				if at < from || at >= to {
					continue
				}
				kept := slices.DeleteFunc(slices.Clone(list), func(v version) bool { return engram.Time(v.arrived) <= until })
				want += len(list) - len(kept)
				if model[entity][at] = kept; len(kept) == 0 {
					delete(model[entity], at)
				}
			}
			if int(n) != want {
				t.Fatalf("%d versions erased, want %d", n, want)
			}
		}
		held := 0
		for entity, times := range model {
			r, err := w.Query(ctx, engram.SelectID(modelID(entity), engram.All()))
			if err != nil {
				t.Fatal(err)
			}
			var got []engram.Time
			for item := range r.All() {
				list := times[item.Time]
				if v, _ := idf.DecodeValue(item.Instances[0].Payload.Bytes); len(list) == 0 || v != list[len(list)-1].value {
					t.Fatalf("%s at %d: %v, want %v", entity, item.Time, v, list)
				}
				got = append(got, item.Time)
			}
			want := slices.Sorted(maps.Keys(times))
			if !slices.Equal(got, want) {
				t.Fatalf("%s: times %d, want %d", entity, got, want)
			}
			latest, err := w.Latest(ctx, modelID(entity))
			switch {
			case len(want) == 0 && engram.CodeOf(err) != engram.NotFound && engram.CodeOf(err) != engram.TooOld:
				t.Fatalf("%s: latest of nothing: %v, %v", entity, latest, err)
			case len(want) > 0 && (err != nil || latest.Time != want[len(want)-1]):
				t.Fatalf("%s: latest %v, %v; want %d", entity, latest, err, want[len(want)-1])
			}
			for _, list := range times {
				held += len(list)
			}
		}
		if got := w.Held("Test"); got != uint64(held) {
			t.Fatalf("the memory counts %d versions, want %d", got, held)
		}
	})
}
