package server

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	predictions "github.com/seed-301d4374/engram/predict/service"
	"github.com/seed-301d4374/engram/query"
)

// maxPredicted bounds the snapshots that one query has predicted.
const maxPredicted = 1000

// queryPredicted answers a query that wants what is predicted for times after an entity's newest snapshot.
// Its selectors of single times are answered one after another, each without the entities that are predicted
// for it; the others are answered as they are.
func queryPredicted(ctx context.Context, s *Server, q engram.Query) (*engram.Result, error) {
	if err := q.Check(0); err != nil {
		return nil, err
	}
	var filter *idf.Filter
	if q.Where != "" {
		var err error
		if filter, err = idf.CompileFilter(q.Where); err != nil {
			return nil, err
		}
	}
	q.Predict = false
	isOf := func(t engram.Time) func(engram.SnapshotSelector) bool {
		return func(sel engram.SnapshotSelector) bool { return hasTime(sel) && sel.Time == t }
	}
	rest := q
	rest.Memories = only(q.Memories, func(sel engram.SnapshotSelector) bool { return !hasTime(sel) })
	r := &engram.Result{}
	if len(rest.Memories) > 0 || len(q.Memories) == 0 {
		var err error
		if r, err = s.query(ctx, rest); err != nil {
			return nil, err
		}
	}
	predicted, bytes := 0, 0
	for _, t := range timesOf(q.Memories, nil) {
		then := q
		then.Memories = only(q.Memories, isOf(t))
		known, err := s.query(ctx, then)
		if err != nil {
			return nil, err
		}
		newest := then
		newest.Memories = asLatest(then.Memories)
		newest.Where, newest.Fields, newest.WithoutPayload, newest.FilterOrder = "", nil, true, engram.SelectThenFilter
		now, err := s.query(ctx, newest)
		if err != nil {
			return nil, err
		}
		var ids []engram.ID
		for item := range now.All() {
			if item.Time < t {
				ids = append(ids, item.ID.Truncate(engram.LevelEntity).At(t))
			}
		}
		if predicted += len(ids); predicted > maxPredicted {
			return nil, engram.Errorf(engram.Exhausted, "", "a query for more than %d predicted snapshots; ask for fewer entities or times at once", maxPredicted)
		}
		answers, err := s.Predict(ctx, ids)
		if err != nil {
			return nil, err
		}
		shape := query.NewShape(s.types, q.Fields, q.WithoutPayload)
		for i := range answers {
			a := &answers[i]
			entity := a.ID.Truncate(engram.LevelEntity)
			if a.Err != nil { // what is in force is the answer
				r.Missing = append(r.Missing, engram.Missing{ID: entity, Reason: engram.MissingNotPredicted, Count: 1,
					Interval: engram.Interval{Start: t, End: t + 1}, Example: a.ID, Detail: a.Err.Error()})
				continue
			}
			for k := range a.Snapshot.Instances {
				bytes += len(a.Snapshot.Instances[k].Payload.Bytes)
			}
			if bytes > predictions.MaxAnswer {
				return nil, engram.Errorf(engram.Exhausted, "", "a query for more than %d MiB of predicted snapshots; ask for fewer entities or times at once", predictions.MaxAnswer>>20)
			}
			takeOut(known, entity)
			n := satisfying(s.types, a.Snapshot, filter)
			if n == nil {
				continue
			}
			if !shape.Whole() {
				if n, err = shape.Apply(n); err != nil {
					return nil, err
				}
			}
			r.Merge(resultOf(entity, n))
		}
		r.Merge(known)
	}
	tidy(r.Memories)
	return r, nil
}

func hasTime(sel engram.SnapshotSelector) bool {
	return sel.Kind == engram.KindAt || sel.Kind == engram.KindAtOrBefore
}

// timesOf returns the times of selectors of single times, sorted.
func timesOf(nodes []engram.QueryNode, times []engram.Time) []engram.Time {
	for i := range nodes {
		for _, sel := range nodes[i].Snapshots {
			if at, found := slices.BinarySearch(times, sel.Time); hasTime(sel) && !found {
				times = slices.Insert(times, at, sel.Time)
			}
		}
		times = timesOf(nodes[i].Children, times)
	}
	return times
}

// only returns the nodes of a query with the selectors that are wanted; nodes that had others only are
// left out, those that ask for names stay.
func only(nodes []engram.QueryNode, want func(engram.SnapshotSelector) bool) (kept []engram.QueryNode) {
	for _, n := range nodes {
		had := len(n.Snapshots) + len(n.Children)
		n.Children = only(n.Children, want)
		n.Snapshots = slices.DeleteFunc(slices.Clone(n.Snapshots), func(sel engram.SnapshotSelector) bool { return !want(sel) })
		if had == 0 || len(n.Snapshots)+len(n.Children) > 0 {
			kept = append(kept, n)
		}
	}
	return kept
}

// asLatest returns the nodes with the latest snapshot in the place of what they select.
func asLatest(nodes []engram.QueryNode) []engram.QueryNode {
	out := slices.Clone(nodes)
	for i := range out {
		out[i].Children = asLatest(out[i].Children)
		if len(out[i].Snapshots) > 0 {
			out[i].Snapshots = []engram.SnapshotSelector{engram.Latest(1)}
		}
	}
	return out
}

// takeOut takes what a result has of an entity out of it.
func takeOut(r *engram.Result, entity engram.ID) {
	nodes := r.Memories
	for level, name := range []string{entity.Memory(), entity.CoreSegment(), entity.ProviderSegment(), entity.Entity()} {
		i := slices.IndexFunc(nodes, func(n *engram.ResultNode) bool { return n.Name == name })
		if i < 0 {
			return
		}
		if level == 3 {
			nodes[i].Snapshots = nil
		}
		nodes = nodes[i].Children
	}
}

// satisfying returns the snapshot with the instances that satisfy a filter, nil if none does.
func satisfying(types *idf.Registry, n *engram.Snapshot, f *idf.Filter) *engram.Snapshot {
	if f == nil {
		return n
	}
	out := *n
	out.Instances = nil
	for i := range n.Instances {
		if t, ok := types.Get(n.Instances[i].Payload.Type); ok && f.Match(t, n, i) {
			out.Instances = append(out.Instances, n.Instances[i])
		}
	}
	if len(out.Instances) == 0 {
		return nil
	}
	return &out
}

func resultOf(entity engram.ID, n *engram.Snapshot) *engram.Result {
	node := &engram.ResultNode{Name: entity.Entity(), Snapshots: []*engram.Snapshot{n}}
	for _, name := range []string{entity.ProviderSegment(), entity.CoreSegment(), entity.Memory()} {
		node = &engram.ResultNode{Name: name, Children: []*engram.ResultNode{node}}
	}
	return &engram.Result{Memories: []*engram.ResultNode{node}}
}

// tidy leaves one of snapshots that several parts of an answer have.
func tidy(nodes []*engram.ResultNode) {
	for _, n := range nodes {
		n.Snapshots = slices.CompactFunc(n.Snapshots, func(a, b *engram.Snapshot) bool { return a.Time == b.Time && a.Number == b.Number })
		tidy(n.Children)
	}
}
