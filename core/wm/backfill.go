package wm

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// recorded says where an update of the past is found, if it is still kept. A
// backfill is a list of these, so that it does not keep what the memory evicts.
type recorded struct {
	entity *entity
	time   engram.Time
	number uint64
}

// checkStartLocked checks a start by number against the numbers that were given.
func (w *writer) checkStartLocked(start engram.Start) error {
	if start.Kind != engram.StartNumber {
		return nil
	}
	if start.Epoch != 0 && start.Epoch != w.epoch {
		return engram.Errorf(engram.Conflict, "", "update %d is of another epoch of the memory (%d, now %d); begin anew", start.Number, start.Epoch, w.epoch)
	}
	if start.Number > w.mu.number {
		return engram.Errorf(engram.TooNew, "", "update %d was not written yet; the newest is %d", start.Number, w.mu.number)
	}
	return nil
}

// since copies what the feed remembers of the updates in (after, last]; first is
// the number of the first of them.
func (f *feed) since(after, last uint64) (recent []recentUpdate, first uint64) {
	first = after + 1
	if last >= f.keep {
		first = max(first, last-f.keep+1)
	}
	recent = make([]recentUpdate, 0, last+1-first)
	for n := first; n <= last; n++ {
		recent = append(recent, f.recent[n%f.keep])
	}
	return recent, first
}

// backfiller collects the backfill of a subscription.
type backfiller struct {
	*subscription
	ctx     context.Context
	start   engram.Start
	matches map[*entity]bool
	lost    float64 // an estimate of what was evicted
}

// findBackfill finds what the subscription wants of the past, up to its own start.
// recent is what the feed remembers from the number first on, if it starts by number.
func (s *subscription) findBackfill(ctx context.Context, sub engram.Subscription, recent []recentUpdate, first uint64) error {
	b := &backfiller{subscription: s, ctx: ctx, start: sub.Start, matches: make(map[*entity]bool)}
	if sub.Start.Kind != engram.StartNumber || first > sub.Start.Number+1 {
		if err := b.search(sub.Patterns, first); err != nil {
			return err
		}
		slices.SortFunc(s.backfill, func(x, y recorded) int { return cmp.Compare(x.number, y.number) })
	}
	for i, u := range recent {
		if !u.news {
			continue
		}
		if b.match(u.entity) {
			s.backfill = append(s.backfill, recorded{u.entity, u.time, first + uint64(i)})
		}
	}
	s.lost = uint64(b.lost + 0.5)
	return nil
}

// Kept calls fn with the updates with numbers in (after, upTo] that the memory still
// keeps, with their snapshots, in the order of their numbers, some at a time; a batch is
// fn's until it returns. What was recalled is not among them. It waits for nothing, works
// on a closed memory, too, and ends with the first error of fn.
func (w *WM) Kept(ctx context.Context, after, upTo uint64, fn func([]engram.Update) error) error {
	sub := engram.Subscription{WithData: true, Start: engram.Start{Kind: engram.StartNumber, Number: after}}
	s, err := w.newSubscription(sub, nil)
	if err != nil {
		return err
	}
	w.mu.Lock()
	recent, first := w.mu.feed.since(after, w.mu.number)
	s.start = min(upTo, w.mu.number)
	w.mu.Unlock()
	first = min(first, s.start+1)
	recent = recent[:min(uint64(len(recent)), s.start+1-first)]
	if err := s.findBackfill(ctx, sub, recent, first); err != nil {
		return err
	}
	for {
		if err := checkContext(ctx); err != nil {
			return err
		}
		batch, err := s.Poll()
		if err != nil || len(batch) == 0 {
			return err
		}
		if err := fn(batch); err != nil {
			return err
		}
	}
}

// match reports whether the subscription matches e.
func (b *backfiller) match(e *entity) bool {
	m, ok := b.matches[e]
	if !ok {
		m = b.subscription.matches(e.id)
		b.matches[e] = m
	}
	return m
}

// search looks through all entities that the patterns match; for a start by number
// for updates below before.
func (b *backfiller) search(patterns []engram.Pattern, before uint64) error {
	if len(patterns) == 0 {
		patterns = []engram.Pattern{{}}
	}
	var nodes []engram.QueryNode
	for _, p := range patterns {
		nodes = append(nodes, p.Select(engram.All()).Memories...)
	}
	plan, err := b.w.compiler.Compile(b.ctx, nodes, b.w.limits.MaxFilterSteps)
	if err != nil {
		return err
	}
	return b.w.eachEntity(b.ctx, plan, func(e *entity) error {
		if err := checkContext(b.ctx); err != nil {
			return err
		}
		if !b.match(e) {
			return nil // it is hidden: the plan knows only the patterns
		}
		switch b.start.Kind {
		case engram.StartLast:
			return b.snapshots(e, engram.Latest(b.start.N))
		case engram.StartTime:
			b.lost += e.lost.after(b.start.Time)
			return b.snapshots(e, engram.In(engram.Interval{Start: b.start.Time, End: engram.MaxTime}))
		}
		b.lost += e.lost.numbered(e.firstNumber.Load(), b.start.Number, before)
		b.updates(e, before)
		return nil
	})
}

