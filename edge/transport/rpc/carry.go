package rpc

import (
	"context"
	"net/http"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/intake"
)

// This file lets edge/transport/local carry the calls that are rare with the same
// messages and the same code, over its own connection.

// CheckSocket returns an error if somebody else may have put the socket at path
// there to be taken for a server's.
func CheckSocket(path string) error { return checkSocketDir(path) }

// MemoryService returns the handler's procedures without a network.
func (h *Handler) MemoryService() feature.Feature { return memoryHandler{h}.service() }

// ParseQuery converts a request within the handler's limits.
func (h *Handler) ParseQuery(m *engramv1.QueryRequest) (engram.Query, error) {
	return h.limits.Query(m)
}

// ParseSubscription converts a request within the handler's limits.
func (h *Handler) ParseSubscription(m *engramv1.SubscribeRequest) (engram.Subscription, error) {
	return subscriptionFromMessage(h.limits, m)
}

// Admit counts an encoded request of a procedure, and takes room for what it is decoded
// to, which the lease has until it is released. The error is Exhausted if it goes beyond
// the handler's limits.
func (h *Handler) Admit(ctx context.Context, procedure string, request []byte) (intake.Lease, error) {
	p := h.procedures[procedure]
	if p == nil {
		p = unknown
	}
	m := &messages{ctx: ctx, p: p, lease: h.o.Decoding.Lease(), message: request}
	if len(request) > p.bytes {
		return m.lease, m.tooLarge(int64(len(request)))
	}
	err := m.count()
	return m.lease, err
}

// QueryMessage returns a query's request.
func QueryMessage(q engram.Query) (*engramv1.QueryRequest, error) { return wire.QueryMessage(q) }

// SubscriptionMessage returns a subscription's request.
func SubscriptionMessage(s engram.Subscription) (*engramv1.SubscribeRequest, error) {
	return subscriptionMessage(s)
}

// Carrier performs a unary procedure: it sends req and fills res. Its errors are
// the domain's.
type Carrier func(ctx context.Context, procedure string, req, res proto.Message) error

// DialCarried is [Dial] for a server that is reached through carry. Streams and
// whatever else is not unary are the carrier's own matter. o's bounds do not apply.
func DialCarried(ctx context.Context, address string, carry Carrier, o DialOptions) (*Client, error) {
	c := &Client{address: address, o: o, http: &http.Client{}, carry: carry, procedures: new(sync.Map)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	var err error
	if c.info, err = c.Info(ctx); err == nil && o.Server != "" && c.info.Server != o.Server {
		err = engram.Errorf(engram.Conflict, address, "server %q answers here instead of server %q", c.info.Server, o.Server)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
