package idf

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
)

// CompileXML compiles the ArmarX XML type file of that path (slashes, relative to
// one of the file systems) and returns the types it generates, each a
// self-contained definition of format "xml". The error is Invalid and begins with
// file:line; NotFound if there is no such file.
//
// A type ns::Name becomes the message ns.Name. Members are numbered in the order
// written, the base type's first, so that a type that extends another is
// wire-compatible with it. Types are used by their full names, those of the file
// itself, of what it includes and of the known ones; armarx::armem::arondto::MemoryID
// is the Link. What protobuf has no form for becomes a wrapper message, declared in
// the message that has the member.
func CompileXML(src Source, path string) ([]engram.TypeDef, error) {
	c := &xmlCompiler{
		reader: sourceReader{src: src},
		files:  map[string]*xmlFile{},
		types:  map[string]*xmlType{},
		protos: map[string]*descriptorpb.FileDescriptorProto{},
		scopes: map[string]string{},
		homes:  knownHomes(),
	}
	path = cleanPath(path)
	text, err := c.reader.read(path)
	if err != nil {
		return nil, err
	}
	f, err := c.file(path, text, nil)
	if err != nil {
		return nil, err
	}
	files, err := linkFiles(c.order, nil)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, path+":1", "the types do not fit together: %w", err)
	}
	var defs []engram.TypeDef
	sets := map[string][]byte{} // by the path of the .proto file
	for _, t := range f.types {
		if t.message == nil {
			continue
		}
		d, err := files.FindDescriptorByName(protoreflect.FullName(t.protoName()))
		if err != nil {
			return nil, engram.Errorf(engram.Internal, t.name, "compiled but not linked: %w", err)
		}
		file := d.ParentFile()
		if sets[file.Path()] == nil {
			if sets[file.Path()], err = descriptorSet(file); err != nil {
				return nil, engram.Errorf(engram.Internal, t.name, "definition: %w", err)
			}
		}
		defs = append(defs, engram.TypeDef{Name: t.protoName(), Descriptors: sets[file.Path()], Source: f.text, Format: "xml"})
	}
	return defs, nil
}

// xmlCompiler compiles one type file with all it includes.
type xmlCompiler struct {
	reader sourceReader
	files  map[string]*xmlFile // by path; nil while a file is being compiled
	types  map[string]*xmlType // by full name, of all files
	protos map[string]*descriptorpb.FileDescriptorProto
	order  []*descriptorpb.FileDescriptorProto
	scopes map[string]string // packages and their parents, with a type that is in them
	homes  map[string]string // the .proto file of each message and enumeration used, by ".ns.Name"
	limit  limiter
}

// xmlFile is a type file. The types of each of its namespaces become a .proto file
// of their own; a namespace that comes again begins another.
type xmlFile struct {
	path  string
	text  string
	types []*xmlType
	sees  map[string]bool // the paths of the files whose types it may use
}

// xmlType is an Object or IntEnum.
type xmlType struct {
	name    string // ns::Name
	node    *xmlNode
	file    *xmlFile
	proto   *descriptorpb.FileDescriptorProto
	run     int // which of the file's .proto files it is in
	state   typeState
	message *xmlMessage // of an Object
}

type typeState uint8

const (
	declared typeState = iota
	compiling
	done
)

func (t *xmlType) isEnum() bool      { return strings.EqualFold(t.node.name, "IntEnum") }
func (t *xmlType) protoName() string { return strings.ReplaceAll(t.name, "::", ".") }

func (f *xmlFile) errorf(n *xmlNode, format string, args ...any) error {
	return engram.Errorf(engram.Invalid, fmt.Sprintf("%s:%d", f.path, n.line), format, args...)
}

