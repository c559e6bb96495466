package gen

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
	"github.com/seed-301d4374/engram/idf"
)

// model is what classes are written from: the objects and enumerations of types, in
// their packages.
type model struct {
	types    []*idf.Type // that were asked for, by name
	packages []*pkg      // by name
	objects  []*object   // each after its base, and where possible after what it is made of
}

// pkg is a namespace.
type pkg struct {
	name    string // such as "engram.object"; may be empty
	objects []*object
	enums   []*enum
	uses    []*pkg // what its objects are made of, without itself, by name
}

// object is a class.
type object struct {
	name    string // the type's full name
	short   string // without its package; "Outer_Inner" of nested types
	pkg     *pkg
	doc     string
	base    *object   // the type it extends, if all members of that are members of it
	members []*member // by the order they were written in, without those of the base
	library bool      // the language's library has it
	loops   bool      // it contains itself, by members that are not lists or dicts
}

// all returns the members with those of the base, which come first.
func (o *object) all() []*member {
	if o.base == nil {
		return o.members
	}
	return append(slices.Clone(o.base.all()), o.members...)
}

// member is a member of a class.
type member struct {
	name   string
	number int
	doc    string
	unit   string // as far as the doc says, such as "m" or "rad or m"
	oneof  string // of members that exclude each other
	shape  *shape
}

// enum is an enumeration.
type enum struct {
	name, short string
	pkg         *pkg
	doc         string
	values      []enumValue // the first of number 0
}

type enumValue struct {
	key    string // as it was written
	number int32
	doc    string
}

// kind says what a shape is.
type kind int

const (
	scalar   kind = iota
	special       // a time, duration, link, matrix, ndarray or value
	objects       // an object
	enums         // an enumeration
	list          // of items
	dict          // of items by keys
	tuple         // of parts
	optional      // an item, or nothing
)

// shape is what a member or a part of one can be. As a member, a list or dict is a
// repeated field and an optional is one with presence; anywhere below, these are
// wrapper messages (docs/formats/idf.md).
type shape struct {
	kind   kind
	word   string // of a scalar or special: "int32", "time"
	key    *shape
	item   *shape
	parts  []*shape
	object *object
	enum   *enum
	limits *idfv1.Shape // of matrices, arrays, images and point clouds; may be nil
}

// String returns the shape in the words that the libraries read, such as
// "map<string, optional<.lab.Cup>>".
func (s *shape) String() string {
	switch s.kind {
	case objects:
		return "." + s.object.name
	case enums:
		return "." + s.enum.name
	case list:
		return "list<" + s.item.String() + ">"
	case dict:
		return "map<" + s.key.String() + ", " + s.item.String() + ">"
	case optional:
		return "optional<" + s.item.String() + ">"
	case tuple:
		var words []string
		for _, p := range s.parts {
			words = append(words, p.String())
		}
		return "tuple<" + strings.Join(words, ", ") + ">"
	}
	return s.word
}

// each calls f with the shape and all in it.
func (s *shape) each(f func(*shape)) {
	if s == nil {
		return
	}
	f(s)
	s.key.each(f)
	s.item.each(f)
	for _, p := range s.parts {
		p.each(f)
	}
}

var specials = map[string]string{
	"google.protobuf.Timestamp": "time",
	"google.protobuf.Duration":  "duration",
	"engram.idf.v1.Link":        "link",
	"engram.idf.v1.Matrix":      "matrix",
	"engram.idf.v1.NDArray":     "ndarray",
	engram.ValueType:            "value",
}

// libraryTypes are the classes that the libraries of Python, C++ and TypeScript have, by
// the type's name.
var libraryTypes = map[string]string{
	"foxglove.Vector3":                        "Vector3",
	"foxglove.Quaternion":                     "Quaternion",
	"foxglove.Pose":                           "Pose",
	"foxglove.RawImage":                       "Image",
	"foxglove.PointCloud":                     "PointCloud",
	"foxglove.PackedElementField":             "PackedElementField",
	"foxglove.PackedElementField.NumericType": "NumericType",
}

// builder makes a model.
type builder struct {
	library  map[string]string
	tuples   bool // tuples are objects
	packages map[string]*pkg
	objects  map[protoreflect.FullName]*object
	enums    map[protoreflect.FullName]*enum
	order    []*object
	open     map[protoreflect.FullName]bool // wrappers that are being read
}

