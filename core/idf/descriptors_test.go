package idf

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
)

// compileText returns the types of a .proto file.
func compileText(t *testing.T, path, text string) (types []*Type) {
	t.Helper()
	defs, err := CompileProto(Source{fstest.MapFS{path: {Data: []byte(text)}}}, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range defs {
		ty, err := ParseType(def)
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, ty)
	}
	return types
}

// readAlone has protobuf-go read a set with nothing but what the set brings, each file
// after its imports, and returns the paths.
func readAlone(t *testing.T, set []byte) (paths []string) {
	t.Helper()
	var files descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &files); err != nil {
		t.Fatal(err)
	}
	for _, f := range files.File {
		for _, imported := range f.Dependency {
			if !slices.Contains(paths, imported) {
				t.Errorf("%s imports %s, which is not before it: %q", f.GetName(), imported, paths)
			}
		}
		paths = append(paths, f.GetName())
	}
	if _, err := protodesc.NewFiles(&files); err != nil {
		t.Error(err)
	}
	return paths
}

// A definition that does not bring all that it imports is completed: whoever asks for the
// type can read it without knowing our files.
func TestDefinitionIsCompleted(t *testing.T) {
	whole := compileText(t, "cup.proto", `syntax = "proto3"; package lab; import "foxglove/PoseInFrame.proto"; message Cup { foxglove.PoseInFrame pose = 1; }`)[0].Def()
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(whole.Descriptors, &set); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []func(path string) bool{
		func(path string) bool { return path == "cup.proto" },
		func(path string) bool { return path == "cup.proto" || strings.HasPrefix(path, "google/") },
		func(path string) bool { return path != "foxglove/Pose.proto" },
	} {
		part := &descriptorpb.FileDescriptorSet{}
		for _, f := range set.File {
			if kept(f.GetName()) {
				part.File = append(part.File, f)
			}
		}
		b, err := proto.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		r := NewRegistry()
		ty, err := r.Add(engram.TypeDef{Name: "lab.Cup", Descriptors: b})
		if err != nil {
			t.Fatal(err)
		}
		served := ty.Def().Descriptors
		if paths := readAlone(t, served); len(paths) != len(set.File) {
			t.Errorf("the files are %q", paths)
		}
		if r.bytes != len(served) {
			t.Errorf("%d bytes are counted of %d", r.bytes, len(served))
		}
		if !SameDescriptors(b, served) {
			t.Error("what was added is not the same as what is served")
		}
		if again, err := r.Add(ty.Def()); err != nil || again != ty {
			t.Errorf("what is served is another type: %v", err)
		}
	}
	if readAlone(t, whole.Descriptors); !bytes.Equal(completeSet(whole.Descriptors), whole.Descriptors) {
		t.Error("a set that brings all is changed")
	}
	for _, malformed := range [][]byte{nil, {0x0a}, {0x0a, 2, 0x1a, 9}, {0x0a, 2, 0x18, 1}, bytes.Repeat([]byte{0xff}, 20)} {
		if !bytes.Equal(completeSet(malformed), malformed) {
			t.Errorf("% x is changed", malformed)
		}
	}
}

// A definition that is as large as one may be, or has too many files, is taken as it was
// before definitions were completed.
func TestLargeDefinitionIsNotCompleted(t *testing.T) {
	cup := &descriptorpb.FileDescriptorProto{Name: proto.String("cup.proto"), Package: proto.String("lab"), Syntax: proto.String("proto3"),
		Dependency: []string{"google/protobuf/timestamp.proto"}, MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Cup")}},
		SourceCodeInfo: &descriptorpb.SourceCodeInfo{Location: []*descriptorpb.SourceCodeInfo_Location{{Span: []int32{1, 1, 1}, LeadingComments: proto.String(strings.Repeat("x", MaxDescriptors-200))}}}}
	large, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{cup}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseType(engram.TypeDef{Name: "lab.Cup", Descriptors: large}); err != nil {
		t.Errorf("a definition of %d bytes: %v", len(large), err)
	}
	chain := &descriptorpb.FileDescriptorSet{}
	for i := range 3 * maxFiles {
		chain.File = append(chain.File, &descriptorpb.FileDescriptorProto{Name: proto.String(strconv.Itoa(i)), Dependency: []string{strconv.Itoa(i + 1)}})
	}
	b, err := proto.Marshal(chain)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(completeSet(b), b) {
		t.Error("a chain of files is followed, however long it is")
	}
}

func TestDescriptorSet(t *testing.T) {
	cup := compileText(t, "cup.proto", `syntax = "proto3"; package lab; import "foxglove/Pose.proto"; message Cup { foxglove.Pose pose = 1; } message Mug { Cup cup = 1; }`)
	shelf := compileText(t, "shelf.proto", `syntax = "proto3"; package lab; import "google/protobuf/timestamp.proto"; import "foxglove/Vector3.proto"; message Shelf { google.protobuf.Timestamp t = 1; foxglove.Vector3 size = 2; }`)
	set, err := DescriptorSet(append(cup, shelf...)...)
	if err != nil {
		t.Fatal(err)
	}
	paths := readAlone(t, set)
	want := []string{"cup.proto", "foxglove/Pose.proto", "foxglove/Quaternion.proto", "foxglove/Vector3.proto", "google/protobuf/timestamp.proto", "shelf.proto"}
	if slices.Sort(paths); !slices.Equal(paths, want) {
		t.Errorf("the files are %q", paths)
	}

	other := compileText(t, "cup.proto", `syntax = "proto3"; package bar; message Cup { int32 size = 1; }`)
	if _, err := DescriptorSet(append(cup, other...)...); engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), "cup.proto") {
		t.Errorf("two files of one path: %v", err)
	}
}

// The texts compile, each with those before it.
func TestPrintImports(t *testing.T) {
	cup := compileText(t, "cup.proto", `syntax = "proto3"; package lab; import "foxglove/PoseInFrame.proto"; message Cup { foxglove.PoseInFrame pose = 1; }`)[0]
	texts := fstest.MapFS{}
	files := PrintImports(cup)
	for _, f := range files {
		texts[f.Path] = &fstest.MapFile{Data: []byte(f.Text)}
		if _, err := CompileProto(Source{texts}, f.Path); err != nil {
			t.Errorf("%s: %v\n%s", f.Path, err, f.Text)
		}
	}
	if len(files) != 5 || files[4].Path != "cup.proto" {
		t.Errorf("%d files", len(files))
	}
}
