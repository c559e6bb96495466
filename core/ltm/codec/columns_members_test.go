package codec_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
)

// drawPath draws the path of a member, as projections take it.
func drawPath(t *rapid.T, md protoreflect.MessageDescriptor, depth int) string {
	fd := md.Fields().Get(rapid.IntRange(0, md.Fields().Len()-1).Draw(t, "member"))
	path := string(fd.Name())
	if fd.IsList() && rapid.Bool().Draw(t, "element") {
		path += fmt.Sprintf("[%d]", rapid.OneOf(rapid.IntRange(0, 3), rapid.SampledFrom([]int{127, 128, 135})).Draw(t, "index"))
	}
	if of := fd.Message(); of != nil && of.ParentFile() == md.ParentFile() && !fd.IsMap() && depth < 4 && rapid.Bool().Draw(t, "deeper") {
		path += "." + drawPath(t, of, depth+1)
	}
	return path
}

// What is read of some members gives the same projection onto them as the whole payloads, whatever these are.
func TestColumnsReadOnlyMembersThatAreAskedFor(t *testing.T) {
	types := registry(t)
	everything := typeOf(t, types, "test.Everything")
	rapid.Check(t, func(t *rapid.T) {
		var snapshots []*engram.Snapshot
		m := dynamicpb.NewMessage(everything.Descriptor())
		regular := rapid.Bool().Draw(t, "regular")
		fill(t, m, 0)
		for i := range 12 {
			s := &engram.Snapshot{Time: engram.Time(i)}
			for range 1 + i%2*rapid.IntRange(0, 1).Draw(t, "more instances") {
				if regular {
					m.Set(m.Descriptor().Fields().ByName("i64"), protoreflect.ValueOfInt64(int64(i+1)))
				} else {
					fill(t, m, 2)
				}
				b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
				if err != nil {
					t.Fatalf("marshal: %v", err)
				}
				s.Instances = append(s.Instances, engram.NewInstance(engram.Payload{Type: "test.Everything", Bytes: b}))
			}
			snapshots = append(snapshots, s)
		}
		if rapid.IntRange(0, 4).Draw(t, "some are kept as they are") == 0 {
			p := &snapshots[rapid.IntRange(0, 11).Draw(t, "which")].Instances[0].Payload
			p.Bytes = append(bytes.Clone(p.Bytes), 0xf8, 0xfa, 1, 0) // an unknown member
		}
		paths := make([]string, rapid.IntRange(1, 3).Draw(t, "paths"))
		for i := range paths {
			paths[i] = drawPath(t, everything.Descriptor(), 0)
		}
		p, err := everything.Project(paths)
		if err != nil {
			t.Fatalf("%q: %v", paths, err)
		}
		c := codec.Config{Codec: codec.Columns, Payload: everything, Types: types}
		_, stored := code(t, c, snapshots)
		dec := decoderOf(t, c)
		some, ok := dec.(codec.MemberDecoder)
		if !ok {
			t.Fatalf("%T reads no members", dec)
		}
		var want []bool
		if rapid.Bool().Draw(t, "not all are wanted") {
			want = rapid.SliceOfN(rapid.Bool(), 12, 12).Draw(t, "want")
		}
		got, err := some.DecodeMembers(context.Background(), stored[0], want, func(string) idf.Kept { return p.Kept() })
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		for i, s := range snapshots {
			for j := range s.Instances {
				if want != nil && !want[i] {
					continue
				}
				whole, err := p.Apply(s.Instances[j].Payload.Bytes)
				if err != nil {
					t.Fatalf("project: %v", err)
				}
				of, err := p.Apply(got[i].Instances[j].Payload.Bytes)
				if err != nil || !bytes.Equal(of, whole) {
					t.Fatalf("%q of instance %d of snapshot %d are %x, %v, and not %x", paths, j, i, of, err, whole)
				}
			}
		}
	})
}

// Reading ten of 129 numbers of joints beside reading them all.
func BenchmarkColumnsMembers(b *testing.B) {
	types := registry(b)
	everything := typeOf(b, types, "test.Everything")
	var snapshots []*engram.Snapshot
	for i := range 500 {
		m := dynamicpb.NewMessage(everything.Descriptor())
		list := m.Mutable(m.Descriptor().Fields().ByName("ds")).List()
		for j := range 129 {
			list.Append(protoreflect.ValueOfFloat64(float64((i*(j+3))%1000+i%7) / 1000))
		}
		bytes, err := proto.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		snapshots = append(snapshots, &engram.Snapshot{Time: engram.Time(i) * 1e7, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "test.Everything", Bytes: bytes})}})
	}
	c := codec.Config{Codec: codec.Columns, Payload: everything, Types: types}
	_, stored := code(b, c, snapshots)
	dec := decoderOf(b, c)
	var paths []string
	for i := range 10 {
		paths = append(paths, fmt.Sprintf("ds[%d]", 4*i))
	}
	p, err := everything.Project(paths)
	if err != nil {
		b.Fatal(err)
	}
	for name, members := range map[string]codec.Members{"all": nil, "ten": func(string) idf.Kept { return p.Kept() }} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := dec.(codec.MemberDecoder).DecodeMembers(context.Background(), stored[0], nil, members); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("ten as numbers", func(b *testing.B) {
		rows, err := idf.NewNumberRows(types, paths, 0, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := dec.(codec.NumberDecoder).DecodeNumbers(context.Background(), stored[0], rows); err != nil {
				b.Fatal(err)
			}
		}
	})
}
