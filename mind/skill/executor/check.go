package executor

import (
	"bytes"
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/skill"
)

// typeOf returns the type of parameters or results; nil without a name.
func (x *Executor) typeOf(ctx context.Context, name string) (*idf.Type, error) {
	if name == "" {
		return nil, nil
	}
	def, err := x.svc.Type(ctx, name)
	if err != nil {
		return nil, err
	}
	if had, ok := x.types[name]; ok && bytes.Equal(had.descriptors, def.Descriptors) {
		return had.Type, nil
	}
	t, err := idf.ParseType(def)
	if err == nil {
		x.types[name] = parsed{def.Descriptors, t}
	}
	return t, err
}

// parsed is a type, and what it was parsed from.
type parsed struct {
	descriptors []byte
	*idf.Type
}

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
	t, err := x.typeOf(ctx, name)
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
