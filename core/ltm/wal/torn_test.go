package wal

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// A power cut may leave any sectors of what was written and not synced. What is missing of
// them is torn, in that epoch, and not told again in later ones; whole records behind it
// stay.
func TestTornInTheMiddle(t *testing.T) {
	holes := 0
	for seed := range uint64(40) {
		chance := rand.New(rand.NewPCG(seed, 5))
		base := t.TempDir()
		root := filepath.Join(base, "root")
		os.Mkdir(root, 0o700)
		fs := vfs.NewFaulty(Unsynced, root)
		l, _, err := Open(Options{FS: fs, Dir: filepath.Join(root, "log"), Memory: "Test", SyncEvery: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		const synced, all = 5, 40
		for i := range all {
			if err := begin(t, l, i, chance.IntN(600)).Append(engram.Time(1000+i), false); err != nil {
				t.Fatal(err)
			}
			if i == synced-1 {
				if err := l.Sync(t.Context(), l.End()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for written := false; !written; {
			l.mu.Lock()
			written = l.mu.files[len(l.mu.files)-1].end == l.mu.end.offset()
			l.mu.Unlock()
		}
		image := filepath.Join(base, "image")
		if err := errors.Join(fs.CrashImage(image, chance), l.Close()); err != nil {
			t.Fatal(err)
		}
		var before []int
		for life := range 3 {
			back, losses, err := Open(Options{FS: Unsynced, Dir: filepath.Join(image, "log"), Memory: "Test"})
			if err != nil {
				t.Fatal(err)
			}
			got, more := replay(t, back, 0)
			if err := back.Close(); err != nil {
				t.Fatal(err)
			}
			for _, loss := range append(losses, more...) {
				if !loss.Torn || life > 0 {
					t.Errorf("seed %d, life %d: what was not on the disk is told: %+v", seed, life, loss)
				}
			}
			if len(got) < synced || got[synced-1] != synced-1 || life > 0 && !slices.Equal(got, before) {
				t.Errorf("seed %d, life %d: there are %v, before %v", seed, life, got, before)
			}
			if before = got; life == 0 && got[len(got)-1] != len(got)-1 {
				holes++
			}
		}
	}
	if holes == 0 {
		t.Error("in no crash whole records lay behind a hole")
	}
}
