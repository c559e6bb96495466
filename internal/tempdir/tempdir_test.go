package tempdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Folders of the living stay, those of the dead go when the next is made, and nothing else
// does.
func TestFoldersOfTheDead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const kind = "engram-test-"
	living := make1(t, kind)
	dead := make1(t, kind)
	dead.lock.Close() // as its process ends
	other := make1(t, "engram-other-")
	other.lock.Close()
	old := filepath.Join(os.TempDir(), kind+"old") // of a release that locked none
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere := make1(t, "elsewhere")
	elsewhere.lock.Close()
	if err := os.Symlink(elsewhere.Path, filepath.Join(os.TempDir(), kind+"link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(os.TempDir(), kind+"file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	// One that died before its folder had its name, and one that is about to give it.
	unnamed, begun := filepath.Join(os.TempDir(), "."+kind+"dead"), filepath.Join(os.TempDir(), "."+kind+"begun")
	for _, dir := range []string{unnamed, begun} {
		if err := os.MkdirAll(filepath.Join(dir, "content"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if before := time.Now().Add(-2 * begunWithin); os.Chtimes(unnamed, before, before) != nil {
		t.Fatal("the time of a folder cannot be set")
	}

	next := make1(t, kind)
	for path, stays := range map[string]bool{living.Path: true, dead.Path: false, other.Path: true, old: true, elsewhere.Path: true, next.Path: true, unnamed: false, begun: true} {
		if _, err := os.Stat(filepath.Join(path, "content")); path != old && (err == nil) != stays {
			t.Errorf("%s: %v; is it to stay: %v", path, err, stays)
		} else if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v; is it to stay: %v", path, err, stays)
		}
	}
	if err := next.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(next.Path); !os.IsNotExist(err) {
		t.Errorf("it was removed, and there is %v", err)
	}
	living.Remove()
}

func make1(t *testing.T, kind string) *Dir {
	t.Helper()
	d, err := Make(kind)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Path, "content"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}
