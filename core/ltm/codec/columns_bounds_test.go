package codec_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
)

// What a reader would refuse for its size is not written that way.
func TestColumnsGiveBackWhatIsLarge(t *testing.T) {
	types := registry(t)
	packed := func(n int) []byte { // Everything.ss, of n values
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i % 7)
		}
		return protowire.AppendBytes(protowire.AppendTag(nil, 19, protowire.BytesType), b)
	}
	repeat := func(number protowire.Number, element []byte, n int) (b []byte) {
		for range n {
			b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), element)
		}
		return b
	}
	for name, payloads := range map[string][][]byte{
		"a long list":                  {packed(1<<20 + 200)},
		"a list of many empty members": {repeat(22, nil, 1<<20+200)},
		"several lists":                {packed(1 << 20), packed(1 << 20), packed(1 << 20), packed(1 << 20), packed(1 << 20), packed(1 << 20), packed(1 << 20), packed(1 << 20), packed(1 << 20)},
		"many bytes":                   {repeat(15, make([]byte, 40<<20), 1), repeat(15, make([]byte, 40<<20), 1)},
	} {
		t.Run(name, func(t *testing.T) {
			s := &engram.Snapshot{Time: 1, Arrived: 2, Number: 3}
			for _, b := range payloads {
				s.Instances = append(s.Instances, engram.NewInstance(engram.Payload{Type: "test.Everything", Bytes: b}))
			}
			small := &engram.Snapshot{Time: 2, Arrived: 3, Number: 4, Instances: []engram.Instance{
				engram.NewInstance(engram.Payload{Type: "test.Everything", Bytes: packed(3)}),
			}}
			snapshots := []*engram.Snapshot{small, s, small}
			c := codec.Config{Codec: codec.Columns, Payload: typeOf(t, types, "test.Everything"), Types: types}
			got, _ := code(t, c, snapshots)
			sameSnapshots(t, got, snapshots)
		})
	}
}

// Snapshots of thousands of empty instances have no bytes, but are not few.
func TestColumnsGiveBackManyInstances(t *testing.T) {
	types := registry(t)
	var snapshots []*engram.Snapshot
	for i := range 300 {
		s := &engram.Snapshot{Time: engram.Time(i), Instances: make([]engram.Instance, 4096)}
		for j := range s.Instances {
			s.Instances[j] = engram.NewInstance(engram.Payload{Type: "test.Unknown"})
		}
		snapshots = append(snapshots, s)
	}
	c := codec.Config{Codec: codec.Columns, Payload: typeOf(t, types, "test.Everything"), Types: types}
	got, _ := code(t, c, snapshots)
	sameSnapshots(t, got, snapshots)
}
