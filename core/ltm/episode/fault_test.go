package episode_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// One write fails, wherever, with a part of it in the file: tried again, the
// episode is whole.
func TestAnyWriteMayFailOnce(t *testing.T) {
	for skip := 0; ; skip++ {
		dir := t.TempDir()
		faulty := vfs.NewFaulty(unsynced{vfs.OS}, dir)
		w := create(t, dir, episode.Options{FS: faulty, ChunkBytes: 300})
		before := faulty.Count(vfs.OpWrite)
		faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Skip: skip, Times: 1, Err: vfs.ErrFull, Short: 20})
		want := map[engram.ID][]*engram.Snapshot{}
		ch := channel(t, joints)
		for i := range 40 {
			s := snapshot(engram.Time(i), uint64(i), secret(i), "second")
			add(t, w, ch, s, false)
			want[joints] = append(want[joints], s)
			compare(t, w, want)
		}
		_, err := w.Seal(context.Background())
		if err != nil {
			if engram.CodeOf(err) != engram.Exhausted {
				t.Fatalf("seal: %v", err)
			}
			seal(t, w)
		}
		compare(t, w, want)
		path := filepath.Join(dir, name)
		if problems, err := episode.Verify(context.Background(), path, quick); err != nil || len(problems) > 0 {
			t.Fatalf("write %d failed: %v, %v", skip, problems, err)
		}
		compare(t, open(t, path, quick), want)
		if faulty.Count(vfs.OpWrite)-before <= skip {
			return // it was beyond the last one
		}
	}
}

// A disk that stays full: what is taken is kept in memory, until it is enough to be
// written; then Add refuses, and what it refused is not in the episode. So who adds knows
// of the disk, and nobody puts together again and again what it does not take.
func TestAFullDiskRefusesAndHeals(t *testing.T) {
	dir := t.TempDir()
	faulty := vfs.NewFaulty(unsynced{vfs.OS}, dir)
	w := create(t, dir, episode.Options{FS: faulty})
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Err: vfs.ErrFull})
	want := map[engram.ID][]*engram.Snapshot{}
	ch := channel(t, joints)
	payload := string(make([]byte, 1<<20))
	refused := 0
	for i := range 24 {
		s := snapshot(engram.Time(i), uint64(i), payload, secret(i))
		if err := w.Add(context.Background(), ch, s, false); err != nil {
			if engram.CodeOf(err) != engram.Exhausted {
				t.Fatal(err)
			}
			refused++
			continue
		}
		want[joints] = append(want[joints], s)
	}
	if refused < 19 {
		t.Errorf("%d of 24 MiB were refused; the bound is 4 MiB", refused)
	}
	if err := w.Flush(context.Background()); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("flush to a full disk: %v", err)
	}
	compare(t, w, want)
	faulty.Heal()
	add(t, w, ch, snapshot(100, 100, "room again"), false)
	want[joints] = append(want[joints], snapshot(100, 100, "room again"))
	seal(t, w)
	compare(t, open(t, filepath.Join(dir, name), quick), want)
}

// After a refused sync nobody knows what the disk has: the writer says so for good,
// and the file can be repaired.
func TestARefusedSyncIsFinal(t *testing.T) {
	dir := t.TempDir()
	faulty := vfs.NewFaulty(vfs.OS, dir)
	w := create(t, dir, episode.Options{FS: faulty})
	s := snapshot(1, 1, "payload")
	add(t, w, channel(t, joints), s, false)
	faulty.Inject(vfs.Fault{Op: vfs.OpSync, Times: 1})
	if _, err := w.Seal(context.Background()); engram.CodeOf(err) != engram.Corrupt {
		t.Fatalf("seal with a refused sync: %v", err)
	}
	if _, err := w.Seal(context.Background()); engram.CodeOf(err) != engram.Corrupt {
		t.Errorf("seal after a refused sync: %v", err)
	}
	if err := w.Add(context.Background(), channel(t, joints), s, false); engram.CodeOf(err) != engram.Corrupt {
		t.Errorf("add after a refused sync: %v", err)
	}
	w.Close()
	path := filepath.Join(dir, name)
	if _, problems, err := episode.Repair(context.Background(), path+".open", path, quick); err != nil || len(problems) > 0 {
		t.Fatalf("repair: %v, %v", problems, err)
	}
	compare(t, open(t, path, quick), map[engram.ID][]*engram.Snapshot{joints: {s}})
}

