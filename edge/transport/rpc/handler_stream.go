package rpc

import (
	"context"
	"errors"
	"io"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/meter"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// commitMessages answers each request with one response. When the server is told to
// stop, ServeHTTP ends the wait for the next request, not the commit at hand.
func (h memoryHandler) commitMessages(ctx context.Context, p feature.Messages) error {
	return h.commitStream(ctx, func() (*engramv1.CommitRequest, error) {
		m, err := p.Receive()
		if err != nil {
			return nil, err
		}
		return m.(*engramv1.CommitRequest), nil
	}, func(m *engramv1.CommitResponse) error { return p.Send(m) })
}

func (h memoryHandler) commitStream(ctx context.Context, receive func() (*engramv1.CommitRequest, error), send func(*engramv1.CommitResponse) error) error {
	for {
		m, err := receive()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return h.ended(err)
		}
		results, err := h.commit(ctx, m)
		if err != nil {
			return wireError(err)
		}
		if err := send(results); err != nil {
			return wireError(err)
		}
	}
}

func (h memoryHandler) queryStream(ctx context.Context, r *engramv1.QueryRequest, send func(*engramv1.QueryResponse) error) error {
	q, err := h.limits.Query(r)
	if err != nil {
		return err
	}
	start := meter.Start()
	err = h.svc.QueryParts(ctx, q, func(result *engram.Result) error {
		return split(result, partBytes, func(part *engram.Result) error {
			m := resultMessage(part)
			if r.GetJson() && !q.WithoutPayload {
				if err := h.types.showNodes(ctx, m.GetMemories()); err != nil {
					return err
				}
			}
			return send(m)
		})
	})
	h.o.Meter.RPC.Query(start, err)
	return err
}

func (h memoryHandler) subscribe(ctx context.Context, m *engramv1.SubscribeRequest, send func(*engramv1.SubscribeResponse) error) error {
	sub, err := subscriptionFromMessage(h.limits, m)
	if err != nil {
		return wireError(err)
	}
	asJSON := m.GetJson() // nothing else of the request is kept
	release, err := h.o.AdmitSubscription()
	if err != nil {
		return wireError(err)
	}
	defer release()
	first := &engramv1.SubscribeResponse{}
	// Taken before the subscription begins: a resumption from it may deliver what
	// was committed while this call was under way, but misses nothing.
	n := h.svc.Number()
	first.Number = &n
	updates, err := h.svc.Subscribe(ctx, sub)
	if err != nil {
		h.o.Meter.RPC.Refuse(meter.Subscribe, err)
		return h.ended(err)
	}
	defer updates.Close()
	defer h.o.Meter.RPC.Subscription()()
	first.Epoch = updates.Epoch()
	if err := send(first); err != nil {
		return wireError(err)
	}
	for {
		batch, err := updates.Next(ctx)
		if err != nil {
			return h.ended(err)
		}
		if err := h.sendUpdates(ctx, send, batch, asJSON); err != nil {
			return wireError(err)
		}
	}
}

// sendUpdates sends a batch, in several messages if it is large.
func (h memoryHandler) sendUpdates(ctx context.Context, send func(*engramv1.SubscribeResponse) error, batch []engram.Update, asJSON bool) error {
	m := &engramv1.SubscribeResponse{Updates: make([]*engramv1.Update, 0, len(batch))}
	size := 0
	for i := range batch {
		u := noticeMessage(&batch[i])
		if batch[i].Snapshot != nil {
			n := batch[i].Snapshot.Size()
			if size > 0 && size+n > partBytes {
				if err := send(m); err != nil {
					return err
				}
				m.Updates, size = nil, 0
			}
			size += n
			if asJSON {
				if err := h.types.show(ctx, u.GetSnapshot()); err != nil {
					return err
				}
			}
		}
		m.Updates = append(m.Updates, u)
	}
	return send(m)
}
