package wm_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// Whatever is committed, a memory with a bound in bytes takes no more of the process than
// that: no payloads, many instances, ever new entities, long names, corrections, late
// arrivals.
func TestBoundIsTheMemory(t *testing.T) {
	const bound = 8 << 20
	empty := engram.Payload{Type: "google.protobuf.StringValue"}
	update := func(entity string, at int, p engram.Payload, n int) engram.EntityUpdate {
		u := engram.EntityUpdate{Entity: modelID(entity), Time: engram.Time(at)}
		for range n {
			p.Bytes = bytes.Clone(p.Bytes)
			u.Instances = append(u.Instances, engram.NewInstance(p))
		}
		return u
	}
	long := strings.Repeat("n", engram.MaxNameLen-10)
	for name, c := range map[string]struct {
		updates int
		of      func(i int) engram.EntityUpdate
	}{
		"one entity, no payloads":          {100_000, func(i int) engram.EntityUpdate { return update("a", i, empty, 1) }},
		"many entities, no payloads":       {100_000, func(i int) engram.EntityUpdate { return update(fmt.Sprint(i%5000), i, empty, 1) }},
		"a few each":                       {100_000, func(i int) engram.EntityUpdate { return update(fmt.Sprint(i/3), i, empty, 1) }},
		"ever new entities, no payloads":   {70_000, func(i int) engram.EntityUpdate { return update(fmt.Sprint(i), 1, empty, 1) }},
		"ever new entities of long names":  {100_000, func(i int) engram.EntityUpdate { return update(fmt.Sprint(long, i), 1, empty, 1) }},
		"many instances without payloads":  {3_000, func(i int) engram.EntityUpdate { return update("a", i, empty, 200) }},
		"many instances of a few bytes":    {3_000, func(i int) engram.EntityUpdate { return update("a", i, blob(5), 100) }},
		"small payloads":                   {100_000, func(i int) engram.EntityUpdate { return update("a", i, blob(9), 1) }},
		"payloads just over a size class":  {10_000, func(i int) engram.EntityUpdate { return update("a", i, blob(2049), 1) }},
		"corrections of one time":          {100_000, func(i int) engram.EntityUpdate { return update("a", 1, empty, 1) }},
		"times that go back":               {70_000, func(i int) engram.EntityUpdate { return update("a", -i, empty, 1) }},
		"times that jump":                  {70_000, func(i int) engram.EntityUpdate { return update("a", i*7919%70_000, empty, 1) }},
		"entities that leave a state each": {70_000, func(i int) engram.EntityUpdate { return update(fmt.Sprint(i/2), i%2, blob(50), 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			w := memory(t, wm.Config{Limits: wm.Limits{Recent: 1000}}, engram.Bounds{}, engram.Bounds{MaxBytes: bound})
			w.KeptBy(keptElsewhere)
			for i := 0; i < c.updates; {
				var updates []engram.EntityUpdate
				for ; i < c.updates && len(updates) < 1000; i++ {
					updates = append(updates, c.of(i))
				}
				testkit.Commit(t, w, updates...)
			}
			took := heap() - before
			t.Logf("%.2f of the bound", float64(took)/bound)
			if took > bound*115/100 || took < bound/3 {
				t.Errorf("takes %d bytes of RAM, the bound is %d: %+v", took, bound, held(t, w, "Test"))
			}
			if held(t, w, "Test").Evicted == 0 {
				t.Error("nothing was evicted: the test proves nothing")
			}
			runtime.KeepAlive(w)
		})
	}
}

// heap returns what is in use of the heap.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Segments are not evicted: of ever new ones there are no more than may be.
func TestSegmentsAreBounded(t *testing.T) {
	w := memory(t, wm.Config{Limits: wm.Limits{MaxSegments: 10}}, engram.Bounds{}, engram.Bounds{MaxBytes: 1 << 20})
	of := func(i int) engram.EntityUpdate {
		u := change("a", i, blob(5))
		u.Entity = engram.MustID(fmt.Sprintf("Test/Core/p%d/a", i))
		return u
	}
	for i := range 20 {
		if err := commitTo(t, w, one(of(i))); engram.CodeOf(err) != engram.Exhausted && (i >= 10 || err != nil) {
			t.Errorf("provider segment %d: %v", i, err)
		}
	}
	if err := commitTo(t, w, one(of(3))); err != nil {
		t.Errorf("one that is there: %v", err)
	}
	added := engram.MustID("Test/Core/p30")
	if err := w.AddProviderSegment(t.Context(), engram.ProviderSegment{ID: added}); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("adding one: %v", err)
	}
	if err := w.RemoveSegment(t.Context(), engram.MustID("Test/Core/p3")); err != nil {
		t.Fatal(err)
	}
	if err := w.AddProviderSegment(t.Context(), engram.ProviderSegment{ID: added}); err != nil {
		t.Errorf("when there is room: %v", err)
	}
	for i := range 20 {
		err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID(fmt.Sprintf("Test/Core%d", i))})
		if engram.CodeOf(err) != engram.Exhausted && (i >= 9 || err != nil) {
			t.Errorf("core segment %d: %v", i, err)
		}
	}
	if err := w.RemoveSegment(t.Context(), modelCore); err != nil {
		t.Fatal(err)
	}
	if st := held(t, w, "Test"); st.Snapshots != 0 || st.Refused != 10 {
		t.Errorf("%+v", st)
	}
}
