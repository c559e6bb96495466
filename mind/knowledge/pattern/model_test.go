package pattern

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

const ns = "http://x#"

func x(name string) rdf.Term { return rdf.NewIRI(ns + name) }

var isA = rdf.NewIRI(rdf.NS + "type")

// world draws properties, classes and individuals, with all that properties' use looks at.
func world(t *rapid.T) *knowledge.View {
	g := knowledge.NewGraph()
	owl := func(name string) rdf.Term { return rdf.NewIRI(rdf.NSOWL + name) }
	rdfs := func(name string) rdf.Term { return rdf.NewIRI(rdf.NSRDFS + name) }
	some := func(prefix string, n int) *rapid.Generator[rdf.Term] {
		return rapid.Custom(func(t *rapid.T) rdf.Term { return x(fmt.Sprint(prefix, rapid.IntRange(0, n-1).Draw(t, prefix))) })
	}
	p, i, c := some("p", 4), some("i", 5), some("c", 3)
	value := rapid.OneOf(i, i, i, rapid.SampledFrom([]rdf.Term{
		rdf.NewText("t"), rdf.NewTagged("t", "en"), rdf.NewTyped("2.0", rdf.NSXSD+"double"), rdf.NewTyped("2", rdf.NSXSD+"integer"),
	}))
	for range rapid.IntRange(0, 25).Draw(t, "triples") {
		it := rdf.Triple{S: i.Draw(t, "s"), P: p.Draw(t, "p"), O: value.Draw(t, "o")}
		switch rapid.IntRange(0, 13).Draw(t, "kind") {
		case 0:
			it = rdf.Triple{S: p.Draw(t, "sub"), P: rdfs("subPropertyOf"), O: p.Draw(t, "super")}
		case 1:
			it = rdf.Triple{S: p.Draw(t, "of"), P: isA, O: owl("TransitiveProperty")}
		case 2:
			it = rdf.Triple{S: p.Draw(t, "of"), P: isA, O: owl("SymmetricProperty")}
		case 3:
			it = rdf.Triple{S: p.Draw(t, "of"), P: owl("inverseOf"), O: p.Draw(t, "inverse")}
		case 4:
			it = rdf.Triple{S: it.S, P: owl("sameAs"), O: i.Draw(t, "same")}
		case 5, 6:
			it = rdf.Triple{S: it.S, P: isA, O: c.Draw(t, "class")}
		case 7:
			it = rdf.Triple{S: c.Draw(t, "sub"), P: rdfs("subClassOf"), O: c.Draw(t, "super")}
		case 8:
			it = rdf.Triple{S: it.P, P: rdfs("range"), O: c.Draw(t, "class")}
		case 9:
			restriction := rdf.NewBlank("r")
			g.Add(rdf.Triple{S: restriction, P: owl("onProperty"), O: it.P})
			g.Add(rdf.Triple{S: restriction, P: owl("hasValue"), O: it.O})
			it = rdf.Triple{S: c.Draw(t, "class"), P: rdfs("subClassOf"), O: restriction}
		}
		g.Add(it)
	}
	return &knowledge.View{Graph: g}
}

// clausesOf draws a part of a question.
func clausesOf(t *rapid.T, depth int) []Clause {
	v := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	individual := rapid.Custom(func(t *rapid.T) Term { return Exactly(x(fmt.Sprint("i", rapid.IntRange(0, 4).Draw(t, "i")))) })
	variable := rapid.Custom(func(t *rapid.T) Term { return Var(v.Draw(t, "v")) })
	subject := rapid.OneOf(variable, variable, variable, individual, rapid.Just(Term{}))
	object := rapid.OneOf(variable, variable, variable, individual, rapid.SampledFrom([]Term{{}, Text("t"), Number(2), Like("^t"), Exactly(rdf.NewText("t"))}))
	var out []Clause
	for range rapid.IntRange(1, 3).Draw(t, "n") {
		kind := rapid.IntRange(0, 11).Draw(t, "kind")
		switch {
		case kind == 0 && depth > 0:
			out = append(out, Not(clausesOf(t, depth-1)...))
		case kind == 1 && depth > 0:
			out = append(out, Optional(clausesOf(t, depth-1)...))
		case kind <= 3:
			class := Exactly(x(fmt.Sprint("c", rapid.IntRange(0, 2).Draw(t, "c"))))
			out = append(out, Match(subject.Draw(t, "s"), A, rapid.OneOf(rapid.Just(class), rapid.Just(class), variable).Draw(t, "class")))
		case kind == 4:
			out = append(out, Match(subject.Draw(t, "s"), Var(v.Draw(t, "p")), object.Draw(t, "o")))
		default:
			path := Path{Property: Exactly(x(fmt.Sprint("p", rapid.IntRange(0, 3).Draw(t, "p")))), Repeat: Repeat(max(0, rapid.IntRange(-3, 2).Draw(t, "repeat")))}
			s, o := subject.Draw(t, "s"), object.Draw(t, "o")
			if !o.isLiteral() && rapid.IntRange(0, 3).Draw(t, "inverse") == 0 {
				path.Inverse = true
			}
			out = append(out, Along(s, path, o))
		}
	}
	return out
}

