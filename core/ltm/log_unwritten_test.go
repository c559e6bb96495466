package ltm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// What was acknowledged as logged and the disk refuses is in RAM alone: health says how much,
// and after a kill queries and health say that it is lost, though the account had only the
// reserved room. When the disk works again nothing of that is said.
func TestLoggedInRAMIsToldAfterAKill(t *testing.T) {
	const n = 7
	full := []vfs.Fault{{Op: vfs.OpWrite, Name: "log", Err: vfs.ErrFull}, {Op: vfs.OpCreate, Err: vfs.ErrFull}, {Op: vfs.OpWrite, Name: "episodes", Err: vfs.ErrFull}}
	alive := filepath.Join(fastDir(t), "data")
	disk := vfs.NewFaulty(vfs.OS, filepath.Dir(alive))
	l := begin(t, ltm.Options{Dir: alive, FS: disk})
	l.commitMany(t, "Test/Logged/p", n)
	l.caughtUp(t)
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	disk.Inject(full...)
	l.commitMany(t, "Test/Logged/q", n)
	told := fmt.Sprintf("%d commits that were acknowledged as logged are in RAM only", n)
	wantSoon(t, "health that says what is in RAM only", func() bool { return strings.Contains(strings.Join(l.Health(), "\n"), told) })
	wantSoon(t, "an account of it", func() bool { return strings.Contains(accountIn(t, alive), `"unwritten":{`) })
	dir := copyAlive(t, alive)
	disk.Heal()
	wantSoon(t, "health after it works again", func() bool { return len(l.Health()) == 0 })
	for _, epoch := range []string{"after the kill", "the next one"} {
		k := begin(t, ltm.Options{Dir: dir})
		if got, missing := k.recorded(t, "Test/Logged/q"); got != 0 || len(missing) != 1 || missing[0].Count != n {
			t.Errorf("%s: %d are there, missing %+v; want %d missing", epoch, got, missing, n)
		}
		if _, missing := k.times(t, "Test/Logged/q/e1", engram.TargetBoth, engram.Latest(1)); len(missing) != 1 {
			t.Errorf("%s: of one of them missing is %+v", epoch, missing)
		}
		if got, missing := k.recorded(t, "Test/Logged/p"); got != n || len(missing) > 0 {
			t.Errorf("%s: of what was recorded %d are there, missing %+v", epoch, got, missing)
		}
		health := strings.Join(k.Health(), "\n")
		if told := strings.Contains(health, fmt.Sprintf("up to %d", n)); told != (epoch == "after the kill") {
			t.Errorf("%s: health says %q", epoch, health)
		}
		k.end(t)
	}
	l.end(t)
	l = begin(t, ltm.Options{Dir: alive})
	if got, missing := l.recorded(t, "Test/Logged/q"); got != n || len(missing) > 0 {
		t.Errorf("after the disk worked again: %d are there, missing %+v", got, missing)
	}
}

// What an episode has is not lost, though it was in no log when the server was killed.
func TestLoggedInRAMThatAnEpisodeHasIsNotLost(t *testing.T) {
	const n = 7
	alive := filepath.Join(fastDir(t), "data")
	disk := vfs.NewFaulty(vfs.OS, filepath.Dir(alive))
	l := begin(t, ltm.Options{Dir: alive, FS: disk})
	l.commitMany(t, "Test/Logged/p", 1)
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	disk.Inject(vfs.Fault{Op: vfs.OpWrite, Name: "log", Err: vfs.ErrFull}, vfs.Fault{Op: vfs.OpCreate, Name: "log", Err: vfs.ErrFull})
	l.commitMany(t, "Test/Logged/q", n)
	wantSoon(t, "an account of it", func() bool { return strings.Contains(accountIn(t, alive), `"unwritten":{`) })
	l.caughtUp(t)
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	dir := copyAlive(t, alive)
	disk.Heal()
	k := begin(t, ltm.Options{Dir: dir})
	if got, missing := k.recorded(t, "Test/Logged/q"); got != n || len(missing) > 0 {
		t.Errorf("%d are there, missing %+v; want %d", got, missing, n)
	}
	if health := strings.Join(k.Health(), "\n"); strings.Contains(health, "before this start") {
		t.Errorf("health says %q", health)
	}
}

// Of a commit of which the disk took a part before it refused, the rest is lost by a kill, and
// no part of it is taken for another.
func TestLoggedCommitThatIsWrittenInPart(t *testing.T) {
	for !writtenInPart(t) { // the disk refused before the whole commit was taken, which is refused then
	}
}

