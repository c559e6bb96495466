package ltm_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// killed copies what an epoch has on disk now, as a kill would leave it.
func killed(t testing.TB, dir string) (image string) {
	t.Helper()
	image = filepath.Join(fastDir(t), "image")
	if err := vfs.CopySettled(image, dir); err != nil {
		t.Fatal(err)
	}
	return image
}

// A kill soon after the start leaves an episode in which nothing is. It does not stay.
func TestKillSoonLeavesNoEpisode(t *testing.T) {
	dir := fastDir(t)
	const cup = "Test/Synced/p/cup"
	for life := range 4 {
		l := begin(t, ltm.Options{Dir: dir})
		if s := l.Opened().Salvaged; len(s) > 0 {
			t.Errorf("life %d found %+v left open; nothing was in it", life, s)
		}
		l.commit(t, cup, engram.Time(life), life)
		l.wantTimes(t, "on disk", cup, engram.TargetLTM, engram.Latest(1), engram.Time(life))
		if open := files(t, dir, "episodes/*.open"); len(open) != 1 {
			t.Fatalf("life %d has %q open; the test needs one", life, open)
		}
		dir = killed(t, dir)
	}
	l := begin(t, ltm.Options{Dir: dir})
	if left := files(t, dir, "episodes/*.mcap"); len(left) > 0 {
		t.Errorf("after four kills there are %q", left)
	}
	l.wantTimes(t, "after four kills", cup, engram.TargetBoth, engram.All(), 0, 1, 2, 3)
}

