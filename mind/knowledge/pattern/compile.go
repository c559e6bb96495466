package pattern

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Compiled is a question whose names are known. It may be asked any number of times, by several
// goroutines at once, and of other views in which its IRIs mean the same.
type Compiled struct {
	question *Question
	text     string // what was read, for the places in errors
	slots    []string
	columns  []column
	hidden   bool // rows leave variables out
	body     []step
	mode     knowledge.Mode
	least    float64
	order    []ordering
	planned  atomic.Pointer[plan]
	prefixes *knowledge.Prefixes
	prefixed [][2]string // names with a prefix
}

type column struct {
	name  string
	slot  int // -1 for none
	count bool
}

type ordering struct {
	column     int
	descending bool
}

// step is a clause whose names are known.
type step struct {
	triple   *triple
	not      []step
	optional []step
	where    *condition
	uses     []int // slots it mentions
	binds    []int // of these, what it gives values
}

// triple is a pattern from subject to object: an inverse path is turned round.
type triple struct {
	s, o     place
	p        place // const or slot
	repeat   Repeat
	computed []string // IRIs of computed properties that count
	stated   bool     // triples may have it, too
	text     *Triple
}

type placeKind uint8

const (
	placeAny    placeKind = iota
	placeSlot             // of a variable
	placeConst            // a term
	placeTexts            // literals with a text that fulfil accepts
	placeValue            // literals that mean what the term does, which accepts tells
	placeFilter           // literals that fulfil accepts
	placeClass            // of a class expression
)

type place struct {
	kind    placeKind
	slot    int
	term    rdf.Term
	text    string
	accepts func(rdf.Term) bool // of texts nil is all
	insts   int                 // of the regular expression, if it is one
	class   *classOf
}

// listed says whether the literals of a place are listed: what is computed has others than the graph.
func (p place) listed(computed []string) bool {
	return (p.kind == placeTexts || p.kind == placeValue) && len(computed) == 0
}

// literals returns those of a graph that a text or a value stands for, as objects of a relation; nil is any.
func (p place) literals(c *knowledge.Cursor, of *knowledge.Relation) []knowledge.ID {
	switch {
	case p.kind == placeTexts:
	case of == nil || 4*of.Count(0, 0, mostCounted) > c.Count(0, 0, 0, 1):
		return c.Values(p.term)
	default: // to look at what few triples have takes less
		var found []knowledge.ID
		of.Each(0, 0, func(_, o knowledge.ID) bool {
			if c.IsLiteral(o) && !slices.Contains(found, o) && p.accepts(c.Term(o)) {
				found = append(found, o)
			}
			return true
		})
		return found
	}
	all := c.Texts(p.text)
	if p.accepts == nil {
		return all
	}
	return slices.DeleteFunc(all, func(id knowledge.ID) bool { return !p.accepts(c.Term(id)) })
}

// Compile finds what the names of a question mean in a view, and how to answer it there. An error
// about a name has a [NameError] as its cause.
func Compile(v *knowledge.View, q *Question, options ...Options) (*Compiled, error) {
	return compile(v, q, "the question", "", options)
}

// Options are what a question may use beside what it says itself.
type Options struct {
	Prefixes map[string]string // those of the question come first
}

// CompileText is Parse and Compile; errors say at which column.
func CompileText(v *knowledge.View, text string, options ...Options) (*Compiled, error) {
	q, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return compile(v, q, "the question", text, options)
}

// CompileClass compiles the question for the individuals of a class expression; the column of
// its rows is "individual".
func CompileClass(v *knowledge.View, text string, options ...Options) (*Compiled, error) {
	c, err := ParseClass(text)
	if err != nil {
		return nil, err
	}
	return compile(v, c.Ask(), "the class expression", text, options)
}

type compiler struct {
	out   *Compiled
	names *names
	what  string
	text  string
	slots map[string]int
	depth int
}

func compile(v *knowledge.View, q *Question, what, text string, options []Options) (out *Compiled, err error) {
	c := &compiler{
		out:  &Compiled{question: q, text: text, mode: q.Mode, least: q.Certain},
		text: text, slots: map[string]int{}, what: what,
	}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failed)
			if !ok {
				panic(r)
			}
			out, err = nil, f.err
		}
	}()
	cursor := v.Cursor()
	prefixes := v.Prefixes.Clone()
	for _, o := range options {
		for name, iri := range o.Prefixes {
			prefixes.Add(name, iri)
		}
	}
	for name, iri := range q.Prefixes {
		prefixes.Add(name, iri)
	}
	c.names = newNames(v, cursor, prefixes)
	c.wanted(q.Body)
	if len(q.Body) == 0 {
		c.fail(-1, "a question has a triple at least")
	}
	bound := map[int]bool{}
	c.out.body = c.clauses(q.Body, bound)
	c.conditions(q.Body, c.out.body, bound)
	c.columns(bound)
	c.out.prefixes, c.out.prefixed = prefixes, c.names.prefixed
	c.out.plan(v, cursor)
	return c.out, nil
}

