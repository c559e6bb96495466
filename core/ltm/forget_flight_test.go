package ltm_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// slowLog is a disk that, once closed is true, syncs the log when open is closed.
type slowLog struct {
	vfs.FS
	closed atomic.Bool
	waits  chan struct{} // is told when a sync waits
	open   chan struct{}
}

func (s *slowLog) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := s.FS.OpenFile(name, flag, perm)
	if err != nil || !strings.Contains(filepath.ToSlash(name), "/log/") {
		return f, err
	}
	return slowFile{f, s}, nil
}

type slowFile struct {
	vfs.File
	disk *slowLog
}

func (f slowFile) Sync() error {
	if f.disk.closed.Load() {
		select {
		case f.disk.waits <- struct{}{}:
		default:
		}
		<-f.disk.open
	}
	return f.File.Sync()
}

// What is on its way to the disk when it is asked to be forgotten is forgotten as well:
// holders of copies, who are told of it by the time of its arrival, forget it, too.
func TestForgetWhatIsInFlight(t *testing.T) {
	dir := fastDir(t)
	disk := &slowLog{FS: vfs.OS, waits: make(chan struct{}, 1), open: make(chan struct{})}
	l := begin(t, ltm.Options{Dir: dir, FS: disk})
	const cup = "Test/Synced/p/cup"
	l.commit(t, cup, 1, marker(cup, 1, 0))
	disk.closed.Store(true)
	var both sync.WaitGroup
	both.Go(func() { l.commit(t, cup, 2, marker(cup, 2, 0)) })
	<-disk.waits
	both.Go(func() { forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Synced"), Why: "a test"}) })
	for l.wm.Removals().Last() == 0 { // it was asked for, and is about what waits
		time.Sleep(time.Millisecond)
	}
	close(disk.open)
	both.Wait()
	l.commit(t, cup, 3, marker(cup, 3, 0))
	l.wantGone(t, dir, cup, 1)
	l.wantGone(t, dir, cup, 2)
	if got, _ := l.times(t, cup, engram.TargetBoth, engram.All()); !slices.Equal(got, []engram.Time{3}) {
		t.Errorf("times %d", got)
	}
}
