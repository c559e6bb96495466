package rpc

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/gen/engram/v1/engramv1connect"
	"github.com/seed-301d4374/engram/internal/intake"
)

// This file lets edge/transport/local carry the calls that are rare with the same
// messages and the same code, over its own connection.

// CheckSocket returns an error if somebody else may have put the socket at path
// there to be taken for a server's.
func CheckSocket(path string) error { return checkSocketDir(path) }

// MemoryService returns the handler's procedures without a network.
func (h *Handler) MemoryService() engramv1connect.MemoryServiceHandler { return memoryHandler{h} }

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
	c := &Client{address: address, o: o, http: &http.Client{}, memory: carried{carry: carry}}
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

// carried is a MemoryServiceClient on a Carrier; it has no streams.
type carried struct {
	engramv1connect.MemoryServiceClient
	carry Carrier
}

func carry[Req, Res any](ctx context.Context, c carried, procedure string, r *connect.Request[Req]) (*connect.Response[Res], error) {
	res := new(Res)
	if err := c.carry(ctx, procedure, any(r.Msg).(proto.Message), any(res).(proto.Message)); err != nil {
		return nil, wireError(err)
	}
	return connect.NewResponse(res), nil
}

func (c carried) Info(ctx context.Context, r *connect.Request[engramv1.InfoRequest]) (*connect.Response[engramv1.InfoResponse], error) {
	return carry[engramv1.InfoRequest, engramv1.InfoResponse](ctx, c, engramv1connect.MemoryServiceInfoProcedure, r)
}

func (c carried) Predict(ctx context.Context, r *connect.Request[engramv1.PredictRequest]) (*connect.Response[engramv1.PredictResponse], error) {
	return carry[engramv1.PredictRequest, engramv1.PredictResponse](ctx, c, engramv1connect.MemoryServicePredictProcedure, r)
}

func (c carried) Describe(ctx context.Context, r *connect.Request[engramv1.DescribeRequest]) (*connect.Response[engramv1.DescribeResponse], error) {
	return carry[engramv1.DescribeRequest, engramv1.DescribeResponse](ctx, c, engramv1connect.MemoryServiceDescribeProcedure, r)
}

func (c carried) AddSegment(ctx context.Context, r *connect.Request[engramv1.AddSegmentRequest]) (*connect.Response[engramv1.AddSegmentResponse], error) {
	return carry[engramv1.AddSegmentRequest, engramv1.AddSegmentResponse](ctx, c, engramv1connect.MemoryServiceAddSegmentProcedure, r)
}

func (c carried) RemoveSegment(ctx context.Context, r *connect.Request[engramv1.RemoveSegmentRequest]) (*connect.Response[engramv1.RemoveSegmentResponse], error) {
	return carry[engramv1.RemoveSegmentRequest, engramv1.RemoveSegmentResponse](ctx, c, engramv1connect.MemoryServiceRemoveSegmentProcedure, r)
}

func (c carried) AddType(ctx context.Context, r *connect.Request[engramv1.AddTypeRequest]) (*connect.Response[engramv1.AddTypeResponse], error) {
	return carry[engramv1.AddTypeRequest, engramv1.AddTypeResponse](ctx, c, engramv1connect.MemoryServiceAddTypeProcedure, r)
}

func (c carried) GetType(ctx context.Context, r *connect.Request[engramv1.GetTypeRequest]) (*connect.Response[engramv1.GetTypeResponse], error) {
	return carry[engramv1.GetTypeRequest, engramv1.GetTypeResponse](ctx, c, engramv1connect.MemoryServiceGetTypeProcedure, r)
}

func (c carried) ListTypes(ctx context.Context, r *connect.Request[engramv1.ListTypesRequest]) (*connect.Response[engramv1.ListTypesResponse], error) {
	return carry[engramv1.ListTypesRequest, engramv1.ListTypesResponse](ctx, c, engramv1connect.MemoryServiceListTypesProcedure, r)
}

func (c carried) Stats(ctx context.Context, r *connect.Request[engramv1.StatsRequest]) (*connect.Response[engramv1.StatsResponse], error) {
	return carry[engramv1.StatsRequest, engramv1.StatsResponse](ctx, c, engramv1connect.MemoryServiceStatsProcedure, r)
}
