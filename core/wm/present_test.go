package wm_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

const aYear = engram.Time(365 * 24 * time.Hour)

// at is a state of an entity at a time, as a program commits it.
func stateAt(entity string, at engram.Time) engram.EntityUpdate {
	return change(entity, int(at), blob(5))
}

// latestOf returns the times that Latest(n) selects, and the reasons for what is missing.
func latestOf(t testing.TB, w *wm.WM, entity string, n int) (times []engram.Time, missing []string) {
	t.Helper()
	r := query(t, w, engram.SelectID(modelID(entity), engram.Latest(n)))
	for it := range r.All() {
		times = append(times, it.Time)
	}
	for _, m := range r.Missing {
		missing = append(missing, m.Reason)
	}
	return times, missing
}

// A clock that was a year ahead and is set right hides nothing: however the newest is asked
// for, it is what was committed last, whatever the bounds, and what was stamped in a year is
// told, and gives way to what is of the present.
func TestClockThatWasAhead(t *testing.T) {
	for name, bounds := range map[string][2]engram.Bounds{
		"no bounds":           {},
		"count":               {{MaxCount: 5}, {}},
		"one":                 {{MaxCount: 1}, {}},
		"bytes":               {{MaxBytes: 40}, {}},
		"age":                 {{MaxAge: time.Second}, {}},
		"count of all":        {{}, {MaxCount: 12}},
		"age of all":          {{}, {MaxAge: time.Second}},
		"count, age, of both": {{MaxCount: 5, MaxAge: time.Minute}, {MaxCount: 12, MaxAge: time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			var now engram.Time
			w := memory(t, wm.Config{Now: func() engram.Time { return now }}, bounds[0], bounds[1])
			commit := func() {
				t.Helper()
				now += engram.Time(100 * time.Millisecond)
				testkit.Commit(t, w, stateAt("a", now), stateAt("b", now))
			}
			for range 20 {
				commit()
			}
			now += aYear
			for range 20 {
				commit()
			}
			now -= aYear
			if a := w.Ahead(); len(a) != 1 || a[0].Entities != 2 || a[0].Segment != modelCore || a[0].Present != w.Present(modelID("a")) || a[0].Last != now+aYear {
				t.Errorf("the clock was set right, and %+v is told", w.Ahead())
			}
			var given []engram.Time
			for i := range 30 {
				commit()
				given = append(given, now)
				if s, err := w.Latest(t.Context(), modelID("a")); err != nil || s.Time != now {
					t.Fatalf("after %d commits the newest is %+v, %v; want %v", i+1, s, err, now)
				}
				if s, err := w.AtOrBefore(t.Context(), modelID("a"), now); err != nil || s.Time != now {
					t.Fatalf("after %d commits %+v, %v is in force", i+1, s, err)
				}
				times, missing := latestOf(t, w, "a", 1)
				if !slices.Equal(times, []engram.Time{now}) || slices.Contains(missing, engram.MissingEvicted) {
					t.Fatalf("after %d commits %v, without %v", i+1, times, missing)
				}
				if got := timesOf(t, w, "a"); slices.Max(got) > now != slices.Contains(missing, engram.MissingAhead) {
					t.Fatalf("there are %v, and missing is %v", got, missing)
				}
				keeps := min(3, len(given))
				if bounds[0].MaxCount > 0 {
					keeps = min(keeps, bounds[0].MaxCount)
				}
				if times, _ := latestOf(t, w, "a", 3); bounds[1].MaxCount == 0 && !slices.Equal(times[len(times)-keeps:], given[len(given)-keeps:]) {
					t.Fatalf("the last three are %v, want those of %v", times, given)
				}
			}
			sub, err := w.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(modelID("a"))}, Start: engram.Start{Kind: engram.StartLast, N: 1}})
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			if got, err := sub.Next(t.Context()); err != nil || len(got) != 1 || got[0].ID != modelID("a").At(now) {
				t.Errorf("a subscription begins with %+v, %v", got, err)
			}

			for _, entity := range []string{"a", "b"} {
				if _, err := w.Erase(t.Context(), modelID(entity), func(s *engram.Snapshot) bool { return s.Time > w.Present(modelID(entity)) }); err != nil {
					t.Fatal(err)
				}
				if got := timesOf(t, w, entity); slices.Max(got) != now {
					t.Errorf("what was ahead is erased, and there are %v", got)
				}
			}
			if s, err := w.Latest(t.Context(), modelID("a")); err != nil || s.Time != now || len(w.Ahead()) > 0 {
				t.Errorf("what was ahead is erased: %+v, %v, %+v", s, err, w.Ahead())
			}
		})
	}
}

