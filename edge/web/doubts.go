package web

import (
	"cmp"
	"net/http"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
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
	used := map[string]*idf.Type{}
	for _, s := range segments {
		if s.ID.Level() == engram.LevelProviderSegment && cmp.Or(s.Type, engram.ValueType) != engram.ValueType {
			if used[s.Type], err = p.types.get(r.Context(), s.Type); err != nil {
				return err
			}
		}
	}
	// Payloads may be of types that extend the segment's.
	var types []*idf.Type
	for _, name := range names {
		t, err := p.types.get(r.Context(), name)
		if err != nil {
			return err
		}
		for _, core := range used {
			if t.CheckExtends(core) == nil {
				types = append(types, t)
				break
			}
		}
	}
	out := struct {
		Why string `json:"why"`
	}{}
	if err := filter.Doubts(types); err != nil {
		out.Why = err.Error()
	}
	return answer(w, out)
}
