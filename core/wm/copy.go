package wm

import (
	"bytes"
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Copies are the memories of a working memory that are copies of what other servers own.
// Safe for concurrent use.
type Copies struct{ *writer }

// Copies returns the memories that are copies.
func (w *WM) Copies() Copies { return Copies{&w.writer} }

// Add adds a memory that is a copy of what another server owns: it is written to
// by [Copies.Write] only, and commits to it are refused. Adding it again does nothing;
// Conflict if there is a memory of that name that is not a copy.
func (cs Copies) Add(name string) error {
	id, err := engram.NewID(name)
	if err != nil {
		return err
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	m, ok := cs.memories.Get(name)
	if !ok {
		cs.memories.add(name, &memory{id: id, copied: true, feed: &cs.mu.feed})
		return nil
	}
	if !m.copied {
		return engram.Errorf(engram.Conflict, name, "this server owns the memory; it cannot hold a copy of it")
	}
	return nil
}

// Remove removes a memory that is a copy, once its segments are removed; Conflict
// if it has one, NotFound if there is no such copy.
func (cs Copies) Remove(name string) error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	m, ok := cs.memories.Get(name)
	if !ok || !m.copied {
		return engram.Errorf(engram.NotFound, name, "there is no copy of that name")
	}
	if len(m.cores.sorted()) > 0 {
		return engram.Errorf(engram.Conflict, name, "the copy has segments; remove them first")
	}
	cs.memories.remove(name)
	return nil
}

// Names returns the names of the memories that are copies, sorted.
func (cs Copies) Names() []string {
	var names []string
	for _, e := range cs.memories.sorted() {
		if e.value.copied {
			names = append(names, e.name)
		}
	}
	return names
}

// Has reports whether what an ID names lies in a copy.
func (cs Copies) Has(id engram.ID) bool {
	m, ok := cs.memories.Get(id.Memory())
	return ok && m.copied
}

// refuseCommit returns why a memory that is a copy takes no commits; nil for others.
func (m *memory) refuseCommit(entity engram.ID) error {
	if !m.copied {
		return nil
	}
	owner := "another server"
	if robot, _ := engram.SplitName(entity.Memory()); robot != "" {
		owner = "a server of " + robot
	}
	return engram.Errorf(engram.Unsupported, entity.String(), "the memory is a copy here; commit to its owner, %s", owner)
}

// Copied is a version of what another server owns.
type Copied struct {
	Entity   engram.ID
	Snapshot *engram.Snapshot // with Time, Arrived and the instances; the memory keeps the payloads' bytes
	// Whole says that the version takes the place of one of the same entity, time and
	// arrival: of that, members may have been left out on its way.
	Whole bool
}

// Write stores versions in memories that are copies, and answers each at the same
// index. They keep their times of arrival, which are their owner's and do not move
// this memory's clock, and get numbers of this memory. Like commits they are
// journaled by the durability of their segments and told to live subscriptions.
//
// A version is refused with AlreadyExists where the memory has one of the same time
// that arrived later or at the same time; so versions of one time are given in the
// order of their arrival. Other errors are those of [WM.Commit]. An error of the
// journal ends the call: what came before it is stored, and it can be called again.
func (cs Copies) Write(ctx context.Context, versions []Copied) ([]engram.UpdateResult, error) {
	results := make([]engram.UpdateResult, len(versions))
	for rest, at := versions, 0; len(rest) > 0; {
		if err := checkContext(ctx); err != nil {
			return nil, err
		}
		n := min(copyBatch, len(rest))
		slow, err := cs.write(ctx, rest[:n], results[at:at+n])
		for _, s := range slow {
			s.waitForRoom(ctx)
		}
		if err != nil {
			return nil, err
		}
		rest, at = rest[n:], at+n
	}
	return results, nil
}

// copyBatch is how many versions are stored under one hold of the lock.
const copyBatch = 64

func (cs Copies) write(ctx context.Context, versions []Copied, results []engram.UpdateResult) (slow []*subscription, failed error) {
	batch := make([]pending, len(versions))
	entries := make([]JournalEntry, len(versions))
	for i := range versions {
		results[i].ID = versions[i].Entity
		if batch[i], results[i].Err = cs.prepareCopied(&versions[i]); results[i].Err != nil {
			continue
		}
		if cs.journal == nil || batch[i].core.def.Durability == engram.Volatile {
			continue
		}
		entry, err := cs.journal.Begin(ctx, versions[i].Entity, &batch[i].version.Snapshot)
		if err != nil {
			return nil, err // nothing of the batch was stored
		}
		entries[i] = entry
	}
	var owed notices
	cs.mu.Lock()
	if cs.mu.closed {
		cs.mu.Unlock()
		return nil, errServerClosed
	}
	cs.mu.clock = cs.now()
	for i := range batch {
		p := &batch[i]
		if p.version == nil {
			continue
		}
		if failed != nil {
			p.version = nil
			continue
		}
		journal, err := cs.writeLocked(&versions[i], p, entries[i])
		if err != nil {
			p.version = nil
			if results[i].Err = err; journal {
				failed = err
			}
			continue
		}
		results[i].ID, results[i].Number = versions[i].Entity.At(p.version.Time), p.version.Number
	}
	cs.publishLocked(batch, &owed)
	cs.mu.Unlock()
	owed.wakeUp()
	return owed.slow, failed
}

func (cs Copies) prepareCopied(c *Copied) (pending, error) {
	if m, ok := cs.memories.Get(c.Entity.Memory()); ok && !m.copied {
		return pending{}, engram.Errorf(engram.Invalid, c.Entity.String(), "the memory is no copy; it takes commits")
	}
	u := c.update()
	p, err := cs.prepare(&u)
	if err != nil {
		return pending{}, err
	}
	return p, nil
}

// update returns the entity update that would make the version.
func (c *Copied) update() engram.EntityUpdate {
	return engram.EntityUpdate{Entity: c.Entity, Time: c.Snapshot.Time, Instances: c.Snapshot.Instances}
}

// writeLocked stores a version; journal says that the error is the journal's.
func (cs Copies) writeLocked(c *Copied, p *pending, entry JournalEntry) (journal bool, err error) {
	u := c.update()
	if err := cs.confirmLocked(&u, p, entry != nil); err != nil {
		return false, err
	}
	if err := cs.roomLocked(p, c.Entity); err != nil {
		return false, err
	}
	arrived := c.Snapshot.Arrived
	if v := p.currentLocked(c.Entity.Entity(), c.Snapshot.Time); v != nil && (v.Arrived > arrived ||
		v.Arrived == arrived && !(c.Whole && differ(v.Instances, c.Snapshot.Instances))) {
		return false, engram.Errorf(engram.AlreadyExists, c.Entity.At(c.Snapshot.Time).String(), "the memory has a version that arrived at %v, this one at %v", v.Arrived, arrived)
	}
	if entry != nil {
		if err := entry.Append(arrived, false); err != nil {
			return true, err
		}
	}
	cs.putLocked(c.Entity, p, arrived)
	return false, nil
}

// differ reports whether the payloads of instances differ.
func differ(a, b []engram.Instance) bool {
	return !slices.EqualFunc(a, b, func(x, y engram.Instance) bool { return bytes.Equal(x.Payload.Bytes, y.Payload.Bytes) })
}

// Knowledge is what the memory knows of a version of a copy.
type Knowledge uint8

const (
	// Unknown is a version that this epoch of the memory has never held.
	Unknown Knowledge = iota
	// Doubtful is a version that the memory does not hold, and may have evicted with its
	// entity as a whole.
	Doubtful
	// Evicted is a version of a time that the memory has evicted something about.
	Evicted
	// Known is a version that the memory holds, or that one it holds has superseded.
	Known
)

// Knows tells whether a version of a copy is there.
func (cs Copies) Knows(id engram.ID, at, arrived engram.Time) Knowledge {
	e := cs.entity(id)
	if e == nil {
		if v := cs.provider(id); v != nil && v.goneFrom.Load() > 0 {
			return Doubtful
		}
		return Unknown
	}
	if arrived > engram.Time(e.arrived.Load()) {
		return Unknown
	}
	r := reading{spans: e.timeline.spans()}
	p := r.after(at)
	if v := r.prev(&p); v != nil && v.Time == at && v.Arrived >= arrived {
		return Known
	}
	switch {
	case e.lost.between(at-1, at):
		return Evicted
	case e.provider.goneFrom.Load() > 0:
		return Doubtful
	}
	return Unknown
}

// Last returns the latest arrival of what this epoch of the memory was given of
// a copied segment, MinTime if that is nothing.
func (cs Copies) Last(segment engram.ID) engram.Time {
	last := engram.MinTime
	m, ok := cs.memories.Get(segment.Memory())
	if !ok || !m.copied {
		return last
	}
	for _, c := range m.cores.sorted() {
		for _, p := range c.value.providers.sorted() {
			if segment.Contains(p.value.id) {
				last = max(last, engram.Time(p.value.arrived.Load()))
			}
		}
	}
	return last
}

// provider returns the provider segment that id lies in, or nil.
func (w *writer) provider(id engram.ID) *provider {
	c, err := w.core(id)
	if err != nil {
		return nil
	}
	p, _ := c.providers.Get(id.ProviderSegment())
	return p
}
