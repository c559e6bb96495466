package idf

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// compileEnum compiles an IntEnum. Its values keep their numbers; protobuf wants
// names that are unique in the package, so the enumeration's name stands before
// each, and a value of number 0 that comes first, so that is added where there is
// none. The keys as they were written are kept as options.
func (c *xmlCompiler) compileEnum(t *xmlType) error {
	f := t.file
	if err := f.attributes(t.node, "name"); err != nil {
		return err
	}
	if len(t.node.children) == 0 {
		return f.errorf(t.node, "the enumeration %s has no values; expected <EnumValue key='…' value='…'/>", t.name)
	}
	e := xmlEnum{
		desc: &descriptorpb.EnumDescriptorProto{
			Name: proto.String(string(protoreflect.FullName(t.protoName()).Name())),
		},
		numbers: map[int32]bool{}, keys: map[string]bool{}, names: map[string]bool{},
	}
	c.limit.name(0, t.name)
	for _, n := range t.node.children {
		c.limit.name(len(t.name), n.attr("key"))
		if err := c.overLimit(t); err != nil {
			return err
		}
		if err := e.value(f, n); err != nil {
			return err
		}
	}
	e.zeroFirst()
	importFile(t.proto, optionsFile)
	index := int32(len(t.proto.EnumType))
	t.proto.EnumType = append(t.proto.EnumType, e.desc)
	addDoc(t.proto, t.node.line, docOf(t.node), enumTypeNumber, index)
	for i, doc := range e.docs {
		addDoc(t.proto, t.node.line, doc, enumTypeNumber, index, valueNumber, int32(i))
	}
	return nil
}

type xmlEnum struct {
	desc    *descriptorpb.EnumDescriptorProto
	docs    []string // of the values
	numbers map[int32]bool
	keys    map[string]bool
	names   map[string]bool // of the values, upper case, as protobuf compares them
}

func (e *xmlEnum) value(f *xmlFile, n *xmlNode) error {
	if !strings.EqualFold(n.name, "EnumValue") {
		return f.errorf(n, "unknown element <%s> in an enumeration; expected <EnumValue key='…' value='…'/>", n.name)
	}
	if err := f.attributes(n, "key", "value"); err != nil {
		return err
	}
	if len(n.children) > 0 {
		return f.errorf(n.children[0], "unexpected <%s> in <%s>, which holds nothing", n.children[0].name, n.name)
	}
	key := n.attr("key")
	switch {
	case key == "":
		return f.errorf(n, "<%s> has no key; write <%s key='…' value='…'/>", n.name, n.name)
	case !protoreflect.Name("_"+key).IsValid() || len(key) > maxFullName/4:
		return f.errorf(n, "%.80q is not a key; expected letters, digits and _, at most %d", key, maxFullName/4)
	case e.keys[key]:
		return f.errorf(n, "the key %s is written twice", key)
	}
	number, err := strconv.ParseInt(n.attr("value"), 0, 32)
	if err != nil {
		return f.errorf(n, "value='%s' of %s; expected a whole number of 32 bits", n.attr("value"), key)
	}
	if e.numbers[int32(number)] {
		e.desc.Options = &descriptorpb.EnumOptions{AllowAlias: proto.Bool(true)}
	}
	e.keys[key] = true
	e.add(key, int32(number), docOf(n))
	return nil
}

func (e *xmlEnum) add(key string, number int32, doc string) {
	name := e.desc.GetName() + "_" + key
	// protobuf compares the names without case and without "_".
	for e.names[plainName(name)] {
		name += "_2"
	}
	e.names[plainName(name)] = true
	e.numbers[number] = true
	v := &descriptorpb.EnumValueDescriptorProto{
		Name: &name, Number: &number, Options: &descriptorpb.EnumValueOptions{},
	}
	proto.SetExtension(v.Options, idfv1.E_Key, key)
	e.desc.Value = append(e.desc.Value, v)
	e.docs = append(e.docs, doc)
}

func plainName(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "_", "")) }

// zeroFirst makes the value of number 0 the first, as protobuf wants it.
func (e *xmlEnum) zeroFirst() {
	if !e.numbers[0] {
		key := "UNSPECIFIED"
		for e.keys[key] {
			key += "_"
		}
		e.add(key, 0, "")
	}
	for i, v := range e.desc.Value {
		if v.GetNumber() == 0 {
			doc := e.docs[i]
			copy(e.desc.Value[1:i+1], e.desc.Value[:i])
			copy(e.docs[1:i+1], e.docs[:i])
			e.desc.Value[0], e.docs[0] = v, doc
			return
		}
	}
}
