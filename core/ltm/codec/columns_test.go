package codec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// everything has members of every kind there is.
const everything = `syntax = "proto3";
package test;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "engram/idf/v1/value.proto";
enum Colour { RED = 0; GREEN = 1; BLUE = 5; }
message Point { double x = 1; double y = 2; float z = 3; }
message Everything {
  bool b = 1; int32 i32 = 2; int64 i64 = 3; uint32 u32 = 4; uint64 u64 = 5;
  sint32 s32 = 6; sint64 s64 = 7; fixed32 f32 = 8; fixed64 f64 = 9;
  sfixed32 sf32 = 10; sfixed64 sf64 = 11; float f = 12; double d = 13;
  string s = 14; bytes y = 15; Colour c = 16; Point p = 17;
  repeated double ds = 18; repeated sint32 ss = 19; repeated int64 unpacked = 20 [packed = false];
  repeated string names = 21; repeated Point points = 22;
  map<string, double> joints = 23; map<int32, Point> places = 24;
  optional double maybe = 25; optional string text = 26;
  oneof choice { double number = 27; string word = 28; Point where = 29; }
  Everything again = 30; engram.idf.v1.Value value = 31;
  google.protobuf.Timestamp stamp = 32; google.protobuf.Duration took = 33;
  repeated google.protobuf.Timestamp stamps = 34;
  repeated fixed32 far = 5000;
}`

func registry(t testing.TB) *idf.Registry { return registryOf(t, everything) }

// registryOf knows the types of a .proto file.
func registryOf(t testing.TB, file string) *idf.Registry {
	t.Helper()
	defs, err := idf.CompileProto(idf.Source{fstest.MapFS{"test.proto": {Data: []byte(file)}}}, "test.proto")
	if err != nil {
		t.Fatal(err)
	}
	types := idf.NewRegistry()
	for _, d := range defs {
		if _, err := types.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	return types
}

func typeOf(t testing.TB, types *idf.Registry, name string) *idf.Type {
	t.Helper()
	typ, ok := types.Get(name)
	if !ok {
		t.Fatalf("no type %s", name)
	}
	return typ
}

func decoderOf(t testkit.T, c codec.Config) codec.Decoder {
	t.Helper()
	dec, err := codec.NewDecoder(c)
	if err != nil {
		t.Fatalf("decoder: %v", err)
	}
	return dec
}

// code writes snapshots with a codec and reads them again. It returns the stored
// bytes of all messages.
func code(t testkit.T, c codec.Config, snapshots []*engram.Snapshot) (out []*engram.Snapshot, stored []codec.Message) {
	t.Helper()
	ctx := context.Background()
	enc, c, err := codec.NewEncoder(c)
	if err != nil {
		t.Fatalf("encoder: %v", err)
	}
	emit := func(m codec.Message) error { stored = append(stored, m); return nil }
	for _, s := range snapshots {
		if err := enc.Encode(ctx, s, emit); err != nil {
			t.Fatalf("encode: %v", err)
		}
	}
	if err := enc.Flush(ctx, emit); err != nil {
		t.Fatalf("flush: %v", err)
	}
	if len(enc.Pending()) != 0 {
		t.Fatalf("%d snapshots are pending after a flush", len(enc.Pending()))
	}
	dec := decoderOf(t, c)
	for _, m := range stored {
		got, err := dec.Decode(ctx, m, nil)
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		out = append(out, got...)
	}
	return out, stored
}

func sameSnapshots(t testkit.T, got, want []*engram.Snapshot) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d snapshots came back of %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Time != w.Time || g.Arrived != w.Arrived || g.Number != w.Number || len(g.Instances) != len(w.Instances) {
			t.Fatalf("snapshot %d is %+v, want %+v", i, g, w)
		}
		for j := range w.Instances {
			a, b := g.Instances[j], w.Instances[j]
			if a.Payload.Type != b.Payload.Type || !bytes.Equal(a.Payload.Bytes, b.Payload.Bytes) || a.Confidence != b.Confidence || a.Sent != b.Sent {
				t.Fatalf("instance %d of snapshot %d is %s %.200x, want %s %.200x", j, i, a.Payload.Type, a.Payload.Bytes, b.Payload.Type, b.Payload.Bytes)
			}
		}
	}
}

