package idf

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// wire builds encoded messages for tests, one field per call.
type wire []byte

func (w wire) varint(num protowire.Number, v uint64) wire {
	return protowire.AppendVarint(protowire.AppendTag(w, num, protowire.VarintType), v)
}
func (w wire) fixed32(num protowire.Number, v uint32) wire {
	return protowire.AppendFixed32(protowire.AppendTag(w, num, protowire.Fixed32Type), v)
}
func (w wire) fixed64(num protowire.Number, v uint64) wire {
	return protowire.AppendFixed64(protowire.AppendTag(w, num, protowire.Fixed64Type), v)
}
func (w wire) bytes(num protowire.Number, b []byte) wire {
	return protowire.AppendBytes(protowire.AppendTag(w, num, protowire.BytesType), b)
}
func (w wire) group(num protowire.Number, b []byte) wire {
	return protowire.AppendGroup(protowire.AppendTag(w, num, protowire.StartGroupType), num, b)
}

// known returns a known type.
func known(t testing.TB, name string) *Type {
	t.Helper()
	ty, ok := NewRegistry().Get(name)
	if !ok {
		t.Fatal("not known: ", name)
	}
	return ty
}

// compiled compiles .proto text and returns the message of that name.
func compiled(t testing.TB, name, text string) *Type {
	t.Helper()
	defs, err := CompileProto(memSource(map[string]string{"test.proto": text}), "test.proto")
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range defs {
		if def.Name == name {
			ty, err := ParseType(def)
			if err != nil {
				t.Fatal(err)
			}
			return ty
		}
	}
	t.Fatal("not in the file: ", name)
	return nil
}

const checkedProto = `syntax = "proto3"; package test;
message M {
  int32 i = 1; fixed32 f32 = 2; double f64 = 3; string s = 4; bytes b = 5; M m = 6;
  repeated int32 ri = 7; repeated fixed32 rf32 = 8; repeated double rf64 = 9;
  repeated string rs = 10; repeated M rm = 11; map<string, M> map = 12; bool far = 536870911;
}`