type pairs map[[2]rdf.Term]bool

// model answers by definition: all pairs of each property, and products in the order of the text.
type model struct {
	v    *knowledge.View
	mode knowledge.Mode
}

func (m model) property(p rdf.Term) pairs {
	out := pairs{}
	add := func(s, o rdf.Term) { out[[2]rdf.Term{s, o}] = true }
	if m.mode == knowledge.AsStated {
		for t := range m.v.Match(rdf.Term{}, p, rdf.Term{}) {
			add(t.S, t.O)
		}
		return out
	}
	for t := range m.v.Has(rdf.Term{}, p, rdf.Term{}) {
		add(t.S, t.O)
	}
	if m.mode == knowledge.AsRDFS {
		return out
	}
	return m.saturated()[p]
}

// saturated applies the rules of OWL to the pairs of all properties until nothing is new.
func (m model) saturated() map[rdf.Term]pairs {
	all := map[rdf.Term]pairs{}
	again := true
	add := func(p, s, o rdf.Term) {
		if all[p] == nil {
			all[p] = pairs{}
		}
		if pair := [2]rdf.Term{s, o}; s.Kind != rdf.Literal && !all[p][pair] {
			all[p][pair] = true
			again = true
		}
	}
	rdfs := func(name string) pairs { return m.has(rdf.NSRDFS + name) }
	owl := func(name string) pairs { return m.has(rdf.NSOWL + name) }
	is := func(p rdf.Term, class string) bool {
		for range m.v.RDFSIndividualOf(p, rdf.NewIRI(rdf.NSOWL+class)) {
			return true
		}
		return false
	}
	for t := range m.v.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
		add(t.P, t.S, t.O)
	}
	for member := range m.has(isA.Value) {
		for restriction := range owl("onProperty") {
			for value := range owl("hasValue") {
				if value[0] == restriction[0] && rdfs("subClassOf")[[2]rdf.Term{member[1], value[0]}] {
					add(restriction[1], member[0], value[1])
				}
			}
		}
	}
	for again {
		again = false
		for p, of := range maps.Clone(all) {
			transitive, symmetric := is(p, "TransitiveProperty"), is(p, "SymmetricProperty")
			for pair := range maps.Clone(of) {
				for sub := range rdfs("subPropertyOf") {
					if sub[0] == p {
						add(sub[1], pair[0], pair[1])
					}
				}
				for inverse := range owl("inverseOf") {
					if inverse[0] == p {
						add(inverse[1], pair[1], pair[0])
					}
					if inverse[1] == p {
						add(inverse[0], pair[1], pair[0])
					}
				}
				if symmetric {
					add(p, pair[1], pair[0])
				}
				if transitive {
					for next := range of {
						if next[0] == pair[1] && next[1].Kind != rdf.Literal { // one step only leads to a literal
							add(p, pair[0], next[1])
						}
					}
				}
				for same := range owl("sameAs") {
					for _, same := range [2][2]rdf.Term{same, {same[1], same[0]}} {
						if pair[0] == same[0] {
							add(p, same[1], pair[1])
						}
						if pair[1] == same[0] {
							add(p, pair[0], same[1])
						}
					}
				}
			}
		}
	}
	return all
}

func (m model) has(property string) pairs {
	out := pairs{}
	for t := range m.v.Has(rdf.Term{}, rdf.NewIRI(property), rdf.Term{}) {
		out[[2]rdf.Term{t.S, t.O}] = true
	}
	return out
}

func (m model) nodes() map[rdf.Term]bool {
	out := map[rdf.Term]bool{}
	for t := range m.v.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
		out[t.S] = true
		if t.O.Kind != rdf.Literal {
			out[t.O] = true
		}
	}
	return out
}

