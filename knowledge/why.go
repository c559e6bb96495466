package knowledge

import (
	"slices"

	"github.com/seed-301d4374/engram/knowledge/rdf"
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
	if it, _ := r.pathsOf(property); it.transitive {
		return p.way(s, property, o, true)
	}
	relation := p.c.Relation(property, AsOWL)
	for _, sub := range relation.subs {
		of, _ := r.pathsOf(sub)
		if facts, ok := p.way(s, sub, o, of.transitive); ok {
			return append(facts, p.chain(sub, rdfsSubPropertyOf, property)...), true
		}
	}
	for _, inverse := range relation.inverses {
		if facts, ok := p.way(o, inverse, s, true); ok {
			for _, sub := range relation.subs {
				if says, ok := p.saysInverse(sub, inverse); ok {
					facts = append(append(facts, says), p.chain(sub, rdfsSubPropertyOf, property)...)
					break
				}
			}
			return facts, true
		}
	}
	return nil, false
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

// saysInverse returns the triple that makes one property the inverse of another.
func (p *prover) saysInverse(a, b uint32) (key, bool) {
	for _, pair := range [2][2]uint32{{a, b}, {b, a}} {
		if fact, ok := p.stated(pair[0], owlInverseOf, pair[1]); ok {
			return fact[0], true
		}
	}
	return key{}, false
}

// place is where a way has come to.
type whyPlace struct {
	node    uint32
	stepped bool // it has gone along the property
}

// way returns what leads from s to o along a property with its sub-properties if it is transitive,
// and its inverses, as OWLHas goes.
func (p *prover) way(s, property, o uint32, transitive bool) ([]key, bool) {
	type arrival struct {
		from  whyPlace
		facts []key
	}
	r := p.c.r
	start, goal := whyPlace{s, false}, whyPlace{o, true}
	arrivals := map[whyPlace]arrival{}
	queue := []whyPlace{start}
	found := false
	for i := 0; i < len(queue) && !found; i++ {
		at := queue[i]
		arrive := func(m uint32, stepped bool, facts func() []key) bool {
			to := whyPlace{m, stepped}
			if _, known := arrivals[to]; known || to == start {
				return true
			}
			arrivals[to] = arrival{at, facts()}
			queue = append(queue, to)
			found = to == goal
			return !found
		}
		if r.isLiteral(at.node) {
			continue
		}
		if !at.stepped || transitive {
			if !p.steps(at.node, property, transitive, func(m uint32, facts func() []key) bool { return arrive(m, true, facts) }) {
				break
			}
		}
		if p.c.same {
			r.has(at.node, owlSameAs, 0, func(n, m uint32) bool {
				return r.isLiteral(m) || arrive(m, at.stepped, func() []key { f, _ := p.stated(n, owlSameAs, m); return f[:1] })
			})
			r.has(0, owlSameAs, at.node, func(m, n uint32) bool {
				return arrive(m, at.stepped, func() []key { f, _ := p.stated(m, owlSameAs, n); return f[:1] })
			})
		}
	}
	if !found {
		return nil, false
	}
	var parts [][]key
	for at := goal; at != start; at = arrivals[at].from {
		parts = append(parts, arrivals[at].facts)
	}
	slices.Reverse(parts)
	facts := slices.Concat(parts...)
	if len(parts) > 1 && transitive {
		if says, ok := p.stated(property, rdfType, owlTransitive); ok {
			facts = append(facts, says[0])
		}
	}
	return facts, true
}

// steps yields where one step leads from a node, and what it rests on.
func (p *prover) steps(n, property uint32, transitive bool, yield func(m uint32, facts func() []key) bool) bool {
	r := p.c.r
	subs := []uint32{property}
	if transitive {
		subs = r.property(property).subs
	}
	for _, sub := range subs {
		up := func(facts ...key) []key { return append(facts, p.chain(sub, rdfsSubPropertyOf, property)...) }
		goOn := r.match(n, sub, 0, func(_, _, m uint32) bool {
			return yield(m, func() []key { return up(key{n, sub, m}) })
		})
		if !goOn {
			return false
		}
		for _, inverse := range r.inverses(sub) {
			for _, below := range r.property(inverse).subs {
				goOn = r.match(0, below, n, func(m, _, _ uint32) bool {
					return yield(m, func() []key {
						facts := append([]key{{m, below, n}}, p.chain(below, rdfsSubPropertyOf, inverse)...)
						if says, ok := p.saysInverse(sub, inverse); ok {
							facts = append(facts, says)
						}
						return up(facts...)
					})
				})
				if !goOn {
					return false
				}
			}
		}
		if r.isRDFSIndividual(sub, owlSymmetric) {
			goOn = r.match(0, sub, n, func(m, _, _ uint32) bool {
				return yield(m, func() []key {
					facts := []key{{m, sub, n}}
					if says, ok := p.stated(sub, rdfType, owlSymmetric); ok {
						facts = append(facts, says[0])
					}
					return up(facts...)
				})
			})
			if !goOn {
				return false
			}
		}
		goOn = r.has(n, rdfType, 0, func(_, class uint32) bool {
			return r.has(0, owlOnProperty, sub, func(restriction, _ uint32) bool {
				below := false
				r.directSubclass(class, restriction, func(_, _ uint32) bool { below = true; return false })
				return !below || r.has(restriction, owlHasValue, 0, func(_, m uint32) bool {
					return yield(m, func() []key {
						facts := []key{{n, rdfType, class}}
						facts = append(facts, p.superclass(class, restriction)...)
						return up(append(facts, key{restriction, owlOnProperty, sub}, key{restriction, owlHasValue, m})...)
					})
				})
			})
		})
		if !goOn {
			return false
		}
	}
	return true
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
