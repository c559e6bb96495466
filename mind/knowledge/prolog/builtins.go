package prolog

import (
	"maps"
	"math/big"
	"slices"
	"sort"
)

type builtin = func(m *machine, args []Term) (bool, error)

// builtins returns the predicates of the language that are Go functions.
func builtins() map[indicator]builtin {
	all := map[indicator]builtin{}
	for _, table := range []map[string]map[int]builtin{controlPredicates(), termPredicates(), textPredicates(), arithmeticPredicates(), typePredicates(), outputPredicates(), assignPredicates(), waitingPredicates()} {
		for name, arities := range table {
			for arity, do := range arities {
				all[indicator{Atom(name), arity}] = do
			}
		}
	}
	for arity := 1; arity <= 8; arity++ {
		all[indicator{"call", arity}] = callWith
		all[indicator{">>", arity + 1}] = lambda
	}
	return all
}

func test(f func(t Term) bool) map[int]builtin {
	return map[int]builtin{1: func(_ *machine, args []Term) (bool, error) { return f(deref(args[0])), nil }}
}

// compared is a predicate that holds if f does of how two terms compare.
func compared(f func(int) bool) map[int]builtin {
	return map[int]builtin{2: func(m *machine, args []Term) (bool, error) {
		c, err := m.compare(args[0], args[1], 0)
		return err == nil && f(c), err
	}}
}

// callWith is call/1..8: a goal with further arguments.
func callWith(m *machine, args []Term) (bool, error) {
	g, err := m.extended(args[0], args[1:])
	if err != nil {
		return false, err
	}
	return m.callGoal(g)
}

// lambda is Parameters>>Body or Free/Parameters>>Body with further arguments. Variables that are
// not in Free are new in each call.
func lambda(m *machine, args []Term) (bool, error) {
	params := deref(args[0])
	renamed := map[*Var]Term{}
	if c, ok := isFunctor(params, "/", 2); ok {
		params = c.args[1]
		var err error
		m.walk(c.args[0], &err, func(v *Var) { renamed[v] = v })
		if err != nil {
			return false, err
		}
	}
	t, err := copyPlain(m.heap, newTerm(">>", params, args[1]), renamed)
	if err != nil {
		return false, err
	}
	copied := t.(*Compound).args
	rest, extra := deref(copied[0]), args[2:]
	for len(extra) > 0 {
		c, ok := isFunctor(rest, atomDot, 2)
		if !ok {
			break
		}
		if ok, err := m.unify(c.args[0], extra[0]); !ok {
			return false, err
		}
		rest, extra = deref(c.args[1]), extra[1:]
	}
	g, err := m.extended(copied[1], extra)
	if err != nil {
		return false, err
	}
	return m.callGoal(g)
}

// extended returns a goal with arguments added to it.
func (m *machine) extended(g Term, extra []Term) (Term, error) {
	g = deref(g)
	if len(extra) == 0 {
		return g, nil
	}
	if err := m.charge(64 + 16*len(extra)); err != nil {
		return nil, err
	}
	switch g := g.(type) {
	case Atom:
		return &Compound{name: g, args: slices.Clone(extra)}, nil
	case *Compound:
		if g.name == ":" && len(g.args) == 2 { // a module
			return m.extended(g.args[1], extra)
		}
		if err := m.charge(16 * len(g.args)); err != nil {
			return nil, err
		}
		return &Compound{name: g.name, args: append(slices.Clip(g.args), extra...), pos: g.pos}, nil
	}
	return nil, wanted("callable", g)
}

func catchGoal(m *machine, args []Term) (bool, error) {
	return catchIn(m, args[1], args[2], func() (bool, error) { return m.callGoal(args[0]) })
}

// catchIn carries out what do begins, with a catcher of what is thrown.
func catchIn(m *machine, catcher, recovery Term, do func() (bool, error)) (bool, error) {
	in := &catching{catcher: catcher, recovery: recovery}
	f := m.follow()
	m.push(chooseCatch).in = in
	m.frame = frame{next: &frame{code: codeExit, next: f, in: in}, view: m.view}
	return do()
}

func throwTerm(m *machine, args []Term) (bool, error) {
	ball, err := m.copyTerm(args[0], map[*Var]Term{}, 0)
	if err != nil {
		return false, err
	}
	if _, free := ball.(*Var); free {
		return false, instantiationError()
	}
	return false, &exception{term: ball}
}

