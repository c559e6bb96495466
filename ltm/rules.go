package ltm

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/query"
)

const (
	// maxRules bounds the standing rules: each looks at every update that its patterns match.
	maxRules = 64
	// sealGap is the least time between two episodes that a rule ends.
	sealGap = 10 * time.Second
)

// ruleSet runs the standing rules.
type ruleSet struct {
	s      *Store
	ctx    context.Context
	end    context.CancelFunc
	growth growth
	keeper sync.WaitGroup
	// changing is held while a rule is set or removed: what is noted is what is followed.
	changing sync.Mutex
	mu       struct {
		sync.Mutex
		running map[string]*runningRule
		closed  bool
	}
}

// runningRule is a rule that is followed. Its fields but for ending, grows, missed and
// missedAt belong to the goroutine that follows it, once it runs.
type runningRule struct {
	Rule
	set    *ruleSet
	ctx    context.Context
	end    context.CancelFunc
	done   sync.WaitGroup
	filter *idf.Filter
	stream engram.UpdateStream
	seen   uint64      // the number of the last update looked at
	sealed engram.Time // when it ended an episode last

	ending   atomic.Bool // it is ending an episode
	grows    *growing    // the mark that it set or made longer last; growth.mu
	missed   atomic.Uint64
	missedAt atomic.Int64 // an engram.Time, 0 if it misses nothing just now
}

func (g *ruleSet) newRun(r Rule) *runningRule {
	run := &runningRule{Rule: r, set: g, seen: g.s.wm.Number(), sealed: engram.MinTime}
	run.ctx, run.end = context.WithCancel(g.ctx)
	return run
}

// startRules runs the rules that were set in earlier lives. One that cannot be followed is
// tried again; the server begins nevertheless.
func (s *Store) startRules() {
	s.rules = &ruleSet{s: s}
	s.rules.ctx, s.rules.end = context.WithCancel(context.Background())
	s.rules.mu.running = map[string]*runningRule{}
	s.rules.growth.changed = make(chan struct{}, 1)
	s.rules.keeper.Go(s.rules.saveMarks)
	rules, _ := s.Rules(context.Background())
	for _, r := range rules {
		run := s.rules.newRun(r)
		s.rules.run(run, run.subscribe(engram.Start{}))
	}
}

// Rules implements [Service].
func (s *Store) Rules(context.Context) ([]Rule, error) {
	s.state.mu.Lock()
	rules := slices.Clone(s.state.mu.Rules)
	s.state.mu.Unlock()
	if s.rules != nil {
		s.rules.mu.Lock()
		defer s.rules.mu.Unlock()
		for i := range rules {
			if run := s.rules.mu.running[rules[i].Name]; run != nil {
				rules[i].Missed = run.missed.Load()
			}
		}
	}
	return rules, nil
}

// SetRule implements [Service].
func (s *Store) SetRule(ctx context.Context, r Rule) error {
	switch {
	case s.rules == nil:
		return errNotBegun
	case r.Before < 0 || r.After < 0:
		return engram.Errorf(engram.Invalid, r.Name, "the rule keeps %v before and %v after: neither may be negative", time.Duration(r.Before), time.Duration(r.After))
	case r.When == "":
		return engram.Errorf(engram.Invalid, r.Name, "the rule does not say when; give a CEL expression over an instance")
	}
	if err := cmp.Or(engram.CheckName(r.Name), checkLabel(labelOf(r))); err != nil {
		return err
	}
	s.rules.changing.Lock()
	defer s.rules.changing.Unlock()
	if rules, _ := s.Rules(ctx); len(rules) >= maxRules && !slices.ContainsFunc(rules, func(o Rule) bool { return o.Name == r.Name }) {
		return engram.Errorf(engram.Exhausted, r.Name, "there are %d standing rules already; remove one", maxRules)
	}
	if err := s.doubtRule(ctx, r); err != nil {
		return err
	}
	// It is subscribed to before it is noted, and run afterwards: one that cannot be
	// followed is not noted, one that cannot be noted is not followed, and no update in
	// between is missed. One that satisfies the rule that this replaces, too, may get a
	// mark of each.
	r.Missed = 0
	run := s.rules.newRun(r)
	if err := run.subscribe(engram.Start{}); err != nil {
		run.end()
		return err
	}
	err := s.changeState(func(c *stateContent) {
		c.Rules = slices.DeleteFunc(c.Rules, func(o Rule) bool { return o.Name == r.Name })
		c.Rules = append(c.Rules, r)
		slices.SortFunc(c.Rules, func(a, b Rule) int { return cmp.Compare(a.Name, b.Name) })
	})
	if err != nil { // the one that it was to replace goes on
		run.end()
		run.stream.Close()
		return err
	}
	s.rules.run(run, nil)
	return nil
}

// doubtRule refuses a rule that names no segments, or that no update of those that there
// are now would ever satisfy.
func (s *Store) doubtRule(ctx context.Context, r Rule) error {
	filter, err := s.compiler().Filter(r.When)
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
		segments, err := s.wm.Describe(ctx, core)
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
		segments, err := s.wm.Describe(ctx, p)
		if err != nil {
			return err
		}
		for _, d := range segments {
			t, ok := s.options.Types.Get(cmp.Or(d.Type, engram.ValueType))
			if !ok {
				return nil
			}
			types = append(types, t)
		}
	}
	if err := filter.Doubts(types); err != nil {
		return engram.Errorf(engram.Invalid, r.Name, "the rule would never do anything: %w", err)
	}
	return nil
}

