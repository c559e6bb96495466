package wal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// life is a working memory with its journal, from its start to its end.
type life struct {
	*wm.WM
	journal *wal.Journal
	had     *wal.Recovery
}

func start(t testing.TB, fs vfs.FS, dir string, memories ...string) *life {
	t.Helper()
	types := idf.NewRegistry()
	j, err := wal.OpenJournal(wal.JournalOptions{FS: fs, Dir: filepath.Join(dir, "log"), Types: types})
	if err != nil {
		t.Fatal(err)
	}
	l := &life{wm.New(wm.Config{Types: types, Journal: j}), j, nil}
	for _, m := range append(memories, "Test") {
		if err := l.AddMemory(m, engram.Bounds{}); err != nil {
			t.Fatal(err)
		}
	}
	l.addCore(t, "Test/End", engram.Volatile)
	if l.had, err = j.Restore(t.Context(), l.WM); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *life) end(t testing.TB) {
	t.Helper()
	l.WM.Close()
	if err := l.journal.Close(); err != nil {
		t.Fatal(err)
	}
}

func (l *life) addCore(t testing.TB, id string, d engram.Durability) {
	t.Helper()
	if err := l.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID(id), Durability: d}); err != nil {
		t.Fatal(err)
	}
}

func value(t testing.TB, v any) engram.Instance {
	t.Helper()
	return engram.NewInstance(testkit.Value(t, v))
}

