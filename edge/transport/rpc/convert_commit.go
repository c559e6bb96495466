package rpc

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/core/meter"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

func commitMessage(c engram.Commit) *engramv1.CommitRequest {
	m := &engramv1.CommitRequest{Updates: make([]*engramv1.EntityUpdate, len(c.Updates)), Recorded: c.Recorded}
	for i := range c.Updates {
		m.Updates[i] = wire.UpdateMessage(&c.Updates[i])
	}
	return m
}

// commit converts a request and stores it. What cannot be converted is refused
// like what the service refuses: per entity update.
func (h *Handler) commit(ctx context.Context, m *engramv1.CommitRequest) (*engramv1.CommitResponse, error) {
	c := engram.Commit{Updates: make([]engram.EntityUpdate, 0, len(m.GetUpdates())), Recorded: m.GetRecorded()}
	answer := &engramv1.CommitResponse{Results: make([]*engramv1.UpdateResult, len(m.GetUpdates()))}
	positions := make([]int, 0, len(m.GetUpdates()))
	for i, um := range m.GetUpdates() {
		u, err := h.update(ctx, um)
		if err != nil {
			answer.Results[i] = &engramv1.UpdateResult{Id: um.GetEntity(), Error: wire.ErrorMessage(err)}
			continue
		}
		c.Updates = append(c.Updates, u)
		positions = append(positions, i)
	}
	start := meter.Start()
	results, err := h.svc.Commit(ctx, c)
	h.o.Meter.RPC.Commit(start, results, err)
	if err != nil {
		return nil, err
	}
	if len(results) != len(positions) {
		return nil, engram.Errorf(engram.Internal, "", "the memory answered %d of %d updates", len(results), len(positions))
	}
	for k, r := range results {
		answer.Results[positions[k]] = &engramv1.UpdateResult{Id: r.ID.String(), Number: r.Number, Error: wire.ErrorMessage(r.Err), Note: wire.ErrorMessage(r.Note)}
	}
	return answer, nil
}

func (h *Handler) update(ctx context.Context, m *engramv1.EntityUpdate) (engram.EntityUpdate, error) {
	entity, err := engram.Parse(m.GetEntity())
	if err != nil {
		return engram.EntityUpdate{}, err
	}
	u := engram.EntityUpdate{Entity: entity, Instances: wire.InstancesFromMessages(m.GetInstances())}
	if m.Time != nil {
		u.Time = engram.Time(m.GetTime())
	} else {
		u.Time = engram.Now()
	}
	segmentType := "" // looked up once, and only for those who leave it to us
	for i, im := range m.GetInstances() {
		p := &u.Instances[i].Payload
		if p.Type == "" {
			if segmentType == "" {
				if segmentType, err = h.segmentType(ctx, entity); err != nil {
					return u, err
				}
			}
			p.Type = segmentType
		}
		if j := im.GetPayload().GetJson(); j != nil {
			if len(p.Bytes) > 0 {
				return u, engram.Errorf(engram.Invalid, entity.String(), "instance %d has its payload both as data and as JSON; give one of them", i)
			}
			if p.Bytes, err = h.types.encode(ctx, p.Type, j); err != nil {
				return u, engram.Errorf(engram.CodeOf(err), entity.String(), "instance %d: %w", i, err)
			}
		}
	}
	return u, nil
}

// segmentType returns the type of the payloads in the entity's provider segment,
// or in its core segment if that does not exist yet.
func (h *Handler) segmentType(ctx context.Context, entity engram.ID) (string, error) {
	if entity.Level() < engram.LevelProviderSegment {
		return "", engram.Errorf(engram.Invalid, entity.String(), "a commit needs an entity: memory/core segment/provider segment/entity")
	}
	core := entity.Truncate(engram.LevelCoreSegment)
	provider := entity.Truncate(engram.LevelProviderSegment)
	descriptions, err := h.svc.Describe(ctx, engram.PatternOf(core))
	if err != nil {
		return "", err
	}
	found := ""
	for _, d := range descriptions {
		if d.ID == provider || d.ID == core && found == "" {
			found = d.Type
		}
	}
	if found == "" {
		return "", engram.Errorf(engram.NotFound, core.String(), "there is no such core segment; add it first, or correct the name")
	}
	return found, nil
}

func resultsFromMessage(m *engramv1.CommitResponse) []engram.UpdateResult {
	results := make([]engram.UpdateResult, len(m.GetResults()))
	for i, rm := range m.GetResults() {
		id, _ := engram.Parse(rm.GetId()) // of a refused update it may be no ID
		results[i] = engram.UpdateResult{ID: id, Number: rm.GetNumber(), Err: wire.ErrorFromMessage(rm.GetError()), Note: wire.ErrorFromMessage(rm.GetNote())}
	}
	return results
}
