package ltm

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
)

// heldBounds bound what [held] has open and in memory.
const (
	maxHeldEntities = 16_384
	maxHeldVersions = 2 << 20
)

// held tells which versions the episodes hold, to who asks in the order of a log: that
// in which an entity's versions arrived. Of an entity it has in memory what arrived
// about the time that was asked about last.
type held struct {
	disk     *disk
	entities map[engram.ID]*heldEntity
	versions int  // in memory
	found    bool // only what queries find, not what went with its segment
}

func newHeld(d *disk) *held { return &held{disk: d, entities: map[engram.ID]*heldEntity{}} }

// heldEntity is what episodes hold of an entity.
type heldEntity struct {
	version *version
	view    *view
	parts   []int // of view.disk, those that are not opened yet, in the order of their arrivals
	blocks  []heldBlock
	arrived engram.Time // asked about last
}

// heldBlock is a block of a timeline.
type heldBlock struct {
	run      *run
	number   int
	arrived  engram.Interval
	read     bool
	versions []heldVersion // sorted
}

// heldVersion identifies a version of an entity.
type heldVersion struct{ arrived, time engram.Time }

func (a heldVersion) compare(b heldVersion) int {
	return cmp.Or(cmp.Compare(a.arrived, b.arrived), cmp.Compare(a.time, b.time))
}

// has reports whether an episode holds a version.
func (h *held) has(ctx context.Context, entity engram.ID, s *engram.Snapshot) (bool, error) {
	e := h.entities[entity]
	if e != nil && s.Arrived < e.arrived { // the order is not kept: from the beginning
		h.drop(entity)
		e = nil
	}
	if e == nil {
		if len(h.entities) >= maxHeldEntities || h.versions > maxHeldVersions {
			h.close()
		}
		pinned := h.disk.episodes.pin()
		v, err := h.disk.view(ctx, pinned, entity)
		if err != nil {
			pinned.release()
			return false, err
		}
		e = &heldEntity{version: pinned, view: v}
		for i := range v.disk {
			if v.disk[i].arrived.End > s.Arrived {
				e.parts = append(e.parts, i)
			} else {
				v.disk[i].close()
			}
		}
		slices.SortFunc(e.parts, func(i, j int) int {
			return cmp.Compare(v.disk[i].arrived.Start, v.disk[j].arrived.Start)
		})
		h.entities[entity] = e
	}
	e.arrived = s.Arrived
	return h.find(ctx, e, heldVersion{s.Arrived, s.Time})
}

// find looks for a version, whose arrival is that asked about last.
func (h *held) find(ctx context.Context, e *heldEntity, v heldVersion) (found bool, err error) {
	e.view.ctx = ctx
	e.blocks = slices.DeleteFunc(e.blocks, func(b heldBlock) bool {
		past := b.arrived.End <= v.arrived
		if past {
			h.versions -= len(b.versions)
		}
		return past
	})
	for len(e.parts) > 0 && e.view.disk[e.parts[0]].arrived.Start <= v.arrived {
		p := &e.view.disk[e.parts[0]]
		e.parts = e.parts[1:]
		if !e.view.open(p) {
			continue
		}
		for i := range p.run.blocks {
			if arrived := p.run.blocks[i].Arrived; arrived.End > v.arrived {
				e.blocks = append(e.blocks, heldBlock{run: p.run, number: i, arrived: arrived})
			}
		}
	}
	for i := range e.blocks {
		b := &e.blocks[i]
		if !b.arrived.Contains(v.arrived) {
			continue
		}
		if !b.read {
			h.load(ctx, e, b)
		}
		if _, there := slices.BinarySearchFunc(b.versions, v, heldVersion.compare); there {
			found = true
		}
	}
	return found, e.view.err
}

// load reads a block. What is damaged holds nothing.
func (h *held) load(ctx context.Context, e *heldEntity, b *heldBlock) {
	b.read = true
	index, err := b.run.timeline.Versions(ctx, b.number)
	if err != nil {
		e.view.fail(b.run.handle, err, b.run.blocks[b.number].Span, b.run.blocks[b.number].Count)
		return
	}
	b.versions = make([]heldVersion, 0, index.Len())
	for i := range index.Len() {
		if h.found && !e.view.admit.admits(arrival{index.Arrived(i), index.Number(i), b.run.epoch}) {
			continue
		}
		b.versions = append(b.versions, heldVersion{index.Arrived(i), index.Time(i)})
	}
	slices.SortFunc(b.versions, heldVersion.compare)
	h.versions += len(b.versions)
}

func (h *held) drop(entity engram.ID) {
	e := h.entities[entity]
	for i := range e.blocks {
		h.versions -= len(e.blocks[i].versions)
	}
	e.view.close()
	e.version.release()
	delete(h.entities, entity)
}

// close releases the episodes.
func (h *held) close() {
	for entity := range h.entities {
		h.drop(entity)
	}
}

// heldIn returns the versions of an entity on disk whose times lie in a span.
func (d *disk) heldIn(ctx context.Context, entity engram.ID, span engram.Interval) (map[heldVersion]bool, error) {
	pinned := d.episodes.pin()
	defer pinned.release()
	v, err := d.view(ctx, pinned, entity)
	if err != nil {
		return nil, err
	}
	defer v.close()
	there := map[heldVersion]bool{}
	for i := range v.disk {
		p := &v.disk[i]
		if !p.span.Overlaps(span) {
			continue
		}
		if !v.open(p) {
			continue
		}
		for b, block := range p.run.blocks {
			if !block.Span.Overlaps(span) {
				continue
			}
			index, err := p.run.timeline.Versions(ctx, b)
			if err != nil {
				v.fail(p.handle, err, block.Span, block.Count)
				continue
			}
			for k := index.Search(span.Start); k < index.Len() && index.Time(k) < span.End; k++ {
				there[heldVersion{index.Arrived(k), index.Time(k)}] = true
			}
		}
	}
	return there, v.err
}
