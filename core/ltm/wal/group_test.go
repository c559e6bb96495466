package wal

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// slowLog is a log on a disk that takes 5 ms to sync.
func slowLog(t *testing.T, dir string) (*Log, *gatedFS) {
	fs := &gatedFS{FS: vfs.OS, takes: 5 * time.Millisecond}
	l, _ := open(t, Options{FS: fs, Dir: filepath.Join(dir, "log")})
	fs.syncs = 0
	return l, fs
}

// commitSynced returns how long a record took until it was on the disk.
func commitSynced(t *testing.T, l *Log, i int) time.Duration {
	t.Helper()
	began := time.Now()
	e := begin(t, l, i, 100)
	if err := e.Append(engram.Time(1000+i), true); err != nil {
		t.Error(err)
		return 0
	}
	if err := e.Wait(); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

// Writers that each wait for the disk before they write again come to share every sync,
// also when they need unequal times between and when one of them leaves.
func TestWritersShareSyncs(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, fs := slowLog(t, dir)
		const writers, rounds = 8, 100
		var done sync.WaitGroup
		for w := range writers {
			chance := rand.New(rand.NewPCG(1, uint64(w)))
			done.Go(func() {
				for i := range rounds / (1 + w%2) { // half of them leave in between
					time.Sleep(time.Duration(chance.Int64N(int64(time.Millisecond))))
					commitSynced(t, l, w*rounds+i)
				}
			})
			time.Sleep(time.Millisecond)
		}
		done.Wait()
		if fs.syncs > rounds*5/4 {
			t.Errorf("%d syncs for %d rounds of those who wait for each other", fs.syncs, rounds)
		}
	})
}

// Records that come when they come wait for the sync that runs and for their own, and
// seldom for others.
func TestSeldomWaitedInVain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, fs := slowLog(t, dir)
		records := testkit.Repeats(2000, 5000)
		chance := rand.New(rand.NewPCG(1, 2))
		var late, longest atomic.Int64
		var done sync.WaitGroup
		for i := range records {
			time.Sleep(time.Duration(chance.ExpFloat64() * float64(20*time.Millisecond)))
			done.Go(func() {
				took := commitSynced(t, l, i)
				if took > 2*fs.takes {
					late.Add(1)
				}
				for old := longest.Load(); int64(took) > old && !longest.CompareAndSwap(old, int64(took)); old = longest.Load() {
				}
			})
		}
		done.Wait()
		if n := late.Load(); n > int64(records)/50 {
			t.Errorf("%d of %d waited for more than two syncs", n, records)
		}
		if d := time.Duration(longest.Load()); d > 2*fs.takes+maxGather {
			t.Errorf("one waited for %v", d)
		}
	})
}
