package follow

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// scoped is a server as somebody sees it who may read a part of it only.
type scoped struct {
	engram.Service
	scope engram.Scope
}

func (s scoped) in(ctx context.Context) context.Context { return engram.WithScope(ctx, s.scope) }

func (s scoped) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	return s.Service.Query(s.in(ctx), q)
}

func (s scoped) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	return s.Service.QueryParts(s.in(ctx), q, part)
}

func (s scoped) Latest(ctx context.Context, entity engram.ID) (*engram.Snapshot, error) {
	return s.Service.Latest(s.in(ctx), entity)
}

func (s scoped) AtOrBefore(ctx context.Context, entity engram.ID, t engram.Time) (*engram.Snapshot, error) {
	return s.Service.AtOrBefore(s.in(ctx), entity, t)
}

func (s scoped) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	return s.Service.Subscribe(s.in(ctx), sub)
}

func (s scoped) Predict(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
	return s.Service.Predict(s.in(ctx), ids)
}

func (s scoped) Describe(ctx context.Context, p engram.Pattern) ([]engram.Description, error) {
	return s.Service.Describe(s.in(ctx), p)
}

func (s scoped) Stats(ctx context.Context, p engram.Pattern, depth engram.Level) ([]engram.Stats, error) {
	return s.Service.Stats(s.in(ctx), p, depth)
}

// Robot returns the name of the robot whose server it is; "" if it has none.
func (s scoped) Robot() string {
	if r, ok := s.Service.(interface{ Robot() string }); ok {
		return r.Robot()
	}
	return ""
}
