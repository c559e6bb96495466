package episode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

func TestLossesAreCounted(t *testing.T) {
	var l episode.Losses
	if got := l.Texts(); len(got) != 0 {
		t.Errorf("of none there are %q", got)
	}
	add := func(why string, want uint64) {
		t.Helper()
		if got := l.Add(why); got != want {
			t.Errorf("%q came %d times; want %d", why, got, want)
		}
	}
	add("a", 1)
	first := l.Texts()
	add("b", 1)
	add("a", 2)
	add("a", 3)
	if got, want := l.Texts(), []string{"a (3 times)", "b"}; !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
	if first[0] != "a" {
		t.Errorf("what was told before is now %q", first)
	}
	for i := range 98 {
		add(fmt.Sprint(i), 1)
	}
	add("x", 1)
	add("y", 2)
	add("a", 4)
	got := l.Texts()
	if len(got) != 101 || got[0] != "a (4 times)" || got[100] != "and 2 more, the last of them: y" {
		t.Errorf("%d: %q", len(got), got)
	}
	// An episode that is made of others has theirs.
	var again episode.Losses
	for _, why := range append(slices.Clone(got), got...) {
		again.Add(why)
	}
	if texts := again.Texts(); len(texts) != 101 || texts[100] != "and 4 more, the last of them: y" {
		t.Errorf("of two: %d: %q", len(texts), texts)
	}
}

// However much is lost and noted, the file and the memory take little of it; and what was
// noted long enough before a kill is there afterwards.
func TestNotesAreBounded(t *testing.T) {
	dir := t.TempDir()
	const marks = 500
	var before episode.Info
	synctest.Test(t, func(t *testing.T) {
		w := create(t, dir, episode.Options{FS: quick.FS, FlushEvery: 3 * time.Second})
		add(t, w, channel(t, joints), snapshot(1, 1, "payload"), false)
		for i := range marks {
			w.Lose("the same reason")
			w.Lose(fmt.Sprintf("reason %d", i))
			w.Mark(episode.Mark{Time: engram.Time(i), Label: "bump"})
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		w.Mark(episode.Mark{Time: marks, Label: "bump"}) // it is not written yet
		before = w.Info()
		w.Close() // without sealing: a kill leaves the same
	})
	path := filepath.Join(dir, name)
	file, err := os.Stat(path + ".open")
	if err != nil || file.Size() > 64<<10 {
		t.Errorf("the file has %d bytes, %v; want little", file.Size(), err)
	}
	if n := len(before.Losses); n != 101 {
		t.Errorf("%d losses are told", n)
	}
	info, _, err := episode.Repair(context.Background(), path+".open", path, quick)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(info.Marks, before.Marks[:marks]) || !slices.Equal(info.Losses, before.Losses) {
		t.Errorf("after a kill there are %d marks and %d losses; want %d and %d", len(info.Marks), len(info.Losses), marks, len(before.Losses))
	}
}
