package ltm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/wal"
)

// order is a request to forget. It is noted before it is carried out, so that one
// that a crash interrupts is finished in the next epoch.
type order struct {
	Patterns []string        `json:"patterns,omitempty"`
	IDs      []engram.ID     `json:"ids,omitempty"`
	Span     engram.Interval `json:"span"`
	Why      string          `json:"why"`
	By       string          `json:"by,omitempty"`
	EvenKept bool            `json:"even_kept,omitempty"`
	// It is about what arrived up to a time, and in the epoch in which it was given, up
	// to a number.
	Until  engram.Time `json:"until"`
	Epoch  uint64      `json:"epoch"`
	Number uint64      `json:"number"`
	// Copies says that it is about copies only, but for times in Except, and Until by
	// their owner's clock. Of other orders, Copied tells that time by memory.
	Copies bool                   `json:"copies,omitempty"`
	Except []engram.Interval      `json:"except,omitempty"`
	Copied map[string]engram.Time `json:"copied,omitempty"`
}

// same reports whether orders are one. One about copies is given again when it failed,
// also in a later epoch; other ones are given once.
func (o *order) same(p *order) bool {
	return o.Until == p.Until && o.Span == p.Span && o.Copies == p.Copies && (o.Copies || o.Epoch == p.Epoch && o.Number == p.Number) &&
		slices.Equal(o.Patterns, p.Patterns) && slices.Equal(o.IDs, p.IDs) && slices.Equal(o.Except, p.Except)
}

// unwanted is a compiled order.
type unwanted struct {
	order
	matchers []*engram.PatternMatcher
	times    map[engram.ID]map[engram.Time]bool // of IDs
	resumed  bool                               // it was given in an earlier epoch
	lives    []uint64                           // in their order, as far as it is known
	copied   func(engram.ID) bool               // reports whether something is a copy
}

// ledgerSegment is where it stands what was forgotten. That is forgotten by its policy
// only.
var ledgerSegment = engram.MustID("SystemState/Forgetting")

func (book *orderBook) compile(o order) (*unwanted, error) {
	u := &unwanted{order: o, resumed: o.Epoch != book.wm.Epoch(), lives: book.disk.episodes.current().lives, copied: book.wm.Copies().Has, times: map[engram.ID]map[engram.Time]bool{}}
	for _, text := range o.Patterns {
		p, err := engram.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		m, err := p.Matcher()
		if err != nil {
			return nil, err
		}
		u.matchers = append(u.matchers, m)
	}
	for _, id := range o.IDs {
		t, ok := id.Time()
		if !ok {
			return nil, engram.Errorf(engram.Invalid, id.String(), "is a %s; name a snapshot: an entity and a time", id.Level())
		}
		entity := id.Truncate(engram.LevelEntity)
		if u.times[entity] == nil {
			u.times[entity] = map[engram.Time]bool{}
		}
		u.times[entity][t] = true
	}
	return u, nil
}

// entity reports whether an order may be about an entity.
func (u *unwanted) entity(id engram.ID) bool {
	return !ledgerSegment.Contains(id) && (!u.Copies || u.copied(id)) &&
		(u.times[id] != nil || slices.ContainsFunc(u.matchers, func(m *engram.PatternMatcher) bool { return m.Match(id) }))
}

// memory reports whether an order may be about entities of a memory.
func (u *unwanted) memory(name string) bool {
	return slices.ContainsFunc(u.IDs, func(id engram.ID) bool { return id.Memory() == name }) ||
		slices.ContainsFunc(u.matchers, func(m *engram.PatternMatcher) bool { return m.Level(engram.LevelMemory).Match(name) })
}

