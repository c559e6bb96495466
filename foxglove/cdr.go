package foxglove

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/seed-301d4374/engram"
)

// ros2 is a type as ROS 2 has it, for viewers that know nothing else: its definition, and
// messages in CDR, little-endian. Members that contain their own type are left out, maps are
// lists of entries, members that are not set are zero.
//
// Source: the message definitions of ROS 2 (ros2msg), and CDR as of OMG's DDSI-RTPS.
type ros2 struct {
	name   string // engram_speech/msg/Text
	schema string
	desc   protoreflect.MessageDescriptor
	top    *ros2Struct
}

// NewROS2 returns a protobuf message as ROS 2 has it: the name and the definition, in ros2msg,
// of a message that is made for it, and what writes payloads in CDR. Members that contain
// their own type are left out, maps are lists of entries, members that are not set are zero.
func NewROS2(desc protoreflect.MessageDescriptor) (name, schema string, message func(payload []byte) ([]byte, error)) {
	r := newROS2(desc)
	return r.name, r.schema, r.message
}

// ros2Struct is a message: what is written of it, in order.
type ros2Struct struct {
	fields []ros2Field
}

type ros2Field struct {
	fd     protoreflect.FieldDescriptor // nil: a byte, of a message that has nothing else
	nested *ros2Struct                  // of messages
	time   bool                         // a Timestamp or Duration
}

const ros2Separator = "================================================================================\nMSG: "

// newROS2 returns a type as ROS 2 has it.
func newROS2(desc protoreflect.MessageDescriptor) *ros2 {
	w := &ros2Writer{done: map[protoreflect.FullName]*ros2Struct{}, above: map[protoreflect.FullName]bool{}}
	top := w.write(desc)
	return &ros2{ros2Name(desc, "/msg/"), strings.Join(w.texts, ros2Separator), desc, top}
}

// ros2Name returns a message's name: its package and those it lies in, joined.
func ros2Name(desc protoreflect.MessageDescriptor, between string) string {
	pack := strings.ToLower(strings.ReplaceAll(string(desc.ParentFile().Package()), ".", "_"))
	name := strings.TrimPrefix(string(desc.FullName()), string(desc.ParentFile().Package())+".")
	if pack == "" {
		pack = "engram"
	}
	return pack + between + strings.ReplaceAll(strings.ReplaceAll(name, ".", ""), "_", "")
}

// ros2Writer writes a definition with those that it needs.
type ros2Writer struct {
	texts []string
	done  map[protoreflect.FullName]*ros2Struct
	above map[protoreflect.FullName]bool // in which we are
}

var ros2Kinds = map[protoreflect.Kind]string{
	protoreflect.BoolKind: "bool", protoreflect.StringKind: "string", protoreflect.BytesKind: "uint8[]", protoreflect.EnumKind: "int32",
	protoreflect.Int32Kind: "int32", protoreflect.Sint32Kind: "int32", protoreflect.Sfixed32Kind: "int32",
	protoreflect.Uint32Kind: "uint32", protoreflect.Fixed32Kind: "uint32",
	protoreflect.Int64Kind: "int64", protoreflect.Sint64Kind: "int64", protoreflect.Sfixed64Kind: "int64",
	protoreflect.Uint64Kind: "uint64", protoreflect.Fixed64Kind: "uint64",
	protoreflect.FloatKind: "float32", protoreflect.DoubleKind: "float64",
}

var ros2Times = map[protoreflect.FullName]string{
	"google.protobuf.Timestamp": "builtin_interfaces/Time", "google.protobuf.Duration": "builtin_interfaces/Duration",
}

// write adds a message's definition; one that lies above is left out where it is used.
func (w *ros2Writer) write(desc protoreflect.MessageDescriptor) *ros2Struct {
	if s := w.done[desc.FullName()]; s != nil {
		return s
	}
	s := &ros2Struct{}
	w.done[desc.FullName()], w.above[desc.FullName()] = s, true
	at := len(w.texts)
	w.texts = append(w.texts, "")
	var text strings.Builder
	if at > 0 {
		text.WriteString(ros2Name(desc, "/") + "\n")
	}
	for i := range desc.Fields().Len() {
		f := ros2Field{fd: desc.Fields().Get(i)}
		typ := ros2Kinds[f.fd.Kind()]
		if m := f.fd.Message(); m != nil {
			if typ, f.time = ros2Times[m.FullName()], ros2Times[m.FullName()] != ""; !f.time {
				if w.above[m.FullName()] {
					continue
				}
				f.nested, typ = w.write(m), ros2Name(m, "/")
			}
		}
		if typ == "" || f.fd.IsList() && f.fd.Kind() == protoreflect.BytesKind {
			continue // ROS has no groups, and no lists of lists
		}
		if f.fd.IsList() || f.fd.IsMap() {
			typ += "[]"
		}
		fmt.Fprintf(&text, "%s %s\n", typ, f.fd.Name())
		s.fields = append(s.fields, f)
	}
	if len(s.fields) == 0 { // as ROS 2 does where there is nothing
		s.fields = []ros2Field{{}}
		text.WriteString("uint8 structure_needs_at_least_one_member\n")
	}
	w.texts[at] = text.String()
	delete(w.above, desc.FullName())
	return s
}

