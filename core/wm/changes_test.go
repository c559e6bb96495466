package wm

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
)

// allChanges reads the changes behind a number in portions.
func allChanges(t *testing.T, w *WM, after uint64) (numbers []uint64, watermark engram.Time) {
	t.Helper()
	for {
		list, upTo, at, ok := w.Feed().Changes(after, make([]Change, 0, 3))
		if !ok {
			t.Fatalf("changes behind %d are not remembered", after)
		}
		for i := range list {
			numbers = append(numbers, list[i].Number)
		}
		if watermark = at; upTo == after {
			return numbers, watermark
		}
		after = upTo
	}
}

// Changes are read by their numbers, as far back as they are remembered; of what is
// older, a search finds what is kept and tells what is not.
func TestChangesByNumber(t *testing.T) {
	w := New(Config{Limits: Limits{Recent: 10}})
	if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Core"), History: engram.Bounds{MaxCount: 12}}); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		commitNow(t, w, emptyUpdate(engram.Time(i)))
	}
	if got, _ := allChanges(t, w, 12); !slices.Equal(got, []uint64{13, 14, 15, 16, 17, 18, 19, 20}) {
		t.Errorf("behind 12 are %v", got)
	}
	if _, _, _, ok := w.Feed().Changes(5, make([]Change, 0, 3)); ok {
		t.Error("the memory remembers more than it was told to")
	}
	every := func(engram.ID) bool { return true }
	list, lost, err := w.Feed().Search(t.Context(), every, 5, 18)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 10 || list[0].Number != 9 || list[9].Number != 18 {
		t.Errorf("behind 5 up to 18 there are %+v", list)
	}
	if len(lost) != 1 || lost[0].Count != 3 || !lost[0].Interval.Contains(7) {
		t.Errorf("lost are %+v; want 3", lost)
	}
	if _, lost, _ := w.Feed().Search(t.Context(), every, 8, 18); len(lost) != 0 {
		t.Errorf("behind 8 nothing is lost, but %+v is told", lost)
	}
}

// What waits for the disk has arrived already: the low watermark does not pass
// over it.
func TestSettledWaitsForTheDisk(t *testing.T) {
	w, j := journaledMemory(t)
	commitNow(t, w, textUpdate("Volatile/p/e", 1))
	done := commitAsync(t, w, textUpdate("Synced/p/e", 1))
	<-j.appended
	commitNow(t, w, textUpdate("Volatile/p/e", 2), textUpdate("Volatile/p/e", 3))
	numbers, watermark := allChanges(t, w, 0)
	if len(numbers) != 3 {
		t.Fatalf("the changes are %v", numbers)
	}
	newest, err := w.Latest(t.Context(), engram.MustID("Test/Volatile/p/e"))
	if err != nil {
		t.Fatal(err)
	}
	j.answer(1, nil)
	<-done
	late, err := w.Latest(t.Context(), engram.MustID("Test/Synced/p/e"))
	if err != nil {
		t.Fatal(err)
	}
	if late.Number != 4 || late.Arrived < watermark {
		t.Errorf("update %d arrived at %d, before %d, the low watermark", late.Number, late.Arrived, watermark)
	}
	if _, watermark := allChanges(t, w, 4); watermark < newest.Arrived {
		t.Errorf("with nothing on its way, the low watermark is %d; want at least %d", watermark, newest.Arrived)
	}
}

