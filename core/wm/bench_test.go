package wm

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// benchMemory returns a working memory with a core segment Bench/Core.
func benchMemory(b *testing.B, history, all engram.Bounds) *WM {
	w := New(Config{})
	if err := w.AddMemory("Bench", all); err != nil {
		b.Fatal(err)
	}
	if err := w.AddCoreSegment(b.Context(), engram.CoreSegment{ID: engram.MustID("Bench/Core"), History: history}); err != nil {
		b.Fatal(err)
	}
	return w
}

func benchPayload(b *testing.B) engram.Payload {
	return testkit.Value(b, 1.5)
}

// fill commits n snapshots with times from 0 on, 1 ms apart.
func fill(b *testing.B, w *WM, entity engram.ID, n int, p engram.Payload) {
	updates := make([]engram.EntityUpdate, 0, 1024)
	for i := range n {
		updates = append(updates, engram.EntityUpdate{
			Entity: entity, Time: engram.Time(i) * 1e6, Instances: []engram.Instance{engram.NewInstance(p)},
		})
		if len(updates) == cap(updates) || i == n-1 {
			results, err := w.Commit(b.Context(), engram.Commit{Updates: updates})
			if err == nil {
				err = engram.FirstError(results)
			}
			if err != nil {
				b.Fatal(err)
			}
			updates = updates[:0]
		}
	}
}

var benchEntity = engram.MustID("Bench/Core/Provider/entity")

// commitOne commits one snapshot per iteration to an entity that keeps 1000.
func commitOne(b *testing.B, w *WM) {
	p := benchPayload(b)
	fill(b, w, benchEntity, 1000, p)
	ctx := b.Context()
	instances := []engram.Instance{engram.NewInstance(p)}
	updates := make([]engram.EntityUpdate, 1)
	t := engram.Time(1000e6)
	b.ReportAllocs()
	for b.Loop() {
		t += 1e6
		updates[0] = engram.EntityUpdate{Entity: benchEntity, Time: t, Instances: instances}
		results, err := w.Commit(ctx, engram.Commit{Updates: updates})
		if err != nil || results[0].Err != nil {
			b.Fatal(err, results)
		}
	}
}

func BenchmarkCommitOne(b *testing.B) {
	b.Run("entity-bound", func(b *testing.B) {
		commitOne(b, benchMemory(b, engram.Bounds{MaxCount: 1000}, engram.Bounds{}))
	})
	b.Run("memory-bound", func(b *testing.B) {
		commitOne(b, benchMemory(b, engram.Bounds{}, engram.Bounds{MaxCount: 1000, MaxAge: time.Hour, MaxBytes: 1 << 30}))
	})
	b.Run("unbounded", func(b *testing.B) {
		commitOne(b, benchMemory(b, engram.Bounds{}, engram.Bounds{}))
	})
}

// BenchmarkNotifyOne commits as BenchmarkCommitOne/entity-bound does, with one
// subscriber that wants data and keeps up; the difference is the cost of notifying.
func BenchmarkNotifyOne(b *testing.B) {
	for _, subscribers := range []int{0, 1} {
		b.Run(fmt.Sprintf("subscribers=%d", subscribers), func(b *testing.B) {
			w := benchMemory(b, engram.Bounds{MaxCount: 1000}, engram.Bounds{})
			var consumers sync.WaitGroup
			for range subscribers {
				s, err := w.Subscribe(b.Context(), engram.Subscription{WithData: true})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				consumers.Go(func() {
					for {
						if _, err := s.Next(b.Context()); err != nil {
							return
						}
					}
				})
			}
			commitOne(b, w)
			w.Close()
			consumers.Wait()
		})
	}
}

