package knowledge

import (
	"math"

	"github.com/seed-301d4374/engram/knowledge/rdf"
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
	same      bool // some things are said to be the same
	sameKnown bool
}

// Cursor returns a cursor over the graph.
func (g *Graph) Cursor() *Cursor { return &Cursor{r: g.reader()} }

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
	subs     []ID // the property and those below it
	inverses []ID // transitive properties of which one of subs is the inverse
}

type relationKind uint8

const (
	relatesStated  relationKind = iota // Match is all
	relatesSubs                        // with sub-properties, as rdf_has
	relatesClosed                      // transitive: OWLHas is all
	relatesMany                        // OWLHas of each of subs
	relatesSchema                      // rdfs:subClassOf and rdfs:subPropertyOf
	relatesNothing                     // no triple and no restriction speaks of it
)

// Relation returns what a property connects. In OWL's mode that is what is stated of it and of the
// properties below it, and what OWLHas has of these; an inverse of a transitive property is
// transitive, and so are rdfs:subClassOf and rdfs:subPropertyOf.
func (c *Cursor) Relation(p ID, mode Mode) *Relation {
	for _, known := range c.relations {
		if known.property == p && known.mode == mode {
			return known
		}
	}
	it := &Relation{c: c, property: p, mode: mode}
	c.relations = append(c.relations, it)
	if mode == AsStated {
		return it
	}
	of := c.r.property(p)
	if it.subs = of.subs; mode == AsRDFS {
		if len(it.subs) > 1 {
			it.kind = relatesSubs
		}
		return it
	}
	if !c.sameKnown {
		c.same, c.sameKnown = c.r.sames(), true
	}
	if p == rdfsSubClassOf || p == rdfsSubPropertyOf {
		it.kind = relatesSchema
		return it
	}
	of, way := c.r.pathsOf(p)
	if of.transitive {
		it.kind = relatesClosed
		return it
	}
	plain := !c.same && len(it.subs) == 1 && len(way.values) == 0
	if plain && len(way.backward) == 0 {
		return it
	}
	it.kind = relatesMany
	for _, sub := range it.subs {
		for _, inverse := range c.inverses(sub) {
			if of, _ := c.r.pathsOf(inverse); of.transitive {
				it.inverses = append(it.inverses, inverse)
			}
		}
	}
	return it
}

// inverses returns what a property is the inverse of, whichever of them says so.
func (c *Cursor) inverses(p ID) []ID {
	found := nodes{}
	c.r.has(p, owlInverseOf, 0, func(_, q uint32) bool { found.add(c.r.Graph, q); return true })
	c.r.has(0, owlInverseOf, p, func(q, _ uint32) bool { found.add(c.r.Graph, q); return true })
	return found.list
}

// Below returns the property and those below it, as far as the mode counts them.
func (r *Relation) Below() []ID {
	if r.mode == AsStated {
		return []ID{r.property}
	}
	return r.subs
}

// Each yields subjects and objects; 0 is any.
func (r *Relation) Each(s, o ID, yield func(s, o ID) bool) bool {
	switch r.kind {
	case relatesStated:
		return r.c.r.match(s, r.property, o, func(s, _, o uint32) bool { return yield(s, o) })
	case relatesSubs:
		return r.c.r.has(s, r.property, o, yield)
	case relatesClosed:
		if o == 0 || r.c.IsLiteral(o) { // literals are no part of a way
			goOn := r.c.r.has(s, r.property, o, func(s, o ID) bool { return !r.c.IsLiteral(o) || yield(s, o) })
			if !goOn || o != 0 {
				return goOn
			}
		}
		return r.c.r.owlHasOf(s, r.property, o, yield)
	case relatesSchema:
		return r.c.Walk(s, o, func(s, o ID, yield func(s, o ID) bool) bool { return r.c.r.has(s, r.property, o, yield) }, yield)
	}
	pass := once(yield)
	if !r.c.r.has(s, r.property, o, pass) {
		return false
	}
	for _, sub := range r.subs {
		if !r.c.r.owlHasOf(s, sub, o, pass) {
			return false
		}
	}
	for _, inverse := range r.inverses {
		if o != 0 && r.c.IsLiteral(o) {
			break
		}
		if !r.c.r.owlHasOf(o, inverse, s, func(o, s uint32) bool { return r.c.IsLiteral(s) || pass(s, o) }) {
			return false
		}
	}
	return true
}

// Count estimates how many pairs there are, up to most if that takes looking at each.
func (r *Relation) Count(s, o ID, most int) int {
	if r.kind == relatesStated {
		return r.c.Count(s, r.property, o, most)
	}
	n := 0
	for _, sub := range r.Below() {
		n += r.c.Count(s, sub, o, most)
		if r.kind != relatesClosed && r.kind != relatesMany {
			continue
		}
		_, way := r.c.r.pathsOf(sub)
		for _, back := range way.backward {
			n += r.c.Count(o, back, s, most)
		}
		n += len(way.values)
	}
	if r.kind == relatesClosed || r.kind == relatesSchema || len(r.inverses) > 0 {
		n *= 4
	}
	return n
}

// Walk yields what one or more steps connect. No step leads on from a literal.
func (c *Cursor) Walk(s, o ID, step func(s, o ID, yield func(s, o ID) bool) bool, yield func(s, o ID) bool) bool {
	switch {
	case s != 0 && o != 0 && c.IsLiteral(o):
		// A literal may have many that lead to it, of which one is s.
		fallthrough
	case s != 0:
		return c.reach(s, func(n ID, to func(ID) bool) bool {
			return c.IsLiteral(n) || step(n, 0, func(_, m ID) bool { return to(m) })
		}, func(n ID) bool {
			if o != 0 {
				return n != o || yield(s, o) && false
			}
			return yield(s, n)
		})
	case o != 0:
		return c.reach(o, func(n ID, to func(ID) bool) bool {
			return step(0, n, func(m, _ ID) bool { return to(m) })
		}, func(n ID) bool { return yield(n, o) })
	}
	next := map[ID][]ID{}
	var order []ID
	step(0, 0, func(s, o ID) bool {
		if next[s] == nil {
			order = append(order, s)
		}
		next[s] = append(next[s], o)
		return true
	})
	for _, s := range order {
		goOn := c.reach(s, func(n ID, to func(ID) bool) bool {
			for _, m := range next[n] {
				if !to(m) {
					return false
				}
			}
			return true
		}, func(n ID) bool { return yield(s, n) })
		if !goOn {
			return false
		}
	}
	return true
}

// reach yields what one or more steps reach, the nearest first.
func (c *Cursor) reach(start ID, steps func(n ID, to func(ID) bool) bool, yield func(ID) bool) bool {
	reached := nodes{}
	to := func(n ID) bool { return !reached.add(c.r.Graph, n) || yield(n) }
	if !steps(start, to) {
		return false
	}
	for i := 0; i < len(reached.list); i++ {
		if n := reached.list[i]; n != start && !steps(n, to) {
			return false
		}
	}
	return true
}
