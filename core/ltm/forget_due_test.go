package ltm_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// step is the time between two snapshots. It is so short that what changes with each
// step is no value in force.
const step = time.Second

// after returns times that many steps after the beginning.
func after(n ...int) []engram.Time {
	out := make([]engram.Time, len(n))
	for i, h := range n {
		out[i] = engram.Time(time.Duration(h) * step)
	}
	return out
}

// clock is a clock that the tests set.
type clock struct{ atomic.Int64 }

func (c *clock) now() engram.Time { return engram.Time(c.Load()) }

// stepwise commits a version of entities with each step from one to another, and seals the
// episode after every few.
func (l *life) stepwise(t testing.TB, c *clock, from, to, each int, entities ...string) {
	t.Helper()
	for i := from; i < to; i++ {
		at := after(i)[0]
		c.Store(int64(at))
		for _, e := range entities {
			l.commit(t, e, at, marker(e, at, 0))
		}
		if (i+1)%each == 0 {
			if err := l.Seal(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func span(from, to int) []engram.Time {
	var out []engram.Time
	for i := from; i < to; i++ {
		out = append(out, after(i)...)
	}
	return out
}

// onDisk checks what the disk has of an entity.
func (l *life) onDisk(t testing.TB, what, entity string, want ...engram.Time) {
	t.Helper()
	got, _ := l.times(t, entity, engram.TargetLTM, engram.All())
	if !slices.Equal(got, want) {
		t.Errorf("%s: of %s the disk has %v, want %v", what, entity, got, want)
	}
}

func (l *life) due(t testing.TB) ltm.Forgotten {
	t.Helper()
	would := forget(t, l, ltm.Forgetting{Due: true, DryRun: true})
	done := forget(t, l, ltm.Forgetting{Due: true})
	if would.Versions != done.Versions || len(would.Acts) != len(done.Acts) {
		t.Errorf("would forget %+v, forgot %+v", would, done)
	}
	return done
}

var (
	volatileCup = "Test/Volatile/p/cup"
	loggedCup   = "Test/Logged/p/mug"
)

// By age and by count whole portions go; what is marked, kept or often recalled stays,
// and each act is told.
func TestForgetByAgeAndCount(t *testing.T) {
	dir := fastDir(t)
	c := &clock{}
	l := begin(t, ltm.Options{Dir: dir, Now: c.now, ForgetEvery: time.Hour, SealAge: 10_000 * time.Hour, Policies: map[engram.ID]policy.Policy{
		engram.MustID("Test/Volatile"): {Keep: policy.Retention{MaxAge: 10 * step}},
		engram.MustID("Test/Logged"):   {Keep: policy.Retention{MaxCount: 8}},
	}})
	l.stepwise(t, c, 0, 4, 4, volatileCup, loggedCup)
	// What is recalled often is not forgotten: steps 0 to 3 of one entity.
	for range 3 {
		if _, err := l.Recall(t.Context(), engram.SelectID(engram.MustID(loggedCup), engram.In(engram.Interval{Start: 0, End: after(4)[0]}))); err != nil {
			t.Fatal(err)
		}
	}
	l.stepwise(t, c, 4, 20, 4, volatileCup, loggedCup)
	if err := l.Mark(t.Context(), ltm.EpisodeMark(after(5)[0], "bump", step/10)); err != nil {
		t.Fatal(err)
	}
	done := l.due(t)
	// At step 19 all portions that end before step 9 are too old; of the other entity
	// the last two portions are enough.
	l.onDisk(t, "by age", volatileCup, append(after(5), span(8, 20)...)...)
	l.onDisk(t, "by count", loggedCup, append(append(span(0, 4), after(5)...), span(12, 20)...)...)
	causes := map[string]uint64{}
	for _, a := range done.Acts {
		causes[a.Segment.String()+" "+a.Cause] = a.Versions
	}
	if len(causes) != 2 || causes["Test/Volatile age"] != 7 || causes["Test/Logged count"] != 7 {
		t.Errorf("acts %+v", done.Acts)
	}
	if again := l.due(t); again.Versions != 0 || again.Episodes != 0 {
		t.Errorf("what a mark keeps is rewritten again: %+v", again)
	}
	files := raw(t, dir)
	for _, at := range span(0, 4) {
		if names := holds(files, marker(volatileCup, at, 0)); len(names) > 0 {
			t.Errorf("what is too old is in %v", names)
		}
	}
	_, missing := l.times(t, volatileCup, engram.TargetLTM, engram.In(engram.Interval{Start: 0, End: after(4)[0]}))
	if len(missing) != 1 || missing[0].Reason != engram.MissingForgotten {
		t.Errorf("missing %+v", missing)
	}
	// An episode that is kept stays as it is, until that ends.
	infos, err := l.Episodes(t.Context(), engram.Interval{Start: after(9)[0], End: after(10)[0]})
	infos = slices.DeleteFunc(infos, func(e ltm.EpisodeInfo) bool { return e.Snapshots == 0 })
	if err != nil || len(infos) != 1 {
		t.Fatal(infos, err)
	}
	if err := l.KeepEpisode(t.Context(), infos[0].Name, true); err != nil {
		t.Fatal(err)
	}
	c.Store(int64(after(40)[0]))
	l.due(t)
	l.onDisk(t, "kept", volatileCup, append(after(5), span(8, 12)...)...)
	if err := l.KeepEpisode(t.Context(), infos[0].Name, false); err != nil {
		t.Fatal(err)
	}
	l.due(t)
	l.onDisk(t, "no longer kept", volatileCup, after(5)...)
}

// A core segment keeps to its quota; the oldest goes.
func TestForgetByBytes(t *testing.T) {
	c := &clock{}
	l := begin(t, ltm.Options{Dir: fastDir(t), Now: c.now, ForgetEvery: time.Hour, SealAge: 10_000 * time.Hour})
	l.stepwise(t, c, 0, 12, 3, volatileCup, loggedCup)
	stats, err := l.LTMStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, seg := range stats.Segments {
		if seg.Segment.String() == "Test/Volatile" {
			o := policy.Override{Pattern: engram.MustPattern("Test/Volatile"), Settings: map[string]string{"keep.max_bytes": fmt.Sprintf("%d B", seg.Bytes*6/10)}}
			if err := l.SetPolicy(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	done := l.due(t)
	l.onDisk(t, "over its quota", volatileCup, span(6, 12)...)
	l.onDisk(t, "without one", loggedCup, span(0, 12)...)
	if len(done.Acts) != 1 || done.Acts[0].Cause != policy.ForBytes || done.Bytes <= 0 {
		t.Errorf("forgot %+v", done)
	}
}

// What something marked links to stays.
func TestForgetNotWhatIsLinked(t *testing.T) {
	l := beginLinked(t, ltm.Options{Dir: fastDir(t)})
	done := l.due(t)
	l.onDisk(t, "linked", volatileCup, after(2, 7)...)
	l.onDisk(t, "marked", grasp, after(7)...)
	if done.Protected == 0 {
		t.Error("nothing counts as protected")
	}
}

// That more is linked than is protected is said, as long as something is due.
func TestForgetSaysThatTooMuchIsLinked(t *testing.T) {
	l := beginLinked(t, ltm.Options{Dir: fastDir(t)})
	defer ltm.SetMaxLinked(1)()
	forget(t, l, ltm.Forgetting{Due: true, DryRun: true})
	l.wantHealth(t, "after a dry run")
	if done := forget(t, l, ltm.Forgetting{Due: true}); done.Protected != 1 {
		t.Errorf("forgot %+v; want that one is protected", done)
	}
	l.wantHealth(t, "after forgetting", "linked")
	forget(t, l, ltm.Forgetting{Due: true})
	l.wantHealth(t, "when nothing is due any more")
}

// wantHealth checks that what does not work has the words, each one of them.
func (l *life) wantHealth(t testing.TB, what string, words ...string) {
	t.Helper()
	stats, err := l.LTMStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ok := len(stats.Health) == len(words)
	for i := range words {
		ok = ok && strings.Contains(stats.Health[i], words[i])
	}
	if !ok {
		t.Errorf("%s: health %q; want %q", what, stats.Health, words)
	}
}

// While it cannot be looked what is linked, nothing is forgotten.
func TestForgetNotWhatMayBeLinked(t *testing.T) {
	root := fastDir(t)
	disk := vfs.NewFaulty(vfs.OS, root)
	l := beginLinked(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: disk})
	linking := slices.Max(files(t, l.Dir(), "episodes/*.mcap"))
	disk.Inject(vfs.Fault{Op: vfs.OpRead, Name: filepath.Base(linking)}, vfs.Fault{Op: vfs.OpOpen, Name: filepath.Base(linking)})
	if done, err := l.Forget(t.Context(), ltm.Forgetting{Due: true}, nil); engram.CodeOf(err) != engram.Unavailable || done.Versions > 0 {
		t.Errorf("forgot %+v, %v; what is kept cannot be read just now", done, err)
	}
	disk.Heal()
	l.due(t)
	l.onDisk(t, "linked", volatileCup, after(2, 7)...)
}

// Health says from which episodes what is due could not be forgotten, as long as that is
// so, whatever is only looked at.
func TestHealthTellsWhatIsNotForgotten(t *testing.T) {
	root := fastDir(t)
	disk := vfs.NewFaulty(vfs.OS, root)
	l := beginLinked(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: disk})
	names := files(t, l.Dir(), "episodes/*.mcap")
	first, second := filepath.Base(names[0]), filepath.Base(names[1])
	disk.Inject(vfs.Fault{Op: vfs.OpWrite, Name: ".rewrite", Err: vfs.ErrFull})
	forget(t, l, ltm.Forgetting{Due: true, DryRun: true})
	l.wantHealth(t, "after a dry run")
	forget(t, l, ltm.Forgetting{Due: true})
	l.wantHealth(t, "on a full disk", first, second)
	forget(t, l, ltm.Forgetting{Due: true, DryRun: true})
	l.wantHealth(t, "after a dry run on a full disk", first, second)
	if err := l.DropEpisode(t.Context(), first, "asked", ""); err != nil {
		t.Fatal(err)
	}
	l.wantHealth(t, "when one is dropped", second)
	o := policy.Override{Pattern: engram.MustPattern("Test/Volatile"), Settings: map[string]string{"keep.max_age": "3650d"}}
	if err := l.SetPolicy(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	forget(t, l, ltm.Forgetting{Due: true})
	l.wantHealth(t, "when nothing is due any more")
}

const grasp = "Test/Volatile/p/grasp"

// beginLinked returns an epoch with episodes of an entity, all of which is due, and one with
// something marked that links to two snapshots of it.
func beginLinked(t *testing.T, o ltm.Options) *life {
	c := &clock{}
	o.Now, o.ForgetEvery, o.SealAge = c.now, time.Hour, 10_000*time.Hour
	o.Policies = map[engram.ID]policy.Policy{engram.MustID("Test/Volatile"): {Keep: policy.Retention{MaxAge: step}}}
	l := begin(t, o)
	l.stepwise(t, c, 0, 8, 4, volatileCup)
	l.commit(t, grasp, after(7)[0], map[string]any{"of": engram.MustID(volatileCup).At(after(2)[0]), "now": engram.MustID(volatileCup)})
	if err := l.Mark(t.Context(), ltm.EpisodeMark(after(7)[0]+1, "grasped", step/10)); err != nil {
		t.Fatal(err)
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	c.Store(int64(after(30)[0]))
	return l
}

// Thinning keeps every k-th, the ends, the extremes and what is marked, and is done
// once; with bounds of similarity only near-duplicates go.
func TestThin(t *testing.T) {
	c := &clock{}
	o := ltm.Options{Dir: fastDir(t), Now: c.now, ForgetEvery: time.Hour, SealAge: 10_000 * time.Hour, Policies: map[engram.ID]policy.Policy{
		engram.MustID("Test/Volatile"): {Thin: policy.Thinning{After: 48 * step, Every: 10}},
		engram.MustID("Test/Logged"):   {Thin: policy.Thinning{After: 48 * step, Every: 10}, Similar: policy.Similarity{Numbers: 0.5}},
	}}
	l := begin(t, o)
	for i := range 40 {
		at := after(i)[0]
		c.Store(int64(at))
		wave := 0.0
		if i == 13 {
			wave = 7 // an extreme, and a change
		}
		l.commit(t, volatileCup, at, wave)
		l.commit(t, loggedCup, at, wave)
	}
	if err := l.Mark(t.Context(), ltm.EpisodeMark(after(25)[0], "bump", step)); err != nil {
		t.Fatal(err)
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if done := l.due(t); done.Versions != 0 {
		t.Errorf("thinned too early: %+v", done)
	}
	c.Store(int64(after(100)[0]))
	done := l.due(t)
	// The smallest value is first met at 0.
	l.onDisk(t, "thinned", volatileCup, after(0, 10, 13, 20, 24, 25, 26, 30, 39)...)
	l.onDisk(t, "without near-duplicates", loggedCup, after(0, 10, 13, 14, 20, 24, 25, 26, 30, 39)...)
	if len(done.Acts) != 2 || done.Acts[0].Cause != "redundancy" || done.Acts[1].Cause != "thin" {
		t.Errorf("acts %+v", done.Acts)
	}
	if again := l.due(t); again.Versions != 0 {
		t.Errorf("thinned twice: %+v", again)
	}
	l.end(t)
	l = begin(t, o)
	if again := l.due(t); again.Versions != 0 {
		t.Errorf("thinned twice, in the next epoch: %+v", again)
	}
}

// fullDisk is a file system whose disk is as full as the test says.
type fullDisk struct {
	vfs.FS
	total, free atomic.Uint64
}

func (d *fullDisk) Space(string) (total, free uint64, err error) {
	return d.total.Load(), d.free.Load(), nil
}

// Before the disk is full, what has the lowest priority goes, the oldest first, and no
// more than is needed; where others fill it, what we have stays.
func TestForgetBeforeTheDiskIsFull(t *testing.T) {
	c := &clock{}
	dir := fastDir(t)
	faulty := vfs.NewFaulty(vfs.OS, dir)
	disk := &fullDisk{FS: faulty}
	disk.total.Store(1 << 20)
	disk.free.Store(1 << 19)
	l := begin(t, ltm.Options{Dir: dir, FS: disk, DiskLimit: 0.85, Now: c.now, ForgetEvery: time.Hour, SealAge: 10_000 * time.Hour, Policies: map[engram.ID]policy.Policy{
		engram.MustID("Test/Volatile"): {Priority: -10},
	}})
	noise := func(i int) string {
		var b []byte
		for n := range 400 {
			b = fmt.Appendf(b, "%x", uint32(i*7919+n)*2654435761)
		}
		return string(b)
	}
	for i := range 12 {
		c.Store(int64(after(i)[0]))
		l.commit(t, volatileCup, c.now(), noise(i))
		l.commit(t, loggedCup, c.now(), noise(100+i))
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	if done := l.due(t); done.Versions != 0 {
		t.Errorf("with half of the disk free: %+v", done)
	}
	// 85 % is the limit: with 14.9 % free, 1.1 % are to become free, which is 11.5 kB.
	disk.free.Store((1 << 20) * 149 / 1000)
	done := forget(t, l, ltm.Forgetting{Due: true})
	got, _ := l.times(t, volatileCup, engram.TargetLTM, engram.All())
	if len(done.Acts) != 1 || done.Acts[0].Cause != policy.ForDisk || done.Acts[0].Segment.String() != "Test/Volatile" || len(got) == 0 || got[len(got)-1] != after(11)[0] {
		t.Errorf("forgot %+v, left %v", done, got)
	}
	l.onDisk(t, "of higher priority", loggedCup, span(0, 12)...)

	// A disk that refuses to take the rewritten episode loses nothing and blocks nothing.
	late := engram.Interval{Start: after(10)[0], End: after(12)[0]}
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Name: ".rewrite", Err: vfs.ErrFull})
	if _, err := l.Forget(context.Background(), ltm.Forgetting{Patterns: patterns("Test/Logged"), Span: late, Why: "x"}, nil); err == nil {
		t.Error("forgetting on a disk that refuses succeeds")
	}
	l.commit(t, volatileCup, after(20)[0], "goes on")
	if len(l.Orders()) != 1 {
		t.Error("the order is not kept to be finished")
	}
	faulty.Heal()
	forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Logged"), Span: late, Why: "x"})
	l.onDisk(t, "after the disk healed", loggedCup, span(0, 10)...)

	// Filled by others: a part of ours stays, and it is said.
	disk.total.Store(1 << 40)
	disk.free.Store(1 << 30)
	if done := l.due(t); done.Versions != 0 {
		t.Errorf("on a disk that others fill: %+v", done)
	}
	stats, err := l.LTMStats(t.Context())
	if err != nil || !slices.ContainsFunc(stats.Health, func(h string) bool { return len(h) > 0 }) {
		t.Errorf("health %v, %v", stats.Health, err)
	}
}

// A state that is older than its policy keeps is not carried into the next episode.
func TestForgetByAgeWhatIsInForce(t *testing.T) {
	c := &clock{}
	l := begin(t, ltm.Options{Dir: fastDir(t), Now: c.now, ForgetEvery: time.Hour, SealAge: 10_000 * time.Hour, Policies: map[engram.ID]policy.Policy{
		engram.MustID("Test/Volatile"): {Keep: policy.Retention{MaxAge: 20 * step}},
	}})
	const old, still = "Test/Volatile/p/old", "Test/Volatile/p/still"
	l.stepwise(t, c, 0, 1, 2, old)
	l.stepwise(t, c, 8, 9, 10, still)
	c.Store(int64(after(21)[0])) // both are quiet; one is too old
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	done := l.due(t) // the first episode holds both: each is a portion of its own
	l.onDisk(t, "too old", old)
	l.onDisk(t, "in force", still, after(8)...)
	if done.Versions != 1 {
		t.Errorf("forgot %+v, want one version", done)
	}
}

// Small episodes are taken together, and nothing else changes.
func TestCompact(t *testing.T) {
	c := &clock{}
	dir := fastDir(t)
	o := ltm.Options{Dir: dir, Now: c.now, ForgetEvery: time.Hour, SealAge: 10_000 * time.Hour, SealBytes: 4 << 20}
	l := begin(t, o)
	l.stepwise(t, c, 0, 12, 3, volatileCup, loggedCup)
	l.commit(t, "Test/Volatile/p/still", 5, "in force") // also at the start of later ones
	l.stepwise(t, c, 12, 24, 3, volatileCup, loggedCup)
	before, err := l.Episodes(t.Context(), engram.Always())
	if err != nil {
		t.Fatal(err)
	}
	stats, _ := l.LTMStats(t.Context())
	would, err := l.Compact(t.Context(), true, nil)
	if err != nil || would.Before != len(before) || would.After != 1 {
		t.Fatalf("would compact %+v, %v; there are %d", would, err, len(before))
	}
	done, err := l.Compact(t.Context(), false, nil)
	if err != nil || done.Before != len(before) || done.BytesAfter >= done.BytesBefore {
		t.Fatalf("compacted %+v, %v", done, err)
	}
	check := func(what string) {
		t.Helper()
		l.onDisk(t, what, volatileCup, span(0, 24)...)
		l.onDisk(t, what, loggedCup, span(0, 24)...)
		l.onDisk(t, what, "Test/Volatile/p/still", 5)
		if got := files(t, dir, "episodes/*"); len(got) != 1 {
			t.Errorf("%s: files %v", what, got)
		}
		after, _ := l.LTMStats(t.Context())
		if after.Snapshots != stats.Snapshots {
			t.Errorf("%s: %d snapshots, want %d", what, after.Snapshots, stats.Snapshots)
		}
		for _, e := range mustEpisodes(t, l) {
			if problems, err := l.Verify(t.Context(), e.Name); err != nil || len(problems) > 0 {
				t.Errorf("%s: %v %v", what, problems, err)
			}
		}
	}
	check("compacted")
	if again, err := l.Compact(t.Context(), false, nil); err != nil || again.Before != 0 {
		t.Errorf("compacted again: %+v, %v", again, err)
	}
	l.end(t)
	l = begin(t, o)
	check("in the next epoch")
}

// Episodes of one epoch stand in the order of their numbers, taken together or not and
// whatever the clock said. What older programs took together stands where the time in its
// name says.
func TestOrderOfEpisodes(t *testing.T) {
	const epoch = 7
	at := func(hour, n int) string { return fmt.Sprintf("2026-11-20T%02d-00-00Z-%06d.mcap", hour, n) }
	of := func(name, supersedes, first string) episode.Info {
		return episode.Info{Name: name, Epoch: epoch, Supersedes: supersedes, First: first}
	}
	other := episode.Info{Name: at(10, 1), Epoch: epoch + 1}
	for name, c := range map[string]struct {
		infos []episode.Info
		want  []string
	}{
		"one after the other": {[]episode.Info{of(at(11, 3), "", ""), of(at(10, 2), "", ""), other}, []string{at(10, 2), at(11, 3)}},
		"set back":            {[]episode.Info{of(at(10, 3), "", ""), of(at(11, 2), "", "")}, []string{at(11, 2), at(10, 3)}},
		"many":                {[]episode.Info{of(at(10, 1_000_000), "", ""), of(at(10, 999_999), "", "")}, []string{at(10, 999_999), at(10, 1_000_000)}},
		"taken together": {
			[]episode.Info{of(at(10, 4), "", ""), of(at(10, 5), at(10, 2)+"\n"+at(10, 3), at(10, 2))},
			[]string{at(10, 5), at(10, 4)},
		},
		"by an older program": {
			[]episode.Info{of(at(11, 4), "", ""), of(at(10, 5), at(10, 2)+"\n"+at(10, 3), "")},
			[]string{at(10, 5), at(11, 4)},
		},
	} {
		if got := ltm.InOrder(epoch, c.infos...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func mustEpisodes(t testing.TB, l *life) []ltm.EpisodeInfo {
	t.Helper()
	list, err := l.Episodes(t.Context(), engram.Always())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Forgetting goes on beside commits, queries and sealing; nobody sees what is half
// forgotten, and in the end what must go is gone and what must remain is there.
func TestForgetWhileRecordingAndReading(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const secret, other = "Test/Logged/p/secret", "Test/Volatile/p/other"
	n := testkit.Repeats(150, 600)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	var committed atomic.Int64
	write := func(entity string) {
		for i := range n {
			p, _ := idf.ValuePayload(marker(entity, engram.Time(i), 0))
			r, err := l.wm.Commit(context.Background(), engram.Commit{Updates: []engram.EntityUpdate{{
				Entity: engram.MustID(entity), Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(p)},
			}}})
			if err != nil || r[0].Err != nil {
				t.Error(err, r)
				return
			}
			if entity == secret {
				committed.Store(int64(i))
			}
		}
	}
	work.Go(func() { write(secret) })
	work.Go(func() { write(other) })
	var readers sync.WaitGroup
	for _, target := range []engram.Target{engram.TargetLTM, engram.TargetBoth} {
		readers.Go(func() {
			for ctx.Err() == nil {
				q := engram.SelectID(engram.MustID(other), engram.All())
				q.Target = target
				r, err := l.Query(ctx, q)
				if err != nil {
					if !errors.Is(err, engram.Canceled) {
						t.Error(err)
					}
					return
				}
				next := engram.Time(0)
				for item := range r.All() {
					if item.Time != next {
						t.Errorf("%v: after %d comes %d", target, next, item.Time)
						return
					}
					next++
				}
			}
		})
	}
	gone := int64(0)
	for committed.Load() < int64(n-1) {
		upTo := committed.Load()
		if upTo == 0 { // the span up to it is the zero one, which is all
			continue
		}
		f := ltm.Forgetting{Patterns: patterns("Test/*/*/secret"), Span: engram.Interval{Start: 0, End: engram.Time(upTo)}, Why: "test"}
		forget(t, l, f)
		gone = upTo
	}
	work.Wait()
	stop()
	readers.Wait()
	files := raw(t, dir)
	for i := range gone {
		if names := holds(files, marker(secret, engram.Time(i), 0)); len(names) > 0 {
			t.Fatalf("%d of %d is in %v", i, gone, names)
		}
	}
	got, _ := l.times(t, secret, engram.TargetBoth, engram.All())
	if len(got) != n-int(gone) || len(got) > 0 && got[0] != engram.Time(gone) {
		t.Errorf("%d are left from %v on, want %d", len(got), got[:min(len(got), 1)], n-int(gone))
	}
	if got, _ := l.times(t, other, engram.TargetBoth, engram.All()); len(got) != n {
		t.Errorf("of the other entity %d are left, want %d", len(got), n)
	}
}
