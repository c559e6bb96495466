package idf

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/bufbuild/protocompile/protoutil"

	"github.com/seed-301d4374/engram"
)

// ParseType makes a type from its self-contained definition. Imports that the
// definition does not bring are taken from the files every [Registry] knows, and are
// part of [Type.Def]; if it brings its own copies of these, their messages must agree
// with the known ones in every member they share. The error is Invalid and says what is
// wrong with the descriptors.
func ParseType(def engram.TypeDef) (*Type, error) {
	def.Descriptors = completeSet(def.Descriptors)
	if err := limitEncoded(def.Descriptors); err != nil {
		return nil, engram.Errorf(engram.Invalid, def.Name, "type definition: %w", err)
	}
	def.Descriptors = nameMembers(closeCycles(def.Descriptors))
	files, err := parseFiles(def.Descriptors)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, def.Name, "type definition: %w", err)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(def.Name))
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, def.Name, "type definition: its descriptors do not declare this message")
	}
	md, ok := d.(protoreflect.MessageDescriptor)
	if !ok || md.IsMapEntry() {
		return nil, engram.Errorf(engram.Invalid, def.Name, "type definition: the name is not that of a message")
	}
	return newType(md, func() engram.TypeDef { return def }), nil
}

// setFile is FileDescriptorSet.file, the only field of the message.
const setFile = 1

// parseFiles makes descriptors from an encoded FileDescriptorSet. Files that are
// the known ones are not made again.
func parseFiles(b []byte) (*protoregistry.Files, error) {
	var protos []*descriptorpb.FileDescriptorProto
	var known []protoreflect.FileDescriptor
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeField(b)
		if n < 0 {
			return nil, fmt.Errorf("the descriptors are not a FileDescriptorSet: %w", protowire.ParseError(n))
		}
		field := b[:n]
		b = b[n:]
		if num != setFile || wire != protowire.BytesType {
			continue
		}
		_, _, tag := protowire.ConsumeTag(field)
		raw, _ := protowire.ConsumeBytes(field[tag:])
		if f, ok := knownEncoded().files[string(raw)]; ok {
			known = append(known, f)
			continue
		}
		if len(protos) == maxFiles {
			return nil, fmt.Errorf("over %d files", maxFiles)
		}
		f := &descriptorpb.FileDescriptorProto{}
		if err := (proto.UnmarshalOptions{RecursionLimit: 100}).Unmarshal(raw, f); err != nil {
			return nil, fmt.Errorf("the descriptors are not a FileDescriptorSet: %w", err)
		}
		protos = append(protos, f)
	}
	return linkFiles(protos, known)
}

// descriptorSet returns the encoded FileDescriptorSet of a file and all it
// imports, each file after its imports, with the names of members in JSON. Equal files
// give equal bytes.
func descriptorSet(file protoreflect.FileDescriptor) ([]byte, error) {
	set, err := appendFile(nil, map[string]bool{}, file)
	return nameMembers(set), err
}

// appendFile adds file to an encoded set, after those it imports, unless it is there.
func appendFile(set []byte, have map[string]bool, file protoreflect.FileDescriptor) ([]byte, error) {
	if have[file.Path()] {
		return set, nil
	}
	if file.IsPlaceholder() {
		return nil, fmt.Errorf("the import %q is not resolved", file.Path())
	}
	have[file.Path()] = true
	for i := range file.Imports().Len() {
		var err error
		if set, err = appendFile(set, have, file.Imports().Get(i).FileDescriptor); err != nil {
			return nil, err
		}
	}
	raw := knownEncoded().bytes[file.Path()]
	if knownFiles()[file.Path()] != file {
		var err error
		if raw, err = encodeFile(file); err != nil {
			return nil, err
		}
	}
	return protowire.AppendBytes(protowire.AppendTag(set, setFile, protowire.BytesType), raw), nil
}

// encodeFile returns an encoded FileDescriptorProto, with those source locations
// only that have comments.
func encodeFile(file protoreflect.FileDescriptor) ([]byte, error) {
	f := protoutil.ProtoFromFileDescriptor(file)
	if f.SourceCodeInfo != nil {
		var kept []*descriptorpb.SourceCodeInfo_Location
		for _, l := range f.SourceCodeInfo.Location {
			if l.GetLeadingComments() != "" || l.GetTrailingComments() != "" {
				kept = append(kept, l)
			}
		}
		f = proto.CloneOf(f)
		f.SourceCodeInfo.Location = kept
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(f)
}
