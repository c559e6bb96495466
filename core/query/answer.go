package query

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// Sizes of a part of an answer, at which it is handed over.
const (
	partNodes = 4096 // snapshots, nodes and notes of what is missing
	partBytes = 1 << 20
)

// Answer is the answer to a query as it is put together: at once and within a
// limit, or in parts. Who answers walks the hierarchy in the order of names. It is
// used by one goroutine.
type Answer struct {
	builder
	ctx   context.Context
	plan  []*Node
	shape *Shape
	max   int
	left  int // snapshots and bare names that are still allowed
	part  func(*engram.Result) error
	steps int // entities looked at

	numbers *engram.Numbers // nil where snapshots are asked for
	rows    *idf.NumberRows
	row     []float64

	filter     *Filter // nil takes everything
	selectThen bool    // it comes after the selectors
	// What there is for who asks, and the names right below a node that there are.
	scope engram.Scope
	seen  [engram.LevelEntity + 1]engram.Visibility // of the nodes entered last
	names func(parent engram.ID) iter.Seq[string]
}

// Limits bound a query.
type Limits struct {
	Nodes       int   // nodes, names and selectors; 0 is no bound
	Results     int   // snapshots and bare names of an answer at once
	FilterSteps int64 // of all that it computes: of its filter, and of regular expressions; 0 is no bound
}

// NewAnswer checks and compiles q. part is nil, or gets the answer in parts.
func (c *Compiler) NewAnswer(ctx context.Context, q engram.Query, types *idf.Registry, limits Limits, part func(*engram.Result) error) (*Answer, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	if err := q.Check(limits.Nodes); err != nil {
		return nil, err
	}
	if q.Target > engram.TargetLTM {
		return nil, engram.Errorf(engram.Invalid, "", "a query of unknown target %d", q.Target)
	}
	w := c.work(ctx, limits.FilterSteps)
	plan, err := c.compile(q.Memories, w)
	if err != nil {
		return nil, err
	}
	filter, err := c.filter(w, &q, types)
	if err != nil {
		return nil, err
	}
	a := &Answer{
		filter: filter, selectThen: q.FilterOrder == engram.SelectThenFilter,
		ctx: ctx, plan: plan, shape: NewShape(types, q.Fields, q.WithoutPayload),
		max: limits.Results, left: limits.Results, part: part, scope: engram.ScopeOf(ctx),
	}
	return a, a.askNumbers(q.Numbers, types)
}

// Scoped reports whether there is less than everything for who asks: then [Answer.Walk]
// must be called.
func (a *Answer) Scoped() bool { return a.scope != nil }

// Walk says how names are found.
func (a *Answer) Walk(names func(parent engram.ID) iter.Seq[string]) { a.names = names }

// Sees says how much of a node there is for who asks. Who answers enters no hidden
// one, and asks of a node before those below it.
func (a *Answer) Sees(id engram.ID) engram.Visibility {
	l := id.Level()
	if a.scope == nil || l > engram.LevelMemory && a.seen[l-1] == engram.Visible {
		a.seen[l] = engram.Visible
		return engram.Visible
	}
	a.seen[l] = a.scope.Visibility(id)
	return a.seen[l]
}

// Plan returns the nodes of the query for memories.
func (a *Answer) Plan() []*Node { return a.plan }

// Enter says which node of level l comes next, and which nodes of the query select
// it. The node itself is noted if its name was asked for.
func (a *Answer) Enter(l engram.Level, id engram.ID, nodes []*Node) error {
	a.enter(l, id)
	if slices.ContainsFunc(nodes, (*Node).Bare) && Exists(a.scope, id, a.names) {
		if err := a.spend(1); err != nil {
			return err
		}
		a.name(l)
	}
	return nil
}

// Entity is [Answer.Enter] for an entity. It returns what the nodes ask of it, and
// how many snapshots may be found for each selector.
func (a *Answer) Entity(id engram.ID, nodes []*Node) (selectors []engram.SnapshotSelector, limit int, err error) {
	if a.steps++; a.steps%256 == 0 {
		if err := checkContext(a.ctx); err != nil {
			return nil, 0, err
		}
	}
	if err := a.Enter(engram.LevelEntity, id, nodes); err != nil {
		return nil, 0, err
	}
	a.filter.Entity(id)
	selectors = nodes[0].Snapshots
	if len(nodes) > 1 {
		selectors = nil
		for _, n := range nodes {
			selectors = append(selectors, n.Snapshots...)
		}
	}
	limit = a.left
	if a.part != nil {
		limit = math.MaxInt - 1
	}
	if len(selectors) == 0 {
		err = a.Flush()
	}
	return selectors, limit, err
}

