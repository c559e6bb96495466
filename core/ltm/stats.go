package ltm

import (
	"context"
	"iter"
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/catalogue"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
)

// Stats adds to what the working memory tells of the nodes that a pattern matches, down
// to depth, what is on disk of them, and the nodes that are known only from there.
// Values in force at the start of an episode are counted where they were recorded first.
func (s *reader) Stats(ctx context.Context, p engram.Pattern, depth engram.Level, known []engram.Stats) ([]engram.Stats, error) {
	if s.wm == nil {
		return nil, errNotBegun
	}
	names, err := s.wm.Compiler().Names(ctx, p, s.wm.Limits().MaxFilterSteps)
	if err != nil {
		return nil, err
	}
	pinned := s.disk.episodes.pin()
	defer pinned.release()
	writing, err := pinned.writingEntities()
	if err != nil {
		return nil, err
	}
	c := &counting{
		s: s, version: pinned, ctx: ctx, scope: engram.ScopeOf(ctx), names: names, view: s.wm.View(ctx, nil), writing: writing,
		from: max(engram.LevelMemory, engram.Level(len(p.Levels))), out: known, at: map[engram.ID]int{},
	}
	c.to = max(depth, c.from)
	for i := range known {
		c.at[known[i].ID] = i
	}
	if _, err := c.below(engram.ID{}); err != nil {
		return nil, err
	}
	if err := names.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(c.out, func(a, b engram.Stats) int { return a.ID.Compare(b.ID) })
	return c.out, nil
}

// writingEntities returns what the episodes that are being written hold, by provider segment: a list for each episode that has
// some, in the order of the names.
func (v *version) writingEntities() (map[engram.ID][][]episode.Entity, error) {
	all := map[engram.ID][][]episode.Entity{}
	for _, h := range v.writing {
		src, err := h.open()
		if err != nil {
			return nil, err
		}
		byProvider(src.Entities(), all)
		h.close()
	}
	return all, nil
}

// byProvider adds a list of what an episode holds to those of its provider segments. It is in the order of the IDs.
func byProvider(held []episode.Entity, lists map[engram.ID][][]episode.Entity) {
	for len(held) > 0 {
		provider := held[0].ID.Parent()
		n := sort.Search(len(held), func(i int) bool { return held[i].ID.Parent() != provider })
		lists[provider] = append(lists[provider], held[:n])
		held = held[n:]
	}
}

// catalogued says which episodes count of those that the catalogue knows, in one look-up.
// After it, apart returns the sealed episodes of the version that did not count: they tell
// themselves what they hold.
func (v *version) catalogued() (counting catalogue.Counting, apart func() []*handle) {
	var leaving []*handle
	return func() func(string) bool {
		leaving = v.leaving()
		return func(name string) bool {
			h := v.sealed[name]
			return h != nil && !slices.Contains(leaving, h)
		}
	}, func() []*handle { return leaving }
}

// entitiesOf returns what an episode says itself that it holds of a provider segment, in the order of the names.
func (h *handle) entitiesOf(provider engram.ID) []episode.Entity {
	return slices.DeleteFunc(h.entities(), func(e episode.Entity) bool { return e.ID.Parent() != provider })
}

// counting is a count at work.
type counting struct {
	s        *reader
	version  *version // pinned
	ctx      context.Context
	scope    engram.Scope
	names    *query.Names
	view     *wm.View
	writing  map[engram.ID][][]episode.Entity
	from, to engram.Level // nodes of these levels are told of
	out      []engram.Stats
	at       map[engram.ID]int // of nodes in out
}

// sum is what is on disk of a node.
type sum struct {
	engram.OnDisk
	only uint64 // entities that the working memory has not
	typ  string
}

func (a *sum) add(b sum) {
	a.OnDisk.Add(b.OnDisk)
	a.only += b.only
	if a.typ == "" {
		a.typ = b.typ
	}
}

