package server

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// Garbage is collected when a burst is over: not while it goes on, not for little, and not more often than its time allows.
func TestCollectAfterBursts(t *testing.T) {
	const mb = 1 << 20
	for name, c := range map[string]struct {
		held, heap uint64 // at the beginning
		pace       uint64 // bytes allocated per look
		after      int    // looks until it is collected; 0 is never
	}{
		"a burst":                        {held: 220 * mb, heap: 440 * mb, after: 1},
		"much came that is held":         {held: 20 * mb, heap: 200 * mb, after: 1},
		"a little goes on":               {held: 220 * mb, heap: 440 * mb, pace: 2 * mb, after: 1},
		"it goes on":                     {held: 220 * mb, heap: 440 * mb, pace: 80 * mb},
		"little garbage":                 {held: 20 * mb, heap: 50 * mb},
		"little beside what is held":     {held: 800 * mb, heap: 850 * mb},
		"much comes, until it is worth":  {held: 100 * mb, heap: 110 * mb, pace: mb, after: 90},
		"the heap is less than was held": {held: 500 * mb, heap: 100 * mb},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := heapFigures{held: c.held, heap: c.heap, allocated: 1000 * mb}
				ended, began, collected := make(chan struct{}), time.Now(), -1
				looks := 0
				look := func() heapFigures {
					if looks++; looks > 1 {
						h.heap, h.allocated = h.heap+c.pace, h.allocated+c.pace
					}
					return h
				}
				go watchBursts(ended, look, func() {
					if collected < 0 {
						collected = int(time.Since(began) / lookEvery)
					}
					h.held, h.heap = c.held, c.held
				})
				time.Sleep(95 * lookEvery)
				close(ended)
				synctest.Wait()
				if collected != c.after && !(c.after == 0 && collected < 0) {
					t.Errorf("collected after %d looks, want %d", collected, c.after)
				}
			})
		})
	}
}

// Bursts that follow each other are collected together if one collection takes long.
func TestCollectingTakesItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 2 * time.Second
		var heap heapFigures
		ended, collections := make(chan struct{}), 0
		go watchBursts(ended, func() heapFigures { heap.heap = 500 << 20; return heap }, func() {
			collections++
			time.Sleep(takes)
		})
		const span = 10 * takes * collectShare
		time.Sleep(span)
		close(ended)
		synctest.Wait()
		if collections < 9 || collections > 10 {
			t.Errorf("%d collections of %v in %v", collections, takes, span)
		}
	})
}

// The figures of this process are what their names say.
func TestReadHeap(t *testing.T) {
	runtime.GC()
	before := readHeap()
	kept := make([]byte, 64<<20)
	grown := readHeap()
	runtime.GC()
	after := readHeap()
	runtime.KeepAlive(kept)
	const most = 48 << 20
	if grown.allocated-before.allocated < most || grown.heap < before.heap+most || grown.held > before.held+most || after.held < before.held+most {
		t.Errorf("before %+v, grown by 64 MiB %+v, collected %+v", before, grown, after)
	}
}

// What was begun ends; with GOGC in the environment nothing is begun.
func TestCollectAfterBurstsEnds(t *testing.T) {
	CollectAfterBursts()()
	t.Setenv("GOGC", "100")
	n := runtime.NumGoroutine()
	defer CollectAfterBursts()()
	if now := runtime.NumGoroutine(); now > n {
		t.Errorf("%d goroutines, %d before", now, n)
	}
}
