package ltm_test

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/wm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// life is one epoch of a memory with its store.
type life struct {
	*ltm.Store
	wm    *wm.WM
	begun ltm.Begun
	// leaves says that it may end before all is recorded.
	leaves bool
}

// segments are what the tests' memory has, by durability and bounds.
var segments = []engram.CoreSegment{
	{ID: engram.MustID("Test/Volatile"), History: engram.Bounds{MaxCount: 3}},
	{ID: engram.MustID("Test/Logged"), History: engram.Bounds{MaxCount: 3}, Durability: engram.Logged},
	{ID: engram.MustID("Test/Synced"), History: engram.Bounds{MaxCount: 3}, Durability: engram.Synced},
}

// begin opens a folder and begins an epoch in it.
func begin(t testing.TB, o ltm.Options) *life {
	t.Helper()
	return beginWithin(t, o, wm.Limits{})
}

func beginWithin(t testing.TB, o ltm.Options, limits wm.Limits) *life {
	t.Helper()
	o.Log = quiet
	o.DiskLimit = cmp.Or(o.DiskLimit, 1) // how full this computer's disk is must not matter
	s, err := ltm.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l := &life{Store: s, wm: wm.New(wm.Config{Types: s.Types(), Journal: s.Journal(), Now: o.Now, Limits: limits})}
	t.Cleanup(func() { l.end(t) })
	if err := l.wm.AddMemory("Test", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	for _, seg := range segments {
		if err := l.wm.AddCoreSegment(t.Context(), seg); err != nil {
			t.Fatal(err)
		}
	}
	if l.begun, err = s.Begin(t.Context(), l.wm); err != nil {
		t.Fatal(err)
	}
	return l
}

// end closes everything in order.
func (l *life) end(t testing.TB) {
	t.Helper()
	if err := l.wm.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil && !(l.leaves && errors.Is(err, ltm.ErrLeft)) {
		t.Error(err)
	}
}

func (l *life) commit(t testing.TB, entity string, at engram.Time, v any) {
	t.Helper()
	p, err := idf.ValuePayload(v)
	if err != nil {
		t.Fatal(err)
	}
	results, err := l.wm.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(p)},
	}}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
}

// times asks for an entity's snapshots and returns their times, and what is missing.
func (l *life) times(t testing.TB, entity string, target engram.Target, sel ...engram.SnapshotSelector) ([]engram.Time, []engram.Missing) {
	t.Helper()
	q := engram.SelectID(engram.MustID(entity), sel...)
	q.Target = target
	r, err := l.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var out []engram.Time
	for item := range r.All() {
		out = append(out, item.Time)
	}
	return out, r.Missing
}

func (l *life) wantTimes(t testing.TB, what, entity string, target engram.Target, sel engram.SnapshotSelector, want ...engram.Time) {
	t.Helper()
	got, missing := l.times(t, entity, target, sel)
	if !slices.Equal(got, want) {
		t.Errorf("%s: times %d, want %d", what, got, want)
	}
	if len(missing) > 0 {
		t.Errorf("%s: missing %+v", what, missing)
	}
}

