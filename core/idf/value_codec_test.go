package idf

import (
	"bytes"
	"encoding/json"
	"math/big"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// within reports whether seconds and nanoseconds fit an int64 of nanoseconds.
func within(sec, nanos int64) bool {
	n := new(big.Int).Mul(big.NewInt(sec), big.NewInt(1e9))
	return n.Add(n, big.NewInt(nanos)).IsInt64()
}

func protoDuration(sec, nanos int64) any {
	if nanos <= -1e9 || nanos >= 1e9 || sec > 0 && nanos < 0 || sec < 0 && nanos > 0 || !within(sec, nanos) {
		return nil
	}
	return time.Duration(sec*1e9 + nanos)
}

func TestDecodeAgainstProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := randomType(t, false)
		b, m := contents{t: t}.wire(ty.Descriptor())
		got, err := ty.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if want := plainOf(m); show(got) != show(want) {
			t.Fatalf("decoded\n%s\nprotobuf-go has\n%s", show(got), show(want))
		}
	})
}

// equalMessages compares by protobuf-go, unknown fields and the order of records
// aside. Links are compared as IDs.
func equalMessages(t *rapid.T, ty *Type, a, b []byte) bool {
	return proto.Equal(unmarshal(t, ty.Descriptor(), a), unmarshal(t, ty.Descriptor(), b))
}

func TestEncodeOfDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := randomType(t, false)
		b, m := contents{t: t, regular: true}.wire(ty.Descriptor())
		v, err := ty.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ty.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if !equalMessages(t, ty, back, b) {
			t.Fatalf("encoded again as\n%v\nnot\n%v", unmarshal(t, ty.Descriptor(), back), m)
		}
		if err := ty.Check(back); err != nil {
			t.Fatalf("what Encode wrote does not pass Check: %v", err)
		}
		again, err := ty.Encode(v)
		if err != nil || !bytes.Equal(again, back) {
			t.Fatalf("encoding twice gave %x and %x (%v)", back, again, err)
		}
	})
}

func TestJSONBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := randomType(t, false)
		regular := rapid.Bool().Draw(t, "regular")
		b, m := contents{t, regular}.wire(ty.Descriptor())
		o := JSONOptions{
			SummarizeBytes: -1,
			AllMembers:     rapid.Bool().Draw(t, "all"),
		}
		j, err := ty.JSON(b, o)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(j) {
			t.Fatalf("not JSON:\n%s", j)
		}
		back, err := ty.FromJSON(j)
		if err != nil {
			t.Fatalf("%v\n%s", err, j)
		}
		if !equalMessages(t, ty, back, b) {
			t.Fatalf("read back as\n%v\nnot\n%v\n%s", unmarshal(t, ty.Descriptor(), back), m, j)
		}
		again, err := ty.JSON(back, o)
		if err != nil || !bytes.Equal(again, j) {
			t.Fatalf("shown again as\n%s\nnot\n%s (%v)", again, j, err)
		}
		v, _ := ty.Decode(b)
		if canonical, err := ty.Encode(v); err == nil && regular && !bytes.Equal(back, canonical) {
			t.Fatalf("read back as\n%x\nnot\n%x\n%s", back, canonical, j)
		}
	})
}

func TestJSONAgainstProtojson(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := randomType(t, true)
		b, m := contents{t: t}.wire(ty.Descriptor())
		all := rapid.Bool().Draw(t, "all")
		got, err := ty.JSON(b, JSONOptions{SummarizeBytes: -1, AllMembers: all})
		if err != nil {
			t.Fatal(err)
		}
		want, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: all}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := sameJSON(t, got), sameJSON(t, want); a != b {
			t.Fatalf("ours:\n%s\nprotojson:\n%s", a, b)
		}
		back, err := ty.FromJSON(want)
		if err != nil {
			t.Fatalf("%v\n%s", err, want)
		}
		if !equalMessages(t, ty, back, b) {
			t.Fatalf("protojson's text read as %v, not %v", unmarshal(t, ty.Descriptor(), back), m)
		}
	})
}