// types is who is in which class: as members of a constant class, or for a variable.
func (m model) types(class rdf.Term) pairs {
	out := pairs{}
	if m.mode == knowledge.AsStated {
		return m.property(isA)
	}
	stated := pairs{}
	for t := range m.v.Has(rdf.Term{}, isA, rdf.Term{}) {
		stated[[2]rdf.Term{t.S, t.O}] = true
		for _, super := range m.v.SubclassOf(t.O, rdf.Term{}) {
			if super.Value != rdf.NSRDFS+"Resource" {
				out[[2]rdf.Term{t.S, super}] = true
			}
		}
	}
	if !class.IsZero() && m.mode == knowledge.AsOWL {
		for i := range m.v.IndividualOf(rdf.Term{}, class) {
			if i.Kind != rdf.Literal {
				out[[2]rdf.Term{i, class}] = true
			}
		}
	}
	return out
}

func (m model) path(t *Triple) pairs {
	var rel pairs
	if t.P.Property.kind == named {
		rel = m.types(t.O.term)
	} else {
		rel = m.property(t.P.Property.term)
	}
	if t.P.Repeat != Once {
		closed := pairs{}
		for pair := range rel {
			closed[pair] = true
		}
		for again := true; again; {
			again = false
			for a := range closed {
				for b := range rel {
					if a[1] == b[0] && !closed[[2]rdf.Term{a[0], b[1]}] {
						closed[[2]rdf.Term{a[0], b[1]}] = true
						again = true
					}
				}
			}
		}
		rel = closed
		if t.P.Repeat == ZeroOrMore {
			for n := range m.nodes() {
				rel[[2]rdf.Term{n, n}] = true
			}
		}
	}
	if t.P.Inverse {
		turned := pairs{}
		for pair := range rel {
			turned[[2]rdf.Term{pair[1], pair[0]}] = true
		}
		return turned
	}
	return rel
}

type solution map[string]rdf.Term

func (s solution) with(name string, value rdf.Term) solution {
	out := solution{}
	for k, v := range s {
		out[k] = v
	}
	out[name] = value
	return out
}

// fits returns the solution with a place that has a value, or nil.
func fits(s solution, at Term, value rdf.Term) solution {
	ok := true
	switch at.kind {
	case variable:
		known, bound := s[at.text]
		if !bound {
			return s.with(at.text, value)
		}
		ok = known == value
	case exact:
		ok = at.term == value
	case anyText:
		ok = value.Kind == rdf.Literal && value.Value == at.text
	case number:
		ok = value.Kind == rdf.Literal && (value.Value == "2" || value.Value == "2.0")
	case expression:
		ok = value.Kind == rdf.Literal && regexp.MustCompile(at.text).MatchString(value.Value)
	}
	if !ok {
		return nil
	}
	return s
}

func key(s solution) string {
	var all []string
	for k, v := range s {
		all = append(all, fmt.Sprint(k, "=", v))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (m model) solve(clauses []Clause, from []solution) []solution {
	for _, c := range clauses {
		if c.Triple == nil {
			continue
		}
		var next []solution
		seen := map[string]bool{}
		add := func(s solution) {
			if s != nil && !seen[key(s)] {
				seen[key(s)] = true
				next = append(next, s)
			}
		}
		t := c.Triple
		for _, s := range from {
			if t.P.Property.kind == variable {
				for it := range m.v.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
					if s := fits(s, t.S, it.S); s != nil {
						if s := fits(s, t.P.Property, it.P); s != nil {
							add(fits(s, t.O, it.O))
						}
					}
				}
				continue
			}
			for pair := range m.path(t) {
				if s := fits(s, t.S, pair[0]); s != nil {
					add(fits(s, t.O, pair[1]))
				}
			}
		}
		from = next
	}
	for _, c := range clauses {
		if c.Optional == nil {
			continue
		}
		var next []solution
		for _, s := range from {
			if some := m.solve(c.Optional, []solution{s}); len(some) > 0 {
				next = append(next, some...)
			} else {
				next = append(next, s)
			}
		}
		from = next
	}
	for _, c := range clauses {
		if c.Not != nil {
			from = slices.DeleteFunc(from, func(s solution) bool { return len(m.solve(c.Not, []solution{s})) > 0 })
		}
		if c.Where != "" {
			a, b := strings.TrimPrefix(c.Where[:2], "?"), strings.TrimPrefix(c.Where[len(c.Where)-2:], "?")
			from = slices.DeleteFunc(from, func(s solution) bool { return s[a] == s[b] })
		}
	}
	return from
}

// Answers are those of the definition, whatever the order of the planner, each once; the question
// is the same as text and as JSON.
func TestRandomQuestions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := world(t)
		q := &Question{Body: clausesOf(t, 2), Mode: rapid.SampledFrom([]knowledge.Mode{knowledge.AsOWL, knowledge.AsOWL, knowledge.AsRDFS, knowledge.AsStated}).Draw(t, "mode")}
		if names := q.variables(); len(names) > 1 && rapid.Bool().Draw(t, "where") {
			q.Body = append(q.Body, Where("?"+names[0]+" != ?"+names[1]))
		}
		parsed, err := Parse(q.String())
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		if parsed.String() != q.String() {
			t.Fatalf("%s is read as %s", q, parsed)
		}
		b, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		var again Question
		if err := json.Unmarshal(b, &again); err != nil || again.String() != q.String() {
			t.Fatalf("%s is read from JSON as %s: %v\n%s", q, &again, err, b)
		}
		c, err := Compile(v, parsed)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		var got, want []string
		for row, err := range c.Ask(t.Context(), v, knowledge.Limits{}) {
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			s := solution{}
			for i := range row.Len() {
				if value := row.Value(i); !value.IsZero() {
					s[row.Name(i)] = value
				}
			}
			got = append(got, key(s))
			row.Why()
		}
		for _, s := range (model{v, q.Mode}).solve(q.Body, []solution{{}}) {
			want = append(want, key(s))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%s\nplan %q\n got %q\nwant %q\nof %v", q, c.Plan(), got, want, slices.Collect(v.Match(rdf.Term{}, rdf.Term{}, rdf.Term{})))
		}
	})
}

