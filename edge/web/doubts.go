package web

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// doubts answers why nothing satisfies a condition, as far as types tell:
//
//	where    the condition
//	pattern  of which entities; otherwise of all
//
// Why is empty where payloads of their types may satisfy it. What is of no type, and may have any members, does not count.
func (p *reader) doubts(w http.ResponseWriter, r *http.Request, q query) error {
	filter, err := idf.CompileFilter(q.Get("where"))
	if err != nil {
		return err
	}
	pattern, err := engram.ParsePattern(cmp.Or(q.Get("pattern"), "*"))
	if err != nil {
		return err
	}
	pattern.Levels = pattern.Levels[:min(len(pattern.Levels), int(engram.LevelProviderSegment))]
	segments, err := p.svc.Stats(r.Context(), pattern, engram.LevelProviderSegment)
	if err != nil {
		return err
	}
	names, err := p.svc.TypeNames(r.Context())
	if err != nil {
		return err
	}
	used, err := p.types.all(r.Context(), func(yield func(string) bool) {
		for _, s := range segments {
			if s.ID.Level() == engram.LevelProviderSegment && cmp.Or(s.Type, engram.ValueType) != engram.ValueType && !yield(s.Type) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	known, err := p.types.all(r.Context(), slices.Values(names))
	if err != nil {
		return err
	}
	types := idf.Extending(known, used) // as payloads may be
	out := struct {
		Why string `json:"why"`
	}{}
	if err := filter.Doubts(types); err != nil {
		out.Why = err.Error()
	}
	return answer(w, out)
}

// all returns the types of some names, each once.
func (ts *types) all(ctx context.Context, names iter.Seq[string]) (all []*idf.Type, err error) {
	for _, name := range slices.Compact(slices.Sorted(names)) {
		t, err := ts.get(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
