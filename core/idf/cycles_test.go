package idf

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
)

// What viewers get contains no type that contains itself, reads the same bytes, and
// becomes the very type again.
func TestOpenCycles(t *testing.T) {
	r := NewRegistry()
	defs, err := CompileProto(memSource(map[string]string{"test.proto": `syntax = "proto3"; package test; import "engram/idf/v1/value.proto";
		message Tree { string name = 1; repeated Tree children = 2; map<string, Tree> named = 3; Leaf leaf = 4; engram.idf.v1.Value any = 5; }
		message Leaf { Tree below = 1; int32 n = 2; }`}), "test.proto")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := r.Add(defs[0])
	if err != nil {
		t.Fatal(err)
	}
	value, _ := r.Get(engram.ValueType)
	for _, typ := range []*Type{tree, value} {
		def := typ.Def()
		opened := OpenCycles(def.Descriptors, def.Name)
		if bytes.Equal(opened, def.Descriptors) {
			t.Fatalf("%s was not opened", def.Name)
		}
		set := &descriptorpb.FileDescriptorSet{}
		if err := proto.Unmarshal(opened, set); err != nil {
			t.Fatal(err)
		}
		files, err := protodesc.NewFiles(set)
		if err != nil {
			t.Fatalf("%s: a viewer cannot read what was opened: %v", def.Name, err)
		}
		d, err := files.FindDescriptorByName(protoreflect.FullName(def.Name))
		if err != nil {
			t.Fatal(err)
		}
		if path := cycle(d.(protoreflect.MessageDescriptor), nil); path != nil {
			t.Errorf("%s still contains itself: %v", def.Name, path)
		}
		if again := OpenCycles(opened, def.Name); !bytes.Equal(again, opened) {
			t.Errorf("%s opened twice differs", def.Name)
		}
		back, err := ParseType(engram.TypeDef{Name: def.Name, Descriptors: opened})
		if err != nil {
			t.Fatal(err)
		}
		if !back.Same(typ) {
			t.Errorf("%s is another type when it is read back", def.Name)
		}
		if _, err := r.Add(engram.TypeDef{Name: def.Name, Descriptors: opened}); err != nil {
			t.Errorf("%s: the registry does not know it again: %v", def.Name, err)
		}
	}
	plain, _ := r.Get("foxglove.PoseInFrame")
	if def := plain.Def(); !bytes.Equal(OpenCycles(def.Descriptors, def.Name), def.Descriptors) {
		t.Error("a type without cycles was changed")
	}
	if junk := []byte("\xff\xff"); !bytes.Equal(OpenCycles(junk, "x"), junk) {
		t.Error("what are no descriptors was changed")
	}
}

// cycle returns the path of members that leads back to a message it comes from.
func cycle(m protoreflect.MessageDescriptor, above []protoreflect.FullName) []protoreflect.FullName {
	for _, name := range above {
		if name == m.FullName() {
			return append(above, m.FullName())
		}
	}
	above = append(above, m.FullName())
	for i := range m.Fields().Len() {
		if held := m.Fields().Get(i).Message(); held != nil {
			if path := cycle(held, above); path != nil {
				return path
			}
		}
	}
	return nil
}
