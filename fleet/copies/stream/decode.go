package stream

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// Decoder reads the batches of one pull. Not safe for concurrent use.
type Decoder struct {
	zstd   *zstd.Decoder
	format uint32
	limit  int64
	frame  []byte
	runs   []run

	shares    []shareState
	entities  []entityState
	providers []engram.ID
	kinds     []string
	types     []engram.TypeDef
	names     int // bytes of all that is in the tables
	batch     contract.Batch
}

// NewDecoder returns a decoder for a pull of so many shares. It refuses frames of more
// than limit bytes, encoded or in memory, and never reads beyond the batch that it
// decodes. The error is Unsupported for an unknown format.
func NewDecoder(r io.Reader, shares int, limit int64, format uint32) (*Decoder, error) {
	if err := checkFormat(format); err != nil {
		return nil, err
	}
	// Hidden is what kind of reader it is: of some, zstd would read all there is at once.
	z, err := zstd.NewReader(struct{ io.Reader }{r}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(4*window))
	if err != nil {
		return nil, engram.Errorf(engram.Internal, "", "the decompression of a pull cannot begin: %w", err)
	}
	return &Decoder{zstd: z, format: format, limit: limit, shares: newShareStates(shares)}, nil
}

// Close releases what the decoder holds.
func (d *Decoder) Close() { d.zstd.Close() }

// Decode returns the next batch, which is the decoder's again at the next call but
// for its snapshots and definitions. The error is the reader's if that is an
// *engram.Error, Exhausted for a frame above the limit, and otherwise Corrupt: a pull
// has no end of its own. After an error nothing more can be decoded.
func (d *Decoder) Decode() (*contract.Batch, error) {
	if err := d.read(); err != nil {
		return nil, err
	}
	return d.parse()
}

// parse reads the frame.
func (d *Decoder) parse() (*contract.Batch, error) {
	b := &d.batch
	*b = contract.Batch{Segments: b.Segments[:0], Removed: b.Removed[:0], Items: b.Items[:0], LeftOut: b.LeftOut[:0], Lost: b.Lost[:0]}
	f := &frameReader{rest: d.frame, room: uint64(d.limit)}
	d.decode(f, b)
	if f.err == nil && len(f.rest) > 0 {
		f.fail("%d bytes are left over", len(f.rest))
	}
	if cap(d.frame) > 4*contract.BatchBytes {
		d.frame = nil // it held a large payload
	}
	if f.err != nil {
		return nil, f.err
	}
	return b, nil
}

// read reads the next frame. Memory is taken as bytes arrive, not as they are
// announced.
func (d *Decoder) read() error {
	size, shift := uint64(0), uint(0)
	for one := [1]byte{0x80}; one[0] >= 0x80; shift += 7 {
		if _, err := io.ReadFull(d.zstd, one[:]); err != nil {
			return readError(err)
		}
		if shift > 56 {
			return corrupt("the size of a frame has too many digits")
		}
		size |= uint64(one[0]&0x7f) << shift
	}
	if size > uint64(d.limit) {
		return engram.Errorf(engram.Exhausted, "", "a part of a pull has %d bytes; at most %d are allowed; leave large payloads out of the copy (max-payload)", size, d.limit)
	}
	d.frame = d.frame[:0]
	for uint64(len(d.frame)) < size {
		n := min(size-uint64(len(d.frame)), uint64(max(len(d.frame), contract.BatchBytes)))
		at := len(d.frame)
		d.frame = append(d.frame, make([]byte, n)...)
		if _, err := io.ReadFull(d.zstd, d.frame[at:]); err != nil {
			return readError(err)
		}
	}
	return nil
}

// readError keeps errors of the transport apart from those of the compression.
func readError(err error) error {
	if e, ok := errors.AsType[*engram.Error](err); ok {
		return e
	}
	return corrupt("it cannot be decompressed: %w", err)
}

func corrupt(format string, args ...any) error {
	return engram.Errorf(engram.Corrupt, "", "a part of a pull is damaged: "+format, args...)
}

