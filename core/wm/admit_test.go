package wm_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func keptElsewhere(engram.ID) bool { return true }

// commitTo commits one update and returns why it was refused.
func commitTo(t *testing.T, w *wm.WM, c engram.Commit) error {
	t.Helper()
	results, err := w.Commit(t.Context(), c)
	if err != nil || len(results) != len(c.Updates) {
		t.Fatal(results, err)
	}
	return engram.FirstError(results)
}

func one(u engram.EntityUpdate) engram.Commit {
	return engram.Commit{Updates: []engram.EntityUpdate{u}}
}

func timesOf(t *testing.T, w *wm.WM, entity string) (times []engram.Time) {
	t.Helper()
	for it := range query(t, w, engram.SelectID(modelID(entity), engram.All())).All() {
		times = append(times, it.Time)
	}
	return times
}

// A stamp farther ahead of the clock than its segment allows is refused, with all that
// one needs to know of it.
func TestStampsAhead(t *testing.T) {
	const now = 5_000 * engram.Time(time.Second)
	for name, c := range map[string]struct {
		max      time.Duration
		ahead    time.Duration
		recorded bool
		want     engram.Code
	}{
		"a minute":                    {0, time.Minute, false, 0},
		"more than a minute":          {0, time.Minute + 1, false, engram.OutOfRange},
		"years":                       {0, 1 << 62, false, engram.OutOfRange},
		"years, of a recording":       {0, 1 << 62, true, 0},
		"what the segment allows":     {time.Hour, time.Hour, false, 0},
		"more than what it allows":    {time.Hour, time.Hour + 1, false, engram.OutOfRange},
		"a segment that is stricter":  {time.Second, time.Minute, false, engram.OutOfRange},
		"a segment that takes any":    {engram.AnyAhead, 1 << 62, false, 0},
		"long ago, as in a recording": {0, -1 << 62, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := wm.New(wm.Config{Types: testTypes, Now: func() engram.Time { return now }})
			if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
				t.Fatal(err)
			}
			def := engram.CoreSegment{ID: modelCore, MaxAhead: c.max}
			if err := w.AddCoreSegment(t.Context(), def); err != nil {
				t.Fatal(err)
			}
			at := now.Add(c.ahead)
			u := one(change("a", int(at), blob(5)))
			u.Recorded = c.recorded
			err := commitTo(t, w, u)
			if engram.CodeOf(err) != c.want && (c.want != 0 || err != nil) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			st := held(t, w, "Test")
			if c.want == 0 {
				if got := timesOf(t, w, "a"); !slices.Equal(got, []engram.Time{at}) {
					t.Errorf("acknowledged, and there is %v", got)
				}
				return
			}
			for _, part := range []string{modelID("a").String(), at.String(), now.String(), "max ahead"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %q", part, err)
				}
			}
			if st.Refused != 1 || st.Snapshots != 0 || st.Entities != 0 {
				t.Errorf("%+v", st)
			}
			if d, err := w.Describe(t.Context(), engram.PatternOf(modelCore)); err != nil || d[0].MaxAhead != c.max {
				t.Errorf("described as %+v, %v", d, err)
			}
		})
	}
}

// Whatever bound is measured in time: one wild stamp evicts nothing, and what is
// committed after it stays as long as it would without it.
func TestOneWildStampEvictsNothing(t *testing.T) {
	for name, bounds := range map[string][2]engram.Bounds{
		"of the segment": {{MaxAge: 10}, {}},
		"of the memory":  {{}, {MaxAge: 10}},
		"of both":        {{MaxAge: 10, MaxCount: 100}, {MaxAge: 10, MaxBytes: 1 << 20}},
	} {
		t.Run(name, func(t *testing.T) {
			const wild = 1 << 50
			w := memory(t, wm.Config{}, bounds[0], bounds[1])
			for i := range 100 {
				if i == 50 {
					testkit.Commit(t, w, change("a", wild, blob(5)))
				}
				testkit.Commit(t, w, change("a", i, blob(5)))
				want := []engram.Time{}
				for k := max(0, i-10); k <= i; k++ {
					want = append(want, engram.Time(k))
				}
				if i >= 50 {
					want = append(want, wild)
				}
				if got := timesOf(t, w, "a"); !slices.Equal(got, want) {
					t.Fatalf("after %d there are %v, want %v", i, got, want)
				}
			}
			testkit.Commit(t, w, change("a", wild+1, blob(5))) // it was true
			if got := timesOf(t, w, "a"); !slices.Equal(got, []engram.Time{wild, wild + 1}) {
				t.Errorf("when a second one has confirmed it there are %v", got)
			}
		})
	}
}

// A commit that the bounds would evict at once is refused where nothing else keeps it,
// and evicts nothing.
func TestWhatWouldVanishIsRefused(t *testing.T) {
	late := change("a", 1, blob(20))
	for name, bounds := range map[string][2]engram.Bounds{
		"age":             {{MaxAge: 10}, {}},
		"count":           {{MaxCount: 3}, {}},
		"bytes":           {{MaxBytes: 30}, {}},
		"age of all":      {{}, {MaxAge: 10}},
		"count of all":    {{MaxCount: 1}, {MaxCount: 3}},
		"newest states":   {{}, {MaxCount: 1}},
		"age, among some": {{MaxAge: 10, MaxCount: 10}, {MaxCount: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kept := range []bool{false, true} {
				w := memory(t, wm.Config{}, bounds[0], bounds[1])
				w.KeptBy(func(id engram.ID) bool { return kept && id == modelID("a") })
				testkit.Commit(t, w, change("a", 100, blob(5)), change("a", 101, blob(5)), change("a", 102, blob(5)))
				before := timesOf(t, w, "a")
				err := commitTo(t, w, one(late))
				if kept != (err == nil) || !kept && engram.CodeOf(err) != engram.TooOld {
					t.Fatalf("kept elsewhere: %v; %v", kept, err)
				}
				if got := timesOf(t, w, "a"); !slices.Equal(got, before) {
					t.Errorf("there were %v and are %v", before, got)
				}
				if st := held(t, w, "Test/Core"); !kept && st.Refused != 1 {
					t.Errorf("%+v", st)
				}
			}
		})
	}
}

// Late commits that there is room for are kept.
func TestLateCommitsAreKept(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{MaxCount: 4, MaxAge: 100, MaxBytes: 100}, engram.Bounds{MaxCount: 10, MaxAge: 100})
	testkit.Commit(t, w, change("a", 100, blob(5)), change("b", 90, blob(5)))
	testkit.Commit(t, w, change("a", 1, blob(5)), change("a", 50, blob(5)), change("b", 2, blob(5)))
	if got := timesOf(t, w, "a"); !slices.Equal(got, []engram.Time{1, 50, 100}) {
		t.Errorf("%v", got)
	}
	if _, err := w.AtOrBefore(context.Background(), modelID("b"), 3); err != nil {
		t.Error(err)
	}
}