// A removal is told with the time that parts what it is about from what comes later.
func TestRemovalsAreNoted(t *testing.T) {
	now := engram.Time(1000)
	w := New(Config{Now: func() engram.Time { return now }})
	if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Core")}); err != nil {
		t.Fatal(err)
	}
	watch := w.Feed().Watch()
	defer watch.Close()
	var last engram.Time
	for range 3 { // in one moment
		commitNow(t, w, emptyUpdate(1))
		before, err := w.Latest(t.Context(), testEntity)
		if err != nil {
			t.Fatal(err)
		}
		wake := watch.Arm()
		if err := w.RemoveSegment(t.Context(), testEntity.Parent()); err != nil {
			t.Fatal(err)
		}
		<-wake
		list, _, cut := w.Removals().List()
		if len(list) != 1 || cut || list[0].Segment != testEntity.Parent() || list[0].Until < before.Arrived || list[0].Until <= last {
			t.Fatalf("noted are %+v (not all: %v)", list, cut)
		}
		last = list[0].Until
		commitNow(t, w, emptyUpdate(1))
		if after, err := w.Latest(t.Context(), testEntity); err != nil || after.Arrived <= last {
			t.Fatalf("what came after arrived at %d, %v; the removal is about what arrived up to %d", after.Arrived, err, last)
		}
	}
	for range w.limits.Removals + 5 {
		if err := w.Removals().Note(Removal{Span: engram.Always(), Patterns: []engram.Pattern{{}}}, func(*Removal) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		matched := func(r *Removal) error { r.Entities = make([]engram.ID, MaxMatched/2+1); return nil }
		if err := w.Removals().Note(Removal{Span: engram.Always(), Patterns: []engram.Pattern{{}}}, matched); err != nil {
			t.Fatal(err)
		}
	}
	list, dropped, cut := w.Removals().List()
	if n := len(list); len(list[n-1].Entities) == 0 || len(list[n-2].Entities)+len(list[n-3].Entities) > 0 {
		t.Errorf("%d entities that the last removals matched are kept", len(list[n-1].Entities)+len(list[n-2].Entities)+len(list[n-3].Entities))
	}
	if len(list) != w.limits.Removals || !cut || dropped.Until >= list[0].Until || dropped.Until <= last {
		t.Errorf("of many removals %d are kept, others dropped up to %d (%v)", len(list), dropped.Until, cut)
	}
}

// A removal is told when it is kept, and not if it cannot be; who follows the changes
// meanwhile does not take it for one that was told.
func TestRemovalIsKeptFirst(t *testing.T) {
	w := New(Config{})
	if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Core")}); err != nil {
		t.Fatal(err)
	}
	watch := w.Feed().Watch()
	defer watch.Close()
	for _, want := range []error{errors.New("no room"), nil} {
		commitNow(t, w, emptyUpdate(1))
		at := w.Number()
		wake := watch.Arm()
		var until engram.Time
		err := w.Removals().Note(Removal{Span: engram.Always(), Patterns: []engram.Pattern{{}}}, func(r *Removal) error {
			until = r.Until
			if told, _, _ := w.Removals().List(); len(told) > 0 || w.Removals().Last() != 0 || len(wake) > 0 {
				t.Errorf("told is %+v before it is kept", told)
			}
			commitNow(t, w, emptyUpdate(2))
			if after, err := w.Latest(t.Context(), testEntity); err != nil || r.Number != at || after.Arrived <= r.Until {
				t.Errorf("the removal is about what arrived up to %d, number %d; after number %d came %+v, %v", r.Until, r.Number, at, after, err)
			}
			list, _, watermark, ok := w.Feed().Changes(at, make([]Change, 0, 1))
			if !ok || len(list) != 1 || list[0].LowWatermark > r.Until || watermark > r.Until {
				t.Errorf("while it is kept, %+v are told with the low watermark %d; it is about what arrived up to %d", list, watermark, r.Until)
			}
			<-wake
			wake = watch.Arm()
			return want
		})
		if err != want {
			t.Errorf("keeping it fails with %v; noting it with %v", want, err)
		}
		if _, watermark := w.Feed().LowWatermark(); watermark <= until {
			t.Errorf("the low watermark is %d after that of %d", watermark, until)
		}
		told, _, _ := w.Removals().List()
		if kept := want == nil; kept != (len(told) == 1) || kept != (len(wake) > 0) || kept != (w.Removals().Last() == 1) {
			t.Errorf("kept: %v; told is %+v", kept, told)
		}
	}
}

// Removals of earlier epochs are before what comes, and told as they were; a clock that was
// far ahead then is not followed.
func TestRemovalsOfEarlierLives(t *testing.T) {
	now := engram.Time(1e18)
	for _, c := range []struct{ until, arrives engram.Time }{
		{now - 5, now},
		{now + 5, now + 6},
		{now.Add(time.Hour), now},
	} {
		w := New(Config{Now: func() engram.Time { return now }})
		if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
			t.Fatal(err)
		}
		if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Core")}); err != nil {
			t.Fatal(err)
		}
		w.Removals().Restore([]Removal{{Segment: testEntity.Parent(), Epoch: 7, Until: c.until}}, Removal{}, false)
		commitNow(t, w, emptyUpdate(1))
		list, _, _ := w.Removals().List()
		s, err := w.Latest(t.Context(), testEntity)
		if err != nil || len(list) != 1 || list[0].Until != c.until || list[0].Epoch != 7 || list[0].Order != 1 || w.Removals().Last() != 1 || s.Arrived != c.arrives {
			t.Errorf("a removal of %d is told as %+v, and what comes arrives at %d, %v; want %d", c.until, list, s.Arrived, err, c.arrives)
		}
	}
}
