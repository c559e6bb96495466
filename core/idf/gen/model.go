package gen

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// model is what classes are written from: the objects and enumerations of types, in
// their packages.
type model struct {
	types    []*idf.Type // that were asked for, by name
	packages []*pkg      // by name
}

// pkg is a namespace.
type pkg struct {
	name    string // such as "engram.object"; may be empty
	objects []*object
	enums   []*enum
}

// types yields the enumerations and objects, with their names without the package.
func (k *pkg) types() iter.Seq2[any, string] {
	return func(yield func(any, string) bool) {
		for _, e := range k.enums {
			if !yield(e, e.short) {
				return
			}
		}
		for _, o := range k.objects {
			if !yield(o, o.short) {
				return
			}
		}
	}
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
}

// isA reports whether o is other, or extends it.
func (o *object) isA(other *object) bool { return o != nil && (o == other || o.base.isA(other)) }

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

// libraryTypes are the classes that the library of Python has, by the type's name.
var libraryTypes = map[string]string{
	"foxglove.Vector3":                        "Vector3",
	"foxglove.Quaternion":                     "Quaternion",
	"foxglove.Pose":                           "Pose",
	"foxglove.RawImage":                       "Image",
	"foxglove.PointCloud":                     "PointCloud",
	"foxglove.PackedElementField":             "PackedElementField",
	"foxglove.PackedElementField.NumericType": "NumericType",
}

// uses returns the packages of what its objects extend and are made of, without itself, by
// name.
func (p *pkg) uses() []*pkg {
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
	delete(used, p)
	return slices.SortedFunc(maps.Keys(used), func(a, b *pkg) int { return cmp.Compare(a.name, b.name) })
}
