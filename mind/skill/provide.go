package skill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// Service is a memory server that has the memory Skill: a client, or a server in the same process.
type Service interface {
	engram.Writer
	engram.Reader
	engram.LatestReader
	engram.Subscriber
	Type(ctx context.Context, name string) (engram.TypeDef, error)
}

// Skills is what programs do with the skills of a robot. All methods are safe for concurrent use.
type Skills struct {
	svc   Service
	codec *Codec
}

// Open returns the skills in the memory Skill of svc, whose types it reads.
func Open(ctx context.Context, svc Service) (*Skills, error) {
	codec, err := NewCodec(ctx, svc)
	if err != nil {
		return nil, err
	}
	return &Skills{svc, codec}, nil
}

// commit commits one update.
func (s *Skills) commit(ctx context.Context, u engram.EntityUpdate, err error) error {
	if err != nil {
		return err
	}
	results, err := s.svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil {
		return err
	}
	return results[0].Err
}

// Skill is a skill that a program offers.
type Skill struct {
	Name string
	Description
	// Do executes the skill. Its context ends when it is to stop, with a cause that says why ([context.Cause]); it returns when
	// it stands still, which confirms that. If it was told to stop, the error of the context, its cause and nil are how it
	// ends then; any other error is a failure, and a [*Failure] says more than another one.
	Do func(ctx context.Context, c *Call) error
}

// Call is an execution as its provider sees it. Its methods are safe for concurrent use.
type Call struct {
	Execution
	p *provider

	stops chan schedule.Stop

	mu       sync.Mutex
	result   map[string]any
	expected time.Duration
	told     bool // that it runs
}

// StopError is the cause of a call's context when it is to stop.
type StopError struct{ schedule.Stop }

func (e *StopError) Error() string { return "told to stop: " + e.Message }

// Text returns a parameter that is a text, "" if it is none.
func (c *Call) Text(name string) string { s, _ := c.Parameters[name].(string); return s }

// SetResult says what the skill returns.
func (c *Call) SetResult(result map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result = maps.Clone(result)
}

// Progress says how much is done, from 0 to 1, and for people what is done just now.
func (c *Call) Progress(ctx context.Context, done float64, message string) error {
	return c.p.report(ctx, c, schedule.Running, func(e *Execution) { e.Progress, e.Message, e.Expected = done, message, c.expected })
}

// Expect says how long the execution takes in all, from when it was called, as far as the skill knows; 0 is unknown. What is
// told of it from now on has that.
func (c *Call) Expect(inAll time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = inAll
}

// Stops tells of each time that the execution is told to stop: the first, when the context ends, and others after it was
// refused.
func (c *Call) Stops() <-chan schedule.Stop { return c.stops }

// Lasting returns a context that goes on when the execution is told to stop, for what is to be done then. It ends when the
// provider's lease does.
func (c *Call) Lasting() context.Context { return c.p.over }

// Refuse says that the execution goes on though it was told to stop, and why.
func (c *Call) Refuse(ctx context.Context, message string) error {
	return c.p.report(ctx, c, schedule.Running, func(e *Execution) {
		e.Message, e.Expected, e.Stop = message, c.expected, &schedule.Stop{Answer: schedule.Refused}
	})
}

// Run executes another skill for this one, see [Skills.Run].
func (c *Call) Run(ctx context.Context, a Ask) (*Execution, error) {
	a.Parent, a.Caller = c.ID, c.Skill.Entity()
	return c.p.Run(ctx, a)
}

// ProvideOptions are optional.
type ProvideOptions struct {
	// Lease is for how long the memory takes the provider to be there when it has heard nothing; 0 is 2 s, and at least three
	// times the longest StopWithin. A provider that cannot renew it begins to stop that long before it is over, or a third of it.
	Lease time.Duration
	// Tell is called with nil when the skills are offered, and when they are not, or not any more, with the reason, such as that
	// another provider has the name; again each time that it was tried again. It must not wait.
	Tell func(error)
}

