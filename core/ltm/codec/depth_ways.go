package codec

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// appendRVL appends values as groups of the number of zeros, the number of values
// that are not, and their differences, folded so that small ones of either sign are
// small; each number in nibbles of three bits, the low ones first.
func appendRVL(b []byte, values []uint16) []byte {
	var word uint64
	nibbles := 0
	put := func(v uint32) {
		for {
			n := uint64(v & 7)
			if v >>= 3; v != 0 {
				n |= 8
			}
			word = word<<4 | n
			if nibbles++; nibbles == 16 {
				b = binary.BigEndian.AppendUint64(b, word)
				nibbles = 0
			}
			if v == 0 {
				return
			}
		}
	}
	previous := int32(0)
	for i := 0; i < len(values); {
		start := i
		for i < len(values) && values[i] == 0 {
			i++
		}
		put(uint32(i - start))
		start = i
		for i < len(values) && values[i] != 0 {
			i++
		}
		put(uint32(i - start))
		for _, v := range values[start:i] {
			delta := int32(v) - previous
			put(uint32(delta<<1 ^ delta>>31))
			previous = int32(v)
		}
	}
	if nibbles > 0 {
		b = binary.BigEndian.AppendUint64(b, word<<(4*(16-nibbles)))
	}
	return b
}

// readRVL is the inverse of appendRVL. It returns false if b is damaged.
func readRVL(values []uint16, b []byte) bool {
	at, end := 0, 2*len(b) // in nibbles
	get := func() (uint32, bool) {
		var v uint32
		for shift := 0; shift < 32; shift += 3 {
			if at == end {
				return 0, false
			}
			n := b[at/2] >> 4
			if at%2 == 1 {
				n = b[at/2] & 15
			}
			at++
			v |= uint32(n&7) << shift
			if n < 8 {
				return v, true
			}
		}
		return 0, false
	}
	previous := int32(0)
	for i := 0; i < len(values); {
		zeros, ok := get()
		if !ok || int64(zeros) > int64(len(values)-i) {
			return false
		}
		clear(values[i : i+int(zeros)])
		i += int(zeros)
		others, ok := get()
		if !ok || int64(others) > int64(len(values)-i) || zeros == 0 && others == 0 {
			return false
		}
		for range others {
			v, ok := get()
			if !ok {
				return false
			}
			previous += int32(v>>1) ^ -int32(v&1)
			if previous <= 0 || previous > 1<<16-1 {
				return false
			}
			values[i] = uint16(previous)
			i++
		}
	}
	return true
}

// appendPalette appends the values there are and an index for each pixel; nil if
// there are more than 256.
func appendPalette(b []byte, values []uint16) []byte {
	var seen [1 << 16 / 64]uint64
	for _, v := range values {
		seen[v/64] |= 1 << (v % 64)
	}
	var palette []uint16
	for i, w := range seen {
		for ; w != 0; w &= w - 1 {
			if len(palette) == 256 {
				return nil
			}
			palette = append(palette, uint16(64*i+bits.TrailingZeros64(w)))
		}
	}
	b = append(b, byte(len(palette)-1))
	for _, v := range palette {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	b = slices.Grow(b, len(values))
	var index [1 << 16]byte
	for i, v := range palette {
		index[v] = byte(i)
	}
	for _, v := range values {
		b = append(b, index[v])
	}
	return b
}

func readPalette(values []uint16, b []byte) bool {
	if len(b) < 1 {
		return false
	}
	n := int(b[0]) + 1
	if len(b) != 1+2*n+len(values) {
		return false
	}
	table, indices := b[1:1+2*n], b[1+2*n:]
	for i, k := range indices {
		if int(k) >= n {
			return false
		}
		values[i] = binary.LittleEndian.Uint16(table[2*int(k):])
	}
	return true
}

// predict is the median of what lies left, what lies above, and their sum less what
// lies between them: across an edge the one that is on the same side.
func predict[T uint16 | uint32](left, up, between T) T {
	low, high := min(left, up), max(left, up)
	switch {
	case between >= high:
		return low
	case between <= low:
		return high
	}
	return left + up - between
}

// planes writes the folded errors of the prediction of values, all the low bytes
// first.
func planes[T uint16 | uint32](dst []byte, values []T, width int) {
	n := len(values)
	size := len(dst) / n
	for i, v := range values {
		e := v - predictAt(values, i, width)
		top := T(8*size - 1)
		e = e<<1 ^ -(e >> top)
		for k := range size {
			dst[k*n+i] = byte(e >> (8 * k))
		}
	}
}

func predictAt[T uint16 | uint32](values []T, i, width int) T {
	switch {
	case i >= width && i%width > 0:
		return predict(values[i-1], values[i-width], values[i-width-1])
	case i >= width:
		return values[i-width]
	case i > 0:
		return values[i-1]
	}
	return 0
}

// fromPlanes is the inverse of planes.
func fromPlanes[T uint16 | uint32](values []T, src []byte, width int) {
	n := len(values)
	size := len(src) / n
	for i := range values {
		var e T
		for k := range size {
			e |= T(src[k*n+i]) << (8 * k)
		}
		e = e>>1 ^ -(e & 1)
		values[i] = predictAt(values, i, width) + e
	}
}
