package idf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

func (p *protoPrinter) message(md protoreflect.MessageDescriptor) {
	p.doc(md)
	p.line("message %s {", md.Name())
	p.messageBody(md)
	p.line("}")
}

// messageBody writes what is in a message or group: what it declares, then its
// fields, with those of a oneof where the first of them stands.
func (p *protoPrinter) messageBody(md protoreflect.MessageDescriptor) {
	p.indent++
	p.statements(md.Options(), false)
	p.reserved(md)
	for i := range md.ExtensionRanges().Len() {
		p.line("extensions %s;", numberRange(md.ExtensionRanges().Get(i), int(protowireMax)))
	}
	for i := range md.Enums().Len() {
		p.enum(md.Enums().Get(i))
	}
	groups := groupsOf(md)
	for i := range md.Messages().Len() {
		if m := md.Messages().Get(i); !m.IsMapEntry() && !groups[m.FullName()] {
			p.message(m)
		}
	}
	written := map[protoreflect.Name]bool{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		o := fd.ContainingOneof()
		switch {
		case o == nil || o.IsSynthetic():
			p.field(fd)
		case !written[o.Name()]:
			written[o.Name()] = true
			p.oneof(o)
		}
	}
	p.extensions(md.Extensions())
	p.indent--
}

const protowireMax = protoreflect.FieldNumber(1<<29 - 1)

// groupsOf returns the messages that proto2 groups declare.
func groupsOf(md protoreflect.MessageDescriptor) map[protoreflect.FullName]bool {
	groups := map[protoreflect.FullName]bool{}
	for i := range md.Fields().Len() {
		if fd := md.Fields().Get(i); isGroup(fd) {
			groups[fd.Message().FullName()] = true
		}
	}
	for i := range md.Extensions().Len() {
		if fd := md.Extensions().Get(i); isGroup(fd) {
			groups[fd.Message().FullName()] = true
		}
	}
	return groups
}

func isGroup(fd protoreflect.FieldDescriptor) bool {
	return fd.Kind() == protoreflect.GroupKind && fd.Syntax() == protoreflect.Proto2
}

func (p *protoPrinter) reserved(md protoreflect.MessageDescriptor) {
	for i := range md.ReservedRanges().Len() {
		p.line("reserved %s;", numberRange(md.ReservedRanges().Get(i), int(protowireMax)))
	}
	p.reservedNames(md.ReservedNames())
}

func (p *protoPrinter) reservedNames(names protoreflect.Names) {
	for i := range names.Len() {
		if p.file.Syntax() == protoreflect.Editions {
			p.line("reserved %s;", names.Get(i))
		} else {
			p.line("reserved %q;", names.Get(i))
		}
	}
}

// numberRange returns a range of field numbers, whose end is not in it.
func numberRange(r [2]protoreflect.FieldNumber, largest int) string {
	return inclusiveRange(int(r[0]), int(r[1])-1, largest)
}

func inclusiveRange(first, last, largest int) string {
	switch {
	case first == last:
		return strconv.Itoa(first)
	case last == largest:
		return fmt.Sprintf("%d to max", first)
	}
	return fmt.Sprintf("%d to %d", first, last)
}

func (p *protoPrinter) oneof(o protoreflect.OneofDescriptor) {
	p.doc(o)
	p.line("oneof %s {", o.Name())
	p.indent++
	p.statements(o.Options(), false)
	for i := range o.Fields().Len() {
		p.field(o.Fields().Get(i))
	}
	p.indent--
	p.line("}")
}

func (p *protoPrinter) field(fd protoreflect.FieldDescriptor) {
	p.doc(fd)
	scope := fd.Parent().FullName()
	if fd.IsExtension() && fd.Parent() == protoreflect.Descriptor(fd.ParentFile()) {
		scope = fd.ParentFile().Package()
	}
	label := ""
	switch {
	case fd.IsMap() || oneofName(fd) != "":
	case fd.IsList():
		label = "repeated "
	case fd.Cardinality() == protoreflect.Required && fd.Syntax() == protoreflect.Proto2:
		label = "required "
	case fd.HasOptionalKeyword():
		label = "optional "
	}
	name, typ := string(fd.Name()), p.typeOf(fd, scope)
	if isGroup(fd) {
		name, typ = string(fd.Message().Name()), "group"
	}
	head := fmt.Sprintf("%s%s %s = %d%s", label, typ, name, fd.Number(), p.fieldOptions(fd))
	if !isGroup(fd) {
		p.line("%s;", head)
		return
	}
	p.line("%s {", head)
	p.messageBody(fd.Message())
	p.line("}")
}

