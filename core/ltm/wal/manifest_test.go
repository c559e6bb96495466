package wal_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// A kill at any step of letting go of files of the log, and damage to its watermark, are
// no loss: the manifest, too, says that these files need not be there.
func TestKillWhileFilesAreLetGo(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	looking, steps := false, 0
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		if !looking {
			return
		}
		steps++
		image := t.TempDir()
		for os.CopyFS(image, os.DirFS(dir)) != nil { // the manifest's writer may have renamed a file
			image = t.TempDir()
		}
		if err := os.Truncate(filepath.Join(image, "log", "Test", "watermark"), 5); err != nil {
			t.Error(err)
		}
		gone, err := wal.Check(wal.JournalOptions{Dir: filepath.Join(image, "log"), Manifest: filepath.Join(image, "manifest.json")})
		if err != nil || len(gone) > 0 {
			t.Errorf("before step %d: %+v, %v", steps, gone, err)
		}
	}
	open := func() *life {
		types := idf.NewRegistry()
		j, err := wal.OpenJournal(wal.JournalOptions{
			FS: vfs.Before(wal.Unsynced, look), Dir: filepath.Join(dir, "log"), Manifest: filepath.Join(dir, "manifest.json"), Types: types,
		})
		if err != nil {
			t.Fatal(err)
		}
		l := &life{wm.New(wm.Config{Types: types, Journal: j}), j, nil}
		if err := l.AddMemory("Test", engram.Bounds{}); err != nil {
			t.Fatal(err)
		}
		l.addCore(t, "Test/S", engram.Synced)
		if l.had, err = j.Restore(t.Context(), l.WM); err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	if err := l.put(t, "Test/S/p/e", 1, "1"); err != nil {
		t.Fatal(err)
	}
	l.end(t) // so that the manifest has the file
	l = open()
	defer l.end(t)
	if err := l.put(t, "Test/S/p/e", 2, "2"); err != nil {
		t.Fatal(err)
	}
	log := l.journal.Log("Test")
	end := log.Rotate()
	if err := log.Sync(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	looking = true
	mu.Unlock()
	if err := log.Truncate(end); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	looking = false
	mu.Unlock()
	if steps < 4 {
		t.Errorf("there were only %d steps", steps)
	}
}
