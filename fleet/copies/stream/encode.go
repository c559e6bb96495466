package stream

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// Encoder writes the batches of one pull. Not safe for concurrent use.
type Encoder struct {
	zstd   *zstd.Encoder
	format uint32
	frame  []byte
	prefix [binary.MaxVarintLen64]byte

	// Of the versions of a batch, since format 2:
	runs  []run
	times bitWriter
	rest  []byte

	shares    []shareState
	entities  []entityState
	entity    map[engram.ID]int
	providers map[engram.ID]int
	kinds     map[string]int
	kindNames []string
	types     map[string]typeSent // by name, as it was sent last
	defs      int                 // how many were sent
	names     int                 // bytes of all that is in the tables
	full      int                 // more entries of a table have all begin anew
}

type typeSent struct {
	index int
	def   engram.TypeDef
}

// NewEncoder returns an encoder for a pull of so many shares, in a format that is known
// to it: 1 to [Format].
func NewEncoder(w io.Writer, shares int, format uint32) (*Encoder, error) {
	if err := checkFormat(format); err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(w, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, engram.Errorf(engram.Internal, "", "the compression of a pull cannot begin: %w", err)
	}
	e := &Encoder{zstd: z, format: format, shares: newShareStates(shares), full: fullTable}
	e.anew()
	return e, nil
}

func (e *Encoder) anew() {
	e.entities, e.entity, e.providers = nil, map[engram.ID]int{}, map[engram.ID]int{}
	e.kinds, e.kindNames = map[string]int{}, nil
	e.types, e.defs, e.names = map[string]typeSent{}, 0, 0
	forgetLast(e.shares)
}

// Encode writes a batch and flushes it: a reader can decode it without later bytes.
func (e *Encoder) Encode(b *contract.Batch) error {
	if b.Share < 0 || b.Share >= len(e.shares) {
		return engram.Errorf(engram.Internal, "", "a batch of share %d of %d", b.Share, len(e.shares))
	}
	s := &e.shares[b.Share]
	flags := byte(0)
	set := func(bit byte, on bool) {
		if on {
			flags |= bit
		}
	}
	if max(len(e.entities), len(e.providers), len(e.kinds), e.defs) > e.full || e.names > fullNames {
		e.anew()
		set(frameAnew, true)
	}
	set(frameSegments, len(b.Segments) > 0)
	set(frameRemoved, len(b.Removed) > 0)
	set(frameItems, len(b.Items) > 0)
	set(frameLeftOut, len(b.LeftOut) > 0)
	set(frameLost, len(b.Lost) > 0)
	set(frameEpoch, b.Position.Epoch != s.epoch)
	set(frameBehind, b.Behind.Updates > 0 || b.Behind.Bytes > 0)
	e.frame = append(e.frame[:0], flags)
	e.uint(uint64(b.Share))
	if flags&frameEpoch != 0 {
		e.uint(b.Position.Epoch)
		s.epoch, s.number = b.Position.Epoch, 0
	}
	writeList(e, b.Segments, e.segment)
	writeList(e, b.Removed, e.removal)
	if e.format == 1 {
		writeList(e, b.Items, func(v *contract.Version) { e.version(s, v) })
	} else if len(b.Items) > 0 {
		e.versions(s, b.Items)
	}
	writeList(e, b.LeftOut, e.leftOut)
	writeList(e, b.Lost, e.lost)
	e.int(int64(b.Position.Number - s.number))
	e.int(int64(b.Position.Arrived) - s.arrived)
	s.number, s.arrived = b.Position.Number, int64(b.Position.Arrived)
	if flags&frameBehind != 0 {
		e.uint(b.Behind.Updates)
		e.uint(uint64(max(b.Behind.Bytes, 0)))
	}
	e.int(int64(b.Behind.Now) - s.arrived)
	return e.flush()
}

func (e *Encoder) flush() error {
	n := binary.PutUvarint(e.prefix[:], uint64(len(e.frame)))
	_, err := e.zstd.Write(e.prefix[:n])
	if err == nil {
		_, err = e.zstd.Write(e.frame)
	}
	if err == nil {
		err = e.zstd.Flush()
	}
	if cap(e.frame) > 4*contract.BatchBytes {
		e.frame = nil // it held a large payload
	}
	return err
}

// Close releases what the encoder holds. It writes nothing that matters.
func (e *Encoder) Close() { e.zstd.Reset(io.Discard) }

func (e *Encoder) uint(v uint64)      { e.frame = binary.AppendUvarint(e.frame, v) }
func (e *Encoder) int(v int64)        { e.uint(zigzag(v)) }
func (e *Encoder) time(t engram.Time) { e.frame = binary.LittleEndian.AppendUint64(e.frame, uint64(t)) }

func (e *Encoder) text(s string) {
	e.uint(uint64(len(s)))
	e.frame = append(e.frame, s...)
}

// named writes a text that the reader keeps.
func (e *Encoder) named(s string) {
	e.text(s)
	e.names += len(s)
}

