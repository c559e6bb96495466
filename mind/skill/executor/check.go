package executor

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// checkDescription returns what is wrong with what a provider offers.
func (x *Executor) checkDescription(ctx context.Context, d *skill.Description) error {
	if lease := x.schedule.Leased(x.now(), d.ID.ProviderSegment()); lease > 0 && lease < 2*d.StopWithin {
		return engram.Errorf(engram.Invalid, d.ID.String(), "the lease of its provider, %v, is too short for what stops within %v: at least twice that", lease, d.StopWithin)
	}
	if err := condition.CheckTerms(d.Requires); err != nil {
		return engram.Errorf(engram.CodeOf(err), d.ID.String(), "requires: %w", err)
	}
	return x.read.checkTerms(ctx, d.ID, d.Requires)
}

// readFor returns the patterns that the memory reads for a skill. The error is of those that are none.
func readFor(d *skill.Description) (all []engram.Pattern, wrong error) {
	all = readBy(&condition.Condition{All: d.Requires})
	for parameter, pattern := range d.Resolves {
		p, err := engram.ParsePattern(pattern)
		if err != nil {
			wrong = engram.Errorf(engram.Invalid, d.ID.String(), "resolves %s: %w", parameter, err)
			continue
		}
		all = append(all, p)
	}
	return all, wrong
}

// checkParameters checks what a skill is called with against the type that it takes.
func (m *reader) checkParameters(ctx context.Context, all map[string]any, d *skill.Description) error {
	return m.check(ctx, all, d.ParameterType, d.ID, "parameters")
}

// checkResult checks what a skill returned.
func (m *reader) checkResult(ctx context.Context, all map[string]any, d *skill.Description) error {
	return m.check(ctx, all, d.ResultType, d.ID, "result")
}

// check checks values against a type. Values of a skill that names no type are any.
func (m *reader) check(ctx context.Context, all map[string]any, name string, of engram.ID, what string) error {
	t, err := m.types.get(ctx, name)
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

// resolve returns what the parameters name that a skill resolves, as it is now, and of parameters that are given as poses in frames
// what is there, if anything is. The error is Invalid for a name that there is not, or that two have.
func (m *reader) resolve(ctx context.Context, parameters map[string]any, d *skill.Description) (map[string]any, error) {
	var all map[string]any
	for parameter, text := range d.Resolves {
		given := parameters[parameter]
		name, ok := given.(string)
		if _, _, placed := stated(given); !ok && !placed { // it is given as such
			continue
		}
		p, err := engram.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		items, err := m.present(ctx)(p)
		if err != nil {
			return nil, err
		}
		item, found := engram.Item{}, true
		if ok {
			item, err = named(parameter, name, text, items)
		} else {
			item, found = m.places.nearest(given, items)
		}
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if all == nil {
			all = map[string]any{}
		}
		all[parameter] = m.resolved(ctx, item)
	}
	return all, nil
}

// named returns the entity that a parameter names, by its name or its ID.
func named(parameter, name, pattern string, items []engram.Item) (found engram.Item, err error) {
	var names []string
	n := 0
	for _, item := range items {
		entity := item.ID.Truncate(engram.LevelEntity)
		if names = append(names, entity.Entity()); entity.Entity() == name || entity.String() == name {
			found = item
			n++
		}
	}
	switch {
	case n > 1:
		return found, engram.Errorf(engram.Invalid, parameter, "%d entities of %s are called %s; name one by its ID", n, pattern, name)
	case n == 1:
		return found, nil
	}
	text := "there is no " + name + " in " + pattern
	if near := spelling.Nearest(name, names); near != "" {
		text += "; did you mean " + near + "?"
	}
	return found, engram.Errorf(engram.Invalid, parameter, "%s", text)
}

// mostResolved bounds what an execution has of an entity that it names, in bytes.
const mostResolved = 1 << 16

// resolved returns what an execution has of an entity that it names.
func (m *reader) resolved(ctx context.Context, item engram.Item) map[string]any {
	is := map[string]any{"id": item.ID.Instance(0)}
	p := item.Instances[0].Payload
	if t, err := m.types.get(ctx, p.Type); err == nil && t != nil && len(p.Bytes) <= mostResolved {
		if v, err := t.Decode(p.Bytes); err == nil {
			is["value"] = v
		}
	}
	return is
}

// checked writes whether a skill could be called now.
func (x *Executor) checked(ctx context.Context, e skill.Execution, d *skill.Description) (written <-chan struct{}) {
	e.Time, e.Started = x.clock(), x.clock()
	e.Status, e.Message = schedule.Succeeded, "it could be called now"
	code := "unavailable"
	what, by := x.schedule.Obstacle(taskOf(&e))
	if what == "" {
		code = codes[schedule.Condition]
		what, by = x.unmet(ctx, d)
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
