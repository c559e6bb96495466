package engram

import (
	"fmt"
	"strings"
	"time"
)

// Durability says what a successful commit promises.
type Durability uint8

// The durabilities of a core segment.
const (
	Volatile Durability = iota // kept in the working memory only
	Logged                     // in the log, on disk within 1 s
	Synced                     // on disk before the commit returns
)

var durabilityNames = [...]string{"volatile", "logged", "synced"}

// String returns "volatile", "logged" or "synced".
func (d Durability) String() string {
	if int(d) < len(durabilityNames) {
		return durabilityNames[d]
	}
	return "unknown durability"
}

// Bounds limits how much history the working memory keeps. Zero fields mean no
// bound. The bounds hold for superseded versions as well as for snapshots.
type Bounds struct {
	MaxCount int // snapshots
	// MaxAge is measured by snapshot times, back from the newest snapshot. One that is by
	// itself more than MaxAge ahead of all others ends no other's time before a second
	// one confirms it: one wild stamp evicts nothing.
	MaxAge time.Duration
	// MaxBytes are of an entity its payloads' bytes, of a memory the bytes of RAM that all
	// it holds takes: payloads, and what entities, snapshots and segments cost besides.
	MaxBytes int64
}

// String says the bounds in words.
func (b Bounds) String() string {
	var parts []string
	if b.MaxCount != 0 {
		parts = append(parts, fmt.Sprintf("%d snapshots", b.MaxCount))
	}
	if b.MaxAge != 0 {
		parts = append(parts, b.MaxAge.String())
	}
	if b.MaxBytes != 0 {
		parts = append(parts, fmt.Sprintf("%d bytes", b.MaxBytes))
	}
	if len(parts) == 0 {
		return "no bounds"
	}
	return "at most " + strings.Join(parts, ", ")
}

// DefaultMaxAhead is how far a commit's time may lie ahead of the server's clock where
// nothing else is said.
const DefaultMaxAhead = time.Minute

// AnyAhead as a segment's MaxAhead takes commits of any time.
const AnyAhead time.Duration = -1

// CoreSegment defines one modality of a memory.
type CoreSegment struct {
	ID   ID     // of level core segment
	Type string // the payloads' type; "" means [ValueType], any data
	// History bounds each entity. An entity's newest snapshot is never evicted for
	// its age or count.
	History    Bounds
	Durability Durability
	// MaxAhead is how far the time of a commit may lie ahead of the server's clock; one
	// farther ahead is refused, unless it is [Commit].Recorded. 0 means
	// [DefaultMaxAhead], a negative value, such as [AnyAhead], any time. It bounds what
	// counts as newest, too: see [CoreSegment.Present].
	MaxAhead time.Duration
	// FixedProviders refuses commits to provider segments that were not added
	// explicitly.
	FixedProviders bool
}

// Present returns up to which time data of the segment count as present when a clock reads
// now: MaxAhead later. What is stamped beyond is from a clock that was wrong, or of a
// recording or simulation of another time; [Latest] passes over it where there is anything
// of the present.
func (s *CoreSegment) Present(now Time) Time {
	switch {
	case s.MaxAhead < 0:
		return MaxTime
	case s.MaxAhead == 0:
		return now.Add(DefaultMaxAhead)
	}
	return now.Add(s.MaxAhead)
}

// ProviderSegment defines the data of one source within a core segment.
type ProviderSegment struct {
	ID   ID     // of level provider segment
	Type string // extends the core segment's type; "" means any type that does
}

// TypeDef is a payload type with all that is needed to read it.
type TypeDef struct {
	Name string // the message's full name
	// Descriptors is an encoded google.protobuf.FileDescriptorSet that holds the
	// message's file and all it imports.
	Descriptors []byte
	// Source is the definition as it was written, kept so that an export loses
	// nothing, and Format its language: "proto", "xml", "ros1msg", "ros2msg",
	// "jsonschema" … Both may be empty.
	Source string
	Format string
}

// Description describes a core or provider segment as it stands.
type Description struct {
	ID             ID
	Type           string // the effective type of its payloads
	History        Bounds
	Durability     Durability
	MaxAhead       time.Duration // 0 means DefaultMaxAhead, negative any
	FixedProviders bool
}

// Stats tells what a node of the hierarchy holds. Which fields are filled depends
// on the node's level.
type Stats struct {
	ID         ID
	Type       string // core and provider segments; entities: of the newest snapshot
	Entities   uint64 // in the working memory or on disk
	Snapshots  uint64 // retained, without superseded versions
	Superseded uint64 // retained superseded versions
	Instances  uint64
	Bytes      int64  // retained payload bytes
	First      Time   // times of the oldest and the newest retained snapshot;
	Last       Time   // valid if Snapshots > 0
	Committed  uint64 // snapshots ever stored
	Evicted    uint64 // snapshots and versions dropped to stay within bounds
	// Refused counts entity updates, down to provider segments: not those to a segment of
	// which only a part lies in the caller's scope.
	Refused uint64
	Disk    OnDisk
}

// OnDisk tells what the long-term memory holds of a node. All is zero where there is
// none.
type OnDisk struct {
	Entities  uint64 // 1 for an entity
	Snapshots uint64 // with superseded versions
	Bytes     int64  // stored, as compressed as can be told
	First     Time   // times of the oldest and the newest snapshot;
	Last      Time   // valid if Snapshots > 0
}

// Add adds what a node holds to the sum of several.
func (d *OnDisk) Add(o OnDisk) {
	if o.Snapshots > 0 {
		if d.Snapshots == 0 {
			d.First, d.Last = o.First, o.Last
		}
		d.First, d.Last = min(d.First, o.First), max(d.Last, o.Last)
	}
	d.Entities += o.Entities
	d.Snapshots += o.Snapshots
	d.Bytes += o.Bytes
}
