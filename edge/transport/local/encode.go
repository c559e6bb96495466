package local

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"github.com/seed-301d4374/engram"
)

// copyBelow is the payload size up to which copying into the output costs less
// than another piece of a vectored write.
const copyBelow = 1 << 10

// minUpdate is the least that an update of a commit takes: its entity, its time and how
// many instances it has.
const minUpdate = 4 + 8 + 4

// batch is output on its way to the socket: encoded bytes with the payloads that
// stand between them, which are only referred to.
type batch struct {
	buf    []byte
	pieces []piece
	size   int // bytes of everything
}

// piece is a payload that goes out after buf[:at].
type piece struct {
	at   int
	data []byte
	sum  uint32 // of data; only with invariants
}

func (b *batch) reset() {
	if invariants {
		poison(b.buf[:cap(b.buf)])
	}
	if cap(b.buf) > keepBuffer {
		b.buf = nil
	}
	clear(b.pieces) // the payloads may be forgotten
	b.buf, b.pieces, b.size = b.buf[:0], b.pieces[:0], 0
}

// vectors appends what is to be written to v.
func (b *batch) vectors(v [][]byte) [][]byte {
	from := 0
	for i := range b.pieces {
		p := &b.pieces[i]
		if invariants && crc32.ChecksumIEEE(p.data) != p.sum {
			panic("edge/transport/local: a payload was changed after it was handed over")
		}
		if p.at > from {
			v = append(v, b.buf[from:p.at])
			from = p.at
		}
		v = append(v, p.data)
	}
	if from < len(b.buf) {
		v = append(v, b.buf[from:])
	}
	return v
}

// encoder appends one frame to a batch. It belongs to a writer and is used under
// its lock.
type encoder struct {
	*batch
	start    int // of the frame in buf
	payloads [][]byte
	tail     int // bytes of payloads

	ids   sentNames[engram.ID]
	types sentNames[string]
}

func (e *encoder) begin(b *batch) {
	e.batch, e.start = b, len(b.buf)
	e.buf = append(e.buf, make([]byte, headerSize)...)
}

// end completes the frame: the payloads go after the records.
func (e *encoder) end(k kind, flags uint8, call uint32) {
	meta := len(e.buf) - e.start - headerSize
	header{length: uint32(meta + e.tail), meta: uint32(meta), call: call, kind: k, flags: flags}.put(e.buf[e.start:])
	for _, p := range e.payloads {
		if len(p) <= copyBelow {
			e.buf = append(e.buf, p...)
			continue
		}
		pc := piece{at: len(e.buf), data: p}
		if invariants {
			pc.sum = crc32.ChecksumIEEE(p)
		}
		e.pieces = append(e.pieces, pc)
	}
	e.size += headerSize + meta + e.tail
	clear(e.payloads)
	e.payloads, e.tail = e.payloads[:0], 0
}

// used returns how many bytes the frame has after its header.
func (e *encoder) used() int { return len(e.buf) - e.start - headerSize + e.tail }

func (e *encoder) bytes(b []byte) { e.buf = append(e.buf, b...) }

// countLater leaves room for a number of records.
func (e *encoder) countLater() (at int) {
	e.u32(0)
	return len(e.buf) - 4
}

func (e *encoder) setCount(at, n int) { binary.LittleEndian.PutUint32(e.buf[at:], uint32(n)) }

func (e *encoder) u8(v uint8)   { e.buf = append(e.buf, v) }
func (e *encoder) u32(v uint32) { e.buf = binary.LittleEndian.AppendUint32(e.buf, v) }
func (e *encoder) u64(v uint64) { e.buf = binary.LittleEndian.AppendUint64(e.buf, v) }

// text writes a string of at most 65,535 bytes; longer ones are cut.
func (e *encoder) text(s string) {
	s = s[:min(len(s), math.MaxUint16)]
	e.buf = binary.LittleEndian.AppendUint16(e.buf, uint16(len(s)))
	e.buf = append(e.buf, s...)
}

