package idf

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// Random types and random messages of them, made with protobuf-go alone: the
// independent side of the property tests.

// randomType draws a type of a few messages that refer to each other, to
// themselves and to special messages. A plain one has only what protobuf's own
// JSON shows in the same way.
func randomType(t *rapid.T, plain bool) *Type {
	g := typeGen{t: t, plain: plain, messages: rapid.IntRange(1, 4).Draw(t, "messages")}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("random.proto"), Package: proto.String("random"), Syntax: proto.String("proto3"),
		Dependency: []string{
			"engram/idf/v1/options.proto", "engram/idf/v1/value.proto", "foxglove/Pose.proto",
			"foxglove/RawImage.proto", "google/protobuf/timestamp.proto", "google/protobuf/duration.proto",
		},
		EnumType: []*descriptorpb.EnumDescriptorProto{{
			Name: proto.String("Mood"),
			Value: []*descriptorpb.EnumValueDescriptorProto{
				enumValue("MOOD_NONE", 0, !plain), enumValue("MOOD_GLAD", 1, !plain), enumValue("MOOD_SAD", -7, false),
			},
		}},
	}
	for i := range g.messages {
		file.MessageType = append(file.MessageType, g.message(fmt.Sprintf("M%d", i)))
	}
	for i, w := range g.wrappers {
		w.Name = proto.String(fmt.Sprintf("W%d", i))
		file.MessageType = append(file.MessageType, w)
	}
	if plain {
		file.Dependency = nil
	}
	fd, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatalf("random type: %v", err)
	}
	ty, err := TypeOf(fd.Messages().Get(0), "", "")
	if err != nil {
		t.Fatalf("random type: %v", err)
	}
	return ty
}

func enumValue(name string, n int32, withKey bool) *descriptorpb.EnumValueDescriptorProto {
	v := &descriptorpb.EnumValueDescriptorProto{Name: proto.String(name), Number: proto.Int32(n)}
	if withKey {
		v.Options = &descriptorpb.EnumValueOptions{}
		proto.SetExtension(v.Options, idfv1.E_Key, strings.ToLower(name[len("MOOD_"):]))
	}
	return v
}

type typeGen struct {
	t        *rapid.T
	plain    bool
	messages int
	wrappers []*descriptorpb.DescriptorProto
}

var specialNames = []string{
	".engram.idf.v1.Value", ".engram.idf.v1.Link", ".engram.idf.v1.NDArray", ".engram.idf.v1.Matrix",
	".google.protobuf.Timestamp", ".google.protobuf.Duration", ".foxglove.Pose", ".foxglove.RawImage",
}

func (g *typeGen) message(name string) *descriptorpb.DescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: proto.String(name)}
	number := int32(0)
	for i := range rapid.IntRange(1, 7).Draw(g.t, "fields") {
		number += rapid.SampledFrom([]int32{1, 1, 1, 2, 20, 200}).Draw(g.t, "step")
		f := g.field(m, fmt.Sprintf("f_%d", i), number)
		m.Field = append(m.Field, f)
	}
	// Synthetic oneofs of optional members must come last.
	for _, f := range m.Field {
		if f.GetProto3Optional() {
			f.OneofIndex = proto.Int32(int32(len(m.OneofDecl)))
			m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + f.GetName())})
		}
	}
	// The order of declaration need not be that of the numbers.
	m.Field = rapid.Permutation(m.Field).Draw(g.t, "declared")
	slices.SortStableFunc(m.Field, func(a, b *descriptorpb.FieldDescriptorProto) int { // a oneof stands together
		return cmp.Compare(oneofRank(a), oneofRank(b))
	})
	return m
}

func oneofRank(f *descriptorpb.FieldDescriptorProto) int {
	if f.OneofIndex == nil || f.GetProto3Optional() {
		return 0
	}
	return 1
}

func (g *typeGen) field(m *descriptorpb.DescriptorProto, name string, number int32) *descriptorpb.FieldDescriptorProto {
	f := &descriptorpb.FieldDescriptorProto{
		Name: proto.String(name), Number: proto.Int32(number),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	g.setType(f)
	switch rapid.SampledFrom([]string{"one", "one", "list", "dict", "optional", "oneof"}).Draw(g.t, "shape") {
	case "list":
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		if f.GetTypeName() == "" && f.GetType() != descriptorpb.FieldDescriptorProto_TYPE_STRING && f.GetType() != descriptorpb.FieldDescriptorProto_TYPE_BYTES && rapid.Bool().Draw(g.t, "unpacked") {
			f.Options = &descriptorpb.FieldOptions{Packed: proto.Bool(false)}
		}
	case "dict":
		g.makeDict(m, f)
	case "optional":
		if f.GetType() != descriptorpb.FieldDescriptorProto_TYPE_MESSAGE {
			f.Proto3Optional = proto.Bool(true)
		}
	case "oneof":
		if len(m.OneofDecl) == 0 {
			m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("choice")})
		}
		f.OneofIndex = proto.Int32(0)
	}
	return f
}

