package engram

import (
	"context"
	"time"
)

// Writer writes into a memory.
type Writer interface {
	// Commit stores each entity update of c and answers each at the same index;
	// one bad update does not stop the others. The memory keeps the payloads'
	// bytes, which the caller must not change afterwards unless the commit is
	// Transient. The error is not nil
	// only if the commit as a whole was not processed: then whether anything was
	// stored is unknown if its code is Unavailable or Canceled, and nothing was
	// otherwise. Safe for concurrent use.
	Commit(ctx context.Context, c Commit) ([]UpdateResult, error)
}

// CommitStreamer is a Writer that takes commits in a pipeline, without waiting
// for each answer.
type CommitStreamer interface {
	// CommitStream opens a pipeline. ctx bounds its whole life.
	CommitStream(ctx context.Context) (CommitStream, error)
}

// CommitStream is a pipeline of commits. One goroutine may call Send and Flush
// while another calls Recv.
type CommitStream interface {
	// Send hands a commit over. It waits while the pipeline is full.
	Send(c Commit) error
	// Flush hands over to the server what Send may have gathered.
	Flush() error
	// Recv returns the answers to the commits in the order they were sent, and
	// io.EOF after CloseSend when all were answered.
	Recv() ([]UpdateResult, error)
	// CloseSend says that no more commits follow.
	CloseSend() error
	// Close gives the pipeline up and releases what it holds.
	Close() error
}

// Reader reads from a memory.
type Reader interface {
	// Query answers q. Names that do not exist are not an error: the result does
	// not hold them. Results share their payloads with the memory and must not be
	// changed. Safe for concurrent use.
	Query(ctx context.Context, q Query) (*Result, error)
}

// PartReader is a Reader that delivers large answers in parts.
type PartReader interface {
	// QueryParts calls part with one partial result after another; together they
	// are what Query returns. An error of part ends the query and is returned.
	QueryParts(ctx context.Context, q Query, part func(*Result) error) error
}

// LatestReader is a Reader with a short way to one entity's snapshots.
type LatestReader interface {
	// Latest returns the entity's newest snapshot, or NotFound.
	Latest(ctx context.Context, entity ID) (*Snapshot, error)
	// AtOrBefore returns the entity's newest snapshot not after t; TooOld if it
	// was kept once and evicted, NotFound if there was none.
	AtOrBefore(ctx context.Context, entity ID, t Time) (*Snapshot, error)
}

// Subscriber tells of changes.
type Subscriber interface {
	// Subscribe begins a subscription; ctx bounds only the call. Safe for
	// concurrent use.
	Subscribe(ctx context.Context, s Subscription) (UpdateStream, error)
}

// Predictor says what will be.
type Predictor interface {
	// Predict returns for each snapshot ID (an entity and a time) the predicted
	// snapshot, at the same index. An ID's error is Unsupported if its payload has no number that
	// can be predicted, and NotFound if it has no snapshot.
	Predict(ctx context.Context, ids []ID) ([]Prediction, error)
}

// Prediction answers one ID of a call to Predict. What a memory's own hook predicts may have no
// more than a snapshot.
type Prediction struct {
	ID       ID
	Snapshot *Snapshot // nil if Err is not
	Err      error

	Horizon time.Duration     // after the newest snapshot; 0 for what is known
	From    []ID              // the snapshots that it rests on
	Members []PredictedMember // the numbers of the first instance that were predicted

	// Hypotheses are what may be, the most probable first, where that falls into several; none says that the
	// prediction is the only one. Snapshot and Mean are of the first, the band holds all.
	Hypotheses []Hypothesis
	Poses      []PredictedPose // members of the first instance that are poses
}

// Hypothesis is one of several things that may be.
type Hypothesis struct {
	Probability float64 // those of all add up to at most 1
	Snapshot    *Snapshot
	Members     []PredictedMember
	From        []ID            // past situations like the newest one that it followed, the nearest first
	Poses       []PredictedPose // of this hypothesis alone; those of the prediction hold all
}

// PredictedPose is how uncertain a predicted pose is.
type PredictedPose struct {
	Path string // of the member that holds position and orientation, such as "pose"; "" is the payload
	// Covariance is row by row as ROS has it: x, y, z (m) and the rotation about the fixed axes x, y, z (rad), in
	// the frame in which the pose is told. pose.CovFromROS reads it.
	Covariance [36]float64
}

// PredictedMember is a number of a predicted payload.
type PredictedMember struct {
	Path string // as idf.Found.Path has it
	Mean float64
	// SD is the standard deviation; of what is held, such as an enumeration, the probability of another value.
	SD float64
	// Low and High are the ends of the band that holds the truth in 9 of 10 cases.
	Low, High float64
	Model     string // that counted most, such as "damped trend"
	// Skill is by how much errors at this horizon were smaller lately than those of holding the last
	// value: 1 is none, 0 as large; NaN is not known yet.
	Skill float64
}

// Segments defines and describes segments.
type Segments interface {
	// AddCoreSegment adds a core segment; its memory and its type must be known.
	// Adding it again with the same definition does nothing, with another one it
	// fails with AlreadyExists.
	AddCoreSegment(ctx context.Context, s CoreSegment) error
	// AddProviderSegment adds a provider segment whose type, if given, extends the
	// core segment's; TypeMismatch names the member that does not fit.
	AddProviderSegment(ctx context.Context, s ProviderSegment) error
	// SetHistory changes how much history a core segment keeps of each entity, or how much is kept
	// of one entity, there or to come; what is beyond that is evicted. It lasts until its server
	// ends, or, where that has a long-term memory, until it is set again. An entity with the bounds
	// of its segment has none of its own.
	SetHistory(ctx context.Context, id ID, b Bounds) error
	// RemoveSegment removes a core or provider segment with all it holds.
	RemoveSegment(ctx context.Context, id ID) error
	// Describe returns the core and provider segments that the pattern matches or
	// that lie above what it matches, sorted by ID.
	Describe(ctx context.Context, p Pattern) ([]Description, error)
}

// Types knows payload types by name.
type Types interface {
	// AddType makes a type known. Adding it again with the same members does
	// nothing; with other members it fails with AlreadyExists.
	AddType(ctx context.Context, t TypeDef) error
	// Type returns a type by its full name, or NotFound.
	Type(ctx context.Context, name string) (TypeDef, error)
	// TypeNames returns the names of all known types, sorted.
	TypeNames(ctx context.Context) ([]string, error)
}

// Statistician counts.
type Statistician interface {
	// Stats returns the nodes that the pattern matches, with all below them down
	// to level depth (LevelMemory to LevelEntity), sorted by ID.
	Stats(ctx context.Context, p Pattern, depth Level) ([]Stats, error)
}

// Service is what one memory server offers: what server.Server is, and every client of
// one.
type Service interface {
	Writer
	CommitStreamer
	Reader
	PartReader
	LatestReader
	Subscriber
	Predictor
	Segments
	Types
	Statistician
}

// Server is a memory server as transports serve it. What it offers beside its memory
// are features (package feature).
type Server interface {
	Service
	// Epoch identifies this epoch of the server. It is not 0.
	Epoch() uint64
	// Number returns the number of the newest update.
	Number() uint64
	// MemoriesFor returns the names of the server's memories that the caller may know.
	MemoriesFor(ctx context.Context) []string
}
