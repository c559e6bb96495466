package rosmsg

import (
	"encoding/binary"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// bits loads the number of that size at src[i:].
func (t *Transcoder) bits(size uint8, i int) uint64 {
	if t.big {
		switch size {
		case 2:
			return uint64(binary.BigEndian.Uint16(t.src[i:]))
		case 4:
			return uint64(binary.BigEndian.Uint32(t.src[i:]))
		case 8:
			return binary.BigEndian.Uint64(t.src[i:])
		}
		return uint64(t.src[i])
	}
	switch size {
	case 2:
		return uint64(binary.LittleEndian.Uint16(t.src[i:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(t.src[i:]))
	case 8:
		return binary.LittleEndian.Uint64(t.src[i:])
	}
	return uint64(t.src[i])
}

// number reads a number and writes it unless it is zero, which proto3 leaves out.
func (t *Transcoder) number(o *op) bool {
	i := t.place(int(o.size))
	if i < 0 {
		return false
	}
	bits := t.bits(o.size, i)
	if o.tap > 0 {
		t.taps[t.base+o.tap-1] = Tap{Kind: o.kind, Num: bits}
	}
	if o.values != nil {
		bits = translate(o.values, bits)
	}
	if bits == 0 || o.ntag == 0 {
		return true
	}
	t.out = append(t.out, o.tag[:o.ntag]...)
	t.out = appendNumber(t.out, o, bits)
	return true
}

func translate(values []uint32, bits uint64) uint64 {
	if bits >= uint64(len(values)) {
		return 0
	}
	return uint64(values[bits])
}

// appendNumber writes a number without its tag.
func appendNumber(b []byte, o *op, bits uint64) []byte {
	switch o.conv {
	case toVarint:
		return protowire.AppendVarint(b, bits)
	case toSignedVarint:
		return protowire.AppendVarint(b, uint64(signed(o.kind, bits)))
	case toZigzag:
		return protowire.AppendVarint(b, protowire.EncodeZigZag(signed(o.kind, bits)))
	case toBool:
		return append(b, min(byte(1), byte(bits)))
	case to32:
		return binary.LittleEndian.AppendUint32(b, uint32(bits))
	case to64:
		return binary.LittleEndian.AppendUint64(b, bits)
	case toFloat:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(float(o.kind, bits))))
	}
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(float(o.kind, bits)))
}

// numbers reads an array of numbers and writes it packed, or as bytes.
func (t *Transcoder) numbers(o *op) bool {
	n, ok := t.count(o)
	if !ok || n == 0 {
		return ok
	}
	size := int(o.size)
	if n > (len(t.src)-t.off)/size {
		return t.failed("an array is longer than the rest of the message")
	}
	i := t.place(size)
	if i < 0 {
		return false
	}
	if n*size > len(t.src)-i {
		return t.failed("an array is longer than the rest of the message")
	}
	t.off = i + n*size
	if o.ntag == 0 {
		return true
	}
	src := t.src[i:t.off]
	t.out = append(t.out, o.tag[:o.ntag]...)
	switch {
	case o.conv == toBytes, (o.conv == to32 && size == 4 || o.conv == to64) && !t.big && o.values == nil:
		t.out = protowire.AppendVarint(t.out, uint64(len(src)))
		t.out = append(t.out, src...)
	case o.oneSize > 0:
		t.out = protowire.AppendVarint(t.out, uint64(n*o.oneSize))
		t.out = slices.Grow(t.out, n*o.oneSize)
		t.elements(o, i, n)
	default:
		at := len(t.out)
		t.out = append(slices.Grow(t.out, n+1), 0)
		t.elements(o, i, n)
		t.closeLength(at)
	}
	return true
}

func (t *Transcoder) elements(o *op, i, n int) {
	for range n {
		bits := t.bits(o.size, i)
		if o.values != nil {
			bits = translate(o.values, bits)
		}
		t.out = appendNumber(t.out, o, bits)
		i += int(o.size)
	}
}
