package ltm

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
)

// noteProvider is the provider segment of SystemState/Forgetting that the store
// commits to; its entities are named after core segments.
const noteProvider = "LongTermMemory"

// notedAct is an act with what it dropped from the working memory.
type notedAct struct {
	ForgettingAct
	volatile uint64
}

// noted returns the acts, also those about the working memory only.
func (r *forgetResult) noted(volatile erased) (list []notedAct) {
	acts, dropped := map[actKey]*actSum{}, map[actKey]uint64{}
	for k, a := range r.acts {
		if a.of.Versions > 0 {
			acts[k] = &actSum{a.of, maps.Clone(a.entities)}
		}
	}
	for id, e := range volatile {
		k := actKey{id.Truncate(engram.LevelCoreSegment), e.cause}
		if acts[k] == nil {
			acts[k] = &actSum{entities: map[engram.ID]bool{}}
		}
		acts[k].of = acts[k].of.plus(e.forgottenOf)
		acts[k].entities[id] = true
		dropped[k] += e.Versions
	}
	for _, k := range slices.SortedFunc(maps.Keys(acts), actKey.compare) {
		act := acts[k].act(k)
		act.Versions -= dropped[k]
		list = append(list, notedAct{act, dropped[k]})
	}
	return list
}

// noteForgetting commits what was forgotten to SystemState/Forgetting, also if the rest
// of it was given up. Where there is no such segment it is in the server's log only.
func (s *Store) noteForgetting(ctx context.Context, r *forgetResult, volatile erased, why, by string, what []string) {
	ctx = context.WithoutCancel(ctx)
	t, known := s.options.Types.Get("engram.system_state.Forgetting")
	now := s.options.Now()
	acts := map[engram.ID][]notedAct{}
	for _, a := range r.noted(volatile) {
		acts[a.Segment] = append(acts[a.Segment], a)
		s.options.Log.Info("the long-term memory forgot something", "segment", a.Segment, "cause", a.Cause, "versions", a.Versions, "volatile", a.volatile, "why", why, "by", by)
	}
	if !known || len(acts) == 0 || !s.wm.View(ctx, nil).Has(ledgerSegment) {
		return
	}
	texts := make([]any, len(what))
	for i, w := range what {
		texts[i] = w
	}
	var c engram.Commit
	for _, segment := range slices.SortedFunc(maps.Keys(acts), engram.ID.Compare) {
		entity, err := engram.NewID(ledgerSegment.Memory(), ledgerSegment.CoreSegment(), noteProvider, segment.String())
		if err != nil {
			continue // no segment has such a name
		}
		u := engram.EntityUpdate{Entity: entity, Time: now}
		for _, a := range acts[segment] {
			value := map[string]any{
				"timestamp": now, "segment": segment.String(), "cause": a.Cause, "reason": why,
				"by": by, "what": texts, "entities": int64(a.Entities), "versions": int64(a.Versions),
				"volatile": int64(a.volatile), "first": a.Span.Start, "last": a.Span.End,
			}
			b, err := t.Encode(value)
			if err != nil {
				s.options.Log.Error("what was forgotten cannot be noted", "segment", segment, "error", err)
				continue
			}
			u.Instances = append(u.Instances, engram.NewInstance(engram.Payload{Type: t.Name(), Bytes: b}))
		}
		if len(u.Instances) > 0 {
			c.Updates = append(c.Updates, u)
		}
	}
	results, err := s.wm.Commit(ctx, c)
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		s.options.Log.Error("what was forgotten cannot be noted", "error", err)
	}
}
