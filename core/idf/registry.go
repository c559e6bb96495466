package idf

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// Registry knows types by name. It is safe for concurrent use; Get does not lock.
type Registry struct {
	types atomic.Pointer[map[string]*Type] // copied on write; entries are never replaced
	add   sync.Mutex                       // held while types are added
	bytes int                              // of the descriptors that were added
}

// NewRegistry returns a registry that knows [engram.ValueType], the special types
// engram.idf.v1.*, the Foxglove schemas and protobuf's well-known types.
func NewRegistry() *Registry {
	r := &Registry{}
	types := knownTypes()
	r.types.Store(&types)
	return r
}

// Add makes a type known and returns it, and with it the messages it is made of
// whose names are not known yet. If the same type is known already, that one is
// returned; a different one of the same name gives AlreadyExists with the first
// member that differs, one too many Exhausted. A Foxglove schema of another version is the known one.
func (r *Registry) Add(def engram.TypeDef) (*Type, error) {
	if k, ok := r.Get(def.Name); ok && bytes.Equal(k.Def().Descriptors, def.Descriptors) {
		return k, nil
	}
	t, err := ParseType(def)
	if err != nil {
		return nil, err
	}
	r.add.Lock()
	defer r.add.Unlock()
	if k, ok := r.Get(def.Name); ok {
		if k == knownTypes()[def.Name] { // ParseType saw that they agree
			return k, nil
		}
		if s := typeDiff(t, k); s != "" {
			return nil, engram.Errorf(engram.AlreadyExists, def.Name,
				"another type of this name is known: %s; give the new one another name", s)
		}
		return k, nil
	}
	types := maps.Clone(*r.types.Load())
	types[def.Name] = t
	addMembers(types, t.desc, map[protoreflect.FullName]bool{})
	if n := r.bytes + len(t.Def().Descriptors); len(types) > MaxTypes || n > MaxTypesBytes {
		return nil, engram.Errorf(engram.Exhausted, def.Name,
			"with it %d types would be known, of %d bytes; at most %d of %d bytes may be, and none goes before the memory begins anew; use those that are known",
			len(types), n, MaxTypes, MaxTypesBytes)
	}
	r.bytes += len(t.Def().Descriptors)
	r.types.Store(&types)
	return t, nil
}

// addMembers adds the messages that md's members and declarations name, but for
// wrappers, which are nobody's payload.
func addMembers(types map[string]*Type, md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) {
	if seen[md.FullName()] {
		return
	}
	seen[md.FullName()] = true
	if name := string(md.FullName()); types[name] == nil && !md.IsMapEntry() && wrapperOf(md) == idfv1.Wrapper_WRAPPER_NONE {
		types[name] = impliedType(md)
	}
	for i := range md.Messages().Len() {
		addMembers(types, md.Messages().Get(i), seen)
	}
	for i := range md.Fields().Len() {
		if m := md.Fields().Get(i).Message(); m != nil {
			addMembers(types, m, seen)
		}
	}
}

// Get returns the type of that full name.
func (r *Registry) Get(name string) (*Type, bool) {
	t, ok := (*r.types.Load())[name]
	return t, ok
}

// Names returns the names of all known types, sorted.
func (r *Registry) Names() []string {
	return slices.Sorted(maps.Keys(*r.types.Load()))
}
