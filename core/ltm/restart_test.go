package ltm_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// logBytes is what the log of a memory takes on disk.
func logBytes(t testing.TB, dir, memory string) (n int64) {
	t.Helper()
	for _, name := range files(t, dir, "log/"+memory+"/*.log") {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// What sealed episodes hold is not in the log any more: not after sealing, and not
// after a clean end. The next epoch reads nothing back, has the last states, and
// finds the others on disk.
func TestLogIsEmptyAfterSealing(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, ltm.Options{Dir: dir})
	payload := string(make([]byte, 10_000))
	for i := range 20 {
		l.commit(t, "Test/Synced/p/e", engram.Time(i), payload)
		l.commit(t, "Test/Logged/p/e", engram.Time(i), payload)
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	const header = 8192
	if n := logBytes(t, dir, "Test"); n > header {
		t.Errorf("after sealing the log has %d bytes; want a file without records", n)
	}
	for i := range 20 {
		l.commit(t, "Test/Synced/p/e", engram.Time(20+i), payload)
	}
	l.end(t)
	if n := logBytes(t, dir, "Test"); n > header {
		t.Errorf("after a clean end the log has %d bytes; want a file without records", n)
	}
	l = begin(t, ltm.Options{Dir: dir})
	if l.begun.Log.Snapshots != 0 || l.begun.Rerecord != 0 || l.begun.Recalled != 2 {
		t.Errorf("the next epoch had %d versions from the log, recorded %d again and recalled %d; want 0, 0 and 2",
			l.begun.Log.Snapshots, l.begun.Rerecord, l.begun.Recalled)
	}
	l.wantTimes(t, "the last state", "Test/Synced/p/e", engram.TargetWM, engram.Latest(1), 39)
	if got, _ := l.times(t, "Test/Synced/p/e", engram.TargetBoth, engram.All()); len(got) != 40 {
		t.Errorf("%d snapshots are found; want 40", len(got))
	}
}

// The log of a memory that this epoch does not host is nobody's to cut off.
func TestLogOfAnAbsentMemoryStays(t *testing.T) {
	dir := t.TempDir()
	host := func(memories ...string) *life {
		s, err := ltm.Open(t.Context(), ltm.Options{Dir: dir, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		l := &life{Store: s, wm: wm.New(wm.Config{Types: s.Types(), Journal: s.Journal()})}
		t.Cleanup(func() { l.end(t) })
		for _, m := range memories {
			if err := l.wm.AddMemory(m, engram.Bounds{}); err != nil {
				t.Fatal(err)
			}
			if err := l.wm.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID(m + "/Core"), Durability: engram.Synced}); err != nil {
				t.Fatal(err)
			}
		}
		if l.begun, err = s.Begin(t.Context(), l.wm); err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := host("Here", "Away")
	l.commit(t, "Away/Core/p/e", 1, "x")
	crashed := copyAlive(t, dir) // nothing of it is sealed
	l.end(t)
	dir = crashed
	for _, f := range files(t, dir, "episodes/*") {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	l = host("Here")
	l.commit(t, "Here/Core/p/e", 1, "y")
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	order := ltm.Forgetting{Patterns: patterns("Here/Core/*/*"), Why: "asked"}
	if done := forget(t, l, order); done.Versions != 1 {
		t.Errorf("forgot %+v; want what is here", done)
	}
	l.end(t)
	before := t.TempDir() // the order: one that was not finished is carried out when the memory is back
	if err := os.CopyFS(before, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	l = host("Here")
	order.Patterns = patterns("*/Core/*/*")
	if _, err := l.Forget(t.Context(), order, nil); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("forgetting what only the log of an absent memory holds: %v; want Unavailable", err)
	}
	l.end(t)
	dir = before
	l = host("Here", "Away")
	l.wantTimes(t, "hosted again", "Away/Core/p/e", engram.TargetWM, engram.All(), 1)
}

// A server starts on a full disk: what the log holds and no episode does is there, and
// recorded when there is room; until then nothing is cut off, Health says so, and answers
// name what they miss.
func TestBeginOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	l := begin(t, ltm.Options{Dir: dir})
	for i := range 10 {
		l.commit(t, "Test/Synced/p/e", engram.Time(i), i)
	}
	crashed := copyAlive(t, dir) // nothing of it is sealed
	for _, f := range files(t, crashed, "episodes/*") {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	fs := vfs.NewFaulty(vfs.OS, crashed)
	s, err := ltm.Open(t.Context(), ltm.Options{Dir: crashed, FS: fs, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	fs.Inject(vfs.Fault{Op: vfs.OpCreate, Name: "episodes", Err: vfs.ErrFull})
	l = &life{Store: s, wm: wm.New(wm.Config{Types: s.Types(), Journal: s.Journal()})}
	if err := l.wm.AddMemory("Test", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	for _, seg := range segments {
		if err := l.wm.AddCoreSegment(t.Context(), seg); err != nil {
			t.Fatal(err)
		}
	}
	if l.begun, err = s.Begin(t.Context(), l.wm); err != nil {
		t.Fatal(err)
	}
	if l.begun.Log.Snapshots != 10 || l.begun.Rerecord != 0 {
		t.Errorf("%d versions came from the log, %d were recorded; want 10 and none", l.begun.Log.Snapshots, l.begun.Rerecord)
	}
	l.wantTimes(t, "on a full disk", "Test/Synced/p/e", engram.TargetWM, engram.Latest(1), 9)
	_, missing := l.times(t, "Test/Synced/p/e", engram.TargetBoth, engram.All())
	if len(missing) != 1 || missing[0].Reason != engram.MissingEvicted || missing[0].Interval != (engram.Interval{Start: 0, End: 7}) {
		t.Errorf("on a full disk missing is %+v; want what the working memory does not hold", missing)
	}
	postponed := func() bool {
		return slices.ContainsFunc(l.Health(), func(wrong string) bool { return strings.Contains(wrong, "10 versions") })
	}
	if !postponed() {
		t.Errorf("on a full disk the health is %q", l.Health())
	}
	image := killed(t, crashed)
	fs.Heal()
	for tries := 0; tries < 20_000 && l.versions(t, "Test/Synced/p/e") < 10; tries++ {
		if err := l.LookBack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.commit(t, "Test/Synced/p/e", 10, "later")
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	l.wantTimes(t, "when there is room", "Test/Synced/p/e", engram.TargetBoth, engram.All(), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	if postponed() {
		t.Errorf("when there is room the health is %q", l.Health())
	}
	if n := logBytes(t, crashed, "Test"); n > 8192 {
		t.Errorf("when there is room the log has %d bytes after sealing", n)
	}
	if stats, err := l.LTMStats(t.Context()); err != nil || stats.Lost > 0 {
		t.Errorf("when there is room %d are lost, %v", stats.Lost, err)
	}
	l.end(t)
	l = begin(t, ltm.Options{Dir: crashed})
	if l.begun.Rerecord > 0 {
		t.Errorf("the next epoch recorded %d versions again", l.begun.Rerecord)
	}
	l.wantTimes(t, "in the next epoch", "Test/Synced/p/e", engram.TargetLTM, engram.All(), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	if n := l.versions(t, "Test/Synced/p/e"); n != 11 {
		t.Errorf("%d versions are recorded; want 11", n)
	}
	l = begin(t, ltm.Options{Dir: image})
	l.wantTimes(t, "in an epoch after a kill on the full disk", "Test/Synced/p/e", engram.TargetLTM, engram.All(), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
}

// A sync that the disk refused once does not let the log grow for good.
func TestLogIsCutAfterARefusedSync(t *testing.T) {
	dir := t.TempDir()
	fs := vfs.NewFaulty(vfs.OS, dir)
	l := begin(t, ltm.Options{Dir: dir, FS: fs})
	for round := range 2 {
		for i := range 10 {
			l.commit(t, "Test/Synced/p/e", engram.Time(10*round+i), "x")
		}
		if round == 0 {
			fs.Inject(vfs.Fault{Op: vfs.OpSync, Name: "episodes", Times: 1})
		}
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	if n := logBytes(t, dir, "Test"); n > 8192 {
		t.Errorf("the log has %d bytes; want a file without records", n)
	}
	if got, missing := l.times(t, "Test/Synced/p/e", engram.TargetLTM, engram.All()); len(got) != 20 || len(missing) > 0 {
		t.Errorf("%d snapshots are found, missing %+v; want 20", len(got), missing)
	}
}

// More quiet entities than an episode takes do not begin one episode after another.
func TestManyValuesInForce(t *testing.T) {
	t.Cleanup(ltm.SetMaxChannels(600))
	var now atomic.Int64
	now.Store(1e18)
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir, Now: func() engram.Time { return engram.Time(now.Load()) }})
	for i := range 700 {
		l.commit(t, fmt.Sprintf("Test/Volatile/p/%d", i), 1, "x")
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	now.Add(int64(time.Minute))
	before := len(files(t, dir, "episodes/*"))
	l.commit(t, "Test/Volatile/p/new", 2, "x")
	l.end(t)
	if n := len(files(t, dir, "episodes/*")) - before; n != 1 {
		t.Errorf("%d episodes were begun for one update", n)
	}
}

// A killed server whose log has more entities than an episode takes begins, and records them all.
func TestBeginWithManyEntitiesInTheLog(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const n = 95
	for i := range n {
		l.commit(t, fmt.Sprintf("Test/Synced/p/e%d", i), 1, i)
	}
	crashed := copyAlive(t, dir) // nothing of it is sealed
	l.end(t)
	for _, f := range files(t, crashed, "episodes/*") {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(ltm.SetMaxChannels(10))
	again := begin(t, ltm.Options{Dir: crashed})
	if again.begun.Log.Snapshots != n || again.begun.Rerecord != n {
		t.Errorf("%d versions came from the log, %d were recorded; want %d", again.begun.Log.Snapshots, again.begun.Rerecord, n)
	}
	if err := again.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		again.wantTimes(t, "after the kill", fmt.Sprintf("Test/Synced/p/e%d", i), engram.TargetLTM, engram.All(), 1)
	}
}
