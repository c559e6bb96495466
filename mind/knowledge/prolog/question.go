package prolog

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Limits bound what one question may take; 0 is no limit.
type Limits = knowledge.Limits

// DefaultLimits are those of a question of a person.
var DefaultLimits = knowledge.DefaultLimits

// An Option says more of how a question is answered.
type Option func(*machine)

// Why has each row tell the answers of facts that it rests on.
func Why() Option { return func(m *machine) { m.why = true } }

// Ask answers a question of a view: each distinct row once, as soon as it is found. An error, such as a
// passed limit, ends the rows and says where in the question it arose. Any number of questions
// may be asked at the same time.
func (p *Program) Ask(ctx context.Context, view *knowledge.View, question string, limits Limits, options ...Option) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		m, vars, err := p.prepare(ctx, view, question, limits)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for _, set := range options {
			set(m)
		}
		defer m.cutTo(0)
		defer m.flushRest()
		if m.note != nil {
			for _, remark := range p.remarks() {
				m.note(remark)
			}
		}
		told := map[string]bool{}
		for {
			ok, err := m.run()
			if err != nil {
				yield(Row{}, m.failure(err))
				return
			}
			if !ok {
				if len(told) == 0 {
					unheard(m)
				}
				return
			}
			row, err := m.row(vars)
			var waiting string
			if err == nil {
				waiting, err = waits(m, vars)
				row.key += waiting
			}
			if err == nil && !told[row.key] {
				m.kept += int64(len(row.key) + 32)
				err = m.charge(len(row.key) + 32)
				told[row.key] = true
				tellWaiting(m, len(told), waiting)
				if err == nil && !yield(row, nil) {
					return
				}
			}
			if err != nil {
				yield(Row{}, m.failure(err))
				return
			}
			if more, err := m.backtrack(); err != nil {
				yield(Row{}, m.failure(err))
				return
			} else if !more {
				return // what had answers was known
			}
		}
	}
}

// prepare reads a question and makes the machine that answers it.
func (p *Program) prepare(ctx context.Context, view *knowledge.View, question string, limits Limits) (*machine, []namedVar, error) {
	if err := p.settle(); err != nil {
		return nil, nil, err
	}
	if len(question) > maxSource {
		return nil, nil, engram.Errorf(engram.Exhausted, "", "a question of %d bytes; %d are the most", len(question), maxSource)
	}
	base := p.sources[len(p.sources)-1].end()
	m := p.machine(ctx, view, &source{text: question, base: base}, limits)
	r := newReader(question, base, true, func() *Var {
		v := m.newVar()
		m.answered = append(m.answered, v)
		return v
	})
	r.ops = p.operators
	t, err := r.whole()
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		return nil, nil, engram.Errorf(engram.Invalid, "", "the question, %s: %s", place(question, syntax.at, false), syntax.msg)
	}
	if c, ok := isFunctor(t, "?-", 1); ok {
		t = c.args[0]
	}
	if err := begin(m, t); err != nil {
		return nil, nil, m.failure(err)
	}
	return m, r.vars, nil
}

// machine returns one for a question of a view, which has not begun.
func (p *Program) machine(ctx context.Context, view *knowledge.View, src *source, limits Limits) *machine {
	asked := *view // the question's own, since it may change facts
	m := &machine{
		program: p, asked: &asked, heap: &heap{ctx: ctx, lastVar: firstAge, young: firstAge, limits: limits, share: knowledge.ShareOf(ctx), nextMeasure: min(limits.Memory/4, firstMeasure), measureEach: limits.Memory / 4},
		own: map[indicator]*pred{}, calls: map[*Compound][]goal{}, changed: map[*pred]*pred{},
		sources: append(p.sources[:len(p.sources):len(p.sources)], src),
	}
	m.roots = m.reachable
	m.mutable = names(m, "setarg")
	if m.present = view.At; m.present == 0 {
		m.present = engram.Now()
	}
	if limits.Time > 0 {
		m.deadline = time.Now().Add(limits.Time)
	}
	return m
}

// begin has the machine answer a question.
func begin(m *machine, t Term) error {
	m.whole = t
	m.frame = frame{next: &frame{code: codeDone}, view: m.asked}
	comp := compiler{find: m.find, expand: m.program.expandKnown}
	code, err := comp.body(t, nil)
	m.code, m.top = code, true
	return err
}

