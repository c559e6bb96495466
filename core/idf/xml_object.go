package idf

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// xmlMessage is a message that is being made: of an Object, or a wrapper.
type xmlMessage struct {
	desc  *descriptorpb.DescriptorProto
	names map[string]bool   // of its fields and the messages in it, which share one scope
	json  map[string]string // the keys by their JSON names
	docs  []string          // of the fields
}

func newXMLMessage() *xmlMessage {
	return &xmlMessage{desc: &descriptorpb.DescriptorProto{}, names: map[string]bool{}, json: map[string]string{}}
}

// compileType compiles an Object, after the type it extends, or an IntEnum.
func (c *xmlCompiler) compileType(t *xmlType) error {
	if t.state == done {
		return nil
	}
	t.state = compiling
	compile := c.compileObject
	if t.isEnum() {
		compile = c.compileEnum
	}
	if err := compile(t); err != nil {
		return err
	}
	t.state = done
	return nil
}

// Numbers of the descriptors' own fields, which make the paths of comments.
const (
	messageTypeNumber = 4 // FileDescriptorProto.message_type
	enumTypeNumber    = 5 // FileDescriptorProto.enum_type
	fieldNumber       = 2 // DescriptorProto.field
	valueNumber       = 2 // EnumDescriptorProto.value
)

// addDoc attaches a comment to what has that path in the file.
func addDoc(p *descriptorpb.FileDescriptorProto, line int, doc string, path ...int32) {
	if doc == "" {
		return
	}
	if p.SourceCodeInfo == nil {
		p.SourceCodeInfo = &descriptorpb.SourceCodeInfo{}
	}
	text := " " + strings.ReplaceAll(doc, "\n", "\n ") + "\n"
	p.SourceCodeInfo.Location = append(p.SourceCodeInfo.Location, &descriptorpb.SourceCodeInfo_Location{
		Path: path, Span: []int32{int32(line), 0, 0}, LeadingComments: &text,
	})
}

func (c *xmlCompiler) compileObject(t *xmlType) error {
	f, m := t.file, t.message
	if err := f.attributes(t.node, "name", "extends"); err != nil {
		return err
	}
	c.limit.name(0, t.name)
	m.desc.Name = proto.String(string(protoreflect.FullName(t.protoName()).Name()))
	if err := c.extend(t); err != nil {
		return err
	}
	for _, n := range t.node.children {
		if err := c.key(t, n); err != nil {
			return err
		}
	}
	for _, n := range t.node.children {
		if err := c.member(t, n); err != nil {
			return err
		}
	}
	m.finish()
	index := int32(len(t.proto.MessageType))
	t.proto.MessageType = append(t.proto.MessageType, m.desc)
	addDoc(t.proto, t.node.line, docOf(t.node), messageTypeNumber, index)
	for i, doc := range m.docs {
		addDoc(t.proto, t.node.line, doc, messageTypeNumber, index, fieldNumber, int32(i))
	}
	return c.overLimit(t)
}

// key checks an ObjectChild and reserves its key.
func (c *xmlCompiler) key(t *xmlType, n *xmlNode) error {
	f, m := t.file, t.message
	if !strings.EqualFold(n.name, "ObjectChild") {
		return f.errorf(n, "unknown element <%s> in the object %s; expected <ObjectChild key='…'>", n.name, t.name)
	}
	if err := f.attributes(n, "key"); err != nil {
		return err
	}
	key := n.attr("key")
	switch {
	case key == "":
		return f.errorf(n, "<%s> has no key; write <%s key='…'>", n.name, n.name)
	case !protoreflect.Name(key).IsValid() || len(key) > maxFullName/4:
		return f.errorf(n, "%.80q is not a key; expected letters, digits and _, at most %d, not a digit first", key, maxFullName/4)
	case m.names[key]:
		return f.errorf(n, "the key %s is taken in %s, by a member of it or of a type it extends", key, t.name)
	}
	if other, ok := m.json[jsonName(key)]; ok {
		return f.errorf(n, "the keys %s and %s of %s are one name, %s, in protobuf's JSON; rename one", other, key, t.name, jsonName(key))
	}
	m.names[key] = true
	m.json[jsonName(key)] = key
	c.limit.name(len(t.name), key)
	return c.overLimit(t)
}

