package copies_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

func parse(t *testing.T, text string) contract.Copy {
	t.Helper()
	c, err := copies.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func open(t *testing.T, m *fakeMemory, owners *fakeOwners, dir string, texts ...string) *copies.Holder {
	t.Helper()
	o := copies.Options{Memory: m, Owners: owners, Server: "base", Robot: "base", Owned: []string{"Mine"}, Dir: dir, Log: testkit.Quiet}
	for _, text := range texts {
		o.Configured = append(o.Configured, parse(t, text))
	}
	h, err := copies.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func status(t *testing.T, h *copies.Holder) []contract.Status {
	t.Helper()
	list, err := h.CopyStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func closeHolder(t *testing.T, h *copies.Holder) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// everything is what owners wrote, by the names of the copy.
func everything(prefix string, owners ...*fakeOwner) map[versionKey]string {
	all := map[versionKey]string{}
	for _, o := range owners {
		o.mu.Lock()
		for _, u := range o.log {
			if u.Entity.Level() == engram.LevelEntity {
				all[versionKey{engram.MustID(prefix + u.Entity.String()), u.Snapshot.Time, u.Snapshot.Arrived}] = string(u.Snapshot.Instances[0].Payload.Bytes)
			}
		}
		o.mu.Unlock()
	}
	return all
}

// Whatever happens to the link, the owner and the holder, the copy has everything that
// its owners wrote, once, as soon as they can be reached; and with a disk nothing is
// pulled twice but what a crash took.
func TestCopyIsComplete(t *testing.T) {
	for _, disk := range []bool{true, false} {
		for seed := range uint64(40) {
			synctest.Test(t, func(t *testing.T) { copyIsComplete(t, seed, disk) })
		}
	}
}

func copyIsComplete(t *testing.T, seed uint64, disk bool) {
	r := rand.New(rand.NewPCG(seed, 1))
	a, b := newFakeOwner("a"), newFakeOwner("b")
	b.clock = 500 // another computer's clock
	owners := &fakeOwners{}
	m := newFakeMemory(disk)
	dir := t.TempDir()
	h := open(t, m, owners, dir, "robot1:Object/Instance")
	defer func() { closeHolder(t, h) }()
	current, spoiled := a, false
	at := engram.Time(0)
	entities := []string{"cup", "can", "box"}
	for range 60 {
		switch r.IntN(14) {
		case 0:
			current.cut(true)
		case 1:
			current.cut(false)
		case 2:
			current.restart()
		case 3:
			closeHolder(t, h)
			if !disk {
				m.crash() // its memory ends with it
			}
			h = open(t, m, owners, dir, "robot1:Object/Instance")
		case 4: // as after kill -9: what the holder would write at its end is lost
			saved := t.TempDir()
			copyFiles(t, dir, saved)
			m.mu.Lock()
			synced := m.synced
			m.mu.Unlock()
			closeHolder(t, h)
			m.mu.Lock()
			m.synced = synced
			m.mu.Unlock()
			m.crash()
			copyFiles(t, saved, dir)
			spoiled = true
			h = open(t, m, owners, dir, "robot1:Object/Instance")
		case 5:
			owners.set(nil)
		case 6:
			owners.set(current)
		case 7: // a standby takes over, or gives back
			if current == a {
				current = b
			} else {
				current = a
			}
			owners.set(current)
		case 8:
			time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		case 9:
			m.mu.Lock()
			m.fail = engram.Errorf(engram.Unavailable, "", "the disk is full")
			m.mu.Unlock()
		case 10:
			current.alter(func() { current.repeat, current.batch = r.IntN(3), 1+r.IntN(4) })
			spoiled = true
		default:
			for range r.IntN(8) {
				at += engram.Time(r.IntN(3)) // some supersede
				current.write(entities[r.IntN(len(entities))], at)
			}
			if r.IntN(2) == 0 {
				synctest.Wait()
			}
		}
	}
	for _, o := range []*fakeOwner{a, b} {
		o.cut(false)
		owners.set(o)
		time.Sleep(10 * time.Second)
		synctest.Wait()
	}
	if got, want := m.content(), everything("robot1:", a, b); !maps.Equal(got, want) {

		t.Fatalf("seed %d: the copy has %d versions, its owners wrote %d", seed, len(got), len(want))
	}
	s := status(t, h)[0]
	if s.State != contract.StateLive || s.Updates != 0 || s.Lag != 0 || s.Lost != 0 {
		t.Errorf("seed %d: in the end the status is %+v", seed, s)
	}
	if stored := m.applied.Stored; disk && !spoiled && stored != uint64(len(m.content())) {
		t.Errorf("seed %d: %d versions were stored, %d are there", seed, stored, len(m.content()))
	}
}

func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	old, _ := filepath.Glob(filepath.Join(to, "*"))
	for _, name := range old {
		os.Remove(name)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// What rules left out is told by queries that ask for it, counted, kept over a
// restart, and can be fetched; so is what was lost, but for the fetching.
func TestMissingAndFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m, dir := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(true), t.TempDir()
		owners.set(o)
		h := open(t, m, owners, dir, "robot1:Object/Instance rate=1 max-payload=1KB")
		cup := engram.MustID("Object/Instance/P/cup")
		o.write("cup", 10)
		o.write("box", 10)
		o.other(fakeUpdate{leftOut: &contract.LeftOut{Entity: cup, Reason: contract.LeftOutRate, Count: 3, Bytes: 30, Interval: engram.Interval{Start: 11, End: 14}}})
		o.other(fakeUpdate{leftOut: &contract.LeftOut{Entity: cup, Reason: contract.LeftOutSize, Count: 1, Bytes: 5000, Interval: engram.Interval{Start: 20, End: 21}}})
		o.other(fakeUpdate{lost: &engram.Missing{ID: engram.MustID("Object/Instance/P/box"), Reason: engram.MissingEvicted, Count: 7, Interval: engram.Interval{Start: 1, End: 5}}})
		o.write("cup", 15)
		synctest.Wait()
		noticed := engram.Now()

		here := engram.MustID("robot1:Object/Instance/P/cup")
		left := func(first, last engram.Time, count uint64) engram.Missing {
			return engram.Missing{ID: here, Reason: engram.MissingLeftOut, Count: count, Interval: engram.Interval{Start: first, End: last + 1}}
		}
		lost := engram.Missing{ID: engram.MustID("robot1:Object/Instance/P/box"), Reason: engram.MissingEvicted, Count: 7, Interval: engram.Interval{Start: 1, End: 5}}
		check := func(when string, q engram.Query, want ...engram.Missing) {
			t.Helper()
			got, _ := h.Explain(&q)
			if !sameMissing(got, want) {
				t.Errorf("%s: missing is %+v, want %+v", when, got, want)
			}
		}
		all := engram.MustPattern("robot1:Object").Select(engram.All())
		check("all", all, left(11, 13, 3), left(20, 20, 1), lost)
		check("all of one", engram.SelectID(here, engram.All()), left(11, 13, 3), left(20, 20, 1))
		check("a range", engram.SelectID(here, engram.In(engram.Interval{Start: 12, End: 20})), left(12, 13, 0))
		check("before", engram.SelectID(here, engram.In(engram.Interval{Start: 0, End: 11})))
		check("the latest", engram.SelectID(here, engram.Latest(1)), left(20, 20, 1))
		check("at or before what is there", engram.SelectID(here, engram.AtOrBefore(15)))
		check("another memory", engram.MustPattern("Object").Select(engram.All()))
		check("names only", engram.Query{Memories: []engram.QueryNode{{}}})
		o.mu.Lock()
		now := o.clock
		o.mu.Unlock()
		time.Sleep(3 * time.Second)
		got3, used := m.explain(&all)
		if want := (engram.CopyUsed{Memory: "robot1:Object", Server: "base", AsOf: now, Lag: 3 * time.Second}); len(got3) != 3 || !slices.Equal(used, []engram.CopyUsed{want}) {
			t.Errorf("the memory is told %+v and %+v, want %+v", got3, used, want)
		}

		closeHolder(t, h)
		h = open(t, m, owners, dir, "robot1:Object/Instance rate=1 max-payload=1KB")
		synctest.Wait()
		check("after a restart", all, left(11, 13, 3), left(20, 20, 1), lost)
		s := status(t, h)[0]
		if want := []contract.LeftOutCount{{Reason: contract.LeftOutRate, Count: 3, Bytes: 30}, {Reason: contract.LeftOutSize, Count: 1, Bytes: 5000}}; !slices.Equal(s.LeftOut, want) || s.Lost != 7 {
			t.Errorf("left out is %+v and %d lost, want %+v and 7", s.LeftOut, s.Lost, want)
		}
		if want := []contract.Loss{{ID: lost.ID, Reason: lost.Reason, Count: 7, Interval: lost.Interval, Noticed: noticed}}; !slices.Equal(s.Losses, want) {
			t.Errorf("lost is %+v, want %+v", s.Losses, want)
		}

		// What was left out is at the owner all the same.
		for _, at := range []engram.Time{11, 12, 13, 20} {
			o.write("cup", at)
			m.mu.Lock()
			delete(m.held, versionKey{here, at, 0})
			m.mu.Unlock()
		}
		synctest.Wait()
		got, err := h.Fetch(t.Context(), contract.Fetching{Patterns: []engram.Pattern{engram.MustPattern("robot1:Object/Instance/P/cup")}, Span: engram.Interval{Start: 11, End: 14}})
		if err != nil || got.Had+got.Versions != 3 || got.More {
			t.Errorf("fetched %+v, %v", got, err)
		}
		check("after fetching", engram.SelectID(here, engram.All()), left(20, 20, 1))
		got, err = h.Fetch(t.Context(), contract.Fetching{Patterns: []engram.Pattern{engram.MustPattern("robot1:Object")}, MaxBytes: 10})
		if err != nil || !got.More {
			t.Errorf("fetching little: %+v, %v", got, err)
		}
		_, err = h.Fetch(t.Context(), contract.Fetching{Patterns: []engram.Pattern{engram.MustPattern("robot2:Object")}})
		if engram.CodeOf(err) != engram.NotFound {
			t.Errorf("fetching what is not copied: %v", err)
		}
		closeHolder(t, h)
		if m.explain != nil {
			t.Error("the memory still asks a holder that is closed")
		}
	})
}

// Who asks a copy for what is believed now is told that the owner has corrected that, if
// a rule left the correction out.
func TestCorrectionThatWasLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m, dir := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(true), t.TempDir()
		owners.set(o)
		const copied = `robot1:Object/Instance where="confidence > 0.5"`
		h := open(t, m, owners, dir, copied)
		leave := func(first, last engram.Time) {
			o.other(fakeUpdate{leftOut: &contract.LeftOut{Entity: engram.MustID("Object/Instance/P/cup"), Reason: contract.LeftOutFilter, Count: 1, Interval: engram.Interval{Start: first, End: last + 1}}})
		}
		here := engram.MustID("robot1:Object/Instance/P/cup")
		check := func(when string, want bool) {
			t.Helper()
			synctest.Wait()
			for _, selector := range []engram.SnapshotSelector{engram.Latest(1), engram.AtOrBefore(15), engram.AtOrBefore(100)} {
				q := engram.SelectID(here, selector)
				if got, _ := h.Explain(&q); (len(got) == 1) != want || want && got[0].Reason != engram.MissingLeftOut {
					t.Errorf("%s, of %v: missing is %+v, want any: %v", when, selector, got, want)
				}
			}
		}
		leave(12, 12)
		o.write("cup", 15)
		check("what was left out is older", false)
		leave(15, 15)
		check("the newest is corrected", true)
		q := engram.SelectID(here, engram.AtOrBefore(14))
		if got, _ := h.Explain(&q); len(got) == 0 {
			t.Error("what lies before is not told of")
		}
		closeHolder(t, h)
		h = open(t, m, owners, dir, copied)
		check("after a restart", true)
		o.write("cup", 15)
		check("corrected again, by what travels", false)
		closeHolder(t, h)
	})
}

