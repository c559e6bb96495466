package ltm_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// overloaded begins an epoch in which only a few updates may wait for the recorder.
func overloaded(t testing.TB, o ltm.Options) *life { return beginWithin(t, o, wm.Limits{MaxQueue: 4}) }

var durabilities = []string{"Test/Volatile/p/e", "Test/Logged/p/e", "Test/Synced/p/e"}

// overload commits to each segment what falls out of the recorder's queue, and of the
// working memory, before it is taken up, and returns the times of all of it.
func (l *life) overload(t testing.TB, from, to int) (all []engram.Time) {
	t.Helper()
	release := l.HoldRecorder()
	defer release()
	for i := from; i < to; i++ {
		for _, entity := range durabilities {
			l.commit(t, entity, engram.Time(i), fmt.Sprintf("%s at %d", entity, i))
		}
		if i%5 == 0 { // and a correction
			l.commit(t, durabilities[1], engram.Time(i), fmt.Sprintf("%s at %d", durabilities[1], i))
		}
		all = append(all, engram.Time(i))
	}
	return all
}

// versions counts what the episodes hold of an entity, but for values in force.
func (l *life) versions(t testing.TB, entity string) (n uint64) {
	t.Helper()
	infos, err := l.Episodes(t.Context(), engram.Always())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		_, entities, err := l.Episode(t.Context(), info.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entities {
			if e.ID.String() == entity {
				n += e.Snapshots - e.InForce
			}
		}
	}
	return n
}

// What falls out of the recorder's queue and out of the working memory is in the log, if
// that was promised: it is recorded from there, once, before the log is cut off; and
// what is lost in earnest is counted and named.
func TestLostUpdatesComeFromTheLog(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(t *testing.T, l *life)
	}{
		{"sealing", func(t *testing.T, l *life) {
			if err := l.Seal(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		}},
		{"looking back", func(t *testing.T, l *life) {
			testkit.Until(t, func() (string, bool) {
				if err := l.LookBack(t.Context()); err != nil {
					t.Fatal(err)
				}
				n := l.versions(t, durabilities[2])
				return fmt.Sprintf("%d versions of %s were recorded", n, durabilities[2]), n >= 100
			})
		}},
		{"waiting for it", func(t *testing.T, l *life) {
			if !l.Recorded(testkit.Context(t), l.wm.Number()) {
				t.Error("it is not recorded")
			}
		}},
		{"the end", func(t *testing.T, l *life) { l.end(t) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := fastDir(t)
			l := overloaded(t, ltm.Options{Dir: dir})
			l.overload(t, 0, 50)
			all := l.overload(t, 50, 100)
			c.end(t, l)
			check := func(when string) {
				for i, entity := range durabilities {
					if i == 0 {
						if got := l.versions(t, entity); got == 0 || got > 90 {
							t.Errorf("%s: %d versions of %s were recorded; the test is to lose most of the 100", when, got, entity)
						}
						continue
					}
					want := 100 + uint64(i%2)*20
					if got := l.versions(t, entity); got != want {
						t.Errorf("%s: %d versions of %s were recorded; want %d", when, got, entity, want)
					}
					got, missing := l.times(t, entity, engram.TargetLTM, engram.All())
					if len(got) != 100 || !slices.Equal(got[50:], all) || len(missing) > 0 {
						t.Errorf("%s: of %s there are %d, missing %+v", when, entity, got, missing)
					}
				}
			}
			if c.name != "the end" {
				check("then")
				stats, err := l.LTMStats(t.Context())
				if err != nil || stats.Lost != 100-l.versions(t, durabilities[0]) {
					t.Errorf("%d are lost (%v); %d of the 100 volatile versions were recorded", stats.Lost, err, l.versions(t, durabilities[0]))
				}
				if err := l.Seal(t.Context(), "test"); err != nil {
					t.Fatal(err)
				}
				if n := logBytes(t, dir, "Test"); n > 8192 {
					t.Errorf("the log has %d bytes after sealing", n)
				}
				check("after sealing")
				l.end(t)
			}
			l = begin(t, ltm.Options{Dir: dir})
			if l.begun.Rerecord > 0 {
				t.Errorf("the next epoch recorded %d versions again", l.begun.Rerecord)
			}
			check("in the next epoch")
		})
	}
}

// A power cut at any step of recording from the log loses nothing of what was promised,
// and doubles nothing.
func TestCrashWhileRecordingFromTheLog(t *testing.T) {
	run := func(at int, cut func(*vfs.Faulty)) (count int) {
		root := fastDir(t)
		faulty := vfs.NewFaulty(vfs.OS, root)
		var mu sync.Mutex
		counting := false
		l := overloaded(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: vfs.Before(faulty, func() {
			mu.Lock()
			defer mu.Unlock()
			if counting {
				if count == at {
					cut(faulty)
				}
				count++
			}
		})})
		l.overload(t, 0, 50)
		mu.Lock()
		counting = true
		mu.Unlock()
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		l.overload(t, 50, 60)
		l.end(t)
		return count
	}
	chance := rand.New(rand.NewPCG(1, 2))
	steps := run(-1, nil)
	for range 12 {
		at := chance.IntN(steps)
		image := filepath.Join(fastDir(t), "image")
		run(at, func(f *vfs.Faulty) {
			if err := f.CrashImage(image, chance); err != nil {
				t.Error(err)
			}
		})
		if _, err := os.Stat(image); err != nil {
			continue // the run had fewer steps this time
		}
		l := begin(t, ltm.Options{Dir: filepath.Join(image, "data")})
		got, missing := l.times(t, durabilities[2], engram.TargetBoth, engram.All())
		if len(got) < 50 || len(got) > 60 || got[len(got)-1] != engram.Time(len(got)-1) || len(missing) > 0 {
			t.Errorf("a cut at step %d of %d leaves %d, missing %+v", at, steps, got, missing)
		}
		if n := l.versions(t, durabilities[2]); n != uint64(len(got)) {
			t.Errorf("a cut at step %d of %d leaves %d versions of %d times", at, steps, n, len(got))
		}
		l.end(t)
	}
}

