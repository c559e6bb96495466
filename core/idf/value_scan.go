package idf

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// occurrence is one record of a known member on the wire.
type occurrence struct {
	m    *member
	wire protowire.Type
	num  uint64 // of a varint or fixed record
	b    []byte // of a delimited record or a group: its content
}

// records reads messages record by record. Its stack holds the occurrences of the
// message being read and of those around it, so that a whole payload needs one
// growing slice.
type records struct {
	stack []occurrence
}

// open pushes the occurrences of the message's members, those of one member next
// to each other, members as declared, and returns where they stand; close pops
// them. What a later record overrides is gone. Unknown fields are skipped.
func (s *records) open(l *layout, b []byte) (from, to int, err error) {
	from = len(s.stack)
	sorted, last := true, 0
	for len(b) > 0 {
		var o occurrence
		var n int
		if o, n, err = l.next(b); err != nil {
			s.stack = s.stack[:from]
			return 0, 0, err
		}
		b = b[n:]
		if o.m == nil {
			continue
		}
		sorted = sorted && o.m.index >= last
		last = o.m.index
		s.stack = append(s.stack, o)
	}
	if l.oneofs {
		s.dropOverridden(from)
	}
	if !sorted {
		slices.SortStableFunc(s.stack[from:], func(a, b occurrence) int { return cmp.Compare(a.m.index, b.m.index) })
	}
	return from, len(s.stack), nil
}

func (s *records) close(from int) { s.stack = s.stack[:from] }

// group returns the end of the occurrences of the member that stands at from.
func (s *records) group(from, to int) int {
	end := from + 1
	for end < to && s.stack[end].m == s.stack[from].m {
		end++
	}
	return end
}

// dropOverridden removes occurrences of oneof members that were followed by one of
// another member of the same oneof.
func (s *records) dropOverridden(from int) {
	occ := s.stack[from:]
	var latest map[int]*member // by oneof
	kept := len(occ)
	for i := len(occ) - 1; i >= 0; i-- {
		m := occ[i].m
		if m.oneof > 0 {
			switch winner := latest[m.oneof]; {
			case winner == nil:
				if latest == nil {
					latest = map[int]*member{}
				}
				latest[m.oneof] = m
			case winner != m:
				// Whatever stands before is cleared too, even of the winner.
				latest[m.oneof] = overridden
				continue
			}
		}
		kept--
		occ[kept] = occ[i]
	}
	n := copy(occ, occ[kept:])
	s.stack = s.stack[:from+n]
}

// overridden stands for no member at all.
var overridden = new(member)

// next reads the record at the begin of b and returns its length. The member is
// nil if the field is unknown.
func (l *layout) next(b []byte) (o occurrence, n int, err error) {
	num, wire, n := consumeTag(b)
	if n < 0 {
		return o, 0, errWire(n)
	}
	m := l.find(num)
	if m == nil {
		v := protowire.ConsumeFieldValue(num, wire, b[n:])
		if v < 0 {
			return o, 0, errWire(v)
		}
		return o, n + v, nil
	}
	o.m, o.wire = m, wire
	v := 0
	switch {
	case wire == m.wire:
		switch wire {
		case protowire.VarintType:
			o.num, v = consumeVarint(b[n:])
		case protowire.Fixed32Type:
			var x uint32
			x, v = protowire.ConsumeFixed32(b[n:])
			o.num = uint64(x)
		case protowire.Fixed64Type:
			o.num, v = protowire.ConsumeFixed64(b[n:])
		case protowire.BytesType:
			o.b, v = protowire.ConsumeBytes(b[n:])
		case protowire.StartGroupType:
			o.b, v = protowire.ConsumeGroup(num, b[n:])
		}
	case wire == protowire.BytesType && m.list && m.wire != protowire.StartGroupType:
		o.b, v = protowire.ConsumeBytes(b[n:])
	default:
		return o, 0, under(m.name, memberErrorf(engram.Corrupt, "has wire type %d, not %d", wire, m.wire))
	}
	if v < 0 {
		return o, 0, under(m.name, errWire(v))
	}
	return o, n + v, nil
}

