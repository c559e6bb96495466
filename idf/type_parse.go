package idf

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/bufbuild/protocompile/protoutil"
	"github.com/seed-301d4374/engram"
)

// Limits of a type's definition, far above what people write, so that a hostile
// one cannot make the descriptors grow without bound.
const (
	// MaxDescriptors is the longest encoded FileDescriptorSet accepted, in bytes.
	MaxDescriptors = 4 << 20

	maxFiles        = 1024
	maxDeclarations = 100_000 // messages, fields, enumerations, values … in a set
	maxFullName     = 512     // bytes
	maxNesting      = 32      // messages declared in messages
)

// ParseType makes a type from its self-contained definition. Imports that the
// definition does not bring are taken from the files every [Registry] knows; if it
// brings its own copies of these, their messages must agree with the known ones in
// every member they share. The error is Invalid and says what is wrong with the
// descriptors.
func ParseType(def engram.TypeDef) (*Type, error) {
	files, err := parseFiles(def.Descriptors)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, def.Name, "type definition: %w", err)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(def.Name))
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, def.Name, "type definition: its descriptors do not declare this message")
	}
	md, ok := d.(protoreflect.MessageDescriptor)
	if !ok || md.IsMapEntry() {
		return nil, engram.Errorf(engram.Invalid, def.Name, "type definition: the name is not that of a message")
	}
	return newType(md, func() engram.TypeDef { return def }), nil
}

// parseFiles makes descriptors from an encoded FileDescriptorSet.
func parseFiles(b []byte) (*protoregistry.Files, error) {
	if len(b) > MaxDescriptors {
		return nil, fmt.Errorf("the descriptors have %d bytes, at most %d are accepted", len(b), MaxDescriptors)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := (proto.UnmarshalOptions{RecursionLimit: 100}).Unmarshal(b, set); err != nil {
		return nil, fmt.Errorf("the descriptors are not a FileDescriptorSet: %w", err)
	}
	return linkFiles(set)
}

// linkFiles makes descriptors from a set of files, to which it adds the imports
// that every registry knows.
func linkFiles(set *descriptorpb.FileDescriptorSet) (*protoregistry.Files, error) {
	if err := limitFiles(set); err != nil {
		return nil, err
	}
	if err := addKnownImports(set); err != nil {
		return nil, err
	}
	files, err := newFiles(set)
	if err != nil {
		return nil, err
	}
	if err := checkKnown(files); err != nil {
		return nil, err
	}
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		eachMessage(f.Messages(), func(md protoreflect.MessageDescriptor) {
			if err == nil {
				err = checkWrapper(md)
			}
		})
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	return files, nil
}

// newFiles is protodesc.NewFiles; should that panic on descriptors that no
// compiler makes, the definition is refused.
func newFiles(set *descriptorpb.FileDescriptorSet) (files *protoregistry.Files, err error) {
	defer func() {
		if r := recover(); r != nil {
			files, err = nil, fmt.Errorf("the descriptors contradict themselves: %v", r)
		}
	}()
	return protodesc.NewFiles(set)
}

// addKnownImports adds the files that the set imports and does not bring.
func addKnownImports(set *descriptorpb.FileDescriptorSet) error {
	have := make(map[string]bool, len(set.File))
	for _, f := range set.File {
		have[f.GetName()] = true
	}
	for _, f := range set.File[:len(set.File):len(set.File)] {
		for _, dep := range f.GetDependency() {
			if have[dep] {
				continue
			}
			known, ok := knownFiles()[dep]
			if !ok {
				return fmt.Errorf("%s imports %q, which the descriptors do not bring; add the file to the set", f.GetName(), dep)
			}
			if err := appendFiles(set, have, known); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendFiles adds file to the set, after those it imports, unless it is there.
func appendFiles(set *descriptorpb.FileDescriptorSet, have map[string]bool, file protoreflect.FileDescriptor) error {
	if have[file.Path()] {
		return nil
	}
	if file.IsPlaceholder() {
		return fmt.Errorf("the import %q is not resolved", file.Path())
	}
	have[file.Path()] = true
	for i := range file.Imports().Len() {
		if err := appendFiles(set, have, file.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	set.File = append(set.File, onlyComments(protoutil.ProtoFromFileDescriptor(file)))
	return nil
}

// onlyComments returns f with those source locations only that have comments.
func onlyComments(f *descriptorpb.FileDescriptorProto) *descriptorpb.FileDescriptorProto {
	if f.SourceCodeInfo == nil {
		return f
	}
	var kept []*descriptorpb.SourceCodeInfo_Location
	for _, l := range f.SourceCodeInfo.Location {
		if l.GetLeadingComments() != "" || l.GetTrailingComments() != "" {
			kept = append(kept, l)
		}
	}
	f = proto.CloneOf(f)
	f.SourceCodeInfo.Location = kept
	return f
}

// limitFiles counts what a set of files declares, before anything is made of it.
func limitFiles(set *descriptorpb.FileDescriptorSet) error {
	if len(set.File) > maxFiles {
		return fmt.Errorf("%d files, at most %d are accepted", len(set.File), maxFiles)
	}
	var l limiter
	for _, f := range set.File {
		pkg := len(f.GetPackage())
		l.add(len(f.Dependency) + len(f.PublicDependency) + len(f.GetSourceCodeInfo().GetLocation())/4)
		l.messages(pkg, 0, f.MessageType)
		l.enums(pkg, f.EnumType)
		l.fields(pkg, f.Extension)
		for _, s := range f.Service {
			l.name(pkg, s.GetName())
			l.add(len(s.Method))
			for _, m := range s.Method {
				l.name(pkg+len(s.GetName()), m.GetName())
			}
		}
		if l.err != nil {
			return fmt.Errorf("%.100q: %w", f.GetName(), l.err)
		}
	}
	return nil
}

type limiter struct {
	n   int
	err error
}

func (l *limiter) add(n int) {
	if l.n += n; l.n > maxDeclarations && l.err == nil {
		l.err = fmt.Errorf("over %d declarations", maxDeclarations)
	}
}

// name takes a declaration with the length of its scope's full name and returns
// the length of its own.
func (l *limiter) name(scope int, name string) int {
	l.add(1)
	n := scope + 1 + len(name)
	if n > maxFullName && l.err == nil {
		l.err = fmt.Errorf("%.40q… has a full name of over %d bytes", name, maxFullName)
	}
	return n
}

func (l *limiter) messages(scope, depth int, mds []*descriptorpb.DescriptorProto) {
	if depth > maxNesting {
		l.err = fmt.Errorf("messages nested over %d deep", maxNesting)
		return
	}
	for _, md := range mds {
		n := l.name(scope, md.GetName())
		if l.err != nil {
			return
		}
		l.fields(n, md.Field)
		l.fields(n, md.Extension)
		l.enums(n, md.EnumType)
		l.add(len(md.ReservedName) + len(md.ReservedRange) + len(md.ExtensionRange))
		for _, o := range md.OneofDecl {
			l.name(n, o.GetName())
		}
		l.messages(n, depth+1, md.NestedType)
	}
}

func (l *limiter) fields(scope int, fds []*descriptorpb.FieldDescriptorProto) {
	for _, fd := range fds {
		l.name(scope, fd.GetName())
	}
}

func (l *limiter) enums(scope int, eds []*descriptorpb.EnumDescriptorProto) {
	for _, ed := range eds {
		l.name(scope, ed.GetName())
		l.add(len(ed.ReservedName) + len(ed.ReservedRange))
		for _, v := range ed.Value {
			l.name(scope, v.GetName())
		}
	}
}