func (c *compiler) fail(pos int, format string, args ...any) {
	if c.text == "" {
		pos = -1
	}
	panic(failed{errorAt(c.what, c.text, pos, fmt.Sprintf(format, args...), nil)})
}

// wanted tells names what will be asked for, so that it looks once.
func (c *compiler) wanted(clauses []Clause) {
	for _, clause := range clauses {
		if t := clause.Triple; t != nil {
			for _, term := range []Term{t.S, t.P.Property, t.O} {
				c.names.want(term)
				if term.class != nil {
					c.wantedClass(term.class)
				}
			}
		}
		c.wanted(clause.Not)
		c.wanted(clause.Optional)
	}
}

func (c *compiler) wantedClass(class *Class) {
	for _, t := range append([]Term{class.name, class.property, class.value}, class.members...) {
		c.names.want(t)
	}
	for _, of := range class.of {
		c.wantedClass(of)
	}
}

// iri returns what a name or IRI means.
func (c *compiler) iri(t Term, as role) string {
	if t.kind == exact {
		return t.term.Value
	}
	iri, err := c.names.iri(t.text, as)
	if err != nil {
		pos := t.pos
		if c.text == "" {
			pos = -1
		}
		panic(failed{errorAt(c.what, c.text, pos, err.Error(), err)})
	}
	return iri
}

func (c *compiler) slot(name string) int {
	i, ok := c.slots[name]
	if !ok {
		i = len(c.out.slots)
		c.slots[name] = i
		c.out.slots = append(c.out.slots, name)
	}
	return i
}

// clauses compiles triples and what is within braces, and notes what is bound by all of them.
func (c *compiler) clauses(clauses []Clause, bound map[int]bool) []step {
	if c.depth++; c.depth > maxNesting {
		c.fail(-1, "it is nested more than %d deep", maxNesting)
	}
	defer func() { c.depth-- }()
	out := make([]step, len(clauses))
	for i, clause := range clauses {
		s := &out[i]
		switch {
		case clause.Triple != nil:
			s.triple = c.triple(clause.Triple, clause.pos)
			s.uses = s.triple.uses(nil)
			s.binds = s.uses
			for _, slot := range s.uses {
				bound[slot] = true
			}
		case len(clause.Not) > 0:
			s.not = c.clauses(clause.Not, map[int]bool{})
			s.uses = usesOf(s.not)
		case len(clause.Optional) > 0:
			inner := map[int]bool{}
			s.optional = c.clauses(clause.Optional, inner)
			s.uses = usesOf(s.optional)
			for slot := range inner {
				bound[slot] = true
				s.binds = append(s.binds, slot)
			}
		case clause.Where == "":
			c.fail(clause.pos, "a clause is empty")
		}
	}
	return out
}

// conditions compiles what is written in CEL, now that all variables are known.
func (c *compiler) conditions(clauses []Clause, steps []step, bound map[int]bool) {
	for i, clause := range clauses {
		s := &steps[i]
		inner := func(steps []step) map[int]bool {
			all := map[int]bool{}
			for slot := range bound {
				all[slot] = true
			}
			for _, slot := range usesOf(steps) {
				all[slot] = true
			}
			return all
		}
		switch {
		case clause.Where != "":
			s.where = c.condition(clause, bound)
			s.uses = s.where.slots
		case len(clause.Not) > 0:
			c.conditions(clause.Not, s.not, inner(s.not))
			s.uses = usesOf(s.not)
		case len(clause.Optional) > 0:
			c.conditions(clause.Optional, s.optional, inner(s.optional))
			s.uses = usesOf(s.optional)
		}
	}
}

func usesOf(steps []step) []int {
	var all []int
	for i := range steps {
		for _, slot := range steps[i].uses {
			if !slices.Contains(all, slot) {
				all = append(all, slot)
			}
		}
	}
	return all
}

func (t *triple) uses(all []int) []int {
	for _, p := range []place{t.s, t.p, t.o} {
		if p.kind == placeSlot && !slices.Contains(all, p.slot) {
			all = append(all, p.slot)
		}
	}
	return all
}

