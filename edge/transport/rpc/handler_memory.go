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

func (h memoryHandler) info(ctx context.Context, _ *engramv1.InfoRequest) (*engramv1.InfoResponse, error) {
	m := &engramv1.InfoResponse{Server: h.o.Server, Robot: h.o.Robot, Version: release.Current().Version, Received: int64(h.o.Now()),
		Epoch: h.svc.Epoch(), Memories: h.svc.MemoriesFor(ctx)}
	m.Sent = int64(h.o.Now())
	return m, nil
}

// streamHint is set in the error of an answer that is too large for one message
// and that QueryStream delivers in parts.
const streamHint = "Engram-Use-Query-Stream"

func (h memoryHandler) query(ctx context.Context, r *engramv1.QueryRequest) (*engramv1.QueryResponse, error) {
	q, err := h.limits.Query(r)
	if err != nil {
		return nil, err
	}
	start := meter.Start()
	result, err := h.svc.Query(ctx, q)
	h.o.Meter.RPC.Query(start, err)
	if err != nil {
		return nil, err
	}
	m := resultMessage(result)
	if r.GetJson() && !q.WithoutPayload {
		if err := h.types.showNodes(ctx, m.GetMemories()); err != nil {
			return nil, err
		}
	}
	if n := proto.Size(m); n > h.o.MaxMessage {
		err := wireError(engram.Errorf(engram.Exhausted, "", "the answer has %d bytes; at most %d fit into one message; use QueryStream, or ask for less", n, h.o.MaxMessage))
		err.(*connect.Error).Meta().Set(streamHint, "1")
		return nil, err
	}
	return m, nil
}

func (h memoryHandler) latest(ctx context.Context, r *engramv1.LatestRequest) (*engramv1.LatestResponse, error) {
	entity, err := engram.Parse(r.GetEntity())
	if err != nil {
		return nil, err
	}
	if entity.Level() != engram.LevelEntity {
		return nil, engram.Errorf(engram.Invalid, entity.String(), "a %s has no latest snapshot; name an entity", entity.Level())
	}
	start := meter.Start()
	var s *engram.Snapshot
	if r.AtOrBefore != nil {
		s, err = h.svc.AtOrBefore(ctx, entity, engram.Time(r.GetAtOrBefore()))
	} else {
		s, err = h.svc.Latest(ctx, entity)
	}
	h.o.Meter.RPC.Query(start, err)
	if err != nil {
		return nil, err
	}
	m := &engramv1.LatestResponse{Id: entity.At(s.Time).String(), Snapshot: wire.SnapshotMessage(s)}
	if r.GetJson() {
		err = h.types.show(ctx, m.GetSnapshot())
	}
	return m, err
}

func (h memoryHandler) predict(ctx context.Context, r *engramv1.PredictRequest) (*engramv1.PredictResponse, error) {
	if err := h.limits.Breadth("IDs", len(r.GetIds())); err != nil {
		return nil, err
	}
	ids := make([]engram.ID, len(r.GetIds()))
	for i, text := range r.GetIds() {
		var err error
		if ids[i], err = engram.Parse(text); err != nil {
			return nil, err
		}
	}
	predictions, err := h.svc.Predict(ctx, ids)
	if err != nil {
		return nil, err
	}
	m := &engramv1.PredictResponse{}
	for _, p := range predictions {
		m.Predictions = append(m.Predictions, &engramv1.Prediction{Id: p.ID.String(), Snapshot: wire.SnapshotMessage(p.Snapshot), Error: wire.ErrorMessage(p.Err)})
	}
	return m, nil
}

func (h memoryHandler) describe(ctx context.Context, r *engramv1.DescribeRequest) (*engramv1.DescribeResponse, error) {
	p, err := h.limits.OnePattern(r.GetPattern(), r.GetSelector())
	if err != nil {
		return nil, err
	}
	descriptions, err := h.svc.Describe(ctx, p)
	m := &engramv1.DescribeResponse{}
	for _, d := range descriptions {
		m.Segments = append(m.Segments, wire.SegmentMessage(d))
	}
	return m, err
}

func (h memoryHandler) addSegment(ctx context.Context, r *engramv1.AddSegmentRequest) (*engramv1.AddSegmentResponse, error) {
	d, err := wire.SegmentFromMessage(r.GetSegment())
	if err != nil {
		return nil, err
	}
	if d.ID.Level() == engram.LevelProviderSegment {
		if d.History != (engram.Bounds{}) || d.Durability != engram.Volatile || d.FixedProviders || d.MaxAhead != 0 {
			return nil, engram.Errorf(engram.Invalid, d.ID.String(), "history, durability, max ahead and fixed providers are set for a core segment, not for a provider segment")
		}
		err = h.svc.AddProviderSegment(ctx, engram.ProviderSegment{ID: d.ID, Type: d.Type})
	} else {
		err = h.svc.AddCoreSegment(ctx, engram.CoreSegment(d))
	}
	return &engramv1.AddSegmentResponse{}, err
}

func (h memoryHandler) removeSegment(ctx context.Context, r *engramv1.RemoveSegmentRequest) (*engramv1.RemoveSegmentResponse, error) {
	id, err := engram.Parse(r.GetId())
	if err == nil {
		err = h.svc.RemoveSegment(ctx, id)
	}
	return &engramv1.RemoveSegmentResponse{}, err
}

func (h memoryHandler) addType(ctx context.Context, r *engramv1.AddTypeRequest) (*engramv1.AddTypeResponse, error) {
	return &engramv1.AddTypeResponse{}, h.svc.AddType(ctx, wire.TypeFromMessage(r.GetType()))
}

func (h memoryHandler) getType(ctx context.Context, r *engramv1.GetTypeRequest) (*engramv1.GetTypeResponse, error) {
	t, err := h.svc.Type(ctx, r.GetName())
	return &engramv1.GetTypeResponse{Type: wire.TypeMessage(t)}, err
}

func (h memoryHandler) listTypes(ctx context.Context, _ *engramv1.ListTypesRequest) (*engramv1.ListTypesResponse, error) {
	names, err := h.svc.TypeNames(ctx)
	return &engramv1.ListTypesResponse{Names: names}, err
}

func (h memoryHandler) stats(ctx context.Context, r *engramv1.StatsRequest) (*engramv1.StatsResponse, error) {
	p, err := h.limits.OnePattern(r.GetPattern(), r.GetSelector())
	if err != nil {
		return nil, err
	}
	depth := engram.LevelMemory
	if d := r.GetDepth(); d != engramv1.Level_LEVEL_UNSPECIFIED {
		if d < 0 || d > engramv1.Level_LEVEL_ENTITY {
			return nil, engram.Errorf(engram.Invalid, "", "stats down to unknown level %d", d)
		}
		depth = engram.Level(d)
	}
	stats, err := h.svc.Stats(ctx, p, depth)
	m := &engramv1.StatsResponse{}
	for _, s := range stats {
		m.Nodes = append(m.Nodes, statsMessage(s))
	}
	return m, err
}
