package pattern_test

import (
	"context"
	"fmt"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/pattern"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

func hospital() *knowledge.View {
	const ns = "http://example.org/hospital#"
	g := knowledge.NewGraph()
	add := func(s, p string, o rdf.Term) { g.Add(rdf.Triple{S: rdf.NewIRI(ns + s), P: rdf.NewIRI(p), O: o}) }
	add("parts", rdf.NS+"type", rdf.NewIRI(rdf.NSOWL+"TransitiveProperty"))
	add("Karlstrasse", rdf.NSRDFS+"label", rdf.NewTagged("Karlstraße", "de"))
	add("Karlstrasse", rdf.NSRDFS+"label", rdf.NewText("Karlstrasse"))
	add("Karlstrasse", ns+"parts", rdf.NewIRI(ns+"Clinic"))
	add("Clinic", ns+"parts", rdf.NewIRI(ns+"Room1"))
	add("Clinic", ns+"parts", rdf.NewIRI(ns+"Room2"))
	add("Clinic", rdf.NS+"type", rdf.NewIRI(ns+"Building"))
	for i, room := range []string{"Room1", "Room2"} {
		add(room, rdf.NS+"type", rdf.NewIRI(ns+"Room"))
		add(room, ns+"roomNumber", rdf.NewTyped(fmt.Sprint(3001+i), rdf.NSXSD+"string"))
		add(room, ns+"height", rdf.NewTyped(fmt.Sprint(2.5+float64(i)), rdf.NSXSD+"double"))
	}
	return &knowledge.View{Graph: g}
}

func Example() {
	view := hospital()
	question, err := pattern.CompileText(view, `?room roomNumber "3001"; ?s parts+ ?room; ?s label ~"Karlstr.*"`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for row, err := range question.Ask(context.Background(), view, knowledge.DefaultLimits) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(row.Get("room").Value, row.Get("s").Value)
	}
	// Output:
	// http://example.org/hospital#Room1 http://example.org/hospital#Karlstrasse
}

// The same kind of question as Go values.
func ExampleQuestion() {
	view := hospital()
	room, height := pattern.Var("room"), pattern.Var("h")
	question, err := pattern.Compile(view, &pattern.Question{
		Body: []pattern.Clause{
			pattern.Match(room, pattern.A, pattern.Name("Room")),
			pattern.Match(room, pattern.Name("height"), height),
			pattern.Where("?h > 3.0"),
		},
		Select: []pattern.Item{{Var: "room"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for row, err := range question.Ask(context.Background(), view, knowledge.DefaultLimits) {
		fmt.Println(row.Get("room").Value, err)
	}
	// Output:
	// http://example.org/hospital#Room2 <nil>
}

func ExampleCompileClass() {
	view := hospital()
	question, err := pattern.CompileClass(view, `Room and (height some xsd:double[< 3.0]) and (inverse parts some Building)`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for row := range question.Ask(context.Background(), view, knowledge.DefaultLimits) {
		fmt.Println(row.Get("individual").Value)
	}
	// Output:
	// http://example.org/hospital#Room1
}
