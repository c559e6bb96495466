package world

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/seed-301d4374/engram"
)

// Recovery says what becomes of what the memories of a server said before it began and have
// lost, where a copy elsewhere has it.
type Recovery uint8

// What becomes of it.
const (
	RecoverTake     Recovery = iota // it is said again, as it was
	RecoverWithdraw                 // statements of the memory World are withdrawn, all else is said again
	RecoverNothing                  // it stays as it is
)

// recoveredPart is a part of a memory that is recovered.
type recoveredPart struct {
	segments engram.Pattern
	newest   int  // snapshots of each entity
	says     bool // they are statements, which can be withdrawn; else they are said again
}

// recovered is what a world is made of, by memory, but for clocks, which are measured anew.
var recovered = map[string][]recoveredPart{
	ownMemory: {
		{inWorld, 1, true},
		{engram.MustPattern(ownMemory + "/" + dataSegment), 1, false},
		{engram.MustPattern(ownMemory + "/" + lookSegment), mostHeld, false},
	},
	"Object": {
		{engram.MustPattern(beside[instanceType]), 1, false},
		{engram.MustPattern("Object/~Attachments|ArticulatedAttachments"), mostHeld, false},
	},
	"Navigation": {{engram.MustPattern("Navigation/Location"), 1, false}},
}

// Recoverable reports whether a world is made of what a memory of this name has, among others.
func Recoverable(memory string) bool { return recovered[memory] != nil }

// RecoverOptions say what is recovered.
type RecoverOptions struct {
	How    Recovery
	Memory string // "World", "Object" or "Navigation"
	Own    interface {
		engram.PartReader
		engram.Writer
		engram.Types
	}
	Copy engram.PartReader // has a copy of the whole memory …
	Name string            // … of this name
	// Since is the time of arrival from which on the memory may have lost something, by the
	// memory's clock.
	Since engram.Time
	// Began is when the server began: what is withdrawn is withdrawn as of then, so that what is
	// said since counts, and what is taken completes what was said since.
	Began engram.Time
	// Taken is what calls before have taken from copies, of one after the other. If it is nil, nothing was.
	Taken *Taken
}

// Recovered tells what was recovered.
type Recovered struct {
	Statements []engram.ID // said again: snapshots of entities that say with each all that they say
	Withdrawn  []engram.ID // snapshots that withdraw such
	Others     int         // snapshots beside these, such as looks
	Completed  []engram.ID // snapshots that complete what was said since the server began
	Refused    int         // by the memory …
	Reason     error       // … and why the first was
}

// Recover has a memory say what a copy of it has and the memory has lost of what a world is
// made of: of statements the newest, of looks and of what hands hold the newest 10,000 of each
// sensor and hand; where the memory is kept on disk, of these what arrived last. What was said since is newer and
// counts, and what it does not name of an item or a joint is completed; what the memory's bounds keep no more is passed
// over. Done twice it does nothing the second time. An error ends it; what was recovered before stays.
func Recover(ctx context.Context, o RecoverOptions) (r Recovered, err error) {
	if o.How == RecoverNothing {
		return r, nil
	}
	if o.Taken == nil {
		o.Taken = &Taken{}
	}
	for _, part := range recovered[o.Memory] {
		var codec *Codec
		if o.How == RecoverWithdraw && part.says {
			if codec, err = NewCodec(ctx, o.Own); err != nil {
				return r, err
			}
		}
		if err := o.recover(ctx, &part, codec, &r); err != nil {
			return r, err
		}
	}
	if o.Memory == ownMemory && o.How == RecoverTake {
		err = o.complete(ctx, &r)
	}
	return r, err
}

// lateness is how much later than it was true a look may be known that a memory has lost which
// is kept on disk: the last of what it was told before it was killed.
const lateness = time.Minute

