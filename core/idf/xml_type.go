package idf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// xmlForm is a type in the form of a protobuf field.
type xmlForm struct {
	label    xmlLabel
	kind     descriptorpb.FieldDescriptorProto_Type
	typeName string // of a message or enumeration, ".ns.Name"
	shape    *idfv1.Shape
	optional bool
}

type xmlLabel uint8

const (
	single xmlLabel = iota
	repeated
	dict // repeated, with string keys
)

// xmlScalars are the types that are one scalar or one message in protobuf.
var xmlScalars = map[string]xmlForm{
	"bool":    {kind: descriptorpb.FieldDescriptorProto_TYPE_BOOL},
	"int":     {kind: descriptorpb.FieldDescriptorProto_TYPE_INT32},
	"int32":   {kind: descriptorpb.FieldDescriptorProto_TYPE_INT32},
	"long":    {kind: descriptorpb.FieldDescriptorProto_TYPE_INT64},
	"int64":   {kind: descriptorpb.FieldDescriptorProto_TYPE_INT64},
	"float":   {kind: descriptorpb.FieldDescriptorProto_TYPE_FLOAT},
	"float32": {kind: descriptorpb.FieldDescriptorProto_TYPE_FLOAT},
	"double":  {kind: descriptorpb.FieldDescriptorProto_TYPE_DOUBLE},
	"float64": {kind: descriptorpb.FieldDescriptorProto_TYPE_DOUBLE},
	"string":  {kind: descriptorpb.FieldDescriptorProto_TYPE_STRING},

	"time":      messageForm(".google.protobuf.Timestamp"),
	"duration":  messageForm(".google.protobuf.Duration"),
	"position":  messageForm(".foxglove.Vector3"),
	"pose":      messageForm(".foxglove.Pose"),
	"anyobject": messageForm(".engram.idf.v1.Value"),

	"armarx::armem::arondto::memoryid": messageForm(linkName),
	"engram::link":                     messageForm(linkName),
}

const linkName = ".engram.idf.v1.Link"

func messageForm(typeName string) xmlForm {
	return xmlForm{kind: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, typeName: typeName}
}

// xmlTypes is what an error says was expected.
const xmlTypes = "Bool, Int, Long, Float, Double, String, Time, Duration, List, Dict, Tuple, Pair, NDArray, Matrix, " +
	"Quaternion, Position, Pose, Image, PointCloud, AnyObject or a type by its full name"

// member compiles one ObjectChild.
func (c *xmlCompiler) member(t *xmlType, n *xmlNode) error {
	key := n.attr("key")
	typ, err := oneType(t.file, n)
	if err != nil {
		return err
	}
	form, err := c.typeOf(t, typ, camelName(key))
	if err != nil {
		return err
	}
	return c.field(t, t.message, n, key, docOf(n, typ), form)
}

// oneType returns the one element that n holds.
func oneType(f *xmlFile, n *xmlNode) (*xmlNode, error) {
	if len(n.children) != 1 {
		return nil, f.errorf(n, "<%s> holds %d elements; expected one type: %s", n.name, len(n.children), xmlTypes)
	}
	return n.children[0], nil
}

