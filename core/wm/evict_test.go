package wm_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	asking "github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func held(t testing.TB, w *wm.WM, p string) engram.Stats {
	t.Helper()
	st, err := w.Stats(context.Background(), engram.MustPattern(p), engram.LevelMemory)
	if err != nil || len(st) != 1 {
		t.Fatal(st, err)
	}
	return st[0]
}

func query(t testing.TB, w *wm.WM, q engram.Query) *engram.Result {
	t.Helper()
	r, err := w.Query(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMemoryBoundOrder evicts from a whole memory what ceased to be current first,
// and current states only when nothing else is left.
func TestMemoryBoundOrder(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{MaxCount: 4})
	p := blob(5)
	testkit.Commit(t, w, change("static", 1, p))
	for i := range 10 {
		testkit.Commit(t, w, change("busy", i, p))
	}
	if got := numbers(query(t, w, engram.SelectID(modelCore, engram.All()))); !slices.Equal(got, []uint64{9, 10, 11, 1}) {
		t.Errorf("held are %v, want the static one and the last of the busy one", got)
	}
	for i := range 3 {
		testkit.Commit(t, w, change(fmt.Sprint("new", i), 1, p))
	}
	r := query(t, w, engram.SelectID(modelCore, engram.All()))
	if got := numbers(r); !slices.Equal(got, []uint64{11, 12, 13, 14}) {
		t.Errorf("held are %v, want the four current states that arrived last", got)
	}
	if _, err := w.Latest(context.Background(), modelID("static")); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("the evicted entity: %v", err)
	}
	provider := modelID("x").Parent()
	if !slices.ContainsFunc(r.Missing, func(m engram.Missing) bool { return m.ID == provider && m.Count == 1 }) {
		t.Errorf("the entity that is gone is not told of: %+v", r.Missing)
	}
	testkit.Commit(t, w, change("static", 5, p))
	r = query(t, w, engram.SelectID(modelID("static"), engram.All()))
	if len(r.Missing) != 1 || r.Missing[0].ID != provider {
		t.Errorf("of an entity that was gone and is back, missing is %+v", r.Missing)
	}
	if r = query(t, w, engram.SelectID(modelID("static"), engram.Latest(1))); len(r.Missing) != 0 {
		t.Errorf("its newest state is there, and missing is %+v", r.Missing)
	}
	if st := held(t, w, "Test/Core"); st.Entities != 4 || st.Snapshots != 4 || st.Evicted != 11 || st.Committed != 15 {
		t.Errorf("stats %+v", st)
	}
}

// TestKeepNewest commits random updates, many at once, to a memory that keeps newest states:
// what was taken is there in its newest state, and only what has no room is refused.
func TestKeepNewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := modelID("e1")
		bounds := engram.Bounds{MaxBytes: wm.ProviderCost(id) + 5*(wm.VersionCost(60, 1)+wm.EntityCost(id))}
		if rapid.Bool().Draw(t, "by count") {
			bounds = engram.Bounds{MaxCount: 5}
		}
		w := wm.New(wm.Config{Types: testTypes})
		err := errors.Join(w.AddMemory("Test", bounds), w.KeepNewest("Test"), w.AddCoreSegment(context.Background(), engram.CoreSegment{ID: modelCore}))
		if err != nil {
			t.Fatal(err)
		}
		newest := map[string]int{}
		for range rapid.IntRange(1, 20).Draw(t, "commits") {
			var c engram.Commit
			var names []string
			var times []int
			for range rapid.IntRange(1, 12).Draw(t, "updates") {
				name, at := fmt.Sprint("e", rapid.IntRange(0, 9).Draw(t, "entity")), rapid.IntRange(1, 50).Draw(t, "time")
				c.Updates = append(c.Updates, change(name, at, blob(rapid.IntRange(10, 100).Draw(t, "size"))))
				names, times = append(names, name), append(times, at)
			}
			results, err := w.Commit(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range results {
				_, known := newest[names[i]]
				switch {
				case r.Err == nil:
					newest[names[i]] = max(newest[names[i]], times[i])
				case engram.CodeOf(r.Err) == engram.TooOld && known:
				case engram.CodeOf(r.Err) != engram.Exhausted:
					t.Fatal(r.Err)
				case bounds.MaxCount > 0 && (known || len(newest) < bounds.MaxCount):
					t.Fatalf("there is room for %s: %v", names[i], r.Err)
				}
			}
			for name, at := range newest {
				s, err := w.Latest(context.Background(), modelID(name))
				if err != nil || s.Time != change(name, at, blob(10)).Time {
					t.Fatalf("%s, last stated at %d: %+v, %v", name, at, s, err)
				}
			}
		}
	})
}

