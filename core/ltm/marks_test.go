package ltm_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// sparse records of the volatile segment one snapshot each hour.
var sparse = map[engram.ID]policy.Policy{engram.MustID("Test/Volatile"): {Record: policy.Rate, MaxRate: 1.0 / 3600}}

func seconds(n ...int) []engram.Time {
	out := make([]engram.Time, len(n))
	for i, s := range n {
		out[i] = engram.Time(time.Duration(s) * time.Second)
	}
	return out
}

// A mark has recorded what the policy left out before it, as far as the working memory
// has it, and what comes until its end; afterwards the policy counts again.
func TestMarkRecordsWhatLiesAroundIt(t *testing.T) {
	dir := fastDir(t)
	var now atomic.Int64
	l := begin(t, ltm.Options{Dir: dir, Policies: sparse, Now: func() engram.Time { return engram.Time(now.Load()) }})
	const cup = "Test/Volatile/p/cup"
	put := func(at ...int) {
		for _, at := range seconds(at...) {
			now.Store(int64(at))
			l.commit(t, cup, at, "x")
		}
	}
	put(0, 1, 2, 3, 4)
	l.wantRecorded(t, "before the mark", cup, seconds(0)...)
	m := episode.Mark{Time: seconds(4)[0], Label: "bump", Before: 90 * time.Minute, After: 2 * time.Second}
	if err := l.Mark(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	l.wantRecorded(t, "what the working memory had", cup, seconds(0, 2, 3, 4)...)
	put(5, 6, 7, 8)
	l.wantRecorded(t, "until the mark's end", cup, seconds(0, 2, 3, 4, 5, 6)...)
	if err := l.Mark(t.Context(), episode.Mark{Before: -1}); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("a mark that keeps -1: %v", err)
	}
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	marks, err := l.Marks(t.Context(), engram.Interval{Start: 0, End: 1})
	if err != nil || !slices.Equal(marks, []episode.Mark{m}) {
		t.Errorf("marks in the next epoch: %+v, %v", marks, err)
	}
}

// A mark lets everything pass in its span alone, also in the next epoch; when it is removed
// the policies count again.
func TestMarkLetsPassInItsSpanAlone(t *testing.T) {
	dir := fastDir(t)
	const cup = "Test/Volatile/p/cup"
	o := ltm.Options{Dir: dir, Policies: sparse}
	l := begin(t, o)
	put := func(at ...int) {
		for _, at := range seconds(at...) {
			l.commit(t, cup, at, "x")
		}
	}
	mark := func(at int, label string, around time.Duration) {
		t.Helper()
		if err := l.Mark(t.Context(), ltm.EpisodeMark(seconds(at)[0], label, around)); err != nil {
			t.Fatal(err)
		}
	}
	mark(1e6, "a slip", 0)
	mark(1000, "soon", time.Second)
	put(0, 1, 2)
	l.wantRecorded(t, "before the spans", cup, seconds(0)...)
	put(999, 1000, 1001, 1002)
	l.wantRecorded(t, "in a span", cup, seconds(0, 999, 1000, 1001)...)
	l.end(t)

	l = begin(t, o)
	put(1003, 1004, 2000) // the first of an epoch is recorded
	mark(1000, "soon", 4*time.Second)
	mark(1000, "soon", 0)
	l.wantRecorded(t, "a mark that keeps more", cup, seconds(0, 999, 1000, 1001, 1003, 1004)...)
	if marks, err := l.Marks(t.Context(), engram.Always()); err != nil || len(marks) != 2 || marks[0] != ltm.EpisodeMark(seconds(1000)[0], "soon", 4*time.Second) {
		t.Errorf("marks %v, %v", marks, err)
	}
	l.end(t)

	l = begin(t, o)
	put(1500, 1000, 998, 997, 996)
	l.wantRecorded(t, "in the next epoch", cup, seconds(0, 996, 997, 998, 999, 1000, 1001, 1003, 1004, 1500)...)
	if n, err := l.Unmark(t.Context(), "soon", engram.Interval{Start: seconds(1001)[0], End: engram.MaxTime}); n != 0 || engram.CodeOf(err) != engram.NotFound {
		t.Errorf("%d marks removed where none is, %v", n, err)
	}
	if n, err := l.Unmark(t.Context(), "soon", engram.Always()); n != 1 || err != nil {
		t.Errorf("%d marks removed, %v; want 1", n, err)
	}
	put(1001, 1002, 1003)
	l.wantRecorded(t, "without the mark", cup, seconds(0, 996, 997, 998, 999, 1000, 1001, 1003, 1004, 1500)...)
	never := policy.Override{Pattern: engram.MustPattern("Test/Volatile"), Settings: map[string]string{"record": "never"}}
	if err := l.SetPolicy(t.Context(), never); err != nil {
		t.Fatal(err)
	}
	mark(3000, "never", time.Second)
	put(3000)
	l.wantRecorded(t, "what is never recorded", cup, seconds(0, 996, 997, 998, 999, 1000, 1001, 1003, 1004, 1500)...)
	l.end(t)

	l = begin(t, o)
	if marks, err := l.Marks(t.Context(), engram.Always()); err != nil || len(marks) != 2 || slices.ContainsFunc(marks, func(m episode.Mark) bool { return m.Label == "soon" }) {
		t.Errorf("marks after one was removed: %v, %v", marks, err)
	}
}

