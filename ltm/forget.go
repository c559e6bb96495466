package ltm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/ltm/service"
	"github.com/seed-301d4374/engram/ltm/wal"
)

// order is a request to forget. It is noted before it is carried out, so that one
// that a crash interrupts is finished in the next life.
type order struct {
	Patterns []string        `json:"patterns,omitempty"`
	IDs      []engram.ID     `json:"ids,omitempty"`
	Span     engram.Interval `json:"span"`
	Why      string          `json:"why"`
	By       string          `json:"by,omitempty"`
	EvenKept bool            `json:"even_kept,omitempty"`
	// It is about what arrived up to a time, and in the life in which it was given, up
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
// also in a later life; other ones are given once.
func (o *order) same(p *order) bool {
	return o.Until == p.Until && o.Span == p.Span && o.Copies == p.Copies && (o.Copies || o.Epoch == p.Epoch && o.Number == p.Number) &&
		slices.Equal(o.Patterns, p.Patterns) && slices.Equal(o.IDs, p.IDs) && slices.Equal(o.Except, p.Except)
}

// unwanted is a compiled order.
type unwanted struct {
	order
	matchers []*engram.PatternMatcher
	times    map[engram.ID]map[engram.Time]bool // of IDs
	resumed  bool                               // it was given in an earlier life
	lives    []uint64                           // in their order, as far as it is known
	copied   func(engram.ID) bool               // reports whether something is a copy
}

// ledgerSegment is where it stands what was forgotten. That is forgotten by its policy
// only.
var ledgerSegment = engram.MustID("SystemState/Forgetting")

func (s *Store) compile(o order) (*unwanted, error) {
	u := &unwanted{order: o, resumed: o.Epoch != s.wm.Epoch(), lives: s.lives(), copied: s.wm.IsCopy, times: map[engram.ID]map[engram.Time]bool{}}
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

// precedes reports whether an order was given before a version of another life came.
// That is told by the order of the lives, for clocks are set back; of copies by their
// owners' clocks, for what is fetched again in a later life is not newer for that.
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
		return service.CauseWrong
	}
	return service.CauseRequest
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
func (s *Store) Forget(ctx context.Context, f Forgetting, progress Progress) (Forgotten, error) {
	if s.recorder == nil {
		return Forgotten{}, errNotBegun
	}
	switch {
	case f.Due && (len(f.Patterns) > 0 || len(f.IDs) > 0 || f.EvenKept):
		return Forgotten{}, engram.Errorf(engram.Invalid, "", "what is due is what the policies say; it goes with no patterns and no IDs")
	case f.Due:
		return s.forgetDue(ctx, f.DryRun, progress)
	case len(f.Patterns) == 0 && len(f.IDs) == 0:
		return Forgotten{}, engram.Errorf(engram.Invalid, "", "it does not say what to forget; give patterns or the IDs of snapshots")
	case strings.TrimSpace(f.Why) == "" && !f.DryRun:
		return Forgotten{}, engram.Errorf(engram.Invalid, "", "it does not say why to forget; the reason is noted")
	}
	if err := checkReason(f.Why, f.By); err != nil {
		return Forgotten{}, err
	}
	if err := checkLedger(f); err != nil {
		return Forgotten{}, err
	}
	o := order{
		IDs: f.IDs, Span: f.Span, Why: f.Why, By: f.By, EvenKept: f.EvenKept,
		Until: s.options.Now(), Epoch: s.wm.Epoch(), Number: s.wm.Number(),
	}
	if f.Span == (engram.Interval{}) {
		o.Span = engram.Always()
	}
	for _, p := range f.Patterns {
		o.Patterns = append(o.Patterns, p.String())
	}
	o.Copied = s.lastCopied()
	u, err := s.compile(o)
	if err != nil {
		return Forgotten{}, err
	}
	if err := s.forgetting.lock(ctx); err != nil {
		return Forgotten{}, err
	}
	defer s.forgetting.unlock()
	if f.DryRun {
		return s.surveyOrder(ctx, u)
	}
	if err := s.noteRequest(ctx, u); err != nil {
		return Forgotten{}, err
	}
	done, err := s.carryOut(ctx, u, progress)
	if err != nil {
		err = engram.Errorf(engram.CodeOf(err), "", "the request is noted, and what of it is not done goes on by itself when that is possible: %w", err)
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
func (s *Store) carryOut(ctx context.Context, u *unwanted, progress Progress) (Forgotten, error) {
	var done forgetResult
	volatile, err := s.forgetOrdered(ctx, u, &done, progress)
	done.forgotten.Volatile = volatile.total()
	done.finish()
	s.noteForgetting(ctx, &done, volatile, u.Why, u.By, u.what())
	return done.forgotten, err
}

// forgetOrdered does what an order says. It returns what went from the working memory and
// adds to done what went from the disk, also if it fails.
func (s *Store) forgetOrdered(ctx context.Context, u *unwanted, done *forgetResult, progress Progress) (volatile erased, err error) {
	// What it is about may be on its way to the disk: it is to be found.
	if _, err := s.wm.Settle(ctx, func() {}); err != nil {
		return volatile, err
	}
	if volatile, err = s.forgetVolatile(ctx, u); err != nil {
		return volatile, err
	}
	if err := s.countVolatile(ctx, volatile); err != nil {
		return volatile, err
	}
	if err := s.clearLog(ctx, u); err != nil {
		return volatile, err
	}
	concerned, err := s.concerned(ctx, u)
	if err != nil {
		return volatile, err
	}
	kept := s.keptThings()
	for i, c := range concerned {
		progress.Tell(i, len(concerned))
		cut, err := s.cutEpisode(ctx, c.name, s.orderPlan(u, &c, kept))
		if err != nil {
			return volatile, err
		}
		s.count(done, cut)
	}
	progress.Tell(len(concerned), len(concerned))
	if err := s.saveAccount(); err != nil {
		return volatile, err
	}
	err = s.changeOrders(func(c *stateContent) {
		c.Orders = slices.DeleteFunc(c.Orders, func(o order) bool { return o.same(&u.order) })
	})
	if err != nil {
		return volatile, err
	}
	if err := s.dropOriginals(); err != nil {
		return volatile, err
	}
	done.forgotten.Unread, err = s.unread()
	return volatile, err
}

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
func (s *Store) countVolatile(ctx context.Context, volatile erased) error {
	view, only := s.wm.View(ctx, nil), map[engram.ID]forgottenOf{}
	for id, e := range volatile {
		there, err := s.visible(ctx, id)
		if err != nil {
			return err
		}
		of := e.forgottenOf
		of.Versions = s.recorder.counts.forgot(id, of.Versions, there || s.recent.has(id), !view.Has(id))
		only[id] = of
	}
	s.account.forgot(only, s.options.Now())
	s.health.set("the account", s.saveAccount())
	return nil
}

// forgetVolatile drops what an order is about from the working memory, and from what
// the recorder holds back.
func (s *Store) forgetVolatile(ctx context.Context, u *unwanted) (erased, error) {
	kept := s.keptThings()
	sum := erased{}
	epoch := s.wm.Epoch()
	var entities []engram.ID
	for id := range s.wm.View(ctx, nil).Entities() {
		if u.entity(id) {
			entities = append(entities, id)
		}
	}
	for _, id := range entities {
		var of forgottenOf
		n, err := s.wm.Erase(ctx, id, func(v *engram.Snapshot) bool {
			goes := u.version(id, v, epoch) && (u.EvenKept || !kept.marked(v.Time))
			if goes {
				of.add(v)
			}
			return goes
		})
		if n > 0 {
			of.Versions = n // it asks more than once
			sum[id] = erasedOf{of, u.cause(id)}
		}
		if err != nil {
			return sum, err
		}
	}
	s.recorder.progress.await(ctx, s.wm.Number()) // it holds back by then what it holds back
	return sum, s.recorder.do(ctx, func() error {
		for id, e := range s.recorder.entities {
			if !u.entity(id) {
				continue
			}
			if v := e.newest; v != nil && u.version(id, v, epoch) {
				e.newest = nil
			}
			s.recorder.filters.Forget(id) // it may hold snapshots back
		}
		return nil
	})
}

// clearLog has all that the logs of an order's memories hold now in sealed episodes and
// nowhere else. What they hold of memories that are not here stays; it is refused to
// forget of that.
func (s *Store) clearLog(ctx context.Context, u *unwanted) error {
	from := map[string]uint64{}
	for _, memory := range s.journal.Memories() {
		if !u.memory(memory) {
			continue
		}
		l := s.journal.Log(memory)
		if s.foreign[memory] {
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
		pos := l.Rotate()
		if err := l.Sync(ctx, pos); err != nil {
			return engram.Errorf(engram.CodeOf(err), memory, "what is to be forgotten cannot be cut off its log yet: %w", err)
		}
		from[memory] = uint64(pos)
	}
	if err := s.Seal(ctx, "forgetting"); err != nil {
		return engram.Errorf(engram.CodeOf(err), "", "what is to be forgotten may be in an episode that cannot be sealed yet: %w", err)
	}
	for memory, pos := range from {
		if l := s.journal.Log(memory); uint64(l.Start()) < pos {
			return engram.Errorf(engram.Unavailable, memory, "its log could not be cut off, because something of it is in no episode; begin the server anew, and it is forgotten then")
		}
	}
	return nil
}

// concernedEpisode is a sealed episode with entities that an order is about.
type concernedEpisode struct {
	name     string
	entities []engram.ID
}

// concerned returns the sealed episodes that hold something that an order may be about.
func (s *Store) concerned(ctx context.Context, u *unwanted) ([]concernedEpisode, error) {
	byName := map[string][]engram.ID{}
	err := s.eachOnDisk(ctx, engram.ID{}, func(id engram.ID) error {
		if !u.entity(id) {
			return nil
		}
		holdings, err := s.catalogue.Holdings(ctx, id)
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

// eachOnDisk visits the entities below a node that sealed episodes hold.
func (s *Store) eachOnDisk(ctx context.Context, parent engram.ID, visit func(engram.ID) error) error {
	names, err := s.catalogue.Names(ctx, parent)
	if err != nil {
		return err
	}
	for _, name := range names {
		id, err := parent.Child(name)
		if err != nil {
			continue // no name of ours
		}
		if id.Level() == engram.LevelEntity {
			err = visit(id)
		} else {
			err = s.eachOnDisk(ctx, id, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// orderPlan says what goes of an episode to carry an order out.
func (s *Store) orderPlan(u *unwanted, c *concernedEpisode, kept *keptThings) cutPlan {
	plan := cutPlan{why: u.Why, entities: map[engram.ID]*entityCut{}}
	whole := !u.EvenKept && s.kept(c.name)
	for _, id := range c.entities {
		plan.entities[id] = &entityCut{cause: u.cause(id), goes: func(v *engram.Snapshot, epoch uint64) verdict {
			switch {
			case !u.version(id, v, epoch):
				return stays
			case whole || !u.EvenKept && kept.marked(v.Time):
				return isProtected
			}
			return goes
		}}
	}
	return plan
}

// surveyOrder tells what an order would forget.
func (s *Store) surveyOrder(ctx context.Context, u *unwanted) (Forgotten, error) {
	var sum forgetResult
	s.recorder.progress.await(ctx, u.Number)
	kept := s.keptThings()
	// First what is being written: when it is sealed, it is in the catalogue before it
	// leaves these.
	var writing []concernedEpisode
	for _, h := range s.episodes.writing() {
		c := concernedEpisode{name: h.name}
		for _, e := range h.entities() {
			if u.entity(e.ID) {
				c.entities = append(c.entities, e.ID)
			}
		}
		if len(c.entities) > 0 {
			writing = append(writing, c)
		}
	}
	concerned, err := s.concerned(ctx, u)
	if err != nil {
		return sum.forgotten, err
	}
	for _, c := range writing {
		if !slices.ContainsFunc(concerned, func(sealed concernedEpisode) bool { return sealed.name == c.name }) {
			concerned = append(concerned, c)
		}
	}
	for _, c := range concerned {
		cut, err := s.surveyEpisode(ctx, c.name, s.orderPlan(u, &c, kept))
		if err != nil {
			return sum.forgotten, err
		}
		sum.add(cut)
	}
	sum.finish()
	epoch := s.wm.Epoch()
	view := s.wm.View(ctx, nil)
	for id := range view.Entities() {
		e := view.Entity(id)
		if !u.entity(id) || e == nil {
			continue
		}
		for v, place := e.Next(e.Begin(), engram.MaxTime); v != nil; v, place = e.Next(place, engram.MaxTime) {
			if u.version(id, v, epoch) && (u.EvenKept || !kept.marked(v.Time)) {
				sum.forgotten.Volatile++
			}
		}
	}
	return sum.forgotten, nil
}

// entities returns what an episode holds of each entity; nothing if it is gone, or
// was sealed meanwhile.
func (h *handle) entities() []episode.Entity {
	if h.claim() != nil {
		return nil
	}
	defer h.release()
	return h.source().Entities()
}
