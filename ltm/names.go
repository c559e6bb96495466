package ltm

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
)

// nameTree knows the names of what was recorded in this life, which the catalogue does
// not know before it is sealed. Safe for concurrent use.
type nameTree struct {
	mu       sync.RWMutex
	children map[engram.ID]map[string]bool
}

// add adds an entity and what it lies in.
func (t *nameTree) add(id engram.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.children == nil {
		t.children = map[engram.ID]map[string]bool{}
	}
	for ; !id.IsRoot(); id = id.Parent() {
		parent := id.Parent()
		have := t.children[parent]
		if have[id.Name()] {
			return
		}
		if have == nil {
			have = map[string]bool{}
			t.children[parent] = have
		}
		have[id.Name()] = true
	}
}

// remove removes a segment with all below it.
func (t *nameTree) remove(id engram.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.children[id.Parent()], id.Name())
	maps.DeleteFunc(t.children, func(parent engram.ID, _ map[string]bool) bool { return id.Contains(parent) })
}

func (t *nameTree) has(id engram.ID) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.children[id.Parent()][id.Name()]
}

// names returns the names below a parent, sorted.
func (t *nameTree) names(parent engram.ID) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Sorted(maps.Keys(t.children[parent]))
}

// diskNames returns the names right below a parent that something was recorded of,
// sorted.
func (s *Store) diskNames(ctx context.Context, parent engram.ID) ([]string, error) {
	sealed, err := s.catalogue.Names(ctx, parent)
	if err != nil {
		return nil, err
	}
	if s.touchesRemoved(parent) {
		kept := make([]string, 0, len(sealed))
		for _, name := range sealed {
			id, err := parent.Child(name)
			if err != nil {
				continue
			}
			ok, err := s.visible(ctx, id)
			if err != nil {
				return nil, err
			}
			if ok {
				kept = append(kept, name)
			}
		}
		sealed = kept
	}
	recent := s.recent.names(parent)
	if s.account.any.Load() { // what there was is told to be forgotten
		recent = append(recent, s.account.names.names(parent)...)
		slices.Sort(recent)
		recent = slices.Compact(recent)
	}
	if len(recent) == 0 {
		return sealed, nil
	}
	if len(sealed) == 0 {
		return recent, nil
	}
	all := slices.Concat(sealed, recent)
	slices.Sort(all)
	return slices.Compact(all), nil
}

// onDisk reports whether something was recorded of a node of the hierarchy.
func (s *Store) onDisk(ctx context.Context, id engram.ID) (bool, error) {
	if s.recent.has(id) || s.account.any.Load() && s.account.names.has(id) {
		return true, nil
	}
	if id.Level() == engram.LevelEntity || s.touchesRemoved(id) {
		return s.visible(ctx, id)
	}
	names, err := s.catalogue.Names(ctx, id.Parent())
	_, there := slices.BinarySearch(names, id.Name())
	return there, err
}

// touchesRemoved reports whether something at, above or below id was removed.
func (s *Store) touchesRemoved(id engram.ID) bool {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return slices.ContainsFunc(s.state.mu.Removed, func(r removal) bool { return r.Segment.Contains(id) || id.Contains(r.Segment) })
}

// visible reports whether sealed episodes hold something of a node that was not hidden
// by a removal.
func (s *Store) visible(ctx context.Context, id engram.ID) (bool, error) {
	if id.Level() < engram.LevelEntity {
		names, err := s.catalogue.Names(ctx, id)
		for _, name := range names {
			below, err := id.Child(name)
			if err != nil {
				continue
			}
			if ok, err := s.visible(ctx, below); ok || err != nil {
				return ok, err
			}
		}
		return false, err
	}
	holdings, err := s.catalogue.Holdings(ctx, id)
	if err != nil {
		return false, err
	}
	if len(holdings.All()) == 0 {
		return false, nil
	}
	if len(s.hiddenOf(id)) == 0 {
		return true, nil
	}
	return s.shows(ctx, id)
}

// shows reports whether a version of an entity on disk is not hidden by a removal.
func (s *Store) shows(ctx context.Context, id engram.ID) (bool, error) {
	v, err := s.diskView(ctx, id)
	if err != nil {
		return false, err
	}
	defer v.close()
	v.payload = false
	newest, _ := v.Prev(v.End(), engram.MinTime)
	return newest != nil, v.err
}

// diskView returns a view of what lies on disk of an entity. It must be closed.
func (s *Store) diskView(ctx context.Context, id engram.ID) (*view, error) {
	for {
		v, again, err := s.tryDiskView(ctx, id)
		if err != nil {
			return nil, err
		}
		if !again {
			return v, nil
		}
	}
}

// tryDiskView is diskView, but again is true if an episode was sealed meanwhile.
func (s *Store) tryDiskView(ctx context.Context, id engram.ID) (v *view, again bool, err error) {
	v = &view{
		ctx: ctx, entity: id, floor: engram.MaxTime, types: s.options.Types, payload: true,
		admit: admission{asOf: engram.MaxTime, horizon: ^uint64(0), hidden: s.hiddenOf(id), life: s.lifeIndex},
	}
	// First what is being written: when it is sealed, it is in the catalogue before it
	// leaves these.
	writing := s.episodes.writing()
	for _, h := range writing {
		p := part{handle: h, entity: id}
		switch _, err := p.open(v); {
		case engram.CodeOf(err) == engram.NotFound && !p.claimed:
			v.close()
			return nil, true, nil
		case engram.CodeOf(err) == engram.NotFound:
			p.close()
			continue
		case err != nil:
			p.close()
			v.close()
			return nil, false, err
		}
		if len(p.run.blocks) == 0 {
			p.close()
			continue
		}
		p.measure()
		v.disk = append(v.disk, p)
	}
	holdings, err := s.catalogue.Holdings(ctx, id)
	if err != nil {
		v.close()
		return nil, false, err
	}
	for _, held := range holdings.All() {
		if slices.ContainsFunc(writing, func(h *handle) bool { return h.name == held.Episode }) {
			continue
		}
		h, ok := s.episodes.get(held.Episode)
		if !ok || v.admit.hidden.hidesAll(held.Arrived, h.info.Epoch) {
			continue
		}
		v.disk = append(v.disk, part{span: held.Span, arrived: held.Arrived, count: int(held.Snapshots), times: int(held.Times), handle: h, entity: id})
	}
	return v, false, nil
}

// measure sets the spans and counts of a part from the blocks of its run.
func (p *part) measure() {
	end, apart := engram.MinTime, true
	for i, b := range p.run.blocks {
		if i == 0 {
			p.span, p.arrived = b.Span, b.Arrived
		}
		p.span.Start, p.span.End = min(p.span.Start, b.Span.Start), max(p.span.End, b.Span.End)
		p.arrived.Start, p.arrived.End = min(p.arrived.Start, b.Arrived.Start), max(p.arrived.End, b.Arrived.End)
		p.count += b.Count
		p.times += b.Times
		apart, end = apart && b.Times > 0 && b.Span.Start >= end, b.Span.End
	}
	if !apart {
		p.times = 0
	}
}
