package knowledge

// extension is who is in a class, as a cursor has it: individuals with a type at or below the
// class (owl_subclass_of), those that have it by its definition as owl_individual_of/2 does, and
// the objects of properties whose range is exactly the class. It does not depend on what is
// bound. Literals are in no class.
type extension struct {
	below   nodes // the class and those below it
	ranges  []ID  // properties whose range is the class
	defined bool  // its definition may give it members
	every   bool  // every subject is in it
	found   *nodes
	byDef   *nodes
}

func (c *Cursor) extension(class ID) *extension {
	it := c.classes[class]
	if it != nil {
		return it
	}
	it = &extension{every: class == owlThing || class == rdfsResource}
	r := c.r
	it.below.add(r.Graph, class)
	if class != rdfsResource {
		r.subclass(0, class, func(sub, _ uint32) bool { it.below.add(r.Graph, sub); return true })
	}
	if r.predicates[rdfsRange] > 0 {
		r.has(0, rdfsRange, class, func(p, _ uint32) bool { it.ranges = append(it.ranges, p); return true })
	}
	for _, says := range [...]uint32{owlEquivalentClass, owlUnionOf, owlIntersectionOf, owlComplementOf, owlOneOf, owlOnProperty} {
		it.defined = it.defined || r.value(class, says) != 0
	}
	if c.classes == nil {
		c.classes = map[ID]*extension{}
	}
	c.classes[class] = it
	return it
}

func (e *extension) definition(c *Cursor, class ID) *nodes {
	if e.byDef == nil {
		e.byDef = &nodes{}
		if e.defined {
			c.r.byDefinition(0, class, func(i, _ uint32) bool { e.byDef.add(c.r.Graph, i); return true })
		}
	}
	return e.byDef
}

// Members returns who is in a class. The slice is not changed.
func (c *Cursor) Members(class ID) []ID {
	e := c.extension(class)
	if e.found != nil {
		return e.found.list
	}
	found := &nodes{}
	add := func(i ID) bool {
		if !c.IsLiteral(i) {
			found.add(c.r.Graph, i)
		}
		return true
	}
	if e.every {
		c.r.subjects(add)
	}
	for _, t := range e.below.list {
		c.r.has(0, rdfType, t, func(i, _ uint32) bool { return add(i) })
	}
	for _, p := range e.ranges {
		c.r.has(0, p, 0, func(_, o uint32) bool { return add(o) })
	}
	for _, i := range e.definition(c, class).list {
		add(i)
	}
	e.found = found
	return found.list
}

// IsMember says whether Members has it.
func (c *Cursor) IsMember(i, class ID) bool {
	if c.IsLiteral(i) {
		return false
	}
	e := c.extension(class)
	if e.found != nil {
		return e.found.has(i)
	}
	if e.every && c.r.isSubject(i) || !c.r.has(i, rdfType, 0, func(_, t uint32) bool { return !e.below.has(t) }) {
		return true
	}
	for _, p := range e.ranges {
		if !c.r.has(0, p, i, func(_, _ uint32) bool { return false }) {
			return true
		}
	}
	return e.defined && e.definition(c, class).has(i)
}

// CountMembers estimates how many are in a class, up to about most.
func (c *Cursor) CountMembers(class ID, most int) int {
	e := c.extension(class)
	if e.found != nil {
		return len(e.found.list)
	}
	n := 0
	if e.every || e.defined {
		n = min(c.r.length, most)
	}
	for _, t := range e.below.list {
		if n < most {
			n += c.Count(0, rdfType, t, most)
		}
	}
	for _, p := range e.ranges {
		n += c.r.predicates[p]
	}
	return n
}

// Types yields individuals and the classes that they are stated to be in, with those above; not
// rdfs:Resource. 0 is any.
func (c *Cursor) Types(i, class ID, yield func(i, class ID) bool) bool {
	switch {
	case class == rdfsResource:
		return true
	case class != 0:
		e := c.extension(class)
		pass := once(yield)
		for _, t := range e.below.list {
			if !c.r.has(i, rdfType, t, func(i, _ uint32) bool { return c.IsLiteral(i) || pass(i, class) }) {
				return false
			}
		}
		return true
	case i != 0:
		classes := nodes{}
		c.r.has(i, rdfType, 0, func(_, t uint32) bool {
			return c.r.subclass(t, 0, func(_, super uint32) bool {
				if super != rdfsResource {
					classes.add(c.r.Graph, super)
				}
				return true
			})
		})
		for _, class := range classes.list {
			if !yield(i, class) {
				return false
			}
		}
		return true
	}
	individuals := nodes{}
	c.r.has(0, rdfType, 0, func(i, _ uint32) bool { individuals.add(c.r.Graph, i); return true })
	for _, i := range individuals.list {
		if !c.Types(i, 0, yield) {
			return false
		}
	}
	return true
}

// The numbers of names that every graph has.
const (
	IDType       ID = rdfType
	IDSubClassOf ID = rdfsSubClassOf
	IDThing      ID = owlThing
)
