package gen

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// builder makes a model.
type builder struct {
	library  map[string]string
	tuples   bool // tuples are objects
	packages map[string]*pkg
	objects  map[protoreflect.FullName]*object
	enums    map[protoreflect.FullName]*enum
}

// newModel reads types. Those of library are not written; tuplesAreObjects makes tuples
// objects of their own.
func newModel(types []*idf.Type, tuplesAreObjects bool, library map[string]string) (*model, error) {
	b := &builder{
		library: library, tuples: tuplesAreObjects, packages: map[string]*pkg{},
		objects: map[protoreflect.FullName]*object{}, enums: map[protoreflect.FullName]*enum{},
	}
	types = slices.SortedFunc(slices.Values(types), func(a, b *idf.Type) int { return cmp.Compare(a.Name(), b.Name()) })
	types = slices.CompactFunc(types, func(a, b *idf.Type) bool { return a.Name() == b.Name() })
	for _, t := range types {
		if specials[t.Name()] != "" {
			continue
		}
		if _, err := b.object(t.Descriptor()); err != nil {
			return nil, err
		}
	}
	m := &model{types: types}
	for _, p := range b.packages {
		if len(p.objects)+len(p.enums) > 0 {
			m.packages = append(m.packages, p)
		}
	}
	slices.SortFunc(m.packages, func(a, b *pkg) int { return cmp.Compare(a.name, b.name) })
	for _, p := range m.packages {
		p.objects = basesFirst(p.objects)
	}
	return m, nil
}

// basesFirst returns the objects of a package in their order, but each after its base.
func basesFirst(objects []*object) []*object {
	var sorted []*object
	var add func(o *object)
	add = func(o *object) {
		if o.base != nil && o.base.pkg == o.pkg {
			add(o.base)
		}
		if !slices.Contains(sorted, o) {
			sorted = append(sorted, o)
		}
	}
	for _, o := range objects {
		add(o)
	}
	return sorted
}

func (b *builder) pkg(name protoreflect.FullName) *pkg {
	p := b.packages[string(name)]
	if p == nil {
		p = &pkg{name: string(name)}
		b.packages[string(name)] = p
	}
	return p
}

func shortName(d protoreflect.Descriptor) string {
	rest := strings.TrimPrefix(string(d.FullName()), string(d.ParentFile().Package()))
	return strings.ReplaceAll(strings.TrimPrefix(rest, "."), ".", "_")
}

func (b *builder) object(md protoreflect.MessageDescriptor) (*object, error) {
	if o := b.objects[md.FullName()]; o != nil {
		return o, nil
	}
	o := &object{name: string(md.FullName()), short: shortName(md), doc: docOf(md)}
	b.objects[md.FullName()] = o
	if name, ok := b.library[o.name]; ok {
		o.library, o.short = true, name
	} else {
		o.pkg = b.pkg(md.ParentFile().Package())
	}
	base := b.base(md)
	if base != nil {
		extended, err := b.object(base)
		if err != nil {
			return nil, err
		}
		if extended.isA(o) {
			base = nil // each extends the other
		} else {
			o.base = extended
		}
	}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if base != nil && base.Fields().ByName(fd.Name()) != nil {
			continue
		}
		s, err := b.field(fd)
		if err != nil {
			return nil, err
		}
		m := &member{name: string(fd.Name()), number: int(fd.Number()), doc: docOf(fd), shape: s}
		m.unit = unitOf(m.doc)
		if od := fd.ContainingOneof(); od != nil && !od.IsSynthetic() {
			m.oneof = string(od.Name())
		}
		o.members = append(o.members, m)
	}
	if !o.library {
		o.pkg.objects = append(o.pkg.objects, o)
	}
	return o, nil
}

// base returns the type that a message says it extends, if every member of that is a
// member of the message as it is, and nil otherwise.
func (b *builder) base(md protoreflect.MessageDescriptor) protoreflect.MessageDescriptor {
	name := protoreflect.FullName(proto.GetExtension(md.Options(), idfv1.E_Extends).(string))
	if name == "" || name == md.FullName() || b.library[string(name)] != "" || specials[string(name)] != "" {
		return nil
	}
	base := findMessage(md.ParentFile(), name, map[string]bool{})
	if base == nil {
		return nil
	}
	for i := range base.Fields().Len() {
		want := base.Fields().Get(i)
		got := md.Fields().ByName(want.Name())
		if got == nil || !sameField(got, want) {
			return nil
		}
	}
	return base
}

func sameField(a, b protoreflect.FieldDescriptor) bool {
	if a.IsMap() && b.IsMap() {
		return a.Number() == b.Number() && sameField(a.MapKey(), b.MapKey()) && sameField(a.MapValue(), b.MapValue())
	}
	if a.Number() != b.Number() || a.Kind() != b.Kind() || a.Cardinality() != b.Cardinality() || a.HasPresence() != b.HasPresence() {
		return false
	}
	if a.Enum() != nil {
		return a.Enum().FullName() == b.Enum().FullName()
	}
	return a.Message() == nil || a.Message().FullName() == b.Message().FullName()
}

