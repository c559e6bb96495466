package prolog

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/knowledge"
)

//go:embed library.pl
var libraryText string

// source is a text that a program was read from. Positions in all of a program's sources are
// one sequence, like the positions of package go/token.
type source struct {
	name string
	text string
	base int32
}

func (s *source) end() int32 { return s.base + int32(len(s.text)) + 1 }

// Program is what questions may use beside facts: rules and prefixes. It is not changed while
// questions are asked.
type Program struct {
	preds     map[indicator]*pred
	prefixes  *knowledge.Prefixes
	sources   []*source
	shared    map[indicator]bool // predicates whose clauses stand in several files (multifile): rules add to the library's
	left      []string           // what of the rules is left out: directives that do something
	operators map[string]ops
	settling  sync.Mutex
	unsettled bool           // rules use predicates that were replaced since
	quotes    Atom           // what "text" is in the file that is read
	waiting   map[Atom]*pred // of goals that wait: the library's, whatever rules define
}

// iso are predicates that rules may not have of their own, as in SWI-Prolog.
var iso = func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(`</2 =/2 =../2 =:=/2 =</2 ==/2 =\=/2 >/2 >=/2 @</2 @=</2 @>/2 @>=/2 \=/2 \==/2 acyclic_term/1 arg/3 asserta/1
		assertz/1 atom/1 atom_chars/2 atom_codes/2 atom_concat/3 atom_length/2 atomic/1 bagof/3 call/1 call/2 call/3 call/4 call/5 call/6 call/7 call/8
		callable/1 catch/3 char_code/2 clause/2 compare/3 compound/1 copy_term/2 current_op/3 current_predicate/1 dynamic/1 fail/0 false/0 findall/3 float/1
		flush_output/0 flush_output/1 functor/3 ground/1 integer/1 is/2 keysort/2 length/2 nl/0 nl/1 nonvar/1 number/1 number_chars/2 number_codes/2
		numbervars/3 repeat/0 retract/1 retractall/1 setof/3 sort/2 sub_atom/5 term_variables/2 throw/1 unify_with_occurs_check/2 var/1 write/1 write/2
		writeq/1 writeq/2 current_output/1 once/1 put_char/1 put_char/2 subsumes_term/2 write_term/2 write_term/3 :/2`) {
		all[name] = true
	}
	return all
}()

// fixed reports whether rules may not have a predicate of that name.
func fixed(i indicator) bool {
	return isControl(i) || i.name[:min(1, len(i.name))] == "$" || iso[fmt.Sprintf("%s/%d", i.name, i.arity)]
}

// maxSource bounds the text of a question and of a file of rules, in bytes.
const maxSource = 16 << 20

// library is the program that every other begins with.
var library = sync.OnceValue(func() *Program {
	p := &Program{preds: map[indicator]*pred{}, prefixes: knowledge.NewPrefixes(), operators: operators}
	for name, do := range builtins() {
		p.preds[name] = &pred{indicator: name, do: do, library: true}
	}
	for name, do := range factPredicates() {
		p.preds[name] = &pred{indicator: name, do: do, library: true, expand: true}
	}
	for name, do := range timePredicates() {
		p.preds[name] = &pred{indicator: name, do: do, library: true, expand: name.name != "$at" && name.name != "$is_property_goal"}
	}
	if err := p.read("library", libraryText); err != nil {
		panic(err)
	}
	for i, pred := range p.preds {
		if !pred.exists() && !isControl(i) {
			panic(fmt.Sprintf("the library calls %s/%d, which does not exist", i.name, i.arity))
		}
		pred.library = true
	}
	p.waiting = map[Atom]*pred{"freeze": p.find(indicator{"freeze", 2}), "dif": p.find(indicator{"dif", 2}), "$when": p.find(indicator{"$when", 3})}
	return p
})

// NewProgram returns a program without rules of its own: the library, and the prefixes that are common.
func NewProgram() *Program {
	l := library()
	p := &Program{preds: make(map[indicator]*pred, len(l.preds)), prefixes: l.prefixes.Clone(), sources: slices.Clone(l.sources), shared: map[indicator]bool{}, operators: operators, waiting: l.waiting}
	maps.Copy(p.preds, l.preds)
	return p
}

// AddPrefix has name:local stand for iri followed by local.
func (p *Program) AddPrefix(name, iri string) { p.prefixes.Add(name, iri) }

