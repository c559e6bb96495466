package ltm

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/catalogue"
)

// disk finds what lies on the disk, sealed or not. Its fields but for the maps, which have
// locks of their own, do not change after Begin.
type disk struct {
	episodes  *episodeSet
	catalogue *catalogue.Catalogue
	recent    nameTree  // of what was recorded in this epoch
	lost      *nameTree // of the entities that something was ever forgotten of, or damaged
	before    beforeCache
	repaired  atomic.Uint64 // episodes that came back
	earlier   bool          // there were episodes when Begin was called
	epoch     uint64        // of this epoch
}

// nameTree knows the names of what was recorded in this epoch, which the catalogue does
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

// diskNames returns the names right below a parent of which something was recorded, as a
// pinned version has it, sorted; others may be among them of which it has nothing.
func (d *disk) names(ctx context.Context, v *version, parent engram.ID) ([]string, error) {
	sealed, err := d.sealedNames(ctx, v, parent)
	if err != nil {
		return nil, err
	}
	if v.touchesRemoved(parent) {
		kept := make([]string, 0, len(sealed))
		for _, name := range sealed {
			id, err := parent.Child(name)
			if err != nil {
				continue
			}
			ok, err := d.visible(ctx, v, id)
			if err != nil {
				return nil, err
			}
			if ok {
				kept = append(kept, name)
			}
		}
		sealed = kept
	}
	recent := d.recent.names(parent)
	if v.tellsOfLoss() { // what there was is told to be forgotten
		recent = append(recent, d.lost.names(parent)...)
		slices.Sort(recent)
		recent = slices.Compact(recent)
	}
	if len(recent) == 0 {
		return sealed, nil
	}
	if len(sealed) == 0 {
		return recent, nil
	}
	return union(sealed, recent), nil
}

// union returns the names of both lists, sorted, each once.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// sealedNames returns the names right below a parent that sealed episodes of a pinned
// version hold something of, and perhaps newer ones. The slice is not to be changed.
func (d *disk) sealedNames(ctx context.Context, v *version, parent engram.ID) ([]string, error) {
	names, err := d.catalogue.Names(ctx, parent)
	if err != nil {
		return nil, err
	}
	var more []string
	for _, h := range v.leaving() { // after the catalogue, which may not know them any more
		for _, e := range h.entities() {
			if parent.Contains(e.ID) && parent.Level() < e.ID.Level() {
				more = append(more, e.ID.Truncate(parent.Level()+1).Name())
			}
		}
	}
	if len(more) == 0 {
		return names, nil
	}
	return union(names, more), nil
}

// tellsOfLoss reports whether something was forgotten or damaged.
func (v *version) tellsOfLoss() bool { return len(v.forgotten)+len(v.damaged) > 0 }

// onDisk reports whether something was recorded of a node of the hierarchy.
func (d *disk) holds(ctx context.Context, v *version, id engram.ID) (bool, error) {
	if d.recent.has(id) || v.tellsOfLoss() && d.lost.has(id) {
		return true, nil
	}
	if id.Level() == engram.LevelEntity || v.touchesRemoved(id) {
		return d.visible(ctx, v, id)
	}
	names, err := d.sealedNames(ctx, v, id.Parent())
	_, there := slices.BinarySearch(names, id.Name())
	return there, err
}

// touchesRemoved reports whether something at, above or below id was removed.
func (v *version) touchesRemoved(id engram.ID) bool {
	return slices.ContainsFunc(v.removed, func(r removal) bool { return r.Segment.Contains(id) || id.Contains(r.Segment) })
}

// visible reports whether sealed episodes of a pinned version hold something of a node
// that was not hidden by a removal.
func (d *disk) visible(ctx context.Context, v *version, id engram.ID) (bool, error) {
	if id.Level() < engram.LevelEntity {
		names, err := d.sealedNames(ctx, v, id)
		for _, name := range names {
			below, err := id.Child(name)
			if err != nil {
				continue
			}
			if ok, err := d.visible(ctx, v, below); ok || err != nil {
				return ok, err
			}
		}
		return false, err
	}
	any := false
	err := d.eachHolding(ctx, v, id, func(*handle, *episode.Entity) { any = true })
	if !any || err != nil {
		return false, err
	}
	if len(v.hiddenOf(id)) == 0 {
		return true, nil
	}
	return d.shows(ctx, v, id)
}

