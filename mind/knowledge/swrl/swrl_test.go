package swrl_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/swrl"
)

const prefixes = `@prefix : <http://e/> . @prefix swrl: <http://www.w3.org/2003/11/swrl#> . @prefix swrlb: <http://www.w3.org/2003/11/swrlb#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:x a swrl:Variable . :y a swrl:Variable . :z a swrl:Variable . :n a swrl:Variable . :m a swrl:Variable .
`

func graph(t *testing.T, text string) *knowledge.Graph {
	t.Helper()
	g := knowledge.NewGraph()
	if _, err := rdf.Read(strings.NewReader(prefixes+text), rdf.Turtle, rdf.ReadOptions{Name: "rules"}, func(q rdf.Quad) error {
		g.Add(q.Triple)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// Atoms as Turtle.
func property(p, a, b string) string {
	return fmt.Sprintf("[ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate %s ; swrl:argument1 %s ; swrl:argument2 %s ]", p, a, b)
}

func data(p, a, b string) string {
	return strings.Replace(property(p, a, b), "IndividualPropertyAtom", "DatavaluedPropertyAtom", 1)
}

func class(c, a string) string {
	return fmt.Sprintf("[ a swrl:ClassAtom ; swrl:classPredicate %s ; swrl:argument1 %s ]", c, a)
}

func builtin(name string, args ...string) string {
	return fmt.Sprintf("[ a swrl:BuiltinAtom ; swrl:builtin %s ; swrl:arguments ( %s ) ]", name, strings.Join(args, " "))
}

func two(kind, a, b string) string {
	return fmt.Sprintf("[ a swrl:%s ; swrl:argument1 %s ; swrl:argument2 %s ]", kind, a, b)
}

func rule(name string, body, head []string) string {
	return fmt.Sprintf("%s a swrl:Imp ; swrl:body ( %s ) ; swrl:head ( %s ) .\n", name, strings.Join(body, " "), strings.Join(head, " "))
}

type atoms = []string

func TestRules(t *testing.T) {
	const facts = `:p owl:inverseOf :q . :part a owl:TransitiveProperty . :a :p :b . :c :q :b . :b :size 3 . :c :size 3.5 . :d :size "4" ; :name "Door" .
:a a :Cup . :e :part :f . :f :part :g . :Big rdfs:subClassOf :Thing . :b owl:sameAs :bb .
`
	for _, it := range []struct {
		rules string
		want  string
	}{
		{rule(":r", atoms{property(":p", ":x", ":y")}, atoms{property(":r", ":y", ":x")}), "b r a, bb r a, c r b, c r bb"},
		{rule(":r", atoms{property(":q", ":x", ":y")}, atoms{class(":Big", ":x")}), "b type Big, bb type Big, c type Big"},
		{rule(":r", atoms{property(":part", ":x", ":y"), property(":part", ":y", ":z")}, atoms{property(":r", ":x", ":z")}), "e r g"},
		{rule(":r", atoms{class("[ a owl:Class ; owl:unionOf ( :Cup :None ) ]", ":x")}, atoms{property(":r", ":x", ":x")}), "a r a"},
		{":under rdfs:subPropertyOf :over . :d :under :e . " + rule(":r", atoms{property(":over", ":x", ":y")}, atoms{property(":r", ":x", ":y")}), "d r e"},
		// A rule sees what another one concludes.
		{rule(":r", atoms{class(":Thing", ":x")}, atoms{data(":r", ":x", `"yes"`)}) + rule(":s", atoms{class(":Cup", ":x")}, atoms{class(":Big", ":x")}), "a r yes, a type Big"},
		// Values of data.
		{rule(":r", atoms{builtin("swrlb:greaterThan", ":n", "3"), data(":size", ":x", ":n")}, atoms{class(":Big", ":x")}), "c type Big, d type Big"},
		{rule(":r", atoms{data(":name", ":x", ":n"), builtin("swrlb:greaterThan", ":n", "3")}, atoms{class(":Big", ":x")}), ""}, // a text is no number
		{rule(":r", atoms{data(":name", ":x", ":n"), builtin("swrlb:notEqual", ":n", "3")}, atoms{class(":Big", ":x")}), "d type Big"},
		{rule(":r", atoms{data(":size", ":x", ":n"), builtin("swrlb:lessThanOrEqual", ":n", "3.0")}, atoms{class(":Small", ":x")}), "b type Small, bb type Small"},
		{rule(":r", atoms{data(":size", ":x", ":n"), builtin("swrlb:multiply", ":m", ":n", "2"), builtin("swrlb:notEqual", ":m", "8")}, atoms{data(":double", ":x", ":m")}), "b double 6, bb double 6, c double 7"},
		{rule(":r", atoms{data(":size", ":d", ":n"), builtin("swrlb:add", "5", ":n", "1")}, atoms{class(":Big", ":d")}), "d type Big"},
		{rule(":r", atoms{data(":name", ":x", ":n"), builtin("swrlb:stringConcat", ":m", ":n", `" "`, `"1"`), builtin("swrlb:contains", ":n", `"oo"`)}, atoms{data(":label", ":x", ":m")}), "d label Door 1"},
		{rule(":r", atoms{data(":name", ":x", ":n"), builtin("swrlb:substring", ":m", ":n", "2", "2"), builtin("swrlb:upperCase", ":z", ":m")}, atoms{data(":label", ":x", ":z")}), "d label OO"},
		{rule(":r", atoms{data(":size", ":x", ":n"), "[ a swrl:DataRangeAtom ; swrl:dataRange xsd:decimal ; swrl:argument1 :n ]"}, atoms{class(":Exact", ":x")}), "c type Exact"},
		{rule(":r", atoms{data(":size", ":x", ":n"), builtin("swrlb:divide", ":m", ":n", "0")}, atoms{class(":Big", ":x")}), ""},
		{rule(":r", atoms{data(":size", ":x", ":n"), builtin("swrlb:mod", ":m", "7", ":n"), builtin("swrlb:integerDivide", ":z", "7", ":n")}, atoms{data(":mod", ":x", ":m"), data(":div", ":x", ":z")}), "b div 2, b mod 1, bb div 2, bb mod 1, c div 2, c mod 0, d div 1, d mod 3"},
		// The same and different ones.
		{rule(":r", atoms{property(":p", ":x", ":y"), two("DifferentIndividualsAtom", ":x", ":a")}, atoms{property(":r", ":x", ":y")}), "b r c, bb r c"},
		{rule(":r", atoms{class(":Cup", ":x"), two("SameIndividualAtom", ":y", ":b")}, atoms{property(":r", ":x", ":y")}), "a r b, a r bb"},
		{rule(":r", atoms{class(":Cup", ":x")}, atoms{two("SameIndividualAtom", ":x", ":twin"), two("DifferentIndividualsAtom", ":x", ":d")}), "a differentFrom d, a sameAs twin"},
		// A loop ends.
		{rule(":r", atoms{property(":p", ":x", ":y")}, atoms{property(":p", ":y", ":x")}), "a p bb, b p a, b p c, bb p a, bb p c, c p b, c p bb"},
		{rule(":r", nil, atoms{class(":Cup", ":d")}), "d type Cup"},
	} {
		g := graph(t, facts+it.rules)
		before := map[rdf.Triple]bool{}
		for x := range g.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
			before[x] = true
		}
		rules, err := swrl.Rules(g)
		if err != nil {
			t.Errorf("%s: %v", it.rules, err)
			continue
		}
		added, err := swrl.Infer(t.Context(), g, rules)
		var got []string
		for x := range g.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
			if !before[x] {
				short := func(s string) string { return s[strings.LastIndexAny(s, "/#")+1:] }
				got = append(got, short(x.S.Value)+" "+short(x.P.Value)+" "+short(x.O.Value))
			}
		}
		slices.Sort(got)
		if joined := strings.Join(got, ", "); err != nil || joined != it.want || added != len(got) {
			t.Errorf("%s\n got %s (%d, %v)\nwant %s", it.rules, joined, added, err, it.want)
		}
	}
}

// What literals mean counts in rules, and not their text.
func TestValuesInRules(t *testing.T) {
	const facts = `:a :size 4 . :b :size "4"^^xsd:int . :c :size "4.0"^^xsd:decimal . :d :size 4.0e0 . :e :size 5 . :f :size "4" . :g :size "n/a"^^xsd:int .
:a :at "2024-03-01T10:00:00+02:00"^^xsd:dateTime . :b :at "2024-03-01T08:00:00Z"^^xsd:dateTime . :c :at "2024-03-01T08:00:00"^^xsd:dateTime . :d :at "2024-03-03T08:00:00"^^xsd:dateTime .
:a :name "Tür"@de . :b :name "Tür"@DE . :c :name "Tür" . :a :open true . :b :open "1"^^xsd:boolean . :c :open false .
:a :long "P1Y"^^xsd:duration . :b :long "P12M"^^xsd:duration . :c :long "P365D"^^xsd:duration .
`
	for _, it := range []struct {
		rules string
		want  string
	}{
		{rule(":r", atoms{data(":size", ":x", `"4"^^xsd:integer`)}, atoms{class(":Big", ":x")}), "a b c d"},
		{rule(":r", atoms{data(":size", ":x", ":n"), data(":size", ":y", ":n"), two("DifferentIndividualsAtom", ":x", ":y")}, atoms{class(":Big", ":x")}), "a b c d"},
		{rule(":r", atoms{data(":size", ":e", ":n"), builtin("swrlb:subtract", ":m", ":n", "1"), data(":size", ":x", ":m")}, atoms{class(":Big", ":x")}), "a b c d"},
		{rule(":r", atoms{data(":size", ":x", ":n"), builtin("swrlb:equal", ":n", `"4"^^xsd:short`)}, atoms{class(":Big", ":x")}), "a b c d f"},
		{rule(":r", atoms{data(":size", ":x", ":n"), builtin("swrlb:notEqual", ":n", "4")}, atoms{class(":Big", ":x")}), "e g"},
		{rule(":r", atoms{data(":size", ":x", ":n"), builtin("swrlb:lessThan", ":n", "18446744073709551617"), builtin("swrlb:greaterThan", ":n", "4")}, atoms{class(":Big", ":x")}), "e"},
		{rule(":r", atoms{data(":at", ":x", `"2024-03-01T09:00:00+01:00"^^xsd:dateTime`)}, atoms{class(":Big", ":x")}), "a b"},
		{rule(":r", atoms{data(":at", ":x", ":n"), builtin("swrlb:greaterThan", ":n", `"2024-03-01T07:00:00Z"^^xsd:dateTime`)}, atoms{class(":Big", ":x")}), "a b d"},
		{rule(":r", atoms{data(":at", ":x", ":n"), builtin("swrlb:lessThanOrEqual", ":n", `"2024-03-01T09:00:00+01:00"^^xsd:dateTime`)}, atoms{class(":Big", ":x")}), "a b"},
		{rule(":r", atoms{data(":name", ":x", `"Tür"@De`)}, atoms{class(":Big", ":x")}), "a b"},
		{rule(":r", atoms{data(":name", ":x", `"Tür"^^xsd:string`)}, atoms{class(":Big", ":x")}), "c"},
		{rule(":r", atoms{data(":open", ":x", "true")}, atoms{class(":Big", ":x")}), "a b"},
		{rule(":r", atoms{data(":open", ":x", ":n"), builtin("swrlb:booleanNot", ":n", "false")}, atoms{class(":Big", ":x")}), "a b"},
		{rule(":r", atoms{data(":long", ":x", `"P1Y"^^xsd:duration`)}, atoms{class(":Big", ":x")}), "a b"},
		{rule(":r", atoms{data(":long", ":x", ":n"), builtin("swrlb:lessThanOrEqual", ":n", `"P367D"^^xsd:duration`)}, atoms{class(":Big", ":x")}), "a b c"},
	} {
		if got := strings.Join(concluded(t, graph(t, facts+it.rules), "http://e/Big"), " "); got != it.want {
			t.Errorf("%s\n got %s\nwant %s", it.rules, got, it.want)
		}
	}
	// The results of decimals have all their digits.
	g := graph(t, `:a :size 1234567890123456789.5 . `+rule(":r", atoms{data(":size", ":x", ":n"), builtin("swrlb:add", ":m", ":n", "0.25")}, atoms{data(":sum", ":x", ":m")}))
	concluded(t, g, "")
	for x := range g.Match(rdf.Term{}, rdf.NewIRI("http://e/sum"), rdf.Term{}) {
		if x.O.Value != "1234567890123456789.75" {
			t.Errorf("the sum is %v", x.O)
		}
	}
}

// concluded returns the names of a class's individuals after the rules of a graph were applied.
func concluded(t *testing.T, g *knowledge.Graph, class string) (names []string) {
	t.Helper()
	rules, err := swrl.Rules(g)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := swrl.Infer(t.Context(), g, rules); err != nil {
		t.Fatal(err)
	}
	for x := range g.Match(rdf.Term{}, rdf.NewIRI(rdf.NS+"type"), rdf.NewIRI(class)) {
		names = append(names, x.S.Value[strings.LastIndexAny(x.S.Value, "/#")+1:])
	}
	slices.Sort(names)
	return names
}

// The rules of the reports: instants count, and 4 is 4.
func TestReportedRules(t *testing.T) {
	for file, it := range map[string][2]string{"times.ttl": {"http://example.org/t#Backwards", "b"}, "wheels.ttl": {"http://example.org/w#Car", "v1 v2 v3"}} {
		in, err := os.Open(testkit.Shared(t, "reports", file))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		g := knowledge.NewGraph()
		if _, err := rdf.Read(in, rdf.Turtle, rdf.ReadOptions{Name: file}, func(q rdf.Quad) error { g.Add(q.Triple); return nil }); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(concluded(t, g, it[0]), " "); got != it[1] {
			t.Errorf("%s: %s has %s, want %s", file, it[0], got, it[1])
		}
	}
}

// What is not supported is refused by name, and the other rules are used.
func TestRefusedRules(t *testing.T) {
	good := rule(":good", atoms{class(":Cup", ":x")}, atoms{class(":Big", ":x")})
	for text, want := range map[string]string{
		rule(":bad", atoms{class(":Cup", ":x"), builtin("swrlb:date", ":x", ":x")}, atoms{class(":Big", ":x")}):                                              "the rule http://e/bad is not used: the builtin http://www.w3.org/2003/11/swrlb#date is not supported",
		rule(":bad", atoms{class(":Cup", ":x")}, atoms{property(":p", ":x", ":y")}):                                                                          "its head has the variable http://e/y, which its body gives no value",
		rule(":bad", atoms{builtin("swrlb:add", ":x")}, atoms{class(":Big", ":x")}):                                                                          "the builtin add has 1 arguments",
		rule(":bad", atoms{"[ a :Strange ]"}, atoms{class(":Big", ":x")}):                                                                                    `its atom of the class "http://e/Strange" is not supported`,
		rule(":bad", atoms{class(":Cup", ":x")}, atoms{builtin("swrlb:add", ":x", ":x")}):                                                                    "which can only be a condition",
		rule("[] rdfs:label \"mine\" ;", atoms{"[ a swrl:ClassAtom ; swrl:argument1 :x ]"}, atoms{class(":Big", ":x")}):                                      "the rule mine is not used: a ClassAtom has no classPredicate",
		":bad a swrl:Imp ; swrl:body ( ) .":                                                                                                                  "it has no head",
		":l <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> :a ; <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> :l . :bad a swrl:Imp ; swrl:body :l .": "runs in a circle",
	} {
		text = strings.Replace(text, "; a swrl:Imp", "a swrl:Imp", 1)
		text = strings.Replace(text, "[] rdfs:label \"mine\" a swrl:Imp ;", "[] rdfs:label \"mine\" ; a swrl:Imp ;", 1)
		rules, err := swrl.Rules(graph(t, good+text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
		if len(rules) != 1 || rules[0].Name != "http://e/good" {
			t.Errorf("%s: %v", text, rules)
		}
	}
}

// A rule that Protégé has turned off is none.
func TestRulesThatAreTurnedOff(t *testing.T) {
	text := rule(":r", atoms{class(":Cup", ":x")}, atoms{class(":Big", ":x")})
	for value, want := range map[string]int{"false": 0, `"false"`: 0, `"0"^^<http://www.w3.org/2001/XMLSchema#boolean>`: 0, "true": 1, `"true"`: 1} {
		rules, err := swrl.Rules(graph(t, text+" :r <http://swrl.stanford.edu/ontologies/3.3/swrla.owl#isRuleEnabled> "+value+" ."))
		if err != nil || len(rules) != want {
			t.Errorf("%s: %v, %v; want %d rules", value, rules, err, want)
		}
	}
}

// Rules that make new numbers without end are stopped.
func TestEndlessRules(t *testing.T) {
	g := graph(t, `:a :count 1 .`+rule(":r", atoms{data(":count", ":x", ":n"), builtin("swrlb:add", ":m", ":n", "1")}, atoms{data(":count", ":x", ":m")}))
	rules, err := swrl.Rules(g)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := swrl.Infer(ctx, g, rules); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_, err = swrl.InferAtMost(t.Context(), g, rules, 500)
	if engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), "the rule http://e/r concludes more than 500 triples") {
		t.Errorf("got %v", err)
	}
}