// below counts what lies below a node above provider segments, and returns the sum.
func (c *counting) below(parent engram.ID) (total sum, err error) {
	names, err := c.s.disk.names(c.ctx, c.version, parent)
	if err != nil {
		return total, err
	}
	for _, name := range names {
		id, err := parent.Child(name)
		if err != nil || !c.names.Match(id.Level(), name) || engram.VisibilityIn(c.scope, id) == engram.Hidden {
			continue
		}
		count := c.below
		if id.Level() == engram.LevelProviderSegment {
			count = c.provider
		}
		one, err := count(id)
		if err != nil {
			return total, err
		}
		c.tell(id, one)
		total.add(one)
	}
	return total, nil
}

// provider counts what is on disk of a provider segment's entities.
func (c *counting) provider(id engram.ID) (total sum, err error) {
	counting, apart := c.version.catalogued()
	held, err := c.s.disk.catalogue.Held(c.ctx, id, counting)
	if err != nil {
		return total, err
	}
	removed := c.version.touchesRemoved(id)
	beside := c.writing[id] // of what the catalogue does not count
	for _, h := range apart() {
		beside = append(slices.Clip(beside), h.entitiesOf(id))
	}
	for h := range together(held, beside) {
		if err := c.entity(id, h, removed, &total); err != nil {
			return total, err
		}
	}
	return total, nil
}

// together yields what is held of each entity of a provider segment, of which some is held by episodes beside, in the order
// of their names. In that order are the held and each episode's entities.
func together(held []catalogue.Held, beside [][]episode.Entity) iter.Seq[catalogue.Held] {
	return func(yield func(catalogue.Held) bool) {
		held, beside := held, slices.Clone(beside)
		for {
			var first *episode.Entity
			for _, list := range beside {
				if len(list) > 0 && (first == nil || list[0].ID.Name() < first.ID.Name()) {
					first = &list[0]
				}
			}
			var h catalogue.Held
			switch {
			case len(held) > 0 && (first == nil || held[0].Name <= first.ID.Name()):
				h, held = held[0], held[1:]
			case first != nil:
				h = catalogue.Held{Name: first.ID.Name(), Type: first.Type, Span: first.Span}
			default:
				return
			}
			for i, list := range beside {
				if len(list) > 0 && list[0].ID.Name() == h.Name {
					h = h.With(list[0].Snapshots, list[0].InForce, list[0].Bytes, list[0].Span)
					beside[i] = list[1:]
				}
			}
			if !yield(h) {
				return
			}
		}
	}
}

// entity adds what is on disk of an entity of a provider segment, of which something may be
// removed.
func (c *counting) entity(provider engram.ID, h catalogue.Held, removed bool, total *sum) error {
	entity, err := provider.Child(h.Name)
	if err != nil || h.Snapshots == 0 || !c.names.Match(engram.LevelEntity, h.Name) || engram.VisibilityIn(c.scope, entity) == engram.Hidden {
		return nil
	}
	if removed {
		if there, err := c.s.disk.shows(c.ctx, c.version, entity); err != nil || !there {
			return err
		}
	}
	one := sum{typ: h.Type, OnDisk: engram.OnDisk{
		Entities: 1, Snapshots: max(h.Snapshots-min(h.InForce, h.Snapshots), 1), Bytes: h.Bytes, First: h.Span.Start, Last: h.Span.End - 1,
	}}
	if !c.view.Has(entity) {
		one.only = 1
	}
	c.tell(entity, one)
	total.add(one)
	return nil
}

// tell adds a node's sum to its stats.
func (c *counting) tell(id engram.ID, of sum) {
	if l := id.Level(); l < c.from || l > c.to || of.Entities == 0 {
		return
	}
	i, ok := c.at[id]
	if !ok {
		i = len(c.out)
		c.at[id] = i
		c.out = append(c.out, engram.Stats{ID: id})
	}
	st := &c.out[i]
	st.Disk = of.OnDisk
	if id.Level() < engram.LevelEntity {
		st.Entities += of.only
	}
	if st.Type == "" && id.Level() > engram.LevelMemory {
		st.Type = of.typ
	}
}
