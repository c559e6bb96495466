package knowledge

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

func iri(name string) rdf.Term { return rdf.NewIRI("http://x#" + name) }

func rdfs(name string) rdf.Term { return rdf.NewIRI(rdf.NSRDFS + name) }

func owl(name string) rdf.Term { return rdf.NewIRI(rdf.NSOWL + name) }

var typ = rdf.NewIRI(rdf.NS + "type")

func compare(a, b rdf.Term) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Lang, b.Lang))
}

// order returns an answer's triples in one order; an answer must not repeat.
func order(t interface{ Fatalf(string, ...any) }, answer iter.Seq[rdf.Triple]) []rdf.Triple {
	all := slices.Collect(answer)
	slices.SortFunc(all, func(a, b rdf.Triple) int {
		return cmp.Or(compare(a.S, b.S), compare(a.P, b.P), compare(a.O, b.O))
	})
	if n := len(all); len(slices.Compact(slices.Clone(all))) != n {
		t.Fatalf("an answer comes twice: %v", all)
	}
	return all
}

func triples(pairs iter.Seq2[rdf.Term, rdf.Term]) iter.Seq[rdf.Triple] {
	return func(yield func(rdf.Triple) bool) {
		for a, b := range pairs {
			if !yield(rdf.Triple{S: a, O: b}) {
				return
			}
		}
	}
}

func term(n int) *rapid.Generator[rdf.Term] {
	return rapid.Custom(func(t *rapid.T) rdf.Term {
		switch i := rapid.IntRange(0, n).Draw(t, "term"); i % 5 {
		case 0:
			return rdf.NewBlank(fmt.Sprint("b", i))
		case 1:
			return rdf.NewText(fmt.Sprint("n", i))
		case 2:
			return rdf.NewTyped(fmt.Sprint("n", i-1), rdf.NSXSD+"string")
		case 3:
			return rdf.NewTagged(fmt.Sprint("n", i-2), "en")
		default:
			return iri(fmt.Sprint("n", i))
		}
	})
}

// The indexes after changes are those of a graph that never had what is gone,
// whatever is bound in a question.
func TestGraphAfterChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{4, 20, 300}).Draw(t, "terms")
		g := NewGraph()
		model := map[rdf.Triple]bool{}
		triple := rapid.Custom(func(t *rapid.T) rdf.Triple {
			return rdf.Triple{S: term(size).Draw(t, "s"), P: iri(fmt.Sprint("n", 5*rapid.IntRange(0, 3).Draw(t, "p")+4)), O: term(size).Draw(t, "o")}
		})
		for range rapid.IntRange(0, 400).Draw(t, "changes") {
			it := triple.Draw(t, "triple")
			if rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				if got, want := g.Remove(it), model[it]; got != want {
					t.Fatalf("Remove(%v) = %v, want %v", it, got, want)
				}
				delete(model, it)
				continue
			}
			if got, want := g.Add(it), !model[it] && it.S.Kind != rdf.Literal; got != want {
				t.Fatalf("Add(%v) = %v, want %v", it, got, want)
			}
			if it.S.Kind != rdf.Literal {
				model[it] = true
			}
		}
		anew := NewGraph()
		for it := range model {
			anew.Add(it)
		}
		if g.Len() != len(model) || anew.Len() != len(model) {
			t.Fatalf("%d and %d triples, want %d", g.Len(), anew.Len(), len(model))
		}
		var some []rdf.Triple
		for it := range model {
			some = append(some, it)
		}
		some = append(some, triple.Draw(t, "other"))
		for _, it := range some[max(0, len(some)-5):] {
			for bound := range 8 {
				var ask rdf.Triple
				if bound&1 > 0 {
					ask.S = it.S
				}
				if bound&2 > 0 {
					ask.P = it.P
				}
				if bound&4 > 0 {
					ask.O = it.O
				}
				want := order(t, func(yield func(rdf.Triple) bool) {
					for m := range model {
						if (ask.S.IsZero() || ask.S == m.S) && (ask.P.IsZero() || ask.P == m.P) && (ask.O.IsZero() || ask.O == m.O) && !yield(m) {
							return
						}
					}
				})
				for _, g := range []*Graph{g, anew} {
					if got := order(t, g.Match(ask.S, ask.P, ask.O)); !slices.Equal(got, want) {
						t.Fatalf("Match(%v) = %v, want %v", ask, got, want)
					}
				}
			}
		}
	})
}