// id writes an ID in full.
func (e *encoder) id(id engram.ID) {
	e.u8(uint8(id.Level()))
	names := [...]string{id.Memory(), id.CoreSegment(), id.ProviderSegment(), id.Entity()}
	for _, n := range names[:idNames(id.Level())] {
		e.text(n)
	}
	if t, ok := id.Time(); ok {
		e.u64(uint64(t))
	}
	if i, ok := id.Index(); ok {
		e.u32(uint32(i))
	}
}

// idRef writes an ID by its slot, with the definition if it needs one.
func (e *encoder) idRef(id engram.ID) {
	slot, define := e.ids.slot(id)
	if !define {
		e.u32(slot)
		return
	}
	e.u32(slot | defined)
	e.id(id)
}

func (e *encoder) instances(list []engram.Instance) {
	e.u32(uint32(len(list)))
	for i := range list {
		in := &list[i]
		slot, define := e.types.slot(in.Payload.Type)
		if define {
			e.u32(slot | defined)
			e.text(in.Payload.Type)
		} else {
			e.u32(slot)
		}
		var flags uint8
		if in.HasSent {
			flags = instanceHasSent
		}
		b := binary.LittleEndian.AppendUint32(e.buf, uint32(len(in.Payload.Bytes)))
		b = binary.LittleEndian.AppendUint64(b, uint64(in.Sent))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(in.Confidence))
		e.buf = append(b, flags)
		e.payloads = append(e.payloads, in.Payload.Bytes)
		e.tail += len(in.Payload.Bytes)
	}
}

// instanceSize is what an instance takes without its payload and type name.
const (
	instanceSize    = 4 + 4 + 8 + 4 + 1
	instanceHasSent = 1
)

func (e *encoder) updates(list []engram.EntityUpdate) {
	e.u32(uint32(len(list)))
	for i := range list {
		u := &list[i]
		e.idRef(u.Entity)
		e.u64(uint64(u.Time))
		e.instances(u.Instances)
	}
}

func (e *encoder) snapshot(s *engram.Snapshot) {
	b := binary.LittleEndian.AppendUint64(e.buf, uint64(s.Time))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Arrived))
	number := s.Number
	if s.Recalled {
		number |= numberRecalled
	}
	e.buf = binary.LittleEndian.AppendUint64(b, number)
	e.instances(s.Instances)
}

// numberRecalled is a flag in a snapshot's number.
const numberRecalled = 1 << 63

// queryWithoutPayload is a flag of a query of one entity.
const queryWithoutPayload = 1

// query writes what selectors ask of one entity.
func (e *encoder) query(q *engram.Query, entity engram.ID, selectors []engram.SnapshotSelector) {
	e.u8(uint8(q.Target))
	if q.WithoutPayload {
		e.u8(queryWithoutPayload)
	} else {
		e.u8(0)
	}
	e.idRef(entity)
	e.u8(uint8(len(selectors)))
	for i := range selectors {
		a, b := arguments(&selectors[i])
		e.u8(uint8(selectors[i].Kind))
		e.u64(uint64(a))
		e.u64(uint64(b))
	}
}

// arguments returns the numbers that a selector has beside its kind.
func arguments(s *engram.SnapshotSelector) (a, b int64) {
	switch s.Kind {
	case engram.KindLatest:
		return int64(s.N), 0
	case engram.KindAt, engram.KindAtOrBefore:
		return int64(s.Time), 0
	case engram.KindNearest:
		return int64(s.Time), int64(s.Within)
	case engram.KindRange:
		return int64(s.Interval.Start), int64(s.Interval.End)
	case engram.KindIndexRange:
		return int64(s.First), int64(s.Last)
	}
	return 0, 0
}

// How an entity update was answered.
const (
	resultStored      = 0 // as the snapshot that was asked for
	resultStoredOther = 1 // as another one, whose ID follows
	resultRefused     = 2
	resultNoted       = 3 // stored, with an ID and a note
)