// UsePrefixes has the program use the prefixes of a view, in place of those that it had. Rules that were added before keep theirs.
func (p *Program) UsePrefixes(of *knowledge.Prefixes) { p.prefixes = of.Clone() }

// AddRules adds the clauses of a text, such as a file's. Declarations are followed. Directives that load
// something or run goals are left out, with a note in the questions' answers. Directives that change the meaning of clauses are
// refused, if they are not known. A predicate of the library
// other than ISO's is the text's own if it has clauses for it, unless the text declares it as multifile or names a module
// before it: then its clauses come before the library's. The library keeps using its own. An error names the text, line and column.
func (p *Program) AddRules(name, text string) error { return p.read(name, text) }

func (p *Program) read(name, text string) error {
	if len(text) > maxSource {
		return engram.Errorf(engram.Exhausted, name, "rules of %d bytes; %d are the most", len(text), maxSource)
	}
	src := &source{name: name, text: text, base: 1}
	if n := len(p.sources); n > 0 {
		src.base = p.sources[n-1].end()
	}
	p.sources = append(p.sources, src)
	// Variables of what is read are told apart by their identity only.
	r := newReader(text, src.base, true, func() *Var { return &Var{} })
	added := map[*pred]bool{}
	var parts conditions
	p.quotes = ""
	for {
		r.ops, r.quotes = p.operators, p.quotes
		t, err := r.clause(false)
		at := r.tok.at
		if err == nil && t == nil {
			for changed := range added {
				changed.reindex()
			}
			if len(parts) > 0 {
				return p.located(src, parts[len(parts)-1].at, errors.New("no endif follows"))
			}
			return nil
		}
		if err == nil {
			if c, ok := t.(*Compound); ok {
				at = int(c.pos - src.base)
			}
			var conditional bool
			if conditional, err = parts.follow(t, at, func(test *Compound) bool {
				for changed := range added {
					changed.reindex()
				}
				return p.decide(test)
			}); !conditional && parts.read() {
				err = p.add(t, added)
			}
		}
		if err != nil {
			return p.located(src, at, err)
		}
	}
}

// conditions are the directives if/1 that have no endif/0 yet, the innermost last.
type conditions []condition

type condition struct {
	at    int  // where it begins in its text
	read  bool // the clauses that follow are read
	taken bool // a part of it was read, or none of it is
}

// read reports whether clauses are read.
func (c conditions) read() bool { return len(c) == 0 || c[len(c)-1].read }

// follow follows a directive of conditional compilation; ok is false for another term.
func (c *conditions) follow(t Term, at int, decide func(test *Compound) bool) (ok bool, err error) {
	directive, isDirective := isFunctor(t, ":-", 1)
	if !isDirective {
		return false, nil
	}
	switch test, _ := directive.args[0].(*Compound); {
	case test != nil && test.name == "if" && len(test.args) == 1:
		part := condition{at: at, taken: true}
		if c.read() {
			part.read = decide(test)
			part.taken = part.read
		}
		*c = append(*c, part)
		return true, nil
	case directive.args[0] != Term(Atom("else")) && directive.args[0] != Term(Atom("endif")) && (test == nil || test.name != "elif" || len(test.args) != 1):
		return false, nil
	case len(*c) == 0:
		return true, errors.New("no if comes before it")
	case directive.args[0] == Term(Atom("endif")):
		*c = (*c)[:len(*c)-1]
		return true, nil
	default:
		last := &(*c)[len(*c)-1]
		last.read = !last.taken && (test == nil || decide(test))
		last.taken = last.taken || last.read
		return true, nil
	}
}

// conditionLimits bound what the condition of a directive if/1 may take.
var conditionLimits = Limits{Steps: 1 << 20, Memory: 16 << 20}

// decide asks the condition of a directive of the predicates that there are by now, without facts. What cannot be decided does not
// hold, and is told like a directive that is left out.
func (p *Program) decide(test *Compound) bool {
	ok, err := p.holds(test.args[0])
	if err != nil {
		p.left = append(p.left, show(test))
	}
	return ok && err == nil
}

// holds asks a goal without facts.
func (p *Program) holds(goalTerm Term) (bool, error) {
	if err := p.settle(); err != nil {
		return false, err
	}
	m := p.machine(context.Background(), &knowledge.View{Graph: knowledge.NewGraph()}, &source{}, conditionLimits)
	defer m.cutTo(0)
	if err := begin(m, goalTerm); err != nil {
		return false, err
	}
	return m.run()
}

