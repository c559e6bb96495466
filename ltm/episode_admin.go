package ltm

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/ltm/service"
)

// Episodes implements [Service].
func (s *Store) Episodes(_ context.Context, iv engram.Interval) ([]EpisodeInfo, error) {
	var out []EpisodeInfo
	for _, h := range s.episodes.all() {
		if info := h.current(); info.Span.Overlaps(iv) || info.Snapshots == 0 {
			out = append(out, EpisodeInfo{Info: info, Kept: s.kept(h.name)})
		}
	}
	slices.SortFunc(out, func(a, b EpisodeInfo) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// current returns what an episode says of itself now. It is not sealed before the store
// has it as such: until then it cannot be verified or edited.
func (h *handle) current() episode.Info {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.writer != nil {
		info := h.mu.writer.Info()
		info.Sealed = false
		return info
	}
	return h.info
}

// find returns an episode by its name, sealed or not.
func (s *Store) find(name string) (*handle, error) {
	if h, ok := s.episodes.get(name); ok {
		return h, nil
	}
	for _, h := range s.episodes.writing() {
		if h.name == name {
			return h, nil
		}
	}
	return nil, engram.Errorf(engram.NotFound, name, "there is no such episode")
}

// claim opens an episode for reading, as it is now; NotFound if it was dropped.
func (s *Store) claim(name string) (*handle, error) {
	for {
		h, err := s.find(name)
		if err != nil {
			return nil, err
		}
		if err = h.claim(); err == nil {
			return h, nil
		}
		if now, _ := s.episodes.get(name); engram.CodeOf(err) != engram.NotFound || now == nil || now == h {
			return nil, err
		} // it was sealed or rewritten in between
	}
}

// Episode implements [Service].
func (s *Store) Episode(_ context.Context, name string) (EpisodeInfo, []episode.Entity, error) {
	h, err := s.claim(name)
	if err != nil {
		return EpisodeInfo{}, nil, err
	}
	defer h.release()
	return EpisodeInfo{Info: h.current(), Kept: s.kept(name)}, h.source().Entities(), nil
}

// Verify implements [Service].
func (s *Store) Verify(ctx context.Context, name string) ([]episode.Problem, error) {
	h, ok := s.episodes.get(name)
	if !ok {
		if _, err := s.find(name); err != nil {
			return nil, err
		}
		return nil, engram.Errorf(engram.Conflict, name, "the episode is being written; seal it first")
	}
	h.edit.Lock() // it is not to be replaced meanwhile
	defer h.edit.Unlock()
	return episode.Verify(ctx, filepath.Join(s.episodes.dir, name), s.episodeOptions())
}

func (s *Store) kept(name string) bool {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	_, kept := slices.BinarySearch(s.state.mu.Kept, name)
	return kept
}

// KeepEpisode implements [Service].
func (s *Store) KeepEpisode(_ context.Context, name string, keep bool) error {
	if _, err := s.find(name); err != nil && (keep || !s.kept(name)) { // one that is damaged now may be kept
		return err
	}
	return s.changeState(func(c *stateContent) {
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
func (s *Store) DropEpisode(ctx context.Context, name, why, by string) error {
	h, err := s.find(name)
	if err != nil {
		damaged, err2 := s.unreadable()
		if err2 != nil {
			return err2
		}
		if !slices.Contains(damaged, name) {
			return err
		}
	} else if _, sealed := s.episodes.get(name); !sealed {
		return engram.Errorf(engram.Conflict, name, "the episode is being written; seal it first")
	}
	if err := checkReason(why, by); err != nil {
		return err
	}
	if s.kept(name) {
		return engram.Errorf(engram.Conflict, name, "the episode is kept; end that first")
	}
	if err := s.forgetting.lock(ctx); err != nil {
		return err
	}
	defer s.forgetting.unlock()
	var gone cut
	if h == nil {
		gone, err = s.dropDamaged(name)
	} else {
		gone, err = s.dropKnown(ctx, h, why)
	}
	if err != nil {
		return err
	}
	var done forgetResult
	s.count(&done, gone)
	done.finish()
	s.noteForgetting(ctx, &done, nil, why, by, []string{name})
	s.options.Log.Info("an episode was dropped", "episode", name, "why", why, "by", by)
	return nil
}

// dropKnown drops an episode that is served, and returns what it held.
func (s *Store) dropKnown(ctx context.Context, h *handle, why string) (cut, error) {
	plan := cutPlan{why: why, entities: map[engram.ID]*entityCut{}}
	for _, e := range h.entities() {
		plan.entities[e.ID] = &entityCut{cause: service.CauseDropped, goes: func(*engram.Snapshot, uint64) verdict { return goes }}
	}
	// What cannot be read any more is dropped all the same.
	gone, _ := s.surveyEpisode(ctx, h.name, plan)
	return gone, s.dropFile(ctx, h)
}

// dropDamaged drops the file of an episode that cannot be read, and returns what it held
// as far as that was known before.
func (s *Store) dropDamaged(name string) (cut, error) {
	gone := cut{entities: s.account.lostWith(name), causes: map[engram.ID]string{}, touched: true}
	for id := range gone.entities {
		gone.causes[id] = service.CauseDropped
	}
	if err := s.removeFiles([]string{name}); err != nil {
		return gone, err
	}
	s.account.dropped(name)
	return gone, nil
}

// Edit has change rewrite a sealed episode and takes what it returns in its place: the
// way to forget and to thin. No one else edits it meanwhile; who reads it goes on
// reading what was. change gets the file's path and returns what the file says now.
func (s *Store) Edit(ctx context.Context, name string, change func(path string, o episode.Options) (episode.Info, error)) error {
	h, ok := s.episodes.get(name)
	if !ok {
		return engram.Errorf(engram.NotFound, name, "there is no such sealed episode")
	}
	h.edit.Lock()
	defer h.edit.Unlock()
	if current, ok := s.episodes.get(name); !ok || current != h {
		return engram.Errorf(engram.NotFound, name, "the episode was dropped or replaced meanwhile")
	}
	info, err := change(filepath.Join(s.episodes.dir, name), s.episodeOptions())
	if err != nil {
		return err
	}
	r, err := episode.Open(filepath.Join(s.episodes.dir, info.Name), s.episodeOptions())
	if err != nil {
		return err
	}
	defer r.Close()
	var replaces []string
	if info.Name != name {
		replaces = append(replaces, name)
	}
	if err := s.catalogue.Put(ctx, info, r.Entities(), replaces...); err != nil {
		return err
	}
	s.episodes.add(info)
	if info.Name != name {
		s.episodes.remove(name)
	} else {
		h.retire()
	}
	s.before.clear()
	return nil
}

// LTMStats implements [Service].
func (s *Store) LTMStats(ctx context.Context) (Stats, error) {
	st := Stats{Dir: s.options.Dir, Health: s.health.list()}
	for _, h := range s.episodes.all() {
		info := h.current()
		st.Episodes++
		st.Bytes += info.Bytes
		st.Snapshots += info.Snapshots - info.InForce
	}
	writing, err := s.writingEntities()
	if err != nil {
		return st, err
	}
	totals, err := s.catalogue.Totals(ctx, engram.LevelCoreSegment)
	if err != nil {
		return st, err
	}
	segments := map[engram.ID]*SegmentStats{}
	of := func(id engram.ID) *SegmentStats {
		if segments[id] == nil {
			segments[id] = &SegmentStats{Segment: id}
		}
		return segments[id]
	}
	for _, t := range totals {
		seg := of(t.Segment)
		seg.Entities, seg.Snapshots, seg.Bytes, seg.Span = t.Entities, t.Snapshots-t.InForce, t.Bytes, t.Span
	}
	for provider, entities := range writing {
		if err := s.addWriting(ctx, of(provider.Truncate(engram.LevelCoreSegment)), provider, entities); err != nil {
			return st, err
		}
	}
	if s.recorder != nil {
		st.Lost = s.recorder.counts.lost.Load()
		for id, n := range s.recorder.counts.segments() {
			seg := of(id)
			seg.Recorded, seg.Filtered = n.recorded, n.filtered
			st.Recorded += n.recorded
			st.Filtered += n.filtered
		}
	}
	for id, n := range s.account.segments() {
		of(id).Forgotten = n
	}
	for _, seg := range segments {
		st.Segments = append(st.Segments, *seg)
	}
	slices.SortFunc(st.Segments, func(a, b SegmentStats) int { return a.Segment.Compare(b.Segment) })
	st.DiskTotal, st.DiskFree, err = s.options.FS.Space(s.options.Dir)
	if err != nil {
		return st, engram.Errorf(engram.Unavailable, s.options.Dir, "its disk does not tell its space: %w", err)
	}
	return st, nil
}

// addWriting adds what episodes that are being written hold of a provider segment's
// entities to what the sealed ones hold.
func (s *Store) addWriting(ctx context.Context, seg *SegmentStats, provider engram.ID, entities []episode.Entity) error {
	held, err := s.catalogue.Held(ctx, provider)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(held))
	for i := range held {
		known[held[i].Name] = true
	}
	for _, e := range entities {
		if seg.Entities == 0 {
			seg.Span = e.Span
		}
		if !known[e.ID.Name()] {
			known[e.ID.Name()] = true
			seg.Entities++
		}
		seg.Snapshots += e.Snapshots - e.InForce
		seg.Bytes += e.Bytes
		seg.Span = engram.Interval{Start: min(seg.Span.Start, e.Span.Start), End: max(seg.Span.End, e.Span.End)}
	}
	return nil
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
func (s *Store) Policies(ctx context.Context) ([]SegmentPolicy, error) {
	known := map[engram.ID]bool{}
	for id := range s.options.Policies {
		known[id] = true
	}
	if s.wm != nil {
		segments, err := s.wm.Describe(ctx, engram.Pattern{})
		if err != nil {
			return nil, err
		}
		for _, d := range segments {
			known[d.ID.Truncate(engram.LevelCoreSegment)] = true
		}
	}
	totals, err := s.catalogue.Totals(ctx, engram.LevelCoreSegment)
	if err != nil {
		return nil, err
	}
	for _, t := range totals {
		known[t.Segment] = true
	}
	overrides := s.policies.Overrides()
	var out []SegmentPolicy
	for id := range known {
		p := SegmentPolicy{Segment: id, Policy: s.policies.Of(id)}
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
