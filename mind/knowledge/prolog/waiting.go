package prolog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// firstAge is the age of the first variable. Variables that goals wait for lack this bit: they count as older than all others, so that
// others are bound to them, and their own binding is not missed ([heap.bind]).
const firstAge = 1 << 47

// waitingBytes is what a goal that waits takes, beside itself.
const waitingBytes = 160

// suspension is a goal that waits for a variable, and those that waited before.
type suspension struct {
	goal   *Compound
	before *suspension
}

// wakening is a variable that goals wait for, and its place in the trail.
type wakening struct {
	v  *Var
	at int
}

// wakes has the goals that wait for a variable be carried out next. The variable is to come into the trail.
func (h *heap) wakes(v *Var) {
	if h.waiting[v] != nil {
		h.woken = append(h.woken, wakening{v, len(h.trail)})
	}
}

// suspend has a goal wait until a variable has a value, or is another variable.
func suspend(h *heap, v *Var, goal *Compound) error {
	if err := h.charge(waitingBytes); err != nil {
		return err
	}
	before := h.waiting[v]
	switch {
	case v.age()|firstAge < h.young:
		if err := h.assigned(nil, func(Term) { setWaiting(h, v, before) }); err != nil {
			return err
		}
	case h.young > firstAge: // the variable is gone on the way back, and so is what waits for it
		h.passing = append(h.passing, wakening{v, len(h.trail)})
		h.trail = append(h.trail, v)
	}
	setWaiting(h, v, &suspension{goal, before})
	return nil
}

// forget takes away the goals that wait for variables that were made since a place in the trail.
func (h *heap) forget(to int) {
	for n := len(h.passing); n > 0 && h.passing[n-1].at >= to; n-- {
		setWaiting(h, h.passing[n-1].v, nil)
		h.passing = h.passing[:n-1]
	}
}

func setWaiting(h *heap, v *Var, s *suspension) {
	if h.waiting == nil {
		h.waiting = map[*Var]*suspension{}
	}
	if s == nil {
		delete(h.waiting, v)
		v.ageHigh |= firstAge >> 32
		return
	}
	h.waiting[v] = s
	v.ageHigh &^= firstAge >> 32
}

// ofVariable returns the goals that wait for a variable, the first one first.
func ofVariable(h *heap, v *Var) (goals []*Compound) {
	for s := h.waiting[v]; s != nil; s = s.before {
		goals = append(goals, s.goal)
	}
	slices.Reverse(goals)
	return goals
}

// wake has goals carried out, before all else, that waited for what has a value now.
func wake(m *machine) error {
	var code []goal
	for _, w := range m.woken {
		for _, g := range ofVariable(m.heap, w.v) {
			code = append(code, goal{pred: m.program.waiting[g.name], direct: true, pos: m.goalPos, args: g.args})
		}
		if w.v.age()|firstAge >= m.young { // it will not be without a value again
			delete(m.waiting, w.v)
		}
	}
	m.woken = m.woken[:0]
	if err := m.charge(goalBytes*len(code) + 128); err != nil {
		return err
	}
	m.frame = frame{code: code, next: m.follow(), cut: len(m.choices), view: m.view}
	return nil
}

// freeze is freeze/2: a goal that waits until a variable has a value.
func freeze(m *machine, args []Term) (bool, error) {
	v, ok := deref(args[0]).(*Var)
	if !ok {
		return m.callGoal(args[1])
	}
	err := suspend(m.heap, v, newTerm("freeze", v, args[1]))
	return err == nil, err
}

// unifier returns what is to be equal for two terms to be so: variables, and what each is to be. ok is false if they cannot be equal.
func unifier(m *machine, a, b Term) (vars, values []Term, ok bool, err error) {
	trail := m.push(chooseNothing).trail // has all be trailed
	ok, err = m.unify(a, b)
	for _, v := range m.trail[trail:] {
		vars, values = append(vars, v), append(values, v.ref)
	}
	m.undo(trail)
	m.cutTo(len(m.choices) - 1)
	if err == nil {
		err = m.charge(32 * len(vars))
	}
	return vars, values, ok, err
}

// different is dif/2. As long as two terms may become equal it waits for one of the variables that would have to be.
func different(m *machine, args []Term) (bool, error) {
	vars, values, ok, err := unifier(m, args[0], args[1])
	if err != nil || !ok || len(vars) == 0 {
		return err == nil && !ok, err
	}
	g := newTerm("dif", args[0], args[1])
	if err := suspend(m.heap, vars[0].(*Var), g); err != nil {
		return false, err
	}
	if v, ok := values[0].(*Var); ok {
		err = suspend(m.heap, v, g)
	}
	return err == nil, err
}

// shown returns a goal that waits as it is told; nil if nothing of it is left.
func shown(m *machine, g *Compound) (Term, error) {
	switch g.name {
	case "dif":
		vars, values, ok, err := unifier(m, g.args[0], g.args[1])
		switch {
		case err != nil || !ok:
			return nil, err
		case len(vars) == 1:
			return newTerm("dif", vars[0], values[0]), nil
		}
		return newTerm("dif", newTerm("f", vars...), newTerm("f", values...)), nil
	case "$when":
		if !isFree(g.args[0]) {
			return nil, nil
		}
		return newTerm("when", g.args[1:]...), nil
	}
	return g, nil
}

