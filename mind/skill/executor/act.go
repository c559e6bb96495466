package executor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// condition is the hook of Skill/Condition.
func (x *Executor) condition(ctx context.Context, u engram.EntityUpdate, store put) error {
	x.mu.Lock()
	svc := x.svc
	x.mu.Unlock()
	if plainly(ctx) || svc == nil {
		return store(u)
	}
	c, err := x.codec.Condition(u.Entity, u.Instances)
	if err != nil {
		return err
	}
	if item := (engram.Item{Snapshot: &engram.Snapshot{Time: u.Time, Arrived: x.clock()}}); imported(item) {
		return engram.Errorf(engram.Invalid, u.Entity.String(), "its time is %v, and now is %v; a condition is of now: set the clock", u.Time, item.Arrived)
	}
	if !c.Disabled {
		if err := x.checkCondition(ctx, c); err != nil {
			return err
		}
	}
	x.standing.setting.Lock()
	defer x.standing.setting.Unlock()
	if err := store(u); err != nil {
		return err
	}
	last, err := svc.Latest(engram.WithScope(ctx, nil), u.Entity)
	if err == nil && last.Time == u.Time { // else a newer one counts
		err = x.standing.put(ctx, c, u.Time)
	}
	if err != nil {
		server.Note(ctx, engram.Errorf(engram.CodeOf(err), c.ID.String(), "the condition is stored, and not looked at before the server begins anew: %w", err))
	}
	return nil
}

// checkCondition returns what is wrong with a condition that is given.
func (x *Executor) checkCondition(ctx context.Context, c *skill.Condition) error {
	if err := c.Check(); err != nil {
		return engram.Errorf(engram.CodeOf(err), c.ID.String(), "%w", err)
	}
	if len(c.On.Levels) == 0 && len(c.FromUpdate) > 0 {
		return engram.Errorf(engram.Invalid, c.ID.String(), "parameters are taken from an update; give the pattern of the entities whose it is")
	}
	if c.Patience != nil && *c.Patience < 0 || c.TimeLimit != nil && *c.TimeLimit < 0 {
		return engram.Errorf(engram.Invalid, c.ID.String(), "patience and time_limit are 0 or more")
	}
	x.mu.Lock()
	d, err := x.described(c.Skill)
	x.mu.Unlock()
	if err == nil && len(c.FromUpdate) == 0 { // else they are known when it is fulfilled
		err = x.read.checkParameters(ctx, parametersOf(&skill.Request{Parameters: c.Parameters}, d), d)
	}
	if err != nil {
		return err
	}
	request, err := requestOf(c, strings.Repeat("0", condition.KeyLen))
	if err != nil {
		return engram.Errorf(engram.Invalid, c.ID.String(), "its requests cannot have its name: %w", err)
	}
	if !access.May(ctx, access.Write, request) {
		return engram.Errorf(engram.Forbidden, request.String(), "who sets a condition must be allowed to write what it asks for")
	}
	if err := mayRead(ctx, readBy(&c.Condition)); err != nil {
		return err
	}
	if len(c.On.Levels) > 0 {
		paths := slices.AppendSeq([]string{c.OncePer}, maps.Values(c.FromUpdate))
		if err := x.read.checkDemand(ctx, c.On, c.Where, paths...); err != nil {
			return engram.Errorf(engram.CodeOf(err), c.ID.String(), "on: %w", err)
		}
	}
	return x.read.checkTerms(ctx, c.ID, c.All)
}

// mayRead returns Forbidden unless who commits may read all that patterns match: the memory tells of it in their place.
func mayRead(ctx context.Context, all []engram.Pattern) error {
	for _, p := range all {
		if in := p.Enclosing(); !access.May(ctx, access.Read, in) {
			return engram.Errorf(engram.Forbidden, in.String(), "who sets a condition, or has a skill require or resolve something, must be allowed to read all that it is about")
		}
	}
	return nil
}

// checkTerms returns what is wrong with terms that something is given with.
func (m *reader) checkTerms(ctx context.Context, of engram.ID, all []condition.Term) error {
	for i := range all {
		if err := m.checkDemand(ctx, all[i].Of, all[i].Where); err != nil {
			return engram.Errorf(engram.CodeOf(err), of.String(), "%v: %w", &all[i], err)
		}
	}
	return nil
}

