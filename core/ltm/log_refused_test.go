package ltm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
)

// What the log has alone of a segment that is not known any more, because its definition
// and the copy are lost, stays in the log and is told; once the segment was added again it
// is back at the next start.
func TestRefusedStaysInTheLog(t *testing.T) {
	const entity = "Test/Added/p/e"
	added := engram.CoreSegment{ID: engram.MustID("Test/Added"), Durability: engram.Synced}
	alive := filepath.Join(fastDir(t), "data")
	l := begin(t, ltm.Options{Dir: alive})
	if err := l.wm.AddCoreSegment(t.Context(), added); err != nil {
		t.Fatal(err)
	}
	want := []engram.Time{1, 2, 3}
	for _, at := range want {
		l.commit(t, entity, at, "x")
	}
	dir := copyAlive(t, alive)                      // of a server that was killed
	for _, e := range files(t, dir, "episodes/*") { // what the log has, none of these has
		if err := os.Remove(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files(t, dir, "log/=definitions*/*.log") {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, life := range []string{"the first epoch without", "the next one"} {
		l = begin(t, ltm.Options{Dir: dir, AcceptLoss: true})
		got, missing := l.times(t, entity, engram.TargetBoth, engram.All())
		if len(got) > 0 || len(missing) != 1 || missing[0].Reason != engram.MissingDamaged || missing[0].Count != uint64(len(want)) {
			t.Errorf("%s: found %v, missing %+v", life, got, missing)
		}
		if health := l.health(t); !strings.Contains(health, "stay in the log") {
			t.Errorf("%s: health says %q", life, health)
		}
		l.commit(t, "Test/Synced/p/e", engram.Now(), "y")
		if err := l.Seal(t.Context(), "test"); err != nil { // the log is not cut
			t.Fatal(err)
		}
		if life == "the next one" {
			if err := l.wm.AddCoreSegment(t.Context(), added); err != nil {
				t.Fatal(err)
			}
		}
		l.end(t)
	}
	l = begin(t, ltm.Options{Dir: dir})
	l.wantTimes(t, "added again", entity, engram.TargetBoth, engram.All(), want...)
	if _, missing := l.times(t, entity, engram.TargetBoth, engram.All()); len(missing) > 0 {
		t.Errorf("added again: missing %+v", missing)
	}
	if health := l.Health(); len(health) > 0 {
		t.Errorf("added again: health says %q", health)
	}
}