// located puts the place into an error of reading or adding a clause.
func (p *Program) located(src *source, at int, err error) error {
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		at = syntax.at
	}
	var ex *exception
	if errors.As(err, &ex) {
		err = errors.New(told(ex.term))
	}
	return engram.Errorf(engram.Invalid, src.name, "%s: %s", place(src.text, at, true), err.Error())
}

// place tells a place in a text: its column, and its line if there are several.
func place(text string, at int, line bool) string {
	at = min(max(at, 0), len(text))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	column := len([]rune(text[start:at])) + 1
	if line || strings.Contains(strings.TrimSpace(text), "\n") {
		return fmt.Sprintf("line %d, column %d", strings.Count(text[:at], "\n")+1, column)
	}
	return fmt.Sprintf("column %d", column)
}

// add adds a clause or follows a directive.
func (p *Program) add(t Term, added map[*pred]bool) error {
	if c, ok := isFunctor(t, ":-", 1); ok {
		return p.directive(c.args[0])
	}
	if _, ok := isFunctor(t, "?-", 1); ok {
		return errors.New("a file of rules asks no questions")
	}
	if c, ok := isFunctor(t, "-->", 2); ok {
		g := grammar{newVar: func() *Var { return &Var{} }}
		var err error
		if t, err = g.rule(c.args[0], c.args[1]); err != nil {
			return err
		}
	}
	head, body := t, Term(atomTrue)
	if c, ok := isFunctor(t, ":-", 2); ok {
		head, body = c.args[0], c.args[1]
	}
	module := Atom("")
	if c, ok := isFunctor(head, ":", 2); ok {
		module, _ = deref(c.args[0]).(Atom)
		head = c.args[1]
	}
	switch i, _ := headOf(head); i { // what SWI-Prolog would have translate the rules
	case indicator{"term_expansion", 2}, indicator{"term_expansion", 4}, indicator{"goal_expansion", 2}, indicator{"goal_expansion", 4}:
		return fmt.Errorf("clauses of %s/%d are not supported: without them the rules mean something else", i.name, i.arity)
	}
	pred, err := p.headPred(head, module != "" && module != "user")
	if err != nil {
		return err
	}
	if pred.expand { // as rdf_meta declares
		if head, err = p.expandKnown(head); err != nil {
			return err
		}
	}
	comp := compiler{find: p.find, expand: p.expandKnown}
	c, err := comp.clause(head, body)
	if err != nil {
		return err
	}
	if n := len(pred.clauses); n > 0 && pred.clauses[n-1].passes { // the library's come last
		pred.clauses = slices.Insert(pred.clauses, n-1, c)
	} else {
		pred.clauses = append(pred.clauses, c)
	}
	added[pred] = true
	return nil
}

// headPred returns the predicate that a clause is of, if it may have clauses. In place of one of the library rules get their own,
// to which the clauses of the library belong if more is said of it.
func (p *Program) headPred(head Term, more bool) (*pred, error) {
	i, err := headOf(head)
	if err != nil {
		return nil, err
	}
	found := p.find(i)
	if len(p.sources) == 1 && !found.library { // the library itself
		return found, nil
	}
	if isControl(i) || found.library && fixed(i) {
		return nil, redefines(i)
	}
	if !found.library {
		return found, nil
	}
	own := &pred{indicator: i, expand: found.expand, defined: true}
	if more || p.shared[i] {
		own.clauses = []*clause{passing(found)}
	}
	p.replace(i, own)
	return own, nil
}

// passing is a clause that has another predicate answer, where that knows what it is asked.
func passing(to *pred) *clause {
	c := &clause{vars: to.arity, source: newTerm(":-", to.name, atomTrue), passes: true}
	args, vars := make([]Term, to.arity), make([]Term, to.arity)
	for i := range args {
		args[i], vars[i] = slot(i), &Var{}
	}
	if to.arity > 0 {
		c.source = newTerm(":-", &Compound{name: to.name, args: vars}, atomTrue)
	}
	pass := &pred{indicator: to.indicator, library: true, do: func(m *machine, args []Term) (bool, error) {
		unknown := newTerm("error", newTerm("existence_error", Atom("procedure"), m.newVar()), m.newVar())
		return catchIn(m, unknown, atomFail, func() (bool, error) { return m.call(to, args) })
	}}
	c.head, c.body = args, []goal{{pred: pass, args: args}}
	return c
}

