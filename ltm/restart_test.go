package ltm_test

import (
	"os"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/wm"
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
// after a clean end. The next life reads nothing back, has the last states, and
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
		t.Errorf("the next life had %d versions from the log, recorded %d again and recalled %d; want 0, 0 and 2",
			l.begun.Log.Snapshots, l.begun.Rerecord, l.begun.Recalled)
	}
	l.wantTimes(t, "the last state", "Test/Synced/p/e", engram.TargetWM, engram.Latest(1), 39)
	if got, _ := l.times(t, "Test/Synced/p/e", engram.TargetBoth, engram.All()); len(got) != 40 {
		t.Errorf("%d snapshots are found; want 40", len(got))
	}
}

// The log of a memory that this life does not host is nobody's to cut off.
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
	crashed := t.TempDir() // nothing of it is sealed
	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
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
	order.Patterns = patterns("*/Core/*/*")
	if _, err := l.Forget(t.Context(), order, nil); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("forgetting what only the log of an absent memory holds: %v; want Unavailable", err)
	}
	l.end(t)
	l = host("Here", "Away")
	l.wantTimes(t, "hosted again", "Away/Core/p/e", engram.TargetWM, engram.All(), 1)
}