// Marks whose file is lost are found in the episodes.
func TestMarksOfALostFile(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	want := []episode.Mark{ltm.EpisodeMark(1, "bump", 2), ltm.EpisodeMark(5, "bump", 1)}
	for _, m := range want {
		if err := l.Mark(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	l.end(t)
	if err := os.Remove(filepath.Join(dir, "state.json")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l = begin(t, ltm.Options{Dir: dir})
		if got, err := l.Marks(t.Context(), engram.Always()); err != nil || !slices.Equal(got, want) {
			t.Errorf("marks %v, %v; want %v", got, err, want)
		}
		l.end(t)
	}
}

// wantRecorded checks which times of an entity are on disk.
func (l *life) wantRecorded(t *testing.T, what, entity string, want ...engram.Time) {
	t.Helper()
	if got, _ := l.times(t, entity, engram.TargetLTM, engram.All()); !slices.Equal(got, want) {
		t.Errorf("%s: times %d are on disk; want %d", what, got, want)
	}
}

// A standing rule marks what satisfies it, in this epoch and the next.
func TestStandingRule(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		dir := fastDir(t)
		l := begin(t, ltm.Options{Dir: dir, Policies: sparse})
		rule := ltm.Rule{Name: "falls", When: `state == "falls"`, Before: ltm.Duration(time.Hour), After: ltm.Duration(time.Second)}
		if err := l.SetRule(t.Context(), ltm.Rule{Name: "bad", When: "1 +"}); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("a rule that is no CEL: %v", err)
		}
		for _, nowhere := range []string{"000001", "Test/Typo", "Test/Typo/p/cup"} {
			of := ltm.Rule{Name: "nowhere", When: "true", Patterns: []string{"Test", nowhere}}
			if err := l.SetRule(t.Context(), of); engram.CodeOf(err) != engram.NotFound || !strings.Contains(err.Error(), nowhere) {
				t.Errorf("a rule of %s, which is nowhere: %v", nowhere, err)
			}
		}
		if err := l.SetRule(t.Context(), rule); err != nil {
			t.Fatal(err)
		}
		const cup = "Test/Volatile/p/cup"
		waitForMarks := func(n int) {
			t.Helper()
			testkit.Until(t, func() (string, bool) {
				marks, err := l.Marks(t.Context(), engram.Always())
				if err != nil {
					t.Fatal(err)
				}
				if len(marks) < n {
					return fmt.Sprintf("there are not %d marks", n), false
				}
				if m := marks[n-1]; m.Label != "falls" || m.Before != time.Hour {
					t.Errorf("the mark is %+v", m)
				}
				return "", true
			})
		}
		for i, what := range []string{"stands", "leans", "falls"} {
			l.commit(t, cup, seconds(i)[0], map[string]any{"state": what})
		}
		waitForMarks(1)
		l.end(t)
		l = begin(t, ltm.Options{Dir: dir, Policies: sparse})
		if rules, err := l.Rules(t.Context()); err != nil || !slices.EqualFunc(rules, []ltm.Rule{rule}, func(a, b ltm.Rule) bool { return a.Name == b.Name && a.When == b.When }) {
			t.Fatalf("rules %+v, %v", rules, err)
		}
		l.commit(t, cup, seconds(10_000)[0], map[string]any{"state": "falls"})
		waitForMarks(2)
		if err := l.RemoveRule(t.Context(), "falls"); err != nil {
			t.Fatal(err)
		}
		if err := l.RemoveRule(t.Context(), "falls"); engram.CodeOf(err) != engram.NotFound {
			t.Errorf("removing it again: %v", err)
		}
	})
}

