package ltm

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
)

// What is evicted before it is recorded is lost where no log has it, and so is what the end
// can write nowhere. Nobody knows what it was: the recorder was not given it, and with the
// entity even its name is gone. But the working memory counts what was committed to each
// provider segment, and the recorder what it was given, so that it is known how much is lost
// of each.

// lossCount finds out how much was lost of each provider segment. It belongs to the
// recorder's goroutine, but for recalled, which has a lock of its own.
type lossCount struct {
	providers map[engram.ID]*providerCount
	before    map[engram.ID]uint64 // committed before the recorder was told of updates
	since     engram.Time          // when that began
	noted     uint64               // counts.lost, when it was found out last
	looked    time.Time            // and when that was
	look      *lossLook            // that the recorder has still to come to; nil if there is none
	recalled  *providerNumbers     // versions since then
	removed   map[engram.ID]uint64 // segments, by the last update that is theirs, if the recorder may not have come to it
}

// lossLook is what was committed to each provider segment up to an update.
type lossLook struct {
	number  uint64               // of that
	lost    uint64               // counts.lost
	missing map[engram.ID]uint64 // updates that the recorder is to be given; once it is reached, that it was not given
	reached bool                 // the recorder has seen all of them that it will ever see
}

// providerCount is what the recorder knows of a provider segment.
type providerCount struct {
	given  uint64 // updates that it was given
	failed uint64 // of these, versions that are in no file
}

// providerNumbers are numbers of provider segments. Safe for concurrent use.
type providerNumbers struct {
	mu sync.Mutex
	of map[engram.ID]uint64
}

// count has versions put back, and counts them.
func (n *providerNumbers) count(restore func() ([]engram.UpdateResult, error)) ([]engram.UpdateResult, error) {
	n.mu.Lock() // meanwhile nobody looks at how many were committed
	defer n.mu.Unlock()
	results, err := restore()
	for _, r := range results {
		if r.Err == nil {
			n.of[r.ID.Truncate(engram.LevelProviderSegment)]++
		}
	}
	return results, err
}

func newLossCount() lossCount {
	return lossCount{
		providers: map[engram.ID]*providerCount{}, before: map[engram.ID]uint64{}, removed: map[engram.ID]uint64{},
		recalled: &providerNumbers{of: map[engram.ID]uint64{}},
	}
}

// begin notes what was committed before the recorder is told of updates.
func (c *lossCount) begin(w *wm.WM, now engram.Time) {
	c.since = now
	c.before, _ = w.Committed()
}

// give counts an update that the recorder is given, of a provider segment.
func (c *lossCount) give(p *providerCount, u *engram.Update) {
	if c.look != nil && u.Number > c.look.number {
		c.reach()
	}
	for segment, last := range c.removed {
		if u.Number > last {
			delete(c.removed, segment)
		} else if segment.Contains(u.ID) { // it is of what was there before
			return
		}
	}
	p.given++
}

// of returns the count of the provider segment that an ID lies in.
func (c *lossCount) of(id engram.ID) *providerCount {
	id = id.Truncate(engram.LevelProviderSegment)
	p := c.providers[id]
	if p == nil {
		p = &providerCount{}
		c.providers[id] = p
	}
	return p
}

// forget lets go of a segment that is removed; last is the last update of it.
func (c *lossCount) forget(segment engram.ID, last uint64) {
	maps.DeleteFunc(c.providers, func(id engram.ID, _ *providerCount) bool { return segment.Contains(id) })
	inIt := func(id engram.ID, _ uint64) bool { return segment.Contains(id) }
	maps.DeleteFunc(c.before, inIt)
	if c.look != nil {
		maps.DeleteFunc(c.look.missing, inIt)
	}
	c.removed[segment] = last
	c.recalled.mu.Lock()
	defer c.recalled.mu.Unlock()
	maps.DeleteFunc(c.recalled.of, inIt)
}

// note notes, for queries in later epochs, what was lost in this one of segments that no log
// has, if something was lost since it was noted last. It is called now and then: it is seen
// what was committed by now, and noted when the recorder has come to that.
func (c *lossCount) note(ctx context.Context, r *recorder) {
	if c.look == nil && r.counts.lost.Load() != c.noted && time.Since(c.looked) >= lookAtDisk {
		c.see(r)
	}
	if c.look != nil && r.progress.done.Load() >= r.progress.told(c.look.number) {
		c.reach()
	}
	if c.look != nil && c.look.reached {
		c.tell(ctx, r, nil)
	}
}

// noteAtEnd is note when the recorder has ended. unwritten are versions that were to be
// logged, by memory, and may be in no file: nobody knows which.
func (c *lossCount) noteAtEnd(ctx context.Context, r *recorder, unwritten map[string]uint64) {
	if r.counts.lost.Load() != c.noted {
		c.see(r)
		c.reach()
		c.tell(ctx, r, unwritten)
	}
}

// see looks at what was committed by now.
func (c *lossCount) see(r *recorder) {
	c.recalled.mu.Lock()
	defer c.recalled.mu.Unlock()
	c.looked, c.look = time.Now(), &lossLook{lost: r.counts.lost.Load()}
	c.look.missing, c.look.number = r.wm.Committed()
	for id, n := range c.look.missing {
		c.look.missing[id] = n - min(c.before[id]+c.recalled.of[id], n)
	}
}

