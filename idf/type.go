package idf

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// Type is a payload type: a message descriptor and what is compiled from it. It is
// immutable and safe for concurrent use.
type Type struct {
	desc protoreflect.MessageDescriptor
	def  engram.TypeDef
}

// Name returns the message's full name.
func (t *Type) Name() string { return string(t.desc.FullName()) }

// Descriptor returns the message's descriptor.
func (t *Type) Descriptor() protoreflect.MessageDescriptor { return t.desc }

// Def returns the self-contained definition that makes the type known elsewhere.
func (t *Type) Def() engram.TypeDef { return t.def }

// TypeOf makes a type from a message descriptor. source and format keep the
// definition it was made from; both may be empty.
func TypeOf(md protoreflect.MessageDescriptor, source, format string) (*Type, error) {
	panic("to be built")
}

// ParseType makes a type from its self-contained definition. The error is Invalid
// and says what is wrong with the descriptors.
func ParseType(def engram.TypeDef) (*Type, error) { panic("to be built") }

// Same reports whether both types have the same name and the same members, so
// that one can stand for the other.
func (t *Type) Same(o *Type) bool { panic("to be built") }

// CheckExtends returns nil if every member of core is in t with the same number,
// name and type, and a TypeMismatch that names the first member that is not.
// Every type extends [engram.ValueType], which stands for any data.
func (t *Type) CheckExtends(core *Type) error { panic("to be built") }

// Check scans b and returns a Corrupt error with the member's path and the offset
// if it is not the wire form of the type: bad tags, cut values, wrong wire types,
// strings that are not UTF-8, nesting beyond 100. Unknown fields pass. It does not
// allocate on success.
func (t *Type) Check(b []byte) error { panic("to be built") }
