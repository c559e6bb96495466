package server

import (
	"sync"

	"github.com/seed-301d4374/engram"
)

// maxRefusalNodes bounds the nodes that refusals are counted at: names of segments
// come from outside and need not exist. What finds no room is counted at its
// memory alone.
const maxRefusalNodes = 10_000

// refusals counts the entity updates that hooks refused, per memory, core segment
// and provider segment.
type refusals struct {
	mu     sync.Mutex
	counts map[engram.ID]uint64
}

func (r *refusals) count(entity engram.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[engram.ID]uint64{}
	}
	for level := engram.LevelMemory; level <= min(entity.Level(), engram.LevelProviderSegment); level++ {
		id := entity.Truncate(level)
		if _, ok := r.counts[id]; ok || level == engram.LevelMemory || len(r.counts) < maxRefusalNodes {
			r.counts[id]++
		}
	}
}

func (r *refusals) at(id engram.ID) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[id]
}

// forget drops the counts of a removed segment; those of its memory stay.
func (r *refusals) forget(segment engram.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.counts {
		if segment.Contains(id) {
			delete(r.counts, id)
		}
	}
}