// extend begins t with the members of the type it extends. Their wrapper messages
// are the base type's, too.
func (c *xmlCompiler) extend(t *xmlType) error {
	name := t.node.attr("extends")
	if name == "" {
		return nil
	}
	f := t.file
	base := c.lookup(f, name)
	switch {
	case base == nil:
		return f.errorf(t.node, "%s extends the unknown type %s; define it or include its file", t.name, name)
	case base == t:
		return f.errorf(t.node, "%s extends itself", t.name)
	case base.isEnum():
		return f.errorf(t.node, "%s extends the enumeration %s; expected an object", t.name, name)
	case base.state == compiling:
		return f.errorf(t.node, "%s and %s extend each other", t.name, name)
	case base.file == f && base.run > t.run:
		return f.errorf(t.node, "%s extends %s, which is defined after it and in another namespace; move it up", t.name, name)
	}
	if err := c.compileType(base); err != nil {
		return err
	}
	importFile(t.proto, base.proto.GetName())
	m := t.message
	m.desc.Options = &descriptorpb.MessageOptions{}
	proto.SetExtension(m.desc.Options, idfv1.E_Extends, base.protoName())
	importFile(t.proto, optionsFile)
	for i, fd := range base.message.desc.Field {
		fd = proto.CloneOf(fd)
		fd.OneofIndex = nil
		c.inheritEntry(t, base, fd)
		c.importFor(t.proto, fd)
		m.add(fd, base.message.docs[i])
		c.limit.name(len(t.name), fd.GetName())
	}
	return c.overLimit(t)
}

func (c *xmlCompiler) overLimit(t *xmlType) error {
	if c.limit.err != nil {
		return t.file.errorf(t.node, "%s: %w", t.name, c.limit.err)
	}
	return nil
}

// inheritEntry copies the entry message of an inherited map: protobuf wants it in
// the message that has the map.
func (c *xmlCompiler) inheritEntry(t, base *xmlType, fd *descriptorpb.FieldDescriptorProto) {
	for _, nested := range base.message.desc.NestedType {
		if nested.GetOptions().GetMapEntry() && fd.GetTypeName() == "."+base.protoName()+"."+nested.GetName() {
			t.message.nest(proto.CloneOf(nested))
			fd.TypeName = proto.String("." + t.protoName() + "." + nested.GetName())
			c.importFor(t.proto, nested.Field[1])
		}
	}
}

// importFor makes p import what a field needs.
func (c *xmlCompiler) importFor(p *descriptorpb.FileDescriptorProto, fd *descriptorpb.FieldDescriptorProto) {
	if home, ok := c.homes[fd.GetTypeName()]; ok {
		importFile(p, home)
	}
	if fd.Options != nil {
		importFile(p, optionsFile)
	}
}

// optionsFile is the file that declares IDF's options.
var optionsFile = idfv1.File_engram_idf_v1_options_proto.Path()

// add appends a field.
func (m *xmlMessage) add(fd *descriptorpb.FieldDescriptorProto, doc string) {
	m.names[fd.GetName()] = true
	m.json[jsonName(fd.GetName())] = fd.GetName()
	m.desc.Field = append(m.desc.Field, fd)
	m.docs = append(m.docs, doc)
}

// nextNumber returns the number of the next field: the place it is written at, past
// the numbers that protobuf keeps for itself.
func (m *xmlMessage) nextNumber() int32 {
	n := int32(len(m.desc.Field)) + 1
	if n >= 19000 {
		n += 1000
	}
	return n
}

// nest declares a message in m.
func (m *xmlMessage) nest(d *descriptorpb.DescriptorProto) {
	m.names[d.GetName()] = true
	m.desc.NestedType = append(m.desc.NestedType, d)
}

// unused returns name, or with "_" after it until it is the name of nothing in m.
func (m *xmlMessage) unused(name string) string {
	for m.names[name] {
		name += "_"
	}
	return name
}

// finish adds the oneofs that protobuf makes for optional fields, when all other
// names are known.
func (m *xmlMessage) finish() {
	for _, fd := range m.desc.Field {
		if fd.GetProto3Optional() {
			name := "_" + fd.GetName()
			for m.names[name] {
				name = "X" + name
			}
			m.names[name] = true
			fd.OneofIndex = proto.Int32(int32(len(m.desc.OneofDecl)))
			m.desc.OneofDecl = append(m.desc.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: &name})
		}
	}
}

// jsonName returns the name protobuf gives a field in its JSON.
func jsonName(key string) string {
	var b strings.Builder
	upper := false
	for _, c := range []byte(key) {
		switch {
		case c == '_':
			upper = true
			continue
		case upper && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		upper = false
		b.WriteByte(c)
	}
	return b.String()
}

// camelName returns key as part of a message's name. For the entries of maps
// protobuf prescribes it.
func camelName(key string) string {
	name := []byte(jsonName("_" + key))
	if len(name) > 0 && name[0] >= '0' && name[0] <= '9' {
		return "_" + string(name)
	}
	return string(name)
}
