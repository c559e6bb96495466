package ltm_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// An order to forget is not done as long as a file is not served that the system refused and
// that is tried again: what was forgotten does not come back with it.
func TestForgettingWaitsForWhatIsRefused(t *testing.T) {
	sealed := fastDir(t)
	l := begin(t, ltm.Options{Dir: sealed})
	const cup, plate = "Test/Volatile/p/cup", "Test/Volatile/p/plate"
	for i := range engram.Time(10) {
		l.commit(t, cup, i, marker(cup, i, 0))
		l.commit(t, plate, i, marker(plate, i, 0))
	}
	l.caughtUp(t)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	open := killed(t, sealed)
	l.end(t)
	for what, c := range map[string]struct {
		original string
		known    bool // in the catalogue
		drop     bool
	}{
		"sealed":                {original: sealed, known: true},
		"sealed, not known":     {original: sealed},
		"sealed, dropped":       {original: sealed, known: true, drop: true},
		"left open":             {original: open},
		"left open and dropped": {original: open, drop: true},
	} {
		t.Run(what, func(t *testing.T) {
			dir := killed(t, c.original)
			file := files(t, dir, "episodes/*.mcap*")[0]
			if err := os.Chtimes(file, engram.Time(1).Std(), engram.Time(1).Std()); err != nil { // so that it is read again
				t.Fatal(err)
			}
			if !c.known {
				if err := os.Remove(filepath.Join(dir, "catalogue.db")); err != nil {
					t.Fatal(err)
				}
			}
			faulty := vfs.NewFaulty(vfs.OS, dir)
			faulty.Inject(vfs.Fault{Op: vfs.OpOpen, Name: ".mcap", Err: syscall.EMFILE})
			l := begin(t, ltm.Options{Dir: dir, FS: faulty})
			_, err := l.Forget(t.Context(), ltm.Forgetting{Patterns: patterns(cup), Why: "test"}, nil)
			if engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), filepath.Base(file)) {
				t.Errorf("forgetting says %v; want Unavailable that names the file", err)
			}
			if got, _ := l.times(t, cup, engram.TargetBoth, engram.All()); len(got) > 0 {
				t.Errorf("meanwhile %v are found", got)
			}
			later := killed(t, dir)
			if c.drop {
				if err := l.DropEpisode(t.Context(), filepath.Base(file), "test", "me"); err != nil {
					t.Fatal(err)
				}
			}
			faulty.Heal()
			if err := l.TryAgain(t.Context()); err != nil {
				t.Fatal(err)
			}
			check := func(when, dir string, l *life) {
				t.Helper()
				if got, missing := l.times(t, cup, engram.TargetBoth, engram.All()); len(got) > 0 || !c.drop && (len(missing) != 1 || missing[0].Reason != engram.MissingForgotten) {
					t.Errorf("%s %v are found, missing %+v", when, got, missing)
				}
				l.FinishOrders()
				if orders := l.Orders(); len(orders) > 0 {
					t.Errorf("%s there are orders: %+v; health %q", when, orders, l.Health())
				}
				l.wantGone(t, dir, cup, 1)
				if got, _ := l.times(t, plate, engram.TargetBoth, engram.All()); len(got) != 10 && !c.drop {
					t.Errorf("%s of the rest %v are found", when, got)
				}
				if health := l.Health(); len(health) > 0 {
					t.Errorf("%s the health is %q", when, health)
				}
			}
			check("when it works again", dir, l)
			l.end(t)
			l = begin(t, ltm.Options{Dir: dir})
			check("in the next epoch", dir, l)
			if !c.drop {
				l = begin(t, ltm.Options{Dir: later})
				check("in an epoch after a kill meanwhile", later, l)
			}
		})
	}
}

