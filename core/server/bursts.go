package server

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// CollectAfterBursts collects garbage when a burst of work, such as an import, is over, and gives the memory that it
// needed back to the operating system. The runtime would wait: [TuneRuntime] lets the heap grow fivefold, for which nothing
// comes any more, so that garbage of several times what is held would stay for two minutes and its room for longer. While there is
// much to do, it leaves the pace to the runtime. The function that it returns ends it. It does nothing where the
// variable GOGC is set: then the operator has decided.
func CollectAfterBursts() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { watchBursts(ended, readHeap, debug.FreeOSMemory) })
	return func() {
		close(ended)
		watching.Wait()
	}
}

const (
	lookEvery = time.Second // at the heap, which takes microseconds
	// lastsLooks is after how many looks as the last one as much garbage as a collection takes may be there again, at the
	// earliest.
	lastsLooks = 100
	// collectShare is the share of the time that collections may take: one of so much.
	collectShare = 50
	// leastGarbage is what a collection is worth, in bytes, and oneOf which share of what is held.
	leastGarbage, oneOf = 32 << 20, 8
)

// watchBursts collects after each burst until ended is closed.
func watchBursts(ended <-chan struct{}, look func() heapFigures, collect func()) {
	last, wait := look(), lookEvery
	for {
		select {
		case <-ended:
			return
		case <-time.After(wait):
		}
		now := look()
		if wait = lookEvery; now.burstOver(last) {
			began := time.Now()
			collect()
			wait = max(wait, collectShare*time.Since(began))
			now = look()
		}
		last = now
	}
}

// heapFigures are a moment of the heap, in bytes.
type heapFigures struct {
	held      uint64 // what was found in use when garbage was collected last
	heap      uint64 // objects in use, and garbage
	allocated uint64 // in all since the start
}

// burstOver reports whether the heap may have much garbage and little has come to it since the last look.
func (h heapFigures) burstOver(last heapFigures) bool {
	garbage := h.heap - min(h.held, h.heap) // at most
	return garbage >= max(leastGarbage, h.held/oneOf) && (h.allocated-last.allocated)*lastsLooks <= garbage
}

func readHeap() heapFigures {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return heapFigures{s[0].Value.Uint64(), s[1].Value.Uint64(), s[2].Value.Uint64()}
}
