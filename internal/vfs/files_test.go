package vfs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram/internal/vfs"
)

// What is written is for this user alone, also where an earlier release was cut short
// while it wrote a file that others may read.
func TestReplacedFilesArePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	for _, left := range []string{path, path + ".new"} {
		if err := os.WriteFile(left, []byte("what an earlier release has left"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(left, 0o644); err != nil { // whatever the umask is
			t.Fatal(err)
		}
	}
	if err := vfs.ReplaceFile(vfs.OS, path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	text, err := vfs.ReadFile(vfs.OS, path, 100)
	if err != nil || string(text) != "new" {
		t.Errorf("it holds %q, %v", text, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}
