package engram

import (
	"context"
	"iter"
)

// Update is the numbered notice that a snapshot was written.
type Update struct {
	Number     uint64 // counts from 1 in each life of a memory server
	ID         ID     // the snapshot
	Arrived    Time
	Supersedes bool      // it replaced a snapshot of equal time
	Snapshot   *Snapshot // nil unless the subscription asked for data

	// Dropped counts the updates that this subscription lost just before this one
	// because its consumer was too slow, or because what it wanted to resume from
	// was no longer kept.
	Dropped uint64
	// Restarted is set on the first update after the server began a new life, or another
	// one took its memory over, and numbers began again at 1. A client's stream sets it
	// when it reconnects.
	Restarted bool
	// Failed tells of the updates, since the last that was delivered, on which evaluating
	// Where failed ([MissingFilterFailed]); nil if there are none. They were not delivered.
	// If the subscription asks for it, updates that tell nothing else come, too: their ID is
	// that of an entity, without a time.
	Failed *Missing
	// Removed says that snapshots of an entity are gone because somebody wanted that: they were
	// forgotten on request, or their segment was removed. ID is that of the entity, Number that of
	// the last update before it, Arrived when it is told. Who keeps something of the entity reads it
	// anew. It comes only if the subscription asks for it.
	Removed bool
	// Absence says that a server went away, or is back; then all else is zero. It comes only
	// if the subscription asks for it.
	Absence *Absence
}

// Absence is a time in which updates of memories do not come because the server that owns
// them is not reached. What was written meanwhile comes when they are back, there or at a
// server that has taken them over.
type Absence struct {
	Memories []string // as the subscription names them, sorted
	Server   string   // that is away; with Until, at which they are back
	Since    Time     // when the server was last heard, or its absence noticed
	Until    Time     // when they were back; 0 while they are away
}

// SlowPolicy says what happens to a subscription whose consumer is too slow.
type SlowPolicy uint8

// The policies for slow consumers.
const (
	// SlowDropOldest drops the oldest waiting update when the queue is full.
	SlowDropOldest SlowPolicy = iota
	// SlowLatest keeps only the newest waiting update of each entity, and drops
	// the oldest waiting one when the queue is full nevertheless.
	SlowLatest
	// SlowBlock makes writers wait; only for subscribers in the memory's process.
	SlowBlock
)

// StartKind is the kind of a [Start].
type StartKind uint8

// The kinds of starting points of a subscription.
const (
	StartNow    StartKind = iota // only what comes from now on
	StartLast                    // the last N snapshots of each entity, then what comes
	StartTime                    // every kept snapshot from Time on, then what comes
	StartNumber                  // every kept update after Number, then what comes
)

// Start says where a subscription begins. Backfill is delivered in the order of
// update numbers, then the live tail follows without gap or duplicate.
type Start struct {
	Kind   StartKind
	N      int    // StartLast
	Time   Time   // StartTime
	Number uint64 // StartNumber: the last number already seen
	// Epoch is the server's life that Number belongs to, from
	// [UpdateStream.Epoch]. A resumption with another epoch than the server's
	// fails with Conflict; 0 skips the check.
	Epoch uint64
}

// Subscription asks for updates.
type Subscription struct {
	Patterns []Pattern // a union; none matches everything
	Start    Start
	WithData bool // deliver snapshots with their updates
	// Where is a CEL expression over an instance (see package idf): only snapshots with an
	// instance that satisfies it are delivered, with only such instances. It is evaluated
	// after Start has chosen: of the last N snapshots come those that satisfy it.
	Where  string
	Fields []string
	Slow   SlowPolicy
	// Source says, of a client that finds servers by their names, where it subscribes:
	// [SourceNear] at copies that the own robot holds of other robots' memories, so that
	// their links are spared; else at owners.
	Source Source
	// Absences asks to be told when servers go away and come back ([Update.Absence]), of a
	// client that finds servers by their names; a server alone knows of none.
	Absences bool
	// Failures asks to be told of updates on which evaluating Where fails though nothing else
	// is to be told ([Update.Failed]): at the first, and then each time that they are twice
	// as many.
	Failures bool
	// Removals asks to be told of entities of which something was removed ([Update.Removed]). One
	// that begins after a number is told of removals since then, too; those of which too many came
	// since count as dropped updates.
	Removals bool
	Queue    int // how many updates may wait; 0 means 1024
	// Transient says that the consumer uses a snapshot only until its next call of
	// Next: a stream from another process may then use its memory again, which
	// spares a consumer of images most of its garbage collection.
	Transient bool
}

// UpdateStream delivers a subscription's updates in the order of their numbers.
// Its methods may be called by one goroutine at a time, except Close, which may
// be called by any and ends a waiting Next.
type UpdateStream interface {
	// Next waits for at least one update and returns those that are ready, at most
	// 256. The slice is valid until the next call. After the end of the stream it
	// returns an error: Canceled after Close or ctx's end, Unavailable when the
	// server went away for good.
	Next(ctx context.Context) ([]Update, error)
	// Epoch identifies the life of the memory server whose numbers the updates bear.
	Epoch() uint64
	// Close ends the subscription and releases what it holds.
	Close() error
}

// Updates yields a stream's updates one by one, until the stream or ctx ends or
// the loop is left; it closes the stream. The last pair holds the error, if any.
func Updates(ctx context.Context, s UpdateStream) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		defer s.Close()
		for {
			batch, err := s.Next(ctx)
			if err != nil {
				yield(Update{}, err)
				return
			}
			for _, u := range batch {
				if !yield(u, nil) {
					return
				}
			}
		}
	}
}