// field adds a field of that form to m, which is declared in or for t.
func (c *xmlCompiler) field(t *xmlType, m *xmlMessage, n *xmlNode, key, doc string, form xmlForm) error {
	if form.optional && form.label != single { // protobuf's repeated fields have no presence
		form = c.wrap(t, camelName(key), form)
		form.optional = true
	}
	fd := &descriptorpb.FieldDescriptorProto{
		Name:   proto.String(key),
		Number: proto.Int32(m.nextNumber()),
		Label:  descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	if form.optional {
		fd.Proto3Optional = proto.Bool(true)
	}
	if form.shape != nil {
		fd.Options = &descriptorpb.FieldOptions{}
		proto.SetExtension(fd.Options, idfv1.E_Shape, form.shape)
	}
	if form.label != single {
		fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	if form.label == dict {
		// The entry is in m, whose full name is that of t or of a wrapper in t.
		scope := "." + t.protoName()
		if m != t.message {
			scope += "." + m.desc.GetName()
		}
		entry := camelName(key) + "Entry"
		if m.names[entry] || strings.HasPrefix(entry, "_") {
			return t.file.errorf(n, "protobuf needs the name %s for the dict %s and cannot have it; rename the key", entry, key)
		}
		m.nest(mapEntry(entry, form))
		c.importFor(t.proto, m.desc.NestedType[len(m.desc.NestedType)-1].Field[1])
		form = messageForm(scope + "." + entry)
	}
	fd.Type = form.kind.Enum()
	if form.typeName != "" {
		fd.TypeName = proto.String(form.typeName)
	}
	c.importFor(t.proto, fd)
	m.add(fd, doc)
	return nil
}

// mapEntry returns the message that protobuf has for a map's entries.
func mapEntry(name string, form xmlForm) *descriptorpb.DescriptorProto {
	value := &descriptorpb.FieldDescriptorProto{
		Name: proto.String("value"), Number: proto.Int32(2), Type: form.kind.Enum(),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	if form.typeName != "" {
		value.TypeName = proto.String(form.typeName)
	}
	return &descriptorpb.DescriptorProto{
		Name: proto.String(name),
		Field: []*descriptorpb.FieldDescriptorProto{{
			Name: proto.String("key"), Number: proto.Int32(1),
			Type:  descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}, value},
		Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
	}
}

// wrap declares in t the message that stands for a form where protobuf has none:
// a list or dict within another or with presence, or an element that may be null.
func (c *xmlCompiler) wrap(t *xmlType, name string, form xmlForm) xmlForm {
	wrapper, suffix, item := idfv1.Wrapper_WRAPPER_OPTIONAL, "Optional", "item"
	switch form.label {
	case repeated:
		wrapper, suffix, item = idfv1.Wrapper_WRAPPER_LIST, "List", "items"
	case dict:
		wrapper, suffix, item = idfv1.Wrapper_WRAPPER_DICT, "Dict", "items"
	}
	m := newXMLMessage()
	m.desc.Name = proto.String(t.message.unused(withSuffix(name, suffix)))
	form.optional = form.label == single
	if err := c.field(t, m, t.node, item, "", form); err != nil {
		panic(fmt.Sprintf("idf: field of a wrapper: %v", err)) // its names are ours
	}
	return c.declareWrapper(t, m, wrapper)
}

func withSuffix(name, suffix string) string { return strings.TrimSuffix(name, suffix) + suffix }

// declareWrapper declares a wrapper message in t and returns its form.
func (c *xmlCompiler) declareWrapper(t *xmlType, m *xmlMessage, wrapper idfv1.Wrapper) xmlForm {
	m.finish()
	m.desc.Options = &descriptorpb.MessageOptions{}
	proto.SetExtension(m.desc.Options, idfv1.E_Wrapper, wrapper)
	importFile(t.proto, optionsFile)
	t.message.nest(m.desc)
	c.limit.add(4)
	name := "." + t.protoName() + "." + m.desc.GetName()
	c.homes[name] = t.proto.GetName()
	return messageForm(name)
}

// element returns a form that can be an element of a list or dict.
func (c *xmlCompiler) element(t *xmlType, name string, form xmlForm) xmlForm {
	optional := form.optional
	if form.label != single {
		form = c.wrap(t, name, form)
	}
	if optional {
		form = c.wrap(t, name, form)
	}
	return form
}

// typeOf returns the form of a type's element. name is what wrappers are named by.
func (c *xmlCompiler) typeOf(t *xmlType, n *xmlNode, name string) (xmlForm, error) {
	if c.limit.name(len(t.name), name); c.limit.err != nil {
		return xmlForm{}, c.overLimit(t)
	}
	optional, err := t.file.optional(n)
	if err != nil {
		return xmlForm{}, err
	}
	form, err := c.plainType(t, n, name)
	if err != nil {
		return xmlForm{}, err
	}
	form.optional = optional
	return form, nil
}

// optionalAttrs all say that a member may be unset.
var optionalAttrs = []string{"optional", "raw_ptr", "shared_ptr", "unique_ptr"}

func (f *xmlFile) optional(n *xmlNode) (bool, error) {
	optional := false
	for _, name := range optionalAttrs {
		switch v := n.attr(name); strings.ToLower(v) {
		case "true", "1", "yes":
			optional = true
		case "", "false", "0", "no":
		default:
			return false, f.errorf(n, "%s='%s' of <%s>; expected true or false", name, v, n.name)
		}
	}
	return optional, nil
}

func (c *xmlCompiler) plainType(t *xmlType, n *xmlNode, name string) (xmlForm, error) {
	f := t.file
	switch strings.ToLower(n.name) {
	case "list", "dict":
		return c.collection(t, n, name)
	case "tuple", "pair":
		return c.tuple(t, n, name)
	case "object":
		return xmlForm{}, f.errorf(n, "an <Object> within a type; define it under <GenerateTypes> and use it by its full name")
	}
	if len(n.children) > 0 {
		return xmlForm{}, f.errorf(n.children[0], "unexpected <%s> in <%s>, which holds nothing", n.children[0].name, n.name)
	}
	switch strings.ToLower(n.name) {
	case "ndarray":
		return f.ndarray(n)
	case "matrix":
		return f.matrix(n)
	case "quaternion", "orientation":
		if err := f.typeAttributes(n, "type"); err != nil {
			return xmlForm{}, err
		}
		if v := n.attr("type"); v != "" {
			if _, err := f.elementType(n, "float32", "float64"); err != nil {
				return xmlForm{}, err
			}
		}
		return messageForm(".foxglove.Quaternion"), nil
	case "image":
		return f.image(n)
	case "pointcloud":
		return f.pointCloud(n)
	}
	if err := f.typeAttributes(n); err != nil {
		return xmlForm{}, err
	}
	if form, ok := xmlScalars[strings.ToLower(n.name)]; ok {
		return form, nil
	}
	return c.named(t, n)
}

// named returns the form of a type used by its full name.
func (c *xmlCompiler) named(t *xmlType, n *xmlNode) (xmlForm, error) {
	f := t.file
	if u := c.lookup(f, n.name); u != nil {
		if u.file == f && u.run > t.run {
			return xmlForm{}, f.errorf(n, "type %s is defined after %s and in another namespace; move it up", n.name, t.name)
		}
		form := messageForm("." + u.protoName())
		if u.isEnum() {
			form.kind = descriptorpb.FieldDescriptorProto_TYPE_ENUM
		}
		c.homes[form.typeName] = u.proto.GetName()
		return form, nil
	}
	if _, ok := knownTypes()[strings.ReplaceAll(n.name, "::", ".")]; ok {
		return messageForm("." + strings.ReplaceAll(n.name, "::", ".")), nil
	}
	if u := c.types[n.name]; u != nil {
		return xmlForm{}, f.errorf(n, "unknown type <%s>; it is defined in %s, include that", n.name, u.file.path)
	}
	return xmlForm{}, f.errorf(n, "unknown type <%s>; expected %s, defined in this file or one it includes", n.name, xmlTypes)
}

func (c *xmlCompiler) collection(t *xmlType, n *xmlNode, name string) (xmlForm, error) {
	if err := t.file.typeAttributes(n); err != nil {
		return xmlForm{}, err
	}
	child, err := oneType(t.file, n)
	if err != nil {
		return xmlForm{}, err
	}
	label, suffix := repeated, "Item"
	if strings.EqualFold(n.name, "dict") {
		label, suffix = dict, "Value"
	}
	form, err := c.typeOf(t, child, name+suffix)
	if err != nil {
		return xmlForm{}, err
	}
	form = c.element(t, name+suffix, form)
	form.label, form.optional = label, false
	return form, nil
}

func (c *xmlCompiler) tuple(t *xmlType, n *xmlNode, name string) (xmlForm, error) {
	f := t.file
	if err := f.typeAttributes(n); err != nil {
		return xmlForm{}, err
	}
	isPair := strings.EqualFold(n.name, "pair")
	if isPair && len(n.children) != 2 || len(n.children) == 0 {
		return xmlForm{}, f.errorf(n, "<%s> holds %d types; a pair holds two, a tuple at least one", n.name, len(n.children))
	}
	m := newXMLMessage()
	suffix := "Tuple"
	if isPair {
		suffix = "Pair"
	}
	m.desc.Name = proto.String(t.message.unused(withSuffix(name, suffix)))
	t.message.names[m.desc.GetName()] = true
	for i, child := range n.children {
		key := "item" + strconv.Itoa(i)
		form, err := c.typeOf(t, child, name+"Item"+strconv.Itoa(i))
		if err != nil {
			return xmlForm{}, err
		}
		if form.optional && form.label != single {
			form = c.wrap(t, name+"Item"+strconv.Itoa(i), form)
			form.optional = true
		}
		if err := c.field(t, m, child, key, "", form); err != nil {
			return xmlForm{}, err
		}
	}
	return c.declareWrapper(t, m, idfv1.Wrapper_WRAPPER_TUPLE), nil
}

// typeAttributes refuses attributes of a type other than the allowed ones and those
// that make it optional.
func (f *xmlFile) typeAttributes(n *xmlNode, allowed ...string) error {
	return f.attributes(n, slices.Concat(allowed, optionalAttrs)...)
}
