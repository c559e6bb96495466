package ltm_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// recordHour records n snapshots of one entity over an hour, and seals them.
func recordHour(b *testing.B, dir string, n int) (*life, engram.ID) {
	b.Helper()
	l := begin(b, ltm.Options{Dir: dir})
	entity := engram.MustID("Test/Volatile/p/joint")
	const batch = 256
	step := engram.Time(time.Hour) / engram.Time(n)
	for i := 0; i < n; i += batch {
		var c engram.Commit
		for k := i; k < min(i+batch, n); k++ {
			p, err := idf.ValuePayload(float64(k))
			if err != nil {
				b.Fatal(err)
			}
			c.Updates = append(c.Updates, engram.EntityUpdate{Entity: entity, Time: engram.Time(k) * step, Instances: []engram.Instance{engram.NewInstance(p)}})
		}
		results, err := l.wm.Commit(b.Context(), c)
		if err != nil || engram.FirstError(results) != nil {
			b.Fatal(err, results)
		}
		if i%(64*batch) == 0 { // so that the recorder keeps up
			l.Latest(b.Context(), entity)
			q := engram.SelectID(entity, engram.At(0))
			q.Target = engram.TargetLTM
			if _, err := l.Query(b.Context(), q); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := l.Seal(b.Context(), "benchmark"); err != nil {
		b.Fatal(err)
	}
	return l, entity
}

// benchDir returns a folder in that of ENGRAM_BENCH_DIR, so that the disk that is
// meant is measured, or else in memory.
func benchDir(b *testing.B) string {
	root := os.Getenv("ENGRAM_BENCH_DIR")
	if root == "" {
		return fastDir(b)
	}
	dir, err := os.MkdirTemp(root, "bench-ltm-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// inHour is how many values an hour has: with -short a hundredth.
func inHour() int {
	if testing.Short() {
		return 10_000
	}
	return 1_000_000
}

// lookUp asks for what was at a random time of the hour.
func lookUp(b *testing.B, l *life, entity engram.ID) {
	q := engram.SelectID(entity, engram.AtOrBefore(engram.Time(rand.Int64N(int64(time.Hour)))))
	q.Target = engram.TargetLTM
	r, err := l.Query(b.Context(), q)
	if err != nil || len(r.Items()) != 1 {
		b.Fatal(r, err)
	}
}

// One value at a time, out of an hour of a million.
func BenchmarkOneValue(b *testing.B) {
	n := inHour()
	dir := benchDir(b)
	l, entity := recordHour(b, dir, n)
	look := func(b *testing.B, l *life) { lookUp(b, l, entity) }
	b.Run("warm", func(b *testing.B) {
		for range 20_000 {
			look(b, l)
		}
		for b.Loop() {
			look(b, l)
		}
	})
	b.Run("range", func(b *testing.B) {
		for b.Loop() {
			q := engram.SelectID(entity, engram.All())
			q.Target = engram.TargetLTM
			found := 0
			err := l.QueryParts(b.Context(), q, func(r *engram.Result) error {
				for range r.All() {
					found++
				}
				return nil
			})
			if err != nil || found != n {
				b.Fatal(found, err)
			}
		}
		b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "snapshots/s")
	})
	l.end(b)
	b.Run("cold", func(b *testing.B) {
		l := begin(b, ltm.Options{Dir: dir, CacheBytes: 1})
		for b.Loop() {
			look(b, l)
		}
		b.StopTimer()
		l.end(b)
	})
}

// A folder with a thousand episodes of a hundred entities each.
func BenchmarkOpenThousandEpisodes(b *testing.B) {
	const episodes = 1000
	dir := benchDir(b)
	l := begin(b, ltm.Options{Dir: dir})
	l.end(b)
	types := idf.NewRegistry()
	typ, _ := types.Get(engram.ValueType)
	p, err := idf.ValuePayload(1.5)
	if err != nil {
		b.Fatal(err)
	}
	for i := range episodes {
		name := fmt.Sprintf("2026-01-01T00-00-00Z-%06d.mcap", i)
		w, err := episode.Create(filepath.Join(dir, "episodes"), name, episode.Info{Epoch: 1}, episode.Options{Types: types})
		if err != nil {
			b.Fatal(err)
		}
		for e := range 100 {
			ch := &episode.Channel{Entity: engram.MustID(fmt.Sprintf("Test/Volatile/p/e%d", e)), Type: typ.Def()}
			ch.Codec.Payload, ch.Codec.Types = typ, types
			s := &engram.Snapshot{Time: engram.Time(i), Arrived: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(p)}}
			if err := w.Add(b.Context(), ch, s, false); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.Seal(b.Context()); err != nil {
			b.Fatal(err)
		}
		w.Close()
	}
	l = begin(b, ltm.Options{Dir: dir})
	l.end(b) // the catalogue is up to date
	for b.Loop() {
		s, err := ltm.Open(b.Context(), ltm.Options{Dir: dir, Log: quiet})
		if err != nil {
			b.Fatal(err)
		}
		if s.Opened().Episodes != episodes {
			b.Fatal(s.Opened())
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
