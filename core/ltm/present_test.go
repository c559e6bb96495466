package ltm_test

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/wm"
)

// A clock that was a year ahead for one epoch hides nothing from the next: what is newest is
// of the present, wherever it is, and what was stamped ahead stays readable by its times and
// can be forgotten by time, of all entities at once.
func TestEpochOfAClockThatWasAhead(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, segment := range []string{"Volatile", "Logged", "Synced"} {
		t.Run(segment, func(t *testing.T) {
			t.Parallel()
			var c clock
			now := engram.Time(0)
			to := func(t engram.Time) { now = t; c.Store(int64(t)) }
			to(1_700_000_000_000_000_000)
			dir := fastDir(t)
			entities := []string{"Test/" + segment + "/p/a", "Test/" + segment + "/p/b"}
			o := ltm.Options{Dir: dir, Now: c.now}
			epoch := func(ahead time.Duration, commits int) *life {
				to(now.Add(ahead))
				l := begin(t, o)
				for i := range commits {
					to(now.Add(time.Second))
					for _, e := range entities {
						l.commit(t, e, now, marker(e, now, i))
					}
				}
				return l
			}
			latest := func(what string, l *life, want engram.Time) {
				t.Helper()
				for _, e := range entities {
					if s, err := l.Latest(t.Context(), engram.MustID(e)); err != nil || s.Time != want {
						t.Errorf("%s: the latest is %+v, %v; want that of %v", what, s, err, want)
					}
					for _, target := range []engram.Target{engram.TargetBoth, engram.TargetLTM} {
						if target == engram.TargetLTM {
							if err := l.Seal(t.Context(), "test"); err != nil {
								t.Fatal(err)
							}
						}
						got, missing := l.times(t, e, target, engram.Latest(1))
						if !slices.Equal(got, []engram.Time{want}) || slices.ContainsFunc(missing, func(m engram.Missing) bool { return m.Reason != engram.MissingAhead }) {
							t.Errorf("%s: of target %d the latest is of %v, missing %+v; want %v", what, target, got, missing, want)
						}
					}
				}
			}
			l := epoch(0, 5)
			before := now
			latest("before", l, before)
			l.end(t)

			l = epoch(year, 5)
			latest("while the clock is ahead", l, now)
			ahead := now
			l.end(t)

			to(before.Add(time.Minute))
			l = epoch(0, 0)
			latest("when it is set right", l, before) // what is in RAM may all be ahead
			if got, _ := l.times(t, entities[0], engram.TargetBoth, engram.AtOrBefore(ahead)); !slices.Equal(got, []engram.Time{ahead}) {
				t.Errorf("by its time there is %v, want that of %v", got, ahead)
			}
			for i := range 5 {
				to(now.Add(time.Second))
				for _, e := range entities {
					l.commit(t, e, now, marker(e, now, i))
				}
				latest("after a commit", l, now)
			}
			last := now
			l.end(t)

			to(now.Add(time.Minute))
			l = epoch(0, 0)
			latest("after a restart", l, last)
			forget(t, l, ltm.Forgetting{Patterns: patterns("*"), Span: engram.Interval{Start: now.Add(time.Hour), End: engram.MaxTime}, Why: "clock"})
			latest("after forgetting", l, last)
			if got, missing := l.times(t, entities[0], engram.TargetBoth, engram.Latest(1)); len(missing) > 0 {
				t.Errorf("%v is the latest, and missing is %+v", got, missing)
			}
			if a := l.ahead(t); len(a) > 0 {
				t.Errorf("all is forgotten, and there is %+v", a)
			}
			l.end(t)
		})
	}
}

// What the policy leaves out of a durable segment outlives the log as its newest state: that
// of the present, not what was stamped ahead.
func TestNewestStateThatIsKeptIsOfThePresent(t *testing.T) {
	const cup = "Test/Logged/p/cup"
	var c clock
	now := engram.Time(0)
	to := func(t engram.Time) { now = t; c.Store(int64(t)) }
	to(1_700_000_000_000_000_000)
	o := ltm.Options{Dir: fastDir(t), Now: c.now, Policies: map[engram.ID]policy.Policy{engram.MustID("Test/Logged"): {Record: policy.Change, MaxRate: 0.001}}}
	l := begin(t, o)
	commit := func() {
		to(now.Add(time.Second))
		l.commit(t, cup, now, marker(cup, now, 0))
	}
	commit()
	to(now.Add(365 * 24 * time.Hour))
	commit()
	commit()
	to(now.Add(-365 * 24 * time.Hour))
	commit()
	commit()
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	defer l.end(t)
	if got, _ := l.times(t, cup, engram.TargetLTM, engram.All()); !slices.Contains(got, now) {
		t.Errorf("of the last state, of %v, nothing is on disk: there are %v", now, got)
	}
}

// What was stamped ahead, and is kept on disk only, is the latest when its time comes, also
// where the working memory has something older.
func TestLatestIsOnDisk(t *testing.T) {
	const a = "Test/Logged/p/a"
	var c clock
	now := engram.Time(1_700_000_000_000_000_000)
	to := func(t engram.Time) { now = t; c.Store(int64(t)) }
	to(now.Add(5 * time.Minute))
	l := begin(t, ltm.Options{Dir: fastDir(t), Now: c.now})
	for i := range 2 {
		to(now.Add(time.Second))
		l.commit(t, a, now, marker(a, now, i))
	}
	ahead := now
	to(now.Add(-5 * time.Minute))
	for i := range 3 { // as many as the segment keeps in RAM
		to(now.Add(time.Second))
		l.commit(t, a, now, marker(a, now, i))
	}
	want := now
	for range 2 {
		if s, err := l.Latest(t.Context(), engram.MustID(a)); err != nil || s.Time != want {
			t.Errorf("at %v the latest is %+v, %v; want that of %v", now, s, err, want)
		}
		if got, _ := l.times(t, a, engram.TargetBoth, engram.Latest(1)); !slices.Equal(got, []engram.Time{want}) {
			t.Errorf("at %v a query finds %v; want that of %v", now, got, want)
		}
		to(now.Add(10 * time.Minute))
		want = ahead
	}
}

