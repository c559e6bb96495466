package wm

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
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
	return w.execute(ctx, q, nil)
}

// QueryParts implements engram.PartReader. A part ends within an entity if that
// has many snapshots; each part is a tree of its own from the memories down.
func (w *WM) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	_, err := w.execute(ctx, q, part)
	return err
}

// execution is a query at work.
type execution struct {
	w      *WM
	lens   lens
	answer *query.Answer
	among  *query.Candidates
	found  query.Selection // reused
	how    reading         // reused
	gone   *engram.Missing // of entities of the provider segment that are gone as a whole
}

func (w *WM) execute(ctx context.Context, q engram.Query, part func(*engram.Result) error) (*engram.Result, error) {
	answer, err := w.compiler.NewAnswer(ctx, q, w.types, w.limits.Query(), part)
	if err != nil {
		return nil, err
	}
	look := w.indexes.For(answer, q.AsOf, false) // before the lens
	x := &execution{w: w, lens: w.newLens(ctx, q.AsOf), answer: answer}
	x.among = look.Until(x.lens.highWater)
	x.lens.filter = x.answer.Filter()
	x.answer.Select(&x.found)
	if x.answer.Scoped() {
		x.answer.Walk(w.View(ctx, nil).Names)
	}
	if q.Target != engram.TargetLTM {
		if err := query.EachChild(ctx, &w.memories, x.answer.Plan(), x.memory); err != nil {
			return nil, err
		}
	}
	return x.answer.Finish()
}

func (x *execution) memory(m *memory, nodes []*query.Node) error {
	if x.answer.Sees(m.id) == engram.Hidden {
		return nil
	}
	if err := x.answer.Enter(engram.LevelMemory, m.id, nodes); err != nil {
		return err
	}
	return query.EachChild(x.lens.ctx, &m.cores, query.Below(nodes), x.core)
}

func (x *execution) core(c *core, nodes []*query.Node) error {
	if x.answer.Sees(c.id) == engram.Hidden {
		return nil
	}
	if err := x.answer.Enter(engram.LevelCoreSegment, c.id, nodes); err != nil {
		return err
	}
	return query.EachChild(x.lens.ctx, &c.providers, query.Below(nodes), x.provider)
}

func (x *execution) provider(p *provider, nodes []*query.Node) error {
	seen := x.answer.Sees(p.id)
	if seen == engram.Hidden {
		return nil
	}
	if err := x.answer.Enter(engram.LevelProviderSegment, p.id, nodes); err != nil {
		return err
	}
	if err := query.EachChild(x.lens.ctx, query.Among[*entity](x.among, p.id, &p.entities), query.Below(nodes), x.entity); err != nil {
		return err
	}
	if seen == engram.Partial {
		x.gone = nil // it may have been of entities that are hidden
	} else if x.answer.Condition() != nil {
		if iv, any := query.AskedOf(query.Below(nodes)); any && p.evicted.Load() && p.rule.had(x.answer.MayTake) {
			x.answer.Miss(engram.Missing{ID: p.id, Reason: engram.MissingEvicted, Interval: iv})
		}
	} else if p.goneFrom.Load() > 0 {
		x.goneEntities(p, query.Below(nodes))
	}
	return nil
}

// times returns the times of what an entity may have for the query; nil if that is not known.
func (x *execution) times(entity engram.ID) []engram.Time {
	if x.lens.filter == nil { // what is selected is filtered
		return nil
	}
	return x.among.Times(entity)
}

// entity answers what several nodes of the query, which all select it, ask of e.
func (x *execution) entity(e *entity, nodes []*query.Node) error {
	if x.answer.Sees(e.id) == engram.Hidden {
		return nil
	}
	selectors, limit, err := x.answer.Entity(e.id, nodes)
	if err != nil || len(selectors) == 0 {
		return err
	}
	x.found.Times = x.times(e.id)
	missing, err := x.w.read(x.lens, e, selectors, limit, &x.found, &x.how)
	if err != nil {
		return err
	}
	some := x.answer.Condition() != nil
	if missing != nil && (!some || len(x.found.Snapshots) > 0) {
		x.answer.Miss(*missing)
	}
	if !some {
		x.gone = e.missingBefore(&x.found, x.lens.asOf, x.gone)
	}
	if err := x.answer.Add(e.id, &x.found); err != nil {
		return err
	}
	return x.answer.Flush()
}
