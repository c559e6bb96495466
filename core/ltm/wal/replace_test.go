package wal_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// manyDefinitions makes a folder whose definitions are compacted at the next start. Of
// Returned, which was removed and added again, the log still has what was removed.
func manyDefinitions(t *testing.T) (dir string, content, cores []string) {
	t.Helper()
	dir = t.TempDir()
	l := start(t, wal.Unsynced, dir)
	change := func(id string) {
		l.addCore(t, id, engram.Synced)
		if err := l.put(t, id+"/p/e", 1, "removed"); err != nil {
			t.Fatal(err)
		}
		if err := l.RemoveSegment(t.Context(), engram.MustID(id)); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		change("Test/Gone")
	}
	for i := range 40 { // more than a sector of the disk holds
		l.addCore(t, fmt.Sprint("Test/Other", i), engram.Logged)
		cores = append(cores, fmt.Sprint("Other", i))
	}
	cores = append(cores, "Returned")
	slices.Sort(cores)
	change("Test/Returned")
	l.addCore(t, "Test/Returned", engram.Synced)
	if err := l.put(t, "Test/Returned/p/e", 2, "stays"); err != nil {
		t.Fatal(err)
	}
	content = l.content(t)
	l.end(t)
	return dir, content, cores
}

// wantLife starts with what a folder has, and ends.
func wantLife(t *testing.T, what, dir string, content, cores []string) {
	t.Helper()
	l := start(t, wal.Unsynced, dir)
	defer l.end(t)
	if got := l.content(t); !slices.Equal(got, content) || len(l.had.Refused) > 0 || len(l.had.Losses) > 0 {
		t.Errorf("%s: the memory holds %v; want %v; refused %v, lost %v", what, got, content, l.had.Refused, l.had.Losses)
	}
	described, err := l.Describe(t.Context(), engram.MustPattern("Test"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range described {
		if d.ID.Level() == engram.LevelCoreSegment && d.ID.CoreSegment() != "End" {
			got = append(got, d.ID.CoreSegment())
		}
	}
	if !slices.Equal(got, cores) {
		t.Errorf("%s: there are the segments %q, want %q", what, got, cores)
	}
}

// copyOf copies a folder into a new one that lies in another.
func copyOf(t *testing.T, dir string) (root, copied string) {
	t.Helper()
	root = t.TempDir()
	copied = filepath.Join(root, "data")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return root, copied
}

// A power cut at any step of a start that compacts the definitions leaves all of them,
// and brings back nothing that was removed.
func TestPowerCutWhileDefinitionsAreCompacted(t *testing.T) {
	dir, content, cores := manyDefinitions(t)
	images := testkit.Repeats(2, 4) // of each step, as chance decides what survives
	run := func(at int, cut func(*vfs.Faulty)) (count int) {
		root, data := copyOf(t, dir)
		faulty := vfs.NewFaulty(wal.Unsynced, root)
		var mu sync.Mutex
		l := start(t, vfs.Before(faulty, func() {
			mu.Lock()
			defer mu.Unlock()
			if count == at {
				cut(faulty)
			}
			count++
		}), data)
		size := l.journal.DefinitionsSize()
		l.end(t)
		if size > 16<<10 {
			t.Errorf("the definitions take %d bytes; the test is to compact them", size)
		}
		return count
	}
	chance := rand.New(rand.NewPCG(1, 9))
	for at := range run(-1, nil) {
		if at%testkit.Repeats(3, 1) != 0 {
			continue
		}
		base := t.TempDir()
		run(at, func(f *vfs.Faulty) {
			for i := range images {
				if err := f.CrashImage(filepath.Join(base, string(rune('a'+i))), chance); err != nil {
					t.Error(err)
				}
			}
		})
		left, err := os.ReadDir(base)
		if err != nil {
			t.Fatal(err)
		}
		for _, image := range left {
			wantLife(t, fmt.Sprint("a cut at step ", at), filepath.Join(base, image.Name(), "data"), content, cores)
		}
	}
}

// Where the definitions cannot be compacted they stay what they are, more can be added,
// and nothing is left beside them.
func TestDefinitionsThatCannotBeCompacted(t *testing.T) {
	dir, content, cores := manyDefinitions(t)
	more := slices.Sorted(slices.Values(append(cores, "New")))
	for name, faults := range map[string][]vfs.Fault{
		"no room":     {{Op: vfs.OpCreate, Name: ".new", Err: vfs.ErrFull}},
		"write":       {{Op: vfs.OpWrite, Name: ".new"}},
		"short write": {{Op: vfs.OpWrite, Name: ".new", Err: vfs.ErrFull, Short: 10_000}},
		"sync":        {{Op: vfs.OpSync, Name: ".new"}},
		"rename":      {{Op: vfs.OpRename}},
		// The log itself makes the folder durable twice when it is opened.
		"folder": {{Op: vfs.OpSyncDir, Name: "=definitions", Skip: 1, Times: 1}},
		"reopen": {{Op: vfs.OpOpen, Name: "00000003.log", Times: 1}},
		"remove": {{Op: vfs.OpRemove}},
	} {
		t.Run(name, func(t *testing.T) {
			root, data := copyOf(t, dir)
			faulty := vfs.NewFaulty(wal.Unsynced, root)
			faulty.Inject(faults...)
			l := start(t, faulty, data)
			for l.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/New")}) != nil { // until it has healed
			}
			image := filepath.Join(t.TempDir(), "image")
			if err := faulty.CrashImage(image, rand.New(rand.NewPCG(2, 3))); err != nil {
				t.Fatal(err)
			}
			l.end(t)
			wantLife(t, "after a loss of power", filepath.Join(image, "data"), content, more)
			wantLife(t, "after the end", data, content, more)
			left, err := os.ReadDir(filepath.Join(data, "log", "=definitions"))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range left {
				if strings.HasSuffix(e.Name(), ".new") {
					t.Errorf("%s is left", e.Name())
				}
			}
		})
	}
}
