package ltm_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
	"github.com/seed-301d4374/engram/mind/memories"
)

// marker is a text that is found in a file as it is, whatever stands around it.
func marker(entity string, at engram.Time, n int) string {
	return fmt.Sprintf("<%s %d %d %s>", entity[strings.LastIndexByte(entity, '/')+1:], at, n, "qwertyuiop")
}

// raw returns the content of all files of a store, that of compressed chunks too.
func raw(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was being written
		}
		if bytes.HasPrefix(b, mcap.Magic) {
			b = opened(t, b)
		}
		all[path] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// holds reports in which files a text stands.
func holds(files map[string][]byte, text string) (names []string) {
	for name, b := range files {
		if bytes.Contains(b, []byte(text)) {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names
}

// opened appends to an MCAP file's bytes those of its chunks, decompressed.
func opened(t testing.TB, b []byte) []byte {
	t.Helper()
	out := slices.Clone(b)
	for rest := b[min(8, len(b)):]; len(rest) > 9; {
		n := binary.LittleEndian.Uint64(rest[1:])
		if n > uint64(len(rest)-9) {
			break
		}
		if content := rest[9 : 9+n]; rest[0] == byte(mcap.OpChunk) {
			c, err := mcap.ParseChunk(content)
			if err != nil {
				t.Fatal(err)
			}
			if c.Compression == string(mcap.CompressionZSTD) {
				d, _ := zstd.NewReader(nil)
				records, err := d.DecodeAll(c.Records, nil)
				d.Close()
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, records...)
			}
		}
		rest = rest[9+n:]
	}
	return out
}

func forget(t testing.TB, l *life, f ltm.Forgetting) ltm.Forgotten {
	t.Helper()
	done, err := l.Forget(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func patterns(texts ...string) (out []engram.Pattern) {
	for _, text := range texts {
		out = append(out, engram.MustPattern(text))
	}
	return out
}

// What is forgotten on request is in no file, no answer and no later epoch; all else
// stays, and it is told.
func TestForgetOnRequest(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	entities := []string{"Test/Volatile/p/secret", "Test/Logged/p/secret", "Test/Synced/p/secret", "Test/Logged/p/other", "Test/Volatile/p/other"}
	commit := func(from, to int) {
		for i := from; i < to; i++ {
			for _, e := range entities {
				l.commit(t, e, engram.Time(i), marker(e, engram.Time(i), 0))
			}
		}
	}
	commit(0, 10)
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	commit(10, 20)
	secret := ltm.Forgetting{Patterns: patterns("Test/*/*/secret"), Span: engram.Interval{Start: 5, End: 15}, Why: "asked", By: "me", DryRun: true}
	would := forget(t, l, secret)
	if names := holds(raw(t, dir), marker(entities[1], 7, 0)); len(names) == 0 {
		t.Fatal("the test looks for what is never in a file")
	}
	secret.DryRun = false
	done := forget(t, l, secret)
	if would.Versions != 30 || done.Versions != 30 || len(done.Acts) != 3 || done.Protected != 0 {
		t.Errorf("would forget %+v, forgot %+v; want 30 versions of 3 segments", would, done)
	}
	check := func(what string) {
		t.Helper()
		files := raw(t, dir)
		for i := range 20 {
			for n, e := range entities {
				gone := n < 3 && i >= 5 && i < 15
				if names := holds(files, marker(e, engram.Time(i), 0)); gone && len(names) > 0 {
					t.Errorf("%s: %s of %d is in %v", what, e, i, names)
				}
			}
		}
		for n, e := range entities {
			var want []engram.Time
			for i := range engram.Time(20) {
				if n >= 3 || i < 5 || i >= 15 {
					want = append(want, i)
				}
			}
			for _, target := range []engram.Target{engram.TargetLTM, engram.TargetBoth} {
				got, missing := l.times(t, e, target, engram.All())
				if !slices.Equal(got, want) {
					t.Errorf("%s: %s from %v: %d, want %d", what, e, target, got, want)
				}
				told := slices.ContainsFunc(missing, func(m engram.Missing) bool {
					return m.Reason == engram.MissingForgotten && m.Count == 10 && m.Interval == engram.Interval{Start: 5, End: 15}
				})
				if told != (n < 3) {
					t.Errorf("%s: of %s is missing %+v", what, e, missing)
				}
			}
		}
		l.wantTimes(t, what, entities[0], engram.TargetBoth, engram.Latest(1), 19)
		l.wantTimes(t, what, entities[3], engram.TargetBoth, engram.At(7), 7)
	}
	check("after forgetting")
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	check("in the next epoch")

	// All of an entity: it is told that there was something.
	forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Logged/p/secret"), Why: "all of it"})
	for _, target := range []engram.Target{engram.TargetLTM, engram.TargetBoth} {
		if got, missing := l.times(t, entities[1], target, engram.All()); len(got) > 0 || len(missing) != 1 || missing[0].Reason != engram.MissingForgotten {
			t.Errorf("of what is forgotten as a whole there is %d, missing %+v", got, missing)
		}
	}
	stats, err := l.LTMStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, seg := range stats.Segments {
		if want := map[string]uint64{"Test/Volatile": 10, "Test/Logged": 20, "Test/Synced": 10}[seg.Segment.String()]; seg.Forgotten != want {
			t.Errorf("of %s %d versions count as forgotten, want %d", seg.Segment, seg.Forgotten, want)
		}
	}
}

// A snapshot that was found wrong is forgotten by its ID; what is marked or kept stays
// unless that is asked for.
func TestForgetWrongAndKept(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const cup = "Test/Logged/p/cup"
	for i := range 6 {
		l.commit(t, cup, engram.Time(10*i), marker(cup, engram.Time(10*i), 0))
	}
	l.commit(t, cup, 20, marker(cup, 20, 1))
	if err := l.Mark(t.Context(), ltm.EpisodeMark(40, "fell", 5)); err != nil {
		t.Fatal(err)
	}
	done := forget(t, l, ltm.Forgetting{IDs: []engram.ID{engram.MustID(cup).At(20)}, Why: "wrong"})
	if done.Versions != 2 || len(done.Acts) != 1 || done.Acts[0].Cause != "wrong" {
		t.Errorf("forgot %+v, want both versions of 20", done)
	}
	l.wantGone(t, dir, cup, 20)
	done = forget(t, l, ltm.Forgetting{Patterns: patterns("Test"), Why: "asked"})
	if got, _ := l.times(t, cup, engram.TargetBoth, engram.All()); !slices.Equal(got, []engram.Time{40}) || done.Protected != 1 {
		t.Errorf("what is marked: %d stays, %d told", got, done.Protected)
	}
	done = forget(t, l, ltm.Forgetting{Patterns: patterns("Test"), Why: "asked", EvenKept: true})
	if got, _ := l.times(t, cup, engram.TargetBoth, engram.All()); len(got) != 0 || done.Versions != 1 {
		t.Errorf("what is forgotten even if kept: %d stays, %+v", got, done)
	}
	for _, bad := range []ltm.Forgetting{
		{Why: "nothing"}, {Patterns: patterns("Test")}, {IDs: []engram.ID{engram.MustID(cup)}, Why: "no time"},
		{Due: true, Patterns: patterns("Test")}, {Patterns: patterns("Test"), Why: strings.Repeat("x", 5000)},
	} {
		if _, err := l.Forget(t.Context(), bad, nil); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%+v: %v, want Invalid", bad, err)
		}
	}
}

func (l *life) wantGone(t testing.TB, dir, entity string, at engram.Time) {
	t.Helper()
	files := raw(t, dir)
	for n := range 3 {
		if names := holds(files, marker(entity, at, n)); len(names) > 0 {
			t.Errorf("%s of %d is in %v", entity, at, names)
		}
	}
	if got, _ := l.times(t, entity, engram.TargetBoth, engram.At(at)); len(got) > 0 {
		t.Errorf("%s of %d is found", entity, at)
	}
}

// A file that cannot be read may hold what is to be forgotten: that is said. What a
// crash left of a file that was being rewritten goes at the next start.
func TestForgetNamesWhatItCannotRead(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const cup = "Test/Logged/p/cup"
	l.commit(t, cup, 1, "x")
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	l.end(t)
	name := files(t, dir, "episodes/*.mcap")[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	// It is cut before its first message.
	other := filepath.Join(dir, "episodes", "2020-01-01T00-00-00Z-000001.mcap")
	for file, b := range map[string][]byte{other: whole[:600], name + ".rewrite": whole[:100], name + ".merge": whole} {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l = begin(t, ltm.Options{Dir: dir})
	if left := files(t, dir, "episodes/*"); len(left) != 2 {
		t.Errorf("files %v", left)
	}
	f := ltm.Forgetting{Patterns: patterns("Test"), Why: "test"}
	if done := forget(t, l, f); !slices.Equal(done.Unread, []string{filepath.Base(other)}) {
		t.Errorf("unread %v", done.Unread)
	}
	if _, _, err := l.Repair(t.Context(), filepath.Base(other)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(other + ".damaged"); err != nil {
		t.Fatal("the repair left no original: ", err)
	}
	if done := forget(t, l, f); len(done.Unread) > 0 {
		t.Errorf("unread after the repair %v", done.Unread)
	}
	if _, err := os.Stat(other + ".damaged"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the original of the repaired episode is still there: %v", err)
	}
}

// What was ordered and not finished before a crash is finished in the next epoch.
func TestForgettingIsFinished(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const cup = "Test/Synced/p/cup"
	for i := range 6 {
		l.commit(t, cup, engram.Time(i), marker(cup, engram.Time(i), 0))
	}
	number, epoch := l.wm.Number(), l.wm.Epoch()
	l.end(t)
	state := fmt.Sprintf(`{"version": 1, "orders": [{"patterns": ["Test/Synced"], "span": {"Start": "%v", "End": "%v"}, "why": "x", "until": "%v", "epoch": %d, "number": %d}]}`,
		engram.Time(2), engram.Time(4), engram.Now(), epoch, number)
	if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(state), 0o644); err != nil {
		t.Fatal(err)
	}
	l = begin(t, ltm.Options{Dir: dir})
	// Whoever forgets after it waits for it.
	forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Nothing"), Why: "to wait"})
	for len(l.Orders()) > 0 {
		forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Nothing"), Why: "to wait"})
	}
	l.wantGone(t, dir, cup, 2)
	l.wantGone(t, dir, cup, 3)
	if got, _ := l.times(t, cup, engram.TargetBoth, engram.All()); !slices.Equal(got, []engram.Time{0, 1, 4, 5}) {
		t.Errorf("times %d", got)
	}
}

// An order that is finished in a later epoch is not about what came after it, though the
// clock was set back between the two.
func TestForgettingIsFinishedThoughTheClockIsSetBack(t *testing.T) {
	dir := fastDir(t)
	const cup = "Test/Synced/p/cup"
	l := begin(t, ltm.Options{Dir: dir})
	l.commit(t, cup, 0, "meant")
	l.commit(t, cup, 1, "meant")
	ordered := l.wm.Epoch()
	l.end(t)
	o := ltm.Options{Dir: dir, ForgetEvery: time.Hour, Now: func() engram.Time { return engram.Now().Add(-time.Hour) }}
	l = begin(t, o)
	l.commit(t, cup, 2, "new")
	l.end(t)
	if err := ltm.AddOrder(dir, "Test/Synced", ordered, nil); err != nil {
		t.Fatal(err)
	}
	l = begin(t, o)
	for len(l.Orders()) > 0 {
		forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Nothing"), Why: "to wait"})
	}
	if got, _ := l.times(t, cup, engram.TargetBoth, engram.All()); !slices.Equal(got, []engram.Time{2}) {
		t.Errorf("times %d, want what came in the epoch after that of the order", got)
	}
}

// inForceInThree returns an epoch with three episodes: the only version of an entity of
// Test/Logged is in the first, and in force when the others began.
func inForceInThree(t *testing.T) (*life, []ltm.EpisodeInfo) {
	c := &clock{}
	l := begin(t, ltm.Options{Dir: fastDir(t), Now: c.now, ForgetEvery: time.Hour, SealAge: time.Hour})
	for i := range 3 {
		at := after(60 * i)[0]
		c.Store(int64(at))
		if i == 0 {
			l.commit(t, "Test/Logged/p/still", at, "x")
		}
		l.commit(t, "Test/Volatile/p/moves", at, i)
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	list := mustEpisodes(t, l)
	if len(list) != 3 || list[1].InForce == 0 || list[2].InForce == 0 {
		t.Fatalf("episodes %+v; want three, with values in force", list)
	}
	return l, list
}

// A value that is in force at the start of later episodes counts once, where it goes and
// where it stays; of the episodes that it goes from in between that is said.
func TestForgetCountsWhatIsInForceOnce(t *testing.T) {
	l, list := inForceInThree(t)
	if err := l.Mark(t.Context(), ltm.EpisodeMark(list[0].Span.Start, "seen", 0)); err != nil {
		t.Fatal(err)
	}
	f := ltm.Forgetting{Patterns: patterns("Test/Logged"), Why: "asked"}
	if done := forget(t, l, f); done.Versions != 0 || done.Protected != 1 {
		t.Errorf("of what is marked and in force in later episodes: %+v, want 1 that stays", done)
	}
	if err := l.KeepEpisode(t.Context(), list[1].Name, true); err != nil {
		t.Fatal(err)
	}
	f.EvenKept = true
	if done := forget(t, l, f); done.Versions != 1 || done.Protected != 0 {
		t.Errorf("what is marked and kept, when that is forgotten, too: %+v, want 1", done)
	}
	for i, e := range mustEpisodes(t, l) {
		if i > 0 && !slices.ContainsFunc(e.Losses, func(loss string) bool { return strings.HasPrefix(loss, "what was in force of Test/Logged ") }) {
			t.Errorf("of what went of episode %d is said: %q", i, e.Losses)
		}
	}
}

// What only a kept episode still has, because it was in force when that began, stays, and
// is told.
func TestForgetTellsWhatIsInForceInAKeptEpisode(t *testing.T) {
	l, list := inForceInThree(t)
	for _, e := range list[1:] {
		if err := l.KeepEpisode(t.Context(), e.Name, true); err != nil {
			t.Fatal(err)
		}
	}
	f := ltm.Forgetting{Patterns: patterns("Test/Logged"), Why: "asked", DryRun: true}
	for range 2 { // as it will be, and as it is
		done, err := l.Forget(t.Context(), f, nil)
		if err != nil || done.Versions != 1 || done.Protected != 1 {
			t.Errorf("dry run %v: %+v, %v; want that it goes from one episode and stays in others", f.DryRun, done, err)
		}
		f.DryRun = false
	}
}

// Whatever is committed, corrected, sealed and forgotten, over lives: what must remain
// remains, and what must go is gone from every file.
func TestForgettingModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir := fastDir(t)
		defer os.RemoveAll(dir)
		l := begin(t, ltm.Options{Dir: dir})
		defer func() { l.end(t) }()
		entities := []string{"Test/Volatile/p/a", "Test/Logged/p/a", "Test/Logged/q/b", "Test/Synced/p/b"}
		type key struct {
			entity string
			at     engram.Time
		}
		model := map[key]int{} // what is current
		gone := map[string]bool{}
		n := 0
		for range rapid.IntRange(3, 25).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"commit", "commit", "commit", "seal", "forget", "restart"}).Draw(r, "step") {
			case "commit":
				for range rapid.IntRange(1, 8).Draw(r, "commits") {
					k := key{rapid.SampledFrom(entities).Draw(r, "entity"), engram.Time(rapid.IntRange(0, 30).Draw(r, "time"))}
					n++
					l.commit(t, k.entity, k.at, marker(k.entity, k.at, n))
					model[k] = n
				}
			case "seal":
				if err := l.Seal(context.Background(), "test"); err != nil {
					r.Fatal(err)
				}
			case "restart":
				l.end(t)
				l = begin(t, ltm.Options{Dir: dir})
			case "forget":
				f := ltm.Forgetting{Patterns: patterns(rapid.SampledFrom([]string{"Test", "Test/Logged", "*/*/*/a", "Test/*/q"}).Draw(r, "pattern")), Why: "test"}
				if rapid.Bool().Draw(r, "a span") {
					f.Span.Start = engram.Time(rapid.IntRange(0, 30).Draw(r, "from"))
					f.Span.End = f.Span.Start + engram.Time(rapid.IntRange(1, 20).Draw(r, "length"))
				}
				forget(t, l, f)
				m, _ := f.Patterns[0].Matcher()
				for k, v := range model {
					if m.Match(engram.MustID(k.entity)) && (f.Span == engram.Interval{} || f.Span.Contains(k.at)) {
						delete(model, k)
						gone[marker(k.entity, k.at, v)] = true
					}
				}
			}
		}
		files := raw(t, dir)
		for text := range gone {
			if names := holds(files, text); len(names) > 0 {
				r.Errorf("%s is in %v", text, names)
			}
		}
		for _, e := range entities {
			var want []engram.Time
			for at := range engram.Time(31) {
				if _, ok := model[key{e, at}]; ok {
					want = append(want, at)
				}
			}
			q := engram.SelectID(engram.MustID(e), engram.All())
			res, err := l.Query(context.Background(), q)
			if err != nil {
				r.Fatal(err)
			}
			var got []engram.Time
			for item := range res.All() {
				got = append(got, item.Time)
				if v, want := value(t, item.Snapshot), marker(e, item.Time, model[key{e, item.Time}]); v != want {
					r.Errorf("%s at %d: %v, want %s", e, item.Time, v, want)
				}
			}
			if !slices.Equal(got, want) {
				r.Errorf("%s: %d, want %d", e, got, want)
			}
		}
	})
}