// variables returns the variables that triples outside of not bind.
func (q *Question) variables() []string {
	var all []string
	var visit func([]Clause)
	visit = func(clauses []Clause) {
		for _, c := range clauses {
			if c.Triple != nil {
				for _, t := range []Term{c.Triple.S, c.Triple.P.Property, c.Triple.O} {
					if t.kind == variable && !slices.Contains(all, t.text) {
						all = append(all, t.text)
					}
				}
			}
			visit(c.Optional)
		}
	}
	visit(q.Body)
	return all
}

// What Why says of a triple is stated, and enough for it to follow; of what does not hold it says
// nothing.
func TestWhyIsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := world(t)
		m := model{v, knowledge.AsOWL}
		p := x(fmt.Sprint("p", rapid.IntRange(0, 3).Draw(t, "p")))
		if rapid.IntRange(0, 3).Draw(t, "type") == 0 {
			p = isA
		}
		things := slices.SortedFunc(maps.Keys(m.nodes()), compareTerms)
		things = append(things, rdf.NewText("t"), rdf.NewTagged("t", "en"))
		holds := pairs{}
		if p != isA {
			holds = m.property(p)
		}
		for _, o := range things {
			if p == isA {
				if !strings.HasPrefix(o.Value, ns+"c") {
					continue
				}
				holds = m.types(o)
			}
			for _, s := range things {
				it := rdf.Triple{S: s, P: p, O: o}
				why := knowledge.Why(v, it)
				if (len(why) > 0) != holds[[2]rdf.Term{s, o}] {
					t.Fatalf("%v rests on %v of %v", it, why, slices.Collect(v.Match(rdf.Term{}, rdf.Term{}, rdf.Term{})))
				}
				g := knowledge.NewGraph()
				for _, fact := range why {
					if len(slices.Collect(v.Match(fact.S, fact.P, fact.O))) == 0 {
						t.Fatalf("%v rests on %v, which is not stated", it, fact)
					}
					g.Add(fact)
				}
				c := g.Cursor()
				follows := p == isA && c.IsMember(c.ID(s), c.ID(o)) ||
					p != isA && !c.Relation(c.ID(p), knowledge.AsOWL).Each(c.ID(s), c.ID(o), func(_, _ knowledge.ID) bool { return false })
				if len(why) > 0 && !follows {
					t.Fatalf("%v does not follow from %v of %v", it, why, slices.Collect(v.Match(rdf.Term{}, rdf.Term{}, rdf.Term{})))
				}
			}
		}
	})
}

