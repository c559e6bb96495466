package idf

import (
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// decodeSpecial decodes the content of a special message into its Go value; ok is false
// if it has none, so that the message must be taken as an object.
func (l *layout) decodeSpecial(b []byte) (v any, ok bool, err error) {
	switch l.special {
	case isTime:
		sec, nanos, err := readSeconds(b)
		t, ok := timeOf(sec, nanos)
		return t, ok && err == nil, err
	case isDuration:
		sec, nanos, err := readSeconds(b)
		d, ok := durationOf(sec, nanos)
		return d, ok && err == nil, err
	case isLink:
		b, err := lastRecord(b, 1, false)
		if err != nil {
			return nil, false, err
		}
		s, err := text(b)
		if err != nil {
			return nil, false, err
		}
		if id, err := engram.Parse(s); err == nil {
			return id, true, nil
		}
		return s, true, nil
	case isArray, isMatrix:
		a, err := readArray(b, l.special == isMatrix)
		if err != nil {
			return nil, false, err
		}
		a.Data = append([]byte{}, a.Data...)
		return &a, true, nil
	}
	return nil, false, nil
}

// readSeconds reads a google.protobuf.Timestamp or Duration.
func readSeconds(b []byte) (sec int64, nanos int32, err error) {
	for len(b) > 0 {
		f, rest, err := nextField(b)
		switch b = rest; {
		case err != nil:
			return 0, 0, err
		case f.num > 2:
		case f.wire != protowire.VarintType:
			return 0, 0, memberErrorf(engram.Corrupt, "field %d has wire type %d, not %d", f.num, f.wire, protowire.VarintType)
		case f.num == 1:
			sec = int64(f.value)
		default:
			nanos = int32(f.value)
		}
	}
	return sec, nanos, nil
}

// timeOf returns a Timestamp's time; false if it is not normal or beyond what a
// Time holds.
func timeOf(sec int64, nanos int32) (engram.Time, bool) {
	if nanos < 0 || nanos >= 1e9 {
		return 0, false
	}
	// The lowest second is whole only in part: -9223372037 s + 145224192 ns.
	if sec < 0 {
		sec, nanos = sec+1, nanos-1e9
	}
	ns, ok := nanoseconds(sec, nanos)
	return engram.Time(ns), ok
}

// durationOf returns a Duration; false if it is not normal or out of range.
func durationOf(sec int64, nanos int32) (time.Duration, bool) {
	if nanos <= -1e9 || nanos >= 1e9 || sec > 0 && nanos < 0 || sec < 0 && nanos > 0 {
		return 0, false
	}
	ns, ok := nanoseconds(sec, nanos)
	return time.Duration(ns), ok
}

// nanoseconds adds up seconds and nanoseconds of like sign.
func nanoseconds(sec int64, nanos int32) (int64, bool) {
	const most = math.MaxInt64 / int64(1e9)
	if sec > most || sec < -most {
		return 0, false
	}
	ns := sec*1e9 + int64(nanos)
	return ns, (ns >= 0) == (sec > 0 || sec == 0 && nanos >= 0)
}

// readArray reads an NDArray or a Matrix. The data is not copied, the array not
// validated.
func readArray(b []byte, matrix bool) (a NDArray, err error) {
	a.Shape = []int64{}
	dtype, data := protowire.Number(2), protowire.Number(3)
	if matrix {
		a.Shape = make([]int64, 2)
		dtype, data = 3, 4
	}
	for len(b) > 0 {
		f, rest, err := nextField(b)
		switch b = rest; {
		case err != nil:
			return a, err
		case f.num > data:
		case f.num == data && f.wire == protowire.BytesType:
			a.Data = f.b
		case f.num == 1 && !matrix && f.wire == protowire.BytesType:
			for packed := f.b; len(packed) > 0; {
				v, k := consumeVarint(packed)
				if k < 0 {
					return a, errWire(k)
				}
				a.Shape, packed = append(a.Shape, int64(v)), packed[k:]
			}
		case f.num == data || f.wire != protowire.VarintType:
			return a, memberErrorf(engram.Corrupt, "field %d of an array has wire type %d", f.num, f.wire)
		case f.num == dtype:
			a.DType = DType(f.value)
		case matrix:
			a.Shape[f.num-1] = int64(f.value)
		default:
			a.Shape = append(a.Shape, int64(f.value))
		}
	}
	return a, nil
}

// special writes the content of a Timestamp, Duration or Link. It is not done if v
// is an object, of the message's own members.
func (e *encoder) special(l *layout, v any) (done bool, err error) {
	if _, ok := asMap(v); ok {
		return false, nil
	}
	switch l.special {
	case isTime:
		t, err := e.time(v)
		if err != nil {
			return false, err
		}
		e.appendTime(t)
	case isDuration:
		d, err := e.duration(v)
		if err != nil {
			return false, err
		}
		e.appendTimeParts(int64(d/time.Second), int64(d%time.Second))
	case isLink:
		text, ok := asString(v)
		if id, isID := v.(engram.ID); isID {
			text, ok = id.String(), true
		}
		if !ok {
			return false, mismatch(v, l.words())
		}
		if err := e.appendLink(text); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (e *encoder) time(v any) (engram.Time, error) {
	switch v := v.(type) {
	case engram.Time:
		return v, nil
	case time.Time:
		return engram.TimeOf(v), nil
	}
	if s, ok := asString(v); ok {
		t, err := engram.ParseTime(s)
		if err != nil {
			return 0, memberErrorf(engram.CodeOf(err), "%v", err)
		}
		return t, nil
	}
	if ns, ok := e.number(v).int64(); ok {
		return engram.Time(ns), nil
	}
	return 0, mismatch(v, "a time")
}

func (e *encoder) duration(v any) (time.Duration, error) {
	if d, ok := v.(time.Duration); ok {
		return d, nil
	}
	if s, ok := asString(v); ok {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, memberErrorf(engram.Invalid, "the string %s is not a duration such as 1.5s", shorten(s))
		}
		return d, nil
	}
	if ns, ok := e.number(v).int64(); ok {
		return time.Duration(ns), nil
	}
	return 0, mismatch(v, "a duration")
}

// appendTime writes the content of a Timestamp.
func (e *encoder) appendTime(t engram.Time) {
	sec, nanos := int64(t)/1e9, int64(t)%1e9
	if nanos < 0 {
		sec, nanos = sec-1, nanos+1e9
	}
	e.appendTimeParts(sec, nanos)
}

func (e *encoder) appendTimeParts(sec, nanos int64) {
	if sec != 0 {
		e.buf = protowire.AppendVarint(append(e.buf, 1<<3), uint64(sec))
	}
	if nanos != 0 {
		e.buf = protowire.AppendVarint(append(e.buf, 2<<3), uint64(nanos))
	}
}

// appendLink writes the content of a Link. Any text may stand in one: whether it is
// an ID shows when it is read.
func (e *encoder) appendLink(text string) error {
	if !utf8.ValidString(text) {
		return memberErrorf(engram.Invalid, "the link %s is not UTF-8", shorten(text))
	}
	if text != "" {
		e.buf = protowire.AppendTag(e.buf, 1, protowire.BytesType)
		e.buf = protowire.AppendString(e.buf, text)
	}
	return nil
}
