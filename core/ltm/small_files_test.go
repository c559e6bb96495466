package ltm_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// settled makes a folder that has something in each of its small files, and returns it
// with their names.
func settledFolder(t *testing.T) (dir string, small []string) {
	t.Helper()
	dir = filepath.Join(fastDir(t), "data")
	l := begin(t, ltm.Options{Dir: dir})
	for i := range 6 {
		l.commit(t, "Test/Synced/p/cup", engram.Time(i), i)
		l.commit(t, "Test/Logged/p/pan", engram.Time(i), i)
	}
	for _, err := range []error{
		l.Mark(t.Context(), ltm.EpisodeMark(3, "bump", 1)),
		l.SetRule(t.Context(), ltm.Rule{Name: "falls", When: `state == "falls"`}),
		l.SetPolicy(t.Context(), policy.Override{Pattern: engram.MustPattern("Test/Volatile"), Settings: map[string]string{"record": "never"}}),
		l.Seal(t.Context(), "test"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	forget(t, l, ltm.Forgetting{Patterns: patterns("Test/Logged/p/pan"), Span: engram.Interval{Start: 1, End: 3}, Why: "test"})
	l.commit(t, "Test/Synced/p/later", engram.Time(7), 7)
	crashed := copyAlive(t, dir) // so that the log has something
	err := filepath.WalkDir(crashed, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || slices.Contains([]string{".mcap", ".open", ".log"}, filepath.Ext(path)) {
			return err
		}
		name, err := filepath.Rel(crashed, path)
		small = append(small, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return crashed, small
}

// Whatever becomes of one of the folder's small files, be it a flipped bit, a cut, nothing
// in it or that it is missing, the server starts, with all that was there.
func TestDamagedSmallFiles(t *testing.T) {
	folder, small := settledFolder(t)
	for _, name := range []string{"state.json", "account.json", "policies.yaml", "manifest.json", "catalogue.db", "log/Test/watermark"} {
		if !slices.Contains(small, name) {
			t.Fatalf("there is no %s; there are %q", name, small)
		}
	}
	chance := rand.New(rand.NewPCG(11, 12))
	flips := testkit.Repeats(3, 12)
	for _, name := range small {
		whole, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		harm := map[string]func(path string) error{
			"missing": os.Remove,
			"empty":   func(path string) error { return os.Truncate(path, 0) },
			"zeros":   func(path string) error { return os.WriteFile(path, make([]byte, len(whole)), 0o600) },
			"cut":     func(path string) error { return os.Truncate(path, int64(len(whole)/2)) },
		}
		for range flips {
			if len(whole) > 0 {
				harm["flip"+string(rune('a'+len(harm)))] = flip(whole, chance.IntN(len(whole)), chance.IntN(8))
			}
		}
		for what, f := range harm {
			dir := filepath.Join(fastDir(t), "data")
			if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
			if err := f(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			checkSettled(t, name+" "+what, dir, name)
			if t.Failed() {
				return
			}
		}
	}
}

func flip(whole []byte, at, bit int) func(path string) error {
	return func(path string) error {
		text := slices.Clone(whole)
		text[at] ^= 1 << bit
		return os.WriteFile(path, text, 0o600)
	}
}

// checkSettled begins an epoch in a folder and looks whether all is there.
func checkSettled(t *testing.T, what, dir, damaged string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the damage: %s", what)
		}
	}()
	l := begin(t, ltm.Options{Dir: dir})
	defer l.end(t)
	marks, err := l.Marks(t.Context(), engram.Always())
	rules, rulesErr := l.Rules(t.Context())
	if err != nil || rulesErr != nil || len(marks) != 1 || len(rules) != 1 {
		t.Errorf("marks %+v, rules %+v, %v, %v; health %q", marks, rules, err, rulesErr, l.Health())
	}
	// What a person may have written in a file of policies counts.
	if p := l.Policy(engram.MustID("Test/Volatile")); p.Record != policy.Never && damaged != "policies.yaml" {
		t.Errorf("the policy that was set is %+v", p)
	}
	l.wantTimes(t, "what was synced", "Test/Synced/p/cup", engram.TargetBoth, engram.All(), 0, 1, 2, 3, 4, 5)
	l.wantTimes(t, "what the log has", "Test/Synced/p/later", engram.TargetBoth, engram.All(), 7)
	got, missing := l.times(t, "Test/Logged/p/pan", engram.TargetBoth, engram.All())
	if !slices.Equal(got, []engram.Time{0, 2, 3, 4, 5}) || // the mark keeps one
		len(missing) != 1 || missing[0].Reason != engram.MissingForgotten {
		t.Errorf("of what was forgotten in part there are %d, missing %+v", got, missing)
	}
	if strings.HasSuffix(what, "empty") && slices.Contains([]string{"state.json", "account.json", "manifest.json"}, damaged) && !strings.Contains(strings.Join(l.Health(), "\n"), damaged) {
		t.Errorf("health does not say that the file was damaged: %q", l.Health())
	}
}

// A file of policies with a mistake leaves in force what was understood last, and health
// says what is wrong; what was never understood keeps the server from starting.
func TestMistakenPolicies(t *testing.T) {
	dir := fastDir(t)
	path := filepath.Join(dir, "policies.yaml")
	write := func(record string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("version: 1\npolicies:\n  Test/Volatile: {record: "+record+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("nevver")
	if _, err := ltm.Open(t.Context(), ltm.Options{Dir: dir, Log: quiet}); err == nil || !strings.Contains(err.Error(), "nevver") {
		t.Fatalf("the first file has a mistake: %v", err)
	}
	write("never")
	begin(t, ltm.Options{Dir: dir}).end(t)
	write("nevver")
	l := begin(t, ltm.Options{Dir: dir})
	if p := l.Policy(engram.MustID("Test/Volatile")); p.Record != policy.Never || !strings.Contains(strings.Join(l.Health(), " "), "nevver") {
		t.Errorf("in force is %+v, health %q", p, l.Health())
	}
}
