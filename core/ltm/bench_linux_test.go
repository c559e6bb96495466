package ltm_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-301d4374/engram/core/ltm"
)

// One value at a time, out of an hour of a million, of which neither the memory nor
// the operating system has anything in memory.
func BenchmarkOneValueFromDisk(b *testing.B) {
	dir := benchDir(b)
	l, entity := recordHour(b, dir, inHour())
	l.end(b)
	l = begin(b, ltm.Options{Dir: dir, CacheBytes: 1})
	var took []time.Duration
	for b.Loop() {
		uncache(b, dir)
		began := time.Now()
		lookUp(b, l, entity)
		took = append(took, time.Since(began))
	}
	b.StopTimer()
	l.end(b)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
}

// uncache has the operating system forget what it has of the episodes in memory.
func uncache(b *testing.B, dir string) {
	paths, err := filepath.Glob(filepath.Join(dir, "episodes", "*.mcap"))
	if err != nil || len(paths) == 0 {
		b.Fatal(paths, err)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}
