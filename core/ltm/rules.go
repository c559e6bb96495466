package ltm

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/query"
)

const (
	// maxRules bounds the standing rules: each looks at every update that its patterns match.
	maxRules = 64
	// sealGap is the least time between two episodes that a rule ends.
	sealGap = 10 * time.Second
)

// ruleSet runs the standing rules, from Begin on.
type ruleSet struct {
	*env
	state  *state
	keeper *keeper

	ctx   context.Context
	end   context.CancelFunc
	saver sync.WaitGroup
	// changing is held while a rule is set or removed: what is noted is what is followed.
	changing sync.Mutex
	mu       struct {
		sync.Mutex
		running map[string]*runningRule
		closed  bool
	}
}

// runningRule is a rule that is followed. Its fields but for ending, and what is
// missed and failed belong to its follower, once it runs.
type runningRule struct {
	Rule
	set      *ruleSet
	ctx      context.Context
	end      context.CancelFunc
	follower *follow.Follower
	sealing  sync.WaitGroup
	filter   *query.Filter
	sealed   engram.Time // when it ended an episode last
	grows    *growing    // the mark that it set or made longer last

	ending   atomic.Bool // it is ending an episode
	missed   atomic.Uint64
	missedAt atomic.Int64 // an engram.Time, 0 if it misses nothing just now
	failed   atomic.Uint64
	failure  atomic.Pointer[string] // an example; nil if none failed
}

// newRun returns a run of a rule, of what comes from now on. The error is that of a pattern: then there is nothing to follow.
func (g *ruleSet) newRun(r Rule) (run *runningRule, err error) {
	run = &runningRule{Rule: r, set: g, sealed: engram.MinTime}
	run.ctx, run.end = context.WithCancel(g.ctx)
	o := follow.Options{
		Start: engram.Start{Kind: engram.StartNumber, Number: g.wm.Number()}, Queue: min(ruleQueue, g.wm.Limits().MaxQueue), Local: true, Trouble: run.trouble,
	}
	for _, text := range r.Patterns {
		p, bad := engram.ParsePattern(text)
		o.Patterns, err = append(o.Patterns, p), cmp.Or(err, bad)
	}
	run.follower = follow.New(g.wm, run, o)
	return run, err
}

// compile has a filter made of the rule's expression.
func (r *runningRule) compile() (err error) {
	if r.filter == nil {
		r.filter, err = r.set.wm.Compiler().Filter(r.ctx, r.When, r.set.options.Types, 0)
	}
	return err
}

// start runs the rules that were set in earlier epochs. One that cannot be followed is
// tried again; the server begins nevertheless.
func (g *ruleSet) start() {
	g.ctx, g.end = context.WithCancel(context.Background())
	g.mu.running = map[string]*runningRule{}
	g.saver.Go(g.saveMarks)
	for _, r := range g.state.content().Rules {
		run, err := g.newRun(r)
		if err != nil {
			run.trouble(err)
			continue
		}
		err = run.compile()
		g.run(run)
		if err != nil {
			run.trouble(err) // until the first update, on which it is tried again
		}
	}
}

// Rules implements [Service].
func (g *ruleSet) Rules(context.Context) ([]Rule, error) {
	rules := slices.Clone(g.state.content().Rules)
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range rules {
		if run := g.mu.running[rules[i].Name]; run != nil {
			rules[i].Missed, rules[i].Failed = run.missed.Load(), run.failed.Load()
			if example := run.failure.Load(); example != nil {
				rules[i].Failure = *example
			}
		}
	}
	return rules, nil
}

