package memories_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
	"github.com/seed-301d4374/engram/mind/memories"
)

// idfJSON shows all there is, in one line.
var idfJSON = idf.JSONOptions{SummarizeBytes: -1}

func typeOf(t testing.TB, name string) *idf.Type {
	t.Helper()
	typ, ok := memories.Type(name)
	if !ok {
		t.Fatalf("the type %s is not known", name)
	}
	return typ
}

// allTypes returns the types that the memories bring and those of their segments.
func allTypes(t testing.TB) (types []*idf.Type) {
	names := map[string]bool{}
	for _, m := range memories.All() {
		for _, def := range m.Types {
			names[def.Name] = true
		}
		for _, s := range m.Segments {
			names[s.Type] = true
		}
	}
	if len(names) < 30 {
		t.Fatalf("there are only %d types: %v", len(names), names)
	}
	for name := range names {
		types = append(types, typeOf(t, name))
	}
	return types
}

// TestEveryMemberIsDocumented reads the comments in the type files, which say what
// each member means and its unit.
func TestEveryMemberIsDocumented(t *testing.T) {
	for _, typ := range allTypes(t) {
		if !strings.HasPrefix(typ.Name(), "engram.") {
			continue
		}
		if doc := typ.Descriptor().ParentFile().SourceLocations().ByDescriptor(typ.Descriptor()).LeadingComments; len(doc) < 10 {
			t.Errorf("%s is not documented: %q", typ.Name(), doc)
		}
		for _, m := range typ.Members() {
			if len(m.Doc) < 5 {
				t.Errorf("%s.%s is not documented: %q", typ.Name(), m.Name, m.Doc)
			}
		}
	}
}

// TestSourcesAreKept checks that a type can be shown as it was written.
func TestSourcesAreKept(t *testing.T) {
	for _, typ := range allTypes(t) {
		def := typ.Def()
		if !strings.HasPrefix(def.Name, "engram.") {
			continue
		}
		short := def.Name[strings.LastIndexByte(def.Name, '.')+1:]
		if !strings.Contains(def.Source, short) || def.Format != "xml" && def.Format != "proto" {
			t.Errorf("%s: format %q, %d bytes of source", def.Name, def.Format, len(def.Source))
		}
		if text := idf.PrintProto(typ); !strings.Contains(text, "message "+short) {
			t.Errorf("%s as .proto:\n%s", def.Name, text)
		}
	}
}

// TestExampleDataHoldsEveryKind keeps the example complete.
func TestExampleDataHoldsEveryKind(t *testing.T) {
	var got []string
	for _, m := range typeOf(t, "engram.example.ExampleData").Members() {
		typ := m.Type
		if m.Optional && strings.HasPrefix(m.Name, "the_optional") {
			typ += "?"
		}
		got = append(got, typ)
	}
	for _, want := range []string{
		"Bool", "Int", "Long", "Float", "Double", "String", "Time", "Duration",
		"NDArray", "Matrix", "Position", "Quaternion", "Pose", "Image", "PointCloud",
		"List<Int>", "List<List<Double>>", "Dict<String>", "Dict<Dict<Float>>", "Tuple<String, Int, Pose>", "Pair<String, Double>",
		"engram.example.Extended", "engram.geometry.OrientedBox", "List<engram.example.Base>", "engram.example.Colour",
		"AnyObject", "Link", "Int?", "List<String>?", "engram.example.Base?",
	} {
		if !slices.ContainsFunc(got, func(typ string) bool {
			return typ == want || strings.HasPrefix(typ, want+"(") || want == "Pair<String, Double>" && typ == "Tuple<String, Double>"
		}) {
			t.Errorf("no member of ExampleData is a %s; there are %v", want, got)
		}
	}
}

// example returns a value of a type with every member set, in what [idf.Type.Encode]
// takes.
func example(md protoreflect.MessageDescriptor, depth int) map[string]any {
	m := map[string]any{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if v := exampleField(fd, depth); v != nil {
			m[string(fd.Name())] = v
		}
	}
	return m
}

