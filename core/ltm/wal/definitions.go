package wal

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
)

// definitions are what the log of definitions says, the last word on each.
type definitions struct {
	types     map[string]engram.TypeDef
	cores     map[engram.ID]engram.CoreSegment
	providers map[engram.ID]engram.ProviderSegment
	removed   map[engram.ID]Position // in the log of the segment's memory
	records   int                    // that were read or written to say it
}

func newDefinitions() definitions {
	return definitions{
		types:     map[string]engram.TypeDef{},
		cores:     map[engram.ID]engram.CoreSegment{},
		providers: map[engram.ID]engram.ProviderSegment{},
		removed:   map[engram.ID]Position{},
	}
}

// apply takes a record in.
func (d *definitions) apply(r *Record) {
	d.records++
	switch r.Kind {
	case KindType:
		d.types[r.Type.Name] = r.Type
	case KindCoreSegment:
		d.cores[r.Core.ID] = r.Core
	case KindProviderSegment:
		d.providers[r.Provider.ID] = r.Provider
	case KindRemoveSegment:
		d.removed[r.Entity] = max(d.removed[r.Entity], r.Before)
		delete(d.cores, r.Entity)
		maps.DeleteFunc(d.providers, func(id engram.ID, _ engram.ProviderSegment) bool { return r.Entity.Contains(id) })
	}
}

// list returns the records that say the same: types first, core segments before
// provider segments.
func (d *definitions) list() []*Record {
	var out []*Record
	for _, id := range slices.SortedFunc(maps.Keys(d.removed), engram.ID.Compare) {
		out = append(out, &Record{Kind: KindRemoveSegment, Entity: id, Before: d.removed[id]})
	}
	for _, name := range slices.Sorted(maps.Keys(d.types)) {
		out = append(out, &Record{Kind: KindType, Type: d.types[name]})
	}
	for _, id := range slices.SortedFunc(maps.Keys(d.cores), engram.ID.Compare) {
		out = append(out, &Record{Kind: KindCoreSegment, Core: d.cores[id]})
	}
	for _, id := range slices.SortedFunc(maps.Keys(d.providers), engram.ID.Compare) {
		out = append(out, &Record{Kind: KindProviderSegment, Provider: d.providers[id]})
	}
	return out
}

// isRemoved reports whether a record at pos belongs to a segment that was removed
// after it.
func (d *definitions) isRemoved(entity engram.ID, pos Position) bool {
	if len(d.removed) == 0 {
		return false
	}
	return pos < max(d.removed[entity.Truncate(engram.LevelCoreSegment)], d.removed[entity.Truncate(engram.LevelProviderSegment)])
}

// writeLocked logs a definition and returns when it is on disk.
func (j *Journal) writeLocked(r *Record) error {
	if j.mu.closed {
		return errClosed
	}
	// The copy first: what only that has does not count as long as the other one is whole.
	for _, l := range slices.Backward(j.definitions[:]) {
		e := l.begin(r)
		if err := e.Append(0, true); err != nil {
			return err
		}
		if err := e.Wait(); err != nil {
			return err
		}
	}
	j.mu.inForce.apply(r)
	if d := &j.mu.inForce; d.records > maxDefinitions+4*d.len() {
		// If that fails the log is as it was, only longer, and it is tried again.
		_ = j.compactLocked()
	}
	return nil
}

// maxDefinitions bounds the records of the log of definitions, but for four for each
// thing that is defined: so much is written before it is compacted.
const maxDefinitions = 1024

// len returns how many records list returns.
func (d *definitions) len() int {
	return len(d.types) + len(d.cores) + len(d.providers) + len(d.removed)
}

// AddType implements wm.Journal.
func (j *Journal) AddType(_ context.Context, t engram.TypeDef) error {
	if !j.taking.Load() {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.addTypeLocked(t)
}

func (j *Journal) addTypeLocked(t engram.TypeDef) error {
	known := *j.known.Load()
	if old, ok := j.mu.inForce.types[t.Name]; known[t.Name] && (!ok || bytes.Equal(old.Descriptors, t.Descriptors) && old.Source == t.Source) {
		return nil
	}
	if err := j.writeLocked(&Record{Kind: KindType, Type: t}); err != nil {
		return err
	}
	known = maps.Clone(known)
	known[t.Name] = true
	j.known.Store(&known)
	return nil
}

// addUsedType logs a type of the program's that is about to be used in a log, so that
// the log can be read without the program.
func (j *Journal) addUsedType(name string) error {
	t, ok := j.opts.Types.Get(name)
	if !ok {
		return engram.Errorf(engram.NotFound, name, "the type is not known to the log")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.addTypeLocked(t.Def())
}

// AddCoreSegment implements wm.Journal.
func (j *Journal) AddCoreSegment(_ context.Context, s engram.CoreSegment) error {
	if !j.taking.Load() {
		return nil
	}
	if t, ok := j.opts.Types.Get(cmp.Or(s.Type, engram.ValueType)); ok && !(*j.known.Load())[s.Type] {
		if err := j.addUsedType(t.Name()); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if old, ok := j.mu.inForce.cores[s.ID]; ok && old == s {
		return nil
	}
	return j.writeLocked(&Record{Kind: KindCoreSegment, Core: s})
}

// AddProviderSegment implements wm.Journal.
func (j *Journal) AddProviderSegment(_ context.Context, s engram.ProviderSegment) error {
	if !j.taking.Load() {
		return nil
	}
	if t, ok := j.opts.Types.Get(s.Type); ok && !(*j.known.Load())[s.Type] {
		if err := j.addUsedType(t.Name()); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if old, ok := j.mu.inForce.providers[s.ID]; ok && old == s {
		return nil
	}
	return j.writeLocked(&Record{Kind: KindProviderSegment, Provider: s})
}

// RemoveSegment implements wm.Journal. Nothing is being appended for the segment.
func (j *Journal) RemoveSegment(ctx context.Context, id engram.ID) error {
	if !j.taking.Load() {
		return nil
	}
	r := &Record{Kind: KindRemoveSegment, Entity: id}
	if l := j.Log(id.Memory()); l != nil {
		// What waits may yet get another place; on disk it keeps it.
		r.Before = l.End()
		if err := l.Sync(ctx, r.Before); err != nil {
			return err
		}
		r.Before = max(r.Before, l.syncedTo())
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.writeLocked(r)
}

// compactLocked writes the definitions in force anew if most records are not in
// force, and lets go of the old ones: a crash leaves either. Removals that no record in a
// log is older than are left out.
func (j *Journal) compactLocked() error {
	d := &j.mu.inForce
	for id, pos := range d.removed {
		if l := j.Log(id.Memory()); l == nil || l.Start() >= pos {
			delete(d.removed, id)
		}
	}
	if d.records <= 64+2*d.len() {
		return nil
	}
	list := d.list()
	for _, l := range j.definitions {
		if err := l.replace(list); err != nil {
			return err
		}
	}
	d.records = len(list)
	return nil
}
