package access

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	copies "github.com/seed-301d4374/engram/copies/service"
)

// Pull implements copies/service.Source. A holder of copies pulls what its identity may
// both read and subscribe to; the pull ends when that changes, and may be begun again
// where it was.
func (g *Guard) Pull(ctx context.Context, r copies.Request, f func(*copies.Batch) error) error {
	gr := g.grant(ctx)
	ctx, end, err := g.c.bound(ctx, gr.id)
	if err != nil {
		return err
	}
	defer end()
	if gr = g.grant(ctx); !gr.all {
		ctx = engram.WithScope(ctx, scope{gr, Read | Subscribe})
	}
	return cause(ctx, g.svc.Pull(ctx, r, f))
}

// GuardCopies returns the administration of copies behind the rules: who may
// administer what a copy is of, by its name at the holder, may administer the copy.
func GuardCopies(admin copies.Admin, c *Control) copies.Admin { return &guardedCopies{admin, c} }

type guardedCopies struct {
	inner copies.Admin
	c     *Control
}

func (a *guardedCopies) check(ctx context.Context, p engram.Pattern, what string) error {
	gr := a.c.table.Load().grant(IdentityOf(ctx))
	if !gr.may(Admin, prefix(p)) {
		return a.c.forbidden(gr.id, Admin, p.String())
	}
	a.c.note(Event{Kind: EventAdmin, Identity: gr.id, Action: Admin, Thing: p.String(), Text: what})
	return nil
}

func (a *guardedCopies) AddCopy(ctx context.Context, c copies.Copy) error {
	if err := a.check(ctx, c.Pattern, "add copy"); err != nil {
		return err
	}
	return a.inner.AddCopy(ctx, c)
}

func (a *guardedCopies) RemoveCopy(ctx context.Context, pattern string, drop bool) error {
	p, err := engram.ParsePattern(pattern)
	if err != nil {
		return err
	}
	if err := a.check(ctx, p, "remove copy"); err != nil {
		return err
	}
	return a.inner.RemoveCopy(ctx, pattern, drop)
}

func (a *guardedCopies) CopyStatus(ctx context.Context) ([]copies.Status, error) {
	gr := a.c.table.Load().grant(IdentityOf(ctx))
	list, err := a.inner.CopyStatus(ctx)
	return slices.DeleteFunc(list, func(s copies.Status) bool {
		within := prefix(s.Pattern)
		return !gr.may(Read, within) && !gr.may(Admin, within)
	}), err
}

func (a *guardedCopies) Fetch(ctx context.Context, f copies.Fetching) (copies.Fetched, error) {
	patterns := f.Patterns
	if len(patterns) == 0 {
		patterns = []engram.Pattern{{}}
	}
	for _, p := range patterns {
		if err := a.check(ctx, p, "fetch"); err != nil {
			return copies.Fetched{}, err
		}
	}
	return a.inner.Fetch(ctx, f)
}
