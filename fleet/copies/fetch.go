package copies

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// errEnough ends a query early.
var errEnough = errors.New("enough")

// Fetch implements contract.Admin.
func (h *Holder) Fetch(ctx context.Context, f contract.Fetching) (total contract.Fetched, err error) {
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

// copiedBy groups patterns by memory. A pattern of several memories goes to each memory
// that has a copy.
func (h *Holder) copiedBy(patterns []engram.Pattern) (map[string][]engram.Pattern, error) {
	out := map[string][]engram.Pattern{}
	for _, p := range patterns {
		c, err := h.normal(contract.Copy{Pattern: p})
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

// answer is the owner's answer to a query for the missing versions of a copy, as far as it
// has come.
type answer struct {
	pattern *engram.PatternMatcher          // by the holder's names, like all names here
	span    engram.Interval                 // of the query
	whole   bool                            // the answer is complete
	upTo    map[engram.ID]engram.Time       // how far an incomplete answer has come, by entity
	lacks   map[engram.ID][]engram.Interval // what the owner does not have itself
	told    int                             // number of entries in lacks
	void    bool                            // the owner's own losses are not known
}

func newAnswer(p engram.Pattern, span engram.Interval) (*answer, error) {
	m, err := p.Matcher()
	return &answer{pattern: m, span: span, whole: true, upTo: map[engram.ID]engram.Time{}, lacks: map[engram.ID][]engram.Interval{}}, err
}

// lack notes what the owner does not have itself. If that is too much, or outside of the
// query, the answer covers nothing.
func (a *answer) lack(names *renamer, missing []engram.Missing) {
	for i := range missing {
		m := &missing[i]
		id, err := engram.NewID(names.holder)
		if !m.ID.IsRoot() {
			id, err = names.id(m.ID.Truncate(engram.LevelEntity))
		}
		if a.told++; err != nil || a.told > maxTallied {
			a.void = true
			return
		}
		span := m.Interval
		if span.Empty() {
			span = engram.Always()
		}
		a.lacks[id] = append(a.lacks[id], span)
	}
}

// covers returns the times for which the answer is complete for an ID.
func (a *answer) covers(id engram.ID, whole bool) []engram.Interval {
	span := a.span
	if !whole {
		upTo, ok := a.upTo[id]
		if !ok {
			return nil
		}
		span.End = upTo
	}
	if a.void || id.Level() < engram.LevelEntity && a.told > 0 { // some of it may lie there
		return nil
	}
	covered := []engram.Interval{span}
	for level := engram.LevelMemory; level <= engram.LevelEntity; level++ {
		for _, lacks := range a.lacks[id.Truncate(level)] {
			covered = without(covered, lacks)
		}
	}
	return covered
}

// fetch fetches from one memory.
type fetch struct {
	h        *Holder
	memory   string
	replicas []*replica
	ask      contract.Fetching
	names    *renamer
	owner    Owner
	segments map[engram.ID]bool // by the owner's names: whether they exist
	types    map[string]bool    // known to the copy
	total    *contract.Fetched
	removed  []removal // during the fetch, by the holder's names; guarded by the memory's turn
	seen     int       // len(removed) when the last part was taken
}

// removal is a removal with its matcher.
type removal struct {
	contract.Removal
	matcher *engram.PatternMatcher
}

// maxRemoved bounds the removals that a fetch knows.
const maxRemoved = 10_000

// noteRemovals tells running fetches of removals from a memory: the owner may have read
// their versions before. The caller holds the memory's turn.
func (h *Holder) noteRemovals(memory string, list []contract.Removal) error {
	if len(list) == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for f := range h.fetches {
		if f.memory != memory {
			continue
		}
		for _, r := range list[:min(len(list), max(0, maxRemoved+1-len(f.removed)))] {
			m, err := r.Pattern.Matcher()
			if err != nil {
				return err
			}
			f.removed = append(f.removed, removal{r, m})
		}
	}
	return nil
}

// isRemoved reports whether a version was removed while the fetch ran.
func (f *fetch) isRemoved(v *contract.Version) bool {
	return slices.ContainsFunc(f.removed, func(r removal) bool {
		return r.Covers(v.Snapshot) && r.matcher.Match(v.Entity) && !slices.Contains(r.Besides, v.Entity.Truncate(engram.LevelProviderSegment))
	})
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
	f.h.mu.Lock()
	f.h.fetches[f] = true
	f.h.mu.Unlock()
	defer func() {
		f.h.mu.Lock()
		delete(f.h.fetches, f)
		f.h.mu.Unlock()
	}()
	for _, p := range patterns {
		q := rename(p, f.names.owner).Select(engram.In(f.ask.Span))
		a, err := newAnswer(rename(p, f.memory), f.ask.Span)
		if err != nil {
			return err
		}
		begun := map[*replica]moment{}
		for _, r := range f.replicas {
			begun[r] = r.now()
		}
		err = f.owner.QueryParts(ctx, q, func(part *engram.Result) error { return f.take(ctx, a, part) })
		a.whole = a.whole && err == nil
		for _, r := range f.replicas {
			r.fetched(a, begun[r])
		}
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	_, err = f.h.save(ctx, f.replicas)
	return err
}

// take puts a part of the owner's answer into the copy.
func (f *fetch) take(ctx context.Context, a *answer, part *engram.Result) (err error) {
	changes := contract.Changes{Whole: true}
	var segments []contract.Segment
	upTo := map[engram.ID]engram.Time{}
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
		changes.Versions = append(changes.Versions, contract.Version{Entity: id, Snapshot: it.Snapshot})
		f.total.Bytes += int64(it.Size())
		upTo[id] = it.Time + 1
	}
	if segments, err = f.names.segments(segments); err != nil {
		return err
	}
	defer f.h.turn(f.memory)()
	n := len(f.replicas)
	if f.replicas = slices.DeleteFunc(f.replicas, (*replica).isEnded); len(f.replicas) == 0 {
		return engram.Errorf(engram.NotFound, f.memory, "nothing is copied of this memory any more")
	}
	if len(f.removed) > maxRemoved {
		return engram.Errorf(engram.Unavailable, f.memory, "more than %d removals at the owner came between; fetch again", maxRemoved)
	}
	if len(f.replicas) < n || len(f.removed) > 0 {
		changes.Versions = slices.DeleteFunc(changes.Versions, func(v contract.Version) bool { return !f.wanted(v.Entity) || f.isRemoved(&v) })
		segments = slices.DeleteFunc(segments, func(s contract.Segment) bool {
			return !slices.ContainsFunc(changes.Versions, func(v contract.Version) bool { return s.Provider.ID.Contains(v.Entity) })
		})
	}
	if len(f.replicas) < n || len(f.removed) > f.seen {
		f.seen = len(f.removed)
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
		for _, r := range f.replicas {
			r.stored(changes.Versions)
		}
		maps.Copy(a.upTo, upTo)
	}
	a.lack(f.names, part.Missing)
	if f.total.More {
		return errEnough
	}
	return nil
}

// wanted reports whether an entity is of a copy.
func (f *fetch) wanted(id engram.ID) bool {
	return slices.ContainsFunc(f.replicas, func(r *replica) bool { return r.matcher.Match(id) })
}

// describe appends the definitions of a version's segment and types to a list, unless the
// copy knows them; ok is false if the segment does not exist any more.
func (f *fetch) describe(ctx context.Context, list []contract.Segment, provider engram.ID, s *engram.Snapshot) (out []contract.Segment, ok bool, err error) {
	there, asked := f.segments[provider]
	if asked && (!there || !slices.ContainsFunc(s.Instances, func(in engram.Instance) bool { return !f.types[in.Payload.Type] })) {
		return list, there, nil
	}
	descriptions, err := f.owner.Describe(ctx, engram.PatternOf(provider))
	if err != nil {
		return nil, false, err
	}
	seg, there := contract.SegmentOf(provider, descriptions)
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
