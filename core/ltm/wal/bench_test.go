package wal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// benchFolder returns a folder on a disk: what /tmp is on may be memory.
func benchFolder(b *testing.B) string {
	b.Helper()
	root := os.Getenv("ENGRAM_BENCH_DIR")
	if root == "" {
		root = "."
	}
	dir, err := os.MkdirTemp(root, "bench-wal-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// payloadOf returns an encoded value of about so many bytes.
func payloadOf(b *testing.B, size int) engram.Payload {
	b.Helper()
	noise := make([]byte, size-4)
	for i := range noise {
		noise[i] = byte('a' + rand.IntN(26))
	}
	return testkit.Value(b, string(noise))
}

func benchLife(b *testing.B, dir string, d engram.Durability) *life {
	b.Helper()
	l := start(b, nil, dir)
	err := l.AddCoreSegment(context.Background(), engram.CoreSegment{
		ID: engram.MustID("Test/Core"), Durability: d, History: engram.Bounds{MaxCount: 1000},
	})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// BenchmarkCommit commits 100 B from one goroutine, volatile and logged with CRC; it
// ends when all is on the disk.
func BenchmarkCommit(b *testing.B) {
	for _, d := range []engram.Durability{engram.Volatile, engram.Logged} {
		b.Run(d.String(), func(b *testing.B) {
			l := benchLife(b, benchFolder(b), d)
			defer l.end(b)
			p := payloadOf(b, 100)
			updates := make([]engram.EntityUpdate, 1)
			b.ReportAllocs()
			at := engram.Time(0)
			for b.Loop() {
				at++
				updates[0] = engram.EntityUpdate{Entity: entities[at%16], Time: at, Instances: []engram.Instance{engram.NewInstance(p)}}
				results, err := l.Commit(context.Background(), engram.Commit{Updates: updates})
				if err != nil || results[0].Err != nil {
					b.Fatal(err, results[0].Err)
				}
			}
			if log := l.journal.Log("Test"); log != nil {
				if err := log.Sync(context.Background(), log.End()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

var entities = func() (out []engram.ID) {
	for i := range 16 {
		out = append(out, engram.MustID(fmt.Sprint("Test/Core/Provider/entity", i)))
	}
	return out
}()

// BenchmarkCommitLatency tells what a commit takes at 10,000 per second, volatile and
// logged; the difference is what the log adds.
func BenchmarkCommitLatency(b *testing.B) {
	for _, d := range []engram.Durability{engram.Volatile, engram.Logged} {
		b.Run(d.String(), func(b *testing.B) {
			l := benchLife(b, benchFolder(b), d)
			defer l.end(b)
			p := payloadOf(b, 100)
			var took []time.Duration
			next := time.Now()
			at := engram.Time(0)
			for b.Loop() {
				for next = next.Add(100 * time.Microsecond); time.Now().Before(next); {
				}
				at++
				u := engram.EntityUpdate{Entity: entities[at%16], Time: at, Instances: []engram.Instance{engram.NewInstance(p)}}
				began := time.Now()
				results, err := l.Commit(context.Background(), engram.Commit{Updates: []engram.EntityUpdate{u}})
				took = append(took, time.Since(began))
				if err != nil || results[0].Err != nil {
					b.Fatal(err, results[0].Err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
		})
	}
}

// BenchmarkSynced commits 100 B to a synced segment from 1 and from 64 goroutines, and
// beside it writes and syncs a file once per commit, in turns.
func BenchmarkSynced(b *testing.B) {
	dir := benchFolder(b)
	b.Run("fsync-per-commit", func(b *testing.B) {
		f, err := os.Create(filepath.Join(dir, "file"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		record := make([]byte, 200)
		for b.Loop() {
			if _, err := f.Write(record); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	})
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			l := benchLife(b, filepath.Join(dir, fmt.Sprint(b.N, writers, rand.Int())), engram.Synced)
			defer l.end(b)
			p := payloadOf(b, 100)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var done sync.WaitGroup
			for w := range writers {
				done.Go(func() {
					for i := 0; left.Add(-1) >= 0; i++ {
						u := engram.EntityUpdate{Entity: entities[w%16], Time: engram.Time(i*64 + w), Instances: []engram.Instance{engram.NewInstance(p)}}
						results, err := l.Commit(context.Background(), engram.Commit{Updates: []engram.EntityUpdate{u}})
						if err != nil || results[0].Err != nil {
							b.Error(err, results[0].Err)
							return
						}
					}
				})
			}
			done.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

// BenchmarkRecovery reads a log of 1 GB, with -short of 64 MB, back into a working
// memory. ENGRAM_BENCH_DIR names the folder that the benchmarks write to, if it is not
// the package's.
func BenchmarkRecovery(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as server.TuneRuntime does
	const gigabyte = 1 << 30
	bytes := int64(gigabyte)
	if testing.Short() {
		bytes = 64 << 20
	}
	for _, size := range []int{100, 1000, 20_000} {
		b.Run(fmt.Sprintf("payload=%d", size), func(b *testing.B) {
			dir := benchFolder(b)
			fillLog(b, dir, size, bytes)
			b.ResetTimer()
			b.SetBytes(bytes)
			for range b.N {
				l := start(b, nil, dir)
				b.ReportMetric(float64(l.had.Snapshots)/float64(b.N), "snapshots/op")
				b.StopTimer()
				l.end(b)
				b.StartTimer()
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*gigabyte/float64(bytes), "s/GB")
		})
	}
}

// fillLog writes a log of so many bytes.
func fillLog(b *testing.B, dir string, size int, bytes int64) {
	b.Helper()
	l := benchLife(b, dir, engram.Logged)
	defer l.end(b)
	p := payloadOf(b, size)
	updates := make([]engram.EntityUpdate, 32)
	at := engram.Time(0)
	for log := (*wal.Log)(nil); log == nil || log.Size() < bytes; log = l.journal.Log("Test") {
		for i := range updates {
			at++
			updates[i] = engram.EntityUpdate{Entity: entities[at%16], Time: at, Instances: []engram.Instance{engram.NewInstance(p)}}
		}
		results, err := l.Commit(context.Background(), engram.Commit{Updates: updates})
		if err := engram.FirstError(results); err != nil && engram.CodeOf(err) != engram.Exhausted {
			b.Fatal(err)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