// A loss of power: what was flushed is there, whatever else of the file is.
func TestWhatWasFlushedSurvivesALossOfPower(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for round := range 20 {
		dir, after := t.TempDir(), t.TempDir()
		faulty := vfs.NewFaulty(unsyncedOnDisk{vfs.OS}, dir)
		w := create(t, dir, episode.Options{FS: faulty, ChunkBytes: 300})
		ch := channel(t, joints)
		flushed, n := 0, 20+rng.IntN(40)
		for i := range n {
			add(t, w, ch, snapshot(engram.Time(i), uint64(i+1), secret(i)), false)
			if rng.IntN(10) == 0 {
				if err := w.Flush(context.Background()); err != nil {
					t.Fatal(err)
				}
				flushed = i + 1
			}
		}
		sealed := round%3 == 0
		if sealed {
			seal(t, w)
			flushed = n
		}
		if err := faulty.CrashImage(after, rng); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(after, name)
		if !sealed {
			if flushed == 0 {
				continue // even its name may be gone
			}
			if _, _, err := episode.Repair(context.Background(), path+".open", path, quick); err != nil {
				t.Fatal(err)
			}
		}
		got := versionsOf(t, open(t, path, quick), joints)
		if len(got) < flushed {
			t.Fatalf("%d versions are left; %d were flushed", len(got), flushed)
		}
		for _, s := range got {
			// Of what was not flushed, the envelope may be gone.
			bare := int(s.Time) >= flushed && s.Number == 0 && string(s.Instances[0].Payload.Bytes) == secret(int(s.Time))
			if d := sameVersion(s, snapshot(s.Time, uint64(s.Time)+1, secret(int(s.Time))), true); d != "" && !bare {
				t.Fatalf("a version %s", d)
			}
		}
	}
}

// unsyncedOnDisk leaves syncing to the Faulty above it.
type unsyncedOnDisk struct{ vfs.FS }

func (u unsyncedOnDisk) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	return unsynced(u).OpenFile(name, flag, perm)
}

// A rewrite that fails or is cut short by a loss of power leaves the old episode or
// the new one.
func TestRewriteIsAtomic(t *testing.T) {
	r := record(t, 60, true)
	rng := rand.New(rand.NewPCG(11, 12))
	odd := func(_ engram.ID, s *engram.Snapshot) bool { return s.Number%2 == 1 }
	less := map[engram.ID][]*engram.Snapshot{}
	for id, list := range r.want {
		for _, s := range list {
			if odd(id, s) {
				less[id] = append(less[id], s)
			}
		}
	}
	for _, op := range []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpSyncDir, ""} {
		t.Run(string(op), func(t *testing.T) {
			dir, after := t.TempDir(), t.TempDir()
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, r.bytes, 0o644); err != nil {
				t.Fatal(err)
			}
			faulty := vfs.NewFaulty(unsyncedOnDisk{vfs.OS}, dir)
			if op != "" {
				f := vfs.Fault{Op: op, Times: 1, Short: 100}
				if op == vfs.OpSyncDir {
					f.Skip = 1 // that of the new file's first name
				}
				faulty.Inject(f)
			}
			_, err := episode.Rewrite(context.Background(), path, episode.Change{Keep: odd, Why: []string{"halved"}}, episode.Options{FS: faulty, Types: registry})
			if (err != nil) != (op != "") {
				t.Fatalf("rewrite: %v", err)
			}
			want := r.want
			if op == "" || op == vfs.OpSyncDir {
				want = less
			}
			compare(t, open(t, path, quick), want)
			if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if err := faulty.CrashImage(after, rng); err != nil {
				t.Fatal(err)
			}
			image := open(t, filepath.Join(after, name), quick)
			if n := image.Info().Snapshots; n != 60 && n != 30 {
				t.Fatalf("after a loss of power %d versions are left", n)
			}
			if image.Info().Snapshots == 60 {
				want = r.want
			} else {
				want = less
			}
			compare(t, image, want)
		})
	}
}

// What is added is written after a while even if nothing else comes.
func TestWhatWaitsIsWritten(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := create(t, dir, episode.Options{FS: quick.FS, FlushEvery: 3 * time.Second})
		begun := w.Info().Bytes
		s := snapshot(1, 1, "payload")
		add(t, w, channel(t, joints), s, false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := w.Info().Bytes; n != begun {
			t.Errorf("after 2 s %d bytes are written", n-begun)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if w.Info().Bytes == begun {
			t.Error("after 4 s nothing is written")
		}
		compare(t, w, map[engram.ID][]*engram.Snapshot{joints: {s}})
		w.Close()
	})
	path := filepath.Join(dir, name)
	if info, _, err := episode.Repair(context.Background(), path+".open", path, quick); err != nil || info.Snapshots != 1 {
		t.Errorf("repaired: %+v, %v", info, err)
	}
}