// What is there of another time only, such as a recording of it, is the newest there is,
// until something of the present comes; it is no more missing then than what is older.
func TestRecordingOfAnotherTime(t *testing.T) {
	for name, ahead := range map[string]engram.Time{"of 1970": -50 * aYear, "of 2028": 2 * aYear} {
		t.Run(name, func(t *testing.T) {
			now := 55 * aYear
			w := memory(t, wm.Config{Now: func() engram.Time { return now }}, engram.Bounds{MaxCount: 4}, engram.Bounds{})
			for i := range 10 {
				c := one(stateAt("a", now+ahead+engram.Time(i)))
				c.Recorded = true
				if err := commitTo(t, w, c); err != nil {
					t.Fatal(err)
				}
				want := now + ahead + engram.Time(i)
				if s, err := w.Latest(t.Context(), modelID("a")); err != nil || s.Time != want {
					t.Fatalf("%+v, %v", s, err)
				}
				if times, missing := latestOf(t, w, "a", 1); !slices.Equal(times, []engram.Time{want}) || len(missing) > 0 {
					t.Fatalf("%v, %v", times, missing)
				}
			}
			if got, want := timesOf(t, w, "a"), now+ahead+6; len(got) != 4 || got[0] != want {
				t.Errorf("the last four are kept, and there are %v", got)
			}
			testkit.Commit(t, w, stateAt("a", now))
			if s, err := w.Latest(t.Context(), modelID("a")); err != nil || s.Time != now {
				t.Errorf("%+v, %v", s, err)
			}
			now += 3 * aYear // what was ahead is past
			if s, err := w.Latest(t.Context(), modelID("a")); err != nil || s.Time != max(now-3*aYear, now-3*aYear+ahead+9) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// A copy has its owner's clock, which may be hours off; what is ahead by days is not of it.
func TestPresentOfACopy(t *testing.T) {
	w := copyMemory(t, engram.Bounds{})
	now := w.Now()
	hours, days := now.Add(12*time.Hour), now.Add(48*time.Hour)
	for _, c := range []struct{ at, newest engram.Time }{{now, now}, {days, now}, {hours, hours}} {
		v := copied(t, c.at, c.at, "x")
		if r := copyNow(t, w, v); r[0].Err != nil {
			t.Fatal(r)
		}
		if s, err := w.Latest(t.Context(), v.Entity); err != nil || s.Time != c.newest {
			t.Errorf("after that of %v the newest is %+v, %v; want that of %v", c.at, s, err, c.newest)
		}
	}
}

// The bound is the segment's own.
func TestBoundOfThePresent(t *testing.T) {
	now := 55 * aYear
	for name, c := range map[string]struct {
		max, ahead time.Duration
		newest     bool
	}{
		"within":         {10 * time.Second, 10 * time.Second, true},
		"beyond":         {10 * time.Second, 10*time.Second + 1, false},
		"within a wide":  {time.Hour, time.Hour, true},
		"any":            {engram.AnyAhead, time.Duration(aYear), true},
		"the default":    {0, engram.DefaultMaxAhead, true},
		"beyond default": {0, engram.DefaultMaxAhead + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := wm.New(wm.Config{Types: testTypes, Now: func() engram.Time { return now }})
			if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
				t.Fatal(err)
			}
			if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: modelCore, MaxAhead: c.max}); err != nil {
				t.Fatal(err)
			}
			u := one(stateAt("a", now.Add(c.ahead)))
			u.Updates = append(u.Updates, stateAt("a", now))
			u.Recorded = true
			if err := commitTo(t, w, u); err != nil {
				t.Fatal(err)
			}
			if s, err := w.Latest(t.Context(), modelID("a")); err != nil || (s.Time == now.Add(c.ahead)) != c.newest {
				t.Errorf("%+v, %v", s, err)
			}
			if got := len(w.Ahead()) == 0; got != c.newest {
				t.Errorf("%+v", w.Ahead())
			}
		})
	}
}

