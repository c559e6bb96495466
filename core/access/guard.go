package access

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Guard lets the identities of calls do what the rules allow with the memory of a server.
// It implements engram.Server. Safe for concurrent use. Package feature guards the other
// calls of a server.
type Guard struct {
	svc engram.Server
	c   *Control
}

var _ engram.Server = (*Guard)(nil)

// NewGuard returns a guard before svc, which answers calls within their scope
// (engram.ScopeOf), as server.Server does.
func NewGuard(svc engram.Server, c *Control) *Guard { return &Guard{svc: svc, c: c} }

// grant returns what the identity of a call may do.
func (c *Control) grant(ctx context.Context) *grant { return c.table.Load().grant(IdentityOf(ctx)) }

// grant returns what the identity of a call may do.
func (g *Guard) grant(ctx context.Context) *grant { return g.c.grant(ctx) }

// Epoch identifies the server's epoch.
func (g *Guard) Epoch() uint64 { return g.svc.Epoch() }

// Number returns the number of the server's newest update.
func (g *Guard) Number() uint64 { return g.svc.Number() }

// MemoriesFor returns the names of the memories in which the identity of a call may
// do anything.
func (g *Guard) MemoriesFor(ctx context.Context) []string {
	gr := g.grant(ctx)
	all := g.svc.MemoriesFor(ctx)
	out := make([]string, 0, len(all))
	for _, name := range all {
		if gr.knowsMemory(name) {
			out = append(out, name)
		}
	}
	return out
}

func (g *grant) knowsMemory(name string) bool {
	id, err := engram.NewID(name)
	return err == nil && g.might(All, id)
}

// Commit implements engram.Writer.
func (g *Guard) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	return g.c.commit(ctx, g.svc, c)
}

// CommitIn commits to svc for a call that was let in by [Control.Within], as a [Guard] before svc does and with what edges look at
// before it: what the identity of the call may not write is Forbidden. Where there are no rules all may be written. That the
// call reads within a scope is no matter.
func CommitIn(ctx context.Context, svc engram.Writer, c engram.Commit) ([]engram.UpdateResult, error) {
	rules, ok := ctx.Value(controlKey{}).(*Control)
	ctx = engram.WithScope(ctx, nil)
	if !ok {
		return svc.Commit(ctx, c)
	}
	if err := rules.Somewhere(ctx, Write, 0); err != nil {
		return nil, err
	}
	return rules.commit(ctx, svc, c)
}

// commit commits to svc what the identity of a call may write.
func (c *Control) commit(ctx context.Context, svc engram.Writer, all engram.Commit) ([]engram.UpdateResult, error) {
	gr := c.grant(ctx)
	if gr.all {
		return svc.Commit(ctx, all)
	}
	ctx = context.WithValue(ctx, controlKey{}, c) // hooks ask [May]
	refused := c.refused(gr, all)
	if refused == nil {
		return svc.Commit(ctx, all)
	}
	passed := all.With(nil)
	for i := range all.Updates {
		if refused[i] == nil {
			passed.Updates = append(passed.Updates, all.Updates[i])
		}
	}
	var results []engram.UpdateResult
	if len(passed.Updates) > 0 {
		var err error
		if results, err = svc.Commit(ctx, passed); err != nil {
			return nil, err
		}
	}
	return among(all, refused, results), nil
}

// refused returns the errors of the updates that may not be written, by index; nil if
// all may.
func (c *Control) refused(gr *grant, all engram.Commit) map[int]error {
	var refused map[int]error
	for i := range all.Updates {
		if id := all.Updates[i].Entity; !gr.may(Write, id) {
			if refused == nil {
				refused = map[int]error{}
			}
			refused[i] = c.forbidden(gr.id, Write, id.String())
		}
	}
	return refused
}

// among returns the answers to all of a commit, given those to what was not refused.
func among(c engram.Commit, refused map[int]error, results []engram.UpdateResult) []engram.UpdateResult {
	all := make([]engram.UpdateResult, len(c.Updates))
	for i := range all {
		if err := refused[i]; err != nil {
			all[i] = engram.UpdateResult{ID: c.Updates[i].Entity, Err: err}
			continue
		}
		if len(results) > 0 {
			all[i], results = results[0], results[1:]
		}
	}
	return all
}

