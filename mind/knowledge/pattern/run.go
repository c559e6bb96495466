package pattern

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// likely is the probability from which a computed triple holds where rows cannot tell it: within
// not and class expressions.
const likely = 0.5

// Ask answers the question in a view: each row as soon as it is found, unless rows are counted or
// put in order. An error, such as a passed limit, ends the rows. The view's graph must not change
// meanwhile, nor while a row is used.
func (c *Compiled) Ask(ctx context.Context, v *knowledge.View, limits knowledge.Limits) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		r := &run{ctx: ctx, c: c, view: v, cursor: v.Cursor(), limits: limits, share: knowledge.ShareOf(ctx), nextCheck: 1024, probability: 1, least: c.least}
		if err := ctx.Err(); err != nil {
			yield(Row{}, r.canceled(err))
			return
		}
		if limits.Steps > 0 {
			r.nextCheck = min(r.nextCheck, limits.Steps+1)
		}
		if limits.Time > 0 {
			r.deadline = time.Now().Add(limits.Time)
		}
		if n := len(c.slots); n <= len(r.few) {
			r.regs = r.few[:n]
		} else {
			r.regs = make([]knowledge.ID, n)
		}
		r.cursor.Pause(r.tick)
		out := results{run: r, yield: yield}
		steps := c.plan(v, r.cursor).steps
		r.chain(steps, out.add)()
		if r.err == nil && !out.over {
			r.err = r.failures(steps)
		}
		if r.err == nil && !out.over {
			out.finish()
		}
		if r.err != nil && !out.ended {
			yield(Row{}, r.err)
		}
	}
}

// run answers one question once.
type run struct {
	ctx         context.Context
	c           *Compiled
	view        *knowledge.View
	cursor      *knowledge.Cursor
	limits      knowledge.Limits
	deadline    time.Time
	steps       int64
	nextCheck   int64
	bytes       int64
	held        int64 // bytes that have room
	share       *knowledge.Share
	err         error
	regs        []knowledge.ID
	few         [8]knowledge.ID
	probability float64 // of what is bound
	least       float64
	extents     map[*classOf]*extent
	conditions  map[*condition]*evaluation
	found       func(*match) // told of each match that is made, by who explains
}

// tick counts a step; false ends the question.
func (r *run) tick() bool {
	if r.steps++; r.steps < r.nextCheck {
		return true
	}
	r.nextCheck = r.steps + 1024
	if r.limits.Steps > 0 {
		r.nextCheck = min(r.nextCheck, r.limits.Steps+1)
	}
	switch {
	case r.err != nil:
	case r.ctx.Err() != nil || r.share.Pause(r.ctx) != nil:
		r.err = r.canceled(r.ctx.Err())
	case !r.deadline.IsZero() && time.Now().After(r.deadline):
		r.err = engram.Errorf(engram.Exhausted, "", "the question takes longer than %v; ask for less, or with a longer time limit", r.limits.Time)
	case r.limits.Steps > 0 && r.steps > r.limits.Steps:
		r.err = engram.Errorf(engram.Exhausted, "", "the question takes more than %d steps; ask for less, or with more steps", r.limits.Steps)
	}
	return r.err == nil
}

// mostMatching is how many instructions of regular expressions are tried at once, for each byte of a text: about 5 s.
const mostMatching = 200_000_000

// matching counts the steps of matching a text with regular expressions of so many instructions, or of a condition that
// goes through it so often; false ends the question.
func (r *run) matching(insts, length int) bool {
	n := int64(insts) * int64(length)
	if n > mostMatching && r.err == nil {
		r.err = engram.Errorf(engram.Exhausted, "", "the question matches a text of %d bytes with what is too large for that; ask with a simpler regular expression or condition", length)
	}
	r.steps += n / 16
	return r.tick()
}

func (r *run) canceled(err error) error {
	return engram.Errorf(engram.Canceled, "", "the question was given up: %w", err)
}

