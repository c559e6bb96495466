package query

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// Condition is something that a query says of instances and that an index may know.
// [OfType] is the one that queries have so far. Used by one goroutine.
type Condition interface {
	// Satisfied reports whether an instance satisfies the condition.
	Satisfied(in *engram.Instance) bool
}

// OfType is the condition of [engram.Query.Type]: the payload is of a type, or of one that
// extends it.
type OfType struct {
	name  string
	types *idf.Registry
	base  *idf.Type       // nil as long as it is not known
	known map[string]bool // whether a type is of it, if both are known
}

// NewOfType returns the condition of a type of that name. Where types does not know it,
// only payloads of that very name satisfy it.
func NewOfType(name string, types *idf.Registry) *OfType {
	return &OfType{name: name, types: types, known: map[string]bool{name: true}}
}

// Satisfied implements [Condition].
func (c *OfType) Satisfied(in *engram.Instance) bool { return c.Includes(in.Payload.Type) }

// Includes reports whether payloads of the type of that name satisfy the condition.
func (c *OfType) Includes(name string) bool {
	if is, ok := c.known[name]; ok {
		return is
	}
	if c.base == nil { // an episode that is read may make it known
		c.base, _ = c.types.Get(c.name)
	}
	t, ok := c.types.Get(name)
	if c.base == nil || !ok {
		return false
	}
	is := t.CheckExtends(c.base) == nil
	c.known[name] = is
	return is
}

// Fits reports whether payloads of the type itself would be accepted where the type of
// that name is the least that is accepted.
func (c *OfType) Fits(segment string) bool {
	if c.base == nil {
		c.base, _ = c.types.Get(c.name)
	}
	least, ok := c.types.Get(segment)
	return ok && c.base != nil && c.base.CheckExtends(least) == nil
}
