package prolog

import (
	"math/big"
	"strings"
)

// op is an operator: its priority, and how far its sides may reach.
type op struct {
	prec int
	kind string // xfx, xfy, yfx, fy, fx
}

// sides returns the priorities of what stands left and right of an operator.
func (o op) sides() (left, right int) {
	left, right = o.prec-1, o.prec-1
	if o.kind[0] == 'y' {
		left = o.prec
	}
	if o.kind[len(o.kind)-1] == 'y' {
		right = o.prec
	}
	return left, right
}

type ops struct{ prefix, infix op }

// operators are those of SWI-Prolog; a program may have others beside them.
var operators = func() map[string]ops {
	table := map[string]ops{}
	for _, row := range []struct {
		prec        int
		kind, names string
	}{
		{1200, "xfx", ":- -->"}, {1200, "fx", ":- ?-"},
		{1150, "fx", "dynamic discontiguous multifile table initialization module_transparent meta_predicate rdf_meta"},
		{1105, "xfy", "|"}, {1100, "xfy", ";"}, {1050, "xfy", "-> *->"}, {1000, "xfy", ","}, {990, "xfx", ":="}, {900, "fy", "\\+"},
		{700, "xfx", "< = =.. =@= \\=@= =:= =< == =\\= > >= @< @=< @> @>= \\= \\== as is"},
		{600, "xfy", ":"}, {500, "yfx", "+ - /\\ \\/ xor"},
		{400, "yfx", "* / // mod rem << >> div rdiv divmod tdiv"},
		{200, "xfx", "**"}, {200, "xfy", "^"}, {200, "fy", "- + \\"},
	} {
		for name := range strings.FieldsSeq(row.names) {
			o := table[name]
			if len(row.kind) == 3 {
				o.infix = op{row.prec, row.kind}
			} else {
				o.prefix = op{row.prec, row.kind}
			}
			table[name] = o
		}
	}
	return table
}()

// maxDepth is how deep what is read may be nested; a conjunction of so many goals, too.
const maxDepth = 20_000

// reader makes terms of a text.
type reader struct {
	lexer
	tok    token
	base   int32 // where the text begins in the sources of its program
	shared bool  // the terms belong to a program
	depth  int
	newVar func() *Var
	ops    map[string]ops
	quotes Atom // what "text" is: codes, chars or atom; else a string
	// vars are the named variables of the clause, in the order in which they appear.
	vars  []namedVar
	named map[string]*Var // the same, once there are many
}

type namedVar struct {
	name string
	v    *Var
}

func newReader(text string, base int32, shared bool, newVar func() *Var) *reader {
	return &reader{lexer: lexer{text: text}, base: base, shared: shared, newVar: newVar, ops: operators}
}

func (r *reader) advance() (err error) {
	r.tok, err = r.next()
	return err
}

// clause reads up to the next full stop, or to the end of the text; nil at its end. The
// full stop at the end of the text may be missing if the text is one question.
func (r *reader) clause(question bool) (Term, error) {
	r.vars, r.named = nil, nil
	if err := r.advance(); err != nil {
		return nil, err
	}
	if r.tok.kind == tokEnd {
		return nil, nil
	}
	t, err := r.parse(1200)
	if err != nil {
		return nil, err
	}
	switch {
	case r.tok.kind == tokStop, r.tok.kind == tokEnd && question:
		return t, nil
	case r.tok.kind == tokEnd:
		return nil, r.fault(r.tok.at, "the clause does not end with a full stop")
	}
	return nil, r.unexpected("an operator or the end")
}

// whole reads one term that is all of the text.
func (r *reader) whole() (Term, error) {
	t, err := r.clause(true)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, r.fault(0, "there is nothing to read")
	}
	if r.tok.kind == tokStop {
		if err := r.advance(); err != nil {
			return nil, err
		}
		if r.tok.kind != tokEnd {
			return nil, r.fault(r.tok.at, "there is more after the full stop")
		}
	}
	return t, nil
}

