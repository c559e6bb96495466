package idf

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// The variant engram.idf.v1.Value is read and written by hand: it is on the path
// of every segment without a type.

// The fields of engram.idf.v1.Value. A null has none.
const (
	variantNull protowire.Number = iota
	variantBool
	variantInt32
	variantInt64
	variantFloat
	variantDouble
	variantString
	variantTime
	variantDuration
	variantArray
	variantList
	variantDict
	variantLink
	variantUint64
)

var variantWire = [...]protowire.Type{
	variantBool:     protowire.VarintType,
	variantInt32:    protowire.VarintType,
	variantInt64:    protowire.VarintType,
	variantFloat:    protowire.Fixed32Type,
	variantDouble:   protowire.Fixed64Type,
	variantString:   protowire.BytesType,
	variantTime:     protowire.BytesType,
	variantDuration: protowire.BytesType,
	variantArray:    protowire.BytesType,
	variantList:     protowire.BytesType,
	variantDict:     protowire.BytesType,
	variantLink:     protowire.BytesType,
	variantUint64:   protowire.VarintType,
}

// variant is a Value that was opened: which kind it is, and the encoded content.
type variant struct {
	kind protowire.Number
	num  uint64 // of a varint or fixed kind
	b    []byte // of the others; aliases what was read as a rule
}

// readVariant opens a Value. The last kind written wins; of a message written in
// several records the parts are merged.
func readVariant(b []byte) (v variant, err error) {
	var content parts
	for len(b) > 0 {
		f, rest, err := nextField(b)
		if err != nil {
			return v, err
		}
		if b = rest; f.num > variantUint64 {
			continue
		}
		if f.wire != variantWire[f.num] {
			return v, memberErrorf(engram.Corrupt, "field %d of a Value has wire type %d, not %d", f.num, f.wire, variantWire[f.num])
		}
		if v.kind != f.num || variantWire[f.num] != protowire.BytesType || f.num == variantString {
			content = parts{}
		}
		content.add(f.b)
		v = variant{f.num, f.value, content.b}
	}
	return v, nil
}

// nextRecord returns the content of the first record of field num in b, which must
// be delimited, and what follows it; found is false at the end.
func nextRecord(b []byte, num protowire.Number) (content, rest []byte, found bool, err error) {
	for len(b) > 0 {
		f, rest, err := nextField(b)
		switch b = rest; {
		case err != nil:
			return nil, nil, false, err
		case f.num != num:
		case f.wire != protowire.BytesType:
			return nil, nil, false, memberErrorf(engram.Corrupt, "field %d has wire type %d, not %d", num, f.wire, protowire.BytesType)
		default:
			return f.b, rest, true, nil
		}
	}
	return nil, nil, false, nil
}

// lastRecord returns the content of the last record of field num in b. Messages
// are merged with those before.
func lastRecord(b []byte, num protowire.Number, message bool) ([]byte, error) {
	var last parts
	for {
		content, rest, found, err := nextRecord(b, num)
		if err != nil || !found {
			return last.b, err
		}
		if !message {
			last = parts{}
		}
		last.add(content)
		b = rest
	}
}

// dictEntry splits an encoded entry of a Dict into its key, which is UTF-8, and
// its encoded Value.
func dictEntry(entry []byte) (key, value []byte, err error) {
	if key, err = lastRecord(entry, 1, false); err != nil {
		return nil, nil, err
	}
	if err = validText(key); err != nil {
		return nil, nil, err
	}
	value, err = lastRecord(entry, 2, true)
	return key, value, err
}

// valueLayout is the layout of the variant, whose members are its kinds; it gives
// the layouts of the special messages in it.
var valueLayout = newLayout((&idfv1.Value{}).ProtoReflect().Descriptor(), nil)

// decodeVariant decodes a Value that stands depth messages deep.
func decodeVariant(b []byte, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errNesting(engram.Corrupt)
	}
	v, err := readVariant(b)
	if err != nil {
		return nil, err
	}
	switch v.kind {
	case variantNull:
		return nil, nil
	case variantBool:
		return v.num != 0, nil
	case variantInt32:
		return v.int32(), nil
	case variantInt64:
		return protowire.DecodeZigZag(v.num), nil
	case variantUint64:
		return v.num, nil
	case variantFloat:
		return math.Float32frombits(uint32(v.num)), nil
	case variantDouble:
		return math.Float64frombits(v.num), nil
	case variantString:
		return text(v.b)
	case variantList:
		return decodeList(v.b, depth+2)
	case variantDict:
		return decodeDict(v.b, depth+3)
	}
	d := decoder{}
	return d.message(valueLayout.find(v.kind).msg, v.b, depth+1)
}

func (v *variant) int32() int32 { return int32(protowire.DecodeZigZag(v.num & math.MaxUint32)) }

func decodeList(b []byte, depth int) (any, error) {
	items := []any{}
	for {
		item, rest, found, err := nextRecord(b, 1)
		if err != nil || !found {
			return items, err
		}
		v, err := decodeVariant(item, depth)
		if err != nil {
			return nil, under(indexSegment(len(items)), err)
		}
		items, b = append(items, v), rest
	}
}

func decodeDict(b []byte, depth int) (any, error) {
	dict := map[string]any{}
	for {
		entry, rest, found, err := nextRecord(b, 1)
		if err != nil || !found {
			return dict, err
		}
		key, value, err := dictEntry(entry)
		if err != nil {
			return nil, err
		}
		v, err := decodeVariant(value, depth)
		if err != nil {
			return nil, under(keySegment(string(key)), err)
		}
		dict[string(key)], b = v, rest
	}
}
