package memories

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

// AuditProvider is the provider segment of SystemState/Audit that [Audit] commits to.
const AuditProvider = "Access"

// auditQueue is how many events may wait to be committed.
const auditQueue = 4096

// Audit keeps what has to do with who may do what: in the program's log, and in
// SystemState/Audit where that memory is hosted. It implements access.Auditor: whoever
// is audited never waits; what does not fit into the queue is counted.
type Audit struct {
	log    *slog.Logger
	queue  chan audited
	lost   atomic.Uint64
	cancel context.CancelFunc
	done   chan struct{}
}

var _ access.Auditor = (*Audit)(nil)

type audited struct {
	access.Event
	at engram.Time
}

// NewAudit returns an audit that keeps events until [Audit.Begin] gives it a memory.
// log may be nil.
func NewAudit(log *slog.Logger) *Audit {
	return &Audit{log: cmp.Or(log, slog.Default()), queue: make(chan audited, auditQueue)}
}

// Audit implements access.Auditor.
func (a *Audit) Audit(e access.Event) {
	if e.Count == 0 {
		e.Count = 1
	}
	select {
	case a.queue <- audited{e, engram.Now()}:
	default:
		a.lost.Add(1)
	}
}

// Begin begins to commit events into w, until [Audit.Close]. hosted says that
// SystemState is there; otherwise events are in the log only.
func (a *Audit) Begin(w engram.Writer, hosted bool) {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel, a.done = cancel, make(chan struct{})
	go func() {
		defer close(a.done)
		last := engram.MinTime
		for ctx.Err() == nil {
			select {
			case e := <-a.queue:
				last = a.keep(w, hosted, e, last)
			case <-ctx.Done():
			}
		}
		for {
			select {
			case e := <-a.queue:
				last = a.keep(w, hosted, e, last)
			default:
				return
			}
		}
	}()
}

// keep logs and commits one event, with a time after last so that none supersedes
// another.
func (a *Audit) keep(w engram.Writer, hosted bool, e audited, last engram.Time) engram.Time {
	a.log.LogAttrs(context.Background(), slog.LevelInfo, "access", e.attributes()...)
	if lost := a.lost.Swap(0); lost > 0 {
		a.log.Error("events of access were lost, since they came too fast", "count", lost)
	}
	if !hosted {
		return last
	}
	t, ok := Type("engram.system_state.Audit")
	if !ok {
		return last
	}
	at := max(e.at, last+1)
	if err := a.commit(w, at, e, t.Encode); err != nil {
		a.log.Error("an event of access cannot be kept in SystemState/Audit", "error", err)
	}
	return at
}

// attributes returns what is known of the event, for a log.
func (e *audited) attributes() []slog.Attr {
	out := []slog.Attr{slog.String("kind", string(e.Kind))}
	for _, one := range [][2]string{
		{"identity", string(e.Identity)}, {"action", e.Action.String()}, {"thing", e.Thing}, {"from", e.From}, {"text", e.Text},
	} {
		if one[1] != "" {
			out = append(out, slog.String(one[0], one[1]))
		}
	}
	if e.Count > 1 {
		out = append(out, slog.Int("count", int(e.Count)))
	}
	return out
}

func (a *Audit) commit(w engram.Writer, at engram.Time, e audited, encode func(any) ([]byte, error)) error {
	entity, err := engram.NewID("SystemState", "Audit", AuditProvider, cmp.Or(string(e.Identity), "unknown"))
	if err != nil {
		return err
	}
	b, err := encode(map[string]any{
		"timestamp": e.at, "kind": string(e.Kind), "identity": string(e.Identity), "action": e.Action.String(),
		"thing": e.Thing, "from": e.From, "text": e.Text, "count": int64(e.Count),
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	results, err := w.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: entity, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "engram.system_state.Audit", Bytes: b})},
	}}})
	if err == nil {
		err = engram.FirstError(results)
	}
	return err
}

// Close ends the audit, after what waits was kept. The memory must still be there.
func (a *Audit) Close() {
	if a.cancel == nil {
		return
	}
	a.cancel()
	<-a.done
}
