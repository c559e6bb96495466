package wm

import (
	"context"
	"iter"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// View is the working memory at one moment, for readers that merge it with the long-term
// memory (package ltm). It is used by one goroutine.
type View struct {
	w    *WM
	lens lens
}

// View returns a view of the memory as it stands now, or of what it knew at asOf.
// The view does not keep what is evicted after it was made.
func (w *WM) View(ctx context.Context, asOf *engram.Time) *View {
	return &View{w: w, lens: w.newLens(ctx, asOf)}
}

// Number returns the number of the newest update that the view takes notice of.
func (v *View) Number() uint64 { return v.lens.highWater }

// Limits returns what one call may ask for.
func (w *WM) Limits() Limits { return w.limits }

// Compiler returns what compiles the memory's queries.
func (w *WM) Compiler() *query.Compiler { return w.compiler }

// Present returns the latest time that is not beyond the present for an entity that the
// view need not have.
func (v *View) Present(entity engram.ID) engram.Time { return v.w.present(entity, v.lens.now) }

// Reaches returns the clock, and how far the presents of the core segments reach beyond it,
// but for those that take any time.
func (v *View) Reaches() (now engram.Time, reaches map[engram.ID]time.Duration) {
	now, reaches = v.lens.now, map[engram.ID]time.Duration{}
	for _, m := range v.w.memories.sorted() {
		for _, c := range m.value.cores.sorted() {
			if present := c.value.present(now); present < engram.MaxTime {
				reaches[c.value.id] = present.Sub(now)
			}
		}
	}
	return now, reaches
}

// Has reports whether there is a node of that ID, from a memory to an entity.
func (v *View) Has(id engram.ID) bool {
	m, ok := v.w.memories.Get(id.Memory())
	if !ok || id.Level() == engram.LevelMemory {
		return ok
	}
	c, ok := m.cores.Get(id.CoreSegment())
	if !ok || id.Level() == engram.LevelCoreSegment {
		return ok
	}
	p, ok := c.providers.Get(id.ProviderSegment())
	if !ok || id.Level() == engram.LevelProviderSegment {
		return ok
	}
	_, ok = p.entities.Get(id.Entity())
	return ok
}

// Names yields the names right below a parent of any level above an entity, in their
// order.
func (v *View) Names(parent engram.ID) iter.Seq[string] {
	return func(yield func(string) bool) {
		if parent.IsRoot() {
			eachName(&v.w.memories, yield)
			return
		}
		m, ok := v.w.memories.Get(parent.Memory())
		if !ok {
			return
		}
		if parent.Level() == engram.LevelMemory {
			eachName(&m.cores, yield)
			return
		}
		c, ok := m.cores.Get(parent.CoreSegment())
		if !ok {
			return
		}
		if parent.Level() == engram.LevelCoreSegment {
			eachName(&c.providers, yield)
			return
		}
		if p, ok := c.providers.Get(parent.ProviderSegment()); ok && parent.Level() == engram.LevelProviderSegment {
			eachName(&p.entities, yield)
		}
	}
}

func eachName[V any](t *table[V], yield func(string) bool) {
	for _, e := range t.sorted() {
		if !yield(e.name) {
			return
		}
	}
}

// Entities yields the IDs of all entities, in their order.
func (v *View) Entities() iter.Seq[engram.ID] {
	return func(yield func(engram.ID) bool) {
		for _, m := range v.w.memories.sorted() {
			for _, c := range m.value.cores.sorted() {
				for _, p := range c.value.providers.sorted() {
					for _, e := range p.value.entities.sorted() {
						if !yield(e.value.id) {
							return
						}
					}
				}
			}
		}
	}
}

// Loss tells what the memory has evicted of an entity in this epoch, also of earlier
// ones of its name; each field as far as is known.
type Loss struct {
	Evictions   uint64      // snapshots and superseded versions
	Snapshots   uint64      // snapshots with all their versions
	First, Last engram.Time // the times of the first and the last of these snapshots
	Arrived     engram.Time // when the first of the evicted versions arrived
}

// Gone returns what was evicted with entities of a provider segment that are gone as
// a whole.
func (v *View) Gone(provider engram.ID) Loss {
	c, err := v.w.core(provider)
	if err != nil {
		return Loss{}
	}
	p, ok := c.providers.Get(provider.ProviderSegment())
	if !ok || p.goneFrom.Load() == 0 {
		return Loss{}
	}
	return p.gone.load().public()
}

// Evicted reports whether something of a provider segment was evicted.
func (v *View) Evicted(provider engram.ID) bool {
	p := v.w.provider(provider)
	return p != nil && p.evicted.Load()
}

// HadType reports whether something of one of some types may have been committed to a provider
// segment in this epoch, and the least type that it accepts; "" if it is not there.
func (v *View) HadType(provider engram.ID, some func(name string) bool) (had bool, base string) {
	p := v.w.provider(provider)
	if p == nil {
		return false, ""
	}
	return p.rule.had(some), p.rule.base.name
}

func (l loss) public() Loss {
	return Loss{Evictions: l.evictions, Snapshots: l.snapshots, First: l.first, Last: l.last, Arrived: l.arrived}
}

// Missing adds to m, which may be nil, what was asked for and is lost.
func (l Loss) Missing(id engram.ID, a query.Asked, asOf engram.Time, m *engram.Missing) *engram.Missing {
	private := loss{evictions: l.Evictions, snapshots: l.Snapshots, arrived: l.Arrived, first: l.First, last: l.Last}
	return private.missing(id, a, asOf, m)
}

// EntityView is what a view shows of one entity: a [query.View] that knows no filter.
type EntityView struct {
	reading
	entity *entity
}

// Place is a place in an entity's timeline.
type Place = place

// Entity returns the entity of that ID, or nil.
func (v *View) Entity(id engram.ID) *EntityView {
	e := v.w.entity(id)
	if e == nil {
		return nil
	}
	return &EntityView{reading: v.lens.read(e), entity: e}
}

// Lost tells what was evicted of the entity. Read it after the entity: what is evicted
// in between is told.
func (x *EntityView) Lost() Loss {
	l := x.entity.lost.load().public()
	p := x.entity.provider
	if !x.entity.reborn() || engram.VisibilityIn(engram.ScopeOf(x.lens.ctx), p.id) != engram.Visible {
		return l
	}
	gone := p.gone.load().public()
	switch {
	case gone.Evictions == 0:
		return l
	case l.Evictions == 0:
		return gone
	}
	gone.Arrived = min(l.Arrived, gone.Arrived)
	gone.Evictions += l.Evictions
	if l.Snapshots > 0 {
		if gone.Snapshots == 0 {
			gone.First, gone.Last = l.First, l.Last
		}
		gone.First, gone.Last = min(l.First, gone.First), max(l.Last, gone.Last)
		gone.Snapshots += l.Snapshots
	}
	return gone
}

// Torn reports whether something that stood at the view's moment may have been
// evicted under the reader.
func (x *EntityView) Torn() bool {
	return x.torn || x.newer && x.entity.lost.evictions.Load() > 0
}

// Newest returns the entity's newest snapshot that the view takes notice of, or nil.
func (x *EntityView) Newest() *engram.Snapshot {
	s, _, _ := query.Newest[Place](&x.reading)
	return s
}

// Read selects from the entity, by the memory's own rules, at most limit snapshots
// and one more for each selector. Its answer may be of a later moment than the
// view's where something was evicted meanwhile. They select from what satisfies a
// filter; nil takes everything.
func (x *EntityView) Read(v *View, selectors []engram.SnapshotSelector, filter *query.Filter, limit int, sel *query.Selection) (*engram.Missing, error) {
	l := v.lens
	l.filter = filter
	return v.w.read(l, x.entity, selectors, limit, sel, &x.reading)
}

// ReadMissingBefore adds what may have been of earlier entities of the name, which
// [EntityView.Read] does not tell of.
func (x *EntityView) ReadMissingBefore(v *View, sel *query.Selection, m *engram.Missing) *engram.Missing {
	return x.entity.missingBefore(sel, v.lens.asOf, m)
}
