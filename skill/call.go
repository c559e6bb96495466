package skill

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/seed-301d4374/engram"
)

// Call is one execution in its handler, and its context: it ends when the execution shall
// stop, with the reason as its cause. Its methods are safe for concurrent use.
type Call struct {
	context.Context
	Execution engram.ID // the execution's entity, for links to it
	Skill     string
	Caller    string
	Cause     engram.ID
	Attempt   int         // 1, and more where it was resumed
	EndsBy    engram.Time // when it is stopped at the latest; 0 if it may take any time

	provider *Provider
	spec     *Spec
	entity   string // of its reports
	epoch    int64
	cancel   context.CancelCauseFunc

	// Guarded by provider.mu.
	reason   string // why it shall stop
	refuses  bool
	deadline engram.Time // by when it must have stopped
	last     Report      // its progress
}

// stop ends the context; provider.mu is held.
func (c *Call) stop(reason string) {
	if c.reason == "" {
		c.reason = reason
		c.cancel(errors.New("stop: " + reason))
	}
}

// report fills in what each report of the call has.
func (c *Call) report(r Report) Report {
	r.Execution, r.ProviderEpoch, r.Attempt = c.Execution, c.epoch, int32(c.Attempt)
	if r.Progress == 0 {
		r.Progress = c.last.Progress
	}
	return r
}

// Progress says how much is done, from 0 to 1, and what is done now. It is a commit that
// nobody waits for; where they come faster than the memory takes them only the newest counts.
func (c *Call) Progress(done float64, message string) {
	c.say(func() { c.last.Progress, c.last.Message = done, message })
}

// Intermediate says what was found so far: a map, or a struct as for [Handle].
func (c *Call) Intermediate(result any) {
	v := plain(reflect.ValueOf(result))
	c.say(func() { c.last.Intermediate = v })
}

func (c *Call) say(change func()) {
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	change()
	r := c.last
	r.Kind = ReportRunning
	c.provider.reports.add(c.entity, c.report(r))
}

// RefuseStop answers an order to stop, the present one and those to come: the handler goes on.
// The context stays ended if it has.
func (c *Call) RefuseStop(message string) {
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	c.refuses = true
	if c.reason != "" {
		c.provider.reports.add(c.entity, c.report(Report{Kind: ReportStopRefused, Message: message}))
	}
}

// Request returns the entity of the request that is executed, for links to it.
func (c *Call) Request() engram.ID { return counterpart(c.Execution, "Request") }

// StopReason returns why the execution shall stop, "" if it shall not.
func (c *Call) StopReason() string {
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	return c.reason
}

// Service returns what the provider works on, to query, commit, subscribe and predict.
func (c *Call) Service() engram.Service { return c.provider.svc }

// Run executes another skill as a part of this one and returns its result. The error is a
// *[Failure] if it failed or was aborted. When this execution is stopped, so is the other, and
// Run returns when that stands still.
func (c *Call) Run(skill string, parameters any) (any, error) {
	x, err := c.Start(Request{Skill: skill, Parameters: parameters})
	if err != nil {
		return nil, err
	}
	e, err := x.Wait(c)
	if err != nil && c.Err() != nil { // the memory stops it; what it answers is waited for
		c.provider.mu.Lock()
		left := time.Until(c.deadline.Std())
		c.provider.mu.Unlock()
		last, cancel := context.WithTimeout(context.WithoutCancel(c), max(left, time.Millisecond))
		defer cancel()
		e, err = x.Wait(last)
	}
	if err != nil {
		return nil, err
	}
	return e.Result, e.Err()
}

// Start begins an execution of another skill as a part of this one: its parent is this
// execution, its caller this provider, where the request does not say otherwise.
func (c *Call) Start(r Request) (*Ongoing, error) {
	r.Memory = cmp.Or(r.Memory, c.provider.memory)
	r.Caller = cmp.Or(r.Caller, c.provider.name)
	if r.Parent.IsRoot() {
		r.Parent = c.Execution
	}
	if r.Cause.IsRoot() {
		r.Cause = c.Cause
	}
	return Start(c, c.provider.svc, r)
}
