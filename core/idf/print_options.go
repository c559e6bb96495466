package idf

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// statements writes options one per line, those of a file after an empty line.
func (p *protoPrinter) statements(opts protoreflect.ProtoMessage, emptyLine bool) {
	for i, o := range p.options(opts) {
		if i == 0 && emptyLine {
			p.line("")
		}
		p.line("option %s;", o)
	}
}

// options returns the options that are set, each as "name = value", in the order
// of their numbers.
func (p *protoPrinter) options(opts protoreflect.ProtoMessage) []string {
	m := opts.ProtoReflect()
	var fields []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		// The syntax says what is the entry of a map.
		if fd.Name() != "map_entry" && fd.Name() != "uninterpreted_option" {
			fields = append(fields, fd)
		}
		return true
	})
	slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number() - b.Number()) })
	var texts []string
	for _, fd := range fields {
		name := string(fd.Name())
		switch {
		case fd.IsExtension() && p.rooted:
			name = "(." + string(fd.FullName()) + ")"
		case fd.IsExtension():
			name = "(" + string(fd.FullName()) + ")"
		}
		v := m.Get(fd)
		switch {
		case fd.Name() == "features" && !fd.IsExtension():
			texts = append(texts, featureTexts(v.Message())...)
		case fd.IsList():
			for i := range v.List().Len() {
				texts = append(texts, name+" = "+valueText(fd, v.List().Get(i)))
			}
		default:
			texts = append(texts, name+" = "+valueText(fd, v))
		}
	}
	return texts
}

// featureTexts returns the features of an edition, which are written one by one.
func featureTexts(m protoreflect.Message) []string {
	var texts []string
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Enum() != nil && !fd.IsExtension() {
			texts = append(texts, fmt.Sprintf("features.%s = %s", fd.Name(), valueText(fd, v)))
		}
		return true
	})
	slices.Sort(texts)
	return texts
}

func valueText(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if fd.Message() == nil {
		return scalarText(fd, v)
	}
	return messageText(v.Message())
}

// messageText returns a message literal, fields in the order of their numbers.
func messageText(m protoreflect.Message) string {
	var texts []string
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		switch {
		case !m.Has(fd) || fd.IsMap():
		case fd.IsList():
			for j := range m.Get(fd).List().Len() {
				texts = append(texts, fmt.Sprintf("%s: %s", fd.Name(), valueText(fd, m.Get(fd).List().Get(j))))
			}
		default:
			texts = append(texts, fmt.Sprintf("%s: %s", fd.Name(), valueText(fd, m.Get(fd))))
		}
	}
	if texts == nil {
		return "{ }"
	}
	return "{ " + strings.Join(texts, ", ") + " }"
}
