package wm

import (
	"slices"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// typeRule says which payload types a segment accepts: its base type and every
// known type that extends it. What was found to be accepted is remembered.
type typeRule struct {
	base     acceptedType
	accepted atomic.Pointer[[]acceptedType] // besides base; copied on write
}

type acceptedType struct {
	name string
	typ  *idf.Type
}

// maxAccepted bounds how many types a rule remembers; more than that are accepted,
// but compared with the base each time.
const maxAccepted = 64

func newTypeRule(t *idf.Type) *typeRule {
	return &typeRule{base: acceptedType{t.Name(), t}}
}

// resolve returns the type of that name, or the base type for "".
func (r *typeRule) resolve(types *idf.Registry, name string) (acceptedType, error) {
	if name == "" || name == r.base.name {
		return r.base, nil
	}
	known := r.accepted.Load()
	if known != nil {
		for i := range *known {
			if (*known)[i].name == name {
				return (*known)[i], nil
			}
		}
	}
	t, err := knownType(types, name)
	if err != nil {
		return acceptedType{}, err
	}
	if err := t.CheckExtends(r.base.typ); err != nil {
		return acceptedType{}, err
	}
	a := acceptedType{t.Name(), t}
	for {
		var next []acceptedType
		if known != nil {
			next = append(next, *known...)
		}
		if len(next) == maxAccepted {
			return a, nil
		}
		next = append(next, a)
		if r.accepted.CompareAndSwap(known, &next) {
			return a, nil
		}
		known = r.accepted.Load()
	}
}

// had reports whether something of one of some types may have been committed.
func (r *typeRule) had(some func(name string) bool) bool {
	known := r.accepted.Load()
	return some(r.base.name) || known != nil &&
		(len(*known) == maxAccepted || slices.ContainsFunc(*known, func(a acceptedType) bool { return some(a.name) }))
}

// knownType returns the registered type of that name.
func knownType(types *idf.Registry, name string) (*idf.Type, error) {
	t, ok := types.Get(name)
	if !ok {
		return nil, engram.Errorf(engram.NotFound, name, "the type is not known here; add it first, as by 'engram type add', AddType, or add_type in Python")
	}
	return t, nil
}