// message returns a payload of the type in CDR.
func (r *ros2) message(payload []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(r.desc)
	if err := proto.Unmarshal(payload, m); err != nil {
		return nil, engram.Errorf(engram.Corrupt, string(r.desc.FullName()), "the payload cannot be read: %w", err)
	}
	c := cdrWriter{b: append(make([]byte, 0, len(payload)+len(payload)/2+64), 0, 1, 0, 0)}
	c.message(r.top, m)
	return c.b, nil
}

// cdrWriter appends values, each at a multiple of its size behind the header.
type cdrWriter struct{ b []byte }

const cdrHeader = 4

func (c *cdrWriter) align(n int) {
	for (len(c.b)-cdrHeader)%n != 0 {
		c.b = append(c.b, 0)
	}
}

func (c *cdrWriter) u32(v uint32) {
	c.align(4)
	c.b = binary.LittleEndian.AppendUint32(c.b, v)
}

func (c *cdrWriter) u64(v uint64) {
	c.align(8)
	c.b = binary.LittleEndian.AppendUint64(c.b, v)
}

func (c *cdrWriter) message(s *ros2Struct, m protoreflect.Message) {
	for i := range s.fields {
		f := &s.fields[i]
		switch {
		case f.fd == nil:
			c.b = append(c.b, 0)
		case f.fd.IsMap():
			c.entries(f, m.Get(f.fd).Map())
		case f.fd.IsList():
			list := m.Get(f.fd).List()
			c.u32(uint32(list.Len()))
			for j := range list.Len() {
				c.value(f, list.Get(j))
			}
		default:
			c.value(f, m.Get(f.fd))
		}
	}
}

// entries writes a map as a list of keys and values, sorted by key.
func (c *cdrWriter) entries(f *ros2Field, entries protoreflect.Map) {
	var keys []protoreflect.MapKey
	for k := range entries.Range {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) })
	c.u32(uint32(len(keys)))
	for _, k := range keys {
		for i := range f.nested.fields {
			if member := &f.nested.fields[i]; member.fd.Number() == 1 {
				c.value(member, k.Value())
			} else {
				c.value(member, entries.Get(k))
			}
		}
	}
}

func (c *cdrWriter) value(f *ros2Field, v protoreflect.Value) {
	switch f.fd.Kind() {
	case protoreflect.BoolKind:
		if v.Bool() {
			c.b = append(c.b, 1)
		} else {
			c.b = append(c.b, 0)
		}
	case protoreflect.StringKind:
		c.u32(uint32(len(v.String()) + 1))
		c.b = append(append(c.b, v.String()...), 0)
	case protoreflect.BytesKind:
		c.u32(uint32(len(v.Bytes())))
		c.b = append(c.b, v.Bytes()...)
	case protoreflect.EnumKind:
		c.u32(uint32(v.Enum()))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		c.u32(uint32(v.Int()))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		c.u32(uint32(v.Uint()))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		c.u64(uint64(v.Int()))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		c.u64(v.Uint())
	case protoreflect.FloatKind:
		c.u32(math.Float32bits(float32(v.Float())))
	case protoreflect.DoubleKind:
		c.u64(math.Float64bits(v.Float()))
	case protoreflect.MessageKind:
		m := v.Message()
		if f.time {
			fields := m.Descriptor().Fields()
			sec, nsec := m.Get(fields.ByNumber(1)).Int(), m.Get(fields.ByNumber(2)).Int()
			if nsec < 0 { // of a negative duration; ROS counts up from the second below
				sec, nsec = sec-1, nsec+1e9
			}
			c.u32(uint32(sec))
			c.u32(uint32(nsec))
			return
		}
		c.message(f.nested, m)
	}
}
