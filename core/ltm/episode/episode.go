// Package episode writes, reads, checks and repairs episodes: MCAP files that hold
// a span of what the robot's memories knew, and that any robotics tool can open.
//
// Every entity has a channel of its own with the schema of what is stored; log
// time is the snapshot's time, publish time its arrival. What viewers need not see
// (sent, confidence, update numbers, which messages form one snapshot) lies in a
// small channel beside them. docs/formats/episode.md fixes the layout.
//
// It knows files and codecs; it knows no policies and no working memory.
package episode

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/ltm/episode/meta"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// Options configure reading and writing.
type Options struct {
	FS         vfs.FS        // nil means vfs.OS
	Types      *idf.Registry // where types are looked up and those of episodes become known
	ChunkBytes int           // uncompressed; default 256 KiB
	// FlushEvery bounds how long what was added waits in memory to be written (not
	// what a codec of images holds back); default 5 s. It costs bytes when it is short.
	FlushEvery time.Duration
	Cache      *Cache // of chunks and indices; nil means none
	// Strict has a Writer to which versions are added in the order of time write all
	// messages strictly in the order of their log times, large ones among small ones: for
	// other tools, which read all. Otherwise large messages have chunks of their own, so
	// that who looks for numbers does not read images.
	Strict bool
	// Mode is who may use files that are made, before umask; default 0600, this user
	// alone.
	Mode fs.FileMode
}

// What is told of an episode; see package meta.
type (
	Info    = meta.Info
	Mark    = meta.Mark
	Entity  = meta.Entity
	Problem = meta.Problem
	Damage  = meta.Damage
)

// Timeless reports whether a time is that of what holds at all times, such as prior
// knowledge: 1970, or before.
func Timeless(t engram.Time) bool { return t <= 0 }

// fromZero reports whether a time is of the first day of a clock that begins at 0, such as
// a simulation's: beside it 0 is a time like others.
func fromZero(t engram.Time) bool { return t > 0 && t < engram.Time(24*time.Hour) }

// RecordedFromZero returns when something was recorded, given the times that it has. What
// stands at 0 does not count in an [Info]; where the clock began there, it was recorded like
// the rest.
func RecordedFromZero(recorded, span engram.Interval) engram.Interval {
	if span.Start == 0 && fromZero(recorded.Start) {
		recorded.Start = 0
	}
	return recorded
}

// HoldsNothing reports whether an episode holds nothing of its own, marks and losses
// included: values in force are of those before it.
func HoldsNothing(info *Info) bool {
	return info.Snapshots == info.InForce && len(info.Marks)+len(info.Losses) == 0
}

// AddMark adds a mark to others. A time and a label are one mark, which keeps all that it
// was ever set to keep.
func AddMark(marks []Mark, m Mark) []Mark {
	for i := len(marks) - 1; i >= 0; i-- {
		if old := &marks[i]; old.Time == m.Time && old.Label == m.Label {
			old.Before, old.After = max(old.Before, m.Before), max(old.After, m.After)
			return marks
		}
	}
	return append(marks, m)
}

// Begins reports whether head, the first bytes of a file, are how an episode begins.
// HeadBytes of them are enough to know.
func Begins(head []byte) bool {
	return bytes.HasPrefix(head, appendHeader(slices.Clone(mcap.Magic), library))
}

// HeadBytes is how many bytes [Begins] needs.
const HeadBytes = 64

// Source is an episode to read from: a sealed one ([Reader]) or the one that is
// being written ([Writer]). Safe for concurrent use.
type Source interface {
	Info() Info
	// Entities are sorted by ID.
	Entities() []Entity
	// Timeline returns an entity's timeline, or NotFound.
	Timeline(entity engram.ID) (Timeline, error)
}

// Timeline is the index of one entity's versions in one episode, in blocks of a
// few hundred to thousand. Blocks are in the order of writing, and within a block
// the versions are sorted by time, those of one time by arrival; the spans of
// blocks may overlap where data came late.
type Timeline interface {
	Blocks() []Block
	// Ordered reports whether starts and ends of the blocks' spans ascend.
	Ordered() bool
	// Versions returns the versions of block i.
	Versions(ctx context.Context, i int) (*Versions, error)
	// Index returns the same as snapshots, without their payloads' bytes, which are
	// the caller's.
	Index(ctx context.Context, i int) ([]*engram.Snapshot, error)
	// Load returns the versions first to last, exclusive, of block i with their
	// payloads. A video frame needs the frames from the last key frame on; they
	// are decoded for it and cached.
	Load(ctx context.Context, i, first, last int) ([]*engram.Snapshot, error)
	// Numbers returns a row for each of the versions first to last, exclusive, of block i, as rows reads them of what Load
	// returns; nil for one of which they cannot be read. They are cached, and must not be changed.
	Numbers(ctx context.Context, i, first, last int, rows *idf.NumberRows) ([][]float64, error)
	// Members returns the same timeline for who needs only some members of payloads: Load
	// may leave the others out. Equal names say that the members are the same.
	Members(name string, of codec.Members) Timeline
}

// Block is a part of a timeline.
type Block struct {
	Span    engram.Interval // of the snapshots' times
	Arrived engram.Interval
	Count   int
	Times   int // different ones of the versions; 0 if not known
}

// Channel says how an entity is stored. When a later [Writer.Add] gives another
// one for the same entity, what follows is stored that way.
type Channel struct {
	Entity engram.ID
	Type   engram.TypeDef // of the provider segment's payloads
	Policy string         // shown in the channel's metadata
	// Segment describes its segments, for who reads the channel without the rest of the
	// file; it becomes part of the channel's metadata, unless it is empty.
	Segment string
	Codec   codec.Config
}
