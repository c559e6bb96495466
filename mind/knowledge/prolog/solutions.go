package prolog

// callCleanup is call_cleanup/2: the cleanup is carried out once when the goal has no further
// solutions, throws, or is cut.
func callCleanup(m *machine, args []Term) (bool, error) {
	in := &catching{recovery: args[1]}
	f := m.follow()
	m.push(chooseCleanup).in = in
	m.frame = frame{next: &frame{code: codeExit, next: f, in: in}, view: m.view}
	return m.callGoal(args[0])
}

// counted calls a goal. use is called with the number of each solution, from 1 on; last takes the
// other solutions away.
func (m *machine) counted(goalTerm Term, use func(n Int, last func()) (bool, error)) (bool, error) {
	n, cut := Int(0), len(m.choices)
	count := &pred{library: true, do: func(m *machine, _ []Term) (bool, error) {
		n++
		return use(n, func() { m.cutTo(cut) })
	}}
	m.frame = frame{code: []goal{{pred: count, direct: true}}, next: m.follow(), cut: cut, view: m.view}
	return m.callGoal(goalTerm)
}

// limitGoal is limit/2: the first solutions of a goal.
func limitGoal(m *machine, args []Term) (bool, error) {
	most, err := integerArg(args[0])
	if err != nil || most <= 0 {
		return false, err
	}
	return m.counted(args[1], func(n Int, last func()) (bool, error) {
		if n == most {
			last()
		}
		return true, nil
	})
}

// offsetGoal is offset/2: the solutions of a goal but the first ones.
func offsetGoal(m *machine, args []Term) (bool, error) {
	skipped, err := integerArg(args[0])
	switch {
	case err != nil:
		return false, err
	case skipped < 0:
		return false, domainError("not_less_than_zero", skipped)
	}
	return m.counted(args[1], func(n Int, _ func()) (bool, error) { return n > skipped, nil })
}

// callNth is call_nth/2: one solution of a goal, or each with its number.
func callNth(m *machine, args []Term) (bool, error) {
	if isFree(args[1]) {
		return m.counted(args[0], func(n Int, _ func()) (bool, error) { return m.unify(args[1], n) })
	}
	wantedOne, err := integerArg(args[1])
	if err != nil || wantedOne <= 0 {
		return false, err
	}
	return m.counted(args[0], func(n Int, last func()) (bool, error) {
		if n == wantedOne {
			last()
		}
		return n == wantedOne, nil
	})
}

// findnsols is findnsols/4 and /5: as findall/4, so many solutions at a time.
func findnsols(m *machine, args []Term) (bool, error) {
	var tail Term = atomNil
	if len(args) == 5 {
		tail = args[4]
	}
	n, err := integerArg(args[0])
	switch {
	case err != nil:
		return false, err
	case n < 0:
		return false, domainError("not_less_than_zero", n)
	case n == 0:
		return m.unify(args[3], tail)
	}
	t, err := m.copyTerm(newTerm("-", args[1], args[2]), map[*Var]Term{}, 0)
	if err != nil {
		return false, err
	}
	template, goalTerm := t.(*Compound).args[0], t.(*Compound).args[1]
	give := func(results []Term) (bool, error) {
		if err := m.charge(80 * len(results)); err != nil {
			return false, err
		}
		return m.unify(args[3], listOf(results, tail))
	}
	into := &collector{template: template, finish: give}
	over := m.newVar() // true when the goal has no further solution
	each := &pred{library: true, do: func(m *machine, _ []Term) (bool, error) {
		found, err := m.copyTerm(template, map[*Var]Term{}, 0)
		if err != nil {
			return false, err
		}
		into.results = append(into.results, found)
		if err := m.charge(16); err != nil || len(into.results) < int(n) || !isFree(over) {
			return false, err
		}
		results := into.results
		into.results = nil
		return give(results)
	}}
	f := m.follow()
	m.push(chooseCollect).into = into
	m.frame = frame{code: []goal{{pred: each, direct: true}}, next: f, into: into, view: m.view}
	return m.callGoal(newTerm("call_cleanup", goalTerm, newTerm("=", over, atomTrue)))
}
