package idf

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

func TestRegistryKnows(t *testing.T) {
	r := NewRegistry()
	for _, name := range []string{
		engram.ValueType, "engram.idf.v1.Link", "engram.idf.v1.NDArray", "engram.idf.v1.Matrix",
		"foxglove.RawImage", "foxglove.Pose", "foxglove.PointCloud",
		"google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.Struct",
		"google.protobuf.Value", "google.protobuf.ListValue", "google.protobuf.Any",
		"google.protobuf.DoubleValue", "google.protobuf.Empty",
	} {
		ty, ok := r.Get(name)
		if !ok {
			t.Errorf("%s is not known", name)
			continue
		}
		back, err := ParseType(ty.Def())
		if err != nil {
			t.Errorf("%s: its own definition: %v", name, err)
		} else if !back.Same(ty) {
			t.Errorf("%s: differs after Def and ParseType: %s", name, typeDiff(back, ty))
		}
	}
	if !slices.IsSorted(r.Names()) {
		t.Error("names are not sorted")
	}
	for _, name := range r.Names() {
		if strings.HasSuffix(name, "Entry") {
			t.Errorf("the map entry %s is a type", name)
		}
	}
	if _, ok := r.Get("no.Such"); ok {
		t.Error("no.Such is known")
	}
}

// Wrappers are no types, what is in them is.
func TestRegistryAddsNoWrappers(t *testing.T) {
	src, _ := xmlFiles(t)
	defs, err := CompileXML(src, "grasping/GraspCandidate.xml")
	if err != nil {
		t.Fatal(err)
	}
	r := NewRegistry()
	for _, def := range defs {
		if strings.HasSuffix(def.Name, ".Candidates") {
			if _, err := r.Add(def); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range r.Names() {
		if ty, _ := r.Get(name); wrapperOf(ty.Descriptor()) != idfv1.Wrapper_WRAPPER_NONE {
			t.Errorf("the wrapper %s is a type", name)
		}
	}
	if _, ok := r.Get("armarx.objpose.arondto.OOBB"); !ok {
		t.Error("the box below the wrapped candidates is not known")
	}
}

// fileSet encodes files given as text.
func fileSet(t testing.TB, files ...*descriptorpb.FileDescriptorProto) []byte {
	t.Helper()
	b, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: files})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// protoFile returns a proto3 file of one message "acme.Thing" with one member of a
// message type.
func protoFile(imports []string, member, typeName string) *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{
		Name: proto.String("acme/thing.proto"), Package: proto.String("acme"), Syntax: proto.String("proto3"),
		Dependency: imports,
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Thing"),
			Field: []*descriptorpb.FieldDescriptorProto{{
				Name: proto.String(member), Number: proto.Int32(1), TypeName: proto.String(typeName),
				Type:  descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			}},
		}},
	}
}

func TestRegistryAdd(t *testing.T) {
	r := NewRegistry()
	def := engram.TypeDef{Name: "acme.Thing", Source: "text", Format: "x",
		Descriptors: fileSet(t, protoFile([]string{"foxglove/Pose.proto"}, "pose", ".foxglove.Pose"))}
	first, err := r.Add(def)
	if err != nil {
		t.Fatal(err)
	}
	if d := first.Def(); d.Source != "text" || d.Format != "x" {
		t.Errorf("definition lost its source: %+v", d)
	}
	again, err := r.Add(def)
	if err != nil || again != first {
		t.Errorf("the same type again: %p %v, want %p", again, err, first)
	}
	def.Descriptors = fileSet(t, protoFile([]string{"foxglove/Pose.proto"}, "position", ".foxglove.Pose"))
	_, err = r.Add(def)
	if !errors.Is(err, engram.AlreadyExists) || !strings.Contains(err.Error(), "position") && !strings.Contains(err.Error(), "pose") {
		t.Errorf("another type of the name: %v, want AlreadyExists naming the member", err)
	}
}

func TestRegistryAddsMembers(t *testing.T) {
	inner := protoFile(nil, "self", ".acme.Thing.Inner")
	inner.MessageType[0].NestedType = []*descriptorpb.DescriptorProto{{Name: proto.String("Inner")}}
	r := NewRegistry()
	if _, err := r.Add(engram.TypeDef{Name: "acme.Thing", Descriptors: fileSet(t, inner)}); err != nil {
		t.Fatal(err)
	}
	in, ok := r.Get("acme.Thing.Inner")
	if !ok {
		t.Fatal("the nested message is not known")
	}
	if _, err := ParseType(in.Def()); err != nil {
		t.Errorf("the nested type's definition: %v", err)
	}
}

