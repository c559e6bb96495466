package idf

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// Member describes one member of a type, for display.
type Member struct {
	Name     string
	Number   int32
	Type     string // in IDF's words, such as "List<Position>" or "Matrix(4x4, float32)"
	Optional bool   // it may be unset
	Doc      string // the comment at its definition
}

// Members returns the type's members in the order they were written. A message or
// enumeration of no special meaning stands by its full name.
func (t *Type) Members() []Member {
	fields := t.desc.Fields()
	members := make([]Member, fields.Len())
	for i := range members {
		fd := fields.Get(i)
		var w typeWriter
		w.field(fd, 0)
		loc := fd.ParentFile().SourceLocations().ByDescriptor(fd)
		members[i] = Member{
			Name: string(fd.Name()), Number: int32(fd.Number()), Type: w.String(),
			Optional: fd.HasOptionalKeyword() || oneofName(fd) != "",
			Doc:      commentText(loc.LeadingComments + loc.TrailingComments),
		}
	}
	return members
}

// typeWriter writes a member's type. What is nested too deep or gets too long, as
// only hostile types do, ends in "…".
type typeWriter struct{ strings.Builder }

const (
	maxTypeWords = 1000 // bytes
	maxTypeDepth = 16
)

// field writes the type of a field, with its label.
func (w *typeWriter) field(fd protoreflect.FieldDescriptor, depth int) {
	shape := shapeOf(fd)
	switch {
	case fd.IsMap():
		w.WriteString("Dict<")
		if fd.MapKey().Kind() != protoreflect.StringKind {
			w.value(fd.MapKey(), nil, depth+1)
			w.WriteString(", ")
		}
		w.value(fd.MapValue(), shape, depth+1)
		w.WriteString(">")
	case fd.IsList():
		w.WriteString("List<")
		w.value(fd, shape, depth+1)
		w.WriteString(">")
	default:
		w.value(fd, shape, depth)
	}
}

var scalarWords = map[protoreflect.Kind]string{
	protoreflect.BoolKind: "Bool", protoreflect.StringKind: "String", protoreflect.BytesKind: "Bytes",
	protoreflect.FloatKind: "Float", protoreflect.DoubleKind: "Double",
	protoreflect.Int32Kind: "Int", protoreflect.Sint32Kind: "Int", protoreflect.Sfixed32Kind: "Int",
	protoreflect.Int64Kind: "Long", protoreflect.Sint64Kind: "Long", protoreflect.Sfixed64Kind: "Long",
	protoreflect.Uint32Kind: "UInt", protoreflect.Fixed32Kind: "UInt",
	protoreflect.Uint64Kind: "ULong", protoreflect.Fixed64Kind: "ULong",
}

var messageWords = map[protoreflect.FullName]string{
	"google.protobuf.Timestamp": "Time", "google.protobuf.Duration": "Duration",
	"foxglove.Vector3": "Position", "foxglove.Quaternion": "Quaternion", "foxglove.Pose": "Pose",
	"foxglove.RawImage": "Image", "foxglove.PointCloud": "PointCloud",
	"engram.idf.v1.Matrix": "Matrix", "engram.idf.v1.NDArray": "NDArray",
	"engram.idf.v1.Value": "AnyObject", "engram.idf.v1.Link": "Link",
}

// value writes the type of one value of a field.
func (w *typeWriter) value(fd protoreflect.FieldDescriptor, shape *idfv1.Shape, depth int) {
	switch {
	case w.Len() > maxTypeWords || depth > maxTypeDepth:
		w.WriteString("…")
	case fd.Enum() != nil:
		w.WriteString(string(fd.Enum().FullName()))
	case fd.Message() == nil:
		w.WriteString(scalarWords[fd.Kind()])
	case wrapperOf(fd.Message()) != idfv1.Wrapper_WRAPPER_NONE:
		w.wrapper(fd.Message(), depth)
	default:
		name, ok := messageWords[fd.Message().FullName()]
		if !ok {
			name = string(fd.Message().FullName())
		}
		w.WriteString(name)
		w.shape(shape)
	}
}

// wrapper writes what a wrapper message stands for.
func (w *typeWriter) wrapper(md protoreflect.MessageDescriptor, depth int) {
	tuple := wrapperOf(md) == idfv1.Wrapper_WRAPPER_TUPLE
	switch {
	case tuple && md.Fields().Len() == 2:
		w.WriteString("Pair<")
	case tuple:
		w.WriteString("Tuple<")
	}
	for i := range md.Fields().Len() {
		if w.Len() > maxTypeWords {
			break
		}
		if i > 0 {
			w.WriteString(", ")
		}
		if fd := md.Fields().Get(i); fd.HasOptionalKeyword() {
			w.WriteString("optional ")
		}
		w.field(md.Fields().Get(i), depth+1)
	}
	if tuple {
		w.WriteString(">")
	}
}

// shape writes a shape's restrictions, if there are any.
func (w *typeWriter) shape(s *idfv1.Shape) {
	var words []string
	if s.GetRows() != 0 || s.GetCols() != 0 {
		words = append(words, extentWord(s.GetRows())+"x"+extentWord(s.GetCols()))
	}
	if s.GetNdim() != 0 {
		words = append(words, fmt.Sprintf("%dD", s.GetNdim()))
	}
	if s.GetDtype() != 0 {
		words = append(words, strings.ToLower(s.GetDtype().String()))
	}
	for _, word := range []string{s.GetEncoding(), s.GetVoxel()} {
		if word != "" {
			words = append(words, word)
		}
	}
	if words != nil {
		w.WriteString("(" + strings.Join(words, ", ") + ")")
	}
}

func extentWord(n int64) string {
	if n == 0 {
		return "any"
	}
	return fmt.Sprint(n)
}
