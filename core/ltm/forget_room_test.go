package ltm_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
)

// On a disk without a free byte what is asked to be forgotten is found by no query from
// then on. Episodes of which nothing stays go at once, and make room for the others to be
// written anew.
func TestForgetOnAFullDisk(t *testing.T) {
	const secret, other = "Test/Volatile/p/secret", "Test/Volatile/p/other"
	disk := smallDisk(t)
	dir := filepath.Join(disk, "data")
	l := begin(t, ltm.Options{Dir: dir, ForgetEvery: time.Hour})
	big := func(i int) string { return strings.Repeat(fmt.Sprintf("%d much ", i), 20_000) }
	for i := range 4 { // the first two hold the secret alone
		l.commit(t, secret, engram.Time(i), big(i))
		if i >= 2 {
			l.commit(t, other, engram.Time(i), big(i))
		}
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	before := len(mustEpisodes(t, l))
	fill(t, disk)
	done := forget(t, l, ltm.Forgetting{Patterns: patterns(secret), Why: "test"})
	if done.Versions != 4 || done.Bytes == 0 {
		t.Errorf("%+v was forgotten, want 4 versions", done)
	}
	if left := mustEpisodes(t, l); len(left) > before-1 {
		t.Errorf("%d episodes are left of %d", len(left), before)
	}
	l.wantTimes(t, "the other", other, engram.TargetLTM, engram.All(), 2, 3)
}

// Where no room can be made, that is said with what helps; no query finds it all the same,
// in this epoch and the next, and it goes by itself when there is room.
func TestForgetWithoutAnyRoom(t *testing.T) {
	const secret, other = "Test/Volatile/p/secret", "Test/Volatile/p/other"
	disk := smallDisk(t)
	o := ltm.Options{Dir: filepath.Join(disk, "data"), ForgetEvery: time.Hour}
	l := begin(t, o)
	random := rand.NewChaCha8([32]byte{})
	for i := range 3 {
		l.commit(t, secret, engram.Time(i), marker(secret, engram.Time(i), 0))
		noise := make([]byte, 1<<20)
		random.Read(noise)
		l.commit(t, other, engram.Time(i), fmt.Sprintf("%x", noise))
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	names := mustEpisodes(t, l)
	filler := fill(t, disk)
	_, err := l.Forget(t.Context(), ltm.Forgetting{Patterns: patterns(secret), Why: "test"}, nil)
	if engram.CodeOf(err) != engram.Exhausted || !strings.Contains(fmt.Sprint(err), "engram episode drop "+names[0].Name[:4]) {
		t.Errorf("forgetting without room: %v", err)
	}
	hidden := func(when string) {
		t.Helper()
		for _, target := range []engram.Target{engram.TargetLTM, engram.TargetBoth} {
			if got, missing := l.times(t, secret, target, engram.All()); len(got) > 0 || len(missing) != 1 || missing[0].Reason != engram.MissingForgotten || missing[0].Count != 3 {
				t.Errorf("%s: times %d, missing %+v", when, got, missing)
			}
		}
		l.wantTimes(t, when, other, engram.TargetLTM, engram.All(), 0, 1, 2)
	}
	hidden("without room")
	l.end(t)
	l = begin(t, o)
	hidden("in the next epoch")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for len(l.Orders()) > 0 {
		l.FinishOrders()
	}
	hidden("when there is room")
	for i := range 3 {
		l.wantGone(t, o.Dir, secret, engram.Time(i))
	}
}

// Who forgets again and again does not leave an episode behind each time: none is sealed
// where nothing of it is in the open one, and small ones are taken together.
func TestForgettingLeavesFewEpisodes(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const secret = "Test/Logged/p/secret"
	commit := func(round int) {
		for e := range 20 { // they are in force in each episode
			l.commit(t, fmt.Sprintf("Test/Logged/p/e%d", e), engram.Time(round), fmt.Sprintf("%01000d", e))
		}
		l.commit(t, secret, engram.Time(round), marker(secret, engram.Time(round), 0))
	}
	for round := range 3 {
		commit(round)
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	before := len(mustEpisodes(t, l))
	for round := range 3 { // of sealed ones, while something else is in the open one
		l.commit(t, "Test/Logged/p/e0", engram.Time(10+round), "new")
		forget(t, l, ltm.Forgetting{IDs: []engram.ID{engram.MustID(secret).At(engram.Time(round))}, Why: "test"})
		l.wantGone(t, dir, secret, engram.Time(round))
	}
	if now := len(mustEpisodes(t, l)); now > before+1 {
		t.Errorf("%d episodes after forgetting what is sealed, %d before", now, before)
	}
	for round := range 4 { // of the open one
		commit(20 + round)
		forget(t, l, ltm.Forgetting{IDs: []engram.ID{engram.MustID(secret).At(engram.Time(20 + round))}, Why: "test"})
		l.wantGone(t, dir, secret, engram.Time(20+round))
	}
	if now := len(mustEpisodes(t, l)); now > before+1 {
		t.Errorf("%d episodes after forgetting what is in the open one, %d before", now, before)
	}
	l.wantTimes(t, "of others", "Test/Logged/p/e1", engram.TargetBoth, engram.All(), 0, 1, 2, 20, 21, 22, 23)
}
