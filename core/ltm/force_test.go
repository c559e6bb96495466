package ltm_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// toldDisk is a disk that tells of what is written to episodes, before it is.
type toldDisk struct {
	vfs.FS
	tell atomic.Pointer[func(bytes int)]
}

func (d *toldDisk) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := d.FS.OpenFile(name, flag, perm)
	if err != nil || !strings.Contains(filepath.ToSlash(name), "/episodes/") {
		return f, err
	}
	return toldFile{f, d}, nil
}

type toldFile struct {
	vfs.File
	disk *toldDisk
}

func (f toldFile) Write(b []byte) (int, error) {
	if tell := f.disk.tell.Load(); tell != nil {
		(*tell)(len(b))
	}
	return f.File.Write(b)
}

// Who waits for the recorder sees it come on while it begins an episode with the values in
// force, however many these are.
func TestValuesInForceAreProgress(t *testing.T) {
	var now atomic.Int64
	now.Store(1e18)
	disk := &toldDisk{FS: vfs.OS}
	l := begin(t, ltm.Options{Dir: fastDir(t), FS: disk, Now: func() engram.Time { return engram.Time(now.Load()) }})
	noise := rand.NewChaCha8([32]byte{})
	for i := range 100 {
		b := make([]byte, 100_000)
		noise.Read(b)
		l.commit(t, fmt.Sprintf("Test/Volatile/p/quiet-%d", i), 1, b)
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	now.Add(int64(time.Minute)) // they are in force
	before := l.Figures().Recorded
	progress, written, looked := l.Progress(), 0, false
	tell := func(bytes int) {
		if written += bytes; written < 5e6 || looked {
			return
		}
		looked = true
		if now := l.Figures().Recorded; now != before {
			t.Errorf("%d updates are recorded, before %d; the values in force come first", now, before)
		}
		select {
		case <-progress:
		default:
			t.Error("half of the values in force are written, and the recorder seems to stand still")
		}
	}
	disk.tell.Store(&tell)
	l.commit(t, "Test/Volatile/p/busy", 1, "x")
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if !looked {
		t.Errorf("the second episode has %d bytes; it begins with the values in force", written)
	}
}