// A rule may end the episode where it holds, so that each run of a skill has its own, but
// not again within ten seconds.
func TestStandingRuleSeals(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		var now atomic.Int64
		l := begin(t, ltm.Options{Dir: fastDir(t), Now: func() engram.Time { return engram.Time(now.Load()) }})
		if err := l.SetRule(t.Context(), ltm.Rule{Name: "runs", When: `state == "Running"`, Seal: true}); err != nil {
			t.Fatal(err)
		}
		const skill = "Test/Logged/p/grasp"
		sealed := func() (n int) {
			list, err := l.Episodes(t.Context(), engram.Always())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				if e.Sealed && e.Labels["sealed for"] == "runs" {
					n++
				}
			}
			return n
		}
		run := func(at int) {
			now.Store(int64(seconds(at)[0]))
			l.commit(t, skill, seconds(at)[0], map[string]any{"state": "Preparing"})
			l.commit(t, skill, seconds(at)[0]+1, map[string]any{"state": "Running"})
			wantSoon(t, "a mark of the run", func() bool {
				marks, err := l.Marks(t.Context(), engram.Interval{Start: seconds(at)[0] + 1, End: seconds(at)[0] + 2})
				return err == nil && len(marks) == 1
			})
		}
		run(100)
		wantSoon(t, "a sealed episode", func() bool { return sealed() == 1 })
		run(105)
		run(109)
		if n := sealed(); n != 1 {
			t.Errorf("%d episodes were sealed within the gap; want 1", n)
		}
		at := 110
		wantSoon(t, "another sealed episode", func() bool {
			run(at)
			at += 10
			return sealed() > 1
		})
	})
}

// inVirtualTime runs a test by virtual time. What compresses is made in the first life and
// outlives each, so one is lived outside.
func inVirtualTime(t *testing.T, test func(*testing.T)) {
	t.Helper()
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	l.commit(t, "Test/Logged/p/cup", 1, "x")
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	l.wantRecorded(t, "before the virtual time", "Test/Logged/p/cup", 1)
	l.end(t)
	synctest.Test(t, test)
}

// wantSoon waits until something is so.
func wantSoon(t *testing.T, what string, is func() bool) {
	t.Helper()
	testkit.Until(t, func() (string, bool) { return "there is not " + what, is() })
}

// countingFS counts the files that are opened by what their names end in.
type countingFS struct {
	vfs.FS
	suffix string
	n      atomic.Int64
}

func (c *countingFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if strings.HasSuffix(name, c.suffix) {
		c.n.Add(1)
	}
	return c.FS.OpenFile(name, flag, perm)
}