// Query implements engram.Reader.
func (g *Guard) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	ctx = g.reading(ctx, &q)
	r, err := g.svc.Query(ctx, q)
	return within(engram.ScopeOf(ctx), r), err
}

// QueryParts implements engram.PartReader.
func (g *Guard) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	ctx = g.reading(ctx, &q)
	return g.svc.QueryParts(ctx, q, func(r *engram.Result) error { return part(within(engram.ScopeOf(ctx), r)) })
}

// within takes out of a result what it notes of others than the snapshots that the
// memory has: what is missing of copies, and which copies there are. What the filter
// failed on was in the scope.
func within(s engram.Scope, r *engram.Result) *engram.Result {
	if s == nil || r == nil {
		return r
	}
	r.Missing = slices.DeleteFunc(r.Missing, func(m engram.Missing) bool {
		return m.Reason != engram.MissingFilterFailed && s.Visibility(m.ID.Truncate(engram.LevelEntity)) != engram.Visible
	})
	r.Copies = slices.DeleteFunc(r.Copies, func(c engram.CopyUsed) bool {
		id, err := engram.NewID(c.Memory)
		return err != nil || s.Visibility(id) == engram.Hidden
	})
	return r
}

// reading returns the context for a query: with a scope, unless all that the query
// can find may be read.
func (g *Guard) reading(ctx context.Context, q *engram.Query) context.Context {
	gr := g.grant(ctx)
	if gr.all {
		return ctx
	}
	s := gr.readScope(q.Memories)
	if s == nil {
		return ctx
	}
	return engram.WithScope(ctx, s)
}

// readScope returns the scope in which a query is answered, nil where that would change
// nothing: it asks within one node of the hierarchy, of which all may be read.
func (g *grant) readScope(nodes []engram.QueryNode) engram.Scope {
	if len(g.rules) == 0 {
		return scope{g, Read}
	}
	var names [engram.LevelEntity]string
	depth := 0
	for depth < len(names) && len(nodes) == 1 && nodes[0].Names.Kind == engram.NameOneOf && len(nodes[0].Names.Names) == 1 {
		names[depth] = nodes[0].Names.Names[0]
		nodes = nodes[0].Children
		depth++
	}
	n, ok := g.nodes.get(nodeKey{names[0], names[1], names[2]})
	if !ok {
		id, err := engram.NewID(names[:min(depth, len(names)-1)]...)
		if err != nil {
			return scope{g, Read}
		}
		n = g.at(id)
	}
	switch {
	case n.cover.allow&Read != 0 && n.reach.deny&Read == 0:
		return nil
	case depth == len(names):
		return &oneEntity{names, g.entity(n, names[3]).granted()&Read != 0}
	}
	return scope{g, Read}
}

// oneEntity is the scope of a query about one entity: what programs ask again and
// again costs one look at the rules.
type oneEntity struct {
	names   [engram.LevelEntity]string
	granted bool
}

func (s *oneEntity) Visibility(id engram.ID) engram.Visibility {
	if !s.granted || id.Memory() != s.names[0] {
		return engram.Hidden
	}
	switch l := id.Level(); {
	case l >= engram.LevelCoreSegment && id.CoreSegment() != s.names[1],
		l >= engram.LevelProviderSegment && id.ProviderSegment() != s.names[2],
		l >= engram.LevelEntity && id.Entity() != s.names[3]:
		return engram.Hidden
	case l >= engram.LevelEntity:
		return engram.Visible
	}
	return engram.Partial
}

// Latest implements engram.LatestReader.
func (g *Guard) Latest(ctx context.Context, entity engram.ID) (*engram.Snapshot, error) {
	return g.readOne(ctx, entity, func(ctx context.Context) (*engram.Snapshot, error) { return g.svc.Latest(ctx, entity) })
}

// AtOrBefore implements engram.LatestReader.
func (g *Guard) AtOrBefore(ctx context.Context, entity engram.ID, t engram.Time) (*engram.Snapshot, error) {
	return g.readOne(ctx, entity, func(ctx context.Context) (*engram.Snapshot, error) { return g.svc.AtOrBefore(ctx, entity, t) })
}

func (g *Guard) readOne(ctx context.Context, entity engram.ID, read func(context.Context) (*engram.Snapshot, error)) (*engram.Snapshot, error) {
	gr := g.grant(ctx)
	if gr.all {
		return read(ctx)
	}
	if gr.may(Read, entity.Truncate(engram.LevelProviderSegment)) {
		s, err := read(ctx)
		if engram.CodeOf(err) != engram.NotFound {
			return s, err
		}
		// What the error says is missing depends on what there is for who asks.
	}
	return read(engram.WithScope(ctx, scope{gr, Read}))
}