// SetRule implements [Service].
func (g *ruleSet) SetRule(ctx context.Context, r Rule) error {
	switch {
	case g.recorder == nil:
		return errNotBegun
	case r.Before < 0 || r.After < 0:
		return engram.Errorf(engram.Invalid, r.Name, "the rule keeps %v before and %v after: neither may be negative", time.Duration(r.Before), time.Duration(r.After))
	case r.When == "":
		return engram.Errorf(engram.Invalid, r.Name, "the rule does not say when; give a CEL expression over an instance")
	}
	if err := cmp.Or(engram.CheckName(r.Name), checkLabel(labelOf(r))); err != nil {
		return err
	}
	g.changing.Lock()
	defer g.changing.Unlock()
	if rules := g.state.content().Rules; len(rules) >= maxRules && !slices.ContainsFunc(rules, func(o Rule) bool { return o.Name == r.Name }) {
		return engram.Errorf(engram.Exhausted, r.Name, "there are %d standing rules already; remove one", maxRules)
	}
	if err := g.doubtRule(ctx, r); err != nil {
		return err
	}
	// It is subscribed to before it is noted, and run afterwards: one that cannot be
	// followed is not noted, one that cannot be noted is not followed, and no update in
	// between is missed. One that satisfies the rule that this replaces, too, may get a
	// mark of each.
	r.Missed, r.Failed, r.Failure = 0, 0, ""
	run, err := g.newRun(r)
	if err == nil {
		err = run.compile()
	}
	if err == nil {
		err = run.follower.Open(ctx)
	}
	if err != nil {
		run.end()
		return err
	}
	err = g.state.change(func(c *stateContent) {
		c.Rules = slices.DeleteFunc(c.Rules, func(o Rule) bool { return o.Name == r.Name })
		c.Rules = append(c.Rules, r)
		slices.SortFunc(c.Rules, func(a, b Rule) int { return cmp.Compare(a.Name, b.Name) })
	})
	if err != nil { // the one that it was to replace goes on
		run.close()
		return err
	}
	g.run(run)
	return nil
}

// doubtRule refuses a rule that names no segments, or that no update of those that there
// are now would ever satisfy.
func (g *ruleSet) doubtRule(ctx context.Context, r Rule) error {
	filter, err := g.wm.Compiler().Expression(r.When)
	if err != nil {
		return err
	}
	patterns := []engram.Pattern{{}}
	if len(r.Patterns) > 0 {
		patterns = nil
	}
	for _, text := range r.Patterns {
		p, err := engram.ParsePattern(text)
		if err != nil {
			return err
		}
		core := p
		core.Levels = p.Levels[:min(len(p.Levels), int(engram.LevelCoreSegment))]
		segments, err := g.wm.Describe(ctx, core)
		if err != nil {
			return err
		}
		if len(segments) == 0 {
			return engram.Errorf(engram.NotFound, text, "no core segment matches it; 'engram segment ls' lists them")
		}
		p.Levels = p.Levels[:min(len(p.Levels), int(engram.LevelProviderSegment))]
		patterns = append(patterns, p)
	}
	var types []*idf.Type
	for _, p := range patterns {
		segments, err := g.wm.Describe(ctx, p)
		if err != nil {
			return err
		}
		for _, d := range segments {
			t, ok := g.options.Types.Get(cmp.Or(d.Type, engram.ValueType))
			if !ok {
				return nil
			}
			types = append(types, t)
		}
	}
	if filter.Doubts(types) == nil {
		return nil
	}
	// Payloads may be of types that extend the segments'.
	var all []*idf.Type
	for _, name := range g.options.Types.Names() {
		if t, ok := g.options.Types.Get(name); ok {
			all = append(all, t)
		}
	}
	if err := filter.Doubts(append(types, idf.Extending(all, types)...)); err != nil {
		return engram.Errorf(engram.Invalid, r.Name, "the rule would never do anything: %w", err)
	}
	return nil
}

// RemoveRule implements [Service].
func (g *ruleSet) RemoveRule(_ context.Context, name string) error {
	g.changing.Lock()
	defer g.changing.Unlock()
	if !slices.ContainsFunc(g.state.content().Rules, func(r Rule) bool { return r.Name == name }) {
		return engram.Errorf(engram.NotFound, name, "there is no such standing rule")
	}
	if err := g.state.change(func(c *stateContent) {
		c.Rules = slices.DeleteFunc(c.Rules, func(r Rule) bool { return r.Name == name })
	}); err != nil {
		return err
	}
	g.stop(name)
	return nil
}

// ruleQueue and the working memory's Limits.MaxQueueBytes bound what waits for a rule.
const ruleQueue = 65_536

// run follows a rule, in place of the one of its name.
func (g *ruleSet) run(run *runningRule) {
	g.stop(run.Name)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.closed {
		run.close()
		return
	}
	g.mu.running[run.Name] = run
	run.follower.Start()
}

func (g *ruleSet) stop(name string) {
	g.mu.Lock()
	run := g.mu.running[name]
	delete(g.mu.running, name)
	g.mu.Unlock()
	if run != nil {
		run.close()
	}
	g.health.set(whatOf(name), nil)
}

// close ends the run.
func (r *runningRule) close() {
	r.end()
	_ = r.follower.Close() // there is nothing to lose
	r.sealing.Wait()
}

// labelOf returns what the marks of a rule are labelled with.
func labelOf(r Rule) string { return cmp.Or(r.Label, r.Name) }