// addSystemState gives a memory the segment where what is forgotten is told.
func (l *life) addSystemState(t testing.TB) {
	t.Helper()
	system := memories.SystemState()
	if err := l.wm.AddMemory(system.Name, system.Bounds); err != nil {
		t.Fatal(err)
	}
	for _, typ := range system.Types {
		if err := l.wm.AddType(t.Context(), typ); err != nil {
			t.Fatal(err)
		}
	}
	for _, seg := range system.Segments {
		if err := l.wm.AddCoreSegment(t.Context(), seg); err != nil {
			t.Fatal(err)
		}
	}
}

// records returns what SystemState/Forgetting tells of a core segment.
func (l *life) records(t testing.TB, segment engram.ID) (list []map[string]any) {
	t.Helper()
	typ, _ := l.Types().Get("engram.system_state.Forgetting")
	id, err := engram.NewID("SystemState", "Forgetting", "LongTermMemory", segment.String())
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Query(t.Context(), engram.SelectID(id, engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	for item := range r.All() {
		for _, in := range item.Snapshot.Instances {
			v, err := typ.Decode(in.Payload.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, v.(map[string]any))
		}
	}
	return list
}

// told returns how many versions of an entity were forgotten: as a query tells it, as
// the statistics do, and as SystemState/Forgetting does.
func (l *life) told(t testing.TB, entity string) (missing, counted, noted uint64) {
	t.Helper()
	_, list := l.times(t, entity, engram.TargetBoth, engram.All())
	for _, m := range list {
		if m.Reason == engram.MissingForgotten {
			missing += m.Count
		}
	}
	stats, err := l.LTMStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	segment := engram.MustID(entity).Truncate(engram.LevelCoreSegment)
	for _, s := range stats.Segments {
		if s.Segment == segment {
			counted = s.Forgotten
		}
	}
	for _, record := range l.records(t, segment) {
		noted += uint64(record["versions"].(int64))
	}
	return missing, counted, noted
}

// A log that cannot be written keeps nothing of other memories from being forgotten; who
// asks for what is in it is told that it is forgotten later.
func TestForgetWhileAnotherLogIsRefused(t *testing.T) {
	root := fastDir(t)
	faulty := vfs.NewFaulty(vfs.OS, root)
	l := begin(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: faulty})
	l.addSystemState(t)
	const cup = "Test/Logged/p/cup"
	l.commit(t, cup, 1, "x")
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Name: "SystemState", Err: vfs.ErrFull})
	l.refuses(t, "SystemState/Forgetting/p/other")
	if done := forget(t, l, ltm.Forgetting{Patterns: patterns("Test"), Why: "test"}); done.Versions != 1 {
		t.Errorf("forgot %+v, want 1 version", done)
	}
	_, err := l.Forget(t.Context(), ltm.Forgetting{Patterns: patterns("*/Logged"), Why: "test"}, nil)
	if engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), "the request is noted") {
		t.Errorf("what is asked for may be in the log that is refused: %v", err)
	}
	faulty.Heal()
	testkit.Until(t, func() (string, bool) {
		l.FinishOrders()
		return fmt.Sprintf("when there is room it is still to be done: %+v", l.Orders()), len(l.Orders()) == 0
	})
}

