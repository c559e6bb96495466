package codec_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// named has lists beside lists of names, in every order.
const named = `syntax = "proto3";
package test;
message Joint { double q = 1; optional float limit = 2; }
message Named {
  repeated double q = 1; repeated string name = 2; repeated sint32 mode = 3; repeated Joint joint = 4;
  Named arm = 5; optional double charge = 6; oneof power { double volts = 7; uint64 ticks = 8; }
}`

// sameRows compares what is read of columns with what is read of snapshots, NaN by their bits.
func sameRows(t testkit.T, c codec.Config, rows *idf.NumberRows, snapshots []*engram.Snapshot, paths []string) {
	out, stored := code(t, c, snapshots)
	dec := decoderOf(t, c)
	at := 0
	for _, m := range stored {
		got, err := dec.(codec.NumberDecoder).DecodeNumbers(context.Background(), m, rows)
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		want := codec.RowsOf(out[at:at+len(m.Snapshots)], rows)
		if len(got) != len(want) {
			t.Fatalf("%d rows, not %d", len(got), len(want))
		}
		for i := range want {
			if len(got[i]) != len(want[i]) {
				t.Fatalf("%q of snapshot %d are %v, not %v", paths, at+i, got[i], want[i])
			}
			for k, v := range want[i] {
				if math.Float64bits(got[i][k]) != math.Float64bits(v) {
					t.Fatalf("%s of snapshot %d is %v (%x), not %v (%x)", paths[k], at+i, got[i][k], math.Float64bits(got[i][k]), v, math.Float64bits(v))
				}
			}
		}
		at += len(m.Snapshots)
	}
}

// Numbers that are read of columns are those of the payloads, whatever these are and whatever is asked for.
func TestColumnsTellNumbers(t *testing.T) {
	types := registry(t)
	defs, err := idf.CompileProto(idf.Source{fstest.MapFS{"named.proto": {Data: []byte(named)}}}, "named.proto")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range defs {
		if _, err := types.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"knee", "hip", "", "elbow"}
	own := []string{"q[0]", "q[2]", `q["knee"]`, `q["elbow"]`, `mode["hip"]`, `joint["knee"].q`, `joint["hip"].limit`, "joint[1].limit", `arm.q["knee"]`, "arm.arm.charge", "charge", "volts", "ticks", "arm.joint[0].q"}
	others := []string{"ds[1]", "ds[128]", "ds[131]", "ss[129]", "ss[0]", "points[128].z", "unpacked[2]", "took", "stamp", "stamps[1]", "maybe", "p.x", "c", "b", "s64", "u64", "sf32", "number", `joints["a"]`, "value"}
	rapid.Check(t, func(t *rapid.T) {
		typ := typeOfRapid(t, types, rapid.SampledFrom([]string{"test.Everything", "test.Named"}).Draw(t, "type"))
		var paths []string
		for range rapid.IntRange(1, 5).Draw(t, "paths") {
			path := rapid.SampledFrom(own).Draw(t, "path")
			if typ.Name() == "test.Everything" {
				path = rapid.SampledFrom(others).Draw(t, "path")
				if rapid.Bool().Draw(t, "any path") {
					path = drawPath(t, typ.Descriptor(), 0)
				}
			}
			paths = append(paths, path) // some are no numbers, or of the other type
		}
		m := dynamicpb.NewMessage(typ.Descriptor())
		fill(t, m, 1)
		once := rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, "names")
		long := rapid.IntRange(0, 3).Draw(t, "long lists") == 0
		steady := rapid.IntRange(0, 2).Draw(t, "how steady") > 0
		var snapshots []*engram.Snapshot
		for i := range 9 {
			s := &engram.Snapshot{Time: engram.Time(i)}
			for range 1 + i%2*rapid.IntRange(0, 1).Draw(t, "more instances") {
				if !steady {
					m = dynamicpb.NewMessage(typ.Descriptor())
					fill(t, m, 2)
				}
				if typ.Name() == "test.Everything" && long {
					for _, name := range []protoreflect.Name{"ds", "ss"} {
						fd := m.Descriptor().Fields().ByName(name)
						m.Clear(fd)
						for range rapid.IntRange(120, 135).Draw(t, "length") {
							m.Mutable(fd).List().Append(drawScalar(t, fd))
						}
					}
				}
				if typ.Name() == "test.Named" {
					joints(t, m, names, once, steady)
					if rapid.IntRange(0, 3).Draw(t, "an arm") > 0 {
						joints(t, m.Mutable(m.Descriptor().Fields().ByName("arm")).Message(), names, once, steady)
					}
				}
				b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
				if err != nil {
					t.Fatalf("marshal: %v", err)
				}
				if rapid.IntRange(0, 30).Draw(t, "it is kept as it is") == 0 {
					b = append(b, 0xf8, 0xfa, 1, 0) // an unknown member
				}
				s.Instances = append(s.Instances, engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b}))
			}
			snapshots = append(snapshots, s)
		}
		rows, err := idf.NewNumberRows(types, paths, rapid.IntRange(0, 1).Draw(t, "instance"), nil)
		if err != nil {
			t.Fatalf("%q: %v", paths, err)
		}
		sameRows(t, codec.Config{Codec: codec.Columns, Payload: typ, Types: types}, rows, snapshots, paths)
	})
}