// A large index is as one that is sorted, while keys come and go.
func TestIndexOfManyKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x index
		model := map[key]bool{}
		var keys []key
		for round := range rapid.IntRange(1, 6).Draw(t, "rounds") {
			n := rapid.IntRange(1, 2000).Draw(t, "n")
			step := uint32(rapid.SampledFrom([]int{1, 7919, 104729}).Draw(t, "step"))
			start := uint32(rapid.IntRange(0, 5000).Draw(t, "start"))
			for i := range uint32(n) {
				v := (start + i*step) % 6000
				k := key{v / 100, v / 10 % 10, v % 10}
				if round%2 == 1 {
					if model[k] {
						x.remove(k)
						delete(model, k)
					}
				} else if !model[k] {
					x.add(k)
					model[k] = true
				}
			}
		}
		for k := range model {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b key) int {
			if a.less(b) {
				return -1
			}
			return 1
		})
		var got []key
		x.scan(key{}, 0, func(k key) bool { got = append(got, k); return true })
		if !slices.Equal(got, keys) {
			t.Fatalf("%d keys, want %d", len(got), len(keys))
		}
		if len(x.chunks) > 2+len(keys)/(chunkSize/4) {
			t.Fatalf("%d chunks for %d keys", len(x.chunks), len(keys))
		}
		var firsts, want []uint32
		x.firstsOf(func(v uint32) bool { firsts = append(firsts, v); return true })
		for _, k := range keys {
			want = append(want, k[0])
		}
		if want = slices.Compact(want); !slices.Equal(firsts, want) {
			t.Fatalf("first names %v, want %v", firsts, want)
		}
		for i, chunk := range x.chunks {
			if len(chunk) == 0 || x.firsts[i] != chunk[0] {
				t.Fatalf("chunk %d begins with %v", i, x.firsts[i])
			}
		}
	})
}

// pairSet is a relation for naive computations.
type pairSet map[[2]rdf.Term]bool

func (s pairSet) add(a, b rdf.Term) bool {
	if s[[2]rdf.Term{a, b}] {
		return false
	}
	s[[2]rdf.Term{a, b}] = true
	return true
}

// closed adds what one step after another reaches, until nothing changes.
func (s pairSet) closed() pairSet {
	for again := true; again; {
		again = false
		for x := range s {
			for y := range s {
				if x[1] == y[0] && s.add(x[0], y[1]) {
					again = true
				}
			}
		}
	}
	return s
}

// ontology draws a few properties, classes and individuals, with everything
// that owl_has/3 looks at.
func ontology(t *rapid.T) (all []rdf.Triple, properties, individuals []rdf.Term) {
	for i := range 4 {
		properties = append(properties, iri(fmt.Sprint("p", i)))
	}
	for i := range 6 {
		individuals = append(individuals, iri(fmt.Sprint("i", i)))
	}
	classes := []rdf.Term{iri("c0"), iri("c1"), iri("c2")}
	p, i, c := rapid.SampledFrom(properties), rapid.SampledFrom(individuals), rapid.SampledFrom(classes)
	value := rapid.OneOf(i, i, i, rapid.SampledFrom([]rdf.Term{rdf.NewText("t"), rdf.NewTagged("t", "en")}))
	for range rapid.IntRange(0, 25).Draw(t, "triples") {
		it := rdf.Triple{S: i.Draw(t, "s"), P: p.Draw(t, "p"), O: value.Draw(t, "o")}
		switch rapid.IntRange(0, 11).Draw(t, "kind") {
		case 0:
			it = rdf.Triple{S: p.Draw(t, "sub"), P: rdfs("subPropertyOf"), O: p.Draw(t, "super")}
		case 1:
			it = rdf.Triple{S: p.Draw(t, "of"), P: typ, O: owl("TransitiveProperty")}
		case 2:
			it = rdf.Triple{S: p.Draw(t, "of"), P: typ, O: owl("SymmetricProperty")}
		case 3:
			it = rdf.Triple{S: p.Draw(t, "of"), P: owl("inverseOf"), O: p.Draw(t, "inverse")}
		case 4:
			it = rdf.Triple{S: it.S, P: owl("sameAs"), O: i.Draw(t, "same")}
		case 5:
			it = rdf.Triple{S: it.S, P: typ, O: c.Draw(t, "class")}
		case 6:
			restriction := rdf.NewBlank(fmt.Sprint("r", rapid.IntRange(0, 1).Draw(t, "r")))
			all = append(all, rdf.Triple{S: restriction, P: owl("onProperty"), O: it.P}, rdf.Triple{S: restriction, P: owl("hasValue"), O: it.O})
			it = rdf.Triple{S: c.Draw(t, "class"), P: rdfs("subClassOf"), O: restriction}
		case 7:
			it = rdf.Triple{S: c.Draw(t, "sub"), P: rdfs("subClassOf"), O: c.Draw(t, "super")}
		}
		all = append(all, it)
	}
	return all, properties, individuals
}

// naive computes relations by definition from a list of triples.
type naive []rdf.Triple

func (n naive) of(p rdf.Term) pairSet {
	out := pairSet{}
	for _, t := range n {
		if t.P == p {
			out.add(t.S, t.O)
		}
	}
	return out
}

