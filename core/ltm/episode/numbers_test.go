package episode_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// What the cache holds of numbers is what it accounts for: the paths in their keys count, and where messages lie does not
// hold the index of their block, which may have gone.
func TestNumbersInTheCacheAreAccountedFor(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, episode.Options{FS: quick.FS})
	ch := channel(t, joints)
	ch.Codec.Codec = "columns"
	p, err := idf.ValuePayload(1.5)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		add(t, w, ch, snapshot(engram.Time(1e18+i), uint64(i), string(p.Bytes)), false)
	}
	seal(t, w)
	cache := episode.NewCache(1 << 20)
	r := open(t, w.Info().Name, episode.Options{FS: in{quick.FS, dir}, Types: registry, Cache: cache})
	defer r.Close()
	tl, err := r.Timeline(joints)
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) int64 {
		t.Helper()
		rows, err := idf.NewNumberRows(registry, []string{"", path}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := cache.Bytes()
		got, err := tl.Numbers(context.Background(), 0, 0, 20, rows)
		if err != nil || len(got) != 20 || got[19][0] != 1.5 {
			t.Fatal(got, err)
		}
		after, _ := cache.Bytes()
		return after - before
	}
	read("a")
	short, long := read("b"), read(strings.Repeat("c", 1000))
	if short <= 0 || long < short+999 {
		t.Errorf("a short path takes %d bytes, a long one %d", short, long)
	}
	if n := cache.PlacesWithRuns(); n != 0 {
		t.Errorf("%d entries of places hold an index", n)
	}
}