// Filter returns the filter of what is selected from; nil if there is none.
func (a *Answer) Filter() *Filter {
	if a.selectThen {
		return nil
	}
	return a.filter
}

// Condition returns the condition that payloads must satisfy and that an index may know, or nil.
//
// Of an entity that nothing was found of that satisfies it, nobody tells what is missing: it may
// never have had any, and who knows that only some entities have looks at no others. It is
// told together, of its provider segment.
func (a *Answer) Condition() Condition { return a.filter.Condition() }

// MayTake reports whether a payload of the type of that name can satisfy the query, as far as can be told of its type.
func (a *Answer) MayTake(typ string) bool { return a.filter == nil || a.filter.mayTake(typ) }

// MayTakeBelow reports whether a payload of the type that the query asks for would be accepted where the type of that
// name is the least that is.
func (a *Answer) MayTakeBelow(typ string) bool {
	return a.filter == nil || a.filter.ofType == nil || a.filter.ofType.fits(typ)
}

// Select prepares a selection for what is asked of the entity entered last.
func (a *Answer) Select(sel *Selection) {
	if a.selectThen {
		sel.Filter = a.filter
	}
}

// FilterErr returns why the filter cannot go on, or nil.
func (a *Answer) FilterErr() error { return a.filter.Err() }

// InParts reports whether the answer is given in parts.
func (a *Answer) InParts() bool { return a.part != nil }

// WantsPayload reports whether the payloads' bytes are to be in the answer.
func (a *Answer) WantsPayload() bool { return !a.shape.withoutPayload }

// Members is [Shape.Members] of what has to be read of snapshots that are selected from and added.
func (a *Answer) Members() (name string, of func(typ string) idf.Kept) {
	if a.filter.NeedsPayloads() || a.shape.withoutPayload {
		return "", nil
	}
	return a.shape.Members()
}

// Miss notes something that is missing.
func (a *Answer) Miss(m engram.Missing) { a.missing = append(a.missing, m) }

// Add adds a selection to the entity entered last, and notes what was passed over. It may change the selection's slice
// of snapshots, and hands the answer over in parts if it is given so.
func (a *Answer) Add(entity engram.ID, found *Selection) error {
	if !found.ahead.Empty() {
		a.Miss(engram.Missing{ID: entity, Reason: engram.MissingAhead, Interval: found.ahead})
	}
	if a.rows != nil {
		return a.addNumbers(found.Snapshots)
	}
	snapshots := slices.Clip(found.Snapshots)
	if err := a.spend(len(snapshots)); err != nil {
		return err
	}
	if !a.shape.Whole() {
		for i := range snapshots {
			var err error
			if snapshots[i], err = a.shape.Apply(snapshots[i]); err != nil {
				return err
			}
		}
	}
	for len(snapshots) > 0 {
		n := len(snapshots)
		if a.part != nil {
			n = a.room(snapshots)
		}
		a.add(snapshots[:n])
		snapshots = snapshots[n:]
		if len(snapshots) > 0 {
			if err := a.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *Answer) spend(n int) error {
	if a.part != nil {
		return nil
	}
	if a.left -= n; a.left < 0 {
		return engram.Errorf(engram.Exhausted, "", "the answer has more than %d snapshots and names; ask for less, or for an answer in parts", a.max)
	}
	return nil
}

// Flush hands the answer so far over if it is of a part's size.
func (a *Answer) Flush() error {
	if a.part == nil || a.count+len(a.missing) < partNodes && a.bytes < partBytes {
		return nil
	}
	if err := checkContext(a.ctx); err != nil {
		return err
	}
	return a.part(a.take())
}

// Finish ends the answer: it returns it, or hands the last part over and returns nil.
func (a *Answer) Finish() (*engram.Result, error) {
	if err := a.shape.Check(); err != nil {
		return nil, err
	}
	if a.filter.Failures() > 0 {
		a.Miss(a.filter.Failed())
	}
	r := a.take()
	if a.part == nil {
		return r, nil
	}
	if len(r.Memories)+len(r.Missing) == 0 {
		return nil, nil
	}
	return nil, a.part(r)
}