func (c *compiler) triple(in *Triple, pos int) *triple {
	t := &triple{text: in, repeat: in.P.Repeat, stated: true}
	if in.S.kind == variable { // columns are in the order of the text
		c.slot(in.S.text)
	}
	property := ""
	switch p := in.P.Property; p.kind {
	case variable:
		t.p = place{kind: placeSlot, slot: c.slot(p.text)}
		if t.repeat != Once {
			c.fail(p.pos, "a variable stands for one step; + and * need a property")
		}
	case named, exact:
		property = c.iri(p, asProperty)
		t.p = place{kind: placeConst, term: rdf.NewIRI(property)}
	default:
		c.fail(p.pos, "a property is wanted here: a name, an IRI or a variable")
	}
	object := asThing
	if property == rdf.NS+"type" || property == rdf.NSRDFS+"subClassOf" {
		object = asClass
	} else if property == rdf.NSRDFS+"subPropertyOf" || property == rdf.NSOWL+"inverseOf" {
		object = asProperty
	}
	subject := asThing
	if property == rdf.NSRDFS+"subClassOf" {
		subject = asClass
	} else if object == asProperty {
		subject = asProperty
	}
	from, to := in.S, in.O
	if in.P.Inverse {
		from, to = to, from
	}
	t.s, t.o = c.place(from, subject), c.place(to, object)
	if t.s.kind == placeTexts || t.s.kind == placeValue || t.s.kind == placeFilter || t.s.kind == placeConst && t.s.term.Kind == rdf.Literal {
		c.fail(pos, "a literal has no properties: the subject is a variable, a name or an IRI")
	}
	if t.s.kind == placeClass {
		c.fail(pos, "a class expression is the object of a triple")
	}
	if property != "" {
		t.computed = c.names.computedBelow(property, c.out.mode)
	}
	return t
}

// computedBelow returns the computed properties that count as a property.
func (n *names) computedBelow(property string, mode knowledge.Mode) []string {
	if len(n.computed) == 0 {
		return nil
	}
	// One with an observer or a body in its IRI is not among those that are listed.
	if _, ok := n.view.Computed.Compute(rdf.Term{}, property, rdf.Term{}); ok && !n.computed[property] {
		return []string{property}
	}
	var all []string
	for _, id := range n.cursor.Relation(n.cursor.ID(rdf.NewIRI(property)), mode).Below() {
		if iri := n.cursor.Term(id).Value; n.computed[iri] {
			all = append(all, iri)
		}
	}
	return all
}

func (c *compiler) place(t Term, as role) place {
	switch t.kind {
	case variable:
		return place{kind: placeSlot, slot: c.slot(t.text)}
	case named:
		return place{kind: placeConst, term: rdf.NewIRI(c.iri(t, as))}
	case exact:
		it := c.exact(t)
		if it.Kind != rdf.Literal {
			return place{kind: placeConst, term: it}
		}
		value := rdf.ValueOf(it)
		accepts := func(other rdf.Term) bool { return other == it || rdf.ValueOf(other).Equal(value) }
		if value.IsText() {
			return place{kind: placeTexts, text: it.Value, accepts: accepts}
		}
		return place{kind: placeValue, term: it, accepts: accepts}
	case ofClass:
		return place{kind: placeClass, class: c.class(t.class)}
	case anything:
		return place{kind: placeAny}
	case anyText:
		return place{kind: placeTexts, text: t.text}
	}
	accepts, insts := c.accepts(t)
	return place{kind: placeFilter, accepts: accepts, insts: insts}
}

// exact returns a term of RDF; the datatype may be a name.
func (c *compiler) exact(t Term) rdf.Term {
	it := t.term
	if t.text != "" {
		it.Type = c.iri(Term{kind: named, text: t.text, pos: t.pos}, asClass)
	}
	return it
}

// accepts returns what says whether a term is a literal like t, and how large the regular expression is that it is
// matched with, if any.
func (c *compiler) accepts(t Term) (func(rdf.Term) bool, int) {
	means := func(literal rdf.Term) func(rdf.Term) bool {
		value := rdf.ValueOf(literal)
		return func(it rdf.Term) bool {
			v, w := rdf.Alike(rdf.ValueOf(it), value)
			return v.Equal(w)
		}
	}
	switch t.kind {
	case number:
		value, ok := rdf.NewNumber(t.text)
		if !ok {
			c.fail(t.pos, "%s is no number", t.text)
		}
		return means(value), 0
	case boolean:
		return means(rdf.NewTyped(t.text, rdf.NSXSD+"boolean")), 0
	}
	re, insts, err := bounded(t.text)
	if err != nil {
		c.fail(t.pos, "%v", err)
	}
	return func(it rdf.Term) bool { return it.Kind == rdf.Literal && re.MatchString(it.Value) }, insts
}

