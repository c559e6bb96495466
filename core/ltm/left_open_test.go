package ltm_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// leftOpen returns a folder with an episode that a kill left open, in which there is
// something of each of some entities that no log has.
func leftOpen(t *testing.T) (dir string, entities []string) {
	t.Helper()
	running := fastDir(t)
	l := begin(t, ltm.Options{Dir: running})
	noise := rand.NewChaCha8([32]byte{})
	b := make([]byte, 4096) // so that it takes many chunks
	for e := range 3 {
		entities = append(entities, fmt.Sprintf("Test/Volatile/p/e%d", e))
	}
	for i := range 100 {
		for _, e := range entities {
			noise.Read(b)
			l.commit(t, e, engram.Time(i), fmt.Sprintf("%x", b))
		}
	}
	l.caughtUp(t)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir = killed(t, running)
	if open := files(t, dir, "episodes/*.mcap.open"); len(open) != 1 {
		t.Fatalf("%q are open; the test needs one", open)
	}
	return dir, entities
}

// halfFree is what of the disk of newFullDisk is free when it is not full.
const halfFree = 1 << 29

// newFullDisk returns a disk of which half is free, or without a free byte.
func newFullDisk(base vfs.FS, full bool) *fullDisk {
	d := &fullDisk{FS: base}
	d.total.Store(2 * halfFree)
	if !full {
		d.free.Store(halfFree)
	}
	return d
}

// What the system refuses at the start is not damaged: an episode that a crash left open is
// served as it stands, or queries say that something of it is missing; it is sealed as soon
// as that works, in this epoch or a later one, and nothing is lost.
func TestLeftOpenIsNotPutAside(t *testing.T) {
	original, entities := leftOpen(t)
	counts := func(l *life) (n []int, missing int) {
		for _, e := range entities {
			got, m := l.times(t, e, engram.TargetLTM, engram.All())
			n, missing = append(n, len(got)), missing+len(m)
		}
		return n, missing
	}
	whole := begin(t, ltm.Options{Dir: killed(t, original)})
	want, missing := counts(whole)
	if slices.Contains(want, 0) || missing > 0 {
		t.Fatalf("the open episode holds %v, %d times something is missing; the test needs some of each", want, missing)
	}
	whole.end(t)
	const repair, open = ".mcap.repair", ".mcap.open"
	for what, c := range map[string]struct {
		faults []vfs.Fault
		full   bool
		served bool // meanwhile
	}{
		"no room for it":         {full: true, served: true},
		"full while it is made":  {faults: []vfs.Fault{{Op: vfs.OpWrite, Name: repair, Skip: 2, Err: vfs.ErrFull}}, served: true},
		"beyond the quota":       {faults: []vfs.Fault{{Op: vfs.OpWrite, Name: repair, Err: syscall.EDQUOT}}, served: true},
		"it cannot be made":      {faults: []vfs.Fault{{Op: vfs.OpCreate, Name: repair, Err: syscall.EACCES}}, served: true},
		"read-only":              {faults: []vfs.Fault{{Op: vfs.OpCreate, Name: repair, Err: syscall.EROFS}}, served: true},
		"it cannot be synced":    {faults: []vfs.Fault{{Op: vfs.OpSync, Name: repair}}, served: true},
		"it cannot be renamed":   {faults: []vfs.Fault{{Op: vfs.OpRename, Name: repair, Err: syscall.EACCES}}, served: true},
		"no descriptors":         {faults: []vfs.Fault{{Op: vfs.OpOpen, Name: open, Err: syscall.EMFILE}}},
		"no right to read":       {faults: []vfs.Fault{{Op: vfs.OpOpen, Name: open, Err: syscall.EACCES}}},
		"nothing is given back":  {faults: []vfs.Fault{{Op: vfs.OpRead, Name: open}}},
		"the end is not given":   {faults: []vfs.Fault{{Op: vfs.OpRead, Name: open, Skip: 20}}},
		"once it cannot be read": {faults: []vfs.Fault{{Op: vfs.OpRead, Name: open, Skip: 5, Times: 1}}, served: true},
	} {
		t.Run(what, func(t *testing.T) {
			dir := killed(t, original)
			faulty := vfs.NewFaulty(vfs.OS, dir)
			disk := newFullDisk(faulty, c.full)
			faulty.Inject(c.faults...)
			l := begin(t, ltm.Options{Dir: dir, FS: disk})
			for range 2 { // it stays so, however often it is tried
				got, missing := counts(l)
				if c.served && (!slices.Equal(got, want) || missing > 0) {
					t.Errorf("meanwhile %v are found, %d times something is missing; want %v", got, missing, want)
				}
				if !slices.Equal(got, want) && missing == 0 {
					t.Errorf("meanwhile %v of %v are found, and nobody says why", got, want)
				}
				if what != "once it cannot be read" {
					if err := l.TryAgain(t.Context()); err != nil {
						t.Fatal(err)
					}
					if health := strings.Join(l.Health(), "\n"); !strings.Contains(health, "left open") {
						t.Errorf("meanwhile the health is %q", health)
					}
				}
			}
			if aside := files(t, dir, "episodes/*.damaged"); len(aside) > 0 {
				t.Errorf("%q are put aside", aside)
			}
			later := killed(t, dir)
			disk.free.Store(halfFree)
			faulty.Heal()
			if err := l.TryAgain(t.Context()); err != nil {
				t.Fatal(err)
			}
			check := func(when, dir string, l *life) {
				t.Helper()
				if got, missing := counts(l); !slices.Equal(got, want) || missing > 0 {
					t.Errorf("%s %v are found, %d times something is missing; want %v", when, got, missing, want)
				}
				if health := l.Health(); len(health) > 0 {
					t.Errorf("%s the health is %q", when, health)
				}
				if open := files(t, dir, "episodes/*.mcap.open"); len(open) > 0 {
					t.Errorf("%s %q are open", when, open)
				}
				for _, e := range mustEpisodes(t, l) {
					if !e.Sealed || e.Damage != nil {
						t.Errorf("%s there is %+v", when, e)
					}
				}
			}
			check("when it works again", dir, l)
			l.end(t)
			l = begin(t, ltm.Options{Dir: dir})
			check("in the next epoch", dir, l)
			l = begin(t, ltm.Options{Dir: later})
			check("in an epoch after a kill meanwhile", later, l)
			if problems := l.Opened().Problems; len(problems) > 0 {
				t.Errorf("after a kill meanwhile there are problems: %q", problems)
			}
		})
	}
}

