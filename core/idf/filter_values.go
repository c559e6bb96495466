package idf

import (
	"math"
	"strconv"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// filterInput resolves the names in a filter on one instance. It implements
// cel.Activation and is used by one evaluation at a time.
type filterInput struct {
	snapshot *engram.Snapshot
	instance *engram.Instance
	payload  filterMap
	whole    ref.Val // the payload as a value, once it was asked for
	// loops is set if the expression goes through lists: it may ask for the same
	// again and again, so what was decoded is kept.
	loops   bool
	unset   []string // members that were asked for, and that the type has and the payload does not
	meter   *FilterMeter
	steps   int64 // left to this evaluation
	due     int64 // what is left of them when the meter looks again
	granted int64 // how many there were
}

var filterVars = sync.Pool{New: func() any { return new(filterInput) }}

// Parent implements cel.Activation.
func (v *filterInput) Parent() cel.Activation { return nil }

// ResolveName implements cel.Activation.
func (v *filterInput) ResolveName(name string) (any, bool) {
	switch name {
	case "confidence":
		return types.Double(decimal(v.instance.Confidence)), true
	case "time":
		return timestamp(v.snapshot.Time), true
	case "arrived":
		return timestamp(v.snapshot.Arrived), true
	case "sent":
		if v.instance.HasSent {
			return timestamp(v.instance.Sent), true
		}
		return timestamp(v.snapshot.Arrived), true
	case "type":
		return types.String(v.instance.Payload.Type), true
	case "payload":
		whole := v.wholePayload()
		return whole, whole != nil
	case inputName:
		return v, true
	}
	if v.payload.layout == nil {
		return nil, false
	}
	if v.payload.layout.special != isObject {
		dict, ok := v.wholePayload().(traits.Mapper)
		if !ok {
			return nil, false
		}
		return found(dict.Find(types.String(name)))
	}
	return found(v.payload.member(name))
}

// found turns what Find returns into what ResolveName does: a nil ref.Val is not a
// nil any.
func found(v ref.Val, ok bool) (any, bool) {
	if v == nil {
		return nil, false
	}
	return v, ok || types.IsError(v)
}

func (v *filterInput) wholePayload() ref.Val {
	if v.whole == nil && v.payload.layout != nil {
		v.whole = filterMessage(v.payload.layout, v.payload.b, 1, v)
	}
	return v.whole
}

func timestamp(t engram.Time) ref.Val { return types.Timestamp{Time: t.Std()} }

// decimal returns the shortest decimal number that a float prints as: filters are
// written in decimals, and 0.8 as a float is more than 0.8 as a double.
func decimal(f float32) float64 {
	d := float64(f)
	if a := math.Abs(d); a >= 1e-4 && a < 1e7 {
		// The fewest of six to nine digits that tell the float from all others. Powers
		// of ten up to 1e13 are exact, so the quotient is the double next to it.
		scale := 1e5
		for ; a < 1; a *= 10 {
			scale *= 10
		}
		for ; a >= 10 && scale > 1; a /= 10 {
			scale /= 10
		}
		for range 4 {
			if r := math.Round(d*scale) / scale; float32(r) == f {
				return r
			}
			scale *= 10
		}
	}
	if d == 0 || math.IsNaN(d) || math.IsInf(d, 0) {
		return d
	}
	var buf [32]byte
	d, _ = strconv.ParseFloat(string(strconv.AppendFloat(buf[:0], d, 'g', -1, 32)), 64)
	return d
}

// filterMessage returns a message as a value of CEL.
func filterMessage(l *layout, b []byte, depth int, in *filterInput) ref.Val {
	if depth > maxDepth {
		return errorVal(errNesting(engram.Corrupt))
	}
	switch l.special {
	case isObject:
		return &filterMap{layout: l, b: b, depth: depth, in: in}
	case isList, isDict:
		o := filterMap{layout: l, b: b, depth: depth, in: in}
		v, _ := o.value(l.members[0])
		return v
	case isOptional:
		o := filterMap{layout: l, b: b, depth: depth, in: in}
		v, ok := o.value(l.members[0])
		if !ok && v == nil {
			return types.NullValue
		}
		return v
	case isTuple:
		o := filterMap{layout: l, b: b, depth: depth, in: in}
		items := make([]ref.Val, len(l.members))
		for i, m := range l.members {
			v, ok := o.value(m)
			if !ok && v == nil {
				v = types.NullValue
			}
			items[i] = v
		}
		return types.NewRefValList(types.DefaultTypeAdapter, items)
	case isValue:
		return filterVariant(b, depth, in)
	}
	return filterSpecial(l, b, in)
}

// filterSpecial returns a special message as a value of CEL.
func filterSpecial(l *layout, b []byte, in *filterInput) ref.Val {
	switch l.special {
	case isTime, isDuration:
		sec, nanos, err := readSeconds(b)
		if err != nil {
			return errorVal(err)
		}
		if l.special == isDuration {
			d, ok := durationOf(sec, nanos)
			if !ok {
				return errorVal(memberErrorf(engram.OutOfRange, "the duration is out of range"))
			}
			return types.Duration{Duration: d}
		}
		const first, last = -62135596800, 253402300799 // the years 1 to 9999
		if nanos < 0 || nanos >= 1e9 || sec < first || sec > last {
			return errorVal(memberErrorf(engram.OutOfRange, "the time is out of range"))
		}
		return types.Timestamp{Time: time.Unix(sec, int64(nanos)).UTC()}
	case isLink:
		text, err := lastRecord(b, 1, false)
		if err != nil {
			return errorVal(err)
		}
		return filterString(text, in)
	}
	a, err := readArray(b, l.special == isMatrix)
	if err != nil {
		return errorVal(err)
	}
	in.charge(len(b) / charsPerStep)
	return filterArray(&a)
}

// filterArray returns the elements of an array as a list.
func filterArray(a *NDArray) ref.Val {
	items := make([]ref.Val, a.Len())
	for i := range items {
		switch a.DType {
		case Float32:
			items[i] = types.Double(decimal(float32(a.Float(i))))
		case Float64:
			items[i] = types.Double(a.Float(i))
		case Uint64:
			items[i] = filterUint(uint64(a.Int(i)))
		default:
			items[i] = types.Int(a.Int(i))
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, items)
}

func filterUint(u uint64) ref.Val {
	if u > math.MaxInt64 {
		return types.Uint(u)
	}
	return types.Int(u)
}

func errorVal(err error) ref.Val { return types.NewErr("%v", err) }

// filterString returns a string. In an expression with loops a long one is an error.
func filterString(b []byte, in *filterInput) ref.Val {
	if in.loops && len(b) > maxFilterString {
		return errorVal(memberErrorf(engram.Exhausted, "the string is too long for a filter that goes through lists"))
	}
	in.charge(len(b) / charsPerStep)
	return types.String(b)
}

// filterScalar returns a varint or fixed value as a value of CEL.
func filterScalar(m *member, num uint64) ref.Val {
	switch m.kind {
	case protoreflect.BoolKind:
		return types.Bool(num != 0)
	case protoreflect.EnumKind:
		if e := m.enum.value(int32(num)); e.Key != "" {
			return types.String(e.Key)
		}
	case protoreflect.FloatKind:
		return types.Double(decimal(math.Float32frombits(uint32(num))))
	case protoreflect.DoubleKind:
		return types.Double(math.Float64frombits(num))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return filterUint(num)
	}
	return types.Int(integer(m.kind, num))
}

// filterVariant returns what a Value holds as a value of CEL.
func filterVariant(b []byte, depth int, in *filterInput) ref.Val {
	if depth > maxDepth {
		return errorVal(errNesting(engram.Corrupt))
	}
	v, err := readVariant(b)
	if err != nil {
		return errorVal(err)
	}
	switch v.kind {
	case variantNull:
		return types.NullValue
	case variantBool:
		return types.Bool(v.num != 0)
	case variantInt32:
		return types.Int(v.int32())
	case variantInt64:
		return types.Int(protowire.DecodeZigZag(v.num))
	case variantUint64:
		return filterUint(v.num)
	case variantFloat:
		return types.Double(decimal(math.Float32frombits(uint32(v.num))))
	case variantDouble:
		return types.Double(math.Float64frombits(v.num))
	case variantString:
		return filterString(v.b, in)
	case variantDict:
		return &filterMap{isDict: true, b: v.b, depth: depth + 3, in: in}
	case variantList:
		return filterItems(v.b, depth+2, in)
	}
	return filterSpecial(valueLayout.find(v.kind).msg, v.b, in)
}

// filterItems returns the list in a Value.
func filterItems(b []byte, depth int, in *filterInput) ref.Val {
	var items []ref.Val
	for {
		in.charge(1)
		item, rest, found, err := nextRecord(b, 1)
		if err != nil {
			return errorVal(err)
		}
		if !found {
			return types.NewRefValList(types.DefaultTypeAdapter, items)
		}
		items, b = append(items, filterVariant(item, depth, in)), rest
	}
}
