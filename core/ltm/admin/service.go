// Package admin is what a long-term memory offers beside answering queries: its
// episodes, what of them is kept and what is forgotten, and the policies that it
// follows. A store (package ltm) offers it in its own process, a client of a memory
// server anywhere else; who uses it needs to know neither.
//
// It holds meanings and no behaviour. docs/ltm.md is the guide.
package admin

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode/meta"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// Service is the administration of a long-term memory. Its methods are safe for
// concurrent use.
type Service interface {
	// Episodes returns the episodes whose snapshots' times overlap iv, by the start of
	// their spans; the open one is among them.
	Episodes(ctx context.Context, iv engram.Interval) ([]EpisodeInfo, error)
	// Episode returns one episode and what it holds of each entity, or NotFound.
	Episode(ctx context.Context, name string) (EpisodeInfo, []meta.Entity, error)
	// Verify checks every CRC, count and reference of a sealed episode.
	Verify(ctx context.Context, name string) ([]meta.Problem, error)
	// Damaged names the files of episodes that cannot be read. What they hold is in no
	// answer until they are repaired.
	Damaged(ctx context.Context) ([]Damaged, error)
	// Repair saves what can be saved of a damaged episode, takes the result in its
	// place, and returns it with what is lost.
	Repair(ctx context.Context, name string) (EpisodeInfo, []meta.Problem, error)
	// Seal ends the open episode and waits until it is sealed; why is noted. While the
	// disk refuses it does not wait: the error says so, and it is sealed later.
	Seal(ctx context.Context, why string) error

	// Mark notes something that happened at a time and has what lies around it kept:
	// it is neither thinned nor forgotten, and what the working memory still has of
	// it is recorded whatever the policies say, as is what comes of that span later. A
	// time and a label are one mark: set again, it keeps all that it was ever set to keep.
	Mark(ctx context.Context, m meta.Mark) error
	// Unmark removes the marks of a label whose times lie in iv, and returns how many
	// those were; NotFound if there is none. What they kept is up to the policies then.
	Unmark(ctx context.Context, label string, iv engram.Interval) (int, error)
	// Marks returns the marks whose spans overlap iv, by time.
	Marks(ctx context.Context, iv engram.Interval) ([]meta.Mark, error)
	// KeepEpisode protects a whole episode from forgetting and thinning, or ends that.
	KeepEpisode(ctx context.Context, name string, keep bool) error
	// DropEpisode deletes a sealed episode, or the file of a damaged one; why, and who
	// wants that, is noted. Conflict if it is kept.
	DropEpisode(ctx context.Context, name, why, by string) error

	// Rules returns the standing rules, by name.
	Rules(ctx context.Context) ([]Rule, error)
	// SetRule adds a standing rule, or replaces the one of its name.
	SetRule(ctx context.Context, r Rule) error
	// RemoveRule ends a standing rule, or fails with NotFound.
	RemoveRule(ctx context.Context, name string) error

	// Policies returns the policies of all core segments that are known, by ID.
	Policies(ctx context.Context) ([]SegmentPolicy, error)
	// SetPolicy changes settings of the core segments that a pattern matches, from now
	// on and for later epochs. An empty text takes a setting back.
	SetPolicy(ctx context.Context, o policy.Override) error

	// Recall puts what a query finds on disk back into the working memory, marked as
	// recalled, and returns how many versions that were.
	Recall(ctx context.Context, q engram.Query) (uint64, error)
	// Forget forgets what is asked for, or tells what it would forget. It returns when
	// what is forgotten is in no file any more. progress may be nil.
	Forget(ctx context.Context, f Forgetting, progress Progress) (Forgotten, error)
	// Compact takes small episodes together, or tells what it would do. progress may
	// be nil.
	Compact(ctx context.Context, dryRun bool, progress Progress) (Compacted, error)
	// LTMStats tells what the long-term memory holds and does.
	LTMStats(ctx context.Context) (Stats, error)
}

// Progress is told how much of some work is done, by one goroutine at a time.
type Progress func(done, total int)

// Tell calls p unless it is nil.
func (p Progress) Tell(done, total int) {
	if p != nil {
		p(done, total)
	}
}

// EpisodeInfo is an episode with what the store notes of it.
type EpisodeInfo struct {
	meta.Info
	Kept bool // protected as a whole
}

// Damaged is an episode's file that cannot be read, and why.
type Damaged struct{ Name, Why string }

// SegmentPolicy is the policy of a core segment.
type SegmentPolicy struct {
	Segment    engram.ID
	Policy     policy.Policy
	Overridden bool // some setting is not the default
	// Set names the settings that were set at run-time, sorted.
	Set []string
}

// Rule is a standing rule: when an update satisfies When, what lies around it is
// marked.
type Rule struct {
	Name     string   `json:"name"`
	Patterns []string `json:"patterns,omitempty"` // of entities; none is all
	When     string   `json:"when"`               // a CEL expression over an instance
	Before   Duration `json:"before"`
	After    Duration `json:"after"`
	Label    string   `json:"label,omitempty"` // of the marks; the rule's name if empty
	// Seal ends the open episode at each update that satisfies the rule, so that
	// another begins: with a skill's run, for example. It does so at most every ten seconds.
	Seal bool `json:"seal,omitempty"`
	// Missed counts the updates of this epoch that it could not look at or not mark; it is
	// told and not set.
	Missed uint64 `json:"missed,omitempty"`
	// Failed counts the updates of this epoch on which evaluating When failed, and Failure
	// says of one of them how; both are ignored when a rule is set.
	Failed  uint64 `json:"failed,omitempty"`
	Failure string `json:"failure,omitempty"`
}

// Duration is a time.Duration that is text in JSON, such as "1m30s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// Stats tells what a long-term memory holds and does.
type Stats struct {
	Dir       string
	Episodes  int
	Bytes     int64 // of all episodes' files
	Snapshots uint64
	Segments  []SegmentStats // by ID
	Recorded  uint64         // versions in this epoch
	Filtered  uint64         // left out by policies in this epoch
	Lost      uint64         // that could not be recorded in this epoch
	Health    []string       // what does not work just now
	DiskTotal uint64         // bytes of the disk
	DiskFree  uint64
}

// SegmentStats tells what the episodes hold of a core segment, the open one too, and what
// this epoch has done.
type SegmentStats struct {
	Segment   engram.ID
	Entities  uint64
	Snapshots uint64
	Bytes     int64
	Span      engram.Interval // of what was recorded, without what holds at all times; empty if there is nothing else
	Recorded  uint64
	Filtered  uint64
	Forgotten uint64 // versions, in all epochs
}
