package ltm

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/query"
	"github.com/seed-301d4374/engram/wm"
)

// archive is what secondary indexes read of the disk.
type archive struct {
	recorder *recorder
	disk     *disk
}

var _ wm.Archive = archive{}

// Generation implements [wm.Archive]. What is on disk and was not committed since comes
// from the log, where the recorder had fallen behind, and from repaired episodes.
func (a archive) Generation() (g uint64, ok bool) {
	gaps := &a.recorder.gaps
	return a.disk.repaired.Load()<<40 + gaps.read.Load(), gaps.first.Load() == 0
}

// Losses changes after something that was on disk may have gone: it was forgotten, removed,
// rewritten or found to be damaged.
func (s *Store) Losses() uint64 { return s.disk.episodes.losses.Load() }

// EachVersion implements [wm.Archive].
func (a archive) EachVersion(ctx context.Context, upTo uint64, v wm.ArchiveVisitor) error {
	if !a.recorder.progress.await(ctx, upTo) {
		return engram.Errorf(engram.Unavailable, "", "the recorder has not recorded all yet")
	}
	pinned := a.disk.episodes.pin()
	defer pinned.release()
	damaged := map[*handle]bool{}
	lists := map[string][]byte{}
	var parser episode.LinksParser
	if v.Links != nil {
		if err := a.disk.catalogue.Links(ctx, func(name string, list []byte) { lists[name] = list }); err != nil {
			return err
		}
	}
	// In the order of time it shows that none of them has what supersedes what another has.
	ends := func(h *handle) engram.Time {
		if h.info.Recorded.Empty() { // such as of one that is being written
			return engram.MaxTime
		}
		return h.info.Recorded.End
	}
	all := pinned.all()
	slices.SortFunc(all, func(a, b *handle) int { return cmp.Compare(ends(a), ends(b)) })
	for _, h := range all {
		if err := h.eachVersion(ctx, lists[h.name], &parser, v); isDamage(err) {
			damaged[h] = true
		} else if err != nil {
			return err
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	return a.disk.each(ctx, engram.ID{}, func(id engram.ID) error {
		return a.disk.eachHolding(ctx, pinned, id, func(h *handle, _ *episode.Entity) {
			if damaged[h] {
				v.Unread(id)
			}
		})
	})
}

// eachVersion visits every version of an episode, whose list of links is given if the
// catalogue has it. An error that is damage says that it cannot be read at all.
func (h *handle) eachVersion(ctx context.Context, list []byte, parser *episode.LinksParser, v wm.ArchiveVisitor) error {
	told := func(list []byte) bool {
		if v.Links == nil || list == nil {
			return false
		}
		l, err := parser.Parse(list)
		if err == nil {
			v.Links(l)
		}
		return err == nil
	}
	if told(list) {
		return ctx.Err()
	}
	src, err := h.open()
	if err != nil {
		return err
	}
	defer h.close()
	if v.Links != nil && told(src.Links()) {
		return ctx.Err()
	}
	for _, e := range src.Entities() {
		if err := ctx.Err(); err != nil {
			return err
		}
		visit := func(s *engram.Snapshot) { v.Version(e.ID, s) }
		links := listing{types: h.set.options.Types, of: &e}
		if v.Links != nil {
			visit = links.add
		}
		err := eachVersionOf(ctx, src, e.ID, v.Payloads, visit)
		if isDamage(err) || engram.CodeOf(err) == engram.NotFound {
			v.Unread(e.ID)
		} else if err != nil {
			return err
		}
		if v.Links != nil {
			links.end(v.Links)
		}
	}
	return nil
}

func eachVersionOf(ctx context.Context, src episode.Source, id engram.ID, payloads bool, visit func(*engram.Snapshot)) error {
	tl, err := src.Timeline(id)
	if err != nil {
		return err
	}
	for i := range tl.Blocks() {
		index, err := tl.Index(ctx, i)
		if err != nil {
			return err
		}
		for first := 0; payloads && first < len(index); first += loadedAtOnce {
			last := min(first+loadedAtOnce, len(index))
			loaded, err := tl.Load(ctx, i, first, last)
			if err != nil {
				return err
			}
			copy(index[first:last], loaded)
		}
		for _, s := range index {
			visit(s)
		}
	}
	return nil
}

// listing makes the list of links of an entity in an episode that has none.
type listing struct {
	types  *idf.Registry
	of     *episode.Entity
	links  query.Links
	entity query.LinkingEntity
	can    bool
	beside uint64 // versions that were in force at the start, or hold at all times
}

// add adds a version; of one time, and mostly of all, they come in order.
func (l *listing) add(s *engram.Snapshot) {
	can, _ := query.CanLink(l.types, s)
	l.can = l.can || can
	l.links.List = l.links.Append(l.links.List, l.types, s)
	e := &l.entity
	e.ArrivedEnd = max(e.ArrivedEnd, s.Arrived.Add(1))
	if l.of.Recorded.Empty() || s.Time < l.of.Recorded.Start {
		l.beside++
		return
	}
	if e.Recorded.Empty() {
		e.Recorded.Start = s.Time
	}
	e.Late = e.Late || !e.Recorded.Empty() && s.Time < e.Recorded.End
	e.Recorded.Start, e.Recorded.End = min(e.Recorded.Start, s.Time), max(e.Recorded.End, s.Time.Add(1))
}

func (l *listing) end(visit func(*query.Links)) {
	if !l.can {
		return
	}
	e := &l.entity
	e.Name, e.Count = l.links.Name(l.of.ID.String()), uint32(len(l.links.List))
	e.Late = e.Late || l.beside > l.of.InForce
	l.links.Entities = []query.LinkingEntity{*e}
	visit(&l.links)
}

// loadedAtOnce is how many payloads an index has read at once.
const loadedAtOnce = 64
