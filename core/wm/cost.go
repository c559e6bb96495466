package wm

import (
	"unsafe"

	"github.com/seed-301d4374/engram"
)

// What things cost, in bytes of RAM, with all that leads to them: what a memory's bound
// counts, so that snapshots without payload and entities without snapshots are bounded
// as well. TestBoundIsTheMemory compares the sums with what the process takes.
const (
	// A version: its node, its slot with those of its chunk that are free, the rounding
	// of its payload's allocation.
	versionBytes = 240
	// An entity: its node, its place in the table and in the order of names, the
	// timeline's first chunk.
	entityBytes = 640
	// A provider segment: its node, its tables, its place in the core segment's.
	providerBytes = 1024
)

// versionCost is what a version costs with payloads of so many bytes in all.
func versionCost(payload, instances int) int64 {
	return versionBytes + int64(payload) + int64(instances-1)*int64(unsafe.Sizeof(engram.Instance{})+16)
}

func entityCost(id engram.ID) int64 { return entityBytes + int64(len(id.Entity())) }

func providerCost(id engram.ID) int64 { return providerBytes + int64(len(id.ProviderSegment())) }

// roomLocked returns an Exhausted error if an update needs a provider segment that is not
// there and its memory has as many as it may.
func (w *writer) roomLocked(p *pending, id engram.ID) error {
	if p.provider != nil {
		return nil
	}
	_, made, _, most := p.core.memory.segmentsLocked(w.limits.MaxSegments)
	if made < most {
		return nil
	}
	if _, ok := p.core.providers.Get(id.ProviderSegment()); ok {
		return nil
	}
	p.version = nil
	return tooManySegments(p.core.memory, id.Truncate(engram.LevelProviderSegment), made, "provider")
}

func tooManySegments(m *memory, id engram.ID, n int, kind string) error {
	beside := ""
	if m.pool != nil {
		beside = "beside the other memories of programs, "
	}
	return engram.Errorf(engram.Exhausted, id.String(), "%s%s may have %d %s segments at most; use the names that are there, or remove some with 'engram segment rm'", beside, m.id, n, kind)
}