func TestCheck(t *testing.T) {
	m := compiled(t, "test.M", checkedProto)
	var w wire
	nested := func(n int) wire {
		var b wire
		for range n {
			b = wire{}.bytes(6, b)
		}
		return b
	}
	groups := func(n int) wire {
		var b wire
		for range n {
			b = wire{}.group(99, b)
		}
		return b
	}
	for name, c := range map[string]struct {
		b    []byte
		want string // in the error; "" for none
	}{
		"empty":                  {nil, ""},
		"scalars":                {w.varint(1, 5).fixed32(2, 1).fixed64(3, 1).bytes(4, []byte("ä")).bytes(5, []byte{0xff}), ""},
		"ten byte varint":        {w.varint(1, math.MaxUint64), ""},
		"longer than needed":     {wire{0x08, 0x80, 0x80, 0x00}, ""},
		"unpacked":               {w.varint(7, 1).varint(7, 300).fixed32(8, 1).fixed64(9, 1), ""},
		"packed":                 {w.bytes(7, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 0xff, 1}).bytes(8, make([]byte, 8)).bytes(9, make([]byte, 16)), ""},
		"packed empty":           {w.bytes(7, nil).bytes(8, nil), ""},
		"map":                    {w.bytes(12, wire{}.bytes(1, []byte("k")).bytes(2, wire{}.varint(1, 1))), ""},
		"map without key":        {w.bytes(12, wire{}.bytes(2, nil)), ""},
		"unknown fields":         {w.varint(90, 1).fixed32(91, 1).fixed64(92, 1).bytes(93, []byte{0xff}).group(94, wire{}.varint(1, 1).group(2, nil)), ""},
		"unknown beyond members": {w.varint(500_000_000, 1), ""},
		"far number":             {w.varint(536870911, 1), ""},
		"depth 100":              {nested(99), ""},
		"cut tag":                {wire{0x80}, "at byte 0: a varint is cut"},
		"field number 0":         {wire{0x00, 0x01}, "valid field number"},
		"field number too large": {protowire.AppendVarint(nil, 1<<32), "valid field number"},
		"wire type 6":            {wire{0x0e}, "member i: at byte 0"},
		"wire type 7":            {wire{0x0f}, "member i"},
		"unknown, wire type 7":   {wire{0xff, 0x07}, "unknown wire type"},
		"cut varint":             {wire{0x08, 0x80}, "member i: at byte 1: a varint is cut"},
		"no varint":              {wire{0x08}, "member i"},
		"eleven byte varint":     {append(wire{0x08}, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1), "64 bits"},
		"65 bit varint":          {append(wire{0x08}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2), "64 bits"},
		"cut fixed32":            {wire{0x15, 1, 2, 3}, "member f32"},
		"cut fixed64":            {wire{0x19, 1, 2, 3, 4, 5, 6, 7}, "member f64"},
		"cut string":             {wire{0x22, 5, 'a'}, "member s"},
		"huge length":            {append(wire{0x22}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), "member s"},
		"not UTF-8":              {w.bytes(4, []byte("a\xff")), "member s: at byte 2: the string is not UTF-8"},
		"element not UTF-8":      {w.bytes(10, []byte("a")).bytes(10, []byte("\xff")), "member rs"},
		"map key not UTF-8":      {w.bytes(12, wire{}.bytes(1, []byte("\xff"))), "member map.key"},
		"int as string":          {w.bytes(1, []byte("1")), "member i: at byte 0: the wire type"},
		"string as int":          {w.varint(4, 1), "member s"},
		"double as float":        {w.fixed32(3, 1), "member f64"},
		"strings are not packed": {w.varint(10, 1), "member rs"},
		"message as int":         {w.varint(6, 1), "member m"},
		"message as group":       {w.group(6, nil), "member m"},
		"map as int":             {w.varint(12, 1), "member map"},
		"packed fixed32 cut":     {w.bytes(8, make([]byte, 7)), "member rf32"},
		"packed fixed64 cut":     {w.bytes(9, make([]byte, 4)), "member rf64"},
		"packed varint cut":      {w.bytes(7, []byte{1, 2, 3, 4, 5, 6, 7, 8, 0x80}), "member ri"},
		"in a message":           {w.bytes(6, wire{}.bytes(11, wire{}.bytes(4, []byte("\xff")))), "member m.rm.s: at byte 6"},
		"message ends early":     {append(w.bytes(6, wire{0x08}), 0x01), "member m.i"},
		"depth 101":              {nested(100), "nested"},
		"groups nested too deep": {groups(101), "nested"},
		"end without group":      {wire{0x0c}, "member i"},
		"unknown end of group":   {protowire.AppendTag(nil, 99, protowire.EndGroupType), "not begun"},
		"group without end":      {protowire.AppendTag(nil, 99, protowire.StartGroupType), "without an end"},
		"group ended otherwise":  {protowire.AppendTag(protowire.AppendTag(nil, 99, protowire.StartGroupType), 98, protowire.EndGroupType), "not begun"},
	} {
		t.Run(name, func(t *testing.T) {
			err := m.Check(c.b)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("Check(%x): %v", c.b, err)
			case c.want != "" && (!errors.Is(err, engram.Corrupt) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("Check(%x) = %v, want Corrupt with %q", c.b, err, c.want)
			}
		})
	}
}