// result answers update u.
func (e *encoder) result(u *engram.EntityUpdate, r *engram.UpdateResult) {
	switch {
	case r.Err != nil:
		e.u8(resultRefused)
		e.id(r.ID)
		e.err(r.Err)
	case r.Note != nil:
		e.u8(resultNoted)
		e.u64(r.Number)
		e.id(r.ID)
		e.err(r.Note)
	case u.Entity.Level() == engram.LevelEntity && r.ID == u.Entity.At(u.Time):
		e.u8(resultStored)
		e.u64(r.Number)
	default:
		e.u8(resultStoredOther)
		e.u64(r.Number)
		e.id(r.ID)
	}
}

// err writes an error: its code, what it is about, and its message.
func (e *encoder) err(err error) {
	thing, msg := "", err.Error()
	if ee, ok := errors.AsType[*engram.Error](err); ok {
		thing, msg = ee.Thing, ee.Msg
	}
	e.u8(uint8(engram.CodeOf(err)))
	e.text(thing[:min(len(thing), maxErrorText)])
	e.text(msg[:min(len(msg), maxErrorText)])
}

// Flags of an update.
const (
	updateSupersedes  = 1 << 0
	updateRestarted   = 1 << 1
	updateHasSnapshot = 1 << 2
	updateHasDropped  = 1 << 3
	updateHasFailed   = 1 << 4 // it tells only of what the filter failed on
	updateRemoved     = 1 << 5 // it tells only that something of the entity was removed
)

func (e *encoder) update(u *engram.Update) {
	var flags uint8
	if u.Supersedes {
		flags |= updateSupersedes
	}
	if u.Restarted {
		flags |= updateRestarted
	}
	if u.Snapshot != nil {
		flags |= updateHasSnapshot
	}
	if u.Dropped != 0 {
		flags |= updateHasDropped
	}
	if u.Failed != nil {
		flags |= updateHasFailed
	}
	if u.Removed {
		flags |= updateRemoved
	}
	e.u8(flags)
	e.idRef(u.ID.Truncate(engram.LevelEntity))
	if u.Dropped != 0 {
		e.u64(u.Dropped)
	}
	if m := u.Failed; m != nil {
		e.id(m.ID)
		e.text(m.Reason)
		e.u64(m.Count)
		e.u64(uint64(m.Interval.Start))
		e.u64(uint64(m.Interval.End))
		e.id(m.Example)
		e.text(m.Detail[:min(len(m.Detail), maxErrorText)])
	}
	if u.Snapshot != nil {
		e.snapshot(u.Snapshot)
		return
	}
	t, _ := u.ID.Time()
	e.u64(uint64(t))
	e.u64(uint64(u.Arrived))
	e.u64(u.Number)
}

// snapshotSize returns the most bytes that instances take in a frame, with an ID
// and what stands around them: as records and as payloads.
func snapshotSize(list []engram.Instance) (records, payloads int) {
	records = 64 + maxIDSize
	for i := range list {
		p := &list[i].Payload
		records += instanceSize + 2 + len(p.Type)
		payloads += len(p.Bytes)
	}
	return records, payloads
}

// checkSnapshot returns an error if the instances do not fit in a frame of at
// most limit bytes, or have type names that are none.
func checkSnapshot(id engram.ID, list []engram.Instance, limit uint32) error {
	for i := range list {
		if n := len(list[i].Payload.Type); n > maxTypeName {
			return engram.Errorf(engram.Invalid, id.String(), "instance %d has a type name of %d bytes; at most %d are allowed", i, n, maxTypeName)
		}
	}
	records, payloads := snapshotSize(list)
	if n := records + payloads; n > int(limit) {
		return engram.Errorf(engram.Exhausted, id.String(), "its instances take %d bytes; at most %d pass through this connection at once", n, limit)
	}
	if records > maxRecords/2 {
		return engram.Errorf(engram.Exhausted, id.String(), "its %d instances take %d bytes without their payloads; at most %d pass through a connection at once", len(list), records, maxRecords/2)
	}
	return nil
}