// What satisfies a rule again and again is one mark that becomes longer, also in the next
// life, and is saved now and then; what comes later is another one.
func TestMarksOfARuleGrow(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		const cup, n = "Test/Volatile/p/cup", 500
		o := ltm.Options{Dir: fastDir(t), Policies: sparse}
		counted := &countingFS{FS: vfs.OS, suffix: "state.json.new"}
		o.FS = counted
		l := begin(t, o)
		rule := ltm.Rule{Name: "all", When: "true", Before: ltm.Duration(300 * time.Millisecond), After: ltm.Duration(300 * time.Millisecond)}
		if err := l.SetRule(t.Context(), rule); err != nil {
			t.Fatal(err)
		}
		wantMarks := func(what string, want ...episode.Mark) {
			t.Helper()
			testkit.Until(t, func() (string, bool) {
				got, err := l.Marks(t.Context(), engram.Always())
				return fmt.Sprintf("%s: marks %v, %v; want %v", what, got, err, want), slices.Equal(got, want)
			})
		}
		second := engram.Time(time.Second)
		begun, before := time.Now(), counted.n.Load()
		for i := range engram.Time(n) {
			l.commit(t, cup, i*second, "x")
		}
		grown := episode.Mark{Label: "all", Before: 300 * time.Millisecond, After: (n-1)*time.Second + 300*time.Millisecond}
		wantMarks("one after the other", grown)
		if n, max := counted.n.Load()-before, int64(time.Since(begun)/time.Second)+2; n > max {
			t.Errorf("the marks were saved %d times; want at most %d", n, max)
		}
		var list []ltm.EpisodeInfo
		var err error
		wantSoon(t, "an episode", func() bool { // the recorder may lie behind the rule
			list, err = l.Episodes(t.Context(), engram.Always())
			return err != nil || len(list) > 0
		})
		if err != nil || len(list) != 1 || len(list[0].Marks) > 1 {
			t.Errorf("episodes %+v, %v", list, err)
		}
		l.commit(t, cup, (n+5)*second, "x")
		later := episode.Mark{Time: (n + 5) * second, Label: "all", Before: 300 * time.Millisecond, After: 300 * time.Millisecond}
		wantMarks("later", grown, later)
		l.end(t)

		l = begin(t, o)
		l.commit(t, cup, -second, "x")
		grown.Before += time.Second
		wantMarks("in the next epoch", grown, later)
		l.commit(t, cup, (n+20)*second, "x") // it is looked at, though the server ends
		if removed, err := l.Unmark(t.Context(), "all", engram.Interval{Start: 0, End: second}); removed != 1 || err != nil {
			t.Fatal(removed, err)
		}
		l.end(t)
		l = begin(t, o)
		last := later
		last.Time += 15 * second
		wantMarks("after one was removed", later, last)
	})
}

// Marks are bounded; when some are removed others can be set.
func TestMarksAreBounded(t *testing.T) {
	defer ltm.SetMaxAllMarks(3)()
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	if err := l.SetRule(t.Context(), ltm.Rule{Name: "all", When: "true"}); err != nil {
		t.Fatal(err)
	}
	troubled := func() bool { return l.troubles(t, "engram episode unmark") }
	for i := range 5 {
		l.commit(t, "Test/Volatile/p/cup", seconds(10 * i)[0], "x")
	}
	wantSoon(t, "word of marks that are too many", troubled)
	var marks []episode.Mark
	wantSoon(t, "a mark for the others", func() bool {
		marks, _ = l.Marks(t.Context(), engram.Always())
		return len(marks) >= 3
	})
	if len(marks) > 3 {
		t.Errorf("there are %d marks", len(marks))
	}
	if err := l.Mark(t.Context(), episode.Mark{Label: "by hand"}); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("a mark more: %v", err)
	}
	if err := l.Mark(t.Context(), ltm.EpisodeMark(marks[0].Time, marks[0].Label, 5)); err != nil {
		t.Errorf("a mark that is there: %v", err)
	}
	if n, err := l.Unmark(t.Context(), "all", engram.Interval{Start: marks[0].Time, End: marks[0].Time + 1}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := l.Mark(t.Context(), episode.Mark{Label: "by hand"}); err != nil || troubled() {
		t.Errorf("after one was removed: %v, trouble: %v", err, troubled())
	}
	if err := l.Mark(t.Context(), episode.Mark{Label: strings.Repeat("x", 257)}); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("a long label: %v", err)
	}
}

