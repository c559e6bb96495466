package wm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/wm"
)

var copiedEntity = engram.MustID("robot1:Test/Core/Provider/e")

// copyMemory has a memory of its own, whose clock stands at 1000, and a copy.
func copyMemory(t *testing.T, h engram.Bounds) *wm.WM {
	t.Helper()
	w := newRestoreMemory(t, engram.Bounds{})
	if err := w.Copies().Add("robot1:Test"); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("robot1:Test/Core"), History: h}); err != nil {
		t.Fatal(err)
	}
	return w
}

func copied(t *testing.T, at, arrived engram.Time, text string) wm.Copied {
	t.Helper()
	v := restored(t, at, arrived, text, false)
	return wm.Copied{Entity: copiedEntity, Snapshot: v.Snapshot}
}

func copyNow(t *testing.T, w *wm.WM, versions ...wm.Copied) []engram.UpdateResult {
	t.Helper()
	results, err := w.Copies().Write(t.Context(), versions)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// A copy has its owner's times, whatever its clock says, and numbers of the holder; the
// holder's clock stays its own.
func TestCopyKeepsItsOwnersTimes(t *testing.T) {
	for name, skew := range map[string]engram.Time{"ahead": 10e9, "behind": -10e9} {
		t.Run(name, func(t *testing.T) {
			w := copyMemory(t, engram.Bounds{})
			s, err := w.Subscribe(t.Context(), engram.Subscription{WithData: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			commitText(t, w, 1, "own")
			results := copyNow(t, w, copied(t, 5, 1000+skew, "a"), copied(t, 5, 1001+skew, "b"), copied(t, 6, 1002+skew, "c"))
			commitText(t, w, 2, "own")
			if results[0].Number != 2 || results[2].Number != 4 {
				t.Errorf("the copies have numbers %d and %d; want 2 and 4", results[0].Number, results[2].Number)
			}
			updates, err := s.Next(t.Context())
			if err != nil || len(updates) != 5 {
				t.Fatalf("a subscription was told of %d updates, %v; want 5", len(updates), err)
			}
			for i, want := range []engram.Time{1000, 1000 + skew, 1001 + skew, 1002 + skew, 1000} {
				if u := updates[i]; u.Arrived != want || u.Snapshot.Arrived != want || u.Supersedes != (i == 2) {
					t.Errorf("update %d arrived at %d (supersedes: %v); want %d", i, u.Arrived, u.Supersedes, want)
				}
			}
			if in := updates[1].Snapshot.Instances[0]; in.Sent != 999+skew || in.Confidence != 0.5 {
				t.Errorf("the copy was sent at %d with confidence %v", in.Sent, in.Confidence)
			}
			asOf := 1000 + skew
			q := engram.SelectID(copiedEntity, engram.All())
			q.AsOf = &asOf
			r, err := w.Query(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if items := r.Items(); len(items) != 1 || items[0].Arrived != asOf {
				t.Errorf("as of what its owner knew at %d: %+v", asOf, items)
			}
		})
	}
}

// What is there is not stored again, nor what came before it.
func TestCopyTwiceDoesNothing(t *testing.T) {
	w := copyMemory(t, engram.Bounds{})
	a, b := copied(t, 5, 10, "a"), copied(t, 5, 20, "b")
	for i, r := range copyNow(t, w, a, b, b, a) {
		if got := engram.CodeOf(r.Err); (i < 2) != (got == 0) || i >= 2 && got != engram.AlreadyExists {
			t.Errorf("version %d: %v", i, r.Err)
		}
	}
	whole := copied(t, 5, 20, "with all its members")
	whole.Whole = true
	if r := copyNow(t, w, whole, whole); r[0].Err != nil || engram.CodeOf(r[1].Err) != engram.AlreadyExists {
		t.Errorf("a version that comes whole, twice: %v, %v", r[0].Err, r[1].Err)
	}
	s, err := w.Latest(t.Context(), copiedEntity)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := idf.DecodeValue(s.Instances[0].Payload.Bytes); err != nil || v != "with all its members" || s.Arrived != 20 {
		t.Errorf("the copy is %v, arrived at %d: %v", v, s.Arrived, err)
	}
}

// Commits to a copy are refused, and told where to go.
func TestCopyTakesNoCommits(t *testing.T) {
	w := copyMemory(t, engram.Bounds{})
	u := engram.EntityUpdate{Entity: copiedEntity, Time: 1, Instances: copied(t, 1, 1, "x").Snapshot.Instances}
	r, err := w.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil {
		t.Fatal(err)
	}
	if engram.CodeOf(r[0].Err) != engram.Unsupported || !strings.Contains(r[0].Err.Error(), "a server of robot1") {
		t.Errorf("a commit to a copy: %v", r[0].Err)
	}
	own := copied(t, 1, 1, "x")
	own.Entity = restoredEntity
	if r := copyNow(t, w, own); engram.CodeOf(r[0].Err) != engram.Invalid {
		t.Errorf("copying into a memory of one's own: %v", r[0].Err)
	}
	if err := w.Copies().Add("Test"); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("making a memory of one's own a copy: %v", err)
	}
	if got := w.Copies().Names(); !slices.Equal(got, []string{"robot1:Test"}) {
		t.Errorf("copies are %v", got)
	}
	if err := w.Copies().Remove("robot1:Test"); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("removing a copy that has segments: %v", err)
	}
	if err := w.RemoveSegment(t.Context(), engram.MustID("robot1:Test/Core")); err != nil {
		t.Fatal(err)
	}
	if err := w.Copies().Remove("robot1:Test"); err != nil || len(w.Copies().Names()) != 0 {
		t.Errorf("removing a copy: %v; copies are %v", err, w.Copies().Names())
	}
}

// The memory knows what it has, and what it may have evicted.
func TestKnowsCopies(t *testing.T) {
	w := copyMemory(t, engram.Bounds{MaxCount: 2})
	copyNow(t, w, copied(t, 1, 10, "a"), copied(t, 2, 20, "b"), copied(t, 3, 30, "c"), copied(t, 3, 31, "d"))
	for _, c := range []struct {
		at, arrived engram.Time
		want        wm.Knowledge
	}{
		{3, 31, wm.Known}, {3, 30, wm.Known}, {4, 40, wm.Unknown}, {3, 32, wm.Unknown},
		{1, 10, wm.Evicted}, {2, 20, wm.Evicted}, {9, 25, wm.Unknown},
	} {
		if got := w.Copies().Knows(copiedEntity, c.at, c.arrived); got != c.want {
			t.Errorf("of %d, arrived at %d: %d; want %d", c.at, c.arrived, got, c.want)
		}
	}
	if got := w.Copies().Last(copiedEntity.Parent()); got != 31 {
		t.Errorf("the last arrival is %d; want 31", got)
	}
}

// refusingJournal takes some records.
type refusingJournal struct {
	wm.Journal
	arrived []engram.Time
	take    int
}

var errJournal = errors.New("the disk is full")

func (j *refusingJournal) Begin(context.Context, engram.ID, *engram.Snapshot) (wm.JournalEntry, error) {
	return j, nil
}
func (j *refusingJournal) AddCoreSegment(context.Context, engram.CoreSegment) error { return nil }
func (j *refusingJournal) Wait() error                                              { return nil }
func (j *refusingJournal) Done() bool                                               { return true }
func (j *refusingJournal) Append(arrived engram.Time, synced bool) error {
	if len(j.arrived) == j.take {
		return errJournal
	}
	j.arrived = append(j.arrived, arrived)
	return nil
}

// Copies go through the journal with their owner's times. What it refuses is not there,
// and can be given again.
func TestCopiesAreJournaled(t *testing.T) {
	j := &refusingJournal{take: 2}
	w := wm.New(wm.Config{Journal: j})
	if err := w.Copies().Add("robot1:Test"); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("robot1:Test/Core"), Durability: engram.Logged}); err != nil {
		t.Fatal(err)
	}
	versions := []wm.Copied{copied(t, 1, 10, "a"), copied(t, 2, 20, "b"), copied(t, 3, 30, "c")}
	if _, err := w.Copies().Write(t.Context(), versions); !errors.Is(err, errJournal) {
		t.Fatalf("with a full disk: %v", err)
	}
	if s, err := w.Latest(t.Context(), copiedEntity); err != nil || s.Time != 2 {
		t.Errorf("the newest that is there is %+v, %v; want that of 2", s, err)
	}
	j.take = 3
	if r := copyNow(t, w, versions...); engram.CodeOf(r[1].Err) != engram.AlreadyExists || r[2].Err != nil {
		t.Errorf("given again: %v, %v", r[1].Err, r[2].Err)
	}
	if !slices.Equal(j.arrived, []engram.Time{10, 20, 30}) {
		t.Errorf("the journal has arrivals %v", j.arrived)
	}
}
