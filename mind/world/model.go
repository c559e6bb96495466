package world

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Model is a world that programs read and write. What it writes is what one provider says;
// what it reads is what all say. All methods are safe for concurrent use. Errors have a code
// of package engram and name the item.
type Model interface {
	// View returns the present world, which answers all questions and does not change
	// meanwhile. It waits until it has what was written up to the marks; TooNew says that it
	// did not come before ctx ended.
	View(ctx context.Context, after ...Mark) (*Forest, error)
	// Past returns the world at a time, as it was known at the time asOf; nil is what is known
	// now. Unsupported if the model has only its present.
	Past(ctx context.Context, at engram.Time, asOf *engram.Time) (*Forest, error)
	// Update states items. Groups and members that are not set stay as this provider has
	// stated them; a group without a time is stated now. Items that are refused are told, with
	// the reason, and do not stop the others. The pose or the parent of a robot that is neither this provider nor the robot
	// of its memory World is refused as Conflict, here as in all that states them: it would not count. So is that an item is a
	// robot whose place or parent this provider has stated. What says nothing of its source, in a world that was not
	// given one by [FromSource], is refused as Invalid, here as in all that states something; a pose, a parent
	// and a removal have the source of what this provider has stated of the item.
	Update(ctx context.Context, items ...NamedItem) ([]Refusal, Mark, error)
	// StateAll states several things as a whole: if one of them cannot be stated, none is. It returns an error
	// for each thing, nil for none, or no errors at all. With dryRun it only checks. What no check can foresee,
	// such as a memory that is full, a server refuses when the others are stated already: then there are errors, and a
	// mark of what was stated, which is what has no error. Without a mark nothing was. The items may have each other
	// as parents and the states be of them, in any order; nothing is named twice.
	StateAll(ctx context.Context, dryRun bool, all ...Stated) ([]error, Mark, error)
	// UpdatePose states where an item is that there is, in the frame of another item; "" is its
	// parent.
	UpdatePose(ctx context.Context, name, frame string, p pose.Pose, c pose.Cov) (Mark, error)
	// Attach gives an item another parent, at a pose in its frame, or where the item is
	// at present if at is nil; both at once. Attached to what is below it, the error is
	// Conflict; without a pose and not aligned with the parent, that of [Forest.Pose].
	Attach(ctx context.Context, name, parent string, at *pose.Pose) (Mark, error)
	// Remove says that an item is no more. If something has it as its parent, children say
	// what becomes of it.
	Remove(ctx context.Context, name, reason string, children Children) (Mark, error)
	// Withdraw takes back all that this provider says of an item, its states and the joints that move it, and of
	// the joint, the map and the component of the name; others may still say it.
	Withdraw(ctx context.Context, name string) (Mark, error)
	// Articulate states a joint: of one without a Base only the value, which its limits must
	// allow, else the error is OutOfRange. What this provider has stated of the joint stays,
	// but for what is stated anew. [Model.Withdraw] takes it back.
	Articulate(ctx context.Context, joint string, a Articulation) (Mark, error)
	// SetState states a state of an item, with a confidence in [0, 1].
	SetState(ctx context.Context, s State, confidence float64) (Mark, error)
	// SetMap states what there is to say of a map, and its data if they are not nil; the
	// checksum and the link follow from these. Without data those of a map of that name and
	// checksum stay. [Forest.Maps] has it, MapData the data. The zero Map takes back what this provider has stated.
	SetMap(ctx context.Context, name string, m Map, data []byte) (Mark, error)
	// MapData returns the data of a map. The error is NotFound if no memory has them, Corrupt
	// if they are not those that the map names.
	MapData(ctx context.Context, name string) ([]byte, error)
	// SetComponent states a component; one without a kind withdraws it.
	SetComponent(ctx context.Context, name string, c Component) (Mark, error)
	// Watch tells of changes from now on.
	Watch(ctx context.Context) (Watcher, error)
}

// NamedItem is an item with its name.
type NamedItem struct {
	Name string
	Item
}

// Stated is one of several things that are stated together.
type Stated struct {
	Name       string  // of the item, joint, map or component; of a State it is not needed
	What       any     // an Item, Articulation, State, Map, Component or Withdrawal; a Source that is not set is the world's
	Confidence float64 // of a State
	Data       []byte  // of a Map; nil is none
}

// Withdrawal takes back what a provider has stated under a name: of an item and beside it, of a joint, a map and a
// component.
type Withdrawal struct {
	Item, States          bool
	Joints                bool // that move the item
	Maps                  bool // of which it is the first item that they describe
	Joint, Map, Component bool // of the name
}

// Refusal says why an item was not stated.
type Refusal struct {
	Name string
	Err  error
}

// Mark is a point in the writes of a world. See [follow.Mark].
type Mark = follow.Mark

// ParseMark reads the text of a mark. The error is Invalid if it is none.
func ParseMark(text string) (Mark, error) { return follow.ParseMark(text) }

// Children says what becomes of the children of an item that is removed.
type Children uint8

// What becomes of children.
const (
	RefuseChildren Children = iota // nothing is removed while there are some: Conflict
	WithChildren                   // all below is removed, too
	OrphanChildren                 // they have no parent then, and stay where they are; robots, which place themselves, wait for it
)

// Change tells which items may differ since the change before, in a view that has them.
type Change struct {
	Forest *Forest
	Names  []string // sorted
	// Unsaid says that something that was said is in no memory any more: what was known of earlier times and beliefs may
	// differ, too.
	Unsaid bool
	heard  map[string]engram.Time
}

// Since returns from when on an item may differ, by the clock that rules compare with: MaxTime if only
// what others say of it, or of what it is in, did.
func (c *Change) Since(name string) engram.Time {
	if t, ok := c.heard[name]; ok {
		return t
	}
	return engram.MaxTime
}

// Watcher tells of changes. One goroutine may wait at a time.
type Watcher interface {
	// Next waits for a change. Changes that nobody waited for are told together. The error
	// is Canceled after Close or when ctx ends.
	Next(ctx context.Context) (Change, error)
	// Close ends it.
	Close()
}
