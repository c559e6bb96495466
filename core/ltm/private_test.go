package ltm_test

import (
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// What is remembered is for the server's user alone: every file and folder, while it is
// written and afterwards.
func TestFilesArePrivate(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "made", "data")
	l := begin(t, ltm.Options{Dir: dir})
	check := func(when string, least int) {
		t.Helper()
		files, err := vfs.CheckPrivate(dir)
		if err != nil || files < least {
			t.Errorf("%s: there are %d files, %v; want %d at least", when, files, err, least)
		}
	}
	for i := range 20 {
		for _, entity := range durabilities {
			l.commit(t, entity, engram.Time(i), i)
		}
	}
	if err := l.SetPolicy(t.Context(), policy.Override{Pattern: engram.MustPattern("Test/Logged"), Settings: map[string]string{"record": "change"}}); err != nil {
		t.Fatal(err)
	}
	if err := l.SetRule(t.Context(), ltm.Rule{Name: "falls", When: `state == "falls"`}); err != nil {
		t.Fatal(err)
	}
	if err := l.Mark(t.Context(), ltm.EpisodeMark(3, "bump", 1)); err != nil {
		t.Fatal(err)
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Forget(t.Context(), ltm.Forgetting{Patterns: patterns("Test/Volatile"), Span: engram.Interval{Start: 1, End: 3}, Why: "test"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, entity := range durabilities { // of the next episode, and the log
		l.commit(t, entity, 100, "open")
	}
	if _, err := l.LTMStats(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("while it records", 8)
	l.end(t)
	check("after the end", 7)
}
