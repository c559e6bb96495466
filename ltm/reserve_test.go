//go:build linux

package ltm_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm"
)

// On a disk without a free byte an episode can be dropped, and then all goes on.
func TestDropEpisodeOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("engram-test", disk, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	l := begin(t, ltm.Options{Dir: filepath.Join(disk, "data")})
	for i := range 2 {
		for _, entity := range durabilities {
			l.commit(t, entity, engram.Time(i), strings.Repeat("much ", 1000))
		}
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	episodes, err := l.Episodes(t.Context(), engram.Always())
	if err != nil || len(episodes) < 2 {
		t.Fatalf("%d episodes, %v", len(episodes), err)
	}

	filler, err := os.Create(filepath.Join(disk, "others"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1 << 20; n > 0; {
		if _, err := filler.Write(make([]byte, n)); errors.Is(err, unix.ENOSPC) {
			n /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := filler.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(disk, "more"), []byte("x"), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is to be full: %v", err)
	}
	if err := l.DropEpisode(t.Context(), episodes[0].Name, "the disk is full", "test"); err != nil {
		t.Errorf("on a full disk: %v", err)
	}
	left, err := l.Episodes(t.Context(), engram.Always())
	if err != nil || len(left) != len(episodes)-1 {
		t.Errorf("%d of %d episodes are left, %v", len(left), len(episodes), err)
	}
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	l.commit(t, durabilities[0], 10, "it goes on")
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Errorf("after there is room again: %v", err)
	}
	if err := l.DropEpisode(t.Context(), left[0].Name, "to look at what is reserved", "test"); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(disk, "data", "reserve")); err != nil || info.Size() == 0 {
		t.Errorf("nothing is reserved again: %v", err)
	}
}
