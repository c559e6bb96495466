package wal

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/seed-301d4374/engram"
)

// Where the meta data of a snapshot hold what is known only when it is appended.
const arrivedAt = 1 + 8

// appendSnapshot appends the meta data of a version: kind, time, arrived, the names
// below the memory, and of each instance all but its payload's bytes, which are the
// record's data, one behind the other.
func appendSnapshot(b []byte, entity engram.ID, s *engram.Snapshot) []byte {
	b = append(b, byte(KindSnapshot))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Time))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Arrived))
	b = appendText(b, entity.CoreSegment())
	b = appendText(b, entity.ProviderSegment())
	b = appendText(b, entity.Entity())
	b = binary.AppendUvarint(b, uint64(len(s.Instances)))
	before := ""
	for i := range s.Instances {
		in := &s.Instances[i]
		if in.HasSent {
			b = append(b, 1)
			b = binary.LittleEndian.AppendUint64(b, uint64(in.Sent))
		} else {
			b = append(b, 0)
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(in.Confidence))
		if in.Payload.Type == before {
			b = append(b, 0)
		} else {
			before = in.Payload.Type
			b = appendText(b, before)
		}
		b = binary.AppendUvarint(b, uint64(len(in.Payload.Bytes)))
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendDefinition appends the meta data of any other record; data is what belongs
// behind them.
func appendDefinition(b []byte, r *Record) (meta, data []byte) {
	b = append(b, byte(r.Kind))
	switch r.Kind {
	case KindType:
		b = appendText(b, r.Type.Name)
		b = appendText(b, r.Type.Format)
		b = binary.AppendUvarint(b, uint64(len(r.Type.Source)))
		return b, append([]byte(r.Type.Source), r.Type.Descriptors...)
	case KindCoreSegment:
		c := &r.Core
		b = appendText(b, c.ID.String())
		b = appendText(b, c.Type)
		b = binary.LittleEndian.AppendUint64(b, uint64(c.History.MaxCount))
		b = binary.LittleEndian.AppendUint64(b, uint64(c.History.MaxAge))
		b = binary.LittleEndian.AppendUint64(b, uint64(c.History.MaxBytes))
		b = append(b, byte(c.Durability), 0)
		if c.FixedProviders {
			b[len(b)-1] = 1
		}
		if c.MaxAhead != 0 {
			b = binary.LittleEndian.AppendUint64(b, uint64(c.MaxAhead))
		}
	case KindProviderSegment:
		b = appendText(b, r.Provider.ID.String())
		b = appendText(b, r.Provider.Type)
	case KindRemoveSegment:
		b = appendText(b, r.Entity.String())
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Before))
	}
	return b, nil
}

// names makes IDs and type names from their bytes, once for those that come again.
type names struct {
	memory string
	ids    map[string]engram.ID
	types  map[string]string
}

// maxNames bounds what is remembered: a log may hold any number of entities.
const maxNames = 1 << 16

func newNames(memory string) *names {
	return &names{memory, map[string]engram.ID{}, map[string]string{}}
}

// entity returns the ID of three names; raw are the bytes that they were parsed from.
func (n *names) entity(raw []byte, parts [3][]byte) (engram.ID, error) {
	if id, ok := n.ids[string(raw)]; ok {
		return id, nil
	}
	id, err := engram.NewID(n.memory, string(parts[0]), string(parts[1]), string(parts[2]))
	if err != nil {
		return id, err
	}
	if len(n.ids) >= maxNames {
		clear(n.ids)
	}
	n.ids[string(raw)] = id
	return id, nil
}

func (n *names) typ(raw []byte) string {
	if t, ok := n.types[string(raw)]; ok {
		return t
	}
	if len(n.types) >= maxNames {
		clear(n.types)
	}
	t := string(raw)
	n.types[t] = t
	return t
}

// parser reads meta data; after the first thing that is wrong it returns zeros.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) take(n uint64) []byte {
	if n > uint64(len(p.b)) {
		p.bad, p.b = true, nil
		return nil
	}
	out := p.b[:n]
	p.b = p.b[n:]
	return out
}

func (p *parser) byte() byte {
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *parser) uint64() uint64 {
	if b := p.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (p *parser) uint32() uint32 {
	if b := p.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (p *parser) uvarint() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.bad, p.b = true, nil
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *parser) text() []byte { return p.take(p.uvarint()) }

var errRecord = engram.Errorf(engram.Corrupt, "", "the record's checksums are right, but its content is not of this format")

// parseRecord reads a record of version 1. What it returns shares no memory with f.
func parseRecord(f frame, n *names) (Record, error) {
	p := &parser{b: f.meta}
	r := Record{Kind: Kind(p.byte()), Position: f.pos}
	var err error
	switch r.Kind {
	case KindSnapshot:
		var s struct { // one allocation for the frequent case
			engram.Snapshot
			one [1]engram.Instance
		}
		r.Snapshot = &s.Snapshot
		r.Entity, err = p.snapshot(r.Snapshot, &s.one, f.data, n)
	case KindType:
		r.Type.Name, r.Type.Format = string(p.text()), string(p.text())
		source := p.uvarint()
		if source > uint64(len(f.data)) {
			return Record{}, errRecord
		}
		r.Type.Source = string(f.data[:source])
		r.Type.Descriptors = append([]byte(nil), f.data[source:]...)
	case KindCoreSegment:
		c := &r.Core
		c.ID, err = engram.Parse(string(p.text()))
		c.Type = string(p.text())
		c.History = engram.Bounds{MaxCount: int(p.uint64()), MaxAge: time.Duration(p.uint64()), MaxBytes: int64(p.uint64())}
		c.Durability, c.FixedProviders = engram.Durability(p.byte()), p.byte() == 1
		if len(p.b) > 0 {
			c.MaxAhead = time.Duration(p.uint64())
		}
	case KindProviderSegment:
		r.Provider.ID, err = engram.Parse(string(p.text()))
		r.Provider.Type = string(p.text())
	case KindRemoveSegment:
		r.Entity, err = engram.Parse(string(p.text()))
		r.Before = Position(p.uint64())
	default:
		return Record{}, errRecord
	}
	if err != nil || p.bad || len(p.b) > 0 {
		return Record{}, errRecord
	}
	return r, nil
}

func (p *parser) snapshot(s *engram.Snapshot, one *[1]engram.Instance, data []byte, n *names) (engram.ID, error) {
	s.Time, s.Arrived = engram.Time(p.uint64()), engram.Time(p.uint64())
	raw := p.b
	parts := [3][]byte{p.text(), p.text(), p.text()}
	raw = raw[:len(raw)-len(p.b)]
	count := p.uvarint()
	if p.bad || count == 0 || count > uint64(len(p.b)) {
		return engram.ID{}, errRecord
	}
	if s.Instances = one[:]; count > 1 {
		s.Instances = make([]engram.Instance, count)
	}
	typ := ""
	for i := range s.Instances {
		in := &s.Instances[i]
		in.Sent, in.HasSent = s.Arrived, true
		if p.byte() == 1 {
			in.Sent = engram.Time(p.uint64())
		}
		in.Confidence = math.Float32frombits(p.uint32())
		if name := p.text(); len(name) > 0 {
			typ = n.typ(name)
		}
		in.Payload.Type = typ
		size := p.uvarint()
		if p.bad || size > uint64(len(data)) {
			return engram.ID{}, errRecord
		}
		if size > 0 {
			in.Payload.Bytes = append([]byte(nil), data[:size]...)
		}
		data = data[size:]
	}
	if len(data) > 0 {
		return engram.ID{}, errRecord
	}
	return n.entity(raw, parts)
}