// A stamp far ahead of the clock does not hide what rules left out of the present, whatever
// an earlier release took for the newest.
func TestLeftOutBesideAStampAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m, dir := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(true), t.TempDir()
		owners.set(o)
		const copied, present, ahead = `robot1:Object/Instance where="confidence > 0.5"`, 1000, 1_000_000
		m.present = present
		h := open(t, m, owners, dir, copied)
		leave := func(entity string, at engram.Time) {
			o.other(fakeUpdate{leftOut: &contract.LeftOut{Entity: engram.MustID("Object/Instance/P/" + entity), Reason: contract.LeftOutFilter, Count: 1, Interval: engram.Interval{Start: at, End: at + 1}}})
		}
		check := func(when, entity string, want ...engram.Time) {
			t.Helper()
			synctest.Wait()
			q := engram.SelectID(engram.MustID("robot1:Object/Instance/P/"+entity), engram.Latest(1))
			got, _ := h.Explain(&q)
			var times []engram.Time
			for _, m := range got {
				times = append(times, m.Interval.Start)
			}
			if !slices.Equal(times, want) {
				t.Errorf("%s, of the latest is missing %+v, want that of %v", when, got, want)
			}
		}
		leave("cup", 12)
		o.write("cup", 15)
		o.write("cup", ahead)
		leave("cup", ahead+1)
		check("what was left out is older, or ahead", "cup")
		leave("cup", 16)
		check("a newer one is left out", "cup", 16)
		o.write("cup", 17)
		check("one that is newer still came", "cup")
		o.write("plate", ahead)
		leave("plate", 16)
		check("all is ahead, and one of the present is left out", "plate", 16)
		o.write("plate", 17)
		check("one of the present came", "plate")
		closeHolder(t, h)

		m.present = engram.MaxTime // so it was before there was a present
		h = open(t, m, owners, dir, copied)
		o.write("bowl", ahead)
		leave("bowl", 16)
		check("nothing is ahead", "bowl")
		closeHolder(t, h)
		m.present = present
		h = open(t, m, owners, dir, copied)
		check("after a restart", "cup")
		check("after a restart", "bowl", 16)
		o.write("bowl", 17)
		check("after a restart, one of the present came", "bowl")
		closeHolder(t, h)
	})
}