// Whatever a clock does and whatever comes late, the newest is the same however it is asked
// for, now and later, and that of the definition, and what is acknowledged is there.
func TestNewestOfAnyClock(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := 55 * aYear
		history := engram.Bounds{MaxCount: rapid.IntRange(0, 6).Draw(rt, "count")}
		if rapid.Bool().Draw(rt, "aged") {
			history.MaxAge = time.Hour
		}
		all := engram.Bounds{MaxCount: rapid.SampledFrom([]int{0, 0, 3, 8}).Draw(rt, "of all")}
		if rapid.Bool().Draw(rt, "bytes of all") {
			all.MaxBytes = 12_000
		}
		w := memory(t, wm.Config{Now: func() engram.Time { return now }}, history, all)
		steps := []engram.Time{0, 0, 0, -1, 20e9, 30e9, -aYear, 2 * aYear, -10e9, 10 * 60e9}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			now += engram.Time(time.Second)
			switch rapid.IntRange(0, 9).Draw(rt, "clock") {
			case 0:
				now += aYear
			case 1:
				now -= aYear
			case 2:
				now += 5 * 60e9
			case 3:
				now -= 5 * 60e9
			}
			entity := rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(rt, "entity")
			at := now + rapid.SampledFrom(steps).Draw(rt, "at")
			c := one(change(entity, int(at), blob(rapid.SampledFrom([]int{5, 5, 4000}).Draw(rt, "size"))))
			c.Recorded = true
			results, err := w.Commit(t.Context(), c)
			if err != nil {
				rt.Fatal(err)
			}
			if results[0].Err != nil {
				if engram.CodeOf(results[0].Err) != engram.TooOld {
					rt.Fatal(results[0].Err)
				}
			} else if got := timesOf(t, w, entity); !slices.Contains(got, at) {
				rt.Fatalf("%v is acknowledged, and there are %v", at, got)
			}
			if rapid.IntRange(0, 5).Draw(rt, "erase") == 0 {
				gone := rapid.SampledFrom(append(timesOf(t, w, "a"), 0)).Draw(rt, "gone")
				if _, err := w.Erase(t.Context(), modelID("a"), func(s *engram.Snapshot) bool { return s.Time == gone }); err != nil {
					rt.Fatal(err)
				}
			}
			there := timesOf(t, w, "a")
			if len(there) == 0 {
				continue
			}
			then := now
			for _, later := range []engram.Time{0, 60e9, 10 * 60e9, aYear, 9 * aYear} {
				now = then + later
				present := w.Present(modelID("a"))
				want := slices.Max(there)
				for _, t := range there {
					if t <= present && (want > present || t > want) {
						want = t
					}
				}
				times, missing := latestOf(t, w, "a", 1)
				if !slices.Equal(times, []engram.Time{want}) || slices.Contains(missing, engram.MissingAhead) != (slices.Max(there) > present && want <= present) {
					rt.Fatalf("of %v the newest is %v, missing %v; want %v by %v", there, times, missing, want, present)
				}
				if s, err := w.Latest(t.Context(), modelID("a")); err != nil || s.Time != want {
					rt.Fatalf("of %v: %+v, %v; want %v by %v", there, s, err, want, present)
				}
			}
			now = then
			ahead, last := 0, engram.MinTime
			for _, e := range []string{"a", "b"} {
				if at := slices.Max(append(timesOf(t, w, e), engram.MinTime)); at > w.Present(modelID(e)) {
					ahead, last = ahead+1, max(last, at)
				}
			}
			if a := w.Ahead(); len(a) != min(ahead, 1) || ahead > 0 && (a[0].Entities != ahead || a[0].Last != last) {
				rt.Fatalf("%d entities are ahead, up to %v: %+v", ahead, last, a)
			}
		}
	})
}

