package memories

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/knowledge/service"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/condition"
)

// skillConditions run the conditions of the memory Skill over the memories of its server.
type skillConditions struct {
	answers   service.Service // questions of clauses; nil where there is no memory Knowledge
	elsewhere *elsewhere
	// ask makes requests; see [skills.ask].
	ask func(ctx context.Context, requests []engram.EntityUpdate) (refused []error, err error)
}

// conditionQueue is how many updates may wait for the conditions. What is lost is healed by reading again.
const conditionQueue = 1 << 16

// conditionPause is how long the conditions rest after an error that ends what they follow.
const conditionPause = time.Second

// committed is the Commit hook of conditions: it refuses one that cannot be read.
func (sc *skillConditions) committed(_ context.Context, u *engram.EntityUpdate) error {
	for i := range u.Instances {
		c, err := decodeCondition(&u.Instances[i].Payload)
		if err == nil && !c.Removed {
			err = c.Check()
		}
		if err != nil {
			return engram.Errorf(engram.CodeOf(err), u.Entity.String(), "no condition: %w", err)
		}
	}
	return nil
}

func decodeCondition(p *engram.Payload) (*condition.Condition, error) {
	t, ok := Type(p.Type)
	if !ok || p.Type != condition.TypeName {
		return nil, engram.Errorf(engram.TypeMismatch, "", "a payload of type %s", p.Type)
	}
	v, err := t.Decode(p.Bytes)
	if err != nil {
		return nil, err
	}
	return condition.Decode(v)
}