func (l *life) put(t testing.TB, id string, at engram.Time, v any) error {
	t.Helper()
	results, err := l.Commit(context.Background(), engram.Commit{Updates: []engram.EntityUpdate{
		{Entity: engram.MustID(id), Time: at, Instances: []engram.Instance{value(t, v)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return results[0].Err
}

// content lists all versions of all entities but their numbers, in the order of the
// numbers.
func (l *life) content(t testing.TB) (out []string) {
	t.Helper()
	s, err := l.Subscribe(context.Background(), engram.Subscription{WithData: true, Queue: 60_000, Start: engram.Start{Kind: engram.StartNumber}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := l.put(t, "Test/End/p/e", 1, nil); err != nil {
		t.Fatal(err)
	}
	for {
		batch, err := s.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range batch {
			if u.ID.CoreSegment() == "End" {
				if u.Number > s.(interface{ Number() uint64 }).Number() {
					return out
				}
				continue
			}
			in := u.Snapshot.Instances[0]
			v, err := idf.DecodeValue(in.Payload.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%v arrived %d, supersedes %v, sent %d, %v, %s: %v;", u.ID, u.Arrived, u.Supersedes, in.Sent, in.Confidence, in.Payload.Type, v))
		}
	}
}

func TestJournalBringsEverythingBack(t *testing.T) {
	dir := t.TempDir()
	l := start(t, nil, dir)
	l.addCore(t, "Test/Volatile", engram.Volatile)
	l.addCore(t, "Test/Logged", engram.Logged)
	l.addCore(t, "Test/Synced", engram.Synced)
	l.addCore(t, "Test/Gone", engram.Logged)
	if err := l.AddProviderSegment(t.Context(), engram.ProviderSegment{ID: engram.MustID("Test/Synced/typed"), Type: engram.ValueType}); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		for _, core := range []string{"Volatile", "Logged", "Synced", "Gone"} {
			at := engram.Time(i / 2) // every other supersedes
			if err := l.put(t, fmt.Sprintf("Test/%s/p%d/e%d", core, i%2, i%3), at, fmt.Sprint(core, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.RemoveSegment(t.Context(), engram.MustID("Test/Gone")); err != nil {
		t.Fatal(err)
	}
	l.addCore(t, "Test/Gone", engram.Logged)
	if err := l.put(t, "Test/Gone/p/new", 1, "after"); err != nil {
		t.Fatal(err)
	}
	if err := l.RemoveSegment(t.Context(), engram.MustID("Test/Logged/p1")); err != nil {
		t.Fatal(err)
	}
	wantDescriptions, err := l.Describe(t.Context(), engram.Pattern{})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, line := range l.content(t) {
		if !strings.Contains(line, "/Volatile/") {
			want = append(want, line)
		}
	}
	l.end(t)
	for round := range 3 { // what was read back is there the next time, too
		l = start(t, nil, dir)
		descriptions, err := l.Describe(t.Context(), engram.Pattern{})
		if err != nil {
			t.Fatal(err)
		}
		// Provider segments that came into being by commits alone are not there without one.
		for _, d := range wantDescriptions {
			if !slices.Contains(descriptions, d) && !strings.HasPrefix(d.ID.String(), "Test/Volatile/") {
				t.Errorf("round %d: %+v is not there", round, d)
			}
		}
		if got := l.content(t); !slices.Equal(sorted(got), sorted(want)) {
			t.Errorf("round %d: the memory holds\n%s\nwant\n%s", round, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if l.had.Snapshots != uint64(len(want)) || len(l.had.Losses) > 0 || len(l.had.Refused) > 0 {
			t.Errorf("round %d: %+v; want %d snapshots", round, l.had, len(want))
		}
		l.end(t)
	}
}

func sorted(s []string) []string { s = slices.Clone(s); slices.Sort(s); return s }

func TestMemoriesOfAnyName(t *testing.T) {
	dir := t.TempDir()
	names := []string{"a/b", "..", ".hidden", "=definitions", "%41", strings.Repeat("ü", 200), strings.Repeat("ü", 199) + "u", "CON", "a b"}
	l := start(t, nil, dir, names...)
	for _, name := range names {
		id, err := engram.NewID(name, "Core", "p", "e")
		if err != nil {
			t.Fatal(err)
		}
		l.addCore(t, id.Truncate(engram.LevelCoreSegment).String(), engram.Logged)
		if err := l.put(t, id.String(), 1, name); err != nil {
			t.Fatal(err)
		}
	}
	want := l.content(t)
	l.end(t)
	l = start(t, nil, dir, names...)
	defer l.end(t)
	if got := l.content(t); !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("the memories hold\n%s", strings.Join(got, "\n"))
	}
	slices.Sort(names)
	if got := l.journal.Memories(); !slices.Equal(got, names) {
		t.Errorf("logs of %q; want %q", got, names)
	}
}

// A copy of a log, such as somebody makes before they try something, is left alone and
// told; the log is the one in the memory's folder.
func TestCopyOfALogIsNotRead(t *testing.T) {
	dir := t.TempDir()
	l := start(t, nil, dir)
	l.addCore(t, "Test/Core", engram.Synced)
	if err := l.put(t, "Test/Core/p/e", 1, "before"); err != nil {
		t.Fatal(err)
	}
	l.end(t)
	if err := os.CopyFS(filepath.Join(dir, "log", "Test copy"), os.DirFS(filepath.Join(dir, "log", "Test"))); err != nil {
		t.Fatal(err)
	}
	l = start(t, nil, dir)
	if n := len(l.had.Losses); n != 1 || !strings.Contains(l.had.Losses[0].Reason, "not read") {
		t.Errorf("%+v", l.had.Losses)
	}
	if err := l.put(t, "Test/Core/p/e", 2, "after"); err != nil {
		t.Fatal(err)
	}
	want := l.content(t)
	l.end(t)
	if err := os.RemoveAll(filepath.Join(dir, "log", "Test copy")); err != nil {
		t.Fatal(err)
	}
	l = start(t, nil, dir)
	defer l.end(t)
	if got := l.content(t); len(got) != 2 || !slices.Equal(got, want) {
		t.Errorf("the memory has %v; want %v", got, want)
	}
}

// What an older program defined and this one does not host is told, and stays on disk.
func TestWhatNobodyTakesIsToldAndKept(t *testing.T) {
	dir := t.TempDir()
	l := start(t, nil, dir, "Old")
	l.addCore(t, "Old/Core", engram.Synced)
	l.addCore(t, "Test/Core", engram.Synced)
	for _, id := range []string{"Old/Core/p/e", "Test/Core/p/e"} {
		if err := l.put(t, id, 1, "x"); err != nil {
			t.Fatal(err)
		}
	}
	want := l.content(t)
	l.end(t)
	l = start(t, nil, dir)
	if l.had.Snapshots != 1 || l.had.Refused["Old/Core/p"].Count != 1 || l.had.Refused["Old/Core"].Count != 1 {
		t.Errorf("%+v", l.had)
	}
	l.end(t)
	l = start(t, nil, dir, "Old")
	defer l.end(t)
	if got := l.content(t); !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("with the old memory again there are %v; want %v", got, want)
	}
}

// While the disk fails every update is refused with what to do, and changes nothing.
func TestFailingDiskChangesNothing(t *testing.T) {
	for name, fault := range map[string]vfs.Fault{
		"full": {Err: vfs.ErrFull}, "short": {Op: vfs.OpWrite, Err: vfs.ErrFull, Short: 100},
		"write": {Op: vfs.OpWrite}, "sync": {Op: vfs.OpSync},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fs := vfs.NewFaulty(vfs.OS, dir)
			l := start(t, fs, dir)
			l.addCore(t, "Test/Logged", engram.Logged)
			l.addCore(t, "Test/Synced", engram.Synced)
			l.addCore(t, "Test/Volatile", engram.Volatile)
			for _, core := range []string{"Logged", "Synced"} {
				if err := l.put(t, "Test/"+core+"/p/e", 1, "before"); err != nil {
					t.Fatal(err)
				}
			}
			before := l.content(t)
			fs.Inject(fault)
			code, advice := engram.Unavailable, "check the disk"
			if fault.Err == vfs.ErrFull {
				code, advice = engram.Exhausted, "free some space"
			}
			wantRefusal := func(what string, err error) {
				t.Helper()
				if engram.CodeOf(err) != code || !strings.Contains(err.Error(), advice) {
					t.Errorf("%s: %v; want %v that says %q", what, err, code, advice)
				}
			}
			wantRefusal("synced", l.put(t, "Test/Synced/p/e", 2, "refused"))
			wantRefusal("logged", l.put(t, "Test/Logged/p/e", 2, "refused"))
			wantRefusal("a segment", l.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/New")}))
			wantRefusal("a removal", l.RemoveSegment(t.Context(), engram.MustID("Test/Synced")))
			if got := l.content(t); !slices.Equal(got, before) {
				t.Errorf("the memory holds\n%v\nwant\n%v", got, before)
			}
			if err := l.put(t, "Test/Volatile/p/e", 2, "x"); err != nil {
				t.Errorf("a volatile update: %v", err)
			}
			fs.Heal()
			for l.put(t, "Test/Logged/p/e", 3, "after") != nil || l.put(t, "Test/Synced/p/e", 3, "after") != nil {
			}
			for l.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/New")}) != nil {
			}
			want := slices.DeleteFunc(l.content(t), func(s string) bool { return strings.Contains(s, "Volatile") })
			l.end(t)
			l = start(t, vfs.OS, dir)
			defer l.end(t)
			if got := l.content(t); !slices.Equal(sorted(got), sorted(want)) {
				t.Errorf("after a restart the memory holds\n%v\nwant\n%v", got, want)
			}
			if d, err := l.Describe(t.Context(), engram.MustPattern("Test/New")); err != nil || len(d) != 1 {
				t.Errorf("the added segment: %v, %v", d, err)
			}
		})
	}
}

// Writers of one entity at once: the order of the log is the order of the memory.
func TestOrderOfTheLogIsTheOrderOfTheMemory(t *testing.T) {
	for _, d := range []engram.Durability{engram.Logged, engram.Synced} {
		dir := t.TempDir()
		l := start(t, nil, dir)
		l.addCore(t, "Test/Core", d)
		var done sync.WaitGroup
		for w := range 8 {
			done.Go(func() {
				for i := range 25 {
					if err := l.put(t, "Test/Core/p/e", 1, fmt.Sprint(w, " ", i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done.Wait()
		want := l.content(t)
		l.end(t)
		l = start(t, nil, dir)
		if got := l.content(t); !slices.Equal(got, want) {
			t.Errorf("%v: the versions after a restart are\n%s\nwant\n%s", d, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		l.end(t)
	}
}

func TestDefinitionsAreCompacted(t *testing.T) {
	dir := t.TempDir()
	l := start(t, wal.Unsynced, dir)
	for i := range 60 {
		id := fmt.Sprint("Test/C", i%3)
		l.addCore(t, id, engram.Logged)
		if err := l.put(t, id+"/p/e", engram.Time(i), i); err != nil {
			t.Fatal(err)
		}
		if i < 57 {
			if err := l.RemoveSegment(t.Context(), engram.MustID(id)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := l.content(t)
	l.end(t)
	size := func() (n int64) {
		filepath.Walk(filepath.Join(dir, "log", "=definitions"), func(_ string, info os.FileInfo, _ error) error {
			if !info.IsDir() {
				n += info.Size() - 8192 // of the header
			}
			return nil
		})
		return n
	}
	before := size()
	for range 3 {
		l = start(t, wal.Unsynced, dir)
		if got := l.content(t); !slices.Equal(sorted(got), sorted(want)) {
			t.Fatalf("the memory holds %v; want %v", got, want)
		}
		l.end(t)
	}
	if after := size(); after >= before {
		t.Errorf("the definitions take %d bytes, %d before", after, before)
	}
}

// The log of definitions does not grow without bound while a server lives.
func TestDefinitionsAreCompactedWhileItLives(t *testing.T) {
	dir := t.TempDir()
	l := start(t, wal.Unsynced, dir)
	size := func() (n int64) {
		filepath.Walk(filepath.Join(dir, "log", "=definitions"), func(_ string, info os.FileInfo, _ error) error {
			if !info.IsDir() {
				n += info.Size()
			}
			return nil
		})
		return n
	}
	l.addCore(t, "Test/Stays", engram.Logged)
	largest := int64(0)
	for i := range 4000 {
		id := fmt.Sprint("Test/C", i%3)
		l.addCore(t, id, engram.Volatile)
		if err := l.RemoveSegment(t.Context(), engram.MustID(id)); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			largest = max(largest, size())
		}
	}
	if end := size(); end > largest || end > 200<<10 {
		t.Errorf("after 8000 definitions there are %d bytes, %d at most before", end, largest)
	}
	l.end(t)
	l = start(t, wal.Unsynced, dir)
	defer l.end(t)
	got, err := l.Describe(t.Context(), engram.MustPattern("Test"))
	if err != nil || len(got) != 2 || got[1].ID.CoreSegment() != "Stays" {
		t.Errorf("the next epoch has %+v, %v", got, err)
	}
}

func TestBarrier(t *testing.T) {
	l := start(t, nil, t.TempDir())
	defer l.end(t)
	l.addCore(t, "Test/Synced", engram.Synced)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := l.put(t, fmt.Sprint("Test/Synced/p/e", w), engram.Time(i), i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		var ends map[string]wal.Position
		number, err := l.Barrier(t.Context(), func() { ends = l.journal.Rotate() })
		if err != nil {
			t.Fatal(err)
		}
		log, inLog := l.journal.Log("Test"), uint64(0)
		if log == nil {
			continue
		}
		if err := log.Sync(t.Context(), ends["Test"]); err != nil {
			t.Fatal(err)
		}
		if _, err := log.Replay(t.Context(), 0, func(r wal.Record) error {
			if r.Position < ends["Test"] {
				inLog++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if number < inLog {
			t.Errorf("%d records were in the log, and the newest number was %d", inLog, number)
		}
	}
	close(stop)
	writers.Wait()
}

// A memory with a journal goes through commits, removals, failures of the disk, and
// restarts like one that never stops.
func TestJournalModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		fs := vfs.NewFaulty(wal.Unsynced, dir)
		l := start(t, fs, dir)
		model := map[string][]string{} // by segment: what was committed, in order
		cores := []string{"Test/L0", "Test/L1", "Test/S0"}
		at := engram.Time(0)
		check := func() {
			got := map[string][]string{}
			for _, line := range l.content(t) {
				id, _, _ := strings.Cut(line, "/p/")
				_, text, _ := strings.Cut(line, "Value: ")
				got[id] = append(got[id], strings.TrimSuffix(text, ";"))
			}
			for _, c := range cores {
				if !slices.Equal(got[c], model[c]) {
					r.Fatalf("%s holds %q; want %q", c, got[c], model[c])
				}
			}
		}
		for step := range rapid.IntRange(5, 40).Draw(r, "steps") {
			c := rapid.SampledFrom(cores).Draw(r, "segment")
			durability := engram.Logged
			if c == "Test/S0" {
				durability = engram.Synced
			}
			switch rapid.SampledFrom([]string{"put", "put", "put", "put", "add", "add", "remove", "restart", "fail"}).Draw(r, "action") {
			case "put":
				at += engram.Time(rapid.IntRange(0, 1).Draw(r, "later"))
				text := fmt.Sprint(step)
				if l.put(t, c+"/p/e", at, text) == nil {
					model[c] = append(model[c], text)
				}
			case "add":
				_ = l.AddCoreSegment(context.Background(), engram.CoreSegment{ID: engram.MustID(c), Durability: durability})
			case "remove":
				if l.RemoveSegment(context.Background(), engram.MustID(c)) == nil {
					delete(model, c)
				}
			case "fail":
				fs.Inject(vfs.Fault{
					Op: rapid.SampledFrom([]vfs.Op{vfs.OpWrite, vfs.OpSync, vfs.OpCreate}).Draw(r, "op"), Times: 1,
					Skip: rapid.IntRange(0, 3).Draw(r, "skip"),
				})
			case "restart":
				fs.Heal()
				l.end(t)
				l = start(t, fs, dir)
			}
			check()
		}
		fs.Heal()
		l.end(t)
		l = start(t, vfs.OS, dir)
		check()
		l.end(t)
	})
}