// version reports whether an order is about a version, of an entity that it may be
// about, which got its number in the life epoch.
func (u *unwanted) version(id engram.ID, s *engram.Snapshot, epoch uint64) bool {
	switch {
	case u.Copies:
		return s.Arrived <= u.Until && u.Span.Contains(s.Time) && !slices.ContainsFunc(u.Except, func(iv engram.Interval) bool { return iv.Contains(s.Time) })
	case epoch == u.Epoch && s.Number > u.Number && (s.Arrived > u.Until || u.copied(id)):
		return false // what arrived before was on its way to the disk
	case epoch != u.Epoch && u.resumed && u.precedes(id, s, epoch):
		return false
	case u.times[id][s.Time]:
		return true
	}
	return u.Span.Contains(s.Time) && slices.ContainsFunc(u.matchers, func(m *engram.PatternMatcher) bool { return m.Match(id) })
}

// precedes reports whether an order was given before a version of another epoch came.
// That is told by the order of the lives, for clocks are set back; of copies by their
// owners' clocks, for what is fetched again in a later epoch is not newer for that.
func (u *unwanted) precedes(id engram.ID, s *engram.Snapshot, epoch uint64) bool {
	if until, ok := u.Copied[id.Memory()]; ok {
		return s.Arrived > until
	}
	given, came := slices.Index(u.lives, u.Epoch), slices.Index(u.lives, epoch)
	if given < 0 || came < 0 {
		return s.Arrived > u.Until
	}
	return given < came
}

// cause is the word for why an order forgets of an entity.
func (u *unwanted) cause(id engram.ID) string {
	if u.times[id] != nil {
		return admin.CauseWrong
	}
	return admin.CauseRequest
}

// what names what an order is about, patterns with their span of times.
func (o *order) what() []string {
	what := slices.Clone(o.Patterns)
	if o.Span != engram.Always() {
		for i := range what {
			what[i] += fmt.Sprintf(" of %v", o.Span)
		}
	}
	for _, id := range o.IDs {
		what = append(what, id.String())
	}
	return what
}

// name tells an order from others.
func (o *order) name() string {
	what := o.what()
	text := strings.Join(what[:min(len(what), 3)], ", ")
	if more := len(what) - 3; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s that arrived up to %v (%s)", text, o.Until, o.Why)
}

// Forget implements [Service].
func (f *forgetter) Forget(ctx context.Context, what Forgetting, progress Progress) (Forgotten, error) {
	if f.recorder == nil {
		return Forgotten{}, errNotBegun
	}
	switch {
	case what.Due && (len(what.Patterns) > 0 || len(what.IDs) > 0 || what.EvenKept):
		return Forgotten{}, engram.Errorf(engram.Invalid, "", "what is due is what the policies say; it goes with no patterns and no IDs")
	case what.Due:
		return f.forgetDue(ctx, what.DryRun, progress)
	case len(what.Patterns) == 0 && len(what.IDs) == 0:
		return Forgotten{}, engram.Errorf(engram.Invalid, "", "it does not say what to forget; give patterns or the IDs of snapshots")
	case strings.TrimSpace(what.Why) == "" && !what.DryRun:
		return Forgotten{}, engram.Errorf(engram.Invalid, "", "it does not say why to forget; the reason is noted")
	}
	if err := checkReason(what.Why, what.By); err != nil {
		return Forgotten{}, err
	}
	if err := checkLedger(what); err != nil {
		return Forgotten{}, err
	}
	o := order{
		IDs: what.IDs, Span: what.Span, Why: what.Why, By: what.By, EvenKept: what.EvenKept,
		Until: f.options.Now(), Epoch: f.wm.Epoch(), Number: f.wm.Number(),
	}
	if what.Span == (engram.Interval{}) {
		o.Span = engram.Always()
	}
	for _, p := range what.Patterns {
		o.Patterns = append(o.Patterns, p.String())
	}
	o.Copied = f.orders.lastCopied()
	u, err := f.orders.compile(o)
	if err != nil {
		return Forgotten{}, err
	}
	if err := f.forgetting.lock(ctx); err != nil {
		return Forgotten{}, err
	}
	defer f.forgetting.unlock()
	if what.DryRun {
		return f.surveyOrder(ctx, u)
	}
	if err := f.orders.noteRequest(ctx, u); err != nil {
		return Forgotten{}, err
	}
	done, err := f.carryOut(ctx, u, progress)
	if err != nil {
		err = engram.Errorf(engram.CodeOf(err), "", "the request is noted, and no query finds any of it any more; what is to be done on the disk goes on by itself when that is possible: %w", err)
	}
	return done, err
}

