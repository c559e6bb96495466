package wm

import (
	"context"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Query implements engram.Reader. What is asked for and not there, names and
// snapshots alike, is not in the result, nor is a node below which nothing was
// found. All entities are shown as they stood at one moment, except those of which
// something asked for was evicted while the query ran: these are shown as they
// stood a little later. What was evicted earlier is told in Result.Missing, also
// of entities that are gone as a whole: then under their provider segment.
//
// There is no long-term memory here: TargetLTM finds nothing.
func (w *WM) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	x, err := w.newExecution(ctx, q)
	if err != nil {
		return nil, err
	}
	if err := x.run(); err != nil {
		return nil, err
	}
	return x.out.take(), nil
}

// Sizes of a part of an answer, at which it is handed over.
const (
	partNodes = 4096 // snapshots, nodes and notes of what is missing
	partBytes = 1 << 20
)

// QueryParts implements engram.PartReader. A part ends within an entity if that
// has many snapshots; each part is a tree of its own from the memories down.
func (w *WM) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	x, err := w.newExecution(ctx, q)
	if err != nil {
		return err
	}
	x.part = part
	if err := x.run(); err != nil {
		return err
	}
	if r := x.out.take(); len(r.Memories)+len(r.Missing) > 0 {
		return part(r)
	}
	return nil
}

// execution is a query at work.
type execution struct {
	w     *WM
	plan  []*planNode
	lens  lens
	shape *shape
	empty bool // nothing here can answer
	limit int  // snapshots and bare names that are still allowed
	part  func(*engram.Result) error
	out   resultBuilder
	found selection       // reused
	gone  *engram.Missing // of entities of the provider segment that are gone as a whole
	steps int             // entities looked at
}

func (w *WM) newExecution(ctx context.Context, q engram.Query) (*execution, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	if err := q.Check(w.limits.MaxQueryNodes); err != nil {
		return nil, err
	}
	if q.Target > engram.TargetLTM {
		return nil, engram.Errorf(engram.Invalid, "", "a query of unknown target %d", q.Target)
	}
	x := &execution{
		w:     w,
		lens:  lens{ctx: ctx, horizon: w.number.Load(), asOf: engram.MaxTime},
		empty: q.Target == engram.TargetLTM,
		limit: w.limits.MaxResults,
	}
	if q.AsOf != nil {
		x.lens.asOf = *q.AsOf
	}
	var err error
	if x.plan, err = w.compile(q.Memories); err != nil {
		return nil, err
	}
	if x.lens.accept, err = w.acceptFilter(q.Where); err != nil {
		return nil, err
	}
	x.shape = newShape(w.types, q.Fields, q.WithoutPayload)
	return x, nil
}

// run visits everything the query asks for.
func (x *execution) run() error {
	if x.empty {
		return nil
	}
	if err := eachChild(x.lens.ctx, &x.w.memories, x.plan, x.memory); err != nil {
		return err
	}
	return x.shape.check()
}

func (x *execution) memory(m *memory, nodes []*planNode) error {
	x.out.enter(engram.LevelMemory, m.id)
	return x.inner(engram.LevelMemory, nodes, func() error {
		return eachChild(x.lens.ctx, &m.cores, below(nodes), x.core)
	})
}

func (x *execution) core(c *core, nodes []*planNode) error {
	x.out.enter(engram.LevelCoreSegment, c.id)
	return x.inner(engram.LevelCoreSegment, nodes, func() error {
		return eachChild(x.lens.ctx, &c.providers, below(nodes), x.provider)
	})
}

func (x *execution) provider(p *provider, nodes []*planNode) error {
	x.out.enter(engram.LevelProviderSegment, p.id)
	return x.inner(engram.LevelProviderSegment, nodes, func() error {
		if err := eachChild(x.lens.ctx, &p.entities, below(nodes), x.entity); err != nil {
			return err
		}
		if p.goneFrom.Load() > 0 {
			x.goneEntities(p, below(nodes))
		}
		return nil
	})
}

// inner visits what lies below a node, and notes the node itself if its name was
// asked for.
func (x *execution) inner(l engram.Level, nodes []*planNode, visit func() error) error {
	if slices.ContainsFunc(nodes, (*planNode).bare) {
		if err := x.spend(1); err != nil {
			return err
		}
		x.out.name(l)
	}
	return visit()
}

// entity answers what several nodes of the query, which all select it, ask of e.
func (x *execution) entity(e *entity, nodes []*planNode) error {
	if x.steps++; x.steps%256 == 0 {
		if err := checkContext(x.lens.ctx); err != nil {
			return err
		}
	}
	x.out.enter(engram.LevelEntity, e.id)
	selectors := nodes[0].snapshots
	if len(nodes) > 1 {
		selectors = nil
		for _, n := range nodes {
			selectors = append(selectors, n.snapshots...)
		}
	}
	if slices.ContainsFunc(nodes, (*planNode).bare) {
		if err := x.spend(1); err != nil {
			return err
		}
		x.out.name(engram.LevelEntity)
	}
	if len(selectors) == 0 {
		return x.flush()
	}
	limit := x.limit
	if x.part != nil {
		limit = math.MaxInt - 1
	}
	missing, err := x.w.read(x.lens, e, selectors, limit, &x.found)
	if err != nil {
		return err
	}
	if missing != nil {
		x.out.missing = append(x.out.missing, *missing)
	}
	x.gone = e.missingBefore(&x.found, x.lens.asOf, x.gone)
	if err := x.add(x.found.snapshots); err != nil {
		return err
	}
	return x.flush()
}

// add adds an entity's snapshots to the answer, in parts if it is given so.
func (x *execution) add(snapshots []*engram.Snapshot) error {
	if err := x.spend(len(snapshots)); err != nil {
		return err
	}
	if !x.shape.whole() {
		for i := range snapshots {
			var err error
			if snapshots[i], err = x.shape.apply(snapshots[i]); err != nil {
				return err
			}
		}
	}
	for len(snapshots) > 0 {
		n := len(snapshots)
		if x.part != nil {
			n = x.out.room(snapshots)
		}
		x.out.add(snapshots[:n])
		snapshots = snapshots[n:]
		if len(snapshots) > 0 {
			if err := x.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *execution) spend(n int) error {
	if x.part != nil {
		return nil
	}
	if x.limit -= n; x.limit < 0 {
		return engram.Errorf(engram.Exhausted, "", "the answer has more than %d snapshots and names; ask for less, or for an answer in parts", x.w.limits.MaxResults)
	}
	return nil
}

// flush hands the answer so far over if it is of a part's size.
func (x *execution) flush() error {
	if x.part == nil || x.out.count+len(x.out.missing) < partNodes && x.out.bytes < partBytes {
		return nil
	}
	if err := checkContext(x.lens.ctx); err != nil {
		return err
	}
	return x.part(x.out.take())
}
