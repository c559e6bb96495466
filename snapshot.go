package engram

import "iter"

// ValueType is the type name of the self-describing variant, the payload type of
// segments that were defined without one.
const ValueType = "engram.idf.v1.Value"

// Payload is one encoded protobuf message.
type Payload struct {
	Type  string // the message's full name, such as "foxglove.RawImage"
	Bytes []byte // the encoded message; nil and empty mean all members unset
}

// Instance is one datum: a payload with its metadata.
type Instance struct {
	Payload Payload
	// Sent is when the producer handed the instance over; the memory sets it to
	// the time of arrival if the producer left HasSent false.
	Sent    Time
	HasSent bool
	// Confidence lies in [0, 1]. [NewInstance] sets it to 1.
	Confidence float32
}

// NewInstance returns an instance of full confidence.
func NewInstance(p Payload) Instance { return Instance{Payload: p, Confidence: 1} }

// Snapshot is an entity's state at a time. Snapshots are immutable once stored:
// readers share them with the memory and must not change them or their payloads.
type Snapshot struct {
	Time      Time       // when it was true
	Arrived   Time       // when the memory knew it
	Number    uint64     // the update number it was written with, unique in its memory server
	Instances []Instance // at least one
	// Recalled says that the working memory had lost it, and has it back from the
	// long-term memory.
	Recalled bool
}

// Size returns the bytes of all payloads.
func (s *Snapshot) Size() int {
	n := 0
	for i := range s.Instances {
		n += len(s.Instances[i].Payload.Bytes)
	}
	return n
}

// Item is a snapshot with its ID.
type Item struct {
	ID ID
	*Snapshot
}

// ResultNode is a node of a query's result, of the level its depth says: memory,
// core segment, provider segment or entity.
type ResultNode struct {
	Name      string
	Children  []*ResultNode // sorted by name; nil for entities
	Snapshots []*Snapshot   // sorted by time; entities only
}

// Why a part of what was asked for is not in a result.
const (
	MissingEvicted     = "evicted"     // the working memory dropped it to stay within its bounds
	MissingForgotten   = "forgotten"   // the long-term memory dropped it
	MissingFiltered    = "filtered"    // the long-term memory's policy left it out, and the working memory dropped it
	MissingDamaged     = "damaged"     // what holds it on disk cannot be read
	MissingUnreachable = "unreachable" // the server that has it did not answer
)

// Missing says which part of what a query asked for its result does not hold.
type Missing struct {
	ID       ID       // the entity, segment or memory it concerns
	Reason   string   // one of the Missing… constants
	Count    uint64   // snapshots, as far as is known; 0 is unknown
	Interval Interval // their times, as far as is known
}

// Result answers a [Query]; it is a tree shaped like it.
type Result struct {
	Memories []*ResultNode // sorted by name
	Missing  []Missing
}

// All yields every snapshot of the result with its ID, sorted by ID.
func (r *Result) All() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		for _, n := range r.Memories {
			if !n.each(ID{}, yield) {
				return
			}
		}
	}
}

func (n *ResultNode) each(parent ID, yield func(Item) bool) bool {
	id := parent
	id.names[id.level] = n.Name
	id.level++
	for _, s := range n.Snapshots {
		if !yield(Item{id.At(s.Time), s}) {
			return false
		}
	}
	for _, c := range n.Children {
		if !c.each(id, yield) {
			return false
		}
	}
	return true
}

// Items returns all snapshots of the result with their IDs, sorted by ID.
func (r *Result) Items() []Item {
	var items []Item
	for it := range r.All() {
		items = append(items, it)
	}
	return items
}