// columns finds what rows have.
func (c *compiler) columns(bound map[int]bool) {
	q, out := c.out.question, c.out
	known := func(name string) int {
		slot, ok := c.slots[name]
		if ok && bound[slot] {
			return slot
		}
		var all []string
		for slot := range bound {
			all = append(all, out.slots[slot])
		}
		slices.Sort(all)
		hint := ""
		if near := spelling.Nearest(name, all); near != "" {
			hint = "; did you mean ?" + near + "?"
		}
		c.fail(-1, "no triple has the variable ?%s%s", name, hint)
		return -1
	}
	for _, it := range q.Select {
		col := column{name: it.Column(), slot: -1, count: it.Count}
		if it.Var != "" {
			col.slot = known(it.Var)
		}
		if slices.ContainsFunc(out.columns, func(other column) bool { return other.name == col.name }) {
			c.fail(-1, "select has %s twice", it)
		}
		out.columns = append(out.columns, col)
	}
	if len(q.Select) == 0 {
		for slot, name := range out.slots {
			if bound[slot] && !strings.HasPrefix(name, "_") {
				out.columns = append(out.columns, column{name: name, slot: slot})
			}
		}
	}
	counts := slices.ContainsFunc(out.columns, func(col column) bool { return col.count })
	for slot := range bound {
		out.hidden = out.hidden || !slices.ContainsFunc(out.columns, func(col column) bool { return col.slot == slot && !col.count })
	}
	for i := range out.columns {
		if name := out.columns[i].name; name == probabilityName || counts && name == "count" && !out.columns[i].count {
			c.fail(-1, "?%s is what rows say themselves; give the variable another name", name)
		}
	}
	for _, o := range q.Order {
		at := slices.IndexFunc(out.columns, func(col column) bool { return col.name == o.Var })
		if at < 0 {
			known(o.Var)
			c.fail(-1, "rows are ordered by what they have; select ?%s, too", o.Var)
		}
		out.order = append(out.order, ordering{at, o.Descending})
	}
}

// probabilityName is the member of a row in JSON that is not from a variable.
const probabilityName = "probability"

// plan is the order of steps.
type plan struct {
	steps  []step
	length int // of the graph that it was made for
}

// plan returns an order of steps for a view; that of another holds while their sizes are like
// each other's.
func (c *Compiled) plan(v *knowledge.View, cursor *knowledge.Cursor) *plan {
	n := v.Len()
	if p := c.planned.Load(); p != nil && n <= 2*p.length+16 && p.length <= 2*n+16 {
		return p
	}
	pl := planner{cursor: cursor, mode: c.mode, samples: map[sampled]float64{}, literals: map[*triple][]knowledge.ID{}}
	p := &plan{steps: pl.order(c.body, map[int]bool{}), length: n}
	c.planned.Store(p)
	return p
}

// Columns returns the names of what rows have.
func (c *Compiled) Columns() []string {
	var all []string
	for _, col := range c.columns {
		all = append(all, col.name)
	}
	return all
}

// String returns the question.
func (c *Compiled) String() string { return c.question.String() }

// Plan returns the clauses in the order in which they are looked at, for people.
func (c *Compiled) Plan() []string {
	var all []string
	for _, s := range c.planned.Load().steps {
		switch {
		case s.triple != nil:
			all = append(all, s.triple.text.String())
		case s.where != nil:
			all = append(all, "where "+s.where.text)
		case s.not != nil:
			all = append(all, "not …")
		default:
			all = append(all, "optional …")
		}
	}
	return all
}

// planner puts steps in order, by how many triples each is thought to look at.
type planner struct {
	cursor   *knowledge.Cursor
	mode     knowledge.Mode
	samples  map[sampled]float64
	literals map[*triple][]knowledge.ID // of objects
}

type sampled struct {
	property knowledge.ID
	byObject bool
}