// An act of forgetting that a full disk keeps from being noted is noted later, also in a
// later epoch.
func TestForgettingOnAFullDiskIsToldLater(t *testing.T) {
	const cup = "Test/Logged/p/cup"
	for name, later := range map[string]bool{"in this epoch": false, "in the next epoch": true} {
		t.Run(name, func(t *testing.T) {
			root := fastDir(t)
			faulty := vfs.NewFaulty(vfs.OS, root)
			o := ltm.Options{Dir: filepath.Join(root, "data"), FS: faulty}
			l := begin(t, o)
			l.addSystemState(t)
			for i := range 3 {
				l.commit(t, cup, engram.Time(i), i)
			}
			if err := l.Seal(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
			faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Name: "SystemState", Err: vfs.ErrFull})
			l.refuses(t, "SystemState/Forgetting/p/other")
			episodes, err := l.Episodes(t.Context(), engram.Always())
			if err != nil {
				t.Fatal(err)
			}
			if err := l.DropEpisode(t.Context(), episodes[0].Name, "full", "test"); err != nil {
				t.Fatal(err)
			}
			stats, err := l.LTMStats(t.Context())
			if err != nil || !strings.Contains(strings.Join(stats.Health, "\n"), "noting what was forgotten") {
				t.Errorf("what cannot be noted is not said: %v, %v", stats.Health, err)
			}
			if _, counted, noted := l.told(t, cup); counted != 3 || noted != 0 {
				t.Errorf("on a full disk the statistics say that %d are forgotten, SystemState %d; want 3 and 0", counted, noted)
			}
			faulty.Heal()
			if later {
				l.end(t)
				l = begin(t, ltm.Options{Dir: o.Dir})
				l.addSystemState(t)
			}
			testkit.Until(t, func() (string, bool) {
				l.FinishOrders()
				_, _, noted := l.told(t, cup)
				return fmt.Sprintf("when there is room SystemState says that %d are forgotten, want 3", noted), noted == 3
			})
			l.FinishOrders()
			if _, counted, noted := l.told(t, cup); counted != 3 || noted != 3 {
				t.Errorf("when there is room the statistics say that %d are forgotten, SystemState %d; want 3", counted, noted)
			}
		})
	}
}