// field is one record of a message that is read without its layout.
type field struct {
	num   protowire.Number
	wire  protowire.Type
	value uint64 // of a varint or fixed record
	b     []byte // of a delimited record: its content
}

// nextField reads the record at the begin of b and returns what follows it.
func nextField(b []byte) (f field, rest []byte, err error) {
	var n int
	if f.num, f.wire, n = consumeTag(b); n < 0 {
		return f, nil, errWire(n)
	}
	b = b[n:]
	switch f.wire {
	case protowire.VarintType:
		f.value, n = consumeVarint(b)
	case protowire.Fixed32Type:
		var x uint32
		x, n = protowire.ConsumeFixed32(b)
		f.value = uint64(x)
	case protowire.Fixed64Type:
		f.value, n = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		f.b, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(f.num, f.wire, b)
	}
	if n < 0 {
		return f, nil, errWire(n)
	}
	return f, b[n:], nil
}

// consumeTag and consumeVarint are protowire's with a short way for one byte.
func consumeTag(b []byte) (protowire.Number, protowire.Type, int) {
	if len(b) > 0 && b[0] < 0x80 && b[0] >= 8 {
		return protowire.Number(b[0] >> 3), protowire.Type(b[0] & 7), 1
	}
	return protowire.ConsumeTag(b)
}

func consumeVarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
}

func errWire(n int) error {
	return memberErrorf(engram.Corrupt, "not the wire form: %v", protowire.ParseError(n))
}

// consumeScalar reads one element of a packed list.
func (m *member) consumeScalar(b []byte) (num uint64, rest []byte, err error) {
	var n int
	switch m.wire {
	case protowire.Fixed32Type:
		var x uint32
		x, n = protowire.ConsumeFixed32(b)
		num = uint64(x)
	case protowire.Fixed64Type:
		num, n = protowire.ConsumeFixed64(b)
	default:
		num, n = consumeVarint(b)
	}
	if n < 0 {
		return 0, nil, errWire(n)
	}
	return num, b[n:], nil
}

// packedLen returns how many elements a packed record holds.
func (m *member) packedLen(b []byte) int {
	switch m.wire {
	case protowire.Fixed32Type:
		return len(b) / 4
	case protowire.Fixed64Type:
		return len(b) / 8
	}
	n := 0
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}

// isPacked reports whether the record holds several elements of a list of scalars.
func (o *occurrence) isPacked() bool { return o.wire == protowire.BytesType && o.wire != o.m.wire }

// merged returns the content of a message from all its records.
func merged(occ []occurrence) []byte {
	var p parts
	for i := range occ {
		p.add(occ[i].b)
	}
	return p.b
}

// parts gathers the content of a message that stands in several records: written one
// after the other they are one message. That of a single record is not copied.
type parts struct {
	b   []byte
	own bool
}

func (p *parts) add(b []byte) {
	switch {
	case len(p.b) == 0:
		p.b = b
	case p.own:
		p.b = append(p.b, b...)
	default:
		p.b, p.own = slices.Concat(p.b, b), true
	}
}

// text returns the record as a string, which must be UTF-8.
func text(b []byte) (string, error) {
	if err := validText(b); err != nil {
		return "", err
	}
	return string(b), nil
}

func validText(b []byte) error {
	if !utf8.Valid(b) {
		return memberErrorf(engram.Corrupt, "the string is not UTF-8")
	}
	return nil
}

// integer interprets a scalar of any integer kind but the unsigned 64-bit ones.
func integer(k protoreflect.Kind, num uint64) int64 {
	switch k {
	case protoreflect.Int32Kind, protoreflect.Sfixed32Kind, protoreflect.EnumKind:
		return int64(int32(num))
	case protoreflect.Sint32Kind:
		return int64(int32(protowire.DecodeZigZag(num & math.MaxUint32)))
	case protoreflect.Sint64Kind:
		return protowire.DecodeZigZag(num)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return int64(uint32(num))
	}
	return int64(num)
}

// isUnsigned64 reports whether the kind's values may exceed an int64.
func isUnsigned64(k protoreflect.Kind) bool {
	return k == protoreflect.Uint64Kind || k == protoreflect.Fixed64Kind
}
