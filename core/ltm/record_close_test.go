package ltm_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// commitMany commits an update for each of n entities of a provider segment.
func (l *life) commitMany(t testing.TB, provider string, n int) {
	t.Helper()
	p, err := idf.ValuePayload(1)
	if err != nil {
		t.Fatal(err)
	}
	var c engram.Commit
	for i := range n {
		c.Updates = append(c.Updates, engram.EntityUpdate{Entity: engram.MustID(fmt.Sprintf("%s/e%d", provider, i)), Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(p)}})
	}
	results, err := l.wm.Commit(t.Context(), c)
	if err := errors.Join(err, engram.FirstError(results)); err != nil {
		t.Fatal(err)
	}
}

// recorded counts the snapshots of a provider segment on disk, and those that answers say
// are missing.
func (l *life) recorded(t testing.TB, provider string) (n int, missing []engram.Missing) {
	t.Helper()
	q := engram.MustPattern(provider).Select(engram.All())
	q.Target = engram.TargetLTM
	r, err := l.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Items()), r.Missing
}

// caughtUp waits until the recorder has seen all that was committed.
func (l *life) caughtUp(t testing.TB) {
	t.Helper()
	for deadline := time.After(testkit.Patience); l.Figures().Behind > 0; {
		progress := l.Progress()
		if l.Figures().Behind == 0 {
			return
		}
		select {
		case <-progress:
		case <-deadline:
			t.Fatalf("the recorder does not come on: %+v", l.Figures())
		}
	}
}

