package rpc

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

func resultMessage(r *engram.Result) *engramv1.QueryResponse {
	return &engramv1.QueryResponse{Memories: nodeMessages(r.Memories), Missing: missingMessages(r.Missing), Copies: copyMessages(r.Copies)}
}

func nodeMessages(nodes []*engram.ResultNode) []*engramv1.ResultNode {
	if len(nodes) == 0 {
		return nil
	}
	ms := make([]*engramv1.ResultNode, len(nodes))
	for i, n := range nodes {
		ms[i] = &engramv1.ResultNode{Name: n.Name, Children: nodeMessages(n.Children), Snapshots: snapshotMessages(n.Snapshots)}
	}
	return ms
}

func snapshotMessages(snapshots []*engram.Snapshot) []*engramv1.Snapshot {
	if len(snapshots) == 0 {
		return nil
	}
	ms := make([]*engramv1.Snapshot, len(snapshots))
	for i, s := range snapshots {
		ms[i] = wire.SnapshotMessage(s)
	}
	return ms
}

func missingMessages(missing []engram.Missing) []*engramv1.Missing {
	if len(missing) == 0 {
		return nil
	}
	ms := make([]*engramv1.Missing, len(missing))
	for i, m := range missing {
		ms[i] = missingMessage(&m)
	}
	return ms
}

func missingMessage(m *engram.Missing) *engramv1.Missing {
	if m == nil {
		return nil
	}
	return &engramv1.Missing{
		Id: m.ID.String(), Reason: m.Reason, Count: m.Count,
		Start: int64(m.Interval.Start), End: int64(m.Interval.End), Example: m.Example.String(), Detail: m.Detail,
	}
}

func missingFromMessage(m *engramv1.Missing) (engram.Missing, error) {
	id, err := engram.Parse(m.GetId())
	if err != nil {
		return engram.Missing{}, wire.BadAnswer(err)
	}
	example, err := engram.Parse(m.GetExample())
	if err != nil {
		return engram.Missing{}, wire.BadAnswer(err)
	}
	return engram.Missing{
		ID: id, Reason: m.GetReason(), Count: m.GetCount(), Example: example, Detail: m.GetDetail(),
		Interval: engram.Interval{Start: engram.Time(m.GetStart()), End: engram.Time(m.GetEnd())},
	}, nil
}

func copyMessages(copies []engram.CopyUsed) []*engramv1.CopyUsed {
	if len(copies) == 0 {
		return nil
	}
	ms := make([]*engramv1.CopyUsed, len(copies))
	for i, c := range copies {
		ms[i] = &engramv1.CopyUsed{
			Memory: c.Memory, Server: c.Server, AsOf: int64(c.AsOf), LagNanos: int64(c.Lag), Behind: c.Behind, Away: c.Away,
			Epoch: c.Epoch, Number: c.Number, Held: c.Held,
		}
	}
	return ms
}

func resultFromMessage(m *engramv1.QueryResponse) (*engram.Result, error) {
	r := &engram.Result{}
	var err error
	if r.Memories, err = nodesFromMessages(m.GetMemories(), engram.LevelMemory); err != nil {
		return nil, err
	}
	for _, mm := range m.GetMissing() {
		missing, err := missingFromMessage(mm)
		if err != nil {
			return nil, err
		}
		r.Missing = append(r.Missing, missing)
	}
	for _, c := range m.GetCopies() {
		r.Copies = append(r.Copies, engram.CopyUsed{
			Memory: c.GetMemory(), Server: c.GetServer(), AsOf: engram.Time(c.GetAsOf()), Lag: time.Duration(c.GetLagNanos()),
			Behind: c.GetBehind(), Away: c.GetAway(), Epoch: c.GetEpoch(), Number: c.GetNumber(), Held: c.GetHeld(),
		})
	}
	return r, nil
}

func nodesFromMessages(ms []*engramv1.ResultNode, level engram.Level) ([]*engram.ResultNode, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	if level > engram.LevelEntity {
		return nil, engram.Errorf(engram.Corrupt, "", "the server's answer has more levels than memory, core segment, provider segment and entity")
	}
	nodes := make([]*engram.ResultNode, len(ms))
	for i, m := range ms {
		children, err := nodesFromMessages(m.GetChildren(), level+1)
		if err != nil {
			return nil, err
		}
		nodes[i] = &engram.ResultNode{Name: m.GetName(), Children: children}
		if level == engram.LevelEntity && len(m.GetSnapshots()) > 0 {
			nodes[i].Snapshots = make([]*engram.Snapshot, len(m.GetSnapshots()))
			for k, s := range m.GetSnapshots() {
				nodes[i].Snapshots[k] = wire.SnapshotFromMessage(s)
			}
		}
	}
	return nodes, nil
}