// unheard notes of which names in the question nothing is known: a question without answers may have one that is misspelt.
func unheard(m *machine) {
	if m.note == nil {
		return
	}
	names := func(yield func(prefix, local string) bool) {
		for todo := []Term{m.whole}; len(todo) > 0; {
			c, ok := todo[len(todo)-1].(*Compound)
			todo = todo[:len(todo)-1]
			if !ok {
				continue
			}
			prefix, ok1 := c.args[0].(Atom)
			local, ok2 := c.args[len(c.args)-1].(Atom)
			if c.name == ":" && len(c.args) == 2 && ok1 && ok2 {
				if !yield(string(prefix), string(local)) {
					return
				}
				continue
			}
			for i := len(c.args) - 1; i >= 0; i-- {
				todo = append(todo, c.args[i])
			}
		}
	}
	for _, note := range m.asked.UnheardOf(m.program.prefixes, names) {
		m.note(note)
	}
}

// names reports whether the question or a rule has a name that begins so in its text.
func names(m *machine, name string) bool {
	return slices.ContainsFunc(m.sources[1:], func(s *source) bool { return strings.Contains(s.text, name) })
}

// failure is an error as it is told: what is wrong, and where.
func (m *machine) failure(err error) error {
	code, pos := engram.Invalid, m.where(m.goalPos)
	msg := err.Error()
	var ex *exception
	switch {
	case errors.As(err, &ex):
		pos, msg = ex.pos, told(ex.term)
		if ex.hint != nil {
			msg += ex.hint()
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return engram.Errorf(engram.Canceled, "", "the question was given up: %w", err)
	case isLimit(err):
		code = engram.Exhausted
	}
	for _, src := range m.sources[1:] {
		if src.base <= pos && pos < src.end() {
			where := place(src.text, int(pos-src.base), src.name != "")
			if src.name == "" {
				return engram.Errorf(code, "", "the question, %s: %s", where, msg)
			}
			return engram.Errorf(code, src.name, "%s: %s", where, msg)
		}
	}
	return engram.Errorf(code, "", "the question: %s", msg)
}

// A Row is one answer: values of the question's named variables, in the order in which these
// appear. It is JSON, as ../../../shared/data/knowledge describes rows.
type Row struct {
	Names []string
	// Values are as people read them: texts and numbers as they are, other terms as Prolog reads them,
	// with the same name for the same variable in all columns.
	Values []string
	// Facts are, if they were asked for ([Why]), the answers of predicates over facts that led to the
	// row, in the order of the question; not those within findall and the like, or \+.
	Facts []rdf.Triple
	json  string
	key   string // what tells it apart from other rows
}

// MarshalJSON returns the row as an object.
func (r Row) MarshalJSON() ([]byte, error) { return []byte(r.json), nil }

// row returns the solution that was found. Variables that begin with _ and those without a
// value have no place in it.
func (m *machine) row(vars []namedVar) (Row, error) {
	var r Row
	var b strings.Builder
	names := map[*Var]int{} // of the variables without a value, the same in all columns
	b.WriteByte('{')
	for _, n := range vars {
		value := deref(n.v)
		if _, free := value.(*Var); free || n.name[0] == '_' {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(jsonText(n.name))
		b.WriteByte(':')
		if err := m.json(&b, value, 0); err != nil {
			return Row{}, err
		}
		text, atomic := textOf(value)
		if !atomic {
			var err error
			if text, err = m.text(value, writer{quoted: true, vars: names}); err != nil {
				return Row{}, err
			}
		}
		r.Names, r.Values = append(r.Names, n.name), append(r.Values, text)
	}
	b.WriteByte('}')
	r.json = b.String()
	r.key = r.json
	if len(names) > 1 { // JSON does not tell which variables are the same
		r.key += strings.Join(r.Values, "\n")
	}
	for u := m.used; u != nil; u = u.before {
		if !slices.Contains(r.Facts, u.fact) {
			r.Facts = append(r.Facts, u.fact)
		}
	}
	slices.Reverse(r.Facts)
	return r, nil
}
