package executor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
)

// standing keeps the conditions that stand, and the terms that skills require. All methods are safe for concurrent use. They
// may be called while Executor.mu is held, and never take it.
type standing struct {
	*reader
	now  func() engram.Time
	kick chan struct{} // something fired, or is due earlier

	setting   sync.Mutex // held from when a condition is stored until it is taken over; taken before following
	following sync.Mutex // guards the follower; taken before mu
	follower  *follow.Follower
	followed  []engram.ID // core segments

	mu      sync.Mutex
	set     *condition.Set
	defs    map[engram.ID]*skill.Condition
	fired   []condition.Fired   // that nobody acted upon
	came    engram.Time         // of the schedule, when the last update came
	ready   bool                // conditions and terms are taken over as they are given
	held    time.Duration       // the longest that a condition is to be held, of those that are stored
	ended   engram.Time         // when the last update came before the server began; 0 if that is not known
	dropped uint64              // firings, because too many waited
	failed  map[engram.ID]error // why conditions did not have their skills executed
}

// mostFired bounds the firings that wait to be acted upon.
const mostFired = 10_000

// window is how far back updates are looked at again, where some may not have been: more than they ever wait.
const window = 10 * time.Second

// longestHold bounds how far back updates are looked at because something was to be held since: what is held longer begins anew
// where it is fulfilled the next time.
const longestHold = 10 * time.Minute

func newStanding(m *reader, now func() engram.Time) *standing {
	s := &standing{reader: m, now: now, kick: make(chan struct{}, 1), defs: map[engram.ID]*skill.Condition{}, failed: map[engram.ID]error{}}
	s.set = condition.New(s.types.of, s.places)
	return s
}

// put adds or replaces a condition, which was given at a time.
func (s *standing) put(ctx context.Context, c *skill.Condition, at engram.Time) error {
	if !s.isReady() { // it is stored, and begin reads it
		return nil
	}
	if c.Disabled {
		s.remove(c.ID)
		return nil
	}
	if err := s.follow(ctx, patternsOf(&c.Condition)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fired, err := s.set.Put(s.now(), c.ID.At(at), c.Condition, s.present(ctx))
	if err == nil {
		s.defs[c.ID] = c
	}
	s.tell(fired)
	return err
}

func (s *standing) remove(id engram.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.Remove(id)
	delete(s.defs, id)
	delete(s.failed, id)
}

// require has the terms of a skill known.
func (s *standing) require(ctx context.Context, id engram.ID, all []condition.Term) error {
	if !s.isReady() {
		return nil
	}
	if len(all) == 0 {
		s.remove(id)
		return nil
	}
	c := condition.Condition{All: all}
	if err := s.follow(ctx, patternsOf(&c)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.set.Require(s.now(), id, all, s.present(ctx))
	if err != nil {
		s.set.Remove(id) // what was required before
	}
	return err
}

// guard has it be told when a lasting term does not hold any more, until [standing.remove].
func (s *standing) guard(ctx context.Context, execution engram.ID, all []condition.Term) error {
	lasting := slices.DeleteFunc(slices.Clone(all), func(t condition.Term) bool { return !t.Lasting })
	if len(lasting) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fired, err := s.set.Guard(s.now(), execution, lasting, s.present(ctx))
	s.tell(fired)
	return err
}

// holds returns the first term that a skill requires and that does not hold, with what stands against it. All that was committed
// before the call counts. The error says why that cannot be known.
func (s *standing) holds(ctx context.Context, d *skill.Description) (failed *condition.Term, against engram.ID, err error) {
	s.pull(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set.Has(d.ID) {
		failed, against = s.set.Holds(s.now(), d.ID)
		return failed, against, nil
	}
	// It is not followed: not yet, or it cannot be.
	set := condition.New(s.types.of, s.places)
	if err := set.Require(s.now(), d.ID, d.Requires, s.present(ctx)); err != nil {
		return nil, against, err
	}
	if stopped := set.Stopped(); len(stopped) > 0 {
		return nil, against, stopped[0].Err
	}
	failed, against = set.Holds(s.now(), d.ID)
	return failed, against, nil
}

// pull takes the updates that were committed before the call.
func (s *standing) pull(ctx context.Context) {
	s.following.Lock()
	f := s.follower
	s.following.Unlock()
	if f != nil {
		_ = f.Pull(ctx) // what is lost is read again later
	}
}

// running says whether what a condition started goes on.
func (s *standing) running(id, cause engram.ID, goesOn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.defs[id]
	if c == nil {
		return
	}
	s.tell(s.set.Running(s.now(), id, thingOf(c, cause), goesOn))
}

// tell has firings be acted upon, and what is due be looked at. The lock is held.
func (s *standing) tell(fired []condition.Fired) {
	if room := mostFired - len(s.fired); len(fired) > room {
		s.dropped += uint64(len(fired) - room)
		slog.Warn("conditions of skills are fulfilled faster than their skills can be asked for; some are left out", "left out", len(fired)-room)
		fired = fired[:room]
	}
	s.fired = append(s.fired, fired...)
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// take returns what is to be acted upon, the conditions that cannot go on, and when something is due.
func (s *standing) take() (fired []condition.Fired, stopped []condition.Stopped, next engram.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fired = append(s.fired, s.set.Tick(s.now())...)
	s.fired = nil
	return fired, s.set.Stopped(), s.set.Next()
}

// troubles tells of firings that were dropped, and of filters that fail.
func (s *standing) troubles() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped > 0 {
		all = append(all, fmt.Sprintf("conditions were fulfilled %d times without consequences, because %d others waited", s.dropped, mostFired))
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.failed), engram.ID.Compare) {
		if len(all) < mostTroubles {
			all = append(all, fmt.Sprintf("%v: %v", id, s.failed[id]))
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.defs), engram.ID.Compare) {
		if doubt := s.set.Doubt(id); doubt != "" && len(all) < mostTroubles {
			all = append(all, fmt.Sprintf("a filter of %v fails on some updates: %s", id, doubt))
		}
	}
	return all
}

// note notes why a condition did not have its skill executed, or that it did.
func (s *standing) note(id engram.ID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.failed, id)
		return
	}
	if s.failed[id] == nil {
		slog.Warn("a condition of a skill", "condition", id.String(), "error", err)
	}
	s.failed[id] = err
}