func (g *typeGen) makeDict(m *descriptorpb.DescriptorProto, f *descriptorpb.FieldDescriptorProto) {
	entry := ""
	for part := range strings.SplitSeq(f.GetName(), "_") {
		entry += strings.ToUpper(part[:1]) + part[1:]
	}
	entry += "Entry"
	value := proto.Clone(f).(*descriptorpb.FieldDescriptorProto)
	value.Name, value.Number = proto.String("value"), proto.Int32(2)
	m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{
		Name: proto.String(entry),
		Field: []*descriptorpb.FieldDescriptorProto{
			{
				Name: proto.String("key"), Number: proto.Int32(1), Label: value.Label,
				Type: rapid.SampledFrom([]descriptorpb.FieldDescriptorProto_Type{
					descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_STRING,
					descriptorpb.FieldDescriptorProto_TYPE_SINT32, descriptorpb.FieldDescriptorProto_TYPE_UINT64,
					descriptorpb.FieldDescriptorProto_TYPE_BOOL, descriptorpb.FieldDescriptorProto_TYPE_SFIXED64,
				}).Draw(g.t, "key").Enum(),
			},
			value,
		},
		Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
	})
	f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
	f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	f.TypeName = proto.String(".random." + m.GetName() + "." + entry)
}

// setType draws the type of a field's single value.
func (g *typeGen) setType(f *descriptorpb.FieldDescriptorProto) {
	choice := rapid.IntRange(0, 99).Draw(g.t, "type")
	message := func(name string) {
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		f.TypeName = proto.String(name)
	}
	switch {
	case choice < 50:
		for {
			k := descriptorpb.FieldDescriptorProto_Type(rapid.IntRange(1, 18).Draw(g.t, "kind"))
			if k < descriptorpb.FieldDescriptorProto_TYPE_GROUP || k > descriptorpb.FieldDescriptorProto_TYPE_MESSAGE && k != descriptorpb.FieldDescriptorProto_TYPE_ENUM || k == descriptorpb.FieldDescriptorProto_TYPE_STRING {
				f.Type = k.Enum()
				return
			}
		}
	case choice < 58:
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum()
		f.TypeName = proto.String(".random.Mood")
	case choice < 70 || g.plain:
		message(fmt.Sprintf(".random.M%d", rapid.IntRange(0, g.messages-1).Draw(g.t, "of")))
	case choice < 90:
		message(rapid.SampledFrom(specialNames).Draw(g.t, "special"))
	default:
		message(g.wrapper())
	}
}

// wrapper makes a wrapper message and returns its name.
func (g *typeGen) wrapper() string {
	if len(g.wrappers) >= 4 {
		return ".engram.idf.v1.Value"
	}
	name := fmt.Sprintf("W%d", len(g.wrappers))
	w := &descriptorpb.DescriptorProto{Name: proto.String(name), Options: &descriptorpb.MessageOptions{}}
	g.wrappers = append(g.wrappers, w)
	kind := rapid.SampledFrom([]idfv1.Wrapper{
		idfv1.Wrapper_WRAPPER_LIST, idfv1.Wrapper_WRAPPER_DICT, idfv1.Wrapper_WRAPPER_TUPLE, idfv1.Wrapper_WRAPPER_OPTIONAL,
	}).Draw(g.t, "wrapper")
	proto.SetExtension(w.Options, idfv1.E_Wrapper, kind)
	items := &descriptorpb.FieldDescriptorProto{
		Name: proto.String("items"), Number: proto.Int32(1),
		Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(),
	}
	switch kind {
	case idfv1.Wrapper_WRAPPER_LIST:
		g.setType(items)
		w.Field = append(w.Field, items)
	case idfv1.Wrapper_WRAPPER_DICT:
		items.Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
		items.Name = proto.String("items_0")
		g.setType(items)
		g.makeDict(w, items)
		w.Field = append(w.Field, items)
	case idfv1.Wrapper_WRAPPER_OPTIONAL:
		items.Name, items.Label = proto.String("item"), descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
		if g.setTypeButNullable(items); items.GetTypeName() == "" || items.GetType() == descriptorpb.FieldDescriptorProto_TYPE_ENUM {
			items.Proto3Optional, items.OneofIndex = proto.Bool(true), proto.Int32(0)
			w.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("_item")}}
		}
		w.Field = append(w.Field, items)
	default:
		for i := range rapid.IntRange(1, 3).Draw(g.t, "items") {
			f := &descriptorpb.FieldDescriptorProto{
				Name: proto.String(fmt.Sprintf("item%d", i)), Number: proto.Int32(int32(i + 1)),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			}
			g.setTypeButNullable(f)
			w.Field = append(w.Field, f)
		}
	}
	return ".random." + name
}

