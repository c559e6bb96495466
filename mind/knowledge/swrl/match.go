package swrl

import (
	"context"
	"iter"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// match looks for values of a rule's variables with which its body holds.
type match struct {
	ctx    context.Context
	g      *knowledge.Graph
	rule   *Rule
	values map[string]rdf.Term
	done   []bool // the atoms that hold already
	// valued has the pairs of a property by their literals ([rdf.Value.Bucket]).
	valued map[rdf.Term]map[any][]pair
	err    error
}

// pair is a subject and an object.
type pair [2]rdf.Term

// get returns the value of a term, the zero term if it has none yet.
func (m *match) get(t term) rdf.Term {
	if t.variable == "" {
		return t.value
	}
	return m.values[t.variable]
}

// with goes on with a term that has a value, if it can have it.
func (m *match) with(t term, value rdf.Term, goOn func() bool) bool {
	known := m.get(t)
	if !known.IsZero() {
		return !same(known, value) || goOn()
	}
	m.values[t.variable] = value
	ok := goOn()
	delete(m.values, t.variable)
	return ok
}

// same reports whether two terms are one, or literals of one value.
func same(a, b rdf.Term) bool {
	return a == b || a.Kind == rdf.Literal && rdf.ValueOf(a).Equal(rdf.ValueOf(b))
}

// all calls found with each way in which the atoms that are not done hold.
func (m *match) all(found func() bool) bool {
	if m.err = m.ctx.Err(); m.err != nil {
		return false
	}
	next, best := -1, -1
	for i, a := range m.rule.body {
		if m.done[i] {
			continue
		}
		if ready := m.ready(a); ready > best {
			next, best = i, ready
		}
	}
	if next < 0 {
		for i := range m.done {
			if !m.done[i] {
				m.err = engram.Errorf(engram.Invalid, m.rule.Name, "the rule %s: nothing gives %s the values that it needs", m.rule.Name, m.rule.body[i].of.Value)
				return false
			}
		}
		return found()
	}
	m.done[next] = true
	ok := m.atom(m.rule.body[next], func() bool { return m.all(found) })
	m.done[next] = false
	return ok && m.err == nil
}

// ready tells how soon an atom is to be looked at: what is decided at once first, what has the
// most values next; -1 if it cannot be looked at.
func (m *match) ready(a atom) int {
	free := 0
	for _, arg := range a.args {
		if m.get(arg).IsZero() {
			free++
		}
	}
	switch {
	case free == 0:
		return 10
	case a.kind == builtinAtom && free == 1 && m.get(a.args[0]).IsZero() && builtins[a.builtin()].value != nil:
		return 9
	case a.kind == builtinAtom || a.kind == differentAtom || a.kind == rangeAtom || a.kind == sameAtom && free == 2:
		return -1
	case a.kind == propertyAtom:
		return 4 - 2*free
	}
	return 1
}

// atom goes on with each way in which an atom holds.
func (m *match) atom(a atom, goOn func() bool) bool {
	switch a.kind {
	case classAtom:
		i := m.get(a.args[0])
		if i.Kind == rdf.Literal {
			return true
		}
		for of := range firsts(m.g.IndividualOf(i, a.of)) {
			if of.Kind != rdf.Literal && !m.with(a.args[0], of, goOn) {
				return false
			}
			if !i.IsZero() {
				break
			}
		}
	case propertyAtom:
		s := m.get(a.args[0])
		if s.Kind == rdf.Literal {
			return true
		}
		for _, p := range m.pairs(a.of, s, m.get(a.args[1])) {
			if !m.with(a.args[0], p[0], func() bool { return m.with(a.args[1], p[1], goOn) }) {
				return false
			}
		}
	case sameAtom, differentAtom:
		return m.equality(a, goOn)
	case rangeAtom:
		if l := m.get(a.args[0]); l.Kind == rdf.Literal && (l.Type == a.of.Value || l.Type == "" && a.of.Value == rdf.NSXSD+"string") {
			return goOn()
		}
	case builtinAtom:
		return m.builtin(a, goOn)
	}
	return true
}

// pairs returns what a property connects; a zero term is any. A literal stands for all that may have its value.
func (m *match) pairs(property, s, o rdf.Term) (pairs []pair) { // first all: what goes on may change the graph
	value := rdf.ValueOf(o).Bucket()
	byValue := s.IsZero() && o.Kind == rdf.Literal
	if byValue && m.valued[property] != nil {
		return m.valued[property][value]
	}
	c := m.g.Cursor()
	object := c.ID(o)
	if o.Kind == rdf.Literal {
		object = 0
	}
	c.Relation(c.ID(property), knowledge.AsOWL).Each(c.ID(s), object, func(s, o knowledge.ID) bool {
		pairs = append(pairs, pair{c.Term(s), c.Term(o)})
		return true
	})
	if !byValue {
		return pairs
	}
	of := map[any][]pair{}
	for _, p := range pairs {
		if p[1].Kind == rdf.Literal {
			key := rdf.ValueOf(p[1]).Bucket()
			of[key] = append(of[key], p)
		}
	}
	if m.valued == nil {
		m.valued = map[rdf.Term]map[any][]pair{}
	}
	m.valued[property] = of
	return of[value]
}

// equality looks at owl:sameAs, from both sides and over several steps.
func (m *match) equality(a atom, goOn func() bool) bool {
	left, right := a.args[0], a.args[1]
	if m.get(left).IsZero() {
		left, right = right, left
	}
	start := m.get(left)
	same := rdf.NewIRI(rdf.NSOWL + "sameAs")
	found := []rdf.Term{start}
	known := map[rdf.Term]bool{start: true}
	for i := 0; i < len(found) && found[i].Kind != rdf.Literal; i++ {
		for _, around := range []iter.Seq[rdf.Triple]{m.g.Has(found[i], same, rdf.Term{}), m.g.Has(rdf.Term{}, same, found[i])} {
			for t := range around {
				for _, x := range [2]rdf.Term{t.S, t.O} {
					if !known[x] {
						known[x] = true
						found = append(found, x)
					}
				}
			}
		}
	}
	if a.kind == differentAtom {
		return known[m.get(right)] || goOn()
	}
	for _, x := range found {
		if !m.with(right, x, goOn) {
			return false
		}
	}
	return true
}

// conclusion returns the triple that an atom of the head is.
func (m *match) conclusion(a atom) (t rdf.Triple, ok bool) {
	t.S = m.get(a.args[0])
	switch a.kind {
	case classAtom:
		t.P, t.O = rdf.NewIRI(rdf.NS+"type"), a.of
	case propertyAtom:
		t.P, t.O = a.of, m.get(a.args[1])
	case sameAtom:
		t.P, t.O = rdf.NewIRI(rdf.NSOWL+"sameAs"), m.get(a.args[1])
	case differentAtom:
		t.P, t.O = rdf.NewIRI(rdf.NSOWL+"differentFrom"), m.get(a.args[1])
	}
	return t, t.S.Kind != rdf.Literal && t.P.Kind == rdf.IRI
}

func firsts(pairs iter.Seq2[rdf.Term, rdf.Term]) iter.Seq[rdf.Term] {
	return func(yield func(rdf.Term) bool) {
		for a := range pairs {
			if !yield(a) {
				return
			}
		}
	}
}