func (r *reader) unexpected(want string) error {
	found := "the end"
	switch r.tok.kind {
	case tokStop:
		found = "the full stop"
	case tokNumber:
		found = show(r.tok.num)
	case tokAtom, tokVar, tokPunct:
		found = r.tok.text
	case tokQuoted:
		found = quoteText(r.tok.text, '\'')
	case tokString:
		found = quoteText(r.tok.text, '"')
	case tokCodes:
		found = quoteText(r.tok.text, '`')
	}
	return r.fault(r.tok.at, "%s is wanted here, not %s", want, found)
}

func (r *reader) punct(s string) bool { return r.tok.kind == tokPunct && r.tok.text == s }

func (r *reader) expect(s string) error {
	if !r.punct(s) {
		return r.unexpected("an operator or " + s)
	}
	return r.advance()
}

// infixName returns what the token is as an operator between two terms; "" for none.
func (r *reader) infixName() string {
	switch r.tok.kind {
	case tokAtom, tokQuoted:
		return r.tok.text
	case tokPunct:
		if r.tok.text == "," || r.tok.text == "|" {
			return r.tok.text
		}
	}
	return ""
}

func (r *reader) compound(at int, name Atom, args ...Term) Term {
	c := &Compound{name: name, args: args, pos: r.base + int32(at), shared: r.shared, ground: r.shared} // others may be changed
	for _, arg := range args {
		switch arg := arg.(type) {
		case *Var:
			c.ground = false
		case *Compound:
			c.ground = c.ground && arg.ground
		}
	}
	return c
}

// quotedText returns what "text" stands for.
func (r *reader) quotedText(text string) Term {
	switch r.quotes {
	case "atom":
		return Atom(text)
	case "codes":
		return r.codes(text)
	case "chars":
		var chars []Term
		for _, c := range text {
			chars = append(chars, Atom(string(c)))
		}
		return r.list(r.tok.at, chars, atomNil)
	}
	return String(text)
}

// codes returns the list of the codes of a text's characters.
func (r *reader) codes(text string) Term {
	var codes []Term
	for _, c := range text {
		codes = append(codes, Int(c))
	}
	return r.list(r.tok.at, codes, atomNil)
}

// parse reads a term of at most that priority.
func (r *reader) parse(most int) (Term, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, r.fault(r.tok.at, "what is nested here is too deep")
	}
	defer func() { r.depth-- }()
	left, prec, err := r.primary(most)
	if err != nil {
		return nil, err
	}
	for {
		name := r.infixName()
		o := r.ops[name].infix
		if o.prec == 0 || o.prec > most {
			return left, nil
		}
		leftMost, rightMost := o.sides()
		if prec > leftMost {
			return left, nil
		}
		at := r.tok.at
		if err := r.advance(); err != nil {
			return nil, err
		}
		right, err := r.parse(rightMost)
		if err != nil {
			return nil, err
		}
		left, prec = r.compound(at, Atom(name), left, right), o.prec
	}
}

// primary reads a term without operators after it, and says its priority.
func (r *reader) primary(most int) (Term, int, error) {
	tok := r.tok
	switch tok.kind {
	case tokNumber:
		return tok.num, 0, r.advance()
	case tokString:
		return r.quotedText(tok.text), 0, r.advance()
	case tokCodes:
		return r.codes(tok.text), 0, r.advance()
	case tokVar:
		if tok.called {
			return nil, 0, r.fault(tok.at, "the variable %s cannot be called by name; call(%s, …) does it", tok.text, tok.text)
		}
		return r.variable(tok.text), 0, r.advance()
	case tokPunct:
		t, err := r.bracketed(tok)
		return t, 0, err
	case tokAtom, tokQuoted:
		if err := r.advance(); err != nil {
			return nil, 0, err
		}
		if tok.called {
			args, err := r.arguments()
			if err != nil {
				return nil, 0, err
			}
			return r.compound(tok.at, Atom(tok.text), args...), 0, nil
		}
		if tok.kind == tokAtom {
			return r.name(tok, most)
		}
		return Atom(tok.text), 0, nil
	}
	return nil, 0, r.unexpected("a term")
}