func sameMissing(a, b []engram.Missing) bool {
	order := func(x, y engram.Missing) int {
		return cmp.Or(x.ID.Compare(y.ID), cmp.Compare(x.Interval.Start, y.Interval.Start))
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	return slices.Equal(a, b)
}

// Removals are carried out, in order with what was written before and after them.
func TestRemovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(true)
		owners.set(o)
		h := open(t, m, owners, t.TempDir(), "robot1:Object")
		defer closeHolder(t, h)
		o.alter(func() { o.batch = 100 })
		o.write("cup", 1)
		o.other(fakeUpdate{leftOut: &contract.LeftOut{Entity: engram.MustID("Object/Instance/P/cup"), Reason: contract.LeftOutRate, Count: 1, Interval: engram.Interval{Start: 2, End: 3}}})
		o.write("box", 1)
		o.other(fakeUpdate{removal: &contract.Removal{Pattern: engram.MustPattern("*/Instance/*/cup"), Span: engram.Always(), Until: o.clock}})
		o.write("cup", 1)
		synctest.Wait()
		got := m.content()
		if len(got) != 2 {
			t.Errorf("%v is held, want the box and the second cup", got)
		}
		q := engram.MustPattern("robot1:Object").Select(engram.All())
		if missing, _ := h.Explain(&q); len(missing) > 0 {
			t.Errorf("%+v is missing of what is gone at its owner", missing)
		}
		if s := status(t, h)[0]; s.Removed != 1 {
			t.Errorf("%d removed", s.Removed)
		}
	})
}

func TestAddAndRemoveCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m, dir := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(true), t.TempDir()
		owners.set(o)
		h := open(t, m, owners, dir, "robot1:Object/Other")
		o.write("cup", 1)
		add := func(text string) error { return h.AddCopy(t.Context(), parse(t, text)) }
		for text, code := range map[string]engram.Code{
			"Mine":                       engram.Conflict, // the server owns it
			"base:Mine":                  engram.Conflict, // by its full name
			"robot1:Object/Other rate=1": engram.Conflict, // it is configured
		} {
			if err := add(text); engram.CodeOf(err) != code {
				t.Errorf("adding %s: %v, want %v", text, err, code)
			}
		}
		if err := add("robot1:Object/Instance"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(m.content()); n != 1 {
			t.Errorf("%d versions are held of a copy that was added", n)
		}
		if err := add("robot1:Object/Instance rate=5"); err != nil {
			t.Fatal(err)
		}
		o.write("cup", 2)
		synctest.Wait()
		closeHolder(t, h)

		// What was added is there in the next epoch, what is not configured any more is not.
		h = open(t, m, owners, dir)
		synctest.Wait()
		list := status(t, h)
		if len(list) != 1 || copies.Format(&list[0].Copy) != "robot1:Object/Instance rate=5" || list[0].Configured {
			t.Fatalf("the copies of the next epoch are %+v", list)
		}
		if stored, had := m.applied.Stored, m.applied.Had; stored != 2 || had != 0 {
			t.Errorf("%d versions were stored and %d came twice", stored, had)
		}
		if err := h.RemoveCopy(t.Context(), "robot1:Object", false); engram.CodeOf(err) != engram.NotFound {
			t.Errorf("removing what is not there: %v", err)
		}
		if err := h.RemoveCopy(t.Context(), "robot1:Object/Instance", false); err != nil {
			t.Fatal(err)
		}
		o.write("cup", 3)
		time.Sleep(5 * time.Second)
		if n := len(m.content()); n != 2 {
			t.Errorf("%d versions are held of a copy that was removed at 2", n)
		}
		if err := add("robot1:Object/Instance"); err != nil {
			t.Fatal(err)
		}
		if err := add("robot1:Object/Instance/P/cup"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		// What another copy has of it, too, is pulled again.
		if err := h.RemoveCopy(t.Context(), "robot1:Object/Instance", true); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, want := m.content(), everything("robot1:", o); !maps.Equal(got, want) {
			t.Errorf("%d versions are held, want %d", len(got), len(want))
		}
		if err := h.RemoveCopy(t.Context(), "robot1:Object/Instance/P/cup", true); err != nil {
			t.Fatal(err)
		}
		closeHolder(t, h)
		if n := len(m.content()); n != 0 {
			t.Errorf("%d versions are held of copies that were dropped", n)
		}
		h = open(t, m, owners, dir)
		if list := status(t, h); len(list) != 0 {
			t.Errorf("copies that were removed are back: %+v", list)
		}
		closeHolder(t, h)
	})
}

