package idf

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

const castHead = `syntax = "proto3"; package test;
	import "engram/idf/v1/options.proto"; import "engram/idf/v1/value.proto";
	import "google/protobuf/timestamp.proto"; import "foxglove/Pose.proto";
	message Doubles { option (engram.idf.v1.wrapper) = WRAPPER_LIST; repeated double items = 1; }
	message Ints { option (engram.idf.v1.wrapper) = WRAPPER_LIST; repeated int32 items = 1; }
	message Pair { option (engram.idf.v1.wrapper) = WRAPPER_TUPLE; int32 item0 = 1; string item1 = 2; }
	message Triple { option (engram.idf.v1.wrapper) = WRAPPER_TUPLE; int32 item0 = 1; string item1 = 2; bool item2 = 3; }
	message MaybeInt { option (engram.idf.v1.wrapper) = WRAPPER_OPTIONAL; optional int32 item = 1; }
	message MaybeSmall { option (engram.idf.v1.wrapper) = WRAPPER_OPTIONAL; Small item = 1; }
	message Small { double x = 2; string only_here = 1; }
	message Large { float y = 1; float x = 5; string label = 3; }
	enum Mood { NONE = 0; GLAD = 1; SAD = 2; }
	enum Temper { CALM = 0; SAD_ = 5 [(engram.idf.v1.key) = "SAD"]; }
	`

func castTypes(t testing.TB, from, to string) (*Type, *Type) {
	t.Helper()
	return compiled(t, "test.M", castHead+"message M { "+from+" }"), compiled(t, "test.M", castHead+"message M { "+to+" }")
}

func TestCast(t *testing.T) {
	for _, c := range []struct{ from, to, json, want string }{
		{"int32 n = 1; string s = 2;", "string s = 7; sint64 n = 9; bool b = 1;", `{"n":-5,"s":"x"}`, `{"s":"x","n":"-5"}`},
		{"double n = 1;", "int32 n = 1;", `{"n":5}`, `{"n":5}`},
		{"double n = 1;", "float n = 1;", `{"n":0.1}`, `{"n":0.1}`},
		{"float n = 1;", "double n = 1;", `{"n":0.5}`, `{"n":0.5}`},
		{"int32 gone = 1;", "int32 n = 1;", `{"gone":5}`, `{}`},
		{"int32 n = 1;", "optional int32 n = 1;", `{}`, `{}`},
		{"optional int32 n = 1;", "int32 n = 1;", `{"n":0}`, `{}`},
		{"repeated int32 l = 1;", "repeated double l = 1;", `{"l":[1,2]}`, `{"l":[1,2]}`},
		{"repeated int32 l = 1;", "Doubles l = 1;", `{"l":[1,2]}`, `{"l":[1,2]}`},
		{"repeated Ints l = 1;", "repeated Doubles l = 2;", `{"l":[[1],[]]}`, `{"l":[[1],[]]}`},
		{"repeated MaybeInt l = 1;", "repeated MaybeInt l = 2;", `{"l":[1,null]}`, `{"l":[1,null]}`},
		{"repeated int32 l = 1;", "repeated MaybeInt l = 2;", `{"l":[1,0]}`, `{"l":[1,0]}`},
		{"repeated MaybeInt l = 1;", "repeated double l = 1;", `{"l":[1]}`, `{"l":[1]}`},
		{"map<string, MaybeSmall> l = 1;", "map<string, Large> l = 1;", `{"l":{"a":{"x":1}}}`, `{"l":{"a":{"x":1}}}`},
		{"map<string, int32> d = 1;", "map<string, double> d = 1;", `{"d":{"b":1,"a":2}}`, `{"d":{"a":2,"b":1}}`},
		{"Small m = 1;", "Large m = 1;", `{"m":{"x":1.5,"only_here":"x"}}`, `{"m":{"x":1.5}}`},
		{"repeated Small m = 1;", "repeated Large m = 1;", `{"m":[{"x":1.5},{}]}`, `{"m":[{"x":1.5},{}]}`},
		{"Mood e = 1;", "Temper e = 1;", `{"e":"SAD"}`, `{"e":"SAD"}`},
		{"Mood e = 1;", "string e = 1;", `{"e":"SAD"}`, `{"e":"SAD"}`},
		{"string e = 1;", "Mood e = 1;", `{"e":"GLAD"}`, `{"e":"GLAD"}`},
		{"Mood e = 1;", "int32 e = 1;", `{"e":"SAD"}`, `{"e":2}`},
		{"engram.idf.v1.Link l = 1;", "string l = 1;", `{"l":"A/B"}`, `{"l":"A/B"}`},
		{"string l = 1;", "engram.idf.v1.Link l = 1;", `{"l":"A/B"}`, `{"l":"A/B"}`},
		{"Pair p = 1;", "Pair p = 2;", `{"p":[1,"x"]}`, `{"p":[1,"x"]}`},
		{"engram.idf.v1.Matrix a = 1;", "engram.idf.v1.NDArray a = 2;", `{"a":[[1,2]]}`, `{"a":{"shape":[1,2],"dtype":"float64","data":[1,2]}}`},
		{"int32 a = 1; Small m = 2;", "engram.idf.v1.Value a = 1; engram.idf.v1.Value m = 2;", `{"a":5,"m":{"x":1}}`, `{"a":{"$int32":5},"m":{"x":1.0}}`},
		{"engram.idf.v1.Value a = 1;", "repeated int32 a = 1;", `{"a":[1,2]}`, `{"a":[1,2]}`},
		{"google.protobuf.Timestamp t = 1; foxglove.Pose p = 2;", "foxglove.Pose p = 2; google.protobuf.Timestamp t = 1; int32 n = 3;",
			`{"t":"2022-02-18T13:06:56.000000Z","p":{"position":{"x":1}}}`, `{"p":{"position":{"x":1}},"t":"2022-02-18T13:06:56.000000Z"}`},
	} {
		from, to := castTypes(t, c.from, c.to)
		b, err := from.FromJSON([]byte(c.json))
		if err != nil {
			t.Fatal(err)
		}
		out, err := Cast(from, b, to)
		if err != nil {
			t.Errorf("%s -> %s: %v", c.from, c.to, err)
			continue
		}
		if got, err := to.JSON(out, JSONOptions{SummarizeBytes: -1}); err != nil || string(got) != c.want {
			t.Errorf("%s -> %s: %s, not %s (%v)", c.from, c.to, got, c.want, err)
		}
	}
}

