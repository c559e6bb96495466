package prolog

import (
	"slices"
)

// termPredicates are those over terms and lists of terms.
func termPredicates() map[string]map[int]builtin {
	is := func(f func(Term) bool) map[int]builtin { return test(f) }
	return map[string]map[int]builtin{
		"=": {2: func(m *machine, args []Term) (bool, error) { return m.unify(args[0], args[1]) }},
		"\\=": {2: func(m *machine, args []Term) (bool, error) {
			if len(m.waiting) > 0 { // goals that wait may have it fail
				return m.callGoal(newTerm(`\+`, newTerm("=", args...)))
			}
			ok, err := m.unifiable(args[0], args[1])
			return !ok && err == nil, err
		}},
		"unify_with_occurs_check": {2: func(m *machine, args []Term) (bool, error) {
			ok, err := m.unify(args[0], args[1])
			if !ok {
				return false, err
			}
			if ok, err := m.acyclic(args[0]); !ok {
				return false, err
			}
			return m.acyclic(args[1])
		}},
		"?=": {2: func(m *machine, args []Term) (bool, error) {
			c, err := m.compare(args[0], args[1], 0)
			if err != nil || c == 0 {
				return err == nil, err
			}
			ok, err := m.unifiable(args[0], args[1])
			return !ok && err == nil, err
		}},
		"==":   compared(func(c int) bool { return c == 0 }),
		"\\==": compared(func(c int) bool { return c != 0 }),
		"@<":   compared(func(c int) bool { return c < 0 }),
		"@>":   compared(func(c int) bool { return c > 0 }),
		"@=<":  compared(func(c int) bool { return c <= 0 }),
		"@>=":  compared(func(c int) bool { return c >= 0 }),
		"compare": {3: func(m *machine, args []Term) (bool, error) {
			c, err := m.compare(args[1], args[2], 0)
			if err != nil {
				return false, err
			}
			return m.unify(args[0], []Atom{"<", "=", ">"}[c+1])
		}},
		"var":      is(func(t Term) bool { _, ok := t.(*Var); return ok }),
		"nonvar":   is(func(t Term) bool { _, ok := t.(*Var); return !ok }),
		"atom":     is(func(t Term) bool { _, ok := t.(Atom); return ok }),
		"string":   is(func(t Term) bool { _, ok := t.(String); return ok }),
		"integer":  is(isInteger),
		"float":    is(func(t Term) bool { _, ok := t.(Float); return ok }),
		"number":   is(isNumber),
		"atomic":   is(isAtomic),
		"compound": is(func(t Term) bool { _, ok := t.(*Compound); return ok }),
		"callable": is(func(t Term) bool {
			switch t.(type) {
			case Atom, *Compound:
				return true
			}
			return false
		}),
		"acyclic_term": {1: func(m *machine, args []Term) (bool, error) { return m.acyclic(args[0]) }},
		"is_list": {1: func(m *machine, args []Term) (bool, error) {
			_, _, ok, err := m.listTerms(args[0])
			return ok, err
		}},
		"ground": {1: func(m *machine, args []Term) (bool, error) {
			var err error
			ground := true
			m.walk(args[0], &err, func(*Var) { ground = false })
			return ground && err == nil, err
		}},
		"functor": {3: functor},
		"arg":     {3: argument},
		"=..":     {2: univ},
		"copy_term": {2: func(m *machine, args []Term) (bool, error) {
			t, err := m.copyTerm(args[0], map[*Var]Term{}, 0)
			if err != nil {
				return false, err
			}
			return m.unify(args[1], t)
		}, 3: copyWithGoals},
		"term_variables": {2: func(m *machine, args []Term) (bool, error) {
			var vars []Term
			if err := m.variables(args[0], map[*Var]bool{}, &vars); err != nil {
				return false, err
			}
			if err := m.charge(listBytes * len(vars)); err != nil {
				return false, err
			}
			return m.unify(args[1], listOf(vars, atomNil))
		}},
		"length":  {2: length},
		"numlist": {3: numlist},
		"sort": {
			2: func(m *machine, args []Term) (bool, error) { return m.sortList(args[0], args[1], nil, 1, true) },
			4: sort4,
		},
		"msort": {2: func(m *machine, args []Term) (bool, error) { return m.sortList(args[0], args[1], nil, 1, false) }},
		"keysort": {2: func(m *machine, args []Term) (bool, error) {
			pairs, err := m.listArg(args[0])
			for _, p := range pairs {
				if _, ok := isFunctor(deref(p), "-", 2); !ok {
					return false, wanted("pair", deref(p))
				}
			}
			if err != nil {
				return false, err
			}
			return m.sortList(args[0], args[1], Int(1), 1, false)
		}},
	}
}

