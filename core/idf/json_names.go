package idf

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// nameMembers gives the members of a FileDescriptorSet that have none the names that
// protobuf prescribes for JSON. A compiler of .proto files writes them, and libraries in
// other languages rely on that: protobuf-es takes a member without one to have the name
// "". Descriptors that have all, or cannot be read, are returned as they are.
func nameMembers(descriptors []byte) []byte {
	var out []byte
	named := false
	for rest := descriptors; len(rest) > 0; {
		number, wire, n := protowire.ConsumeField(rest)
		if n < 0 {
			return descriptors
		}
		field := rest[:n]
		rest = rest[n:]
		if number == setFile && wire == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(field)
			raw, _ := protowire.ConsumeBytes(field[tag:])
			if changed, ok := nameMembersOfFile(raw); ok {
				named = true
				out = protowire.AppendBytes(protowire.AppendTag(out, setFile, protowire.BytesType), changed)
				continue
			}
		}
		out = append(out, field...)
	}
	if !named {
		return descriptors
	}
	return out
}

// nameMembersOfFile returns an encoded file with the names, and whether it had not all.
func nameMembersOfFile(raw []byte) ([]byte, bool) {
	if _, known := knownEncoded().files[string(raw)]; known {
		return nil, false
	}
	f := &descriptorpb.FileDescriptorProto{}
	if (proto.UnmarshalOptions{RecursionLimit: 100}).Unmarshal(raw, f) != nil {
		return nil, false
	}
	named := false
	eachProto(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{f}}, func(_ string, m *descriptorpb.DescriptorProto) {
		for _, fd := range m.GetField() {
			if fd.GetJsonName() == "" {
				fd.JsonName = proto.String(jsonName(fd.GetName()))
				named = true
			}
		}
	})
	if !named {
		return nil, false
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(f)
	return b, err == nil
}

// SameDescriptors reports whether two encoded FileDescriptorSets are the same, up to
// what [ParseType] adds: the names for JSON that members have anyway, and imports.
func SameDescriptors(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	a, b = completeSet(a), completeSet(b)
	return limitEncoded(a) == nil && limitEncoded(b) == nil && bytes.Equal(nameMembers(a), nameMembers(b))
}