// writtenInPart reports whether the commit was taken before the disk refused it.
func writtenInPart(t *testing.T) bool {
	const n = 40
	alive := filepath.Join(fastDir(t), "data")
	disk := vfs.NewFaulty(vfs.OS, filepath.Dir(alive))
	l := begin(t, ltm.Options{Dir: alive, FS: disk})
	l.commitMany(t, "Test/Logged/p", 1)
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	disk.Inject(
		vfs.Fault{Op: vfs.OpWrite, Name: "log", Err: vfs.ErrFull, Short: 1500},
		vfs.Fault{Op: vfs.OpCreate, Err: vfs.ErrFull}, vfs.Fault{Op: vfs.OpWrite, Name: "episodes", Err: vfs.ErrFull},
	)
	p, err := idf.ValuePayload(1)
	if err != nil {
		t.Fatal(err)
	}
	var c engram.Commit // all of one time, and they arrive at once
	for i := range n {
		c.Updates = append(c.Updates, engram.EntityUpdate{Entity: engram.MustID(fmt.Sprintf("Test/Logged/q/e%d", i)), Time: 1, Instances: []engram.Instance{engram.NewInstance(p)}})
	}
	results, err := l.wm.Commit(t.Context(), c)
	if err != nil || engram.FirstError(results) != nil {
		disk.Heal()
		return false
	}
	wantSoon(t, "an account of it", func() bool { return strings.Contains(accountIn(t, alive), `"unwritten":{`) })
	dir := copyAlive(t, alive)
	k := begin(t, ltm.Options{Dir: dir})
	got, missing := k.recorded(t, "Test/Logged/q")
	if got == 0 || got == n || len(missing) != 1 || missing[0].Count != uint64(n-got) {
		t.Errorf("%d of %d are there, missing %+v", got, n, missing)
	}
	disk.Heal()
	return true
}

// What the log has again is not lost, though a kill came before the account said so, and
// though the policy wants none of it recorded.
func TestLoggedInRAMThatTheLogHasAgainIsNotLost(t *testing.T) {
	const n = 3
	for name, policies := range map[string]map[engram.ID]policy.Policy{
		"recorded": nil, "not recorded": {engram.MustID("Test/Logged"): {Record: policy.Never}},
	} {
		t.Run(name, func(t *testing.T) {
			alive := filepath.Join(fastDir(t), "data")
			disk := vfs.NewFaulty(vfs.OS, filepath.Dir(alive))
			l := begin(t, ltm.Options{Dir: alive, FS: disk, Policies: policies})
			l.commitMany(t, "Test/Logged/p", 1)
			disk.Inject(vfs.Fault{Op: vfs.OpWrite, Name: "log", Err: vfs.ErrFull}, vfs.Fault{Op: vfs.OpCreate, Name: "log", Err: vfs.ErrFull})
			l.commitMany(t, "Test/Logged/q", n)
			wantSoon(t, "an account of it", func() bool { return strings.Contains(accountIn(t, alive), `"unwritten":{`) })
			before := accountIn(t, alive)
			disk.Heal()
			wantSoon(t, "health after it works again", func() bool { return len(l.Health()) == 0 })
			dir := copyAlive(t, alive)
			if err := os.WriteFile(filepath.Join(dir, "account.json"), []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			k := begin(t, ltm.Options{Dir: dir, Policies: policies})
			if health := strings.Join(k.Health(), "\n"); health != "" {
				t.Errorf("health says %q", health)
			}
			if got, missing := k.times(t, "Test/Logged/q/e1", engram.TargetBoth, engram.All()); len(got) != 1 || len(missing) > 0 {
				t.Errorf("there are %v, missing %+v", got, missing)
			}
		})
	}
}

// accountIn returns the account in a folder.
func accountIn(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "account.json"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// What is reserved is there for any number of changes on a full disk.
func TestReserveServesAgain(t *testing.T) {
	const size = 100_000
	dir := fastDir(t)
	path := filepath.Join(dir, "account.json")
	if err := os.WriteFile(filepath.Join(dir, "reserve"), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	disk := vfs.NewFaulty(vfs.OS, dir)
	disk.Inject(vfs.Fault{Op: vfs.OpCreate, Name: ".new", Err: vfs.ErrFull})
	for i := range 5 {
		want := strings.Repeat("x", size/2+i)
		if err := ltm.ReplaceReserved(disk, dir, path, []byte(want)); err != nil {
			t.Fatalf("change %d on a full disk: %v", i, err)
		}
		if got, err := os.ReadFile(path); string(got) != want || err != nil {
			t.Fatalf("change %d: %d bytes, %v", i, len(got), err)
		}
		if left, err := os.Stat(filepath.Join(dir, "reserve")); err != nil || left.Size() != size {
			t.Fatalf("after change %d there is not reserved what was: %v", i, err)
		}
	}
}