func BenchmarkLatest(b *testing.B) {
	w := benchMemory(b, engram.Bounds{}, engram.Bounds{})
	fill(b, w, benchEntity, 1000, benchPayload(b))
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Latest(ctx, benchEntity); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAtOrBefore1M(b *testing.B) {
	const n = 1_000_000
	w := benchMemory(b, engram.Bounds{}, engram.Bounds{})
	fill(b, w, benchEntity, n, benchPayload(b))
	ctx := b.Context()
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		i = i*6364136223846793005 + 1442695040888963407 // a fresh place each time
		t := engram.Time(i>>33%n)*1e6 + 500
		s, err := w.AtOrBefore(ctx, benchEntity, t)
		if err != nil || s.Time > t {
			b.Fatal(s, err)
		}
	}
}

func BenchmarkQueryRegex100(b *testing.B) {
	w := benchMemory(b, engram.Bounds{}, engram.Bounds{})
	p := benchPayload(b)
	for i := range 100 {
		fill(b, w, engram.MustID(fmt.Sprintf("Bench/Core/Provider/cup-%d", i)), 10, p)
	}
	q := engram.MustPattern(`Bench/Core/Provider/~cup-\d+`).Select(engram.Latest(1))
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		r, err := w.Query(ctx, q)
		if err != nil || len(r.Memories[0].Children[0].Children[0].Children) != 100 {
			b.Fatal(r, err)
		}
	}
}

// BenchmarkReadersBesideWriter has 8 readers read an entity, once with nobody beside
// them and once beside a writer of 10,000 commits/s to that entity, and reports both
// 99th percentiles and their ratio.
func BenchmarkReadersBesideWriter(b *testing.B) {
	for name, c := range map[string]struct {
		reads int
		read  func(w *WM) error
	}{
		"latest": {20_000, func(w *WM) error {
			_, err := w.Latest(b.Context(), benchEntity)
			return err
		}},
		"query-latest-10": {2000, func(w *WM) error {
			_, err := w.Query(b.Context(), engram.SelectID(benchEntity, engram.Latest(10)))
			return err
		}},
	} {
		b.Run(name, func(b *testing.B) {
			w := benchMemory(b, engram.Bounds{MaxCount: 1000}, engram.Bounds{})
			p := benchPayload(b)
			fill(b, w, benchEntity, 1000, p)
			var alone, beside, rate float64
			for b.Loop() {
				alone += readP99(b, c.reads, func() error { return c.read(w) })
				stop := make(chan struct{})
				var writer sync.WaitGroup
				writer.Go(func() { rate += writeAt10kHz(b, w, p, stop) })
				beside += readP99(b, c.reads, func() error { return c.read(w) })
				close(stop)
				writer.Wait()
			}
			b.ReportMetric(alone/float64(b.N), "p99-alone-ns")
			b.ReportMetric(beside/float64(b.N), "p99-beside-ns")
			b.ReportMetric(beside/alone, "p99-ratio")
			b.ReportMetric(rate/float64(b.N), "commits/s")
		})
	}
}

// readP99 has 8 readers read and returns the 99th percentile of how long a read took,
// in nanoseconds.
func readP99(b *testing.B, reads int, read func() error) float64 {
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			took := make([]time.Duration, reads)
			for i := range took {
				start := time.Now()
				if err := read(); err != nil {
					b.Error(err)
				}
				took[i] = time.Since(start)
			}
			mu.Lock()
			all = append(all, took...)
			mu.Unlock()
		})
	}
	wg.Wait()
	slices.Sort(all)
	return float64(all[len(all)*99/100].Nanoseconds())
}

