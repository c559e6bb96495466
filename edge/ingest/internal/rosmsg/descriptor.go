package rosmsg

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

const (
	timestampFile = "google/protobuf/timestamp.proto"
	durationFile  = "google/protobuf/duration.proto"
	optionsFile   = "engram/idf/v1/options.proto"
	constantEnum  = "Constant"
)

func (d *Definition) sortedNames() []string { return slices.Sorted(maps.Keys(d.Messages)) }

// Descriptor returns the protobuf message that mirrors the root message. Members
// have the fields' names and are numbered in their order. suffix is appended to
// the message's name and tells apart definitions that share one; it is usually
// empty. The error is Invalid.
func (d *Definition) Descriptor(suffix string) (protoreflect.MessageDescriptor, error) {
	files := &protoregistry.Files{}
	for _, dep := range []protoreflect.FileDescriptor{
		timestamppb.File_google_protobuf_timestamp_proto,
		durationpb.File_google_protobuf_duration_proto,
	} {
		if err := files.RegisterFile(dep); err != nil {
			return nil, engram.Errorf(engram.Internal, d.Root.Name, "registering %s: %w", dep.Path(), err)
		}
	}
	if err := registerWithImports(files, idfv1.File_engram_idf_v1_options_proto); err != nil {
		return nil, engram.Errorf(engram.Internal, d.Root.Name, "registering %s: %w", optionsFile, err)
	}
	return d.build(files, d.Root, suffix)
}

func registerWithImports(files *protoregistry.Files, fd protoreflect.FileDescriptor) error {
	if _, err := files.FindFileByPath(fd.Path()); err == nil {
		return nil
	}
	for i := range fd.Imports().Len() {
		if err := registerWithImports(files, fd.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return files.RegisterFile(fd)
}

// build makes the file of m, after those it imports.
func (d *Definition) build(files *protoregistry.Files, m *Message, suffix string) (protoreflect.MessageDescriptor, error) {
	full := ProtoName(d.Version, m.Name) + suffix
	path := strings.ReplaceAll(full, ".", "/") + ".proto"
	dot := strings.LastIndexByte(full, '.')
	if fd, err := files.FindFileByPath(path); err == nil {
		return fd.Messages().Get(0), nil
	}
	imports := map[string]bool{}
	for i := range m.Fields {
		switch t := &m.Fields[i].Type; t.Kind {
		case Struct:
			sub, err := d.build(files, d.Messages[t.Message], "")
			if err != nil {
				return nil, err
			}
			imports[sub.ParentFile().Path()] = true
		case Time:
			imports[timestampFile] = true
		case Duration:
			imports[durationFile] = true
		}
	}
	msg := &descriptorpb.DescriptorProto{Name: proto.String(full[dot+1:])}
	d.addFields(msg, m)
	enum := constants(m)
	if enum != nil {
		imports[optionsFile] = true
		msg.EnumType = append(msg.EnumType, enum)
	}
	fdp := &descriptorpb.FileDescriptorProto{
		Name:        proto.String(path),
		Package:     proto.String(full[:dot]),
		Syntax:      proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{msg},
		Dependency:  slices.Sorted(maps.Keys(imports)),
	}
	fd, err := protodesc.NewFile(fdp, files)
	if err != nil && enum != nil {
		// The constants' names clash as protobuf sees them; the source keeps them.
		msg.EnumType = nil
		delete(imports, optionsFile)
		fdp.Dependency = slices.Sorted(maps.Keys(imports))
		fd, err = protodesc.NewFile(fdp, files)
	}
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, m.Name, "has no protobuf form: %w", err)
	}
	if err := files.RegisterFile(fd); err != nil {
		return nil, engram.Errorf(engram.Invalid, m.Name, "has no protobuf form: %w", err)
	}
	return fd.Messages().Get(0), nil
}

