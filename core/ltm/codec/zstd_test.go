package codec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// events returns payloads such as skills and speech commit: names, few numbers.
func events(t testing.TB, n int) (snapshots []*engram.Snapshot) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		p := testkit.Value(t, map[string]any{
			"skill": "GraspObjectFromTable", "object": fmt.Sprintf("kit/blue-cup-%d", r.IntN(40)), "state": []string{"running", "succeeded", "failed"}[r.IntN(3)],
			"frame_id": "base_link", "progress": r.Float64(), "time": engram.Time(r.Int64N(1 << 60)), "parameters": map[string]any{"approach": "top", "speed": 0.25},
		})
		snapshots = append(snapshots, &engram.Snapshot{Time: engram.Time(i), Number: uint64(i), Instances: []engram.Instance{engram.NewInstance(p)}})
	}
	return snapshots
}

func payloadsOf(snapshots []*engram.Snapshot) (b [][]byte) {
	for _, s := range snapshots {
		for i := range s.Instances {
			b = append(b, s.Instances[i].Payload.Bytes)
		}
	}
	return b
}

// A dictionary pays for messages that lie alone, and hardly in chunks of many, which
// is why auto does not choose zstd.
func TestZstdPaysForMessagesThatLieAlone(t *testing.T) {
	snapshots := events(t, 600)
	dictionary, err := codec.TrainDictionary(payloadsOf(snapshots[:300]))
	if err != nil {
		t.Fatal(err)
	}
	sizes := func(c codec.Config) (alone, chunk int) {
		got, stored := code(t, c, snapshots[300:])
		sameSnapshots(t, got, snapshots[300:])
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		var all []byte
		for _, m := range stored {
			alone += len(m.Bytes)
			all = append(all, m.Bytes...)
		}
		return alone, len(w.EncodeAll(all, nil))
	}
	plain, plainChunk := sizes(codec.Config{})
	with, withChunk := sizes(codec.Config{Codec: codec.Zstd, Dictionary: dictionary})
	without, _ := sizes(codec.Config{Codec: codec.Zstd})
	t.Logf("300 events, dictionary of %d bytes: plain %d bytes, with dictionary %d, without %d; in a compressed chunk plain %d, with dictionary %d",
		len(dictionary), plain, with, without, plainChunk, withChunk)
	if with*2 > plain || with >= without {
		t.Errorf("with a dictionary messages have %d bytes of %d, without %d", with, plain, without)
	}
	if withChunk*10 < plainChunk*9 {
		t.Errorf("in a chunk the dictionary makes %d of %d bytes: auto should choose it", withChunk, plainChunk)
	}
}

func TestZstdGivesBackEveryPayload(t *testing.T) {
	types := registry(t)
	everything := typeOf(t, types, "test.Everything")
	dictionary, err := codec.TrainDictionary(payloadsOf(events(t, 100)))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var snapshots []*engram.Snapshot
		for i := range rapid.IntRange(1, 5).Draw(t, "snapshots") {
			s := &engram.Snapshot{Time: engram.Time(i)}
			for range rapid.IntRange(1, 3).Draw(t, "instances") {
				m := dynamicpb.NewMessage(everything.Descriptor())
				fill(t, m, 2)
				b, err := proto.Marshal(m)
				if err != nil {
					t.Fatalf("marshal: %v", err)
				}
				s.Instances = append(s.Instances, engram.NewInstance(engram.Payload{Type: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "type"), Bytes: b}))
			}
			snapshots = append(snapshots, s)
		}
		c := codec.Config{Codec: codec.Zstd}
		if rapid.Bool().Draw(t, "with dictionary") {
			c.Dictionary = dictionary
		}
		got, _ := code(t, c, snapshots)
		sameSnapshots(t, got, snapshots)
	})
}

func TestDictionariesNeedSamples(t *testing.T) {
	for name, samples := range map[string][][]byte{
		"none": nil, "few": payloadsOf(events(t, 3)), "empty ones": make([][]byte, 100),
	} {
		if _, err := codec.TrainDictionary(samples); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Whatever the samples, there is a dictionary or an error.
	rapid.Check(t, func(t *rapid.T) {
		_, _ = codec.TrainDictionary(rapid.SliceOfN(rapid.SliceOfN(rapid.ByteRange(0, 3), 0, 40), 16, 60).Draw(t, "samples"))
	})
}

func TestChoose(t *testing.T) {
	types := idf.NewRegistry()
	for _, c := range []struct {
		name, typ string
		maxError  float64
		want      string
	}{
		{"", "foxglove.PoseInFrame", 0, codec.Columns},
		{"", "foxglove.FrameTransforms", 0, codec.Columns},
		{codec.Plain, "foxglove.PoseInFrame", 0, codec.Plain},
		{"", "foxglove.Log", 0, codec.Columns},
		{"", "foxglove.PointCloud", 0, codec.Plain},
		{"", "google.protobuf.StringValue", 0, codec.Plain},
		{"", "google.protobuf.Timestamp", 0, codec.Plain},
		{"", "engram.idf.v1.Value", 0, codec.Plain},
		{codec.Auto, "foxglove.PoseInFrame", 1e-4, codec.Columns},
		{codec.Lossless, "foxglove.PoseInFrame", 1e-4, codec.Columns},
		{codec.Columns, "foxglove.PoseInFrame", 0, codec.Columns},
		{codec.Auto, "foxglove.RawImage", 1e-4, codec.Video},
		{codec.Lossless, "foxglove.RawImage", 0, codec.Image},
		{codec.Zstd, "foxglove.RawImage", 0, codec.Zstd},
	} {
		if got := codec.Choose(c.name, typeOf(t, types, c.typ), nil, c.maxError); got != c.want {
			t.Errorf("%q for %s is %s, want %s", c.name, c.typ, got, c.want)
		}
	}
	for encoding, want := range map[string]string{"16UC1": codec.Image, "32FC1": codec.Image, "rgb8": codec.Video} {
		typ := typeOf(t, types, "foxglove.RawImage")
		b, err := typ.Encode(map[string]any{"width": uint32(1), "encoding": encoding, "data": []byte{1}})
		if err != nil {
			t.Fatal(err)
		}
		if got := codec.Choose(codec.Auto, typ, b, 0); got != want {
			t.Errorf("an image of %s is coded as %s, want %s", encoding, got, want)
		}
	}
	if got := codec.Choose("", nil, nil, 1); got != codec.Plain {
		t.Errorf("for an unknown type it is %s", got)
	}
}

func FuzzZstdDecode(f *testing.F) {
	_, stored := code(f, codec.Config{Codec: codec.Zstd}, events(f, 1))
	f.Add(stored[0].Bytes)
	f.Add(protowire.AppendBytes([]byte{10}, []byte{0x28, 0xb5, 0x2f, 0xfd}))
	f.Fuzz(func(t *testing.T, b []byte) {
		dec, err := codec.NewDecoder(codec.Config{Codec: codec.Zstd})
		if err != nil {
			t.Fatal(err)
		}
		defer dec.Close()
		m := codec.Message{Type: codec.CompressedType, Bytes: b, Key: true, Snapshots: []*engram.Snapshot{{Instances: make([]engram.Instance, 1)}}}
		if _, err := dec.Decode(context.Background(), m, nil); err != nil && engram.CodeOf(err) != engram.Corrupt {
			t.Fatal(err)
		}
	})
}
