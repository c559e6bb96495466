package admin

import "github.com/seed-301d4374/engram"

// Forgetting says what is to be forgotten: what patterns and a span of time select,
// single snapshots by their IDs, or what the policies want to be gone by now.
type Forgetting struct {
	// Patterns of entities, shorter ones with all below them.
	Patterns []engram.Pattern
	// Span of the snapshots' times that Patterns are about; the zero Interval is all.
	Span engram.Interval
	// IDs of snapshots, an entity with a time, that were found wrong.
	IDs []engram.ID
	// Due forgets what the policies want to be gone by now, which the store does by
	// itself every now and then; it goes with neither Patterns nor IDs.
	Due bool
	// Why is noted with the act; it must be said unless Due is set.
	Why string
	By  string // who wants it; may be empty
	// EvenKept forgets what is marked or lies in kept episodes, too. Without it such
	// snapshots stay and are counted.
	EvenKept bool
	DryRun   bool // nothing is forgotten
}

// The causes of forgetting beside those of package policy.
const (
	CauseRequest    = "request"    // somebody asked for it
	CauseWrong      = "wrong"      // a snapshot was found wrong
	CauseRedundancy = "redundancy" // near-duplicates of what stays
	CauseDropped    = "dropped"    // somebody dropped the whole episode
)

// Forgotten tells what was forgotten.
type Forgotten struct {
	Acts      []ForgettingAct // by segment and cause
	Versions  uint64          // on disk
	Volatile  uint64          // in the working memory
	Protected uint64          // versions that stayed because they are kept
	Episodes  int             // that were rewritten or dropped
	Bytes     int64           // that became free on disk
	// Unread are files of the folder that cannot be read, or that a repair put aside:
	// they may hold some of what was to be forgotten.
	Unread []string
}

// ForgettingAct is what was forgotten of one core segment for one cause.
type ForgettingAct struct {
	Segment  engram.ID
	Cause    string
	Entities uint64
	Versions uint64
	Span     engram.Interval // of their times
}

// Compacted tells what was compacted.
type Compacted struct {
	Before, After           int   // episodes
	BytesBefore, BytesAfter int64 // of their files
}