// writeAt10kHz commits 10,000 times a second until stop is closed, and returns the
// rate it reached.
func writeAt10kHz(b *testing.B, w *WM, p engram.Payload, stop <-chan struct{}) float64 {
	begin := time.Now()
	instances := []engram.Instance{engram.NewInstance(p)}
	for commits := 0; ; commits++ {
		for time.Since(begin) < time.Duration(commits)*100*time.Microsecond {
			time.Sleep(50 * time.Microsecond)
		}
		select {
		case <-stop:
			return float64(commits) / time.Since(begin).Seconds()
		default:
		}
		u := engram.EntityUpdate{Entity: benchEntity, Time: engram.Now(), Instances: instances}
		if _, err := w.Commit(b.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkSnapshotOverhead reports the memory that a snapshot with one instance
// takes beyond its payload, by how many snapshots the entities hold.
func BenchmarkSnapshotOverhead(b *testing.B) {
	for _, perEntity := range []int{1, 10, 1000, 100_000} {
		b.Run(fmt.Sprintf("per-entity=%d", perEntity), func(b *testing.B) {
			const total = 100_000
			var ids []engram.ID
			for i := range total / perEntity {
				ids = append(ids, engram.MustID(fmt.Sprintf("Bench/Core/Provider/entity-%d", i)))
			}
			p := benchPayload(b)
			overhead := 0.0
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				w := benchMemory(b, engram.Bounds{}, engram.Bounds{MaxCount: total})
				for _, id := range ids {
					fill(b, w, id, perEntity, p)
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				overhead = float64(after.HeapAlloc-before.HeapAlloc) / total
				runtime.KeepAlive(w)
			}
			b.ReportMetric(overhead, "B/snapshot")
			b.ReportMetric(0, "ns/op")
		})
	}
}

const benchProto = `
syntax = "proto3";
package Bench;
message Rare { double value = 1; }
`

// ofType returns a memory of 100,000 entities, 100 of which have payloads of type Bench.Rare,
// with an index of types or without one, and the query for them.
func ofType(b *testing.B, indexed bool) (*WM, engram.Query) {
	w := benchMemory(b, engram.Bounds{}, engram.Bounds{})
	b.Cleanup(func() { w.Close() })
	defs, err := idf.CompileProto(idf.Source{fstest.MapFS{"bench.proto": {Data: []byte(benchProto)}}}, "bench.proto")
	if err != nil {
		b.Fatal(err)
	}
	if err := w.AddType(b.Context(), defs[0]); err != nil {
		b.Fatal(err)
	}
	common := benchPayload(b)
	for i := range 100_000 {
		p := common
		if i%1000 == 0 {
			p = engram.Payload{Type: "Bench.Rare"}
		}
		fill(b, w, engram.MustID(fmt.Sprint("Bench/Core/Provider/e", i)), 1, p)
	}
	if indexed {
		if err := w.Indexes().Register("type", IndexOptions{New: query.NewTypeIndex}); err != nil {
			b.Fatal(err)
		}
		if err := w.Indexes().Await(b.Context(), "type"); err != nil {
			b.Fatal(err)
		}
	}
	q := engram.PatternOf(engram.MustID("Bench/Core")).Select(engram.Latest(1))
	q.Type = "Bench.Rare"
	return w, q
}

func BenchmarkQueryType100Of100k(b *testing.B) {
	for what, indexed := range map[string]bool{"indexed": true, "scanned": false} {
		b.Run(what, func(b *testing.B) {
			w, q := ofType(b, indexed)
			for b.Loop() {
				if r, err := w.Query(b.Context(), q); err != nil || len(r.Items()) != 100 {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCommitOneIndexed commits as BenchmarkCommitOne/entity-bound does, with an index
// that no query could use yet, or that follows as fast as is committed, on another processor.
func BenchmarkCommitOneIndexed(b *testing.B) {
	for _, follows := range []bool{false, true} {
		b.Run(fmt.Sprintf("follows=%v", follows), func(b *testing.B) {
			w := benchMemory(b, engram.Bounds{MaxCount: 1000}, engram.Bounds{})
			b.Cleanup(func() { w.Close() })
			if err := w.Indexes().Register("type", IndexOptions{New: query.NewTypeIndex}); err != nil {
				b.Fatal(err)
			}
			if follows {
				if err := w.Indexes().Await(b.Context(), "type"); err != nil {
					b.Fatal(err)
				}
			}
			commitOne(b, w)
		})
	}
}