// setTypeButNullable draws the type of an item of a tuple or of what may be null: a
// null there is an item that is not set, so the item itself must not be null.
func (g *typeGen) setTypeButNullable(f *descriptorpb.FieldDescriptorProto) {
	for {
		f.TypeName = nil
		switch g.setType(f); {
		case f.GetTypeName() == ".engram.idf.v1.Value":
		case strings.HasPrefix(f.GetTypeName(), ".random.W") && g.isOptional(f.GetTypeName()):
		default:
			return
		}
	}
}

func (g *typeGen) isOptional(name string) bool {
	i, err := strconv.Atoi(strings.TrimPrefix(name, ".random.W"))
	return err == nil && proto.GetExtension(g.wrappers[i].Options, idfv1.E_Wrapper).(idfv1.Wrapper) == idfv1.Wrapper_WRAPPER_OPTIONAL
}

// contents draws messages. Regular ones have only times, durations, arrays and
// links that are values of Go.
type contents struct {
	t       *rapid.T
	regular bool
}

// message draws the content of a message, at most depth messages deep.
func (g contents) message(md protoreflect.MessageDescriptor, depth int) *dynamicpb.Message {
	m := dynamicpb.NewMessage(md)
	g.fill(m, depth)
	return m
}

func (g contents) fill(m protoreflect.Message, depth int) {
	t := g.t
	if g.special(m) {
		return
	}
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		if depth <= 0 && fd.Message() != nil || rapid.IntRange(0, 3).Draw(t, "skip") == 0 {
			continue
		}
		switch {
		case fd.IsList():
			list := m.Mutable(fd).List()
			for range rapid.IntRange(0, 3).Draw(t, "n") {
				list.Append(g.value(fd, list.NewElement, depth))
			}
		case fd.IsMap():
			dict := m.Mutable(fd).Map()
			for range rapid.IntRange(0, 3).Draw(t, "n") {
				dict.Set(g.value(fd.MapKey(), nil, 0).MapKey(), g.value(fd.MapValue(), dict.NewValue, depth))
			}
		default:
			m.Set(fd, g.value(fd, func() protoreflect.Value { return m.NewField(fd) }, depth))
		}
	}
}

// special fills the messages in which not every content is likely.
func (g contents) special(m protoreflect.Message) bool {
	t := g.t
	fds := m.Descriptor().Fields()
	set := func(name string, v any) { m.Set(fds.ByName(protoreflect.Name(name)), protoreflect.ValueOf(v)) }
	switch name := m.Descriptor().FullName(); name {
	case "google.protobuf.Timestamp", "google.protobuf.Duration":
		secs := []*rapid.Generator[int64]{rapid.Int64Range(-3, 3), rapid.Int64Range(-9223372036, 9223372035)}
		nanos := []*rapid.Generator[int32]{rapid.Int32Range(0, 999_999_999)}
		if !g.regular {
			secs = append(secs, rapid.SampledFrom([]int64{-9223372037, 9223372036, 9223372037}), rapid.Int64())
			nanos = append(nanos, rapid.SampledFrom([]int32{145224191, 145224192, 854775807, 854775808}), rapid.Int32())
		}
		sec := rapid.OneOf(secs...).Draw(t, "seconds")
		set("seconds", sec)
		nano := rapid.OneOf(nanos...).Draw(t, "nanos")
		if name == "google.protobuf.Duration" && sec < 0 {
			nano = -nano
		}
		set("nanos", nano)
	case "engram.idf.v1.Link":
		ids := []string{"", "Object", "Object/Instance/Vision/cup", "A/B/C/d/2022-02-18 13:06:56.492182/1"}
		if !g.regular {
			ids = append(ids, `Object/a\/b//x`, "A/B/C/d/no time")
		}
		set("id", rapid.SampledFrom(ids).Draw(t, "id"))
	case "engram.idf.v1.NDArray", "engram.idf.v1.Matrix":
		a := g.array()
		set("data", a.Data)
		set("dtype", protoreflect.EnumNumber(a.DType))
		if name == "engram.idf.v1.NDArray" {
			for _, n := range a.Shape {
				m.Mutable(fds.ByName("shape")).List().Append(protoreflect.ValueOfInt64(n))
			}
			break
		}
		for i, n := range a.Shape[:min(2, len(a.Shape))] {
			set([]string{"rows", "cols"}[i], n)
		}
	default:
		return false
	}
	return true
}

