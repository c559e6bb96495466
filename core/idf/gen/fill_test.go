package gen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram/core/idf"
)

// filler fills messages of any type with what is valid.
type filler struct {
	rnd  *rand.Rand
	full bool // every member is set, to something that is not zero
}

func (f *filler) number() uint64 {
	switch n := f.rnd.Uint64(); {
	case f.full:
		return n%50 + 1
	case n%4 == 0:
		return 0
	case n%4 == 1:
		return n
	default:
		return n >> 40
	}
}

func (f *filler) message(m protoreflect.Message, depth int) {
	md := m.Descriptor()
	set := func(name string, v any) {
		m.Set(md.Fields().ByName(protoreflect.Name(name)), protoreflect.ValueOf(v))
	}
	switch md.FullName() {
	case "google.protobuf.Timestamp":
		set("seconds", int64(1645188992)-int64(f.rnd.IntN(2))*1645188999)
		set("nanos", int32(f.rnd.IntN(1e9)))
		return
	case "google.protobuf.Duration":
		sign := int64(f.rnd.IntN(2)*2 - 1)
		set("seconds", sign*int64(f.rnd.IntN(1000)))
		set("nanos", int32(sign)*int32(f.rnd.IntN(1e9)))
		return
	case "engram.idf.v1.Link":
		set("id", fmt.Sprintf("Object/Instance/prior/cup%d", f.number()))
		return
	case "engram.idf.v1.Matrix", "engram.idf.v1.NDArray":
		f.array(m, set)
		return
	}
	chosen := map[string]bool{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() {
			if chosen[string(o.FullName())] || !f.full && f.rnd.IntN(o.Fields().Len()) > 0 {
				continue
			}
			if f.full && md.FullName() == "engram.idf.v1.Value" && f.rnd.IntN(3) > 0 && i < 11 {
				continue
			}
			chosen[string(o.FullName())] = true
		} else if !f.full && f.rnd.IntN(3) == 0 {
			continue
		}
		if depth > 2 && fd.Message() != nil && (!f.full || depth > 3) {
			continue
		}
		switch {
		case fd.IsList():
			for range f.rnd.IntN(3) + 1 {
				m.Mutable(fd).List().Append(f.value(fd, depth, m.NewField(fd).List().NewElement))
			}
		case fd.IsMap():
			for range f.rnd.IntN(3) + 1 {
				key := f.value(fd.MapKey(), depth, nil).MapKey()
				m.Mutable(fd).Map().Set(key, f.value(fd.MapValue(), depth, m.NewField(fd).Map().NewValue))
			}
		default:
			m.Set(fd, f.value(fd, depth, func() protoreflect.Value { return m.NewField(fd) }))
		}
	}
}

func (f *filler) array(m protoreflect.Message, set func(string, any)) {
	dtype := f.rnd.IntN(10) + 1
	size := idf.DType(dtype).Size()
	rows, cols := f.rnd.IntN(3), f.rnd.IntN(3)+1
	if m.Descriptor().Name() == "Matrix" {
		set("rows", int64(rows))
		set("cols", int64(cols))
	} else {
		shape := m.Mutable(m.Descriptor().Fields().ByName("shape")).List()
		for _, n := range []int{rows, cols} {
			shape.Append(protoreflect.ValueOfInt64(int64(n)))
		}
	}
	set("dtype", protoreflect.EnumNumber(dtype))
	data := make([]byte, rows*cols*size)
	for i := range data {
		data[i] = byte(f.rnd.IntN(60)) // no NaN
	}
	set("data", data)
}

func (f *filler) value(fd protoreflect.FieldDescriptor, depth int, make func() protoreflect.Value) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(f.full || f.rnd.IntN(2) == 0)
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		if !f.full && f.rnd.IntN(5) == 0 {
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(f.rnd.IntN(2000) - 1000)) // of a newer version
		}
		return protoreflect.ValueOfEnum(values.Get(f.rnd.IntN(values.Len())).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(f.number()))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(f.number()))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(f.number()))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(f.number())
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(int32(f.number())) / 8)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(int64(f.number())) / 3)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(strings.Repeat("größe-", f.rnd.IntN(3)) + fmt.Sprint(f.number()))
	case protoreflect.BytesKind:
		b := []byte{1, 2, 3}[:f.rnd.IntN(4)]
		return protoreflect.ValueOfBytes(b)
	}
	v := make()
	f.message(v.Message(), depth+1)
	return v
}