// shows reports whether a version of an entity on disk is not hidden by a removal.
func (d *disk) shows(ctx context.Context, v *version, id engram.ID) (bool, error) {
	out, err := d.view(ctx, v, id)
	if err != nil {
		return false, err
	}
	defer out.close()
	out.payload = false
	newest, _ := out.Prev(out.End(), engram.MinTime)
	return newest != nil, out.err
}

// eachHolding visits the sealed episodes of a pinned version that hold something of an
// entity, with what they hold.
func (d *disk) eachHolding(ctx context.Context, v *version, id engram.ID, visit func(*handle, *episode.Entity)) error {
	holdings, err := d.catalogue.Holdings(ctx, id)
	if err != nil {
		return err
	}
	// What leaves is found after the catalogue was asked: it leaves before the catalogue
	// knows what takes its place.
	leaving := v.leaving()
	for i := range holdings.All() {
		held := &holdings.All()[i]
		if h := v.sealed[held.Episode]; h != nil && !slices.Contains(leaving, h) {
			visit(h, &held.Entity)
		}
	}
	for _, h := range leaving {
		entities := h.entities()
		if i, ok := slices.BinarySearchFunc(entities, id, func(e episode.Entity, id engram.ID) int { return e.ID.Compare(id) }); ok {
			visit(h, &entities[i])
		}
	}
	return nil
}

// diskView returns a view of what lies on disk of an entity in a pinned version. It must
// be closed before that is released.
func (d *disk) view(ctx context.Context, v *version, id engram.ID) (*view, error) {
	out := &view{
		ctx: ctx, entity: id, present: engram.MaxTime, floor: engram.MaxTime, payload: true,
		admit: admission{asOf: engram.MaxTime, horizon: ^uint64(0), hidden: v.hiddenOf(id), tombstones: v.tombstonesOf(id), life: v.lifeIndex},
	}
	for _, h := range v.writing {
		p := part{handle: h, entity: id}
		switch err := p.open(); {
		case engram.CodeOf(err) == engram.NotFound:
			p.close()
			continue
		case err != nil:
			p.close()
			out.close()
			return nil, err
		}
		if len(p.run.blocks) == 0 {
			p.close()
			continue
		}
		p.measure()
		out.disk = append(out.disk, p)
	}
	err := d.eachHolding(ctx, v, id, func(h *handle, held *episode.Entity) {
		if !out.admit.hidden.hidesAll(held.Arrived, h.info.Epoch) {
			out.disk = append(out.disk, part{span: held.Span, arrived: held.Arrived, count: int(held.Snapshots), times: int(held.Times), handle: h, entity: id})
		}
	})
	if err != nil {
		out.close()
		return nil, err
	}
	slices.SortStableFunc(out.disk, func(a, b part) int { return cmp.Compare(a.span.Start, b.span.Start) })
	return out, nil
}

// eachOnDisk visits the entities below a node that sealed episodes hold.
func (d *disk) each(ctx context.Context, parent engram.ID, visit func(engram.ID) error) error {
	names, err := d.catalogue.Names(ctx, parent)
	if err != nil {
		return err
	}
	for _, name := range names {
		id, err := parent.Child(name)
		if err != nil {
			continue // no name of ours
		}
		if id.Level() == engram.LevelEntity {
			err = visit(id)
		} else {
			err = d.each(ctx, id, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onDiskAt returns the newest version on disk of an entity up to a time, without its
// payload, or nil.
func (d *disk) at(ctx context.Context, entity engram.ID, t engram.Time) (*engram.Snapshot, error) {
	pinned := d.episodes.pin()
	defer pinned.release()
	v, err := d.view(ctx, pinned, entity)
	if err != nil {
		return nil, err
	}
	defer v.close()
	v.payload = false
	found, _ := v.Prev(v.After(t), engram.MinTime)
	return found, v.err
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