// A set that brings its own copies of known files, as MCAP schemas do.
func TestParseTypeOwnCopies(t *testing.T) {
	copies := func(change func(pose *descriptorpb.FileDescriptorProto)) []byte {
		b, err := descriptorSet(foxglove.File_foxglove_RawImage_proto)
		if err != nil {
			t.Fatal(err)
		}
		set := &descriptorpb.FileDescriptorSet{}
		if err := proto.Unmarshal(b, set); err != nil {
			t.Fatal(err)
		}
		img := protodesc.ToFileDescriptorProto(foxglove.File_foxglove_RawImage_proto)
		img.Options = nil
		change(img)
		set.File[len(set.File)-1] = img
		return fileSet(t, append(set.File, protoFile([]string{"foxglove/RawImage.proto"}, "image", ".foxglove.RawImage"))...)
	}
	field := func(f *descriptorpb.FileDescriptorProto, name string) *descriptorpb.FieldDescriptorProto {
		for _, fd := range f.MessageType[0].Field {
			if fd.GetName() == name {
				return fd
			}
		}
		t.Fatal("no field", name)
		return nil
	}
	for name, c := range map[string]struct {
		change func(*descriptorpb.FileDescriptorProto)
		want   string // in the error
	}{
		"equal": {func(*descriptorpb.FileDescriptorProto) {}, ""},
		"newer": {func(f *descriptorpb.FileDescriptorProto) {
			fd := proto.Clone(field(f, "encoding")).(*descriptorpb.FieldDescriptorProto)
			fd.Name, fd.Number, fd.JsonName = proto.String("added"), proto.Int32(99), nil
			f.MessageType[0].Field = append(f.MessageType[0].Field, fd)
		}, ""},
		"older": {func(f *descriptorpb.FileDescriptorProto) {
			f.MessageType[0].Field = f.MessageType[0].Field[1:]
		}, ""},
		"other kind": {func(f *descriptorpb.FileDescriptorProto) {
			field(f, "data").Type = descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()
		}, "data"},
		"renamed":    {func(f *descriptorpb.FileDescriptorProto) { field(f, "data").Name = proto.String("bits") }, "data"},
		"renumbered": {func(f *descriptorpb.FileDescriptorProto) { field(f, "data").Number = proto.Int32(77) }, "data"},
	} {
		t.Run(name, func(t *testing.T) {
			b := copies(c.change)
			for _, typ := range []string{"acme.Thing", "foxglove.RawImage"} {
				_, err := NewRegistry().Add(engram.TypeDef{Name: typ, Descriptors: b})
				switch {
				case c.want == "" && err != nil:
					t.Errorf("%s: %v", typ, err)
				case c.want != "" && (!errors.Is(err, engram.Invalid) || !strings.Contains(err.Error(), c.want)):
					t.Errorf("%s: %v, want Invalid naming %s", typ, err, c.want)
				}
			}
		})
	}
}

