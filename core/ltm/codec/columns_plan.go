package codec

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram/core/idf"
)

// kind says what a member is to the columns: how it stands in the encoded message
// and what its column holds. The numbers are part of the format.
type kind byte

const (
	kindMessage  kind = iota
	kindVarint        // int32, int64, uint32, uint64, bool, enum
	kindZigzag        // sint32, sint64
	kindFixed32       // fixed32, sfixed32
	kindFixed64       // fixed64, sfixed64
	kindFloat         // float
	kindDouble        // double
	kindText          // string, bytes
	kindTime          // google.protobuf.Timestamp, as nanoseconds
	kindDuration      // google.protobuf.Duration, as nanoseconds
	kinds
)

func (k kind) wire() protowire.Type {
	switch k {
	case kindVarint, kindZigzag:
		return protowire.VarintType
	case kindFixed32, kindFloat:
		return protowire.Fixed32Type
	case kindFixed64, kindDouble:
		return protowire.Fixed64Type
	}
	return protowire.BytesType
}

// occurs says how often a member may stand in its message. The numbers are part of
// the format.
type occurs byte

const (
	occursUnlessZero occurs = iota // once, or not at all where it is zero
	occursMaybe                    // once or not at all
	occursList                     // any number of times, one record each
	occursPacked                   // any number of times, all in one record
	occurrences
)

// plan is what shredding needs to know of a message type.
type plan struct {
	fields []planField // by rising number
}

type planField struct {
	number protowire.Number
	kind   kind
	occurs occurs
	sub    *plan // kindMessage
}

// typesOf returns how an encoder finds the plans of its payloads' types. A type that
// is not known has none.
func typesOf(c Config) func(name string) *plan {
	found := map[string]*plan{}
	return func(name string) *plan {
		p, ok := found[name]
		if ok {
			return p
		}
		var t *idf.Type
		if c.Payload != nil && c.Payload.Name() == name {
			t = c.Payload
		} else if c.Types != nil {
			t, _ = c.Types.Get(name)
		}
		if t == nil {
			return nil // it may become known
		}
		p = planOf(t.Descriptor(), map[protoreflect.MessageDescriptor]*plan{})
		found[name] = p
		return p
	}
}

// planOf compiles the plan of a message and of all below it; made holds those
// that there are, for messages that stand several times and that contain themselves.
func planOf(md protoreflect.MessageDescriptor, made map[protoreflect.MessageDescriptor]*plan) *plan {
	if p, ok := made[md]; ok {
		return p
	}
	p := &plan{}
	made[md] = p
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		f := planField{number: fd.Number(), occurs: occursUnlessZero}
		switch {
		case fd.IsPacked():
			f.occurs = occursPacked
		case fd.Cardinality() == protoreflect.Repeated:
			f.occurs = occursList
		case fd.HasPresence() || md.IsMapEntry(): // entries have both members, zero or not
			f.occurs = occursMaybe
		}
		f.kind = kindOf(fd)
		if f.kind == kindMessage {
			f.sub = planOf(fd.Message(), made)
		}
		p.fields = append(p.fields, f)
	}
	slices.SortFunc(p.fields, func(a, b planField) int { return int(a.number - b.number) })
	return p
}

func kindOf(fd protoreflect.FieldDescriptor) kind {
	switch fd.Kind() {
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return kindZigzag
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return kindFixed32
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return kindFixed64
	case protoreflect.FloatKind:
		return kindFloat
	case protoreflect.DoubleKind:
		return kindDouble
	case protoreflect.StringKind, protoreflect.BytesKind:
		return kindText
	case protoreflect.MessageKind:
		switch fd.Message().FullName() {
		case "google.protobuf.Timestamp":
			return kindTime
		case "google.protobuf.Duration":
			return kindDuration
		}
		return kindMessage
	case protoreflect.GroupKind:
		return kindText // never matches a group's records, so these are kept as they are
	}
	return kindVarint
}
