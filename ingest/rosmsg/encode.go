package rosmsg

import (
	"encoding/binary"
	"math"
	"slices"
	"unicode/utf16"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// Form is how a message is serialised.
type Form struct {
	Wire Wire
	Big  bool // of CDR: big-endian
}

// Encoder runs plans backwards: it makes the ROS message of what a [Transcoder] made of one.
// Fields that the plan does not keep are zero. The zero value is ready; it is not safe for
// concurrent use.
type Encoder struct {
	out   []byte
	cdr   bool
	big   bool
	stamp engram.Time // of headers, where the target does not have it
	slots []slot
	fail  string
}

// slot is where the values of a member stand in its message.
type slot struct {
	value []byte // of the last one
	num   uint64 // of the last one, if it is a number
	first int    // where the first begins
	count int
}

// Encode returns the message of which plan p makes the payloads: several if it splits, else
// one. stamp stands in a header whose stamp the payload does not tell. The result is valid
// until the next call. The error is Corrupt for payloads that are no messages of the target.
func (e *Encoder) Encode(p *Plan, f Form, stamp engram.Time, payloads ...[]byte) ([]byte, error) {
	e.out, e.slots, e.fail = e.out[:0], e.slots[:0], ""
	e.cdr, e.big, e.stamp = f.Wire == WireCDR, f.Big && f.Wire == WireCDR, stamp
	if e.cdr {
		e.out = append(e.out, 0, 1, 0, 0)
		if e.big {
			e.out[1] = 0
		}
	}
	if !p.split && len(payloads) != 1 {
		return nil, engram.Errorf(engram.Invalid, p.name, "one message is made of one payload, not of %d", len(payloads))
	}
	for i := range p.body.ops {
		o := &p.body.ops[i]
		if o.code != opSplit {
			continue
		}
		for j := range p.body.ops[:i] {
			e.empty(&p.body.ops[j])
		}
		e.length(o, len(payloads))
		for _, b := range payloads {
			e.block(o.body, b)
		}
		for j := range p.body.ops[i+1:] {
			e.empty(&p.body.ops[i+1+j])
		}
	}
	if !p.split {
		e.block(p.body, payloads[0])
	}
	if e.fail != "" {
		return nil, engram.Errorf(engram.Corrupt, p.name, "the payload cannot be written as this message: %s", e.fail)
	}
	return e.out, nil
}

// block writes the fields of a block, of a message of the target.
func (e *Encoder) block(b *block, msg []byte) {
	base := len(e.slots)
	e.slots = slices.Grow(e.slots, len(b.ops))[:base+len(b.ops)]
	clear(e.slots[base:])
	e.scan(b, msg, base)
	for i := range b.ops {
		e.op(&b.ops[i], msg, e.slots[base+i])
	}
	e.slots = e.slots[:base]
}

// scan finds the members that the block's operations wrote.
func (e *Encoder) scan(b *block, msg []byte, base int) {
	next := 0
	for off := 0; off < len(msg); {
		num, wire, n := protowire.ConsumeTag(msg[off:])
		if n < 0 {
			e.fail = "it is no protobuf message"
			return
		}
		s := slot{first: off, count: 1}
		m := 0
		switch wire {
		case protowire.VarintType:
			s.num, m = protowire.ConsumeVarint(msg[off+n:])
		case protowire.Fixed32Type:
			var v uint32
			v, m = protowire.ConsumeFixed32(msg[off+n:])
			s.num = uint64(v)
		case protowire.Fixed64Type:
			s.num, m = protowire.ConsumeFixed64(msg[off+n:])
		case protowire.BytesType:
			s.value, m = protowire.ConsumeBytes(msg[off+n:])
		default:
			m = protowire.ConsumeFieldValue(num, wire, msg[off+n:])
		}
		if m < 0 {
			e.fail = "it is no protobuf message"
			return
		}
		tag := msg[off : off+n]
		off += n + m
		for range b.ops { // members mostly come in the order of the fields
			i := next
			if next++; next == len(b.ops) {
				next = 0
			}
			if o := &b.ops[i]; o.ntag > 0 && string(o.tag[:o.ntag]) == string(tag) {
				if have := &e.slots[base+i]; have.count > 0 {
					s.first, s.count = have.first, have.count+1
				}
				e.slots[base+i] = s
				break
			}
		}
	}
}

// op writes one field.
func (e *Encoder) op(o *op, msg []byte, s slot) {
	switch o.code {
	case opNumber:
		e.number(o.size, unnumber(o, s.num))
	case opNumbers:
		e.numbers(o, s.value)
	case opString:
		e.text(o, s.value)
	case opTime:
		e.time(o, s.value, s.count > 0)
	case opStruct:
		e.block(o.body, s.value)
	case opInline:
		e.block(o.body, msg)
	case opPad:
		e.out = append(e.out, 0)
	default:
		e.repeated(o, msg, s)
	}
}

// empty writes a field of which nothing is known.
func (e *Encoder) empty(o *op) { e.op(o, nil, slot{}) }

// length writes the number of elements of an array that has not a fixed one.
func (e *Encoder) length(o *op, n int) {
	if o.array != Fixed {
		e.number(4, uint64(n))
	}
}

// repeated writes an array of anything but numbers.
func (e *Encoder) repeated(o *op, msg []byte, s slot) {
	n := s.count
	if o.array == Fixed {
		n = o.n
	}
	e.length(o, n)
	rest := msg[s.first:]
	for range n {
		var value []byte
		for len(rest) > 0 && value == nil {
			num, wire, k := protowire.ConsumeTag(rest)
			m := protowire.ConsumeFieldValue(num, wire, rest[max(k, 0):])
			if k < 0 || m < 0 {
				break // scan has told
			}
			if string(rest[:k]) == string(o.tag[:o.ntag]) {
				value, _ = protowire.ConsumeBytes(rest[k:])
				if value == nil {
					value = []byte{}
				}
			}
			rest = rest[k+m:]
		}
		switch o.code {
		case opStrings:
			e.text(o, value)
		case opTimes:
			e.time(o, value, value != nil)
		case opStructs:
			e.block(o.body, value)
		}
	}
}

// number writes a number of that many bytes.
func (e *Encoder) number(size uint8, bits uint64) {
	if e.cdr {
		for (len(e.out)-cdrHeader)%int(size) != 0 {
			e.out = append(e.out, 0)
		}
	}
	switch {
	case size == 1:
		e.out = append(e.out, byte(bits))
	case size == 2 && e.big:
		e.out = binary.BigEndian.AppendUint16(e.out, uint16(bits))
	case size == 2:
		e.out = binary.LittleEndian.AppendUint16(e.out, uint16(bits))
	case size == 4 && e.big:
		e.out = binary.BigEndian.AppendUint32(e.out, uint32(bits))
	case size == 4:
		e.out = binary.LittleEndian.AppendUint32(e.out, uint32(bits))
	case e.big:
		e.out = binary.BigEndian.AppendUint64(e.out, bits)
	default:
		e.out = binary.LittleEndian.AppendUint64(e.out, bits)
	}
}

// unnumber is the reverse of appendNumber: the bits of a field, of those of a member.
func unnumber(o *op, v uint64) uint64 {
	bits := v
	switch o.conv {
	case toZigzag:
		bits = uint64(protowire.DecodeZigZag(v))
	case toFloat:
		bits = bitsOf(o.kind, float64(math.Float32frombits(uint32(v))))
	case toDouble:
		bits = bitsOf(o.kind, math.Float64frombits(v))
	}
	if o.values != nil {
		return uint64(max(slices.Index(o.values, uint32(bits)), 0))
	}
	return bits
}

// bitsOf returns a number as one of that kind.
func bitsOf(k Kind, f float64) uint64 {
	switch k {
	case Float32:
		return uint64(math.Float32bits(float32(f)))
	case Float64:
		return math.Float64bits(f)
	}
	if f < 0 {
		return uint64(int64(f))
	}
	return uint64(f)
}

// numbers writes an array of numbers, of a packed member or of bytes.
func (e *Encoder) numbers(o *op, packed []byte) {
	size := int(o.size)
	one := o.oneSize
	n := 0
	if one > 0 {
		n = len(packed) / one
	} else {
		for _, c := range packed {
			if c < 0x80 {
				n++
			}
		}
	}
	want := n
	if o.array == Fixed {
		want = o.n
	}
	e.length(o, want)
	if want == 0 {
		return
	}
	n = min(n, want)
	if e.cdr {
		for (len(e.out)-cdrHeader)%size != 0 {
			e.out = append(e.out, 0)
		}
	}
	if o.values == nil && one == size && (o.conv == toBytes || !e.big && (o.conv == to32 || o.conv == to64)) {
		e.out = append(e.out, packed[:n*size]...)
	} else {
		for range n {
			var v uint64
			switch one {
			case 0:
				var m int
				if v, m = protowire.ConsumeVarint(packed); m < 0 {
					e.fail = "a list of numbers is damaged"
					return
				}
				packed = packed[m:]
			case 1:
				v, packed = uint64(packed[0]), packed[1:]
			case 4:
				v, packed = uint64(binary.LittleEndian.Uint32(packed)), packed[4:]
			default:
				v, packed = binary.LittleEndian.Uint64(packed), packed[8:]
			}
			e.number(o.size, unnumber(o, v))
		}
	}
	for range want - n {
		e.number(o.size, 0)
	}
}

// text writes a string.
func (e *Encoder) text(o *op, s []byte) {
	switch {
	case o.kind == WString:
		units := utf16.Encode([]rune(string(s)))
		e.number(4, uint64(len(units)))
		for _, u := range units {
			e.number(4, uint64(u))
		}
	case e.cdr:
		e.number(4, uint64(len(s)+1))
		e.out = append(append(e.out, s...), 0)
	default:
		e.number(4, uint64(len(s)))
		e.out = append(e.out, s...)
	}
}

// time writes a time or duration, of a Timestamp or Duration.
func (e *Encoder) time(o *op, b []byte, there bool) {
	var sec, nsec int64
	if !there && o.stamp {
		sec, nsec = int64(e.stamp)/1e9, int64(e.stamp)%1e9
	}
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 || wire != protowire.VarintType {
			e.fail = "a time is damaged"
			return
		}
		v, m := protowire.ConsumeVarint(b[n:])
		if m < 0 {
			e.fail = "a time is damaged"
			return
		}
		if num == 1 {
			sec = int64(v)
		} else if num == 2 {
			nsec = int64(v)
		}
		b = b[n+m:]
	}
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	e.number(4, uint64(sec))
	e.number(4, uint64(nsec))
}
