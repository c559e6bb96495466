package knowledge

import (
	"slices"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Why returns the stated triples that a triple rests on, in the order of a proof of few steps: the
// facts, and what the ontology says of properties and classes where it is needed. A triple of
// rdf:type holds as [Cursor.IsMember] has it, any other as [Relation] in OWL's mode. A computed
// triple rests on itself. There is no answer if the triple does not hold.
func Why(v *View, t rdf.Triple) []rdf.Triple {
	p := prover{c: v.Cursor(), asked: map[[3]uint32]bool{}}
	r := p.c.r
	var out []rdf.Triple
	if facts, ok := p.triple(p.c.ID(t.S), p.c.ID(t.P), p.c.ID(t.O)); ok {
		seen := map[key]bool{}
		for _, k := range facts {
			if !seen[k] {
				seen[k] = true
				out = append(out, rdf.Triple{S: r.termOf(k[0]), P: r.termOf(k[1]), O: r.termOf(k[2])})
			}
		}
		return out
	}
	if v.Computed == nil || t.S.IsZero() || t.P.IsZero() || t.O.IsZero() {
		return nil
	}
	for _, id := range p.c.Relation(p.c.ID(t.P), AsOWL).Below() {
		answers, ok := v.Computed.Compute(t.S, p.c.Term(id).Value, t.O)
		if !ok {
			continue
		}
		for range answers {
			return append([]rdf.Triple{{S: t.S, P: p.c.Term(id), O: t.O}}, p.terms(p.chain(id, rdfsSubPropertyOf, p.c.ID(t.P)))...)
		}
	}
	return nil
}

// prover finds what triples rest on.
type prover struct {
	c     *Cursor
	asked map[[3]uint32]bool // what is being proved
	depth int
}

func (p *prover) terms(facts []key) (out []rdf.Triple) {
	for _, k := range facts {
		out = append(out, rdf.Triple{S: p.c.Term(k[0]), P: p.c.Term(k[1]), O: p.c.Term(k[2])})
	}
	return out
}

// maxWhy bounds how deep definitions are explained.
const maxWhy = 50

// triple returns what a triple rests on.
func (p *prover) triple(s, property, o uint32) ([]key, bool) {
	if s == 0 || property == 0 || o == 0 {
		return nil, false
	}
	r := p.c.r
	if r.spo.has(key{s, property, o}) {
		return []key{{s, property, o}}, true
	}
	question := [3]uint32{s, property, o}
	if p.asked[question] || p.depth >= maxWhy {
		return nil, false
	}
	p.asked[question] = true
	p.depth++
	defer func() { delete(p.asked, question); p.depth-- }()
	if property == rdfType {
		return p.member(s, o)
	}
	if property == rdfsSubClassOf || property == rdfsSubPropertyOf {
		facts := p.chain(s, property, o)
		return facts, len(facts) > 0
	}
	if facts, ok := p.stated(s, property, o); ok {
		return facts, true
	}
	return p.way(s, property, o)
}

// stated returns the triple of a property or of one below it, with what puts that one below.
func (p *prover) stated(s, property, o uint32) ([]key, bool) {
	r := p.c.r
	for _, sub := range r.property(property).subs {
		if r.spo.has(key{s, sub, o}) {
			return append([]key{{s, sub, o}}, p.chain(sub, rdfsSubPropertyOf, property)...), true
		}
	}
	return nil, false
}

// chain returns the triples of a property, or of those below it, that lead from a to b.
func (p *prover) chain(a, property, b uint32) []key {
	if a == b && property != rdfsSubClassOf {
		return nil
	}
	r := p.c.r
	before := map[uint32]uint32{}
	queue := []uint32{a}
	for i := 0; i < len(queue); i++ {
		r.has(queue[i], property, 0, func(n, m uint32) bool {
			if _, known := before[m]; !known {
				before[m] = n
				queue = append(queue, m)
			}
			return true
		})
		if _, found := before[b]; found {
			break
		}
	}
	var facts []key
	for n := b; ; n = before[n] {
		from, ok := before[n]
		if !ok {
			return nil
		}
		if fact, ok := p.stated(from, property, n); ok {
			facts = append(fact[:1:1], facts...)
		}
		if from == a {
			return facts
		}
	}
}

// because returns what makes the triples of a property imply those of another, by the steps of how
// that was found.
func (p *prover) because(x *implied, i int) (facts []key) {
	for ; x.all[i].by >= 0; i = x.all[i].by {
		at, by := x.all[i], x.all[x.all[i].by]
		switch {
		case at.back == by.back:
			facts = append(facts, p.first(at.property, rdfsSubPropertyOf, by.property)...)
		case at.property == by.property && p.c.r.isRDFSIndividual(at.property, owlSymmetric):
			more, _ := p.member(at.property, owlSymmetric)
			facts = append(facts, more...)
		default:
			says := p.first(by.property, owlInverseOf, at.property)
			if says == nil {
				says = p.first(at.property, owlInverseOf, by.property)
			}
			facts = append(facts, says...)
		}
	}
	return facts
}

// first returns the triple that states something, of a property or of one below it.
func (p *prover) first(s, property, o uint32) []key {
	if facts, ok := p.stated(s, property, o); ok {
		return facts[:1:1]
	}
	return nil
}

// whyPlace is where a way has come to.
type whyPlace struct {
	node    uint32
	stepped bool // it has gone along the property
}

// way returns what leads from s to o along a property, as a Relation goes.
func (p *prover) way(s, property, o uint32) ([]key, bool) {
	type arrival struct {
		from  whyPlace
		facts func() []key
	}
	r := p.c.r
	x := r.impliedBy(property)
	start, goal := whyPlace{s, false}, whyPlace{o, true}
	arrivals := map[whyPlace]arrival{}
	queue := []whyPlace{start}
	found := false
	// Wholes have many parts, parts few wholes: only what leads to o is looked at.
	var leads *nodes
	if x.transitive && !r.isLiteral(o) {
		leads = &nodes{}
		r.same(o, func(n uint32) bool { leads.add(r.Graph, n); return true })
		p.c.Relation(property, AsOWL).Each(0, o, func(n, _ uint32) bool { leads.add(r.Graph, n); return true })
	}
	for i := 0; i < len(queue) && !found; i++ {
		at := queue[i]
		arrive := func(m uint32, stepped bool, facts func() []key) bool {
			to := whyPlace{m, stepped}
			if _, known := arrivals[to]; known || to == start || found || at.stepped && r.isLiteral(m) || leads != nil && !leads.has(m) {
				return !found
			}
			arrivals[to] = arrival{at, facts}
			queue = append(queue, to)
			found = to == goal
			return !found
		}
		if r.isLiteral(at.node) {
			continue
		}
		if !at.stepped || x.transitive {
			if !p.steps(at.node, x, func(m uint32, facts func() []key) bool { return arrive(m, true, facts) }) {
				break
			}
		}
		if p.c.sames() {
			r.has(at.node, owlSameAs, 0, func(n, m uint32) bool {
				return r.isLiteral(m) || arrive(m, at.stepped, func() []key { return p.first(n, owlSameAs, m) })
			})
			r.has(0, owlSameAs, at.node, func(m, n uint32) bool {
				return arrive(m, at.stepped, func() []key { return p.first(m, owlSameAs, n) })
			})
		}
	}
	if !found {
		return nil, false
	}
	var parts [][]key
	steps := 0
	for at := goal; at != start; at = arrivals[at].from {
		parts = append(parts, arrivals[at].facts())
		steps++
	}
	slices.Reverse(parts)
	facts := slices.Concat(parts...)
	if steps > 1 && x.transitive {
		facts = append(facts, p.transitivity(property)...)
	}
	return facts, true
}

// transitivity returns what makes a property transitive, or an inverse of it.
func (p *prover) transitivity(property uint32) []key {
	r := p.c.r
	says := func(of uint32) []key {
		facts, _ := p.member(of, owlTransitive)
		return facts
	}
	if r.isRDFSIndividual(property, owlTransitive) {
		return says(property)
	}
	for _, q := range inversesOf(r, property) {
		if r.isRDFSIndividual(q, owlTransitive) {
			inverse := p.first(property, owlInverseOf, q)
			if inverse == nil {
				inverse = p.first(q, owlInverseOf, property)
			}
			return append(says(q), inverse...)
		}
	}
	return nil
}

// steps yields where one step leads from a node, and what it rests on: along what implies a
// property, through all of a transitive one.
func (p *prover) steps(n uint32, x *implied, yield func(m uint32, facts func() []key) bool) bool {
	r := p.c.r
	for i, at := range x.all {
		all := yield
		yield := func(m uint32, facts func() []key) bool { return at.turned && r.isLiteral(m) || all(m, facts) }
		values := newPaths()
		values.restrictions(r, at.property)
		var goOn bool
		if at.back {
			goOn = r.match(0, at.property, n, func(m, _, _ uint32) bool {
				return yield(m, func() []key { return append([]key{{m, at.property, n}}, p.because(x, i)...) })
			})
			for class := range values.valued[n] {
				goOn = goOn && r.has(0, rdfType, class, func(m, _ uint32) bool {
					return yield(m, func() []key { return append(p.value(m, class, at.property, n), p.because(x, i)...) })
				})
			}
		} else {
			goOn = r.match(n, at.property, 0, func(_, _, m uint32) bool {
				return yield(m, func() []key { return append([]key{{n, at.property, m}}, p.because(x, i)...) })
			})
			if goOn && len(values.values) > 0 {
				goOn = r.has(n, rdfType, 0, func(_, class uint32) bool {
					return !slices.ContainsFunc(values.values[class], func(m uint32) bool {
						return !yield(m, func() []key { return append(p.value(n, class, at.property, m), p.because(x, i)...) })
					})
				})
			}
		}
		if !goOn {
			return false
		}
		if !slices.Contains(x.closed, at) {
			continue
		}
		// All that a transitive one reaches.
		to := func(s, o, m uint32) bool {
			return yield(m, func() []key {
				facts, _ := p.triple(s, at.property, o)
				return append(facts, p.because(x, i)...)
			})
		}
		if at.back {
			goOn = r.impliedBy(at.property).pairs(r, 0, at.property, n, func(m, _ uint32) bool { return to(m, n, m) })
		} else {
			goOn = r.impliedBy(at.property).pairs(r, n, at.property, 0, func(_, m uint32) bool { return to(n, m, m) })
		}
		if !goOn {
			return false
		}
	}
	return true
}

// value returns what gives an individual a value by a restriction of its class.
func (p *prover) value(n, class, property, value uint32) []key {
	r := p.c.r
	var facts []key
	r.has(0, owlOnProperty, property, func(restriction, _ uint32) bool {
		if !r.has(restriction, owlHasValue, value, func(_, _ uint32) bool { return false }) &&
			!r.directSubclass(class, restriction, func(_, _ uint32) bool { return false }) {
			facts = slices.Concat(p.first(n, rdfType, class), p.superclass(class, restriction),
				p.first(restriction, owlOnProperty, property), p.first(restriction, owlHasValue, value))
		}
		return facts == nil
	})
	return facts
}

// superclass returns what makes a class one directly below another.
func (p *prover) superclass(sub, super uint32) []key {
	r := p.c.r
	if facts, ok := p.stated(sub, rdfsSubClassOf, super); ok {
		return facts[:1]
	}
	if facts, ok := p.stated(super, owlEquivalentClass, sub); ok {
		return facts[:1]
	}
	var facts []key
	r.has(super, owlUnionOf, 0, func(_, list uint32) bool {
		if slices.Contains(r.items(list), sub) {
			facts = []key{{super, owlUnionOf, list}}
		}
		return facts == nil
	})
	if facts != nil {
		return facts
	}
	r.has(sub, owlIntersectionOf, 0, func(_, list uint32) bool {
		if slices.Contains(r.items(list), super) {
			facts = []key{{sub, owlIntersectionOf, list}}
		}
		return facts == nil
	})
	return facts
}

// member returns what an individual's being in a class rests on.
func (p *prover) member(i, class uint32) ([]key, bool) {
	r := p.c.r
	if !p.c.IsMember(i, class) {
		return nil, false
	}
	// From the types upwards.
	before := map[uint32]uint32{}
	var queue []uint32
	r.has(i, rdfType, 0, func(_, t uint32) bool {
		if _, known := before[t]; !known {
			before[t] = 0
			queue = append(queue, t)
		}
		return true
	})
	for at := 0; at < len(queue); at++ {
		c := queue[at]
		if c == class {
			break
		}
		r.directSubclass(c, 0, func(_, super uint32) bool {
			if _, known := before[super]; !known {
				before[super] = c
				queue = append(queue, super)
			}
			return true
		})
	}
	if _, found := before[class]; found {
		var facts []key
		c := class
		for ; before[c] != 0; c = before[c] {
			facts = append(p.superclass(before[c], c), facts...)
		}
		first, _ := p.stated(i, rdfType, c)
		return append(first, facts...), true
	}
	var facts []key
	for _, ranged := range p.c.extension(class).ranges {
		r.has(0, ranged, i, func(s, _ uint32) bool {
			facts, _ = p.stated(s, ranged, i)
			return false
		})
		if facts != nil {
			says, _ := p.stated(ranged, rdfsRange, class)
			return append(facts, says...), true
		}
	}
	if facts, ok := p.definition(i, class); ok {
		return facts, true
	}
	// It is in all that is, or by what is not known: nothing more can be shown.
	r.match(i, 0, 0, func(s, q, o uint32) bool { facts = []key{{s, q, o}}; return false })
	return facts, true
}

// definition returns what an individual's being in a class rests on by the class's definition.
func (p *prover) definition(i, class uint32) ([]key, bool) {
	r := p.c.r
	all := func(classes ...uint32) (facts []key, ok bool) {
		for _, c := range classes {
			more, ok := p.triple(i, rdfType, c)
			if !ok {
				return nil, false
			}
			facts = append(facts, more...)
		}
		return facts, true
	}
	with := func(facts []key, says ...key) ([]key, bool) { return append(facts, says...), true }
	if equal := r.value(class, owlEquivalentClass); equal != 0 {
		if facts, ok := all(equal); ok {
			return with(facts, key{class, owlEquivalentClass, equal})
		}
		return nil, false
	}
	if property := r.value(class, owlOnProperty); property != 0 {
		return p.restriction(i, class, property)
	}
	if union := r.value(class, owlUnionOf); union != 0 {
		for _, c := range r.items(union) {
			if facts, ok := all(c); ok {
				return with(facts, key{class, owlUnionOf, union})
			}
		}
	}
	if list := r.value(class, owlIntersectionOf); list != 0 {
		if facts, ok := all(r.items(list)...); ok {
			return with(facts, key{class, owlIntersectionOf, list})
		}
	}
	for _, says := range [2]uint32{owlComplementOf, owlOneOf} {
		if of := r.value(class, says); of != 0 {
			return []key{{class, says, of}}, true
		}
	}
	return nil, false
}

// restriction returns what an individual's fulfilling a restriction rests on: the values that it
// has, as far as they matter.
func (p *prover) restriction(i, class, property uint32) ([]key, bool) {
	r := p.c.r
	facts := []key{{class, owlOnProperty, property}}
	filler, some := r.value(class, owlSomeValuesFrom), true
	if filler == 0 {
		filler, some = r.value(class, owlAllValuesFrom), false
	}
	value := r.value(class, owlHasValue)
	for _, says := range []uint32{owlHasValue, owlSomeValuesFrom, owlAllValuesFrom, owlCardinality, owlMinCardinality, owlMaxCardinality} {
		if o := r.value(class, says); o != 0 {
			facts = append(facts, key{class, says, o})
		}
	}
	var values []uint32
	p.c.Relation(property, AsOWL).Each(i, 0, func(_, o uint32) bool {
		if (value == 0 || o == value) && (filler == 0 || r.isIndividual(o, filler)) {
			values = append(values, o)
		}
		return !(len(values) > 0 && (value != 0 || filler != 0 && some))
	})
	for _, o := range values {
		if more, ok := p.triple(i, property, o); ok {
			facts = append(facts, more...)
		}
		if filler != 0 && !r.isLiteral(o) {
			if more, ok := p.triple(o, rdfType, filler); ok {
				facts = append(facts, more...)
			}
		}
	}
	return facts, true
}