// Whatever happens to a file of the folder, the holder begins, and says so: it takes the
// copy of the file, and its copy of the memory goes on where it was; where that is damaged
// too, a copy that is configured begins anew, and one that was added can be added again.
func TestDamagedFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m, dir := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(true), t.TempDir()
		owners.set(o)
		o.write("cup", 1)
		owners.join("robot2:Object", newFakeOwner("b"))
		h := open(t, m, owners, dir, "robot1:Object")
		add(t, h, "robot2:Object")
		add(t, h, "*:Speech")
		synctest.Wait()
		closeHolder(t, h)
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		if len(files) != 6 {
			t.Fatalf("the files are %v", files)
		}
		whole := map[string][]byte{}
		for _, f := range files {
			whole[f], _ = os.ReadFile(f)
		}
		restore := func() {
			left, _ := filepath.Glob(filepath.Join(dir, "*"))
			for _, f := range left {
				if err := os.RemoveAll(f); err != nil {
					t.Fatal(err)
				}
			}
			for f, text := range whole {
				if err := os.WriteFile(f, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		before := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !strings.HasSuffix(f, vfs.CopySuffix) })
		try := func(what, file string, both bool, damage func(path string) error) {
			t.Helper()
			restore()
			paths := []string{file}
			if both {
				paths = append(paths, file+vfs.CopySuffix)
			}
			for _, path := range paths {
				if err := damage(path); err != nil {
					t.Fatal(err)
				}
			}
			m.applied = contract.Applied{}
			h := open(t, m, owners, dir, "robot1:Object")
			synctest.Wait()
			list := status(t, h)
			lacks := len(list) < 3
			switch robot1 := list[slices.IndexFunc(list, func(s contract.Status) bool { return s.Configured })]; {
			case robot1.State != contract.StateLive || m.applied.Stored != 0:
				t.Errorf("%s: the status is %+v; %+v was applied", what, robot1, m.applied)
			case !both && (lacks || m.applied.Had != 0):
				t.Errorf("%s: there are %+v; %+v was applied", what, list, m.applied)
			case both && !lacks && m.applied.Had == 0:
				t.Errorf("%s: nothing begins anew, and nothing lacks", what)
			}
			if len(h.Problems()) == 0 && (both || slices.Contains(files, file) && !slices.Contains(before, file)) && !strings.Contains(what, "checksum") {
				t.Errorf("%s: it is not told", what)
			}
			closeHolder(t, h)
			// What was found is whole again, but what is gone of it.
			h = open(t, m, owners, dir, "robot1:Object")
			if p := h.Problems(); len(p) > 0 || len(status(t, h)) != len(list) {
				t.Errorf("%s: in the next epoch: %q", what, p)
			}
			closeHolder(t, h)
			if t.Failed() {
				t.FailNow()
			}
		}
		for _, file := range files {
			damages := map[string]func(path string) error{
				"removed":  os.Remove,
				"emptied":  func(path string) error { return os.Truncate(path, 0) },
				"cut":      func(path string) error { return os.Truncate(path, int64(len(whole[file])/2)) },
				"large":    func(path string) error { return os.Truncate(path, 1<<30) },
				"another":  func(path string) error { return os.WriteFile(path, whole[other(files, file)], 0o600) },
				"a folder": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
			}
			for what, damage := range damages {
				both := !strings.HasSuffix(file, vfs.CopySuffix)
				try(filepath.Base(file)+" "+what, file, false, damage)
				if both && what != "removed" {
					try(filepath.Base(file)+" and its copy "+what, file, true, damage)
				}
			}
		}
		file := files[slices.IndexFunc(files, func(f string) bool { return strings.Contains(string(whole[f]), "robot1") })]
		for i := range whole[file] {
			what := fmt.Sprintf("bit %d of byte %d", i%8, i)
			if i < len(`{"checksum":"`) {
				what += " of the checksum's name" // then it is that of a file without
			}
			try(what, file, false, func(path string) error {
				text := slices.Clone(whole[path])
				text[i] ^= 1 << (i % 8)
				return os.WriteFile(path, text, 0o600)
			})
		}
	})
}