// unsyncedCopy copies a folder to a disk that has all of it but for what open files hold.
func unsyncedCopy(t *testing.T, disk *vfs.Faulty, to, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		name = filepath.Join(to, name)
		if e.IsDir() {
			if err := disk.MkdirAll(name, 0o700); err != nil {
				return err
			}
			return disk.SyncDir(filepath.Dir(name))
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := disk.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		if _, err := f.Write(b); err != nil {
			return err
		}
		if !strings.HasSuffix(name, ".open") {
			if err := f.Sync(); err != nil {
				return err
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
		return disk.SyncDir(filepath.Dir(name))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What a kill left open may not be on the disk yet. Where it is served as it stands, the log
// is not cut off before the disk has it, or not at all.
func TestLeftOpenIsOnTheDiskBeforeTheLogIsCutOff(t *testing.T) {
	original := fastDir(t)
	l := begin(t, ltm.Options{Dir: original})
	const cup = "Test/Synced/p/cup"
	var want []engram.Time
	for i := range engram.Time(20) {
		l.commit(t, cup, i, marker(cup, i, 0))
		want = append(want, i)
	}
	l.caughtUp(t)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	original = killed(t, original)
	for what, refused := range map[string]bool{"it can be synced": false, "it cannot be synced": true} {
		for _, how := range []string{"sealed", "ended"} {
			t.Run(what+", "+how, func(t *testing.T) {
				root := fastDir(t)
				faulty := vfs.NewFaulty(vfs.OS, root)
				dir := filepath.Join(root, "data")
				unsyncedCopy(t, faulty, dir, original)
				if refused {
					faulty.Inject(vfs.Fault{Op: vfs.OpSync, Name: ".mcap.open", Times: 1})
				}
				l := begin(t, ltm.Options{Dir: dir, FS: newFullDisk(faulty, true)})
				if n := l.begun.Rerecord; n > 0 {
					t.Fatalf("%d were recorded again; the test needs that the open episode has them", n)
				}
				if withheld := strings.Contains(strings.Join(l.Health(), "\n"), "the log keeps"); withheld != refused {
					t.Errorf("the health is %q", l.Health())
				}
				l.commit(t, "Test/Synced/p/other", 1, 1)
				if how == "sealed" {
					if err := l.Seal(t.Context(), "test"); err != nil {
						t.Fatal(err)
					}
				} else {
					l.end(t)
				}
				chance := rand.New(rand.NewPCG(1, 2))
				for range 5 {
					image := filepath.Join(fastDir(t), "image")
					if err := faulty.CrashImage(image, chance); err != nil {
						t.Fatal(err)
					}
					l := begin(t, ltm.Options{Dir: filepath.Join(image, "data")})
					if got, _ := l.times(t, cup, engram.TargetBoth, engram.All()); !slices.Equal(got, want) {
						t.Errorf("after a loss of power %v are found", got)
					}
					l.end(t)
				}
			})
		}
	}
}

// holedFS is a disk that, while on is true, does not give back some bytes of open episodes.
type holedFS struct {
	vfs.FS
	on atomic.Bool
}

func (h *holedFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := h.FS.OpenFile(name, flag, perm)
	if err != nil || !strings.Contains(name, ".mcap.open") {
		return f, err
	}
	return holedFile{f, h}, nil
}

type holedFile struct {
	vfs.File
	disk *holedFS
}

func (f holedFile) ReadAt(p []byte, off int64) (int, error) {
	if from, to := int64(600_000), int64(610_000); f.disk.on.Load() && off < to && off+int64(len(p)) > from {
		return 0, vfs.ErrIO
	}
	return f.File.ReadAt(p, off)
}

// What sealing an episode that was left open loses is said to be missing, with its number:
// when it is repaired by hand, when it is sealed later or at the start, and in later epochs.
func TestWhatSealingLosesIsTold(t *testing.T) {
	original, entities := leftOpen(t)
	now := engram.Now()
	clock := func() engram.Time { return now } // not that of a bubble, which is set back
	flipped := killed(t, original)
	file := files(t, flipped, "episodes/*.mcap.open")[0]
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		b[len(b)/2+i] ^= 0xff
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	const open = ".mcap.open"
	count := func(l *life) (found, missing int) {
		for _, e := range entities {
			got, m := l.times(t, e, engram.TargetLTM, engram.All())
			found += len(got)
			for _, m := range m {
				missing += int(m.Count)
			}
		}
		return found, missing
	}
	whole := begin(t, ltm.Options{Dir: killed(t, original)})
	all, _ := count(whole)
	for what, c := range map[string]struct {
		original string
		full     bool
		faults   []vfs.Fault
		holed    bool
		how      string
	}{
		"once it cannot be read":    {original: original, full: true, faults: []vfs.Fault{{Op: vfs.OpRead, Name: open, Skip: 14, Times: 1}}, how: "repair"},
		"not all can be read":       {original: original, full: true, holed: true, how: "repair"},
		"flipped, repaired":         {original: flipped, full: true, how: "repair"},
		"flipped, sealed later":     {original: flipped, full: true, how: "later"},
		"flipped, forgotten from":   {original: flipped, full: true, how: "forget"},
		"flipped, sealed at once":   {original: flipped},
		"flipped, not opened first": {original: flipped, faults: []vfs.Fault{{Op: vfs.OpOpen, Name: open, Err: syscall.EMFILE}}, how: "later"},
	} {
		t.Run(what, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T) {
				dir := killed(t, c.original)
				faulty := vfs.NewFaulty(vfs.OS, dir)
				holed := &holedFS{FS: faulty}
				disk := newFullDisk(holed, c.full)
				if !c.full {
					faulty.Inject(c.faults...)
				}
				l := begin(t, ltm.Options{Dir: dir, FS: disk, Now: clock})
				check := func(when string, l *life) {
					t.Helper()
					if found, missing := count(l); found+missing != all || found == all && (c.holed || c.original == flipped) && when != "meanwhile" {
						t.Errorf("%s %d are found and %d missing of %d", when, found, missing, all)
					}
				}
				if c.full {
					name := mustEpisodes(t, l)[0].Name
					check("meanwhile", l)
					synctest.Wait() // it has tried by itself
					disk.free.Store(halfFree)
					faulty.Inject(c.faults...)
					holed.on.Store(c.holed)
					switch c.how {
					case "repair":
						if _, _, err := l.Repair(t.Context(), name); err != nil {
							t.Fatal(err)
						}
						if aside := files(t, dir, "episodes/*.open.damaged"); len(aside) != 1 {
							t.Errorf("%q are put aside", aside)
						}
					case "forget":
						forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Synced", entities[0]), Span: engram.Interval{Start: 0, End: 1}, Why: "test"})
					}
				}
				faulty.Heal()
				if err := l.TryAgain(t.Context()); err != nil {
					t.Fatal(err)
				}
				check("sealed", l)
				image := killed(t, dir)
				l.end(t)
				l = begin(t, ltm.Options{Dir: dir, Now: clock})
				check("in the next epoch", l)
				l = begin(t, ltm.Options{Dir: image, Now: clock})
				check("after a kill", l)
			})
		})
	}
}

// An open file that cannot be removed when it is sealed is removed later, and before
// something of it is forgotten or dropped: nothing comes back with it.
func TestLeftOpenThatCannotBeRemoved(t *testing.T) {
	original, entities := leftOpen(t)
	for _, how := range []string{"dropped", "forgotten", "later"} {
		t.Run(how, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T) {
				dir := killed(t, original)
				faulty := vfs.NewFaulty(vfs.OS, dir)
				disk := newFullDisk(faulty, true)
				l := begin(t, ltm.Options{Dir: dir, FS: disk})
				name := mustEpisodes(t, l)[0].Name
				synctest.Wait() // it has tried by itself
				disk.free.Store(halfFree)
				faulty.Inject(vfs.Fault{Op: vfs.OpRemove, Name: ".mcap.open", Err: syscall.EACCES})
				for range 2 {
					if err := l.TryAgain(t.Context()); err != nil || !strings.Contains(strings.Join(l.Health(), "\n"), "left open") {
						t.Errorf("meanwhile the health is %q, %v", l.Health(), err)
					}
				}
				o := ltm.Forgetting{Patterns: patterns(entities[0]), Why: "test"}
				if how == "forgotten" {
					if _, err := l.Forget(t.Context(), o, nil); engram.CodeOf(err) != engram.Unavailable || !strings.Contains(fmt.Sprint(err), name+".open") {
						t.Errorf("forgetting says %v; want Unavailable that names the file", err)
					}
				}
				faulty.Heal()
				want := 300
				switch how {
				case "dropped":
					want = 0
					if err := l.DropEpisode(t.Context(), name, "test", "me"); err != nil {
						t.Fatal(err)
					}
				case "forgotten":
					want = 200
					l.FinishOrders()
					if orders := l.Orders(); len(orders) > 0 {
						t.Errorf("there are orders: %+v", orders)
					}
				}
				if open := files(t, dir, "episodes/*.open"); how != "later" && len(open) > 0 {
					t.Errorf("%q are left", open)
				}
				if err := l.TryAgain(t.Context()); err != nil || len(l.Health()) > 0 {
					t.Errorf("afterwards the health is %q, %v", l.Health(), err)
				}
				for range 2 {
					found := 0
					for _, e := range entities {
						got, _ := l.times(t, e, engram.TargetLTM, engram.All())
						found += len(got)
					}
					if open := files(t, dir, "episodes/*.open"); found != want || len(open) > 0 {
						t.Errorf("%d are found, want %d; %q are open", found, want, open)
					}
					l.end(t)
					l = begin(t, ltm.Options{Dir: dir})
				}
			})
		})
	}
}

