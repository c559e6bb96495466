package rpc

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/core/meter"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/release"
)

// memoryHandler implements the unary procedures of MemoryService.
type memoryHandler struct{ *Handler }

// answer returns a response, or the error as RPC knows it.
func answer[T any](msg *T, err error) (*connect.Response[T], error) {
	if err != nil {
		return nil, wireError(err)
	}
	return connect.NewResponse(msg), nil
}

func (h memoryHandler) Info(ctx context.Context, _ *connect.Request[engramv1.InfoRequest]) (*connect.Response[engramv1.InfoResponse], error) {
	m := &engramv1.InfoResponse{Server: h.o.Server, Robot: h.o.Robot, Version: release.Current().Version, Received: int64(h.o.Now()),
		Epoch: h.svc.Epoch(), Memories: h.svc.MemoriesFor(ctx)}
	m.Sent = int64(h.o.Now())
	return answer(m, nil)
}

func (h memoryHandler) Commit(ctx context.Context, r *connect.Request[engramv1.CommitRequest]) (*connect.Response[engramv1.CommitResponse], error) {
	return answer(h.commit(ctx, r.Msg))
}

// streamHint is set in the error of an answer that is too large for one message
// and that QueryStream delivers in parts.
const streamHint = "Engram-Use-Query-Stream"

func (h memoryHandler) Query(ctx context.Context, r *connect.Request[engramv1.QueryRequest]) (*connect.Response[engramv1.QueryResponse], error) {
	q, err := h.limits.Query(r.Msg)
	if err != nil {
		return nil, wireError(err)
	}
	start := meter.Start()
	result, err := h.svc.Query(ctx, q)
	h.o.Meter.RPC.Query(start, err)
	if err != nil {
		return nil, wireError(err)
	}
	m := resultMessage(result)
	if r.Msg.GetJson() && !q.WithoutPayload {
		if err := h.types.showNodes(ctx, m.GetMemories()); err != nil {
			return nil, wireError(err)
		}
	}
	if n := proto.Size(m); n > h.o.MaxMessage {
		err := wireError(engram.Errorf(engram.Exhausted, "", "the answer has %d bytes; at most %d fit into one message; use QueryStream, or ask for less", n, h.o.MaxMessage))
		err.(*connect.Error).Meta().Set(streamHint, "1")
		return nil, err
	}
	return answer(m, nil)
}

func (h memoryHandler) Latest(ctx context.Context, r *connect.Request[engramv1.LatestRequest]) (*connect.Response[engramv1.LatestResponse], error) {
	entity, err := engram.Parse(r.Msg.GetEntity())
	if err != nil {
		return nil, wireError(err)
	}
	if entity.Level() != engram.LevelEntity {
		return nil, wireError(engram.Errorf(engram.Invalid, entity.String(), "a %s has no latest snapshot; name an entity", entity.Level()))
	}
	start := meter.Start()
	var s *engram.Snapshot
	if r.Msg.AtOrBefore != nil {
		s, err = h.svc.AtOrBefore(ctx, entity, engram.Time(r.Msg.GetAtOrBefore()))
	} else {
		s, err = h.svc.Latest(ctx, entity)
	}
	h.o.Meter.RPC.Query(start, err)
	if err != nil {
		return nil, wireError(err)
	}
	m := &engramv1.LatestResponse{Id: entity.At(s.Time).String(), Snapshot: wire.SnapshotMessage(s)}
	if r.Msg.GetJson() {
		err = h.types.show(ctx, m.GetSnapshot())
	}
	return answer(m, err)
}

func (h memoryHandler) Predict(ctx context.Context, r *connect.Request[engramv1.PredictRequest]) (*connect.Response[engramv1.PredictResponse], error) {
	if err := h.limits.Breadth("IDs", len(r.Msg.GetIds())); err != nil {
		return nil, wireError(err)
	}
	ids := make([]engram.ID, len(r.Msg.GetIds()))
	for i, text := range r.Msg.GetIds() {
		var err error
		if ids[i], err = engram.Parse(text); err != nil {
			return nil, wireError(err)
		}
	}
	predictions, err := h.svc.Predict(ctx, ids)
	if err != nil {
		return nil, wireError(err)
	}
	m := &engramv1.PredictResponse{}
	for _, p := range predictions {
		m.Predictions = append(m.Predictions, &engramv1.Prediction{Id: p.ID.String(), Snapshot: wire.SnapshotMessage(p.Snapshot), Error: wire.ErrorMessage(p.Err)})
	}
	return answer(m, nil)
}