// What is noted can be read: a file that would be too large is not written.
func TestStateIsBounded(t *testing.T) {
	defer ltm.SetMaxStateFile(2000)()
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = l.Mark(t.Context(), episode.Mark{Time: engram.Time(n), Label: "x"})
	}
	if engram.CodeOf(err) != engram.Exhausted {
		t.Fatalf("after %d marks: %v", n, err)
	}
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	if marks, err := l.Marks(t.Context(), engram.Always()); err != nil || len(marks) != n-1 {
		t.Errorf("%d marks in the next epoch, %v; want %d", len(marks), err, n-1)
	}
	if _, err := l.Unmark(t.Context(), "x", engram.Always()); err != nil {
		t.Error(err)
	}
}

// troubles reports whether the store's health names something.
func (l *life) troubles(t *testing.T, word string) bool {
	t.Helper()
	stats, err := l.LTMStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(stats.Health, func(h string) bool { return strings.Contains(h, word) })
}

// A rule that cannot keep up marks every update or counts it, and says so for a while.
func TestRuleCountsWhatItMisses(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		var now atomic.Int64
		now.Store(int64(time.Hour))
		l := beginWithin(t, ltm.Options{Dir: fastDir(t), Now: func() engram.Time { return engram.Time(now.Load()) }}, wm.Limits{MaxQueue: 4})
		if err := l.SetRule(t.Context(), ltm.Rule{Name: "slow", When: `state == "falls"`}); err != nil {
			t.Fatal(err)
		}
		const cup, n = "Test/Volatile/p/cup", 100
		let := l.HoldRules()
		for i := range n {
			l.commit(t, cup, seconds(10 * i)[0], map[string]any{"state": "falls"})
		}
		let()
		l.commit(t, cup, seconds(10 * n)[0], map[string]any{"state": "stands"})
		var missed, marked int
		wantSoon(t, "a mark or a count of every update", func() bool {
			rules, err := l.Rules(t.Context())
			if err != nil || len(rules) != 1 {
				t.Fatal(rules, err)
			}
			marks, err := l.Marks(t.Context(), engram.Always())
			if err != nil {
				t.Fatal(err)
			}
			missed, marked = int(rules[0].Missed), len(marks)
			return missed+marked >= n
		})
		// The update that does not satisfy the rule may have been among those that it missed.
		if missed == 0 || missed+marked > n+1 || !l.troubles(t, "standing rule slow: it missed") {
			t.Errorf("%d updates are marked and %d counted, of %d; health says so: %v", marked, missed, n, l.troubles(t, "it missed"))
		}
		now.Add(int64(2 * time.Minute))
		wantSoon(t, "an end of the trouble", func() bool { return !l.troubles(t, "slow") })
	})
}

// A rule that is interrupted goes on where it was; one that cannot be followed is told,
// and keeps neither the server nor other rules from it.
func TestRuleGoesOn(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		dir := fastDir(t)
		l := begin(t, ltm.Options{Dir: dir})
		if err := l.SetBrokenRule(ltm.Rule{Name: "falls", When: `state == "falls"`}); err != nil {
			t.Fatal(err)
		}
		const cup = "Test/Logged/p/cup"
		for i := range 3 { // what the working memory keeps
			l.commit(t, cup, seconds(10 * i)[0], map[string]any{"state": "falls"})
		}
		wantSoon(t, "a mark of each", func() bool {
			marks, err := l.Marks(t.Context(), engram.Always())
			return err == nil && len(marks) == 3
		})
		wantSoon(t, "an end of the trouble", func() bool { return !l.troubles(t, "falls") })
		l.end(t)
		for _, r := range []ltm.Rule{{Name: "bad", When: "1 +"}, {Name: "astray", When: "true", Patterns: []string{"A/~("}}} {
			if err := ltm.AddRule(dir, r); err != nil {
				t.Fatal(err)
			}
		}
		l = begin(t, ltm.Options{Dir: dir})
		wantSoon(t, "word of a rule that is not followed", func() bool { return l.troubles(t, "standing rule bad: it is not followed") })
		wantSoon(t, "word of a rule without a right pattern", func() bool { return l.troubles(t, "standing rule astray: it is not followed") })
		if err := l.RemoveRule(t.Context(), "astray"); err != nil || l.troubles(t, "astray") {
			t.Errorf("the rule is removed: %v, trouble: %v", err, l.troubles(t, "astray"))
		}
		if err := l.SetRule(t.Context(), ltm.Rule{Name: "bad", When: `state == "falls"`}); err != nil || l.troubles(t, "bad") {
			t.Errorf("the rule is replaced: %v, trouble: %v", err, l.troubles(t, "bad"))
		}
		l.commit(t, cup, seconds(100)[0], map[string]any{"state": "falls"})
		wantSoon(t, "another mark", func() bool {
			marks, err := l.Marks(t.Context(), engram.Always())
			return err == nil && len(marks) == 4
		})
	})
}

