package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/tempdir"
)

// What stands in the place of the server's folder is named at once.
func TestFolderIsSomethingElse(t *testing.T) {
	for _, name := range []string{".", "nats", "nats/jetstream"} {
		dir := filepath.Join(t.TempDir(), "backbone")
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Start(t.Context(), Options{Dir: dir})
		if engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), file) {
			t.Errorf("a file in the place of %s: %v", name, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// A server that was killed leaves its temporary folder to the next one, which removes it.
func TestTemporaryFolderOfTheDead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dead, err := tempdir.Make("engram-backbone-")
	if err != nil {
		t.Fatal(err)
	}
	gone := dead.Path
	if err := os.Rename(gone, gone+"x"); err != nil { // closed, it would remove it itself
		t.Fatal(err)
	}
	if err := dead.Remove(); err != nil {
		t.Fatal(err)
	}
	first, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	folders := func() (n int) {
		found, _ := filepath.Glob(filepath.Join(os.TempDir(), "engram-backbone-*"))
		return len(found)
	}
	if n := folders(); n != 2 {
		t.Errorf("there are folders of %d servers, and 2 live", n)
	}
	if err := second.Close(); err != nil || folders() != 1 {
		t.Errorf("%v, and there are folders of %d servers; one lives", err, folders())
	}
}
