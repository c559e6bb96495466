package sim

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill"
)

// Live lives in real time, as [Robot.Run] does, and has the memory's executor execute what the story calls: the robot offers
// its skills (Platform/GoTo, Arm/Grasp, Story/BringObject and others) to anybody, hears what is asked for in Speech/Command,
// by the simulated user or by others, does it, and answers. An execution that is told to stop leaves the body where it is.
// Config.Start should be now, and the robot be new or have lived by Live before.
//
// When ctx ends, what was asked for by speech is told to stop, then the providers end, and then the body. The error is that of
// the memory, as for Run, or of the subscription to commands.
func (r *Robot) Live(ctx context.Context, svc skill.Service) (Report, error) {
	skills, err := skill.Open(ctx, svc)
	if err != nil {
		return Report{}, err
	}
	if r.live == nil {
		r.live = &live{robot: r}
		r.live.stage = newStage(r, r.live)
	}
	l := r.live
	l.svc, l.skills = svc, skills
	living, die := context.WithCancel(context.WithoutCancel(ctx))
	defer die()
	ctx, end := context.WithCancel(ctx)
	var acting sync.WaitGroup
	var acted error
	acting.Go(func() {
		defer die()
		acted = l.act(ctx)
	})
	report, err := r.run(living, svc, 1, math.MaxInt)
	end()
	acting.Wait()
	if rest := l.take(engram.MaxTime); len(rest) > 0 && err == nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		_, err = svc.Commit(late, engram.Commit{Updates: rest})
	}
	return report, errors.Join(acted, err)
}

// live is a robot whose skills the memory's executor executes.
type live struct {
	*stage
	robot  *Robot
	svc    skill.Service
	skills *skill.Skills

	mu      sync.Mutex
	pending []reported // to the body's next commit
}

// reported is what is to be reported, from a time on.
type reported struct {
	from    engram.Time
	updates []engram.EntityUpdate
}

// now returns the time of the last tick.
func (l *live) now() float64 { return seconds(int(engram.Now().Sub(l.robot.config.Start) / Period)) }

func (l *live) wait(ctx context.Context, until float64) error {
	for ctx.Err() == nil && l.now() < until {
		tick := int(math.Ceil(until * ticksPerSecond))
		select {
		case <-ctx.Done():
		case <-time.After(max(time.Until(l.robot.Time(tick).Std()), time.Millisecond)):
		}
	}
	return context.Cause(ctx)
}

func (l *live) report(at float64, what func(engram.Time) []engram.EntityUpdate) {
	l.post(l.robot.at(0, at), what)
}

func (l *live) post(t engram.Time, what func(engram.Time) []engram.EntityUpdate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, reported{t, what(t)})
}

// take returns what is to be reported by a time.
func (l *live) take(by engram.Time) (updates []engram.EntityUpdate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = slices.DeleteFunc(l.pending, func(p reported) bool {
		if p.from > by {
			return false
		}
		updates = append(updates, p.updates...)
		return true
	})
	return updates
}

var errEnds = engram.Errorf(engram.Canceled, "", "the robot's program ends")

// act offers the skills and plays the story until ctx ends.
func (l *live) act(ctx context.Context) error {
	ended := ctx
	ctx, fail := context.WithCancelCause(context.WithoutCancel(ctx))
	defer fail(nil)
	defer context.AfterFunc(ended, func() { fail(errEnds) })()
	// What calls others ends before these.
	above, endAbove := context.WithCancel(context.WithoutCancel(ctx))
	below, endBelow := context.WithCancel(context.WithoutCancel(ctx))
	var story, parts sync.WaitGroup
	for name, skills := range l.offers() {
		in, group := below, &parts
		if name == storyProvider {
			in, group = above, &story
		}
		group.Go(func() { fail(l.skills.Provide(in, name, skill.ProvideOptions{}, skills...)) })
	}
	err := l.play(ctx)
	endAbove()
	story.Wait()
	endBelow()
	parts.Wait()
	return errors.Join(leaving(err), leaving(context.Cause(ctx)))
}

// offers returns the robot's skills by their providers.
func (l *live) offers() map[string][]skill.Skill {
	all := map[string][]skill.Skill{}
	for _, a := range l.robot.abilities {
		of := a.ID.ProviderSegment()
		all[of] = append(all[of], skill.Skill{Name: a.ID.Entity(), Description: a.Description, Do: func(ctx context.Context, c *skill.Call) error {
			return a.do(ctx, &deed{c, l.stage})
		}})
	}
	return all
}

// play has the user ask and the robot do, once it can.
func (l *live) play(ctx context.Context) error {
	sub, err := l.svc.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("Speech/Command")}, WithData: true})
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := l.offered(ctx); err != nil {
		return err
	}
	var user sync.WaitGroup
	defer user.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	user.Go(func() {
		for l.stage.round(ctx, l.ask) == nil {
		}
	})
	for {
		updates, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		for _, u := range updates {
			if u.Snapshot != nil {
				l.hear(ctx, u.ID.Instance(0), u.Snapshot.Instances[0].Payload)
			}
		}
	}
}

// offered waits until each skill is there and can be asked for.
func (l *live) offered(ctx context.Context) error {
	for {
		offers, err := l.skills.Offers(ctx, engram.MustPattern("Skill/Description"))
		if err != nil {
			return err
		}
		missing := slices.ContainsFunc(l.robot.abilities, func(a ability) bool {
			return !slices.ContainsFunc(offers, func(o *skill.Offer) bool { return o.ID == a.ID && o.Present })
		})
		if !missing {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(Period):
		}
	}
}

// ask has the user give a command.
func (l *live) ask(_ context.Context, c *command) error {
	l.report(l.now(), func(t engram.Time) []engram.EntityUpdate { return l.robot.asked(t, c) })
	return nil
}

// hear does what a command asks for, and answers. Commands that the story does not know are for others.
func (l *live) hear(ctx context.Context, id engram.ID, p engram.Payload) {
	v, err := l.robot.types.command.Decode(p.Bytes)
	if err != nil || p.Type != l.robot.types.command.Name() {
		return
	}
	value, _ := v.(map[string]any)
	i := slices.IndexFunc(commands[:], func(c command) bool { return c.intent == value["intent"] })
	if i < 0 || l.wait(ctx, l.now()+hearing) != nil {
		return
	}
	parameters, _ := value["arguments"].(map[string]any)
	e, err := l.skills.Run(ctx, skill.Ask{Skill: commands[i].skill, Parameters: parameters, Caller: l.robot.config.Robot, Cause: id})
	if ctx.Err() != nil {
		return
	}
	answer, cause, at := commands[i].answer, id, engram.Now()
	if err != nil {
		why := &skill.Failure{Message: err.Error()}
		_ = errors.As(err, &why)
		answer = "I could not: " + why.Message + "."
	}
	if e != nil {
		cause, at = e.ID, max(at, e.Time)
	}
	l.post(at, func(t engram.Time) []engram.EntityUpdate { return l.robot.said(t, answer, cause) })
}
