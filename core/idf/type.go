package idf

import (
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// Type is a payload type: a message descriptor and what is compiled from it. It is
// immutable and safe for concurrent use.
type Type struct {
	desc  protoreflect.MessageDescriptor
	def   func() engram.TypeDef // computed once
	check func() *checkPlan     // compiled once

	// cache holds plans compiled from the descriptor, each stored under a key type
	// of the file that compiles it. A plan is compiled twice at worst.
	cache cache
}

// cache is a *sync.Map. An interface keeps its generics, which each package that has to do
// with types would compile again, in this package.
type cache interface {
	Load(key any) (value any, ok bool)
	LoadOrStore(key, value any) (actual any, loaded bool)
}

// newType makes a type of a descriptor that was checked.
func newType(md protoreflect.MessageDescriptor, def func() engram.TypeDef) *Type {
	t := &Type{desc: md, def: def, cache: new(sync.Map)}
	t.check = sync.OnceValue(func() *checkPlan { return compileCheck(md) })
	return t
}

// Name returns the message's full name.
func (t *Type) Name() string { return string(t.desc.FullName()) }

// Descriptor returns the message's descriptor. Its options are of the generated
// types, and it may be another one than [TypeOf] was given.
func (t *Type) Descriptor() protoreflect.MessageDescriptor { return t.desc }

// Def returns the self-contained definition that makes the type known elsewhere.
func (t *Type) Def() engram.TypeDef { return t.def() }

// TypeOf makes a type from a message descriptor. source and format keep the
// definition it was made from; both may be empty. The error is Invalid and says
// what is wrong with the descriptor.
func TypeOf(md protoreflect.MessageDescriptor, source, format string) (*Type, error) {
	name := string(md.FullName())
	b, err := descriptorSet(md.ParentFile())
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, name, "type: %w", err)
	}
	return ParseType(engram.TypeDef{Name: name, Descriptors: b, Source: source, Format: format})
}
