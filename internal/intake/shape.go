package intake

import (
	"reflect"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Shape is what is to be known of a message type to count its messages. It is
// immutable.
type Shape struct {
	name   protoreflect.FullName
	small  [24]field // by number
	large  map[protoreflect.FieldNumber]field
	weight int64 // bytes of heap of one message, without what its fields hold apart
	// heaviest is the largest weight of a message that may lie in one of this type, at
	// any depth. Zero until the shape is complete.
	heaviest int64
}

// field says how the values of a field count.
type field struct {
	kind fieldKind
	item int64  // bytes of heap for each value
	sub  *Shape // of messages
}

type fieldKind uint8

const (
	fieldUnknown fieldKind = iota
	fieldScalar
	fieldVarint  // scalar that may be packed, each of a byte or more
	fieldFixed32 // … of four bytes
	fieldFixed64 // … of eight
	fieldBytes
	fieldMessage
	fieldGroup
)

const (
	pointer = 8
	header  = 24 // of a slice
	// entryWeight is that of a map's entry, with its share of empty slots.
	entryWeight = 128
	// unknownWeight is that of a message without a Go type.
	unknownWeight = 256
	// jsonValue is what a scalar in JSON takes at most: a google.protobuf.Value with
	// its kind, and what its conversion makes of it.
	jsonValue = 192
)

// answered is, by message, what a server builds of one beyond the message itself: what
// it becomes in the domain, and the answer to it, which each may have of its own.
var answered = map[protoreflect.FullName]int64{
	"engram.v1.EntityUpdate": 640,
	"engram.v1.Instance":     160,
	"engram.v1.PoseQuestion": 768,
	"engram.v1.AnchorKey":    512,
	"engram.v1.QueryNode":    256,
	"google.protobuf.Value":  160,
	"engram.v1.NameSelector": 192,
}

// patternWeight is what a pattern's text becomes: parsed, compiled and kept, each level with
// its name.
const patternWeight = 768

var shapes struct {
	sync.Mutex
	known map[protoreflect.FullName]*Shape
}

// Of returns the shape of messages of a type that is compiled in.
func Of(d protoreflect.MessageDescriptor) *Shape {
	shapes.Lock()
	defer shapes.Unlock()
	if shapes.known == nil {
		shapes.known = map[protoreflect.FullName]*Shape{}
	}
	s := shape(d)
	if s.heaviest == 0 {
		s.heaviest = heaviest(s, map[*Shape]bool{})
	}
	return s
}

func shape(d protoreflect.MessageDescriptor) *Shape {
	if s := shapes.known[d.FullName()]; s != nil {
		return s
	}
	s := &Shape{name: d.FullName(), weight: weight(d)}
	shapes.known[d.FullName()] = s // before its fields, which may hold it
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		f := fieldOf(fd)
		if n := fd.Number(); int(n) < len(s.small) {
			s.small[n] = f
		} else {
			if s.large == nil {
				s.large = map[protoreflect.FieldNumber]field{}
			}
			s.large[n] = f
		}
	}
	return s
}

func heaviest(s *Shape, seen map[*Shape]bool) int64 {
	if seen[s] {
		return 0
	}
	seen[s] = true
	most := s.weight
	visit := func(f field) {
		if f.sub != nil {
			most = max(most, heaviest(f.sub, seen)+pointer)
		}
	}
	for _, f := range s.small {
		visit(f)
	}
	for _, f := range s.large {
		visit(f)
	}
	return most
}

func (s *Shape) field(n protoreflect.FieldNumber) field {
	if n > 0 && int(n) < len(s.small) {
		return s.small[n]
	}
	return s.large[n]
}

// weight returns what a message takes by itself.
func weight(d protoreflect.MessageDescriptor) int64 {
	if d.IsMapEntry() {
		return entryWeight
	}
	size := int64(unknownWeight)
	if mt, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName()); err == nil {
		if t := reflect.TypeOf(mt.Zero().Interface()); t.Kind() == reflect.Pointer {
			size = int64(t.Elem().Size())
		}
	}
	return size + size/4 + answered[d.FullName()] // sizes of allocations are rounded up
}

func fieldOf(fd protoreflect.FieldDescriptor) field {
	f := field{kind: fieldScalar}
	switch fd.Kind() {
	case protoreflect.MessageKind:
		f = field{kind: fieldMessage, item: pointer, sub: shape(fd.Message())}
	case protoreflect.GroupKind:
		f = field{kind: fieldGroup, item: pointer, sub: shape(fd.Message())}
	case protoreflect.StringKind, protoreflect.BytesKind:
		f = field{kind: fieldBytes, item: header}
	case protoreflect.BoolKind:
		f = field{kind: fieldVarint, item: 1}
	case protoreflect.Int32Kind, protoreflect.Uint32Kind, protoreflect.Sint32Kind, protoreflect.EnumKind:
		f = field{kind: fieldVarint, item: 4}
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		f = field{kind: fieldFixed32, item: 4}
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		f = field{kind: fieldFixed64, item: 8}
	default:
		f = field{kind: fieldVarint, item: 8}
	}
	if f.kind == fieldBytes && fd.IsList() && fd.Name() == "patterns" {
		f.item += patternWeight / 2
	}
	if fd.IsList() {
		f.item *= 2 // slices grow by doubling
	} else if f.kind != fieldMessage && f.kind != fieldGroup {
		f.item += 2 * pointer // what tells whether it is there: a pointer, or a oneof's wrapper
	}
	return f
}
