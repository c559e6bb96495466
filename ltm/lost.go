package ltm

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/policy"
	"github.com/seed-301d4374/engram/query"
	"github.com/seed-301d4374/engram/wm"
)

// What is committed faster than it can be recorded, and evicted before, is lost where no log
// has it. Nobody knows what it was: the recorder was not given it, and with the entity even
// its name is gone. But the working memory counts what was committed to each provider
// segment, and the recorder what it was given, so that it is known how much is lost of each.

// lossCount finds out how much was lost of each provider segment. It belongs to the
// recorder's goroutine, but for recalled, which has a lock of its own.
type lossCount struct {
	providers map[engram.ID]*providerCount
	before    map[engram.ID]uint64 // committed before the recorder was told of updates
	since     engram.Time          // when that began
	noted     uint64               // counts.lost, when it was found out last
	recalled  *providerNumbers     // versions since then
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

// add counts a version.
func (n *providerNumbers) add(version engram.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = map[engram.ID]uint64{}
	}
	n.of[version.Truncate(engram.LevelProviderSegment)]++
}

func (n *providerNumbers) get(provider engram.ID) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.of[provider]
}

func newLossCount() lossCount {
	return lossCount{providers: map[engram.ID]*providerCount{}, before: map[engram.ID]uint64{}, recalled: &providerNumbers{}}
}

// begin notes what was committed before the recorder is told of updates.
func (c *lossCount) begin(ctx context.Context, w *wm.WM, now engram.Time) error {
	committed, err := committedTo(ctx, w)
	c.since = now
	for id, of := range committed {
		c.before[id] = of.Committed
	}
	return err
}

// committedTo returns what the working memory tells of each provider segment.
func committedTo(ctx context.Context, w *wm.WM) (map[engram.ID]engram.Stats, error) {
	nodes, err := w.Stats(ctx, engram.Pattern{}, engram.LevelProviderSegment)
	of := map[engram.ID]engram.Stats{}
	for _, n := range nodes {
		if n.ID.Level() == engram.LevelProviderSegment {
			of[n.ID] = n
		}
	}
	return of, err
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

// forget lets go of a segment that is removed.
func (c *lossCount) forget(segment engram.ID) {
	maps.DeleteFunc(c.providers, func(id engram.ID, _ *providerCount) bool { return segment.Contains(id) })
	maps.DeleteFunc(c.before, func(id engram.ID, _ uint64) bool { return segment.Contains(id) })
	c.recalled.mu.Lock()
	defer c.recalled.mu.Unlock()
	maps.DeleteFunc(c.recalled.of, func(id engram.ID, _ uint64) bool { return segment.Contains(id) })
}

// note notes, for queries in later epochs, what was lost in this one of segments that no log
// has, if something was lost since it was noted last. It notes nothing while the recorder
// has still something to do.
func (c *lossCount) note(ctx context.Context, r *recorder) {
	lost, newest := r.counts.lost.Load(), r.wm.Number()
	if lost == c.noted || r.progress.done.Load() < r.progress.told(newest) {
		return
	}
	committed, err := committedTo(ctx, r.wm)
	if err != nil || r.wm.Number() != newest { // it is tried again
		return
	}
	c.noted = lost
	all := map[engram.ID]forgottenOf{}
	view := r.wm.View(ctx, nil)
	for id, now := range committed {
		p := c.of(id)
		had := c.before[id] + c.recalled.get(id) + p.given
		n := now.Committed - min(had, now.Committed) + p.failed
		if n == 0 || r.policies.Of(id).Record == policy.Never {
			continue
		}
		if d, err := r.wm.Describe(ctx, engram.PatternOf(id)); err != nil || len(d) == 0 || d[0].Durability != engram.Volatile {
			continue
		}
		gone := evictedOf(view, id)
		if gone.Versions == 0 || p.failed > 0 { // it may be what is still there
			there := forgottenOf{1, 0, r.options.Now(), c.since, 0}
			if now.Snapshots > 0 {
				there.First, there.Last = now.First, now.Last
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

// lostOf sums up what was lost in earlier epochs and in this one.
func lostOf(before, now map[engram.ID]forgottenOf) map[engram.ID]forgottenOf {
	sum := map[engram.ID]forgottenOf{}
	maps.Copy(sum, before)
	for id, of := range now {
		sum[id] = sum[id].plus(of)
	}
	bounded(sum)
	return sum
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