// replace has the rules use another predicate of a name. Those that were read before do once the program is settled.
func (p *Program) replace(i indicator, by *pred) {
	p.preds[i] = by
	p.unsettled = true
}

// settle has all rules use the predicates that there are by now: once for all that were replaced, before a question.
func (p *Program) settle() error {
	p.settling.Lock()
	defer p.settling.Unlock()
	if !p.unsettled {
		return nil
	}
	comp := compiler{find: p.find, expand: p.expandKnown}
	for _, own := range slices.Collect(maps.Values(p.preds)) {
		if own.library || own.do != nil {
			continue
		}
		for n, c := range own.clauses {
			rule, ok := isFunctor(c.source, ":-", 2)
			if !ok || c.passes {
				continue
			}
			again, err := comp.clause(rule.args[0], rule.args[1])
			if err != nil {
				return err
			}
			own.clauses[n] = again
		}
		own.reindex()
	}
	p.unsettled = false
	return nil
}

// lacking returns the predicates that rules call and that do not exist, sorted, each once.
func (p *Program) lacking() []string {
	found := map[string]bool{}
	var look func(goals []goal)
	look = func(goals []goal) {
		for i := range goals {
			g := &goals[i]
			if g.pred != nil && !g.pred.exists() && !isControl(g.pred.indicator) {
				found[fmt.Sprintf("%s/%d", quoteAtom(string(g.pred.name)), g.pred.arity)] = true
			}
			look(g.a)
			look(g.b)
			look(g.c)
		}
	}
	for _, pred := range p.preds {
		if !pred.library {
			for _, c := range pred.clauses {
				look(c.body)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// remarks says what the rules of questions lack.
func (p *Program) remarks() (all []string) {
	if lacking := p.lacking(); len(lacking) > 0 {
		all = append(all, "the rules call predicates that are not there: "+strings.Join(lacking, ", "))
	}
	if len(p.left) > 0 {
		all = append(all, "directives of the rules are left out: "+strings.Join(p.left, ", "))
	}
	return all
}

// redefines is the error of a clause of a predicate that is not to be changed.
func redefines(i indicator) error {
	return thrown(newTerm("permission_error", Atom("modify"), Atom("static_procedure"), newTerm("/", i.name, Int(i.arity))),
		"%s/%d belongs to the language and cannot be changed; give the rule another name", i.name, i.arity)
}

func headOf(head Term) (indicator, error) {
	switch h := deref(head).(type) {
	case *Var:
		return indicator{}, instantiationError()
	case Atom:
		return indicator{h, 0}, nil
	case *Compound:
		return indicator{h.name, len(h.args)}, nil
	default:
		return indicator{}, thrown(newTerm("type_error", Atom("callable"), h), "a fact or a rule is wanted, not %s", show(h))
	}
}

// isControl tells what the compiler makes of goals by itself.
func isControl(i indicator) bool {
	switch i {
	case indicator{",", 2}, indicator{";", 2}, indicator{"|", 2}, indicator{"->", 2}, indicator{"*->", 2}, indicator{`\+`, 1}, indicator{"!", 0}, indicator{atomTrue, 0}, indicator{":-", 1}, indicator{":-", 2}:
		return true
	}
	return false
}

func (p *Program) find(i indicator) *pred {
	found, ok := p.preds[i]
	if !ok {
		found = &pred{indicator: i}
		p.preds[i] = found
	}
	return found
}

// refusedDirectives have what is read mean something else.
var refusedDirectives = map[Atom]bool{"char_conversion": true, "set_prolog_flag": true, "op": true}

// refusedFlags have what is read mean something else, or goals do something else.
var refusedFlags = map[Atom]bool{
	"double_quotes": true, "back_quotes": true, "rational_syntax": true, "character_escapes": true, "var_prefix": true, "occurs_check": true,
	"prefer_rationals": true, "traditional": true, "iso": true, "float_zero_div": true, "float_overflow": true, "float_undefined": true,
}

// directive follows a declaration. What loads or does something is left out.
func (p *Program) directive(t Term) error {
	var name Atom
	var args []Term
	switch t := t.(type) {
	case Atom:
		name = t
	case *Compound:
		name, args = t.name, t.args
	default:
		return typeError("callable", t)
	}
	switch (indicator{name, len(args)}) {
	case indicator{"module", 2}:
		for list := args[1]; ; { // operators are exported, too
			c, ok := isFunctor(list, atomDot, 2)
			if !ok {
				return nil
			}
			if o, ok := isFunctor(c.args[0], "op", 3); ok {
				if err := p.directive(o); err != nil {
					return err
				}
			}
			list = c.args[1]
		}
	case indicator{"op", 3}:
		if p.addOperators(args) {
			return nil
		}
	case indicator{"set_prolog_flag", 2}:
		flag, _ := args[0].(Atom)
		value, _ := args[1].(Atom)
		if flag == "double_quotes" && (value == "codes" || value == "chars" || value == "atom" || value == "string") {
			p.quotes = value
			return nil
		}
		if flag != "" && !refusedFlags[flag] {
			return nil
		}
	case indicator{"expand_term", 2}: // before the result is asserted
		if v, ok := deref(args[1]).(*Var); ok && v != deref(args[0]) {
			v.ref = args[0]
			return nil
		}
	case indicator{"assert", 1}, indicator{"assertz", 1}, indicator{"asserta", 1}:
		t := deref(args[0])
		if c, ok := isFunctor(t, ":", 2); ok { // the module is the head's
			t = deref(c.args[1])
			if rule, ok := isFunctor(t, ":-", 2); ok {
				t = newTerm(":-", newTerm(":", c.args[0], rule.args[0]), rule.args[1])
			} else {
				t = newTerm(":", c.args[0], t)
			}
		}
		return p.add(t, map[*pred]bool{})
	case indicator{"rdf_register_ns", 2}, indicator{"rdf_register_ns", 3}, indicator{"rdf_register_prefix", 2}, indicator{"rdf_register_prefix", 3}:
		prefix, ok1 := args[0].(Atom)
		iri, ok2 := args[1].(Atom)
		if ok1 && ok2 {
			p.AddPrefix(string(prefix), string(iri))
			return nil
		}
	case indicator{":", 2}: // rdf_db:rdf_register_ns(…)
		return p.directive(args[1])
	case indicator{atomComma, 2}:
		if err := p.directive(args[0]); err != nil {
			return err
		}
		return p.directive(args[1])
	}
	switch name {
	case "module", "use_module", "ensure_loaded", "style_check", "license", "meta_predicate", "module_transparent",
		"volatile", "public", "noprofile", "expects_dialect", "set_module", "reexport", "autoload", "encoding", "garbage_collect":
		return nil // all predicates are in one place
	case "dynamic", "discontiguous", "table":
		return p.declareAll(args, func(of *pred) {
			if !of.library {
				of.defined = true
			} else if name == "dynamic" && !p.shared[of.indicator] && !fixed(of.indicator) { // it is the rules' own
				p.replace(of.indicator, &pred{indicator: of.indicator, expand: of.expand, defined: true})
			}
		})
	case "multifile":
		return p.declareAll(args, func(pred *pred) {
			if pred.library {
				p.shared[pred.indicator] = true
			} else {
				pred.defined = true
			}
		})
	case "rdf_meta":
		return p.declareAll(args, func(pred *pred) {
			if !pred.library {
				pred.expand = true
			}
		})
	}
	if refusedDirectives[name] {
		return fmt.Errorf("the directive %s is not supported: without it the rules mean something else", show(t))
	}
	p.left = append(p.left, show(t))
	return nil
}

// addOperators is the directive op/3. It reports whether the operators are some that are known: before a term, or between two.
func (p *Program) addOperators(args []Term) bool {
	prec, ok1 := args[0].(Int)
	kind, ok2 := args[1].(Atom)
	if !ok1 || !ok2 || prec < 0 || prec > 1200 {
		return false
	}
	var names []Term
	for list := args[2]; ; {
		c, ok := isFunctor(list, atomDot, 2)
		if !ok {
			if list != Term(atomNil) {
				names = append(names, list)
			}
			break
		}
		names, list = append(names, c.args[0]), c.args[1]
	}
	own := maps.Clone(p.operators)
	for _, name := range names {
		if c, ok := isFunctor(name, ":", 2); ok {
			name = c.args[1]
		}
		atom, ok := name.(Atom)
		if !ok || atom == "," || atom == "|" || atom == atomNil || atom == atomCurly {
			return false
		}
		o := own[string(atom)]
		switch kind {
		case "fx", "fy":
			o.prefix = op{int(prec), string(kind)}
		case "xfx", "xfy", "yfx":
			o.infix = op{int(prec), string(kind)}
		default:
			return false
		}
		own[string(atom)] = o
	}
	p.operators = own
	return true
}

// declareAll calls f with the predicates that arguments of a declaration list.
func (p *Program) declareAll(args []Term, f func(*pred)) error {
	if len(args) == 0 {
		return errors.New("name/arity is wanted")
	}
	return p.declare(args[0], f)
}

// declare calls f with the predicates that name/arity or name(mode, …) list.
func (p *Program) declare(t Term, f func(*pred)) error {
	c, ok := t.(*Compound)
	if !ok {
		if t == Term(atomNil) {
			return nil
		}
		return fmt.Errorf("name/arity is wanted, not %s", show(t))
	}
	switch {
	case c.name == "," || c.name == atomDot:
		for _, arg := range c.args {
			if err := p.declare(arg, f); err != nil {
				return err
			}
		}
		return nil
	case c.name == ":" && len(c.args) == 2:
		return p.declare(c.args[1], f)
	}
	i := indicator{c.name, len(c.args)}
	if c.name == "/" && len(c.args) == 2 {
		name, ok1 := c.args[0].(Atom)
		arity, ok2 := c.args[1].(Int)
		if !ok1 || !ok2 {
			return fmt.Errorf("name/arity is wanted, not %s", show(t))
		}
		i = indicator{name, int(arity)}
	}
	f(p.find(i))
	return nil
}

// unknown is the error of a goal whose predicate does not exist.
func (m *machine) unknown(p *pred) error {
	err := thrown(newTerm("existence_error", Atom("procedure"), newTerm("/", p.name, Int(p.arity))), "there is no predicate %.100s/%d", p.name, p.arity)
	err.(*exception).hint = func() string { return m.meant(p) }
	return err
}

// meant tells what may be meant instead of a predicate that does not exist.
func (m *machine) meant(p *pred) (hint string) {
	if why, ok := withheld[p.name]; ok {
		hint = ": " + why
	} else {
		var names []string
		arities := []string{}
		for i, other := range m.program.preds {
			if !other.exists() || strings.HasPrefix(string(i.name), "$") {
				continue
			}
			if i.name == p.name {
				arities = append(arities, fmt.Sprintf("%s/%d", i.name, i.arity))
			}
			names = append(names, string(i.name))
		}
		slices.Sort(arities)
		if len(arities) > 0 {
			hint = "; there is " + strings.Join(arities, ", ")
		} else {
			spelling.Sort(string(p.name), names)
			if near := spelling.Nearest(string(p.name), names); near != "" {
				hint = "; did you mean " + near + "?"
			}
		}
	}
	return hint
}

// withheld are predicates of Prolog systems that a question does not have, and why.
var withheld = func() map[Atom]string {
	why := map[Atom]string{}
	for names, reason := range map[string]string{
		"open close see seen tell told append read read_term read_file_to_terms load_files consult ensure_loaded exists_file exists_directory delete_file directory_files rdf_load rdf_save rdf_parse owl_parse": "questions neither read nor write files",
		"shell process_create halt getenv setenv unsetenv system thread_create thread_send_message tcp_socket http_open jpl_call jpl_new":                                                                        "questions run no programs and reach no network",
		"listing write_canonical": "a question prints by print/1, writeq/1, format/2 and portray_clause/1",
		"op set_flag prompt use_module module garbage_collect initialization": "questions do not change the system",
		"rdf_reset_db": "questions change no facts but their own, by rdf_assert/3 and rdf_retractall/3",
		":-":           "a rule stands in a file of rules, or is asserted for one question by assertz/1",
		"put_attr get_attr del_attr attvar call_residue_vars": "goals wait for values by freeze/2, when/2 and dif/2; variables have no other attributes",
		"flag recorda recordz recorded erase":                 "questions have no such variables; nb_setval/2 sets one",
	} {
		for name := range strings.FieldsSeq(names) {
			why[Atom(name)] = reason
		}
	}
	return why
}()