// file compiles the type file of that path; stack holds the files that include it.
func (c *xmlCompiler) file(path string, text []byte, stack []string) (*xmlFile, error) {
	root, err := parseXML(path, text)
	if err != nil {
		return nil, err
	}
	f := &xmlFile{path: path, text: string(text), sees: map[string]bool{path: true}}
	if !strings.EqualFold(root.name, "AronTypeDefinition") {
		return nil, f.errorf(root, "unknown root element <%s>; expected <AronTypeDefinition>", root.name)
	}
	if err := f.attributes(root); err != nil {
		return nil, err
	}
	c.files[path] = nil
	var declarations []*xmlNode
	for _, n := range root.children {
		if err := f.attributes(n); err != nil {
			return nil, err
		}
		switch strings.ToLower(n.name) {
		case "codeincludes": // C++ headers
		case "aronincludes":
			for _, inc := range n.children {
				if err := c.include(f, inc, append(stack, path)); err != nil {
					return nil, err
				}
			}
		case "generatetypes":
			declarations = append(declarations, n.children...)
		default:
			return nil, f.errorf(n, "unknown element <%s>; expected <CodeIncludes>, <AronIncludes> or <GenerateTypes>", n.name)
		}
	}
	if err := c.declare(f, declarations); err != nil {
		return nil, err
	}
	for _, t := range f.types {
		if err := c.compileType(t); err != nil {
			return nil, err
		}
	}
	c.files[path] = f
	return f, nil
}

// include compiles what an element of AronIncludes names and lets f see its types.
func (c *xmlCompiler) include(f *xmlFile, n *xmlNode, stack []string) error {
	var path string
	switch strings.ToLower(n.name) {
	case "include":
		if err := f.attributes(n, "include", "autoinclude"); err != nil {
			return err
		}
		inc := n.attr("include")
		path = strings.Trim(strings.TrimSpace(inc), `<>"`)
	case "packagepath":
		if err := f.attributes(n, "package", "path"); err != nil {
			return err
		}
		if n.attr("package") != "" && n.attr("path") != "" {
			path = n.attr("package") + "/" + n.attr("path")
		}
	case "systeminclude":
		return nil // a C++ header
	default:
		return f.errorf(n, "unknown element <%s>; expected <Include include='<Package/path.xml>'/> or <PackagePath package='…' path='…'/>", n.name)
	}
	if path == "" {
		return f.errorf(n, "<%s> names no file; expected <Include include='<Package/path.xml>'/> or <PackagePath package='…' path='…'/>", n.name)
	}
	path = cleanPath(path)
	included, seen := c.files[path]
	if seen && included == nil {
		return f.errorf(n, "the files include each other: %s → %s", strings.Join(stack[slices.Index(stack, path):], " → "), path)
	}
	if !seen {
		if len(c.files) >= maxFiles {
			return f.errorf(n, "over %d files are included", maxFiles)
		}
		text, err := c.reader.read(path)
		if engram.CodeOf(err) == engram.NotFound && strings.HasSuffix("/"+path, memoryIDFile) {
			return nil
		}
		if err != nil {
			return f.errorf(n, "include: %w", err)
		}
		if included, err = c.file(path, text, stack); err != nil {
			return err // with its own place
		}
	}
	for p := range included.sees {
		f.sees[p] = true
	}
	return nil
}

// memoryIDFile is the end of the path of ArmarX's file that defines the MemoryID.
// That is the Link here, so the file is not needed.
const memoryIDFile = "/MemoryID.xml"

// declare makes the names of the file's types known, so that they can be used.
func (c *xmlCompiler) declare(f *xmlFile, nodes []*xmlNode) error {
	var pkg string
	var current *descriptorpb.FileDescriptorProto
	run := 0
	for _, n := range nodes {
		t := &xmlType{node: n, file: f}
		switch strings.ToLower(n.name) {
		case "object":
			t.message = newXMLMessage()
		case "intenum":
		default:
			return f.errorf(n, "unknown element <%s>; expected <Object name='…'> or <IntEnum name='…'>", n.name)
		}
		t.name = n.attr("name")
		if err := c.checkName(f, t); err != nil {
			return err
		}
		namespace := protoreflect.FullName(t.protoName()).Parent()
		if current == nil || string(namespace) != pkg {
			pkg = string(namespace)
			run++
			current = c.newProto(f.path, run, pkg)
		}
		t.proto, t.run = current, run
		c.types[t.name] = t
		f.types = append(f.types, t)
	}
	return nil
}