// order returns steps so that each has what it needs: triples by cost, conditions and negations
// as soon as their variables are bound, and then the optional parts with the rest.
func (p *planner) order(steps []step, bound map[int]bool) []step {
	// What triples and optional parts bind, in this part of the question.
	here, later := map[int]bool{}, map[int]bool{}
	for slot := range bound {
		here[slot] = true
	}
	var triples, others, optionals []step
	for _, s := range steps {
		switch {
		case s.triple != nil:
			triples = append(triples, s)
			for _, slot := range s.uses {
				here[slot] = true
			}
		case s.optional != nil:
			optionals = append(optionals, s)
			for _, slot := range s.binds {
				later[slot] = true
			}
		default:
			others = append(others, s)
		}
	}
	var out []step
	now := map[int]bool{}
	for slot := range bound {
		now[slot] = true
	}
	put := func(s step) {
		if s.triple != nil { // what is optional may be left without a value
			for _, slot := range s.binds {
				now[slot] = true
			}
		}
		out = append(out, s)
	}
	ready := func(last bool) {
		others = slices.DeleteFunc(others, func(s step) bool {
			for _, slot := range s.uses {
				if !now[slot] && (here[slot] || later[slot]) && !last {
					return false
				}
			}
			if s.not != nil {
				s.not = p.order(s.not, now)
			}
			put(s)
			return true
		})
	}
	ready(false)
	for len(triples) > 0 {
		best, least := 0, math.Inf(1)
		for i, s := range triples {
			if cost := p.cost(s.triple, now); cost < least {
				best, least = i, cost
			}
		}
		put(triples[best])
		triples = slices.Delete(triples, best, best+1)
		ready(false)
	}
	for _, s := range optionals {
		s.optional = p.order(s.optional, now)
		put(s)
	}
	ready(true)
	return out
}

// mostCounted bounds what the planner looks at to count.
const mostCounted = 2000

// cost is how many triples a step looks at for each row before it, and how many rows come of it.
func (p *planner) cost(t *triple, bound map[int]bool) float64 {
	c := p.cursor
	is := func(at place) (id knowledge.ID, known bool) {
		switch at.kind {
		case placeSlot:
			return 0, bound[at.slot]
		case placeConst:
			return c.ID(at.term), true
		}
		return 0, false
	}
	s, knowsS := is(t.s)
	o, knowsO := is(t.o)
	listed := !knowsS && t.o.listed(t.computed)
	literals := func(of *knowledge.Relation) []knowledge.ID {
		if _, known := p.literals[t]; !known {
			p.literals[t] = t.o.literals(c, of)
		}
		return p.literals[t]
	}
	factor := 1.0
	joined := knowsS && t.s.kind == placeSlot || knowsO && t.o.kind == placeSlot
	if len(bound) > 0 && !joined {
		factor = 4 // a product with all rows before
	}
	if len(t.computed) > 0 {
		factor *= 100
	}
	if t.repeat != Once {
		factor *= 6
	}
	if t.p.kind == placeSlot {
		switch {
		case knowsS && knowsO:
			return factor
		case knowsS && s != 0, knowsO && o != 0:
			return factor * float64(c.Count(s, 0, o, mostCounted)+1)
		case knowsS:
			return factor * 8
		case knowsO:
			return factor * 30
		case listed:
			n := 1
			for _, id := range literals(nil) {
				n += c.Count(0, 0, id, mostCounted)
			}
			return factor * float64(n)
		}
		return factor * float64(c.Count(0, 0, 0, 1)+1)
	}
	property := c.ID(t.p.term)
	if property == knowledge.IDType && p.mode == knowledge.AsOWL && t.repeat == Once {
		switch {
		case knowsS && t.o.kind == placeClass:
			return 3
		case knowsS:
			return 0.9
		case t.o.kind == placeClass:
			return factor * (t.o.class.cost(p) + 1)
		case o != 0:
			return factor * float64(c.CountMembers(o, mostCounted)+1)
		}
	}
	rel := c.Relation(property, p.mode)
	if listed {
		n := 1
		for _, id := range literals(rel) {
			n += rel.Count(s, id, mostCounted)
		}
		return factor * float64(n)
	}
	switch {
	case knowsS && knowsO && (s == 0 || o == 0):
		return factor * 0.8
	case knowsS && s == 0:
		return factor * p.fan(rel, property, false)
	case knowsO && o == 0:
		return factor * p.fan(rel, property, true)
	}
	return factor * float64(rel.Count(s, o, mostCounted)+1)
}

// fan is how many objects a subject of a property has, or how many subjects an object, on a few
// that are looked at.
func (p *planner) fan(rel *knowledge.Relation, property knowledge.ID, byObject bool) float64 {
	key := sampled{property, byObject}
	if n, ok := p.samples[key]; ok {
		return n
	}
	sum, n := 0, 0
	for _, of := range rel.Below() {
		p.cursor.Match(0, of, 0, func(s, _, o knowledge.ID) bool {
			if n++; byObject {
				sum += p.cursor.Count(0, of, o, mostCounted)
			} else {
				sum += p.cursor.Count(s, of, 0, mostCounted)
			}
			return n < 16
		})
	}
	fan := 1.0
	if n > 0 {
		fan = float64(sum) / float64(n)
	}
	p.samples[key] = fan
	return fan
}
