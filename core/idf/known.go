package idf

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// knownFiles returns the files every registry knows, by path: those that declare
// payload types, and those only needed to read type files.
var knownFiles = sync.OnceValue(func() map[string]protoreflect.FileDescriptor {
	files := map[string]protoreflect.FileDescriptor{}
	for _, f := range payloadFiles() {
		files[f.Path()] = f
	}
	for _, f := range []protoreflect.FileDescriptor{
		descriptorpb.File_google_protobuf_descriptor_proto,
		idfv1.File_engram_idf_v1_options_proto,
	} {
		files[f.Path()] = f
	}
	return files
})

// encodedFiles holds the known files with their encoded form, both ways.
type encodedFiles struct {
	bytes map[string][]byte                      // by path
	files map[string]protoreflect.FileDescriptor // by their bytes
}

var knownEncoded = sync.OnceValue(func() encodedFiles {
	e := encodedFiles{map[string][]byte{}, map[string]protoreflect.FileDescriptor{}}
	for _, f := range knownFiles() {
		b, err := encodeFile(f)
		if err != nil {
			panic(fmt.Sprintf("idf: %s of this program: %v", f.Path(), err))
		}
		e.bytes[f.Path()], e.files[string(b)] = b, f
	}
	return e
})

// payloadFiles returns the known files whose messages are payload types.
func payloadFiles() []protoreflect.FileDescriptor {
	files := []protoreflect.FileDescriptor{
		anypb.File_google_protobuf_any_proto,
		durationpb.File_google_protobuf_duration_proto,
		emptypb.File_google_protobuf_empty_proto,
		structpb.File_google_protobuf_struct_proto,
		timestamppb.File_google_protobuf_timestamp_proto,
		wrapperspb.File_google_protobuf_wrappers_proto,
		idfv1.File_engram_idf_v1_value_proto,
	}
	schemas := foxglove.File_foxglove_Pose_proto.Package() // all that gen/foxglove registers
	protoregistry.GlobalFiles.RangeFilesByPackage(schemas, func(f protoreflect.FileDescriptor) bool {
		files = append(files, f)
		return true
	})
	return files
}

// knownTypes returns the types every registry knows, by name. All registries share
// them and what is compiled from them.
var knownTypes = sync.OnceValue(func() map[string]*Type {
	types := map[string]*Type{}
	for _, f := range payloadFiles() {
		eachMessage(f.Messages(), func(md protoreflect.MessageDescriptor) {
			types[string(md.FullName())] = impliedType(md)
		})
	}
	return types
})

// impliedType makes a type of a message of files that were linked and checked. Its
// definition is made when somebody asks for it.
func impliedType(md protoreflect.MessageDescriptor) *Type {
	return newType(md, sync.OnceValue(func() engram.TypeDef {
		// The files were linked, so all imports are resolved and the set is encodable.
		b, err := descriptorSet(md.ParentFile())
		if err != nil {
			panic(fmt.Sprintf("idf: definition of %s: %v", md.FullName(), err))
		}
		return engram.TypeDef{Name: string(md.FullName()), Descriptors: b, Format: "proto"}
	}))
}

// eachMessage calls f with the messages and those declared in them, without the
// entries of maps.
func eachMessage(mds protoreflect.MessageDescriptors, f func(protoreflect.MessageDescriptor)) {
	for i := range mds.Len() {
		if md := mds.Get(i); !md.IsMapEntry() {
			f(md)
			eachMessage(md.Messages(), f)
		}
	}
}

// checkKnown returns an error if files declare a known message otherwise than it
// is known, since code reads the known messages by their numbers. IDF's and
// Foxglove's may be of an older or a newer version, with members missing or more;
// of protobuf's own every member must be there.
func checkKnown(files *protoregistry.Files) error {
	for name, t := range knownTypes() {
		d, err := files.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil || d == protoreflect.Descriptor(t.desc) {
			continue
		}
		md, ok := d.(protoreflect.MessageDescriptor)
		if !ok {
			return fmt.Errorf("%s is known as a message", name)
		}
		if err := agree(md, t.desc); err != nil {
			return fmt.Errorf("%w; rename the message or use the known one", err)
		}
	}
	return nil
}

// agree compares the members of one known message.
func agree(md, known protoreflect.MessageDescriptor) error {
	older := known.ParentFile().Package() != "google.protobuf"
	for i := range known.Fields().Len() {
		want := known.Fields().Get(i)
		got := md.Fields().ByNumber(want.Number())
		if got == nil {
			if older && md.Fields().ByName(want.Name()) == nil {
				continue
			}
			return fmt.Errorf("%s: member %s is known as number %d", md.FullName(), want.Name(), want.Number())
		}
		if s := fieldDiff(got, want); s != "" {
			return fmt.Errorf("%s: member %s%s", md.FullName(), want.Name(), s)
		}
		if want.Enum() == nil {
			continue
		}
		for j := range want.Enum().Values().Len() {
			v := want.Enum().Values().Get(j)
			if g := got.Enum().Values().ByNumber(v.Number()); g == nil && !older || g != nil && g.Name() != v.Name() {
				return fmt.Errorf("%s: value %d is known as %s", got.Enum().FullName(), v.Number(), v.Name())
			}
		}
	}
	return nil
}