// fill sets some members of a message to values, weird ones among them.
func fill(t *rapid.T, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for range rapid.IntRange(0, 8).Draw(t, "members") {
		fd := fields.Get(rapid.IntRange(0, fields.Len()-1).Draw(t, "member"))
		switch {
		case fd.IsMap():
			for range rapid.IntRange(0, 4).Draw(t, "entries") {
				key := drawScalar(t, fd.MapKey()).MapKey()
				if fd.MapValue().Message() != nil {
					v := m.Mutable(fd).Map().NewValue()
					fill(t, v.Message(), depth+1)
					m.Mutable(fd).Map().Set(key, v)
				} else {
					m.Mutable(fd).Map().Set(key, drawScalar(t, fd.MapValue()))
				}
			}
		case fd.IsList():
			for range rapid.IntRange(0, 140/(depth*depth*depth*4+1)).Draw(t, "elements") {
				if fd.Message() != nil {
					fill(t, m.Mutable(fd).List().AppendMutable().Message(), depth+1)
				} else {
					m.Mutable(fd).List().Append(drawScalar(t, fd))
				}
			}
		case fd.Message() != nil:
			if depth < 5 {
				fill(t, m.Mutable(fd).Message(), depth+1)
			}
		default:
			m.Set(fd, drawScalar(t, fd))
		}
	}
}

func drawScalar(t *rapid.T, fd protoreflect.FieldDescriptor) protoreflect.Value {
	i := rapid.OneOf(rapid.Int64Range(-3, 100), rapid.Int64()).Draw(t, "i")
	x := rapid.OneOf(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(-1), 0.25, 1e300}), rapid.Float64()).Draw(t, "x")
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(i&1 != 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(i))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(i))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(i)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(i))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(i))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(x))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(x)
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes"))
	}
	return protoreflect.ValueOfString(rapid.StringMatching(`[a-c]{0,3}|ä{80}`).Draw(t, "text"))
}

// damage makes of an encoded message one that no encoder writes.
func damage(t *rapid.T, b []byte) []byte {
	switch at := rapid.IntRange(0, len(b)).Draw(t, "at"); rapid.IntRange(0, 5).Draw(t, "damage") {
	case 0: // cut
		return b[:at]
	case 1: // a member twice, or in the wrong order
		return append(bytes.Clone(b), b...)
	case 2: // an unknown member
		return protowire.AppendVarint(protowire.AppendTag(bytes.Clone(b), 4000, protowire.VarintType), 7)
	case 3: // a varint that is longer than need be
		return append(protowire.AppendTag(bytes.Clone(b), 5001, protowire.VarintType), 0x80, 0x00)
	case 4: // a zero that is written
		return append([]byte{8, 0}, b...)
	default:
		return rapid.SliceOf(rapid.Byte()).Draw(t, "any")
	}
}

func TestColumnsGiveBackEveryPayload(t *testing.T) {
	types := registry(t)
	everything := typeOf(t, types, "test.Everything")
	rapid.Check(t, func(t *rapid.T) {
		var snapshots []*engram.Snapshot
		m := dynamicpb.NewMessage(everything.Descriptor())
		for i := range rapid.IntRange(1, 15).Draw(t, "snapshots") {
			s := &engram.Snapshot{Time: engram.Time(rapid.Int64().Draw(t, "time")), Arrived: engram.Time(i), Number: uint64(i)}
			for range rapid.IntRange(1, 2).Draw(t, "instances") {
				if rapid.IntRange(0, 3).Draw(t, "new") == 0 {
					m = dynamicpb.NewMessage(everything.Descriptor())
				}
				fill(t, m, 0)
				b, err := proto.MarshalOptions{Deterministic: rapid.Bool().Draw(t, "deterministic")}.Marshal(m)
				if err != nil {
					t.Fatalf("marshal: %v", err)
				}
				if rapid.IntRange(0, 9).Draw(t, "weird") == 0 {
					b = damage(t, b)
				}
				name := "test.Everything"
				if rapid.IntRange(0, 20).Draw(t, "other type") == 0 {
					name = rapid.SampledFrom([]string{"test.Point", "test.Unknown"}).Draw(t, "name")
				}
				s.Instances = append(s.Instances, engram.NewInstance(engram.Payload{Type: name, Bytes: b}))
			}
			snapshots = append(snapshots, s)
		}
		got, _ := code(t, codec.Config{Codec: codec.Columns, Payload: everything, Types: types}, snapshots)
		sameSnapshots(t, got, snapshots)
	})
}

// pointsOf returns snapshots of test.Point.
func pointsOf(n int, at func(i int) (x, y, z float64)) []*engram.Snapshot {
	var snapshots []*engram.Snapshot
	for i := range n {
		x, y, z := at(i)
		var b []byte
		b = protowire.AppendFixed64(protowire.AppendTag(b, 1, protowire.Fixed64Type), math.Float64bits(x))
		b = protowire.AppendFixed64(protowire.AppendTag(b, 2, protowire.Fixed64Type), math.Float64bits(y))
		b = protowire.AppendFixed32(protowire.AppendTag(b, 3, protowire.Fixed32Type), math.Float32bits(float32(z)))
		snapshots = append(snapshots, &engram.Snapshot{Time: engram.Time(i) * 1e7, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "test.Point", Bytes: b})}})
	}
	return snapshots
}