// mostTroubles bounds the troubles that are told at once.
const mostTroubles = 5

// def returns a condition, nil if it is not there.
func (s *standing) def(id engram.ID) *skill.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.defs[id]
}

// patternsOf returns the patterns that a condition is about.
func patternsOf(c *condition.Condition) (all []engram.Pattern) {
	if len(c.On.Levels) > 0 {
		all = append(all, c.On)
	}
	for i := range c.All {
		all = append(all, c.All[i].Of)
	}
	return all
}

// readBy returns the patterns of what a condition reads, poses too.
func readBy(c *condition.Condition) []engram.Pattern {
	all := patternsOf(c)
	if slices.ContainsFunc(c.All, func(t condition.Term) bool { return t.Near > 0 }) {
		all = append(all, engram.MustPattern("RobotState/Localization"))
	}
	return all
}

// withSegments adds the core segments of patterns to those that are listed.
func withSegments(all []engram.ID, patterns []engram.Pattern) []engram.ID {
	for _, p := range patterns {
		if id := p.Enclosing().Truncate(engram.LevelCoreSegment); !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}

// query asks for snapshots of all that is followed, in some memories; nil are all.
func (s *standing) query(segments []engram.ID, memories []string, of engram.SnapshotSelector) (q engram.Query) {
	for _, id := range segments {
		if memories == nil || slices.Contains(memories, id.Memory()) {
			q.Memories = append(q.Memories, engram.PatternOf(id).Select(of).Memories...)
		}
	}
	return q
}

// follow has updates of patterns come, too.
func (s *standing) follow(ctx context.Context, patterns []engram.Pattern) error {
	s.following.Lock()
	defer s.following.Unlock()
	all := withSegments(slices.Clone(s.followed), patterns)
	if len(all) == len(s.followed) {
		return nil
	}
	f, err := s.open(ctx, all)
	if err != nil {
		return err
	}
	f.Start()
	s.replace(f, all)
	return nil
}

// open begins to follow core segments.
func (s *standing) open(ctx context.Context, segments []engram.ID) (*follow.Follower, error) {
	var patterns []engram.Pattern
	for _, id := range segments {
		patterns = append(patterns, engram.PatternOf(id))
	}
	f := follow.New(s.svc, &view{s, segments}, follow.Options{Patterns: patterns, Local: true})
	return f, f.Open(engram.WithScope(context.WithoutCancel(ctx), nil))
}

// replace has a follower take the place of the last. Its lock is held.
func (s *standing) replace(f *follow.Follower, segments []engram.ID) {
	if s.follower != nil {
		_ = s.follower.Pull(context.Background()) // what comes later the next one has
		_ = s.follower.Close()
	}
	s.follower, s.followed = f, segments
}

// close ends the following.
func (s *standing) close() {
	s.following.Lock()
	defer s.following.Unlock()
	s.replace(nil, nil)
}

// prepare has conditions and terms be taken over as they are given; those of before are [standing.begin]'s.
func (s *standing) prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
}

