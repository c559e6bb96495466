package doubt

import (
	"context"
	"fmt"
	"iter"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link/service"
)

// Trace adds the doubts to the end of a trace: a part for each node of a withdrawn snapshot, or of one that rests on a
// withdrawn one. The judgement reads everything; its reason tells no more than the scope of ctx allows. Without a judgement
// a part "doubts" tells the error.
func Trace(ctx context.Context, s Source, trace iter.Seq2[service.Part, error], asOf *engram.Time) iter.Seq2[service.Part, error] {
	return func(yield func(service.Part, error) bool) {
		var nodes []service.Node
		for p, err := range trace {
			if !yield(p, err) || err != nil {
				return
			}
			if p.Node != nil && p.Node.Missing == "" && p.Node.ID.Level() >= engram.LevelSnapshot {
				nodes = append(nodes, *p.Node)
			}
		}
		doubts, err := ofNodes(ctx, s, nodes, asOf)
		for i := range doubts {
			if !yield(service.Part{Doubt: &doubts[i]}, nil) {
				return
			}
		}
		if err != nil {
			yield(service.Part{More: "doubts", Detail: err.Error()}, nil)
		}
	}
}

// ofNodes judges all snapshots for which nodes stand. With an error there may be more than it found.
func ofNodes(ctx context.Context, s Source, nodes []service.Node, asOf *engram.Time) (doubts []service.Doubt, err error) {
	var ids []engram.ID
	ends := make([]int, len(nodes)) // of the IDs of each node
	for i := range nodes {
		n := &nodes[i]
		t, _ := n.ID.Time()
		if n.First < t {
			q := engram.SelectID(n.ID.Truncate(engram.LevelEntity), engram.In(engram.Interval{Start: n.First, End: t}))
			q.WithoutPayload, q.AsOf = true, asOf
			if r, failed := s.Query(ctx, q); failed != nil {
				err = failed
			} else {
				for it := range r.All() {
					ids = append(ids, it.ID)
				}
			}
		}
		ids = append(ids, n.ID)
		ends[i] = len(ids)
	}
	if len(ids) == 0 {
		return nil, err
	}
	judge := NewJudge(s, asOf)
	verdicts, failed := judge.Of(engram.WithScope(ctx, nil), ids)
	if failed != nil {
		return nil, failed
	}
	if len(judge.Missing) > 0 {
		m := &judge.Missing[0]
		err = engram.Errorf(engram.Unavailable, m.ID.String(), "the withdrawal cannot be read: %s %s", m.Reason, m.Detail)
	}
	begin := 0
	for i, end := range ends {
		var newest *Verdict
		var of engram.ID
		count := 0
		for k, v := range verdicts[begin:end] {
			if v != nil {
				newest, of = v, ids[begin+k]
				count++
			}
		}
		if newest != nil {
			why := newest.Within(engram.ScopeOf(ctx))
			if all := end - begin; all > 1 {
				why = fmt.Sprintf("%d of %d %s", count, all, why)
				if t, _ := of.Time(); of != nodes[i].ID {
					why += fmt.Sprintf(" (at %v)", t)
				}
			}
			doubts = append(doubts, service.Doubt{Node: nodes[i].ID, Why: why})
		}
		begin = end
	}
	return doubts, err
}