func TestColumnsKeepToTheErrorThatIsAllowed(t *testing.T) {
	types := registry(t)
	point := typeOf(t, types, "test.Point")
	const most = 1e-3
	snapshots := pointsOf(3000, func(i int) (x, y, z float64) {
		x, y, z = math.Sin(float64(i)/50), 1e9*math.Cos(float64(i)/20), math.Sqrt(float64(i))
		if i%100 == 0 {
			x = []float64{math.NaN(), math.Inf(1), math.Copysign(0, -1), 1e308}[i/100%4]
		}
		return x, y, z
	})
	got, stored := code(t, codec.Config{Codec: codec.Columns, Payload: point, Types: types, MaxError: most}, snapshots)
	exact, _ := code(t, codec.Config{Codec: codec.Columns, Payload: point, Types: types}, snapshots)
	sameSnapshots(t, exact, snapshots)
	read := func(s *engram.Snapshot) (v [3]float64) {
		for b := s.Instances[0].Payload.Bytes; len(b) > 0; {
			num, typ, n := protowire.ConsumeTag(b)
			b = b[n:]
			if typ == protowire.Fixed32Type {
				bits, n := protowire.ConsumeFixed32(b)
				v[num-1], b = float64(math.Float32frombits(bits)), b[n:]
			} else {
				bits, n := protowire.ConsumeFixed64(b)
				v[num-1], b = math.Float64frombits(bits), b[n:]
			}
		}
		return v
	}
	changed := 0
	for i := range snapshots {
		want, got := read(snapshots[i]), read(got[i])
		for j := range want {
			if math.Float64bits(want[j]) == math.Float64bits(got[j]) {
				continue
			}
			changed++
			if !(math.Abs(want[j]-got[j]) <= most) || want[j] == 0 {
				t.Fatalf("member %d of snapshot %d is %v, want %v within %v", j, i, got[j], want[j], most)
			}
		}
	}
	if changed < 3000 {
		t.Errorf("only %d values differ: the error that is allowed is not used", changed)
	}
	if len(stored) < 3 {
		t.Errorf("%d messages for 3000 snapshots", len(stored))
	}
}

// Each snapshot of many can be read alone, whatever it is made of.
func TestColumnsReadEachAlone(t *testing.T) {
	types := registry(t)
	everything := typeOf(t, types, "test.Everything")
	rapid.Check(t, func(t *rapid.T) {
		var snapshots []*engram.Snapshot
		m := dynamicpb.NewMessage(everything.Descriptor())
		fill(t, m, 2)
		regular := rapid.Bool().Draw(t, "regular")
		for i := range 12 {
			if regular { // the same members each time
				m.Set(m.Descriptor().Fields().ByName("i64"), protoreflect.ValueOfInt64(int64(i+1)))
			} else {
				fill(t, m, 3)
			}
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				t.Fatalf("marshal: %v", err)
			}
			p := engram.NewInstance(engram.Payload{Type: "test.Everything", Bytes: b})
			snapshots = append(snapshots, &engram.Snapshot{Time: engram.Time(i), Instances: []engram.Instance{p}})
		}
		c := codec.Config{Codec: codec.Columns, Payload: everything, Types: types}
		_, stored := code(t, c, snapshots)
		dec := decoderOf(t, c)
		for i, s := range snapshots {
			want := make([]bool, len(snapshots))
			want[i] = true
			got, err := dec.Decode(context.Background(), stored[0], want)
			if err != nil {
				t.Fatalf("decode: %v", err)
			}
			sameSnapshots(t, got[i:i+1], []*engram.Snapshot{s})
		}
	})
}

// One snapshot of many is read without the others' payloads.
func TestColumnsReadOnlyWhatIsWanted(t *testing.T) {
	types := registry(t)
	point := typeOf(t, types, "test.Point")
	snapshots := pointsOf(100, func(i int) (x, y, z float64) { return float64(i), float64(-i), 0.5 })
	c := codec.Config{Codec: codec.Columns, Payload: point, Types: types}
	_, stored := code(t, c, snapshots)
	dec := decoderOf(t, c)
	want := make([]bool, 100)
	want[42], want[7] = true, true
	got, err := dec.Decode(context.Background(), stored[0], want)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range got {
		if b := s.Instances[0].Payload.Bytes; want[i] != (b != nil) || want[i] && !bytes.Equal(b, snapshots[i].Instances[0].Payload.Bytes) {
			t.Errorf("snapshot %d has %x", i, b)
		}
	}
}

