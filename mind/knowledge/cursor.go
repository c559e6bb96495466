package knowledge

import (
	"math"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// ID is the number of a term for a [Cursor]; 0 is none, and any in what is asked.
type ID = uint32

// A Mode says what a property's use in a question means.
type Mode uint8

// The modes.
const (
	AsOWL    Mode = iota // what follows by OWL: see Relation
	AsRDFS               // the triples of the property and of its sub-properties
	AsStated             // the triples as they are stated
)

// A Cursor reads a graph by numbers of terms, for one question: it keeps what it has found out
// of classes. It is used by one goroutine, while the graph is not changed. What it yields it yields
// once; yield returns false to end, and then so does the method.
type Cursor struct {
	r         *reader
	extra     map[rdf.Term]ID // of terms that no triple has
	relations []*Relation
	classes   map[ID]*extension
	same      bool // what sames reports, once it is known
	sameKnown bool
}

// Cursor returns a cursor over the graph.
func (g *Graph) Cursor() *Cursor { return &Cursor{r: g.reader()} }

// Pause has a function called at each step that the cursor goes along a way or a proof. When that
// returns false, the question is given up: what is yielded from then on means nothing.
func (c *Cursor) Pause(pause func() bool) { c.r.pause = pause }

// ID returns the number of a term, one for the cursor's life if no triple has it.
func (c *Cursor) ID(t rdf.Term) ID {
	if t.Kind == 0 {
		return 0
	}
	if id := c.r.names.find(t); id != 0 {
		return id
	}
	if id, ok := c.extra[t]; ok {
		return id
	}
	if c.extra == nil {
		c.extra = map[rdf.Term]ID{}
	}
	id := math.MaxUint32 - uint32(len(c.r.extra))
	c.r.extra = append(c.r.extra, t)
	c.extra[t] = id
	return id
}

// Term returns the term of a number.
func (c *Cursor) Term(id ID) rdf.Term { return c.r.termOf(id) }

// IsLiteral says whether a number is that of a literal.
func (c *Cursor) IsLiteral(id ID) bool { return c.r.isLiteral(id) }

// Texts returns the literals that have a text, of whatever type and language.
func (c *Cursor) Texts(text string) []ID {
	var found []ID
	for _, q := range c.r.names.numbers {
		if id := c.r.names.lookup(text, q); id != 0 && c.r.literal(id) {
			found = append(found, id)
		}
	}
	return found
}

// Values returns the literals that mean what t does ([rdf.Value]), and t itself, which is no plain text. It looks at all
// literals that are none.
func (c *Cursor) Values(t rdf.Term) []ID {
	var found []ID
	value := rdf.ValueOf(t)
	for id := range c.r.names.terms {
		if c.r.names.terms[id].qualifier <= qualifiedPlain {
			continue
		}
		if it := c.r.termOf(uint32(id)); it == t || rdf.ValueOf(it).Equal(value) {
			found = append(found, uint32(id))
		}
	}
	return found
}

// IRIs yields the IRIs that triples have.
func (c *Cursor) IRIs(yield func(ID, string) bool) {
	for id := range c.r.names.terms {
		if it := &c.r.names.terms[id]; it.qualifier == qualifiedIRI && !yield(uint32(id), it.value) {
			return
		}
	}
}

// Match yields triples as they are stated; 0 is any.
func (c *Cursor) Match(s, p, o ID, yield func(s, p, o ID) bool) bool {
	return c.r.match(s, p, o, yield)
}

// Has yields the pairs of a property and those below it.
func (c *Cursor) Has(s, p, o ID, yield func(s, o ID) bool) bool { return c.r.has(s, p, o, yield) }

// Count counts triples, up to most if that takes looking at each.
func (c *Cursor) Count(s, p, o ID, most int) int {
	switch {
	case s == 0 && o == 0 && p != 0:
		return c.r.predicates[p]
	case s == 0 && o == 0:
		return c.r.length
	}
	n := 0
	c.r.match(s, p, o, func(_, _, _ ID) bool { n++; return n < most })
	return n
}

// Subjects yields each subject.
func (c *Cursor) Subjects(yield func(ID) bool) bool { return c.r.subjects(yield) }

// IsSubject says whether a triple has it as its subject.
func (c *Cursor) IsSubject(id ID) bool { return c.r.isSubject(id) }

// Nodes yields each subject, and each object that is no literal.
func (c *Cursor) Nodes(yield func(ID) bool) bool {
	return c.r.subjects(yield) && c.r.osp.firstsOf(func(id uint32) bool {
		return c.r.literal(id) || c.r.isSubject(id) || yield(id)
	})
}

// IsNode says whether Nodes yields it.
func (c *Cursor) IsNode(id ID) bool {
	return !c.IsLiteral(id) && (c.r.isSubject(id) || c.Count(0, 0, id, 1) > 0)
}

// A Relation is what a property connects.
type Relation struct {
	c        *Cursor
	property ID
	kind     relationKind
	mode     Mode
	implied  *implied // in OWL's mode
}

type relationKind uint8

const (
	relatesStated relationKind = iota // Match is all
	relatesSubs                       // with sub-properties, as rdf_has
	relatesClosed                     // transitive
	relatesMany                       // what follows in one step
	relatesSchema                     // rdfs:subClassOf and rdfs:subPropertyOf
)

// Relation returns what a property connects. In OWL's mode that is what follows from the triples
// of all properties that are below it or inverse to such ones, from symmetry, transitivity, also
// that of an inverse, owl:sameAs, and the values that restrictions give to the very classes of an
// individual: at least what OWLHas has. rdfs:subClassOf and rdfs:subPropertyOf are transitive.
func (c *Cursor) Relation(p ID, mode Mode) *Relation {
	for _, known := range c.relations {
		if known.property == p && known.mode == mode {
			return known
		}
	}
	it := &Relation{c: c, property: p, mode: mode}
	c.relations = append(c.relations, it)
	switch mode {
	case AsStated:
		return it
	case AsRDFS:
		if len(c.r.property(p).subs) > 1 {
			it.kind = relatesSubs
		}
		return it
	}
	it.implied = c.r.impliedBy(p)
	switch {
	case p == rdfsSubClassOf || p == rdfsSubPropertyOf:
		it.kind = relatesSchema
	case it.implied.transitive:
		it.kind = relatesClosed
	case !it.implied.plain || c.sames():
		it.kind = relatesMany
	}
	return it
}

// sames reports whether anything is said to be the same as another.
func (c *Cursor) sames() bool {
	if !c.sameKnown {
		c.same, c.sameKnown = c.r.sames(), true
	}
	return c.same
}

// Below returns the property and those below it, as far as the mode counts them.
func (r *Relation) Below() []ID {
	switch r.mode {
	case AsStated:
		return []ID{r.property}
	case AsRDFS:
		return r.c.r.property(r.property).subs
	}
	return r.implied.forward
}

// Each yields subjects and objects; 0 is any.
func (r *Relation) Each(s, o ID, yield func(s, o ID) bool) bool {
	switch r.kind {
	case relatesStated:
		return r.c.r.match(s, r.property, o, func(s, _, o uint32) bool { return yield(s, o) })
	case relatesSubs:
		return r.c.r.has(s, r.property, o, yield)
	case relatesClosed:
		return r.implied.pairs(r.c.r, s, r.property, o, yield)
	case relatesSchema:
		return r.c.Walk(s, o, func(s, o ID, yield func(s, o ID) bool) bool { return r.c.r.has(s, r.property, o, yield) }, yield)
	}
	return r.implied.follows(r.c.r, s, o, once(yield))
}

// Count estimates how many pairs there are, up to most if that takes looking at each.
func (r *Relation) Count(s, o ID, most int) int {
	if r.kind == relatesStated {
		return r.c.Count(s, r.property, o, most)
	}
	n := 0
	if r.implied == nil {
		for _, sub := range r.Below() {
			n += r.c.Count(s, sub, o, most)
		}
		return n
	}
	for _, at := range r.implied.all {
		if at.back {
			n += r.c.Count(o, at.property, s, most)
		} else {
			n += r.c.Count(s, at.property, o, most)
		}
	}
	n += len(r.implied.way.values)
	if r.kind != relatesMany {
		n *= 4
	}
	return n
}

// Walk yields what one or more steps connect. No step leads on from a literal.
func (c *Cursor) Walk(s, o ID, step func(s, o ID, yield func(s, o ID) bool) bool, yield func(s, o ID) bool) bool {
	return walk(c.r, s, o, step, yield)
}
