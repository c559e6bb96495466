// Package vector writes rows of numbers and texts in few bytes: what the columns
// of package codec are made of, and the times and numbers of an episode's index.
//
// For each vector several ways to write it race and the shortest is taken. Numbers
// become integers: as they are; the bits of floats in the order of their values;
// multiples of a decimal fraction or of another step that the values turn out to
// be multiples of, as those of encoders and of rounded figures are; or, where a
// bounded error is allowed, multiples of twice the error. Integers are predicted
// from those before, and what is left is range coded, or split into planes of
// bytes for zstd. docs/formats/codecs.md fixes the layout.
//
// Every vector knows its own length in bytes, not its count. What is read is
// bounded by the count that the reader asks for, and damaged input gives an error.
package vector

import (
	"encoding/binary"

	"github.com/seed-301d4374/engram"
)

// MaxCount is the most elements that one vector may have.
const MaxCount = 1 << 20

func corrupt(format string, args ...any) error {
	return engram.Errorf(engram.Corrupt, "vector", format, args...)
}

// reader takes a vector apart. After an error everything it returns is zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = corrupt(format, args...)
	}
	r.b = nil
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail("it is cut")
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("a varint is cut or too long")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// bytes takes as many bytes as the varint before them says.
func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail("%d bytes are announced, %d are there", n, len(r.b))
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) uint64() uint64 {
	if len(r.b) < 8 {
		r.fail("it is cut")
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
