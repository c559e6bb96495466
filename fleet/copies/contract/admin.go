package contract

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
)

// Admin administers the copies that a server holds. Its methods are safe for
// concurrent use.
type Admin interface {
	// AddCopy begins a copy, or changes the rules of the one of the same pattern, which
	// goes on where it is. What was left out by the old rules is not made up for.
	// With a data folder the copy is kept for later epochs. Conflict if the server
	// owns what is to be copied, or has the copy from its configuration. A copy that a
	// rule made is there by itself from then on.
	AddCopy(ctx context.Context, c Copy) error
	// RemoveCopy ends the copy of a pattern; with a rule all that it made. NotFound if
	// there is none, Conflict if the server has it from its configuration, or a rule made
	// it of a robot that is there: of one that is gone it may be removed, and is made again
	// should that come back. What another rule asks for as well goes on by that. drop forgets what is held of it, too; otherwise it stays as it is.
	RemoveCopy(ctx context.Context, pattern string, drop bool) error
	// CopyStatus tells how the copies are, sorted by their patterns: first the rules, each
	// followed by the copies that it made, then the others.
	CopyStatus(ctx context.Context) ([]Status, error)
	// Fetch asks the owners for what rules left out, or what was lost on the way, and
	// puts it into the copies.
	Fetch(ctx context.Context, f Fetching) (Fetched, error)
}

// Copy says what is to be held of whom.
type Copy struct {
	// Pattern of what is copied, by the names that it has at the holder:
	// "robot1:Object/Instance" is Object/Instance of robot1, "Vision" that of another
	// server of this robot. It tells copies apart. If its memory is not one name but may
	// be several of other robots, "*:Object", it is a rule: the holder makes a copy of
	// each such memory of another robot that it learns of.
	Pattern engram.Pattern
	Rules   Rules
}

// OfMany reports whether the copy is a rule that makes copies.
func (c *Copy) OfMany() bool {
	l := c.Pattern.Levels
	return len(l) > 0 && (l[0].Kind != engram.NameOneOf || len(l[0].Names) != 1)
}

// State is what a copy does.
type State string

// The states of a copy.
const (
	StateWaiting  State = "waiting"  // its owner is not there
	StateCatching State = "catching" // up with what its owner has
	StateLive     State = "live"     // it has all there is
	StateFailed   State = "failed"   // something is in its way that does not pass by itself
)

// Status tells how a copy is.
type Status struct {
	Copy
	// Configured says that it is in the configuration of the holder, and changed there.
	Configured bool
	// Rule is the pattern of the rule that made the copy, "" if none did. Made is, of a
	// rule, how many copies it made: its numbers are theirs together, its lag the longest.
	Rule  string
	Made  int
	Owner string // the server that owns what is copied, as far as is known
	State State
	Since engram.Time // of State, by the holder's clock
	Error string      // why it is not live, if that is known

	Position Position
	// How far the copy is behind its owner: as last told, in updates and payload bytes,
	// and in time by the owner's clock; while the owner is away the time goes on.
	Updates uint64
	Bytes   int64
	Lag     time.Duration
	Contact engram.Time // when the owner was last heard, by the holder's clock; 0 is never

	Received uint64 // versions, in this epoch of the holder
	Payload  int64  // their payload bytes
	// Wire is the share's part of the bytes received over the link, by payload bytes.
	Wire    int64
	Had     uint64 // versions that came again, such as after the owner's restart
	Removed uint64 // versions that were removed because the owner's were
	LeftOut []LeftOutCount
	Lost    uint64 // versions that were gone before they could be pulled, or were refused here
	Losses  []Loss // what they were of: the last MaxLosses noticed, the most recent first
}

// MaxLosses bounds [Status].Losses.
const MaxLosses = 50

// Loss tells of versions that a copy lacks for good.
type Loss struct {
	ID       engram.ID       // the entity by its name at the holder, or what lies above some
	Reason   string          // one of engram's Missing… constants, LostRefused, or a newer owner's text
	Count    uint64          // 0 if it is not known
	Interval engram.Interval // of their times; engram.Always() if it is not known
	Noticed  engram.Time     // when the last of it was noticed, by the holder's clock; 0 if it is not known
}

// LostRefused is why something was lost that the holder's memory did not take.
const LostRefused = "refused by the copy's holder"

// LeftOutCount counts what a rule left out of a copy.
type LeftOutCount struct {
	Reason string // one of the LeftOut… constants
	Count  uint64
	Bytes  int64
}

// Fetching says what is to be fetched.
type Fetching struct {
	Patterns []engram.Pattern // by the names at the holder; they must lie within copies
	Span     engram.Interval  // of snapshot times; the zero Interval is all
	// MaxBytes bounds the payload bytes; 0 is no bound.
	MaxBytes int64
}

// Fetched tells what was fetched.
type Fetched struct {
	Versions uint64 // that were not there before
	Had      uint64 // that were there
	Bytes    int64  // payload bytes of both
	More     bool   // MaxBytes kept more from being fetched
}
