// Package catalogue knows which episode of a folder holds what: for every entity
// the episodes with its versions, their times, counts and bytes. It is an index
// that can be lost: what it says comes from the episodes, and it is rebuilt from
// them when it is missing, stale or damaged.
//
// It knows episodes; it knows no policies and no working memory.
package catalogue

import (
	"context"
	"iter"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
)

// Options configure a catalogue.
type Options struct {
	Dir        string // of the episodes
	File       string // of the catalogue
	Episode    episode.Options
	CacheBytes int64 // of what is looked up often; default 32 MiB
}

// Problem is an episode that could not be taken into the catalogue.
type Problem struct {
	Name string // of the file
	Err  error
}

// Catalogue is an open catalogue. Safe for concurrent use.
type Catalogue struct{}

// Open opens the catalogue of a folder, or makes it, and brings it up to date with
// the sealed episodes (".mcap") that are there. Episodes that cannot be read are
// left out and told.
func Open(ctx context.Context, o Options) (*Catalogue, []Problem, error) { panic("to be built") }

// Put adds a sealed episode, or replaces what was known of it, and removes those
// that it replaces, all at once.
func (c *Catalogue) Put(ctx context.Context, info episode.Info, entities []episode.Entity, replaces ...string) error {
	panic("to be built")
}

// Remove removes an episode. It is no error if it is not there.
func (c *Catalogue) Remove(ctx context.Context, name string) error { panic("to be built") }

// Episodes returns all episodes whose snapshots' times overlap iv, by Span.Start.
func (c *Catalogue) Episodes(ctx context.Context, iv engram.Interval) ([]episode.Info, error) {
	panic("to be built")
}

// Episode returns what an episode says of itself, or NotFound.
func (c *Catalogue) Episode(ctx context.Context, name string) (episode.Info, error) {
	panic("to be built")
}

// Names returns the names right below a parent of any level above an entity,
// sorted: the memories below the root, the entities below a provider segment.
func (c *Catalogue) Names(ctx context.Context, parent engram.ID) ([]string, error) {
	panic("to be built")
}

// Holdings returns what the episodes hold of an entity; it is empty if no episode
// holds any.
func (c *Catalogue) Holdings(ctx context.Context, entity engram.ID) (*Holdings, error) {
	panic("to be built")
}

// Total is what all episodes hold of a segment.
type Total struct {
	Segment   engram.ID // core or provider segment
	Entities  uint64
	Snapshots uint64 // versions; values in force counted once in each episode
	InForce   uint64
	Bytes     int64
	Span      engram.Interval
}

// Totals returns the sums over all episodes for each segment of a level
// (LevelCoreSegment or LevelProviderSegment), sorted by ID.
func (c *Catalogue) Totals(ctx context.Context, level engram.Level) ([]Total, error) {
	panic("to be built")
}

// Close closes the catalogue.
func (c *Catalogue) Close() error { panic("to be built") }

// Holding is what one episode holds of one entity.
type Holding struct {
	Episode string // the file's name
	episode.Entity
}

// Holdings are what the episodes hold of one entity. They do not change; a later
// call of [Catalogue.Holdings] may return others.
type Holdings struct{}

// All returns them by Span.Start. The slice is shared: not to be changed.
func (h *Holdings) All() []Holding { panic("to be built") }

// In yields those whose times overlap iv, by Span.Start.
func (h *Holdings) In(iv engram.Interval) iter.Seq[*Holding] { panic("to be built") }

// Back yields those that may hold a time at or before t, the most promising first:
// those that reach t, then the others by the last time that they hold. Whoever has
// found a version of time u may stop at the first one with Span.End <= u.
func (h *Holdings) Back(t engram.Time) iter.Seq[*Holding] { panic("to be built") }
