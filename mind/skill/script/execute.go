package script

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill"
)

// Skills returns the provider's skills for [skill.Skills.Provide], for a memory of which they write and ask. The error is that
// of a type that a description names and the memory does not know, or that its defaults do not fit; it names file and line.
func (p *Provider) Skills(ctx context.Context, svc skill.Service) ([]skill.Skill, error) {
	codec, err := skill.NewCodec(ctx, svc)
	if err != nil {
		return nil, err
	}
	m := &memory{svc: svc, codec: codec}
	var all []skill.Skill
	for _, s := range p.skills {
		d := s.Description
		if d.Defaults, err = m.typed(ctx, d.ParameterType, d.Defaults); err != nil {
			return nil, s.at.errorf(engram.CodeOf(err), "the skill %s: defaults: %w", s.name, err)
		}
		for _, name := range []string{d.ParameterType, d.ResultType} {
			if name == "" {
				continue
			}
			if _, err := svc.Type(ctx, name); err != nil {
				return nil, s.at.errorf(engram.CodeOf(err), "the skill %s: %w", s.name, err)
			}
		}
		all = append(all, skill.Skill{Name: s.name, Description: d, Do: func(ctx context.Context, c *skill.Call) error { return m.execute(ctx, c, s) }})
	}
	return all, nil
}

// Provide offers the provider's skills until ctx ends; see [skill.Skills.Provide].
func (p *Provider) Provide(ctx context.Context, svc skill.Service, o skill.ProvideOptions) error {
	skills, err := skill.Open(ctx, svc)
	if err != nil {
		return err
	}
	all, err := p.Skills(ctx, svc)
	if err != nil {
		return err
	}
	o.Lease = p.Lease
	return skills.Provide(ctx, p.Name, o, all...)
}

// memory is what skills write to and ask.
type memory struct {
	svc   skill.Service
	codec *skill.Codec
}

// call is an execution of a scripted skill.
type call struct {
	*skill.Call
	*memory
	s     *scripted
	going context.Context // ends when it is to stop, and does

	mu  sync.Mutex
	how answer
}

// answer is what a call does when it is told to stop.
type answer struct {
	deaf    bool // nothing
	refuses bool // it goes on the next time, and says why
	refusal string
}

// answer changes how the call answers.
func (c *call) answer(change func(*answer)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.how)
}

// execute does what a skill does.
func (m *memory) execute(ctx context.Context, told *skill.Call, s *scripted) error {
	going, end := context.WithCancelCause(context.WithoutCancel(ctx))
	c := &call{Call: told, memory: m, s: s, going: going}
	var listening sync.WaitGroup
	listening.Go(func() { c.listen(ctx, end) })
	defer listening.Wait()
	defer end(nil)
	n := int(s.called.Add(1))
	err := c.steps(s.steps)
	if err == nil && len(s.calls) > 0 {
		err = c.steps(s.calls[min(n, len(s.calls))-1])
	}
	if err != nil && errors.Is(err, context.Cause(going)) {
		time.Sleep(s.stopping) // until it stands still, whatever comes
		return context.Cause(ctx)
	}
	return err
}

// listen ends the call's context when it is to stop.
func (c *call) listen(ctx context.Context, end context.CancelCauseFunc) {
	told, over := ctx.Done(), c.Lasting().Done()
	for {
		var why error
		select {
		case <-c.going.Done():
			return
		case stop := <-c.Stops():
			why = &skill.StopError{Stop: stop}
		case <-over:
			over, why = nil, context.Cause(c.Lasting())
		case <-told:
			told, why = nil, context.Cause(ctx)
			if errors.As(why, new(*skill.StopError)) { // which comes with Stops
				continue
			}
		}
		var how answer
		c.answer(func(a *answer) {
			how, a.refuses = *a, false
		})
		switch {
		case how.deaf:
		case how.refuses && errors.As(why, new(*skill.StopError)) && c.Refuse(c.Lasting(), how.refusal) == nil:
		default:
			end(why)
			return
		}
	}
}

// steps carries steps out, until one fails or it is to stop.
func (c *call) steps(all []step) error {
	for _, s := range all {
		if c.going.Err() != nil {
			return context.Cause(c.going)
		}
		if !c.holds(s.when) {
			continue
		}
		for _, name := range s.names {
			if _, given := c.Parameters[name]; !given {
				return s.errorf(engram.Invalid, "the parameter %s is not given; the skill's defaults may have it", name)
			}
		}
		err := s.do(c, filled(s.values, c.Parameters))
		switch told := (*engram.Error)(nil); {
		case err == nil:
		case errors.As(err, new(*skill.Failure)), errors.Is(err, context.Cause(c.going)), errors.As(err, &told) && told.Thing == s.file:
			return err
		default:
			return s.errorf(engram.CodeOf(err), "%w", err)
		}
	}
	return nil
}

// holds reports whether parameters have values.
func (c *call) holds(when map[string]any) bool {
	for name, value := range when {
		if given, ok := c.Parameters[name]; !ok || textOf(given) != textOf(value) {
			return false
		}
	}
	return true
}

// deaf reports whether it does not listen.
func (c *call) deaf() (deaf bool) {
	c.answer(func(a *answer) { deaf = a.deaf })
	return deaf
}

func (c *call) wait(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.going.Done():
		return context.Cause(c.going)
	}
}

func (c *call) progress(done float64, message string) error {
	err := c.Progress(c.going, done, message)
	if c.deaf() { // it goes on whatever the memory says
		return nil
	}
	return err
}

// run executes another skill.
func (c *call) run(id engram.ID, values any) error {
	parameters, _ := values.(map[string]any)
	taken := ""
	switch s, err := c.svc.Latest(c.going, id); engram.CodeOf(err) {
	case 0:
		d, err := c.codec.Description(id, s.Instances)
		if err != nil {
			return err
		}
		taken = d.ParameterType
	case engram.NotFound: // which the memory says best
	default:
		return err
	}
	parameters, err := c.memory.typed(c.going, taken, parameters)
	if err != nil {
		return err
	}
	_, err = c.Run(c.going, skill.Ask{Skill: id.ProviderSegment() + "/" + id.Entity(), Parameters: parameters})
	return err
}

// commit writes an entity as it is now.
func (c *call) commit(entity, typ string, values any) error {
	id, err := entityID(entity)
	if err != nil {
		return err
	}
	all, _ := values.(map[string]any)
	b, _, err := c.encoded(c.going, typ, all)
	if err != nil {
		return err
	}
	u := engram.EntityUpdate{Entity: id, Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: b})}}
	results, err := c.svc.Commit(c.going, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil {
		return err
	}
	if results[0].Err != nil {
		return results[0].Err
	}
	return nil
}

// typed returns values that were filled in as a type has them.
func (c *call) typed(name string, values any) (map[string]any, error) {
	all, _ := values.(map[string]any)
	return c.memory.typed(c.going, name, all)
}
