package prolog

// grammar translates grammar rules, as SWI-Prolog's dcg_translate_rule/2 does.
type grammar struct {
	newVar func() *Var
	pay    func(bytes int) error // nil: nobody has to
}

// rule returns the clause of Head --> Body.
func (g *grammar) rule(head, body Term) (Term, error) {
	s0, s := Term(g.newVar()), Term(g.newVar())
	end := s
	var pushed Term
	if c, ok := isFunctor(deref(head), atomComma, 2); ok { // Head, Pushback
		head, pushed = c.args[0], c.args[1]
		end = g.newVar()
	}
	translated, err := g.body(body, s0, end, 0)
	if err == nil && pushed != nil {
		var back Term
		if back, err = g.body(pushed, s, end, 0); err == nil {
			translated = newTerm(",", translated, back)
		}
	}
	if err != nil {
		return nil, err
	}
	extended, err := g.nonterminal(head, s0, s)
	return newTerm(":-", extended, translated), err
}

// nonterminal returns a call with the lists before and after it.
func (g *grammar) nonterminal(t, s0, s Term) (Term, error) {
	switch t := deref(t).(type) {
	case Atom:
		return newTerm(t, s0, s), nil
	case *Compound:
		if t.name == ":" && len(t.args) == 2 {
			return g.nonterminal(t.args[1], s0, s)
		}
		return &Compound{name: t.name, args: append(append([]Term{}, t.args...), s0, s), pos: t.pos}, nil
	default:
		return nil, wanted("callable", t)
	}
}

// body returns the goal of a body of a grammar rule.
func (g *grammar) body(t, s0, s Term, depth int) (Term, error) {
	if depth > maxDepth {
		return nil, errNesting
	}
	if g.pay != nil {
		if err := g.pay(200); err != nil {
			return nil, err
		}
	}
	both := func(name Atom, a, b, end, from Term) (Term, error) { // a ends at end, b begins at from
		left, err := g.body(a, s0, end, depth+1)
		if err != nil {
			return nil, err
		}
		right, err := g.body(b, from, s, depth+1)
		return newTerm(name, left, right), err
	}
	same := func(goal Term) Term { return newTerm(",", goal, newTerm("=", s0, s)) }
	switch t := deref(t).(type) {
	case *Var:
		return newTerm("phrase", t, s0, s), nil
	case String:
		list := Term(s)
		runes := []rune(string(t))
		if g.pay != nil {
			if err := g.pay(listBytes * len(runes)); err != nil {
				return nil, err
			}
		}
		for i := len(runes) - 1; i >= 0; i-- {
			list = newTerm(atomDot, Int(runes[i]), list)
		}
		return newTerm("=", s0, list), nil
	case Atom:
		switch t {
		case atomNil:
			return newTerm("=", s0, s), nil
		case "!":
			return same(t), nil
		}
	case *Compound:
		switch (indicator{t.name, len(t.args)}) {
		case indicator{",", 2}, indicator{"->", 2}, indicator{"*->", 2}:
			middle := g.newVar()
			return both(t.name, t.args[0], t.args[1], middle, middle)
		case indicator{";", 2}, indicator{"|", 2}:
			return both(";", t.args[0], t.args[1], s, s0)
		case indicator{`\+`, 1}:
			inner, err := g.body(t.args[0], s0, g.newVar(), depth+1)
			return same(newTerm(`\+`, inner)), err
		case indicator{atomCurly, 1}:
			return same(t.args[0]), nil
		case indicator{atomDot, 2}:
			return g.terminals(t, s0, s)
		}
		if t.name == "call" {
			return g.nonterminal(t, s0, s)
		}
	}
	return g.nonterminal(t, s0, s)
}

// terminals returns the goal that a list begins with another.
func (g *grammar) terminals(whole, s0, s Term) (Term, error) {
	var elements []Term
	list := whole
	for {
		c, ok := isFunctor(deref(list), atomDot, 2)
		if !ok {
			break
		}
		if g.pay != nil {
			if err := g.pay(listBytes); err != nil {
				return nil, err
			}
		}
		elements = append(elements, c.args[0])
		list = c.args[1]
	}
	switch end := deref(list).(type) {
	case *Var:
		return newTerm("$append", whole, s, s0), nil
	case Atom:
		if end == atomNil {
			return newTerm("=", s0, listOf(elements, s)), nil
		}
	}
	return nil, typeError("list", whole)
}

// grammarBody is $dcg(Body, S0, S, Goal).
func grammarBody(m *machine, args []Term) (bool, error) {
	g := grammar{newVar: m.newVar, pay: m.charge}
	goal, err := g.body(args[0], args[1], args[2], 0)
	if err != nil {
		return false, err
	}
	return m.unify(args[3], goal)
}

// grammarRule is dcg_translate_rule/2.
func grammarRule(m *machine, args []Term) (bool, error) {
	c, ok := isFunctor(deref(args[0]), "-->", 2)
	if !ok {
		return false, typeError("dcg_rule", deref(args[0]))
	}
	g := grammar{newVar: m.newVar, pay: m.charge}
	rule, err := g.rule(c.args[0], c.args[1])
	if err != nil {
		return false, err
	}
	return m.unify(args[1], rule)
}
