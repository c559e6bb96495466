package ltm

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// past tells holders of copies what there was: lives of the server, what episodes hold
// of them, and what is gone.
type past struct {
	*env
	state    *state
	policies *policies
	account  *account
	disk     *disk
}

// LivesFrom returns the earlier epochs of the memory server that episodes hold something
// of, by their epochs, in their order, from one of them on; all, and known is false, if
// nothing is known of that.
func (p *past) LivesFrom(epoch uint64) (lives []uint64, known bool) {
	v := p.disk.episodes.current()
	first := map[uint64]string{} // the name of the first episode of each
	for _, h := range v.all() {
		if name, ok := first[h.info.Epoch]; !ok || h.name < name {
			first[h.info.Epoch] = h.name
		}
	}
	if p.wm != nil {
		delete(first, p.wm.Epoch())
	}
	for e := range first {
		lives = append(lives, e)
	}
	// Those that began before lives were noted come first.
	slices.SortFunc(lives, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(v.lifeIndex(a), v.lifeIndex(b)), strings.Compare(first[a], first[b]))
	})
	if i := slices.Index(lives, epoch); i >= 0 {
		return lives[i:], true
	}
	at := v.lifeIndex(epoch) // it may have left nothing
	if at < 0 {
		return lives, false
	}
	return slices.DeleteFunc(lives, func(e uint64) bool { return v.lifeIndex(e) < at }), true
}

// Recorded waits until the recorder has recorded everything up to a number, also what it
// has to get from the log, as long as it comes on with that, and reports whether it has.
func (p *past) Recorded(ctx context.Context, number uint64) bool {
	return p.recorder != nil && p.recorder.recorded(ctx, number)
}

// History reads what the episodes hold of one epoch, episode by episode, and of each
// in the order of the update numbers: nearly in the order in which it was written, and
// of each entity so but for what was recorded late because of a mark or a link, or from
// the log. It is of the moment at which it was made. It is used by one goroutine and must
// be closed.
type History struct {
	disk        *disk
	epoch       uint64
	match       func(engram.ID) bool
	after, upTo uint64

	version  *version       // pinned until it is closed
	episodes []*handle      // to come
	open     *handle        // nil if none is
	source   episode.Source // of it
	parts    []historyPart
	refs     []historyRef // of the open episode, by number
	next     int          // of refs
	loaded   []*engram.Snapshot
	first    int                      // the place of loaded[0] among refs; nil is what cannot be read
	size     int64                    // the mean size of what was loaded last
	top      uint64                   // the highest number in the episodes so far
	newest   map[engram.ID]historyRef // in these, by time: in force when the next began
	damaged  []engram.Missing
}

type historyPart struct {
	entity   engram.ID
	timeline episode.Timeline
}

type historyRef struct {
	number  uint64
	time    engram.Time
	arrived engram.Time
	part    int32
	block   int32
	pos     int32
}

// Past is a version that a history comes to.
type Past struct {
	Entity  engram.ID
	Number  uint64 // not always its own: of what was recorded from the log it is one near to that
	Time    engram.Time
	Arrived engram.Time
}

// History returns a history of the versions with numbers in (after, upTo] of the
// entities that match. What was removed with its segment is not in it. For who has read
// one up to after, it goes on there: what an episode has of numbers up to after, since it
// was recorded late, comes unless what follows it was read.
func (p *past) History(epoch uint64, match func(engram.ID) bool, after, upTo uint64) *History {
	h := &History{disk: p.disk, version: p.disk.episodes.pin(), epoch: epoch, match: match, after: after, upTo: upTo, newest: map[engram.ID]historyRef{}, size: 1 << 10}
	h.episodes = slices.DeleteFunc(h.version.ofEpoch(epoch), func(e *handle) bool { return e.upTo < after })
	return h
}

// Close releases what the history holds; nothing more comes.
func (h *History) Close() {
	h.leave()
	h.episodes = nil
	if h.version != nil {
		h.version.release()
		h.version = nil
	}
}

// leave closes the open episode.
func (h *History) leave() {
	if h.open != nil {
		h.open.close()
		h.open, h.source = nil, nil
	}
	h.parts, h.refs, h.next, h.loaded = nil, nil, 0, nil
}

