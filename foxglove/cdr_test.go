package foxglove

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// Every type that a server has can be read as ROS 2 has it, by what reads recordings of
// robots, with the values that it had.
func TestCDR(t *testing.T) {
	srv := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	names, err := srv.TypeNames(t.Context())
	if err != nil || len(names) < 50 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		def, err := srv.Type(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		typ, err := idf.ParseType(def)
		if err != nil {
			t.Fatal(err)
		}
		r := newROS2(typ.Descriptor())
		d, err := rosmsg.Parse(rosmsg.ROS2, r.name, r.schema)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, r.schema)
			continue
		}
		target, err := d.Descriptor("")
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, r.schema)
			continue
		}
		plan, err := rosmsg.Compile(d, target, rosmsg.Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			m := dynamicpb.NewMessage(typ.Descriptor())
			fill(random, m, 3)
			payload, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(name, err)
			}
			b, err := r.message(payload)
			if err != nil {
				t.Fatal(name, err)
			}
			var read rosmsg.Transcoder
			outs, err := read.Transcode(plan, rosmsg.WireCDR, b)
			got := dynamicpb.NewMessage(target)
			if err == nil {
				err = proto.Unmarshal(outs[0].Bytes, got)
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, r.schema)
				break
			}
			if at := differs(r.top, m, got); at != "" {
				t.Errorf("%s: %s is another\n%v\n%v", name, at, m, got)
				break
			}
		}
	}
	typ, _ := memories.Type("engram.speech.Text")
	if _, err := newROS2(typ.Descriptor()).message([]byte{1}); err == nil {
		t.Error("a payload that is none is sent")
	}
}

// fill gives members random values.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	value := func(fd protoreflect.FieldDescriptor, inside func() protoreflect.Value) protoreflect.Value {
		switch fd.Kind() {
		case protoreflect.MessageKind:
			v := inside()
			fill(r, v.Message(), depth-1)
			return v
		case protoreflect.BoolKind:
			return protoreflect.ValueOfBool(r.IntN(2) > 0)
		case protoreflect.StringKind:
			return protoreflect.ValueOfString("text of some length"[:r.IntN(19)])
		case protoreflect.BytesKind:
			return protoreflect.ValueOfBytes(make([]byte, r.IntN(9)))
		case protoreflect.EnumKind:
			return protoreflect.ValueOfEnum(fd.Enum().Values().Get(r.IntN(fd.Enum().Values().Len())).Number())
		case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
			return protoreflect.ValueOfInt32(r.Int32() - 1<<30)
		case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
			return protoreflect.ValueOfUint32(r.Uint32())
		case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
			return protoreflect.ValueOfInt64(r.Int64() - 1<<62)
		case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
			return protoreflect.ValueOfUint64(r.Uint64())
		case protoreflect.FloatKind:
			return protoreflect.ValueOfFloat32(r.Float32())
		}
		return protoreflect.ValueOfFloat64(r.Float64())
	}
	fields := m.Descriptor().Fields()
	if isTime := ros2Times[m.Descriptor().FullName()] != ""; isTime {
		m.Set(fields.ByNumber(1), protoreflect.ValueOfInt64(int64(r.Int32())))
		m.Set(fields.ByNumber(2), protoreflect.ValueOfInt32(r.Int32N(1e9)))
		return
	}
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case fd.Message() != nil && depth == 0 || r.IntN(4) == 0:
		case fd.IsMap():
			entries := m.Mutable(fd).Map()
			for range r.IntN(4) {
				entries.Set(value(fd.MapKey(), nil).MapKey(), value(fd.MapValue(), entries.NewValue))
			}
		case fd.IsList():
			list := m.Mutable(fd).List()
			for range r.IntN(4) {
				list.Append(value(fd, list.NewElement))
			}
		default:
			m.Set(fd, value(fd, func() protoreflect.Value { return m.NewField(fd) }))
		}
	}
}

// differs returns the first member that is another in what was read.
func differs(s *ros2Struct, want, got protoreflect.Message) string {
	for i := range s.fields {
		f := &s.fields[i]
		if f.fd == nil {
			continue
		}
		name := string(f.fd.Name())
		fd := got.Descriptor().Fields().ByName(f.fd.Name())
		if fd == nil {
			return name
		}
		same := func(a, b protoreflect.Value) bool {
			switch {
			case f.nested != nil:
				return differs(f.nested, a.Message(), b.Message()) == ""
			case f.time:
				x, y := a.Message().Descriptor().Fields(), b.Message().Descriptor().Fields()
				return a.Message().Get(x.ByNumber(1)).Equal(b.Message().Get(y.ByNumber(1))) && a.Message().Get(x.ByNumber(2)).Equal(b.Message().Get(y.ByNumber(2)))
			case f.fd.Kind() == protoreflect.EnumKind:
				return int64(a.Enum()) == b.Int()
			case f.fd.Kind() == protoreflect.BytesKind:
				return bytes.Equal(a.Bytes(), b.Bytes())
			}
			return a.Equal(b)
		}
		a, b := want.Get(f.fd), got.Get(fd)
		switch {
		case f.fd.IsMap():
			if a.Map().Len() != b.List().Len() {
				return name
			}
			for j := range b.List().Len() {
				entry := b.List().Get(j).Message()
				fields := entry.Descriptor().Fields()
				v := a.Map().Get(entry.Get(fields.ByName("key")).MapKey())
				value := fields.ByName("value")
				if !v.IsValid() {
					return name
				}
				if k := f.fd.MapValue().Kind(); value != nil && k != protoreflect.MessageKind && k != protoreflect.EnumKind && !v.Equal(entry.Get(value)) {
					return name
				}
			}
		case f.fd.IsList():
			if a.List().Len() != b.List().Len() {
				return name
			}
			for j := range a.List().Len() {
				if !same(a.List().Get(j), b.List().Get(j)) {
					return name
				}
			}
		case !same(a, b):
			return name
		}
	}
	return ""
}
