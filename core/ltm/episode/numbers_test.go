package episode_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
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

// Numbers of any part of a block are those of its snapshots, whatever was read and is held before: of times in any order, of
// corrections, of several instances, with snapshots in plain form between.
func TestNumbersOfPartsAreThoseOfSnapshots(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		files := newMemoryFS(nil)
		w := create(t, "", episode.Options{FS: files, ChunkBytes: rapid.SampledFrom([]int{500, 4000, 1 << 18}).Draw(rt, "chunk")})
		ch := channel(t, joints)
		ch.Codec.Codec, ch.Codec.Shown = codec.Columns, rapid.SampledFrom([]float64{0, 5}).Draw(rt, "shown")
		at := engram.Time(1e18)
		n := rapid.IntRange(1, 300).Draw(rt, "snapshots")
		disorder := rapid.IntRange(0, 5).Draw(rt, "disorder")
		random := rapid.Uint64().Draw(rt, "values")
		next := func(n uint64) uint64 { // thousands of draws would take long
			random = random*6364136223846793005 + 1442695040888963407
			return random >> 33 % n
		}
		for i := range n {
			at += engram.Time(next(5) * 1e7) // the same one again is a correction
			s := snapshot(at-engram.Time(next(uint64(disorder)+1)*3e7), uint64(i))
			s.Arrived = engram.Time(1e18 + i)
			for range 1 + next(5)/4 {
				v := []any{math.Round(1e3*math.Sin(float64(i)/9)) / 1e3, math.NaN(), "text", []any{1.5, float64(i)}}[[]int{0, 0, 0, 0, 0, 0, 1, 2, 3, 3}[next(10)]]
				p, err := idf.ValuePayload(v)
				if err != nil {
					rt.Fatal(err)
				}
				s.Instances = append(s.Instances, engram.NewInstance(p))
			}
			add(t, w, ch, s, false)
		}
		seal(t, w)
		var cache *episode.Cache
		if size := rapid.SampledFrom([]int64{0, 5000, 1 << 20}).Draw(rt, "cache"); size > 0 {
			cache = episode.NewCache(size)
		}
		r, err := episode.Open(w.Info().Name, episode.Options{FS: files, Types: registry, Cache: cache})
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		tl, err := r.Timeline(joints)
		if err != nil {
			rt.Fatal(err)
		}
		for range 10 {
			block := rapid.IntRange(0, len(tl.Blocks())-1).Draw(rt, "block")
			first := rapid.IntRange(0, tl.Blocks()[block].Count).Draw(rt, "first")
			last := rapid.IntRange(first, tl.Blocks()[block].Count).Draw(rt, "last")
			paths := rapid.SampledFrom([][]string{{""}, {"[1]", "[0]"}}).Draw(rt, "paths")
			rows, err := idf.NewNumberRows(registry, paths, rapid.IntRange(0, 1).Draw(rt, "instance"), nil)
			if err != nil {
				rt.Fatal(err)
			}
			got, err := tl.Numbers(context.Background(), block, first, last, rows)
			if err != nil {
				rt.Fatal(err)
			}
			snapshots, err := tl.Load(context.Background(), block, first, last)
			if err != nil {
				rt.Fatal(err)
			}
			want := codec.RowsOf(snapshots, rows)
			for i := range want {
				for k, v := range want[i] {
					if math.Float64bits(got[i][k]) != math.Float64bits(v) {
						rt.Fatalf("%q of version %d of block %d, among %d to %d, is %v, not %v", paths[k], first+i, block, first, last, got[i], want[i])
					}
				}
			}
		}
	})
}
