package ltm_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// nothingReserved keeps the store from using what it has reserved on the disk.
var nothingReserved = vfs.Fault{Op: vfs.OpRename, Name: "reserve"}

// A disk that fails while one of the store's small files is written has the call refused
// and changes nothing, now and after a loss of power; when it works again, so does the
// call, and nothing is left beside the file. (The log, the definitions and the episodes
// have such tests beside them.)
func TestSmallFilesOnAFailingDisk(t *testing.T) {
	const cup = "Test/Logged/p/cup"
	for what, c := range map[string]struct {
		file    string
		do      func(t *testing.T, l *life) error
		done    func(t *testing.T, l *life) bool
		ordered bool // what was ordered once is done later if it cannot be done at once
	}{
		"a rule": {"state.json", func(t *testing.T, l *life) error {
			return l.SetRule(t.Context(), ltm.Rule{Name: "falls", When: `state == "falls"`})
		}, func(t *testing.T, l *life) bool {
			rules, err := l.Rules(t.Context())
			if running := l.RunningRules(); err != nil || running != len(rules) {
				t.Errorf("%d rules are followed of %d, %v", running, len(rules), err)
			}
			return len(rules) > 0
		}, false},
		"a mark": {"state.json", func(t *testing.T, l *life) error {
			return l.Mark(t.Context(), ltm.EpisodeMark(3, "bump", 1))
		}, func(t *testing.T, l *life) bool {
			marks, err := l.Marks(t.Context(), engram.Always())
			if err != nil {
				t.Error(err)
			}
			return len(marks) > 0
		}, false},
		"a policy": {"policies.yaml", func(t *testing.T, l *life) error {
			return l.SetPolicy(t.Context(), policy.Override{Pattern: engram.MustPattern("Test/Volatile"), Settings: map[string]string{"record": "never"}})
		}, func(t *testing.T, l *life) bool {
			set := len(l.PolicyOverrides()) > 0
			if never := l.Policy(engram.MustID("Test/Volatile")).Record == policy.Never; never != set {
				t.Errorf("the policy is set: %v; it is in force: %v", set, never)
			}
			return set
		}, false},
		"an order to forget": {"account.json", func(t *testing.T, l *life) error {
			_, err := l.Forget(t.Context(), ltm.Forgetting{Patterns: patterns(cup), Span: engram.Interval{Start: 2, End: 4}, Why: "test"}, nil)
			return err
		}, func(t *testing.T, l *life) bool {
			got, _ := l.times(t, cup, engram.TargetBoth, engram.All())
			return len(got) == 4
		}, true},
	} {
		for fault, f := range map[string]vfs.Fault{
			"no room":     {Op: vfs.OpCreate, Err: vfs.ErrFull},
			"create":      {Op: vfs.OpCreate},
			"full":        {Op: vfs.OpWrite, Err: vfs.ErrFull},
			"write":       {Op: vfs.OpWrite},
			"short write": {Op: vfs.OpWrite, Err: vfs.ErrFull, Short: 20},
			"sync":        {Op: vfs.OpSync},
			"rename":      {Op: vfs.OpRename},
		} {
			t.Run(what+"/"+fault, func(t *testing.T) {
				root := fastDir(t)
				faulty := vfs.NewFaulty(vfs.OS, root)
				dir := filepath.Join(root, "data")
				l := begin(t, ltm.Options{Dir: dir, FS: faulty})
				for i := range 6 {
					l.commit(t, cup, engram.Time(i), i)
				}
				if err := l.Seal(t.Context(), "test"); err != nil {
					t.Fatal(err)
				}
				f.Name = c.file
				faulty.Inject(f, nothingReserved)
				want := engram.Unavailable
				if f.Err == vfs.ErrFull {
					want = engram.Exhausted
				}
				if err := c.do(t, l); engram.CodeOf(err) != want || !strings.Contains(err.Error(), c.file) {
					t.Errorf("while the disk fails: %v; want %v that names %s", err, want, c.file)
				}
				image := filepath.Join(fastDir(t), "image")
				if err := faulty.CrashImage(image, rand.New(rand.NewPCG(7, 8))); err != nil {
					t.Fatal(err)
				}
				if !c.ordered && c.done(t, l) {
					t.Error("what was refused is done")
				}
				faulty.Heal()
				if err := c.do(t, l); err != nil {
					t.Errorf("when the disk works again: %v", err)
				}
				if !c.done(t, l) {
					t.Error("when the disk works again it is not done")
				}
				l.end(t)
				if left := files(t, dir, "*.new"); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				l = begin(t, ltm.Options{Dir: dir})
				if !c.done(t, l) {
					t.Error("in the next epoch it is not done")
				}
				l.end(t)
				l = begin(t, ltm.Options{Dir: filepath.Join(image, "data")})
				if !c.ordered && c.done(t, l) {
					t.Error("after a loss of power what was refused is done")
				}
			})
		}
	}
}

// A request to forget that cannot be noted on disk is one that was not made: those who
// hold copies, who follow the working memory's removals, are not told of it.
func TestRefusedRequestIsNotTold(t *testing.T) {
	const cup = "Test/Logged/p/cup"
	root := fastDir(t)
	faulty := vfs.NewFaulty(vfs.OS, root)
	l := begin(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: faulty})
	l.commit(t, cup, 1, "x")
	faulty.Inject(vfs.Fault{Op: vfs.OpCreate, Name: "state.json", Err: vfs.ErrFull}, nothingReserved)
	f := ltm.Forgetting{Patterns: patterns(cup), Why: "test"}
	if _, err := l.Forget(t.Context(), f, nil); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("on a full disk: %v", err)
	}
	if told, _, _ := l.wm.Removals().List(); len(told) > 0 || len(l.Orders()) > 0 {
		t.Errorf("told is %+v, ordered %+v; the request was refused", told, l.Orders())
	}
	l.wantTimes(t, "after the request was refused", cup, engram.TargetBoth, engram.All(), 1)
	faulty.Heal()
	forget(t, l, f)
	if told, _, _ := l.wm.Removals().List(); len(told) != 1 {
		t.Errorf("told is %+v; the request was carried out", told)
	}
}
