package object

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// each calls f with every record of a message that is nested depth deep.
func each(b []byte, depth int, f func(*Record) *failure) *failure {
	if depth > maxDepth {
		return corrupt(fmt.Errorf("messages are nested over %d deep", maxDepth))
	}
	for len(b) > 0 {
		n, wire, k := protowire.ConsumeTag(b)
		if k < 0 {
			return corrupt(protowire.ParseError(k))
		}
		b = b[k:]
		r := Record{Number: n, wire: wire, depth: depth}
		switch wire {
		case protowire.VarintType:
			r.num, k = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			r.bytes, k = protowire.ConsumeBytes(b)
		default:
			if k = protowire.ConsumeFieldValue(n, wire, b); k >= 0 {
				r.fixed(b)
			}
		}
		if k < 0 {
			return corrupt(protowire.ParseError(k))
		}
		b = b[k:]
		if err := f(&r); err != nil {
			return err
		}
	}
	return nil
}

func (r *Record) fixed(b []byte) {
	switch r.wire {
	case protowire.Fixed32Type:
		r.num = uint64(binary.LittleEndian.Uint32(b))
	case protowire.Fixed64Type:
		r.num = binary.LittleEndian.Uint64(b)
	}
}

func corrupt(err error) *failure { return &failure{code: engram.Corrupt, err: err} }
func invalid(err error) *failure { return &failure{code: engram.Invalid, err: err} }

var errWire = errors.New("has the wire type of another kind; was it written as another type?")

// Writer takes the members of an object.
type Writer struct {
	buf   []byte
	depth int
	err   *failure
}

// open begins a delimited record; the function that it returns ends it.
func (w *Writer) open(n protowire.Number) (end func()) {
	w.buf = protowire.AppendTag(w.buf, n, protowire.BytesType)
	w.buf = append(w.buf, 0)
	start := len(w.buf)
	w.depth++
	return func() {
		w.depth--
		size := len(w.buf) - start
		if extra := protowire.SizeVarint(uint64(size)) - 1; extra > 0 {
			w.buf = append(w.buf, make([]byte, extra)...)
			copy(w.buf[start+extra:], w.buf[start:start+size])
		}
		protowire.AppendVarint(w.buf[:start-1], uint64(size))
	}
}
