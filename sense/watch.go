package sense

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill/condition"
)

const (
	watchQueue = 1 << 13
	maxInputs  = 1 << 14 // entities that a rule's clauses are about
	// lookAgain is how often is looked what changes without an update that is followed: ages, the world, and whether
	// a memory that was missing is there.
	lookAgain = 100 * time.Millisecond
)

// watcher follows what a rule waits for. One goroutine uses it.
type watcher struct {
	a    *Attention
	name string
	rule *standing
	on   *engram.PatternMatcher // nil if the rule waits for no updates

	inputs   inputs
	lacks    map[string]string // core segments that there are not, with what is said of it
	looked   time.Time         // for them
	absences map[string]string // servers that are away, with what is said of it
	failed   string            // why a condition could not be evaluated last
}

// inputs are the newest snapshots of what clauses are about, as they were told.
type inputs struct {
	condition.Present
	newest map[engram.ID]engram.Item
	match  map[string]*engram.PatternMatcher
}

// Newest implements [condition.Present].
func (in *inputs) Newest(_ context.Context, p engram.Pattern) (items []engram.Item, err error) {
	text := p.String()
	m := in.match[text]
	if m == nil {
		if m, err = p.Matcher(); err != nil {
			return nil, err
		}
		in.match[text] = m
	}
	for entity, it := range in.newest {
		if m.Match(entity) {
			items = append(items, it)
		}
	}
	return items, nil
}

func (in *inputs) put(it engram.Item) {
	entity := it.ID.Truncate(engram.LevelEntity)
	if was, ok := in.newest[entity]; !ok && len(in.newest) < maxInputs || ok && was.Snapshot.Time <= it.Snapshot.Time {
		in.newest[entity] = it
	}
}

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		w.failed = "what it waits for is not followed: " + err.Error()
		w.miss()
		pause(ctx, repeat)
	}
}

func (w *watcher) follow(ctx context.Context) error {
	var patterns, clauses []engram.Pattern
	for _, c := range w.rule.clauses {
		clauses = append(clauses, c.Patterns()...)
	}
	patterns = clauses
	if w.rule.On != "" {
		var err error
		if w.on, err = w.rule.on.Matcher(); err != nil {
			return err
		}
		patterns = append(slices.Clone(clauses), w.rule.on)
	}
	stream, err := w.a.svc.Subscribe(ctx, engram.Subscription{Patterns: patterns, WithData: true, Queue: watchQueue, Absences: true})
	if err != nil {
		return err
	}
	defer stream.Close()
	w.absences = map[string]string{}
	if err := w.read(ctx, clauses); err != nil {
		return err
	}
	for {
		updates, err := w.next(ctx, stream)
		if err != nil {
			return err
		}
		if len(updates) == 0 {
			w.look(ctx, engram.Item{})
		}
		for _, u := range updates {
			if u.Absence != nil {
				w.absent(u.Absence)
				w.miss()
			}
			if u.Dropped > 0 || u.Restarted || u.Absence != nil && u.Absence.Until != 0 {
				if err := w.read(ctx, clauses); err != nil {
					return err
				}
				if u.Dropped > 0 && w.on != nil { // one of what was lost may have been a trigger
					w.trigger(engram.ID{}, w.a.config.Now())
				}
			}
			if u.Snapshot == nil {
				continue
			}
			it := engram.Item{ID: u.ID, Snapshot: u.Snapshot}
			w.inputs.put(it)
			w.look(ctx, it)
		}
	}
}