// reach ends a look: the recorder has seen all up to that update, and nothing behind it.
func (c *lossCount) reach() {
	if c.look.reached {
		return
	}
	c.look.reached = true
	for id, n := range c.look.missing {
		c.look.missing[id] = n - min(c.of(id).given, n)
	}
}

// tell notes what a look has found.
func (c *lossCount) tell(ctx context.Context, r *recorder, unwritten map[string]uint64) {
	look := c.look
	c.look, c.noted = nil, look.lost
	all := map[engram.ID]forgottenOf{}
	view := r.wm.View(ctx, nil)
	for id, n := range look.missing {
		p := c.of(id)
		if n += p.failed; n == 0 || r.policies.Of(id).Record == policy.Never {
			continue
		}
		d, err := r.wm.Describe(ctx, engram.PatternOf(id))
		if err != nil || len(d) == 0 {
			continue
		}
		if d[0].Durability != engram.Volatile {
			if n = min(n, unwritten[id.Memory()]); n == 0 { // the log has it
				continue
			}
		}
		gone := evictedOf(view, id)
		if gone.Versions == 0 || p.failed > 0 { // it may be what is still there
			there := forgottenOf{1, 0, r.options.Now(), c.since, 0}
			if now, err := r.wm.Stats(ctx, engram.PatternOf(id), engram.LevelProviderSegment); err == nil && len(now) == 1 && now[0].Snapshots > 0 {
				there.First, there.Last = now[0].First, now[0].Last
			}
			gone = gone.plus(there)
		}
		gone.Versions = n
		all[id] = gone
	}
	r.account.setLost(all)
}

// evictedOf returns when what the working memory has evicted of a provider segment was; how
// much that is it may count more than once.
func evictedOf(view *wm.View, provider engram.ID) (sum forgottenOf) {
	add := func(l wm.Loss) { sum = sum.plus(forgottenOf{l.Snapshots, l.First, l.Last, l.Arrived, 0}) }
	add(view.Gone(provider))
	for name := range view.Names(provider) {
		if entity, err := provider.Child(name); err == nil {
			if e := view.Entity(entity); e != nil {
				add(e.Lost())
			}
		}
	}
	return sum
}

// setLost sets what was lost in this epoch, by provider segment.
func (a *account) setLost(of map[engram.ID]forgottenOf) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !maps.Equal(a.mu.Lost, of) {
		a.mu.Lost, a.mu.changed = of, true
	}
}

// missLostBefore tells of what was lost of an entity's provider segment in earlier epochs, if
// that may have been what was asked of it and not found.
func (x *execution) missLostBefore(entity engram.ID) {
	x.missLostOf(entity.Parent(), func(is func(query.Asked) bool) bool { return slices.ContainsFunc(x.found.Asked, is) })
}

// missLostBelow tells of it if nodes ask for what is not there, or for all there is, below a
// core or a provider segment.
func (x *execution) missLostBelow(id engram.ID, nodes []*query.Node) {
	if len(x.s.account.unrecorded) == 0 {
		return
	}
	names := x.names(id)
	for _, n := range nodes {
		listed, lists := n.Names()
		if id.Level() == engram.LevelProviderSegment && !lists {
			x.missLostOf(id, n.Asks)
		}
		for _, name := range listed {
			child, err := id.Child(name)
			if err != nil {
				continue
			}
			if _, there := names.Get(name); !there {
				x.missLostOf(child.Truncate(engram.LevelProviderSegment), n.Asks)
			}
		}
	}
	if id.Level() == engram.LevelCoreSegment {
		x.fail(query.EachChild(x.ctx, lostNames{names}, nodes, func(provider engram.ID, matching []*query.Node) error {
			for _, n := range matching {
				x.missLostOf(provider, n.Asks)
			}
			return nil
		}))
	}
}

// lostNames are the provider segments of a core segment of which something was lost in
// earlier epochs and nothing is there.
type lostNames struct{ *names }

// Get implements query.Table.
func (n lostNames) Get(name string) (engram.ID, bool) {
	id, err := n.parent.Child(name)
	if err != nil {
		return id, false
	}
	if _, lost := n.x.s.account.unrecorded[id]; !lost {
		return id, false
	}
	_, there := n.names.Get(name)
	return id, !there
}

// Sorted implements query.Table.
func (n lostNames) Sorted() iter.Seq2[string, engram.ID] {
	return func(yield func(string, engram.ID) bool) {
		for _, id := range slices.SortedFunc(maps.Keys(n.x.s.account.unrecorded), engram.ID.Compare) {
			if id.Parent() != n.parent {
				continue
			}
			if _, missing := n.Get(id.Name()); missing && !yield(id.Name(), id) {
				return
			}
		}
	}
}

// missLostOf tells of what was lost of a provider segment in earlier epochs, once, if it may
// have been what somebody asks for.
func (x *execution) missLostOf(provider engram.ID, asks func(is func(query.Asked) bool) bool) {
	of, some := x.s.account.unrecorded[provider]
	told := toldLoss{segment: provider, loss: -1}
	removed := func(r removal) bool { return of.Arrived <= r.Arrived }
	if !some || x.told[told] || slices.ContainsFunc(x.version.hiddenOf(provider), removed) {
		return
	}
	var m *engram.Missing
	asks(func(a query.Asked) bool { m = of.loss().Missing(provider, a, x.admit.asOf, m); return false })
	if m != nil {
		x.tell(told, *m)
	}
}
