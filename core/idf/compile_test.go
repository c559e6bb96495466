package idf

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// memSource returns a source of files given as text.
func memSource(files map[string]string) Source {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Source{fsys}
}

func TestCompileProto(t *testing.T) {
	src := append(memSource(map[string]string{
		"acme/gripper.proto": `syntax = "proto3"; package acme;
			import "acme/finger.proto"; import "foxglove/Pose.proto"; import "engram/idf/v1/value.proto";
			// A gripper.
			message Gripper {
			  foxglove.Pose pose = 1; // in the base frame
			  repeated Finger fingers = 2;
			  engram.idf.v1.Link object = 3;
			}
			message Command { optional double opening = 1; }`,
	}), memSource(map[string]string{
		"acme/finger.proto": `syntax = "proto3"; package acme; import "google/protobuf/duration.proto"; import "google/protobuf/field_mask.proto";
			message Finger { double angle = 1; google.protobuf.Duration age = 2; google.protobuf.FieldMask mask = 3; }`,
		"acme/gripper.proto": "found first in the other folder",
	})...)
	defs, err := CompileProto(src, "./acme/gripper.proto")
	if err != nil {
		t.Fatal(err)
	}
	if len(defs) != 2 || defs[0].Name != "acme.Gripper" || defs[1].Name != "acme.Command" {
		t.Fatalf("types %v", defs)
	}
	if d := defs[0]; d.Format != "proto" || !strings.Contains(d.Source, "// A gripper.") {
		t.Errorf("format %q, source %q", d.Format, d.Source)
	}
	ty := parseAll(t, defs)["acme.Gripper"]
	if m := ty.Members(); m[0].Doc != "in the base frame" || m[1].Type != "List<acme.Finger>" {
		t.Errorf("members %+v", m)
	}
	printsSame(t, ty)

	// Self-contained and in the order of dependency, as readers elsewhere want it.
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(defs[0].Descriptors, set); err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, f := range set.File {
		for _, dep := range f.Dependency {
			if !have[dep] {
				t.Errorf("%s stands before its import %s", f.GetName(), dep)
			}
		}
		have[f.GetName()] = true
	}
	if !have["google/protobuf/timestamp.proto"] && !have["google/protobuf/duration.proto"] {
		t.Errorf("files %v", have)
	}
	if again, err := CompileProto(src, "acme/gripper.proto"); err != nil || string(again[0].Descriptors) != string(defs[0].Descriptors) {
		t.Errorf("compiled again it differs, %v", err)
	}
}

// wrapperProto returns a file with a message marked as a wrapper.
func wrapperProto(wrapper, fields string) string {
	return `syntax = "proto3"; package test; import "engram/idf/v1/options.proto";
		message M { W w = 1; } message W { option (engram.idf.v1.wrapper) = ` + wrapper + "; " + fields + " }"
}

func TestCompileProtoErrors(t *testing.T) {
	const head = "syntax = \"proto3\";\npackage test;\n"
	for name, c := range map[string]struct {
		text, place, want string
	}{
		"syntax":         {head + "message M {\n  int32 = 1;\n}", "test.proto:4:9: ", "syntax error"},
		"unknown type":   {head + "message M {\n  Foo foo = 1;\n}", "test.proto:4:3: ", "Foo"},
		"number twice":   {head + "message M { int32 a = 1;\n  int32 b = 1;\n}", "test.proto:4:", "1"},
		"missing import": {head + "import \"gone.proto\";\n", "test.proto:3:", "gone.proto"},
		"own import":     {head + "import \"test.proto\";\n", "test.proto:3:", "cycle"},
		"in an import":   {head + "import \"broken.proto\";\n", "broken.proto:2:1: ", "syntax error"},
		"unknown option": {head + "message M { option (foo) = 1; }", "test.proto:3:", "foo"},
		"deep":           {head + strings.Repeat("message M {\n", 500), "test.proto:203:1: ", "nested"},
		"deep literal":   {head + "option (x) = " + strings.Repeat("{x:", 500), "test.proto:3:1: ", "nested"},
		"deep messages":  {head + strings.Repeat("message M {", 50) + strings.Repeat("}", 50), "test.proto:3:", "nesting"},
		"long name":      {head + "message " + strings.Repeat("M", 2000) + " {}", "test.proto:", "full name"},
		"no list":        {wrapperProto("WRAPPER_LIST", "int32 items = 1;"), "test.proto:", "one repeated field"},
		"list of two":    {wrapperProto("WRAPPER_LIST", "repeated int32 items = 1; int32 b = 2;"), "test.proto:", "one repeated field"},
		"no dict":        {wrapperProto("WRAPPER_DICT", "repeated int32 items = 1;"), "test.proto:", "one map field"},
		"no optional":    {wrapperProto("WRAPPER_OPTIONAL", "int32 item = 1;"), "test.proto:", "one optional field"},
		"no tuple":       {wrapperProto("WRAPPER_TUPLE", ""), "test.proto:", "test.W is marked"},
		"known type":     {"syntax = \"proto3\"; package foxglove; message Pose { string position = 1; }", "test.proto:", "position"},
		"known number":   {"syntax = \"proto3\"; package google.protobuf; message Timestamp { int64 secs = 1; }", "test.proto:", "seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := CompileProto(memSource(map[string]string{"test.proto": c.text, "broken.proto": "syntax = 'proto3';\n}"}), "test.proto")
			if !errors.Is(err, engram.Invalid) || !strings.HasPrefix(err.Error(), c.place) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant Invalid, %q and %q", err, c.place, c.want)
			}
		})
	}
	if _, err := CompileProto(memSource(nil), "gone.proto"); !errors.Is(err, engram.NotFound) {
		t.Errorf("no such file: %v, want NotFound", err)
	}
	if _, err := CompileProto(memSource(nil), "../a.proto"); !errors.Is(err, engram.Invalid) {
		t.Errorf("a path that leads out: %v, want Invalid", err)
	}
	if _, err := CompileProto(memSource(map[string]string{"a.proto": strings.Repeat(" ", maxSourceFile+1)}), "a.proto"); !errors.Is(err, engram.Exhausted) {
		t.Errorf("a large file: %v, want Exhausted", err)
	}
}

