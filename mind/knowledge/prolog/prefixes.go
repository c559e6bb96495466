package prolog

import (
	"maps"
	"slices"
	"strings"
)

// expandKnown returns a term with those name:local in it expanded that have no variables and
// whose prefix is known. It is what expandArgs does later with the others.
func (p *Program) expandKnown(t Term) (Term, error) { return p.expandTerm(t, false, nil, 0) }

// expandKnown is that of a term that the question has made.
func (m *machine) expandKnown(t Term) (Term, error) { return m.program.expandTerm(t, false, m.heap, 0) }

// expandArgs dereferences arguments, and expands name:local in them.
func (m *machine) expandArgs(args []Term) ([]Term, error) {
	out := args
	for i, arg := range args {
		t := deref(arg)
		if c, ok := t.(*Compound); ok && needsExpansion(c) {
			var err error
			if t, err = m.program.expandTerm(c, true, m.heap, 0); err != nil {
				return nil, err
			}
		}
		if t == arg {
			continue
		}
		if &out[0] == &args[0] {
			out = slices.Clone(args)
		}
		out[i] = t
	}
	return out, nil
}

// needsExpansion says quickly of what has no prefix in it, such as literal(X), that it has none.
func needsExpansion(c *Compound) bool {
	if c.name == "literal" && len(c.args) == 1 {
		switch inner := deref(c.args[0]).(type) {
		case *Compound:
			if inner.name == "type" && len(inner.args) == 2 {
				_, ok := deref(inner.args[0]).(*Compound)
				return ok
			}
			return inner.name != "lang"
		}
		return false
	}
	return true
}

// expandTerm expands prefixes anywhere in a term, for which h pays, unless it is nil. strict makes an error of
// what cannot be expanded, instead of leaving it.
func (p *Program) expandTerm(t Term, strict bool, h *heap, depth int) (Term, error) {
	if strict {
		t = deref(t)
	}
	c, ok := t.(*Compound)
	if !ok || depth > 100 {
		return t, nil
	}
	if h != nil { // the same part may be met many times
		if err := h.spend(1); err != nil {
			return nil, err
		}
	}
	if c.name == ":" && len(c.args) == 2 {
		name, ok1 := deref(c.args[0]).(Atom)
		local, ok2 := deref(c.args[1]).(Atom)
		if ok1 && ok2 {
			if iri, known := p.prefixes.IRI(string(name)); known {
				return Atom(iri + string(local)), nil
			}
		}
		switch {
		case !strict:
			return t, nil
		case !ok1:
			return nil, wanted("atom", deref(c.args[0]))
		case !ok2:
			if _, free := deref(c.args[1]).(*Var); free {
				return nil, thrown(Atom("instantiation_error"), "behind %s: stands a variable without a value; a name that begins with a capital stands in quotes, as in %s:'Cup'", name, name)
			}
			return nil, wanted("atom", deref(c.args[1]))
		}
		return nil, p.unknownPrefix(name)
	}
	var out *Compound
	for i, arg := range c.args {
		if c.name == "literal" && i == len(c.args)-1 {
			if value, ok := deref(arg).(*Compound); !ok || value.name != "type" {
				continue // a text with a colon is no name
			}
		}
		expanded, err := p.expandTerm(arg, strict, h, depth+1)
		if err != nil {
			return nil, err
		}
		if expanded == arg || strict && expanded == deref(arg) {
			continue
		}
		if out == nil {
			if h != nil {
				if err := h.charge(64 + 16*len(c.args)); err != nil {
					return nil, err
				}
			}
			out = &Compound{name: c.name, args: slices.Clone(c.args), pos: c.pos, shared: c.shared, ground: c.ground}
		}
		out.args[i] = expanded
	}
	if out == nil {
		return t, nil
	}
	return out, nil
}

func (p *Program) unknownPrefix(name Atom) error {
	return thrown(newTerm("existence_error", Atom("namespace"), name), "%s", p.prefixes.Unknown(string(name)))
}

func globalID(m *machine, args []Term) (bool, error) {
	switch id := deref(args[0]).(type) {
	case *Var:
		iri, ok := deref(args[1]).(Atom)
		if !ok {
			return false, wanted("atom", deref(args[1]))
		}
		name, local := m.program.prefixes.Shorten(string(iri))
		if name == "" {
			return false, nil
		}
		return m.unify(id, newTerm(":", Atom(name), Atom(local)))
	case *Compound:
		if id.name != ":" || len(id.args) != 2 {
			return false, typeError("name", id)
		}
		if iri, ok := deref(args[1]).(Atom); ok && (isFree(id.args[0]) || isFree(id.args[1])) {
			name, local := m.program.prefixes.Shorten(string(iri))
			if given, ok := deref(id.args[0]).(Atom); ok {
				begin, _ := m.program.prefixes.IRI(string(given))
				if begin == "" || !strings.HasPrefix(string(iri), begin) {
					return false, nil
				}
				name, local = string(given), string(iri)[len(begin):]
			}
			if name == "" {
				return false, nil
			}
			return m.unify(id, newTerm(":", Atom(name), Atom(local)))
		}
		iri, err := m.program.expandTerm(id, true, m.heap, 0)
		if err != nil {
			return false, err
		}
		return m.unify(args[1], iri)
	default:
		return m.unify(id, args[1])
	}
}

func currentPrefix(m *machine, args []Term) (bool, error) {
	var known []Term
	all := m.program.prefixes.All()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		known = append(known, newTerm("-", Atom(name), Atom(all[name])))
	}
	return m.anyOf(newTerm("-", args[0], args[1]), known)
}

// Shorten returns an IRI as name:local if a prefix has it, quoted where Prolog needs it, and any
// other text as it is.
func (p *Program) Shorten(iri string) string {
	name, local := p.prefixes.Shorten(iri)
	if name == "" || local == "" {
		return iri
	}
	return quoteAtom(name) + ":" + quoteAtom(local)
}
