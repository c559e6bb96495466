package ltm

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/ltm/policy"
)

// Service is the administration of a long-term memory: what a [Store] is, and a client
// of one. Its methods are safe for concurrent use.
type Service interface {
	// Episodes returns the episodes whose snapshots' times overlap iv, by the start of
	// their spans; the open one is among them.
	Episodes(ctx context.Context, iv engram.Interval) ([]EpisodeInfo, error)
	// Episode returns one episode and what it holds of each entity, or NotFound.
	Episode(ctx context.Context, name string) (EpisodeInfo, []episode.Entity, error)
	// Verify checks every CRC, count and reference of a sealed episode.
	Verify(ctx context.Context, name string) ([]episode.Problem, error)
	// Seal ends the open episode and waits until it is sealed; why is noted.
	Seal(ctx context.Context, why string) error

	// Mark notes something that happened at a time and has what lies around it kept:
	// it is neither thinned nor forgotten, and what the working memory still has of
	// it is recorded whatever the policies say, as is what comes until m.After is over.
	Mark(ctx context.Context, m episode.Mark) error
	// Marks returns the marks whose spans overlap iv, by time.
	Marks(ctx context.Context, iv engram.Interval) ([]episode.Mark, error)
	// KeepEpisode protects a whole episode from forgetting and thinning, or ends that.
	KeepEpisode(ctx context.Context, name string, keep bool) error
	// DropEpisode deletes a sealed episode; why is noted. Conflict if it is kept.
	DropEpisode(ctx context.Context, name, why string) error

	// Rules returns the standing rules, by name.
	Rules(ctx context.Context) ([]Rule, error)
	// SetRule adds a standing rule, or replaces the one of its name.
	SetRule(ctx context.Context, r Rule) error
	// RemoveRule ends a standing rule, or fails with NotFound.
	RemoveRule(ctx context.Context, name string) error

	// Policies returns the policies of all core segments that are known, by ID.
	Policies(ctx context.Context) ([]SegmentPolicy, error)
	// SetPolicy changes settings of the core segments that a pattern matches, from now
	// on and for later lives. An empty text takes a setting back.
	SetPolicy(ctx context.Context, o policy.Override) error

	// Recall puts what a query finds on disk back into the working memory, marked as
	// recalled, and returns how many versions that were.
	Recall(ctx context.Context, q engram.Query) (uint64, error)
	// LTMStats tells what the long-term memory holds and does.
	LTMStats(ctx context.Context) (Stats, error)
}

var (
	_ Service             = (*Store)(nil)
	_ engram.Reader       = (*Store)(nil)
	_ engram.PartReader   = (*Store)(nil)
	_ engram.LatestReader = (*Store)(nil)
)

// EpisodeInfo is an episode with what the store notes of it.
type EpisodeInfo struct {
	episode.Info
	Kept bool // protected as a whole
}

// SegmentPolicy is the policy of a core segment.
type SegmentPolicy struct {
	Segment    engram.ID
	Policy     policy.Policy
	Overridden bool // some setting is not the default
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
}

// Stats tells what a long-term memory holds and does.
type Stats struct {
	Dir       string
	Episodes  int
	Bytes     int64 // of all episodes' files
	Snapshots uint64
	Segments  []SegmentStats // by ID
	Recorded  uint64         // versions in this life
	Filtered  uint64         // left out by policies in this life
	Lost      uint64         // that could not be recorded in this life
	Health    []string       // what does not work just now
	DiskTotal uint64         // bytes of the disk
	DiskFree  uint64
}

// SegmentStats tells what the sealed episodes hold of a core segment, and what this
// life has done.
type SegmentStats struct {
	Segment   engram.ID
	Entities  uint64
	Snapshots uint64
	Bytes     int64
	Span      engram.Interval
	Recorded  uint64
	Filtered  uint64
}