// recover recovers a part; with a codec it is withdrawn.
func (o *RecoverOptions) recover(ctx context.Context, part *recoveredPart, codec *Codec, r *Recovered) error {
	selector := engram.Latest(part.newest)
	own := selector
	switch {
	case part.newest == 1:
		own = engram.Indices(-1, -1) // what is ahead of the clock is there, too
	case o.Since != engram.MinTime:
		selector = o.lostSince()
		own = selector
	}
	// Most of it is there: only what is not has its payload fetched.
	lost := map[engram.ID]map[engram.Time]engram.Time{} // by entity and time, when it arrived
	q := part.query(o.Name, nil, selector)
	q.WithoutPayload = true
	err := o.each(ctx, o.Copy, q, func(entity engram.ID, s *engram.Snapshot) error {
		if s.Arrived >= o.Since && len(s.Instances) > 0 {
			if lost[entity] == nil {
				lost[entity] = map[engram.Time]engram.Time{}
			}
			lost[entity][s.Time] = s.Arrived
		}
		return nil
	})
	if err != nil || len(lost) == 0 {
		return err
	}
	q = part.query(o.Memory, lost, own)
	q.WithoutPayload = true
	err = o.each(ctx, o.Own, q, func(entity engram.ID, s *engram.Snapshot) error {
		for t, arrived := range lost[entity] {
			if t == s.Time && arrived <= s.Arrived || t < s.Time && part.newest == 1 {
				delete(lost[entity], t)
			}
		}
		if len(lost[entity]) == 0 {
			delete(lost, entity)
		}
		return nil
	})
	if err != nil || len(lost) == 0 {
		return err
	}
	var updates []engram.EntityUpdate
	size := 0
	commit := func() error {
		results, err := o.Own.Commit(ctx, engram.Commit{Updates: updates})
		if err != nil {
			return fmt.Errorf("the memory does not take it: %w", err)
		}
		for i := range results {
			id := updates[i].Entity.At(updates[i].Time)
			switch {
			case engram.CodeOf(results[i].Err) == engram.TooOld: // it is not lost: the bounds would have evicted it
			case results[i].Err != nil:
				r.refuse(results[i].Err)
			case codec != nil:
				r.Withdrawn = append(r.Withdrawn, id)
			case part.newest == 1:
				r.Statements = append(r.Statements, id)
				o.Taken.take(updates[i].Entity, updates[i].Time)
			default:
				r.Others++
			}
		}
		updates, size = nil, 0
		return nil
	}
	err = o.each(ctx, o.Copy, part.query(o.Name, lost, selector), func(entity engram.ID, s *engram.Snapshot) error {
		if _, is := lost[entity][s.Time]; !is {
			return nil
		}
		u := engram.EntityUpdate{Entity: entity, Time: s.Time, Instances: s.Instances}
		if codec != nil {
			nothing, err := codec.nothing(entity, s)
			if err != nil {
				r.refuse(err)
				return nil
			}
			if len(s.Instances) == 1 && bytes.Equal(s.Instances[0].Payload.Bytes, nothing.Bytes) {
				return nil
			}
			u.Time, u.Instances = max(o.Began, s.Time+1), []engram.Instance{engram.NewInstance(nothing)}
		}
		if updates, size = append(updates, u), size+s.Size(); len(updates) < maxCommit && size < maxCommitBytes {
			return nil
		}
		return commit()
	})
	if err == nil && len(updates) > 0 {
		err = commit()
	}
	return err
}

func (r *Recovered) refuse(err error) {
	if r.Refused++; r.Reason == nil {
		r.Reason = err
	}
}

// query selects snapshots of the part in a memory, of all entities or, if they are few, of some
// only.
func (p *recoveredPart) query(memory string, some map[engram.ID]map[engram.Time]engram.Time, selector engram.SnapshotSelector) (q engram.Query) {
	if some == nil || len(some) > mostAsked {
		return inMemory(p.segments, engram.OneOf(memory)).Select(selector)
	}
	for entity := range some {
		q.Memories = append(q.Memories, inMemory(engram.PatternOf(entity), engram.OneOf(memory)).Select(selector).Memories...)
	}
	return q
}

// each calls f with what a query selects, by its entity's name in the memory.
func (o *RecoverOptions) each(ctx context.Context, from engram.PartReader, q engram.Query, f func(engram.ID, *engram.Snapshot) error) error {
	return from.QueryParts(ctx, q, func(part *engram.Result) error {
		for it := range part.All() {
			entity, err := it.ID.Truncate(engram.LevelEntity).InMemory(o.Memory)
			if err == nil {
				err = f(entity, it.Snapshot)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// nothing returns what withdraws a statement of the memory World.
func (c *Codec) nothing(entity engram.ID, s *engram.Snapshot) (engram.Payload, error) {
	switch entity.CoreSegment() {
	case itemSegment:
		return c.EncodeItem(&Item{})
	case jointSegment:
		return c.EncodeJoint(&Articulation{})
	case mapSegment:
		return c.EncodeMap(&Map{})
	case partSegment:
		return c.EncodeComponent(&Component{})
	}
	said, err := c.State(entity, s)
	if err != nil {
		return engram.Payload{}, err
	}
	return c.EncodeState(&State{Item: said.State.Item, Name: said.State.Name})
}