// Peek returns the version that comes next, false at the end.
func (h *History) Peek(ctx context.Context) (Past, bool, error) {
	for h.next == len(h.refs) {
		h.leave()
		if len(h.episodes) == 0 {
			return Past{}, false, nil
		}
		if err := checkContext(ctx); err != nil {
			return Past{}, false, err
		}
		e := h.episodes[0]
		h.episodes = h.episodes[1:]
		src, err := e.open()
		if isDamage(err) {
			h.disk.episodes.damaged(e, err)
			if err = h.damagedBeyond(ctx, e, nil); err == nil {
				continue
			}
		}
		if err != nil {
			return Past{}, false, err
		}
		if e.look(src); e.damage.Load() != nil {
			if err := h.damagedBeyond(ctx, e, src.Entities()); err != nil {
				e.close()
				return Past{}, false, err
			}
		}
		h.open, h.source = e, src
		if err := h.index(ctx); err != nil {
			return Past{}, false, err
		}
	}
	r := &h.refs[h.next]
	return Past{h.parts[r.part].entity, r.number, r.time, r.arrived}, true, nil
}

// index reads what the open episode has to tell.
func (h *History) index(ctx context.Context) error {
	for _, e := range h.source.Entities() {
		if !h.match(e.ID) {
			continue
		}
		tl, err := h.source.Timeline(e.ID)
		switch {
		case engram.CodeOf(err) == engram.NotFound:
			continue
		case isDamage(err):
			h.disk.episodes.damaged(h.open, err)
			h.damaged = append(h.damaged, engram.Missing{ID: e.ID, Reason: engram.MissingDamaged, Count: e.Snapshots, Interval: e.Span})
			continue
		case err != nil:
			return engram.Errorf(engram.CodeOf(err), h.open.name, "what it holds of %s cannot be read: %w", e.ID, err)
		}
		from := len(h.refs)
		gone, tombstones := h.version.hiddenOf(e.ID), h.version.tombstonesOf(e.ID)
		part := int32(len(h.parts))
		h.parts = append(h.parts, historyPart{e.ID, tl})
		for b, block := range tl.Blocks() {
			versions, err := tl.Versions(ctx, b)
			if isDamage(err) {
				h.disk.episodes.damaged(h.open, err)
				h.damaged = append(h.damaged, engram.Missing{ID: e.ID, Reason: engram.MissingDamaged, Count: uint64(block.Count), Interval: block.Span})
				continue
			}
			if err != nil {
				return engram.Errorf(engram.CodeOf(err), h.open.name, "what it holds of %s cannot be read: %w", e.ID, err)
			}
			for k := range versions.Len() {
				v := arrival{versions.Arrived(k), versions.Number(k), h.epoch}
				buried := func(b *tombstone) bool { return b.covers(h.open, e.ID, v, versions.Time(k)) }
				if v.number <= h.upTo && !gone.hides(v) && !slices.ContainsFunc(tombstones, buried) {
					h.refs = append(h.refs, historyRef{number: v.number, time: versions.Time(k), arrived: v.arrived, part: part, block: int32(b), pos: int32(k)})
				}
			}
		}
		h.skipTold(e.ID, from)
	}
	slices.SortFunc(h.refs, func(a, b historyRef) int { return cmp.Compare(a.number, b.number) })
	before := h.top
	if n := len(h.refs); n > 0 {
		h.top = max(h.top, h.refs[n-1].number)
	}
	if h.after > before { // what is late comes first: it was read, and what follows it up to there
		h.refs = slices.DeleteFunc(h.refs, func(r historyRef) bool { return r.number <= h.after })
	}
	return nil
}

// isDamage reports whether an error says that something on disk is not what was written.
func isDamage(err error) bool {
	code := engram.CodeOf(err)
	return code == engram.Corrupt || code == engram.Unsupported
}

// damagedBeyond notes what an episode held beyond what is left of it.
func (h *History) damagedBeyond(ctx context.Context, e *handle, left []episode.Entity) error {
	have := map[engram.ID]uint64{}
	for i := range left {
		have[left[i].ID] = left[i].Snapshots
	}
	return h.disk.each(ctx, engram.ID{}, func(id engram.ID) error {
		if !h.match(id) {
			return nil
		}
		return h.disk.eachHolding(ctx, h.version, id, func(holder *handle, held *episode.Entity) {
			if n := held.Snapshots; holder == e && n > have[id] {
				h.damaged = append(h.damaged, engram.Missing{ID: id, Reason: engram.MissingDamaged, Count: n - have[id], Interval: held.Span})
			}
		})
	})
}

