package engram

import (
	"iter"
	"time"
)

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
	MissingLeftOut     = "left out"    // a rule of the copy left it out; its owner may have it (engram copy fetch)
	MissingUnreachable = "unreachable" // the server that has it did not answer
	// MissingAhead: it is stamped beyond the present ([CoreSegment.Present]), and [Latest]
	// chose among what is not. It is kept, and read by its times.
	MissingAhead = "stamped ahead of the clock"
	// MissingNotBelieved: the server that says it has it has a certificate that does not
	// allow it to.
	MissingNotBelieved = "not believed"
	// MissingFilterFailed: evaluating the filter failed, so that it is not known whether it
	// was asked for: an index beyond a list, a value of another kind, a member that there
	// is not. All such snapshots of an answer are told as one, below the level at which they
	// have one ID; Example is one of them, and Detail says what failed there.
	MissingFilterFailed = "filter failed"
)

// Missing says which part of what a query asked for its result does not hold.
type Missing struct {
	ID       ID       // the entity, segment or memory it concerns
	Reason   string   // one of the Missing… constants
	Count    uint64   // snapshots, as far as is known; 0 is unknown
	Interval Interval // their times, as far as is known
	// Example and Detail are an instance and what failed there, if the reason is
	// [MissingFilterFailed]; else empty.
	Example ID
	Detail  string
	// Since is when who is to answer was last heard, if the reason is [MissingUnreachable]
	// and that is known; else 0.
	Since Time
}

// CopyUsed says that a copy answered for a memory.
type CopyUsed struct {
	Memory string // as the query names it, such as "robot1:Object"
	Server string // that holds the copy
	// AsOf is when the owner last had nothing that the copy did not have, by the
	// owner's clock, and Lag how long that was ago, by the holder's. Both are 0 if the
	// holder does not know.
	AsOf Time
	Lag  time.Duration
	// Behind counts the owner's updates that the copy is known to lack.
	Behind uint64
	// Away says that the copy answered because the owner was not reached, or not believed;
	// the memory is [MissingUnreachable], or [MissingNotBelieved], then, too.
	Away bool
	// Epoch and Number tell of an update of the owner: what is asked of the copy after this
	// answer has it and all before it. Both are 0 if the holder does not know, or copies only
	// some of the memory.
	Epoch, Number uint64
	// Held is the number at the holder of the last update of the copy that this took, or a
	// later one; 0 if it took none in its epoch.
	Held uint64
}

// Result answers a [Query]; it is a tree shaped like it.
type Result struct {
	Memories []*ResultNode // sorted by name
	Missing  []Missing
	Copies   []CopyUsed // what is not from the owner itself
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
