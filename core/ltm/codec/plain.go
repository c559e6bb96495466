package codec

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// plainEncoder emits each instance as a message of its own type, at once.
type plainEncoder struct{}

func (*plainEncoder) Encode(_ context.Context, s *engram.Snapshot, emit func(Message) error) error {
	return EmitPlain(s, emit)
}

func (*plainEncoder) Flush(context.Context, func(Message) error) error { return nil }
func (*plainEncoder) Pending() []*engram.Snapshot                      { return nil }
func (*plainEncoder) Close() error                                     { return nil }

// EmitPlain emits a snapshot in plain form, which every codec may do with what it
// cannot code: a message for each instance, the first of which is a key and the
// last of which completes the snapshot. The payloads' bytes are shared.
func EmitPlain(s *engram.Snapshot, emit func(Message) error) error {
	for i := range s.Instances {
		p := &s.Instances[i].Payload
		m := Message{Type: p.Type, Bytes: p.Bytes, Key: i == 0, Instance: i}
		if i == len(s.Instances)-1 {
			m.Snapshots = []*engram.Snapshot{WithoutPayload(s)}
		}
		if err := emit(m); err != nil {
			return err
		}
	}
	return nil
}

// WithoutPayload returns a copy of a snapshot's metadata, types included, without
// the payloads' bytes.
func WithoutPayload(s *engram.Snapshot) *engram.Snapshot {
	c := *s
	c.Instances = append([]engram.Instance(nil), s.Instances...)
	for i := range c.Instances {
		c.Instances[i].Payload.Bytes = nil
	}
	return &c
}

// plainDecoder joins the instances of a snapshot.
type plainDecoder struct {
	parts []engram.Payload // of the snapshot that is not complete yet
}

// Decode returns snapshots that share m's bytes.
func (d *plainDecoder) Decode(_ context.Context, m Message, want []bool) ([]*engram.Snapshot, error) {
	if m.Key {
		d.parts = d.parts[:0]
	}
	if m.Instance != len(d.parts) {
		return nil, engram.Errorf(engram.Corrupt, m.Type, "instance %d of a plain snapshot follows %d others; messages are missing before it", m.Instance, len(d.parts))
	}
	d.parts = append(d.parts, engram.Payload{Type: m.Type, Bytes: m.Bytes})
	switch {
	case len(m.Snapshots) == 0:
		return nil, nil
	case len(m.Snapshots) > 1 || len(m.Snapshots[0].Instances) != len(d.parts):
		return nil, engram.Errorf(engram.Corrupt, m.Type, "a plain message completes %d snapshots of %d instances after %d messages",
			len(m.Snapshots), len(m.Snapshots[0].Instances), len(d.parts))
	}
	s := *m.Snapshots[0]
	s.Instances = append([]engram.Instance(nil), s.Instances...)
	for i := range s.Instances {
		s.Instances[i].Payload = engram.Payload{Type: d.parts[i].Type}
		if want == nil || want[0] {
			s.Instances[i].Payload.Bytes = d.parts[i].Bytes
		}
	}
	d.parts = d.parts[:0]
	return []*engram.Snapshot{&s}, nil
}

func (*plainDecoder) Close() error { return nil }
