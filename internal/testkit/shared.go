package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// Shared returns a path in the folder of recordings, robot descriptions and reference
// answers beside the project, shared/data. Where that is not, the test is skipped; with
// CI=true it fails.
func Shared(t testing.TB, elem ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{filepath.Dir(Root(t)), "shared", "data"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the shared data are not here, which CI must have: %v", err)
		}
		t.Skipf("the shared data are not here: %v", err)
	}
	return path
}

// Root returns the folder of the repository.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		// Modules may lie below it, such as that of the benchmarks.
		if _, err := os.Stat(filepath.Join(dir, "house_test.go")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("the test does not run in the project's folder")
		}
		dir = filepath.Dir(dir)
	}
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