func TestCheckProto2Groups(t *testing.T) {
	m := compiled(t, "test.G", `syntax = "proto2"; package test;
		message G { optional group Inner = 1 { optional string s = 2; } repeated group Many = 3 { optional int32 i = 1; } }`)
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"group":        {wire{}.group(1, wire{}.bytes(2, []byte("s"))).group(3, wire{}.varint(1, 1)), ""},
		"inside":       {wire{}.group(1, wire{}.bytes(2, []byte("\xff"))), "member inner.s"},
		"as message":   {wire{}.bytes(1, nil), "member inner"},
		"many, packed": {wire{}.bytes(3, nil), "member many"},
	} {
		t.Run(name, func(t *testing.T) {
			err := m.Check(c.b)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestCheckShapes(t *testing.T) {
	m := compiled(t, "test.S", `syntax = "proto3"; package test;
		import "engram/idf/v1/options.proto"; import "engram/idf/v1/value.proto"; import "foxglove/RawImage.proto";
		message S {
		  engram.idf.v1.Matrix fixed = 1 [(engram.idf.v1.shape) = { rows: 4, cols: 3, dtype: FLOAT32 }];
		  engram.idf.v1.Matrix open = 2 [(engram.idf.v1.shape) = { }];
		  repeated engram.idf.v1.NDArray nd = 3 [(engram.idf.v1.shape) = { ndim: 2, dtype: UINT8 }];
		  map<string, engram.idf.v1.Matrix> dict = 4 [(engram.idf.v1.shape) = { rows: 1 }];
		  foxglove.RawImage image = 5 [(engram.idf.v1.shape) = { encoding: "rgb8" }];
		  S in = 6;
		}`)
	matrix := func(rows, cols int64, d idfv1.DType, n int) *idfv1.Matrix {
		return &idfv1.Matrix{Rows: rows, Cols: cols, Dtype: d, Data: make([]byte, n)}
	}
	nd := func(d idfv1.DType, n int, shape ...int64) *idfv1.NDArray {
		return &idfv1.NDArray{Shape: shape, Dtype: d, Data: make([]byte, n)}
	}
	const f32, u8 = idfv1.DType_FLOAT32, idfv1.DType_UINT8
	entry := func(v []byte) []byte { return wire{}.bytes(1, []byte("key")).bytes(2, v) }
	enc := func(m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"nothing":             {nil, ""},
		"fixed":               {wire{}.bytes(1, enc(matrix(4, 3, f32, 48))), ""},
		"fixed, rows":         {wire{}.bytes(1, enc(matrix(3, 3, f32, 36))), "member fixed: the matrix has 3 rows, its type wants 4"},
		"fixed, columns":      {wire{}.bytes(1, enc(matrix(4, 4, f32, 64))), "columns"},
		"fixed, element type": {wire{}.bytes(1, enc(matrix(4, 3, idfv1.DType_FLOAT64, 96))), "FLOAT64"},
		"fixed, data":         {wire{}.bytes(1, enc(matrix(4, 3, f32, 47))), "47 bytes"},
		"open":                {wire{}.bytes(2, enc(matrix(0, 0, 0, 0))), ""},
		"open, data":          {wire{}.bytes(2, enc(matrix(2, 2, u8, 5))), "member open"},
		"open, negative":      {wire{}.bytes(2, enc(matrix(-1, -1, u8, 1))), "negative"},
		"open, overflow":      {wire{}.bytes(2, enc(matrix(1<<33, 1<<31, u8, 0))), "too large"},
		"open, size overflow": {wire{}.bytes(2, enc(matrix(1<<31, 1<<31, f32, 0))), "data"},
		"open, element type":  {wire{}.bytes(2, enc(matrix(1, 1, 77, 1))), "element type 77"},
		"ndarray":             {wire{}.bytes(3, enc(nd(u8, 6, 2, 3))), ""},
		"ndarray, unpacked":   {wire{}.bytes(3, wire{}.varint(1, 2).varint(1, 3).varint(2, 1).bytes(3, make([]byte, 6))), ""},
		"ndarray, 2nd":        {wire{}.bytes(3, enc(nd(u8, 6, 2, 3))).bytes(3, enc(nd(u8, 6, 6))), "member nd: the ndarray has 1 dimensions"},
		"ndarray, negative":   {wire{}.bytes(3, enc(nd(u8, 0, 0, -3))), "negative"},
		"ndarray, data":       {wire{}.bytes(3, enc(nd(u8, 7, 2, 3))), "7 bytes"},
		"dict":                {wire{}.bytes(4, entry(enc(matrix(1, 2, u8, 2)))), ""},
		"dict, rows":          {wire{}.bytes(4, entry(enc(matrix(2, 1, u8, 2)))), "member dict: the matrix has 2 rows"},
		"image":               {wire{}.bytes(5, enc(&foxglove.RawImage{Encoding: "rgb8", Data: []byte{1}})), ""},
		"image, unset":        {wire{}.bytes(5, nil), ""},
		"image, encoding":     {wire{}.bytes(5, enc(&foxglove.RawImage{Encoding: "bgr8"})), `"bgr8"`},
		"image, none":         {wire{}.bytes(5, enc(&foxglove.RawImage{Data: []byte{1}})), `""`},
		"below":               {wire{}.bytes(6, wire{}.bytes(6, wire{}.bytes(2, enc(matrix(2, 2, u8, 5))))), "member in.in.open"},
	} {
		t.Run(name, func(t *testing.T) {
			err := m.Check(c.b)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.Is(err, engram.TypeMismatch) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want TypeMismatch with %q", err, c.want)
			}
		})
	}
	good := wire{}.bytes(1, enc(matrix(4, 3, f32, 48))).bytes(4, entry(enc(matrix(1, 2, u8, 2))))
	if n := testing.AllocsPerRun(100, func() { _ = m.Check(good) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What protobuf's own decoder reads, Check accepts, and the other way round, but
// for members of a wrong wire type, which the decoder takes for unknown ones.
func TestCheckAgreesWithProtobuf(t *testing.T) {
	ty := known(t, "google.protobuf.Struct")
	rapid.Check(t, func(t *rapid.T) {
		s := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for _, k := range rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "keys") {
			s.Fields[k] = rapid.SampledFrom([]*structpb.Value{
				structpb.NewNullValue(), structpb.NewNumberValue(1), structpb.NewStringValue("x"), structpb.NewStructValue(&structpb.Struct{}),
				structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewBoolValue(true)}}),
			}).Draw(t, "value")
		}
		b, err := proto.Marshal(s)
		if err != nil {
			t.Skipf("what was drawn is no UTF-8, and cannot be encoded: %v", err)
		}
		if err := ty.Check(b); err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		if len(b) == 0 {
			return
		}
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		if ty.Check(b) == nil {
			if err := proto.Unmarshal(b, s); err != nil {
				t.Fatalf("Check accepts %x, protobuf says %v", b, err)
			}
		}
	})
}

func FuzzCheck(f *testing.F) {
	m := compiled(f, "test.M", checkedProto)
	f.Add([]byte(wire{}.varint(1, 5).fixed32(2, 1).fixed64(3, 1).bytes(4, []byte("ä"))))
	f.Add([]byte(wire{}.bytes(6, wire{}.bytes(11, wire{}.bytes(4, []byte("\xff"))))))
	f.Add([]byte(wire{}.group(94, wire{}.varint(1, 1).group(2, nil))))
	f.Add([]byte(wire{}.bytes(7, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 0xff, 1})))
	f.Fuzz(func(t *testing.T, b []byte) {
		err := m.Check(b)
		if err == nil {
			if err := proto.Unmarshal(b, dynamicpb.NewMessage(m.Descriptor())); err != nil {
				t.Errorf("Check accepts %x, protobuf says %v", b, err)
			}
		} else if !errors.Is(err, engram.Corrupt) {
			t.Errorf("%v is not Corrupt", err)
		}
	})
}

func imagePayload(t testing.TB) []byte {
	b, err := proto.Marshal(&foxglove.RawImage{FrameId: "camera", Width: 128, Height: 128, Encoding: "rgb8", Step: 384, Data: make([]byte, 128*128*3)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCheckDoesNotAllocate(t *testing.T) {
	ty, b := known(t, "foxglove.RawImage"), imagePayload(t)
	if n := testing.AllocsPerRun(100, func() { _ = ty.Check(b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCheckImage(b *testing.B) {
	ty, p := known(b, "foxglove.RawImage"), imagePayload(b)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		if err := ty.Check(p); err != nil {
			b.Fatal(err)
		}
	}
}

// 43 joints as a dict: many small fields and strings.
func BenchmarkCheckJoints(b *testing.B) {
	ty := known(b, "google.protobuf.Struct")
	s := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for i := range 43 {
		s.Fields[fmt.Sprintf("left_arm_joint_%d", i)] = structpb.NewNumberValue(float64(i))
	}
	p, err := proto.Marshal(s)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := ty.Check(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRegistryGet(b *testing.B) {
	r := NewRegistry()
	for b.Loop() {
		r.Get("foxglove.RawImage")
	}
}