// waitingFor returns the goals that wait for variables of a term, and for those of these goals, by the ages of the variables: those of
// one the first one first, or the last one.
func waitingFor(m *machine, t Term, lastFirst bool) (goals []Term, err error) {
	if len(m.waiting) == 0 {
		return nil, nil
	}
	var vars []Term
	known, told := map[*Var]bool{}, map[*Compound]bool{}
	if err := m.variables(t, known, &vars); err != nil {
		return nil, err
	}
	for i := 0; i < len(vars); i++ { // with those of the goals
		for _, g := range ofVariable(m.heap, vars[i].(*Var)) {
			is, err := shown(m, g)
			if err == nil && is != nil {
				err = m.variables(is, known, &vars)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(vars, func(a, b Term) int { return cmp.Compare(a.(*Var).age()|firstAge, b.(*Var).age()|firstAge) })
	for _, v := range vars {
		of := ofVariable(m.heap, v.(*Var))
		if lastFirst {
			slices.Reverse(of)
		}
		for _, g := range of {
			if told[g] {
				continue
			}
			told[g] = true
			is, err := shown(m, g)
			if err != nil {
				return nil, err
			}
			if is != nil {
				goals = append(goals, is)
			}
		}
	}
	return goals, m.charge(listBytes * len(goals))
}

// frozen is frozen/2: the conjunction of the goals that wait for variables of a term, the last one of each first.
func frozen(m *machine, args []Term) (bool, error) {
	goals, err := waitingFor(m, args[0], true)
	if err != nil {
		return false, err
	}
	var all Term = atomTrue
	for i := len(goals) - 1; i >= 0; i-- {
		if all == Term(atomTrue) {
			all = goals[i]
		} else {
			all = newTerm(atomComma, goals[i], all)
		}
	}
	return m.unify(args[1], all)
}

// copyWithGoals is copy_term/3: the copy's variables are waited for by no goals; these are a list.
func copyWithGoals(m *machine, args []Term) (bool, error) {
	goals, err := waitingFor(m, args[0], false)
	if err != nil {
		return false, err
	}
	t, err := copyPlain(m.heap, newTerm("", args[0], listOf(goals, atomNil)), map[*Var]Term{})
	if err != nil {
		return false, err
	}
	ok, err := m.unify(args[1], t.(*Compound).args[0])
	if !ok {
		return false, err
	}
	return m.unify(args[2], t.(*Compound).args[1])
}

// copyPlain copies a term; no goals wait for the copy's variables.
func copyPlain(h *heap, t Term, renamed map[*Var]Term) (Term, error) {
	waiting := h.waiting
	h.waiting = nil
	t, err := h.copyTerm(t, renamed, 0)
	h.waiting = waiting
	return t, err
}

// copyWaiting has copies of the goals that wait for a variable wait for its copy.
func copyWaiting(h *heap, v, fresh *Var, renamed map[*Var]Term, depth int) error {
	if depth > maxNesting {
		return errNesting
	}
	for _, g := range ofVariable(h, v) {
		c, err := h.copyTerm(g, renamed, depth+1)
		if err == nil {
			err = h.charge(waitingBytes)
		}
		if err != nil {
			return err
		}
		setWaiting(h, fresh, &suspension{c.(*Compound), h.waiting[fresh]}) // also behind the way back: a solution that is collected has it
	}
	return nil
}

// waits tells what of an answer rests on goals that wait, with the question's names of variables; "" if none does.
func waits(m *machine, vars []namedVar) (string, error) {
	if len(m.waiting) == 0 {
		return "", nil
	}
	var of []Term
	for _, v := range m.answered {
		of = append(of, v)
	}
	goals, err := waitingFor(m, listOf(of, atomNil), false)
	names := map[*Var]string{}
	for _, n := range vars {
		if v, ok := deref(n.v).(*Var); ok && names[v] == "" {
			names[v] = n.name
		}
	}
	var texts []string
	numbers := map[*Var]int{}
	for _, g := range goals {
		var text string
		if text, err = m.text(g, writer{quoted: true, vars: numbers, names: names}); err != nil {
			break
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", "), err
}

// tellWaiting notes the goals that wait in an answer.
func tellWaiting(m *machine, row int, goals string) {
	if m.note != nil && goals != "" {
		m.note(fmt.Sprintf("answer %d holds if goals do that wait for values: %s", row, goals))
	}
}

// waitingPredicates are those with goals that wait.
func waitingPredicates() map[string]map[int]builtin {
	return map[string]map[int]builtin{
		"freeze": {2: freeze}, "dif": {2: different}, "frozen": {2: frozen},
		"$suspend": {2: func(m *machine, args []Term) (bool, error) {
			vars, err := m.listArg(args[0])
			for _, v := range vars {
				if err == nil {
					err = suspend(m.heap, deref(v).(*Var), deref(args[1]).(*Compound))
				}
			}
			return err == nil, err
		}},
		// $unequal(A, B, Vars): variables that would have to be something for two terms to be equal; none if it is known whether they are.
		"$unequal": {3: func(m *machine, args []Term) (bool, error) {
			vars, values, ok, err := unifier(m, args[0], args[1])
			if err != nil {
				return false, err
			}
			if !ok {
				vars, values = nil, nil
			}
			for _, value := range values {
				if _, free := value.(*Var); free {
					vars = append(vars, value)
				}
			}
			return m.unify(args[2], listOf(vars, atomNil))
		}},
	}
}