// Readers of the open episode see, at any moment, all that was added before and
// nothing else.
func TestReadersWhileItIsWritten(t *testing.T) {
	for _, codec := range []string{"plain", "chain", "pack"} {
		t.Run(codec, func(t *testing.T) {
			w := create(t, t.TempDir(), episode.Options{FS: quick.FS, ChunkBytes: 1000, Cache: episode.NewCache(1 << 20)})
			ch := channel(t, joints)
			ch.Codec.Codec = codec
			const n = 600
			want := make([]*engram.Snapshot, n)
			for i := range want {
				want[i] = snapshot(engram.Time(i), uint64(i+1), secret(i))
			}
			add(t, w, ch, want[0], false)
			var readers sync.WaitGroup
			stop := make(chan struct{})
			failed := make(chan string, 8)
			for range 3 {
				readers.Go(func() {
					last := 0
					for {
						select {
						case <-stop:
							return
						default:
						}
						tl, err := w.Timeline(joints)
						if err != nil {
							failed <- err.Error()
							return
						}
						at := 0
						for i, b := range tl.Blocks() {
							got, err := tl.Load(context.Background(), i, 0, b.Count)
							if err != nil {
								failed <- err.Error()
								return
							}
							for _, s := range got {
								if d := sameVersion(s, want[at], true); d != "" {
									failed <- fmt.Sprintf("version %d %s", at, d)
									return
								}
								at++
							}
						}
						if at < last {
							failed <- fmt.Sprintf("%d versions after %d", at, last)
							return
						}
						last = at
					}
				})
			}
			for _, s := range want[1:] {
				add(t, w, ch, s, false)
			}
			seal(t, w)
			close(stop)
			readers.Wait()
			select {
			case what := <-failed:
				t.Error(what)
			default:
			}
			compare(t, w, map[engram.ID][]*engram.Snapshot{joints: want})
			w.Close()
			if _, err := w.Timeline(joints); err != nil {
				t.Error(err)
			}
		})
	}
}

// A step of sealing that failed once is made up for by sealing again.
func TestSealMayFailAnywhereAndIsTriedAgain(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpWrite, vfs.OpRename, vfs.OpSyncDir} {
		t.Run(string(op), func(t *testing.T) {
			dir := t.TempDir()
			faulty := vfs.NewFaulty(vfs.OS, dir)
			w := create(t, dir, episode.Options{FS: faulty})
			s := snapshot(1, 1, "payload")
			add(t, w, channel(t, joints), s, false)
			faulty.Inject(vfs.Fault{Op: op, Times: 1})
			if _, err := w.Seal(context.Background()); engram.CodeOf(err) != engram.Unavailable {
				t.Fatalf("seal: %v; want Unavailable", err)
			}
			info, err := w.Seal(context.Background())
			if err != nil || !info.Sealed {
				t.Fatalf("seal again: %+v, %v", info, err)
			}
			if _, err := w.Seal(context.Background()); engram.CodeOf(err) != engram.Conflict {
				t.Errorf("sealing what is sealed: %v; want Conflict", err)
			}
			// The name survives a loss of power, too.
			image := t.TempDir()
			if err := faulty.CrashImage(image, rand.New(rand.NewPCG(1, 2))); err != nil {
				t.Fatal(err)
			}
			compare(t, open(t, filepath.Join(image, name), quick), map[engram.ID][]*engram.Snapshot{joints: {s}})
		})
	}
}

// Of many entities whose messages are small when they are coded, few payloads wait in
// memory: not while the disk works, and not while it refuses.
func TestPayloadsThatWaitAreBounded(t *testing.T) {
	dir := t.TempDir()
	faulty := vfs.NewFaulty(vfs.OS, dir)
	w := create(t, dir, episode.Options{FS: faulty})
	payload := strings.Repeat("x", 1<<20)
	add := func(i int) error {
		ch := channel(t, entityNumber(i))
		ch.Codec.Codec = "tiny"
		return w.Add(context.Background(), ch, snapshot(engram.Time(i), uint64(i+1), payload), false)
	}
	for i := range 100 {
		if err := add(i); err != nil {
			t.Fatal(err)
		}
		if n := episode.RawWaiting(w); n > 33<<20 {
			t.Fatalf("%d bytes of payloads wait", n)
		}
	}
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite})
	refused := 0
	for i := range 200 {
		if err := add(i); err != nil {
			if refused++; engram.CodeOf(err) != engram.Exhausted {
				t.Fatal(err)
			}
		}
	}
	if n := episode.RawWaiting(w); refused == 0 || n > 129<<20 {
		t.Errorf("while the disk refuses, %d bytes of payloads wait and %d are refused", n, refused)
	}
	faulty.Heal()
	if err := add(0); err != nil {
		t.Errorf("when the disk works again: %v", err)
	}
	if n := episode.RawWaiting(w); n > 33<<20 {
		t.Errorf("when the disk works again, %d bytes of payloads wait", n)
	}
}
