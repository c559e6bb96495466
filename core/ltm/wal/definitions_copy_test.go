package wal_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/wal"
)

// What is defined is there whatever happens to its log or to the copy of that, and both
// are whole at the next start.
func TestDefinitionsHaveACopy(t *testing.T) {
	folders := []string{"=definitions", "=definitions.copy"}
	each := func(t *testing.T, dir, folder string, do func(name string) error) {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(dir, "log", folder, "*.log"))
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			if err := do(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, harm := range map[string]func(name string) error{
		"removed": os.Remove,
		"emptied": func(name string) error { return os.Truncate(name, 0) },
		"cut":     func(name string) error { return os.Truncate(name, 8192) },
		"with a flipped bit": func(name string) error {
			b, err := os.ReadFile(name)
			if err != nil || len(b) <= 8200 {
				return err
			}
			b[8200] ^= 4
			return os.WriteFile(name, b, 0o600)
		},
	} {
		for i, folder := range folders {
			t.Run(folder+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				l := start(t, wal.Unsynced, dir)
				l.addCore(t, "Test/Stays", engram.Logged)
				l.addCore(t, "Test/Goes", engram.Logged)
				if err := l.put(t, "Test/Stays/p/e", 1, "1"); err != nil {
					t.Fatal(err)
				}
				if err := l.RemoveSegment(t.Context(), engram.MustID("Test/Goes")); err != nil {
					t.Fatal(err)
				}
				want := l.content(t)
				l.end(t)
				each(t, dir, folder, harm)
				for _, next := range []string{"the harm", "the other one is removed, too"} {
					l = start(t, wal.Unsynced, dir)
					if got := l.content(t); !slices.Equal(got, want) {
						t.Errorf("after %s the memory holds %v; want %v", next, got, want)
					}
					l.end(t)
					each(t, dir, folders[1-i], os.Remove)
				}
			})
		}
	}
}
