// Package wal is the log: an append-only file per memory that what was promised to
// survive is written to before the working memory shows it.
//
// A log is a folder of numbered files, each a header and records with a CRC32C.
// docs/formats/log.md fixes the bytes. It is read to the last whole record; what
// is cut or damaged behind it is reported, never an error.
package wal

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// Kind is the kind of a record.
type Kind uint8

// The kinds of records.
const (
	KindSnapshot        Kind = iota + 1 // a version of a snapshot
	KindType                            // a type was added
	KindCoreSegment                     // a core segment was added
	KindProviderSegment                 // a provider segment was added
	KindRemoveSegment                   // a segment was removed
)

// Record is one record as it is read back. Which fields are filled depends on Kind.
type Record struct {
	Kind     Kind
	Position Position
	Entity   engram.ID        // KindSnapshot; KindRemoveSegment: the segment
	Snapshot *engram.Snapshot // KindSnapshot: Time, Arrived and Instances; it has no number
	Type     engram.TypeDef
	Core     engram.CoreSegment
	Provider engram.ProviderSegment
}

// Position is a place in a log: what was appended later has a higher one, also
// after a restart. The zero position is the log's beginning.
type Position uint64

// Options configure a log.
type Options struct {
	FS           vfs.FS // nil means vfs.OS
	Dir          string // made if it is not there
	SegmentBytes int64  // a file's size at which the next is begun; default 64 MiB
	SegmentAge   time.Duration
	// SyncEvery bounds how long a Logged record may wait for its fsync; default 0.5 s.
	SyncEvery time.Duration
	// MaxPending bounds the bytes that wait to be written; beyond it Append refuses
	// with Exhausted. Default 64 MiB.
	MaxPending int64
	// Health is called when writing begins to fail and, with nil, when it works again.
	Health func(error)
}

// Loss is what a log could not give back.
type Loss struct {
	File   string
	Offset int64 // where the loss begins
	Bytes  int64
	Reason string
}

// Log is an open log. Safe for concurrent use.
type Log struct{ opts Options }

// Open opens the log of a folder, or makes it. What a crash cut off is cut off the
// file, too, and told in losses.
func Open(o Options) (l *Log, losses []Loss, err error) { panic("to be built") }

// Replay calls fn with the records from a position on that are in the files, in
// order; they are fn's to keep. What is damaged is left out and told in losses. An
// error of fn ends it and is returned. It may run while records are appended.
func (l *Log) Replay(ctx context.Context, from Position, fn func(Record) error) (losses []Loss, err error) {
	panic("to be built")
}

// End returns the position behind the last record appended.
func (l *Log) End() Position { panic("to be built") }

// Sync waits until all that was appended before pos is on the disk.
func (l *Log) Sync(ctx context.Context, pos Position) error { panic("to be built") }

// Truncate lets go of the files that lie wholly before pos.
func (l *Log) Truncate(pos Position) error { panic("to be built") }

// Close writes and syncs what is waiting, and closes the log.
func (l *Log) Close() error { panic("to be built") }