// Predict implements engram.Predictor.
func (g *Guard) Predict(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
	gr := g.grant(ctx)
	if gr.all {
		return g.svc.Predict(ctx, ids)
	}
	answers := make([]engram.Prediction, len(ids))
	var asked []engram.ID
	var at []int
	for i, id := range ids {
		if id.Level() == engram.LevelSnapshot && !gr.may(Read, id) {
			answers[i] = engram.Prediction{ID: id, Err: engram.Errorf(engram.NotFound, id.String(), "there is no such entity")}
			continue
		}
		asked, at = append(asked, id), append(at, i)
	}
	if len(asked) == 0 {
		return answers, nil
	}
	got, err := g.svc.Predict(engram.WithScope(ctx, scope{gr, Read}), asked)
	if err != nil {
		return nil, err
	}
	for k := range min(len(got), len(at)) {
		answers[at[k]] = got[k]
	}
	return answers, nil
}

// Describe implements engram.Segments. It tells of what the identity may do anything
// with: who may only write needs the types.
func (g *Guard) Describe(ctx context.Context, p engram.Pattern) ([]engram.Description, error) {
	if gr := g.grant(ctx); !gr.all {
		ctx = engram.WithScope(ctx, known{gr})
	}
	return g.svc.Describe(ctx, p)
}

// Stats implements engram.Statistician.
func (g *Guard) Stats(ctx context.Context, p engram.Pattern, depth engram.Level) ([]engram.Stats, error) {
	if gr := g.grant(ctx); !gr.all {
		ctx = engram.WithScope(ctx, scope{gr, Read})
	}
	return g.svc.Stats(ctx, p, depth)
}

// administer returns Forbidden unless the identity of a call may administer id and all
// below it, and notes what it does.
func (g *Guard) administer(ctx context.Context, id engram.ID, what string) error {
	return g.c.Permit(ctx, Need{Actions: Admin, On: id, What: what})
}

// AddCoreSegment implements engram.Segments.
func (g *Guard) AddCoreSegment(ctx context.Context, s engram.CoreSegment) error {
	if err := g.administer(ctx, s.ID, "add core segment"); err != nil {
		return err
	}
	return g.svc.AddCoreSegment(ctx, s)
}

// AddProviderSegment implements engram.Segments.
func (g *Guard) AddProviderSegment(ctx context.Context, s engram.ProviderSegment) error {
	if err := g.administer(ctx, s.ID, "add provider segment"); err != nil {
		return err
	}
	return g.svc.AddProviderSegment(ctx, s)
}

// RemoveSegment implements engram.Segments.
func (g *Guard) RemoveSegment(ctx context.Context, id engram.ID) error {
	if err := g.administer(ctx, id, "remove segment"); err != nil {
		return err
	}
	return g.svc.RemoveSegment(ctx, id)
}

// AddType implements engram.Types. Types belong to the whole server; who may
// administer anything may add one, and others may add what is there.
func (g *Guard) AddType(ctx context.Context, t engram.TypeDef) error {
	gr := g.grant(ctx)
	if gr.might(Admin, engram.ID{}) {
		return g.svc.AddType(ctx, t)
	}
	if gr.might(All, engram.ID{}) {
		if known, err := g.svc.Type(ctx, t.Name); err == nil && sameType(known, t) {
			return nil
		}
	}
	return g.c.forbidden(gr.id, Admin, t.Name)
}

// Type implements engram.Types. Types are the vocabulary of the server: who may do
// anything may know them.
func (g *Guard) Type(ctx context.Context, name string) (engram.TypeDef, error) {
	if gr := g.grant(ctx); !gr.might(All, engram.ID{}) {
		return engram.TypeDef{}, engram.Errorf(engram.NotFound, name, "the type is not known here; make it known with AddType first")
	}
	return g.svc.Type(ctx, name)
}

// TypeNames implements engram.Types.
func (g *Guard) TypeNames(ctx context.Context) ([]string, error) {
	if gr := g.grant(ctx); !gr.might(All, engram.ID{}) {
		return nil, nil
	}
	return g.svc.TypeNames(ctx)
}
