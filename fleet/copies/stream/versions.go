package stream

import (
	"encoding/binary"
	"math"
	"reflect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// Format is the newest version of the stream, which both sides write and read; they
// know the older ones, too. Versions differ in how versions of entities are written.
const Format = 2

func checkFormat(format uint32) error {
	if format < 1 || format > Format {
		return engram.Errorf(engram.Unsupported, "", "format %d of the stream of copies is not known; this program knows 1 to %d", format, Format)
	}
	return nil
}

// maxVersions bounds the versions of a batch: in format 2 one may take no bytes at all.
const maxVersions = 1 << 14

// versions writes the versions of a batch in format 2: how alike they are, their
// times, and the rest.
func (e *Encoder) versions(s *shareState, list []contract.Version) {
	batch := e.frame
	e.frame, e.runs = e.rest[:0], e.runs[:0]
	e.times.reset()
	for i := range list {
		flags := e.version2(s, &list[i])
		if n := len(e.runs); n > 0 && e.runs[n-1].flags == flags {
			e.runs[n-1].length++
		} else {
			e.runs = append(e.runs, run{flags, 1})
		}
	}
	e.rest, e.frame = e.frame, batch
	for i, r := range e.runs {
		e.frame = append(e.frame, r.flags)
		length := uint64(r.length) << 1
		if i < len(e.runs)-1 {
			length |= 1
		}
		e.uint(length)
	}
	times := e.times.close()
	e.uint(uint64(len(times)))
	e.frame = append(e.frame, times...)
	e.frame = append(e.frame, e.rest...)
	if cap(e.rest) > 4*contract.BatchBytes {
		e.rest = nil
	}
}

// run is how many versions in a row have the same flags.
type run struct {
	flags  byte
	length int
}

// version2 writes a version and returns its flags.
func (e *Encoder) version2(s *shareState, v *contract.Version) (flags byte) {
	snap := v.Snapshot
	at, known := e.entity[v.Entity]
	if known && s.last >= 0 && e.entities[s.last].next == at {
		flags |= itemExpected
	} else {
		e.entityRef(v.Entity)
		at = e.entity[v.Entity]
	}
	if s.last >= 0 {
		e.entities[s.last].next = at
	}
	s.last = at
	ent := &e.entities[at]
	if snap.Number == s.number+1 {
		flags |= itemNext
	} else {
		e.int(int64(snap.Number - s.number))
	}
	arrived := int64(snap.Arrived)
	if arrived == s.arrived && int64(snap.Time) == s.time {
		flags |= itemTogether
	} else {
		step := arrived - s.arrived
		e.times.int(step-s.step, &s.steps)
		e.times.int(arrived-int64(snap.Time)-ent.delay, &ent.delays)
		s.step = step
	}
	ent.delay = arrived - int64(snap.Time)
	s.number, s.arrived, s.time = snap.Number, arrived, int64(snap.Time)
	return flags | e.instances(ent, snap, ^byte(0))
}

// instances writes a snapshot's instances, and returns the flags that say what of them is
// as usual, of those in may: format 1 does not say it of sizes.
func (e *Encoder) instances(ent *entityState, snap *engram.Snapshot, may byte) (flags byte) {
	if len(snap.Instances) == 1 {
		flags |= itemSingle
	} else {
		e.uint(uint64(len(snap.Instances)))
	}
	flags |= e.alike(ent, snap) & may
	for i := range snap.Instances {
		in := &snap.Instances[i]
		if flags&itemSameKind == 0 {
			ent.kind = e.kindRef(in.Payload.Type)
		}
		if flags&itemSure == 0 {
			e.frame = binary.LittleEndian.AppendUint32(e.frame, math.Float32bits(in.Confidence))
		}
		if flags&itemAtOnce == 0 {
			sent := int64(0)
			if in.HasSent {
				sent = int64(snap.Arrived - in.Sent)
			}
			e.int(sent - ent.sent)
			ent.sent = sent
		}
		if flags&itemSameSize == 0 {
			ent.size = len(in.Payload.Bytes)
			e.uint(uint64(ent.size))
		}
		e.frame = append(e.frame, in.Payload.Bytes...)
	}
	return flags
}

// alike returns the flags that say what of a snapshot's instances is as usual.
func (e *Encoder) alike(ent *entityState, snap *engram.Snapshot) byte {
	flags := byte(itemSure | itemAtOnce | itemSameKind | itemSameSize)
	for i := range snap.Instances {
		in := &snap.Instances[i]
		if in.Confidence != 1 {
			flags &^= itemSure
		}
		if in.HasSent && in.Sent != snap.Arrived {
			flags &^= itemAtOnce
		}
		if ent.kind < 0 || in.Payload.Type != e.kindNames[ent.kind] {
			flags &^= itemSameKind
		}
		if len(in.Payload.Bytes) != ent.size {
			flags &^= itemSameSize
		}
	}
	return flags
}

// versions reads the versions of a batch in format 2.
func (d *Decoder) versions(f *frameReader, s *shareState, list []contract.Version) []contract.Version {
	d.runs = d.runs[:0]
	for n, more := 0, true; more && f.err == nil; {
		r := run{flags: f.byte()}
		length := f.uint()
		more = length&1 != 0
		if length >>= 1; length == 0 || length > uint64(maxVersions-n) {
			f.fail("a run of %d versions behind %d", length, n)
			break
		}
		f.claim(length, reflect.TypeFor[contract.Version]())
		r.length = int(length)
		n += r.length
		d.runs = append(d.runs, r)
	}
	times := bitReader{bytes: f.bytes()}
	for _, r := range d.runs {
		for range r.length {
			v := d.version2(f, s, &times, r.flags)
			if times.over {
				f.fail("times of versions are missing")
			}
			if f.err != nil {
				return list
			}
			list = append(list, v)
		}
	}
	if times.left() {
		f.fail("times are left over")
	}
	return list
}

func (d *Decoder) version2(f *frameReader, s *shareState, times *bitReader, flags byte) (v contract.Version) {
	at := 0
	switch {
	case flags&itemExpected == 0:
		if at = d.entityIndex(f); at < 0 {
			return v
		}
	case s.last < 0:
		f.fail("the first version of a share is of the entity that is expected")
		return v
	default:
		at = d.entities[s.last].next
	}
	if s.last >= 0 {
		d.entities[s.last].next = at
	}
	s.last = at
	ent := &d.entities[at]
	v.Entity = ent.id
	s.readNumber(f, flags)
	if flags&itemTogether == 0 {
		s.step += times.int(&s.steps)
		s.arrived += s.step
		ent.delay += times.int(&ent.delays)
		s.time = s.arrived - ent.delay
	} else {
		ent.delay = s.arrived - s.time
	}
	v.Snapshot = d.snapshot(f, s, ent, flags)
	return v
}
