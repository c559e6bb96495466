package codec

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// envelope is a payload without its pixels: all that a codec of images keeps as it
// is, whatever members the provider's type has. The time is held apart, because it
// is what differs from one image to the next.
type envelope struct {
	typ  string
	rest []byte // the payload without the fields of its time and its pixels
	// stampAt and dataAt are where these two stood in rest, -1 if they were not set.
	// Of the same place, the time came first unless dataFirst.
	stampAt, dataAt int
	dataFirst       bool
	stamp           []byte // the encoded google.protobuf.Timestamp
	dataNumber      protowire.Number
}

// openEnvelope takes a payload apart; data are the payload's own bytes. It returns
// false if the parts could not be put together to the same bytes again: for a
// damaged payload, or fields that are repeated or not encoded as usual.
func openEnvelope(p engram.Payload, dataNumber protowire.Number) (e envelope, data []byte, ok bool) {
	e = envelope{typ: p.Type, stampAt: -1, dataAt: -1, dataNumber: dataNumber}
	for b := p.Bytes; len(b) > 0; {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return e, nil, false
		}
		m := protowire.ConsumeFieldValue(number, typ, b[n:])
		if m < 0 {
			return e, nil, false
		}
		field := b[:n+m]
		b = b[n+m:]
		if typ != protowire.BytesType || number != stampNumber && number != dataNumber {
			e.rest = append(e.rest, field...)
			continue
		}
		value, _ := protowire.ConsumeBytes(field[n:])
		header := appendBytesHeader(nil, number, len(value))
		if !bytes.Equal(header, field[:len(field)-len(value)]) {
			return e, nil, false
		}
		if number == stampNumber {
			if e.stampAt >= 0 {
				return e, nil, false
			}
			e.stampAt, e.stamp = len(e.rest), value
			e.dataFirst = e.dataAt >= 0
		} else {
			if e.dataAt >= 0 {
				return e, nil, false
			}
			e.dataAt, data = len(e.rest), value
		}
	}
	return e, data, e.dataAt >= 0
}

func appendBytesHeader(b []byte, number protowire.Number, n int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uint64(n))
}

// open returns a payload with room for n bytes of pixels, and that room.
func (e *envelope) open(n int) (payload, data []byte) {
	b := make([]byte, 0, len(e.rest)+len(e.stamp)+n+24)
	from, dataFrom := 0, 0
	stamp := func() {
		if e.stampAt >= 0 {
			b = append(b, e.rest[from:e.stampAt]...)
			from = e.stampAt
			b = append(appendBytesHeader(b, stampNumber, len(e.stamp)), e.stamp...)
		}
	}
	pixels := func() {
		b = append(b, e.rest[from:e.dataAt]...)
		from = e.dataAt
		b = appendBytesHeader(b, e.dataNumber, n)
		dataFrom = len(b)
		b = b[:dataFrom+n]
	}
	if e.dataFirst {
		pixels()
		stamp()
	} else {
		stamp()
		pixels()
	}
	b = append(b, e.rest[from:]...)
	return b, b[dataFrom : dataFrom+n : dataFrom+n]
}

// payload returns the payload with these pixels.
func (e *envelope) payload(pixels []byte) engram.Payload {
	b, data := e.open(len(pixels))
	copy(data, pixels)
	return engram.Payload{Type: e.typ, Bytes: b}
}

// stringField returns the value of a member of the payload that is text or bytes.
func (e *envelope) stringField(number protowire.Number) (v []byte) {
	eachField(e.rest, func(n protowire.Number, typ protowire.Type, value []byte) {
		if n == number && typ == protowire.BytesType {
			v = value
		}
	})
	return v
}

// same reports whether two envelopes differ in nothing but the time.
func (e *envelope) same(o *envelope) bool {
	return e.typ == o.typ && e.stampAt == o.stampAt && e.dataAt == o.dataAt &&
		e.dataFirst == o.dataFirst && e.dataNumber == o.dataNumber && bytes.Equal(e.rest, o.rest)
}

// The members of an envelope in a coded message.
const (
	envType       = 1
	envRest       = 2
	envStampAt    = 3 // plus 1; 0 is none
	envDataAt     = 4
	envDataFirst  = 5
	envDataNumber = 6
)

func (e *envelope) append(b []byte) []byte {
	b = protowire.AppendString(protowire.AppendTag(b, envType, protowire.BytesType), e.typ)
	b = protowire.AppendBytes(protowire.AppendTag(b, envRest, protowire.BytesType), e.rest)
	number := func(n protowire.Number, v int) {
		if v != 0 {
			b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(v))
		}
	}
	number(envStampAt, e.stampAt+1)
	number(envDataAt, e.dataAt)
	if e.dataFirst {
		number(envDataFirst, 1)
	}
	number(envDataNumber, int(e.dataNumber))
	return b
}

// parseEnvelope is the inverse of append; the time is left out. It returns false if
// b is damaged.
func parseEnvelope(b []byte) (e envelope, ok bool) {
	stampAt := 0
	ok = eachField(b, func(number protowire.Number, typ protowire.Type, value []byte) {
		if typ == protowire.BytesType {
			switch number {
			case envType:
				e.typ = string(value)
			case envRest:
				e.rest = value
			}
		}
		if typ != protowire.VarintType {
			return
		}
		v, _ := protowire.ConsumeVarint(value)
		v = min(v, 1<<30)
		switch number {
		case envStampAt:
			stampAt = int(v)
		case envDataAt:
			e.dataAt = int(v)
		case envDataFirst:
			e.dataFirst = v != 0
		case envDataNumber:
			e.dataNumber = protowire.Number(v)
		}
	})
	e.stampAt = stampAt - 1
	ok = ok && e.stampAt <= len(e.rest) && e.dataAt <= len(e.rest) && e.dataNumber.IsValid()
	if e.stampAt >= 0 && e.stampAt != e.dataAt && e.dataFirst != (e.dataAt < e.stampAt) {
		ok = false
	}
	return e, ok
}