// Provide offers skills under a provider's name until ctx ends: it describes them, keeps a lease, and executes what is asked
// for, several executions at once where their resources allow it. Where the lease is lost, as by a cut network, it stops what it
// runs and begins anew. It returns when all stands still: with nil, or with the error of a description that is refused.
func (s *Skills) Provide(ctx context.Context, name string, o ProvideOptions, skills ...Skill) (err error) {
	p := &provider{Skills: s, lease: o.Lease, tell: o.Tell, skills: map[engram.ID]Skill{}}
	if p.tell == nil {
		p.tell = func(error) {}
	}
	if p.entity, err = engram.NewID("Skill", "Provider", name, name); err != nil {
		return err
	}
	if p.executions, err = engram.NewID("Skill", "Execution", name); err != nil {
		return err
	}
	for _, s := range skills {
		id, err := engram.NewID("Skill", "Description", name, s.Name)
		if err != nil {
			return err
		}
		if s.Description.ID = id; s.Do == nil {
			return engram.Errorf(engram.Invalid, id.String(), "Do is missing: the function that executes the skill")
		}
		p.skills[id] = s
		p.margin = max(p.margin, cmp.Or(s.StopWithin, DefaultStopWithin))
	}
	if p.lease == 0 {
		p.lease = max(2*time.Second, 3*p.margin)
	}
	if p.lease < ShortestLease || p.lease > LongestLease || p.lease < 2*p.margin {
		return engram.Errorf(engram.Invalid, name, "a lease of %v: from %v to %v, and at least twice as long as stopping may take, %v", p.lease, ShortestLease, LongestLease, p.margin)
	}
	p.margin = max(p.margin, p.lease/3)
	for ctx.Err() == nil {
		switch err := p.live(ctx); {
		case ctx.Err() != nil:
			return nil
		case err != nil && !passes(err):
			return err
		case err != nil:
			p.tell(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(p.lease / 8):
		}
	}
	return nil
}

// passes reports whether an error may be gone when a provider begins anew.
func passes(err error) bool {
	switch engram.CodeOf(err) {
	case engram.Unavailable, engram.AlreadyExists, engram.Conflict, engram.Exhausted, engram.Canceled:
		return true
	}
	return false
}

// provider is one, in one epoch after the other.
type provider struct {
	*Skills
	entity, executions engram.ID
	lease              time.Duration
	margin             time.Duration // before its end, in which all comes to stand still
	tell               func(error)
	skills             map[engram.ID]Skill

	epoch uint64
	calls map[engram.ID]*running
	over  context.Context // ends with the lease
	wg    sync.WaitGroup

	mu     sync.Mutex
	untold []*Call // that were begun in the epoch, and of which the memory may not know that
}

// running is a call that has not returned.
type running struct {
	call *Call
	stop context.CancelCauseFunc
	seen engram.Time // of the newest snapshot that was acted upon
}

// live offers the skills for one epoch.
func (p *provider) live(ctx context.Context) error {
	if err := p.leave(ctx); err != nil {
		return err
	}
	last, err := p.last(ctx)
	if err != nil {
		return err
	}
	p.epoch, p.calls = max(uint64(time.Now().UnixNano()), last+1, p.epoch+1), map[engram.ID]*running{}
	over, lost := context.WithCancelCause(context.WithoutCancel(ctx))
	p.over = over
	defer lost(nil)
	sub, err := p.svc.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(p.executions)}, WithData: true, Queue: 8192})
	if err != nil {
		return err
	}
	defer sub.Close()
	until := time.Now().Add(p.lease)
	if err := p.say(ctx, Lease{Epoch: p.epoch, Lease: p.lease}); err != nil {
		return err
	}
	if err := p.describe(ctx); err != nil {
		_ = p.say(ctx, Lease{Epoch: p.epoch, Ended: true}) // it is over by itself otherwise
		return err
	}
	p.tell(nil)
	var renewing sync.WaitGroup
	renewing.Go(func() { lost(p.keep(over, until)) })
	defer renewing.Wait()
	defer lost(nil)

	following, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(over, stop)()
	err = p.follow(following, sub)
	// All stands still before the lease ends.
	why := context.Cause(over)
	if why != nil {
		p.tell(why)
	}
	for _, r := range p.calls {
		select {
		case r.call.stops <- schedule.Stop{Reason: schedule.ProviderLost, Message: errEnds.Error()}: // for one that refused before
		default:
		}
		r.stop(errEnds)
	}
	p.wg.Wait()
	if ctx.Err() != nil && over.Err() == nil {
		leaving, cancel := context.WithTimeout(over, p.lease)
		defer cancel()
		_ = p.say(leaving, Lease{Epoch: p.epoch, Ended: true}) // it is over by itself otherwise
		return nil
	}
	if why != nil {
		return why
	}
	return err
}

