package engram

import "context"

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
	// Latest returns the entity's newest snapshot, as [Latest] selects it, or NotFound.
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
	// snapshot, at the same index. Unsupported if the segment predicts nothing.
	Predict(ctx context.Context, ids []ID) ([]Prediction, error)
}

// Prediction answers one ID of a call to Predict.
type Prediction struct {
	ID       ID
	Snapshot *Snapshot // nil if Err is not
	Err      error
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
