package wm_test

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

var restoredEntity = engram.MustID("Test/Core/Provider/e")

func newRestoreMemory(t *testing.T, h engram.Bounds) *wm.WM {
	t.Helper()
	w := wm.New(wm.Config{Now: func() engram.Time { return 1000 }})
	if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Core"), History: h}); err != nil {
		t.Fatal(err)
	}
	return w
}

func restored(t *testing.T, at, arrived engram.Time, text string, recalled bool) wm.Restored {
	t.Helper()
	p := testkit.Value(t, text)
	in := engram.Instance{Payload: p, Sent: arrived - 1, HasSent: true, Confidence: 0.5}
	return wm.Restored{Entity: restoredEntity, Snapshot: &engram.Snapshot{Time: at, Arrived: arrived, Recalled: recalled, Instances: []engram.Instance{in}}}
}

func put(t *testing.T, w *wm.WM, versions ...wm.Restored) []engram.UpdateResult {
	t.Helper()
	results, err := w.Restore(t.Context(), versions)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func commitText(t *testing.T, w *wm.WM, at engram.Time, text string) {
	t.Helper()
	v := restored(t, at, 0, text, false)
	v.Snapshot.Instances[0].HasSent = false
	results, err := w.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: v.Entity, Time: at, Instances: v.Snapshot.Instances}}})
	if err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
}

// restoredHeld lists what a query gives: time, arrival, text, and whether it is recalled.
func restoredHeld(t *testing.T, w *wm.WM, asOf *engram.Time) (out []string) {
	t.Helper()
	q := engram.SelectID(restoredEntity, engram.All())
	q.AsOf = asOf
	res, err := w.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for it := range res.All() {
		v, err := idf.DecodeValue(it.Instances[0].Payload.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d@%d %v %v", it.Time, it.Arrived, v, it.Recalled))
	}
	return out
}

func wantHeld(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: the memory holds %v; want %v", what, got, want)
	}
}

func TestRestoreKeepsTimesAndVersions(t *testing.T) {
	w := newRestoreMemory(t, engram.Bounds{})
	results := put(t, w, restored(t, 1, 10, "a", false), restored(t, 2, 11, "b", false), restored(t, 1, 12, "a'", false))
	if err := engram.FirstError(results); err != nil || results[2].Number != 3 || w.Number() != 3 {
		t.Errorf("results %+v, newest number %d", results, w.Number())
	}
	wantHeld(t, "restored", restoredHeld(t, w, nil), "1@12 a' false", "2@11 b false")
	then := engram.Time(11)
	wantHeld(t, "as of the arrival of b", restoredHeld(t, w, &then), "1@10 a false", "2@11 b false")
	s, err := w.Latest(t.Context(), restoredEntity)
	if err != nil || s.Instances[0].Sent != 10 || s.Instances[0].Confidence != 0.5 {
		t.Errorf("the newest is %+v, %v", s, err)
	}

	// What is there is not put back again, and nothing older over it.
	for _, again := range []wm.Restored{restored(t, 1, 12, "a'", false), restored(t, 1, 11, "older", true)} {
		if r := put(t, w, again); engram.CodeOf(r[0].Err) != engram.AlreadyExists || r[0].Number != 0 {
			t.Errorf("put back again: %+v", r)
		}
	}
	commitText(t, w, 3, "c")
	wantHeld(t, "after a commit", restoredHeld(t, w, nil), "1@12 a' false", "2@11 b false", "3@1000 c false")
}

// What arrives after a restore arrives later than what was restored, whatever the clock
// says.
func TestArrivalGoesOnBehindWhatIsRestored(t *testing.T) {
	w := newRestoreMemory(t, engram.Bounds{})
	put(t, w, restored(t, 1, 5000, "a", false))
	commitText(t, w, 1, "b")
	commitText(t, w, 1, "c")
	wantHeld(t, "now", restoredHeld(t, w, nil), "1@5002 c false")
	then := engram.Time(5001)
	wantHeld(t, "before the last", restoredHeld(t, w, &then), "1@5001 b false")
}

func TestRestoreIsHeldToBoundsAndChecks(t *testing.T) {
	w := newRestoreMemory(t, engram.Bounds{MaxCount: 2})
	put(t, w, restored(t, 1, 1, "a", false), restored(t, 2, 2, "b", false), restored(t, 3, 3, "c", false))
	wantHeld(t, "beyond the count", restoredHeld(t, w, nil), "2@2 b false", "3@3 c false")
	elsewhere := restored(t, 4, 4, "x", false)
	elsewhere.Entity = engram.MustID("Test/None/p/e")
	broken := restored(t, 4, 4, "x", false)
	broken.Snapshot.Instances[0].Payload.Bytes = []byte{0xff}
	r := put(t, w, elsewhere, broken, restored(t, 5, 5, "d", false))
	if engram.CodeOf(r[0].Err) != engram.NotFound || engram.CodeOf(r[1].Err) != engram.Corrupt || r[2].Err != nil {
		t.Errorf("results %+v", r)
	}
}

// Restored versions are no news; recalled ones are in the backfill by last and time, but
// not in that of a resumption by number.
func TestRestoreIsNoNews(t *testing.T) {
	w := newRestoreMemory(t, engram.Bounds{})
	live, err := w.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	put(t, w, restored(t, 1, 1, "log", false), restored(t, 2, 2, "recalled", true))
	commitText(t, w, 3, "new")
	for what, c := range map[string]struct {
		s    engram.UpdateStream
		want []engram.Time
	}{
		"live":        {live, []engram.Time{3}},
		"by number":   {subscribeFrom(t, w, engram.Start{Kind: engram.StartNumber}), []engram.Time{1, 3}},
		"the last":    {subscribeFrom(t, w, engram.Start{Kind: engram.StartLast, N: 9}), []engram.Time{1, 2, 3}},
		"from a time": {subscribeFrom(t, w, engram.Start{Kind: engram.StartTime, Time: 2}), []engram.Time{2, 3}},
	} {
		var got []engram.Time
		for len(got) == 0 || got[len(got)-1] != 3 {
			batch, err := c.s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range batch {
				at, _ := u.ID.Time()
				got = append(got, at)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("a subscription %s is told of %v; want %v", what, got, c.want)
		}
	}
}

func subscribeFrom(t *testing.T, w *wm.WM, from engram.Start) engram.UpdateStream {
	t.Helper()
	s, err := w.Subscribe(t.Context(), engram.Subscription{Start: from})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