// leave ends the last epoch, of which nothing moves any more, so that the next one need not wait until its lease is over. What was
// begun in it must not be begun again: the memory learns of that before.
func (p *provider) leave(ctx context.Context) error {
	if p.epoch == 0 {
		return nil
	}
	for len(p.untold) > 0 {
		u, err := p.codec.ExecutionUpdate(p.untold[0].at(schedule.Running))
		if err := p.commit(ctx, u, err); engram.CodeOf(err) == engram.Unavailable || engram.CodeOf(err) == engram.Exhausted || ctx.Err() != nil {
			return err
		}
		p.untold = p.untold[1:]
	}
	_ = p.say(ctx, Lease{Epoch: p.epoch, Ended: true}) // it is over by itself otherwise
	return nil
}

// say says that the provider is there, or ends.
func (p *provider) say(ctx context.Context, l Lease) error {
	u, err := p.codec.LeaseUpdate(p.entity, l, engram.Now())
	return p.commit(ctx, u, err)
}

// last returns the last epoch that a provider of the name had, 0 if there was none.
func (p *provider) last(ctx context.Context) (uint64, error) {
	s, err := p.svc.Latest(ctx, p.entity)
	switch engram.CodeOf(err) {
	case engram.NotFound, engram.TooOld:
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	l, err := p.codec.Lease(p.entity, s.Instances)
	return l.Epoch, err
}

// describe says what the provider offers.
func (p *provider) describe(ctx context.Context) error {
	for _, s := range p.skills {
		u, err := p.codec.DescriptionUpdate(&s.Description, engram.Now())
		if err := p.commit(ctx, u, err); err != nil {
			return err
		}
	}
	return nil
}

// keep renews the lease until ctx ends, and returns when it is lost, a good while before the memory takes it for that.
func (p *provider) keep(ctx context.Context, until time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(p.lease/4, time.Until(until.Add(-p.margin)))):
		}
		sent := time.Now()
		try, cancel := context.WithDeadline(ctx, until.Add(-p.margin))
		err := p.say(try, Lease{Epoch: p.epoch, Lease: p.lease, Renewal: true})
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			until = sent.Add(p.lease)
		case engram.CodeOf(err) == engram.Conflict || engram.CodeOf(err) == engram.AlreadyExists || !time.Now().Before(until.Add(-p.margin)):
			return engram.Errorf(engram.Unavailable, p.entity.String(), "the lease is lost: %w", err)
		}
	}
}

// follow carries out what is asked for.
func (p *provider) follow(ctx context.Context, sub engram.UpdateStream) error {
	for {
		updates, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		for _, u := range updates {
			if u.Dropped > 0 || u.Restarted {
				if err := p.look(ctx); err != nil {
					return err
				}
			}
			if u.Snapshot != nil {
				p.hear(u.ID.Truncate(engram.LevelEntity), u.Snapshot.Time, u.Snapshot.Instances)
			}
		}
	}
}

// look looks for what was not heard, also at a server that began anew: what that does not have under way is to stop.
func (p *provider) look(ctx context.Context) error {
	if err := p.describe(ctx); err != nil {
		return err
	}
	r, err := p.svc.Query(ctx, engram.PatternOf(p.executions).Select(engram.Latest(1)))
	if err != nil {
		return err
	}
	there := map[engram.ID]bool{}
	for item := range r.All() {
		id := item.ID.Truncate(engram.LevelEntity)
		if e := p.hear(id, item.Time, item.Instances); e != nil && e.Epoch == p.epoch {
			there[id] = true
		}
	}
	for id, r := range p.calls {
		if !there[id] {
			r.end(schedule.Stop{Reason: schedule.ProviderLost, Message: "the memory does not know of it any more"})
			delete(p.calls, id)
		}
	}
	return nil
}

// hear is told of a snapshot of an execution, and returns it.
func (p *provider) hear(id engram.ID, at engram.Time, all []engram.Instance) *Execution {
	e, err := p.codec.Execution(id, at, all)
	if err != nil || e.Epoch != p.epoch {
		return nil
	}
	r := p.calls[id]
	switch {
	case r == nil && e.Status == schedule.Preparing && e.Called != 0:
		ctx, stop := context.WithCancelCause(p.over)
		c := &Call{Execution: *e, p: p, stops: make(chan schedule.Stop, 16)}
		r = &running{c, stop, at}
		p.calls[id] = r
		p.wg.Go(func() { p.execute(ctx, r) })
	case r == nil && e.Status == schedule.Stopping: // that it was to begin was not heard
		c := &Call{Execution: *e, p: p}
		p.calls[id] = &running{c, func(error) {}, at}
		p.wg.Go(func() { _ = p.report(p.over, c, schedule.Aborted, func(*Execution) {}) }) // the lease ends otherwise
	case r == nil || at <= r.seen:
	case e.Status == schedule.Stopping:
		r.seen = at
		r.end(*cmp.Or(e.Stop, &schedule.Stop{}))
	case e.Status.Ended():
		r.stop(nil)
		delete(p.calls, id)
	}
	return e
}

