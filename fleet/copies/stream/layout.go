package stream

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// Bounds of what both sides remember. A writer that comes near them has the tables
// begun anew with its next frame; a reader refuses what goes beyond, which leaves room
// for one frame of a writer that has just not begun anew.
const (
	window = 1 << 18 // bytes that zstd looks back

	fullTable = 1 << 16 // entries
	fullNames = 8 << 20 // bytes of names, types and definitions
	maxTable  = 4 * fullTable
	maxNames  = 64 << 20
)

// The bits of a frame's first byte.
const (
	frameAnew     = 1 << iota // the tables begin anew before this frame
	frameSegments             // there is a list of segments
	frameRemoved              // … of removals
	frameItems                // … of versions
	frameLeftOut              // … of what was left out
	frameLost                 // … of what was lost
	frameEpoch                // the position belongs to another epoch than the share's last
	frameBehind               // something is still to come
)

// The bits of a version's first byte.
const (
	itemNext     = 1 << iota // its number is one more than the share's last
	itemSingle               // it has one instance
	itemSure                 // all confidences are 1
	itemAtOnce               // all were sent when they arrived
	itemSameKind             // all payloads are of the type that the entity's last was of
	// Since format 2:
	itemExpected // its entity is the one that followed that of the version before the last time
	itemSameSize // all payloads are as large as the entity's last was
	itemTogether // its time and arrival are those of the version before
)

// The bits of a segment's first byte.
const (
	segmentFixed = 1 << iota // only providers that were added
)

// The bits of a removal's first byte.
const (
	removalSegment = 1 << iota
	removalAlways  // its span is all of time
	removalCompared
)

// leftOutReasons are written as their indices.
var leftOutReasons = [...]string{contract.LeftOutRate, contract.LeftOutFilter, contract.LeftOutSize}

// entityState is what both sides know of an entity: what its next version is likely
// to look like.
type entityState struct {
	id    engram.ID
	delay int64 // its last version's arrival less its time
	sent  int64 // its last instance's: arrival less when it was sent
	kind  int   // index of the type of its last payload, -1 before the first

	// Since format 2:
	size   int   // of its last payload, bytes
	next   int   // index of the entity whose version followed its last; at first itself
	delays level // of how delay changes
}

func newEntityState(id engram.ID, index int) entityState {
	return entityState{id: id, kind: -1, next: index}
}

// shareState is what both sides know of a share.
type shareState struct {
	epoch   uint64
	number  uint64 // of the last version or position
	arrived int64  // of the last version or position

	// Since format 2, of the last version:
	last  int   // index of its entity, -1 before the first
	time  int64 // its time
	step  int64 // how much later it arrived than what came before it
	steps level // of how step changes
}

func newShareStates(n int) []shareState {
	list := make([]shareState, n)
	forgetLast(list)
	return list
}

// forgetLast has no version be the last of a share: its entity is in the tables no more.
func forgetLast(list []shareState) {
	for i := range list {
		list[i].last = -1
	}
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
