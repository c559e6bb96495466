package wire

import (
	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// snapshotBox holds the messages of a snapshot with one instance, by far the most
// frequent, in one allocation.
type snapshotBox struct {
	snapshot  engramv1.Snapshot
	instances [1]*engramv1.Instance
	instance  engramv1.Instance
	payload   engramv1.Payload
}

// SnapshotMessage returns the message of a snapshot, nil for nil. Payload bytes go by
// reference, here and in what follows.
func SnapshotMessage(s *engram.Snapshot) *engramv1.Snapshot {
	if s == nil {
		return nil
	}
	if len(s.Instances) == 1 {
		b := new(snapshotBox)
		fillInstance(&b.instance, &b.payload, &s.Instances[0])
		b.instances[0] = &b.instance
		b.snapshot.Instances = b.instances[:]
		b.snapshot.Time, b.snapshot.Arrived, b.snapshot.Number = int64(s.Time), int64(s.Arrived), s.Number
		b.snapshot.Recalled = s.Recalled
		return &b.snapshot
	}
	return &engramv1.Snapshot{
		Time: int64(s.Time), Arrived: int64(s.Arrived), Number: s.Number, Recalled: s.Recalled,
		Instances: InstanceMessages(s.Instances),
	}
}

// InstanceMessages returns the messages of instances.
func InstanceMessages(instances []engram.Instance) []*engramv1.Instance {
	ms := make([]*engramv1.Instance, len(instances))
	for i := range instances {
		ms[i] = new(engramv1.Instance)
		fillInstance(ms[i], new(engramv1.Payload), &instances[i])
	}
	return ms
}

func fillInstance(m *engramv1.Instance, p *engramv1.Payload, in *engram.Instance) {
	p.Type, p.Data = in.Payload.Type, in.Payload.Bytes
	m.Payload = p
	if in.HasSent {
		sent := int64(in.Sent)
		m.Sent = &sent
	}
	if in.Confidence != 1 {
		m.Confidence = &in.Confidence
	}
}

// SnapshotFromMessage is the inverse of SnapshotMessage.
func SnapshotFromMessage(m *engramv1.Snapshot) *engram.Snapshot {
	if m == nil {
		return nil
	}
	return &engram.Snapshot{
		Time: engram.Time(m.GetTime()), Arrived: engram.Time(m.GetArrived()), Number: m.GetNumber(), Recalled: m.GetRecalled(),
		Instances: InstancesFromMessages(m.GetInstances()),
	}
}

// InstancesFromMessages is the inverse of InstanceMessages.
func InstancesFromMessages(ms []*engramv1.Instance) []engram.Instance {
	if len(ms) == 0 {
		return nil
	}
	instances := make([]engram.Instance, len(ms))
	for i, m := range ms {
		instances[i] = engram.NewInstance(engram.Payload{Type: m.GetPayload().GetType(), Bytes: m.GetPayload().GetData()})
		if m.Sent != nil {
			instances[i].Sent, instances[i].HasSent = engram.Time(m.GetSent()), true
		}
		if m.Confidence != nil {
			instances[i].Confidence = m.GetConfidence()
		}
	}
	return instances
}

// UpdateMessage returns the message of an entity update.
func UpdateMessage(u *engram.EntityUpdate) *engramv1.EntityUpdate {
	t := int64(u.Time)
	return &engramv1.EntityUpdate{Entity: u.Entity.String(), Time: &t, Instances: InstanceMessages(u.Instances)}
}
