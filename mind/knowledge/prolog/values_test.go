package prolog_test

import (
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// The conditions of literal/2 compare what literals mean; literal/1 is the very literal, as in SWI-Prolog.
func TestOrdersOfLiterals(t *testing.T) {
	g := knowledge.NewGraph()
	for s, values := range map[string][]rdf.Term{
		"n":  {rdf.NewTyped("4", rdf.NSXSD+"integer")},
		"i":  {rdf.NewTyped("+4", rdf.NSXSD+"int")},
		"p":  {rdf.NewText("10")},
		"l":  {rdf.NewTyped("18446744073709551617", rdf.NSXSD+"integer")},
		"t":  {rdf.NewTyped("2024-03-01T10:00:00+02:00", rdf.NSXSD+"dateTime")},
		"u":  {rdf.NewTyped("2024-03-01T12:00:00", rdf.NSXSD+"dateTime")},
		"de": {rdf.NewTagged("Tür", "de")},
		"w":  {rdf.NewText("Wand")},
	} {
		for _, o := range values {
			g.Add(rdf.Triple{S: rdf.NewIRI("http://x/" + s), P: rdf.NewIRI("http://x/p"), O: o})
		}
	}
	for condition, want := range map[string]string{
		"literal(lt(9), L)":                                          "i n",
		"literal(eq(4), L)":                                          "i n",
		"literal(eq(type(xsd:decimal, '4.0')), L)":                   "i n",
		"literal(ge('10'), L)":                                       "l p",
		"literal(gt(18446744073709551616), L)":                       "l",
		"literal(le(18446744073709551616), L)":                       "i n p",
		"literal(lt(type(xsd:dateTime, '2024-03-01T08:30:00Z')), L)": "t",
		"literal(lt(type(xsd:dateTime, '2024-03-02T08:30:00Z')), L)": "t u",
		"literal(between(type(xsd:dateTime, '2024-03-01T09:59:59+02:00'), type(xsd:date, '2024-03-03Z')), L)": "t",
		"literal(between(4, 10), L)":        "i n p",
		"literal(ge('T'), L)":               "de w",
		"literal(eq(lang('DE', 'Tür')), L)": "de",
		"literal(type(xsd:integer, '4'))":   "n",
	} {
		rows, err := ask(t, prolog.NewProgram(), g, "setof(S, P^L^rdf_has(S, P, "+condition+"), Ss)", patience)
		if strings.HasPrefix(condition, "literal(type(") {
			rows, err = ask(t, prolog.NewProgram(), g, "setof(S, P^rdf_has(S, P, "+condition+"), Ss)", patience)
		}
		var names []string
		for _, name := range strings.Split(want, " ") {
			names = append(names, `"http://x/`+name+`"`)
		}
		if got := strings.Join(rows, " "); err != nil || got != `{"Ss":[`+strings.Join(names, ",")+`]}` {
			t.Errorf("%s\n got %s %v\nwant %s", condition, got, err, want)
		}
	}
}
