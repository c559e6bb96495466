package ltm_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// fastDir returns a folder in memory where there is one: fsync costs nothing there.
func fastDir(t testing.TB) string {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "engram-ltm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// acknowledged is what was committed, in an epoch that crashes.
type acknowledged struct {
	mu       sync.Mutex
	synced   []engram.ID       // acknowledged commits to synced segments
	contents map[string]string // of everything that was handed over, by ID
}

// A power cut between any two steps of the disk, while commits go on and an episode is
// sealed, loses no synced commit and shows no half snapshot; what is found then is
// found again in the epoch after.
func TestPowerCutBetweenAnyTwoSteps(t *testing.T) {
	images := testkit.Repeats(4, 12)
	for seed := range uint64(3) {
		count := crash(t, seed, -1, nil) // how many steps there are
		chance := rand.New(rand.NewPCG(seed, 1))
		for range images {
			at := chance.IntN(count)
			image := filepath.Join(fastDir(t), "image")
			var acked acknowledged
			crash(t, seed, at, func(f *vfs.Faulty, a *acknowledged) {
				a.mu.Lock()
				defer a.mu.Unlock()
				acked.synced, acked.contents = slices.Clone(a.synced), a.contents
				if err := f.CrashImage(image, chance); err != nil {
					t.Error(err)
				}
			})
			if _, err := os.Stat(image); err != nil {
				continue // the run had fewer steps this time
			}
			survives(t, fmt.Sprintf("seed %d, step %d of %d", seed, at, count), filepath.Join(image, "data"), &acked)
		}
	}
}

// crash runs an epoch, calls cut before the step of that number, and returns how many
// steps there were.
func crash(t *testing.T, seed uint64, at int, cut func(*vfs.Faulty, *acknowledged)) int {
	t.Helper()
	root := fastDir(t)
	faulty := vfs.NewFaulty(vfs.OS, root)
	acked := &acknowledged{contents: map[string]string{}}
	var mu sync.Mutex
	n := 0
	count := func() {
		mu.Lock()
		defer mu.Unlock()
		if n == at {
			cut(faulty, acked)
		}
		n++
	}
	l := begin(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: vfs.Before(faulty, count), LogFileBytes: 4096})
	chance := rand.New(rand.NewPCG(seed, 2))
	for i := range 60 {
		segment := segments[chance.IntN(len(segments))].ID
		id := engram.MustID(fmt.Sprintf("%s/p/e%d", segment, chance.IntN(3))).At(engram.Time(i))
		content := fmt.Sprintf("seed %d, commit %d, %0*d", seed, i, chance.IntN(2000), 0)
		p, err := idf.ValuePayload(content)
		if err != nil {
			t.Fatal(err)
		}
		acked.mu.Lock()
		acked.contents[id.String()] = content
		acked.mu.Unlock()
		results, err := l.wm.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
			Entity: id.Truncate(engram.LevelEntity), Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(p)},
		}}})
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
		if segment.CoreSegment() == "Synced" {
			acked.mu.Lock()
			acked.synced = append(acked.synced, id)
			acked.mu.Unlock()
		}
		if i == 25 || i == 40 {
			if err := l.Seal(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.end(t)
	return n
}

// survives checks what a crash has left, in this epoch and the next.
func survives(t *testing.T, what, dir string, acked *acknowledged) {
	t.Helper()
	var before []engram.ID
	for _, round := range []string{"after the crash", "an epoch later"} {
		l := begin(t, ltm.Options{Dir: dir})
		r, err := l.Query(t.Context(), engram.MustPattern("Test").Select(engram.All()))
		if err != nil {
			t.Fatalf("%s, %s: %v", what, round, err)
		}
		found := map[engram.ID]bool{}
		var all []engram.ID
		for item := range r.All() {
			found[item.ID] = true
			all = append(all, item.ID)
			if got, want := value(t, item.Snapshot), acked.contents[item.ID.String()]; got != want {
				t.Errorf("%s, %s: %v holds %.40q; want %.40q", what, round, item.ID, got, want)
			}
		}
		for _, id := range acked.synced {
			if !found[id] {
				t.Errorf("%s, %s: %v was acknowledged and is lost; begun %+v, opened %+v", what, round, id, l.begun, l.Opened())
			}
		}
		if before != nil && !slices.Equal(before, all) {
			t.Errorf("%s, %s: %d snapshots; there were %d", what, round, len(all), len(before))
		}
		before = all
		l.end(t)
		if left := files(t, dir, "episodes/*.open"); len(left) > 0 {
			t.Errorf("%s, %s: left open: %v", what, round, left)
		}
	}
}

// A disk that refuses for a while refuses synced commits and stops the recorder; when
// it works again, both go on, and nothing that was acknowledged is lost.
func TestRecordingHeals(t *testing.T) {
	root := fastDir(t)
	faulty := vfs.NewFaulty(vfs.OS, root)
	l := begin(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: faulty})
	const cup = "Test/Volatile/p/cup"
	l.commit(t, cup, 1, "before")
	l.wantTimes(t, "before", cup, engram.TargetLTM, engram.All(), 1)
	faulty.Inject(vfs.Fault{Err: vfs.ErrFull})
	l.commit(t, cup, 2, "while")
	sealed := make(chan error)
	go func() { sealed <- l.Seal(t.Context(), "test") }()
	for troubled := false; !troubled; runtime.Gosched() {
		stats, err := l.LTMStats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		troubled = len(stats.Health) > 0
	}
	faulty.Heal()
	<-sealed // with an error, unless the disk worked again before it was tried
	l.commit(t, cup, 3, "after")
	for err := l.Seal(t.Context(), "test"); err != nil; err = l.Seal(t.Context(), "test") {
		if !strings.Contains(err.Error(), "goes on by itself") { // a try that began before
			t.Fatal(err)
		}
	}
	l.wantTimes(t, "after", cup, engram.TargetLTM, engram.All(), 1, 2, 3)
	testkit.Until(t, func() (string, bool) { // the log's manifest is written again by itself
		stats, err := l.LTMStats(t.Context())
		return fmt.Sprintf("stats %+v, %v", stats, err), err == nil && len(stats.Health) == 0 && stats.Lost == 0
	})
}