// Braces in comments and strings are no nesting.
func TestCompileProtoBracesInText(t *testing.T) {
	many := strings.Repeat("{", 300)
	text := "syntax = \"proto3\"; // " + many + "\n/* " + many + " */ package test;\n" +
		"message M { string s = 1 [json_name = \"\\\"" + many + "\"]; string u = 2 [json_name = '" + many + many + "']; } // " + many
	if _, err := CompileProto(memSource(map[string]string{"test.proto": text}), "test.proto"); err != nil {
		t.Error(err)
	}
}

// What a .proto file can say survives printing.
func TestPrintProto(t *testing.T) {
	for name, text := range map[string]string{
		"proto3": `syntax = "proto3"; package test; import public "google/protobuf/timestamp.proto";
			option java_package = "a.b"; option optimize_for = SPEED;
			message M {
			  option deprecated = true;
			  reserved 5, 7 to 9, 100 to max; reserved "x", "y";
			  // In a oneof.
			  oneof o { string a = 1; N b = 2; }
			  optional int32 c = 3 [deprecated = true, json_name = "see"];
			  map<int64, test.M.N> d = 4;
			  message N { enum E { NONE = 0; OTHER = -5; reserved 3, 10 to max; reserved "Q"; } E e = 1; M m = 2; }
			  repeated double packed = 10 [packed = false];
			  google.protobuf.Timestamp t = 11;
			}
			service S { rpc Do(M) returns (stream M); }`,
		"proto2": `syntax = "proto2"; package test;
			message M {
			  required string a = 1 [default = "x\"\n\\\344"];
			  optional bytes b = 2 [default = "\001\377'"];
			  optional double inf = 3 [default = -inf]; optional float nan = 4 [default = nan]; optional float f = 5 [default = 0.1];
			  optional E e = 6 [default = TWO]; repeated int32 p = 7 [packed = true];
			  optional group Inner = 8 { optional int32 i = 1; repeated group Deep = 2 { required bool b = 1; } }
			  oneof o { group Other = 9 { optional int32 i = 1; } int64 n = 10; }
			  extensions 100 to 199, 500 to max;
			  optional uint64 u = 11 [default = 18446744073709551615]; optional bool t = 12 [default = true];
			}
			enum E { ONE = 1; TWO = 2; }
			extend M { optional string more = 100; }`,
		"editions": `edition = "2023"; package test; option features.field_presence = IMPLICIT;
			message M {
			  int32 a = 1; int32 b = 2 [features.field_presence = EXPLICIT];
			  M sub = 3 [features.message_encoding = DELIMITED]; reserved gone;
			  repeated int32 p = 4 [features.repeated_field_encoding = EXPANDED];
			  E e = 5;
			}
			enum E { option features.enum_type = OPEN; ZERO = 0; }`,
		"hidden names": `syntax = "proto3"; package test.foxglove.engram; import "foxglove/Pose.proto"; import "engram/idf/v1/options.proto"; import "engram/idf/v1/value.proto";
			message M { .foxglove.Pose pose = 1; Inner test = 2;
			  message Inner { .test.foxglove.engram.M foxglove = 1; .engram.idf.v1.Matrix m = 2 [(.engram.idf.v1.shape) = { rows: 2 }]; message M { } } }`,
		"no package": `syntax = "proto3"; message M { M m = 1; }`,
	} {
		t.Run(name, func(t *testing.T) {
			typ := "test.M"
			switch name {
			case "hidden names":
				typ = "test.foxglove.engram.M"
			case "no package":
				typ = "M"
			}
			ty := compiled(t, typ, text)
			printsSame(t, ty)
			printed := PrintProto(ty)
			if again := PrintProto(compiled(t, typ, printed)); again != printed {
				t.Errorf("printed again it differs:\n%s\n%s", printed, again)
			}
			// Beyond what Same compares: the descriptors' own content.
			a, b := fileProto(t, ty), fileProto(t, compiled(t, typ, printed))
			if !sameDeclarations(a, b) {
				t.Errorf("declarations differ after printing:\n%s\n%v\n%v", printed, a, b)
			}
		})
	}
}

