// Package answer is what is asked of a world and what is answered, and what is stated in one, for who asks and who
// answers; it knows no forest, and no way to one. Package mind/world/view answers.
package answer

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Service answers questions about a world, and states something in it. All methods are safe for concurrent use. Rows come in parts of any size,
// in the order that the method says, to a function whose error ends the call; a part is valid until that returns.
// An unknown name gives NotFound, with a near name or the removal of the item. Answers, counts and errors tell
// nothing of statements that the caller may not read.
type Service interface {
	// Tree tells of all items, or of one and those below it, each followed by those below it, by name.
	Tree(ctx context.Context, q Question, of Tree, part func([]Row) error) error
	// Items tells of items in the order of their names.
	Items(ctx context.Context, q Question, names []string, whole bool, part func([]Row) error) error
	// Near tells of the items around another one or a point, the nearest first, and how many were left out.
	Near(ctx context.Context, q Question, n Near, part func([]Row) error) (LeftOut, error)
	// In tells of the items in a place or another item, the nearest to its origin first, those of unknown distance
	// last, and how many were left out.
	In(ctx context.Context, q Question, in In, part func([]Row) error) (LeftOut, error)
	// Names returns the names of the items that begin so, in the order of [Service.Tree].
	Names(ctx context.Context, q Question, prefix string) ([]string, error)
	// Joints returns the joints by name.
	Joints(ctx context.Context, q Question) ([]Joint, error)
	// Maps returns the maps that serve, the best first, and then those that do not.
	Maps(ctx context.Context, q Question, of Maps) ([]Map, error)
	// MapData returns the data of a map. The error is NotFound if no memory has them, Corrupt if they are not those
	// that the map names.
	MapData(ctx context.Context, q Question, name string) ([]byte, error)
	// Components returns pieces of hardware and drivers by name, and what these pass on to each other.
	Components(ctx context.Context, q Question) ([]Component, []Pipe, error)
	// Covers returns the sensors that reach an item, a place or a point, which is written x,y,z or x,y,z@FRAME: those
	// that run first, then the nearest; then those of which nobody can say it.
	Covers(ctx context.Context, q Question, what string) ([]Cover, error)
	// Diff returns how items differ between two times, by name. The question has no time of its own.
	Diff(ctx context.Context, q Question, d Diff) ([]Difference, error)
	// Export returns the world as a file that 'engram world import' reads, and notes about what is not in it.
	Export(ctx context.Context, q Question, e Export) (text []byte, notes []string, err error)
	Writer
}

// Question says of which world something is asked.
type Question struct {
	At   *engram.Time // the world at this time; nil is the present
	AsOf *engram.Time // as it was known at this time; nil is what is known now
	// Robots are whose worlds it is over, too: names, "~" and a regular expression, or "*" for all; as far as who
	// answers has their memories, or copies.
	Robots []string
	// After are marks of writes: the world has all that was written up to them. The error is TooNew if that has not
	// come after Wait.
	After []Mark
	Wait  time.Duration
	// Opening, unless it is nil, is called while who answers reads the world for the first time: so much of so much is
	// done; of nothing if that is not known yet.
	Opening func(done, of int)
}

// Mark is a point in the writes of a world: an epoch of the server that was written to, and the number of an update.
type Mark struct{ Epoch, Number uint64 }

// Tree says of what [Service.Tree] tells: of an item, of a place that is called so, or with neither of all.
type Tree struct {
	Item  string
	Place string // an item's name, or what places are called, the greater before the lesser: Munich/Karlstrasse/3006
	Whole bool   // with all that is known of each item
}

// Near says what [Service.Near] looks around.
type Near struct {
	Around string  // the name of an item, or a point: x,y,z@FRAME, without a frame in that of the only root; metres
	Radius float64 // metres
	Filter
}

// In says where [Service.In] looks.
type In struct {
	Place string // as in Tree
	Filter
}

// Filter says of which items a list tells.
type Filter struct {
	Presence Presence
	Kind     string // only of this kind; "" is any
	Class    string // only of this class, an entity of Object/Class; "" is any
	Whole    bool   // with all that is known of each item
}

// Presence says whether items are wanted that may not be there any more.
type Presence uint8

// What may be wanted.
const (
	Present    Presence = iota // what is believed with 0.5 or more to be there still, and not provisional
	Remembered                 // what is not present, and was not removed
	All                        // both
)

// LeftOut counts items that a list did not want because of their presence.
type LeftOut struct {
	Gone        int // which may not be there any more; or, of what is remembered, which are present
	Provisional int // which are not admitted yet
}

// Maps says which maps are wanted.
type Maps struct {
	Place               string   // that they shall serve, as in Tree; "" is any
	Sensors, Algorithms []string // that the robot has
	Kind                string   // only of this kind, such as "occupancy grid"; "" is any
}

// Diff says what counts as a difference.
type Diff struct {
	From      engram.Time
	To        *engram.Time   // nil is the present
	Threshold pose.Threshold // what moved further
}

// Export says what is exported, and how.
type Export struct {
	Item   string // it and what is below it; "" is all
	Nested bool   // children stand inside their parents
	JSON   bool   // instead of YAML
}