// eachEntity calls visit with every entity that the plan selects, each once.
func (w *writer) eachEntity(ctx context.Context, plan []*query.Node, visit func(*entity) error) error {
	return query.EachChild(ctx, &w.memories, plan, func(m *memory, nodes []*query.Node) error {
		return query.EachChild(ctx, &m.cores, query.Below(nodes), func(c *core, nodes []*query.Node) error {
			return query.EachChild(ctx, &c.providers, query.Below(nodes), func(p *provider, nodes []*query.Node) error {
				return query.EachChild(ctx, &p.entities, query.Below(nodes), func(e *entity, _ []*query.Node) error {
					return visit(e)
				})
			})
		})
	})
}

// snapshots adds the snapshots of e that the selector selects.
func (b *backfiller) snapshots(e *entity, s engram.SnapshotSelector) error {
	var sel query.Selection
	l := b.w.newLens(b.ctx, nil)
	l.highWater = b.subscription.start
	if _, err := b.w.read(l, e, []engram.SnapshotSelector{s}, math.MaxInt-1, &sel, &reading{}); err != nil {
		return err
	}
	for _, snap := range sel.Snapshots {
		if snap.Number <= b.subscription.start { // what is newer is in the queue
			b.backfill = append(b.backfill, recorded{e, snap.Time, snap.Number})
		}
	}
	return nil
}

// updates adds the updates of e, superseded ones too but not what was recalled, after the start's number and
// below before.
func (b *backfiller) updates(e *entity, before uint64) {
	for v := range e.versions() {
		if v.Number > b.start.Number && v.Number < before && !v.Recalled {
			b.backfill = append(b.backfill, recorded{e, v.Time, v.Number})
		}
	}
}

// after estimates how many of the lost snapshots had times from t on.
func (l *losses) after(t engram.Time) float64 {
	was := l.load()
	if was.snapshots == 0 {
		return 0
	}
	return float64(was.snapshots) * share(float64(was.first), float64(was.last)+1, float64(t), math.Inf(1))
}

// numbered estimates how many of what was lost, of an entity whose first update was
// first, had numbers in (after, before).
func (l *losses) numbered(first, after, before uint64) float64 {
	count, last := l.evictions.Load(), l.lastNumber.Load()
	if count == 0 {
		return 0
	}
	return float64(count) * share(float64(first), float64(last)+1, float64(after)+1, float64(before))
}

// share returns which part of [first, last) lies in [from, to).
func share(first, last, from, to float64) float64 {
	return max(0, min(last, to)-max(first, from)) / (last - first)
}

// takeBackfill moves the next of the backfill, as far as it is still kept, into
// taken. It returns how many updates were lost behind these.
func (s *subscription) takeBackfill() (lost uint64) {
	n := 0
	for bytes := 0; n < len(s.backfill) && len(s.taken) < batchSize && bytes < takenBytes; n++ {
		v := s.backfill[n].find()
		if v == nil {
			lost++
			continue
		}
		u := waiting{number: v.Number, time: v.Time, arrived: v.Arrived, supersedes: v.older.Load() != nil, entity: s.backfill[n].entity, lost: lost}
		if s.needsVersion() {
			u.version = v
			bytes += v.Size()
		}
		s.taken = append(s.taken, u)
		lost = 0
	}
	if s.backfill = s.backfill[n:]; len(s.backfill) == 0 {
		s.backfill = nil
	}
	return lost
}

// find returns the version if it is still kept.
func (r recorded) find() *version { return r.entity.find(r.time, r.number) }

// find returns the version of a time and number if it is still kept.
func (e *entity) find(t engram.Time, number uint64) *version {
	look := reading{spans: e.timeline.spans()}
	p := look.after(t)
	v := look.prev(&p)
	if v == nil || v.Time != t {
		return nil
	}
	for ; v != nil && v.Number > number; v = v.older.Load() {
	}
	if v == nil || v.Number != number {
		return nil
	}
	return v
}
