package wal

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/vfs"
	"github.com/seed-301d4374/engram/wm"
)

// JournalOptions configure a journal.
type JournalOptions struct {
	Dir   string        // holds a folder for each memory, and one for the definitions
	Types *idf.Registry // where the types of payloads are looked up: the working memory's
	// Log configures the memories' logs; Dir and Health are not used.
	Log Options
	FS  vfs.FS // nil means vfs.OS
	// Health is called when writing a memory's log begins to fail and, with nil, when
	// it works again. The memory "" is the log of definitions.
	Health func(memory string, err error)
}

// Journal is the logs of all memories of a server, and a log of what was defined at
// run-time: types, core segments and provider segments. It implements wm.Journal.
// Safe for concurrent use.
type Journal struct{}

var _ wm.Journal = (*Journal)(nil)

// OpenJournal opens the logs that are there; those of other memories are made with
// the first record. Until [Journal.Restore] was called it takes no records, and
// what is defined is not logged: such definitions are part of the program.
func OpenJournal(o JournalOptions) (*Journal, error) { panic("to be built") }

// Target is what a journal is read back into; *wm.WM is one.
type Target interface {
	AddType(ctx context.Context, t engram.TypeDef) error
	AddCoreSegment(ctx context.Context, s engram.CoreSegment) error
	AddProviderSegment(ctx context.Context, s engram.ProviderSegment) error
	Restore(ctx context.Context, versions []wm.Restored) ([]engram.UpdateResult, error)
}

// Recovery tells what a journal brought back.
type Recovery struct {
	Types, Segments int
	Snapshots       uint64 // versions put back
	Bytes           int64  // read
	// Refused counts the versions that the target did not take, by the first reason
	// of each segment: their segment or type is no more what it was.
	Refused map[string]uint64
	Losses  []Loss
}

// Restore puts what the logs hold into t, definitions first, then each memory's
// versions in the order in which they were committed, and begins to take records.
// What is damaged is told in the result; the error is not nil only if the journal
// cannot be used. It is called once, before anything is committed.
func (j *Journal) Restore(ctx context.Context, t Target) (*Recovery, error) { panic("to be built") }

// Memories returns the names of the memories that have a log, sorted.
func (j *Journal) Memories() []string { panic("to be built") }

// Log returns a memory's log, nil if it has none yet. Its records are appended by the
// journal only.
func (j *Journal) Log(memory string) *Log { panic("to be built") }

// Ends returns the position behind the last record of each memory's log. Call it in
// wm.WM.Settle to know which updates lie before them.
func (j *Journal) Ends() map[string]Position { panic("to be built") }

// Begin implements wm.Journal.
func (j *Journal) Begin(ctx context.Context, entity engram.ID, s *engram.Snapshot) (wm.JournalEntry, error) {
	panic("to be built")
}

// AddType implements wm.Journal.
func (j *Journal) AddType(ctx context.Context, t engram.TypeDef) error { panic("to be built") }

// AddCoreSegment implements wm.Journal.
func (j *Journal) AddCoreSegment(ctx context.Context, s engram.CoreSegment) error {
	panic("to be built")
}

// AddProviderSegment implements wm.Journal.
func (j *Journal) AddProviderSegment(ctx context.Context, s engram.ProviderSegment) error {
	panic("to be built")
}

// RemoveSegment implements wm.Journal.
func (j *Journal) RemoveSegment(ctx context.Context, id engram.ID) error { panic("to be built") }

// Close writes and syncs what is waiting, and closes the logs.
func (j *Journal) Close() error { panic("to be built") }