// gatedFS is a disk on which a repair waits before it makes its file.
type gatedFS struct {
	*fullDisk
	waits chan struct{} // is told when one waits
	gate  chan struct{}
}

func (g *gatedFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if flag&os.O_CREATE != 0 && strings.HasSuffix(name, ".mcap.repair") {
		g.waits <- struct{}{}
		<-g.gate
	}
	return g.fullDisk.OpenFile(name, flag, perm)
}

// Who repairs an episode that is being sealed by itself waits for that, and is told no error.
func TestRepairOfWhatIsTriedAgain(t *testing.T) {
	original, entities := leftOpen(t)
	for _, ext := range []string{"", ".open"} {
		inVirtualTime(t, func(t *testing.T) {
			disk := &gatedFS{newFullDisk(vfs.OS, true), make(chan struct{}), make(chan struct{})}
			l := begin(t, ltm.Options{Dir: killed(t, original), FS: disk})
			name := mustEpisodes(t, l)[0].Name
			synctest.Wait() // it has tried by itself
			disk.free.Store(halfFree)
			var both sync.WaitGroup
			both.Go(func() {
				if err := l.TryAgain(t.Context()); err != nil {
					t.Error(err)
				}
			})
			<-disk.waits
			both.Go(func() {
				if info, _, err := l.Repair(t.Context(), name+ext); err != nil || !info.Sealed {
					t.Errorf("repairing says %+v, %v", info, err)
				}
			})
			synctest.Wait()
			close(disk.gate)
			both.Wait()
			if got, _ := l.times(t, entities[0], engram.TargetLTM, engram.All()); len(got) != 100 {
				t.Errorf("%d are found", len(got))
			}
			l.end(t)
		})
	}
}