// refuses commits to an entity of SystemState/Forgetting until its log refuses that.
func (l *life) refuses(t testing.TB, entity string) {
	t.Helper()
	typ, _ := l.Types().Get("engram.system_state.Forgetting")
	testkit.Until(t, func() (string, bool) {
		b, err := typ.Encode(map[string]any{})
		if err != nil {
			t.Fatal(err)
		}
		results, err := l.wm.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
			Entity: engram.MustID(entity), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		switch err := results[0].Err; engram.CodeOf(err) {
		case 0, engram.Exhausted:
			return "nothing is refused", err != nil
		default:
			t.Fatal(err)
			return "", false
		}
	})
}

// What went before forgetting was given up is told like all that goes: at once, when the
// rest has gone, and also if a crash comes in between.
func TestForgettingThatIsGivenUpIsTold(t *testing.T) {
	const cup = "Test/Logged/p/cup"
	for name, f := range map[string]ltm.Forgetting{
		"on request": {Patterns: patterns(cup), Why: "asked"},
		"due":        {Due: true},
	} {
		t.Run(name, func(t *testing.T) {
			root, c := fastDir(t), &clock{}
			o := ltm.Options{Dir: filepath.Join(root, "data"), ForgetEvery: time.Hour, SealAge: 10_000 * time.Hour}
			o.Now = func() engram.Time { return engram.Time(c.Add(1)) } // no act supersedes another
			if f.Due {
				o.Policies = map[engram.ID]policy.Policy{engram.MustID("Test/Logged"): {Keep: policy.Retention{MaxAge: step}}}
			}
			start := func(dir string) *life {
				o.Dir = dir
				l := begin(t, o)
				l.addSystemState(t)
				return l
			}
			l := start(o.Dir)
			l.stepwise(t, c, 0, 30, 10, cup)
			c.Store(int64(after(100)[0]))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if _, err := l.Forget(ctx, f, func(done, total int) {
				if done == 2 {
					cancel()
				}
			}); engram.CodeOf(err) != engram.Canceled {
				t.Fatalf("forgetting that is given up: %v", err)
			}
			want := func(when string, l *life, n uint64) {
				t.Helper()
				if missing, counted, noted := l.told(t, cup); missing != n || counted != n || noted != n {
					t.Errorf("%s: a query says that %d are forgotten, the statistics %d, SystemState %d; want %d", when, missing, counted, noted, n)
				}
			}
			crashed := filepath.Join(root, "crashed")
			if err := vfs.CopySettled(crashed, o.Dir); err != nil {
				t.Fatal(err)
			}
			if missing, _, _ := l.told(t, cup); missing < 30 { // else it was finished by itself
				want("given up", l, 20)
			}
			forget(t, l, f)
			want("finished", l, 30)
			l.end(t)
			l = start(crashed)
			forget(t, l, f)
			if missing, counted, _ := l.told(t, cup); missing != 30 || counted != 30 {
				t.Errorf("after a crash a query says that %d are forgotten, the statistics %d; want 30", missing, counted)
			}
		})
	}
}