// sameJSON brings a JSON text into one form.
func sameJSON(t *rapid.T, j []byte) string {
	var v any
	if err := json.Unmarshal(j, &v); err != nil {
		t.Fatalf("%v\n%s", err, j)
	}
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// FuzzDecode feeds bytes to all that reads payloads: what passes Check can be
// decoded, shown and encoded again.
func FuzzDecode(f *testing.F) {
	types := fuzzTypes(f)
	for i := range types {
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), []byte("\n\x02\x08\x01\x12\x04\x0a\x02hi"))
		f.Add(uint8(i), bytes.Repeat([]byte{0x52, 0x7e, 0x0a, 0x7c}, 60))
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		ty := types[int(which)%len(types)]
		checked := ty.Check(b)
		v, err := ty.Decode(b)
		j, jerr := ty.JSON(b, JSONOptions{SummarizeBytes: -1})
		if (err == nil) != (jerr == nil) {
			t.Fatalf("Decode: %v; JSON: %v", err, jerr)
		}
		if err != nil {
			if checked == nil {
				t.Fatalf("passes Check, but: %v", err)
			}
			return
		}
		if _, err := ty.Encode(v); err != nil && engram.CodeOf(err) != engram.Invalid {
			t.Fatalf("encoding what was decoded: %v", err)
		}
		back, err := ty.FromJSON(j)
		if err != nil {
			t.Fatalf("reading JSON back: %v\n%s", err, j)
		}
		again, err := ty.JSON(back, JSONOptions{SummarizeBytes: -1})
		if err != nil || !bytes.Equal(again, j) {
			t.Fatalf("JSON read back is shown as\n%s\nnot\n%s (%v)", again, j, err)
		}
	})
}

// fuzzTypes returns types that together have every kind of member.
func fuzzTypes(t testing.TB) []*Type {
	types := []*Type{zoo(t)}
	for _, name := range []string{
		engram.ValueType, "foxglove.RawImage", "foxglove.PosesInFrame", "foxglove.LocationFix",
		"google.protobuf.Struct", "engram.idf.v1.Matrix",
	} {
		types = append(types, known(t, name))
	}
	return types
}

// zoo is a type with every kind of member.
func zoo(t testing.TB) *Type {
	return compiled(t, "acme.Zoo", `
		syntax = "proto3";
		package acme;
		import "engram/idf/v1/options.proto";
		import "engram/idf/v1/value.proto";
		import "foxglove/Pose.proto";
		import "foxglove/RawImage.proto";
		import "google/protobuf/duration.proto";
		import "google/protobuf/timestamp.proto";
		enum Mood {
			MOOD_NONE = 0 [(engram.idf.v1.key) = "none"];
			MOOD_GLAD = 1 [(engram.idf.v1.key) = "glad"];
			MOOD_SAD = 2;
		}
		message Points {
			option (engram.idf.v1.wrapper) = WRAPPER_LIST;
			repeated Point items = 1;
		}
		message Names {
			option (engram.idf.v1.wrapper) = WRAPPER_DICT;
			map<string, string> items = 1;
		}
		message Pair {
			option (engram.idf.v1.wrapper) = WRAPPER_TUPLE;
			string item0 = 1;
			Point item1 = 2;
		}
		message Point {
			double x = 1;
			double y = 2;
			string label = 3;
			optional int32 rank = 4;
		}
		message Zoo {
			string name = 1;
			int32 count = 2;
			uint64 total = 3;
			float ratio = 4;
			bool ok = 5;
			bytes raw = 6;
			Mood mood = 7;
			repeated double joints = 8;
			repeated string tags = 9;
			repeated Point points = 10;
			map<string, Point> named = 11;
			map<int32, string> numbered = 12;
			repeated Points rows = 13;
			optional Names names = 30;
			map<string, Names> nested = 31;
			Pair pair = 14;
			google.protobuf.Timestamp time = 15;
			google.protobuf.Duration took = 16;
			engram.idf.v1.Link seen_in = 17;
			repeated engram.idf.v1.Link links = 18;
			engram.idf.v1.NDArray array = 19;
			engram.idf.v1.Matrix matrix = 20 [(engram.idf.v1.shape) = {dtype: FLOAT32}];
			engram.idf.v1.Value any = 21;
			map<string, engram.idf.v1.Value> extras = 22;
			foxglove.Pose pose = 23;
			foxglove.RawImage image = 24;
			oneof choice {
				string word = 25;
				int64 number = 26;
				Point place = 27;
			}
			optional string note = 28;
			Zoo child = 29;
			sint64 far = 200;
		}`)
}

// TestManyParts: a message in very many records is read in time that grows with its
// size, not with its square.
func TestManyParts(t *testing.T) {
	ty := zoo(t)
	const n = 100_000
	var b, list wire
	for range n {
		list = list.bytes(10, wire{}.bytes(1, nil)) // one part of a list in a Value
		b = b.bytes(29, wire{}.bytes(9, nil))       // one part of child, with a tag
	}
	b = b.bytes(21, list)
	v, err := ty.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	object := v.(map[string]any)
	if got := len(object["any"].([]any)); got != n {
		t.Errorf("%d items in the Value, not %d", got, n)
	}
	if got := len(object["child"].(map[string]any)["tags"].([]any)); got != n {
		t.Errorf("%d tags, not %d", got, n)
	}
	s := &engram.Snapshot{Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: ty.Name(), Bytes: b})}}
	if !compileFilter(t, `size(any) == 100000 && size(child.tags) == 100000`).Match(ty, s, 0) {
		t.Error("the filter sees other lists")
	}
}
