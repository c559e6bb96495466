package codec_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
)

var update = flag.Bool("update", false, "write the golden files of the current versions anew")

// goldenSnapshots have every kind of member, every kind of vector, and payloads that
// are kept as they are.
func goldenSnapshots(t testing.TB) (snapshots []*engram.Snapshot) {
	t.Helper()
	types := registry(t)
	everything := typeOf(t, types, "test.Everything")
	for i := range 70 {
		at := engram.Time(1_700_000_000_000_000_000 + int64(i)*33_333_333)
		x := math.Round(1e3*math.Sin(float64(i)/9)) / 1e3
		m := dynamicpb.NewMessage(everything.Descriptor())
		text := fmt.Sprintf(`{"b": %v, "i32": %d, "u64": %d, "s64": %d, "f32": %d, "sf64": %d, "f": %v, "d": %v, "s": "state %d", "y": "AQID",
			"c": %d, "p": {"x": %v, "y": %v}, "ds": [%v, %v], "ss": [1, -1], "unpacked": [%d], "names": ["a", "b"], "points": [{"x": %v}, {}],
			"joints": {"elbow": %v}, "maybe": %v, "number": %v, "again": {"stamps": [%q]}, "value": {"list": {"items": [{"double": %v}]}},
			"stamp": %q, "took": "-1.5s", "far": [%d]}`,
			i%7 == 0, -i, i*i, -i*i, i%3, i, float32(x), x*math.Pi, i%4, i%2, x, math.Sqrt(float64(i)), x, float64(i)*2*math.Pi/4096, i%5,
			x, 2*x, x, 1/(1+x*x), at.Std().Format("2006-01-02T15:04:05.999999999Z"), x, at.Std().Format("2006-01-02T15:04:05.999999999Z"), i)
		if err := protojson.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		p := engram.Payload{Type: "test.Everything", Bytes: b}
		if i == 20 {
			p = engram.Payload{Type: "unknown", Bytes: []byte("as it is")}
		}
		s := &engram.Snapshot{Time: at, Instances: []engram.Instance{engram.NewInstance(p)}}
		if i%10 == 3 {
			s.Instances = append(s.Instances, engram.NewInstance(engram.Payload{Type: "test.Everything", Bytes: b}))
		}
		snapshots = append(snapshots, s)
	}
	return snapshots
}

// What version 1 wrote is read for ever.
func TestColumnsGolden(t *testing.T) {
	file := filepath.Join("testdata", "columns-v1.bin")
	types := registry(t)
	c := codec.Config{Codec: codec.Columns, Types: types}
	want := goldenSnapshots(t)
	if *update {
		_, stored := code(t, c, want)
		if len(stored) != 1 {
			t.Fatalf("%d messages", len(stored))
		}
		if err := os.WriteFile(file, stored[0].Bytes, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := codec.Message{Type: codec.ColumnsType, Bytes: b, Key: true}
	for _, s := range want {
		m.Snapshots = append(m.Snapshots, codec.WithoutPayload(s))
	}
	dec, err := codec.NewDecoder(codec.Config{Codec: codec.Columns})
	if err != nil {
		t.Fatal(err)
	}
	got, err := dec.Decode(context.Background(), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameSnapshots(t, got, want)
}