// array draws an array.
func (g contents) array() *NDArray {
	t := g.t
	a := &NDArray{DType: DType(rapid.IntRange(1, 10).Draw(t, "dtype"))}
	n := int64(a.DType.Size())
	for range 2 {
		d := rapid.Int64Range(0, 20).Draw(t, "dim")
		a.Shape = append(a.Shape, d)
		n *= d
	}
	if !g.regular && rapid.Bool().Draw(t, "invalid") {
		a.DType = DType(rapid.IntRange(-1, 11).Draw(t, "dtype"))
		n = rapid.Int64Range(0, 20).Draw(t, "bytes")
	}
	a.Data = bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "data"), int(n)/16+1)[:n]
	if a.Valid() == nil {
		for i := range a.Len() { // JSON has one NaN only
			if math.IsNaN(a.Float(i)) {
				clear(a.element(i))
			}
		}
	}
	return a
}

func (g contents) value(fd protoreflect.FieldDescriptor, newMessage func() protoreflect.Value, depth int) protoreflect.Value {
	t := g.t
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOf(rapid.Bool().Draw(t, "bool"))
	case protoreflect.EnumKind:
		return protoreflect.ValueOf(protoreflect.EnumNumber(rapid.SampledFrom([]int32{0, 1, -7, 5}).Draw(t, "enum")))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOf(rapid.Int32().Draw(t, "int32"))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOf(rapid.Int64().Draw(t, "int64"))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOf(rapid.Uint32().Draw(t, "uint32"))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		if fd.FullName() == "engram.idf.v1.Value.uint64" { // smaller ones are written as int64
			return protoreflect.ValueOf(rapid.Uint64Min(1<<63).Draw(t, "uint64 of a Value"))
		}
		return protoreflect.ValueOf(rapid.Uint64().Draw(t, "uint64"))
	case protoreflect.FloatKind:
		return protoreflect.ValueOf(rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{
			0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), 0.1, 1e-10, math.MaxFloat32, math.SmallestNonzeroFloat32,
		})).Draw(t, "float"))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOf(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
			0, math.Copysign(0, -1), math.NaN(), math.Inf(-1), 1, 1e21, 1e-7, 1 << 53, math.MaxFloat64, 5e-324,
		})).Draw(t, "double"))
	case protoreflect.StringKind:
		return protoreflect.ValueOf(rapid.OneOf(rapid.StringN(0, 5, 20), rapid.SampledFrom([]string{
			"", "$float", "a\"b\\c\n\x01", "½ … \U0001F916", "NaN", "17",
		})).Draw(t, "string"))
	case protoreflect.BytesKind:
		return protoreflect.ValueOf(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes"))
	}
	v := newMessage()
	g.fill(v.Message(), depth-1)
	return v
}

// wire draws a message on the wire: as protobuf-go writes it, or in two parts
// that must be merged.
func (g contents) wire(md protoreflect.MessageDescriptor) (b []byte, m *dynamicpb.Message) {
	t := g.t
	parts := 1
	if !g.regular { // merging makes irregular arrays of regular ones
		parts = rapid.IntRange(1, 2).Draw(t, "parts")
	}
	for range parts {
		part, err := proto.MarshalOptions{Deterministic: true}.Marshal(g.message(md, 3))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, part...)
	}
	return b, unmarshal(t, md, b)
}

func unmarshal(t rapid.TB, md protoreflect.MessageDescriptor, b []byte) *dynamicpb.Message {
	m := dynamicpb.NewMessage(md)
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatalf("protobuf-go: %v", err)
	}
	return m
}