// charge counts memory that is kept until the question ends, before it is taken; false ends it.
func (r *run) charge(bytes int) bool {
	if r.bytes += int64(bytes); r.bytes <= r.held || r.limits.Memory <= 0 {
		return true
	}
	held := min(r.bytes+max(r.bytes/8, 1<<20), r.limits.Memory)
	err := r.share.Hold(held)
	switch {
	case r.err != nil:
	case r.bytes > r.limits.Memory:
		r.err = engram.Errorf(engram.Exhausted, "", "the question takes more than %d MB of memory; ask for less, or with more memory", r.limits.Memory>>20)
	case err != nil:
		r.err = engram.Errorf(engram.Exhausted, "", "the question: %w", err)
	default:
		r.held = held
		return true
	}
	return false
}

// chain returns what goes through all that fulfils steps, and calls then for each. False ends.
func (r *run) chain(steps []step, then func() bool) func() bool {
	for i := len(steps) - 1; i >= 0; i-- {
		next := then
		switch s := &steps[i]; {
		case s.triple != nil:
			then = r.triple(s.triple, next)
		case s.where != nil:
			then = func() bool { return !r.fulfils(s.where) && r.err == nil || r.err == nil && next() }
		case s.not != nil:
			then = r.not(s.not, next)
		default:
			then = r.optional(s.optional, next)
		}
	}
	return then
}

func (r *run) not(steps []step, next func() bool) func() bool {
	found := false
	body := r.chain(steps, func() bool { found = true; return false })
	return func() bool {
		found = false
		probability, least := r.probability, r.least
		r.probability, r.least = 1, likely
		body()
		r.probability, r.least = probability, least
		return r.err == nil && (found || next())
	}
}

func (r *run) optional(steps []step, next func() bool) func() bool {
	some := false
	body := r.chain(steps, func() bool { some = true; return next() })
	return func() bool {
		some = false
		return body() && r.err == nil && (some || next())
	}
}

