package local

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/gen/engram/v1/engramv1connect"
)

// rare answers the calls that are not frequent: the procedures of
// engram.v1.MemoryService, with its messages, by edge/transport/rpc's own code.
type rare struct {
	rpc     *rpc.Handler
	methods map[string]func(ctx context.Context, request []byte) (proto.Message, error)
}

func newRare(svc feature.Server, o rpc.Options) *rare {
	h := rpc.NewHandler(svc, nil, o)
	s := h.MemoryService()
	return &rare{rpc: h, methods: map[string]func(context.Context, []byte) (proto.Message, error){
		engramv1connect.MemoryServiceInfoProcedure:          method(s.Info),
		engramv1connect.MemoryServicePredictProcedure:       method(s.Predict),
		engramv1connect.MemoryServiceDescribeProcedure:      method(s.Describe),
		engramv1connect.MemoryServiceAddSegmentProcedure:    method(s.AddSegment),
		engramv1connect.MemoryServiceRemoveSegmentProcedure: method(s.RemoveSegment),
		engramv1connect.MemoryServiceAddTypeProcedure:       method(s.AddType),
		engramv1connect.MemoryServiceGetTypeProcedure:       method(s.GetType),
		engramv1connect.MemoryServiceListTypesProcedure:     method(s.ListTypes),
		engramv1connect.MemoryServiceStatsProcedure:         method(s.Stats),
	}}
}

// method makes a procedure one of encoded messages.
func method[Req, Res any](procedure func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error)) func(context.Context, []byte) (proto.Message, error) {
	return func(ctx context.Context, request []byte) (proto.Message, error) {
		m := new(Req)
		pm := any(m).(proto.Message)
		if err := proto.Unmarshal(request, pm); err != nil {
			return nil, engram.Errorf(engram.Invalid, "", "not a %s: %w", pm.ProtoReflect().Descriptor().FullName(), err)
		}
		res, err := procedure(ctx, connect.NewRequest(m))
		if err != nil {
			return nil, err
		}
		return any(res.Msg).(proto.Message), nil
	}
}

// rare answers one of the calls that are not frequent.
func (c *conn) rare(cl *call, name string, request []byte) error {
	m := c.s.rare.methods[name]
	if m == nil {
		return engram.Errorf(engram.Unsupported, "", "this server has no procedure %.64q on its local socket", name)
	}
	lease, err := c.s.rare.rpc.Admit(cl.ctx, name, request)
	if err != nil {
		return err
	}
	defer lease.Release()
	reply, err := m(cl.ctx, request)
	if err != nil {
		return err
	}
	b, err := encodeMessage(reply, cl.w.peer)
	if err != nil {
		return err
	}
	e, err := cl.w.begin(cl.ctx)
	if err != nil {
		return err
	}
	e.bytes(b)
	cl.send(kindReply, 0)
	return nil
}

// query reads a query's message.
func (r *rare) query(ctx context.Context, request []byte) (engram.Query, error) {
	lease, err := r.rpc.Admit(ctx, engramv1connect.MemoryServiceQueryProcedure, request)
	if err != nil {
		return engram.Query{}, err
	}
	defer lease.Release()
	var m engramv1.QueryRequest
	if err := proto.Unmarshal(request, &m); err != nil {
		return engram.Query{}, engram.Errorf(engram.Invalid, "", "not a QueryRequest: %w", err)
	}
	return r.rpc.ParseQuery(&m)
}

// subscription reads a subscription's message.
func (r *rare) subscription(ctx context.Context, request []byte) (engram.Subscription, error) {
	lease, err := r.rpc.Admit(ctx, engramv1connect.MemoryServiceSubscribeProcedure, request)
	if err != nil {
		return engram.Subscription{}, err
	}
	defer lease.Release()
	var m engramv1.SubscribeRequest
	if err := proto.Unmarshal(request, &m); err != nil {
		return engram.Subscription{}, engram.Errorf(engram.Invalid, "", "not a SubscribeRequest: %w", err)
	}
	return r.rpc.ParseSubscription(&m)
}

// encodeMessage encodes a message that is to fit in a frame with little else.
func encodeMessage(m proto.Message, peer limits) ([]byte, error) {
	b, err := proto.Marshal(m)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, "", "a %s cannot be encoded: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	if limit := int(min(peer.frame, maxRecords)) - 1024; len(b) > limit {
		return nil, engram.Errorf(engram.Exhausted, "", "a %s of %d bytes; at most %d pass through this connection at once", m.ProtoReflect().Descriptor().FullName(), len(b), limit)
	}
	return b, nil
}