func findMessage(f protoreflect.FileDescriptor, name protoreflect.FullName, seen map[string]bool) protoreflect.MessageDescriptor {
	if seen[f.Path()] {
		return nil
	}
	seen[f.Path()] = true
	var find func(protoreflect.MessageDescriptors) protoreflect.MessageDescriptor
	find = func(mds protoreflect.MessageDescriptors) protoreflect.MessageDescriptor {
		for i := range mds.Len() {
			if md := mds.Get(i); md.FullName() == name {
				return md
			} else if inner := find(md.Messages()); inner != nil {
				return inner
			}
		}
		return nil
	}
	if md := find(f.Messages()); md != nil {
		return md
	}
	for i := range f.Imports().Len() {
		if md := findMessage(f.Imports().Get(i).FileDescriptor, name, seen); md != nil {
			return md
		}
	}
	return nil
}

// field returns the shape of a field as a member has it.
func (b *builder) field(fd protoreflect.FieldDescriptor) (*shape, error) {
	limits := proto.GetExtension(fd.Options(), idfv1.E_Shape).(*idfv1.Shape)
	switch {
	case fd.IsMap():
		key, err := b.value(fd.MapKey(), nil)
		if err != nil {
			return nil, err
		}
		item, err := b.value(fd.MapValue(), limits)
		return &shape{kind: dict, key: key, item: item}, err
	case fd.IsList():
		item, err := b.value(fd, limits)
		return &shape{kind: list, item: item}, err
	case fd.HasPresence():
		item, err := b.value(fd, limits)
		return &shape{kind: optional, item: item}, err
	}
	return b.value(fd, limits)
}

// value returns the shape of a single value of a field.
func (b *builder) value(fd protoreflect.FieldDescriptor, limits *idfv1.Shape) (*shape, error) {
	switch {
	case fd.Kind() == protoreflect.GroupKind:
		return nil, engram.Errorf(engram.Invalid, string(fd.FullName()), "is a group of proto2, for which no classes are written; make it a message")
	case fd.Enum() != nil:
		return &shape{kind: enums, enum: b.enum(fd.Enum())}, nil
	case fd.Message() == nil:
		return &shape{kind: scalar, word: fd.Kind().String()}, nil
	}
	md := fd.Message()
	if word := specials[string(md.FullName())]; word != "" {
		return &shape{kind: special, word: word, limits: limits}, nil
	}
	if s, err := b.wrapper(md, limits); s != nil || err != nil {
		return s, err
	}
	o, err := b.object(md)
	return &shape{kind: objects, object: o, limits: limits}, err
}

// wrapper returns what a wrapper message stands for, nil if it is none. One that is not
// as the compiler makes them is an object, and so is one that contains itself.
func (b *builder) wrapper(md protoreflect.MessageDescriptor, limits *idfv1.Shape) (*shape, error) {
	fds := md.Fields()
	wrapper := proto.GetExtension(md.Options(), idfv1.E_Wrapper).(idfv1.Wrapper)
	if wrapper == idfv1.Wrapper_WRAPPER_NONE || b.tuples && wrapper == idfv1.Wrapper_WRAPPER_TUPLE {
		return nil, nil
	}
	for i := range fds.Len() {
		if fds.Get(i).Number() != protoreflect.FieldNumber(i+1) {
			return nil, nil
		}
	}
	if wrapperLoops(md, map[protoreflect.FullName]bool{}) {
		return nil, nil
	}
	s := &shape{kind: tuple}
	if wrapper == idfv1.Wrapper_WRAPPER_TUPLE {
		for i := range fds.Len() {
			part, err := b.field(fds.Get(i))
			if err != nil {
				return nil, err
			}
			s.parts = append(s.parts, part)
		}
		limits = nil
	} else {
		var err error
		if s, err = b.field(fds.Get(0)); err != nil {
			return nil, err
		}
	}
	size := 0
	s.each(func(s *shape) {
		size++
		s.limits = cmp.Or(s.limits, limits)
	})
	if size > maxShape {
		return nil, engram.Errorf(engram.Invalid, string(md.FullName()), "is made of over %d lists, dicts and tuples in each other; make some of them objects", maxShape)
	}
	return s, nil
}

// maxShape is how many shapes one may be made of: tuples of tuples double with each step.
const maxShape = 1000

// wrapperLoops reports whether a wrapper is made of itself by wrappers alone.
func wrapperLoops(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if proto.GetExtension(md.Options(), idfv1.E_Wrapper).(idfv1.Wrapper) == idfv1.Wrapper_WRAPPER_NONE && !md.IsMapEntry() {
		return false
	}
	if looking, known := seen[md.FullName()]; known {
		return looking
	}
	seen[md.FullName()] = true
	for i := range md.Fields().Len() {
		if m := md.Fields().Get(i).Message(); m != nil && wrapperLoops(m, seen) {
			return true
		}
	}
	seen[md.FullName()] = false
	return false
}

func (b *builder) enum(ed protoreflect.EnumDescriptor) *enum {
	if e := b.enums[ed.FullName()]; e != nil {
		return e
	}
	e := &enum{name: string(ed.FullName()), short: shortName(ed), doc: docOf(ed)}
	b.enums[ed.FullName()] = e
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		key := cmp.Or(proto.GetExtension(v.Options(), idfv1.E_Key).(string), string(v.Name()))
		e.values = append(e.values, enumValue{key, int32(v.Number()), docOf(v)})
	}
	if name, ok := b.library[e.name]; ok {
		e.short = name
		return e
	}
	e.pkg = b.pkg(ed.ParentFile().Package())
	e.pkg.enums = append(e.pkg.enums, e)
	return e
}