// TestMemoryBoundEntities commits ever new entities: what is kept does not grow.
func TestMemoryBoundEntities(t *testing.T) {
	id := modelID("1234")
	each := wm.VersionCost(100, 1) + wm.EntityCost(id)
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{MaxBytes: wm.ProviderCost(id) + 10*each})
	for i := range 5000 {
		testkit.Commit(t, w, change(fmt.Sprint(1000+i), 1, blob(100)))
	}
	if st := held(t, w, "Test"); st.Entities != 10 || st.Bytes != 1000 || st.Evicted != 4990 {
		t.Errorf("stats %+v", st)
	}
	if r := query(t, w, engram.SelectID(modelID("1003"), engram.All())); len(r.Memories) != 0 || len(r.Missing) != 1 {
		t.Errorf("an entity that is gone: %+v", r)
	}
}

// TestMemoryBoundSize refuses what the memory could never hold.
func TestMemoryBoundSize(t *testing.T) {
	id := modelID("a")
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{MaxBytes: wm.VersionCost(100, 1) + wm.EntityCost(id) + wm.ProviderCost(id)})
	testkit.Commit(t, w, change("a", 1, blob(100)))
	r, err := w.Commit(context.Background(), engram.Commit{Updates: []engram.EntityUpdate{change("a", 2, blob(101))}})
	if err != nil || engram.CodeOf(r[0].Err) != engram.Exhausted {
		t.Errorf("one byte too many: %+v, %v", r, err)
	}
	if got := numbers(query(t, w, engram.SelectID(modelCore, engram.All()))); !slices.Equal(got, []uint64{1}) {
		t.Errorf("held are %v", got)
	}
}

// TestMemoryBoundAge evicts by the memory's newest time, in all its entities, but no
// current state.
func TestMemoryBoundAge(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{MaxAge: 10})
	p := blob(5)
	testkit.Commit(t, w, change("a", 1, p), change("a", 2, p), change("a", 2, p), change("b", 3, p), change("b", 9, p))
	testkit.Commit(t, w, change("c", 13, p))
	if got := numbers(query(t, w, engram.SelectID(modelCore, engram.All()))); !slices.Equal(got, []uint64{3, 4, 5, 6}) {
		t.Errorf("held are %v", got)
	}
	if st := held(t, w, "Test"); st.Superseded != 0 || st.Evicted != 2 {
		t.Errorf("the superseded version stays: %+v", st)
	}
	testkit.Commit(t, w, change("c", 99, p), change("c", 100, p))
	if got := numbers(query(t, w, engram.SelectID(modelCore, engram.All()))); !slices.Equal(got, []uint64{3, 5, 7, 8}) {
		t.Errorf("held are %v, want the current states and what is not old", got)
	}
}

// TestEvictedPayloadIsReleased shows that what is evicted does not stay in memory.
func TestEvictedPayloadIsReleased(t *testing.T) {
	for name, c := range map[string]struct {
		history, all engram.Bounds
		remove       bool
		entities     bool // each payload goes to an entity of its own
	}{
		"entity bound":   {history: engram.Bounds{MaxCount: 3}},
		"memory bound":   {all: engram.Bounds{MaxCount: 3}},
		"whole entities": {all: engram.Bounds{MaxCount: 3}, entities: true},
		"removed":        {remove: true},
		"removed, bound": {remove: true, all: engram.Bounds{MaxCount: 1000, MaxAge: 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			w := memory(t, wm.Config{}, c.history, c.all)
			s := subscribe(t, w, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("Test/Core/*/none")}})
			defer s.Close()
			var payloads []weak.Pointer[byte]
			for i := range 20 {
				p := blob(10_000)
				payloads = append(payloads, weak.Make(&p.Bytes[0]))
				entity := "a"
				if c.entities {
					entity = fmt.Sprint(i)
				}
				testkit.Commit(t, w, change(entity, i/2, p)) // of one entity, every second one supersedes
			}
			kept := 3
			if c.remove {
				kept = 0
				if err := w.RemoveSegment(context.Background(), modelCore); err != nil {
					t.Fatal(err)
				}
			}
			runtime.GC()
			for i, p := range payloads {
				if alive := p.Value() != nil; alive != (i >= len(payloads)-kept) {
					t.Errorf("payload %d of %d in memory: %v", i, len(payloads), alive)
				}
			}
			if st := held(t, w, "Test"); st.Bytes != int64(kept)*10_000 {
				t.Errorf("stats %+v", st)
			}
			runtime.KeepAlive(w)
		})
	}
}