// What was lost in two spans of time is not told of the time between them.
func TestLossesOfTwoTimes(t *testing.T) {
	now := 55 * aYear
	w := memory(t, wm.Config{Now: func() engram.Time { return now }}, engram.Bounds{MaxCount: 2}, engram.Bounds{})
	commit := func(times ...engram.Time) {
		for _, at := range times {
			if err := commitTo(t, w, engram.Commit{Updates: []engram.EntityUpdate{stateAt("a", at)}, Recorded: true}); err != nil {
				t.Fatal(fmt.Errorf("%v: %w", at, err))
			}
		}
	}
	commit(1, 2, 3, 4, now-9, now-8, now-7, now-6)
	for _, c := range []struct {
		first, last engram.Time
		lost        bool
	}{{0, 1, true}, {4, 5, true}, {5, now - 10, false}, {5, now - 8, true}, {now - 9, now - 8, true}, {now - 7, now, false}, {-5, 0, false}} {
		r := query(t, w, engram.SelectID(modelID("a"), engram.In(engram.Interval{Start: c.first, End: c.last + 1})))
		if (len(r.Missing) > 0) != c.lost {
			t.Errorf("of %v to %v, missing is %+v", c.first, c.last, r.Missing)
		}
	}
}

// What of a clock that was ahead a bound has evicted hides nothing, also when its time comes.
func TestLatestWhenWhatWasAheadIsGone(t *testing.T) {
	const minute = engram.Time(time.Minute)
	for name, ahead := range map[string][]engram.Time{"all of it": {1, 2}, "the first of it": {1, 2, 60 * minute}} {
		t.Run(name, func(t *testing.T) {
			now := 55 * aYear
			w := memory(t, wm.Config{Now: func() engram.Time { return now }}, engram.Bounds{MaxCount: len(ahead)}, engram.Bounds{})
			put := func(at engram.Time) {
				t.Helper()
				c := one(stateAt("a", at))
				c.Recorded = true
				if err := commitTo(t, w, c); err != nil {
					t.Fatal(err)
				}
			}
			for _, by := range ahead {
				put(now + 5*minute + by)
			}
			put(now)
			put(now + 1)
			last := now + 1
			ctx, a := t.Context(), modelID("a")
			if n := testing.AllocsPerRun(100, func() { w.Latest(ctx, a) }); n > 0 && len(ahead) == 2 {
				t.Errorf("nothing is ahead any more, and the latest takes the long way: %v allocations", n)
			}
			for range 10 {
				now += minute
				if s, err := w.Latest(t.Context(), modelID("a")); err != nil || s.Time != last {
					t.Errorf("at %v the latest is %+v, %v; want that of %v", now, s, err, last)
				}
			}
		})
	}
}

// What is acknowledged is not evicted for what is ahead of the clock: by the bounds of all
// that goes first, however large it is beside what is of the present.
func TestAcknowledgedBesideWhatWasAhead(t *testing.T) {
	const second = engram.Time(time.Second)
	for name, c := range map[string]struct {
		bounds         engram.Bounds
		near, far, own int // sizes
		isTooOld       bool
		wantTimesA     []engram.Time
	}{
		"count":                    {engram.Bounds{MaxCount: 3}, 10, 10, 10, false, []engram.Time{0, 20 * second}},
		"bytes":                    {engram.Bounds{MaxBytes: 20_000}, 100, 12_000, 6_000, false, []engram.Time{0, 20 * second}},
		"bytes, of little that is": {engram.Bounds{MaxBytes: 20_000}, 12_000, 10, 6_000, true, []engram.Time{20 * second, 120 * second}},
	} {
		t.Run(name, func(t *testing.T) {
			start := 55 * aYear
			now := start + 120*second
			w := memory(t, wm.Config{Now: func() engram.Time { return now }}, engram.Bounds{}, c.bounds)
			testkit.Commit(t, w, change("a", int(start+20*second), blob(c.near)), change("a", int(start+120*second), blob(c.far)), change("b", int(start+120*second), blob(10)))
			now = start
			err := commitTo(t, w, one(change("a", int(start), blob(c.own))))
			if tooOld := engram.CodeOf(err) == engram.TooOld; tooOld != c.isTooOld || err != nil && !tooOld {
				t.Fatal(err)
			}
			got := timesOf(t, w, "a")
			for i := range got {
				got[i] -= start
			}
			if !slices.Equal(got, c.wantTimesA) {
				t.Errorf("after %v there are %v, want %v", err, got, c.wantTimesA)
			}
		})
	}
}
