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

// forgettingType is the type of what it commits there.
const forgettingType = "engram.system_state.Forgetting"

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
func (l *ledger) noteForgetting(ctx context.Context, r *forgetResult, volatile erased, why, by string, what []string) {
	ctx = context.WithoutCancel(ctx)
	t, known := l.options.Types.Get(forgettingType)
	now := l.options.Now()
	acts := map[engram.ID][]notedAct{}
	for _, a := range r.noted(volatile) {
		acts[a.Segment] = append(acts[a.Segment], a)
		l.options.Log.Info("the long-term memory forgot something", "segment", a.Segment, "cause", a.Cause, "versions", a.Versions, "volatile", a.volatile, "why", why, "by", by)
	}
	if !known || len(acts) == 0 || !l.wm.View(ctx, nil).Has(ledgerSegment) {
		return
	}
	texts := make([]any, len(what))
	for i, w := range what {
		texts[i] = w
	}
	var notes []note
	for _, segment := range slices.SortedFunc(maps.Keys(acts), engram.ID.Compare) {
		entity, err := engram.NewID(ledgerSegment.Memory(), ledgerSegment.CoreSegment(), noteProvider, segment.String())
		if err != nil {
			continue // no segment has such a name
		}
		n := note{Entity: entity, Time: now}
		for _, a := range acts[segment] {
			value := map[string]any{
				"timestamp": now, "segment": segment.String(), "cause": a.Cause, "reason": why,
				"by": by, "what": texts, "entities": int64(a.Entities), "versions": int64(a.Versions),
				"volatile": int64(a.volatile), "first": a.Span.Start, "last": a.Span.End,
			}
			b, err := t.Encode(value)
			if err != nil {
				l.options.Log.Error("what was forgotten cannot be noted", "segment", segment, "error", err)
				continue
			}
			n.Acts = append(n.Acts, b)
		}
		if len(n.Acts) > 0 {
			notes = append(notes, n)
		}
	}
	l.tell(ctx, notes)
}

// ledger tells of what was forgotten, in SystemState/Forgetting.
type ledger struct {
	*env
	account *account
}

// note is what is noted of forgetting in one core segment.
type note struct {
	Entity engram.ID   `json:"entity"`
	Time   engram.Time `json:"time"`
	Acts   [][]byte    `json:"acts"` // their payloads
}

// maxUntold bounds the notes that wait to be told.
const maxUntold = 1000

// tell commits notes, and those that were refused before. What is refused now, such as on
// a full disk, is kept in the account and told later. The caller holds the lock of forgetting.
func (l *ledger) tell(ctx context.Context, notes []note) {
	waiting := l.account.untold()
	notes = append(waiting, notes...)
	if len(notes) == 0 || !l.wm.View(ctx, nil).Has(ledgerSegment) {
		return
	}
	var c engram.Commit
	for _, n := range notes {
		u := engram.EntityUpdate{Entity: n.Entity, Time: n.Time}
		for _, b := range n.Acts {
			u.Instances = append(u.Instances, engram.NewInstance(engram.Payload{Type: forgettingType, Bytes: b}))
		}
		c.Updates = append(c.Updates, u)
	}
	results, err := l.wm.Commit(ctx, c)
	var later []note
	var wrong error
	for i, n := range notes {
		refused := err
		if refused == nil {
			refused = results[i].Err
		}
		switch engram.CodeOf(refused) {
		case 0:
		case engram.Exhausted, engram.Unavailable:
			later, wrong = append(later, n), refused
		default:
			l.options.Log.Error("what was forgotten cannot be noted", "segment", n.Entity.Entity(), "error", refused)
		}
	}
	if more := len(later) - maxUntold; more > 0 {
		l.options.Log.Error("what was forgotten cannot be noted", "notes", more, "error", wrong)
		later = later[more:]
	}
	l.health.set("noting what was forgotten, which is tried again", wrong)
	if len(waiting)+len(later) > 0 {
		l.account.setUntold(later)
		l.account.saveSoon()
	}
}
