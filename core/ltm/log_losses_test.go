package ltm_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// copyAlive returns a copy of the folder of a store that runs, as if that was killed when
// its manifest was up to date.
func copyAlive(t *testing.T, dir string) string {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(time.Millisecond) {
		to := filepath.Join(fastDir(t), "data")
		err := os.CopyFS(to, os.DirFS(dir))
		if err == nil && len(files(t, to, "*.new")) == 0 {
			without := filepath.Join(fastDir(t), "data") // the manifest by itself
			if err = os.CopyFS(without, os.DirFS(to)); err != nil {
				t.Fatal(err)
			}
			for _, mark := range files(t, without, "log/*/watermark") {
				if err := os.Remove(mark); err != nil {
					t.Fatal(err)
				}
			}
			gone, err := wal.Check(wal.JournalOptions{Dir: filepath.Join(without, "log"), Manifest: filepath.Join(without, "manifest.json")})
			if err == nil && len(gone) == 0 {
				return to
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the folder is never settled: %v", err)
		}
	}
}

// killedLog returns the folder of a server that was killed after n synced commits, and the
// log file that has them.
func killedLog(t *testing.T, n int) (dir, log string) {
	t.Helper()
	alive := filepath.Join(fastDir(t), "data")
	l := begin(t, ltm.Options{Dir: alive})
	for i := range n {
		l.commit(t, fmt.Sprintf("Test/Synced/p/e%d", i), engram.Time(i), strings.Repeat("x", 500))
	}
	manifest := filepath.Join(alive, "manifest.json") // which is written soon after the first commit
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(manifest)
		if err == nil && regexp.MustCompile(`"Test":{[^}]*"files":\[{`).Match(text) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the manifest says %s, %v", text, err)
		}
	}
	dir = copyAlive(t, alive)
	for _, name := range files(t, dir, "log/Test/*.log") {
		if info, err := os.Stat(name); err == nil && info.Size() > 8192 {
			log = name
		}
	}
	if log == "" {
		t.Fatal("there is no log")
	}
	return dir, log
}

// A file of the log that is emptied, removed, replaced or cut keeps the server from
// starting, whose error names the file and what was there; nothing is changed, so that
// putting it back helps. If the loss is accepted it starts, and health, figures and
// answers tell of it, these in later epochs, too.
func TestLogThatIsGone(t *testing.T) {
	const n = 20
	_, otherLog := killedLog(t, 3)
	for name, c := range map[string]struct {
		harm func(dir, log string) error
		says []string
	}{
		"emptied": {func(_, log string) error { return os.Truncate(log, 0) }, []string{"0 are there"}},
		"removed": {func(_, log string) error { return os.Remove(log) }, []string{"missing", "0 are there"}},
		"cut in a record": {func(_, log string) error {
			info, err := os.Stat(log)
			return cmp.Or(err, os.Truncate(log, info.Size()-100))
		}, []string{"cut short"}},
		"cut between": {func(_, log string) error { return os.Truncate(log, 8192) }, []string{"cut short", "8192 are there"}},
		"replaced": {func(_, log string) error {
			text, err := os.ReadFile(otherLog)
			return cmp.Or(err, os.WriteFile(log, text, 0o600))
		}, []string{"on the disk"}},
		"overwritten": {func(_, log string) error {
			info, err := os.Stat(log)
			return cmp.Or(err, os.WriteFile(log, make([]byte, info.Size()), 0o600))
		}, []string{"header"}},
		"its folder removed":  {func(_, log string) error { return os.RemoveAll(filepath.Dir(log)) }, []string{"folder is missing"}},
		"all folders removed": {func(dir, _ string) error { return os.RemoveAll(filepath.Join(dir, "log")) }, []string{"folder is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, log := killedLog(t, n)
			whole := filepath.Join(fastDir(t), "whole")
			if err := os.CopyFS(whole, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if err := c.harm(dir, log); err != nil {
				t.Fatal(err)
			}
			_, err := ltm.Open(t.Context(), ltm.Options{Dir: dir, Log: quiet})
			if !errors.Is(err, wal.ErrGone) || engram.CodeOf(err) != engram.Corrupt {
				t.Fatalf("opening says %v", err)
			}
			for _, want := range append(c.says, filepath.Base(log), "--accept-loss") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("opening says %v; want %q in it", err, want)
				}
			}
			back := filepath.Join(fastDir(t), "back") // the file is put back
			if err := os.CopyFS(back, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(back, "log", "Test"), 0o700); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(whole, "log", "Test", filepath.Base(log)))
			if err := cmp.Or(err, os.WriteFile(filepath.Join(back, "log", "Test", filepath.Base(log)), text, 0o600)); err != nil {
				t.Fatal(err)
			}
			if name != "all folders removed" { // of these one is put back
				l := begin(t, ltm.Options{Dir: back})
				if got, missing := l.recorded(t, "Test/Synced/p"); got != n || len(missing) > 0 || l.Figures().LogLosses > 0 {
					t.Errorf("put back, of %d there are %d, missing %+v", n, got, missing)
				}
			}
			l := begin(t, ltm.Options{Dir: dir, AcceptLoss: true})
			l.tellsLogLoss(t, "accepted", n)
			if health := strings.Join(l.Health(), "\n"); !strings.Contains(health, filepath.Base(log)) {
				t.Errorf("health says %q", health)
			}
			later := engram.Now()
			l.commit(t, "Test/Synced/p/later", later, "x")
			l.end(t)
			l = begin(t, ltm.Options{Dir: dir})
			l.tellsLogLoss(t, "in the next epoch", n)
			if health := l.Health(); len(health) > 0 {
				t.Errorf("in the next epoch health says %q", health)
			}
			l.wantTimes(t, "what came later", "Test/Synced/p/later", engram.TargetBoth, engram.Latest(1), later)
		})
	}
}

