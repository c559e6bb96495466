package ltm_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/wm"
)

// beginSmall begins an epoch with a memory that holds few versions, of which one segment is
// logged and one recorded never, and a recorder with a short queue.
func beginSmall(t *testing.T, dir string) *life {
	t.Helper()
	l := beginWithin(t, ltm.Options{Dir: dir, Policies: map[engram.ID]policy.Policy{engram.MustID("Small/Never"): {Record: policy.Never}}}, wm.Limits{MaxQueue: 4})
	if err := l.wm.AddMemory("Small", engram.Bounds{MaxCount: 8}); err != nil {
		t.Fatal(err)
	}
	for _, seg := range []engram.CoreSegment{
		{ID: engram.MustID("Small/Things")}, {ID: engram.MustID("Small/Never")}, {ID: engram.MustID("Small/Logged"), Durability: engram.Logged},
	} {
		if err := l.wm.AddCoreSegment(t.Context(), seg); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// What was lost on its way to the disk, since the working memory evicted it before, is said
// to be missing in later epochs, too: of names that nobody knows any more, of patterns, and
// of times of entities that are there; what was not lost is not.
func TestLostOnItsWayIsToldInLaterEpochs(t *testing.T) {
	const n = 40
	dir := fastDir(t)
	l := beginSmall(t, dir)
	for i := range 3 { // before, and recorded
		l.commit(t, fmt.Sprintf("Small/Things/whole/e%d", i), engram.Time(1000+i), i)
	}
	l.caughtUp(t)
	if _, err := l.Recall(t.Context(), engram.MustPattern("Small").Select(engram.All())); err != nil { // counts for nothing
		t.Fatal(err)
	}
	release := l.HoldRecorder()
	for i := range n {
		l.commit(t, fmt.Sprintf("Small/Things/p/e%d", i), engram.Time(1000+i), i)
		l.commit(t, fmt.Sprintf("Small/Never/p/e%d", i), engram.Time(1000+i), i)
		l.commit(t, fmt.Sprintf("Small/Logged/p/e%d", i), engram.Time(1000+i), i)
	}
	release()
	l.caughtUp(t)
	found := map[int]bool{}
	check := func(when string) {
		t.Helper()
		clear(found)
		for i := range n {
			got, _ := l.times(t, fmt.Sprintf("Small/Things/p/e%d", i), engram.TargetLTM, engram.All())
			found[i] = len(got) == 1
		}
		lost := uint64(0)
		for i := range n {
			entity := fmt.Sprintf("Small/Things/p/e%d", i)
			_, missing := l.times(t, entity, engram.TargetBoth, engram.Latest(1))
			told := len(missing) == 1 && missing[0].Reason == engram.MissingEvicted && missing[0].ID == engram.MustID("Small/Things/p")
			if told && found[i] && missing[0].Interval.Start > engram.Time(1000+i) { // something newer of it may be lost
				continue
			}
			if told == found[i] {
				t.Errorf("%s: %s is there %v, missing %+v", when, entity, found[i], missing)
			}
			if !found[i] {
				lost++
			}
		}
		if lost == 0 || lost == n {
			t.Fatalf("%s: %d of %d are lost; the test needs a part", when, lost, n)
		}
		for _, c := range []struct {
			pattern string
			sel     engram.SnapshotSelector
			want    uint64 // missing
		}{
			{"Small/Things/p/*", engram.All(), lost},
			{"Small/Things/p", engram.All(), lost},
			{"Small/Things/p/nobody", engram.Latest(1), lost},
			{"Small/Things/p/nobody", engram.In(engram.Interval{Start: 0, End: 900}), 0},
			{"Small/Things/whole/*", engram.All(), 0},
			{"Small/Things/whole/e0", engram.Latest(1), 0},
			{"Small/Things/whole/nobody", engram.Latest(1), 0},
			{"Small/Logged/p/*", engram.All(), 0},
			{"Small/Logged/p/nobody", engram.Latest(1), 0},
			{"Test", engram.All(), 0},
		} {
			r, err := l.Query(t.Context(), engram.MustPattern(c.pattern).Select(c.sel))
			if err != nil {
				t.Fatal(err)
			}
			got := uint64(0)
			for _, m := range r.Missing {
				if got += m.Count; m.Reason != engram.MissingEvicted {
					t.Errorf("%s: %s misses %+v", when, c.pattern, m)
				}
			}
			if got != c.want {
				t.Errorf("%s: %s %+v misses %+v; want %d", when, c.pattern, c.sel, r.Missing, c.want)
			}
		}
	}
	for epoch := range 2 {
		l.end(t)
		l = beginSmall(t, dir)
		check(fmt.Sprintf("in epoch %d afterwards", epoch+1))
	}
	image := killed(t, dir)
	if err := l.wm.RemoveSegment(t.Context(), engram.MustID("Small/Things")); err != nil {
		t.Fatal(err)
	}
	if err := l.Removed(t.Context(), engram.MustID("Small/Things")); err != nil {
		t.Fatal(err)
	}
	l.end(t)
	l = beginSmall(t, dir)
	if _, missing := l.times(t, "Small/Things/p/nobody", engram.TargetBoth, engram.Latest(1)); len(missing) > 0 {
		t.Errorf("of a segment that was removed %+v is missing", missing)
	}
	l.end(t)
	l = beginSmall(t, image)
	check("in an epoch after a kill")
}

// What the end could not record is missing in later epochs like what was lost before.
func TestLeftAtTheEndIsToldInLaterEpochs(t *testing.T) {
	dir := fastDir(t)
	l := beginWithin(t, ltm.Options{Dir: dir, CloseWithin: 1}, wm.Limits{MaxQueue: 4})
	l.leaves = true
	release := l.HoldRecorder()
	l.commitMany(t, "Test/Volatile/p", 10)
	l.commitMany(t, "Test/Logged/p", 10)
	if err := l.wm.Close(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	<-l.Stopped()
	release()
	<-closed
	l = begin(t, ltm.Options{Dir: dir})
	for pattern, want := range map[string]uint64{
		"Test/Volatile/p": 10, "Test/Logged/p": 0, "Test/Volatile": 10, "Test/Volatile/*": 10, "Test/Volatile/~p/~e.*": 10, "Test/Volatile/*/e1": 10,
		"Test": 10, "*": 10, "*/*": 10, "~T.*/~V.*": 10, "Test/Volatile/q": 0, "Test/Volatile/~q.*": 0, "Test/Logged": 0, "Test/Synced": 0,
	} {
		for _, target := range []engram.Target{engram.TargetBoth, engram.TargetLTM} {
			q := engram.MustPattern(pattern).Select(engram.All())
			q.Target = target
			r, err := l.Query(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got := uint64(0)
			for _, m := range r.Missing {
				got += m.Count
			}
			if got != want {
				t.Errorf("of %s in %v %+v is missing; want %d", pattern, target, r.Missing, want)
			}
		}
	}
}

// What is noted as lost is noted while the server runs, too, when the recorder has caught up:
// a kill afterwards does not make it untold.
func TestLostOnItsWayIsNotedSoon(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		dir := fastDir(t)
		l := beginSmall(t, dir)
		release := l.HoldRecorder()
		for i := range 40 {
			l.commit(t, fmt.Sprintf("Small/Things/p/e%d", i), engram.Time(1000+i), i)
		}
		release()
		time.Sleep(time.Minute)
		synctest.Wait()
		image := killed(t, dir)
		l.end(t)
		l = beginSmall(t, image)
		if _, missing := l.times(t, "Small/Things/p/nobody", engram.TargetBoth, engram.Latest(1)); len(missing) != 1 || missing[0].Reason != engram.MissingEvicted {
			t.Errorf("after a kill missing is %+v", missing)
		}
		l.end(t)
	})
}

// What was lost is noted though something is committed all the time, so that the recorder is
// never done, with its number as of what the recorder has come to.
func TestLostOnItsWayIsNotedWhileOthersCommit(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		const n = 40
		dir := fastDir(t)
		l := beginSmall(t, dir)
		release := l.HoldRecorder()
		for i := range n {
			l.commit(t, fmt.Sprintf("Small/Things/p/e%d", i), engram.Time(1000+i), i)
		}
		release()
		for i := range 3 {
			l.caughtUp(t)
			err := l.NoteLosses(t.Context(), func() { // it has always something to do
				l.commit(t, "Small/Things/p/stream", engram.Time(2000+2*i), i)
				l.commit(t, "Small/Things/q/stream", engram.Time(2001+2*i), i)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		l.FinishOrders() // which writes the account
		lost := l.Figures().Lost
		image := killed(t, dir)
		l.end(t)
		l = beginSmall(t, image)
		for provider, want := range map[string]uint64{"Small/Things/p": lost, "Small/Things/q": 0} {
			_, missing := l.times(t, provider+"/nobody", engram.TargetBoth, engram.Latest(1))
			got := uint64(0)
			for _, m := range missing {
				got += m.Count
			}
			if lost == 0 || got != want {
				t.Errorf("after a kill of %s %+v is missing; want %d", provider, missing, want)
			}
		}
		l.end(t)
	})
}

// What is still on its way to the recorder of a segment that is removed does not count for
// the one that takes its place.
func TestLossOfASegmentThatTakesAnothersPlace(t *testing.T) {
	for range 8 { // which comes first is a matter of chance
		inVirtualTime(t, testLossAfterARemoval)
	}
}

func testLossAfterARemoval(t *testing.T) {
	const n = 40
	dir := fastDir(t)
	l := beginSmall(t, dir)
	things := engram.CoreSegment{ID: engram.MustID("Small/Things")}
	release := l.HoldRecorder()
	for i := range 4 {
		l.commit(t, fmt.Sprintf("Small/Things/p/old%d", i), engram.Time(1000+i), i)
	}
	number := l.wm.Number()
	if err := l.wm.RemoveSegment(t.Context(), things.ID); err != nil {
		t.Fatal(err)
	}
	removed := make(chan error, 1)
	go func() { removed <- l.Removed(t.Context(), things.ID) }()
	synctest.Wait()
	if l.wm.Number() != number {
		t.Fatal("something was committed")
	}
	if err := l.wm.AddCoreSegment(t.Context(), things); err != nil {
		t.Fatal(err)
	}
	release()
	if err := <-removed; err != nil {
		t.Fatal(err)
	}
	l.caughtUp(t)
	release = l.HoldRecorder()
	for i := range n {
		l.commit(t, fmt.Sprintf("Small/Things/p/e%d", i), engram.Time(1000+i), i)
	}
	release()
	l.caughtUp(t)
	lost := l.Figures().Lost
	l.end(t)
	l = beginSmall(t, dir)
	_, missing := l.times(t, "Small/Things/p/nobody", engram.TargetBoth, engram.Latest(1))
	if lost == 0 || len(missing) != 1 || missing[0].Count != lost {
		t.Errorf("missing is %+v; want %d", missing, lost)
	}
	l.end(t)
}
