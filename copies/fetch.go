package copies

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
)

// errEnough ends a query of which no more is wanted.
var errEnough = errors.New("enough")

// Fetch implements service.Admin.
func (h *Holder) Fetch(ctx context.Context, f service.Fetching) (total service.Fetched, err error) {
	if f.Span == (engram.Interval{}) {
		f.Span = engram.Always()
	}
	if f.MaxBytes < 0 {
		return total, engram.Errorf(engram.Invalid, "", "at most %d bytes: 0 (no bound) or more", f.MaxBytes)
	}
	byMemory, err := h.copiedBy(f.Patterns)
	if err != nil {
		return total, err
	}
	memories := slices.Sorted(maps.Keys(byMemory))
	for _, memory := range memories {
		got := fetch{h: h, memory: memory, ask: f, names: newRenamer(memory), total: &total}
		for _, r := range h.list() {
			if r.memory == memory {
				got.replicas = append(got.replicas, r)
			}
		}
		if len(got.replicas) == 0 {
			return total, engram.Errorf(engram.NotFound, memory, "nothing is copied of this memory; 'engram copy ls' lists what is")
		}
		if err := got.run(ctx, byMemory[memory]); err != nil {
			return total, err
		}
	}
	return total, nil
}

// copiedBy returns the patterns by the memories that they are about; those of several
// memories are about all that something is copied of.
func (h *Holder) copiedBy(patterns []engram.Pattern) (map[string][]engram.Pattern, error) {
	out := map[string][]engram.Pattern{}
	for _, p := range patterns {
		c, err := h.normal(service.Copy{Pattern: p})
		if err != nil {
			return nil, err
		}
		p = c.Pattern
		if !c.OfMany() {
			memory := p.Levels[0].Names[0]
			out[memory] = append(out[memory], p)
			continue
		}
		m, err := p.Levels[0].Matcher()
		if err != nil {
			return nil, err
		}
		found := map[string]bool{}
		for _, r := range h.list() {
			if m.Match(r.memory) && !found[r.memory] {
				found[r.memory] = true
				out[r.memory] = append(out[r.memory], rename(p, r.memory))
			}
		}
		if len(found) == 0 {
			return nil, engram.Errorf(engram.NotFound, p.String(), "nothing is copied of such memories; 'engram copy ls' lists what is")
		}
	}
	return out, nil
}

// fetch fetches from one memory.
type fetch struct {
	h        *Holder
	memory   string
	replicas []*replica
	ask      service.Fetching
	names    *renamer
	owner    Owner
	total    *service.Fetched
	changed  bool
}

func (f *fetch) run(ctx context.Context, patterns []engram.Pattern) (err error) {
	server, err := f.h.o.Owners.Find(ctx, f.memory)
	if err != nil {
		return err
	}
	if f.owner, err = f.h.o.Owners.Dial(ctx, f.memory, server); err != nil {
		return err
	}
	defer f.owner.Close()
	for _, p := range patterns {
		q := rename(p, f.names.owner).Select(engram.In(f.ask.Span))
		err := f.owner.QueryParts(ctx, q, func(part *engram.Result) error { return f.take(ctx, part) })
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	if f.changed {
		_, err = f.h.save(ctx, f.replicas)
		return err
	}
	return nil
}

// take puts a part of the owner's answer into the copy.
func (f *fetch) take(ctx context.Context, part *engram.Result) error {
	changes := service.Changes{Whole: true}
	spans := map[engram.ID]engram.Interval{}
	for it := range part.All() {
		if limit := f.ask.MaxBytes; limit > 0 && f.total.Bytes+int64(it.Size()) > limit {
			f.total.More = true
			break
		}
		id, err := f.names.id(it.ID.Truncate(engram.LevelEntity))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(f.replicas, func(r *replica) bool { return r.matcher.Match(id) }) {
			continue // it is not of a copy
		}
		if err := f.prepare(ctx, it.ID.Truncate(engram.LevelProviderSegment), id.Truncate(engram.LevelProviderSegment)); err != nil {
			return err
		}
		changes.Versions = append(changes.Versions, service.Version{Entity: id, Snapshot: it.Snapshot})
		f.total.Bytes += int64(it.Size())
		span, ok := spans[id]
		if !ok {
			span = engram.Interval{Start: it.Time, End: it.Time}
		}
		spans[id] = engram.Interval{Start: min(span.Start, it.Time), End: max(span.End, it.Time+1)}
	}
	if len(changes.Versions) > 0 {
		applied, err := f.h.o.Memory.ApplyCopy(ctx, changes)
		if err != nil {
			return err
		}
		if applied.Refused > 0 {
			return engram.Errorf(engram.CodeOf(applied.Reason), f.memory, "%d versions that were fetched do not fit in here: %w", applied.Refused, applied.Reason)
		}
		f.total.Versions += applied.Stored
		f.total.Had += applied.Had
		f.note(&changes, spans)
	}
	if f.total.More {
		return errEnough
	}
	return nil
}

// note takes what was fetched off what is missing.
func (f *fetch) note(c *service.Changes, spans map[engram.ID]engram.Interval) {
	f.changed = true
	for _, r := range f.replicas {
		r.mu.Lock()
		for id, span := range spans {
			if r.matcher.Match(id) {
				r.ledger.fetched(id, span)
			}
		}
		for i := range c.Versions {
			r.ledger.stored(c.Versions[i].Entity, c.Versions[i].Snapshot.Time)
		}
		r.changes++
		r.mu.Unlock()
	}
}

// prepare makes a provider segment known that nothing was pulled of yet.
func (f *fetch) prepare(ctx context.Context, at, here engram.ID) error {
	f.h.mu.Lock()
	known := f.h.known[here]
	f.h.mu.Unlock()
	if known {
		return nil
	}
	list, err := f.owner.Describe(ctx, engram.PatternOf(at))
	if err != nil {
		return err
	}
	s := service.Segment{Core: engram.CoreSegment{ID: here.Truncate(engram.LevelCoreSegment)}, Provider: engram.ProviderSegment{ID: here}}
	for _, d := range list {
		switch d.ID {
		case at.Truncate(engram.LevelCoreSegment):
			s.Core.Type, s.Core.History, s.Core.Durability, s.Core.FixedProviders = d.Type, d.History, d.Durability, d.FixedProviders
		case at:
			s.Provider.Type = d.Type
		default:
			continue
		}
		if d.Type == "" || d.Type == engram.ValueType || slices.ContainsFunc(s.Types, func(t engram.TypeDef) bool { return t.Name == d.Type }) {
			continue
		}
		t, err := f.owner.Type(ctx, d.Type)
		if err != nil {
			return err
		}
		s.Types = append(s.Types, t)
	}
	if err := f.h.o.Memory.PrepareCopy(ctx, []service.Segment{s}); err != nil {
		return err
	}
	f.h.prepared([]service.Segment{s})
	return nil
}