func TestCastErrors(t *testing.T) {
	for _, c := range []struct {
		from, to, json string
		code           engram.Code
		want           string
	}{
		// What cannot fit is refused whether it is set or not.
		{"string s = 1;", "int32 s = 1;", `{}`, engram.TypeMismatch, "test.M: member s: cast from test.M: a string does not become a number (int32)"},
		{"repeated int32 l = 1;", "int32 l = 1;", `{}`, engram.TypeMismatch, "member l: cast from test.M: a list does not become a number"},
		{"map<string, int32> d = 1;", "repeated int32 d = 1;", `{}`, engram.TypeMismatch, "a dict does not become a list"},
		{"map<string, int32> d = 1;", "map<int32, int32> d = 1;", `{}`, engram.TypeMismatch, "a dict whose key is a string does not become one whose key is a number"},
		{"google.protobuf.Timestamp t = 1;", "int64 t = 1;", `{}`, engram.TypeMismatch, "a time does not become a number (int64)"},
		{"google.protobuf.Timestamp t = 1;", "foxglove.Pose t = 1;", `{}`, engram.TypeMismatch, "a time does not become an object (foxglove.Pose)"},
		{"repeated Small m = 1;", "repeated Pair m = 1;", `{}`, engram.TypeMismatch, "an object (test.Small) does not become a list of 2 items"},
		{"Pair p = 1;", "Triple p = 1;", `{}`, engram.TypeMismatch, "a list of 2 items does not become a list of 3 items"},
		{"bool b = 1;", "int32 b = 1;", `{}`, engram.TypeMismatch, "a bool does not become a number"},
		{"bytes b = 1;", "string b = 1;", `{}`, engram.TypeMismatch, "bytes does not become a string"},
		{"repeated MaybeInt l = 1;", "repeated string l = 1;", `{}`, engram.TypeMismatch, "member l: cast from test.M: a number (int32) does not become a string"},
		{"repeated MaybeSmall l = 1;", "repeated MaybeInt l = 1;", `{}`, engram.TypeMismatch, "an object (test.Small) does not become a number (int32)"},
		{"repeated MaybeInt l = 1;", "repeated int32 l = 1;", `{"l":[1,null]}`, engram.TypeMismatch, "member l[1]: cast from test.M: expected a number (int32), got null"},
		// What may fit is refused where it does not.
		{"double n = 1;", "int32 n = 1;", `{"n":0.5}`, engram.OutOfRange, "member n: cast from test.M: the number 0.5 does not fit"},
		{"repeated int64 l = 1;", "repeated uint32 l = 1;", `{"l":[1,-1]}`, engram.OutOfRange, "member l[1]: cast from test.M: the number -1 does not fit"},
		{"Mood e = 1;", "Temper e = 1;", `{"e":"GLAD"}`, engram.TypeMismatch, `test.Temper has no value "GLAD"`},
		{"engram.idf.v1.Value v = 1;", "Small v = 1;", `{"v":{"x":"y"}}`, engram.TypeMismatch, `member v.x: cast from test.M: expected a number (double), got the string "y"`},
		{"int32 a = 1; int32 b = 2;", "oneof o { int32 a = 1; int32 b = 2; }", `{"a":1,"b":2}`, engram.Invalid, "member b: cast from test.M: excludes a"},
	} {
		from, to := castTypes(t, c.from, c.to)
		b, err := from.FromJSON([]byte(c.json))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Cast(from, b, to)
		if engram.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s -> %s:\n%v\nnot %v: %s", c.from, c.to, err, c.code, c.want)
		}
	}
	from, to := castTypes(t, "int32 n = 1;", "int64 n = 1;")
	if _, err := Cast(from, []byte{0xff}, to); engram.CodeOf(err) != engram.Corrupt {
		t.Errorf("what is no payload: %v", err)
	}
}

