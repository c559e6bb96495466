package query

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// Condition is something that a query says of instances and that an index may know: [OfType] or
// [LinksTo]. Used by one goroutine.
type Condition interface {
	// Satisfied reports whether an instance of an entity satisfies the condition.
	Satisfied(entity engram.ID, in *engram.Instance) bool
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
func (c *OfType) Satisfied(_ engram.ID, in *engram.Instance) bool { return c.Includes(in.Payload.Type) }

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

// fits reports whether payloads of the type itself would be accepted where the type of
// that name is the least that is accepted.
func (c *OfType) fits(segment string) bool {
	if c.base == nil {
		c.base, _ = c.types.Get(c.name)
	}
	least, ok := c.types.Get(segment)
	return ok && c.base != nil && c.base.CheckExtends(least) == nil
}

// LinksTo is the condition of [engram.Query.LinksTo]: the payload has a link to one of some things, or into it unless
// that is not asked for.
type LinksTo struct {
	exactly bool
	targets map[engram.ID]struct{}
	levels  [engram.LevelInstance + 1]bool // at which there are targets
	naming  Naming
	types   *idf.Registry
}

// NewLinksTo returns the condition of links to targets, in payloads of types that the registry has.
func NewLinksTo(targets []engram.ID, exactly bool, naming Naming, types *idf.Registry) *LinksTo {
	c := &LinksTo{exactly: exactly, targets: map[engram.ID]struct{}{}, naming: naming, types: types}
	for _, id := range targets {
		id = naming.Link(engram.ID{}, id)
		c.targets[id], c.levels[id.Level()] = struct{}{}, true
	}
	return c
}

// includes reports whether an ID is one of the targets, or lies in one.
func (c *LinksTo) includes(id engram.ID) bool {
	for l := id.Level(); l > engram.LevelRoot; l-- {
		if c.levels[l] {
			if _, is := c.targets[id.Truncate(l)]; is {
				return true
			}
		}
		if c.exactly {
			break
		}
	}
	return false
}

// Satisfied implements [Condition].
func (c *LinksTo) Satisfied(entity engram.ID, in *engram.Instance) bool {
	t, ok := c.types.Get(in.Payload.Type)
	return ok && c.in(entity, t, in.Payload.Bytes)
}

// mayBeIn reports whether payloads of the type of that name may have links, as far as is known.
func (c *LinksTo) mayBeIn(name string) bool {
	t, ok := c.types.Get(name)
	return !ok || t.Has(idf.KindLink)
}

// in reports whether a payload of a type has such a link.
func (c *LinksTo) in(entity engram.ID, t *idf.Type, payload []byte) (found bool) {
	_ = t.Walk(payload, idf.KindLink, func(f *idf.Found) bool { // a damaged payload was refused at its commit
		id, err := engram.Parse(string(f.Bytes))
		found = err == nil && c.includes(c.naming.Link(entity, id))
		return !found
	})
	return found
}

// Naming is the name of the robot whose memories are asked, "" if it has none. Here they bear no name of a robot.
type Naming string

// Link returns what a link in a payload of an entity is to, as it is called here. In the memory of another robot,
// which bears its name before a colon, links are to what they name there.
func (own Naming) Link(entity, link engram.ID) engram.ID {
	of, _ := engram.SplitName(entity.Memory())
	return link.Renamed(of, string(own))
}
