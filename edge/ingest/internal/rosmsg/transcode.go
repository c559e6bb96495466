package rosmsg

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// Wire is a serialisation of messages.
type Wire uint8

// The serialisations.
const (
	WireROS1 Wire = iota // ROS 1: packed, little-endian
	WireCDR              // ROS 2: XCDR version 1 with an encapsulation header, either endianness
)

// Tap is the value of a field that a plan reports.
type Tap struct {
	Text []byte // of a string; shares the source's memory
	Kind Kind   // of a number; 0 for a string, and where the message has no such field
	Num  uint64 // of a number: its bits
}

// Append appends the value as text.
func (t Tap) Append(b []byte) []byte {
	switch {
	case t.Kind == 0:
		return append(b, t.Text...)
	case t.Kind == Float32:
		return strconv.AppendFloat(b, float(t.Kind, t.Num), 'g', -1, 32)
	case t.Kind == Float64:
		return strconv.AppendFloat(b, float(t.Kind, t.Num), 'g', -1, 64)
	case t.Kind == Int8 || t.Kind == Int16 || t.Kind == Int32 || t.Kind == Int64:
		return strconv.AppendInt(b, signed(t.Kind, t.Num), 10)
	}
	return strconv.AppendUint(b, t.Num, 10)
}

// Output is one protobuf message that came out of a transcoder.
type Output struct {
	Bytes []byte
	// Stamp is the header's stamp; HasStamp is false without a header or where the
	// stamp is zero, ROS's way to say there is none.
	Stamp    engram.Time
	HasStamp bool
	Taps     []Tap // in the order of [Options].Taps

	start, end int
	tap        int
}

// Transcoder runs plans. The zero value is ready; it is not safe for concurrent
// use.
type Transcoder struct {
	src  []byte
	off  int
	cdr  bool
	big  bool
	wide wideForm
	fail string

	out      []byte
	stamp    engram.Time
	hasStamp bool
	base     int // index of the current output's first tap
	taps     []Tap
	ntaps    int
	outputs  []Output
	suffix   []byte
}

// Transcode rewrites the message src by plan p. The outputs are valid until the
// next call; there is one, or one per element if the plan splits. The error is
// Corrupt where the bytes do not fit the definition, Unsupported for encodings of
// CDR other than XCDR version 1.
func (t *Transcoder) Transcode(p *Plan, w Wire, src []byte) ([]Output, error) {
	t.cdr, t.big = w == WireCDR, false
	start := 0
	if t.cdr {
		if err := t.encapsulation(p, src); err != nil {
			return nil, err
		}
		start = cdrHeader
	}
	t.wide = wideCount
	ok := t.message(p, src, start)
	if !ok && p.wide {
		t.wide = wideBytes
		ok = t.message(p, src, start)
	}
	if !ok {
		return nil, engram.Errorf(engram.Corrupt, p.name, "message of %d bytes: %s at byte %d", len(src), t.fail, t.off)
	}
	for i := range t.outputs {
		o := &t.outputs[i]
		o.Bytes = t.out[o.start:o.end:o.end]
		o.Taps = t.taps[o.tap : o.tap+p.taps]
	}
	return t.outputs, nil
}

const cdrHeader = 4

// encapsulation reads the four bytes that stand before a CDR message.
func (t *Transcoder) encapsulation(p *Plan, src []byte) error {
	if len(src) < cdrHeader {
		return engram.Errorf(engram.Corrupt, p.name, "message of %d bytes is too short for a CDR header", len(src))
	}
	switch id := binary.BigEndian.Uint16(src); id {
	case 0:
		t.big = true
	case 1:
	case 2, 3:
		return engram.Errorf(engram.Unsupported, p.name, "the message is encoded as PL_CDR, a parameter list; only plain CDR is read")
	case 6, 7, 8, 9, 10, 11:
		return engram.Errorf(engram.Unsupported, p.name, "the message is encoded as XCDR version 2 (representation %d); only version 1 is read", id)
	default:
		return engram.Errorf(engram.Corrupt, p.name, "unknown CDR representation 0x%04x", id)
	}
	return nil
}

// message runs the plan once over the whole of src.
func (t *Transcoder) message(p *Plan, src []byte, start int) bool {
	t.src, t.off, t.fail = src, start, ""
	t.out, t.outputs, t.taps = t.out[:0], t.outputs[:0], t.taps[:0]
	t.ntaps, t.suffix = p.taps, p.append
	if p.body.min > len(src)-start && !(t.cdr && p.body.min == 1) {
		t.off = len(src)
		return t.failed("it is cut short")
	}
	if p.split {
		if !t.run(p.body.ops) {
			return false
		}
	} else {
		t.begin()
		if !t.run(p.body.ops) {
			return false
		}
		t.finish(0)
	}
	// CDR writers may pad a message's end to a multiple of 4 or 8.
	if rest := len(src) - t.off; rest > 0 && !(t.cdr && rest < 8) {
		return t.failed("it goes on after the last field of its definition")
	}
	return true
}

func (t *Transcoder) failed(why string) bool {
	if t.fail == "" {
		t.fail = why
	}
	return false
}

// begin starts an output.
func (t *Transcoder) begin() {
	t.stamp, t.hasStamp = 0, false
	t.base = len(t.taps)
	for range t.ntaps {
		t.taps = append(t.taps, Tap{})
	}
}