// Damaged returns what was met since it was asked last and cannot be read.
func (h *History) Damaged() []engram.Missing {
	damaged := h.damaged
	h.damaged = nil
	return damaged
}

// skipTold takes off what was found of an entity, from a place on, what is there twice,
// and the value in force, which an earlier episode has told if it was not left out there.
func (h *History) skipTold(entity engram.ID, from int) {
	slices.SortFunc(h.refs[from:], func(a, b historyRef) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.time, b.time))
	})
	told, ok := h.newest[entity]
	if !ok {
		told.time = engram.MinTime
	}
	newest, kept := told, h.refs[:from]
	for _, r := range h.refs[from:] {
		if n := len(kept); r.is(&told) || n > from && r.is(&kept[n-1]) {
			continue
		}
		kept = append(kept, r)
		if r.time >= newest.time {
			newest = r
		}
	}
	h.refs, h.newest[entity] = kept, newest
}

// is reports whether both are the same version of their entity.
func (r *historyRef) is(o *historyRef) bool {
	return r.number == o.number && r.time == o.time && r.arrived == o.arrived
}

// Skip passes over the version that Peek returned.
func (h *History) Skip() { h.next++ }

// Take returns the version that Peek returned with its payloads, and passes over it. It
// is nil if it cannot be read.
func (h *History) Take(ctx context.Context) (s *engram.Snapshot, err error) {
	if i := h.next - h.first; h.loaded == nil || i < 0 || i >= len(h.loaded) {
		if err := h.load(ctx); err != nil {
			return nil, err
		}
	}
	s = h.loaded[h.next-h.first]
	if s == nil {
		r := &h.refs[h.next]
		h.damaged = append(h.damaged, engram.Missing{ID: h.parts[r.part].entity, Reason: engram.MissingDamaged, Count: 1, Interval: engram.Interval{Start: r.time, End: r.time + 1}})
	}
	h.Skip()
	return s, nil
}

// Remaining estimates what is still to come, in versions and bytes. What is in episodes
// that were not looked into yet is among it, whether it matches or not, unless only what
// matches may be told.
func (h *History) Remaining(matching bool) (versions uint64, bytes int64) {
	versions = uint64(len(h.refs) - h.next)
	if matching {
		return versions, int64(versions) * h.size
	}
	for _, e := range h.episodes {
		versions += e.info.Snapshots
	}
	return versions, int64(versions) * h.size
}

// Bounds of what is loaded at once.
const (
	historyBytes = 256 << 10
	historyCount = 512
)

// load loads the next versions.
func (h *History) load(ctx context.Context) error {
	n := min(max(1, int(historyBytes/max(h.size, 1))), historyCount, len(h.refs)-h.next)
	refs := h.refs[h.next : h.next+n]
	h.loaded, h.first = make([]*engram.Snapshot, n), h.next
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &refs[a], &refs[b]
		return cmp.Or(cmp.Compare(x.part, y.part), cmp.Compare(x.block, y.block), cmp.Compare(x.pos, y.pos))
	})
	for len(order) > 0 {
		m := 1 // what lies together is loaded together
		for m < len(order) && refs[order[m]].part == refs[order[0]].part && refs[order[m]].block == refs[order[0]].block && refs[order[m]].pos <= refs[order[m-1]].pos+2 {
			m++
		}
		if err := h.loadRun(ctx, refs, order[:m]); err != nil {
			return err
		}
		order = order[m:]
	}
	var bytes, count int64 = 0, 0
	for _, s := range h.loaded {
		if s != nil {
			bytes += int64(s.Size())
			count++
		}
	}
	if count > 0 {
		h.size = bytes/count + 1
	}
	return nil
}

// loadRun loads versions that lie together; what cannot be read stays nil.
func (h *History) loadRun(ctx context.Context, refs []historyRef, order []int) error {
	from := &refs[order[0]]
	first, last := int(from.pos), int(refs[order[len(order)-1]].pos)+1
	list, err := h.parts[from.part].timeline.Load(ctx, int(from.block), first, last)
	switch {
	case err == nil:
		for _, i := range order {
			h.loaded[i] = list[int(refs[i].pos)-first]
		}
		return nil
	case !isDamage(err):
		return err
	case len(order) == 1:
		h.disk.episodes.damaged(h.open, err)
	default: // perhaps it is another one that is damaged
		for k := range order {
			if err := h.loadRun(ctx, refs, order[k:k+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkContext(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return engram.Errorf(engram.Canceled, "", "the call was given up: %w", context.Cause(ctx))
}