// checkLedger refuses to have forgotten what was forgotten. Patterns that only match it
// among others leave it out.
func checkLedger(f Forgetting) error {
	ids := slices.Clone(f.IDs)
	for _, p := range f.Patterns {
		if id, err := engram.Parse(p.String()); err == nil {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if ledgerSegment.Contains(id) {
			return engram.Errorf(engram.Invalid, id.String(), "it tells what was forgotten; that is forgotten by its policy only")
		}
	}
	return nil
}

// maxReason bounds the words that are noted of an act.
const maxReason = 4096

func checkReason(texts ...string) error {
	for _, text := range texts {
		if len(text) > maxReason || !utf8.ValidString(text) {
			return engram.Errorf(engram.Invalid, fmt.Sprintf("%.32q…", text), "what is noted of forgetting is text of at most %d bytes", maxReason)
		}
	}
	return nil
}

// carryOut forgets what an order is about, which is noted. If it fails, it is tried
// again later; what went is told.
func (f *forgetter) carryOut(ctx context.Context, u *unwanted, progress Progress) (Forgotten, error) {
	var done forgetResult
	b := f.orders.tombstone(u)
	f.orders.bury(b)
	volatile, err := f.forgetOrdered(ctx, b, &done, progress)
	done.forgotten.Volatile = volatile.total()
	done.finish()
	f.ledger.noteForgetting(ctx, &done, volatile, u.Why, u.By, u.what())
	f.aheads.LookAhead(ctx)
	return done.forgotten, err
}

// forgetOrdered does what an order says. It returns what went from the working memory and
// adds to done what went from the disk, also if it fails.
func (f *forgetter) forgetOrdered(ctx context.Context, b *tombstone, done *forgetResult, progress Progress) (volatile erased, err error) {
	u := b.unwanted
	// What it is about may be on its way to the disk: it is to be found.
	if _, err := f.wm.Barrier(ctx, func() {}); err != nil {
		return volatile, err
	}
	if volatile, err = f.forgetVolatile(ctx, b); err != nil {
		return volatile, err
	}
	if err := f.countVolatile(ctx, volatile); err != nil {
		return volatile, err
	}
	// Episodes that go as a whole need no room, and make some.
	if err := f.dropCovered(ctx, b, done, progress); err != nil {
		return volatile, err
	}
	sealing := f.clearLog(ctx, b)
	if sealing != nil && engram.CodeOf(sealing) != engram.Exhausted {
		return volatile, sealing
	}
	if err := f.cutConcerned(ctx, b, done, progress); err != nil || sealing != nil {
		return volatile, errors.Join(sealing, err)
	}
	if files := f.repairer.unserved(); len(files) > 0 {
		return volatile, engram.Errorf(engram.Unavailable, f.options.Dir, "%d files of episodes that may hold some of it cannot be read, or removed, now; let go of those that stay so with 'engram episode drop': %s",
			len(files), strings.Join(files[:min(len(files), 10)], " "))
	}
	if err := f.account.save(); err != nil {
		return volatile, err
	}
	err = f.state.changeOrders(func(c *stateContent) {
		c.Orders = slices.DeleteFunc(c.Orders, func(o order) bool { return o.same(&u.order) })
	})
	if err != nil {
		return volatile, err
	}
	f.orders.exhume(&u.order)
	if err := f.folder.dropOriginals(); err != nil {
		return volatile, err
	}
	f.compactor.mergeRemains(ctx)
	done.forgotten.Unread, err = f.folder.unread()
	return volatile, err
}

// dropCovered deletes the episodes of which an order leaves nothing.
func (f *forgetter) dropCovered(ctx context.Context, b *tombstone, done *forgetResult, progress Progress) error {
	concerned, err := f.concerned(ctx, b.unwanted)
	if err != nil {
		return err
	}
	for i, c := range concerned {
		progress.Tell(i, len(concerned))
		h, ok := f.disk.episodes.get(c.name)
		if !ok {
			continue
		}
		cut, err := f.folder.surveyEpisode(ctx, c.name, f.orderPlan(b, &c))
		if engram.CodeOf(err) == engram.Canceled {
			return err
		}
		if err != nil || !cut.all { // what is wrong is told by who cuts it
			continue
		}
		cut.bytes = h.info.Bytes
		if err := f.folder.dropFile(ctx, h, &cut); err != nil {
			return err
		}
		f.count(done, cut)
	}
	return nil
}

// cutConcerned takes what an order is about out of the sealed episodes that hold some of
// it, the smallest first: each needs room for what stays of it, and makes some.
func (f *forgetter) cutConcerned(ctx context.Context, b *tombstone, done *forgetResult, progress Progress) error {
	concerned, err := f.concerned(ctx, b.unwanted)
	if err != nil {
		return err
	}
	size := func(c concernedEpisode) int64 {
		if h, ok := f.disk.episodes.get(c.name); ok {
			return h.info.Bytes
		}
		return 0
	}
	slices.SortStableFunc(concerned, func(a, b concernedEpisode) int { return cmp.Compare(size(a), size(b)) })
	var refused []string
	var need int64
	gone := int(done.forgotten.Episodes)
	for i, c := range concerned {
		progress.Tell(gone+i, gone+len(concerned))
		cut, err := f.folder.cutEpisode(ctx, c.name, f.orderPlan(b, &c))
		if engram.CodeOf(err) == engram.Exhausted {
			refused = append(refused, c.name)
			need = max(need, size(c))
			continue
		}
		if err != nil {
			return err
		}
		f.count(done, cut)
	}
	progress.Tell(gone+len(concerned), gone+len(concerned))
	if len(refused) == 0 {
		return nil
	}
	return engram.Errorf(engram.Exhausted, f.options.Dir,
		"the disk is full, and %d episodes that hold some of it cannot be written anew without it: free up to %.1f MB, or let go of whole episodes, which needs no room: engram episode drop %s",
		len(refused), float64(need)/1e6, strings.Join(refused[:min(len(refused), 10)], " "))
}

// mergeRemains takes small episodes together that were sealed to forget, with small ones
// beside them. What cannot be taken together stays as it is.
func (c *compactor) mergeRemains(ctx context.Context) {
	for _, group := range c.smallEpisodes(c.options.SealBytes / compactSmall) {
		if !slices.ContainsFunc(group, func(h *handle) bool { return h.info.Labels["sealed for"] == sealedToForget }) {
			continue
		}
		if _, err := c.folder.merge(ctx, group); err != nil {
			c.options.Log.Info("small episodes are not taken together", "first", group[0].name, "error", err)
		}
	}
}

// sealedToForget is why an episode is sealed so that something can be taken out of it.
const sealedToForget = "forgetting"

// erased is what was dropped from the working memory of each entity.
type erased map[engram.ID]erasedOf

type erasedOf struct {
	forgottenOf
	cause string
}

func (e erased) total() (n uint64) {
	for _, of := range e {
		n += of.Versions
	}
	return n
}

// countVolatile has in the account what was dropped from the working memory of entities
// that the disk has nothing of. What goes of others is counted where it goes from there.
func (f *forgetter) countVolatile(ctx context.Context, volatile erased) error {
	view, only := f.wm.View(ctx, nil), map[engram.ID]forgottenOf{}
	pinned := f.disk.episodes.pin()
	defer pinned.release()
	for id, e := range volatile {
		there, err := f.disk.visible(ctx, pinned, id)
		if err != nil {
			return err
		}
		of := e.forgottenOf
		of.Versions = f.recorder.counts.forgot(id, of.Versions, there || f.disk.recent.has(id), !view.Has(id))
		only[id] = of
	}
	f.disk.episodes.publish(func(next *version) { f.account.forgot(next, only) })
	f.account.saveSoon()
	return nil
}

// forgetVolatile drops what an order is about from the working memory, and from what
// the recorder holds back.
func (f *forgetter) forgetVolatile(ctx context.Context, b *tombstone) (erased, error) {
	u := b.unwanted
	sum := erased{}
	epoch := f.wm.Epoch()
	var entities []engram.ID
	for id := range f.wm.View(ctx, nil).Entities() {
		if u.entity(id) {
			entities = append(entities, id)
		}
	}
	for _, id := range entities {
		var of forgottenOf
		n, err := f.wm.Erase(ctx, id, func(v *engram.Snapshot) bool {
			gone := b.verdict("", id, v, epoch) == goes
			if gone {
				of.add(v)
			}
			return gone
		})
		if n > 0 {
			of.Versions = n // it asks more than once
			sum[id] = erasedOf{of, u.cause(id)}
		}
		if err != nil {
			return sum, err
		}
	}
	f.recorder.progress.await(ctx, f.wm.Number()) // it holds back by then what it holds back
	return sum, f.recorder.do(ctx, func() error {
		for id, e := range f.recorder.entities {
			if !u.entity(id) {
				continue
			}
			if v := e.newest; v != nil && u.version(id, v, epoch) {
				e.newest = nil
			}
			f.recorder.filters.Forget(id) // it may hold snapshots back
		}
		return nil
	})
}

// clearLog has all that the logs of an order's memories hold now in sealed episodes and
// nowhere else, if they or the open episode hold some of what it is about. What they hold
// of memories that are not here stays; it is refused to forget of that.
func (f *forgetter) clearLog(ctx context.Context, b *tombstone) error {
	u := b.unwanted
	holds, err := f.holdsUnsealed(ctx, b)
	if err != nil {
		return err
	}
	from := map[string]uint64{}
	for _, memory := range f.logs.Memories() {
		if !u.memory(memory) {
			continue
		}
		l := f.logs.Log(memory)
		if f.logs.foreign[memory] {
			_, err := l.Replay(ctx, 0, func(r wal.Record) error {
				if r.Kind == wal.KindSnapshot && u.entity(r.Entity) {
					return engram.Errorf(engram.Unavailable, r.Entity.String(), "it is in the log of a memory that this server does not have; begin a server that has it, and it is forgotten then")
				}
				return nil
			})
			if err != nil {
				return err
			}
			continue
		}
		if !holds {
			continue
		}
		pos := l.Rotate()
		if err := l.Sync(ctx, pos); err != nil {
			return engram.Errorf(engram.CodeOf(err), memory, "what is to be forgotten cannot be cut off its log yet: %w", err)
		}
		from[memory] = uint64(pos)
	}
	if !holds {
		return nil
	}
	if err := f.recorder.sealNow(ctx, sealedToForget); err != nil {
		return engram.Errorf(engram.CodeOf(err), "", "what is to be forgotten may be in an episode that cannot be sealed yet: %w", err)
	}
	for memory, pos := range from {
		if l := f.logs.Log(memory); uint64(l.Start()) < pos {
			return engram.Errorf(engram.Unavailable, memory, "its log could not be cut off, because something of it is in no episode; begin the server anew, and it is forgotten then")
		}
	}
	return nil
}

// holdsUnsealed reports whether an order is about something that may be in an episode that
// is not sealed, or in a log.
func (f *forgetter) holdsUnsealed(ctx context.Context, b *tombstone) (bool, error) {
	if !f.recorder.progress.recorded(f.wm.Number()) {
		return true, nil // nobody knows yet
	}
	pinned := f.disk.episodes.pin()
	defer pinned.release()
	for _, c := range b.unsealed(pinned) {
		if cut, err := f.folder.surveyEpisode(ctx, c.name, f.orderPlan(b, &c)); err != nil || cut.touched {
			return true, err
		}
	}
	found := errors.New("found")
	for _, memory := range f.logs.Memories() {
		if !b.memory(memory) || f.logs.foreign[memory] {
			continue
		}
		l := f.logs.Log(memory)
		losses, err := l.Replay(ctx, 0, func(r wal.Record) error {
			if r.Kind == wal.KindSnapshot && b.entity(r.Entity) && b.version(r.Entity, r.Snapshot, b.Epoch) {
				return found
			}
			return nil
		})
		if err != nil || len(losses) > 0 || l.Failure() != nil { // it is there, or may be
			return true, checkContext(ctx)
		}
	}
	return false, nil
}

// concernedEpisode is an episode with entities that an order may be about.
type concernedEpisode struct {
	name     string
	entities []engram.ID
}

// unsealed returns the episodes of a pinned version that are being written and hold
// something that an order may be about.
func (u *unwanted) unsealed(v *version) (list []concernedEpisode) {
	for _, h := range v.writing {
		c := concernedEpisode{name: h.name}
		for _, e := range h.entities() {
			if u.entity(e.ID) {
				c.entities = append(c.entities, e.ID)
			}
		}
		if len(c.entities) > 0 {
			list = append(list, c)
		}
	}
	return list
}

// concerned returns the sealed episodes that hold something that an order may be about.
func (f *forgetter) concerned(ctx context.Context, u *unwanted) ([]concernedEpisode, error) {
	byName := map[string][]engram.ID{}
	err := f.disk.each(ctx, engram.ID{}, func(id engram.ID) error {
		if !u.entity(id) {
			return nil
		}
		holdings, err := f.disk.catalogue.Holdings(ctx, id)
		if err != nil {
			return err
		}
		for h := range holdings.In(u.reach()) {
			byName[h.Episode] = append(byName[h.Episode], id)
		}
		return nil
	})
	var list []concernedEpisode
	for name, entities := range byName {
		list = append(list, concernedEpisode{name, entities})
	}
	slices.SortFunc(list, func(a, b concernedEpisode) int { return cmp.Compare(a.name, b.name) })
	return list, err
}

// reach is the span of times that an order is about.
func (u *unwanted) reach() engram.Interval {
	if len(u.IDs) > 0 {
		return engram.Always()
	}
	return u.Span
}

// orderPlan says what goes of an episode to carry an order out.
func (f *forgetter) orderPlan(b *tombstone, c *concernedEpisode) cutPlan {
	plan := cutPlan{why: b.Why, entities: map[engram.ID]*entityCut{}}
	for _, id := range c.entities {
		plan.entities[id] = &entityCut{cause: b.cause(id), goes: func(v *engram.Snapshot, epoch uint64) verdict { return b.verdict(c.name, id, v, epoch) }}
	}
	return plan
}

// surveyOrder tells what an order would forget.
func (f *forgetter) surveyOrder(ctx context.Context, u *unwanted) (Forgotten, error) {
	var sum forgetResult
	f.recorder.progress.await(ctx, u.Number)
	b := f.orders.tombstone(u)
	pinned := f.disk.episodes.pin()
	defer pinned.release()
	concerned, err := f.concerned(ctx, u)
	if err != nil {
		return sum.forgotten, err
	}
	for _, c := range u.unsealed(pinned) {
		if !slices.ContainsFunc(concerned, func(sealed concernedEpisode) bool { return sealed.name == c.name }) {
			concerned = append(concerned, c)
		}
	}
	for _, c := range concerned {
		cut, err := f.folder.surveyEpisode(ctx, c.name, f.orderPlan(b, &c))
		if err != nil {
			return sum.forgotten, err
		}
		sum.add(cut)
	}
	sum.finish()
	epoch := f.wm.Epoch()
	view := f.wm.View(ctx, nil)
	for id := range view.Entities() {
		e := view.Entity(id)
		if !u.entity(id) || e == nil {
			continue
		}
		for v, place := e.Next(e.Begin(), engram.MaxTime); v != nil; v, place = e.Next(place, engram.MaxTime) {
			if b.verdict("", id, v, epoch) == goes {
				sum.forgotten.Volatile++
			}
		}
	}
	return sum.forgotten, nil
}