func value(t testing.TB, s *engram.Snapshot) any {
	t.Helper()
	v, err := idf.DecodeValue(s.Instances[0].Payload.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func files(t testing.TB, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// What the working memory evicted is found on disk: in the open episode, in a sealed
// one, and in a later epoch.
func TestWhatWasEvictedIsOnDisk(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const cup = "Test/Volatile/p/cup"
	for i := range 6 {
		l.commit(t, cup, engram.Time(10*i), i)
	}
	check := func(what string) {
		t.Helper()
		for _, target := range []engram.Target{engram.TargetBoth, engram.TargetLTM} {
			l.wantTimes(t, what+": all", cup, target, engram.All(), 0, 10, 20, 30, 40, 50)
			l.wantTimes(t, what+": range", cup, target, engram.In(engram.Interval{Start: 5, End: 41}), 10, 20, 30, 40)
			l.wantTimes(t, what+": at", cup, target, engram.At(10), 10)
			l.wantTimes(t, what+": at or before", cup, target, engram.AtOrBefore(19), 10)
			l.wantTimes(t, what+": nearest", cup, target, engram.Nearest(16, 10), 20)
			l.wantTimes(t, what+": latest", cup, target, engram.Latest(4), 20, 30, 40, 50)
			l.wantTimes(t, what+": indices", cup, target, engram.Indices(1, -3), 10, 20, 30)
		}
	}
	check("open")
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	check("sealed")
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	check("in a later epoch")
	l.commit(t, cup, 60, "new")
	l.wantTimes(t, "with what is new", cup, engram.TargetBoth, engram.All(), 0, 10, 20, 30, 40, 50, 60)
	s, err := l.AtOrBefore(t.Context(), engram.MustID(cup), 15)
	if err != nil || s.Time != 10 || value(t, s) != int64(1) && value(t, s) != int32(1) {
		t.Errorf("at or before 15: %+v, %v", s, err)
	}
	if n := len(files(t, dir, "episodes/*.mcap")); n != 1 {
		t.Errorf("%d sealed episodes; want 1", n)
	}
}

// A folder is one server's, and the error for the second one says whose.
func TestFolderIsLocked(t *testing.T) {
	dir := fastDir(t)
	begin(t, ltm.Options{Dir: dir})
	_, err := ltm.Open(t.Context(), ltm.Options{Dir: dir, Log: quiet})
	if engram.CodeOf(err) != engram.AlreadyExists || !strings.Contains(err.Error(), "process ID") {
		t.Errorf("opening it again: %v; want AlreadyExists that names the process", err)
	}
}

// What a policy leaves out is told when it is asked for and gone.
func TestMissingNamesTheReason(t *testing.T) {
	l := begin(t, ltm.Options{Dir: fastDir(t), Policies: map[engram.ID]policy.Policy{
		engram.MustID("Test/Volatile"): {Record: policy.Never},
	}})
	const cup = "Test/Volatile/p/cup"
	for i := range 6 {
		l.commit(t, cup, engram.Time(10*i), i)
	}
	got, missing := l.times(t, cup, engram.TargetBoth, engram.All())
	if !slices.Equal(got, []engram.Time{30, 40, 50}) {
		t.Errorf("times %d", got)
	}
	if len(missing) != 1 || missing[0].Reason != engram.MissingFiltered || missing[0].Interval != (engram.Interval{Start: 0, End: 21}) {
		t.Errorf("missing %+v", missing)
	}
	if got, missing := l.times(t, cup, engram.TargetBoth, engram.Latest(2)); len(got) != 2 || len(missing) != 0 {
		t.Errorf("the latest 2: %d, missing %+v", got, missing)
	}
}

// What a policy left out is told in later epochs, too, beside what was recorded.
func TestMissingOfEarlierLives(t *testing.T) {
	o := ltm.Options{Dir: fastDir(t), Policies: map[engram.ID]policy.Policy{
		engram.MustID("Test/Volatile"): {Record: policy.Change},
	}}
	const cup = "Test/Volatile/p/cup"
	for life := range 2 {
		l := begin(t, o)
		for i := range 20 {
			l.commit(t, cup, engram.Time(100*life+i), i/10)
		}
		l.end(t)
	}
	l := begin(t, o)
	got, missing := l.times(t, cup, engram.TargetLTM, engram.All())
	if !slices.Equal(got, []engram.Time{0, 10, 100, 110}) {
		t.Errorf("times %d", got)
	}
	if len(missing) != 1 || missing[0].Reason != engram.MissingFiltered || missing[0].Count != 36 || missing[0].Interval != (engram.Interval{Start: 1, End: 120}) {
		t.Errorf("missing %+v", missing)
	}
	if _, missing := l.times(t, cup, engram.TargetLTM, engram.In(engram.Interval{Start: 500, End: 600})); len(missing) > 0 {
		t.Errorf("where nothing was left out %+v is missing", missing)
	}
}

// Of what a policy keeps out of all episodes a later epoch says that it was not recorded,
// by name and by pattern.
func TestNothingRecordedIsToldInLaterLives(t *testing.T) {
	o := ltm.Options{Dir: fastDir(t), Policies: map[engram.ID]policy.Policy{engram.MustID("Test/Volatile"): {Record: policy.Never}}}
	const cup = "Test/Volatile/p/cup"
	l := begin(t, o)
	l.commit(t, cup, 1, "seen")
	l.end(t)
	for life := range 2 {
		l := begin(t, o)
		for _, target := range []engram.Target{engram.TargetBoth, engram.TargetLTM} {
			for _, q := range []engram.Query{engram.SelectID(engram.MustID(cup), engram.Latest(1)), engram.MustPattern("Test").Select(engram.All())} {
				q.Target = target
				r, err := l.Query(t.Context(), q)
				if err != nil || len(r.Items()) > 0 || len(r.Missing) != 1 || r.Missing[0].Reason != engram.MissingFiltered || r.Missing[0].ID != engram.MustID(cup) {
					t.Errorf("life %d, %v: %d snapshots, missing %+v, %v", life, target, len(r.Items()), r.Missing, err)
				}
			}
		}
		l.end(t)
	}
}

// The newest state of a durable segment is recorded although its policy leaves it out: it is
// not missing, in this epoch and in later ones.
func TestRecordedNewestStateIsNotMissing(t *testing.T) {
	o := ltm.Options{Dir: fastDir(t), Policies: map[engram.ID]policy.Policy{engram.MustID("Test/Logged"): {Record: policy.Never}}}
	const cup, plate = "Test/Logged/p/cup", "Test/Logged/p/plate"
	l := begin(t, o)
	for i := range 3 {
		l.commit(t, cup, engram.Time(10*i), i)
	}
	l.commit(t, plate, 5, "one")
	for life := range 2 {
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		got, missing := l.times(t, cup, engram.TargetLTM, engram.All())
		if !slices.Equal(got, []engram.Time{20}) || len(missing) != 1 || missing[0].Count != 2 || missing[0].Interval != (engram.Interval{Start: 0, End: 11}) {
			t.Errorf("life %d: times %d, missing %+v", life, got, missing)
		}
		for _, at := range []engram.SnapshotSelector{engram.Latest(1), engram.At(20)} {
			if got, missing := l.times(t, cup, engram.TargetLTM, at); len(got) != 1 || len(missing) > 0 {
				t.Errorf("life %d, %v: times %d, missing %+v", life, at, got, missing)
			}
		}
		if got, missing := l.times(t, plate, engram.TargetLTM, engram.All()); len(got) != 1 || len(missing) > 0 {
			t.Errorf("life %d, of one state: times %d, missing %+v", life, got, missing)
		}
		l.end(t)
		l = begin(t, o)
	}
}

// What was forgotten, or damaged, and is committed again is not missing any more.
func TestWhatIsBackIsNotMissing(t *testing.T) {
	const cup, each = "Test/Volatile/p/cup", 20
	for reason, lose := range map[string]func(l *life, name string) error{
		engram.MissingForgotten: func(l *life, name string) error { return l.DropEpisode(t.Context(), name, "test", "me") },
		engram.MissingDamaged:   func(*life, string) error { return nil },
	} {
		t.Run(reason, func(t *testing.T) {
			dir := fastDir(t)
			l := begin(t, ltm.Options{Dir: dir})
			for i := range each {
				l.commit(t, cup, engram.Time(i), i)
			}
			l.end(t)
			sealed := files(t, dir, "episodes/*.mcap")
			if len(sealed) != 1 {
				t.Fatal(sealed)
			}
			if reason == engram.MissingDamaged {
				if err := os.WriteFile(sealed[0], []byte("nothing"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l = begin(t, ltm.Options{Dir: dir})
			if err := lose(l, filepath.Base(sealed[0])); err != nil {
				t.Fatal(err)
			}
			check := func(when string, there, count int, sel engram.SnapshotSelector) {
				t.Helper()
				for _, target := range []engram.Target{engram.TargetBoth, engram.TargetLTM} {
					got, missing := l.times(t, cup, target, sel)
					told := -1
					if len(missing) == 0 {
						told = 0
					} else if len(missing) == 1 && missing[0].Reason == reason {
						told = int(missing[0].Count)
					}
					if len(got) != there || told != count {
						t.Errorf("%s: %d are there, missing %+v; want %d, and %d missing", when, len(got), missing, there, count)
					}
				}
			}
			check("lost", 0, each, engram.All())
			l.commit(t, cup, each+100, "later")
			check("with something later", 1, each, engram.All())
			for i := range each / 2 {
				l.commit(t, cup, engram.Time(i), i)
			}
			check("half of it again", 1+each/2, each/2, engram.All())
			for range 2 { // versions of a time count once
				l.commit(t, cup, 0, "again")
			}
			check("corrected", 1+each/2, each/2, engram.All())
			for i := each / 2; i < each; i++ {
				l.commit(t, cup, engram.Time(i), i)
			}
			check("all again", 1+each, 0, engram.All())
			check("a part of it", 5, 0, engram.In(engram.Interval{Start: 3, End: 8}))
			l.end(t)
			l = begin(t, ltm.Options{Dir: dir})
			check("in the next epoch", 1+each, 0, engram.All())
			if reason == engram.MissingForgotten {
				infos, err := l.Episodes(t.Context(), engram.Always())
				if err != nil || len(infos) != 1 {
					t.Fatal(infos, err)
				}
				if err := lose(l, infos[0].Name); err != nil {
					t.Fatal(err)
				}
				if got, missing := l.times(t, cup, engram.TargetLTM, engram.All()); len(got) > 0 || len(missing) != 1 {
					t.Errorf("forgotten again: %d are there, missing %+v", got, missing)
				}
			}
		})
	}
}

// What was superseded is found as of then, though the working memory has it no more.
func TestAsOfReadsSupersededVersions(t *testing.T) {
	var now atomic.Int64
	l := begin(t, ltm.Options{Dir: fastDir(t), Now: func() engram.Time { return engram.Time(now.Add(1)) }})
	const cup = "Test/Volatile/p/cup"
	var arrived []engram.Time
	for i := range 9 {
		l.commit(t, cup, 10, i)
		s, err := l.wm.Latest(t.Context(), engram.MustID(cup))
		if err != nil {
			t.Fatal(err)
		}
		arrived = append(arrived, s.Arrived)
	}
	for i, at := range arrived {
		q := engram.SelectID(engram.MustID(cup), engram.All())
		q.AsOf = &at
		r, err := l.Query(t.Context(), q)
		if err != nil || len(r.Items()) != 1 || len(r.Missing) > 0 {
			t.Fatalf("as of %d: %+v, %v", at, r, err)
		}
		if s := r.Items()[0].Snapshot; s.Arrived != at {
			t.Errorf("as of the arrival of version %d: %v", i, value(t, s))
		}
	}
}

func TestRemovedSegmentIsNotFound(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const cup = "Test/Volatile/p/cup"
	l.commit(t, cup, 10, 1)
	segment := engram.MustID("Test/Volatile/p")
	if err := l.wm.RemoveSegment(t.Context(), segment); err != nil {
		t.Fatal(err)
	}
	if err := l.Removed(t.Context(), segment); err != nil {
		t.Fatal(err)
	}
	l.wantTimes(t, "removed", cup, engram.TargetBoth, engram.All())
	l.commit(t, cup, 20, 2)
	l.wantTimes(t, "made again", cup, engram.TargetBoth, engram.All(), 20)
	l.wantTimes(t, "made again, on disk", cup, engram.TargetLTM, engram.All(), 20)
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	l.wantTimes(t, "in a later epoch", cup, engram.TargetBoth, engram.All(), 20)
}