// TestRemoveSegmentInBoundedMemory removes a segment and fills the memory again:
// what was removed no longer counts.
func TestRemoveSegmentInBoundedMemory(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{MaxCount: 10, MaxAge: 1 << 40})
	p := blob(5)
	other := engram.MustID("Test/Core/Other/a")
	for i := range 5 {
		testkit.Commit(t, w, change("a", i, p), engram.EntityUpdate{Entity: other, Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(p)}})
	}
	if err := w.RemoveSegment(context.Background(), modelID("a").Parent()); err != nil {
		t.Fatal(err)
	}
	if st := held(t, w, "Test"); st.Snapshots != 5 || st.Committed != 10 || st.Evicted != 0 {
		t.Errorf("after the removal: %+v", st)
	}
	for i := range engram.Time(2) { // the first is alone in its time
		testkit.Commit(t, w, engram.EntityUpdate{Entity: other, Time: 1<<50 + i, Instances: []engram.Instance{engram.NewInstance(p)}})
	}
	if st := held(t, w, "Test"); st.Snapshots != 2 || st.Evicted != 5 {
		t.Errorf("after a jump in time: %+v", st)
	}
	for i := range 12 {
		testkit.Commit(t, w, change("a", 1<<50+i, p))
	}
	if st := held(t, w, "Test"); st.Snapshots != 10 || st.Evicted != 9 || st.Entities != 2 {
		t.Errorf("after filling up: %+v", st)
	}
	if got := numbers(query(t, w, engram.SelectID(other, engram.All()))); !slices.Equal(got, []uint64{12}) {
		t.Errorf("of the other provider segment are held %v", got)
	}
}

// TestEvictedVersionIsMissing asks as of a time whose version was evicted, while the
// snapshot is still there.
func TestEvictedVersionIsMissing(t *testing.T) {
	now := engram.Time(0)
	w := memory(t, wm.Config{Now: func() engram.Time { now++; return now }}, engram.Bounds{MaxCount: 2}, engram.Bounds{})
	for range 3 {
		testkit.Commit(t, w, change("a", 10, blob(5)))
	}
	for asOf, want := range map[engram.Time]struct {
		numbers []uint64
		missing int
	}{1: {nil, 1}, 2: {[]uint64{2}, 0}, 3: {[]uint64{3}, 0}} {
		q := engram.SelectID(modelID("a"), engram.All())
		q.AsOf = &asOf
		r := query(t, w, q)
		if !slices.Equal(numbers(r), want.numbers) || len(r.Missing) != want.missing {
			t.Errorf("as of %d: updates %v, missing %+v; want %+v", asOf, numbers(r), r.Missing, want)
		}
		if want.missing == 1 && len(r.Missing) == 1 && (r.Missing[0].Interval != engram.Interval{Start: 10, End: 11} || r.Missing[0].Count != 1) {
			t.Errorf("as of %d: missing %+v", asOf, r.Missing)
		}
	}
}

// TestEvictedBetween evicts a snapshot that has older ones beside it: what was in
// force then is not taken for what is left.
func TestEvictedBetween(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{MaxCount: 3})
	p := blob(5)
	testkit.Commit(t, w, change("a", 5, p))
	testkit.Commit(t, w, change("a", 20, p))
	testkit.Commit(t, w, change("a", 3, p))
	testkit.Commit(t, w, change("b", 1, p)) // 5 ceased to be current before 3 did
	if got := numbers(query(t, w, engram.SelectID(modelID("a"), engram.All()))); !slices.Equal(got, []uint64{3, 2}) {
		t.Fatalf("held are %v", got)
	}
	if snap, err := w.AtOrBefore(context.Background(), modelID("a"), 10); engram.CodeOf(err) != engram.TooOld {
		t.Errorf("at or before 10: %+v, %v; 5 was in force and is evicted", snap, err)
	}
	if snap, err := w.AtOrBefore(context.Background(), modelID("a"), 4); err != nil || snap.Time != 3 {
		t.Errorf("at or before 4: %+v, %v", snap, err)
	}
	for _, c := range []struct {
		sel  engram.SnapshotSelector
		lost bool
	}{
		{engram.AtOrBefore(10), true}, {engram.AtOrBefore(4), false}, {engram.AtOrBefore(20), false},
		{engram.Latest(1), false}, {engram.Latest(2), true}, {engram.Latest(3), true},
		{engram.Nearest(4, 5), false}, {engram.Nearest(6, 5), true}, {engram.Nearest(19, 20), false},
		{engram.At(5), true}, {engram.At(6), false}, {engram.At(3), false},
		{engram.In(engram.Interval{Start: 3, End: 5}), false}, {engram.In(engram.Interval{Start: 3, End: 6}), true},
		{engram.Indices(0, 5), false},
	} {
		if r := query(t, w, engram.SelectID(modelID("a"), c.sel)); (len(r.Missing) > 0) != c.lost {
			t.Errorf("%+v: missing %+v, want some: %v", c.sel, r.Missing, c.lost)
		}
	}
}

// What was asked for and found exactly is not missing, though something before and after
// it is gone.
func TestNothingIsMissingBetween(t *testing.T) {
	gone := wm.Loss{Evictions: 2, Snapshots: 2, First: 4, Last: 6}
	for _, test := range []struct {
		asked asking.Asked
		tell  bool
	}{
		{asking.Asked{First: 6, Last: 5, Count: 1, Met: true}, false}, // at or before 5, where there is one
		{asking.Asked{First: 5, Last: 5}, true},
		{asking.Asked{First: 7, Last: 9}, false},
	} {
		if m := gone.Missing(modelID("1"), test.asked, engram.MaxTime, nil); (m != nil) != test.tell {
			t.Errorf("of %+v is missing: %+v", test.asked, m)
		}
	}
}