// whatOf names a rule in the store's health.
func whatOf(rule string) string { return "the standing rule " + rule }

// trouble tells why the rule is not followed just now; nil that it is.
func (r *runningRule) trouble(err error) {
	if err != nil {
		err = engram.Errorf(engram.CodeOf(err), "", "it is not followed just now: %w", err)
	}
	r.set.health.set(whatOf(r.Name), err)
}

// Apply implements [follow.View]: it marks what satisfies the rule, and ends the episode there if the rule says so.
func (r *runningRule) Apply(_ uint64, updates []engram.Update) (_ []string, err error) {
	if err := r.compile(); err != nil {
		return nil, err
	}
	for i := range updates {
		u := &updates[i]
		if u.Dropped > 0 {
			r.miss(u.Dropped, "updates came faster than it could look at them")
		}
		r.filter.Entity(u.ID.Truncate(engram.LevelEntity))
		satisfied := r.filter.Snapshot(u.Snapshot) != nil
		if err := r.filter.Err(); err != nil {
			r.filter = nil // it is compiled anew
			return nil, err
		}
		if n := r.filter.Failures(); n > r.failed.Load() {
			failure := r.filter.Failed()
			r.failed.Store(n)
			example := failure.Example.String() + ": " + failure.Detail
			r.failure.Store(&example)
		}
		if !satisfied {
			continue
		}
		if r.Seal {
			r.seal()
		}
		if r.grows, err = r.set.keeper.grow(r.grows, &r.Rule, u.Snapshot.Time); err != nil {
			r.miss(1, "there are too many marks")
		}
	}
	return nil, nil
}

// missedFor is how long it is told that a rule missed something.
const missedFor = time.Minute

// miss counts updates that are not marked though they may satisfy the rule.
func (r *runningRule) miss(n uint64, why string) {
	r.missedAt.Store(int64(r.set.options.Now()))
	sum := r.missed.Add(n)
	r.set.health.set(whatOf(r.Name), engram.Errorf(engram.Exhausted, "", "it missed %d updates in this epoch: %s", sum, why))
}

// saveMarks saves what standing rules marked, now and then.
func (g *ruleSet) saveMarks() {
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.keeper.growth.changed:
		case <-ticker.C: // what could not be saved is tried again
		case <-g.ctx.Done():
			ctx, cancel := context.WithTimeout(context.Background(), lastPatience)
			defer cancel()
			_ = g.keeper.save(ctx)
			return
		}
		if err := g.keeper.save(g.ctx); err != nil && g.ctx.Err() == nil {
			g.options.Log.Error("not all that a standing rule marked could be recorded", "error", err)
		}
		g.ease()
		select {
		case <-time.After(saveEvery):
		case <-g.ctx.Done():
		}
	}
}

// ease takes back that rules missed something, when that is a while ago.
func (g *ruleSet) ease() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.options.Now()
	for _, run := range g.mu.running {
		at := run.missedAt.Load()
		if ago := now.Sub(engram.Time(at)); at != 0 && (ago < 0 || ago > missedFor) && run.missedAt.CompareAndSwap(at, 0) {
			g.health.set(whatOf(run.Name), nil)
		}
	}
}

// seal ends the open episode, unless the rule ended one just before. What the disk makes
// wait does not keep the rule from looking at updates.
func (r *runningRule) seal() {
	g := r.set
	now := g.options.Now()
	if soon := now >= r.sealed && now.Sub(r.sealed) < sealGap; soon || !r.ending.CompareAndSwap(false, true) {
		return
	}
	r.sealed = now
	r.sealing.Go(func() {
		defer r.ending.Store(false)
		if err := g.recorder.sealNow(r.ctx, labelOf(r.Rule)); err != nil && r.ctx.Err() == nil {
			g.options.Log.Error("a standing rule could not end the episode", "rule", r.Name, "error", err)
		}
	})
}

// rulesPatience bounds how long closing waits for the rules.
const rulesPatience = 10 * time.Second

// close waits until what the working memory, which was closed, still held for the rules
// was looked at, and saves their marks. Rules that were not started need no end.
func (g *ruleSet) close() {
	if g.end == nil {
		return
	}
	g.mu.Lock()
	g.mu.closed = true
	running := g.mu.running
	g.mu.running = nil
	g.mu.Unlock()
	patience := time.AfterFunc(rulesPatience, g.end)
	defer patience.Stop()
	for _, run := range running {
		select {
		case <-run.follower.Done():
		case <-g.ctx.Done():
		}
		run.close()
	}
	g.end()
	g.saver.Wait()
}