// Policies that are set at run-time hold at once, and in the next epoch.
func TestPoliciesAtRunTime(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const cup = "Test/Volatile/p/cup"
	l.commit(t, cup, 1, "recorded")
	l.wantRecorded(t, "by default", cup, 1)
	never := policy.Override{Pattern: engram.MustPattern("Test/Volatile"), Settings: map[string]string{"record": "never"}}
	if err := l.SetPolicy(t.Context(), never); err != nil {
		t.Fatal(err)
	}
	l.commit(t, cup, 2, "left out")
	l.wantRecorded(t, "never", cup, 1)
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	l.commit(t, cup, 3, "left out")
	l.wantRecorded(t, "never, in the next epoch", cup, 1)
	all, err := l.Policies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if is := p.Segment == engram.MustID("Test/Volatile"); p.Overridden != is || (p.Policy.Record == policy.Never) != is {
			t.Errorf("policy %+v", p)
		}
	}
	never.Settings["record"] = ""
	if err := l.SetPolicy(t.Context(), never); err != nil {
		t.Fatal(err)
	}
	l.commit(t, cup, 4, "recorded")
	l.wantRecorded(t, "taken back", cup, 1, 4)
}

// What was recalled is in the working memory, says so, and is not recorded again.
func TestRecall(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const cup, logged = "Test/Volatile/p/cup", "Test/Logged/p/cup"
	for i := range 5 {
		l.commit(t, cup, engram.Time(i), i)
		l.commit(t, logged, engram.Time(i), i)
	}
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	// The log had the logged one, and was cut off when the episode was sealed: its last
	// state comes back. The volatile one does so on request.
	for entity, want := range map[string][]engram.Time{cup: nil, logged: {4}} {
		got, _ := l.times(t, entity, engram.TargetWM, engram.Latest(1))
		if !slices.Equal(got, want) {
			t.Errorf("the working memory begins with times %d of %s; want %d", got, entity, want)
		}
	}
	n, err := l.Recall(t.Context(), engram.SelectID(engram.MustID(cup), engram.Latest(2)))
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	s, err := l.wm.Latest(t.Context(), engram.MustID(cup))
	if err != nil || s.Time != 4 || !s.Recalled {
		t.Errorf("the latest is %+v, %v", s, err)
	}
	l.commit(t, cup, 5, "new")
	l.wantTimes(t, "merged", cup, engram.TargetBoth, engram.All(), 0, 1, 2, 3, 4, 5)
	stats, err := l.LTMStats(t.Context())
	if err != nil || stats.Recorded != 1 {
		t.Errorf("%d versions were recorded in this epoch, %v; want 1", stats.Recorded, err)
	}
}

// Whoever sets and removes a rule at one time: the rules that are noted are followed, and
// no others.
func TestRulesAtOneTime(t *testing.T) {
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	for range 20 {
		var done sync.WaitGroup
		for range 3 {
			done.Go(func() {
				if err := l.SetRule(t.Context(), ltm.Rule{Name: "falls", When: `state == "falls"`}); err != nil {
					t.Error(err)
				}
			})
			done.Go(func() {
				if err := l.RemoveRule(t.Context(), "falls"); err != nil && engram.CodeOf(err) != engram.NotFound {
					t.Error(err)
				}
			})
		}
		done.Wait()
		rules, err := l.Rules(t.Context())
		if err != nil || len(rules) != l.RunningRules() {
			t.Fatalf("%d rules are noted, %v, and %d are followed", len(rules), err, l.RunningRules())
		}
	}
}
