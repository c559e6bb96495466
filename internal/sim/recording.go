package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// round is a cycle as it is played where nobody executes the skills: what the body does, and what is told of that.
type round struct {
	course *course
	events []event // by time
}

// event is something that is reported in a round.
type event struct {
	at      float64 // seconds from the beginning of the round
	updates func(cycle int) []engram.EntityUpdate
}

// player plays rounds in a time of its own, and executes the skills itself.
type player struct {
	*stage
	abilities []ability
	passed    float64 // of the round
	events    []event
	begun     int // executions
}

// play returns the rounds that alternate.
func (r *Robot) play() (rounds [2]round, err error) {
	p := &player{abilities: r.abilities}
	p.stage = newStage(r, p)
	for i := range rounds {
		p.course.Store(&course{})
		p.passed, p.events, p.begun = 0, nil, 0
		if err := p.stage.round(context.Background(), p.ask); err != nil {
			return rounds, err
		}
		rounds[i] = round{p.course.Load(), p.events}
	}
	return rounds, nil
}

func (p *player) now() float64 { return p.passed }

func (p *player) wait(ctx context.Context, until float64) error {
	p.passed = max(p.passed, until)
	return ctx.Err()
}

func (p *player) report(at float64, what func(engram.Time) []engram.EntityUpdate) {
	p.events = append(p.events, event{at, func(cycle int) []engram.EntityUpdate { return what(p.robot.at(cycle, at)) }})
}

// ask has a command be given, carried out and answered.
func (p *player) ask(ctx context.Context, c *command) error {
	asked := p.passed
	p.report(asked, func(t engram.Time) []engram.EntityUpdate { return p.robot.asked(t, c) })
	p.passed += hearing
	x, err := p.execute(ctx, nil, asked, skill.Ask{Skill: c.skill, Parameters: c.arguments, Caller: p.robot.config.Robot})
	if err != nil {
		return err
	}
	at := p.passed
	p.events = append(p.events, event{at, func(cycle int) []engram.EntityUpdate {
		return p.robot.said(p.robot.at(cycle, at), c.answer, x.id(cycle))
	}})
	return nil
}

// played is an execution in a round.
type played struct {
	*player
	ability *ability
	parent  *played // nil: a command asked for it
	asked   float64 // when that was
	started float64
	number  int             // in the round
	last    schedule.Status // that was told
	is      skill.Execution // as it is told next, but for names and times, which are those of a cycle
}

// execute executes a skill. The error is that of the skill.
func (p *player) execute(ctx context.Context, parent *played, asked float64, a skill.Ask) (*played, error) {
	i := slices.IndexFunc(p.abilities, func(b ability) bool { return b.name() == a.Skill })
	if i < 0 {
		return nil, engram.Errorf(engram.NotFound, a.Skill, "the robot has no such skill")
	}
	p.begun++
	x := &played{player: p, ability: &p.abilities[i], parent: parent, asked: asked, started: p.passed, number: p.begun, last: never}
	x.is = skill.Execution{Skill: x.ability.ID, Caller: a.Caller, Parameters: a.Parameters, Progress: -1}
	if a.Parameters == nil {
		x.is.Parameters = x.ability.Defaults
	}
	x.tell(schedule.Preparing, "")
	p.passed += 0.02
	x.tell(schedule.Running, "")
	err := x.ability.do(ctx, &deed{x, p.stage})
	if err == nil {
		x.tell(schedule.Succeeded, "")
		return x, nil
	}
	failure := &skill.Failure{Code: engram.CodeOf(err).String(), Message: err.Error()}
	_ = errors.As(err, &failure)
	x.is.Failure = new(*failure)
	x.is.Failure.Stage = cmp.Or(failure.Stage, x.path())
	x.tell(schedule.Failed, failure.Message)
	return x, x.is.Failure
}

// path names the skills from the one that was called first to this.
func (x *played) path() string {
	if x.parent == nil {
		return x.is.Skill.Entity()
	}
	return x.parent.path() + "/" + x.is.Skill.Entity()
}

// id returns the entity in a cycle, such as "Grasp-1.3".
func (x *played) id(cycle int) engram.ID {
	id, err := engram.NewID("Skill", "Execution", x.is.Skill.ProviderSegment(), fmt.Sprintf("%s-%d.%d", x.is.Skill.Entity(), cycle+1, x.number))
	if err != nil {
		panic(err)
	}
	return id
}

// tell tells how far the execution has come.
func (x *played) tell(status schedule.Status, message string) {
	from, at, e := x.last, x.passed, x.is
	e.Status, e.Message = status, message
	x.events = append(x.events, event{at, func(cycle int) []engram.EntityUpdate {
		r := x.robot
		e := e
		e.ID, e.Time, e.Started = x.id(cycle), r.at(cycle, at), r.at(cycle, x.started)
		if e.Cause = r.commandID(r.at(cycle, x.asked)); x.parent != nil {
			e.Parent = x.parent.id(cycle)
		}
		return r.noted(&e, from)
	}})
	x.last = status
	x.passed += 0.001 // what is told next is another time
}

func (x *played) Text(name string) string { s, _ := x.is.Parameters[name].(string); return s }

func (x *played) Expect(inAll time.Duration) { x.is.Expected = inAll }

func (x *played) SetResult(result map[string]any) { x.is.Result = result }

func (x *played) Progress(ctx context.Context, done float64, message string) error {
	x.is.Progress = done
	x.tell(schedule.Running, message)
	return ctx.Err()
}

func (x *played) Run(ctx context.Context, a skill.Ask) (*skill.Execution, error) {
	a.Caller = x.is.Skill.Entity()
	y, err := x.execute(ctx, x, x.asked, a)
	if y == nil {
		return nil, err
	}
	return &y.is, err
}