// tellsLogLoss checks what is told of a log that lost some of n entities.
func (l *life) tellsLogLoss(t *testing.T, when string, n int) {
	t.Helper()
	got, missing := l.recorded(t, "Test/Synced/p")
	if got >= n+1 || l.Figures().LogLosses == 0 || len(l.LogLosses()) == 0 {
		t.Errorf("%s: of %d there are %d; %d losses are told", when, n, got, l.Figures().LogLosses)
	}
	entity := fmt.Sprintf("Test/Synced/p/e%d", n-1)
	_, named := l.times(t, entity, engram.TargetBoth, engram.Latest(1))
	for what, missing := range map[string][]engram.Missing{"a pattern": missing, "a name": named} {
		told := slices.ContainsFunc(missing, func(m engram.Missing) bool {
			return m.Reason == engram.MissingDamaged && m.ID == engram.MustID("Test/Synced") && m.Interval.End > m.Interval.Start
		})
		if len(missing) > 0 && !told || what == "a name" && !told {
			t.Errorf("%s: asked by %s, missing %+v", when, what, missing)
		}
	}
	if _, missing := l.times(t, "Test/Volatile/p/e", engram.TargetBoth, engram.All()); len(missing) > 0 {
		t.Errorf("%s: of a segment that is not logged, missing %+v", when, missing)
	}
}

// A flipped bit in the log keeps no server from starting; what it cost is told.
func TestLogThatIsDamagedIsTold(t *testing.T) {
	const n = 20
	for name, at := range map[string]float64{"in the middle": 0.5, "at the end": 0.99} {
		t.Run(name, func(t *testing.T) {
			dir, log := killedLog(t, n)
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			text[8192+int(at*float64(len(text)-8192))] ^= 4
			if err := os.WriteFile(log, text, 0o600); err != nil {
				t.Fatal(err)
			}
			l := begin(t, ltm.Options{Dir: dir})
			if got, _ := l.recorded(t, "Test/Synced/p"); got != n-1 {
				t.Errorf("of %d there are %d", n, got)
			}
			if len(l.Health()) == 0 || l.Figures().LogLosses != 1 {
				t.Errorf("health says %q, %d losses", l.Health(), l.Figures().LogLosses)
			}
			lost := n/2 - 1
			if name == "at the end" {
				lost = n - 1
			}
			found := 0
			for i := range n {
				times, missing := l.times(t, fmt.Sprintf("Test/Synced/p/e%d", i), engram.TargetBoth, engram.Latest(1))
				if len(times) == 0 {
					found++
					if len(missing) != 1 || missing[0].Reason != engram.MissingDamaged {
						t.Errorf("of e%d, which is lost, missing is %+v", i, missing)
					}
				}
			}
			if found != 1 {
				t.Errorf("%d are lost; about e%d was damaged", found, lost)
			}
		})
	}
}
