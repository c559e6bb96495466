package wm

import (
	"cmp"
	"math"

	"github.com/seed-301d4374/engram"
)

// Pool bounds what several memories take together, such as those that clients add. Each
// takes its own bounds or what the others leave, whichever is less, and MinBytes in any case.
// A memory that takes more since others have come forgets that at its next commit.
type Pool struct {
	MaxBytes, MinBytes int64
	// Each memory has MinSegments core segments and as many provider segments, and beyond them
	// what the others leave of MaxSegments, which is for all together; OwnSegments at most, if
	// that is not 0. In which order they are added makes no difference.
	MaxSegments, MinSegments, OwnSegments int

	members []*memory // the WM's lock protects them
}

// Add is [WM.AddMemory] for a memory of the pool, which it does not leave. Without MaxBytes of
// its own it has the pool's.
func (p *Pool) Add(w *WM, name string, bounds engram.Bounds) error {
	if bounds.MaxBytes == 0 {
		bounds.MaxBytes = p.MaxBytes
	}
	return addMemory(w, name, bounds, p)
}

// maxBytes returns how much a memory may take at present; 0 without a bound.
func (m *memory) maxBytes() int64 {
	if m.pool == nil {
		return m.bounds.MaxBytes
	}
	rest := m.pool.MaxBytes
	for _, o := range m.pool.members {
		if o != m {
			rest -= o.held.cost
		}
	}
	return min(m.bounds.MaxBytes, max(rest, m.pool.MinBytes))
}

// pooledLocked returns an Exhausted error if a version does not fit into what the others of
// its pool leave, even if its memory forgets all the rest.
func (p *pending) pooledLocked(entity engram.ID) error {
	m := p.core.memory
	if m.pool == nil {
		return nil
	}
	cost, most := p.version.counted().cost, m.maxBytes()
	if cost <= most {
		return nil
	}
	p.version = nil
	return engram.Errorf(engram.Exhausted, entity.String(), "the snapshot takes %d bytes; beside the other memories of programs, %s may take %d in all", cost, m.id, most)
}

// segmentsLocked returns how many core and provider segments a memory has, and how many of each
// kind it may have at present.
func (m *memory) segmentsLocked(limit int) (cores, providers, mostCores, mostProviders int) {
	cores, providers = len(m.cores.sorted()), m.made
	p := m.pool
	if p == nil {
		return cores, providers, limit, limit
	}
	mostCores, mostProviders = p.MaxSegments, p.MaxSegments
	for _, o := range p.members {
		if o != m {
			mostCores -= max(0, len(o.cores.sorted())-p.MinSegments)
			mostProviders -= max(0, o.made-p.MinSegments)
		}
	}
	own := cmp.Or(p.OwnSegments, math.MaxInt)
	return cores, providers, min(own, p.MinSegments+max(0, mostCores)), min(own, p.MinSegments+max(0, mostProviders))
}