func exampleField(fd protoreflect.FieldDescriptor, depth int) any {
	switch {
	case fd.IsMap():
		return map[string]any{"b": exampleValue(fd.MapValue(), depth), "a": exampleValue(fd.MapValue(), depth)}
	case fd.IsList():
		return []any{exampleValue(fd, depth), exampleValue(fd, depth)}
	}
	return exampleValue(fd, depth)
}

func exampleValue(fd protoreflect.FieldDescriptor, depth int) any {
	n := int(fd.Number())
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return true
	case protoreflect.StringKind:
		return fmt.Sprintf("text %d ü\n", n)
	case protoreflect.BytesKind:
		return []byte{0, 1, 255, byte(n)}
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		return int(values.Get(values.Len() - 1).Number())
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		return float64(n) + 0.25
	case protoreflect.MessageKind:
	default:
		return n + 1
	}
	if depth > 8 {
		return nil
	}
	switch name := string(fd.Message().FullName()); name {
	case "google.protobuf.Timestamp":
		return engram.Time(1_645_189_616_492_182_001)
	case "google.protobuf.Duration":
		return -1500 * time.Millisecond
	case "engram.idf.v1.Link":
		return engram.MustID("Vision/ImageRGB/a\\/b/camera/2022-02-18 13:06:56.492182/1")
	case "engram.idf.v1.Matrix":
		if strings.Contains(string(fd.Name()), "dynamic") {
			return &idf.NDArray{Shape: []int64{2, 3}, DType: idf.Int32, Data: make([]byte, 24)}
		}
		return &idf.NDArray{Shape: []int64{3, 3}, DType: idf.Float64, Data: make([]byte, 72)}
	case engram.ValueType:
		return map[string]any{"list": []any{int32(1), 2.5, "three", nil, true, engram.MustID("A/B")}, "time": engram.Time(7)}
	case "engram.idf.v1.NDArray":
		if shape, _ := proto.GetExtension(fd.Options(), idfv1.E_Shape).(*idfv1.Shape); shape.GetNdim() == 1 {
			return &idf.NDArray{Shape: []int64{3}, DType: idf.Uint8, Data: []byte{1, 2, 3}}
		}
		return &idf.NDArray{Shape: []int64{1, 2, 3}, DType: idf.Float32, Data: make([]byte, 24)}
	}
	m := example(fd.Message(), depth+1)
	if shape, _ := proto.GetExtension(fd.Options(), idfv1.E_Shape).(*idfv1.Shape); shape.GetEncoding() != "" {
		m["encoding"] = shape.GetEncoding()
	}
	switch wrapper, _ := proto.GetExtension(fd.Message().Options(), idfv1.E_Wrapper).(idfv1.Wrapper); wrapper {
	case idfv1.Wrapper_WRAPPER_LIST, idfv1.Wrapper_WRAPPER_DICT:
		return m["items"]
	case idfv1.Wrapper_WRAPPER_TUPLE:
		items := make([]any, len(m))
		for i := range items {
			items[i] = m[fmt.Sprint("item", i)]
		}
		return items
	}
	return m
}

// TestJSONRoundTrip writes an example of every type as JSON and reads it back.
func TestJSONRoundTrip(t *testing.T) {
	for _, typ := range allTypes(t) {
		t.Run(typ.Name(), func(t *testing.T) {
			v := example(typ.Descriptor(), 0)
			b, err := typ.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			if err := typ.Check(b); err != nil {
				t.Fatal(err)
			}
			j, err := typ.JSON(b, idfJSON)
			if err != nil {
				t.Fatal(err)
			}
			for i := range typ.Descriptor().Fields().Len() {
				if name := string(typ.Descriptor().Fields().Get(i).Name()); !bytes.Contains(j, []byte(`"`+name+`"`)) {
					t.Errorf("%s is not in the JSON %s", name, j)
				}
			}
			back, err := typ.FromJSON(j)
			if err != nil {
				t.Fatalf("%v\n%s", err, j)
			}
			if !bytes.Equal(back, b) {
				again, _ := typ.JSON(back, idfJSON)
				t.Errorf("%s\nbecame\n%s", j, again)
			}
		})
	}
}
