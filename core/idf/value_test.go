package idf

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

type celsius float32

func TestEncodeIsGenerous(t *testing.T) {
	ty := zoo(t)
	link := engram.MustID("A/B")
	array, err := NewNDArray([]float64{1, 2, 3, 4}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		member string
		from   any
		want   any
	}{
		{"count", 5.0, int32(5)},
		{"count", uint8(5), int32(5)},
		{"total", int64(7), uint64(7)},
		{"far", float32(-3), int64(-3)},
		{"ratio", 1, float32(1)},
		{"ratio", 0.1, float32(0.1)},
		{"ratio", celsius(0.5), float32(0.5)},
		{"mood", "MOOD_GLAD", Enum{"glad", 1}},
		{"mood", "glad", Enum{"glad", 1}},
		{"mood", 2, Enum{"MOOD_SAD", 2}},
		{"mood", Enum{Key: "glad"}, Enum{"glad", 1}},
		{"mood", Enum{Number: 9}, Enum{"", 9}},
		{"joints", []int{1, 2}, []any{1.0, 2.0}},
		{"joints", [2]float32{1, 2}, []any{1.0, 2.0}},
		{"tags", []string{"a"}, []any{"a"}},
		{"numbered", map[string]string{"-5": "x"}, map[string]any{"-5": "x"}},
		{"time", "2022-02-18T13:06:56.5Z", engram.Time(1645189616500000000)},
		{"time", int64(5), engram.Time(5)},
		{"time", time.Unix(1, 0), engram.Time(1e9)},
		{"took", "1m", time.Minute},
		{"took", 5, 5 * time.Nanosecond},
		{"seen_in", "A/B", link},
		{"seen_in", link, link},
		{"seen_in", "A//B", "A//B"},
		{"matrix", array, array},
		{"array", [][]float64{{1, 2}, {3, 4}}, array},
		{"array", *array, array},
		{"any", []byte{1, 2}, &NDArray{Shape: []int64{2}, DType: Uint8, Data: []byte{1, 2}}},
		{"any", []celsius{1}, []any{float32(1)}},
		{"any", map[string]int{"a": 1}, map[string]any{"a": int64(1)}},
		{"any", uint32(7), int64(7)},
		{"any", uint64(7), int64(7)},
		{"any", uint64(math.MaxUint64), uint64(math.MaxUint64)},
		{"any", int8(7), int32(7)},
		{"any", Enum{"glad", 1}, "glad"},
		{"any", nil, nil},
		{"points", []map[string]float64{{"x": 1}}, []any{map[string]any{"x": 1.0, "y": 0.0, "label": ""}}},
	} {
		b, err := ty.Encode(map[string]any{c.member: c.from})
		if err != nil {
			t.Errorf("%s from %#v: %v", c.member, c.from, err)
			continue
		}
		v, err := ty.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.(map[string]any)[c.member]; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s from %#v is %#v, not %#v", c.member, c.from, got, c.want)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	ty := zoo(t)
	deep := any(1)
	for range 60 {
		deep = []any{deep}
	}
	for _, c := range []struct {
		v    any
		code engram.Code
		want string
	}{
		{5, engram.TypeMismatch, "acme.Zoo: expected an object (acme.Zoo), got the number 5"},
		{map[string]any{"cuont": 5}, engram.TypeMismatch, `acme.Zoo has no member "cuont"; did you mean "count"?`},
		{map[string]any{"count": "5"}, engram.TypeMismatch, `member count: expected a number (int32), got the string "5"`},
		{map[string]any{"count": 1.5}, engram.OutOfRange, "member count: the number 1.5 does not fit a number (int32)"},
		{map[string]any{"count": 1 << 31}, engram.OutOfRange, "the number 2147483648 does not fit"},
		{map[string]any{"total": -1}, engram.OutOfRange, "the number -1 does not fit"},
		{map[string]any{"ratio": 1e300}, engram.OutOfRange, "the number 1e+300 does not fit"},
		{map[string]any{"joints": []any{1, "x"}}, engram.TypeMismatch, `member joints[1]: expected a number (double), got the string "x"`},
		{map[string]any{"joints": []int64{1<<53 + 1}}, engram.OutOfRange, "does not fit"},
		{map[string]any{"points": []any{nil}}, engram.TypeMismatch, "member points[0]: expected an object (acme.Point), got null"},
		{map[string]any{"named": map[string]any{"knee": map[string]any{"x": true}}}, engram.TypeMismatch, `member named["knee"].x: expected a number (double), got true`},
		{map[string]any{"rows": [][]any{{map[string]any{}}, {5}}}, engram.TypeMismatch, "member rows[1][0]: expected an object (acme.Point), got the number 5"},
		{map[string]any{"numbered": map[string]string{"x": ""}}, engram.TypeMismatch, `member numbered["x"]: the key is not an integer`},
		{map[string]any{"numbered": map[string]string{"1": "", "1e0": ""}}, engram.TypeMismatch, "not an integer"},
		{map[string]any{"pair": []any{"x"}}, engram.TypeMismatch, "member pair: expected a list of 2 items, got a list of 1 items"},
		{map[string]any{"pair": []any{5, nil}}, engram.TypeMismatch, "member pair[0]: expected a string"},
		{map[string]any{"mood": "gald"}, engram.TypeMismatch, `acme.Mood has no value "gald"; did you mean "glad"?`},
		{map[string]any{"time": "soon"}, engram.Invalid, `member time: "soon" is not a time`},
		{map[string]any{"time": true}, engram.TypeMismatch, "member time: expected a time, got true"},
		{map[string]any{"took": "long"}, engram.Invalid, "is not a duration"},
		{map[string]any{"word": "a", "number": 1}, engram.Invalid, "member number: excludes word"},
		{map[string]any{"seenIn": "A", "seen_in": "B"}, engram.Invalid, "given twice"},
		{map[string]any{"name": "\xff"}, engram.Invalid, "not UTF-8"},
		{map[string]any{"array": &NDArray{Shape: []int64{3}, DType: Uint8, Data: []byte{1}}}, engram.Invalid, "member array: the array has 1 bytes of data"},
		{map[string]any{"array": [][]int{{1}, {1, 2}}}, engram.TypeMismatch, "member array[1]: a list of an array has 2 items where others have 1"},
		{map[string]any{"array": (*NDArray)(nil)}, engram.TypeMismatch, "member array: expected an ndarray, got null"},
		{map[string]any{"matrix": []float64{1}}, engram.TypeMismatch, "a matrix has two dimensions"},
		{map[string]any{"any": struct{}{}}, engram.TypeMismatch, "member any: expected any value, got a Go value of type struct {}"},
		{map[string]any{"any": map[string]any{"a": []any{"\xff"}}}, engram.Invalid, `member any["a"][0]: the string`},
		{map[string]any{"any": deep}, engram.Invalid, "nested deeper than 100 messages"},
	} {
		_, err := ty.Encode(c.v)
		if engram.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v:\n%v\nnot %v: %s", c.v, err, c.code, c.want)
		}
	}
}

