package idf

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// OpenCycles returns descriptors of a message without members that lead back to a
// message they lie in: such a member becomes one of bytes, which has the same wire
// form, and is marked with what it holds. Viewers that make a table of a type need
// that; Rerun 0.33 ends on a type that contains itself. [ParseType], and with it
// [Registry.Add], undoes it. Descriptors without such members, or that cannot be
// read, are returned as they are, but for the names that members have in JSON.
func OpenCycles(descriptors []byte, message string) []byte {
	descriptors = nameMembers(descriptors)
	set := &descriptorpb.FileDescriptorSet{}
	if proto.Unmarshal(descriptors, set) != nil {
		return descriptors
	}
	o := opener{messages: map[string]*descriptorpb.DescriptorProto{}, state: map[string]walkState{}}
	eachProto(set, func(name string, m *descriptorpb.DescriptorProto) { o.messages[name] = m })
	o.visit("." + message)
	if !o.opened {
		return descriptors
	}
	return encodeSet(set, descriptors)
}

type walkState uint8

const (
	walkNew walkState = iota
	walkInside
	walkDone
)

type opener struct {
	messages map[string]*descriptorpb.DescriptorProto // by full name with a leading dot
	state    map[string]walkState
	opened   bool
}

func (o *opener) visit(name string) {
	o.state[name] = walkInside
	for _, f := range o.messages[name].GetField() {
		if f.GetType() != descriptorpb.FieldDescriptorProto_TYPE_MESSAGE {
			continue
		}
		held := f.GetTypeName()
		switch o.state[held] {
		case walkNew:
			o.visit(held)
		case walkInside:
			o.opened = true
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
			f.TypeName = nil
			if f.Options == nil {
				f.Options = &descriptorpb.FieldOptions{}
			}
			proto.SetExtension(f.Options, idfv1.E_Holds, held)
		}
	}
	o.state[name] = walkDone
}

// closeCycles undoes OpenCycles.
func closeCycles(descriptors []byte) []byte {
	mark := protowire.AppendTag(nil, idfv1.E_Holds.TypeDescriptor().Number(), protowire.BytesType)
	set := &descriptorpb.FileDescriptorSet{}
	if !bytes.Contains(descriptors, mark) || proto.Unmarshal(descriptors, set) != nil {
		return descriptors
	}
	closed := false
	eachProto(set, func(_ string, m *descriptorpb.DescriptorProto) {
		for _, f := range m.GetField() {
			held, _ := proto.GetExtension(f.GetOptions(), idfv1.E_Holds).(string)
			if held == "" || f.GetType() != descriptorpb.FieldDescriptorProto_TYPE_BYTES {
				continue
			}
			closed = true
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
			f.TypeName = &held
			if proto.ClearExtension(f.Options, idfv1.E_Holds); proto.Size(f.Options) == 0 {
				f.Options = nil
			}
		}
	})
	if !closed {
		return descriptors
	}
	return encodeSet(set, descriptors)
}

// eachProto calls f with every message, nested ones too, and its full name with a
// leading dot.
func eachProto(set *descriptorpb.FileDescriptorSet, f func(name string, m *descriptorpb.DescriptorProto)) {
	var below func(scope string, messages []*descriptorpb.DescriptorProto)
	below = func(scope string, messages []*descriptorpb.DescriptorProto) {
		for _, m := range messages {
			name := scope + "." + m.GetName()
			f(name, m)
			below(name, m.GetNestedType())
		}
	}
	for _, file := range set.GetFile() {
		scope := ""
		if p := file.GetPackage(); p != "" {
			scope = "." + p
		}
		below(scope, file.GetMessageType())
	}
}

func encodeSet(set *descriptorpb.FileDescriptorSet, otherwise []byte) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return otherwise
	}
	return b
}
