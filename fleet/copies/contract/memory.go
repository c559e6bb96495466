package contract

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Memory is a memory server as the holder of copies. The names of memories are those
// of the copies, "robot1:Object" for another robot's. Its methods are safe for
// concurrent use, but what is put into one copied memory comes from one caller at a
// time, in order.
//
// What it holds as a copy takes no commits: they are refused with Unsupported.
type Memory interface {
	// PrepareCopy makes the memories, types and segments of copies known, or changes
	// them to what they are now. Conflict if the server hosts a memory of that name
	// itself; TypeMismatch if it knows another type of one's name.
	PrepareCopy(ctx context.Context, segments []Segment) error
	// ApplyCopy carries out what is removed, then stores the versions, with the
	// owner's times of arrival and numbers of its own. It is all done when it returns,
	// and nothing twice: a version that is there, or that came before one of its
	// entity and time that is there, changes nothing visible. The holder's clock is
	// not moved. Unavailable while what is to be forgotten of the same could not be.
	ApplyCopy(ctx context.Context, changes Changes) (Applied, error)
	// SyncCopies returns when everything that ApplyCopy was given before is on disk,
	// with kept true; where there is no disk, at once with kept false: then it is all
	// gone when the server ends.
	SyncCopies(ctx context.Context) (kept bool, err error)
	// DropCopy forgets what is held of what the pattern matches, on disk as well;
	// segments that hold nothing more, and the memory, are no more then. If it fails it
	// may be done later; until then ApplyCopy takes nothing of it.
	DropCopy(ctx context.Context, p engram.Pattern) error
	// Present returns the latest time that is not beyond the present for an entity of a copy
	// ([engram.CoreSegment].Present), which need not be there. It is called by several
	// goroutines at once and must be quick.
	Present(entity engram.ID) engram.Time
	// Copies returns the names of the memories that it holds copies of, sorted.
	Copies() []string
	// ExplainCopies has queries ask what copies lack of what they ask for, and how old
	// those are that they concern: what explain returns is added to their results. It is
	// called by several goroutines at once and must be quick; nil ends it.
	ExplainCopies(explain func(q *engram.Query) ([]engram.Missing, []engram.CopyUsed))
}

// Changes are what a copy is to be changed by.
type Changes struct {
	Removed  []Removal // first
	Versions []Version // then these, in this order
	// Whole says that the versions come whole from their owner, where a rule of the
	// copy may have had members left out of them: they take the place of those of
	// equal entity, time and arrival.
	Whole bool
}

// Applied counts what became of [Changes].
type Applied struct {
	Stored  uint64 // versions that were new
	Had     uint64 // versions that were there
	Removed uint64 // versions that were removed
	// Refused are versions that the memory cannot take, such as those above one of its
	// limits, with the first reason. They are lost to the copy.
	Refused uint64
	Reason  error
	Number  uint64 // the memory's, of the newest of the versions that it has by now, or a later one
}
