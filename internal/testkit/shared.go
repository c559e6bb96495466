package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// Shared returns a path in the folder of recordings, robot descriptions and reference
// answers beside the project, and skips the test where that is not.
func Shared(t testing.TB, elem ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("the test does not run in the project's folder")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(append([]string{filepath.Dir(dir), "shared", "data"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the shared data are not here: %v", err)
	}
	return path
}

// Recording returns the path of a shared recording. Those that are too large for the race
// detector are read without it.
func Recording(t testing.TB, name string) string {
	t.Helper()
	if Raced && (name == "guardian_palette.bag" || name == "husky_outdoor.bag") {
		t.Skip("this recording is too large for the race detector; it is read without it")
	}
	return Shared(t, "recordings", filepath.FromSlash(name))
}