// checkDemand returns NotFound if a pattern is about no core segment of the server, and Invalid if a filter can never be true of
// what that holds, or nothing of it has one of the paths of [condition.Value].
func (m *reader) checkDemand(ctx context.Context, p engram.Pattern, where string, paths ...string) error {
	in := p.Enclosing().Truncate(engram.LevelCoreSegment)
	all, err := m.svc.Describe(engram.WithScope(ctx, nil), engram.PatternOf(in))
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return engram.Errorf(engram.NotFound, in.String(), "this server has no such core segment")
	}
	var types []*idf.Type
	for i := range all {
		t, err := m.types.get(ctx, all[i].Type)
		if err != nil || t == nil || t.Name() == engram.ValueType {
			return nil // anything may come there
		}
		types = append(types, t)
	}
	for _, path := range paths {
		if err := condition.CheckPath(path, types); err != nil {
			return err
		}
	}
	if where == "" {
		return nil
	}
	f, err := idf.CompileFilter(where)
	if err != nil {
		return err
	}
	return f.Doubts(types)
}

// act asks for skills whose conditions are fulfilled, until ctx ends.
func (x *Executor) act(ctx context.Context) {
	s := x.standing
	defer s.close()
	s.prepare()
	x.mu.Lock()
	required := x.requiring()
	x.mu.Unlock()
	if err := s.begin(ctx, required); err != nil && ctx.Err() == nil {
		s.note(engram.MustID("Skill/Condition"), fmt.Errorf("conditions are not looked at: %w", err))
	}
	x.mu.Lock()
	for _, r := range x.records {
		x.begunBefore(ctx, r)
	}
	x.mu.Unlock()
	s.resume()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		fired, stopped, next := s.take()
		for _, one := range stopped {
			x.stopCondition(ctx, one)
		}
		for _, f := range fired {
			x.fire(ctx, f)
		}
		if len(fired)+len(stopped) > 0 {
			continue
		}
		wait := time.Hour
		if next != 0 {
			wait = max(next.Sub(x.now()), 0)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-s.kick:
		}
	}
}

