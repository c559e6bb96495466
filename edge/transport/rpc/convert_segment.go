package rpc

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/fleet/mns"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

func statsMessage(s engram.Stats) *engramv1.Stats {
	m := &engramv1.Stats{
		Id: s.ID.String(), Level: engramv1.Level(s.ID.Level()), Type: s.Type, Entities: s.Entities,
		Snapshots: s.Snapshots, Superseded: s.Superseded, Instances: s.Instances, Bytes: s.Bytes,
		Committed: s.Committed, Evicted: s.Evicted, Refused: s.Refused,
	}
	if s.Snapshots > 0 {
		first, last := int64(s.First), int64(s.Last)
		m.First, m.Last = &first, &last
	}
	if d := s.Disk; d != (engram.OnDisk{}) {
		m.Disk = &engramv1.OnDisk{Entities: d.Entities, Snapshots: d.Snapshots, Bytes: d.Bytes, First: int64(d.First), Last: int64(d.Last)}
	}
	return m
}

func statsFromMessage(m *engramv1.Stats) (engram.Stats, error) {
	id, err := engram.Parse(m.GetId())
	if err != nil {
		return engram.Stats{}, wire.BadAnswer(err)
	}
	d := m.GetDisk()
	return engram.Stats{
		ID: id, Type: m.GetType(), Entities: m.GetEntities(), Snapshots: m.GetSnapshots(), Superseded: m.GetSuperseded(),
		Instances: m.GetInstances(), Bytes: m.GetBytes(), First: engram.Time(m.GetFirst()), Last: engram.Time(m.GetLast()),
		Committed: m.GetCommitted(), Evicted: m.GetEvicted(), Refused: m.GetRefused(),
		Disk: engram.OnDisk{
			Entities: d.GetEntities(), Snapshots: d.GetSnapshots(), Bytes: d.GetBytes(), First: engram.Time(d.GetFirst()), Last: engram.Time(d.GetLast()),
		},
	}, nil
}

func entryMessage(e mns.Entry) *engramv1.NameEntry {
	m := &engramv1.NameEntry{Memory: e.Memory, Addresses: e.Addresses, Server: e.Server, Robot: e.Robot, SilentSince: int64(e.SuspectedSince), LastKnown: int64(e.LastKnown)}
	for _, c := range e.Copies {
		m.Copies = append(m.Copies, &engramv1.NameCopy{Server: c.Server, Robot: c.Robot, Memory: c.Memory, Addresses: c.Addresses, SilentSince: int64(c.SuspectedSince)})
	}
	return m
}

func entryFromMessage(m *engramv1.NameEntry) mns.Entry {
	e := mns.Entry{Memory: m.GetMemory(), Addresses: m.GetAddresses(), Server: m.GetServer(), Robot: m.GetRobot(),
		SuspectedSince: engram.Time(m.GetSilentSince()), LastKnown: engram.Time(m.GetLastKnown())}
	for _, c := range m.GetCopies() {
		e.Copies = append(e.Copies, mns.Copy{Server: c.GetServer(), Robot: c.GetRobot(), Memory: c.GetMemory(), Addresses: c.GetAddresses(), SuspectedSince: engram.Time(c.GetSilentSince())})
	}
	return e
}
