package idf

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// linkFiles makes descriptors of files and of those known ones that they import
// and do not bring themselves, and registers them together with known.
func linkFiles(protos []*descriptorpb.FileDescriptorProto, known []protoreflect.FileDescriptor) (*protoregistry.Files, error) {
	if err := limitFiles(protos); err != nil {
		return nil, err
	}
	l := &linker{
		protos: make(map[string]*descriptorpb.FileDescriptorProto, len(protos)),
		state:  make(map[string]linkState, len(protos)),
		files:  &protoregistry.Files{},
	}
	for _, f := range protos {
		if l.protos[f.GetName()] != nil {
			return nil, fmt.Errorf("the file %.100q appears multiple times, with different content", f.GetName())
		}
		l.protos[f.GetName()] = f
	}
	for _, f := range protos {
		if err := l.link(f.GetName(), ""); err != nil {
			return nil, err
		}
	}
	for _, f := range known {
		if err := l.link(f.Path(), ""); err != nil {
			return nil, err
		}
	}
	if err := checkKnown(l.files); err != nil {
		return nil, err
	}
	return l.files, checkWrappers(l.files)
}

// linker makes descriptors of the files of one set, each after its imports.
type linker struct {
	protos map[string]*descriptorpb.FileDescriptorProto // to be made, by path
	state  map[string]linkState
	files  *protoregistry.Files // made, or known
}

type linkState uint8

const (
	notLinked linkState = iota
	linking
	linked
)

// link makes the descriptors of a file, which is imported by another one if by is
// not empty.
func (l *linker) link(path, by string) error {
	switch l.state[path] {
	case linked:
		return nil
	case linking:
		return fmt.Errorf("import cycle: %s imports %q, which imports it", by, path)
	}
	l.state[path] = linking
	if err := l.make(path, by); err != nil {
		return err
	}
	l.state[path] = linked
	return nil
}

func (l *linker) make(path, by string) error {
	f := l.protos[path]
	known := knownFiles()[path]
	switch {
	case f == nil && known == nil:
		return fmt.Errorf("%s imports %q, which the descriptors do not bring; add the file to the set", by, path)
	case f == nil && l.takes(known):
		for i := range known.Imports().Len() {
			if err := l.link(known.Imports().Get(i).Path(), path); err != nil {
				return err
			}
		}
		return l.files.RegisterFile(known)
	case f == nil:
		// The set brings its own copy of what the known file imports.
		f = protodesc.ToFileDescriptorProto(known)
	}
	for _, dep := range f.Dependency {
		if err := l.link(dep, path); err != nil {
			return err
		}
	}
	fd, err := newFile(f, l.files)
	if err != nil {
		return err
	}
	return l.files.RegisterFile(fd)
}

// takes reports whether the set brings none of the files that a known one imports,
// so that it can be taken as it is.
func (l *linker) takes(known protoreflect.FileDescriptor) bool {
	for i := range known.Imports().Len() {
		imp := known.Imports().Get(i).FileDescriptor
		if l.protos[imp.Path()] != nil || !l.takes(imp) {
			return false
		}
	}
	return true
}

// newFile is protodesc.NewFile; should that panic on descriptors that no compiler
// makes, the definition is refused.
func newFile(f *descriptorpb.FileDescriptorProto, imports *protoregistry.Files) (fd protoreflect.FileDescriptor, err error) {
	defer func() {
		if r := recover(); r != nil {
			fd, err = nil, fmt.Errorf("the descriptors contradict themselves: %v", r)
		}
	}()
	return protodesc.NewFile(f, imports)
}

// checkWrappers refuses messages that say that they are wrappers and are none.
func checkWrappers(files *protoregistry.Files) error {
	var err error
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if knownFiles()[f.Path()] == f {
			return true
		}
		eachMessage(f.Messages(), func(md protoreflect.MessageDescriptor) {
			if err == nil {
				err = checkWrapper(md)
			}
		})
		return err == nil
	})
	return err
}