// other returns a file of another copy.
func other(files []string, not string) string {
	return files[slices.IndexFunc(files, func(f string) bool {
		return strings.TrimSuffix(f, vfs.CopySuffix) != strings.TrimSuffix(not, vfs.CopySuffix)
	})]
}

// Files of earlier releases have no checksum and no copy.
func TestFileOfAnEarlierRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m, dir := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(true), t.TempDir()
		owners.set(o)
		o.write("cup", 1)
		h := open(t, m, owners, dir)
		add(t, h, "robot1:Object")
		synctest.Wait()
		closeHolder(t, h)
		files, _ := filepath.Glob(filepath.Join(dir, "copy-*.json"))
		if len(files) != 1 {
			t.Fatalf("the files are %v", files)
		}
		text, err := os.ReadFile(files[0])
		if err == nil {
			checksum := len(`"checksum":"12345678",`)
			err = errors.Join(os.Remove(files[0]+vfs.CopySuffix), os.WriteFile(files[0], append([]byte("{"), text[1+checksum:]...), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			h = open(t, m, owners, dir)
			synctest.Wait()
			if s := status(t, h); len(s) != 1 || s[0].State != contract.StateLive || m.applied.Stored != 1 || m.applied.Had != 0 || len(h.Problems()) > 0 {
				t.Errorf("there are %+v; %+v was applied; problems %q", s, m.applied, h.Problems())
			}
			closeHolder(t, h)
			if err := os.Truncate(files[0], 10); err == nil { // its copy was made
				m.applied.Had = 0
				h = open(t, m, owners, dir)
				synctest.Wait()
				if s := status(t, h); len(s) != 1 || m.applied.Had != 0 || len(h.Problems()) != 1 {
					t.Errorf("cut there are %+v; %+v was applied; problems %q", s, m.applied, h.Problems())
				}
				closeHolder(t, h)
			}
		}
	})
}

