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

type runningRule struct {
	stream engram.UpdateStream
	done   sync.WaitGroup
	sealed engram.Time // when it ended an episode last
	ending atomic.Bool // it is ending one
	grows  *growing    // the mark that it set or made longer last; growth.mu
}

func (g *runningRule) close() {
	g.stream.Close()
	g.done.Wait()
}

// startRules runs the rules that were set in earlier lives.
func (s *Store) startRules() error {
	s.rules = &ruleSet{s: s}
	s.rules.ctx, s.rules.end = context.WithCancel(context.Background())
	s.rules.mu.running = map[string]*runningRule{}
	s.rules.growth.changed = make(chan struct{}, 1)
	s.rules.keeper.Go(s.rules.saveMarks)
	rules, _ := s.Rules(context.Background())
	for _, r := range rules {
		if err := s.rules.start(r); err != nil {
			return engram.Errorf(engram.CodeOf(err), r.Name, "the standing rule cannot be followed: %w", err)
		}
	}
	return nil
}

// Rules implements [Service].
func (s *Store) Rules(context.Context) ([]Rule, error) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return slices.Clone(s.state.mu.Rules), nil
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
	stream, err := s.rules.subscribe(r)
	if err != nil {
		return err
	}
	err = s.changeState(func(c *stateContent) {
		c.Rules = slices.DeleteFunc(c.Rules, func(o Rule) bool { return o.Name == r.Name })
		c.Rules = append(c.Rules, r)
		slices.SortFunc(c.Rules, func(a, b Rule) int { return cmp.Compare(a.Name, b.Name) })
	})
	if err != nil { // the one that it was to replace goes on
		stream.Close()
		return err
	}
	return s.rules.run(r, stream)
}

// doubtRule refuses a rule that no update of the segments that there are now would ever
// satisfy.
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

// start follows a rule, in place of the one of its name.
func (g *ruleSet) start(r Rule) error {
	stream, err := g.subscribe(r)
	if err != nil {
		return err
	}
	return g.run(r, stream)
}

// subscribe subscribes to the updates that satisfy a rule.
func (g *ruleSet) subscribe(r Rule) (engram.UpdateStream, error) {
	sub := engram.Subscription{Where: r.When, Slow: engram.SlowDropOldest}
	for _, text := range r.Patterns {
		p, err := engram.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		sub.Patterns = append(sub.Patterns, p)
	}
	return g.s.wm.Subscribe(g.ctx, sub)
}

// run follows a rule with its subscription, in place of the one of its name.
func (g *ruleSet) run(r Rule, stream engram.UpdateStream) error {
	g.stop(r.Name)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.closed {
		stream.Close()
		return engram.Errorf(engram.Unavailable, r.Name, "the long-term memory is closed")
	}
	run := &runningRule{stream: stream}
	run.done.Go(func() { g.follow(r, run) })
	g.mu.running[r.Name] = run
	return nil
}

func (g *ruleSet) stop(name string) {
	g.mu.Lock()
	run := g.mu.running[name]
	delete(g.mu.running, name)
	g.mu.Unlock()
	if run != nil {
		run.close()
	}
}

// labelOf returns what the marks of a rule are labelled with.
func labelOf(r Rule) string { return cmp.Or(r.Label, r.Name) }

// follow marks what satisfies a rule, and ends the episode there if the rule says so.
func (g *ruleSet) follow(r Rule, run *runningRule) {
	for u, err := range engram.Updates(g.ctx, run.stream) {
		if err != nil {
			return
		}
		if r.Seal {
			g.seal(r, run)
		}
		t, _ := u.ID.Time()
		g.mark(r, run, t)
	}
}

// seal ends the open episode, unless the rule ended one just before. What the disk makes
// wait does not keep the rule from looking at updates.
func (g *ruleSet) seal(r Rule, run *runningRule) {
	now := g.s.options.Now()
	if soon := now >= run.sealed && now.Sub(run.sealed) < sealGap; soon || run.ending.Load() {
		return
	}
	run.sealed = now
	run.ending.Store(true)
	run.done.Go(func() {
		defer run.ending.Store(false)
		if err := g.s.Seal(g.ctx, labelOf(r)); err != nil && g.ctx.Err() == nil {
			g.s.options.Log.Error("a standing rule could not end the episode", "rule", r.Name, "error", err)
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
		run.stream.Close()
	}
	g.end()
	g.keeper.Wait()
}
