package ingest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
)

// protoSource is a channel of protobuf messages.
type protoSource struct {
	typ *idf.Type
	def engram.TypeDef
}

func newProtoSource(c *recording.Channel) (source, error) {
	if c.SchemaEncoding != "protobuf" {
		return nil, engram.Errorf(engram.Unsupported, c.Type, "a definition in %q is not read; the message is kept as bytes", c.SchemaEncoding)
	}
	def := engram.TypeDef{Name: c.Type, Descriptors: c.Schema, Format: "proto"}
	t, err := idf.ParseType(def)
	if err != nil {
		return nil, err
	}
	return &protoSource{typ: t, def: def}, nil
}

func (s *protoSource) mirror(suffix string) (*idf.Type, error) {
	if suffix == "" {
		return s.typ, nil
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(s.def.Descriptors, &set); err != nil {
		return nil, engram.Errorf(engram.Invalid, s.def.Name, "the definition is damaged: %w", err)
	}
	renameMessage(&set, s.def.Name, suffix)
	b, err := proto.Marshal(&set)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, s.def.Name, "the definition cannot be renamed: %w", err)
	}
	return idf.ParseType(engram.TypeDef{Name: s.def.Name + suffix, Descriptors: b, Format: "proto"})
}

// renameMessage appends suffix to a top-level message's name, everywhere it stands.
func renameMessage(set *descriptorpb.FileDescriptorSet, name, suffix string) {
	old := "." + name
	fields := func(fds []*descriptorpb.FieldDescriptorProto) {
		for _, f := range fds {
			if tn := f.GetTypeName(); tn == old || strings.HasPrefix(tn, old+".") {
				f.TypeName = proto.String(old + suffix + tn[len(old):])
			}
			if e := f.GetExtendee(); e == old {
				f.Extendee = proto.String(old + suffix)
			}
		}
	}
	var messages func(mds []*descriptorpb.DescriptorProto)
	messages = func(mds []*descriptorpb.DescriptorProto) {
		for _, m := range mds {
			fields(m.Field)
			fields(m.Extension)
			messages(m.NestedType)
		}
	}
	for _, f := range set.File {
		messages(f.MessageType)
		fields(f.Extension)
		for _, m := range f.MessageType {
			if strings.TrimPrefix(f.GetPackage()+"."+m.GetName(), ".") == name {
				m.Name = proto.String(m.GetName() + suffix)
			}
		}
	}
}

func (s *protoSource) probe(fields []string, split string) (converter, error) {
	return s.build(nil, &Rule{Split: split}, fields)
}

func (s *protoSource) convert(target *idf.Type, rule *Rule, fields []string) (converter, error) {
	return s.build(target, rule, fields)
}

// build returns a converter to a target; without one, it only reads times and fields.
func (s *protoSource) build(target *idf.Type, rule *Rule, fields []string) (converter, error) {
	c := &protoConverter{source: s.typ, target: target}
	element := s.typ.Descriptor()
	if rule != nil && rule.Split != "" {
		fd := element.Fields().ByName(protoreflect.Name(rule.Split))
		if fd == nil || !fd.IsList() || fd.Message() == nil {
			return nil, engram.Errorf(engram.Invalid, s.def.Name, "has no list of messages %q to split", rule.Split)
		}
		c.split, element = fd.Number(), fd.Message()
		var err error
		if c.source, err = idf.TypeOf(element, "", ""); err != nil {
			return nil, err
		}
	}
	if fd := element.Fields().ByName("timestamp"); fd != nil && !fd.IsList() && isTimestamp(fd) {
		c.timestamp = fd.Number()
	}
	for _, f := range fields {
		path, _ := findPath(element, f)
		c.fields = append(c.fields, path)
	}
	if rule == nil || target == nil {
		return c, nil
	}
	var err error
	if c.suffix, err = encodedMembers(target, rule.Set); err != nil {
		return nil, err
	}
	if len(rule.Members) > 0 {
		c.renames, err = newRename(element, target.Descriptor(), rule.Members)
		return c, err
	}
	c.cast = target.CheckExtends(c.source) != nil
	if c.cast && len(rule.Set) == 0 && !shareMembers(element, target.Descriptor()) {
		return nil, nothingFits(s.def.Name, target)
	}
	return c, nil
}