// While the owner is away the lag goes on, and it is over when the owner is back.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(false)
		h := open(t, m, owners, "", "robot1:Object")
		defer closeHolder(t, h)
		time.Sleep(5 * time.Second)
		if s := status(t, h)[0]; s.State != contract.StateWaiting || s.Contact != 0 || !strings.Contains(s.Error, "nobody owns it") {
			t.Errorf("before there is an owner the status is %+v", s)
		}
		owners.set(o)
		synctest.Wait()
		if s := status(t, h)[0]; s.State != contract.StateLive || s.Lag != 0 || s.Owner != "a" || s.Error != "" {
			t.Errorf("with its owner the status is %+v", s)
		}
		o.cut(true)
		time.Sleep(time.Minute)
		if s := status(t, h)[0]; s.State != contract.StateWaiting || s.Lag != time.Minute || !strings.Contains(s.Error, "cut") {
			t.Errorf("after a minute without its owner the status is %+v", s)
		}
		o.cut(false)
		time.Sleep(1500 * time.Millisecond)
		if s := status(t, h)[0]; s.State != contract.StateLive || s.Lag != 0 {
			t.Errorf("a moment after its owner is back the status is %+v", s)
		}
	})
}

// What an owner tells of what was not asked for is not believed, nor what makes no sense.
func TestOwnerThatTellsOfOtherThings(t *testing.T) {
	box, cup := engram.MustID("Object/Instance/P/box"), engram.MustID("Object/Instance/P/cup")
	left := func(l contract.LeftOut) func(*fakeOwner) {
		return func(o *fakeOwner) { o.other(fakeUpdate{leftOut: &l}) }
	}
	lost := func(m engram.Missing) func(*fakeOwner) {
		return func(o *fakeOwner) { o.other(fakeUpdate{lost: &m}) }
	}
	for name, tell := range map[string]func(*fakeOwner){
		"a version":                       func(o *fakeOwner) { o.write("cup", 1) },
		"what rules left out":             left(contract.LeftOut{Entity: cup, Reason: contract.LeftOutRate, Count: 1}),
		"what rules left out, no entity":  left(contract.LeftOut{Entity: box.Parent(), Reason: contract.LeftOutRate, Count: 1}),
		"what rules left out, by nothing": left(contract.LeftOut{Entity: box, Reason: contract.LeftOutRate, Bytes: -1}),
		"why rules left something out":    left(contract.LeftOut{Entity: box, Reason: strings.Repeat("x", 1000), Count: 1}),
		"what was lost":                   lost(engram.Missing{ID: cup, Reason: engram.MissingEvicted, Count: 1}),
		"a segment that was lost":         lost(engram.Missing{ID: engram.MustID("Object/Instance/Q"), Reason: engram.MissingEvicted, Count: 1}),
		"why something was lost":          lost(engram.Missing{ID: box, Reason: strings.Repeat("x", 1000), Count: 1}),
		"why something was lost, no text": lost(engram.Missing{ID: box, Reason: "\xff", Count: 1}),
		"why something was lost, nothing": lost(engram.Missing{ID: box, Count: 1}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, owners, m := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(false)
				owners.set(o)
				h := open(t, m, owners, "", "robot1:Object/Instance/P/box")
				defer closeHolder(t, h)
				tell(o)
				synctest.Wait()
				if s := status(t, h)[0]; s.State != contract.StateFailed || len(m.content()) != 0 || len(s.LeftOut) > 0 || s.Lost > 0 {
					t.Errorf("the status is %+v, %v is held", s, m.content())
				}
			})
		})
	}
	// What lies above what was asked for may be lost with it.
	synctest.Test(t, func(t *testing.T) {
		o, owners := newFakeOwner("a"), &fakeOwners{}
		owners.set(o)
		h := open(t, newFakeMemory(false), owners, "", "robot1:Object/Instance/P/box")
		defer closeHolder(t, h)
		for _, id := range []engram.ID{{}, engram.MustID("Object"), engram.MustID("Object/Instance/P"), box} {
			lost(engram.Missing{ID: id, Reason: engram.MissingDamaged, Count: 1})(o)
		}
		synctest.Wait()
		if s := status(t, h)[0]; s.State != contract.StateLive || s.Lost != 4 {
			t.Errorf("the status is %+v", s)
		}
	})
}

