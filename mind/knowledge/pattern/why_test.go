package pattern_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/pattern"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// turtle reads a view from Turtle whose prefix : is http://x#.
func turtle(t testing.TB, text string) *knowledge.View {
	t.Helper()
	g := knowledge.NewGraph()
	text = "@prefix : <http://x#> . @prefix owl: <" + rdf.NSOWL + "> . @prefix rdfs: <" + rdf.NSRDFS + "> . @prefix xsd: <" + rdf.NSXSD + "> .\n" + text
	_, err := rdf.Read(strings.NewReader(text), rdf.Turtle, rdf.ReadOptions{Lists: true}, func(q rdf.Quad) error {
		g.Add(q.Triple)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &knowledge.View{Graph: g}
}

func short(t rdf.Term) string {
	if t.Kind == rdf.Literal {
		return fmt.Sprintf("%q", t.Value)
	}
	return t.Value[strings.LastIndexAny(t.Value, "#/")+1:]
}

func facts(all []rdf.Triple) string {
	var out []string
	for _, f := range all {
		out = append(out, short(f.S)+" "+short(f.P)+" "+short(f.O))
	}
	return strings.Join(out, ", ")
}

// Rows say which facts they rest on, with what the ontology says of properties and classes.
func TestWhy(t *testing.T) {
	v := turtle(t, `
:parts a owl:TransitiveProperty . :partOf owl:inverseOf :parts . :drawers rdfs:subPropertyOf :parts .
:house :parts :kitchen . :cupboard :partOf :kitchen . :cupboard :drawers :drawer .
:Drawer rdfs:subClassOf :Container . :Container rdfs:subClassOf :Thing . :drawer a :Drawer .
:next a owl:SymmetricProperty . :fridge :next :cupboard . :fridge owl:sameAs :coolbox .
:fridge :on :floor . :kitchen rdfs:label "Küche"@de . :a :to :b . :b :to :c .
:Cold rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :temperature ; owl:hasValue "4" ] . :fridge a :Cold .
:at rdfs:range :Place . :fridge :at :corner .`)
	for text, want := range map[string]string{
		`?x parts drawer; where ?x.endsWith("house")`: "house parts kitchen, cupboard partOf kitchen, partOf inverseOf parts, cupboard drawers drawer, drawers subPropertyOf parts, parts type TransitiveProperty",
		`drawer a :Thing`:                     "drawer type Drawer, Drawer subClassOf Container, Container subClassOf Thing",
		`cupboard next fridge`:                "fridge next cupboard, next type SymmetricProperty",
		`kitchen partOf house`:                "house parts kitchen, partOf inverseOf parts",
		`coolbox :on floor`:                   "fridge sameAs coolbox, fridge on floor",
		`?x label ~"che"`:                     `kitchen label "Küche"`,
		`:a to+ ?y; where ?y == "http://x#c"`: "a to b, b to c",
		`:a to+ :c`:                           "a to b, b to c",
		`fridge temperature ?t`:               `fridge type Cold, Cold subClassOf b1, b1 onProperty temperature, b1 hasValue "4"`,
		`?x a Place`:                          "fridge at corner, at range Place",
		`?x a (inverse drawers some (parts some Drawer))`: "cupboard drawers drawer, drawers subPropertyOf parts, drawer type Drawer",
		`fridge ?p floor`: "fridge on floor",
	} {
		q, err := pattern.Parse("prefix : <http://x#>; " + text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		c, err := pattern.Compile(v, q)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		n := 0
		for row, err := range c.Ask(t.Context(), v, knowledge.DefaultLimits) {
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			n++
			var all []string
			for _, reason := range row.Why() {
				all = append(all, facts(reason.Facts))
			}
			got := strings.Join(all, "; ")
			if got != want {
				t.Errorf("%s\n got %s\nwant %s", text, got, want)
			}
		}
		if n == 0 {
			t.Errorf("%s has no answer", text)
		}
	}
}