// isReady reports whether they are.
func (s *standing) isReady() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// begin takes over the conditions that are stored. What fulfilled them before the server ended is known; updates of the last
// [window] before that are looked at again, since it may have been killed before it had.
func (s *standing) begin(ctx context.Context, required []*skill.Description) error {
	s.following.Lock()
	defer s.following.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	segments, err := s.segments(ctx, required)
	if err != nil || len(segments) == 0 {
		return err
	}
	s.mu.Unlock() // it is told what there is as it begins to follow
	f, err := s.open(ctx, segments)
	if err == nil {
		s.replace(f, segments)
		defer f.Start()
	}
	s.mu.Lock()
	if err != nil {
		return err
	}
	before, updates, err := s.lately(ctx, segments)
	if err != nil {
		return err
	}
	for _, d := range required {
		if err := s.set.Require(s.now(), d.ID, d.Requires, s.asOf(ctx, engram.AtOrBefore(before))); err != nil {
			slog.Warn("what a skill requires cannot be followed", "skill", d.ID.String(), "error", err)
		}
	}
	defs, err := s.asOf(ctx, engram.AtOrBefore(before))(conditions)
	if err != nil {
		return err
	}
	s.set.Past()
	s.set.Quiet(func() {
		for _, item := range defs {
			s.define(ctx, before, before, item)
		}
	})
	if err := s.noted(ctx, before); err != nil {
		return err
	}
	for _, item := range updates {
		at := min(item.Arrived, s.now())
		s.until(at)
		if item.ID.Truncate(engram.LevelCoreSegment) == conditions.Enclosing() {
			s.define(ctx, at, item.Time, item)
		}
		s.tell(s.set.Apply(at, item))
	}
	s.until(s.now())
	return nil
}

// until does what was due up to a time, each at its own.
func (s *standing) until(now engram.Time) {
	for next := s.set.Next(); next != 0 && next <= now; next = s.set.Next() {
		s.tell(s.set.Tick(next))
	}
}

// conditions are those that are stored.
var conditions = engram.MustPattern("Skill/Condition")

// noted takes over when conditions fired before the server began, as far as that has a consequence from a time on.
func (s *standing) noted(ctx context.Context, now engram.Time) error {
	items, err := s.present(ctx)(engram.MustPattern("Skill/Execution"))
	if err != nil {
		return err
	}
	for _, item := range items {
		e, err := s.codec.Execution(item.ID.Truncate(engram.LevelEntity), item.Time, item.Instances)
		if err != nil || e.Condition.IsRoot() || imported(item) {
			continue
		}
		c := s.defs[e.Condition]
		if c == nil {
			continue
		}
		at := e.Started
		if c.Trigger == condition.EachUpdate { // it may have been asked for much later
			t, _ := e.Cause.Time()
			if cause, err := s.svc.AtOrBefore(engram.WithScope(ctx, nil), thingOf(c, e.Cause), t); err == nil && cause.Time == t {
				at = cause.Arrived
			}
		}
		s.set.Noted(now, c.ID, thingOf(c, e.Cause), at)
	}
	return nil
}

// thingOf returns the thing for which a condition fired, by the cause.
func thingOf(c *skill.Condition, cause engram.ID) engram.ID {
	if len(c.On.Levels) == 0 {
		return engram.ID{}
	}
	return cause.Truncate(engram.LevelEntity)
}

// resume has conditions at Level fire again, when it is known which of their executions go on.
func (s *standing) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(s.set.Resume(s.now()))
}

// define takes over a stored condition, and what there was at a time.
func (s *standing) define(ctx context.Context, now, at engram.Time, item engram.Item) {
	id := item.ID.Truncate(engram.LevelEntity)
	if imported(item) {
		return
	}
	c, err := s.codec.Condition(id, item.Instances)
	if err != nil || c.Disabled {
		s.set.Remove(id)
		delete(s.defs, id)
		return
	}
	fired, err := s.set.Put(now, item.ID, c.Condition, s.asOf(ctx, engram.AtOrBefore(at)))
	if err != nil {
		slog.Warn("a condition of a skill cannot be kept", "condition", id.String(), "error", err)
		return
	}
	s.defs[id] = c
	s.tell(fired)
}