// ahead returns what both memories have beyond the present.
func (l *life) ahead(t *testing.T) []wm.Ahead {
	t.Helper()
	l.LookAhead(t.Context())
	return l.Ahead(t.Context(), l.wm.Ahead())
}

// What is noted of forgetting cannot be forgotten, and nobody is told to.
func TestNotesOfForgettingAreNotAhead(t *testing.T) {
	var c clock
	c.Store(1_700_000_000_000_000_000)
	l := begin(t, ltm.Options{Dir: fastDir(t), Now: c.now})
	l.addSystemState(t)
	l.commit(t, "Test/Logged/p/a", c.now(), "x")
	c.Add(int64(time.Hour))
	forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Logged"), Why: "asked"})
	if len(l.records(t, engram.MustID("Test/Logged"))) == 0 {
		t.Fatal("nothing is noted")
	}
	if !l.Recorded(t.Context(), l.wm.Number()) {
		t.Fatal("it is not recorded")
	}
	c.Add(-int64(time.Hour))
	if len(l.wm.Ahead()) == 0 {
		t.Fatal("the note is not ahead")
	}
	if found := l.ahead(t); len(found) > 0 {
		t.Errorf("%+v is told", found)
	}
}

// What is on the disk beyond the present is told, by segment, whether it is sealed or being
// written, also when the working memory has evicted it, and after a restart, until it is
// forgotten or the present has come to it. A segment that takes any time has nothing beyond.
func TestAheadOnDiskIsTold(t *testing.T) {
	const year, planned = 365 * 24 * time.Hour, "Test/Planned/p/"
	var c clock
	now := engram.Time(1_700_000_000_000_000_000)
	to := func(t engram.Time) { now = t; c.Store(int64(t)) }
	to(now)
	o := ltm.Options{Dir: fastDir(t), Now: c.now}
	epoch := func() *life {
		l := begin(t, o)
		if err := l.wm.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Planned"), MaxAhead: engram.AnyAhead}); err != nil {
			t.Fatal(err)
		}
		return l
	}
	var l *life
	commit := func(n int, entities ...string) {
		t.Helper()
		for i := range n {
			to(now.Add(time.Second))
			for _, e := range entities {
				l.commit(t, e, now, marker(e, now, i))
			}
		}
	}
	want := func(what string, counts map[string]int) {
		t.Helper()
		found := l.ahead(t)
		if !slices.IsSortedFunc(found, func(a, b wm.Ahead) int { return a.Segment.Compare(b.Segment) }) || len(found) != len(counts) {
			t.Errorf("%s: %+v is told, want %v", what, found, counts)
		}
		for _, a := range found {
			if a.Entities != counts[a.Segment.String()] || !a.Segment.Contains(a.Example) || a.Present != now.Add(time.Minute) || a.Last <= a.Present {
				t.Errorf("%s: %+v is told, want %v", what, a, counts)
			}
		}
	}
	const a, b, x = "Test/Logged/p/a", "Test/Logged/q/b", "Test/Volatile/p/x"
	l = epoch()
	commit(3, a, b, x, planned+"a")
	right := now
	to(now.Add(year))
	commit(3, a, planned+"a")
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	commit(3, a, b, x, planned+"b")
	if !l.Recorded(t.Context(), l.wm.Number()) {
		t.Fatal("it is not recorded")
	}
	want("while the clock is ahead", nil)
	last := now
	to(right)
	all := map[string]int{"Test/Logged": 2, "Test/Volatile": 1}
	want("when it is set right", all)
	commit(4, a, b, x, planned+"a") // as many as evict all that is ahead
	if found := l.wm.Ahead(); len(found) > 0 {
		t.Fatalf("the working memory still has %+v", found)
	}
	want("when it is evicted", all)
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	want("when it is sealed", all)
	l.end(t)
	l = epoch()
	commit(1, a)
	want("after a restart", all)
	if err := l.wm.RemoveSegment(t.Context(), engram.MustID("Test/Volatile")); err != nil {
		t.Fatal(err)
	}
	want("when a segment is no more", map[string]int{"Test/Logged": 2})
	if err := l.wm.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Volatile"), MaxAhead: engram.AnyAhead}); err != nil {
		t.Fatal(err)
	}
	want("when a segment takes any time", map[string]int{"Test/Logged": 2})
	back := now
	to(last.Add(-time.Second))
	want("when the present has come to it", nil)
	to(back)
	want("when the clock is set back", map[string]int{"Test/Logged": 2})
	beyond := engram.Interval{Start: now.Add(time.Minute), End: engram.MaxTime}
	forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Logged/q"), Span: beyond, Why: "clock"})
	want("when one of them is forgotten", map[string]int{"Test/Logged": 1})
	forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Logged"), Span: beyond, Why: "clock"})
	want("when it is forgotten", nil)
	if got, _ := l.times(t, planned+"b", engram.TargetLTM, engram.Latest(1)); !slices.Equal(got, []engram.Time{last}) {
		t.Errorf("of what is planned there is %v, want %v", got, last)
	}
}