// On a disk that is full a start loses nothing of what a kill left open, and what is in it
// can be asked, kept, sealed by hand, forgotten and dropped like what is sealed.
func TestLeftOpenOnAFullDisk(t *testing.T) {
	original, entities := leftOpen(t)
	disk := smallDisk(t)
	dir := filepath.Join(disk, "data")
	if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
		t.Fatal(err)
	}
	filler := fill(t, disk)
	l := begin(t, ltm.Options{Dir: dir})
	before, missing := l.times(t, entities[0], engram.TargetLTM, engram.All())
	if len(before) == 0 || len(missing) > 0 {
		t.Fatalf("on a full disk %v are found, missing %+v", before, missing)
	}
	list := mustEpisodes(t, l)
	if len(list) != 1 || list[0].Sealed {
		t.Fatalf("on a full disk there are %+v; want the one that was left open", list)
	}
	name := list[0].Name
	if _, err := l.Compact(t.Context(), false, nil); err != nil {
		t.Error(err)
	}
	if _, _, err := l.Repair(t.Context(), name); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("sealing it by hand on a full disk: %v; want Exhausted", err)
	}
	if _, err := l.Forget(t.Context(), ltm.Forgetting{Patterns: patterns(entities[1]), Why: "test"}, nil); err == nil {
		t.Error("what is to be forgotten of it went without any room")
	}
	if got, missing := l.times(t, entities[1], engram.TargetLTM, engram.All()); len(got) > 0 || len(missing) != 1 || missing[0].Reason != engram.MissingForgotten {
		t.Errorf("of what is to be forgotten %v are found, missing %+v", got, missing)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	l.FinishOrders()
	l.wantTimes(t, "when there is room", entities[0], engram.TargetLTM, engram.All(), before...)
	if got, missing := l.times(t, entities[1], engram.TargetLTM, engram.All()); len(got) > 0 || len(missing) != 1 || missing[0].Reason != engram.MissingForgotten {
		t.Errorf("when there is room, of what was forgotten %v are found, missing %+v", got, missing)
	}
	if left := files(t, dir, "episodes/*"); slices.ContainsFunc(left, func(f string) bool { return strings.HasPrefix(filepath.Base(f), name+".") }) {
		t.Errorf("when there is room there are %q", left)
	}
	wantSoon(t, "good health", func() bool { return len(l.Health()) == 0 }) // the log's manifest is written, too
	if err := l.DropEpisode(t.Context(), name, "test", "me"); err != nil {
		t.Error(err)
	}
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	if problems := l.Opened().Problems; len(problems) > 0 || len(mustEpisodes(t, l)) > 0 {
		t.Errorf("in the next epoch there are %+v and problems %q", mustEpisodes(t, l), problems)
	}
}

