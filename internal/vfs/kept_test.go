package vfs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-301d4374/engram/internal/vfs"
)

// Whatever was put aside before, what cannot be used makes room for a file, and no folder
// with something in it is lost.
func TestPutAside(t *testing.T) {
	kinds := map[string]func(path string) error{
		"file":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"full":   func(path string) error { return os.MkdirAll(filepath.Join(path, "mine"), 0o700) },
		"link":   func(path string) error { return os.Symlink("nowhere", path) },
	}
	path := filepath.Join(t.TempDir(), "state.json")
	full := 0
	for before, makeBefore := range kinds {
		for now, makeNow := range kinds {
			for what, make := range map[string]func(string) error{before: makeBefore, now: makeNow} {
				if err := make(path); err != nil {
					t.Fatal(err)
				}
				to, err := vfs.PutAside(vfs.OS, path)
				if err != nil {
					t.Fatalf("a %s: %v", what, err)
				}
				if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
					t.Fatalf("a %s is still there: %v", what, err)
				}
				if what == "full" {
					full++
					if _, err := os.Stat(filepath.Join(to, "mine")); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
	if kept, err := filepath.Glob(fmt.Sprint(path, vfs.DamagedSuffix, "*/mine")); err != nil || len(kept) != full {
		t.Errorf("of %d folders with something in them %d are there, %v", full, len(kept), err)
	}
	if _, err := vfs.PutAside(vfs.OS, path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("where nothing is: %v", err)
	}
}

// A pipe in the place of a kept file is damage like any other: nobody waits for who writes.
func TestPipesAreNoFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	for _, name := range []string{path, path + vfs.CopySuffix} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trouble, err := vfs.ReadKept(vfs.OS, path, 1<<20, func([]byte) error { t.Error("something was read"); return nil }, func(error) bool { return false })
	if trouble == nil || err != nil {
		t.Errorf("two pipes: %v, %v; want that they are put aside", trouble, err)
	}
	if err := vfs.WriteKept(vfs.OS, path, []byte("{}"), vfs.ReplaceFile); err != nil {
		t.Error(err)
	}
}
