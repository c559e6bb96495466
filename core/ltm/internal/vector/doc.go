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
// Vectors are written one after the other into two streams: heads, which are alike
// and are worth compressing together, and data, which cannot be compressed any more.
// A vector does not know its count. What is read is bounded by the count that the
// reader asks for, and damaged input gives an error.
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

// Writer writes vectors. Its zero value is ready for use.
type Writer struct {
	Head []byte // how each vector is written, and all of short ones
	Data []byte
}

// Len returns the bytes written so far.
func (w *Writer) Len() int { return len(w.Head) + len(w.Data) }

func (w *Writer) byte(b ...byte)   { w.Head = append(w.Head, b...) }
func (w *Writer) uvarint(v uint64) { w.Head = binary.AppendUvarint(w.Head, v) }
func (w *Writer) varint(v int64)   { w.Head = binary.AppendVarint(w.Head, v) }

// data writes bytes whose number the reader does not know.
func (w *Writer) data(b []byte) {
	w.uvarint(uint64(len(b)))
	w.Data = append(w.Data, b...)
}

func (w *Writer) append(o Writer) {
	w.Head = append(w.Head, o.Head...)
	w.Data = append(w.Data, o.Data...)
}

// Reader reads vectors in the order in which they were written. After an error
// everything it reads is zero, and Err tells the first one, which is Corrupt.
type Reader struct {
	Head []byte
	Data []byte
	Err  error
}

func (r *Reader) fail(format string, args ...any) {
	if r.Err == nil {
		r.Err = corrupt(format, args...)
	}
	r.Head, r.Data = nil, nil
}

func (r *Reader) byte() byte {
	if len(r.Head) == 0 {
		r.fail("it is cut")
		return 0
	}
	c := r.Head[0]
	r.Head = r.Head[1:]
	return c
}

func (r *Reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.Head)
	if n <= 0 {
		r.fail("a varint is cut or too long")
		return 0
	}
	r.Head = r.Head[n:]
	return v
}

func (r *Reader) uint64() uint64 {
	if len(r.Head) < 8 {
		r.fail("it is cut")
		return 0
	}
	v := binary.LittleEndian.Uint64(r.Head)
	r.Head = r.Head[8:]
	return v
}

func (r *Reader) data() []byte {
	n := r.uvarint()
	if n > uint64(len(r.Data)) {
		r.fail("%d bytes are announced, %d are there", n, len(r.Data))
		return nil
	}
	b := r.Data[:n]
	r.Data = r.Data[n:]
	return b
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
