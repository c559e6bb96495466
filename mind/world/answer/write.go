package answer

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Writer states something in a world, as a provider. What the caller may not write is Forbidden as if it was
// committed, and what he may not read does not count and is not told of. When a call returns, the world has what was
// written, and the mark of it is returned. Errors have a code of package engram and name what they are about. All
// methods are safe for concurrent use; those of one provider wait for each other.
type Writer interface {
	// Known tells what there is already under names, in their order.
	Known(ctx context.Context, by Provider, names []string) ([]Known, error)
	// State states things as a whole: if one of them cannot be stated, none is, and the outcome says why.
	State(ctx context.Context, by Provider, s Stating) (Stated, error)
	// Move gives an item another parent: at a pose in it, whose frame does not count, or without one where it is.
	Move(ctx context.Context, by Provider, item, parent string, at *Pose) (Mark, error)
	// Remove says that an item is no more, and why.
	Remove(ctx context.Context, by Provider, item, reason string, children Children) (Mark, error)
	// Withdraw takes back all that the provider says under a name: of the item with its states and the joints that move it,
	// of the joint, the map and the component. The error is NotFound if it says nothing.
	Withdraw(ctx context.Context, by Provider, name string) (Mark, error)
}

// Provider says who states something, and in which world.
type Provider struct {
	Name   string
	Source Source       // of statements that a call makes by itself
	Robots []string     // as in [Question]
	Now    *engram.Time // what the time is, by the clock of who states it; nil is the clock of who answers
	// Opening is as in [Question].
	Opening func(done, of int)
}

// Source is where a statement comes from. An operator's outranks others.
type Source uint8

// The sources of statements.
const (
	SourceUnset Source = iota
	Perception
	PriorKnowledge
	Operator
)

// Known is what there is under a name. The payloads are as in the memory World; one without a type is none.
type Known struct {
	Name    string
	Item    engram.Payload // what all say of the item, merged
	Own     engram.Payload // what the provider itself says of it
	Joint   engram.Payload // the joint of the name
	Missing string         // why there is no such item; "" if there is one
	Robot   bool           // somebody says that it is a robot, whose place counts from itself only
}

// Stating is what is stated together. The callee may change its things.
type Stating struct {
	Things []Thing
	// Content says that the things are what files say: what these do not say of an item stays as the provider has stated
	// it, and the outcome has notes.
	Content bool
	DryRun  bool // nothing is stated, only checked
}

// Thing is one of several things that are stated.
type Thing struct {
	Name       string         // of a state it is not needed
	Payload    engram.Payload // an item, articulation, state, map or component, as in the memory World; without a type, Withdrawal is meant
	Confidence float64        // of a state
	Data       []byte         // of a map; nil is none
	Withdrawal Withdrawal
	At         string   // of a content: where it says so, such as "kitchen.yaml:7"
	Members    []string // of an item of a content that is Partial: the members of its description that it says
	Partial    bool     // else it says all of its description
}

// Withdrawal says what a provider takes back under a name.
type Withdrawal struct {
	Item, States          bool
	Joints                bool // that move the item
	Maps                  bool // of which it is the first item that they describe
	Joint, Map, Component bool // of the name
}

// Stated is what came of stating things.
type Stated struct {
	Mark Mark // of what was stated; zero if nothing was
	// Failed says of each thing why it was not stated, nil if it was or could be; nothing if nothing is wrong. Of a content
	// it is what is wrong, in the order of its places.
	Failed []error
	Notes  []string // doubts about a content
	Stated []string // the part of a content that the server took, such as "item cup", if it did not take all
}

// Children says what becomes of the children of an item that is removed.
type Children uint8

// What becomes of children.
const (
	RefuseChildren Children = iota // nothing is removed while there are some: Conflict
	RemoveChildren                 // all below is removed, too
	OrphanChildren                 // they have no parent then, and stay where they are
)
