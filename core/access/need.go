package access

import (
	"cmp"
	"context"

	"github.com/seed-301d4374/engram"
)

// Need is something that an identity must be allowed so that a call of it is made.
type Need struct {
	Actions Actions   // all of them,
	Or      Actions   // or all of these unless they are none,
	On      engram.ID // with this and all below it; the root is the whole server
	Thing   string    // what errors call it; On if empty
	// What the identity does, which is noted of who administers something; empty is
	// not noted.
	What string
}

// thing returns what a need is about.
func (n *Need) thing() string {
	if n.Thing == "" && n.On.IsRoot() {
		return "the whole server"
	}
	return cmp.Or(n.Thing, n.On.String())
}

// Permit returns nil if the identity of a call is allowed all that is needed, and
// notes what it administers. Otherwise it returns Forbidden, which is noted too.
func (c *Control) Permit(ctx context.Context, needs ...Need) error {
	gr := c.grant(ctx)
	for i := range needs {
		n := &needs[i]
		if !gr.may(n.Actions, n.On) && (n.Or == 0 || !gr.may(n.Or, n.On)) {
			return c.forbidden(gr.id, n.Actions, n.thing())
		}
	}
	for i := range needs {
		if n := &needs[i]; n.What != "" {
			c.note(Event{Kind: EventAdmin, Identity: gr.id, Action: n.Actions, Thing: n.thing(), Text: n.What})
		}
	}
	return nil
}

// Within returns the context for a call that is answered within what its identity may
// do all of the actions with. [May] asks the rules in it.
func (c *Control) Within(ctx context.Context, a Actions) context.Context {
	ctx = context.WithValue(ctx, controlKey{}, c)
	if gr := c.grant(ctx); a != 0 && !gr.all {
		ctx = engram.WithScope(ctx, scope{gr, a})
	}
	return ctx
}

type controlKey struct{}

// PermitIn is [Control.Permit] for a call that was let in by [Control.Within]; nil where there
// are no rules.
func PermitIn(ctx context.Context, needs ...Need) error {
	c, ok := ctx.Value(controlKey{}).(*Control)
	if !ok {
		return nil
	}
	return c.Permit(ctx, needs...)
}

// May reports whether the identity of a call that was let in by [Control.Within], or of a commit that a [Guard] let in, may do
// all of the actions with id and all below it. Where there are no rules everybody may.
func May(ctx context.Context, a Actions, id engram.ID) bool {
	c, ok := ctx.Value(controlKey{}).(*Control)
	return !ok || c.May(ctx, a, id)
}