// segments returns the core segments that conditions and terms are about, of those that the server has.
func (s *standing) segments(ctx context.Context, required []*skill.Description) (all []engram.ID, err error) {
	defs, err := s.present(ctx)(conditions)
	if err != nil {
		return nil, err
	}
	there, err := s.svc.Describe(engram.WithScope(ctx, nil), engram.MustPattern("*/*"))
	if err != nil {
		return nil, err
	}
	known := map[engram.ID]bool{}
	for i := range there {
		known[there[i].ID] = true
	}
	all = slices.Clone(s.followed)
	for _, item := range defs {
		if c, err := s.codec.Condition(item.ID.Truncate(engram.LevelEntity), item.Instances); err == nil && !c.Disabled && !imported(item) {
			all = withSegments(all, patternsOf(&c.Condition))
			s.held = max(s.held, min(c.Hold, longestHold))
		}
	}
	for _, d := range required {
		all = withSegments(all, patternsOf(&condition.Condition{All: d.Requires}))
	}
	return slices.DeleteFunc(all, func(id engram.ID) bool { return !known[id] }), nil
}

// restored notes when the last update came before the server began, which is about to serve.
func (s *standing) restored(ctx context.Context, required []*skill.Description) error {
	segments, err := s.segments(ctx, required)
	if err == nil && len(segments) > 0 {
		s.ended, err = s.last(ctx, segments)
	}
	return err
}

// last returns when the last update came.
func (s *standing) last(ctx context.Context, segments []engram.ID) (last engram.Time, err error) {
	r, err := s.svc.Query(engram.WithScope(ctx, nil), s.query(append(slices.Clone(segments), conditions.Enclosing()), nil, engram.Latest(1)))
	if err != nil {
		return 0, err
	}
	for item := range r.All() {
		if !imported(item) {
			last = max(last, item.Arrived)
		}
	}
	return last, nil
}

// lately returns the updates of the last [window], and of what is to be held, before the server ended, and since, in the order in which they arrived, and the
// time before them.
func (s *standing) lately(ctx context.Context, segments []engram.ID) (before engram.Time, updates []engram.Item, err error) {
	last := s.ended
	if last == 0 {
		if last, err = s.last(ctx, segments); err != nil {
			return 0, nil, err
		}
	}
	before = last.Add(-window - s.held)
	updates, err = s.since(ctx, append(slices.Clone(segments), conditions.Enclosing()), nil, before)
	return before, updates, err
}

// since returns the updates after a time, in the order in which they arrived.
func (s *standing) since(ctx context.Context, segments []engram.ID, memories []string, before engram.Time) (updates []engram.Item, err error) {
	r, err := s.svc.Query(engram.WithScope(ctx, nil), s.query(segments, memories, engram.In(engram.Interval{Start: before + 1, End: engram.MaxTime})))
	if err != nil {
		return nil, err
	}
	for item := range r.All() {
		if !imported(item) {
			updates = append(updates, item)
		}
	}
	slices.SortStableFunc(updates, func(a, b engram.Item) int {
		return cmp.Or(cmp.Compare(a.Arrived, b.Arrived), cmp.Compare(a.Number, b.Number))
	})
	return updates, nil
}

// view is what is followed, for a follower.
type view struct {
	s        *standing
	segments []engram.ID
}

// Apply implements [follow.View].
func (v *view) Apply(_ uint64, updates []engram.Update) ([]string, error) {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	now, next := s.now(), s.set.Next()
	s.came = now
	var fired []condition.Fired
	for i := range updates {
		u := &updates[i]
		if u.Snapshot == nil {
			continue
		}
		if item := (engram.Item{ID: u.ID, Snapshot: u.Snapshot}); !imported(item) {
			fired = append(fired, s.set.Apply(now, item)...)
		}
	}
	if len(fired) > 0 || s.set.Next() != next || s.set.Halts() {
		s.tell(fired)
	}
	return nil, nil
}

// Query implements [follow.Reader].
func (v *view) Query(memories []string) engram.Query {
	return v.s.query(v.segments, memories, engram.Latest(1))
}

// Reset implements [follow.Reader]. Where nothing was removed or lost the set has all that there is.
func (v *view) Reset(ctx context.Context, a follow.Answer) error {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready || len(a.Whole) == 0 {
		return nil
	}
	now := s.now()
	before := max(s.came, now.Add(-window)).Add(-time.Second)
	updates, err := s.since(ctx, v.segments, a.Whole, before)
	if err != nil {
		return err
	}
	for _, item := range updates {
		s.tell(s.set.Apply(now, item))
	}
	// The answer may be older than that.
	r, err := s.svc.Query(ctx, s.query(v.segments, a.Whole, engram.Latest(1)))
	if err != nil {
		return err
	}
	items := r.Items()
	for _, memory := range a.Whole {
		s.tell(s.set.Present(now, memory, items))
	}
	return nil
}
