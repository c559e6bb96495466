package prolog

import "math/big"

// goalKind says how a goal is carried out.
type goalKind uint8

const (
	doCall    goalKind = iota // a predicate
	doVar                     // a variable, called when it has a value
	doCut                     // ! of the clause
	doOr                      // a ; b
	doIf                      // a -> b ; c
	doSoftIf                  // a *-> b ; c
	doNot                     // \+ a
	doCutTo                   // the machine's: cut to where the frame says, go on
	doSoftCut                 // the machine's: take the alternative of *-> away
	doFail                    // the machine's
	doCollect                 // the machine's: a solution of findall/3 and its like
	doExit                    // the machine's: out of catch/3, or of a goal with a cleanup
	doDone                    // the machine's: a solution of the question
)

// goal is one goal of a body.
type goal struct {
	kind    goalKind
	direct  bool // the arguments are terms, not templates
	hasElse bool
	pos     int32
	pred    *pred
	args    []Term
	size    int // of the terms that are made of the templates
	a, b, c []goal
}

// slot is the place of a clause's variable in its environment, in templates; a negative one
// is of a variable that stands there only.
type slot int

// indicator names a predicate.
type indicator struct {
	name  Atom
	arity int
}

// pred is a predicate: a Go function, or clauses.
type pred struct {
	indicator
	do      func(m *machine, args []Term) (bool, error)
	clauses []*clause
	index   map[Term][]*clause // by the keys of their first arguments; nil if it is not worth it
	stale   bool               // the index is to be made again
	defined bool               // it exists, even without clauses
	library bool               // it is not to be changed
	own     bool               // it is of one question
	// expand has prefixes in the arguments expanded when the predicate is called.
	expand bool
}

func (p *pred) exists() bool { return p.do != nil || p.defined || len(p.clauses) > 0 }

// indexed is from how many clauses on an index is made.
const indexed = 8

// reindex makes the index of the clauses, if each has a key.
func (p *pred) reindex() {
	p.index, p.stale = nil, false
	if len(p.clauses) < indexed {
		return
	}
	index := make(map[Term][]*clause, len(p.clauses))
	for _, c := range p.clauses {
		if c.key == nil {
			return
		}
		index[c.key] = append(index[c.key], c)
	}
	p.index = index
}

// matching returns the clauses that may match arguments, and perhaps others.
func (p *pred) matching(args []Term) []*clause {
	if p.index != nil {
		if key := keyOf(deref(args[0])); key != nil {
			return p.index[key]
		}
	}
	return p.clauses
}

// clause is a fact or a rule.
type clause struct {
	head   []Term // templates of the arguments
	body   []goal
	vars   int
	key    Term // the first argument, if atomic, or its functor; nil for any
	source Term // head :- body, for clause/2 and retract/1
	passes bool // it has the library's predicate of the same name answer
}

// keyOf returns what a first argument can be told apart by; nil for a variable.
func keyOf(t Term) Term {
	switch t := t.(type) {
	case *Var, slot, *big.Int:
		return nil
	case Float:
		if t != t { // it is not equal to itself, as a key
			return nil
		}
		return t
	case *Compound:
		return indicator{t.name, len(t.args)}
	default:
		return t
	}
}

// mayMatch tells, quickly, whether a clause can apply to a first argument of that key.
func (c *clause) mayMatch(key Term) bool {
	return key == nil || c.key == nil || c.key == key
}

// compiler makes goals of terms.
type compiler struct {
	find     func(indicator) *pred
	expand   func(Term) (Term, error) // prefixes, where they are known already
	template func(Term) Term          // nil: the arguments stay as they are
	pay      func(bytes int) error    // nil: nobody has to
	depth    int
}

// goalBytes is what a goal takes, beside its arguments.
const goalBytes = 160

// body appends the goals of a body.
func (c *compiler) body(t Term, out []goal) ([]goal, error) {
	if c.depth++; c.depth > maxDepth {
		return nil, errNesting
	}
	defer func() { c.depth-- }()
	for {
		var err error
		if c.pay != nil {
			if err = c.pay(goalBytes); err != nil {
				return nil, err
			}
		}
		pair, ok := isFunctor(c.look(t), atomComma, 2)
		if !ok {
			break
		}
		if out, err = c.body(pair.args[0], out); err != nil {
			return nil, err
		}
		t = pair.args[1]
	}
	switch t := c.look(t).(type) {
	case *Var:
		return append(out, goal{kind: doVar, direct: c.template == nil, args: []Term{c.arg(t)}}), nil
	case Atom:
		switch t {
		case "!":
			return append(out, goal{kind: doCut}), nil
		case atomTrue:
			return out, nil
		}
		return append(out, goal{pred: c.find(indicator{t, 0}), direct: true}), nil
	case *Compound:
		return c.compound(t, out)
	default:
		return nil, typeError("callable", t)
	}
}

// look dereferences a term that is not compiled for a clause: there variables stay.
func (c *compiler) look(t Term) Term {
	if v, ok := t.(*Var); ok && c.template == nil && v.ref != nil {
		return v // what it has may change: it is called when it is reached
	}
	return t
}

func (c *compiler) arg(t Term) Term {
	if c.template == nil {
		return t
	}
	return c.template(t)
}

