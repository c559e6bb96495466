package main

import (
	"context"
	"iter"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/idf"
	predicting "github.com/seed-301d4374/engram/predict"
)

// textsIn are the texts of a snapshot's first instance, by their paths, which are in order.
func textsIn(ctx context.Context, types *typeCache, n *engram.Snapshot) (paths []string, of map[string]string) {
	of = map[string]string{}
	if n == nil || len(n.Instances) == 0 {
		return nil, of
	}
	p := n.Instances[0].Payload
	if t, err := types.get(ctx, p.Type); err == nil {
		_ = t.Walk(p.Bytes, idf.KindString, func(f *idf.Found) bool { // the server has encoded it
			paths, of[string(f.Path)] = append(paths, string(f.Path)), string(f.Bytes)
			return true
		})
	}
	return paths, of
}

// textsApart yields the texts of a hypothesis, in order, that are others in another one.
func textsApart(ctx context.Context, types *typeCache, n *engram.Snapshot, all []engram.Hypothesis) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		paths, own := textsIn(ctx, types, n)
		for _, path := range paths {
			apart := slices.ContainsFunc(all, func(h engram.Hypothesis) bool {
				_, of := textsIn(ctx, types, h.Snapshot)
				return of[path] != own[path]
			})
			if apart && !yield(path, visible(own[path])) {
				return
			}
		}
	}
}

// situated reports whether an answer rests on past situations: on snapshots of its entity before the newest.
func situated(a *engram.Prediction) bool {
	n := 0
	for _, id := range a.From {
		if id.Truncate(engram.LevelEntity) == a.ID.Truncate(engram.LevelEntity) {
			n++
		}
	}
	return n > 1
}

// textsPredicted yields the texts of an answer, in order, that change from snapshot to snapshot as states do.
func textsPredicted(ctx context.Context, m *client.Client, types *typeCache, a *engram.Prediction) (iter.Seq2[string, string], error) {
	const lately = 64 // snapshots that are looked at
	paths, own := textsIn(ctx, types, a.Snapshot)
	if len(paths) == 0 {
		return func(func(string, string) bool) {}, nil
	}
	r, err := m.Query(ctx, engram.PatternOf(a.ID.Truncate(engram.LevelEntity)).Select(engram.Latest(lately)))
	if err != nil {
		return nil, err
	}
	values := map[string]map[string]bool{}
	for item := range r.All() {
		_, of := textsIn(ctx, types, item.Snapshot)
		for path, text := range of {
			if values[path] == nil {
				values[path] = map[string]bool{own[path]: true}
			}
			values[path][text] = true
		}
	}
	return func(yield func(string, string) bool) {
		for _, path := range paths {
			n := len(values[path])
			changes := n > 1 || len(a.Members) == 0 // without numbers there is nothing else to show
			if changes && predicting.States(n, len(own[path])) && !yield(path, visible(own[path])) {
				return
			}
		}
	}, nil
}