// run is a Run hook: it watches for the conditions until ctx ends.
func (sc *skillConditions) run(ctx context.Context, svc engram.Service) error {
	for {
		r := &conditionRun{skillConditions: sc, svc: svc, present: newConditionPresent(svc, sc.elsewhere, sc.answers), set: map[string]engram.Time{}}
		r.engine = condition.NewEngine(r.present)
		r.number = r.present.number()
		err := r.follow(ctx)
		if r.stream != nil {
			_ = r.stream.Close() // it was only read
		}
		r.far.close()
		if ctx.Err() == nil {
			slog.Warn("conditions of skills begin anew", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(conditionPause):
		}
	}
}

// conditionRun is the conditions of one life of a server. One goroutine uses it.
type conditionRun struct {
	*skillConditions
	svc     engram.Service
	present *conditionPresent
	engine  *condition.Engine
	stream  engram.UpdateStream
	round   int       // of the engine's patterns, that the stream has
	far     *follower // of what other servers have; nil while nothing of theirs is waited for
	farOf   string    // the patterns that it has
	number  uint64    // the last update that was taken, or was there before
	set     map[string]engram.Time
	firings []condition.Firing // that are to be made
	lost    uint64
}

// alwaysWatched is what is followed whatever the conditions are.
var alwaysWatched = []engram.Pattern{engram.MustPattern(condition.Segment), engram.MustPattern("Skill/Execution")}

func (r *conditionRun) follow(ctx context.Context) error {
	if err := r.subscribe(ctx); err != nil {
		return err
	}
	if err := r.readAll(ctx); err != nil {
		return err
	}
	for {
		due, next := r.engine.Due(ctx, engram.Now())
		r.apply(ctx, due)
		r.flush(ctx)
		if err := r.subscribe(ctx); err != nil {
			return err
		}
		updates, err := r.next(ctx, next)
		if err != nil {
			return err
		}
		anew := r.own(ctx, updates)
		arrived := r.far.take()
		if polled, ok := r.stream.(interface {
			Poll() ([]engram.Update, error)
		}); ok && len(arrived) > 0 { // what was written here before comes before
			if updates, err = polled.Poll(); err != nil {
				return err
			}
			anew = r.own(ctx, updates) || anew
		}
		for _, n := range arrived {
			if n.begun {
				r.present.farAnew(n.state)
				d, err := r.engine.Reload(ctx, engram.Now(), r.isFar)
				r.apply(ctx, d)
				if err != nil {
					return err
				}
			}
			for _, u := range n.updates {
				r.update(ctx, u, n.epoch)
			}
		}
		r.flush(ctx)
		if anew {
			if err := r.readAll(ctx); err != nil {
				return err
			}
		}
	}
}

// own takes notice of updates of the own server; anew, that some were lost.
func (r *conditionRun) own(ctx context.Context, updates []engram.Update) (anew bool) {
	for _, u := range updates {
		if u.Dropped > 0 || u.Restarted {
			r.lost += u.Dropped
			slog.Warn("conditions of skills: updates were lost, and what is at present is read again", "lost", u.Dropped, "lost_ever", r.lost)
			anew = true
		}
		r.number = u.Number
		r.update(ctx, u, r.stream.Epoch())
	}
	return anew
}

// next waits for updates, or until a time unless that is 0, or until something comes from another server.
func (r *conditionRun) next(ctx context.Context, until engram.Time) ([]engram.Update, error) {
	if until == 0 && r.far == nil {
		return r.stream.Next(ctx)
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if until != 0 {
		waiting, cancel = context.WithTimeout(waiting, max(until.Sub(engram.Now()), 0))
		defer cancel()
	}
	defer r.far.wakes(nil)
	if !r.far.wakes(cancel) {
		return nil, nil
	}
	updates, err := r.stream.Next(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return updates, err
}

// subscribe has the stream follow what the conditions wait for, without a gap.
func (r *conditionRun) subscribe(ctx context.Context) error {
	if r.stream != nil && r.round == r.engine.Round() {
		return nil
	}
	patterns, round := r.engine.Patterns()
	patterns, far := r.elsewhere.split(patterns)
	r.followFar(ctx, far)
	patterns = append(patterns, alwaysWatched...)
	start := engram.Start{Kind: engram.StartNumber, Number: r.number}
	if r.stream != nil {
		start.Epoch = r.stream.Epoch()
	}
	sub := engram.Subscription{Patterns: patterns, WithData: true, Queue: conditionQueue, Start: start}
	stream, err := r.svc.Subscribe(ctx, sub)
	if err != nil {
		return err // what comes then begins by reading everything
	}
	if r.stream != nil {
		_ = r.stream.Close() // it was only read
	}
	r.stream, r.round = stream, round
	return nil
}

// followFar has what other servers have followed.
func (r *conditionRun) followFar(ctx context.Context, far []engram.Pattern) {
	of := ""
	for _, p := range far {
		of += p.String() + "\n"
	}
	if of == r.farOf {
		return
	}
	r.far.close()
	r.far, r.farOf = nil, of
	if len(far) > 0 {
		r.far = r.elsewhere.follow(ctx, far)
	}
}

// isFar reports whether a pattern matches what other servers have.
func (r *conditionRun) isFar(p engram.Pattern) bool {
	_, far := r.elsewhere.split([]engram.Pattern{p})
	return len(far) > 0
}

// readAll reads the conditions and what they wait for.
func (r *conditionRun) readAll(ctx context.Context) error {
	r.present.anew()
	found, err := r.present.Newest(ctx, engram.MustPattern(condition.Segment))
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b engram.Item) int { return cmp.Compare(a.Snapshot.Number, b.Snapshot.Number) })
	for _, it := range found {
		r.setCondition(ctx, it)
	}
	d, err := r.engine.Reload(ctx, engram.Now(), nil)
	r.apply(ctx, d)
	return err
}

// setCondition takes notice of a condition, and reports whether what is watched for differs.
func (r *conditionRun) setCondition(ctx context.Context, it engram.Item) bool {
	name := it.ID.Entity()
	if at, ok := r.set[name]; ok && it.Snapshot.Time < at {
		return false // of two who set a condition of one name the later one counts
	}
	r.set[name] = it.Snapshot.Time
	c, err := decodeCondition(&it.Snapshot.Instances[0].Payload)
	changed := false
	if err == nil {
		changed, err = r.engine.Set(ctx, it.ID, r.since(ctx, it, c), c)
	}
	if err != nil {
		slog.Warn("a condition of skills cannot be read", "condition", it.ID.String(), "error", err)
	}
	return changed
}

// since returns when a condition was set as it is: snapshots after that tell what became of it.
func (r *conditionRun) since(ctx context.Context, it engram.Item, c *condition.Condition) engram.Time {
	arrived, entity := it.Snapshot.Arrived, it.ID.Truncate(engram.LevelEntity)
	for s := it.Snapshot; c.Enabled && !r.engine.Has(entity.Entity(), c); {
		var err error
		if s, err = r.svc.AtOrBefore(ctx, entity, s.Time-1); err != nil {
			break
		}
		before, err := decodeCondition(&s.Instances[0].Payload)
		if err != nil || !before.Same(c) {
			break
		}
		arrived = s.Arrived
	}
	return arrived
}

func (r *conditionRun) update(ctx context.Context, u engram.Update, epoch uint64) {
	if r.present.heard(u, epoch); u.Snapshot == nil {
		return
	}
	it := engram.Item{ID: u.ID, Snapshot: u.Snapshot}
	if u.ID.Memory() == skill.Memory && u.ID.CoreSegment() == "Condition" {
		if r.setCondition(ctx, it) {
			d, err := r.engine.Begin(ctx, u.ID.Entity(), u.Number, engram.Now())
			r.apply(ctx, d)
			if err != nil && ctx.Err() == nil {
				slog.Warn("what a condition of skills waits for cannot be read", "condition", u.ID.String(), "error", err)
			}
		}
	}
	r.apply(ctx, r.engine.Update(ctx, it, engram.Now()))
}

// apply does what the engine has decided; requests are made by flush.
func (r *conditionRun) apply(ctx context.Context, d condition.Decisions) {
	r.firings = append(r.firings, d.Firings...)
	for _, s := range d.Stops {
		slog.Warn("a condition of skills is stopped", "condition", s.Condition.String(), "reason", s.Reason)
		r.tell(ctx, s.Condition, func(c *condition.Condition) bool {
			c.Enabled, c.Stopped, c.By = false, s.Reason, "memory"
			return true
		})
	}
	for _, p := range d.Problems {
		r.tell(ctx, p.Condition, func(c *condition.Condition) bool {
			told := c.Problem != p.Text
			c.Problem = p.Text
			return told
		})
	}
}

// flush makes the requests that were decided on, together: each may have to wait for the disk.
func (r *conditionRun) flush(ctx context.Context) {
	if len(r.firings) == 0 {
		return
	}
	failed := make([]error, len(r.firings))
	var requests []engram.EntityUpdate
	var of []int // the firing of each request
	for i := range r.firings {
		u, err := requestOf(&r.firings[i])
		if failed[i] = err; err == nil {
			requests, of = append(requests, u), append(of, i)
		}
	}
	refused, err := r.ask(ctx, requests)
	for k, i := range of {
		if failed[i] = err; err == nil {
			failed[i] = refused[k]
		}
	}
	for i := range r.firings {
		f, problem := &r.firings[i], ""
		if failed[i] != nil {
			r.engine.Refused(f, engram.Now())
			problem = failed[i].Error()
		}
		if problem == r.engine.Problem(f.Condition) {
			continue
		}
		r.tell(ctx, f.Condition, func(c *condition.Condition) bool {
			told := c.Problem != problem
			c.Problem = problem
			return told
		})
	}
	r.firings = r.firings[:0]
}

// requestOf returns the request that a firing makes.
func requestOf(f *condition.Firing) (engram.EntityUpdate, error) {
	entity, err := engram.MustID(condition.RequestSegment).Child(f.Name)
	if err != nil {
		return engram.EntityUpdate{}, err
	}
	now := engram.Now()
	v := map[string]any{
		"timestamp": now, "skill": f.Skill, "caller": f.Caller(), "cause": f.Cause, "condition": f.Condition, "on_caller_gone": "",
	}
	if f.Parameters != nil {
		v["parameters"] = f.Parameters
	}
	if f.Priority != nil {
		v["priority"] = *f.Priority
	}
	return recordUpdate(entity, "engram.skill.Request", now, v)
}

// tell writes a condition as change changes it, unless somebody has set it anew.
func (r *conditionRun) tell(ctx context.Context, id engram.ID, change func(*condition.Condition) bool) {
	entity := id.Truncate(engram.LevelEntity)
	s, err := r.svc.Latest(ctx, entity)
	if err != nil {
		return // it was forgotten
	}
	c, err := decodeCondition(&s.Instances[0].Payload)
	if t, _ := id.Time(); err != nil || s.Time != t || !change(c) {
		return
	}
	now := max(engram.Now(), s.Time+1)
	if err := r.commit(ctx, entity, condition.TypeName, now, c.Value(now)); err != nil && ctx.Err() == nil {
		slog.Warn("what became of a condition of skills cannot be told", "condition", id.String(), "error", err)
	}
}

func (r *conditionRun) commit(ctx context.Context, entity engram.ID, typ string, at engram.Time, v any) error {
	u, err := recordUpdate(entity, typ, at, v)
	if err != nil {
		return err
	}
	results, err := r.svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil {
		return err
	}
	return engram.FirstError(results)
}

func recordUpdate(entity engram.ID, typ string, at engram.Time, v any) (engram.EntityUpdate, error) {
	t, ok := Type(typ)
	if !ok {
		return engram.EntityUpdate{}, engram.Errorf(engram.Internal, typ, "there is no such type")
	}
	b, err := t.Encode(v)
	in := engram.NewInstance(engram.Payload{Type: typ, Bytes: b})
	return engram.EntityUpdate{Entity: entity, Time: at, Instances: []engram.Instance{in}}, err
}

// together is a Run hook that has several, all of which run until ctx ends. It returns the first error.
func together(runs ...func(context.Context, engram.Service) error) func(context.Context, engram.Service) error {
	return func(ctx context.Context, svc engram.Service) error {
		ended := make(chan error, len(runs))
		for _, run := range runs {
			go func() { ended <- run(ctx, svc) }()
		}
		var first error
		for range runs {
			first = cmp.Or(first, <-ended)
		}
		return first
	}
}