// checkName refuses names that are no names and those that are taken.
func (c *xmlCompiler) checkName(f *xmlFile, t *xmlType) error {
	n := t.node
	if t.name == "" {
		return f.errorf(n, "<%s> has no name; write <%s name='ns::Name'>", n.name, n.name)
	}
	parts := strings.Split(t.name, "::")
	for _, part := range parts {
		if !protoreflect.Name(part).IsValid() || len(t.name) > maxFullName/2 {
			return f.errorf(n, "%.80q is not a type's name; expected letters, digits and _, with :: after namespaces", t.name)
		}
	}
	if other := c.types[t.name]; other != nil {
		return f.errorf(n, "type %s is already defined in %s:%d", t.name, other.file.path, other.node.line)
	}
	if _, ok := knownTypes()[t.protoName()]; ok {
		return f.errorf(n, "type %s is known already; use it without defining it", t.name)
	}
	if in, ok := c.scopes[t.name]; ok {
		return f.errorf(n, "type %s has the name of the namespace of %s; protobuf needs another name", t.name, in)
	}
	for i := 1; i < len(parts); i++ {
		scope := strings.Join(parts[:i], "::")
		if c.types[scope] != nil {
			return f.errorf(n, "the namespace %s is also a type's name; protobuf needs another name", scope)
		}
		c.scopes[scope] = t.name
	}
	return nil
}

// newProto begins a .proto file for types of f.
func (c *xmlCompiler) newProto(path string, run int, pkg string) *descriptorpb.FileDescriptorProto {
	base := strings.TrimSuffix(path, ".xml")
	if run > 1 {
		base += fmt.Sprintf(".%d", run)
	}
	for knownFiles()[base+".proto"] != nil || c.protos[base+".proto"] != nil {
		base += "_"
	}
	p := &descriptorpb.FileDescriptorProto{Name: proto.String(base + ".proto"), Syntax: proto.String("proto3")}
	if pkg != "" {
		p.Package = proto.String(pkg)
	}
	c.protos[p.GetName()] = p
	c.order = append(c.order, p)
	return p
}

// lookup returns the type of that full name if f may use it.
func (c *xmlCompiler) lookup(f *xmlFile, name string) *xmlType {
	if t := c.types[name]; t != nil && f.sees[t.file.path] {
		return t
	}
	return nil
}

// importFile makes p import a file.
func importFile(p *descriptorpb.FileDescriptorProto, path string) {
	if p.GetName() != path && !slices.Contains(p.Dependency, path) {
		p.Dependency = append(p.Dependency, path)
	}
}

// attr returns the value of an attribute, whatever the case of its name, or "".
func (n *xmlNode) attr(name string) string {
	for _, a := range n.attrs {
		if strings.EqualFold(a.name, name) {
			return strings.TrimSpace(a.value)
		}
	}
	return ""
}

// attributes refuses attributes of n other than the allowed ones. Those that
// document for ArmarX's code generator are allowed everywhere.
func (f *xmlFile) attributes(n *xmlNode, allowed ...string) error {
	for _, a := range n.attrs {
		if strings.HasPrefix(strings.ToLower(a.name), "doc-") {
			continue
		}
		if !slices.ContainsFunc(allowed, func(s string) bool { return strings.EqualFold(s, a.name) }) {
			if len(allowed) == 0 {
				return f.errorf(n, "<%s> has no attribute %s, nor any other", n.name, a.name)
			}
			return f.errorf(n, "<%s> has no attribute %s; expected %s", n.name, a.name, strings.Join(allowed, ", "))
		}
	}
	return nil
}

// docOf returns what comments and doc attributes say about the nodes.
func docOf(nodes ...*xmlNode) string {
	doc := ""
	for _, n := range nodes {
		doc = joinLines(doc, n.doc)
		doc = joinLines(doc, n.attr("doc-brief"))
		doc = joinLines(doc, n.trailing)
	}
	return doc
}

// knownHomes returns the files of the known types.
func knownHomes() map[string]string {
	homes := map[string]string{}
	for name, t := range knownTypes() {
		homes["."+name] = t.desc.ParentFile().Path()
	}
	return homes
}