// plainOf is the oracle of Decode: a message as plain Go values, by reflection.
func plainOf(m protoreflect.Message) any {
	if v, ok := plainSpecial(m); ok {
		return v
	}
	fds := m.Descriptor().Fields()
	field := func(fd protoreflect.FieldDescriptor) any {
		switch v := m.Get(fd); {
		case fd.IsList():
			items := []any{}
			for i := range v.List().Len() {
				items = append(items, plainScalar(fd, v.List().Get(i)))
			}
			return items
		case fd.IsMap():
			dict := map[string]any{}
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				dict[k.String()] = plainScalar(fd.MapValue(), v)
				return true
			})
			return dict
		default:
			return plainScalar(fd, v)
		}
	}
	switch wrapperOf(m.Descriptor()) {
	case idfv1.Wrapper_WRAPPER_LIST, idfv1.Wrapper_WRAPPER_DICT:
		return field(fds.Get(0))
	case idfv1.Wrapper_WRAPPER_OPTIONAL:
		if !m.Has(fds.Get(0)) {
			return nil
		}
		return field(fds.Get(0))
	case idfv1.Wrapper_WRAPPER_TUPLE:
		items := make([]any, fds.Len())
		for i := range items {
			if fd := fds.Get(i); m.Has(fd) || !fd.HasPresence() {
				items[i] = field(fd)
			}
		}
		return items
	}
	object := map[string]any{}
	for i := range fds.Len() {
		if fd := fds.Get(i); m.Has(fd) || !fd.HasPresence() {
			object[string(fd.Name())] = field(fd)
		}
	}
	return object
}

func plainSpecial(m protoreflect.Message) (any, bool) {
	fds := m.Descriptor().Fields()
	get := func(name string) protoreflect.Value { return m.Get(fds.ByName(protoreflect.Name(name))) }
	switch name := m.Descriptor().FullName(); name {
	case "google.protobuf.Timestamp":
		sec, nanos := get("seconds").Int(), get("nanos").Int()
		if nanos >= 0 && nanos < 1e9 && within(sec, nanos) {
			return engram.Time(sec*1e9 + nanos), true
		}
	case "google.protobuf.Duration":
		d := protoDuration(get("seconds").Int(), get("nanos").Int())
		return d, d != nil
	case "engram.idf.v1.Link":
		if id, err := engram.Parse(get("id").String()); err == nil {
			return id, true
		}
		return get("id").String(), true
	case "engram.idf.v1.NDArray", "engram.idf.v1.Matrix":
		a := &NDArray{DType: DType(get("dtype").Enum()), Data: append([]byte{}, get("data").Bytes()...), Shape: []int64{}}
		if name == "engram.idf.v1.Matrix" {
			a.Shape = []int64{get("rows").Int(), get("cols").Int()}
		} else {
			for i := range get("shape").List().Len() {
				a.Shape = append(a.Shape, get("shape").List().Get(i).Int())
			}
		}
		return a, true
	case engram.ValueType:
		od := m.Descriptor().Oneofs().Get(0)
		fd := m.WhichOneof(od)
		if fd == nil {
			return nil, true
		}
		if fd.Name() == "list" || fd.Name() == "dict" {
			inner := m.Get(fd).Message()
			return plainOf(inner).(map[string]any)["items"], true
		}
		return plainScalar(fd, m.Get(fd)), true
	}
	return nil, false
}

func plainScalar(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch fd.Kind() {
	case protoreflect.MessageKind:
		return plainOf(v.Message())
	case protoreflect.EnumKind:
		e := Enum{Number: int32(v.Enum())}
		if ev := fd.Enum().Values().ByNumber(v.Enum()); ev != nil {
			e.Key = string(ev.Name())
			if k := proto.GetExtension(ev.Options(), idfv1.E_Key).(string); k != "" {
				e.Key = k
			}
		}
		return e
	case protoreflect.BytesKind:
		return append([]byte{}, v.Bytes()...)
	}
	return v.Interface()
}

// show makes plain values comparable: NaN equals NaN, -0 differs from 0.
func show(v any) string {
	switch v := v.(type) {
	case float32:
		return fmt.Sprintf("float32 %x", math.Float32bits(v))
	case float64:
		if math.IsNaN(v) {
			return "float64 NaN"
		}
		return fmt.Sprintf("float64 %x", math.Float64bits(v))
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = show(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for k, x := range v {
			parts = append(parts, fmt.Sprintf("%q: %s", k, show(x)))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case []byte:
		return "bytes " + base64.StdEncoding.EncodeToString(v)
	case *NDArray:
		return fmt.Sprintf("array %d %v %x", v.DType, v.Shape, v.Data)
	}
	return fmt.Sprintf("%T %#v", v, v)
}