// joints gives a message lists beside names: mostly the same names, with as many elements.
func joints(t *rapid.T, m protoreflect.Message, names, once []string, steady bool) {
	fields := m.Descriptor().Fields()
	called := once
	if !steady && rapid.Bool().Draw(t, "other names") {
		called = rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, "names")
	}
	for _, name := range []protoreflect.Name{"name", "q", "mode", "joint"} {
		fd := fields.ByName(name)
		m.Clear(fd)
		n := len(called)
		if rapid.IntRange(0, 9).Draw(t, "another length") == 0 {
			n = rapid.IntRange(0, 5).Draw(t, "length")
		}
		list := m.Mutable(fd).List()
		for i := range n {
			switch {
			case name == "name" && i < len(called):
				list.Append(protoreflect.ValueOfString(called[i]))
			case fd.Message() != nil:
				fill(t, list.AppendMutable().Message(), 3)
			default:
				list.Append(drawScalar(t, fd))
			}
		}
	}
}

func typeOfRapid(t *rapid.T, types *idf.Registry, name string) *idf.Type {
	typ, ok := types.Get(name)
	if !ok {
		t.Fatalf("there is no type %s", name)
	}
	return typ
}

// What is damaged gives an error or numbers, and no panic.
func TestColumnsTellNumbersOfDamagedMessages(t *testing.T) {
	types := registry(t)
	everything := typeOf(t, types, "test.Everything")
	rapid.Check(t, func(t *rapid.T) {
		var snapshots []*engram.Snapshot
		for i := range 5 {
			m := dynamicpb.NewMessage(everything.Descriptor())
			fill(t, m, 1)
			b, err := proto.Marshal(m)
			if err != nil {
				t.Fatalf("marshal: %v", err)
			}
			snapshots = append(snapshots, &engram.Snapshot{Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "test.Everything", Bytes: b})}})
		}
		c := codec.Config{Codec: codec.Columns, Payload: everything, Types: types}
		_, stored := code(t, c, snapshots)
		rows, err := idf.NewNumberRows(types, []string{"d", "ds[1]", "points[2].x", "took", "again.f"}, 0, nil)
		if err != nil {
			t.Fatalf("rows: %v", err)
		}
		m := stored[0]
		m.Bytes = damage(t, m.Bytes)
		if _, err := decoderOf(t, c).(codec.NumberDecoder).DecodeNumbers(context.Background(), m, rows); err != nil && engram.CodeOf(err) != engram.Corrupt && engram.CodeOf(err) != engram.Unsupported {
			t.Fatalf("%v", err)
		}
	})
}

// Payloads that were written by another definition of their type have the numbers that their bytes have by the one that is
// known: an unset member is not zero, and what cannot be read is no number.
func TestColumnsTellNumbersByTheDefinitionThatIsKnown(t *testing.T) {
	define := func(members string) *idf.Registry {
		return registryOf(t, `syntax = "proto3"; package test; import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
			message Sub { double x = 1; } message Changed { `+members+" }")
	}
	written := define(`double always = 1; optional double maybe = 2; float single = 3; int64 i = 4; google.protobuf.Timestamp at = 5;
		Sub sub = 6; repeated double list = 7; double alone = 8; uint32 u = 9; oneof one { double a = 10; double b = 11; } fixed64 f = 12;`)
	known := define(`optional double always = 1; double maybe = 2; double single = 3; sint64 i = 4; google.protobuf.Duration at = 5;
		google.protobuf.Duration sub = 6; double list = 7; repeated double alone = 8; bool u = 9; double a = 10; optional double b = 11; double f = 12; double more = 13;`)
	c := codec.Config{Codec: codec.Columns, Payload: typeOf(t, written, "test.Changed"), Types: written}
	var snapshots []*engram.Snapshot
	for i := range 6 {
		text := fmt.Sprintf(`{"always": %d, "single": 1.5, "i": %d, "at": "1969-12-31T23:59:5%d.5Z", "sub": {"x": 2}, "list": [1, %d], "alone": %d, "u": %d, "f": %d`, i%2, -i, i, i, i%3, i, i)
		if i%3 > 0 {
			text += fmt.Sprintf(`, "maybe": %d, "%c": %d`, i%3-1, 'a'+i%2, i%4)
		}
		b, err := c.Payload.FromJSON([]byte(text + "}"))
		if err != nil {
			t.Fatal(err)
		}
		snapshots = append(snapshots, &engram.Snapshot{Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "test.Changed", Bytes: b})}})
	}
	for _, path := range []string{"always", "maybe", "single", "i", "at", "sub", "list", "alone[0]", "alone[1]", "u", "a", "b", "f", "more"} {
		rows, err := idf.NewNumberRows(known, []string{path}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, c, rows, snapshots, []string{path})
	}
}

// A decoder that waits for its next message holds nothing of the last one.
func TestColumnsThatToldNumbersHoldNothing(t *testing.T) {
	types := registry(t)
	c := codec.Config{Codec: codec.Columns, Payload: typeOf(t, types, "test.Everything"), Types: types}
	list := dynamicpb.NewMessage(c.Payload.Descriptor())
	field := list.Descriptor().Fields().ByName("ds")
	for i := range 100 {
		list.Mutable(field).List().Append(protoreflect.ValueOfFloat64(float64(i) / 3))
	}
	b, err := proto.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	_, stored := code(t, c, []*engram.Snapshot{{Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "test.Everything", Bytes: b})}}})
	rows, err := idf.NewNumberRows(types, []string{"ds[1]"}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	dec := decoderOf(t, c)
	for range 2 { // it serves again
		got, err := dec.(codec.NumberDecoder).DecodeNumbers(context.Background(), stored[0], rows)
		if err != nil || got[0][0] != 1./3 {
			t.Fatal(got, err)
		}
		if held := codec.HeldByColumns(dec); held > 0 {
			t.Errorf("%d nodes hold a part of the message", held)
		}
	}
}
