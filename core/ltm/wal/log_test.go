package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, o Options) (*Log, []Loss) {
	t.Helper()
	if o.Memory == "" {
		o.Memory = "Test"
	}
	l, losses, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, losses
}

// record is a version for the tests: its number is in its time and its payload.
func record(i, size int) (engram.ID, *engram.Snapshot) {
	payload := bytes.Repeat([]byte{byte(i)}, size)
	copy(payload, fmt.Sprint(i, ";"))
	return engram.MustID("Test/Core/Provider/e" + fmt.Sprint(i%3)), &engram.Snapshot{
		Time:      engram.Time(i),
		Instances: []engram.Instance{{Payload: engram.Payload{Type: "a.Type", Bytes: payload}, Confidence: 0.5}},
	}
}

func begin(t testing.TB, l *Log, i, size int) *Entry {
	t.Helper()
	id, s := record(i, size)
	e, err := l.Begin(context.Background(), id, s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func add(t testing.TB, l *Log, i, size int) {
	t.Helper()
	if err := begin(t, l, i, size).Append(engram.Time(1000+i), false); err != nil {
		t.Fatal(err)
	}
}

func settle(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Sync(context.Background(), l.End()); err != nil {
		t.Fatal(err)
	}
}

// replay returns the numbers of the records, and checks that each is whole.
func replay(t testing.TB, l *Log, from Position) (numbers []int, losses []Loss) {
	t.Helper()
	before := Position(0)
	losses, err := l.Replay(context.Background(), from, func(r Record) error {
		i := int(r.Snapshot.Time)
		id, s := record(i, len(r.Snapshot.Instances[0].Payload.Bytes))
		in := r.Snapshot.Instances[0]
		if r.Kind != KindSnapshot || r.Entity != id || r.Snapshot.Arrived != engram.Time(1000+i) || len(r.Snapshot.Instances) != 1 ||
			!bytes.Equal(in.Payload.Bytes, s.Instances[0].Payload.Bytes) || in.Payload.Type != "a.Type" ||
			in.Confidence != 0.5 || !in.HasSent || in.Sent != r.Snapshot.Arrived {
			t.Errorf("record %d is read back as %+v %+v", i, r, r.Snapshot)
		}
		if r.Position <= before {
			t.Errorf("record %d lies at %v, after one at %v", i, r.Position, before)
		}
		before = r.Position
		numbers = append(numbers, i)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return numbers, losses
}

func want(t testing.TB, got []int, first, last int) {
	t.Helper()
	for i := first; i <= last; i++ {
		if len(got) <= i-first || got[i-first] != i {
			t.Fatalf("the log holds %v; want %d to %d", got, first, last)
		}
	}
	if len(got) != last-first+1 {
		t.Fatalf("the log holds %v; want %d to %d", got, first, last)
	}
}

func TestLogKeepsWhatIsAppended(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, _ := open(t, Options{Dir: dir, SegmentBytes: 64 << 10})
	sizes := []int{0, 1, 100, 20_000, 16 << 10, 70_000, 3}
	for i := range 70 {
		add(t, l, i, sizes[i%len(sizes)])
	}
	settle(t, l)
	got, losses := replay(t, l, 0)
	if want(t, got, 0, 69); len(losses) > 0 {
		t.Error(losses)
	}
	middle := l.End()
	for i := 70; i < 80; i++ {
		add(t, l, i, 10)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := os.ReadDir(dir)
	if len(files) < 5 {
		t.Errorf("%d files; more were to be begun", len(files))
	}
	l, losses = open(t, Options{Dir: dir})
	if len(losses) > 0 || l.Memory() != "Test" {
		t.Error(l.Memory(), losses)
	}
	if l.End() <= middle {
		t.Errorf("the end is %v after a restart, and was %v before", l.End(), middle)
	}
	got, _ = replay(t, l, 0)
	want(t, got, 0, 79)
	got, _ = replay(t, l, middle)
	want(t, got, 70, 79)
	add(t, l, 80, 10)
	settle(t, l)
	got, _ = replay(t, l, middle)
	want(t, got, 70, 80)
}

func TestTruncateLetsGoOfWholeFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, _ := open(t, Options{Dir: dir, SegmentBytes: 16 << 10})
	for i := range 20 {
		add(t, l, i, 5000)
	}
	settle(t, l)
	var at Position
	l.Replay(t.Context(), 0, func(r Record) error {
		if r.Snapshot.Time == 10 {
			at = r.Position
		}
		return nil
	})
	if err := l.Truncate(at); err != nil {
		t.Fatal(err)
	}
	got, _ := replay(t, l, 0)
	if got[0] == 0 || got[0] > 10 || got[len(got)-1] != 19 || l.Start() > at {
		t.Errorf("after cutting before record 10 the log holds %v", got)
	}
	if err := l.Truncate(l.Rotate()); err != nil {
		t.Fatal(err)
	}
	settle(t, l)
	if err := l.Truncate(l.End()); err != nil {
		t.Fatal(err)
	}
	if got, _ := replay(t, l, 0); len(got) != 0 {
		t.Errorf("after cutting everything the log holds %v", got)
	}
	l.Close()
	l, losses := open(t, Options{Dir: dir})
	if got, more := replay(t, l, 0); len(got) != 0 || len(losses)+len(more) > 0 {
		t.Errorf("after a restart the log holds %v; losses %v %v", got, losses, more)
	}
}

// gatedFS is a file system whose syncs wait for the gate.
type gatedFS struct {
	vfs.FS
	gate    sync.Mutex
	waiting atomic.Int32 // syncs at the gate
	takes   time.Duration
	syncs   int
	syncing func() // called before each sync, if it is not nil
}

type gatedFile struct {
	vfs.File
	fs *gatedFS
}

func (g *gatedFS) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	f, err := g.FS.OpenFile(name, flag, perm)
	return gatedFile{f, g}, err
}

func (f gatedFile) Sync() error {
	f.fs.waiting.Add(1)
	f.fs.gate.Lock()
	f.fs.waiting.Add(-1)
	defer f.fs.gate.Unlock()
	f.fs.syncs++
	time.Sleep(f.fs.takes)
	if f.fs.syncing != nil {
		f.fs.syncing()
	}
	return f.File.Sync()
}

// All who append while the disk is busy share the next sync.
func TestSyncedRecordsShareSyncs(t *testing.T) {
	fs := &gatedFS{FS: vfs.OS}
	l, _ := open(t, Options{FS: fs, Dir: filepath.Join(t.TempDir(), "log")})
	fs.gate.Lock()
	before := fs.syncs
	const writers = 64
	var appended, done sync.WaitGroup
	appended.Add(writers)
	for w := range writers {
		done.Go(func() {
			e := begin(t, l, w, 10)
			err := e.Append(engram.Time(1000+w), true)
			appended.Done()
			if err == nil {
				err = e.Wait()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	appended.Wait()
	fs.gate.Unlock()
	done.Wait()
	// The first ones may have been on their way already.
	if n := fs.syncs - before; n > 2 {
		t.Errorf("%d syncs for %d records that were appended together", n, writers)
	}
}

// By a clock that stands still while something runs: what is logged is synced, and so
// survives a loss of power, well within the second that is promised, whatever else is
// appended meanwhile.
func TestLoggedRecordsAreSyncedInTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, _ := open(t, Options{FS: vfs.NewFaulty(vfs.OS, dir), Dir: filepath.Join(dir, "log"), SegmentBytes: 64 << 10})
		chance := rand.New(rand.NewPCG(1, 2))
		type accepted struct {
			end Position
			at  time.Time
		}
		var waiting []accepted
		for i := range 400 {
			switch chance.IntN(20) {
			case 0: // a pause
				time.Sleep(time.Duration(chance.Int64N(int64(3 * time.Second))))
			case 1: // one that somebody waits for
				e := begin(t, l, i, 10)
				if err := e.Append(engram.Time(1000+i), true); err != nil {
					t.Fatal(err)
				}
				waiting = append(waiting, accepted{l.End(), time.Now()})
				settle(t, l)
			default:
				add(t, l, i, chance.IntN(2000))
				waiting = append(waiting, accepted{l.End(), time.Now()})
				time.Sleep(time.Duration(chance.Int64N(int64(30 * time.Millisecond))))
			}
			synced := l.syncedTo()
			for len(waiting) > 0 && waiting[0].end <= synced {
				waiting = waiting[1:]
			}
			if len(waiting) > 0 && time.Since(waiting[0].at) > 600*time.Millisecond {
				t.Fatalf("after %d records one that was accepted %v ago is not synced", i, time.Since(waiting[0].at))
			}
		}
		time.Sleep(600 * time.Millisecond)
		if l.syncedTo() < l.End() {
			t.Error("nobody asked, and the last records are not synced")
		}
	})
}

func TestPendingIsBounded(t *testing.T) {
	fs := &gatedFS{FS: vfs.OS}
	l, _ := open(t, Options{FS: fs, Dir: filepath.Join(t.TempDir(), "log"), MaxPending: 10_000, SyncEvery: time.Hour})
	var entries []*Entry
	for i := range 12 {
		entries = append(entries, begin(t, l, i, 1000))
	}
	fs.gate.Lock() // the disk is slow
	accepted := 0
	for i, e := range entries {
		err := e.Append(engram.Time(1000+i), false)
		if err == nil {
			accepted++
			continue
		}
		if engram.CodeOf(err) != engram.Exhausted {
			t.Errorf("beyond the bound: %v; want Exhausted", err)
		}
		break
	}
	fs.gate.Unlock()
	if accepted < 4 || accepted > 9 {
		t.Errorf("%d records of 1000 bytes were taken within a bound of 10,000", accepted)
	}
	settle(t, l)
	got, _ := replay(t, l, 0)
	want(t, got, 0, accepted-1)
}

// What waits in several logs together is bounded, too, and counted down when it is on
// disk, or refused.
func TestPendingOfAllLogsIsBounded(t *testing.T) {
	fs := &gatedFS{FS: vfs.OS}
	shared := &pendingBytes{max: 12_000}
	var logs []*Log
	var entries [][]*Entry
	for range 3 {
		l, _ := open(t, Options{FS: fs, Dir: filepath.Join(t.TempDir(), "log"), MaxPending: 10_000, SyncEvery: time.Hour, shared: shared})
		var of []*Entry
		for i := range 6 {
			of = append(of, begin(t, l, i, 1000))
		}
		logs, entries = append(logs, l), append(entries, of)
	}
	fs.gate.Lock() // the disk is slow
	accepted := 0
	for i := range 6 {
		for k := range logs {
			switch err := entries[k][i].Append(engram.Time(1000+i), false); {
			case err == nil:
				accepted++
			case engram.CodeOf(err) != engram.Exhausted:
				t.Errorf("beyond the bound: %v; want Exhausted", err)
			}
		}
	}
	fs.gate.Unlock()
	if accepted < 5 || accepted > 10 {
		t.Errorf("%d records of 1000 bytes were taken within a bound of 12,000", accepted)
	}
	for _, l := range logs {
		settle(t, l)
	}
	if n := shared.now.Load(); n != 0 {
		t.Errorf("when all is on disk %d bytes are said to wait", n)
	}
}

// failing says how the disk fails in a test.
var failing = map[string]struct {
	fault vfs.Fault
	code  engram.Code
}{
	"full":        {vfs.Fault{Op: vfs.OpWrite, Err: vfs.ErrFull}, engram.Exhausted},
	"short write": {vfs.Fault{Op: vfs.OpWrite, Err: vfs.ErrFull, Short: 700}, engram.Exhausted},
	"write":       {vfs.Fault{Op: vfs.OpWrite}, engram.Unavailable},
	"sync":        {vfs.Fault{Op: vfs.OpSync}, engram.Unavailable},
	"everything":  {vfs.Fault{}, engram.Unavailable},
	"no new file": {vfs.Fault{Op: vfs.OpCreate}, engram.Unavailable},
}

func TestLogHealsWithoutARestart(t *testing.T) {
	for name, c := range failing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fs := vfs.NewFaulty(vfs.OS, dir)
			gated := &gatedFS{FS: fs}
			health := make(chan error, 10)
			l, _ := open(t, Options{FS: gated, Dir: filepath.Join(dir, "log"), SyncEvery: time.Hour, Health: func(err error) { health <- err }})
			for i := range 5 {
				add(t, l, i, 300)
			}
			settle(t, l)
			// While one sync lasts others append, and the disk begins to fail.
			gated.gate.Lock()
			add(t, l, 5, 300)
			release := sync.OnceFunc(gated.gate.Unlock)
			var syncing sync.WaitGroup
			syncing.Go(func() { _ = l.Sync(context.Background(), l.End()) })
			defer syncing.Wait()
			defer release()
			for gated.waiting.Load() == 0 {
				runtime.Gosched()
			}
			fs.Inject(c.fault)
			if name == "no new file" {
				fs.Inject(vfs.Fault{Op: vfs.OpSync, Name: fileName(1)})
			}
			for i := 6; i < 10; i++ {
				add(t, l, i, 300) // waits for the disk to work again
			}
			e := begin(t, l, 99, 300)
			err := e.Append(0, true)
			release()
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Wait(); engram.CodeOf(err) != c.code {
				t.Errorf("a synced record: %v; want %v", err, c.code)
			}
			if err := <-health; engram.CodeOf(err) != c.code {
				t.Errorf("health: %v; want %v", err, c.code)
			}
			if err := begin(t, l, 98, 10).Append(0, false); engram.CodeOf(err) != c.code {
				t.Errorf("a logged record while the disk fails: %v; want %v", err, c.code)
			}
			if err := l.Sync(t.Context(), l.End()); engram.CodeOf(err) != c.code {
				t.Errorf("sync while the disk fails: %v; want %v", err, c.code)
			}
			fs.Heal()
			if err := <-health; err != nil {
				t.Errorf("health after healing: %v", err)
			}
			for i := 10; i < 15; i++ {
				add(t, l, i, 300)
			}
			settle(t, l)
			got, losses := replay(t, l, 0)
			if want(t, got, 0, 14); len(losses) > 0 {
				t.Error(losses)
			}
			l.Close()
			l, losses = open(t, Options{Dir: filepath.Join(dir, "log")})
			got, more := replay(t, l, 0)
			if want(t, got, 0, 14); len(losses)+len(more) > 0 {
				t.Error(losses, more)
			}
		})
	}
}

// A log whose disk is full at the start can be read, and heals.
func TestOpenOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	fs := vfs.NewFaulty(vfs.OS, dir)
	o := Options{FS: fs, Dir: filepath.Join(dir, "log")}
	l, _ := open(t, o)
	add(t, l, 0, 10)
	l.Close()
	fs.Inject(vfs.Fault{Op: vfs.OpCreate, Err: vfs.ErrFull})
	health := make(chan error, 10)
	o.Health = func(err error) { health <- err }
	l, losses := open(t, o)
	if err := <-health; engram.CodeOf(err) != engram.Exhausted || len(losses) > 0 {
		t.Errorf("health: %v, losses %v", err, losses)
	}
	got, _ := replay(t, l, 0)
	want(t, got, 0, 0)
	if err := begin(t, l, 1, 10).Append(0, false); engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("appending: %v; want Exhausted that says what to do", err)
	}
	fs.Heal()
	<-health
	add(t, l, 1, 10)
	settle(t, l)
	got, _ = replay(t, l, 0)
	want(t, got, 0, 1)
}

func TestCloseWithAFailingDiskSaysSo(t *testing.T) {
	dir := t.TempDir()
	fs := vfs.NewFaulty(vfs.OS, dir)
	l, _ := open(t, Options{FS: fs, Dir: filepath.Join(dir, "log")})
	fs.Inject(vfs.Fault{Op: vfs.OpWrite})
	add(t, l, 1, 10)
	if err := l.Close(); !errors.Is(err, vfs.ErrIO) {
		t.Errorf("close: %v; want EIO", err)
	}
	if err := begin(t, l, 2, 10).Append(0, true); err == nil {
		t.Error("a closed log takes records")
	}
}