// What emit refuses waits on, and the snapshot at hand counts as not taken.
func TestColumnsKeepWhatIsRefused(t *testing.T) {
	types := registry(t)
	snapshots := pointsOf(1500, func(i int) (x, y, z float64) { return float64(i), 1, 2 })
	enc, c, err := codec.NewEncoder(codec.Config{Codec: codec.Columns, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var stored []codec.Message
	full := true
	emit := func(m codec.Message) error {
		if full {
			return errors.New("disk full")
		}
		stored = append(stored, m)
		return nil
	}
	var taken []*engram.Snapshot
	for i, s := range snapshots {
		if err := enc.Encode(ctx, s, emit); err == nil {
			taken = append(taken, s)
		} else if len(enc.Pending()) != len(taken) {
			t.Fatalf("%d snapshots were taken, %d are pending", len(taken), len(enc.Pending()))
		}
		full = i < 1200
	}
	if err := enc.Flush(ctx, emit); err != nil {
		t.Fatal(err)
	}
	dec := decoderOf(t, c)
	var got []*engram.Snapshot
	for _, m := range stored {
		part, err := dec.Decode(ctx, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, part...)
	}
	if len(taken) == len(snapshots) {
		t.Error("nothing was refused")
	}
	sameSnapshots(t, got, taken)
}

func FuzzColumnsDecode(f *testing.F) {
	types := registry(f)
	point := typeOf(f, types, "test.Point")
	c := codec.Config{Codec: codec.Columns, Payload: point, Types: types}
	_, stored := code(f, c, pointsOf(20, func(i int) (x, y, z float64) { return float64(i) / 1000, float64(-i * i), 0.5 }))
	f.Add(stored[0].Bytes, 20)
	m := dynamicpb.NewMessage(typeOf(f, types, "test.Everything").Descriptor())
	list := m.Mutable(m.Descriptor().Fields().ByName("points")).List()
	for range 200 {
		list.AppendMutable()
	}
	b, err := proto.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	_, stored = code(f, codec.Config{Codec: codec.Columns, Types: types}, []*engram.Snapshot{
		{Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "test.Everything", Bytes: b})}},
		{Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "unknown", Bytes: []byte("as it is")})}},
	})
	f.Add(stored[0].Bytes, 2)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		dec := decoderOf(t, c)
		m := codec.Message{Type: codec.ColumnsType, Bytes: b, Key: true}
		for i := range min(max(n, 0), 1000) {
			m.Snapshots = append(m.Snapshots, &engram.Snapshot{Time: engram.Time(i), Instances: make([]engram.Instance, 1)})
		}
		got, err := dec.Decode(context.Background(), m, nil)
		if err != nil {
			if code := engram.CodeOf(err); code != engram.Corrupt && code != engram.Unsupported {
				t.Fatalf("%v: code %v", err, code)
			}
			return
		}
		if len(got) != len(m.Snapshots) {
			t.Fatalf("%d snapshots of %d", len(got), len(m.Snapshots))
		}
	})
}

func BenchmarkColumns(b *testing.B) {
	types := registry(b)
	point := typeOf(b, types, "test.Point")
	snapshots := pointsOf(1000, func(i int) (x, y, z float64) {
		return math.Round(1e4*math.Sin(float64(i)/50)) / 1e4, math.Cos(float64(i) / 20), float64(i) / 8
	})
	c := codec.Config{Codec: codec.Columns, Payload: point, Types: types}
	_, stored := code(b, c, snapshots)
	ctx := context.Background()
	b.Run("write", func(b *testing.B) {
		enc, _, err := codec.NewEncoder(c)
		if err != nil {
			b.Fatal(err)
		}
		emit := func(codec.Message) error { return nil }
		for b.Loop() {
			for _, s := range snapshots {
				if err := enc.Encode(ctx, s, emit); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.N*len(snapshots))/b.Elapsed().Seconds(), "snapshots/s")
	})
	for _, one := range []bool{false, true} {
		b.Run(fmt.Sprintf("read/one=%v", one), func(b *testing.B) {
			dec := decoderOf(b, c)
			want := make([]bool, len(stored[0].Snapshots))
			for i := range want {
				want[i] = !one || i == len(want)/2
			}
			for b.Loop() {
				if _, err := dec.Decode(ctx, stored[0], want); err != nil {
					b.Fatal(err)
				}
			}
			if !one {
				b.ReportMetric(float64(b.N*len(want))/b.Elapsed().Seconds(), "snapshots/s")
			}
		})
	}
}