func TestDecodeDoesNotAlias(t *testing.T) {
	ty := zoo(t)
	b := mustEncode(t, ty, map[string]any{"raw": []byte{1}, "array": []float64{1}, "name": "cup"})
	v, err := ty.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	before := show(v)
	for i := range b {
		b[i] = 0xff
	}
	if show(v) != before {
		t.Error("the decoded values change with the payload's bytes")
	}
}

func TestNestingLimit(t *testing.T) {
	value := known(t, engram.ValueType)
	nested := func(lists int) []byte {
		b := wire{}
		for range lists {
			b = wire{}.bytes(10, wire{}.bytes(1, b))
		}
		return b
	}
	for lists, ok := range map[int]bool{49: true, 50: false, 200: false} {
		b := nested(lists)
		if err := value.Check(b); (err == nil) != ok {
			t.Fatalf("%d lists: Check: %v", lists, err)
		}
		if _, err := DecodeValue(b); (err == nil) != ok {
			t.Errorf("%d lists: DecodeValue: %v", lists, err)
		}
		if _, err := value.JSON(b, JSONOptions{}); (err == nil) != ok {
			t.Errorf("%d lists: JSON: %v", lists, err)
		}
		if err := value.Walk(b, KindNumber, func(*Found) bool { return true }); (err == nil) != ok {
			t.Errorf("%d lists: Walk: %v", lists, err)
		}
		j := strings.Repeat("[", lists) + strings.Repeat("]", lists)
		if _, err := value.FromJSON([]byte(j)); (err == nil) != (lists <= 50) {
			t.Errorf("%d lists: FromJSON: %v", lists, err)
		}
	}
}

// TestVariantAgainstProtobuf compares with the generated type.
func TestVariantAgainstProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		md := (&idfv1.Value{}).ProtoReflect().Descriptor()
		b, m := contents{t: t, regular: true}.wire(md)
		v, err := DecodeValue(b)
		if err != nil {
			t.Fatal(err)
		}
		if want := plainOf(m); show(v) != show(want) {
			t.Fatalf("decoded %s, not %s", show(v), show(want))
		}
		back, err := EncodeValue(v)
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(unmarshal(t, md, back), m) {
			t.Fatalf("encoded again as %v, not %v", unmarshal(t, md, back), m)
		}
		canonical, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil || !bytes.Equal(back, canonical) {
			t.Fatalf("encoded as %x, protobuf-go's deterministic form is %x", back, canonical)
		}
	})
}