func (d *Decoder) decode(f *frameReader, b *contract.Batch) {
	flags := f.byte()
	if flags&frameAnew != 0 {
		d.entities, d.providers, d.kinds, d.types, d.names = nil, nil, nil, nil, 0
		forgetLast(d.shares)
	}
	b.Share = f.index("share", len(d.shares))
	if f.err != nil {
		return
	}
	s := &d.shares[b.Share]
	if flags&frameEpoch != 0 {
		s.epoch, s.number = f.uint(), 0
	}
	if flags&frameSegments != 0 {
		b.Segments = readList(f, b.Segments, d.segment)
	}
	if flags&frameRemoved != 0 {
		b.Removed = readList(f, b.Removed, d.removal)
	}
	switch {
	case flags&frameItems == 0:
	case d.format == 1:
		b.Items = readList(f, b.Items, func(f *frameReader) contract.Version { return d.version(f, s) })
	default:
		b.Items = d.versions(f, s, b.Items)
	}
	if flags&frameLeftOut != 0 {
		b.LeftOut = readList(f, b.LeftOut, d.leftOut)
	}
	if flags&frameLost != 0 {
		b.Lost = readList(f, b.Lost, d.lost)
	}
	s.number += uint64(f.int())
	s.arrived += f.int()
	b.Position = contract.Position{Epoch: s.epoch, Number: s.number, Arrived: engram.Time(s.arrived)}
	if flags&frameBehind != 0 {
		b.Behind.Updates, b.Behind.Bytes = f.uint(), f.size()
	}
	b.Behind.Now = engram.Time(s.arrived + f.int())
}

// readList appends what a frame lists to a list.
func readList[T any](f *frameReader, list []T, one func(*frameReader) T) []T {
	n := f.uint()
	f.claim(n, reflect.TypeFor[T]())
	for ; n > 0 && f.err == nil; n-- {
		list = append(list, one(f))
	}
	return list
}

// keep accounts for a text that the tables keep.
func (d *Decoder) keep(f *frameReader, s string) string {
	if d.names += len(s); d.names > maxNames {
		f.fail("its names take more than %d bytes", maxNames)
	}
	return s
}

func (d *Decoder) room(f *frameReader, n int) bool {
	if n >= maxTable {
		f.fail("it names more than %d things", maxTable)
	}
	return f.err == nil
}

func (d *Decoder) providerRef(f *frameReader) engram.ID {
	if i, known := f.ref("provider segment", len(d.providers)); known {
		return d.providers[i]
	}
	var names [3]string
	for i := range names {
		names[i] = d.keep(f, f.text())
	}
	if !d.room(f, len(d.providers)) {
		return engram.ID{}
	}
	id, err := engram.NewID(names[:]...)
	if err != nil {
		f.fail("%w", err)
	}
	d.providers = append(d.providers, id)
	return id
}

// entityRef returns nil if it fails.
func (d *Decoder) entityRef(f *frameReader) *entityState {
	if i := d.entityIndex(f); i >= 0 {
		return &d.entities[i]
	}
	return nil
}

// entityIndex is entityRef for the entity's index, -1 if it fails.
func (d *Decoder) entityIndex(f *frameReader) int {
	if i, known := f.ref("entity", len(d.entities)); known {
		return i
	}
	provider := d.providerRef(f)
	name := d.keep(f, f.text())
	if !d.room(f, len(d.entities)) {
		return -1
	}
	id, err := provider.Child(name)
	if err != nil {
		f.fail("%w", err)
		return -1
	}
	d.entities = append(d.entities, newEntityState(id, len(d.entities)))
	return len(d.entities) - 1
}

func (d *Decoder) kindRef(f *frameReader) int {
	i, known := f.ref("payload type", len(d.kinds))
	if known {
		return i
	}
	name := d.keep(f, f.text())
	if d.room(f, len(d.kinds)) {
		d.kinds = append(d.kinds, name)
	}
	return max(len(d.kinds)-1, 0)
}

func (d *Decoder) segment(f *frameReader) (s contract.Segment) {
	flags, durability := f.byte(), f.byte()
	if engram.Durability(durability) > engram.Synced {
		f.fail("a segment of unknown durability %d", durability)
	}
	s.Provider.ID = d.providerRef(f)
	s.Core.ID = s.Provider.ID.Truncate(engram.LevelCoreSegment)
	s.Core.Durability = engram.Durability(durability)
	s.Core.FixedProviders = flags&segmentFixed != 0
	s.Core.Type, s.Provider.Type = f.text(), f.text()
	s.Core.History.MaxCount = int(f.size())
	s.Core.History.MaxAge = time.Duration(f.size())
	s.Core.History.MaxBytes = f.size()
	s.Types = readList(f, s.Types, d.typeRef)
	return s
}

func (d *Decoder) typeRef(f *frameReader) engram.TypeDef {
	if i, known := f.ref("type", len(d.types)); known {
		return d.types[i]
	}
	t := engram.TypeDef{
		Name: d.keep(f, f.text()), Descriptors: []byte(d.keep(f, f.text())),
		Source: d.keep(f, f.text()), Format: d.keep(f, f.text()),
	}
	if d.room(f, len(d.types)) {
		d.types = append(d.types, t)
	}
	return t
}

