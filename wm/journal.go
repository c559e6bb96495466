package wm

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Journal is the log that a working memory writes to before it shows what was
// committed to its Logged and Synced segments. Package ltm/wal has one. Safe for
// concurrent use.
type Journal interface {
	// Begin prepares the record of a version: all that takes time is done here,
	// outside the WM's lock. The entry refers to the payloads' bytes, which do not
	// change any more. An error refuses the entity update: Exhausted for a full
	// disk or too much that waits, Unavailable for other failures.
	Begin(ctx context.Context, entity engram.ID, s *engram.Snapshot) (JournalEntry, error)
	// AddType, AddCoreSegment and AddProviderSegment return when the definition is
	// on disk, at once if it is there already. The last definition of a segment
	// counts.
	AddType(ctx context.Context, t engram.TypeDef) error
	AddCoreSegment(ctx context.Context, s engram.CoreSegment) error
	AddProviderSegment(ctx context.Context, s engram.ProviderSegment) error
	// RemoveSegment returns when it is on disk that a segment and all that was
	// appended for it before are no more.
	RemoveSegment(ctx context.Context, id engram.ID) error
}

// JournalEntry is a record on its way into a Journal.
type JournalEntry interface {
	// Append puts the record at the end of its memory's log, with its time of
	// arrival. It does no I/O: the WM calls it under its lock, so that the order of
	// the log is the order of the memory. If it fails nothing was appended. A
	// record that need not be synced is the journal's afterwards and must not be
	// used any more; it is written when it can be.
	Append(arrived engram.Time, synced bool) error
	// Wait returns when a record that was appended to be synced is on disk, or with
	// an error when it is not and will not be. The records of one memory are settled
	// in the order in which they were appended: where Wait has returned for one, it
	// returns at once for those before it. Any number of goroutines may call it.
	Wait() error
}

// Restored is a version that is put back into the memory.
type Restored struct {
	Entity   engram.ID
	Snapshot *engram.Snapshot // with Time, Arrived, Recalled and the instances; the memory keeps the payloads' bytes
}