// fileProto returns the descriptor of a type's file without comments.
func fileProto(t *testing.T, ty *Type) *descriptorpb.FileDescriptorProto {
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(ty.Def().Descriptors, set); err != nil {
		t.Fatal(err)
	}
	f := set.File[len(set.File)-1]
	f.SourceCodeInfo = nil
	return f
}

// sameDeclarations compares files but for the order of what is nested.
func sameDeclarations(a, b *descriptorpb.FileDescriptorProto) bool {
	return fmt.Sprint(len(a.MessageType), a.Options, a.Dependency, a.Service, a.EnumType) ==
		fmt.Sprint(len(b.MessageType), b.Options, b.Dependency, b.Service, b.EnumType) &&
		fmt.Sprint(a.MessageType[0].Field, a.MessageType[0].ReservedRange, a.MessageType[0].ReservedName, a.MessageType[0].Options, a.Extension) ==
			fmt.Sprint(b.MessageType[0].Field, b.MessageType[0].ReservedRange, b.MessageType[0].ReservedName, b.MessageType[0].Options, b.Extension)
}

// Every known type prints as a file that compiles to it.
func TestPrintKnown(t *testing.T) {
	r := NewRegistry()
	for _, name := range r.Names() {
		ty, _ := r.Get(name)
		text := PrintProto(ty)
		defs, err := CompileProto(memSource(map[string]string{"own.proto": text}), "own.proto")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, other := range parseAll(t, defs) {
			if k, ok := r.Get(other.Name()); !ok || typeDiff(other, k) != "" {
				t.Errorf("%s: %s", name, typeDiff(other, k))
			}
		}
	}
}

func TestTypeOf(t *testing.T) {
	ty, err := TypeOf((&foxglove.LaserScan{}).ProtoReflect().Descriptor(), "the source", "ros1msg")
	if err != nil {
		t.Fatal(err)
	}
	if d := ty.Def(); d.Source != "the source" || d.Format != "ros1msg" || d.Name != "foxglove.LaserScan" {
		t.Errorf("definition %+v", d)
	}
	if s := typeDiff(ty, known(t, "foxglove.LaserScan")); s != "" {
		t.Error(s)
	}
}

func FuzzCompileProto(f *testing.F) {
	f.Add(checkedProto)
	f.Add(`syntax = "proto2"; package test; message M { optional group G = 1 { extensions 5 to max; } required bytes b = 2 [default = "\377"]; }`)
	f.Add(`edition = "2023"; import "engram/idf/v1/options.proto"; message M { option (engram.idf.v1.wrapper) = WRAPPER_DICT; map<string, M> items = 1; }`)
	f.Add(`syntax = "proto3"; import "foxglove/Pose.proto"; message M { oneof o { foxglove.Pose p = 1; } enum E { A = 0; } /* c */ } // d`)
	f.Fuzz(func(t *testing.T, text string) {
		defs, err := CompileProto(memSource(map[string]string{"test.proto": text}), "test.proto")
		if err != nil {
			if code := engram.CodeOf(err); code != engram.Invalid && code != engram.Exhausted {
				t.Errorf("%v: %v", code, err)
			}
			return
		}
		for _, def := range defs {
			ty, err := ParseType(def)
			if err != nil {
				t.Fatalf("%s compiles to what is no type: %v", def.Name, err)
			}
			if err := ty.Check(nil); err != nil {
				t.Errorf("%s: the empty payload: %v", def.Name, err)
			}
			ty.Members()
		}
	})
}

func FuzzParseType(f *testing.F) {
	src, paths := xmlFiles(f)
	for _, p := range paths {
		defs, err := CompileXML(src, p)
		if err != nil {
			f.Fatal(err)
		}
		for _, def := range defs {
			f.Add(def.Name, def.Descriptors, []byte{8, 1})
		}
	}
	f.Add("google.protobuf.Timestamp", known(f, "google.protobuf.Timestamp").Def().Descriptors, []byte{8, 1, 16, 1})
	f.Add("foxglove.RawImage", known(f, "foxglove.RawImage").Def().Descriptors, imagePayload(f)[:100])
	f.Fuzz(func(t *testing.T, name string, descriptors, payload []byte) {
		ty, err := ParseType(engram.TypeDef{Name: name, Descriptors: descriptors})
		if err != nil {
			if !errors.Is(err, engram.Invalid) {
				t.Errorf("%v is not Invalid", err)
			}
			return
		}
		if !ty.Same(ty) || ty.CheckExtends(ty) != nil {
			t.Error("the type is not the same as itself")
		}
		_ = ty.Check(payload)
		ty.Members()
		PrintProto(ty)
		r := NewRegistry()
		if _, err := r.Add(ty.Def()); err != nil {
			t.Errorf("parsed, not added: %v", err)
		}
		for _, name := range r.Names() {
			other, _ := r.Get(name)
			if other.Def().Name != name {
				t.Errorf("%s is known as %s", other.Def().Name, name)
			}
		}
	})
}