// shareMembers reports whether two messages have a member of the same name, their
// time and frame aside.
func shareMembers(a, b protoreflect.MessageDescriptor) bool {
	for i := range a.Fields().Len() {
		name := a.Fields().Get(i).Name()
		if name != "timestamp" && name != "frame_id" && b.Fields().ByName(name) != nil {
			return true
		}
	}
	return false
}

func isTimestamp(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Timestamp"
}

// findPath returns the field numbers of a dotted path of single members.
func findPath(md protoreflect.MessageDescriptor, dotted string) ([]protowire.Number, protoreflect.FieldDescriptor) {
	var path []protowire.Number
	var fd protoreflect.FieldDescriptor
	for name := range strings.SplitSeq(dotted, ".") {
		if md == nil {
			return nil, nil
		}
		if fd = md.Fields().ByName(protoreflect.Name(name)); fd == nil || fd.IsList() || fd.IsMap() {
			return nil, nil
		}
		path, md = append(path, fd.Number()), fd.Message()
	}
	return path, fd
}

// protoConverter passes protobuf messages on: as they are where the target extends
// their type, else with members renamed or cast.
type protoConverter struct {
	source, target *idf.Type
	split          protowire.Number
	timestamp      protowire.Number
	fields         [][]protowire.Number
	renames        *rename
	cast           bool
	suffix         []byte

	outputs []output
}

func (c *protoConverter) convert(data []byte) ([]output, error) {
	c.outputs = c.outputs[:0]
	if c.split == 0 {
		err := c.one(data)
		return c.outputs, err
	}
	err := eachField(data, func(num protowire.Number, _ protowire.Type, _, value []byte) error {
		if num != c.split {
			return nil
		}
		return c.one(value)
	})
	return c.outputs, err
}

func (c *protoConverter) one(b []byte) error {
	o := output{}
	for _, path := range c.fields {
		value, _ := valueAt(b, path)
		o.fields = append(o.fields, value)
	}
	if c.timestamp != 0 {
		if stamp, ok := rawAt(b, []protowire.Number{c.timestamp}); ok {
			o.time, o.timed = timestampOf(stamp)
		}
	}
	switch {
	case c.target == nil:
		c.outputs = append(c.outputs, o)
		return nil
	case c.renames != nil:
		var err error
		if o.bytes, err = c.renames.apply(nil, b); err != nil {
			return err
		}
	case c.cast:
		var err error
		if o.bytes, err = idf.Cast(c.source, b, c.target); err != nil {
			return err
		}
	default:
		if err := c.target.Check(b); err != nil {
			return err
		}
		o.bytes = slices.Concat(b, c.suffix)
		o.owned = true
		c.outputs = append(c.outputs, o)
		return nil
	}
	o.bytes, o.owned = append(o.bytes, c.suffix...), true
	c.outputs = append(c.outputs, o)
	return nil
}

// eachField calls visit with each field of an encoded message: raw is the whole
// field with its tag, value its content.
func eachField(b []byte, visit func(num protowire.Number, wire protowire.Type, raw, value []byte) error) error {
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return engram.Errorf(engram.Corrupt, "", "the message is not protobuf: %w", protowire.ParseError(n))
		}
		m := protowire.ConsumeFieldValue(num, wire, b[n:])
		if m < 0 {
			return engram.Errorf(engram.Corrupt, "", "the message is not protobuf: %w", protowire.ParseError(m))
		}
		value := b[n : n+m]
		if wire == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := visit(num, wire, b[:n+m], value); err != nil {
			return err
		}
		b = b[n+m:]
	}
	return nil
}

// rawAt returns the content of the last field at a path.
func rawAt(b []byte, path []protowire.Number) (value []byte, ok bool) {
	if len(path) == 0 {
		return nil, false
	}
	eachField(b, func(num protowire.Number, _ protowire.Type, _, v []byte) error { //nolint:errcheck // the memory checks the payload
		if num == path[0] {
			value, ok = v, true
		}
		return nil
	})
	if ok && len(path) > 1 {
		return rawAt(value, path[1:])
	}
	return value, ok
}