func (c *compiler) compound(t *Compound, out []goal) ([]goal, error) {
	branch := func(t Term, into *[]goal) (err error) {
		*into, err = c.body(t, nil)
		return err
	}
	g := goal{pos: t.pos}
	switch (indicator{t.name, len(t.args)}) {
	case indicator{";", 2}, indicator{"|", 2}:
		g.kind = doOr
		left := t.args[0]
		cond, isIf := isFunctor(left, "->", 2)
		if !isIf {
			if cond, isIf = isFunctor(left, "*->", 2); isIf {
				g.kind = doSoftIf
			}
		} else {
			g.kind = doIf
		}
		if isIf {
			g.hasElse = true
			if err := branch(cond.args[0], &g.a); err != nil {
				return nil, err
			}
			if err := branch(cond.args[1], &g.b); err != nil {
				return nil, err
			}
			if err := branch(t.args[1], &g.c); err != nil {
				return nil, err
			}
			return append(out, g), nil
		}
		if err := branch(left, &g.a); err != nil {
			return nil, err
		}
		if err := branch(t.args[1], &g.b); err != nil {
			return nil, err
		}
		return append(out, g), nil
	case indicator{"->", 2}, indicator{"*->", 2}:
		g.kind = doIf
		if t.name == "*->" {
			g.kind, g.hasElse, g.c = doSoftIf, true, codeNone
		}
		if err := branch(t.args[0], &g.a); err != nil {
			return nil, err
		}
		if err := branch(t.args[1], &g.b); err != nil {
			return nil, err
		}
		return append(out, g), nil
	case indicator{`\+`, 1}:
		g.kind = doNot
		if err := branch(t.args[0], &g.a); err != nil {
			return nil, err
		}
		return append(out, g), nil
	}
	g.pred = c.find(indicator{t.name, len(t.args)})
	g.direct = c.template == nil || t.ground
	g.args = t.args
	if g.pred.expand && c.expand != nil {
		g.args = make([]Term, len(t.args))
		for i, arg := range t.args {
			var err error
			if g.args[i], err = c.expand(arg); err != nil {
				return nil, err
			}
		}
	}
	if !g.direct {
		args := make([]Term, len(g.args))
		for i, arg := range g.args {
			args[i] = c.arg(arg)
			g.size += templateSize(args[i])
		}
		g.args = args
	}
	return append(out, g), nil
}

// clause compiles head :- body.
func (c *compiler) clause(head, body Term) (*clause, error) {
	cl := &clause{source: newTerm(":-", head, body)}
	// A variable that stands once needs no place.
	times := map[*Var]int{}
	countVars(head, times)
	countVars(body, times)
	slots := map[*Var]slot{}
	c.template = func(t Term) Term { return template(t, times, slots) }
	if h, ok := head.(*Compound); ok {
		for _, arg := range h.args {
			cl.head = append(cl.head, c.template(arg))
		}
		cl.key = keyOf(cl.head[0])
	}
	var err error
	if cl.body, err = c.body(body, nil); err != nil {
		return nil, err
	}
	cl.vars = len(slots)
	return cl, nil
}

func countVars(t Term, times map[*Var]int) {
	for {
		switch x := deref(t).(type) {
		case *Var:
			times[x]++
		case *Compound:
			if x.ground {
				return
			}
			last := len(x.args) - 1
			for _, arg := range x.args[:last] {
				countVars(arg, times)
			}
			t = x.args[last]
			continue
		}
		return
	}
}

// template returns a term with places instead of variables. What has no variables is shared.
func template(t Term, times map[*Var]int, slots map[*Var]slot) Term {
	switch t := deref(t).(type) {
	case *Var:
		if times[t] == 1 {
			return slot(-1)
		}
		s, ok := slots[t]
		if !ok {
			s = slot(len(slots))
			slots[t] = s
		}
		return s
	case *Compound:
		if t.ground {
			return t
		}
		var all []*Compound // along last arguments, so that lists may be long
		for {
			c := &Compound{name: t.name, args: make([]Term, len(t.args)), pos: t.pos, shared: true, ground: true}
			all = append(all, c)
			last := len(t.args) - 1
			for i, arg := range t.args[:last] {
				c.args[i] = template(arg, times, slots)
			}
			next, ok := deref(t.args[last]).(*Compound)
			if !ok || next.ground {
				c.args[last] = template(t.args[last], times, slots)
				break
			}
			t = next
		}
		for i := len(all) - 1; i >= 0; i-- {
			c := all[i]
			if i < len(all)-1 {
				c.args[len(c.args)-1] = all[i+1]
			}
			for _, arg := range c.args {
				switch x := arg.(type) {
				case slot:
					c.ground = false
				case *Compound:
					c.ground = c.ground && x.ground
				}
			}
		}
		return all[0]
	default:
		return t
	}
}

// templateSize is what the term of a template takes that is made of it.
func templateSize(t Term) int {
	size := 0
	for {
		c, ok := t.(*Compound)
		if !ok || c.ground || !c.shared {
			return size
		}
		size += 64 + 16*len(c.args)
		last := len(c.args) - 1
		for _, arg := range c.args[:last] {
			size += templateSize(arg)
		}
		t = c.args[last]
	}
}