// What an owner tells by rules that were changed meanwhile comes again by the new ones:
// what the old ones left out is not counted.
func TestLeftOutByRulesThatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(false)
		owners.set(o)
		var looking atomic.Pointer[chan struct{}]
		owners.finding = func(string) {
			if found := looking.Load(); found != nil {
				<-*found
			}
		}
		h := open(t, m, owners, "")
		defer closeHolder(t, h)
		add(t, h, "robot1:Object rate=2")
		synctest.Wait()
		found := make(chan struct{})
		looking.Store(&found)
		add(t, h, "robot1:Object rate=1") // the pull goes on by the old ones until owners are found
		synctest.Wait()
		cup := engram.MustID("Object/Instance/P/cup")
		span := engram.Interval{Start: 1, End: 100}
		o.other(fakeUpdate{leftOut: &contract.LeftOut{Entity: cup, Reason: contract.LeftOutRate, Count: 100, Interval: span}})
		o.other(fakeUpdate{lost: &engram.Missing{ID: cup, Reason: engram.MissingEvicted, Count: 10, Interval: span}})
		o.write("cup", 200)
		synctest.Wait()
		if s := status(t, h)[0]; len(s.LeftOut) > 0 || s.Lost > 0 || !m.has(entityOf("robot1", "cup")) {
			t.Errorf("by the old rules the copy is %+v", s)
		}
		close(found)
		synctest.Wait()
		if s := status(t, h)[0]; len(s.LeftOut) != 1 || s.LeftOut[0].Count != 100 || s.Lost != 10 || s.State != contract.StateLive {
			t.Errorf("by the new rules the copy is %+v", s)
		}
	})
}

// What was lost is told for whatever reason, those of newer owners too, whether one
// entity is asked for or many are.
func TestLostIsToldForAnyReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(false)
		owners.set(o)
		h := open(t, m, owners, "", "robot1:Object")
		defer closeHolder(t, h)
		reasons := []string{engram.MissingEvicted, engram.MissingForgotten, engram.MissingFiltered, engram.MissingDamaged, "another reason"}
		for _, reason := range reasons {
			o.other(fakeUpdate{lost: &engram.Missing{ID: engram.MustID("Object/Instance/P/cup"), Reason: reason, Count: 7}})
		}
		synctest.Wait()
		here := entityOf("robot1", "cup")
		for _, q := range []engram.Query{engram.SelectID(here, engram.All()), engram.PatternOf(here.Parent()).Select(engram.All())} {
			missing, _ := h.Explain(&q)
			for _, reason := range reasons {
				if !slices.ContainsFunc(missing, func(m engram.Missing) bool { return m.ID == here && m.Reason == reason && m.Count == 7 }) {
					t.Errorf("%v: missing is %+v, without what is %s", q, missing, reason)
				}
			}
		}
	})
}

// A copy of a whole memory says up to which update of its owner it has all; no other does.
func TestPositionIsToldOfWholeCopies(t *testing.T) {
	for _, test := range []struct {
		copy  string
		whole bool
	}{
		{"robot1:Object", true}, {"robot1:Object priority=5 max-bytes=1MB", true}, {"robot1:Object/Instance", false},
		{"robot1:Object rate=1", false}, {"robot1:Object max-payload=1KB", false}, {"robot1:Object fields=pose", false},
		{"robot1:Object where='true'", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			o, owners, m := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(true)
			owners.set(o)
			h := open(t, m, owners, "", test.copy)
			q := engram.MustPattern("robot1:Object/Instance").Select(engram.Latest(1))
			for i := range engram.Time(3) {
				o.write("cup", 10*(i+1))
				synctest.Wait()
				o.mu.Lock()
				want := engram.CopyUsed{Epoch: o.epoch, Number: o.number}
				o.mu.Unlock()
				if !test.whole {
					want = engram.CopyUsed{}
				}
				if _, used := m.explain(&q); len(used) != 1 || used[0].Epoch != want.Epoch || used[0].Number != want.Number {
					t.Errorf("%s: told is %+v, want %+v", test.copy, used, want)
				}
			}
			closeHolder(t, h)
		})
	}
}