// TestEncodeNestingLimit: what Encode writes can be decoded, whatever stands innermost.
func TestEncodeNestingLimit(t *testing.T) {
	value := known(t, engram.ValueType)
	for _, innermost := range []any{1, "x", engram.Time(1), []any{}, map[string]any{}, engram.MustID("A"), []byte{1}, uint16(1)} {
		for depth := range 60 {
			v := innermost
			for i := range depth {
				if i%2 == 0 {
					v = []any{v}
				} else {
					v = map[string]any{"k": v}
				}
			}
			b, err := EncodeValue(v)
			if err != nil {
				if engram.CodeOf(err) != engram.Invalid || depth < 38 {
					t.Fatalf("%v in %d containers: %v", innermost, depth, err)
				}
				continue
			}
			if err := value.Check(b); err != nil {
				t.Fatalf("%v in %d containers: Check: %v", innermost, depth, err)
			}
			if _, err := DecodeValue(b); err != nil {
				t.Fatalf("%v in %d containers: %v", innermost, depth, err)
			}
		}
	}
}

func TestValuePayload(t *testing.T) {
	p, err := ValuePayload(map[string]any{"a": 1})
	if err != nil || p.Type != engram.ValueType {
		t.Fatal(p, err)
	}
	v, err := DecodeValue(p.Bytes)
	if err != nil || !reflect.DeepEqual(v, map[string]any{"a": int64(1)}) {
		t.Error(v, err)
	}
	if _, err := ValuePayload(make(chan int)); engram.CodeOf(err) != engram.TypeMismatch {
		t.Error(err)
	}
}

func TestDecodeErrors(t *testing.T) {
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"cut":        {wire{}.bytes(1, []byte("name"))[:3], "acme.Zoo: member name: not the wire form"},
		"wire type":  {wire{}.varint(1, 5), "member name: has wire type 0, not 2"},
		"UTF-8":      {wire{}.bytes(9, []byte("ok")).bytes(9, []byte{0xff}), "member tags[1]: the string is not UTF-8"},
		"packed cut": {wire{}.bytes(8, make([]byte, 9)), "member joints[1]: not the wire form"},
		"in a dict":  {wire{}.bytes(11, wire{}.bytes(1, []byte("k")).bytes(2, wire{}.varint(1, 0))), `member named["k"].x: has wire type`},
		"in a Value": {wire{}.bytes(21, wire{}.bytes(10, wire{}.bytes(1, wire{}.varint(6, 1)))), "member any[0]: field 6 of a Value has wire type 0, not 2"},
		"time":       {wire{}.bytes(15, wire{}.fixed32(1, 0)), "member time: field 1 has wire type 5, not 0"},
		"array":      {wire{}.bytes(19, wire{}.varint(3, 0)), "member array: field 3 of an array has wire type 0"},
	} {
		_, err := zoo(t).Decode(c.b)
		if engram.CodeOf(err) != engram.Corrupt || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %s", name, err, c.want)
		}
	}
}

func TestDecodeProto2(t *testing.T) {
	ty := compiled(t, "test.Old", `syntax = "proto2"; package test;
		message Old {
			required string name = 1;
			optional int32 n = 2 [default = 7];
			repeated group Item = 3 { optional int32 id = 1; }
			repeated int32 unpacked = 4;
		}`)
	b := wire{}.bytes(1, []byte("x")).group(3, wire{}.varint(1, 5)).group(3, nil).varint(4, 1).bytes(4, []byte{2, 3})
	v, err := ty.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"name": "x", "item": []any{map[string]any{"id": int32(5)}, map[string]any{}},
		"unpacked": []any{int32(1), int32(2), int32(3)},
	}
	if !reflect.DeepEqual(v, want) {
		t.Fatalf("%#v, not %#v", v, want)
	}
	back, err := ty.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ty.Decode(back); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("encoded and decoded again: %#v, %v", again, err)
	}
	if err := ty.Check(back); err != nil {
		t.Error(err)
	}
}

func FuzzDecodeValue(f *testing.F) {
	for _, v := range []any{nil, 1, 1.5, "x", []any{1, []any{}}, map[string]any{"a": engram.Time(5)}, engram.MustID("A/B")} {
		b, err := EncodeValue(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := DecodeValue(b)
		if err != nil {
			return
		}
		first, err := EncodeValue(v)
		if err != nil {
			if engram.CodeOf(err) != engram.Invalid { // an array that is not valid
				t.Fatal(err)
			}
			return
		}
		again, err := DecodeValue(first)
		if err != nil {
			t.Fatal(err)
		}
		second, err := EncodeValue(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%x, and after decoding %x (%v)", first, second, err)
		}
	})
}

func BenchmarkEncodeValue(b *testing.B) {
	v := map[string]any{"name": "cup", "confidence": 0.5, "position": []any{1.0, 2.0, 3.0}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := EncodeValue(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePose(b *testing.B) {
	ty := known(b, "foxglove.PoseInFrame")
	payload := mustEncode(b, ty, map[string]any{"frame_id": "map", "timestamp": engram.Now(), "pose": map[string]any{"position": map[string]any{"x": 1}}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ty.Decode(payload); err != nil {
			b.Fatal(err)
		}
	}
}
