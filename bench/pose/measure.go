package main

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// cpuNow returns the calling thread's CPU time, which a busy machine does not
// stretch; libtf2's benchmark takes the same. The caller holds its thread.
func cpuNow() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// median measures op repeats times for at least span each and returns the median of
// the nanoseconds per operation.
func median(op func(n int), span time.Duration, repeats int) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	n := 1
	var took time.Duration
	for {
		begin := cpuNow()
		op(n)
		if took = cpuNow() - begin; took > span/8 {
			break
		}
		n *= 4
	}
	n = max(1, int(float64(n)*float64(span)/float64(took)))
	all := make([]float64, repeats)
	for i := range all {
		begin := cpuNow()
		op(n)
		all[i] = float64(cpuNow()-begin) / float64(n)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// readersScale returns how many times the look-ups of one reader two readers do in
// the same wall time. Short slices are repeated often and the best of each taken,
// because on a busy machine most are disturbed; libtf2's benchmark does the same.
func readersScale(op func(n int), ns float64, slices int) float64 {
	perSlice := max(20, int(2e6/ns))
	best := func(readers int) float64 {
		shortest := time.Duration(1 << 62)
		for range slices {
			var ready, done sync.WaitGroup
			ready.Add(readers)
			start := make(chan struct{})
			for range readers {
				done.Go(func() {
					ready.Done()
					<-start
					op(perSlice)
				})
			}
			ready.Wait()
			begin := time.Now()
			close(start)
			done.Wait()
			shortest = min(shortest, time.Since(begin))
		}
		return float64(readers) / shortest.Seconds()
	}
	return best(2) / best(1)
}