// requiring returns the skills that require something. The lock is held.
func (x *Executor) requiring() (all []*skill.Description) {
	for _, d := range x.descriptions {
		if len(d.Requires) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// begunBefore takes up the conditions of an execution that was under way when the server began. The lock is held.
func (x *Executor) begunBefore(ctx context.Context, r *record) {
	if !r.Condition.IsRoot() {
		x.standing.running(r.Condition, r.Cause, true)
	}
	if r.Called == 0 {
		return
	}
	if err := x.guard(ctx, r); err != nil {
		slog.Warn("what a skill requires is not looked at while it executes", "execution", r.ID.String(), "error", err)
	}
}

// guard has an execution stop when a lasting term of its skill does not hold any more. The lock is held.
func (x *Executor) guard(ctx context.Context, r *record) error {
	d := x.descriptions[r.Skill]
	if d == nil {
		return nil
	}
	return x.standing.guard(ctx, r.ID, d.Requires)
}

// over forgets an execution that has ended. The lock is held.
func (x *Executor) over(r *record) {
	delete(x.records, r.ID)
	delete(x.requests, r.Request)
	x.standing.remove(r.ID)
	if !r.Condition.IsRoot() {
		x.standing.running(r.Condition, r.Cause, false)
	}
}

// obstacle returns how an execution ends that is to be called now and is not: what it requires does not hold, or it is a
// rehearsal. Another one is guarded from now on. The lock is held.
func (x *Executor) obstacle(r *record) (schedule.Status, *schedule.Stop) {
	ctx := context.WithValue(context.Background(), own{}, x)
	stop := func(why string, by engram.ID) (schedule.Status, *schedule.Stop) {
		return schedule.Failed, &schedule.Stop{Reason: schedule.Condition, Answer: schedule.Confirmed, By: by, Message: why}
	}
	if what, by := x.unmet(ctx, x.descriptions[r.Skill]); what != "" {
		return stop(what, by)
	}
	if r.Rehearsal != skill.Real {
		r.Message = "it would be called now"
		return schedule.Succeeded, nil
	}
	if d := x.descriptions[r.Skill]; d != nil {
		resolved, err := x.read.resolve(ctx, r.Parameters, d)
		if err != nil {
			return stop(err.Error(), engram.ID{})
		}
		r.Resolved = resolved
	}
	if err := x.guard(ctx, r); err != nil {
		return stop(err.Error(), engram.ID{})
	}
	return schedule.Preparing, nil
}

// unmet says what a skill requires that does not hold, or cannot be known, and what stands against it; "" if all holds. The lock is
// held.
func (x *Executor) unmet(ctx context.Context, d *skill.Description) (what string, by engram.ID) {
	if d == nil || len(d.Requires) == 0 {
		return "", by
	}
	failed, against, err := x.standing.holds(ctx, d)
	switch {
	case err != nil:
		return err.Error(), by
	case failed != nil:
		return x.read.told(ctx, failed, against), against
	}
	return "", by
}

// told says that a term does not hold, and how things are.
func (m *reader) told(ctx context.Context, failed *condition.Term, against engram.ID) string {
	var seen []string
	if against.IsRoot() {
		items, err := m.present(ctx)(failed.Of)
		if err != nil {
			return failed.String()
		}
		for i, item := range items {
			if i == 3 {
				seen = append(seen, fmt.Sprintf("and %d more", len(items)-i))
				break
			}
			seen = append(seen, m.summary(ctx, item))
		}
		if len(items) == 0 {
			seen = append(seen, "there is no "+failed.Of.String())
		}
	} else if item, err := m.snapshot(ctx, against); err == nil {
		seen = append(seen, m.summary(ctx, item))
	}
	text := failed.String() + ": "
	if failed.Text == "" {
		text = "wanted is " + text
	}
	return text + strings.Join(seen, "; ")
}

// summary tells the present value of an entity on a line.
func (m *reader) summary(ctx context.Context, item engram.Item) string {
	name := item.ID.Truncate(engram.LevelEntity).String()
	p := item.Instances[0].Payload
	t, err := m.types.get(ctx, p.Type)
	if err != nil || t == nil {
		return name
	}
	text, err := t.Text(p.Bytes, idf.TextOptions{Items: 4, Time: item.Time, Brief: true})
	if err != nil {
		return name
	}
	const most = 200
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%s is {%s}, confidence %.2g", name, text, item.Instances[0].Confidence)
}

// snapshot reads the snapshot that an ID names, or in which it names an instance.
func (m *reader) snapshot(ctx context.Context, id engram.ID) (engram.Item, error) {
	at, ok := id.Time()
	if !ok {
		return engram.Item{}, engram.Errorf(engram.Invalid, id.String(), "this names no snapshot")
	}
	r, err := m.svc.Query(engram.WithScope(ctx, nil), engram.SelectID(id, engram.At(at)))
	if err != nil {
		return engram.Item{}, err
	}
	for item := range r.All() {
		return item, nil
	}
	return engram.Item{}, engram.Errorf(engram.NotFound, id.String(), "this snapshot is not there")
}

// fire does what a condition wants that is fulfilled.
func (x *Executor) fire(ctx context.Context, f condition.Fired) {
	if f.Failed != nil { // of an execution
		by := f.Against
		if by.IsRoot() {
			by = f.Cause
		}
		x.stopGuarded(f.Condition, schedule.Stop{Reason: schedule.Condition, By: by.Truncate(engram.LevelSnapshot), Message: x.read.told(ctx, f.Failed, f.Against)})
		return
	}
	c := x.standing.def(f.Condition)
	if c == nil {
		return
	}
	if path := x.circle(ctx, c, f); path != "" {
		x.stopCondition(ctx, condition.Stopped{Condition: c.ID, Err: engram.Errorf(engram.Conflict, c.ID.String(), "it is fulfilled by what comes of it, in a circle: %s", path)})
		return
	}
	if c.Trigger == condition.Level {
		x.standing.running(c.ID, f.Cause, true)
	}
	err := x.askFor(ctx, c, f)
	if err != nil {
		x.standing.running(c.ID, f.Cause, false)
	}
	if engram.CodeOf(err) == engram.AlreadyExists { // it was asked for before the server began anew
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("it is fulfilled, and its skill cannot be asked for: %w", err)
	}
	x.standing.note(c.ID, err)
}

// stopGuarded has an execution stop that goes on though what it requires does not hold.
func (x *Executor) stopGuarded(execution engram.ID, why schedule.Stop) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if changes, err := x.schedule.Abort(x.now(), execution, why); err == nil { // it is under way
		x.changed(changes)
	}
}

// askFor commits what is asked for by a condition that is fulfilled.
func (x *Executor) askFor(ctx context.Context, c *skill.Condition, f condition.Fired) error {
	r := skill.Request{
		Skill: c.Skill, Caller: c.ID.ProviderSegment(), Cause: f.Cause, Condition: c.ID, Priority: c.Priority, Patience: c.Patience, TimeLimit: c.TimeLimit,
	}
	var err error
	if r.ID, err = requestOf(c, f.Key); err != nil {
		return err
	}
	if r.Parameters, err = x.parameters(c, f); err != nil {
		return err
	}
	u, err := x.codec.RequestUpdate(&r, x.clock())
	if err != nil {
		return err
	}
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := commit(ctx, x.svc, u)
		if engram.CodeOf(err) != engram.Unavailable || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// commit commits one update.
func commit(ctx context.Context, svc engram.Writer, u engram.EntityUpdate) error {
	results, err := svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil {
		return err
	}
	return results[0].Err
}

// requestOf returns the ID of the request of a condition that fired.
func requestOf(c *skill.Condition, key string) (engram.ID, error) {
	return engram.NewID("Skill", "Request", c.ID.ProviderSegment(), c.ID.Entity()+"-"+key)
}

// parameters returns what a condition calls its skill with.
func (x *Executor) parameters(c *skill.Condition, f condition.Fired) (map[string]any, error) {
	all := maps.Clone(c.Parameters)
	for name, path := range c.FromUpdate {
		if f.Snapshot == nil {
			return nil, engram.Errorf(engram.Invalid, name, "the condition is about no update that it could be taken from")
		}
		v, ok := condition.Value(x.read.types.of, f.Thing, f.Snapshot, f.Instance, path)
		if !ok {
			return nil, engram.Errorf(engram.Invalid, name, "%v has no member %s", f.Cause, path)
		}
		if all == nil {
			all = map[string]any{}
		}
		all[name] = v
	}
	return all, nil
}

// mostRounds is how often a condition may come of itself.
const mostRounds = 3

// circle returns how a condition comes of itself again and again, "" if it does not: the executions that led to its cause, as far
// as links tell.
func (x *Executor) circle(ctx context.Context, c *skill.Condition, f condition.Fired) string {
	const most = 256
	path, rounds := c.ID.Entity(), 0
	var todo []engram.ID
	seen := map[engram.ID]bool{}
	add := func(ids ...engram.ID) {
		for _, id := range ids {
			if id.Memory() != "Skill" || id.Level() < engram.LevelEntity {
				continue
			}
			if id = id.Truncate(engram.LevelEntity); !seen[id] && len(seen) < most {
				seen[id] = true
				todo = append(todo, id)
			}
		}
	}
	if f.Snapshot != nil {
		add(f.Thing)
		add(x.read.links(ctx, f.Snapshot)...)
	}
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		e := x.execution(ctx, id)
		if e == nil {
			continue
		}
		path = e.Skill.Entity() + " → " + path
		if e.Condition == c.ID {
			if rounds++; rounds >= mostRounds {
				return c.ID.Entity() + " → " + path
			}
		}
		add(e.Parent, e.Cause)
		if item, err := x.read.snapshot(ctx, e.Cause); err == nil {
			add(x.read.links(ctx, item.Snapshot)...)
		}
	}
	return ""
}

// links returns the links in a snapshot.
func (m *reader) links(ctx context.Context, s *engram.Snapshot) (all []engram.ID) {
	for i := range s.Instances {
		t, err := m.types.get(ctx, s.Instances[i].Payload.Type)
		if err != nil || t == nil || !t.Has(idf.KindLink) {
			continue
		}
		links, err := t.Links(s.Instances[i].Payload.Bytes)
		if err != nil {
			continue
		}
		for _, l := range links {
			all = append(all, l.ID)
		}
	}
	return all
}

// execution returns an execution by its ID or that of its request; nil if there is none.
func (x *Executor) execution(ctx context.Context, id engram.ID) *skill.Execution {
	x.mu.Lock()
	defer x.mu.Unlock()
	if id.CoreSegment() == "Request" {
		last, err := x.svc.Latest(engram.WithScope(ctx, nil), id)
		if err != nil {
			return nil
		}
		r, err := x.codec.Request(id, last.Instances)
		if err != nil {
			return nil
		}
		id = executionOf(r)
	}
	if r := x.records[id]; r != nil {
		e := r.Execution
		return &e
	}
	if id.CoreSegment() != "Execution" {
		return nil
	}
	last, err := x.svc.Latest(engram.WithScope(ctx, nil), id)
	if err != nil {
		return nil
	}
	e, err := x.codec.Execution(id, last.Time, last.Instances)
	if err != nil {
		return nil
	}
	return e
}

// stopCondition disables a condition that cannot go on, and says why.
func (x *Executor) stopCondition(ctx context.Context, s condition.Stopped) {
	c := x.standing.def(s.Condition)
	x.standing.remove(s.Condition)
	if c == nil {
		x.stopGuarded(s.Condition, schedule.Stop{Reason: schedule.Condition, Message: s.Err.Error()}) // else terms of a skill
		return
	}
	slog.Warn("a condition is disabled", "condition", c.ID.String(), "error", s.Err)
	off := *c
	off.Disabled, off.Trouble = true, s.Err.Error()
	u, err := x.codec.ConditionUpdate(&off, x.clock())
	if err == nil {
		err = commit(ctx, x.svc, u)
	}
	if err != nil {
		x.standing.note(c.ID, fmt.Errorf("it cannot go on, and cannot be disabled: %w", err))
	}
}
