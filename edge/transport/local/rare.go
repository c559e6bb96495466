package local

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// rare answers the calls that are not frequent: the procedures of
// engram.v1.MemoryService, with its messages, by edge/transport/rpc's own code.
type rare struct {
	rpc   *rpc.Handler
	calls map[string]*feature.Call // by path
}

// notFrequent are the procedures that are answered so.
var notFrequent = []string{"Info", "Predict", "Describe", "AddSegment", "RemoveSegment", "AddType", "GetType", "ListTypes", "Stats"}

func newRare(svc feature.Server, o rpc.Options) *rare {
	r := &rare{rpc: rpc.NewHandler(svc, nil, o), calls: map[string]*feature.Call{}}
	s := r.rpc.MemoryService()
	for i := range s.Calls {
		if c := &s.Calls[i]; slices.Contains(notFrequent, c.Name) {
			r.calls[s.Procedure(c)] = c
		}
	}
	return r
}

// answer makes a call with an encoded request.
func (r *rare) answer(ctx context.Context, c *feature.Call, request []byte) (proto.Message, error) {
	m := c.NewRequest()
	if err := proto.Unmarshal(request, m); err != nil {
		return nil, engram.Errorf(engram.Invalid, "", "not a %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return c.Unary(ctx, m)
}

// rare answers one of the calls that are not frequent.
func (c *conn) rare(cl *call, name string, request []byte) error {
	procedure := c.s.rare.calls[name]
	if procedure == nil {
		return engram.Errorf(engram.Unsupported, "", "this server has no procedure %.64q on its local socket", name)
	}
	lease, err := c.s.rare.rpc.Admit(cl.ctx, name, request)
	if err != nil {
		return err
	}
	defer lease.Release()
	reply, err := c.s.rare.answer(cl.ctx, procedure, request)
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
	lease, err := r.rpc.Admit(ctx, rpc.QueryPath, request)
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
	lease, err := r.rpc.Admit(ctx, rpc.SubscribePath, request)
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