// A file that was only begun, before its head was on disk, is nothing to repair.
func TestFileThatWasOnlyBegun(t *testing.T) {
	dir := fastDir(t)
	begin(t, ltm.Options{Dir: dir}).end(t)
	for i, head := range []string{"", "\x89MCAP0\r\n"} {
		name := filepath.Join(dir, "episodes", "2026-01-01T00-00-00Z-00000"+string(rune('1'+i))+".mcap.open")
		if err := os.WriteFile(name, []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := begin(t, ltm.Options{Dir: dir})
	if o := l.Opened(); len(o.Salvaged)+len(o.Problems) > 0 {
		t.Errorf("opening found %+v", o)
	}
	if left := files(t, dir, "episodes/*"); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// No two episodes bear one number, whatever of the folder can be read.
func TestNumbersOfEpisodesAreNotRepeated(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	l.commit(t, "Test/Volatile/p/e", 1, 1)
	l.end(t)
	sealed := files(t, dir, "episodes/*.mcap")
	if len(sealed) != 1 {
		t.Fatal(sealed)
	}
	if err := os.Truncate(sealed[0], 100); err != nil {
		t.Fatal(err)
	}
	l = begin(t, ltm.Options{Dir: dir})
	l.commit(t, "Test/Volatile/p/e", 2, 2)
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	infos, err := l.Episodes(t.Context(), engram.Always())
	if err != nil || len(infos) != 1 || !strings.HasSuffix(infos[0].Name, "-000002.mcap") {
		t.Errorf("%+v, %v; want number 2, since 1 is damaged", infos, err)
	}
}

// What a repair has saved is not said to be damaged any more.
func TestRepairedIsNotDamaged(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	l.commit(t, "Test/Volatile/p/e", 1, 1)
	l.end(t)
	sealed := files(t, dir, "episodes/*.mcap")
	if len(sealed) != 1 {
		t.Fatal(sealed)
	}
	// An earlier version of the program might not have been able to salvage it.
	damaged := sealed[0] + ".open.damaged"
	if err := os.Rename(sealed[0], damaged); err != nil {
		t.Fatal(err)
	}
	l = begin(t, ltm.Options{Dir: dir})
	list, err := l.Damaged(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != filepath.Base(damaged) {
		t.Fatalf("damaged are %+v, %v", list, err)
	}
	if _, _, err := l.Repair(t.Context(), list[0].Name); err != nil {
		t.Fatal(err)
	}
	if list, err := l.Damaged(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("after the repair damaged are %+v, %v", list, err)
	}
	l.wantTimes(t, "repaired", "Test/Volatile/p/e", engram.TargetLTM, engram.All(), 1)
}

// What a repair could not save is told of each entity, by the repair and by queries, also
// in later epochs.
func TestWhatARepairDoesNotSaveStaysLost(t *testing.T) {
	const each = 1000
	entities := []string{"Test/Volatile/p/a", "Test/Volatile/p/b"}
	original := fastDir(t)
	l := begin(t, ltm.Options{Dir: original})
	noise := make([]byte, 1000) // that takes many chunks
	random := rand.NewChaCha8([32]byte{})
	for i := range each {
		for _, e := range entities {
			random.Read(noise)
			l.commit(t, e, engram.Time(i), fmt.Sprintf("%x", noise))
		}
	}
	l.end(t)
	cut := func(b []byte) []byte { return b[:len(b)/2] }
	holed := func(b []byte) []byte { clear(b[len(b)/3 : len(b)/3+4096]); return b }
	for what, c := range map[string]struct {
		damage func([]byte) []byte
		served bool // it is repaired by the server
	}{
		"cut":            {cut, true},
		"holed":          {holed, true},
		"cut, no server": {cut, false},
	} {
		t.Run(what, func(t *testing.T) {
			dir := killed(t, original)
			sealed := files(t, dir, "episodes/*.mcap")
			if len(sealed) != 1 {
				t.Fatal(sealed)
			}
			name := filepath.Base(sealed[0])
			b, err := os.ReadFile(sealed[0])
			if err == nil {
				err = os.WriteFile(sealed[0], c.damage(b), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			l := begin(t, ltm.Options{Dir: dir})
			if c.served {
				_, problems, err := l.Repair(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				told := false
				for _, p := range problems {
					told = told || strings.HasSuffix(p.What, "stay lost")
				}
				if !told {
					t.Errorf("%+v does not say what is lost of each entity", problems)
				}
			} else {
				l.end(t)
				f, err := ltm.OpenFolder(dir)
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err = f.Repair(t.Context(), name); err == nil {
					err = f.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
				l = begin(t, ltm.Options{Dir: dir})
			}
			check := func(when string) {
				t.Helper()
				some := false
				for _, e := range entities {
					got, missing := l.times(t, e, engram.TargetLTM, engram.All())
					some = some || len(got) > 0 && len(got) < each
					if len(got) == each && len(missing) == 0 {
						continue
					}
					if len(missing) != 1 || missing[0].Reason != engram.MissingDamaged || missing[0].Count != uint64(each-len(got)) {
						t.Errorf("%s: %d of %d are there, missing %+v", when, len(got), each, missing)
					}
				}
				if !some {
					t.Errorf("%s: no entity has lost a part; the test needs one", when)
				}
			}
			check("repaired")
			l.end(t)
			l = begin(t, ltm.Options{Dir: dir})
			check("in the next epoch")
		})
	}
}

// A damaged episode that nothing can be saved of is dropped as others are, unless it is
// kept; what it held is forgotten then, and not damaged.
func TestDamagedEpisodeIsDropped(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const cup = "Test/Volatile/p/cup"
	l.commit(t, cup, 1, 1)
	l.commit(t, cup, 2, 2)
	l.end(t)
	sealed := files(t, dir, "episodes/*.mcap")
	if len(sealed) != 1 {
		t.Fatal(sealed)
	}
	name := filepath.Base(sealed[0])
	l = begin(t, ltm.Options{Dir: dir})
	if err := l.KeepEpisode(t.Context(), name, true); err != nil {
		t.Fatal(err)
	}
	l.end(t)
	if err := os.WriteFile(sealed[0], []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	l = begin(t, ltm.Options{Dir: dir})
	missing := func(want string) {
		t.Helper()
		if _, missing := l.times(t, cup, engram.TargetLTM, engram.All()); len(missing) != 1 || missing[0].Reason != want || missing[0].Count != 2 {
			t.Errorf("missing is %+v; want 2 %s", missing, want)
		}
	}
	missing(engram.MissingDamaged)
	if _, _, err := l.Repair(t.Context(), name); err == nil {
		t.Fatal("it was repaired")
	}
	if err := l.DropEpisode(t.Context(), "2026-01-01T00-00-00Z-000099.mcap", "test", "me"); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("dropping what is not there: %v", err)
	}
	if err := l.DropEpisode(t.Context(), name, "test", "me"); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("dropping a kept one: %v", err)
	}
	if err := l.KeepEpisode(t.Context(), name, false); err != nil {
		t.Fatal(err)
	}
	if err := l.KeepEpisode(t.Context(), name, true); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("keeping a damaged one: %v", err)
	}
	if err := l.DropEpisode(t.Context(), name, "test", "me"); err != nil {
		t.Fatal(err)
	}
	if list, err := l.Damaged(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("after it was dropped %+v is damaged, %v", list, err)
	}
	if left := files(t, dir, "episodes/*.mcap*"); len(left) > 0 {
		t.Errorf("after it was dropped there are %q", left)
	}
	missing(engram.MissingForgotten)
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	missing(engram.MissingForgotten)
}
