package idf

import "github.com/seed-301d4374/engram"

// Registry knows types by name. It is safe for concurrent use; Get does not lock.
type Registry struct{}

// NewRegistry returns a registry that knows [engram.ValueType], the special types
// engram.idf.v1.*, the Foxglove schemas and protobuf's well-known types.
func NewRegistry() *Registry { panic("to be built") }

// Add makes a type known and returns it. If the same type is known already, that
// one is returned; a different one of the same name gives AlreadyExists with the
// first member that differs.
func (r *Registry) Add(def engram.TypeDef) (*Type, error) { panic("to be built") }

// Get returns the type of that full name.
func (r *Registry) Get(name string) (*Type, bool) { panic("to be built") }

// Names returns the names of all known types, sorted.
func (r *Registry) Names() []string { panic("to be built") }