func between(m *machine, args []Term) (bool, error) {
	low, err := integerArg(args[0])
	if err != nil {
		return false, err
	}
	high := Int(1<<63 - 1)
	if a, ok := deref(args[1]).(Atom); !ok || a != "inf" && a != "infinite" {
		if high, err = integerArg(args[1]); err != nil {
			return false, err
		}
	}
	switch x := deref(args[2]).(type) {
	case Int:
		return low <= x && x <= high, nil
	case *Var:
		if low > high {
			return false, nil
		}
		next := low
		return m.choose(alternatives{next: func() (bool, bool, error) {
			v := next
			if v < high {
				next++
			}
			m.bind(x, v)
			return true, v < high, nil
		}})
	default:
		return false, typeError("integer", x)
	}
}

func repeatGoal(m *machine, _ []Term) (bool, error) {
	return m.choose(alternatives{next: func() (bool, bool, error) { return true, true, nil }})
}

// findall is findall/3 and findall/4.
func findall(m *machine, args []Term) (bool, error) {
	var tail Term = atomNil
	if len(args) == 4 {
		tail = args[3]
	}
	return m.collect(args[0], args[1], func(results []Term) (bool, error) {
		if err := m.charge(80 * len(results)); err != nil {
			return false, err
		}
		return m.unify(args[2], listOf(results, tail))
	})
}

// aggregateAll is aggregate_all/3.
func aggregateAll(m *machine, args []Term) (bool, error) {
	spec, ok := deref(args[0]).(*Compound)
	if !ok {
		if a, ok := deref(args[0]).(Atom); !ok || a != "count" {
			return false, wantedSpec(args[0])
		}
		spec = newTerm("count", atomTrue)
	}
	if _, err := aggregate(m, spec, nil, 0); err != nil {
		return false, err
	}
	var template Term = newTerm("", spec.args...)
	return m.collect(template, args[1], func(results []Term) (bool, error) {
		value, err := aggregate(m, spec, results, 0)
		if value == nil || err != nil {
			return false, err
		}
		return m.unify(args[2], value)
	})
}

func wantedSpec(t Term) error {
	t = deref(t)
	if _, ok := t.(*Var); ok {
		return instantiationError()
	}
	return domainError("aggregate_spec", t)
}

// aggregate returns what a specification such as max(X) makes of the results, whose arguments
// are the specification's; nil if there is none.
func aggregate(m *machine, spec *Compound, results []Term, depth int) (Term, error) {
	if depth > 10 {
		return nil, wantedSpec(spec)
	}
	each := func(f func(args []Term) error) error {
		for _, r := range results {
			if err := m.spend(1); err != nil {
				return err
			}
			if err := f(r.(*Compound).args); err != nil {
				return err
			}
		}
		return nil
	}
	gather := func(f func(args []Term) Term) ([]Term, error) { // what f makes of each
		if err := m.charge(16 * len(results)); err != nil {
			return nil, err
		}
		terms := make([]Term, 0, len(results))
		err := each(func(args []Term) error {
			terms = append(terms, f(args))
			return nil
		})
		return terms, err
	}
	switch (indicator{spec.name, len(spec.args)}) {
	case indicator{"count", 1}:
		return Int(len(results)), nil
	case indicator{"sum", 1}:
		var sum Term = Int(0)
		err := each(func(args []Term) error {
			x, err := m.eval(args[0])
			if err == nil {
				sum, err = m.binary("+", sum, x)
			}
			return err
		})
		return sum, err
	case indicator{"max", 1}, indicator{"min", 1}, indicator{"max", 2}, indicator{"min", 2}:
		sign := 1
		if spec.name == "min" {
			sign = -1
		}
		var best, witness Term
		err := each(func(args []Term) error {
			x, err := m.eval(args[0])
			if err != nil {
				if _, ok := err.(*exception); !ok || len(args) == 2 {
					return err
				}
				x = deref(args[0]) // not a number: by the standard order
			}
			var c int
			if best == nil {
				c = sign
			} else if isNumber(x) && isNumber(best) {
				c = compareNumbers(x, best)
			} else if c, err = m.compare(x, best, 0); err != nil {
				return err
			}
			if c*sign > 0 {
				best = x
				if len(args) == 2 {
					witness = args[1]
				}
			}
			return nil
		})
		if witness != nil {
			best = newTerm(spec.name, best, witness)
		}
		return best, err
	case indicator{"bag", 1}, indicator{"set", 1}:
		terms, err := gather(func(args []Term) Term { return args[0] })
		if err == nil && spec.name == "set" {
			terms, err = m.sorted(terms, true)
		}
		if err == nil {
			err = m.charge(listBytes * len(terms))
		}
		if err != nil {
			return nil, err
		}
		return listOf(terms, atomNil), nil
	}
	// A term of specifications, such as r(count, max(X)), is aggregated part by part.
	out := &Compound{name: spec.name, args: make([]Term, len(spec.args))}
	for i, arg := range spec.args {
		part, ok := deref(arg).(*Compound)
		if !ok {
			if deref(arg) != Term(Atom("count")) {
				return nil, wantedSpec(spec)
			}
			part = newTerm("count", atomTrue)
		}
		of, err := gather(func(args []Term) Term {
			if c, ok := deref(args[i]).(*Compound); ok {
				return c
			}
			return part
		})
		if err != nil {
			return nil, err
		}
		value, err := aggregate(m, part, of, depth+1)
		if err != nil || value == nil && results != nil {
			return nil, err
		}
		out.args[i] = value
	}
	return out, nil
}