// unifiable tells whether two terms can be made equal, and leaves them as they are.
func (m *machine) unifiable(a, b Term) (bool, error) { return m.tryUnify(a, b, false) }

// tryUnify unifies two terms. It leaves them as they were if that fails, or if they are not kept so.
func (m *machine) tryUnify(a, b Term, keep bool) (bool, error) {
	trail := m.push(chooseNothing).trail // has all be trailed
	ok, err := m.unify(a, b)
	if !ok || !keep {
		m.undo(trail)
	}
	m.cutTo(len(m.choices) - 1)
	return ok, err
}

// acyclic tells whether a term does not contain itself.
func (h *heap) acyclic(t Term) (bool, error) {
	type step struct {
		c    *Compound
		next int
	}
	on, done := map[*Compound]bool{}, map[*Compound]bool{}
	var path []step
	enter := func(t Term) bool {
		c, ok := deref(t).(*Compound)
		if !ok || c.ground || done[c] {
			return true
		}
		if on[c] {
			return false
		}
		on[c] = true
		path = append(path, step{c: c})
		return true
	}
	if !enter(t) {
		return false, nil
	}
	for len(path) > 0 {
		if err := h.charge(64); err != nil {
			return false, err
		}
		top := &path[len(path)-1]
		if top.next == len(top.c.args) {
			delete(on, top.c)
			done[top.c] = true
			path = path[:len(path)-1]
			continue
		}
		top.next++
		if !enter(top.c.args[top.next-1]) {
			return false, nil
		}
	}
	return true, nil
}

// maxArity is how many arguments a term may be given.
const maxArity = 1 << 20

func functor(m *machine, args []Term) (bool, error) {
	switch t := deref(args[0]).(type) {
	case *Var:
		n, err := integerArg(args[2])
		if err != nil {
			return false, err
		}
		name := deref(args[1])
		if n == 0 {
			if !isAtomic(name) {
				return false, wanted("atomic", name)
			}
			return m.unify(t, name)
		}
		a, ok := name.(Atom)
		switch {
		case !ok:
			return false, wanted("atom", name)
		case n < 0 || n > maxArity:
			return false, domainError("arity", n)
		}
		if err := m.charge(int(n) * 48); err != nil {
			return false, err
		}
		c := &Compound{name: a, args: make([]Term, n)}
		for i := range c.args {
			c.args[i] = m.newVar()
		}
		return m.unify(t, c)
	case *Compound:
		if ok, err := m.unify(args[1], t.name); !ok {
			return false, err
		}
		return m.unify(args[2], Int(len(t.args)))
	default:
		if ok, err := m.unify(args[1], t); !ok {
			return false, err
		}
		return m.unify(args[2], Int(0))
	}
}

func argument(m *machine, args []Term) (bool, error) {
	c, ok := deref(args[1]).(*Compound)
	if !ok {
		return false, wanted("compound", deref(args[1]))
	}
	switch n := deref(args[0]).(type) {
	case Int:
		if n < 1 || int(n) > len(c.args) {
			return false, nil
		}
		return m.unify(args[2], c.args[n-1])
	case *Var:
		i := 0
		return m.choose(alternatives{next: func() (bool, bool, error) {
			i++
			m.bind(n, Int(i))
			ok, err := m.unify(args[2], c.args[i-1])
			return ok, i < len(c.args), err
		}})
	default:
		return false, typeError("integer", n)
	}
}

