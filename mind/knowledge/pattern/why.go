package pattern

import (
	"slices"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// A Reason is why a row fulfils one clause of its question.
type Reason struct {
	Clause string       // as text
	Facts  []rdf.Triple // stated or computed, in the order of a proof; see [knowledge.Why]
}

// Why returns what the row rests on: for each triple of the question the facts that it follows
// from. What is not, as in not, rests on nothing. It is computed when asked; of a row that counts
// it is about the first that was counted.
func (r Row) Why() []Reason {
	w := &explainer{row: r, run: &run{
		c: r.c, view: r.view, cursor: r.cursor, regs: slices.Clone(r.ids), nextCheck: 1 << 62, probability: 1,
	}}
	w.steps(r.c.body)
	return w.reasons
}

type explainer struct {
	row     Row
	run     *run
	reasons []Reason
}

func (w *explainer) steps(steps []step) {
	for i := range steps {
		switch s := &steps[i]; {
		case s.triple != nil:
			if facts := w.triple(s.triple); len(facts) > 0 {
				w.reasons = append(w.reasons, Reason{s.triple.text.String(), distinct(facts)})
			}
		case s.optional != nil && !slices.ContainsFunc(s.uses, func(slot int) bool { return w.run.regs[slot] == 0 }):
			w.steps(s.optional)
		}
	}
}

func distinct(all []rdf.Triple) []rdf.Triple {
	seen := map[rdf.Triple]bool{}
	return slices.DeleteFunc(all, func(t rdf.Triple) bool {
		known := seen[t]
		seen[t] = true
		return known
	})
}

// triple explains a pattern with what is bound; the first of what a place may stand for.
func (w *explainer) triple(t *triple) (facts []rdf.Triple) {
	r := w.run
	if t.p.kind == placeSlot {
		at := func(p place) rdf.Term {
			switch p.kind {
			case placeSlot:
				return r.cursor.Term(r.regs[p.slot])
			case placeConst:
				return p.term
			}
			return rdf.Term{}
		}
		for found := range r.view.Match(at(t.s), at(t.p), at(t.o)) {
			if o := r.cursor.ID(found.O); t.o.kind == placeSlot || t.o.kind == placeConst || t.o.kind == placeAny || t.o.takes(r, o) || t.o.class != nil && r.isIn(t.o.class, o) {
				return []rdf.Triple{found}
			}
		}
		return nil
	}
	var s, o knowledge.ID
	m := w.match(t)
	m.next = func() bool { return false }
	m.yield = func(a, b knowledge.ID) bool {
		if !m.takes(b) {
			return true
		}
		s, o = a, b
		m.stop = true
		return false
	}
	m.look()
	if s == 0 {
		return nil
	}
	if t.o.kind == placeClass && o == 0 {
		return w.class(t.o.class, s)
	}
	if t.repeat == Once {
		facts = w.step(t, s, o)
	} else {
		facts = w.way(t, s, o)
	}
	if t.o.kind == placeClass {
		facts = append(facts, w.class(t.o.class, o)...)
	}
	return facts
}

// match returns a triple as it was looked for.
func (w *explainer) match(t *triple) *match {
	var out *match
	w.run.found = func(m *match) { out = m }
	w.run.triple(t, nil)
	w.run.found = nil
	return out
}

func (w *explainer) step(t *triple, s, o knowledge.ID) []rdf.Triple {
	c := w.run.cursor
	it := rdf.Triple{S: c.Term(s), P: t.p.term, O: c.Term(o)}
	facts := knowledge.Why(w.run.view, it)
	if len(facts) == 0 && len(t.computed) > 0 {
		return []rdf.Triple{it}
	}
	return facts
}

// way explains a path of several steps by one with the fewest.
func (w *explainer) way(t *triple, s, o knowledge.ID) []rdf.Triple {
	single := *t
	single.repeat = Once
	each := w.match(&single).each
	before := map[knowledge.ID]knowledge.ID{}
	queue := []knowledge.ID{s}
	if s == o && t.repeat == ZeroOrMore {
		return nil
	}
	for i := 0; i < len(queue); i++ {
		if w.run.cursor.IsLiteral(queue[i]) {
			continue
		}
		each(queue[i], 0, func(_, m knowledge.ID) bool {
			if _, known := before[m]; !known {
				before[m] = queue[i]
				queue = append(queue, m)
			}
			return true
		})
		if _, found := before[o]; found {
			break
		}
	}
	var facts []rdf.Triple
	for n := o; ; {
		from, ok := before[n]
		if !ok {
			return nil
		}
		facts = append(w.step(t, from, n), facts...)
		if n = from; n == s {
			return facts
		}
	}
}

// class explains why an individual is in a class expression.
func (w *explainer) class(c *classOf, i knowledge.ID) (facts []rdf.Triple) {
	r := w.run
	pair := func(o knowledge.ID) {
		it := rdf.Triple{S: r.cursor.Term(i), P: c.property, O: r.cursor.Term(o)}
		if c.inverse {
			it.S, it.O = it.O, it.S
		}
		because := knowledge.Why(r.view, it)
		if len(because) == 0 {
			because = []rdf.Triple{it}
		}
		facts = append(facts, because...)
	}
	values := func(most int, takes func(knowledge.ID) bool) {
		n := 0
		r.pairs(c, i, 0, func(_, o knowledge.ID) bool {
			if takes(o) {
				n++
				pair(o)
				if len(c.of) > 0 {
					facts = append(facts, w.class(c.of[0], o)...)
				}
			}
			return n < most
		})
	}
	filler := func(o knowledge.ID) bool { return len(c.of) == 0 || r.isIn(c.of[0], o) }
	switch c.kind {
	case classNamed:
		return knowledge.Why(r.view, rdf.Triple{S: r.cursor.Term(i), P: rdf.NewIRI(rdf.NS + "type"), O: c.class})
	case classAnd:
		for _, of := range c.of {
			facts = append(facts, w.class(of, i)...)
		}
	case classOr:
		for _, of := range c.of {
			if r.isIn(of, i) {
				return w.class(of, i)
			}
		}
	case classSome:
		values(1, filler)
	case classValue:
		values(1, func(o knowledge.ID) bool { return c.value.takes(r, o) })
	case classSelf:
		values(1, func(o knowledge.ID) bool { return o == i })
	case classMin:
		values(c.n, filler)
	case classOnly, classExactly, classMax:
		values(1<<30, filler)
	}
	return facts
}
