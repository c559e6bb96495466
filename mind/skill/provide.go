package skill

import (
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
	// it stands still, which confirms that. An error is a failure; a [*Failure] says more than another error.
	Do func(ctx context.Context, c *Call) error
}

// Call is an execution as its provider sees it. Its methods are safe for concurrent use.
type Call struct {
	Execution
	p *provider

	mu     sync.Mutex
	result map[string]any
	told   bool // that it runs
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
	return c.p.report(ctx, c, schedule.Running, func(e *Execution) { e.Progress, e.Message = done, message })
}

// Refuse says that the execution goes on though it was told to stop, and why.
func (c *Call) Refuse(ctx context.Context, message string) error {
	return c.p.report(ctx, c, schedule.Running, func(e *Execution) { e.Message, e.Stop = message, &schedule.Stop{Answer: schedule.Refused} })
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
}

// Provide offers skills under a provider's name until ctx ends: it describes them, keeps a lease, and executes what is asked
// for, several executions at once where their resources allow it. Where the lease is lost, as by a cut network, it stops what it
// runs and begins anew. It returns when all stands still: with nil, or with the error of a description that is refused.
func (s *Skills) Provide(ctx context.Context, name string, o ProvideOptions, skills ...Skill) (err error) {
	p := &provider{Skills: s, lease: o.Lease, skills: map[engram.ID]Skill{}}
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
		p.margin = max(p.margin, s.StopWithin)
	}
	if p.lease == 0 {
		p.lease = max(2*time.Second, 3*p.margin)
	}
	if p.lease < ShortestLease || p.lease > LongestLease || p.lease < 2*p.margin {
		return engram.Errorf(engram.Invalid, name, "a lease of %v: from %v to %v, and at least twice as long as stopping may take, %v", p.lease, ShortestLease, LongestLease, p.margin)
	}
	p.margin = max(p.margin, p.lease/3)
	for ctx.Err() == nil {
		if err := p.live(ctx); err != nil && !passes(err) {
			if ctx.Err() != nil {
				break
			}
			return err
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
	skills             map[engram.ID]Skill

	epoch uint64
	calls map[engram.ID]*running
	over  context.Context // ends with the lease
	wg    sync.WaitGroup
}

// running is a call that has not returned.
type running struct {
	call *Call
	stop context.CancelCauseFunc
	seen engram.Time // of the newest snapshot that was acted upon
}

// live offers the skills for one epoch.
func (p *provider) live(ctx context.Context) error {
	if p.epoch != 0 { // of which nothing moves any more
		_ = p.renew(ctx, true)
	}
	p.epoch, p.calls = uint64(time.Now().UnixNano()), map[engram.ID]*running{}
	over, lost := context.WithCancelCause(context.WithoutCancel(ctx))
	p.over = over
	defer lost(nil)
	sub, err := p.svc.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(p.executions)}, WithData: true})
	if err != nil {
		return err
	}
	defer sub.Close()
	for _, s := range p.skills {
		u, err := p.codec.DescriptionUpdate(&s.Description, engram.Now())
		if err := p.commit(ctx, u, err); err != nil {
			return err
		}
	}
	until := time.Now().Add(p.lease)
	if err := p.renew(ctx, false); err != nil {
		return err
	}
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
	for _, r := range p.calls {
		r.stop(&StopError{schedule.Stop{Reason: schedule.ProviderLost, Message: "the provider ends"}})
	}
	p.wg.Wait()
	if ctx.Err() != nil && over.Err() == nil {
		leaving, cancel := context.WithTimeout(over, p.lease)
		defer cancel()
		_ = p.renew(leaving, true) // its lease ends by itself otherwise
		return nil
	}
	if why != nil {
		return why
	}
	return err
}

// renew renews the lease, or ends it.
func (p *provider) renew(ctx context.Context, ended bool) error {
	u, err := p.codec.LeaseUpdate(p.entity, Lease{Epoch: p.epoch, Lease: p.lease, Ended: ended}, engram.Now())
	return p.commit(ctx, u, err)
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
		err := p.renew(try, false)
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

// look looks for what was not heard.
func (p *provider) look(ctx context.Context) error {
	r, err := p.svc.Query(ctx, engram.PatternOf(p.executions).Select(engram.Latest(1)))
	if err != nil {
		return err
	}
	for item := range r.All() {
		p.hear(item.ID.Truncate(engram.LevelEntity), item.Time, item.Instances)
	}
	return nil
}

// hear is told of a snapshot of an execution.
func (p *provider) hear(id engram.ID, at engram.Time, all []engram.Instance) {
	e, err := p.codec.Execution(id, at, all)
	if err != nil || e.Epoch != p.epoch {
		return
	}
	r := p.calls[id]
	switch {
	case r == nil && e.Status == schedule.Preparing:
		ctx, stop := context.WithCancelCause(p.over)
		c := &Call{Execution: *e, p: p}
		p.calls[id] = &running{c, stop, at}
		p.wg.Go(func() { p.execute(ctx, stop, c) })
	case r == nil || at <= r.seen:
	case e.Status == schedule.Stopping:
		r.seen = at
		r.stop(&StopError{*e.Stop})
	case e.Status.Ended():
		r.stop(nil)
		delete(p.calls, id)
	}
}

// execute executes a skill, and says how that ended.
func (p *provider) execute(ctx context.Context, stop context.CancelCauseFunc, c *Call) {
	s, known := p.skills[c.Skill]
	err := error(engram.Errorf(engram.NotFound, c.Skill.String(), "%s has no such skill any more", p.entity.Entity()))
	if known {
		var telling sync.WaitGroup
		telling.Go(func() { // the skill does not wait for the memory
			if err := p.report(p.over, c, schedule.Running, nil); err != nil {
				stop(&StopError{schedule.Stop{Reason: schedule.ProviderLost, Message: err.Error()}})
			}
		})
		err = attempt(ctx, s, c)
		telling.Wait()
	}
	status := schedule.Succeeded
	var failure *Failure
	if err != nil {
		if status = schedule.Failed; ctx.Err() != nil {
			status = schedule.Aborted // why is known
		} else if !errors.As(err, &failure) {
			failure = &Failure{Code: engram.CodeOf(err).String(), Message: err.Error()}
		}
	}
	_ = p.report(p.over, c, status, func(e *Execution) {
		if e.Result = c.result; failure != nil {
			e.Message, e.Failure = failure.Message, failure
		}
	})
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

// report says how far an execution has come, until the memory has heard it or the lease is over.
func (p *provider) report(ctx context.Context, c *Call, status schedule.Status, more func(*Execution)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if more == nil && c.told {
		return nil
	}
	e := Execution{ID: c.ID, Time: engram.Now(), Skill: c.Skill, Status: status, Caller: c.Caller, Started: c.Started, Epoch: c.Epoch, Progress: -1}
	if more != nil {
		more(&e)
	}
	u, err := p.codec.ExecutionUpdate(&e)
	if err != nil {
		return err
	}
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