func univ(m *machine, args []Term) (bool, error) {
	switch t := deref(args[0]).(type) {
	case *Compound:
		if err := m.charge(listBytes * len(t.args)); err != nil {
			return false, err
		}
		return m.unify(args[1], cons(t.name, listOf(t.args, atomNil)))
	case *Var:
		parts, err := m.listArg(args[1])
		if err != nil {
			return false, err
		}
		if len(parts) == 0 {
			return false, domainError("non_empty_list", atomNil)
		}
		name := deref(parts[0])
		if len(parts) == 1 {
			if !isAtomic(name) {
				return false, wanted("atomic", name)
			}
			return m.unify(t, name)
		}
		a, ok := name.(Atom)
		if !ok {
			return false, wanted("atom", name)
		}
		if err := m.charge(64 + 16*len(parts)); err != nil {
			return false, err
		}
		return m.unify(t, &Compound{name: a, args: slices.Clone(parts[1:])})
	default:
		return m.unify(args[1], cons(t, atomNil))
	}
}

func length(m *machine, args []Term) (bool, error) {
	n, t := Int(0), deref(args[0])
	for {
		c, ok := isFunctor(t, atomDot, 2)
		if !ok {
			break
		}
		if err := m.spend(1); err != nil {
			return false, err
		}
		n++
		t = deref(c.args[1])
	}
	tail, ok := t.(*Var)
	if !ok {
		if t != Term(atomNil) {
			return false, typeError("list", deref(args[0]))
		}
		if want := deref(args[1]); !isFree(want) && !isInteger(want) {
			return false, typeError("integer", want)
		}
		return m.unify(args[1], n)
	}
	fill := func(more Int) error {
		if err := m.charge(int(min(more, 1<<40)) * 120); err != nil {
			return err
		}
		var list Term = atomNil
		for range more {
			list = cons(m.newVar(), list)
		}
		m.bind(tail, list)
		return nil
	}
	switch want := deref(args[1]).(type) {
	case Int:
		if want < n {
			return false, nil
		}
		return true, fill(want - n)
	case *Var:
		if want == tail {
			return false, nil
		}
		more := Int(-1)
		return m.choose(alternatives{next: func() (bool, bool, error) {
			more++
			m.bind(want, n+more)
			return true, true, fill(more)
		}})
	default:
		return false, typeError("integer", want)
	}
}

// numlist is numlist/3: the integers from one to another.
func numlist(m *machine, args []Term) (bool, error) {
	low, err := integerArg(args[0])
	if err != nil {
		return false, err
	}
	high, err := integerArg(args[1])
	if err != nil || low > high {
		return false, err
	}
	// As numbers without a sign, whose difference fits.
	if err := m.charge(int(min(uint64(high)-uint64(low), 1<<40)+1) * (listBytes + 8)); err != nil {
		return false, err
	}
	var list Term = atomNil
	for i := high; ; i-- {
		if list = cons(i, list); i == low {
			return m.unify(args[2], list)
		}
	}
}

// sortList unifies out with a list sorted by the key-th arguments of its elements, or by
// these themselves.
func (m *machine) sortList(list, out, key Term, sign int, distinct bool) (bool, error) {
	terms, err := m.listArg(list)
	if err != nil {
		return false, err
	}
	by := func(t Term) Term { return t }
	if k, ok := key.(Int); ok && k > 0 {
		for _, t := range terms {
			c, ok := deref(t).(*Compound)
			if !ok || len(c.args) < int(k) {
				return false, wanted("compound", deref(t))
			}
		}
		by = func(t Term) Term { return deref(t).(*Compound).args[k-1] }
	}
	if terms, err = m.sortedBy(terms, by, sign, distinct); err != nil {
		return false, err
	}
	if err := m.charge(listBytes * len(terms)); err != nil {
		return false, err
	}
	return m.unify(out, listOf(terms, atomNil))
}

func sort4(m *machine, args []Term) (bool, error) {
	key, err := integerArg(args[0])
	if err != nil {
		return false, err
	}
	if key < 0 {
		return false, typeError("not_less_than_zero", key)
	}
	order := deref(args[1])
	how, ok := map[Term]struct {
		sign     int
		distinct bool
	}{Atom("@<"): {1, true}, Atom("@=<"): {1, false}, Atom("@>"): {-1, true}, Atom("@>="): {-1, false}}[order]
	if !ok {
		if a, isAtom := order.(Atom); isAtom {
			return false, domainError("order", a)
		}
		return false, wanted("atom", order)
	}
	return m.sortList(args[2], args[3], key, how.sign, how.distinct)
}