// finish ends the output that started at that place in out.
func (t *Transcoder) finish(start int) {
	t.out = append(t.out, t.suffix...)
	t.outputs = append(t.outputs, Output{Stamp: t.stamp, HasStamp: t.hasStamp, start: start, end: len(t.out), tap: t.base})
}

func (t *Transcoder) run(ops []op) bool {
	for i := range ops {
		o := &ops[i]
		ok := true
		switch o.code {
		case opNumber:
			ok = t.number(o)
		case opNumbers:
			ok = t.numbers(o)
		case opString:
			ok = t.text(o)
		case opTime:
			ok = t.time(o)
		case opInline:
			ok = t.run(o.body.ops)
		case opStruct:
			ok = t.nested(o)
		case opPad:
			t.off = min(t.off+1, len(t.src))
		default:
			ok = t.repeat(o)
		}
		if !ok {
			return false
		}
	}
	return true
}

// nested runs a message's operations and writes what they wrote as a submessage.
func (t *Transcoder) nested(o *op) bool {
	if o.ntag == 0 {
		return t.run(o.body.ops)
	}
	t.out = append(t.out, o.tag[:o.ntag]...)
	at := len(t.out)
	t.out = append(t.out, 0)
	if !t.run(o.body.ops) {
		return false
	}
	t.closeLength(at)
	return true
}

// closeLength writes the length of what follows the one byte kept free at that
// place, making room for a longer length.
func (t *Transcoder) closeLength(at int) {
	n := len(t.out) - at - 1
	if n < 0x80 {
		t.out[at] = byte(n)
		return
	}
	k := protowire.SizeVarint(uint64(n))
	t.out = slices.Grow(t.out, k-1)[:len(t.out)+k-1]
	copy(t.out[at+k:], t.out[at+1:at+1+n])
	binary.PutUvarint(t.out[at:at+k], uint64(n))
}

// repeat handles arrays of anything but numbers.
func (t *Transcoder) repeat(o *op) bool {
	n, ok := t.count(o)
	if !ok {
		return false
	}
	least := 4
	switch o.code {
	case opTimes:
		least = 8
	case opStructs, opSplit:
		least = o.body.min
	}
	if n > 0 && n > (len(t.src)-t.off)/max(least, 1) {
		return t.failed("an array is longer than the rest of the message")
	}
	for range n {
		switch o.code {
		case opStrings:
			ok = t.text(o)
		case opTimes:
			ok = t.time(o)
		case opStructs:
			ok = t.nested(o)
		default:
			start := len(t.out)
			t.begin()
			if ok = t.run(o.body.ops); ok {
				t.finish(start)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// count reads the number of elements of an array.
func (t *Transcoder) count(o *op) (int, bool) {
	if o.array == Fixed {
		return o.n, true
	}
	n, ok := t.uint32()
	return int(n), ok
}

// place returns where a value of that size lies and moves past it, or -1.
func (t *Transcoder) place(size int) int {
	off := t.off
	if t.cdr {
		// Alignment counts from the end of the encapsulation header, four bytes in.
		off = (off-cdrHeader+size-1)&^(size-1) + cdrHeader
	}
	if len(t.src)-off < size {
		t.failed("it is cut short")
		return -1
	}
	t.off = off + size
	return off
}

func (t *Transcoder) uint32() (uint32, bool) {
	i := t.place(4)
	if i < 0 {
		return 0, false
	}
	if t.big {
		return binary.BigEndian.Uint32(t.src[i:]), true
	}
	return binary.LittleEndian.Uint32(t.src[i:]), true
}

// time reads a time or duration and writes it as a Timestamp or Duration.
func (t *Transcoder) time(o *op) bool {
	rawSec, ok := t.uint32()
	if !ok {
		return false
	}
	rawNsec, ok := t.uint32()
	if !ok {
		return false
	}
	sec, nsec := int64(int32(rawSec)), int64(rawNsec)
	switch {
	case !t.cdr && o.kind == Time:
		sec = int64(rawSec)
	case !t.cdr:
		nsec = int64(int32(rawNsec))
	}
	total := sec*1e9 + nsec
	if o.stamp && total != 0 {
		t.stamp, t.hasStamp = engram.Time(total), true
	}
	if o.ntag == 0 {
		return true
	}
	sec, nsec = total/1e9, total%1e9
	if o.kind == Time && nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	t.out = append(t.out, o.tag[:o.ntag]...)
	at := len(t.out)
	t.out = append(t.out, 0)
	if sec != 0 {
		t.out = protowire.AppendVarint(append(t.out, 1<<3), uint64(sec))
	}
	if nsec != 0 {
		t.out = protowire.AppendVarint(append(t.out, 2<<3), uint64(nsec))
	}
	t.out[at] = byte(len(t.out) - at - 1)
	return true
}

// float returns the number of that kind and bits.
func float(k Kind, bits uint64) float64 {
	switch k {
	case Float32:
		return float64(math.Float32frombits(uint32(bits)))
	case Float64:
		return math.Float64frombits(bits)
	case Uint8, Uint16, Uint32, Uint64, Bool:
		return float64(bits)
	}
	return float64(signed(k, bits))
}

// signed returns the integer of that kind and bits.
func signed(k Kind, bits uint64) int64 {
	switch k {
	case Int8:
		return int64(int8(bits))
	case Int16:
		return int64(int16(bits))
	case Int32:
		return int64(int32(bits))
	}
	return int64(bits)
}