// match is a triple that is looked for, while a question is answered.
type match struct {
	run      *run
	t        *triple
	next     func() bool
	each     func(s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool
	yield    func(s, o knowledge.ID) bool
	relation *knowledge.Relation
	s, o     knowledge.ID   // of constants
	literals []knowledge.ID // of an object that is a text or value, once known
	known    bool
	filters  bool // not all objects that come are the triple's
	freeS    bool // the variable is not bound yet
	freeO    bool
	unique   bool // what comes is not repeated, although a place is not bound
	single   bool // what is bound decides: the first is enough
	told     map[knowledge.ID]struct{}
	stop     bool
}

// triple returns what goes through the bindings of a triple.
func (r *run) triple(t *triple, next func() bool) func() bool {
	m := &match{run: r, t: t, next: next}
	if r.found != nil {
		defer r.found(m)
	}
	if t.s.kind == placeConst {
		m.s = r.cursor.ID(t.s.term)
	}
	if t.o.kind == placeConst {
		m.o = r.cursor.ID(t.o.term)
	}
	if t.p.kind == placeSlot {
		return m.anyProperty
	}
	property := r.cursor.ID(t.p.term)
	m.relation = r.cursor.Relation(property, r.c.mode)
	m.yield = m.bind
	m.each = m.relation.Each
	if property == knowledge.IDType && t.repeat == Once && r.c.mode != knowledge.AsStated {
		m.each = m.types
		m.unique = t.o.kind == placeClass
	}
	if len(t.computed) > 0 {
		stated := m.each
		m.each = func(s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool {
			return stated(s, o, yield) && r.compute(t.computed, s, o, stated, yield)
		}
	}
	if t.repeat != Once {
		m.each = r.walk(m.each, t.repeat == ZeroOrMore, len(t.computed) > 0)
	}
	return m.look
}

// types yields individuals and classes.
func (m *match) types(s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool {
	r := m.run
	if class := m.t.o.class; class != nil {
		if s != 0 {
			return !r.isIn(class, s) || yield(s, 0)
		}
		for _, i := range r.members(class).list {
			if !yield(i, 0) {
				return false
			}
		}
		return true
	}
	if m.t.o.kind != placeConst || r.c.mode != knowledge.AsOWL {
		return r.cursor.Types(s, o, yield)
	}
	if s != 0 {
		return !r.cursor.IsMember(s, o) || yield(s, o)
	}
	for _, i := range r.cursor.Members(o) {
		if !yield(i, o) {
			return false
		}
	}
	return true
}

// listed says whether the triples of a subject, or of any, are looked up by the literals that are the object. To find those
// of a value takes longer than to look at the values of one subject.
func (m *match) listed(s knowledge.ID) bool {
	if s != 0 && m.t.o.kind != placeTexts || !m.t.o.listed(m.t.computed) {
		return false
	}
	if !m.known {
		m.known = true
		m.literals = m.t.o.literals(m.run.cursor, m.relation)
		m.unique = len(m.literals) == 1 && m.t.s.kind != placeAny
	}
	return true
}

// look goes through what fulfils the triple.
func (m *match) look() bool {
	r, t := m.run, m.t
	s, o := m.s, m.o
	m.freeS, m.freeO = false, false
	if t.s.kind == placeSlot {
		s = r.regs[t.s.slot]
		m.freeS = s == 0
	}
	if t.o.kind == placeSlot {
		o = r.regs[t.o.slot]
		m.freeO = o == 0
	}
	if !r.tick() {
		return false
	}
	m.stop = false
	if s != 0 && r.cursor.IsLiteral(s) {
		return true
	}
	listed := m.listed(s)
	m.filters = !listed && (t.o.kind == placeTexts || t.o.kind == placeValue || t.o.kind == placeFilter)
	looseS, looseO := s == 0 && !m.freeS, o == 0 && !m.freeO
	m.single = !m.freeS && !m.freeO
	m.told = nil
	if (looseS && m.freeO || looseO && m.freeS) && !m.unique {
		m.told = map[knowledge.ID]struct{}{}
	}
	if listed {
		for _, literal := range m.literals {
			if !m.each(s, literal, m.yield) {
				break
			}
		}
	} else {
		m.each(s, o, m.yield)
	}
	return !m.stop && r.err == nil
}

// takes says whether an object that comes is the triple's.
func (m *match) takes(o knowledge.ID) bool {
	if class := m.t.o.class; class != nil {
		return o == 0 || m.run.isIn(class, o)
	}
	return !m.filters || m.t.o.takes(m.run, o)
}

// bind goes on with a subject and object that were found.
func (m *match) bind(s, o knowledge.ID) bool {
	r, t := m.run, m.t
	if !r.tick() || r.probability < r.least {
		return r.err == nil
	}
	if !m.takes(o) {
		return true
	}
	if m.told != nil {
		one := s
		if m.freeO {
			one = o
		}
		if _, known := m.told[one]; known {
			return true
		}
		m.told[one] = struct{}{}
		if !r.charge(16) {
			return false
		}
	}
	if m.freeS {
		if m.freeO && t.s.slot == t.o.slot && s != o {
			return true
		}
		r.regs[t.s.slot] = s
	}
	if m.freeO {
		r.regs[t.o.slot] = o
	}
	single := m.single
	freeS, freeO := m.freeS, m.freeO
	goOn := m.next()
	if freeS {
		r.regs[t.s.slot] = 0
	}
	if freeO {
		r.regs[t.o.slot] = 0
	}
	if !goOn {
		m.stop = true
		return false
	}
	return !single
}

// anyProperty goes through triples as they are stated.
func (m *match) anyProperty() bool {
	r, t := m.run, m.t
	if !r.tick() {
		return false
	}
	places := [3]place{t.s, t.p, t.o}
	var ids [3]knowledge.ID
	var free [3]bool
	loose := false
	for i, p := range places {
		switch p.kind {
		case placeSlot:
			ids[i] = r.regs[p.slot]
			free[i] = ids[i] == 0
		case placeConst:
			ids[i] = r.cursor.ID(p.term)
		default:
			loose = true
		}
	}
	for i := range ids {
		if places[i].kind == placeSlot && free[i] && slices.ContainsFunc(places[:i], func(p place) bool { return p.kind == placeSlot && p.slot == places[i].slot }) {
			free[i] = false // bound by the place before
		}
	}
	stop := false
	var told map[[3]knowledge.ID]struct{}
	if loose {
		told = map[[3]knowledge.ID]struct{}{}
	}
	objects := []knowledge.ID{ids[2]}
	if m.listed(ids[0]) {
		objects = m.literals
	}
	take := func(s, p, o knowledge.ID) bool {
		if !r.tick() {
			return false
		}
		found := [3]knowledge.ID{s, p, o}
		var key [3]knowledge.ID
		for i, at := range places {
			switch at.kind {
			case placeSlot:
				for j := range i {
					if places[j].kind == placeSlot && places[j].slot == at.slot && found[j] != found[i] {
						return true
					}
				}
				key[i] = found[i]
			case placeTexts, placeValue, placeFilter:
				if !at.takes(r, found[i]) {
					return true
				}
			case placeClass:
				if !r.isIn(at.class, found[i]) {
					return true
				}
			}
		}
		if loose {
			if _, known := told[key]; known {
				return true
			}
			told[key] = struct{}{}
			if !r.charge(32) {
				return false
			}
		}
		for i := range free {
			if free[i] {
				r.regs[places[i].slot] = found[i]
			}
		}
		stop = !m.next()
		for i := range free {
			if free[i] {
				r.regs[places[i].slot] = 0
			}
		}
		return !stop
	}
	for _, o := range objects {
		if !r.cursor.Match(ids[0], ids[1], o, take) {
			break
		}
	}
	return !stop && r.err == nil
}

// compute yields what computed properties have and what is not stated. While yield runs, the
// row is as probable as it says.
func (r *run) compute(properties []string, s, o knowledge.ID, stated func(s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool, yield func(s, o knowledge.ID) bool) bool {
	var from, to rdf.Term
	if s != 0 {
		from = r.cursor.Term(s)
	}
	if o != 0 {
		to = r.cursor.Term(o)
	}
	best := map[[2]knowledge.ID]float64{}
	var order [][2]knowledge.ID
	for _, property := range properties {
		answers, ok := r.view.Computed.Compute(from, property, to)
		if !ok {
			continue
		}
		for d := range answers {
			if !r.tick() {
				return false
			}
			pair := [2]knowledge.ID{r.cursor.ID(d.S), r.cursor.ID(d.O)}
			known, ok := best[pair]
			if !ok {
				if !r.charge(64) {
					return false
				}
				order = append(order, pair)
			}
			best[pair] = max(known, d.Probability)
		}
	}
	before := r.probability
	for _, pair := range order {
		if !stated(pair[0], pair[1], func(_, _ knowledge.ID) bool { return false }) {
			continue
		}
		r.probability = before * best[pair]
		goOn := yield(pair[0], pair[1])
		r.probability = before
		if !goOn {
			return false
		}
	}
	return true
}

// walk returns what goes one or more steps, or none if zero. A way along computed triples is as
// probable as the product of its steps; of several ways the first that is found counts, which has
// the fewest steps.
func (r *run) walk(step func(s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool, zero, uncertain bool) func(s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool {
	ticking := func(s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool {
		all := s == 0 && o == 0 // are kept until the walk ends
		return step(s, o, func(s, o knowledge.ID) bool { return r.tick() && (!all || r.charge(24)) && yield(s, o) })
	}
	walk := func(s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool {
		return r.cursor.Walk(s, o, ticking, yield)
	}
	if uncertain {
		walk = func(s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool {
			return r.walkUncertain(s, o, ticking, yield)
		}
	}
	if !zero {
		return walk
	}
	return func(s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool {
		switch {
		case s != 0 && o != 0 && s == o:
			return !r.cursor.IsNode(s) || yield(s, s)
		case s != 0 && o == 0:
			if r.cursor.IsNode(s) && !yield(s, s) {
				return false
			}
		case o != 0 && s == 0:
			if r.cursor.IsNode(o) && !yield(o, o) {
				return false
			}
		case s == 0 && o == 0:
			if !r.cursor.Nodes(func(n knowledge.ID) bool { return yield(n, n) }) {
				return false
			}
		}
		return walk(s, o, func(a, b knowledge.ID) bool { return a == b || yield(a, b) })
	}
}

// walkUncertain is Walk where steps have probabilities.
func (r *run) walkUncertain(s, o knowledge.ID, step func(s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool, yield func(s, o knowledge.ID) bool) bool {
	before := r.probability
	defer func() { r.probability = before }()
	type node struct {
		id          knowledge.ID
		probability float64
	}
	from := func(start knowledge.ID, next func(n knowledge.ID, to func(knowledge.ID) bool) bool, yield func(knowledge.ID) bool) bool {
		reached := map[knowledge.ID]bool{}
		queue := []node{{start, before}}
		for i := 0; i < len(queue); i++ {
			if i > 0 && queue[i].id == start {
				continue
			}
			r.probability = queue[i].probability
			var found []node
			next(queue[i].id, func(m knowledge.ID) bool {
				if !reached[m] {
					reached[m] = true
					found = append(found, node{m, r.probability})
				}
				return r.charge(32)
			})
			for _, n := range found {
				r.probability = n.probability
				if !yield(n.id) {
					return false
				}
			}
			queue = append(queue, found...)
		}
		r.probability = before
		return r.err == nil
	}
	ahead := func(n knowledge.ID, to func(knowledge.ID) bool) bool {
		return r.cursor.IsLiteral(n) || step(n, 0, func(_, m knowledge.ID) bool { return to(m) })
	}
	switch {
	case s != 0:
		return from(s, ahead, func(n knowledge.ID) bool {
			if o != 0 {
				return n != o || yield(s, o) && false
			}
			return yield(s, n)
		})
	case o != 0:
		return from(o, func(n knowledge.ID, to func(knowledge.ID) bool) bool {
			return step(0, n, func(m, _ knowledge.ID) bool { return to(m) })
		}, func(n knowledge.ID) bool { return yield(n, o) })
	}
	starts := map[knowledge.ID]bool{}
	var order []knowledge.ID
	step(0, 0, func(s, _ knowledge.ID) bool {
		if !starts[s] {
			starts[s] = true
			order = append(order, s)
		}
		return true
	})
	for _, s := range order {
		if !from(s, ahead, func(n knowledge.ID) bool { return yield(s, n) }) {
			return false
		}
	}
	return true
}

// results makes rows.
type results struct {
	run    *run
	yield  func(Row, error) bool
	over   bool // no more rows are wanted
	ended  bool // by who asks
	n      int
	told   map[string]struct{}
	kept   []Row
	groups map[string]*group
	order  []*group
	key    []byte
}

// group counts what belongs to one row of a question that counts.
type group struct {
	row    Row
	counts []int
	seen   []map[knowledge.ID]struct{}
}

// add takes what is bound as a row.
func (o *results) add() bool {
	r := o.run
	if r.probability < r.least {
		return true
	}
	c := r.c
	if len(c.order) > 0 && !r.charge(80+4*len(r.regs)) {
		return false
	}
	row := Row{c: c, cursor: r.cursor, view: r.view, Probability: r.probability, ids: make([]knowledge.ID, len(r.regs))}
	copy(row.ids, r.regs)
	for _, col := range c.columns {
		if col.count {
			return o.count(row)
		}
	}
	if c.question.Distinct || c.hidden && len(c.question.Select) == 0 {
		if !o.isNew(row) {
			return r.err == nil
		}
	}
	if len(c.order) > 0 {
		o.kept = append(o.kept, row)
		return true
	}
	return o.tell(row)
}

func (o *results) keyOf(row Row) {
	o.key = o.key[:0]
	for _, col := range row.c.columns {
		if !col.count {
			id := row.ids[col.slot]
			o.key = append(o.key, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
		}
	}
}

func (o *results) isNew(row Row) bool {
	o.keyOf(row)
	if _, known := o.told[string(o.key)]; known {
		return false
	}
	if o.told == nil {
		o.told = map[string]struct{}{}
	}
	if !o.run.charge(48 + len(o.key)) {
		return false
	}
	o.told[string(o.key)] = struct{}{}
	return true
}

// tell hands a row out.
func (o *results) tell(row Row) bool {
	o.n++
	if !o.yield(row, nil) {
		o.over, o.ended = true, true
		return false
	}
	if limit := o.run.c.question.Limit; limit > 0 && o.n >= limit {
		o.over = true
		return false
	}
	return true
}

func (o *results) count(row Row) bool {
	o.keyOf(row)
	g := o.groups[string(o.key)]
	if g == nil {
		g = o.newGroup(row)
	}
	g.row.Probability = max(g.row.Probability, row.Probability)
	for i, col := range row.c.columns {
		switch {
		case !col.count:
		case col.slot < 0:
			g.counts[i]++
		case row.ids[col.slot] != 0:
			if g.seen[i] == nil {
				g.seen[i] = map[knowledge.ID]struct{}{}
			}
			if _, known := g.seen[i][row.ids[col.slot]]; !known {
				g.seen[i][row.ids[col.slot]] = struct{}{}
				g.counts[i]++
				if !o.run.charge(16) {
					return false
				}
			}
		}
	}
	return o.run.err == nil
}

func (o *results) newGroup(row Row) *group {
	g := &group{row: row, counts: make([]int, len(row.c.columns)), seen: make([]map[knowledge.ID]struct{}, len(row.c.columns))}
	if o.groups == nil {
		o.groups = map[string]*group{}
	}
	o.keyOf(row)
	o.groups[string(o.key)] = g
	o.order = append(o.order, g)
	o.run.charge(200 + len(o.key))
	return g
}

// finish tells what could not be told before all was found.
func (o *results) finish() {
	c := o.run.c
	plain := false
	counts := false
	for _, col := range c.columns {
		plain, counts = plain || !col.count, counts || col.count
	}
	if counts && !plain && len(o.order) == 0 {
		o.newGroup(Row{c: c, cursor: o.run.cursor, view: o.run.view, Probability: 1, ids: make([]knowledge.ID, len(c.slots))})
	}
	for _, g := range o.order {
		g.row.counts = g.counts
		o.kept = append(o.kept, g.row)
	}
	if len(c.order) > 0 {
		slices.SortStableFunc(o.kept, func(a, b Row) int {
			for _, by := range c.order {
				x, _ := a.value(by.column)
				y, _ := b.value(by.column)
				n := compareTerms(x, y)
				if by.descending {
					n = -n
				}
				if n != 0 {
					return n
				}
			}
			return 0
		})
	}
	for _, row := range o.kept {
		if !o.tell(row) {
			return
		}
	}
}

// failures is an error if a condition failed on all rows that it was asked of.
func (r *run) failures(steps []step) error {
	for _, s := range steps {
		if s.where == nil {
			continue
		}
		if e := r.conditions[s.where]; e != nil && e.failed > 0 && e.failed == e.asked {
			pos := s.where.pos
			if r.c.text == "" {
				pos = -1
			}
			return errorAt("the question", r.c.text, pos, fmt.Sprintf("the condition %s fails on all %d rows: %v", s.where.text, e.failed, e.err), nil)
		}
	}
	return nil
}
