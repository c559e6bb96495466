package follow

import (
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// Past is a time, as it was known at another time.
type Past struct {
	At   engram.Time
	AsOf *engram.Time // nil is what is known now
}

// Differs reports whether a snapshot that a view has at present, the newest of its entity, was
// not there: it is of a later time, or arrived later.
func (p Past) Differs(at, arrived engram.Time) bool {
	return at > p.At || p.AsOf != nil && arrived > *p.AsOf
}

// IsLess reports whether it is less to go back from the present, of which so many entities of
// all differ, than to read everything.
func (Past) IsLess(differing, all int) bool { return 2*differing < all }

// Of returns the snapshots that entities had then. Of those that had none there is no item.
func (p Past) Of(ctx context.Context, r engram.Reader, source engram.Source, entities []engram.ID) (items []engram.Item, err error) {
	for some := range slices.Chunk(entities, mostAsked) {
		q := engram.Query{Source: source, AsOf: p.AsOf}
		for _, entity := range some {
			q.Memories = append(q.Memories, engram.SelectID(entity, engram.AtOrBefore(p.At)).Memories...)
		}
		found, err := r.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		items = append(items, found.Items()...)
	}
	return items, nil
}

// mostAsked is how many entities are asked for in one query.
const mostAsked = 1000

// While a server begins anew, or another one takes its memory over, there is none for a moment.
// As long as takeoverTimeout, which is mns.TakeoverTime, the name system says that the
// memory is unavailable.
const (
	takeoverTimeout = 15 * time.Second
	tryEvery        = 100 * time.Millisecond
)

// Query is the reader's, which outlasts a takeover.
func Query(ctx context.Context, r engram.Reader, q engram.Query) (found *engram.Result, err error) {
	err = Outlast(ctx, func() (err error) {
		found, err = r.Query(ctx, q)
		return err
	})
	return found, err
}

// Outlast makes a call until it is answered, by whatever server has the memory by then, for as
// long as a takeover may take.
func Outlast(ctx context.Context, call func() error) error {
	for began := time.Now(); ; {
		err := call()
		if engram.CodeOf(err) != engram.Unavailable || time.Since(began) > takeoverTimeout {
			return err
		}
		select {
		case <-time.After(tryEvery):
		case <-ctx.Done():
			return err
		}
	}
}
