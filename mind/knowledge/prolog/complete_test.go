package prolog_test

import (
	"slices"
	"testing"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

func TestComplete(t *testing.T) {
	g := knowledge.NewGraph()
	for _, name := range []string{"Door", "Drawer", "door1", "on-Physical"} {
		g.Add(rdf.Triple{S: rdf.NewIRI("http://knowrob.org/kb/knowrob.owl#" + name), P: rdf.NewIRI("http://knowrob.org/kb/knowrob.owl#parts"), O: rdf.NewText("x")})
	}
	p := prolog.NewProgram()
	if err := p.AddRules("mine.pl", "tidy_room(_)."); err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string][]string{
		"owl_has(X, Y, Z), tidy_":        {"tidy_room("},
		"rdf_hasn":                       {},
		"rdf_h":                          {"rdf_has("},
		"rdf_has(X, knowr":               {"knowrob:"},
		"rdf_has(X, rdf:type, knowrob:D": {"knowrob:'Door'", "knowrob:'Drawer'"},
		"rdf_has(X, rdf:type, knowrob:d": {"knowrob:door1"},
		"f(knowrob:'D":                   {"knowrob:'Door'", "knowrob:'Drawer'"},
		"f(knowrob:'on-":                 {"knowrob:'on-Physical'"},
		"f(knowrob:pa":                   {"knowrob:parts"},
		"f(nothing:x":                    {},
		"":                               {},
		"f('":                            {},
	} {
		from, got := p.Complete(of(g), question)
		if len(got)+len(want) > 0 && !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", question, got, want)
		}
		if len(got) == 1 && question[:from]+got[0] == question {
			t.Errorf("%q: nothing is added", question)
		}
	}
}
