// Package meta is what is told of an episode beside its snapshots: what it says of
// itself, what it holds of each entity, its marks, and what is wrong with it. Who reads
// no episodes, such as a client of a memory server, needs nothing else of them.
//
// It holds meanings; it knows no files and no codecs.
package meta

import (
	"time"

	"github.com/seed-301d4374/engram"
)

// Info is what an episode says of itself.
type Info struct {
	Name       string // of the file, without folder
	Version    int    // of the layout
	Robot      string
	Epoch      uint64          // the epoch of the memory server that recorded it
	Span       engram.Interval // of the snapshots' times
	Recorded   engram.Interval // as Span, without values in force and what holds at all times
	Arrived    engram.Interval // of their arrival
	Snapshots  uint64          // versions, superseded ones too
	Messages   uint64
	Bytes      int64 // of the file
	Sealed     bool
	Marks      []Mark
	Losses     []string          // why something that happened in its span is not in it
	Labels     map[string]string // "reason": why it began, "skill": of whose run …
	InForce    uint64            // how many of the snapshots are values in force at the start
	Recovered  bool              // salvaged after a crash
	Supersedes string            // the episodes that were taken together into it, one in a line
	First      string            // of all that were ever taken together into it: it stands in that one's place
	Damage     *Damage           `json:",omitempty"` // nil if none is known; not in the file
}

// Mark is something that someone noted at a time.
type Mark struct {
	Time   engram.Time
	Label  string
	Before time.Duration // what is to be kept around it
	After  time.Duration
}

// Entity is what an episode holds of one entity.
type Entity struct {
	ID        engram.ID
	Type      string // of its payloads
	Codec     string
	Span      engram.Interval // of the snapshots' times
	Recorded  engram.Interval // as of [Info]; empty if there is nothing else
	Arrived   engram.Interval
	Snapshots uint64 // versions
	InForce   uint64 // of these, values in force at the start: they belong to an earlier episode, too
	Bytes     int64  // stored, as compressed as can be told
	Chunks    int
	Times     uint64 // different times of the versions; 0 if not known
}

// Damage says what is wrong with an episode that is read nevertheless, as far as it is
// whole.
type Damage struct {
	Why   string `json:"why"`
	Lost  uint64 `json:"lost,omitempty"`  // versions, at least
	Known bool   `json:"known,omitempty"` // these are all
}

// Problem is something wrong in an episode.
type Problem struct {
	Offset int64
	What   string
}
