//go:build linux

package ltm_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// smallDisk mounts a disk of 32 MB.
func smallDisk(t *testing.T) string {
	t.Helper()
	disk := t.TempDir()
	if err := unix.Mount("engram-test", disk, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// fill leaves no byte of a disk free, and returns the file that has them.
func fill(t *testing.T, disk string) string {
	t.Helper()
	filler, err := os.OpenFile(filepath.Join(disk, "others"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1 << 20; n > 0; {
		if _, err := filler.Write(make([]byte, n)); errors.Is(err, unix.ENOSPC) {
			n /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := filler.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(disk, "more"), []byte("x"), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is to be full: %v", err)
	}
	return filler.Name()
}

// twoEpisodes records and seals as many, and returns them.
func twoEpisodes(t *testing.T, l *life) []ltm.EpisodeInfo {
	t.Helper()
	for i := range 2 {
		for _, entity := range durabilities {
			l.commit(t, entity, engram.Time(i), strings.Repeat("much ", 1000))
		}
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	episodes, err := l.Episodes(t.Context(), engram.Always())
	if err != nil || len(episodes) < 2 {
		t.Fatalf("%d episodes, %v", len(episodes), err)
	}
	return episodes
}

// On a disk without a free byte an episode can be dropped, and then all goes on, also if
// nothing is reserved any more.
func TestDropEpisodeOnAFullDisk(t *testing.T) {
	t.Run("reserved", func(t *testing.T) { dropOnAFullDisk(t, true) })
	t.Run("nothing reserved", func(t *testing.T) { dropOnAFullDisk(t, false) })
}

func dropOnAFullDisk(t *testing.T, reserved bool) {
	disk := smallDisk(t)
	dir := filepath.Join(disk, "data")
	l := begin(t, ltm.Options{Dir: dir})
	episodes := twoEpisodes(t, l)
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir}) // the catalogue has no room that it used before
	reserve, err := os.Stat(filepath.Join(dir, "reserve"))
	if err != nil {
		t.Fatal(err)
	}
	filler := fill(t, disk)
	if !reserved { // it was used, and others were quicker to have the room
		if err := os.Remove(filepath.Join(dir, "reserve")); err != nil {
			t.Fatal(err)
		}
		fill(t, disk)
	}
	if err := l.DropEpisode(t.Context(), episodes[0].Name, "the disk is full", "test"); err != nil {
		t.Errorf("on a full disk: %v", err)
	}
	left, err := l.Episodes(t.Context(), engram.Always())
	if err != nil || len(left) != len(episodes)-1 {
		t.Errorf("%d of %d episodes are left, %v", len(left), len(episodes), err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	l.commit(t, durabilities[0], 10, "it goes on")
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Errorf("after there is room again: %v", err)
	}
	if err := l.DropEpisode(t.Context(), left[0].Name, "to look at what is reserved", "test"); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "reserve")); err != nil || info.Size() != reserve.Size() {
		t.Errorf("not all is reserved again: %v", err)
	}
}

// What is due of whole episodes is forgotten on a disk without a free byte, though nothing
// is reserved.
func TestForgetDueOnAFullDisk(t *testing.T) {
	disk := smallDisk(t)
	o := ltm.Options{Dir: filepath.Join(disk, "data"), ForgetEvery: time.Hour, Policies: map[engram.ID]policy.Policy{}}
	l := begin(t, o)
	twoEpisodes(t, l)
	l.end(t)
	for _, entity := range durabilities {
		o.Policies[engram.MustID(entity).Truncate(engram.LevelCoreSegment)] = policy.Policy{Keep: policy.Retention{MaxAge: time.Hour}}
	}
	l = begin(t, o)
	fill(t, disk)
	if err := os.Remove(filepath.Join(o.Dir, "reserve")); err != nil {
		t.Fatal(err)
	}
	fill(t, disk)
	if done := forget(t, l, ltm.Forgetting{Due: true}); done.Versions != 6 {
		t.Errorf("on a full disk %+v was forgotten, want 6 versions", done)
	}
	if left, err := l.Episodes(t.Context(), engram.Always()); err != nil || len(left) > 0 {
		t.Errorf("%+v is left, %v", left, err)
	}
}

// A store begins on a disk without a free byte, with the catalogue in memory, and an
// episode can be dropped there. When there is room, the next epoch has the catalogue in
// its file, and does not take for lost what was dropped.
func TestBeginWithoutAFreeByte(t *testing.T) {
	disk := smallDisk(t)
	dir := filepath.Join(disk, "data")
	l := begin(t, ltm.Options{Dir: dir})
	episodes := twoEpisodes(t, l)
	l.end(t)
	if err := os.Remove(filepath.Join(dir, "reserve")); err != nil {
		t.Fatal(err)
	}
	filler := fill(t, disk)
	l = begin(t, ltm.Options{Dir: dir})
	l.wantTimes(t, "on a full disk", durabilities[0], engram.TargetLTM, engram.All(), 0, 1)
	fill(t, disk) // what beginning has made free
	if err := l.DropEpisode(t.Context(), episodes[0].Name, "the disk is full", "test"); err != nil {
		t.Errorf("on a full disk: %v", err)
	}
	if got, missing := l.times(t, durabilities[1], engram.TargetLTM, engram.All()); !slices.Equal(got, []engram.Time{1}) ||
		len(missing) != 1 || missing[0].Reason != engram.MissingForgotten {
		t.Errorf("after an episode was dropped on a full disk: %v, missing %+v", got, missing)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	if problems := l.Opened().Problems; len(problems) > 0 {
		t.Errorf("in the next epoch: %v", problems)
	}
	if info, err := os.Stat(filepath.Join(dir, "catalogue.db")); err != nil || info.Size() == 0 {
		t.Errorf("in the next epoch the catalogue is in no file: %v", err)
	}
	if got, missing := l.times(t, durabilities[1], engram.TargetLTM, engram.All()); !slices.Equal(got, []engram.Time{1}) ||
		len(missing) != 1 || missing[0].Reason != engram.MissingForgotten {
		t.Errorf("in the next epoch: %v, missing %+v", got, missing)
	}
}

// What is noted of forgetting takes no room on a full disk: it is written over what is
// reserved.
func TestNotedOnAFullDisk(t *testing.T) {
	disk := smallDisk(t)
	inVirtualTime(t, func(t *testing.T) {
		dir := filepath.Join(disk, "data")
		l := begin(t, ltm.Options{Dir: dir})
		l.commit(t, durabilities[0], 1, "x")
		reserved, err := os.Stat(filepath.Join(dir, "reserve"))
		if err != nil {
			t.Fatal(err)
		}
		fill(t, disk)
		release := l.HoldRecorder()                                           // or it would be done
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // which begin when nothing goes on but for the time
		defer cancel()
		_, err = l.Forget(ctx, ltm.Forgetting{Patterns: patterns("Test"), Why: "test"}, nil)
		if engram.CodeOf(err) != engram.Canceled || !strings.Contains(err.Error(), "goes on by itself") {
			t.Errorf("what was noted and cannot be done yet: %v", err)
		}
		if state, err := os.ReadFile(filepath.Join(dir, "state.json")); err != nil || !strings.Contains(string(state), `"why": "test"`) {
			t.Errorf("the request is not noted: %v, %s", err, state)
		}
		if left, err := os.Stat(filepath.Join(dir, "reserve")); err == nil && os.SameFile(left, reserved) {
			t.Errorf("what was reserved, %d bytes, is not used", reserved.Size())
		}
		release()
	})
}