// TestCastThereAndBack: a cast to a type of the same members, numbered otherwise, and
// back gives the same payload.
func TestCastThereAndBack(t *testing.T) {
	from := zoo(t)
	text := PrintProto(from)
	// The same members under other numbers.
	other := compiled(t, "acme.Zoo", strings.NewReplacer("string name = 1;", "string name = 101;", "int32 count = 2;", "int32 count = 102;",
		"repeated double joints = 8;", "repeated double joints = 108;", "Zoo child = 29;", "Zoo child = 129;").Replace(text))
	if from.Same(other) {
		t.Fatal("the numbers are the same")
	}
	rapid.Check(t, func(t *rapid.T) {
		b, _ := contents{t: t, regular: true}.wire(from.Descriptor())
		there, err := Cast(from, b, other)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Cast(other, there, from)
		if err != nil {
			t.Fatal(err)
		}
		va, err := from.Decode(b)
		vb, err2 := from.Decode(back)
		if err != nil || err2 != nil || show(va) != show(vb) {
			t.Fatalf("changed on the way from\n%s to\n%s, %v, %v", show(va), show(vb), err, err2)
		}
	})
}

func TestCastToTheSame(t *testing.T) {
	ty, b := zoo(t), zooPayload(t)
	out, err := Cast(ty, b, zoo(t))
	if err != nil || !bytes.Equal(out, b) {
		t.Fatal(err)
	}
	out[0]++
	if bytes.Equal(out, b) {
		t.Error("the result shares its bytes with the payload")
	}
	v, err := Cast(ty, mustEncode(t, ty, map[string]any{"name": "cup", "points": []any{map[string]any{"x": 1}}}), known(t, engram.ValueType))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := DecodeValue(v)
	if err != nil || whole.(map[string]any)["name"] != "cup" {
		t.Errorf("as a Value: %v, %v", whole, err)
	}
}

func FuzzCast(f *testing.F) {
	types := fuzzTypes(f)
	f.Add(uint8(0), uint8(1), zooPayload(f))
	f.Add(uint8(1), uint8(0), []byte{})
	f.Add(uint8(2), uint8(3), []byte(wire{}.bytes(7, []byte("frame"))))
	f.Fuzz(func(t *testing.T, from, to uint8, b []byte) {
		src, dst := types[int(from)%len(types)], types[int(to)%len(types)]
		if src == dst {
			return
		}
		out, err := Cast(src, b, dst)
		if err != nil {
			return
		}
		if err := dst.Check(out); err != nil && engram.CodeOf(err) == engram.Corrupt {
			t.Fatalf("cast to %s: %v", dst.Name(), err)
		}
	})
}

func BenchmarkCast(b *testing.B) {
	from, to := castTypes(b, "Small m = 1; repeated double l = 2; foxglove.Pose p = 3;", "Large m = 1; repeated double l = 2; foxglove.Pose p = 3;")
	payload := mustEncode(b, from, map[string]any{"m": map[string]any{"x": 1}, "l": make([]float64, 43)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Cast(from, payload, to); err != nil {
			b.Fatal(err)
		}
	}
}
