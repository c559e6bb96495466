package source

import (
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/ltm/policy/record"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// share is a share of a pull: where it is, and what it reads from.
type share struct {
	p        *pull
	index    int
	rules    contract.Rules
	patterns []engram.Pattern
	matchers []*engram.PatternMatcher
	filter   filter
	entities map[engram.ID]*entity
	keys     map[wm.EntityKey]*entity
	pace     pace
	gather   gather
	left     leftOut
	turn     uint64 // when it was served last

	at     contract.Position // how far it has read
	toldAt contract.Position // the position sent last
	done   bool              // the holder knows that it is complete
	since  engram.Time       // versions that arrived earlier are not wanted
	// notBefore is since for versions of earlier epochs, if the position is of an epoch
	// that is not known.
	notBefore engram.Time
	// seen is a time of arrival: restored versions of the last epoch from before it were
	// sent already.
	seen engram.Time

	epochs       []uint64    // earlier epochs to read, the position's first
	gone         gone        // losses from before the pull
	await        await       // for the recorder
	past         *past       // timelines and episodes being read; nil while it reads the change feed
	changes      []wm.Change // updates of the change feed that are not sent yet
	upTo         uint64      // the number that changes reach
	lowWatermark engram.Time // everything after upTo arrived at or after this time

	after    contract.Position // sent last; at first the request's
	had      contract.Had      // versions that the holder has beyond after
	removals uint64            // Order of the last removal sent, 0 if none was
	removed  engram.Time       // by the clock: removals before it were sent
	lookout  lookout
}

// entity is what a share knows of an entity.
type entity struct {
	matches bool
	rate    *record.Filter // nil without a rate
}

// maxKeys and maxEntities bound what a share remembers of entities.
const (
	maxKeys     = 1 << 18
	maxEntities = 1 << 18
)

// chunkOfChanges is how many updates are read under one hold of the memory's lock.
const chunkOfChanges = 512

func newShare(p *pull, index int, r *contract.Share) (*share, error) {
	sh := &share{
		p: p, index: index, rules: r.Rules, at: r.After, since: engram.MinTime, notBefore: engram.MinTime, seen: engram.MinTime,
		entities: map[engram.ID]*entity{}, keys: map[wm.EntityKey]*entity{},
		patterns: r.Patterns, pace: pace{rate: r.Rules.MaxBytes}, gather: newGather(&r.Rules), after: r.After, had: r.Had, removed: r.After.Arrived,
	}
	if len(r.Patterns) == 0 {
		return nil, engram.Errorf(engram.Invalid, "", "share %d has no patterns", index)
	}
	for _, pattern := range r.Patterns {
		m, err := pattern.Matcher()
		if err != nil {
			return nil, err
		}
		sh.matchers = append(sh.matchers, m)
	}
	if err := sh.filter.open(p, &r.Rules); err != nil {
		return nil, err
	}
	if r.After.Epoch == 0 {
		sh.begin(r.After.Number)
	}
	sh.start()
	sh.toldAt = sh.position()
	return sh, nil
}

// begin begins a share that was told of nothing yet but, up to a key, of what was lost.
func (sh *share) begin(told uint64) {
	sh.at = contract.Position{}
	if sh.rules.Since > 0 {
		sh.since = sh.p.wm.Now().Add(-sh.rules.Since)
	}
	if sh.p.ltm != nil {
		sh.gone.open(sh.p.ltm.Gone(func(id engram.ID) bool { return sh.entity(id).matches }), told)
	}
}

// position returns where the share goes on if the pull ends after what was told.
func (sh *share) position() contract.Position {
	if len(sh.gone.list) > 0 {
		return contract.Position{Number: sh.gone.told, Arrived: sh.removed}
	}
	return sh.at
}

// start finds what lies behind the position.
func (sh *share) start() {
	s := sh.p
	epoch := s.wm.Epoch()
	number, _ := s.wm.Feed().LowWatermark()
	if sh.at.Epoch == epoch && sh.at.Number <= number {
		return
	}
	if s.ltm != nil {
		var known bool
		if sh.epochs, known = s.ltm.LivesFrom(sh.at.Epoch); !known && !sh.at.IsZero() {
			sh.notBefore = sh.at.Arrived
		}
		if !sh.at.IsZero() && s.ltm.Previous() == sh.at.Epoch {
			sh.seen = sh.at.Arrived
		}
	}
	if len(sh.epochs) == 0 {
		sh.enter(epoch)
	} else if sh.epochs[0] != sh.at.Epoch {
		sh.enter(sh.epochs[0])
	}
}

// enter begins an epoch of the owner.
func (sh *share) enter(epoch uint64) {
	sh.at = contract.Position{Epoch: epoch, Arrived: sh.since}
	if epoch == sh.p.wm.Epoch() {
		sh.notBefore = engram.MinTime // what is restored is not told apart from what is new
		if number, watermark := sh.p.wm.Feed().LowWatermark(); number == 0 {
			sh.at.Arrived = watermark
		}
	}
}

func (sh *share) close() {
	sh.await.end()
	if sh.past != nil {
		sh.past.close()
		sh.past = nil
	}
}

// matches reports whether the share is about what an ID names.
func (sh *share) matches(id engram.ID) bool {
	if !slices.ContainsFunc(sh.matchers, func(m *engram.PatternMatcher) bool { return m.Match(id) }) {
		return false
	}
	return engram.VisibilityIn(sh.p.scope, id) == engram.Visible && !sh.p.wm.Copies().Has(id)
}

// entity returns what the share knows of an entity.
func (sh *share) entity(id engram.ID) *entity {
	e := sh.entities[id]
	if e == nil {
		if len(sh.entities) >= maxEntities {
			clear(sh.entities)
			clear(sh.keys)
		}
		e = &entity{matches: sh.matches(id)}
		if e.matches && sh.rules.MaxRate > 0 {
			e.rate = record.NewFilter(policy.Policy{MaxRate: sh.rules.MaxRate}, nil)
		}
		sh.entities[id] = e
	}
	return e
}

// hasNews reports whether there is something to be read.
func (sh *share) hasNews() bool {
	return len(sh.gone.list) > 0 || sh.past != nil || len(sh.epochs) > 0 || len(sh.changes) > 0 || sh.at.Number < sh.p.wm.Number() ||
		sh.p.wm.Removals().Last() != sh.removals
}

// reading reports whether the share is in the middle of what there is.
func (sh *share) reading() bool { return sh.past != nil || len(sh.epochs) > 0 || len(sh.changes) > 0 }

// read reads what comes next into an empty batch. It may stay empty while more is to
// come. all reports whether it read everything that was to come when it began.
func (sh *share) read(b *contract.Batch) (all bool, err error) {
	if err := sh.p.removed.tell(sh, b); err != nil {
		return false, err
	}
	switch {
	case len(sh.gone.list) > 0:
		b.Lost = sh.gone.tell(b.Lost, contract.BatchItems)
		return false, nil
	case sh.past != nil || len(sh.epochs) > 0:
		return false, sh.readPast(b)
	default:
		return sh.readChanges(b)
	}
}

// readChanges reads the last updates.
func (sh *share) readChanges(b *contract.Batch) (all bool, err error) {
	if len(sh.changes) == 0 {
		var ok bool
		if all, ok = sh.takeChanges(); !ok {
			return false, sh.lookBack()
		}
	}
	for len(sh.changes) > 0 {
		c := &sh.changes[0]
		e := sh.entityOf(c)
		if e.matches {
			if sh.full(b) {
				return false, nil
			}
			if whole, err := sh.change(b, c, e); err != nil || !whole {
				return false, err
			}
		}
		sh.at.Number, sh.at.Arrived = c.Number, max(sh.at.Arrived, c.LowWatermark)
		sh.changes = sh.changes[1:]
	}
	sh.at.Number, sh.at.Arrived = sh.upTo, max(sh.at.Arrived, sh.lowWatermark)
	return all, nil
}

// takeChanges takes more of the last updates, or all; ok is false if they do not reach
// back to the position.
func (sh *share) takeChanges() (all, ok bool) {
	if sh.changes == nil {
		sh.changes = make([]wm.Change, 0, chunkOfChanges)
	}
	sh.changes, sh.upTo, sh.lowWatermark, ok = sh.p.wm.Feed().Changes(sh.at.Number, sh.room())
	return len(sh.changes) < cap(sh.changes), ok
}

// room returns an empty list for changes.
func (sh *share) room() []wm.Change {
	if cap(sh.changes) < chunkOfChanges/2 { // what was taken off at the front is not there any more
		return make([]wm.Change, 0, chunkOfChanges)
	}
	return sh.changes[:0]
}

// change tells one of the last updates; whole is false if it is to be looked for
// elsewhere.
func (sh *share) change(b *contract.Batch, c *wm.Change, e *entity) (whole bool, err error) {
	s, removed := c.Find()
	switch {
	case s != nil:
		if !sh.wants(c.Number, s.Arrived) {
			return true, nil
		}
		return true, sh.offer(b, c.Entity(), e, s)
	case removed || sh.p.removed.concerns(sh.p.wm.Epoch(), c.Entity(), c.Time(), c.Number):
		return true, nil // it was told, or will be, that it is gone
	case sh.p.ltm != nil:
		return false, sh.lookBack()
	}
	sh.lose(b, engram.Missing{ID: c.Entity(), Reason: engram.MissingEvicted, Count: 1, Interval: moment(c.Time())})
	return true, nil
}

// wants reports whether an update of this epoch is not too old to be told.
func (sh *share) wants(number uint64, arrived engram.Time) bool {
	return arrived >= sh.since && (arrived >= sh.seen || number > sh.p.wm.Feed().Restored())
}

// moment is the span of one time.
func moment(t engram.Time) engram.Interval { return engram.Interval{Start: t, End: t + 1} }

// offer has the rules decide about a version, and tells it.
func (sh *share) offer(b *contract.Batch, id engram.ID, e *entity, s *engram.Snapshot) error {
	if sh.p.removed.hides(sh, id, s) {
		return nil
	}
	told, reason, err := sh.filter.decide(id, e, s)
	if err != nil {
		return err
	}
	if told == nil {
		sh.left.add(id, reason, s)
		return nil
	}
	b.Items = append(b.Items, contract.Version{Entity: id, Snapshot: told})
	sh.p.bytes += int64(told.Size())
	sh.p.count += len(told.Instances)
	return nil
}

// lose counts what was gone before it could be told.
func (sh *share) lose(b *contract.Batch, m engram.Missing) {
	for i := len(b.Lost) - 1; i >= max(0, len(b.Lost)-maxLookBack); i-- {
		if l := &b.Lost[i]; l.ID == m.ID && l.Reason == m.Reason {
			l.Count += m.Count
			l.Interval.Start, l.Interval.End = min(l.Interval.Start, m.Interval.Start), max(l.Interval.End, m.Interval.End)
			return
		}
	}
	b.Lost = append(b.Lost, m)
}

// maxLookBack bounds how far back in a batch an entity is looked for.
const maxLookBack = 64

// full reports whether a batch takes nothing more.
func (sh *share) full(b *contract.Batch) bool {
	if n := len(b.Items); n > 0 && (n >= maxItems || sh.p.count >= maxInstances || sh.p.bytes >= sh.pace.portion()) {
		return true
	}
	return len(sh.left.list) >= contract.BatchItems || len(b.Lost) >= contract.BatchItems
}

// maxItems bounds a batch, so that another share does not wait long. maxInstances bounds a
// batch of empty payloads: the holder would refuse more.
const (
	maxItems     = 256
	maxInstances = 1 << 14
)
