package prolog

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// assignment is a change of a term or a global variable that is undone on the way back.
type assignment struct {
	at      int  // the place of its mark in the trail
	old     Term // what was there before; nil for nothing
	restore func(old Term)
}

// assigned remembers how to undo a change.
func (h *heap) assigned(old Term, restore func(old Term)) error {
	if h.young == firstAge { // there is no way back
		return nil
	}
	if err := h.charge(128); err != nil {
		return err
	}
	h.assignments = append(h.assignments, assignment{at: len(h.trail), old: old, restore: restore})
	h.trail = append(h.trail, &Var{}) // its mark
	return nil
}

// unassign undoes the changes since the trail was so long.
func unassign(h *heap, to int) {
	for n := len(h.assignments); n > 0 && h.assignments[n-1].at >= to; n-- {
		a := h.assignments[n-1]
		a.restore(a.old)
		h.assignments[n-1] = assignment{}
		h.assignments = h.assignments[:n-1]
	}
}

// duplicate copies a term of the program, so that the copy may be changed. The copy is counted before the next goal is carried out.
func duplicate(h *heap, t Term) Term {
	c, ok := t.(*Compound)
	if !ok || !c.shared {
		return t
	}
	top := &Compound{}
	for at := top; ; {
		h.allocated += 64 + 16*int64(len(c.args))
		h.pending += 64 + 16*int64(len(c.args))
		h.nextCheck = 0
		*at = Compound{name: c.name, args: make([]Term, len(c.args)), pos: c.pos}
		last := len(c.args) - 1
		for i, arg := range c.args[:last] {
			at.args[i] = duplicate(h, arg)
		}
		next, ok := c.args[last].(*Compound)
		if !ok || !next.shared {
			at.args[last] = c.args[last]
			return top
		}
		below := &Compound{}
		at.args[last], at, c = below, below, next
	}
}

// setArg is setarg/3, which is undone on the way back, and nb_setarg/3, which is not and sets a copy.
func setArg(undone bool) builtin {
	return func(m *machine, args []Term) (bool, error) {
		i, err := integerArg(args[0])
		if err != nil {
			return false, err
		}
		c, ok := deref(args[1]).(*Compound)
		switch {
		case !ok && isFree(args[1]):
			return false, instantiationError()
		case i < 0:
			return false, domainError("not_less_than_zero", i)
		case !ok || i < 1 || int(i) > len(c.args):
			return false, nil
		}
		if c.shared {
			return false, thrown(newTerm("permission_error", Atom("modify"), Atom("term"), c), "the term %s belongs to the question; duplicate_term/2 makes one that may be changed", show(c))
		}
		value := deref(args[2])
		if !undone {
			if value, err = m.copyTerm(value, map[*Var]Term{}, 0); err != nil {
				return false, err
			}
		} else if err := m.assigned(c.args[i-1], func(old Term) { c.args[i-1] = old }); err != nil {
			return false, err
		}
		c.args[i-1], c.ground = value, false
		return true, nil
	}
}

// duplicateTerm is duplicate_term/2: a copy that has nothing in common with the term.
func duplicateTerm(m *machine, args []Term) (bool, error) {
	t, err := m.copyTerm(args[0], map[*Var]Term{}, 0)
	if err != nil {
		return false, err
	}
	return m.unify(args[1], duplicate(m.heap, t))
}

// setBacktrackable is b_setval/2.
func setBacktrackable(m *machine, args []Term) (bool, error) {
	key, ok := deref(args[0]).(Atom)
	if !ok {
		return false, wanted("atom", deref(args[0]))
	}
	if err := m.charge(len(key) + 64); err != nil {
		return false, err
	}
	if m.globals == nil {
		m.globals = map[Atom]Term{}
	}
	err := m.assigned(m.globals[key], func(old Term) {
		if m.globals[key] = old; old == nil {
			delete(m.globals, key)
		}
	})
	if err == nil {
		m.globals[key] = deref(args[1])
	}
	return err == nil, err
}

// currentOp is current_op/3.
func currentOp(m *machine, args []Term) (bool, error) {
	var found []Term
	for _, name := range slices.Sorted(maps.Keys(m.program.operators)) {
		o := m.program.operators[name]
		for _, is := range []op{o.prefix, o.infix} {
			if is.prec > 0 {
				found = append(found, newTerm("op", Int(is.prec), Atom(is.kind), Atom(name)))
			}
		}
	}
	return m.anyOf(newTerm("op", args...), found)
}

// randomBetween is random_between/3.
func randomBetween(m *machine, args []Term) (bool, error) {
	low, err := integerArg(args[0])
	if err != nil {
		return false, err
	}
	high, err := integerArg(args[1])
	if err != nil || low > high {
		return false, err
	}
	n := uint64(high) - uint64(low) + 1
	by := rand.Uint64()
	if n > 0 {
		by = rand.Uint64N(n)
	}
	return m.unify(args[2], Int(uint64(low)+by))
}

// assignPredicates change terms and variables of the question, or depend on chance.
func assignPredicates() map[string]map[int]builtin {
	return map[string]map[int]builtin{
		"setarg": {3: setArg(true)}, "nb_setarg": {3: setArg(false)}, "duplicate_term": {2: duplicateTerm},
		"b_setval": {2: setBacktrackable}, "b_getval": {2: getGlobal},
		"$reset_gensym": {0: func(m *machine, _ []Term) (bool, error) {
			maps.DeleteFunc(m.globals, func(key Atom, _ Term) bool { return strings.HasPrefix(string(key), "$gensym_") })
			return true, nil
		}},
		"current_op": {3: currentOp}, "random_between": {3: randomBetween},
		"format_time": {3: formatTime}, "$dcg": {4: grammarBody}, "dcg_translate_rule": {2: grammarRule},
		"random": {1: func(m *machine, args []Term) (bool, error) { return m.unify(args[0], Float(rand.Float64())) }},
	}
}