// writeList writes a list unless it is empty, which the frame's flags say.
func writeList[T any](e *Encoder, list []T, one func(*T)) {
	if len(list) == 0 {
		return
	}
	e.uint(uint64(len(list)))
	for i := range list {
		one(&list[i])
	}
}

// providerRef refers to a provider segment: 0 and its names, or its index and one.
func (e *Encoder) providerRef(id engram.ID) {
	if i, ok := e.providers[id]; ok {
		e.uint(uint64(i) + 1)
		return
	}
	e.providers[id] = len(e.providers)
	e.uint(0)
	e.named(id.Memory())
	e.named(id.CoreSegment())
	e.named(id.ProviderSegment())
}

func (e *Encoder) entityRef(id engram.ID) *entityState {
	i, ok := e.entity[id]
	if ok {
		e.uint(uint64(i) + 1)
		return &e.entities[i]
	}
	e.entity[id] = len(e.entities)
	e.entities = append(e.entities, newEntityState(id, len(e.entities)))
	e.uint(0)
	e.providerRef(id.Truncate(engram.LevelProviderSegment))
	e.named(id.Entity())
	return &e.entities[len(e.entities)-1]
}

func (e *Encoder) kindRef(name string) int {
	i, ok := e.kinds[name]
	if ok {
		e.uint(uint64(i) + 1)
		return i
	}
	i = len(e.kinds)
	e.kinds[name], e.kindNames = i, append(e.kindNames, name)
	e.uint(0)
	e.named(name)
	return i
}

func (e *Encoder) segment(s *contract.Segment) {
	flags := byte(0)
	if s.Core.FixedProviders {
		flags |= segmentFixed
	}
	e.frame = append(e.frame, flags, byte(s.Core.Durability))
	e.providerRef(s.Provider.ID)
	e.text(s.Core.Type)
	e.text(s.Provider.Type)
	e.uint(uint64(max(s.Core.History.MaxCount, 0)))
	e.uint(uint64(max(s.Core.History.MaxAge, 0)))
	e.uint(uint64(max(s.Core.History.MaxBytes, 0)))
	e.uint(uint64(len(s.Types)))
	for i := range s.Types {
		e.typeRef(&s.Types[i])
	}
}

// typeRef refers to a type's definition.
func (e *Encoder) typeRef(t *engram.TypeDef) {
	if sent, ok := e.types[t.Name]; ok && sent.def.Source == t.Source && sent.def.Format == t.Format && bytes.Equal(sent.def.Descriptors, t.Descriptors) {
		e.uint(uint64(sent.index) + 1)
		return
	}
	e.uint(0)
	e.named(t.Name)
	e.named(string(t.Descriptors))
	e.named(t.Source)
	e.named(t.Format)
	e.types[t.Name] = typeSent{index: e.defs, def: *t}
	e.defs++
}

func (e *Encoder) removal(r *contract.Removal) {
	flags := byte(0)
	if r.Segment {
		flags |= removalSegment
	}
	if r.Span == engram.Always() {
		flags |= removalAlways
	}
	if r.Compared {
		flags |= removalCompared
	}
	e.frame = append(e.frame, flags)
	e.text(r.Pattern.String())
	if r.Compared {
		e.uint(uint64(len(r.Besides)))
		for _, id := range r.Besides {
			e.text(id.String())
		}
	}
	if flags&removalAlways == 0 {
		e.time(r.Span.Start)
		e.time(r.Span.End)
	}
	e.uint(uint64(len(r.Except)))
	for _, iv := range r.Except {
		e.time(iv.Start)
		e.time(iv.End)
	}
	e.time(r.Until)
}

// version writes a version in format 1.
func (e *Encoder) version(s *shareState, v *contract.Version) {
	snap := v.Snapshot
	at := len(e.frame)
	e.frame = append(e.frame, 0)
	ent := e.entityRef(v.Entity)
	flags := byte(0)
	if snap.Number == s.number+1 {
		flags |= itemNext
	} else {
		e.int(int64(snap.Number - s.number))
	}
	arrived := int64(snap.Arrived)
	e.int(arrived - s.arrived)
	s.number, s.arrived = snap.Number, arrived
	delay := arrived - int64(snap.Time)
	e.int(delay - ent.delay)
	ent.delay = delay
	flags |= e.instances(ent, snap, ^byte(itemSameSize))
	e.frame[at] = flags
}

func (e *Encoder) leftOut(l *contract.LeftOut) {
	e.entityRef(l.Entity)
	i := slices.Index(leftOutReasons[:], l.Reason)
	e.uint(uint64(i + 1))
	if i < 0 {
		e.text(l.Reason)
	}
	e.uint(l.Count)
	e.uint(uint64(max(l.Bytes, 0)))
	e.time(l.Interval.Start)
	e.uint(uint64(l.Interval.End - l.Interval.Start))
}

func (e *Encoder) lost(m *engram.Missing) {
	e.text(m.ID.String())
	e.text(m.Reason)
	e.uint(m.Count)
	e.time(m.Interval.Start)
	e.uint(uint64(m.Interval.End - m.Interval.Start))
}