// bagof is bagof/3 and setof/3.
func bagof(set bool) builtin {
	return func(m *machine, args []Term) (bool, error) {
		bound := map[*Var]bool{}
		if err := m.variables(args[0], bound, nil); err != nil {
			return false, err
		}
		goal := deref(args[1])
		for {
			c, ok := isFunctor(goal, "^", 2)
			if !ok {
				break
			}
			if err := m.spend(1); err != nil {
				return false, err
			}
			if err := m.variables(c.args[0], bound, nil); err != nil {
				return false, err
			}
			goal = deref(c.args[1])
		}
		var free []Term
		if err := m.freeVariables(goal, bound, &free, 0); err != nil {
			return false, err
		}
		if len(free) == 0 {
			return m.collect(args[0], goal, func(results []Term) (bool, error) {
				if len(results) == 0 {
					return false, nil
				}
				return m.unifyBag(args[2], results, set)
			})
		}
		var witness Term = &Compound{name: "v", args: free}
		return m.collect(newTerm("-", witness, args[0]), goal, func(results []Term) (bool, error) {
			return m.groups(witness, args[2], results, set)
		})
	}
}

func (m *machine) unifyBag(bag Term, terms []Term, set bool) (bool, error) {
	if set {
		var err error
		if terms, err = m.sorted(terms, true); err != nil {
			return false, err
		}
	}
	if err := m.charge(listBytes * len(terms)); err != nil {
		return false, err
	}
	return m.unify(bag, listOf(terms, atomNil))
}

// groups gives the bags of witness-template pairs, one for each witness.
func (m *machine) groups(witness, bag Term, results []Term, set bool) (bool, error) {
	// Witnesses that differ in the names of variables only are one: their variables are made the same.
	var shared []Term
	for _, r := range results {
		var vars []Term
		if err := m.variables(r.(*Compound).args[0], map[*Var]bool{}, &vars); err != nil {
			return false, err
		}
		for i, v := range vars {
			if i == len(shared) {
				shared = append(shared, v)
			} else if v != shared[i] {
				m.bind(v.(*Var), shared[i])
			}
		}
	}
	var failed error
	sort.SliceStable(results, func(i, j int) bool {
		c, err := m.compare(results[i].(*Compound).args[0], results[j].(*Compound).args[0], 0)
		if err != nil {
			failed = err
		}
		return c < 0
	})
	if failed != nil || len(results) == 0 {
		return false, failed
	}
	return m.choose(alternatives{held: func(s *sizing) { s.terms(results) }, next: func() (bool, bool, error) {
		of := results[0].(*Compound).args[0]
		var terms []Term
		for len(results) > 0 {
			pair := results[0].(*Compound)
			c, err := m.compare(of, pair.args[0], 0)
			if err != nil {
				return false, false, err
			}
			if c != 0 {
				break
			}
			terms = append(terms, pair.args[1])
			results = results[1:]
		}
		more := len(results) > 0
		ok, err := m.unify(witness, of)
		if ok {
			ok, err = m.unifyBag(bag, terms, set)
		}
		return ok, more, err
	}})
}

// variables collects the variables of a term, each once, in the order in which they appear.
func (h *heap) variables(t Term, seen map[*Var]bool, out *[]Term) error {
	var err error
	h.walk(t, &err, func(v *Var) {
		if !seen[v] {
			if err = h.charge(variableBytes); err != nil {
				return
			}
			seen[v] = true
			if out != nil {
				*out = append(*out, v)
			}
		}
	})
	return err
}

