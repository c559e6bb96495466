package world

import (
	"context"
	"io/fs"
	"os"
	"reflect"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/pose"
)

// FuzzStatement reads arbitrary payloads as items: what the reader of the wire reads is what
// package idf reads, and whatever is read can be merged with something and looked at.
func FuzzStatement(f *testing.F) {
	c := testCodec(f)
	id := engram.MustID("Vision/ImageRGB/eye/front")
	for _, it := range []Item{
		{},
		{Structure: &Structure{"table", 5}, Placement: &Placement{"map", pose.Translation(1, 2, 3), pose.DiagonalCov(0.1, 0.2), 7}},
		{Description: &Description{Kinds: []string{KindObject, "cup"}, SpokenNames: []string{"mug"}, Class: &id, Box: &Box{pose.Identity(), pose.Vec3{X: 1}}}},
		{Description: &Description{Properties: map[string]any{"a": 1.0}}, SeenIn: &id, Views: 3, Source: Operator},
		{LabelEvidence: Evidence{"cup": 1}, Removed: &Removal{"gone", 9}},
	} {
		p, err := c.EncodeItem(&it)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.Bytes)
		f.Add(append(p.Bytes, p.Bytes...))
	}
	entity := engram.MustID("World/Item/eye/cup")
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &engram.Snapshot{Time: 5, Instances: []engram.Instance{{Payload: engram.Payload{Bytes: b}, Confidence: 1}}}
		read, err := c.Statement(entity, s)
		v, slow := c.decode(itemSegment, entity, s)
		if (err == nil) != (slow == nil) {
			t.Fatalf("%v, but package idf: %v", err, slow)
		}
		if err != nil {
			return
		}
		same := reflect.DeepEqual(read.Item, itemOf(v))
		again, _ := c.Statement(entity, s)
		if !same && reflect.DeepEqual(read.Item, again.Item) { // else there is a NaN in it
			t.Fatalf("%+v, but package idf: %+v", read.Item, itemOf(v))
		}
		all := []Statement{read, at("cup", "plan", 4, thing("map", 1, 0, 0)), at("map", "plan", 4, thing("", 1, 0, 0))}
		if a, b := dump(build(t, all...).Forest()), dump(build(t, all[2], all[1], all[0]).Forest()); a != b {
			t.Fatalf("%s\nis not\n%s", a, b)
		}
	})
}

// testCodec is a codec of the types as they are written, without a server.
func testCodec(t testing.TB) *Codec {
	t.Helper()
	root := os.DirFS("../memories/types")
	files, err := fs.Glob(root, "engram/world/*.xml")
	if err != nil {
		t.Fatal(err)
	}
	types := fileTypes{}
	for _, file := range files {
		defs, err := idf.CompileXML(idf.Source{root}, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range defs {
			types[d.Name] = d
		}
	}
	c, err := NewCodec(t.Context(), types)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type fileTypes map[string]engram.TypeDef

func (t fileTypes) AddType(context.Context, engram.TypeDef) error { return nil }

func (t fileTypes) Type(_ context.Context, name string) (engram.TypeDef, error) {
	d, ok := t[name]
	if !ok {
		return d, engram.Errorf(engram.NotFound, name, "no such type")
	}
	return d, nil
}

func (t fileTypes) TypeNames(context.Context) ([]string, error) { return nil, nil }
