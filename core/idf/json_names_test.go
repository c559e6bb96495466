package idf

import (
	"bytes"
	"io/fs"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
)

// unnamed returns the members of descriptors that have no name for JSON, or another than
// protobuf gives them.
func unnamed(t *testing.T, descriptors []byte) (members []string) {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(descriptors, set); err != nil {
		t.Fatal(err)
	}
	eachProto(set, func(name string, m *descriptorpb.DescriptorProto) {
		for _, fd := range m.GetField() {
			if fd.GetJsonName() == "" {
				members = append(members, name+"."+fd.GetName())
			}
		}
	})
	return members
}

// Whatever a type was made from, its members have their names for JSON: in what is
// served and in what files of recordings embed.
func TestMembersHaveNamesForJSON(t *testing.T) {
	var defs []engram.TypeDef
	source := os.DirFS("testdata/xml")
	err := fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".xml") {
			if compiled, err := CompileXML(Source{source}, path); err == nil { // some are wrong
				defs = append(defs, compiled...)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(defs) < 10 {
		t.Fatalf("only %d types of XML", len(defs))
	}
	r := NewRegistry()
	for _, name := range r.Names() {
		known, _ := r.Get(name)
		defs = append(defs, known.Def())
	}
	// As other programs may send them: from code, without the names.
	bare := &descriptorpb.FileDescriptorProto{Name: proto.String("bare.proto"), Package: proto.String("acme"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{{
		Name: proto.String("Bare"),
		Field: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String("grip_force_N"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_DOUBLE.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
			{Name: proto.String("named"), JsonName: proto.String("other"), Number: proto.Int32(2), Type: descriptorpb.FieldDescriptorProto_TYPE_DOUBLE.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
		},
	}}}
	file, err := protodesc.NewFile(bare, nil)
	if err != nil {
		t.Fatal(err)
	}
	without, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{bare}})
	if err != nil {
		t.Fatal(err)
	}
	if len(unnamed(t, without)) != 1 {
		t.Fatal("the test's own type has the names")
	}
	added, err := r.Add(engram.TypeDef{Name: "acme.Bare", Descriptors: without})
	if err != nil {
		t.Fatal(err)
	}
	fromCode, err := TypeOf(file.Messages().Get(0), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.Add(engram.TypeDef{Name: "acme.Bare", Descriptors: without}); err != nil || again != added {
		t.Errorf("the same type again: %v", err)
	}
	if !SameDescriptors(without, added.Def().Descriptors) || SameDescriptors(without, defs[0].Descriptors) {
		t.Error("a type is not the same without the names")
	}
	for i := range added.Descriptor().Fields().Len() {
		if got, want := added.Descriptor().Fields().Get(i).JSONName(), file.Messages().Get(0).Fields().Get(i).JSONName(); got != want {
			t.Errorf("a member is called %q, want %q", got, want)
		}
	}
	for _, def := range append(defs, added.Def(), fromCode.Def()) {
		if missing := unnamed(t, def.Descriptors); len(missing) > 0 {
			t.Errorf("%s: members without a name for JSON: %q", def.Name, missing)
		}
		if missing := unnamed(t, OpenCycles(def.Descriptors, def.Name)); len(missing) > 0 {
			t.Errorf("%s, for viewers: members without a name for JSON: %q", def.Name, missing)
		}
		parsed, err := ParseType(def)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(parsed.Def().Descriptors, def.Descriptors) {
			t.Errorf("%s: other descriptors than those that have all names", def.Name)
		}
	}
	if missing := unnamed(t, OpenCycles(without, "acme.Bare")); len(missing) > 0 {
		t.Errorf("for viewers: members without a name for JSON: %q", missing)
	}
}
