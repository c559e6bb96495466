// Package wal is the log: append-only files per memory that what was promised to
// survive is written to before the working memory shows it.
//
// A [Log] is a folder of numbered files, each a header and records with CRC32C.
// docs/formats/log.md fixes the bytes. It is read to the last whole record; what is
// cut or damaged is left out and reported, never an error. A [Journal] is the logs of
// all memories of a server with the definitions made at run-time; it is what the
// working memory writes to.
//
// # How a record moves
//
// [Log.Begin] encodes it and computes the checksum of its payloads, outside all
// locks; [Entry.Append] gives it its position and puts it into a list, under a lock
// held for nanoseconds. One goroutine per log, the flusher, takes the list every few
// milliseconds, or at once if a synced record is in it, and writes it with as few
// calls as possible; payloads of some size are not copied. It syncs the file when
// somebody waits for it, and else within Options.SyncEvery. All who wait meanwhile
// share the next sync.
//
// # When the disk fails
//
// A failed write or sync says nothing about what of the file will be found later. So
// the flusher keeps every record until a sync has succeeded after it. When a write
// fails, what was written before is synced, so that only what came last is in RAM alone.
// Then synced records are refused, the file is cut to its last synced record, and
// the others are written anew into the next file, whose header says from where on
// the one before does not count. Until that has succeeded, appending is refused and
// changes nothing; it is tried again and again, so a log heals without a restart.
package wal

import (
	"sync/atomic"
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
	Before   Position         // KindRemoveSegment: what lies before this in the memory's log is no more
	Type     engram.TypeDef
	Core     engram.CoreSegment
	Provider engram.ProviderSegment
}

// Position is a place in a log: what was appended later has a higher one, also after
// a restart. The zero position is the log's beginning. It is the number of a file
// and an offset in it, see docs/formats/log.md.
type Position uint64

// Options configure a log.
type Options struct {
	FS     vfs.FS // nil means vfs.OS
	Dir    string // made if it is not there
	Memory string // whose records it holds; "" takes what the files say
	// SegmentBytes is a file's size at which the next is begun; default 64 MiB.
	SegmentBytes int64
	// SegmentAge is the age at which the next write begins a new file; default 1 h.
	SegmentAge time.Duration
	// SyncEvery bounds how long a Logged record may wait for its fsync to begin;
	// default 0.5 s.
	SyncEvery time.Duration
	// MaxPending bounds the bytes that are not synced yet, and the memory this
	// takes; beyond it Append refuses with Exhausted. Default 64 MiB.
	MaxPending int64
	// Expected is what is known to be on the disk; the log's own watermark is added.
	Expected State
	// AcceptLoss has the log open though something of that is gone.
	AcceptLoss bool
	// changed is called when State changes in another way than that the file that is
	// written grows; with now, files go when it returns. May be nil.
	changed func(now bool)
	// shared bounds the same of all logs of a journal together; may be nil.
	shared *pendingBytes
	// Health is called when writing begins to fail and, with nil, when it works
	// again, by one goroutine at a time. It must not use the log.
	Health func(error)
	// Unwritten is called before Health, with what was acknowledged as logged and is in RAM
	// alone; nil when that is on the disk. It must not use the log.
	Unwritten func(Unwritten)
}

// pendingBytes is what waits to be on the disk in several logs.
type pendingBytes struct {
	now atomic.Int64
	max int64
}

// add counts what begins to wait, or with less than 0 what waits no more.
func (p *pendingBytes) add(n int64) {
	if p != nil {
		p.now.Add(n)
	}
}

// room reports whether n bytes more may wait. A single record always may.
func (p *pendingBytes) room(n int64) bool {
	if p == nil {
		return true
	}
	now := p.now.Load()
	return now == 0 || now+n <= p.max
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = 64 << 20
	}
	o.SegmentBytes = min(o.SegmentBytes, maxSegmentBytes)
	if o.SegmentAge <= 0 {
		o.SegmentAge = time.Hour
	}
	if o.SyncEvery <= 0 {
		o.SyncEvery = 500 * time.Millisecond
	}
	if o.MaxPending <= 0 {
		o.MaxPending = 64 << 20
	}
	if o.Health == nil {
		o.Health = func(error) {}
	}
	if o.Unwritten == nil {
		o.Unwritten = func(Unwritten) {}
	}
	if o.changed == nil {
		o.changed = func(bool) {}
	}
	return o
}

// Loss is what a log could not give back.
type Loss struct {
	Memory string // whose log it is, "" of definitions or if it is not known
	File   string
	Offset int64 // where the loss begins
	Bytes  int64
	Reason string
	// From and Until bound when what is lost arrived, as far as is known; else 0.
	From, Until engram.Time
	// Unread says that the disk refused to read it; another time it may not.
	Unread bool
	// Torn says that it was never acknowledged as being on the disk: a crash cut it off.
	Torn bool
	// Gone says that it was on the disk, and files are missing, replaced or shorter now.
	Gone bool
	// Copy is the folder, beside that of File, of the log that has what was in it as well:
	// nothing is lost, and it is written anew at the start. "" if there is none.
	Copy string
}