// While the log cannot be read it is not cut off; the episode is sealed all the same.
func TestLogIsKeptUntilWhatWasLostIsRecorded(t *testing.T) {
	root := fastDir(t)
	faulty := vfs.NewFaulty(vfs.OS, root)
	dir := filepath.Join(root, "data")
	l := overloaded(t, ltm.Options{Dir: dir, FS: faulty})
	l.overload(t, 0, 50)
	faulty.Inject(vfs.Fault{Op: vfs.OpOpen, Name: "log/"})
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	faulty.Heal()
	if n := logBytes(t, dir, "Test"); n < 50*100 {
		t.Errorf("the log has %d bytes; what was lost is not recorded yet", n)
	}
	stats, err := l.LTMStats(t.Context())
	if err != nil || len(stats.Health) == 0 {
		t.Errorf("nobody is told: %+v, %v", stats.Health, err)
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if got, missing := l.times(t, durabilities[2], engram.TargetLTM, engram.All()); len(got) != 50 || len(missing) > 0 {
		t.Errorf("when the disk works again there are %d, missing %+v", got, missing)
	}
	if stats, err := l.LTMStats(t.Context()); err != nil || len(stats.Health) > 0 {
		t.Errorf("health %q, %v", stats.Health, err)
	}
}

// Sealing waits for the disk, for what was appended before; what is lost meanwhile lies
// behind the place up to which it reads the log, and is recorded the next time.
func TestLostWhileSealingWaitsForTheDisk(t *testing.T) {
	dir := fastDir(t)
	var disk sync.Mutex
	l := overloaded(t, ltm.Options{Dir: dir, FS: vfs.Before(vfs.OS, func() {
		disk.Lock()
		defer disk.Unlock()
	})})
	seal := func() {
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Error(err)
		}
	}
	l.overload(t, 0, 50)
	seal()
	log := l.Journal().Log("Test")
	disk.Lock() // from here on nothing gets to it
	var done sync.WaitGroup
	before := log.End()
	done.Go(func() { l.commit(t, durabilities[2], 50, "on its way") })
	appended := waitForEnd(t, log, before)
	done.Go(seal)
	waitForEnd(t, log, appended) // it begins another file
	release := l.HoldRecorder()
	for i := 50; i < 100; i++ {
		l.commit(t, durabilities[1], engram.Time(i), "lost")
	}
	disk.Unlock()
	l.commit(t, durabilities[2], 51, "the disk has answered")
	release()
	done.Wait()
	seal()
	for i, want := range []int{1: 100, 2: 52} {
		if got, missing := l.times(t, durabilities[i], engram.TargetLTM, engram.All()); i > 0 && (len(got) != want || len(missing) > 0) {
			t.Errorf("of %d versions of %s there are %d, missing %+v", want, durabilities[i], len(got), missing)
		}
	}
	if n := logBytes(t, dir, "Test"); n > 8192 {
		t.Errorf("the log has %d bytes after sealing", n)
	}
}

// waitForEnd waits until something was appended behind a position, and returns the new
// end.
func waitForEnd(t *testing.T, log *wal.Log, behind wal.Position) wal.Position {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); log.End() <= behind; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is appended")
		}
	}
	return log.End()
}

// A policy that leaves something out does so of what comes from the log, too.
func TestLostUpdatesFollowTheirPolicy(t *testing.T) {
	l := overloaded(t, ltm.Options{Dir: fastDir(t), Policies: map[engram.ID]policy.Policy{
		engram.MustID("Test/Logged"): {Record: policy.Change},
		engram.MustID("Test/Synced"): {Record: policy.Never},
	}})
	release := l.HoldRecorder()
	for i := range 40 {
		l.commit(t, durabilities[1], engram.Time(i), i/10)
		l.commit(t, durabilities[2], engram.Time(i), i)
	}
	release()
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	got, _ := l.times(t, durabilities[1], engram.TargetLTM, engram.All())
	for _, want := range []engram.Time{0, 10, 20, 30} {
		if !slices.Contains(got, want) {
			t.Errorf("of a segment that records changes there are %d; want at least 0, 10, 20 and 30", got)
		}
	}
	if len(got) > 8 {
		t.Errorf("of a segment that records changes there are %d; each value was committed ten times", got)
	}
	if got, _ := l.times(t, durabilities[2], engram.TargetLTM, engram.All()); len(got) > 1 {
		t.Errorf("of a segment that records nothing there are %d; want the newest state at most", got)
	}
}

// Nobody waits for what is not recorded from the log in this epoch, or not soon.
func TestWhatTheLogKeepsIsNotWaitedFor(t *testing.T) {
	for name, hinder := range map[string]func(t *testing.T, l *life, disk *vfs.Faulty){
		"given up": func(t *testing.T, l *life, _ *vfs.Faulty) {
			if err := l.GiveUp(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"a log that cannot be read": func(_ *testing.T, _ *life, disk *vfs.Faulty) {
			disk.Inject(vfs.Fault{Op: vfs.OpOpen, Name: "log/"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := fastDir(t)
			disk := vfs.NewFaulty(vfs.OS, root)
			l := overloaded(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: disk})
			l.overload(t, 0, 50)
			hinder(t, l, disk)
			ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
			defer cancel()
			if recorded := l.Recorded(ctx, l.wm.Number()); recorded || ctx.Err() != nil {
				t.Errorf("recorded: %v, waited until %v", recorded, ctx.Err())
			}
		})
	}
}