// walk calls f with each variable of a term.
func (h *heap) walk(t Term, err *error, f func(*Var)) {
	todo := []Term{t}
	for len(todo) > 0 && *err == nil {
		t := deref(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		*err = h.spend(1)
		switch t := t.(type) {
		case *Var:
			f(t)
		case *Compound:
			if t.ground {
				continue
			}
			for i := len(t.args) - 1; i >= 0; i-- {
				todo = append(todo, t.args[i])
			}
		}
	}
}

// freeVariables collects the variables of a goal that are not bound in it by ^, \+, or by an
// inner setof/3 or bagof/3.
func (h *heap) freeVariables(t Term, bound map[*Var]bool, out *[]Term, depth int) error {
	if depth > maxDepth {
		return errNesting
	}
	c, ok := deref(t).(*Compound)
	if ok {
		switch (indicator{c.name, len(c.args)}) {
		case indicator{`\+`, 1}:
			return nil
		case indicator{"^", 2}:
			inner, err := h.cloneSet(bound)
			if err != nil {
				return err
			}
			if err := h.variables(c.args[0], inner, nil); err != nil {
				return err
			}
			return h.freeVariables(c.args[1], inner, out, depth+1)
		case indicator{"setof", 3}, indicator{"bagof", 3}:
			inner, err := h.cloneSet(bound)
			if err != nil {
				return err
			}
			if err := h.variables(c.args[0], inner, nil); err != nil {
				return err
			}
			if err := h.freeVariables(c.args[1], inner, out, depth+1); err != nil {
				return err
			}
			return h.freeVariables(c.args[2], bound, out, depth+1)
		case indicator{",", 2}, indicator{";", 2}, indicator{"|", 2}, indicator{"->", 2}:
			for _, arg := range c.args {
				if err := h.freeVariables(arg, bound, out, depth+1); err != nil {
					return err
				}
			}
			return nil
		}
	}
	var found []Term
	seen, err := h.cloneSet(bound)
	if err != nil {
		return err
	}
	if err := h.variables(t, seen, &found); err != nil {
		return err
	}
	for _, v := range found {
		if err := h.spend(int64(len(*out) >> 3)); err != nil {
			return err
		}
		if !slices.Contains(*out, v) {
			*out = append(*out, v)
		}
	}
	return nil
}

func (h *heap) cloneSet(set map[*Var]bool) (map[*Var]bool, error) {
	if err := h.charge(32 * len(set)); err != nil {
		return nil, err
	}
	return maps.Clone(set), nil
}

// sorted returns terms in the standard order; distinct leaves one of equal ones.
func (h *heap) sorted(terms []Term, distinct bool) ([]Term, error) {
	return h.sortedBy(terms, func(t Term) Term { return t }, 1, distinct)
}

func (h *heap) sortedBy(terms []Term, key func(Term) Term, sign int, distinct bool) ([]Term, error) {
	if err := h.charge(16 * len(terms)); err != nil {
		return nil, err
	}
	terms = slices.Clone(terms)
	var failed error
	compare := func(a, b Term) int {
		if failed != nil {
			return 0
		}
		c, err := h.compare(key(a), key(b), 0)
		failed = err
		return c * sign
	}
	slices.SortStableFunc(terms, compare)
	if distinct {
		terms = slices.CompactFunc(terms, func(a, b Term) bool { return compare(a, b) == 0 })
	}
	return terms, failed
}

// listArg returns the elements of an argument that is to be a list.
func (h *heap) listArg(t Term) ([]Term, error) {
	terms, partial, ok, err := h.listTerms(t)
	switch {
	case err != nil:
		return nil, err
	case partial:
		return nil, instantiationError()
	case !ok:
		return nil, typeError("list", deref(t))
	}
	return terms, nil
}

func integerArg(t Term) (Int, error) {
	t = deref(t)
	i, ok := t.(Int)
	if _, isBig := t.(*big.Int); isBig {
		return 0, thrown(newTerm("representation_error", Atom("int64_t")), "the integer %s is too large here", show(t))
	}
	if !ok {
		return 0, wanted("integer", t)
	}
	return i, nil
}

func assertAt(front bool) builtin {
	return func(m *machine, args []Term) (bool, error) {
		t, err := copyPlain(m.heap, args[0], map[*Var]Term{})
		if err != nil {
			return false, err
		}
		head, body := t, Term(atomTrue)
		if c, ok := isFunctor(t, ":-", 2); ok {
			head, body = deref(c.args[0]), deref(c.args[1])
		}
		p, err := m.changeable(head)
		if err != nil {
			return false, err
		}
		size := 3*termSize(t) + 200
		m.kept += size
		if front {
			size += 8 * int64(len(p.clauses))
		}
		if err := m.charge(int(size)); err != nil {
			return false, err
		}
		comp := m.compiler()
		c, err := comp.clause(head, body)
		if err != nil {
			return false, err
		}
		if front {
			p.clauses = append([]*clause{c}, p.clauses...)
		} else {
			p.clauses = append(p.clauses, c)
		}
		if p.index != nil && !front && c.key != nil {
			p.index[c.key] = append(p.index[c.key], c)
		} else if n := len(p.clauses); p.index != nil || n >= indexed && n&(n-1) == 0 {
			p.index, p.stale = nil, true
		}
		p.defined = true
		return true, nil
	}
}

func termSize(t Term) int64 {
	size, todo := int64(0), []Term{t}
	for len(todo) > 0 {
		t := deref(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		size += 24
		switch t := t.(type) {
		case *Compound:
			size += 64
			todo = append(todo, t.args...)
		case *big.Int:
			size += int64(bigSize(t.BitLen()))
		case Atom:
			size += int64(len(t))
		case String:
			size += int64(len(t))
		}
	}
	return size
}

// changeable returns the predicate of a head as this question may change it.
func (m *machine) changeable(head Term) (*pred, error) {
	i, err := headOf(head)
	if err != nil {
		return nil, err
	}
	p := m.find(i)
	if p.library || isControl(i) {
		return nil, redefines(i)
	}
	if m.own[i] == p {
		return p, nil
	}
	own, ok := m.changed[p]
	if !ok {
		c := *p
		c.clauses, c.index, c.stale, c.own = slices.Clone(p.clauses), nil, true, true
		own = &c
		m.changed[p] = own
	}
	return own, nil
}

// clausesOf gives the clauses that match head :- body; take removes each that is given.
func clausesOf(m *machine, head, body Term, take bool) (bool, error) {
	i, err := headOf(deref(head))
	if err != nil {
		return false, err
	}
	p := m.find(i)
	if p.library || isControl(i) {
		return false, thrown(newTerm("permission_error", Atom("access"), Atom("private_procedure"), newTerm("/", i.name, Int(i.arity))),
			"%s/%d belongs to the language, and its clauses cannot be seen", i.name, i.arity)
	}
	if own, ok := m.changed[p]; ok {
		p = own
	}
	var rest []*clause
	var key Term
	if c, ok := deref(head).(*Compound); ok {
		key = keyOf(deref(c.args[0]))
	}
	for _, c := range p.clauses {
		if c.mayMatch(key) {
			rest = append(rest, c)
		}
	}
	if err := m.charge(8*len(rest) + len(p.clauses)/8); err != nil || len(rest) == 0 {
		return false, err
	}
	if take {
		if p, err = m.changeable(head); err != nil {
			return false, err
		}
	}
	held := 8 * int64(cap(rest))
	return m.choose(alternatives{held: func(s *sizing) { s.bytes += held }, next: func() (bool, bool, error) {
		c := rest[0]
		rest = rest[1:]
		if take && !slices.Contains(p.clauses, c) {
			return false, len(rest) > 0, nil
		}
		t, err := m.copyTerm(c.source, map[*Var]Term{}, 0)
		if err != nil {
			return false, false, err
		}
		rule := t.(*Compound)
		ok, err := m.unify(head, rule.args[0])
		if ok {
			ok, err = m.unify(body, rule.args[1])
		}
		if ok && take {
			if err := m.charge(8 * len(p.clauses)); err != nil {
				return false, false, err
			}
			p.clauses = slices.DeleteFunc(slices.Clone(p.clauses), func(other *clause) bool { return other == c })
			p.index, p.stale = nil, true
		}
		return ok, len(rest) > 0, err
	}})
}

func ruleParts(t Term) (head, body Term) {
	if c, ok := isFunctor(deref(t), ":-", 2); ok {
		return c.args[0], c.args[1]
	}
	return t, atomTrue
}

// controlPredicates are those that carry goals out.
func controlPredicates() map[string]map[int]builtin {
	return map[string]map[int]builtin{
		"fail":          {0: func(*machine, []Term) (bool, error) { return false, nil }},
		"false":         {0: func(*machine, []Term) (bool, error) { return false, nil }},
		"otherwise":     {0: func(*machine, []Term) (bool, error) { return true, nil }},
		"repeat":        {0: repeatGoal},
		"catch":         {3: catchGoal},
		"throw":         {1: throwTerm},
		"between":       {3: between},
		"findall":       {3: findall, 4: findall},
		"aggregate_all": {3: aggregateAll},
		"bagof":         {3: bagof(false)},
		"setof":         {3: bagof(true)},
		"^":             {2: func(m *machine, args []Term) (bool, error) { return m.callGoal(args[1]) }},
		":":             {2: func(m *machine, args []Term) (bool, error) { return m.callGoal(args[1]) }}, // a module
		"limit":         {2: limitGoal},
		"offset":        {2: offsetGoal},
		"call_nth":      {2: callNth},
		"call_cleanup":  {2: callCleanup},
		"findnsols":     {4: findnsols, 5: findnsols},
		"assertz":       {1: assertAt(false)},
		"assert":        {1: assertAt(false)},
		"asserta":       {1: assertAt(true)},
		"clause":        {2: func(m *machine, args []Term) (bool, error) { return clausesOf(m, args[0], args[1], false) }},
		"retract": {1: func(m *machine, args []Term) (bool, error) {
			head, body := ruleParts(args[0])
			return clausesOf(m, head, body, true)
		}},
		"retractall": {1: func(m *machine, args []Term) (bool, error) {
			p, err := m.changeable(args[0])
			if err != nil {
				return false, err
			}
			if err := m.charge(8 * len(p.clauses)); err != nil {
				return false, err
			}
			var left []*clause
			var key Term
			if c, ok := deref(args[0]).(*Compound); ok {
				key = keyOf(deref(c.args[0]))
			}
			for _, c := range p.clauses {
				if !c.mayMatch(key) {
					left = append(left, c)
					continue
				}
				t, err := m.copyTerm(c.source, map[*Var]Term{}, 0)
				if err != nil {
					return false, err
				}
				ok, err := m.unifiable(args[0], t.(*Compound).args[0])
				if err != nil {
					return false, err
				}
				if !ok {
					left = append(left, c)
				}
			}
			p.clauses, p.defined, p.index, p.stale = left, true, nil, true
			return true, nil
		}},
		"dynamic": {1: func(m *machine, args []Term) (bool, error) {
			c, ok := isFunctor(deref(args[0]), "/", 2)
			if !ok {
				return false, typeError("predicate_indicator", deref(args[0]))
			}
			name, ok1 := deref(c.args[0]).(Atom)
			arity, ok2 := deref(c.args[1]).(Int)
			if !ok1 || !ok2 || arity < 0 || arity > 1000 {
				return false, typeError("predicate_indicator", c)
			}
			var head Term = name
			if arity > 0 {
				head = &Compound{name: name, args: make([]Term, arity)}
			}
			p, err := m.changeable(head)
			if err == nil {
				p.defined = true
			}
			return err == nil, err
		}},
		"set_prolog_flag": {2: func(_ *machine, args []Term) (bool, error) { // one that changes no meaning changes nothing
			flag, ok := deref(args[0]).(Atom)
			switch {
			case !ok:
				return false, wanted("atom", deref(args[0]))
			case refusedFlags[flag]:
				return false, thrown(newTerm("permission_error", Atom("modify"), Atom("flag"), flag), "questions do not change the system")
			}
			return true, nil
		}},
		"current_predicate": {1: func(m *machine, args []Term) (bool, error) {
			c, ok := isFunctor(deref(args[0]), "/", 2)
			if !ok {
				return false, typeError("predicate_indicator", deref(args[0]))
			}
			name, ok := deref(c.args[0]).(Atom)
			if !ok {
				return false, instantiationError()
			}
			arities := map[Int]bool{}
			for _, preds := range []map[indicator]*pred{m.program.preds, m.own} {
				for i, p := range preds {
					if changed, ok := m.changed[p]; ok {
						p = changed
					}
					if i.name == name && p.exists() {
						arities[Int(i.arity)] = true
					}
				}
			}
			var found []Term
			for a := range arities {
				found = append(found, a)
			}
			found, err := m.sorted(found, true)
			if err != nil {
				return false, err
			}
			return m.anyOf(c.args[1], found)
		}},
	}
}

// anyOf unifies t with one after the other.
func (m *machine) anyOf(t Term, with []Term) (bool, error) {
	if len(with) == 0 {
		return false, nil
	}
	return m.choose(alternatives{held: func(s *sizing) { s.terms(with) }, next: func() (bool, bool, error) {
		ok, err := m.unify(t, with[0])
		with = with[1:]
		return ok, len(with) > 0, err
	}})
}
