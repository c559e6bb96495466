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
		got := fetch{h: h, memory: memory, ask: f, names: newRenamer(memory), segments: map[engram.ID]bool{}, types: map[string]bool{}, total: &total}
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
	segments map[engram.ID]bool // by the owner's names: whether they are there
	types    map[string]bool    // that the copy knows
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
func (f *fetch) take(ctx context.Context, part *engram.Result) (err error) {
	changes := service.Changes{Whole: true}
	var segments []service.Segment
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
		if !f.wanted(id) {
			continue
		}
		var ok bool
		if segments, ok, err = f.describe(ctx, segments, it.ID.Truncate(engram.LevelProviderSegment), it.Snapshot); err != nil {
			return err
		}
		if !ok {
			continue // it was removed: the pull tells that
		}
		changes.Versions = append(changes.Versions, service.Version{Entity: id, Snapshot: it.Snapshot})
		f.total.Bytes += int64(it.Size())
		span, ok := spans[id]
		if !ok {
			span = engram.Interval{Start: it.Time, End: it.Time}
		}
		spans[id] = engram.Interval{Start: min(span.Start, it.Time), End: max(span.End, it.Time+1)}
	}
	if segments, err = f.names.segments(segments); err != nil {
		return err
	}
	defer f.h.turn(f.memory)()
	n := len(f.replicas)
	if f.replicas = slices.DeleteFunc(f.replicas, (*replica).isEnded); len(f.replicas) == 0 {
		return engram.Errorf(engram.NotFound, f.memory, "nothing is copied of this memory any more")
	}
	if len(f.replicas) < n {
		changes.Versions = slices.DeleteFunc(changes.Versions, func(v service.Version) bool { return !f.wanted(v.Entity) })
		segments = slices.DeleteFunc(segments, func(s service.Segment) bool {
			return !slices.ContainsFunc(changes.Versions, func(v service.Version) bool { return s.Provider.ID.Contains(v.Entity) })
		})
		clear(f.segments) // what was told of those is dropped
		clear(f.types)
	}
	if len(segments) > 0 {
		if err := f.h.o.Memory.PrepareCopy(ctx, segments); err != nil {
			return err
		}
		f.h.tell()
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

// wanted reports whether an entity is of a copy.
func (f *fetch) wanted(id engram.ID) bool {
	return slices.ContainsFunc(f.replicas, func(r *replica) bool { return r.matcher.Match(id) })
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

// describe appends to a list what the copy has to know of the segment and the types of a
// version before it takes that, if the fetch has not told it; ok is false if the segment
// is no more.
func (f *fetch) describe(ctx context.Context, list []service.Segment, provider engram.ID, s *engram.Snapshot) (out []service.Segment, ok bool, err error) {
	there, asked := f.segments[provider]
	if asked && (!there || !slices.ContainsFunc(s.Instances, func(in engram.Instance) bool { return !f.types[in.Payload.Type] })) {
		return list, there, nil
	}
	descriptions, err := f.owner.Describe(ctx, engram.PatternOf(provider))
	if err != nil {
		return nil, false, err
	}
	seg, there := service.SegmentOf(provider, descriptions)
	if f.segments[provider] = there; !there {
		return list, false, nil
	}
	need := []string{seg.Core.Type, seg.Provider.Type}
	for i := range s.Instances {
		need = append(need, s.Instances[i].Payload.Type)
	}
	for _, name := range need {
		if f.types[name] || name == "" {
			continue
		}
		t, err := f.owner.Type(ctx, name)
		if err != nil {
			return nil, false, err
		}
		f.types[name] = true
		seg.Types = append(seg.Types, t)
	}
	return append(list, seg), true, nil
}