var protoTypes = map[Kind]descriptorpb.FieldDescriptorProto_Type{
	Bool: descriptorpb.FieldDescriptorProto_TYPE_BOOL,
	Int8: descriptorpb.FieldDescriptorProto_TYPE_SINT32, Uint8: descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	Int16: descriptorpb.FieldDescriptorProto_TYPE_SINT32, Uint16: descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	Int32: descriptorpb.FieldDescriptorProto_TYPE_SINT32, Uint32: descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	Int64: descriptorpb.FieldDescriptorProto_TYPE_SINT64, Uint64: descriptorpb.FieldDescriptorProto_TYPE_UINT64,
	Float32: descriptorpb.FieldDescriptorProto_TYPE_FLOAT, Float64: descriptorpb.FieldDescriptorProto_TYPE_DOUBLE,
	String: descriptorpb.FieldDescriptorProto_TYPE_STRING, WString: descriptorpb.FieldDescriptorProto_TYPE_STRING,
	Time: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, Duration: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE,
	Struct: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE,
}

func (d *Definition) addFields(msg *descriptorpb.DescriptorProto, m *Message) {
	names := fieldNames(m)
	for i := range m.Fields {
		t := &m.Fields[i].Type
		f := &descriptorpb.FieldDescriptorProto{
			Name:   proto.String(names[i]),
			Number: proto.Int32(fieldNumber(i)),
			Label:  descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			Type:   protoTypes[t.Kind].Enum(),
		}
		switch t.Kind {
		case Time:
			f.TypeName = proto.String(".google.protobuf.Timestamp")
		case Duration:
			f.TypeName = proto.String(".google.protobuf.Duration")
		case Struct:
			f.TypeName = proto.String("." + ProtoName(d.Version, t.Message))
		}
		if t.Array != Single {
			if t.Kind == Uint8 {
				f.Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
			} else {
				f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			}
		}
		msg.Field = append(msg.Field, f)
	}
}

// fieldNumber numbers the i-th field, leaving out the range that protobuf keeps
// for itself.
func fieldNumber(i int) int32 {
	const first, last = 19000, 19999
	if n := int32(i + 1); n < first {
		return n
	}
	return int32(i+1) + last - first + 1
}

// fieldNames returns the members' names: those of the fields, with a number
// appended where two differ only in case and underscores, which proto3 forbids.
func fieldNames(m *Message) []string {
	names := make([]string, len(m.Fields))
	taken := map[string]bool{}
	for i := range m.Fields {
		name := m.Fields[i].Name
		for n := 2; taken[foldName(name)]; n++ {
			name = m.Fields[i].Name + "_" + strconv.Itoa(n)
		}
		taken[foldName(name)] = true
		names[i] = name
	}
	return names
}

func foldName(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }

// constants returns the integer constants as an enum, or nil if there are none.
// Its first value is 0, as proto3 demands; constants beyond int32 stand in the
// source only.
func constants(m *Message) *descriptorpb.EnumDescriptorProto {
	taken := map[string]bool{constantEnum: true}
	for _, name := range fieldNames(m) {
		taken[name] = true
	}
	var zero, values []*descriptorpb.EnumValueDescriptorProto
	numbers := map[int32]bool{}
	alias := false
	for _, c := range m.Constants {
		if !c.Kind.integer() {
			continue
		}
		n, err := strconv.ParseInt(c.Value, 0, 32)
		if err != nil {
			continue
		}
		v := &descriptorpb.EnumValueDescriptorProto{Name: proto.String(c.Name), Number: proto.Int32(int32(n))}
		if taken[c.Name] {
			v.Name = proto.String(c.Name + "_CONSTANT")
			v.Options = &descriptorpb.EnumValueOptions{}
			proto.SetExtension(v.Options, idfv1.E_Key, c.Name)
		}
		taken[*v.Name] = true
		alias = alias || numbers[int32(n)]
		numbers[int32(n)] = true
		if n == 0 && zero == nil {
			zero = append(zero, v)
		} else {
			values = append(values, v)
		}
	}
	if zero == nil && values == nil {
		return nil
	}
	if zero == nil {
		zero = append(zero, &descriptorpb.EnumValueDescriptorProto{Name: proto.String("CONSTANT_UNSPECIFIED"), Number: proto.Int32(0)})
	}
	enum := &descriptorpb.EnumDescriptorProto{Name: proto.String(constantEnum), Value: append(zero, values...)}
	if alias {
		enum.Options = &descriptorpb.EnumOptions{AllowAlias: proto.Bool(true)}
	}
	return enum
}
