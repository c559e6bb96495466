package ltm

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/catalogue"
)

// administration shows what a store has and does, and sets its policies: what of [Service] no other
// part does.
type administration struct {
	*env
	policies *policies
	account  *account
	state    *state
	disk     *disk
	logs     *logs
	repairer *repairer
}

// Episodes implements [Service].
func (a *administration) Episodes(_ context.Context, iv engram.Interval) ([]EpisodeInfo, error) {
	var out []EpisodeInfo
	for _, h := range a.disk.episodes.all() {
		info := h.current()
		if info.Recorded = episode.RecordedFromZero(info.Recorded, info.Span); listed(&info).Overlaps(iv) || info.Snapshots == 0 {
			out = append(out, EpisodeInfo{Info: h.withDamage(info), Kept: a.state.keeps(h.name)})
		}
	}
	slices.SortFunc(out, func(a, b EpisodeInfo) int {
		return cmp.Or(cmp.Compare(listed(&a.Info).Start, listed(&b.Info).Start), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// listed returns the span that an episode is listed under: of what it recorded, or of what
// is in it, if that all was known before.
func listed(i *episode.Info) engram.Interval {
	if i.Recorded.Empty() {
		return i.Span
	}
	return i.Recorded
}

// Episode implements [Service].
func (a *administration) Episode(_ context.Context, name string) (EpisodeInfo, []episode.Entity, error) {
	pinned := a.disk.episodes.pin()
	defer pinned.release()
	h, err := pinned.find(name)
	if err != nil {
		return EpisodeInfo{}, nil, err
	}
	src, err := h.open()
	if err != nil {
		a.disk.episodes.damaged(h, err)
		return EpisodeInfo{}, nil, err
	}
	defer h.close()
	info, entities := h.withDamage(h.current()), slices.Clone(src.Entities())
	info.Recorded = episode.RecordedFromZero(info.Recorded, info.Span)
	for i := range entities {
		entities[i].Recorded = episode.RecordedFromZero(entities[i].Recorded, entities[i].Span)
	}
	return EpisodeInfo{Info: info, Kept: a.state.keeps(name)}, entities, nil
}

// Verify implements [Service].
func (rep *repairer) Verify(ctx context.Context, name string) ([]episode.Problem, error) {
	h, ok := rep.folder.disk.episodes.get(name)
	if !ok {
		if _, err := rep.folder.disk.episodes.current().find(name); err != nil {
			return nil, err
		}
		return nil, engram.Errorf(engram.Conflict, name, "the episode is being written; seal it first")
	}
	h.lockEdit() // it is not to be replaced meanwhile
	defer h.unlockEdit()
	return episode.Verify(ctx, h.path(), rep.folder.disk.episodes.options)
}

// KeepEpisode implements [Service].
func (k *keeper) KeepEpisode(_ context.Context, name string, keep bool) error {
	if _, err := k.disk.episodes.current().find(name); err != nil && (keep || !k.state.keeps(name)) { // one that is damaged now may be kept
		return err
	}
	return k.state.change(func(c *stateContent) {
		i, kept := slices.BinarySearch(c.Kept, name)
		switch {
		case keep && !kept:
			c.Kept = slices.Insert(c.Kept, i, name)
		case !keep && kept:
			c.Kept = slices.Delete(c.Kept, i, i+1)
		}
	})
}

// DropEpisode implements [Service].
func (f *forgetter) DropEpisode(ctx context.Context, name, why, by string) error {
	h, err := f.disk.episodes.current().find(name)
	if err != nil {
		damaged, err2 := f.folder.unreadable()
		if err2 != nil {
			return err2
		}
		if !slices.Contains(damaged, name) && f.disk.episodes.current().damaged[name] == nil {
			return err
		}
	} else if _, sealed := f.disk.episodes.get(name); !sealed {
		return engram.Errorf(engram.Conflict, name, "the episode is being written; seal it first")
	}
	if err := checkReason(why, by); err != nil {
		return err
	}
	if f.state.keeps(name) {
		return engram.Errorf(engram.Conflict, name, "the episode is kept; end that first")
	}
	if err := f.forgetting.lock(ctx); err != nil {
		return err
	}
	defer f.forgetting.unlock()
	var gone cut
	if h == nil {
		gone, err = f.dropDamaged(name)
	} else {
		gone, err = f.dropKnown(ctx, h, why)
	}
	if err != nil {
		return err
	}
	for _, file := range []string{name, openName(name)} { // what waits for it waits no more
		if r := f.repairer.refused[file]; r != nil {
			r.at = time.Time{}
		}
	}
	var done forgetResult
	f.count(&done, gone)
	done.finish()
	f.ledger.noteForgetting(ctx, &done, nil, why, by, []string{name})
	f.options.Log.Info("an episode was dropped", "episode", name, "why", why, "by", by)
	return nil
}

// dropKnown drops an episode that is served, and returns what it held.
func (f *forgetter) dropKnown(ctx context.Context, h *handle, why string) (cut, error) {
	plan := cutPlan{why: why, entities: map[engram.ID]*entityCut{}}
	pinned := f.disk.episodes.pin()
	for _, e := range h.entities() {
		plan.entities[e.ID] = &entityCut{cause: admin.CauseDropped, goes: func(*engram.Snapshot, uint64) verdict { return goes }}
	}
	pinned.release()
	// What cannot be read any more is dropped all the same.
	gone, _ := f.folder.surveyEpisode(ctx, h.name, plan)
	return gone, f.folder.dropFile(ctx, h, &gone)
}

// dropDamaged drops the file of an episode that cannot be read, and returns what it held
// as far as that was known before.
func (f *forgetter) dropDamaged(name string) (cut, error) {
	of := name // under which it is known what it held
	if wasLeftOpen(name) {
		of = repairedName(name)
	}
	gone := cut{entities: f.disk.episodes.current().damaged[of], causes: map[engram.ID]string{}, touched: true}
	for id := range gone.entities {
		gone.causes[id] = admin.CauseDropped
	}
	if err := f.folder.removeFiles([]string{name}); err != nil {
		return gone, err
	}
	f.disk.episodes.publish(func(next *version) {
		next.readAgain(of)
		f.account.found(next, of, nil, nil)
		f.account.forgot(next, gone.entities)
	})
	return gone, nil
}

// LTMStats implements [Service].
func (a *administration) LTMStats(ctx context.Context) (Stats, error) {
	st := Stats{Dir: a.options.Dir, Health: a.Health()}
	pinned := a.disk.episodes.pin()
	defer pinned.release()
	for _, h := range pinned.all() {
		info := h.current()
		st.Episodes++
		st.Bytes += info.Bytes
		st.Snapshots += info.Snapshots - info.InForce
	}
	more, err := pinned.writingEntities()
	if err != nil {
		return st, err
	}
	counting, apart := pinned.catalogued()
	totals, err := a.disk.catalogue.Totals(ctx, engram.LevelProviderSegment, counting)
	if err != nil {
		return st, err
	}
	for _, h := range apart() {
		byProvider(h.entities(), more)
	}
	segments := map[engram.ID]*SegmentStats{}
	of := func(id engram.ID) *SegmentStats {
		id = id.Truncate(engram.LevelCoreSegment)
		if segments[id] == nil {
			segments[id] = &SegmentStats{Segment: id}
		}
		return segments[id]
	}
	for _, t := range totals {
		seg := of(t.Segment)
		addHeld(seg, t.Snapshots-t.InForce, t.Bytes, t.Recorded)
		if more[t.Segment] == nil {
			seg.Entities += t.Entities
		}
	}
	for provider, lists := range more {
		seg := of(provider)
		for _, entities := range lists {
			for _, e := range entities {
				addHeld(seg, e.Snapshots-e.InForce, e.Bytes, e.Recorded)
			}
		}
		n, err := a.countEntities(ctx, pinned, provider, lists)
		if err != nil {
			return st, err
		}
		seg.Entities += n
	}
	if a.recorder != nil {
		st.Lost = a.recorder.counts.lost.Load()
		for id, n := range a.recorder.counts.segments() {
			seg := of(id)
			seg.Recorded, seg.Filtered = n.recorded, n.filtered
			st.Recorded += n.recorded
			st.Filtered += n.filtered
		}
	}
	for id, n := range pinned.segments {
		of(id).Forgotten = n
	}
	for _, seg := range segments {
		st.Segments = append(st.Segments, *seg)
	}
	slices.SortFunc(st.Segments, func(a, b SegmentStats) int { return a.Segment.Compare(b.Segment) })
	st.DiskTotal, st.DiskFree, err = a.options.FS.Space(a.options.Dir)
	if err != nil {
		return st, engram.Errorf(engram.Unavailable, a.options.Dir, "its disk does not tell its space: %w", err)
	}
	return st, nil
}

// addHeld adds what episodes hold of a part of a segment.
func addHeld(seg *SegmentStats, snapshots uint64, bytes int64, recorded engram.Interval) {
	seg.Snapshots += snapshots
	seg.Bytes += bytes
	switch {
	case recorded.Empty():
	case seg.Span.Empty():
		seg.Span = recorded
	default:
		seg.Span = engram.Interval{Start: min(seg.Span.Start, recorded.Start), End: max(seg.Span.End, recorded.End)}
	}
}

// countEntities counts the entities of a provider segment that the sealed episodes of a
// version hold, and others, which may be among them.
func (a *administration) countEntities(ctx context.Context, v *version, provider engram.ID, beside [][]episode.Entity) (n uint64, err error) {
	counting, apart := v.catalogued()
	held, err := a.disk.catalogue.Held(ctx, provider, counting)
	if err != nil {
		return 0, err
	}
	for _, h := range apart() {
		beside = append(slices.Clip(beside), h.entitiesOf(provider))
	}
	for range together(held, beside) {
		n++
	}
	return n, nil
}

// recordedFiltered counts what was recorded and left out.
type recordedFiltered struct{ recorded, filtered uint64 }

// segments sums the tallies up by core segment.
func (c *counts) segments() map[engram.ID]recordedFiltered {
	c.mu.Lock()
	defer c.mu.Unlock()
	sums := map[engram.ID]recordedFiltered{}
	for id, t := range c.tallies {
		core := id.Truncate(engram.LevelCoreSegment)
		sum := sums[core]
		t.mu.Lock()
		sum.recorded += t.recorded
		sum.filtered += t.filtered
		t.mu.Unlock()
		sums[core] = sum
	}
	return sums
}

// Policies implements [Service].
func (a *administration) Policies(ctx context.Context) ([]SegmentPolicy, error) {
	known := map[engram.ID]bool{}
	for id := range a.options.Policies {
		known[id] = true
	}
	if a.wm != nil {
		segments, err := a.wm.Describe(ctx, engram.Pattern{})
		if err != nil {
			return nil, err
		}
		for _, d := range segments {
			known[d.ID.Truncate(engram.LevelCoreSegment)] = true
		}
	}
	totals, err := a.disk.catalogue.Totals(ctx, engram.LevelCoreSegment, catalogue.All)
	if err != nil {
		return nil, err
	}
	for _, t := range totals {
		known[t.Segment] = true
	}
	overrides := a.policies.Overrides()
	var out []SegmentPolicy
	for id := range known {
		p := SegmentPolicy{Segment: id, Policy: a.policies.Of(id)}
		for _, o := range overrides {
			if m, err := o.Pattern.Matcher(); err == nil && m.Match(id) {
				p.Overridden = true
				p.Set = slices.AppendSeq(p.Set, maps.Keys(o.Settings))
			}
		}
		slices.Sort(p.Set)
		p.Set = slices.Compact(p.Set)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b SegmentPolicy) int { return a.Segment.Compare(b.Segment) })
	return out, nil
}
