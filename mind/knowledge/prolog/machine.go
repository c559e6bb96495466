package prolog

import (
	"math/big"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// frame is what follows when a goal has succeeded.
type frame struct {
	code []goal
	env  []Term
	cut  int // how many choices the clause's ! leaves
	next *frame
	view *knowledge.View // what the goals are asked of
	pos  int32           // of the goal whose success it waits for
	top  bool            // it is of the question itself: it is kept even if nothing follows, to tell places
	seen uint16          // the measurement of memory that has counted it
	into *collector
	in   *catching
}

type choiceKind uint8

const (
	chooseCode    choiceKind = iota // go on with code
	chooseClause                    // the next clause
	chooseNext                      // the next answer of a Go function
	chooseCatch                     // nothing: catch/3 was called here
	chooseCleanup                   // nothing: a goal with a cleanup was called here
	chooseCollect                   // the end of what a collector collects
	chooseNothing                   // nothing
)

// choice is where to go on when a goal has failed.
type choice struct {
	kind  choiceKind
	trail int
	mark  uint64 // variables from here on are younger
	frame        // what follows
	args  []Term
	of    *pred // whose clauses are tried
	rest  []*clause
	at    int // the next one of rest
	again *alternatives
	used  *used
}

// used is a fact that what is done rests on, and those before it.
type used struct {
	fact   rdf.Triple
	before *used
	seen   uint16 // the measurement of memory that has counted it
}

// usedBytes is what one takes; its texts are the graph's.
const usedBytes = 224

// alternatives are the answers of a Go function.
type alternatives struct {
	// next tries the next one; more says that there may be another.
	next func() (ok, more bool, err error)
	stop func() // nil where nothing is to be ended
	// held adds what is kept for the next ones; nil where that is little.
	held func(*sizing)
}

// collector collects the solutions of a goal.
type collector struct {
	template Term
	results  []Term
	finish   func(results []Term) (bool, error)
}

// catching is a call of catch/3, or of a goal with a cleanup: that is the recovery then, and catches nothing.
type catching struct{ catcher, recovery Term }

// machine answers one question.
type machine struct {
	program  *Program
	asked    *knowledge.View // what the question is asked of
	present  engram.Time     // the time of the question
	graphOwn bool            // its graph is the question's own
	views    map[engram.Time]*knowledge.View
	*heap
	own     map[indicator]*pred // predicates that exist in this question only
	globals map[Atom]Term       // of nb_setval/2
	changed map[*pred]*pred     // predicates of the program as this question has changed them
	calls   map[*Compound][]goal

	frame   // what is being done
	goalPos int32
	whole   Term      // the question, as it was read
	sources []*source // of the program, and the question's

	choices  []choice
	cleanups []frame // of calls that are over, whose cleanup is still to be carried out
	answered []*Var  // the variables of the question, those without a name, too

	output

	why  bool  // facts are to be remembered
	used *used // the last one
}

// push adds a choice that goes on with what follows now.
func (m *machine) push(kind choiceKind) *choice {
	m.choices = append(m.choices, choice{kind: kind, trail: len(m.trail), mark: m.lastVar + 1, frame: m.frame, used: m.used})
	m.young = m.lastVar + 1
	return &m.choices[len(m.choices)-1]
}

// cutTo takes choices away until so many are left.
func (m *machine) cutTo(n int) {
	for i := len(m.choices) - 1; i >= n; i-- {
		if again := m.choices[i].again; again != nil && again.stop != nil {
			again.stop()
		}
		if m.choices[i].kind == chooseCleanup {
			m.cleanups = append(m.cleanups, m.choices[i].frame)
		}
		m.choices[i] = choice{}
	}
	if n < len(m.choices) {
		m.choices = m.choices[:n]
	}
	m.young = firstAge
	if n > 0 {
		m.young = m.choices[n-1].mark
	}
}

// follow returns a frame for what follows now, made only if there is something to do.
func (m *machine) follow() *frame {
	if len(m.code) == 0 && !m.top {
		return m.frame.next
	}
	f := m.frame
	f.pos = m.goalPos
	return &f
}

// ownBase is where the question begins in the sources.
func (m *machine) ownBase() int32 { return m.sources[len(m.sources)-1].base }

// run goes on to the next solution.
func (m *machine) run() (bool, error) {
	for {
		if len(m.woken) > 0 {
			if err := wake(m); err != nil {
				return false, m.caught(err)
			}
		}
		if len(m.code) == 0 {
			m.frame = *m.frame.next
			continue
		}
		if err := m.spend(1); err != nil {
			return false, err
		}
		ok, done, err := m.step()
		if done {
			return true, nil
		}
		if err != nil {
			if err := m.caught(err); err != nil {
				return false, err
			}
			continue
		}
		if len(m.cleanups) > 0 {
			m.cleanUp(ok)
			continue
		}
		if !ok {
			if more, err := m.backtrack(); !more || err != nil {
				return false, err
			}
		}
	}
}

// cleanUp has the cleanups of calls that are over carried out, the innermost first, and then what
// follows, or failure.
func (m *machine) cleanUp(ok bool) {
	if !ok {
		m.frame = frame{code: codeNone, next: m.frame.next, view: m.view}
	}
	for i := len(m.cleanups) - 1; i >= 0; i-- {
		over := m.cleanups[i]
		m.frame = frame{code: m.ignoring(over.in.recovery), next: m.follow(), view: over.view}
	}
	m.cleanups = nil
}

// ignoring is a goal that is carried out once, and may fail.
func (m *machine) ignoring(t Term) []goal {
	return []goal{{pred: m.find(indicator{"ignore", 1}), direct: true, args: []Term{t}}}
}

// step carries out one goal.
func (m *machine) step() (ok, done bool, err error) {
	g := &m.code[0]
	m.pending = 0
	m.code = m.code[1:]
	switch g.kind {
	case doCall:
		m.goalPos = g.pos
		args := g.args
		if !g.direct || m.mutable {
			if err := m.charge(16*len(g.args) + g.size); err != nil {
				return false, false, err
			}
			args = make([]Term, len(g.args))
			for i, arg := range g.args {
				args[i] = m.resolve(arg, m.env)
			}
		}
		ok, err = m.call(g.pred, args)
		return ok, false, err
	case doVar: // a variable needs no room
		ok, err = m.callGoal(m.resolve(g.args[0], m.env))
		return ok, false, err
	case doCut:
		m.cutTo(m.cut)
		return true, false, nil
	case doOr:
		m.goalPos = g.pos
		f := m.follow()
		c := m.push(chooseCode)
		c.frame.code, c.frame.next = g.b, f
		m.code, m.frame.next = g.a, f
		return true, false, m.charge(200)
	case doIf, doSoftIf:
		m.goalPos = g.pos
		f := m.follow()
		height := len(m.choices)
		then := &frame{code: g.b, env: m.env, cut: m.cut, next: f, view: m.view}
		if g.hasElse {
			c := m.push(chooseCode)
			c.frame.code, c.frame.next = g.c, f
		}
		end := codeCutTo
		if g.kind == doSoftIf {
			end = codeSoftCut
		}
		m.code, m.frame.next = g.a, &frame{code: end, cut: height, next: then}
		m.cut = len(m.choices)
		return true, false, m.charge(300)
	case doNot:
		m.goalPos = g.pos
		f := m.follow()
		height := len(m.choices)
		m.push(chooseCode)
		m.code, m.frame.next = g.a, &frame{code: codeNot, cut: height, next: f}
		m.cut = len(m.choices)
		return true, false, m.charge(300)
	case doCutTo:
		m.cutTo(m.cut)
		return true, false, nil
	case doSoftCut:
		if m.choices[m.cut].kind = chooseNothing; m.cut == len(m.choices)-1 {
			m.cutTo(m.cut)
		}
		return true, false, nil
	case doFail:
		return false, false, nil
	case doCollect:
		t, err := m.copyTerm(m.into.template, map[*Var]Term{}, 0)
		if err == nil {
			err = m.charge(16)
		}
		m.into.results = append(m.into.results, t)
		return false, false, err
	case doExit:
		if top := len(m.choices) - 1; top >= 0 && m.choices[top].in == m.in {
			m.cutTo(top) // nothing is left to be tried
		}
		return true, false, nil
	case doDone:
		return true, true, nil
	}
	panic("no such goal")
}

var (
	codeCutTo   = []goal{{kind: doCutTo}}
	codeSoftCut = []goal{{kind: doSoftCut}}
	codeNot     = []goal{{kind: doCutTo}, {kind: doFail}}
	codeCollect = []goal{{kind: doCollect}}
	codeExit    = []goal{{kind: doExit}}
	codeDone    = []goal{{kind: doDone}}
)

// call calls a predicate.
func (m *machine) call(p *pred, args []Term) (bool, error) {
	if p.do != nil {
		return p.do(m, args)
	}
	if changed, ok := m.changed[p]; ok {
		p = changed
	}
	if !p.exists() {
		return false, m.unknown(p)
	}
	if err := m.charge(128); err != nil {
		return false, err
	}
	m.frame = frame{next: m.follow(), cut: len(m.choices), view: m.view}
	if p.stale {
		if err := m.charge(8 * len(p.clauses)); err != nil {
			return false, err
		}
		p.reindex()
	}
	return m.enter(p, args, p.matching(args), 0, nil)
}

// enter tries clauses of a predicate in turn, from the i-th on. top is the choice that stands for them
// already, if any.
func (m *machine) enter(p *pred, args []Term, rest []*clause, i int, top *choice) (bool, error) {
	var key Term
	if len(args) > 0 {
		key = keyOf(deref(args[0]))
	}
	for {
		for i < len(rest) && !rest[i].mayMatch(key) {
			i++
		}
		if i == len(rest) {
			if top != nil {
				m.cutTo(len(m.choices) - 1)
			}
			return false, nil
		}
		c := rest[i]
		i++
		for i < len(rest) && !rest[i].mayMatch(key) {
			i++
		}
		last := i == len(rest)
		switch {
		case last && top != nil:
			m.cutTo(len(m.choices) - 1)
			top = nil
		case !last && top == nil:
			top = m.push(chooseClause)
			top.of, top.args, top.rest, top.at = p, args, rest, i
		case !last:
			top.at = i
		}
		if err := m.spend(1); err != nil {
			return false, err
		}
		env := make([]Term, c.vars)
		ok, err := m.match(c, args, env)
		if err != nil {
			return false, err
		}
		if ok {
			for i, t := range env {
				if t == nil {
					env[i] = m.newVar()
				}
			}
			m.code, m.env = c.body, env
			return true, m.charge(24 + 48*c.vars)
		}
		if last {
			return false, nil
		}
		m.undo(top.trail)
	}
}

// match unifies the head of a clause with arguments.
func (h *heap) match(c *clause, args []Term, env []Term) (bool, error) {
	for i, t := range c.head {
		if ok, err := h.matchTerm(t, args[i], env); !ok {
			return false, err
		}
	}
	return true, nil
}

func (h *heap) matchTerm(tmpl, t Term, env []Term) (bool, error) {
again: // with the last arguments, so that lists may be long
	switch x := tmpl.(type) {
	case slot:
		if x < 0 {
			return true, nil
		}
		if env[x] == nil {
			env[x] = deref(t)
			return true, nil
		}
		return h.unify(env[x], t)
	case *Compound:
		t = deref(t)
		if x.ground {
			if h.mutable {
				return h.unify(duplicate(h, x), t)
			}
			return h.unify(x, t)
		}
		switch is := t.(type) {
		case *Var:
			if err := h.charge(templateSize(x)); err != nil {
				return false, err
			}
			h.bind(is, h.resolve(x, env))
			return true, nil
		case *Compound:
			if is.name != x.name || len(is.args) != len(x.args) {
				return false, nil
			}
			last := len(x.args) - 1
			for i, arg := range x.args[:last] {
				if ok, err := h.matchTerm(arg, is.args[i], env); !ok {
					return false, err
				}
			}
			tmpl, t = x.args[last], is.args[last]
			goto again
		}
		return false, nil
	}
	switch t := deref(t).(type) {
	case *Var:
		h.bind(t, tmpl)
		return true, nil
	case *Compound:
		return false, nil
	case *big.Int:
		z, ok := tmpl.(*big.Int)
		return ok && z.Cmp(t) == 0, nil
	case Float:
		f, ok := tmpl.(Float)
		return ok && sameFloat(f, t), nil
	default:
		return t == tmpl, nil
	}
}

// resolve returns the term of a template, whose size has been charged.
func (h *heap) resolve(t Term, env []Term) Term {
	switch x := t.(type) {
	case slot:
		if x < 0 {
			return h.newVar()
		}
		if env[x] == nil {
			env[x] = h.newVar()
		}
		return env[x]
	case *Compound:
		switch {
		case h.mutable && x.ground:
			return duplicate(h, x)
		case x.ground || !x.shared:
			return x
		}
		top := &Compound{name: x.name, args: make([]Term, len(x.args)), pos: x.pos}
		for c := top; ; {
			last := len(x.args) - 1
			for i, arg := range x.args[:last] {
				c.args[i] = h.resolve(arg, env)
			}
			next, ok := x.args[last].(*Compound)
			if !ok || next.ground || !next.shared { // of the rest, too
				c.args[last] = h.resolve(x.args[last], env)
				return top
			}
			below := &Compound{name: next.name, args: make([]Term, len(next.args)), pos: next.pos}
			c.args[last], c, x = below, below, next
		}
	}
	return t
}

// backtrack goes back to the last choice and on from there; more is false if there is none.
func (m *machine) backtrack() (more bool, err error) {
	for {
		if err := m.spend(1); err != nil {
			return false, err
		}
		n := len(m.choices)
		if n == 0 {
			return false, nil
		}
		m.pending = 0
		c := &m.choices[n-1]
		m.undo(c.trail)
		m.frame, m.used = c.frame, c.used
		ok := false
		switch c.kind {
		case chooseCode:
			m.cutTo(n - 1)
			return true, nil
		case chooseClause:
			ok, err = m.enter(c.of, c.args, c.rest, c.at, c)
		case chooseNext:
			ok, err = m.redo()
		case chooseCleanup:
			m.cutTo(n - 1)
			m.cleanUp(false)
			return true, nil
		case chooseCollect:
			into := c.into
			m.into = nil
			m.cutTo(n - 1)
			ok, err = into.finish(into.results)
		default:
			m.cutTo(n - 1)
		}
		if err != nil {
			if err := m.caught(err); err != nil {
				return false, err
			}
			return true, nil
		}
		if ok {
			return true, nil
		}
	}
}

// choose has a Go function give its answers one by one.
func (m *machine) choose(again alternatives) (bool, error) {
	m.push(chooseNext).again = &again
	if err := m.charge(256); err != nil {
		return false, err
	}
	return m.redo()
}

// redo tries the answers that the last choice has left.
func (m *machine) redo() (bool, error) {
	for {
		n := len(m.choices)
		c := &m.choices[n-1]
		trail := c.trail
		if err := m.spend(1); err != nil {
			return false, err
		}
		ok, more, err := c.again.next()
		if !more || err != nil {
			m.cutTo(n - 1)
		}
		if ok || err != nil {
			return ok, err
		}
		m.undo(trail)
		if !more {
			return false, nil
		}
	}
}

// rests remembers a fact that what is done from here on rests on.
func (m *machine) rests(fact rdf.Triple) {
	if m.why {
		m.used = &used{fact: fact, before: m.used}
		m.allocated += usedBytes
	}
}

// collect has all solutions of a goal collected, as copies of the template, and then goes on
// with finish.
func (m *machine) collect(template, goal Term, finish func(results []Term) (bool, error)) (bool, error) {
	into := &collector{template: template, finish: finish}
	f := m.follow()
	m.push(chooseCollect).into = into
	m.frame = frame{next: &frame{code: codeCollect, next: f, into: into}, view: m.view}
	return m.callGoal(goal)
}

// callGoal calls a term, to which a cut in it is local.
func (m *machine) callGoal(t Term) (bool, error) {
	t = deref(t)
	c, ok := t.(*Compound)
	if !ok {
		switch t := t.(type) {
		case *Var:
			return false, instantiationError()
		case Atom:
			if t == atomTrue || t == "!" {
				return true, nil
			}
			return m.call(m.find(indicator{t, 0}), nil)
		}
		return false, typeError("callable", t)
	}
	code, ok := m.calls[c]
	if !ok {
		comp := m.compiler()
		var err error
		if code, err = comp.body(c, nil); err != nil {
			return false, err
		}
		if c.pos >= m.ownBase() && c.shared { // it stands in the question
			m.calls[c] = code
		}
	}
	m.frame = frame{code: code, next: m.follow(), cut: len(m.choices), view: m.view}
	return true, nil
}

// caught goes on where catch/3 catches an error; it returns the error if nothing does.
func (m *machine) caught(err error) error {
	ex, ok := err.(*exception)
	if !ok {
		m.goalPos = m.where(m.goalPos)
		m.cutTo(0)
		return err
	}
	if ex.pos == 0 {
		ex.pos = m.where(m.goalPos)
	}
	from := m.frame // that of the goal that threw: only the catch/3 that it is in may catch
	from.pos = m.goalPos
	active := map[*catching]bool{}
	for f := &from; f != nil; f = f.next {
		if f.in != nil {
			active[f.in] = true
		}
	}
	for n := len(m.choices); n > 0; n = len(m.choices) {
		c := &m.choices[n-1]
		in := c.in
		m.undo(c.trail)
		m.frame, m.used = c.frame, c.used
		isCatch, isCleanup := c.kind == chooseCatch && active[in], c.kind == chooseCleanup
		m.cutTo(n - 1)
		if isCleanup { // whatever comes of it, the error goes on
			m.cleanups = m.cleanups[:len(m.cleanups)-1]
			again := &pred{library: true, do: func(*machine, []Term) (bool, error) { return false, ex }}
			m.frame = frame{code: []goal{{pred: again, direct: true}}, next: &from, view: m.view}
			_, err := m.callGoal(newTerm("catch", newTerm("ignore", in.recovery), m.newVar(), atomTrue))
			return err
		}
		if !isCatch {
			continue
		}
		m.frame.in = nil
		// What does not catch it leaves the term as it was thrown to the next catch/3.
		ok, err := m.tryUnify(in.catcher, ex.term, true)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if ok, err = m.callGoal(in.recovery); err != nil {
			return m.caught(err)
		} else if !ok {
			more, err := m.backtrack()
			if err == nil && !more {
				m.frame = frame{code: codeNone}
			}
			return err
		}
		return nil
	}
	return ex
}

var codeNone = []goal{{kind: doFail}}

// where returns the place of a goal in the question or in the rules of its asker: the goal's,
// or that of the one that led to it.
func (m *machine) where(pos int32) int32 {
	library := m.sources[0].end()
	for f := &m.frame; pos < library && f != nil; f = f.next {
		pos = f.pos
	}
	if pos < library {
		return 0
	}
	return pos
}

// ownBytes is what a predicate that exists in a question only takes, beside its name.
const ownBytes = 300

// compiler returns a compiler of what the question makes, which pays for it.
func (m *machine) compiler() compiler {
	return compiler{find: m.find, expand: m.expandKnown, pay: m.charge}
}

// find returns the predicate of that name, which may not exist.
func (m *machine) find(i indicator) *pred {
	if p, ok := m.program.preds[i]; ok {
		return p
	}
	p, ok := m.own[i]
	if !ok {
		p = &pred{indicator: i, own: true}
		m.own[i] = p
		m.kept += ownBytes + int64(len(i.name))
		m.allocated += ownBytes + int64(len(i.name))
	}
	return p
}
