package idf

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// wrapperOf says whether a message of a type stands for something protobuf has no
// direct form for, and for what.
func wrapperOf(md protoreflect.MessageDescriptor) idfv1.Wrapper {
	return proto.GetExtension(md.Options(), idfv1.E_Wrapper).(idfv1.Wrapper)
}

// shapeOf returns the restriction on a matrix, ndarray, image or point cloud
// member, or nil.
func shapeOf(fd protoreflect.FieldDescriptor) *idfv1.Shape {
	return proto.GetExtension(fd.Options(), idfv1.E_Shape).(*idfv1.Shape)
}

// enumKey returns the key of an enumeration's value as it was written.
func enumKey(ev protoreflect.EnumValueDescriptor) string {
	if k := proto.GetExtension(ev.Options(), idfv1.E_Key).(string); k != "" {
		return k
	}
	return string(ev.Name())
}

// checkWrapper returns an error if a message says that it is a wrapper and has not
// the fields of one.
func checkWrapper(md protoreflect.MessageDescriptor) error {
	var only protoreflect.FieldDescriptor
	if md.Fields().Len() == 1 {
		only = md.Fields().Get(0)
	}
	ok, want := true, ""
	switch wrapperOf(md) {
	case idfv1.Wrapper_WRAPPER_LIST:
		ok, want = only != nil && only.IsList(), "one repeated field"
	case idfv1.Wrapper_WRAPPER_DICT:
		ok, want = only != nil && only.IsMap(), "one map field"
	case idfv1.Wrapper_WRAPPER_OPTIONAL:
		ok, want = only != nil && only.HasPresence() && oneofName(only) == "", "one optional field"
	case idfv1.Wrapper_WRAPPER_TUPLE:
		ok, want = md.Fields().Len() > 0, "fields"
	}
	if !ok {
		return fmt.Errorf("%s is marked as the wrapper of a %s, which has %s and no other", md.FullName(), wrapperWords(wrapperOf(md)), want)
	}
	return nil
}

// wrapperWords returns what a wrapper message stands for.
func wrapperWords(w idfv1.Wrapper) string {
	switch w {
	case idfv1.Wrapper_WRAPPER_NONE:
		return "plain message"
	case idfv1.Wrapper_WRAPPER_LIST:
		return "list"
	case idfv1.Wrapper_WRAPPER_DICT:
		return "dict"
	case idfv1.Wrapper_WRAPPER_TUPLE:
		return "tuple"
	case idfv1.Wrapper_WRAPPER_OPTIONAL:
		return "optional"
	}
	return fmt.Sprintf("wrapper %d", w)
}

// shapeWords returns a shape's restrictions, such as "(rows 4, cols 4, FLOAT32)".
func shapeWords(s *idfv1.Shape) string {
	var words []string
	for _, d := range []struct {
		name string
		n    int64
	}{{"rows", s.GetRows()}, {"cols", s.GetCols()}, {"ndim", int64(s.GetNdim())}} {
		if d.n != 0 {
			words = append(words, fmt.Sprintf("%s %d", d.name, d.n))
		}
	}
	if s.GetDtype() != 0 {
		words = append(words, s.GetDtype().String())
	}
	for _, w := range []string{s.GetEncoding(), s.GetVoxel()} {
		if w != "" {
			words = append(words, w)
		}
	}
	if words == nil {
		return "(any)"
	}
	return "(" + strings.Join(words, ", ") + ")"
}
