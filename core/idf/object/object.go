// Package object is what Go structs written by "engram gen go" are built on: they say
// how each member is written and read, and this package turns them into payloads and
// back, and casts payloads of other types by the names of members (docs/codegen.md).
package object

import (
	"bytes"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// Object is a struct of a type.
type Object interface {
	// Type returns the type.
	Type() *idf.Type
	// WriteMembers writes the members in the order of their numbers.
	WriteMembers(*Writer)
	// ReadMember takes a record of a member; others it leaves.
	ReadMember(*Record)
}

// Payload returns the object as a payload of its type. The error is Invalid and names
// the member.
func Payload(o Object) (engram.Payload, error) {
	b, err := Append(nil, o)
	return engram.Payload{Type: o.Type().Name(), Bytes: b}, err
}

// Append appends the object's encoded form to b, whose memory may be used again once
// the payload was committed. Equal objects give equal bytes.
func Append(b []byte, o Object) ([]byte, error) {
	w := Writer{buf: b, depth: 1}
	o.WriteMembers(&w)
	if w.err != nil {
		return nil, w.err.of(o)
	}
	return w.buf, nil
}

// Read sets the object's members that an encoded payload of its type has, and leaves
// the others as they are: mostly, the object is a new one. Lists get the payload's items
// behind those they have. Bytes are copied. The error is Corrupt and names the member.
func Read(b []byte, o Object) error {
	if err := readMembers(b, o, 1); err != nil {
		return err.of(o)
	}
	return nil
}

// Cast sets the object's members that a payload of another type has under the same
// names, as [idf.Cast] does: numbers and enumerations are converted where the value
// fits, and the rest is left. A member of the same name and another kind gives
// TypeMismatch with its path.
func Cast(from *idf.Type, b []byte, o Object) error {
	b, err := idf.Cast(from, b, o.Type())
	if err != nil {
		return err
	}
	return Read(b, o)
}

// Equal reports whether two objects are of one type and have equal members. An empty
// list and none are equal.
func Equal(a, b Object) bool {
	if a.Type().Name() != b.Type().Name() {
		return false
	}
	encodedA, err := Append(nil, a)
	if err != nil {
		return false
	}
	encodedB, err := Append(nil, b)
	return err == nil && bytes.Equal(encodedA, encodedB)
}

// Types returns what finds the types of a package of structs in their encoded
// FileDescriptorSet. They are part of the program, so it panics if one is not there.
func Types(descriptors []byte) func(name string) *idf.Type {
	var made sync.Map
	return func(name string) *idf.Type {
		if t, ok := made.Load(name); ok {
			return t.(*idf.Type)
		}
		t, err := idf.ParseType(engram.TypeDef{Name: name, Descriptors: descriptors, Format: "proto"})
		if err != nil {
			panic(err)
		}
		first, _ := made.LoadOrStore(name, t)
		return first.(*idf.Type)
	}
}

// maxDepth is how deep messages may be nested, as the memory has it.
const maxDepth = 100

// failure is an error with the path of the member at fault.
type failure struct {
	code engram.Code
	path string
	err  error
}

func (f *failure) under(name string) *failure {
	if f != nil {
		switch {
		case f.path == "" || f.path[0] == '[':
			f.path = name + f.path
		default:
			f.path = name + "." + f.path
		}
	}
	return f
}

func (f *failure) of(o Object) error {
	if f.path == "" {
		return engram.Errorf(f.code, o.Type().Name(), "%w", f.err)
	}
	return engram.Errorf(f.code, o.Type().Name(), "member %s: %w", f.path, f.err)
}

// readMembers gives an object the records of its message, which is nested depth deep.
func readMembers(b []byte, o interface{ ReadMember(*Record) }, depth int) *failure {
	return each(b, depth, func(r *Record) *failure {
		o.ReadMember(r)
		return r.err
	})
}

// Record is one member as it stands on the wire.
type Record struct {
	Number protowire.Number

	wire  protowire.Type
	num   uint64
	bytes []byte
	depth int
	err   *failure
}