func (d *Decoder) removal(f *frameReader) (r contract.Removal) {
	flags := f.byte()
	r.Segment = flags&removalSegment != 0
	text := f.text()
	if r.Compared = flags&removalCompared != 0; r.Compared {
		r.Besides = readList(f, r.Besides, readID)
	}
	r.Span = engram.Always()
	if flags&removalAlways == 0 {
		r.Span = readSpan(f)
	}
	r.Except = readList(f, r.Except, readSpan)
	r.Until = f.time()
	if f.err != nil {
		return r
	}
	var err error
	if r.Pattern, err = engram.ParsePattern(text); err != nil {
		f.fail("%w", err)
	}
	return r
}

// readID reads an ID's text.
func readID(f *frameReader) engram.ID {
	id, err := engram.Parse(f.text())
	if err != nil && f.err == nil {
		f.fail("%w", err)
	}
	return id
}

// readSpan reads a start and an end.
func readSpan(f *frameReader) engram.Interval {
	return engram.Interval{Start: f.time(), End: f.time()}
}

// newSnapshot is a snapshot with room for one instance beside it.
type newSnapshot struct {
	engram.Snapshot
	single [1]engram.Instance
}

// instance reads what of an instance precedes its payload.
func (d *Decoder) instance(f *frameReader, s *shareState, ent *entityState, flags byte) engram.Instance {
	in := engram.Instance{Confidence: 1, HasSent: true, Sent: engram.Time(s.arrived)}
	if flags&itemSure == 0 {
		in.Confidence = math.Float32frombits(f.uint32())
	}
	if flags&itemAtOnce == 0 {
		ent.sent += f.int()
		in.Sent = engram.Time(s.arrived - ent.sent)
	}
	return in
}

// version reads a version in format 1.
func (d *Decoder) version(f *frameReader, s *shareState) (v contract.Version) {
	flags := f.byte()
	ent := d.entityRef(f)
	if ent == nil {
		return v
	}
	v.Entity = ent.id
	s.readNumber(f, flags)
	s.arrived += f.int()
	ent.delay += f.int()
	s.time = s.arrived - ent.delay
	v.Snapshot = d.snapshot(f, s, ent, flags&^itemSameSize)
	return v
}

// readNumber reads the number of the share's next version.
func (s *shareState) readNumber(f *frameReader, flags byte) {
	step := int64(1)
	if flags&itemNext == 0 {
		step = f.int()
	}
	s.number += uint64(step)
}

// snapshot reads the instances of the share's version whose number and times have been
// read.
func (d *Decoder) snapshot(f *frameReader, s *shareState, ent *entityState, flags byte) *engram.Snapshot {
	f.claim(1, reflect.TypeFor[newSnapshot]())
	one := &newSnapshot{}
	snap := &one.Snapshot
	snap.Number, snap.Arrived, snap.Time = s.number, engram.Time(s.arrived), engram.Time(s.time)
	count := uint64(1)
	if flags&itemSingle == 0 {
		count = f.uint()
		f.claim(count, reflect.TypeFor[engram.Instance]())
	}
	if count == 0 || count > engram.MaxIndex+1 {
		f.fail("a snapshot of %d instances", count)
	}
	if flags&itemSameKind != 0 && ent.kind < 0 {
		f.fail("the first payload of an entity is of the type of the one before")
	}
	snap.Instances = one.single[:0]
	for ; count > 0 && f.err == nil; count-- {
		if flags&itemSameKind == 0 {
			ent.kind = d.kindRef(f)
		}
		in := d.instance(f, s, ent, flags)
		if flags&itemSameSize == 0 {
			ent.size = int(min(f.uint(), math.MaxInt32)) // no frame has so much
		}
		payload := f.take(uint64(ent.size))
		if f.err != nil {
			break
		}
		in.Payload = engram.Payload{Type: d.kinds[ent.kind], Bytes: bytes.Clone(payload)}
		snap.Instances = append(snap.Instances, in)
	}
	return snap
}

func (d *Decoder) leftOut(f *frameReader) (l contract.LeftOut) {
	if ent := d.entityRef(f); ent != nil {
		l.Entity = ent.id
	}
	if i, known := f.ref("reason", len(leftOutReasons)); known {
		l.Reason = leftOutReasons[i]
	} else {
		l.Reason = f.text()
	}
	l.Count, l.Bytes = f.uint(), f.size()
	l.Interval = f.interval()
	return l
}

func (d *Decoder) lost(f *frameReader) (m engram.Missing) {
	m.ID, m.Reason, m.Count = readID(f), f.text(), f.uint()
	m.Interval = f.interval()
	return m
}