func (h memoryHandler) Describe(ctx context.Context, r *connect.Request[engramv1.DescribeRequest]) (*connect.Response[engramv1.DescribeResponse], error) {
	p, err := h.limits.OnePattern(r.Msg.GetPattern(), r.Msg.GetSelector())
	if err != nil {
		return nil, wireError(err)
	}
	descriptions, err := h.svc.Describe(ctx, p)
	m := &engramv1.DescribeResponse{}
	for _, d := range descriptions {
		m.Segments = append(m.Segments, wire.SegmentMessage(d))
	}
	return answer(m, err)
}

func (h memoryHandler) AddSegment(ctx context.Context, r *connect.Request[engramv1.AddSegmentRequest]) (*connect.Response[engramv1.AddSegmentResponse], error) {
	d, err := wire.SegmentFromMessage(r.Msg.GetSegment())
	if err != nil {
		return nil, wireError(err)
	}
	if d.ID.Level() == engram.LevelProviderSegment {
		if d.History != (engram.Bounds{}) || d.Durability != engram.Volatile || d.FixedProviders || d.MaxAhead != 0 {
			return nil, wireError(engram.Errorf(engram.Invalid, d.ID.String(), "history, durability, max ahead and fixed providers are set for a core segment, not for a provider segment"))
		}
		err = h.svc.AddProviderSegment(ctx, engram.ProviderSegment{ID: d.ID, Type: d.Type})
	} else {
		err = h.svc.AddCoreSegment(ctx, engram.CoreSegment(d))
	}
	return answer(&engramv1.AddSegmentResponse{}, err)
}

func (h memoryHandler) RemoveSegment(ctx context.Context, r *connect.Request[engramv1.RemoveSegmentRequest]) (*connect.Response[engramv1.RemoveSegmentResponse], error) {
	id, err := engram.Parse(r.Msg.GetId())
	if err == nil {
		err = h.svc.RemoveSegment(ctx, id)
	}
	return answer(&engramv1.RemoveSegmentResponse{}, err)
}

func (h memoryHandler) AddType(ctx context.Context, r *connect.Request[engramv1.AddTypeRequest]) (*connect.Response[engramv1.AddTypeResponse], error) {
	return answer(&engramv1.AddTypeResponse{}, h.svc.AddType(ctx, wire.TypeFromMessage(r.Msg.GetType())))
}

func (h memoryHandler) GetType(ctx context.Context, r *connect.Request[engramv1.GetTypeRequest]) (*connect.Response[engramv1.GetTypeResponse], error) {
	t, err := h.svc.Type(ctx, r.Msg.GetName())
	return answer(&engramv1.GetTypeResponse{Type: wire.TypeMessage(t)}, err)
}

func (h memoryHandler) ListTypes(ctx context.Context, _ *connect.Request[engramv1.ListTypesRequest]) (*connect.Response[engramv1.ListTypesResponse], error) {
	names, err := h.svc.TypeNames(ctx)
	return answer(&engramv1.ListTypesResponse{Names: names}, err)
}

func (h memoryHandler) Stats(ctx context.Context, r *connect.Request[engramv1.StatsRequest]) (*connect.Response[engramv1.StatsResponse], error) {
	p, err := h.limits.OnePattern(r.Msg.GetPattern(), r.Msg.GetSelector())
	if err != nil {
		return nil, wireError(err)
	}
	depth := engram.LevelMemory
	if d := r.Msg.GetDepth(); d != engramv1.Level_LEVEL_UNSPECIFIED {
		if d < 0 || d > engramv1.Level_LEVEL_ENTITY {
			return nil, wireError(engram.Errorf(engram.Invalid, "", "stats down to unknown level %d", d))
		}
		depth = engram.Level(d)
	}
	stats, err := h.svc.Stats(ctx, p, depth)
	m := &engramv1.StatsResponse{}
	for _, s := range stats {
		m.Nodes = append(m.Nodes, statsMessage(s))
	}
	return answer(m, err)
}