// What only the working memory had is forgotten like all else: an answer and
// SystemState say of which entities that was and of which times, and that it was
// forgotten, also in the next epoch; not that it was evicted or left out.
func TestForgettingWhatIsNotRecordedIsTold(t *testing.T) {
	c := &clock{}
	o := ltm.Options{Dir: fastDir(t), Now: func() engram.Time { return engram.Time(1_000_000 + c.Add(1)) }}
	segment := engram.MustID("Test/Logged")
	o.Policies = map[engram.ID]policy.Policy{segment: {Record: policy.Never}}
	l := begin(t, o)
	l.addSystemState(t)
	for i := range engram.Time(5) { // of which the working memory has the last three
		l.commit(t, "Test/Logged/p/cup", 10+i, "x")
	}
	l.commit(t, "Test/Logged/p/plate", 21, "x")
	l.commit(t, "Test/Logged/p/other", 30, "x")
	missing := func(pattern string) []engram.Missing {
		t.Helper()
		r, err := l.Query(t.Context(), engram.MustPattern(pattern).Select(engram.All()))
		if err != nil {
			t.Fatal(err)
		}
		return r.Missing
	}
	told := func(reason string, pattern string) (n uint64) {
		t.Helper()
		for _, m := range missing(pattern) {
			if m.Reason == reason {
				n += m.Count
			}
		}
		return n
	}
	done := forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Logged/p/cup", "Test/Logged/p/plate"), Why: "asked"})
	if done.Volatile != 4 || done.Versions != 0 {
		t.Errorf("forgot %+v; want 4 versions in the working memory", done)
	}
	records := l.records(t, segment)
	if len(records) != 1 {
		t.Fatalf("SystemState tells %v", records)
	}
	r := records[0]
	if r["volatile"] != int64(4) || r["versions"] != int64(0) || r["entities"] != int64(2) || r["first"] != engram.Time(12) || r["last"] != engram.Time(22) {
		t.Errorf("SystemState tells %v; want 4 versions of 2 entities from 12 to 22", r)
	}
	check := func(when string, cup uint64) {
		t.Helper()
		for pattern, want := range map[string]uint64{"Test/Logged/p/cup": 3, "Test/Logged/p/plate": 1, "Test/Logged/p/other": 0, "Test": 4} {
			if n := told(engram.MissingForgotten, pattern); n != want {
				t.Errorf("%s %d of %s are said to be forgotten; want %d", when, n, pattern, want)
			}
		}
		if n := told(engram.MissingFiltered, "Test/Logged/p/cup"); n != cup {
			t.Errorf("%s %d of the cup are said to be left out; want %d", when, n, cup)
		}
		if n := told(engram.MissingEvicted, "Test"); n != 0 {
			t.Errorf("%s %d are said to be evicted; want none: %+v", when, n, missing("Test"))
		}
	}
	check("then", 2)
	l.commit(t, "Test/Logged/p/plate", 40, "x")
	check("when there is a new plate", 2)
	if n := told(engram.MissingFiltered, "Test/Logged/p/plate"); n != 0 {
		t.Errorf("%d plates are said to be left out", n)
	}
	l.end(t)
	l = begin(t, o)
	check("in the next epoch", 2)
}