// What the working memory still holds is recorded however far the recorder has fallen
// behind: while it runs, after a disk that was full, and at a clean end, at which the
// working memory is closed first.
func TestWhatTheWorkingMemoryHoldsIsRecorded(t *testing.T) {
	const n = 1000
	providers := []string{"Test/Volatile/p", "Test/Logged/p"}
	for _, c := range []struct {
		name   string
		hinder func(l *life, disk *vfs.Faulty) (release func())
		early  bool // it is let go before the end
	}{
		{"at the end", func(l *life, _ *vfs.Faulty) func() { return l.HoldRecorder() }, false},
		{"while it runs", func(l *life, _ *vfs.Faulty) func() { return l.HoldRecorder() }, true},
		{"a full disk", func(_ *life, disk *vfs.Faulty) func() {
			disk.Inject(vfs.Fault{Op: vfs.OpWrite, Name: "episodes", Err: vfs.ErrFull}, vfs.Fault{Op: vfs.OpCreate, Name: "episodes", Err: vfs.ErrFull})
			return disk.Heal
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fastDir(t)
			disk := vfs.NewFaulty(vfs.OS, root)
			o := ltm.Options{Dir: filepath.Join(root, "data"), FS: disk}
			l := beginWithin(t, o, wm.Limits{MaxQueue: 4})
			release := c.hinder(l, disk)
			for _, p := range providers {
				l.commitMany(t, p, n)
			}
			if c.early {
				release()
				l.caughtUp(t)
				for _, p := range providers {
					if got, missing := l.recorded(t, p); got != n || len(missing) > 0 {
						t.Errorf("of %d of %s %d are on disk, missing %+v", n, p, got, missing)
					}
				}
			}
			if err := l.wm.Close(); err != nil {
				t.Fatal(err)
			}
			if !c.early {
				release()
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if lost := l.Figures().Lost; lost > 0 {
				t.Errorf("%d are counted as lost", lost)
			}
			l = begin(t, ltm.Options{Dir: o.Dir})
			for _, p := range providers {
				if got, missing := l.recorded(t, p); got != n || len(missing) > 0 {
					t.Errorf("in the next epoch of %d of %s %d are on disk, missing %+v", n, p, got, missing)
				}
			}
			if l.begun.Rerecord > 0 {
				t.Errorf("the next epoch found %d in the log that no episode held", l.begun.Rerecord)
			}
		})
	}
}

// A store that is closed before its recorder is done names what is left, by memory; what
// was logged of it the next epoch records.
func TestLeftAtTheEnd(t *testing.T) {
	const n = 500
	dir := fastDir(t)
	l := beginWithin(t, ltm.Options{Dir: dir, CloseWithin: 1}, wm.Limits{MaxQueue: 4})
	l.leaves = true
	release := l.HoldRecorder()
	l.commitMany(t, "Test/Volatile/p", n)
	l.commitMany(t, "Test/Logged/p", n)
	if err := l.wm.Close(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	<-l.Stopped()
	release()
	err := <-closed
	want := fmt.Sprintf("%d updates of Test (%d are in the log", 2*n, n)
	if !errors.Is(err, ltm.ErrLeft) || !strings.Contains(err.Error(), want) {
		t.Errorf("closing says %v; want %q", err, want)
	}
	if lost := l.Figures().Lost; lost != n {
		t.Errorf("%d are counted as lost, want %d", lost, n)
	}
	l = begin(t, ltm.Options{Dir: dir})
	if got, missing := l.recorded(t, "Test/Logged/p"); got != n || len(missing) > 0 {
		t.Errorf("in the next epoch of %d that were logged %d are on disk, missing %+v", n, got, missing)
	}
}

// What was recorded, and the disk has refused until the end, is named like what was not:
// it is in no file.
func TestLeftUnsealed(t *testing.T) {
	const n = 50
	root := fastDir(t)
	disk := vfs.NewFaulty(vfs.OS, root)
	o := ltm.Options{Dir: filepath.Join(root, "data"), FS: disk, CloseWithin: 1}
	l := begin(t, o)
	l.leaves = true
	l.commitMany(t, "Test/Volatile/p", n)
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	l.commit(t, "Test/Volatile/q/first", 0, 1) // it begins the next episode
	l.caughtUp(t)
	disk.Inject(vfs.Fault{Op: vfs.OpWrite, Name: "episodes", Err: vfs.ErrFull})
	l.commitMany(t, "Test/Volatile/q", n)
	l.commitMany(t, "Test/Logged/q", n)
	l.caughtUp(t)
	if err := l.wm.Close(); err != nil {
		t.Fatal(err)
	}
	err := l.Close()
	want := fmt.Sprintf("%d updates of Test (%d are in the log", 2*n+1, n)
	if !errors.Is(err, ltm.ErrLeft) || !strings.Contains(err.Error(), want) {
		t.Errorf("closing says %v; want %q", err, want)
	}
	if f := l.Figures(); f.Lost != n+1 || !f.Stalled {
		t.Errorf("the figures are %+v; want %d lost, and a disk that is waited for", f, n+1)
	}
	disk.Heal()
	l = begin(t, ltm.Options{Dir: o.Dir})
	for p, want := range map[string]int{"Test/Volatile/p": n, "Test/Volatile/q": 0, "Test/Logged/q": n} {
		if got, _ := l.recorded(t, p); got != want {
			t.Errorf("in the next epoch %d of %s are on disk; want %d", got, p, want)
		}
	}
}

// What was acknowledged as logged, and the disk refuses, is written when it works again
// while the end waits, and named as lost if it does not; if an episode holds it nobody waits.
func TestLoggedThatTheDiskRefusesAtTheEnd(t *testing.T) {
	const n = 7
	full := []vfs.Fault{{Op: vfs.OpWrite, Err: vfs.ErrFull}, {Op: vfs.OpCreate, Err: vfs.ErrFull}}
	for _, c := range []struct {
		name   string
		within time.Duration
		faults []vfs.Fault
		heal   bool // while the end waits
		lost   bool
		told   bool // in the next epoch, which takes that account.json can be written
	}{
		{"until the end", 50 * time.Millisecond, full, false, true, false},
		{"until the end, but for small files", 50 * time.Millisecond, []vfs.Fault{
			{Op: vfs.OpWrite, Name: "log", Err: vfs.ErrFull}, {Op: vfs.OpCreate, Name: "log", Err: vfs.ErrFull}, {Op: vfs.OpWrite, Name: "episodes", Err: vfs.ErrFull}, {Op: vfs.OpCreate, Name: "episodes", Err: vfs.ErrFull},
		}, false, true, true},
		{"until it works again", testkit.Patience, full, true, false, false},
		{"in the log alone, while an episode holds it", testkit.Patience, []vfs.Fault{{Op: vfs.OpWrite, Name: "log", Err: vfs.ErrFull}, {Op: vfs.OpCreate, Name: "log", Err: vfs.ErrFull}}, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fastDir(t)
			disk := vfs.NewFaulty(vfs.OS, root)
			o := ltm.Options{Dir: filepath.Join(root, "data"), FS: disk, CloseWithin: c.within}
			l := begin(t, o)
			l.leaves = true
			l.commitMany(t, "Test/Logged/p", n)
			if err := l.Seal(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
			disk.Inject(c.faults...)
			l.commitMany(t, "Test/Logged/q", n) // the log has them in RAM when it finds that out
			wantSoon(t, "a log that fails", func() bool { return l.Figures().LogFailing > 0 })
			if err := l.wm.Close(); err != nil {
				t.Fatal(err)
			}
			closed := make(chan error, 1)
			go func() { closed <- l.Close() }()
			if c.heal {
				wantSoon(t, "an end that waits", func() bool { return l.Figures().Closing })
				disk.Heal()
			}
			err := <-closed
			if lost := errors.Is(err, ltm.ErrLeft); lost != c.lost || lost && !strings.Contains(err.Error(), fmt.Sprintf("%d updates of Test", n)) {
				t.Errorf("closing says %v; want it to name what is lost %v", err, c.lost)
			}
			if strings.Contains(fmt.Sprint(err), "are in the log") {
				t.Errorf("closing says %v; the log has nothing of it", err)
			}
			if f := l.Figures(); (f.Lost > 0) != c.lost {
				t.Errorf("%d are counted as lost", f.Lost)
			}
			disk.Heal()
			l = begin(t, ltm.Options{Dir: o.Dir})
			want := n
			if c.lost {
				want = 0
			}
			got, missing := l.recorded(t, "Test/Logged/q")
			if got != want {
				t.Errorf("in the next epoch %d are on disk; want %d", got, want)
			}
			if told := len(missing) == 1 && missing[0].Reason == engram.MissingEvicted && missing[0].Count == n; told != c.told || len(missing) > 1 {
				t.Errorf("in the next epoch missing is %+v; want it told %v", missing, c.told)
			}
			if got, missing := l.recorded(t, "Test/Logged/p"); got != n || len(missing) > 0 {
				t.Errorf("in the next epoch of what was sealed before %d are on disk, missing %+v", got, missing)
			}
		})
	}
}