// An episode that is left open, and cannot be sealed, is dropped like a sealed one.
func TestLeftOpenIsDropped(t *testing.T) {
	dir, entities := leftOpen(t)
	l := begin(t, ltm.Options{Dir: dir, FS: newFullDisk(vfs.OS, true)})
	if err := l.DropEpisode(t.Context(), mustEpisodes(t, l)[0].Name, "test", "me"); err != nil {
		t.Fatal(err)
	}
	if left := files(t, dir, "episodes/*.mcap*"); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if err := l.TryAgain(t.Context()); err != nil || len(l.Health()) > 0 {
		t.Errorf("afterwards the health is %q, %v", l.Health(), err)
	}
	if _, missing := l.times(t, entities[0], engram.TargetLTM, engram.All()); len(missing) != 1 || missing[0].Reason != engram.MissingForgotten {
		t.Errorf("missing is %+v; want what was dropped", missing)
	}
}

// A sealed episode that the system refuses at the start is said to be missing and comes
// back as soon as it can be read.
func TestSealedThatIsRefusedComesBack(t *testing.T) {
	original := fastDir(t)
	l := begin(t, ltm.Options{Dir: original})
	const cup = "Test/Volatile/p/cup"
	for i := range 10 {
		l.commit(t, cup, engram.Time(i), i)
	}
	l.end(t)
	for what, fault := range map[string]vfs.Fault{
		"no descriptors":        {Op: vfs.OpOpen, Name: ".mcap", Err: syscall.EMFILE},
		"no right to read":      {Op: vfs.OpOpen, Name: ".mcap", Err: syscall.EACCES},
		"nothing is given back": {Op: vfs.OpRead, Name: ".mcap"},
	} {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, in the catalogue %v", what, known), func(t *testing.T) {
				dir := killed(t, original)
				sealed := files(t, dir, "episodes/*.mcap")
				if err := os.Chtimes(sealed[0], engram.Time(1).Std(), engram.Time(1).Std()); err != nil { // so that it is read again
					t.Fatal(err)
				}
				if !known {
					if err := os.Remove(filepath.Join(dir, "catalogue.db")); err != nil {
						t.Fatal(err)
					}
				}
				faulty := vfs.NewFaulty(vfs.OS, dir)
				faulty.Inject(fault)
				l := begin(t, ltm.Options{Dir: dir, FS: faulty})
				got, missing := l.times(t, cup, engram.TargetBoth, engram.All())
				if len(got) > 0 || len(missing) != 1 || missing[0].Reason != engram.MissingDamaged || known && missing[0].Count != 10 {
					t.Errorf("meanwhile %v are found, missing %+v", got, missing)
				}
				if err := l.TryAgain(t.Context()); err != nil || len(l.Health()) == 0 {
					t.Errorf("meanwhile the health is %q, %v", l.Health(), err)
				}
				faulty.Heal()
				if err := l.TryAgain(t.Context()); err != nil || len(l.Health()) > 0 {
					t.Errorf("when it can be read the health is %q, %v", l.Health(), err)
				}
				l.wantTimes(t, "when it can be read", cup, engram.TargetBoth, engram.All(), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
				l.end(t)
				l = begin(t, ltm.Options{Dir: dir})
				l.wantTimes(t, "in the next epoch", cup, engram.TargetBoth, engram.All(), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
			})
		}
	}
}