// RemoveRule implements [Service].
func (s *Store) RemoveRule(ctx context.Context, name string) error {
	if s.rules != nil {
		s.rules.changing.Lock()
		defer s.rules.changing.Unlock()
	}
	rules, _ := s.Rules(ctx)
	if !slices.ContainsFunc(rules, func(r Rule) bool { return r.Name == name }) {
		return engram.Errorf(engram.NotFound, name, "there is no such standing rule")
	}
	if err := s.changeState(func(c *stateContent) {
		c.Rules = slices.DeleteFunc(c.Rules, func(r Rule) bool { return r.Name == name })
	}); err != nil {
		return err
	}
	if s.rules != nil {
		s.rules.stop(name)
	}
	return nil
}

// ruleQueue and the working memory's Limits.MaxQueueBytes bound what waits for a rule.
const ruleQueue = 65_536

// subscribe subscribes to the updates that the rule's patterns match.
func (r *runningRule) subscribe(from engram.Start) (err error) {
	s := r.set.s
	if r.filter, err = s.compiler().Filter(r.When); err != nil {
		return err
	}
	sub := engram.Subscription{
		Start: from, WithData: true, Slow: engram.SlowDropOldest, Queue: min(ruleQueue, s.wm.Limits().MaxQueue),
	}
	for _, text := range r.Patterns {
		p, err := engram.ParsePattern(text)
		if err != nil {
			return err
		}
		sub.Patterns = append(sub.Patterns, p)
	}
	r.stream, err = s.wm.Subscribe(r.ctx, sub)
	return err
}

// run follows a rule, in place of the one of its name; err says why it is not subscribed.
func (g *ruleSet) run(run *runningRule, err error) {
	g.stop(run.Name)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.closed {
		run.end()
	} else {
		g.mu.running[run.Name] = run
	}
	run.done.Go(func() { run.follow(err) })
}

func (g *ruleSet) stop(name string) {
	g.mu.Lock()
	run := g.mu.running[name]
	delete(g.mu.running, name)
	g.mu.Unlock()
	if run != nil {
		run.end()
		run.done.Wait()
		g.s.health.set(run.what(), nil)
	}
}

// labelOf returns what the marks of a rule are labelled with.
func labelOf(r Rule) string { return cmp.Or(r.Label, r.Name) }

// what names the rule in the store's health.
func (r *runningRule) what() string { return "the standing rule " + r.Name }

// followAgain is the pause before a rule that cannot be followed is tried again.
const followAgain = time.Second

// follow follows the rule until it is ended or the working memory is closed. When it is
// interrupted it goes on where it was.
func (r *runningRule) follow(err error) {
	for {
		if err == nil {
			err = r.watch()
			r.stream.Close()
		}
		if r.ctx.Err() != nil || engram.CodeOf(err) == engram.Unavailable {
			return
		}
		r.set.s.health.set(r.what(), engram.Errorf(engram.CodeOf(err), "", "it is not followed just now: %w", err))
		select {
		case <-time.After(followAgain):
		case <-r.ctx.Done():
			return
		}
		if err = r.subscribe(engram.Start{Kind: engram.StartNumber, Number: r.seen}); err == nil {
			r.set.s.health.set(r.what(), nil)
		}
	}
}

// watch marks what satisfies the rule, and ends the episode there if the rule says so,
// until the stream ends.
func (r *runningRule) watch() error {
	for {
		batch, err := r.stream.Next(r.ctx)
		if err != nil {
			return err
		}
		for i := range batch {
			u := &batch[i]
			if u.Dropped > 0 {
				r.miss(u.Dropped, "updates came faster than it could look at them")
			}
			r.seen = u.Number
			if query.FilterSnapshot(r.set.s.options.Types, r.filter, u.Snapshot) == nil {
				continue
			}
			if r.Seal {
				r.seal()
			}
			r.set.mark(r, u.Snapshot.Time)
		}
	}
}

// missedFor is how long it is told that a rule missed something.
const missedFor = time.Minute

// miss counts updates that are not marked though they may satisfy the rule.
func (r *runningRule) miss(n uint64, why string) {
	r.missedAt.Store(int64(r.set.s.options.Now()))
	sum := r.missed.Add(n)
	r.set.s.health.set(r.what(), engram.Errorf(engram.Exhausted, "", "it missed %d updates in this life: %s", sum, why))
}

// ease takes back that rules missed something, when that is a while ago.
func (g *ruleSet) ease() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.s.options.Now()
	for _, run := range g.mu.running {
		at := run.missedAt.Load()
		if ago := now.Sub(engram.Time(at)); at != 0 && (ago < 0 || ago > missedFor) && run.missedAt.CompareAndSwap(at, 0) {
			g.s.health.set(run.what(), nil)
		}
	}
}

// seal ends the open episode, unless the rule ended one just before. What the disk makes
// wait does not keep the rule from looking at updates.
func (r *runningRule) seal() {
	s := r.set.s
	now := s.options.Now()
	if soon := now >= r.sealed && now.Sub(r.sealed) < sealGap; soon || !r.ending.CompareAndSwap(false, true) {
		return
	}
	r.sealed = now
	r.done.Go(func() {
		defer r.ending.Store(false)
		if err := s.Seal(r.ctx, labelOf(r.Rule)); err != nil && r.ctx.Err() == nil {
			s.options.Log.Error("a standing rule could not end the episode", "rule", r.Name, "error", err)
		}
	})
}

// close waits until what the working memory, which was closed, still held for the rules
// was looked at, and saves their marks.
func (g *ruleSet) close() {
	g.mu.Lock()
	g.mu.closed = true
	running := g.mu.running
	g.mu.running = nil
	g.mu.Unlock()
	patience := time.AfterFunc(closePatience, g.end)
	defer patience.Stop()
	for _, run := range running {
		run.done.Wait()
	}
	g.end()
	g.keeper.Wait()
}