// valueAt returns the text of the string or number at a path.
func valueAt(b []byte, path []protowire.Number) (text []byte, ok bool) {
	for len(path) > 1 {
		if b, ok = rawAt(b, path[:1]); !ok {
			return nil, false
		}
		path = path[1:]
	}
	if len(path) == 0 {
		return nil, false
	}
	eachField(b, func(num protowire.Number, wire protowire.Type, _, v []byte) error { //nolint:errcheck // the memory checks the payload
		if num != path[0] {
			return nil
		}
		ok = true
		switch wire {
		case protowire.VarintType:
			n, _ := protowire.ConsumeVarint(v)
			text = strconv.AppendUint(nil, n, 10)
		case protowire.Fixed32Type:
			n, _ := protowire.ConsumeFixed32(v)
			text = strconv.AppendUint(nil, uint64(n), 10)
		default:
			text = v
		}
		return nil
	})
	return text, ok
}

// timestampOf reads a google.protobuf.Timestamp; ok is false for zero and for what
// Time cannot hold.
func timestampOf(b []byte) (t engram.Time, ok bool) {
	var sec, nanos int64
	err := eachField(b, func(num protowire.Number, wire protowire.Type, _, v []byte) error {
		if wire != protowire.VarintType {
			return nil
		}
		n, _ := protowire.ConsumeVarint(v)
		switch num {
		case 1:
			sec = int64(n)
		case 2:
			nanos = int64(int32(n))
		}
		return nil
	})
	const maxSec = int64(engram.MaxTime)/1e9 - 5
	if err != nil || sec > maxSec || sec < -maxSec {
		return 0, false
	}
	t = engram.Time(sec*1e9 + nanos)
	return t, t != 0
}

// rename copies fields to others of the same encoding.
type rename struct {
	to   map[protowire.Number]protowire.Number
	into map[protowire.Number]*rename // fields of which only parts are copied
}

// newRename makes the copy by the rules, and for the rest by name.
func newRename(from, to protoreflect.MessageDescriptor, members map[string]Target) (*rename, error) {
	r := &rename{to: map[protowire.Number]protowire.Number{}, into: map[protowire.Number]*rename{}}
	taken := map[string]bool{}
	for _, source := range slices.Sorted(maps.Keys(members)) {
		name := members[source].To
		path, fd := findPath(from, source)
		target := to.Fields().ByName(protoreflect.Name(name))
		if fd == nil || target == nil || !sameEncoding(fd, target) {
			return nil, engram.Errorf(engram.TypeMismatch, string(from.FullName()), "its field %s cannot go to member %s of %s", source, name, to.FullName())
		}
		taken[name] = true
		at := r
		for _, n := range path[:len(path)-1] {
			if at.into[n] == nil {
				at.into[n] = &rename{to: map[protowire.Number]protowire.Number{}, into: map[protowire.Number]*rename{}}
			}
			at = at.into[n]
		}
		at.to[path[len(path)-1]] = target.Number()
	}
	for i := range from.Fields().Len() {
		fd := from.Fields().Get(i)
		target := to.Fields().ByName(fd.Name())
		_, moved := r.to[fd.Number()]
		if target != nil && !moved && r.into[fd.Number()] == nil && !taken[string(fd.Name())] && sameEncoding(fd, target) {
			r.to[fd.Number()] = target.Number()
		}
	}
	return r, nil
}

func sameEncoding(a, b protoreflect.FieldDescriptor) bool {
	if a.Kind() != b.Kind() || a.Cardinality() != b.Cardinality() || a.IsMap() != b.IsMap() || a.IsPacked() != b.IsPacked() {
		return false
	}
	return a.Message() == nil || a.Message().FullName() == b.Message().FullName()
}

func (r *rename) apply(dst, b []byte) ([]byte, error) {
	err := eachField(b, func(num protowire.Number, wire protowire.Type, raw, value []byte) error {
		if to, ok := r.to[num]; ok {
			_, n := protowire.ConsumeVarint(raw)
			dst = append(protowire.AppendTag(dst, to, wire), raw[n:]...)
		} else if sub := r.into[num]; sub != nil && wire == protowire.BytesType {
			var err error
			dst, err = sub.apply(dst, value)
			return err
		}
		return nil
	})
	return dst, err
}
