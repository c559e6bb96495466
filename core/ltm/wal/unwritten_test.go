package wal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// When a write is refused, what was written before stays in the file, whoever is killed
// then, also of the write that was refused in the middle; what is in RAM alone is told, and no
// more when it is on the disk.
func TestWhatWasWrittenStaysInTheFile(t *testing.T) {
	for name, c := range map[string]struct {
		short int         // bytes of the write that is refused which reach the file
		first engram.Time // in RAM alone
	}{"whole": {0, 5}, "in the middle": {700, 6}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			disk := vfs.NewFaulty(vfs.OS, dir)
			told := make(chan Unwritten, 10)
			gated := &gatedFS{FS: disk}
			l, _ := open(t, Options{FS: gated, Dir: filepath.Join(dir, "log"), SyncEvery: time.Hour, Unwritten: func(u Unwritten) { told <- u }})
			for i := range 4 {
				add(t, l, i, 300)
			}
			settle(t, l)
			// While a sync lasts others append; they are written together.
			gated.gate.Lock()
			add(t, l, 4, 300)
			var syncing sync.WaitGroup
			syncing.Go(func() { _ = l.Sync(context.Background(), l.End()) })
			for gated.waiting.Load() == 0 {
				runtime.Gosched()
			}
			disk.Inject(vfs.Fault{Op: vfs.OpWrite, Err: vfs.ErrFull, Short: c.short}, vfs.Fault{Op: vfs.OpCreate, Err: vfs.ErrFull})
			for i := 5; i < 8; i++ {
				add(t, l, i, 300)
			}
			gated.gate.Unlock()
			syncing.Wait()
			u := <-told
			for _, of := range u {
				if of.First != c.first || of.Last != 7 || of.Snapshots != uint64(of.Last-of.First+1) || of.Arrived != 1000+of.First {
					t.Errorf("in RAM alone is %+v", of)
				}
			}
			if len(u) != 1 {
				t.Errorf("in RAM alone is %+v", u)
			}
			disk.Heal()
			if u := <-told; len(u) > 0 {
				t.Errorf("on the disk, and told to be in RAM alone: %v", u)
			}
			settle(t, l)
			got, losses := replay(t, l, l.Start())
			want(t, got, 0, 7)
			if len(losses) > 0 {
				t.Errorf("read back %v, lost %+v", got, losses)
			}
		})
	}
}

// What is to be synced and is refused is not in the file while the log is told what else is in
// it, though the disk had it: whoever is killed then finds only what was acknowledged.
func TestRefusedIsCutOffBeforeTheSync(t *testing.T) {
	dir := t.TempDir()
	disk := vfs.NewFaulty(vfs.OS, dir)
	gated := &gatedFS{FS: disk}
	l, _ := open(t, Options{FS: gated, Dir: filepath.Join(dir, "log"), SyncEvery: time.Hour})
	add(t, l, 0, 300)
	settle(t, l)
	gated.gate.Lock()
	add(t, l, 1, 300)
	var syncing sync.WaitGroup
	syncing.Go(func() { _ = l.Sync(context.Background(), l.End()) })
	for gated.waiting.Load() == 0 {
		runtime.Gosched()
	}
	disk.Inject(vfs.Fault{Op: vfs.OpWrite, Err: vfs.ErrFull, Short: 1000}, vfs.Fault{Op: vfs.OpCreate, Err: vfs.ErrFull})
	add(t, l, 2, 300)
	refused := begin(t, l, 3, 300)
	if err := refused.Append(1003, true); err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(t.TempDir(), "log")
	gated.syncing = func() { // the last time is that of the failure
		if err := errors.Join(os.RemoveAll(killed), os.CopyFS(killed, os.DirFS(filepath.Join(dir, "log")))); err != nil {
			t.Error(err)
		}
	}
	gated.gate.Unlock()
	if err := refused.Wait(); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("the synced one: %v", err)
	}
	syncing.Wait()
	disk.Heal()
	k, _ := open(t, Options{Dir: killed})
	got, _ := replay(t, k, k.Start())
	want(t, got, 0, 2)
}