func (n naive) subs(p rdf.Term) []rdf.Term {
	out := []rdf.Term{p}
	for x := range n.of(rdfs("subPropertyOf")).closed() {
		if x[1] == p && x[0] != p {
			out = append(out, x[0])
		}
	}
	return out
}

func (n naive) has(p rdf.Term) pairSet {
	out := pairSet{}
	for _, sub := range n.subs(p) {
		for x := range n.of(sub) {
			out.add(x[0], x[1])
		}
	}
	return out
}

// direct is owl_has_direct/3. Which inverse counts where a property has several
// is asked of the graph.
func (n naive) direct(p rdf.Term, inverses []rdf.Term) pairSet {
	out := n.of(p)
	for _, inverse := range inverses {
		for x := range n.has(inverse) {
			if x[1].Kind != rdf.Literal {
				out.add(x[1], x[0])
			}
		}
	}
	if n.of(typ)[[2]rdf.Term{p, owl("SymmetricProperty")}] {
		for x := range n.of(p) {
			if x[1].Kind != rdf.Literal {
				out.add(x[1], x[0])
			}
		}
	}
	for on := range n.of(owl("onProperty")) {
		for value := range n.of(owl("hasValue")) {
			for below := range n.of(rdfs("subClassOf")) {
				for member := range n.of(typ) {
					if on[1] == p && value[0] == on[0] && below[1] == on[0] && member[1] == below[0] {
						out.add(member[0], value[1])
					}
				}
			}
		}
	}
	return out
}

// owlHas is owl_has/3; back is of an unbound subject and a bound object.
func (n naive) owlHas(g *Graph, p rdf.Term, back bool) pairSet {
	same := pairSet{}
	for x := range n.of(owl("sameAs")) {
		same.add(x[0], x[1])
		same.add(x[1], x[0])
	}
	same.closed()
	equal := func(a, b rdf.Term) bool { return a == b || same[[2]rdf.Term{a, b}] }
	things := map[rdf.Term]bool{}
	for _, t := range n {
		things[t.S], things[t.O] = true, true
	}
	r := g.reader()
	transitive := n.of(typ)[[2]rdf.Term{p, owl("TransitiveProperty")}]
	subs := []rdf.Term{p}
	if transitive {
		subs = n.subs(p)
	}
	out := pairSet{}
	for _, sub := range subs {
		var inverses []rdf.Term
		for _, id := range r.inverses(r.id(sub)) {
			inverses = append(inverses, r.termOf(id))
		}
		for x := range n.direct(sub, inverses) {
			for s := range things {
				for o := range things {
					if equal(s, x[0]) && (x[1] == o || equal(x[1], o) && (transitive || !back)) && !(transitive && o.Kind == rdf.Literal) {
						out.add(s, o)
					}
				}
			}
		}
	}
	if transitive {
		out.closed()
	}
	return out
}

func (s pairSet) triples(p, boundS, boundO rdf.Term) iter.Seq[rdf.Triple] {
	return func(yield func(rdf.Triple) bool) {
		for x := range s {
			if (boundS.IsZero() || boundS == x[0]) && (boundO.IsZero() || boundO == x[1]) && !yield(rdf.Triple{S: x[0], P: p, O: x[1]}) {
				return
			}
		}
	}
}

// Has, OWLHas and Reachable are what their definitions say, whatever is bound,
// before and after triples are taken away again.
func TestClosuresAgainstNaiveOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, properties, individuals := ontology(t)
		g := NewGraph()
		for _, it := range all {
			g.Add(it)
		}
		for range 2 {
			n := naive(slices.Collect(g.Match(rdf.Term{}, rdf.Term{}, rdf.Term{})))
			p := rapid.SampledFrom(properties).Draw(t, "asked")
			has := n.has(p)
			reach := n.has(p).closed()
			for bound := range 4 {
				var s, o rdf.Term
				if bound&1 > 0 {
					s = rapid.SampledFrom(individuals).Draw(t, "subject")
				}
				if bound&2 > 0 {
					o = rapid.SampledFrom(individuals).Draw(t, "object")
				}
				if got, want := order(t, g.Has(s, p, o)), order(t, has.triples(p, s, o)); !slices.Equal(got, want) {
					t.Fatalf("Has(%v, %v, %v)\n got %v\nwant %v\n of %v", s, p, o, got, want, n)
				}
				if got, want := order(t, g.OWLHas(s, p, o)), order(t, n.owlHas(g, p, bound == 2).triples(p, s, o)); !slices.Equal(got, want) {
					t.Fatalf("OWLHas(%v, %v, %v)\n got %v\nwant %v\n of %v", s, p, o, got, want, n)
				}
				if bound == 0 {
					continue
				}
				with := pairSet{}
				for x := range reach {
					if x[1].Kind != rdf.Literal {
						with.add(x[0], x[1])
					}
				}
				for _, start := range []rdf.Term{s, o} {
					if !start.IsZero() && start.Kind != rdf.Literal {
						with.add(start, start)
					}
				}
				if got, want := order(t, g.Reachable(s, p, o)), order(t, with.triples(p, s, o)); !slices.Equal(got, want) {
					t.Fatalf("Reachable(%v, %v, %v)\n got %v\nwant %v\n of %v", s, p, o, got, want, n)
				}
			}
			for range len(all) / 3 {
				g.Remove(rapid.SampledFrom(all).Draw(t, "gone"))
			}
		}
	})
}