// Files that stand twice in a set and say the same are one: in whatever order, and whatever they have for
// people and for generated code. Where they differ, nothing tells which one counts.
func TestParseTypeOfAFileTwice(t *testing.T) {
	member := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: proto.String(name), Number: proto.Int32(number), Type: kind.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("a.proto"), Package: proto.String("acme"), Dependency: []string{"google/protobuf/duration.proto", "google/protobuf/timestamp.proto"},
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Thing"), Field: []*descriptorpb.FieldDescriptorProto{
				member("first_part", 1, descriptorpb.FieldDescriptorProto_TYPE_INT32), member("b", 2, descriptorpb.FieldDescriptorProto_TYPE_STRING)}},
			{Name: proto.String("Other")},
		},
	}
	for name, change := range map[string]func(f *descriptorpb.FileDescriptorProto){
		"nothing": func(*descriptorpb.FileDescriptorProto) {},
		"the order": func(f *descriptorpb.FileDescriptorProto) {
			slices.Reverse(f.Dependency)
			slices.Reverse(f.MessageType)
			slices.Reverse(f.MessageType[1].Field)
		},
		"comments": func(f *descriptorpb.FileDescriptorProto) {
			f.SourceCodeInfo = &descriptorpb.SourceCodeInfo{Location: []*descriptorpb.SourceCodeInfo_Location{{Span: []int32{1, 1, 1}, LeadingComments: proto.String("a thing")}}}
		},
		"what a compiler adds": func(f *descriptorpb.FileDescriptorProto) {
			f.Syntax = proto.String("proto2")
			f.Options = &descriptorpb.FileOptions{GoPackage: proto.String("acme/thing")}
			f.MessageType[0].Field[0].JsonName = proto.String("firstPart")
		},
	} {
		again := proto.CloneOf(file)
		change(again)
		for _, set := range [][]byte{fileSet(t, file, again), fileSet(t, again, file, again)} {
			ty, err := ParseType(engram.TypeDef{Name: "acme.Thing", Descriptors: set})
			if err != nil || ty.Name() != "acme.Thing" {
				t.Errorf("%s: %v, %v", name, ty, err)
				continue
			}
			if paths := readAlone(t, ty.Def().Descriptors); len(paths) != 3 {
				t.Errorf("%s: the files are %q", name, paths)
			}
		}
	}
	for name, change := range map[string]func(f *descriptorpb.FileDescriptorProto){
		"a number": func(f *descriptorpb.FileDescriptorProto) { f.MessageType[0].Field[1].Number = proto.Int32(3) },
		"a type": func(f *descriptorpb.FileDescriptorProto) {
			f.MessageType[0].Field[1].Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
		},
		"a package": func(f *descriptorpb.FileDescriptorProto) { f.Package = proto.String("lab") },
		"proto3":    func(f *descriptorpb.FileDescriptorProto) { f.Syntax = proto.String("proto3") },
	} {
		again := proto.CloneOf(file)
		change(again)
		_, err := ParseType(engram.TypeDef{Name: "acme.Thing", Descriptors: fileSet(t, file, again)})
		if !errors.Is(err, engram.Invalid) || !strings.Contains(err.Error(), `the file "a.proto" appears multiple times, with different content`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// However often a file stands in a set, it is read once for each time.
func TestParseTypeOfAFileOften(t *testing.T) {
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("a.proto"), MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Thing")}}}
	files := []*descriptorpb.FileDescriptorProto{proto.CloneOf(file)}
	files[0].SourceCodeInfo = &descriptorpb.SourceCodeInfo{}
	for range 1000 {
		files[0].SourceCodeInfo.Location = append(files[0].SourceCodeInfo.Location, &descriptorpb.SourceCodeInfo_Location{Span: []int32{1, 1, 1}})
	}
	for range 500 {
		files = append(files, file)
	}
	set := fileSet(t, files...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := ParseType(engram.TypeDef{Name: "Thing", Descriptors: set}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("a set of %d bytes took %d", len(set), n)
	}
}

func TestParseTypeRefuses(t *testing.T) {
	cyclic := func(name, imports string) *descriptorpb.FileDescriptorProto {
		return &descriptorpb.FileDescriptorProto{Name: proto.String(name), Dependency: []string{imports}}
	}
	deep := &descriptorpb.DescriptorProto{Name: proto.String("M")}
	for range maxNesting + 5 {
		deep = &descriptorpb.DescriptorProto{Name: proto.String("M"), NestedType: []*descriptorpb.DescriptorProto{deep}}
	}
	many := &descriptorpb.DescriptorProto{Name: proto.String("M")}
	for i := range maxDeclarations + 1 {
		many.Field = append(many.Field, &descriptorpb.FieldDescriptorProto{Name: proto.String("f"), Number: proto.Int32(int32(i + 1))})
	}
	long := protoFile(nil, strings.Repeat("x", maxFullName), "")
	entry := protoFile(nil, "m", ".acme.Thing.MEntry")
	entry.MessageType[0].NestedType = []*descriptorpb.DescriptorProto{{Name: proto.String("MEntry"), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
		Field: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String("key"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
			{Name: proto.String("value"), Number: proto.Int32(2), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
		}}}
	entry.MessageType[0].Field[0].Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	for name, c := range map[string]struct {
		typ  string
		b    []byte
		want string
	}{
		"garbage":        {"acme.Thing", []byte{0xff, 0xff}, "FileDescriptorSet"},
		"empty":          {"acme.Thing", nil, "do not declare"},
		"missing import": {"acme.Thing", fileSet(t, protoFile([]string{"gone.proto"}, "a", ".b.C")), `imports "gone.proto"`},
		"cyclic import":  {"acme.Thing", fileSet(t, cyclic("a.proto", "b.proto"), cyclic("b.proto", "a.proto")), "cycle"},
		"own import":     {"acme.Thing", fileSet(t, cyclic("a.proto", "a.proto")), "cycle"},
		"unresolved":     {"acme.Thing", fileSet(t, protoFile(nil, "a", ".b.C")), "b.C"},
		"twice":          {"acme.Thing", fileSet(t, protoFile(nil, "a", ".acme.Thing"), protoFile(nil, "b", ".acme.Thing")), "multiple times"},
		"other name":     {"acme.Other", fileSet(t, protoFile(nil, "a", ".acme.Thing")), "do not declare"},
		"a field's name": {"acme.Thing.a", fileSet(t, protoFile(nil, "a", ".acme.Thing")), "not that of a message"},
		"a map's entry":  {"acme.Thing.MEntry", fileSet(t, entry), "not that of a message"},
		"deep":           {"M", fileSet(t, &descriptorpb.FileDescriptorProto{Name: proto.String("d"), MessageType: []*descriptorpb.DescriptorProto{deep}}), "deep"},
		"many":           {"M", fileSet(t, &descriptorpb.FileDescriptorProto{Name: proto.String("d"), MessageType: []*descriptorpb.DescriptorProto{many}}), "declarations"},
		"long name":      {"acme.Thing", fileSet(t, long), "full name"},
		"large":          {"acme.Thing", make([]byte, MaxDescriptors+1), "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseType(engram.TypeDef{Name: c.typ, Descriptors: c.b})
			if !errors.Is(err, engram.Invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want Invalid with %q", err, c.want)
			}
		})
	}
}

// A set brings its own copy of a file, and not the known file that imports it.
func TestParseTypeOwnCopyBelowKnown(t *testing.T) {
	pose := protodesc.ToFileDescriptorProto(foxglove.File_foxglove_Pose_proto)
	added := proto.CloneOf(pose.MessageType[0].Field[0])
	added.Name, added.Number, added.JsonName = proto.String("added"), proto.Int32(99), nil
	pose.MessageType[0].Field = append(pose.MessageType[0].Field, added)
	ty, err := ParseType(engram.TypeDef{Name: "acme.Thing",
		Descriptors: fileSet(t, pose, protoFile([]string{"foxglove/PoseInFrame.proto"}, "pose", ".foxglove.PoseInFrame"))})
	if err != nil {
		t.Fatal(err)
	}
	in := ty.Descriptor().Fields().ByName("pose").Message().Fields().ByName("pose").Message()
	if in.Fields().ByName("added") == nil {
		t.Error("the member's pose is not that of the set")
	}
}

// Types share the descriptors of the known files.
func TestParseTypeShares(t *testing.T) {
	ty, err := ParseType(known(t, "foxglove.RawImage").Def())
	if err != nil {
		t.Fatal(err)
	}
	if ty.Descriptor() != known(t, "foxglove.RawImage").Descriptor() {
		t.Error("the known descriptor was made again")
	}
}

// A set may declare what is known as an enumeration as a message.
func TestParseTypeEnumAsMessage(t *testing.T) {
	value := protodesc.ToFileDescriptorProto(idfv1.File_engram_idf_v1_value_proto)
	value.EnumType = nil
	value.MessageType = append(value.MessageType, &descriptorpb.DescriptorProto{Name: proto.String("DType")})
	for _, m := range value.MessageType {
		for _, f := range m.Field {
			if f.GetTypeName() == ".engram.idf.v1.DType" {
				f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
			}
		}
	}
	_, err := ParseType(engram.TypeDef{Name: "engram.idf.v1.Matrix", Descriptors: fileSet(t, value)})
	if !errors.Is(err, engram.Invalid) || !strings.Contains(err.Error(), "member dtype") {
		t.Errorf("%v, want Invalid naming dtype", err)
	}
}

// Readers see complete types while others are added.
func TestRegistryConcurrent(t *testing.T) {
	r := NewRegistry()
	var wg sync.WaitGroup
	for i := range 8 {
		name := "Thing" + string(rune('A'+i%4))
		f := protoFile(nil, "self", ".acme."+name)
		f.MessageType[0].Name = &name
		def := engram.TypeDef{Name: "acme." + name, Descriptors: fileSet(t, f)}
		wg.Go(func() {
			ty, err := r.Add(def)
			if err != nil {
				t.Error(err)
			}
			if got, ok := r.Get(def.Name); !ok || got != ty {
				t.Errorf("Get(%s) = %p, %v; Add gave %p", def.Name, got, ok, ty)
			}
		})
	}
	wg.Wait()
}

func TestRegistryGetDoesNotAllocate(t *testing.T) {
	r := NewRegistry()
	if n := testing.AllocsPerRun(100, func() { r.Get("foxglove.RawImage") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