func (p *protoPrinter) typeOf(fd protoreflect.FieldDescriptor, scope protoreflect.FullName) string {
	switch {
	case fd.IsMap():
		return fmt.Sprintf("map<%s, %s>", p.typeOf(fd.MapKey(), scope), p.typeOf(fd.MapValue(), scope))
	case fd.Message() != nil:
		return p.reference(fd.Message().FullName(), scope)
	case fd.Enum() != nil:
		return p.reference(fd.Enum().FullName(), scope)
	}
	return fd.Kind().String()
}

// fieldOptions returns what stands in brackets after a field's number.
func (p *protoPrinter) fieldOptions(fd protoreflect.FieldDescriptor) string {
	var options []string
	if fd.HasDefault() {
		options = append(options, "default = "+defaultText(fd))
	}
	if !fd.IsExtension() && fd.HasJSONName() && fd.JSONName() != jsonName(string(fd.Name())) {
		options = append(options, "json_name = "+quoteProto(fd.JSONName()))
	}
	options = append(options, p.options(fd.Options())...)
	return inBrackets(options)
}

func inBrackets(options []string) string {
	if len(options) == 0 {
		return ""
	}
	return " [" + strings.Join(options, ", ") + "]"
}

func defaultText(fd protoreflect.FieldDescriptor) string {
	if fd.Enum() != nil {
		return string(fd.DefaultEnumValue().Name())
	}
	return scalarText(fd, fd.Default())
}

// scalarText returns a value of a scalar field as .proto files write it.
func scalarText(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return quoteProto(v.String())
	case protoreflect.BytesKind:
		return quoteProto(string(v.Bytes()))
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return floatText(v.Float(), fd.Kind())
	case protoreflect.EnumKind:
		if ev := fd.Enum().Values().ByNumber(v.Enum()); ev != nil {
			return string(ev.Name())
		}
		return strconv.Itoa(int(v.Enum()))
	}
	return fmt.Sprint(v.Interface())
}

func floatText(f float64, kind protoreflect.Kind) string {
	bits := 64
	if kind == protoreflect.FloatKind {
		bits = 32
	}
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// quoteProto returns a string literal. What is not printable ASCII is written as
// the octal numbers of its bytes, which every reader takes.
func quoteProto(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= ' ' && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (p *protoPrinter) enum(ed protoreflect.EnumDescriptor) {
	p.doc(ed)
	p.line("enum %s {", ed.Name())
	p.indent++
	p.statements(ed.Options(), false)
	for i := range ed.ReservedRanges().Len() {
		r := ed.ReservedRanges().Get(i) // its end is in it
		p.line("reserved %s;", inclusiveRange(int(r[0]), int(r[1]), math.MaxInt32))
	}
	p.reservedNames(ed.ReservedNames())
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		p.doc(v)
		p.line("%s = %d%s;", v.Name(), v.Number(), inBrackets(p.options(v.Options())))
	}
	p.indent--
	p.line("}")
}

// extensions writes fields that are declared here for messages elsewhere.
func (p *protoPrinter) extensions(xds protoreflect.ExtensionDescriptors) {
	for i := range xds.Len() {
		xd := xds.Get(i)
		scope := xd.Parent().FullName()
		p.line("extend %s {", p.reference(xd.ContainingMessage().FullName(), scope))
		p.indent++
		p.field(xd)
		p.indent--
		p.line("}")
	}
}

func (p *protoPrinter) service(sd protoreflect.ServiceDescriptor) {
	p.doc(sd)
	p.line("service %s {", sd.Name())
	p.indent++
	p.statements(sd.Options(), false)
	stream := map[bool]string{true: "stream "}
	for i := range sd.Methods().Len() {
		m := sd.Methods().Get(i)
		p.doc(m)
		p.line("rpc %s(%s%s) returns (%s%s);", m.Name(),
			stream[m.IsStreamingClient()], p.reference(m.Input().FullName(), sd.FullName()),
			stream[m.IsStreamingServer()], p.reference(m.Output().FullName(), sd.FullName()))
	}
	p.indent--
	p.line("}")
}