// Whether one is an individual of a class does not depend on what is bound, but
// where owl_individual_of/2 says so: an unbound individual is found by
// rdfs:subClassOf, not by owl_subclass_of/2. Loops of definitions end.
func TestRandomClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewGraph()
		var classes []rdf.Term
		for i := range 6 {
			classes = append(classes, iri(fmt.Sprint("c", i)))
		}
		c := rapid.SampledFrom(classes)
		i := rapid.SampledFrom([]rdf.Term{iri("i0"), iri("i1"), iri("i2")})
		p := rapid.SampledFrom([]rdf.Term{iri("p0"), iri("p1")})
		g.Add(rdf.Triple{S: owl("Restriction"), P: rdfs("subClassOf"), O: owl("Class")})
		for _, class := range classes {
			g.Add(rdf.Triple{S: class, P: typ, O: owl("Class")})
		}
		list := func() rdf.Term {
			cell := rdf.NewIRI(rdf.NS + "nil")
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				next := rdf.NewBlank(fmt.Sprint("l", g.Len()))
				g.Add(rdf.Triple{S: next, P: rdf.NewIRI(rdf.NS + "first"), O: c.Draw(t, "item")})
				g.Add(rdf.Triple{S: next, P: rdf.NewIRI(rdf.NS + "rest"), O: cell})
				cell = next
			}
			return cell
		}
		for range rapid.IntRange(0, 20).Draw(t, "triples") {
			class := c.Draw(t, "class")
			switch rapid.IntRange(0, 8).Draw(t, "kind") {
			case 0, 1:
				g.Add(rdf.Triple{S: i.Draw(t, "i"), P: typ, O: class})
			case 2:
				g.Add(rdf.Triple{S: class, P: rdfs("subClassOf"), O: c.Draw(t, "super")})
			case 3:
				g.Add(rdf.Triple{S: class, P: owl("equivalentClass"), O: c.Draw(t, "equal")})
			case 4:
				g.Add(rdf.Triple{S: class, P: owl(rapid.SampledFrom([]string{"unionOf", "intersectionOf"}).Draw(t, "of")), O: list()})
			case 5:
				g.Add(rdf.Triple{S: i.Draw(t, "s"), P: p.Draw(t, "p"), O: i.Draw(t, "o")})
			case 6:
				g.Add(rdf.Triple{S: p.Draw(t, "p"), P: rdfs("range"), O: class})
			case 7:
				g.Add(rdf.Triple{S: class, P: typ, O: owl("Restriction")})
				g.Add(rdf.Triple{S: class, P: owl("onProperty"), O: p.Draw(t, "p")})
				g.Add(rdf.Triple{S: class, P: owl(rapid.SampledFrom([]string{"someValuesFrom", "allValuesFrom"}).Draw(t, "facet")), O: c.Draw(t, "from")})
			case 8:
				g.Add(rdf.Triple{S: class, P: owl("complementOf"), O: c.Draw(t, "other")})
			}
		}
		for _, class := range classes {
			supers := order(t, triples(g.SubclassOf(class, rdf.Term{})))
			for _, other := range classes {
				a := len(order(t, triples(g.SubclassOf(class, other)))) == 1
				b := slices.ContainsFunc(supers, func(x rdf.Triple) bool { return x.O == other })
				c := slices.ContainsFunc(order(t, triples(g.SubclassOf(rdf.Term{}, other))), func(x rdf.Triple) bool { return x.S == class })
				if a != b || a != c {
					t.Fatalf("%v below %v: %v, by its superclasses %v, by the subclasses %v", class, other, a, b, c)
				}
			}
			for it := range g.RDFSIndividualOf(rdf.Term{}, class) {
				if len(order(t, triples(g.RDFSIndividualOf(it, class)))) != 1 {
					t.Fatalf("%v is in %v only if it is not bound", it, class)
				}
			}
			order(t, triples(g.IndividualOf(rdf.Term{}, class)))
			order(t, triples(g.IndividualOf(iri("i0"), class)))
		}
		order(t, triples(g.IndividualOf(iri("i0"), rdf.Term{})))
	})
}
