package source

import (
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
	"github.com/seed-301d4374/engram/wm"
)

// removedSet is what was removed or forgotten on request, as a pull knows it.
type removedSet struct {
	list  []removed
	until engram.Time // of the last one
	// dropped is until when there may have been some that are not known any more, if
	// there are any is cut.
	dropped engram.Time
	cut     bool
	began   engram.Time // of the pull
	any     bool
}

// removed is a removal with its matchers.
type removed struct {
	wm.Removal
	matchers []*engram.PatternMatcher
	ids      map[engram.ID]bool
}

// tell appends to a batch what a share was not told of.
func (r *removedSet) tell(sh *share, b *service.Batch) error {
	last := sh.p.wm.LastRemoval()
	if !r.any || last > r.until {
		if err := r.refresh(sh.p); err != nil {
			return err
		}
	}
	if last < sh.removals {
		return nil
	}
	if r.cut && sh.removals <= r.dropped {
		if err := sh.tellWhatIsThere(b, r.dropped); err != nil {
			return err
		}
	}
	for i := range r.list {
		if x := &r.list[i]; x.Until >= sh.removals {
			sh.tellRemoval(b, x)
		}
	}
	sh.removals = max(r.until, last) + 1
	return nil
}

// tellWhatIsThere tells which segments there are, where it is not known any more which
// were removed.
func (sh *share) tellWhatIsThere(b *service.Batch, until engram.Time) error {
	p := sh.p
	for i, pattern := range sh.patterns {
		pattern.Levels = pattern.Levels[:min(len(pattern.Levels), int(engram.LevelProviderSegment))]
		list, err := p.wm.Describe(p.ctx, pattern)
		if err == nil && p.ltm != nil {
			list, err = p.ltm.Describe(p.ctx, pattern, list)
		}
		if err != nil {
			return err
		}
		r := service.Removal{Pattern: sh.patterns[i], Segment: true, Compared: true, Span: engram.Always(), Until: until}
		r.Pattern.Levels = pattern.Levels
		for _, d := range list {
			if d.ID.Level() == engram.LevelProviderSegment && sh.touches(d.ID) {
				r.Besides = append(r.Besides, d.ID)
			}
		}
		b.Removed = append(b.Removed, r)
	}
	return nil
}

// refresh brings the list up to date.
func (r *removedSet) refresh(p *pull) error {
	if !r.any {
		r.any = true
		_, r.began = p.wm.Settled()
	}
	var noted []wm.Removal
	noted, r.dropped, r.cut = p.wm.Removals()
	r.list, r.until = r.list[:0], engram.MinTime
	for _, n := range noted {
		x := removed{Removal: n}
		for _, pattern := range n.Patterns {
			m, err := pattern.Matcher()
			if err != nil {
				return err
			}
			x.matchers = append(x.matchers, m)
		}
		if len(n.IDs) > 0 {
			x.ids = make(map[engram.ID]bool, len(n.IDs))
			for _, id := range n.IDs {
				x.ids[id] = true
			}
		}
		r.list = append(r.list, x)
		r.until = max(r.until, n.Until)
		p.told.forget(n.Segment)
	}
	return nil
}

// about reports whether a removal is about a snapshot.
func (x *removed) about(id engram.ID, at engram.Time) bool {
	switch {
	case !x.Segment.IsRoot():
		return x.Segment.Contains(id)
	case slices.ContainsFunc(x.Except, func(iv engram.Interval) bool { return iv.Contains(at) }):
		return false
	case x.ids[id.At(at)]:
		return true
	}
	return x.Span.Contains(at) && slices.ContainsFunc(x.matchers, func(m *engram.PatternMatcher) bool { return m.Match(id) })
}

// hides reports whether a version, which was read before that, is gone since the pull
// began.
func (r *removedSet) hides(id engram.ID, s *engram.Snapshot) bool {
	if s.Arrived > r.until {
		return false
	}
	for i := len(r.list) - 1; i >= 0 && r.list[i].Until >= r.began; i-- {
		if x := &r.list[i]; s.Arrived <= x.Until && x.about(id, s.Time) {
			return true
		}
	}
	return false
}

// concerns reports whether an update of this life that is not found is gone because
// somebody wanted that.
func (r *removedSet) concerns(id engram.ID, at engram.Time, number uint64) bool {
	return slices.ContainsFunc(r.list, func(x removed) bool { return number <= x.Number && x.about(id, at) })
}

// tellRemoval appends a removal to a batch, if it may concern the share.
func (sh *share) tellRemoval(b *service.Batch, x *removed) {
	add := func(p engram.Pattern, segment bool, span engram.Interval) {
		b.Removed = append(b.Removed, service.Removal{Pattern: p, Segment: segment, Span: span, Until: x.Until, Except: x.Except})
	}
	if !x.Segment.IsRoot() {
		if sh.touches(x.Segment) {
			add(engram.PatternOf(x.Segment), true, engram.Always())
		}
		return
	}
	if sh.p.scope == nil {
		for _, p := range x.Patterns {
			if sh.mayTouch(p) {
				add(p, false, x.Span)
			}
		}
	} else if len(x.matchers) > 0 { // a pattern may name what may not be known
		for _, id := range sh.known(x) {
			add(engram.PatternOf(id), false, x.Span)
		}
	}
	for _, id := range x.IDs {
		if entity := id.Truncate(engram.LevelEntity); sh.matches(entity) {
			t, _ := id.Time()
			add(engram.PatternOf(entity), false, moment(t))
		}
	}
}

// known returns the entities of the share that there are, or were, and that the patterns
// of a removal match.
func (sh *share) known(x *removed) (ids []engram.ID) {
	seen := map[engram.ID]bool{}
	about := func(id engram.ID) bool {
		if !seen[id] && sh.matches(id) && slices.ContainsFunc(x.matchers, func(m *engram.PatternMatcher) bool { return m.Match(id) }) {
			seen[id] = true
			ids = append(ids, id)
		}
		return false
	}
	for id := range sh.p.wm.View(sh.p.ctx, nil).Entities() {
		about(id)
	}
	if sh.p.ltm != nil {
		sh.p.ltm.Gone(about)
	}
	return ids
}

// touches reports whether the share may be about something in a segment.
func (sh *share) touches(segment engram.ID) bool {
	if engram.VisibilityIn(sh.p.scope, segment) == engram.Hidden {
		return false
	}
	names := segment.Names()
	return slices.ContainsFunc(sh.matchers, func(m *engram.PatternMatcher) bool {
		for i, name := range names {
			if !m.Level(engram.Level(i + 1)).Match(name) {
				return false
			}
		}
		return true
	})
}

// mayTouch reports whether the share may be about something that a pattern matches:
// what is certain is told by the names that the pattern begins with.
func (sh *share) mayTouch(p engram.Pattern) bool {
	var id engram.ID
	for _, l := range p.Levels {
		if l.Kind != engram.NameOneOf || len(l.Names) != 1 {
			break
		}
		child, err := id.Child(l.Names[0])
		if err != nil {
			break
		}
		id = child
	}
	return sh.touches(id)
}
