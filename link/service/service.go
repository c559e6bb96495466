// Package service is what memory servers offer to those who follow links: what points at
// something, what led to it and what came of it. Whoever only asks imports no index with it.
package service

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/seed-301d4374/engram"
)

// Service follows links. Answers hold what their caller may read, as if there was nothing
// else. Errors have a code of package engram. It is safe for concurrent use.
type Service interface {
	// BackLinks yields what links to something, by source: of each entity the snapshots in
	// the order of their times. An error is the last; [ErrMore] is that of more links than
	// were wanted.
	BackLinks(ctx context.Context, q BackQuery) iter.Seq2[BackLink, error]
	// Trace yields the nodes and edges of a trace, level by level: a node before the edges
	// that end or begin at it, each once. An error is the last.
	Trace(ctx context.Context, q TraceQuery) iter.Seq2[Part, error]
	// Check counts, by provider segment and type, results that link to nothing.
	Check(ctx context.Context, q CheckQuery) ([]Checked, error)
}

// Follower makes the steps of a trace: what a server does for a client whose trace leads
// over several.
type Follower interface {
	// Resolve returns for each reference the node that it means, with what that links to,
	// at the same index.
	Resolve(ctx context.Context, refs []Ref, o Options) ([]Resolved, error)
	// Sources returns for each node what links to it, at the same index.
	Sources(ctx context.Context, nodes []Span, o Options) ([]Sources, error)
}

// Doubter knows what is not to be believed.
type Doubter interface {
	// Doubted returns a trace that ends with what of it is doubtful.
	Doubted(ctx context.Context, trace iter.Seq2[Part, error], asOf *engram.Time) iter.Seq2[Part, error]
}

// BackQuery asks what links to something.
type BackQuery struct {
	// Target is an entity: then links to any of its snapshots and instances are found, too;
	// or a snapshot or instance: then also links to the entity by what is of the time in
	// which that snapshot was in force. Of what lies above an entity links to just that are
	// found.
	Target engram.ID
	// Until is when the next snapshot of the target's entity begins, if that is known. Nil
	// has it looked up, which only the server of the entity can.
	Until *engram.Time
	// From selects the sources' entities; the zero Pattern selects all.
	From engram.Pattern
	// At asks for what was in force at a time: of each source the newest snapshot at or
	// before it. Nil asks for all snapshots in Span.
	At   *engram.Time
	Span engram.Interval // of the times of sources; the zero Interval is always
	// AsOf asks for what was known then.
	AsOf  *engram.Time
	Limit int // how many are wanted at most; 0 is all
}

// BackLink is a link, seen from its target.
type BackLink struct {
	Source  engram.ID   // the instance whose payload has the link
	Arrived engram.Time // of the source
	Path    string      // of the member that holds it
	Target  engram.ID   // as the link says it
}

// ErrMore says that there are more links than were wanted.
var ErrMore = engram.Errorf(engram.OutOfRange, "", "there are more links than were wanted")

// Direction is where a trace goes.
type Direction uint8

// The directions of a trace.
const (
	Up   Direction = 1 << iota // along links: to what led to it
	Down                       // against links: to what came of it
	Both = Up | Down
)

// Bounds of traces.
const (
	DefaultDepth = 20
	MaxDepth     = 1_000
	DefaultNodes = 1_000
	MaxNodes     = 100_000
)

// TraceQuery asks for a trace.
type TraceQuery struct {
	Start     engram.ID
	At        *engram.Time // of the start, if that is an entity; nil is its newest snapshot
	Direction Direction    // zero is Up
	Depth     int          // how many links away; 0 is [DefaultDepth]
	Nodes     int          // how many at most; 0 is [DefaultNodes]
	Options
}

// Options say how a trace is followed.
type Options struct {
	// Within selects which entities a trace may enter; nil is all.
	Within []engram.Pattern
	// AsOf asks for what was known then.
	AsOf *engram.Time
	// Spans has nodes come with when they end ([Node].Until).
	Spans bool
	// Members has nodes come with their payload's members.
	Members bool
}

// Ref is a reference: what a link says, read at the time of the snapshot that has it.
type Ref struct {
	ID engram.ID
	At engram.Time // an entity means its newest snapshot at or before; MaxTime is the newest
}

// Node is a snapshot in a trace, or an instance if links name that, or what a link leads to
// that is not there.
type Node struct {
	ID    engram.ID
	Depth int // links between it and the start
	// First is the time of the first of the snapshots that the node stands for: those up to
	// ID's that have the same part in the trace.
	First      engram.Time
	Until      engram.Time // when the entity's next snapshot begins; MaxTime if there is none
	Arrived    engram.Time
	Type       string // of its payload
	Confidence float32
	Instances  int
	// Stages says that the snapshots of its entity are stages of one thing, such as an
	// execution.
	Stages bool
	// Members is the payload as an object, if it was asked for; of a list if there are
	// several instances. Bytes are summarised.
	Members json.RawMessage
	// Missing is why it is not there: one of the Missing… constants, also those of package
	// engram; "" if it is.
	Missing string
}

// Why what a link leads to is not there, beside the reasons of package engram.
const (
	MissingNever     = "never there"   // nothing of it is known
	MissingNoRight   = "no right"      // the caller may not read such things, whether they are there or not
	MissingElsewhere = "not held here" // the server hosts no such memory
)

// Edge is a link in a trace.
type Edge struct {
	From, To engram.ID // of nodes
	Path     string    // of the member that holds it
	Link     engram.ID // as it stands there
	Instance int       // of From
}

// Part is a part of a trace: a node or an edge, or what cut it off.
type Part struct {
	Node *Node
	Edge *Edge
	// More tells that there is more than the trace has: "depth" or "nodes" is the bound that
	// was met, "links" that more led to one node than are followed, "server" that a server
	// did not answer, "doubts" that it is not known what is doubtful. Detail says more.
	More, Detail string
	Doubt        *Doubt
}

// Doubt tells that snapshots for which a node stands were withdrawn, or rest on what was.
type Doubt struct {
	Node engram.ID
	Why  string // such as "withdrawn: it was mis-calibrated", or of several snapshots "2 of 5 doubtful: …"
}

// Span is a node to be followed against links.
type Span struct {
	ID           engram.ID // of a snapshot or instance, or an entity for all of it
	First, Until engram.Time
}

// Resolved is what a reference means.
type Resolved struct {
	Node  Node
	Links []Link
}

// Link is a link of a node.
type Link struct {
	Path     string
	Instance int
	ID       engram.ID
}

// Sources are what links to a node.
type Sources struct {
	Of   []Source
	More bool     // there are more than are followed
	Away []string // servers that did not answer
}

// Source is a node that links to another one.
type Source struct {
	Node  Node
	Links []Link // those that lead there
}

// CheckQuery asks for results without links.
type CheckQuery struct {
	Of       engram.Pattern
	Span     engram.Interval // of times; the zero Interval is always
	Dangling bool            // look whether what links lead to is there
}

// Checked counts results of a provider segment that are of one type.
type Checked struct {
	Provider engram.ID
	Type     string
	// CanLink says that the results are expected to link to inputs: those of a type that can,
	// of an event-driven pipeline. What a person may say or ask for is expected to only where
	// most of a provider's results do.
	CanLink  bool
	Results  uint64            // instances
	Unlinked uint64            // of these without a link to an input; prior knowledge is none
	Example  engram.ID         // the newest of these
	Links    uint64            // in all
	Dangling map[string]uint64 // of these, by the reason why what they lead to is not there
	// DanglingExample is a link that leads nowhere: its source, and as it stands there.
	DanglingExample [2]engram.ID
}
