package pattern

import (
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// classOf is a class expression whose names are known.
type classOf struct {
	kind     classKind
	class    rdf.Term // or datatype
	facets   []facet
	of       []*classOf
	property rdf.Term
	computed []string
	inverse  bool
	value    place
	members  []place
	n        int
}

func (c *compiler) class(in *Class) *classOf {
	out := &classOf{kind: in.kind, n: in.n, inverse: in.inverse, facets: slices.Clone(in.facets)}
	for i := range out.facets {
		out.facets[i].limit = rdf.ValueOf(out.facets[i].value.literal())
	}
	switch in.kind {
	case classNamed, classData:
		iri := c.iri(in.name, asClass)
		out.class = rdf.NewIRI(iri)
		datatype := strings.HasPrefix(iri, rdf.NSXSD) || iri == rdf.NSRDFS+"Literal" || iri == rdf.NS+"langString" || iri == rdf.NS+"PlainLiteral"
		if in.kind == classData && !datatype {
			c.fail(in.pos, "%s is no datatype: facets in [ ] need one, such as xsd:double", in.name)
		}
		if datatype {
			out.kind = classData
		}
	case classOneOf:
		for _, m := range in.members {
			out.members = append(out.members, c.place(m, asThing))
		}
	case classSome, classOnly, classValue, classSelf, classMin, classMax, classExactly:
		iri := c.iri(in.property, asProperty)
		out.property = rdf.NewIRI(iri)
		out.computed = c.names.computedBelow(iri, c.out.mode)
		if in.kind == classValue {
			out.value = c.place(in.value, asThing)
		}
	}
	for _, of := range in.of {
		out.of = append(out.of, c.class(of))
	}
	return out
}

// cost is about how many individuals a class expression looks at.
func (c *classOf) cost(p *planner) float64 {
	all := float64(p.cursor.Count(0, 0, 0, 1))
	pairs := func() float64 {
		return float64(p.cursor.Relation(p.cursor.ID(c.property), p.mode).Count(0, 0, mostCounted))
	}
	switch c.kind {
	case classNamed:
		return float64(p.cursor.CountMembers(p.cursor.ID(c.class), mostCounted))
	case classAnd:
		least := all
		for _, of := range c.of {
			least = min(least, of.cost(p))
		}
		return least
	case classOr:
		sum := 0.0
		for _, of := range c.of {
			sum += of.cost(p)
		}
		return sum
	case classOneOf:
		return float64(len(c.members))
	case classSome:
		return min(pairs(), 4*c.of[0].cost(p))
	case classValue:
		if c.value.kind == placeConst || c.value.listed(c.computed) {
			return 4
		}
		return pairs()
	case classOnly, classSelf:
		return pairs()
	case classMin, classExactly:
		if c.n > 0 {
			return pairs()
		}
	}
	return all
}

// extent is what a class expression has.
type extent struct {
	list []knowledge.ID
	has  map[knowledge.ID]struct{}
}

func (e *extent) add(i knowledge.ID) bool {
	if _, known := e.has[i]; known {
		return false
	}
	e.has[i] = struct{}{}
	e.list = append(e.list, i)
	return true
}

// pairs yields subjects and objects of a restriction's property, as it is turned.
func (r *run) pairs(c *classOf, s, o knowledge.ID, yield func(s, o knowledge.ID) bool) bool {
	if s != 0 && r.cursor.IsLiteral(s) {
		return true // it has no values, and is none the other way round
	}
	turned := func(s, o knowledge.ID) bool { return r.tick() && yield(s, o) }
	if c.inverse {
		if o != 0 && r.cursor.IsLiteral(o) {
			return true
		}
		s, o = o, s
		turned = func(s, o knowledge.ID) bool { return r.tick() && (r.cursor.IsLiteral(o) || yield(o, s)) }
	}
	relation := r.cursor.Relation(r.cursor.ID(c.property), r.c.mode)
	if !relation.Each(s, o, turned) {
		return false
	}
	if len(c.computed) == 0 {
		return true
	}
	before := r.probability
	r.probability = 1
	defer func() { r.probability = before }()
	return r.compute(c.computed, s, o, relation.Each, func(s, o knowledge.ID) bool { return r.probability < likely || turned(s, o) })
}

// members returns who is in a class expression.
func (r *run) members(c *classOf) *extent {
	if known := r.extents[c]; known != nil {
		return known
	}
	e := &extent{has: map[knowledge.ID]struct{}{}}
	add := func(i knowledge.ID) bool { return !e.add(i) || r.charge(24) }
	filtered := func(i knowledge.ID) bool { return r.tick() && (!r.isIn(c, i) || add(i)) }
	switch c.kind {
	case classNamed:
		for _, i := range r.cursor.Members(r.cursor.ID(c.class)) {
			if !r.tick() || !add(i) {
				break
			}
		}
	case classAnd:
		p := &planner{cursor: r.cursor, mode: r.c.mode}
		of := slices.Clone(c.of)
		costs := map[*classOf]float64{}
		for _, sub := range of {
			costs[sub] = sub.cost(p)
		}
		slices.SortStableFunc(of, func(a, b *classOf) int {
			if costs[a] < costs[b] {
				return -1
			} else if costs[a] > costs[b] {
				return 1
			}
			return 0
		})
		for _, i := range r.members(of[0]).list {
			if !slices.ContainsFunc(of[1:], func(other *classOf) bool { return !r.isIn(other, i) }) && !add(i) {
				break
			}
		}
	case classOr:
		for _, of := range c.of {
			for _, i := range r.members(of).list {
				if !add(i) {
					break
				}
			}
		}
	case classOneOf:
		for _, m := range c.members {
			if m.kind == placeConst && m.term.Kind != rdf.Literal {
				add(r.cursor.ID(m.term))
			}
		}
	case classSome:
		r.some(c, add)
	case classValue:
		switch {
		case c.value.kind == placeConst:
			r.pairs(c, 0, r.cursor.ID(c.value.term), func(s, _ knowledge.ID) bool { return add(s) })
		case c.value.listed(c.computed):
			for _, literal := range c.value.literals(r.cursor, r.cursor.Relation(r.cursor.ID(c.property), r.c.mode)) {
				r.pairs(c, 0, literal, func(s, _ knowledge.ID) bool { return add(s) })
			}
		default:
			r.pairs(c, 0, 0, func(s, o knowledge.ID) bool { return !c.value.takes(r, o) || add(s) })
		}
	case classSelf:
		r.pairs(c, 0, 0, func(s, o knowledge.ID) bool { return s != o || add(s) })
	case classOnly, classMin, classExactly:
		if c.kind != classOnly && c.n == 0 {
			r.cursor.Subjects(filtered)
			break
		}
		looked := &extent{has: map[knowledge.ID]struct{}{}}
		r.pairs(c, 0, 0, func(s, _ knowledge.ID) bool { return !looked.add(s) || r.charge(24) })
		for _, s := range looked.list {
			if !filtered(s) {
				break
			}
		}
	case classNot, classMax:
		r.cursor.Subjects(filtered)
	}
	if r.extents == nil {
		r.extents = map[*classOf]*extent{}
	}
	r.extents[c] = e
	return e
}

// some adds who has a value in a class: from the values if they are few, else from the property.
func (r *run) some(c *classOf, add func(knowledge.ID) bool) {
	filler := c.of[0]
	p := &planner{cursor: r.cursor, mode: r.c.mode}
	all := r.cursor.Relation(r.cursor.ID(c.property), r.c.mode).Count(0, 0, mostCounted)
	if !filler.hasData() && filler.cost(p) < float64(all) {
		for _, o := range r.members(filler).list {
			if !r.pairs(c, 0, o, func(s, _ knowledge.ID) bool { return add(s) }) {
				return
			}
		}
		return
	}
	known := map[knowledge.ID]bool{}
	r.pairs(c, 0, 0, func(s, o knowledge.ID) bool {
		in, ok := known[o]
		if !ok {
			if !r.charge(16) {
				return false
			}
			in = r.isIn(filler, o)
			known[o] = in
		}
		return !in || add(s)
	})
}

// hasData says whether literals may be in the expression.
func (c *classOf) hasData() bool {
	switch c.kind {
	case classData, classNot:
		return true
	case classOneOf:
		return slices.ContainsFunc(c.members, func(m place) bool { return m.kind != placeConst || m.term.Kind == rdf.Literal })
	case classAnd, classOr:
		return slices.ContainsFunc(c.of, (*classOf).hasData)
	}
	return false
}

// takes says whether a value is one that a place names.
func (p place) takes(r *run, id knowledge.ID) bool {
	switch p.kind {
	case placeConst:
		return id == r.cursor.ID(p.term)
	case placeTexts:
		it := r.cursor.Term(id)
		return it.Kind == rdf.Literal && it.Value == p.text && (p.accepts == nil || p.accepts(it))
	case placeValue, placeFilter:
		if !r.cursor.IsLiteral(id) {
			return false
		}
		it := r.cursor.Term(id)
		return r.matching(p.insts, len(it.Value)) && p.accepts(it)
	}
	return false
}

// isIn says whether an individual or literal is in a class expression.
func (r *run) isIn(c *classOf, i knowledge.ID) bool {
	if !r.tick() {
		return false
	}
	if e := r.extents[c]; e != nil && !r.cursor.IsLiteral(i) && !(c.kind == classNot || c.kind == classMax || c.kind == classMin) {
		_, has := e.has[i]
		return has
	}
	some := func(o knowledge.ID) bool { return len(c.of) == 0 || r.isIn(c.of[0], o) }
	count := func(most int) int {
		n := 0
		values := map[knowledge.ID]bool{}
		r.pairs(c, i, 0, func(_, o knowledge.ID) bool {
			if !values[o] && some(o) {
				values[o] = true
				n++
			}
			return n < most
		})
		return n
	}
	individual := !r.cursor.IsLiteral(i)
	switch c.kind {
	case classNamed:
		return r.cursor.IsMember(i, r.cursor.ID(c.class))
	case classData:
		if individual {
			return false
		}
		t := r.cursor.Term(i)
		return isOfDatatype(t, c.class.Value) && !slices.ContainsFunc(c.facets, func(f facet) bool { return !r.matching(f.insts, len(t.Value)) || !f.holds(t) })
	case classAnd:
		return !slices.ContainsFunc(c.of, func(of *classOf) bool { return !r.isIn(of, i) })
	case classOr:
		return slices.ContainsFunc(c.of, func(of *classOf) bool { return r.isIn(of, i) })
	case classNot:
		return (!individual || r.cursor.IsSubject(i)) && !r.isIn(c.of[0], i)
	case classOneOf:
		return slices.ContainsFunc(c.members, func(m place) bool { return m.takes(r, i) })
	case classSome:
		return !r.pairs(c, i, 0, func(_, o knowledge.ID) bool { return !some(o) }) && r.err == nil
	case classOnly:
		any, all := false, true
		r.pairs(c, i, 0, func(_, o knowledge.ID) bool {
			any, all = true, some(o)
			return all
		})
		return any && all
	case classValue:
		switch c.value.kind {
		case placeConst:
			return !r.pairs(c, i, r.cursor.ID(c.value.term), func(_, _ knowledge.ID) bool { return false }) && r.err == nil
		default:
			return !r.pairs(c, i, 0, func(_, o knowledge.ID) bool { return !c.value.takes(r, o) }) && r.err == nil
		}
	case classSelf:
		return !r.pairs(c, i, i, func(_, _ knowledge.ID) bool { return false }) && r.err == nil
	case classMin:
		return individual && (c.n == 0 && r.cursor.IsSubject(i) || c.n > 0 && count(c.n) >= c.n)
	case classMax:
		return individual && r.cursor.IsSubject(i) && count(c.n+1) <= c.n
	case classExactly:
		return individual && (c.n > 0 || r.cursor.IsSubject(i)) && count(c.n+1) == c.n
	}
	return false
}
