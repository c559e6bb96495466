package source

import (
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// removedSet is what was removed or forgotten on request, as a pull knows it.
type removedSet struct {
	list    []removed
	last    uint64      // the Order of the last one
	until   engram.Time // of the last one of this epoch
	dropped wm.Removal  // the last one that is not known any more, if there is one is cut
	cut     bool
	began   uint64 // the Order of the last one when the pull began
	any     bool
}

// removed is a removal with its matchers.
type removed struct {
	wm.Removal
	matchers []*engram.PatternMatcher
	ids      map[engram.ID]bool
}

// tell appends to a batch what a share was not told of.
func (r *removedSet) tell(sh *share, b *contract.Batch) error {
	last := sh.p.wm.Removals().Last()
	if !r.any || last > r.last {
		if err := r.refresh(sh.p); err != nil {
			return err
		}
	}
	if last == sh.removals {
		return nil
	}
	if r.cut && !sh.wasTold(&r.dropped) {
		if err := sh.tellWhatIsThere(b, sh.until(&r.dropped)); err != nil {
			return err
		}
	}
	for i := range r.list {
		x := &r.list[i]
		if !sh.wasTold(&x.Removal) {
			sh.tellRemoval(b, x)
		}
		sh.removed = max(sh.removed, x.Until+1)
	}
	sh.removals = max(r.last, last)
	return nil
}

// wasTold reports whether the share was told of a removal, in this pull or, by its
// position, before. Epochs are told apart by their order, since clocks are set back, and by
// the clock where that is not known.
func (sh *share) wasTold(x *wm.Removal) bool {
	after, this := &sh.after, sh.p.wm.Epoch()
	switch {
	case x.Order <= sh.removals:
		return true
	case x.Epoch == after.Epoch:
		return x.Until < after.Arrived
	case after.Epoch != 0 && x.Epoch == this:
		return false
	}
	if earlier, known := sh.p.inOrder(x.Epoch, after.Epoch); known {
		return earlier
	}
	return x.Until < after.Arrived
}

// until returns the time of arrival up to which a removal is about what the holder has:
// all of epochs before that of the removal, whatever their clocks said.
func (sh *share) until(x *wm.Removal) engram.Time {
	if x.Epoch == sh.after.Epoch {
		if sh.after.Number > x.Number { // it may have been told, and what came behind it
			return x.Until
		}
		return max(x.Until, sh.had.Before)
	}
	later := x.Epoch == sh.p.wm.Epoch()
	if !later {
		later, _ = sh.p.inOrder(sh.after.Epoch, x.Epoch)
	}
	if later {
		return max(x.Until, sh.had.Before, sh.had.Latest)
	}
	return x.Until
}

// inOrder reports whether an epoch of the server was before another one, if that is known.
func (s *Source) inOrder(epoch, other uint64) (before, known bool) {
	if s.ltm == nil {
		return false, false
	}
	return s.ltm.InOrder(epoch, other)
}

// retell adds the removals since the batch was read, and drops the batch's versions that
// they cover.
func (r *removedSet) retell(sh *share, b *contract.Batch) error {
	before := sh.removals
	if err := r.tell(sh, b); err != nil || sh.removals == before {
		return err
	}
	b.Items = slices.DeleteFunc(b.Items, func(v contract.Version) bool { return r.hides(sh, v.Entity, v.Snapshot) })
	return nil
}

// tellWhatIsThere lists the existing segments, if the list of removed ones does not reach
// back far enough.
func (sh *share) tellWhatIsThere(b *contract.Batch, until engram.Time) error {
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
		r := contract.Removal{Pattern: sh.patterns[i], Segment: true, Compared: true, Span: engram.Always(), Until: until}
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
		r.began = p.wm.Removals().Last()
	}
	var noted []wm.Removal
	noted, r.dropped, r.cut = p.wm.Removals().List()
	r.list = r.list[:0]
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
		if r.last = n.Order; n.Epoch == p.wm.Epoch() {
			r.until = n.Until
		}
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
func (r *removedSet) hides(sh *share, id engram.ID, s *engram.Snapshot) bool {
	earlier := sh.at.Epoch != sh.p.wm.Epoch() // whatever the clock said then
	if !earlier && s.Arrived > r.until {
		return false
	}
	for i := len(r.list) - 1; i >= 0 && r.list[i].Order > r.began; i-- {
		if x := &r.list[i]; (earlier || s.Arrived <= x.Until) && x.about(id, s.Time) {
			return true
		}
	}
	return false
}

// concerns reports whether an update of this epoch, epoch, that is not found is gone
// because somebody wanted that.
func (r *removedSet) concerns(epoch uint64, id engram.ID, at engram.Time, number uint64) bool {
	return slices.ContainsFunc(r.list, func(x removed) bool { return x.Epoch == epoch && number <= x.Number && x.about(id, at) })
}

// tellRemoval appends a removal to a batch, if it may concern the share.
func (sh *share) tellRemoval(b *contract.Batch, x *removed) {
	until := sh.until(&x.Removal)
	add := func(p engram.Pattern, segment bool, span engram.Interval) {
		b.Removed = append(b.Removed, contract.Removal{Pattern: p, Segment: segment, Span: span, Until: until, Except: x.Except})
	}
	if !x.Segment.IsRoot() {
		if sh.touches(x.Segment) {
			add(engram.PatternOf(x.Segment), true, engram.Always())
		}
		return
	}
	var unnamed []*engram.PatternMatcher
	for i, p := range x.Patterns {
		switch id := p.Enclosing(); {
		case !sh.touches(id):
		case sh.mayName(id, p):
			add(p, false, x.Span)
		default:
			unnamed = append(unnamed, x.matchers[i])
		}
	}
	if len(unnamed) > 0 {
		for _, id := range sh.known(x, unnamed) {
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

// mayName reports whether a pattern of a removal may be told: all of id, in which what it
// matches lies, may be known, or the holder named all of that and the pattern only it.
// What is there does not matter, for that is going.
func (sh *share) mayName(id engram.ID, p engram.Pattern) bool {
	if engram.VisibilityIn(sh.p.scope, id) == engram.Visible {
		return true
	}
	if slices.ContainsFunc(p.Levels[id.Level():], func(l engram.NameSelector) bool { return l.Kind != engram.NameAll }) {
		return false
	}
	return slices.ContainsFunc(sh.patterns, func(own engram.Pattern) bool { return id.Contains(own.Enclosing()) })
}

// known returns the entities of a removal in the share: those listed with the removal, and
// those, present or past, that its patterns match.
func (sh *share) known(x *removed, matchers []*engram.PatternMatcher) (ids []engram.ID) {
	seen := map[engram.ID]bool{}
	about := func(id engram.ID) bool {
		if !seen[id] && sh.matches(id) && slices.ContainsFunc(matchers, func(m *engram.PatternMatcher) bool { return m.Match(id) }) {
			seen[id] = true
			ids = append(ids, id)
		}
		return false
	}
	for _, id := range x.Entities {
		about(id)
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
