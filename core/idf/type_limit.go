package idf

import (
	"fmt"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram/internal/intake"
)

// Limits of a type's definition, far above what people write, so that a hostile
// one cannot make the descriptors grow without bound.
const (
	// MaxDescriptors is the longest encoded FileDescriptorSet accepted, in bytes.
	MaxDescriptors = 4 << 20

	// MaxTypes and MaxTypesBytes bound what one Registry knows, and the descriptors that
	// were added to it: no type is ever forgotten.
	MaxTypes      = 20_000
	MaxTypesBytes = 64 << 20

	maxDecoded      = 96 << 20 // bytes that a set takes once it is decoded
	maxFiles        = 1024
	maxDeclarations = 100_000 // messages, fields, enumerations, values … in a set
	maxFullName     = 512     // bytes
	maxNesting      = 32      // messages declared in messages
)

// limitEncoded looks at an encoded set before anything of it is decoded.
func limitEncoded(b []byte) error {
	if len(b) > MaxDescriptors {
		return fmt.Errorf("the descriptors have %d bytes, at most %d are accepted", len(b), MaxDescriptors)
	}
	_, err := intake.Of((*descriptorpb.FileDescriptorSet)(nil).ProtoReflect().Descriptor()).Wire(b, intake.Limit{Heap: maxDecoded})
	return err
}

// limitFiles counts what a set of files declares, before anything is made of it.
func limitFiles(files []*descriptorpb.FileDescriptorProto) error {
	if len(files) > maxFiles {
		return fmt.Errorf("%d files, at most %d are accepted", len(files), maxFiles)
	}
	var l limiter
	for _, f := range files {
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