// next waits for updates; it returns none where something is to be looked at again.
func (w *watcher) next(ctx context.Context, stream engram.UpdateStream) ([]engram.Update, error) {
	again := len(w.lacks) > 0 || slices.ContainsFunc(w.rule.clauses, func(c *condition.Clause) bool {
		return c.Fresh > 0 || c.Items != "" || c.Question != "" || c.Relation != ""
	})
	if !again {
		return stream.Next(ctx)
	}
	waiting, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	updates, err := stream.Next(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return updates, err
}

// read reads what the clauses are about.
func (w *watcher) read(ctx context.Context, clauses []engram.Pattern) error {
	w.inputs = inputs{w.a.config.Present, map[engram.ID]engram.Item{}, map[string]*engram.PatternMatcher{}}
	var q engram.Query
	for _, p := range clauses {
		q.Memories = append(q.Memories, p.Select(engram.Latest(1)).Memories...)
	}
	var newest engram.Item
	if len(clauses) > 0 {
		r, err := w.a.svc.Query(ctx, q)
		if err != nil {
			return err
		}
		for it := range r.All() {
			w.inputs.put(it)
			if newest.Snapshot == nil || it.Snapshot.Arrived > newest.Snapshot.Arrived {
				newest = it
			}
		}
	}
	w.lacks, w.looked = map[string]string{"": ""}, time.Time{} // to be looked at
	w.level(ctx, newest)
	return nil
}

// look decides about an update, or, if there is none, about what changes without one.
func (w *watcher) look(ctx context.Context, it engram.Item) {
	if w.on == nil {
		w.level(ctx, it)
		return
	}
	if len(w.lacks) > 0 {
		w.lookForSegments(ctx)
	}
	defer w.miss()
	if it.Snapshot == nil || !w.on.Match(it.ID.Truncate(engram.LevelEntity)) {
		return
	}
	satisfied, err := w.satisfied(ctx, it)
	if satisfied && err == nil {
		satisfied, err = w.hold(ctx, it.ID.Truncate(engram.LevelEntity))
	}
	w.failed = ""
	if err != nil { // whether it is a trigger is not known
		w.failed = err.Error()
	}
	if satisfied || err != nil {
		w.trigger(it.ID, it.Snapshot.Time)
	}
}

// satisfied reports whether an instance of an update satisfies the rule's expression.
func (w *watcher) satisfied(ctx context.Context, it engram.Item) (bool, error) {
	if w.rule.where == nil {
		return true, nil
	}
	for i := range it.Snapshot.Instances {
		ok, err := w.rule.where.Evaluate(w.a.typeOf(ctx, it.Snapshot.Instances[i].Payload.Type), it.Snapshot, i, nil)
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// hold reports whether all clauses hold, of a thing.
func (w *watcher) hold(ctx context.Context, thing engram.ID) (bool, error) {
	w.a.present.Lock()
	defer w.a.present.Unlock()
	if len(w.inputs.newest) >= maxInputs {
		return false, engram.Errorf(engram.Exhausted, "while", "the clauses are about %d entities or more", maxInputs)
	}
	for i, c := range w.rule.clauses {
		ok, _, err := c.Evaluate(ctx, &w.inputs, thing, w.a.config.Now())
		if err != nil {
			return false, engram.Errorf(engram.CodeOf(err), fmt.Sprintf("while[%d]", i), "%w", err)
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}

// level finds out whether the clauses hold, and tells the gate; by is the update that may have changed it.
func (w *watcher) level(ctx context.Context, by engram.Item) {
	if len(w.lacks) > 0 {
		w.lookForSegments(ctx)
	}
	if w.on != nil {
		w.miss()
		return
	}
	holds, err := w.hold(ctx, engram.ID{})
	w.failed = ""
	if err != nil {
		w.failed = err.Error()
	}
	w.miss()
	if err != nil || ctx.Err() != nil {
		return
	}
	at := w.a.config.Now()
	if by.Snapshot != nil {
		at = by.Snapshot.Time
	}
	w.decide(ctx, func(g *Gate) { g.Hold(w.name, holds, by.ID, at, w.a.config.Now()) })
}

func (w *watcher) trigger(cause engram.ID, at engram.Time) {
	w.decide(w.a.ctx, func(g *Gate) { g.Trigger(w.name, cause, at, w.a.config.Now()) })
}

// miss tells the gate and who looks at the rule what is lacking.
func (w *watcher) miss() {
	what := w.failed
	for _, all := range []map[string]string{w.absences, w.lacks} {
		for _, why := range all {
			what = cmp.Or(why, what)
		}
	}
	w.decide(w.a.ctx, func(g *Gate) {
		g.Miss(w.name, what, w.a.config.Now())
		w.a.mu.problems[w.name] = what
	})
}

// decide changes the gate, unless the rule is not that of this watcher any more.
func (w *watcher) decide(ctx context.Context, change func(*Gate)) {
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	if ctx.Err() != nil || w.a.mu.gate.rules[w.name] != w.rule {
		return
	}
	change(w.a.mu.gate)
	if w.a.mu.gate.wanted > 0 {
		w.a.awake()
	}
}

// lookForSegments finds out which core segments there are not, of those that the rule is about.
func (w *watcher) lookForSegments(ctx context.Context) {
	if time.Since(w.looked) < lookAgain {
		return
	}
	w.looked = time.Now()
	w.lacks = map[string]string{}
	wanted := make([][]engram.Pattern, 0, len(w.rule.clauses)+1) // one of each must be there
	for _, c := range w.rule.clauses {
		of := c.Patterns()
		if c.Items == "" && c.Question == "" {
			of = of[:1]
		}
		wanted = append(wanted, of)
	}
	if w.on != nil {
		wanted = append(wanted, []engram.Pattern{w.rule.on})
	}
	for _, of := range wanted {
		var names, why string
		for _, p := range of {
			segments := engram.Pattern{Levels: p.Levels[:min(len(p.Levels), int(engram.LevelCoreSegment))]}
			names = cmp.Or(names, segments.String())
			found, err := w.a.svc.Describe(ctx, segments)
			if err == nil && slices.ContainsFunc(found, func(d engram.Description) bool { return d.ID.Level() >= engram.LevelCoreSegment }) {
				why = ""
				break
			}
			why = "there is no " + names
			if err != nil {
				why = names + ": " + err.Error()
			}
		}
		if why != "" {
			w.lacks[names] = why
		}
	}
}

// absent takes notice of a server that went away or is back.
func (w *watcher) absent(x *engram.Absence) {
	delete(w.absences, x.Server)
	if x.Until == 0 {
		w.absences[x.Server] = fmt.Sprintf("the server %s is away, which has %v", x.Server, x.Memories)
	}
}