// drawClass draws a class expression.
func drawClass(t *rapid.T, depth int) *Class {
	named := func() *Class {
		return &Class{kind: classNamed, name: Exactly(x(fmt.Sprint("c", rapid.IntRange(0, 2).Draw(t, "c"))))}
	}
	if depth == 0 {
		return named()
	}
	c := &Class{kind: rapid.SampledFrom([]classKind{
		classAnd, classOr, classNot, classSome, classOnly, classValue, classSelf, classMin, classMax, classExactly, classOneOf,
	}).Draw(t, "kind")}
	individual := func() Term { return Exactly(x(fmt.Sprint("i", rapid.IntRange(0, 4).Draw(t, "i")))) }
	c.property = Exactly(x(fmt.Sprint("p", rapid.IntRange(0, 3).Draw(t, "p"))))
	c.inverse = rapid.Bool().Draw(t, "inverse")
	operands := 0
	switch c.kind {
	case classAnd, classOr:
		operands = rapid.IntRange(2, 3).Draw(t, "operands")
	case classNot:
		operands = 1
	case classSome, classOnly:
		operands = 1
		if rapid.IntRange(0, 3).Draw(t, "data") == 0 {
			c.of = []*Class{{kind: classData, name: IRI(rdf.NSXSD + "double"), facets: []facet{{name: ">=", value: Number(2)}}}}
			return c
		}
	case classMin, classMax, classExactly:
		c.n = rapid.IntRange(0, 2).Draw(t, "n")
		operands = rapid.IntRange(0, 1).Draw(t, "filler")
	case classValue:
		c.value = rapid.SampledFrom([]Term{individual(), Text("t"), Number(2), Exactly(rdf.NewText("t"))}).Draw(t, "value")
	case classOneOf:
		c.members = []Term{individual(), individual()}
	}
	for range operands {
		c.of = append(c.of, drawClass(t, depth-1))
	}
	return c
}

// in says by definition whether a term is in a class expression.
func (m model) in(c *Class, i rdf.Term, all map[rdf.Term]pairs) bool {
	subject := false
	for range m.v.Match(i, rdf.Term{}, rdf.Term{}) {
		subject = true
	}
	individual := i.Kind != rdf.Literal
	values := map[rdf.Term]bool{}
	n, fillers := 0, 0
	for pair := range all[c.property.term] {
		if c.inverse {
			pair[0], pair[1] = pair[1], pair[0]
		}
		if pair[0] == i && individual {
			values[pair[1]] = true
		}
	}
	for o := range values {
		n++
		if len(c.of) == 0 || m.in(c.of[0], o, all) {
			fillers++
		}
	}
	switch c.kind {
	case classNamed:
		return m.types(c.name.term)[[2]rdf.Term{i, c.name.term}]
	case classData:
		return i == rdf.NewTyped("2.0", rdf.NSXSD+"double")
	case classAnd:
		return !slices.ContainsFunc(c.of, func(of *Class) bool { return !m.in(of, i, all) })
	case classOr:
		return slices.ContainsFunc(c.of, func(of *Class) bool { return m.in(of, i, all) })
	case classNot:
		return (subject || !individual) && !m.in(c.of[0], i, all)
	case classSome:
		return fillers > 0
	case classOnly:
		return n > 0 && fillers == n
	case classValue:
		for o := range values {
			if fits(solution{}, c.value, o) != nil {
				return true
			}
		}
		return false
	case classSelf:
		return values[i]
	case classMin:
		return individual && fillers >= c.n && (c.n > 0 || subject)
	case classMax:
		return subject && fillers <= c.n
	case classExactly:
		return individual && fillers == c.n && (c.n > 0 || subject)
	}
	return slices.ContainsFunc(c.members, func(t Term) bool { return t.term == i })
}

// Class expressions have those that they have by definition, in whatever way they are looked for.
func TestRandomClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := world(t)
		m := model{v, knowledge.AsOWL}
		class := drawClass(t, 2)
		parsed, err := ParseClass(class.String())
		if err != nil || parsed.String() != class.String() {
			t.Fatalf("%s is read as %s: %v", class, parsed, err)
		}
		var want []string
		all := m.saturated()
		things := m.nodes()
		for i := range 5 {
			things[x(fmt.Sprint("i", i))] = true // { i } has it, if it is nowhere else
		}
		for i := range things {
			if m.in(class, i, all) {
				want = append(want, i.Value)
			}
		}
		slices.Sort(want)
		for _, text := range []string{"", "?individual ?p ?o; select distinct ?individual; "} {
			q := class.Ask()
			wanted := want
			if text != "" {
				if q, err = Parse(text + q.String()); err != nil {
					t.Fatal(err)
				}
				wanted = slices.DeleteFunc(slices.Clone(want), func(i string) bool {
					for range v.Match(rdf.NewIRI(i), rdf.Term{}, rdf.Term{}) {
						return false
					}
					return !strings.HasPrefix(i, "r") // the blank node
				})
			}
			c, err := Compile(v, q)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for row, err := range c.Ask(t.Context(), v, knowledge.Limits{}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, row.Get("individual").Value)
				row.Why()
			}
			slices.Sort(got)
			if !slices.Equal(got, wanted) {
				t.Fatalf("%s\n got %s\nwant %s\nof %v", q, got, wanted, slices.Collect(v.Match(rdf.Term{}, rdf.Term{}, rdf.Term{})))
			}
		}
	})
}