// end tells a call to stop.
func (r *running) end(why schedule.Stop) {
	select {
	case r.call.stops <- why:
	default: // it listens to none
	}
	r.stop(&StopError{why})
}

// errEnds is the cause of calls that stop because the provider ends. What becomes of them the memory knows best.
var errEnds = errors.New("the provider ends")

// execute executes a skill, and says how that ended.
func (p *provider) execute(ctx context.Context, r *running) {
	c := r.call
	s, known := p.skills[c.Skill]
	err := error(engram.Errorf(engram.NotFound, c.Skill.String(), "%s does not offer this skill", p.entity.Entity()))
	if known {
		var telling sync.WaitGroup
		telling.Go(func() { // the skill does not wait for the memory
			if err := p.report(p.over, c, schedule.Running, nil); err != nil {
				p.mu.Lock()
				p.untold = append(p.untold, c)
				p.mu.Unlock()
				r.end(schedule.Stop{Reason: schedule.ProviderLost, Message: err.Error()})
			}
		})
		err = attempt(ctx, s, c)
		telling.Wait()
	}
	switch {
	case err == nil:
		p.ended(c, schedule.Succeeded, nil)
	case !stops(ctx, err):
		failure := &Failure{Code: engram.CodeOf(err).String(), Message: err.Error()}
		_ = errors.As(err, &failure)
		p.ended(c, schedule.Failed, failure)
	case !errors.Is(context.Cause(ctx), errEnds):
		p.ended(c, schedule.Aborted, nil) // why is known
	}
}

// stops reports whether an error is that a call was told to stop.
func stops(ctx context.Context, err error) bool {
	var f *Failure
	canceled := errors.As(err, &f) && f.Code == engram.Canceled.String() // of what it called
	return ctx.Err() != nil && (canceled || errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err()) || engram.CodeOf(err) == engram.Canceled && f == nil)
}

// ended says how an execution ended. Where the memory refuses that, as a result of the wrong type, it has failed.
func (p *provider) ended(c *Call, status schedule.Status, why *Failure) {
	err := p.report(p.over, c, status, func(e *Execution) {
		if e.Result, e.Expected = c.result, c.expected; why != nil {
			e.Message, e.Failure = why.Message, why
		}
	})
	switch engram.CodeOf(err) {
	case 0, engram.NotFound, engram.Conflict, engram.Unavailable, engram.Exhausted, engram.Canceled: // the lease is over, or it has ended
		return
	}
	why = &Failure{Code: engram.CodeOf(err).String(), Message: fmt.Sprintf("it ended as %v, which the memory refuses: %v", status, err)}
	_ = p.report(p.over, c, schedule.Failed, func(e *Execution) { e.Message, e.Failure = why.Message, why }) // the lease ends otherwise
}

// attempt calls a skill's function.
func attempt(ctx context.Context, s Skill, c *Call) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			slog.Error("a skill panicked", "skill", c.Skill.String(), "cause", cause, "stack", string(debug.Stack()))
			err = &Failure{Code: engram.Internal.String(), Message: fmt.Sprintf("the skill panicked: %v", cause)}
		}
	}()
	return s.Do(ctx, c)
}

// at returns what a provider says of an execution that has come to a status.
func (c *Call) at(status schedule.Status) *Execution {
	return &Execution{ID: c.ID, Time: engram.Now(), Skill: c.Skill, Status: status, Caller: c.Caller, Started: c.Started, Epoch: c.Epoch, Progress: -1}
}

// report says how far an execution has come, until the memory has heard it or the lease is over.
func (p *provider) report(ctx context.Context, c *Call, status schedule.Status, more func(*Execution)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if more == nil && c.told {
		return nil
	}
	e := c.at(status)
	if more != nil {
		more(e)
	}
	u, err := p.codec.ExecutionUpdate(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.over, cancel)()
	for pause := time.Millisecond; ; pause = min(2*pause, p.lease/4) {
		if err = p.commit(ctx, u, nil); engram.CodeOf(err) != engram.Unavailable && engram.CodeOf(err) != engram.Exhausted {
			c.told = c.told || err == nil
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