// What is damaged, and nobody knows what it held, is said to be missing by queries that may
// ask for it: of the time in which it arrived, or of a name that is not there.
func TestUnknownLossesAreTold(t *testing.T) {
	dir, entities := leftOpen(t)
	open := files(t, dir, "episodes/*.mcap.open")[0]
	if err := os.WriteFile(open, bytes.Repeat([]byte("noise"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	now := engram.Now()
	check := func(l *life, when string) {
		t.Helper()
		if list, err := l.Damaged(t.Context()); err != nil || len(list) != 1 || list[0].Name != filepath.Base(open)+".damaged" {
			t.Fatalf("%s damaged are %+v, %v", when, list, err)
		}
		for _, c := range []struct {
			entity string
			sel    engram.SnapshotSelector
			told   bool
		}{
			{entities[0], engram.Latest(1), true},
			{"Test/Volatile/p/nobody", engram.Latest(1), true},
			{"Test/Volatile/p/nobody", engram.In(engram.Interval{Start: now.Add(-1e12), End: now.Add(1e12)}), true},
			{"Test/Volatile/p/nobody", engram.In(engram.Interval{Start: 1, End: 100}), false}, // long before it was begun
			{"Test/Volatile/p/new", engram.Latest(1), false},
			{"Test/Synced/p/nobody", engram.Latest(1), false}, // the log has it
			{"Test/Volatile/p/new", engram.Latest(2), true},
		} {
			_, missing := l.times(t, c.entity, engram.TargetBoth, c.sel)
			if told := len(missing) == 1 && missing[0].Reason == engram.MissingDamaged && missing[0].ID == engram.MustID("Test/Volatile"); told != c.told || len(missing) > 1 {
				t.Errorf("%s, %s, %+v: missing %+v; want it told %v", when, c.entity, c.sel, missing, c.told)
			}
		}
	}
	l := begin(t, ltm.Options{Dir: dir})
	l.commit(t, "Test/Volatile/p/new", engram.Now().Add(30e9), 1)
	check(l, "at first")
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	check(l, "in the next epoch")
	if err := l.DropEpisode(t.Context(), filepath.Base(open)+".damaged", "test", "me"); err != nil {
		t.Fatal(err)
	}
	if _, missing := l.times(t, entities[0], engram.TargetBoth, engram.Latest(1)); len(missing) > 0 {
		t.Errorf("when it is dropped missing is %+v", missing)
	}
	if health := l.Health(); len(health) > 0 {
		t.Errorf("when it is dropped the health is %q", health)
	}
}

// What an earlier release has put aside, though something of it can be read, is said to be
// missing until it is repaired, with its number.
func TestPutAsideIsMissing(t *testing.T) {
	dir, entities := leftOpen(t)
	open := files(t, dir, "episodes/*.mcap.open")[0]
	if err := os.Rename(open, open+".damaged"); err != nil {
		t.Fatal(err)
	}
	for epoch := range 2 {
		l := begin(t, ltm.Options{Dir: dir})
		for _, e := range entities {
			if _, missing := l.times(t, e, engram.TargetLTM, engram.All()); len(missing) != 1 || missing[0].Reason != engram.MissingDamaged || missing[0].Count != 100 {
				t.Errorf("missing is %+v; want 100 that are damaged", missing)
			}
		}
		if epoch == 1 {
			if _, _, err := l.Repair(t.Context(), filepath.Base(open)+".damaged"); err != nil {
				t.Fatal(err)
			}
			for _, e := range entities {
				if got, missing := l.times(t, e, engram.TargetLTM, engram.All()); len(got) != 100 || len(missing) > 0 {
					t.Errorf("repaired, %d of 100 are found, missing %+v", len(got), missing)
				}
			}
			if health := l.Health(); len(health) > 0 {
				t.Errorf("repaired, the health is %q", health)
			}
		}
		l.end(t)
	}
}

// Small files that the system refuses keep a server from starting, which says so, and
// nothing of them is lost.
func TestSmallFilesThatAreRefused(t *testing.T) {
	folder, _ := settledFolder(t)
	for _, name := range []string{"state.json", "account.json"} {
		for _, fault := range []vfs.Fault{
			{Op: vfs.OpOpen, Name: name, Err: syscall.EMFILE}, {Op: vfs.OpOpen, Name: name, Err: syscall.EACCES}, {Op: vfs.OpOpen, Name: name}, {Op: vfs.OpRead, Name: name},
		} {
			faulty := vfs.NewFaulty(vfs.OS, folder)
			faulty.Inject(fault)
			s, err := ltm.Open(t.Context(), ltm.Options{Dir: folder, FS: faulty, Log: quiet})
			if err == nil {
				s.Close()
			}
			if engram.CodeOf(err) != engram.Unavailable || !strings.Contains(fmt.Sprint(err), name) {
				t.Errorf("opening a folder whose %s is refused: %v; want Unavailable that names it", name, err)
			}
			if aside := files(t, folder, "*.damaged"); len(aside) > 0 {
				t.Errorf("%q are put aside", aside)
			}
		}
	}
	checkSettled(t, "none", folder, "")
}