func (r *reader) variable(name string) Term {
	if name == "_" {
		return r.newVar()
	}
	if r.named == nil {
		for _, n := range r.vars {
			if n.name == name {
				return n.v
			}
		}
	} else if v, ok := r.named[name]; ok {
		return v
	}
	v := r.newVar()
	r.vars = append(r.vars, namedVar{name, v})
	if r.named != nil {
		r.named[name] = v
	} else if len(r.vars) > 32 {
		r.named = make(map[string]*Var, 2*len(r.vars))
		for _, n := range r.vars {
			r.named[n.name] = n.v
		}
	}
	return v
}

// name reads what a name begins that no parenthesis follows: an atom, a negative number, or
// a prefix operator with its term.
func (r *reader) name(tok token, most int) (Term, int, error) {
	a := Atom(tok.text)
	if tok.text == "-" && r.tok.kind == tokNumber && !r.tok.apart {
		n := r.tok.num
		if err := r.advance(); err != nil {
			return nil, 0, err
		}
		switch n := n.(type) {
		case Int, *big.Int:
			t, err := unary("-", n)
			return t, 0, err
		case Float:
			return -n, 0, nil
		}
	}
	o := r.ops[tok.text].prefix
	if o.prec == 0 {
		if r.ops[tok.text].infix.prec > 0 {
			return a, min(most, r.ops[tok.text].infix.prec), nil
		}
		return a, 0, nil
	}
	if !r.beginsTerm() {
		return a, min(most, o.prec), nil
	}
	if o.prec > most {
		o.prec = 999
	}
	_, right := o.sides()
	arg, err := r.parse(right)
	if err != nil {
		return nil, 0, err
	}
	return r.compound(tok.at, a, arg), o.prec, nil
}

// beginsTerm tells whether the token can begin the term of a prefix operator.
func (r *reader) beginsTerm() bool {
	switch r.tok.kind {
	case tokEnd, tokStop:
		return false
	case tokPunct:
		return r.tok.text == "(" || r.tok.text == "[" || r.tok.text == "{"
	case tokAtom:
		o := r.ops[r.tok.text]
		return o.infix.prec == 0 || o.prefix.prec > 0 || r.tok.called
	}
	return true
}

func (r *reader) bracketed(tok token) (Term, error) {
	if err := r.advance(); err != nil {
		return nil, err
	}
	switch tok.text {
	case "(":
		t, err := r.parse(1200)
		if err != nil {
			return nil, err
		}
		return t, r.expect(")")
	case "{":
		if r.punct("}") {
			return r.emptyBrackets(tok.at, atomCurly)
		}
		t, err := r.parse(1200)
		if err != nil {
			return nil, err
		}
		return r.compound(tok.at, atomCurly, t), r.expect("}")
	case "[":
		if r.punct("]") {
			return r.emptyBrackets(tok.at, atomNil)
		}
		var terms []Term
		for {
			t, err := r.parse(999)
			if err != nil {
				return nil, err
			}
			terms = append(terms, t)
			if !r.punct(",") {
				break
			}
			if err := r.advance(); err != nil {
				return nil, err
			}
		}
		var tail Term = atomNil
		if r.punct("|") {
			err := r.advance()
			if err == nil {
				tail, err = r.parse(999)
			}
			if err != nil {
				return nil, err
			}
		}
		return r.list(tok.at, terms, tail), r.expect("]")
	}
	r.tok = tok
	return nil, r.fault(tok.at, "a term is wanted here, not %s", tok.text)
}

// emptyBrackets reads on behind [] or {}: they may be a functor.
func (r *reader) emptyBrackets(at int, name Atom) (Term, error) {
	if err := r.advance(); err != nil || !r.punct("(") || r.tok.apart {
		return name, err
	}
	args, err := r.arguments()
	if err != nil {
		return nil, err
	}
	return r.compound(at, name, args...), nil
}

func (r *reader) list(at int, terms []Term, tail Term) Term {
	for i := len(terms) - 1; i >= 0; i-- {
		tail = r.compound(at, atomDot, terms[i], tail)
	}
	return tail
}

// arguments reads what stands in parentheses after a functor.
func (r *reader) arguments() (args []Term, err error) {
	for {
		if err := r.advance(); err != nil { // the parenthesis, or a comma
			return nil, err
		}
		arg, err := r.parse(999)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		if !r.punct(",") {
			return args, r.expect(")")
		}
	}
}
