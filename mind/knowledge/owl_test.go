package knowledge

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

const prefixes = `@prefix : <http://x#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
`

// owlOWL is what owl.owl says that the reasoning needs.
const owlOWL = "owl:Restriction rdfs:subClassOf owl:Class . owl:Class rdfs:subClassOf rdfs:Class .\n"

func graph(t testing.TB, turtle string) *Graph {
	t.Helper()
	g := NewGraph()
	_, err := rdf.Read(strings.NewReader(prefixes+turtle), rdf.Turtle, rdf.ReadOptions{Name: "turtle"}, func(q rdf.Quad) error {
		g.Add(q.Triple)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// named reads a term as the tests write it: "" is unbound, prefix:local or local
// an IRI, 'x' a plain literal.
func named(s string) rdf.Term {
	prefix, local, ok := strings.Cut(s, ":")
	switch {
	case s == "":
		return rdf.Term{}
	case s[0] == '\'':
		return rdf.NewText(strings.Trim(s, "'"))
	case !ok:
		return iri(s)
	}
	return rdf.NewIRI(map[string]string{"rdf": rdf.NS, "rdfs": rdf.NSRDFS, "owl": rdf.NSOWL, "xsd": rdf.NSXSD}[prefix] + local)
}

func short(t rdf.Term) string {
	if t.Kind == rdf.Literal {
		return "'" + t.Value + "'"
	}
	return t.Value[strings.LastIndexByte(t.Value, '#')+1:]
}

// check asks with terms and compares the answers, in any order: those of a
// question "a b" are "a b", those of "a p c" are "a c".
func checkTriples(t *testing.T, ask func(s, p, o rdf.Term) iter.Seq[rdf.Triple], s, p, o string, want ...string) {
	t.Helper()
	var got []string
	for it := range ask(named(s), named(p), named(o)) {
		got = append(got, short(it.S)+" "+short(it.O))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s %s %s: got %q, want %q", s, p, o, got, want)
	}
}

func checkPairs(t *testing.T, ask func(a, b rdf.Term) iter.Seq2[rdf.Term, rdf.Term], a, b string, want ...string) {
	t.Helper()
	checkTriples(t, func(s, _, o rdf.Term) iter.Seq[rdf.Triple] { return triples(ask(s, o)) }, a, "", b, want...)
}

func TestHas(t *testing.T) {
	g := graph(t, `:part a owl:TransitiveProperty . :proper rdfs:subPropertyOf :part . :inner rdfs:subPropertyOf :proper . :proper rdfs:subPropertyOf :inner .
:a :part :b . :b :inner :c . :b :proper :c . :c :part :a . :part owl:inverseOf :partOf . :c :partOf :d .`)
	checkTriples(t, g.Has, "", "part", "", "a b", "b c", "c a")
	checkTriples(t, g.Has, "b", "inner", "", "b c")
	checkTriples(t, g.Has, "a", "part", "c")
	checkTriples(t, g.Has, "a", "unknown", "")
	checkTriples(t, g.Has, "b", "", "c", "b c", "b c") // by each predicate
	checkTriples(t, g.Reachable, "a", "part", "", "a a", "a b", "a c")
	checkTriples(t, g.Reachable, "", "part", "b", "b b", "a b", "c b")
	checkTriples(t, g.Reachable, "unknown", "part", "", "unknown unknown")
	checkTriples(t, g.Reachable, "unknown", "nothing", "unknown", "unknown unknown")
	checkTriples(t, g.Reachable, "", "part", "")
	g = graph(t, `:part a owl:TransitiveProperty . :also a owl:TransitiveProperty ; owl:inverseOf :of . :near rdfs:subPropertyOf :far .
:a :part :b , "text" . :b :of :a . :a :near :b .`)
	checkTriples(t, g.Reachable, "a", "part", "", "a a", "a b")
	checkTriples(t, g.OWLHas, "a", "", "b", "a b", "a b")
	for p := range g.Predicates() {
		if p.Value == iri("far").Value {
			return
		}
	}
	t.Error("far is no predicate")
	checkTriples(t, g.Reachable, "a", "", "")
}

func TestOWLHas(t *testing.T) {
	g := graph(t, `:part a owl:TransitiveProperty . :proper rdfs:subPropertyOf :part . :partOf owl:inverseOf :proper .
:a :part :b . :b :proper :c . :d :partOf :c . :part :part :e . :d :part :part . :e :part "text" .
:loop :part :loop2 . :loop2 :part :loop .
:size rdfs:subPropertyOf :length . :a :size 3 .
:next a owl:SymmetricProperty . :a :next :b, "literal" .
:sameA owl:sameAs :a . :sameB owl:sameAs "no node" . :sameA2 owl:sameAs :sameA .`)
	checkTriples(t, g.OWLHas, "a", "part", "", "a b", "a c", "a d") // neither the property itself nor through the property itself
	checkTriples(t, g.OWLHas, "part", "part", "", "part e")
	checkTriples(t, g.OWLHas, "", "part", "e", "part e")
	checkTriples(t, g.OWLHas, "loop", "part", "", "loop loop", "loop loop2")
	checkTriples(t, g.OWLHas, "", "part", "loop", "loop loop", "loop2 loop")
	checkTriples(t, g.OWLHas, "loop", "part", "loop", "loop loop")
	checkTriples(t, g.OWLHas, "e", "part", "'text'")
	checkTriples(t, g.OWLHas, "a", "length", "") // not transitive: no sub-properties
	checkTriples(t, g.OWLHas, "c", "partOf", "", "c b")
	checkTriples(t, g.OWLHas, "", "next", "", "a b", "b a", "a 'literal'", "sameA b", "b sameA", "sameA 'literal'", "sameA2 b", "b sameA2", "sameA2 'literal'")
	checkTriples(t, g.OWLHas, "sameA2", "size", "", "sameA2 '3'")
	checkTriples(t, g.OWLHas, "c", "", "e")
	checkTriples(t, g.OWLHas, "d", "", "", "d c")
	checkTriples(t, g.OWLHas, "c", "", "", "c b", "c d", "c d") // a part, and a proper one
}

func TestOWLHasInverses(t *testing.T) {
	// The first inverse that a property declares, or else all that declare it.
	g := graph(t, `:p owl:inverseOf :q . :r owl:inverseOf :s . :t owl:inverseOf :s . :sub rdfs:subPropertyOf :q .
:a :q :b . :c :sub :d . :e :r :f . :g :t :h . :i :p :j .`)
	checkTriples(t, g.OWLHas, "", "p", "", "i j", "b a", "d c")
	checkTriples(t, g.OWLHas, "", "q", "", "a b", "j i")
	checkTriples(t, g.OWLHas, "", "s", "", "f e", "h g")
}

func TestOWLHasValues(t *testing.T) {
	g := graph(t, owlOWL+`:Cupboard rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :model ; owl:hasValue "c.kml" ] . :Wall rdfs:subClassOf :Cupboard .
:Named owl:equivalentClass [ owl:intersectionOf ( :Cupboard [ a owl:Restriction ; owl:onProperty :owner ; owl:hasValue :bob ] ) ] .
:c1 a :Cupboard . :w1 a :Wall . :both a :Wall, :Cupboard .`)
	checkTriples(t, g.OWLHas, "", "model", "", "c1 'c.kml'", "both 'c.kml'")
	checkTriples(t, g.OWLHas, "w1", "model", "")
	checkTriples(t, g.OWLHas, "c1", "model", "'c.kml'", "c1 'c.kml'")
	checkTriples(t, g.OWLHas, "", "model", "'c.kml'", "c1 'c.kml'", "both 'c.kml'")
	checkTriples(t, g.OWLHas, "", "owner", "bob")
}

func TestLiteralObjects(t *testing.T) {
	g := graph(t, `:number rdfs:subPropertyOf :id . :a :number "3001"^^xsd:integer . :b :number "3001" . :c :id "3001"@en . :d :id "Raum 3001" .`)
	ask := func(ask func(s, p rdf.Term, o Pattern) iter.Seq[rdf.Triple], o Pattern) func(s, p, _ rdf.Term) iter.Seq[rdf.Triple] {
		return func(s, p, _ rdf.Term) iter.Seq[rdf.Triple] { return ask(s, p, o) }
	}
	text := Pattern{Match: Same, Text: "3001"}
	checkTriples(t, ask(g.MatchLiteral, text), "", "number", "", "a '3001'", "b '3001'")
	checkTriples(t, ask(g.MatchLiteral, text), "a", "number", "", "a '3001'")
	checkTriples(t, ask(g.HasLiteral, text), "", "id", "", "a '3001'", "b '3001'", "c '3001'")
	checkTriples(t, ask(g.HasLiteral, Pattern{Match: Same, Text: "3001", Qualifier: Typed}), "", "id", "", "a '3001'")
	checkTriples(t, ask(g.HasLiteral, Pattern{Match: Like, Text: "RAUM*"}), "", "id", "", "d 'Raum 3001'")
	checkTriples(t, ask(g.OWLHasLiteral, text), "", "number", "", "a '3001'", "b '3001'")
	checkTriples(t, ask(g.OWLHasLiteral, text), "a", "number", "") // what it found is no plain text
	checkTriples(t, ask(g.OWLHasLiteral, text), "b", "number", "", "b '3001'")
	checkTriples(t, ask(g.OWLHasLiteral, Pattern{}), "a", "number", "", "a '3001'")
}

func TestRDFSClasses(t *testing.T) {
	g := graph(t, `:Room rdfs:subClassOf :Place . :Place a rdfs:Class . :r a :Room . :n :p :r . :Int a rdfs:Datatype .
rdfs:Datatype rdfs:subClassOf rdfs:Class .`)
	checkPairs(t, g.RDFSIndividualOf, "r", "", "r Room", "r Place")
	checkPairs(t, g.RDFSIndividualOf, "", "Place", "r Place")
	checkPairs(t, g.RDFSIndividualOf, "n", "", "n Resource") // it has no type
	checkPairs(t, g.RDFSIndividualOf, "unknown", "rdfs:Resource", "unknown Resource")
	checkPairs(t, g.RDFSIndividualOf, "", "rdfs:Resource", "Room Resource", "Place Resource", "r Resource", "n Resource", "Int Resource", "Datatype Resource")
	checkPairs(t, g.RDFSIndividualOf, "'x'", "", "'x' Literal", "'x' Int")
	checkPairs(t, g.RDFSIndividualOf, "", "")
	checkPairs(t, g.RDFSSubclassOf, "Room", "", "Room Room", "Room Place")
	checkPairs(t, g.RDFSSubclassOf, "Place", "", "Place Place", "Place Resource")
	checkPairs(t, g.RDFSSubclassOf, "", "rdfs:Resource", "Place Resource", "Int Resource")
	checkPairs(t, g.RDFSSubclassOf, "Int", "", "Int Int", "Int Resource", "Int Literal")
	checkPairs(t, g.RDFSSubclassOf, "unknown", "", "unknown unknown")
	checkPairs(t, g.RDFSSubpropertyOf, "p", "", "p p")
}

func TestSubclassOf(t *testing.T) {
	g := graph(t, owlOWL+`:Oven rdfs:subClassOf :Box . :Box a owl:Class . :Kiln owl:equivalentClass :Oven .
:Heater owl:unionOf ( :Oven :Stove ) . :Both owl:intersectionOf ( :Oven :Metal ) . :A rdfs:subClassOf :B . :B rdfs:subClassOf :A .`)
	checkPairs(t, g.SubclassOf, "Oven", "", "Oven Oven", "Oven Box", "Oven Kiln", "Oven Heater", "Oven Resource")
	checkPairs(t, g.SubclassOf, "", "Box", "Box Box", "Oven Box", "Both Box")
	checkPairs(t, g.SubclassOf, "Both", "Metal", "Both Metal")
	checkPairs(t, g.SubclassOf, "A", "", "A A", "A B") // a loop has no class without superclass
	checkPairs(t, g.SubclassOf, "A", "rdfs:Resource", "A Resource")
	checkPairs(t, g.SubclassOf, "unknown", "", "unknown unknown", "unknown Resource")
	checkPairs(t, g.SubclassOf, "", "rdfs:Resource", "Box Resource")
	checkPairs(t, g.SubclassOf, "", "")
	checkPairs(t, g.DirectSubclassOf, "Oven", "", "Oven Box", "Oven Kiln", "Oven Heater")
	checkPairs(t, g.DirectSubclassOf, "", "Heater", "Oven Heater", "Stove Heater")
	checkPairs(t, g.DirectSubclassOf, "", "Metal", "Both Metal")
	checkPairs(t, g.DirectSubclassOf, "", "")
}

const furniture = `:part a owl:TransitiveProperty . :room :part :cupboard . :cupboard :part :door, :shelf . :door :part :handle . :box :part :bolt .
:door a :Door . :handle a :Handle . :bolt a :Handle . :shelf a :Shelf . :FrontDoor rdfs:subClassOf :Door . :front a :FrontDoor .
:Some a owl:Restriction ; owl:onProperty :part ; owl:someValuesFrom :Handle .
:All a owl:Restriction ; owl:onProperty :part ; owl:allValuesFrom :Handle .
:Value a owl:Restriction ; owl:onProperty :part ; owl:hasValue :handle .
`

func TestRestrictions(t *testing.T) {
	g := graph(t, owlOWL+furniture)
	checkPairs(t, g.IndividualOf, "", "Some", "room Some", "cupboard Some", "door Some", "box Some")
	checkPairs(t, g.IndividualOf, "", "All", "door All", "box All") // at least one value, and no other
	checkPairs(t, g.IndividualOf, "handle", "All")
	checkPairs(t, g.IndividualOf, "room", "Value", "room Value")
	checkPairs(t, g.IndividualOf, "box", "Value")
	without := graph(t, furniture) // a restriction is not known to be an owl:Class
	checkPairs(t, without.IndividualOf, "", "Some")
}

func TestCardinalities(t *testing.T) {
	const nonNegative = "^^xsd:nonNegativeInteger"
	for _, c := range []struct{ facets, want string }{
		{`owl:cardinality "2"` + nonNegative, "two"},
		{`owl:cardinality "2"`, "two"},
		{`owl:cardinality 2`, ""}, // xsd:integer is not taken
		{`owl:minCardinality "2"` + nonNegative, "two three"},
		{`owl:minCardinality 2`, "one two three four owl"}, // as if it said nothing: every subject
		{`owl:maxCardinality "1"` + nonNegative, "one four owl"},
		{`owl:minCardinality "1"` + nonNegative + ` ; owl:maxCardinality "2"` + nonNegative, "one two"},
	} {
		g := graph(t, owlOWL+`:one :p :x . :two :p :x, :y . :three :p :x, :y ; :q :z . :q rdfs:subPropertyOf :p . :three :p :z . :four :r :x .
:C a owl:Restriction ; owl:onProperty :p ; `+c.facets+` .`)
		var got []string
		for it := range g.IndividualOf(rdf.Term{}, iri("C")) {
			if name := short(it); strings.Contains("one two three four", name) {
				got = append(got, name)
			} else if !slices.Contains(got, "owl") {
				got = append(got, "owl") // subjects of the vocabulary
			}
		}
		want := strings.Fields(c.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.facets, got, want)
		}
	}
}

func TestDescriptions(t *testing.T) {
	g := graph(t, owlOWL+furniture+`:Union a owl:Class ; owl:unionOf ( :Door :Shelf ) . :Both a owl:Class ; owl:intersectionOf ( :Door :Some ) .
:Not a owl:Class ; owl:complementOf :Handle . :One a owl:Class ; owl:oneOf ( :door :unknown ) .
:Strict a owl:Class ; rdfs:subClassOf :Shelf ; owl:oneOf ( :door :shelf ) .
:Equal a owl:Class ; owl:equivalentClass :Union . :Loop a owl:Class ; owl:equivalentClass :Loop2 . :Loop2 a owl:Class ; owl:equivalentClass :Loop .
:l a :Loop2 .`)
	checkPairs(t, g.IndividualOf, "", "Union", "door Union", "shelf Union", "front Union")
	checkPairs(t, g.IndividualOf, "", "Both", "door Both")
	checkPairs(t, g.IndividualOf, "handle", "Not")
	checkPairs(t, g.IndividualOf, "shelf", "Not", "shelf Not")
	checkPairs(t, g.IndividualOf, "unknown", "Not") // it is no subject
	checkPairs(t, g.IndividualOf, "", "One", "door One", "unknown One")
	checkPairs(t, g.IndividualOf, "", "Strict", "shelf Strict")
	checkPairs(t, g.IndividualOf, "", "Equal", "door Equal", "shelf Equal", "front Equal")
	checkPairs(t, g.IndividualOf, "", "Loop", "l Loop")
	checkPairs(t, g.IndividualOf, "l", "Loop", "l Loop")
	checkPairs(t, g.IndividualOf, "", "owl:Nothing")
	checkPairs(t, g.IndividualOf, "anything", "owl:Thing", "anything Thing")
	checkPairs(t, g.IndividualOf, "", "")
}

func TestIndividualsDependOnWhatIsBound(t *testing.T) {
	g := graph(t, owlOWL+`:x a :A . :B a owl:Class . :B owl:equivalentClass :A2 . :A2 a owl:Class . :A rdfs:subClassOf :A2 . :y a :B .`)
	checkPairs(t, g.IndividualOf, "", "A2", "x A2")
	checkPairs(t, g.IndividualOf, "y", "A2") // an equivalence is above the class that it is said of
	checkPairs(t, g.IndividualOf, "x", "B", "x B")
	checkPairs(t, g.IndividualOf, "x", "", "x Thing", "x A", "x A2", "x B", "x Resource")
	checkPairs(t, g.IndividualOf, "unknown", "", "unknown Thing", "unknown Resource")

	ranges := graph(t, `:at rdfs:range :Place . :in rdfs:subPropertyOf :at . :Hall rdfs:subClassOf :Place . :enters rdfs:range :Hall .
:a :at :here . :a :in :there . :a :enters :hall . :a :size 3 . :size rdfs:range xsd:integer .`)
	checkPairs(t, ranges.IndividualOf, "", "Place", "here Place", "there Place")
	checkPairs(t, ranges.IndividualOf, "here", "Place", "here Place")
	checkPairs(t, ranges.IndividualOf, "there", "Place")
	checkPairs(t, ranges.IndividualOf, "hall", "Place") // the range must be the class itself
	checkPairs(t, ranges.IndividualOf, "", "xsd:integer", "'3' integer")
}

func TestRestrictionOn(t *testing.T) {
	g := graph(t, owlOWL+`:Oven rdfs:subClassOf :Heater, [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :Door ] .
:Heater rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :q ; owl:hasValue "v" ], [ owl:onProperty :untyped ; owl:hasValue "w" ],
  [ a owl:Restriction ; owl:onProperty :r ; owl:allValuesFrom :Door ; owl:someValuesFrom :Handle ; owl:minCardinality 1 ],
  [ a owl:Restriction ; owl:onProperty :s ; owl:cardinality 2 ], [ a owl:Restriction ; owl:onProperty :t ; owl:maxCardinality "many" ] .
:subP rdfs:subPropertyOf :p . :d rdfs:domain :Heater ; rdfs:range :Heat . :subD rdfs:subPropertyOf :d . :plain rdfs:domain :Oven .`)
	var got []string
	for it := range g.RestrictionOn(iri("Oven")) {
		value := ""
		if !it.Value.IsZero() {
			value = short(it.Value)
		}
		got = append(got, fmt.Sprint(short(it.Property), " ", it.Facet, " ", value, " ", it.Min, " ", it.Max))
	}
	slices.Sort(got)
	want := []string{"p 2 Door 0 0", "q 3 'v' 0 0", "r 1 Door 0 0", "r 4  1 -1", "s 4  2 2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for property, want := range map[string]string{"d": "Heat", "subD": "Heat", "plain": "Resource", "p": ""} {
		got := ""
		for it := range g.DomainRestrictionOn(iri("Oven"), iri(property)) {
			got += short(it.Value)
		}
		if got != want {
			t.Errorf("%s has values from %q, want %q", property, got, want)
		}
	}
	classes := func(s, p, _ rdf.Term) iter.Seq[rdf.Triple] { return g.ClassProperties(s, p) }
	checkTriples(t, classes, "Oven", "p", "")
	g.Add(rdf.Triple{S: iri("Oven"), P: rdf.NewIRI(rdf.NS + "type"), O: rdf.NewIRI(rdf.NSOWL + "Class")})
	g.Add(rdf.Triple{S: iri("Heater"), P: rdf.NewIRI(rdf.NS + "type"), O: rdf.NewIRI(rdf.NSOWL + "Class")})
	checkTriples(t, classes, "Oven", "p", "", "Oven Door")
	checkTriples(t, classes, "Oven", "", "", "Oven Door", "Oven 'v'", "Oven 'w'")
	checkTriples(t, classes, "Heater", "", "", "Heater 'v'", "Heater 'w'")
	checkTriples(t, classes, "", "p", "", "Oven Door")
	for range g.RestrictionOn(rdf.Term{}) {
		t.Error("an unbound class has a restriction")
	}
}

// Definitions that rest on each other many times, or nest deep, end soon.
func TestManyProofs(t *testing.T) {
	var b strings.Builder
	b.WriteString(owlOWL)
	for i := range 200 {
		fmt.Fprintf(&b, ":C%d a owl:Class ; owl:intersectionOf ( :C%d [ a owl:Class ; owl:unionOf ( :C%d :C%d ) ] ) .\n", i, i+1, i+1, i+1)
	}
	b.WriteString(":x a :C200 . :C200 a owl:Class .")
	g := graph(t, b.String())
	checkPairs(t, g.IndividualOf, "x", "C0", "x C0")
	checkPairs(t, g.IndividualOf, "y", "C0")
	checkPairs(t, g.IndividualOf, "", "C0", "x C0")

	for _, end := range []string{"", ":x a :U77 ."} { // a loop of all
		b.Reset()
		b.WriteString(owlOWL)
		for i := range 200 {
			fmt.Fprintf(&b, ":U%d a owl:Class ; owl:unionOf ( :U%d :U%d :U%d ) .\n", i, (i+1)%200, (i+7)%200, (i+190)%200)
		}
		loop := graph(t, b.String()+end)
		var x []string
		if end != "" {
			x = []string{"x U0"}
		}
		checkPairs(t, loop.IndividualOf, "x", "U0", x...)
		checkPairs(t, loop.IndividualOf, "", "U0", x...)
	}

	b.Reset()
	b.WriteString(owlOWL)
	for i := range 20_000 {
		fmt.Fprintf(&b, ":D%d a owl:Class ; owl:unionOf ( :D%d ) .\n", i, i+1)
	}
	deep := graph(t, b.String())
	checkPairs(t, deep.IndividualOf, "x", "D0")
	checkPairs(t, deep.IndividualOf, "", "D0")
}

// Questions may end early, and several may be asked at once.
func TestQuestionsAtOnce(t *testing.T) {
	g := graph(t, owlOWL+furniture+`:p owl:sameAs :q . :q owl:sameAs :p . :inverse owl:inverseOf :part .`)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			zero := rdf.Term{}
			for _, all := range []iter.Seq[rdf.Triple]{
				g.Match(zero, zero, zero), g.Has(zero, iri("part"), zero), g.OWLHas(zero, zero, zero), g.OWLHas(iri("room"), iri("part"), zero),
				g.OWLHas(zero, iri("part"), iri("handle")), g.Reachable(iri("room"), iri("part"), zero), g.ClassProperties(zero, zero),
				triples(g.IndividualOf(zero, iri("Some"))), triples(g.IndividualOf(iri("door"), zero)), triples(g.SubclassOf(iri("FrontDoor"), zero)),
				triples(g.RDFSIndividualOf(iri("front"), zero)), triples(g.IndividualOf(zero, named("owl:Thing"))), triples(g.IndividualOf(zero, iri("All"))),
			} {
				n := len(slices.Collect(all))
				for stop := range n {
					i := 0
					for range all {
						if i++; i > stop {
							break
						}
					}
				}
			}
		})
	}
	wait.Wait()
}
