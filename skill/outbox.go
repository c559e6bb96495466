package skill

import (
	"context"
	"sync"

	"github.com/seed-301d4374/engram"
)

// outbox sends reports in their order. Of progress only the newest of each execution waits;
// what ends an execution is sent until the memory takes or refuses it. It holds at most one
// report of each kind of what runs.
type outbox struct {
	provider *Provider
	wake     chan struct{}

	mu      sync.Mutex
	waiting []waiting
	sending bool
	empty   chan struct{} // closed when nothing waits; nil if nobody asked
	last    engram.Time   // reports have times of their own
}

type waiting struct {
	entity string
	report Report
}

func newOutbox(p *Provider) *outbox { return &outbox{provider: p, wake: make(chan struct{}, 1)} }

func (o *outbox) add(entity string, r Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = max(engram.Now(), o.last+1000)
	r.Timestamp = o.last
	if n := len(o.waiting) - 1; r.Kind == ReportRunning {
		for i := n; i >= 0; i-- {
			if w := &o.waiting[i]; w.entity == entity {
				if w.report.Kind == ReportRunning && w.report.Attempt == r.Attempt {
					w.report = r
					return
				}
				break
			}
		}
	}
	o.waiting = append(o.waiting, waiting{entity, r})
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run sends until ctx ends.
func (o *outbox) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		for o.send(ctx) {
		}
	}
}

// send sends what waits; false if that is nothing.
func (o *outbox) send(ctx context.Context) bool {
	o.mu.Lock()
	batch := o.waiting
	o.waiting = nil
	if len(batch) == 0 {
		if o.empty != nil {
			close(o.empty)
			o.empty = nil
		}
		o.sending = false
		o.mu.Unlock()
		return false
	}
	o.sending = true
	o.mu.Unlock()
	var commit engram.Commit
	for _, w := range batch {
		id, err := engram.NewID(o.provider.memory, "Report", o.provider.name, w.entity)
		if err != nil {
			continue
		}
		u, err := o.provider.types.Update(id, w.report.Timestamp, &w.report)
		if err != nil { // a result that no payload can be made of
			w.report.Kind, w.report.Result, w.report.Intermediate = ReportFailed, nil, nil
			w.report.Failure = &Failure{Code: CodeProvider, Message: "the result cannot be encoded: " + err.Error()}
			if u, err = o.provider.types.Update(id, w.report.Timestamp, &w.report); err != nil {
				continue
			}
		}
		commit.Updates = append(commit.Updates, u)
	}
	_, err := o.provider.svc.Commit(ctx, commit)
	switch engram.CodeOf(err) {
	case 0, engram.Forbidden, engram.Invalid:
		return true
	}
	o.mu.Lock()
	o.waiting = append(batch, o.waiting...)
	o.mu.Unlock()
	return pause(ctx, retryAfter)
}

// flush waits until nothing waits, or ctx ends.
func (o *outbox) flush(ctx context.Context) {
	o.mu.Lock()
	if len(o.waiting) == 0 && !o.sending {
		o.mu.Unlock()
		return
	}
	if o.empty == nil {
		o.empty = make(chan struct{})
	}
	empty := o.empty
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
	select {
	case <-empty:
	case <-ctx.Done():
	}
}
