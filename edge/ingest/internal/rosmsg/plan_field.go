package rosmsg

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// hugeMin stands for a message that no input is long enough to hold.
const hugeMin = 1 << 40

func addMin(a, b int) int { return min(a+b, hugeMin) }

// addMin adds the least size of field f, whose element takes at least one bytes.
// An array of messages that take no bytes is refused: its length would cost
// without being bound by the input.
func (c *compiler) addMin(b *block, f *Field, one int) error {
	switch f.Type.Array {
	case Single:
		b.min = addMin(b.min, one)
		return nil
	case Fixed:
		b.min = addMin(b.min, min(one, hugeMin/(maxFixedLen+1))*f.Type.Len)
	default:
		b.min = addMin(b.min, 4)
	}
	if one == 0 {
		return engram.Errorf(engram.Unsupported, c.d.Root.Name, "field %s is an array of messages without fields", f.Name)
	}
	return nil
}

// add appends the operation that reads field f and writes it to fd, or drops it.
func (c *compiler) add(b *block, f *Field, rule *Member, fd protoreflect.FieldDescriptor, path string) error {
	t := &f.Type
	o := op{kind: t.Kind, array: t.Array, n: t.Len, size: uint8(t.Kind.size()), tap: slices.Index(c.o.Taps, path) + 1}
	if rule != nil {
		o.values, o.text = rule.Values, rule.Text
	}
	if o.tap > 0 && (t.Array != Single || t.Kind >= Time) {
		return engram.Errorf(engram.Invalid, c.d.Root.Name, "%s is not a single string or number", path)
	}
	one := int(o.size)
	switch t.Kind {
	case String, WString:
		c.wide = c.wide || t.Kind == WString
		one = 4
		o.code = opString
		if t.Array != Single {
			o.code = opStrings
		}
		if fd != nil {
			setTag(&o, fd, protowire.BytesType)
		}
	case Time, Duration:
		one = 8
		o.code = opTime
		if t.Array != Single {
			o.code = opTimes
		}
		o.stamp = path == c.stamp && t.Kind == Time && t.Array == Single
		if fd != nil {
			setTag(&o, fd, protowire.BytesType)
		}
	case Struct:
		var sub protoreflect.MessageDescriptor
		o.code = opStruct
		if t.Array != Single {
			o.code = opStructs
		}
		if fd != nil {
			sub = fd.Message()
			setTag(&o, fd, protowire.BytesType)
		}
		body, err := c.block(c.d.Messages[t.Message], sub, path, true)
		if err != nil {
			return err
		}
		o.body, one = body, body.min
	default:
		o.code = opNumber
		if t.Array != Single {
			o.code = opNumbers
		}
		if fd != nil {
			c.number(&o, fd)
		}
	}
	b.ops = append(b.ops, o)
	return c.addMin(b, f, one)
}

// number sets how the number of o is written to fd, which fits.
func (c *compiler) number(o *op, fd protoreflect.FieldDescriptor) {
	o.conv, o.oneSize = numberConversion(o.kind, fd.Kind())
	wire := protowire.VarintType
	switch {
	case o.array != Single:
		wire = protowire.BytesType
	case o.oneSize == 4:
		wire = protowire.Fixed32Type
	case o.oneSize == 8:
		wire = protowire.Fixed64Type
	}
	if fd.Kind() == protoreflect.BytesKind {
		o.conv, o.oneSize = toBytes, 1
	}
	setTag(o, fd, wire)
}

// numberConversion returns how a number of kind k is written to a member of kind
// pk, and the bytes it takes if that is fixed and not varint.
func numberConversion(k Kind, pk protoreflect.Kind) (conv conversion, fixed int) {
	switch pk {
	case protoreflect.BoolKind:
		return toBool, 0
	case protoreflect.FloatKind:
		if k == Float32 {
			return to32, 4
		}
		return toFloat, 4
	case protoreflect.DoubleKind:
		if k == Float64 {
			return to64, 8
		}
		return toDouble, 8
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return to32, 4
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return to64, 8
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return toZigzag, 0
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return toSignedVarint, 0
	}
	return toVarint, 0
}

// fits reports whether every value of field f can be written to member fd.
func (c *compiler) fits(f *Field, fd protoreflect.FieldDescriptor) bool {
	t := &f.Type
	if fd.IsMap() {
		return false
	}
	if t.Array != Single && t.Kind == Uint8 && fd.Kind() == protoreflect.BytesKind {
		return !fd.IsList()
	}
	if fd.IsList() != (t.Array != Single) {
		return false
	}
	switch t.Kind {
	case String, WString:
		return fd.Kind() == protoreflect.StringKind
	case Time:
		return fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Timestamp"
	case Duration:
		return fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Duration"
	case Struct:
		return fd.Kind() == protoreflect.MessageKind && !c.wellKnown(fd.Message())
	}
	if fd.IsList() && !fd.IsPacked() {
		return false
	}
	return numberFits(t.Kind, fd.Kind())
}

// wellKnown reports whether md has a meaning that a struct does not have.
func (c *compiler) wellKnown(md protoreflect.MessageDescriptor) bool {
	return md.FullName().Parent() == "google.protobuf"
}

func numberFits(k Kind, pk protoreflect.Kind) bool {
	switch pk {
	case protoreflect.BoolKind:
		return k == Bool
	case protoreflect.DoubleKind:
		return k != Bool
	case protoreflect.FloatKind:
		return k == Float32 || k == Float64 || k.size() <= 2 && k != Bool
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.EnumKind:
		return k == Bool || k == Uint8 || k == Uint16 || k == Uint32
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return k == Bool || k == Uint8 || k == Uint16 || k == Uint32 || k == Uint64
	case protoreflect.Int32Kind, protoreflect.Sint32Kind:
		return k == Int8 || k == Int16 || k == Int32 || k == Uint8 || k == Uint16 || k == Bool
	case protoreflect.Int64Kind, protoreflect.Sint64Kind:
		return k.integer() && k != Uint64 || k == Bool
	case protoreflect.Sfixed32Kind:
		return k == Int32
	case protoreflect.Sfixed64Kind:
		return k == Int64
	}
	return false
}
