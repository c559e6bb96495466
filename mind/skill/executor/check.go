package executor

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// checkParameters checks what a skill is called with against the type that it takes.
func (x *Executor) checkParameters(ctx context.Context, all map[string]any, d *skill.Description) error {
	return x.check(ctx, all, d.ParameterType, d.ID, "parameters")
}

// checkResult checks what a skill returned.
func (x *Executor) checkResult(ctx context.Context, all map[string]any, d *skill.Description) error {
	return x.check(ctx, all, d.ResultType, d.ID, "result")
}

// check checks values against a type. Values of a skill that names no type are any.
func (x *Executor) check(ctx context.Context, all map[string]any, name string, of engram.ID, what string) error {
	t, err := x.standing.types.get(ctx, name)
	if t == nil || err != nil {
		return err
	}
	if all == nil {
		all = map[string]any{}
	}
	if _, err := t.Encode(all); err != nil {
		return engram.Errorf(engram.Invalid, of.String(), "%s: %w", what, err)
	}
	return nil
}

// checked writes whether a skill could be called now.
func (x *Executor) checked(ctx context.Context, e skill.Execution, d *skill.Description) (written <-chan struct{}) {
	e.Time, e.Started = x.clock(), x.clock()
	e.Status, e.Message = schedule.Succeeded, "it could be called now"
	code := "unavailable"
	what, by := x.schedule.Obstacle(taskOf(&e))
	if what == "" && len(d.Requires) > 0 {
		if failed, against := x.standing.holds(ctx, d.ID); failed != nil {
			code, what, by = codes[schedule.Condition], x.told(ctx, failed, against), against
		}
	}
	if what != "" {
		e.Status, e.Message = schedule.Failed, what
		e.Failure = &skill.Failure{Code: code, Stage: e.Skill.Entity(), Message: what, Retry: true}
		if !by.IsRoot() {
			e.Failure.BlockedBy = []engram.ID{by}
		}
	}
	done := make(chan struct{})
	x.later(write{Execution: &e, done: done})
	return done
}
