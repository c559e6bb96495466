package feature

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

// Rule says what the caller of a procedure must be allowed. The zero Rule allows nobody
// anything.
type Rule struct {
	needs func(ctx context.Context, request proto.Message) ([]access.Need, error)
	sees  access.Actions
}

// Needs is the rule of a call that needs the same whatever is asked.
func Needs(needs ...access.Need) Rule {
	return Rule{needs: func(context.Context, proto.Message) ([]access.Need, error) { return needs, nil }}
}

// NeedsOf is the rule of a call whose request says what it is about.
func NeedsOf[P proto.Message](f func(ctx context.Context, request P) ([]access.Need, error)) Rule {
	return Rule{needs: func(ctx context.Context, m proto.Message) ([]access.Need, error) { return f(ctx, m.(P)) }}
}

// Sees is the rule of a call that everybody may make, and that is answered within what
// its caller may do all of the actions with ([engram.ScopeOf]), as if there was nothing
// else.
func Sees(a access.Actions) Rule { return Rule{sees: a} }

// Guard returns a server whose memory and features are behind access rules.
func Guard(s Server, rules *access.Control) Server {
	g := guarded{Guard: access.NewGuard(s, rules)}
	for _, f := range s.Features() {
		g.features = append(g.features, f.Guarded(rules))
	}
	return g
}

type guarded struct {
	*access.Guard
	features []Feature
}

func (g guarded) Features() []Feature { return g.features }

// Guarded returns the feature with the rules applied before each of its calls. Streams
// end when the rights of their caller change.
func (f Feature) Guarded(rules *access.Control) Feature {
	calls := make([]Call, len(f.Calls))
	for i, c := range f.Calls {
		calls[i] = c.guarded(rules)
	}
	f.Calls = calls
	return f
}

func (c Call) guarded(rules *access.Control) Call {
	permit := func(ctx context.Context, m proto.Message) (context.Context, error) {
		switch {
		case c.rule.needs != nil:
			needs, err := c.rule.needs(ctx, m)
			if err != nil {
				return ctx, err
			}
			if err := rules.Permit(ctx, needs...); err != nil {
				return ctx, err
			}
		case c.rule.sees == 0:
			return ctx, engram.Errorf(engram.Forbidden, c.Name, "the call says nothing of who may make it")
		}
		return rules.Within(ctx, c.rule.sees), nil
	}
	// bound runs a stream until the rights change.
	bound := func(ctx context.Context, f func(ctx context.Context) error) error {
		ctx, end, err := rules.Bound(ctx)
		if err != nil {
			return err
		}
		defer end()
		return access.Cause(ctx, f(ctx))
	}
	if f := c.Unary; f != nil {
		c.Unary = func(ctx context.Context, m proto.Message) (proto.Message, error) {
			ctx, err := permit(ctx, m)
			if err != nil {
				return nil, err
			}
			return f(ctx, m)
		}
	}
	if f := c.Stream; f != nil {
		c.Stream = func(ctx context.Context, m proto.Message, send func(proto.Message) error) error {
			return bound(ctx, func(ctx context.Context) error {
				ctx, err := permit(ctx, m)
				if err != nil {
					return err
				}
				return f(ctx, m, send)
			})
		}
	}
	if f := c.Pipe; f != nil {
		c.Pipe = func(ctx context.Context, p Messages) error {
			return bound(ctx, func(ctx context.Context) error {
				ctx, err := permit(ctx, nil)
				if err != nil {
					return err
				}
				return f(ctx, p)
			})
		}
	}
	return c
}