// newModel reads types. Those of library are not written; tuplesAreObjects makes tuples
// objects of their own.
func newModel(types []*idf.Type, tuplesAreObjects bool, library map[string]string) (*model, error) {
	b := &builder{
		library: library, tuples: tuplesAreObjects, packages: map[string]*pkg{},
		objects: map[protoreflect.FullName]*object{}, enums: map[protoreflect.FullName]*enum{},
		open: map[protoreflect.FullName]bool{},
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
	m := &model{types: types, objects: b.order}
	for _, p := range b.packages {
		if len(p.objects)+len(p.enums) > 0 {
			m.packages = append(m.packages, p)
		}
	}
	slices.SortFunc(m.packages, func(a, b *pkg) int { return cmp.Compare(a.name, b.name) })
	for _, p := range m.packages {
		p.findUses()
	}
	for _, o := range m.objects {
		o.loops = o.contains(o, map[*object]bool{})
	}
	return m, nil
}

// contains reports whether what becomes part of o's memory has target in it.
func (o *object) contains(target *object, seen map[*object]bool) bool {
	if seen[o] {
		return false
	}
	seen[o] = true
	for _, m := range o.all() {
		for s := m.shape; ; s = s.item {
			if s.kind == objects && (s.object == target || s.object.contains(target, seen)) {
				return true
			}
			for _, p := range s.parts {
				for p.kind == optional {
					p = p.item
				}
				if p.kind == objects && (p.object == target || p.object.contains(target, seen)) {
					return true
				}
			}
			if s.kind != optional {
				break
			}
		}
	}
	return false
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
	base, err := b.base(md)
	if err != nil {
		return nil, err
	}
	o.base = base
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if base != nil && slices.ContainsFunc(base.all(), func(m *member) bool { return m.name == string(fd.Name()) }) {
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
		b.order = append(b.order, o)
		o.pkg.objects = append(o.pkg.objects, o)
	}
	return o, nil
}

// base returns the type that a message says it extends, if every member of that is a
// member of the message as it is.
func (b *builder) base(md protoreflect.MessageDescriptor) (*object, error) {
	name := protoreflect.FullName(proto.GetExtension(md.Options(), idfv1.E_Extends).(string))
	if name == "" || name == md.FullName() {
		return nil, nil
	}
	base := findMessage(md.ParentFile(), name, map[string]bool{})
	if base == nil || b.library[string(name)] != "" || specials[string(name)] != "" {
		return nil, nil
	}
	for i := range base.Fields().Len() {
		want := base.Fields().Get(i)
		got := md.Fields().ByName(want.Name())
		if got == nil || !sameField(got, want) {
			return nil, nil
		}
	}
	if o := b.objects[name]; o != nil && len(o.members) == 0 && base.Fields().Len() > 0 && o.base == nil {
		return nil, nil // it is being read: they are made of each other
	}
	return b.object(base)
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
	if wrapper == idfv1.Wrapper_WRAPPER_NONE || b.open[md.FullName()] || b.tuples && wrapper == idfv1.Wrapper_WRAPPER_TUPLE {
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
	b.open[md.FullName()] = true
	defer delete(b.open, md.FullName())
	if wrapper == idfv1.Wrapper_WRAPPER_TUPLE {
		t := &shape{kind: tuple}
		for i := range fds.Len() {
			part, err := b.field(fds.Get(i))
			if err != nil {
				return nil, err
			}
			t.parts = append(t.parts, part)
		}
		return t, nil
	}
	s, err := b.field(fds.Get(0))
	if err == nil && limits != nil {
		s.each(func(s *shape) { s.limits = cmp.Or(s.limits, limits) })
	}
	return s, err
}

// wrapperLoops reports whether a wrapper is made of itself by wrappers alone.
func wrapperLoops(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if proto.GetExtension(md.Options(), idfv1.E_Wrapper).(idfv1.Wrapper) == idfv1.Wrapper_WRAPPER_NONE && !md.IsMapEntry() {
		return false
	}
	if seen[md.FullName()] {
		return true
	}
	seen[md.FullName()] = true
	defer delete(seen, md.FullName())
	for i := range md.Fields().Len() {
		if m := md.Fields().Get(i).Message(); m != nil && wrapperLoops(m, seen) {
			return true
		}
	}
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

func (p *pkg) findUses() {
	used := map[*pkg]bool{}
	for _, o := range p.objects {
		if o.base != nil {
			used[o.base.pkg] = true
		}
		for _, m := range o.members {
			m.shape.each(func(s *shape) {
				switch {
				case s.object != nil && !s.object.library:
					used[s.object.pkg] = true
				case s.enum != nil && s.enum.pkg != nil:
					used[s.enum.pkg] = true
				}
			})
		}
	}
	for u := range used {
		if u != p {
			p.uses = append(p.uses, u)
		}
	}
	slices.SortFunc(p.uses, func(a, b *pkg) int { return cmp.Compare(a.name, b.name) })
}
