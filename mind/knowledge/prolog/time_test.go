package prolog_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/computed"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// at is a view of a graph at a time, with what is computed of it, and with other times.
func at(g *knowledge.Graph, t engram.Time) *knowledge.View {
	v := &knowledge.View{Graph: g, At: t}
	v.Computed = computed.New(v)
	v.Past = func(_ context.Context, t engram.Time) (*knowledge.View, error) { return at(g, t), nil }
	return v
}

const kitchen = `@prefix k: <http://knowrob.org/kb/knowrob.owl#> . @prefix e: <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
k:VisualPerception rdfs:subClassOf k:MentalEvent . k:on-Physical rdfs:subPropertyOf e:touching . e:carries owl:inverseOf k:on-Physical .
e:table k:depthOfObject "1" ; k:widthOfObject "1" ; k:heightOfObject "0.8" . e:cup k:depthOfObject "0.1" ; k:widthOfObject "0.1" ; k:heightOfObject "0.1" .
e:see1 a k:VisualPerception ; k:objectActedOn e:table ; k:startTime k:timepoint_100 ; k:eventOccursAt e:m1 .
e:see2 a k:VisualPerception ; k:objectActedOn e:cup ; k:startTime k:timepoint_100 ; k:eventOccursAt e:m2 .
e:see3 a k:VisualPerception ; k:objectActedOn e:cup ; k:startTime k:timepoint_200 ; k:eventOccursAt e:m3 .
e:m1 k:m00 "1.0" ; k:m01 "0" ; k:m02 "0" ; k:m03 "0" ; k:m10 "0" ; k:m11 "1" ; k:m12 "0" ; k:m13 "0" ; k:m20 "0" ; k:m21 "0" ; k:m22 "1" ; k:m23 "0.4" ; k:m30 "0" ; k:m31 "0" ; k:m32 "0" ; k:m33 "1" .
e:m2 k:m00 "1" ; k:m01 "0" ; k:m02 "0" ; k:m03 "0.1" ; k:m10 "0" ; k:m11 "1" ; k:m12 "0" ; k:m13 "0" ; k:m20 "0" ; k:m21 "0" ; k:m22 "1" ; k:m23 "0.85" ; k:m30 "0" ; k:m31 "0" ; k:m32 "0" ; k:m33 "1" .
e:m3 k:m00 "1" ; k:m01 "0" ; k:m02 "0" ; k:m03 "5" ; k:m10 "0" ; k:m11 "1" ; k:m12 "0" ; k:m13 "0" ; k:m20 "0" ; k:m21 "0" ; k:m22 "1" ; k:m23 "0.85" ; k:m30 "0" ; k:m31 "0" ; k:m32 "0" ; k:m33 "1" .
e:Shelf rdfs:subClassOf k:StorageConstruct , [ a owl:Restriction ; owl:onProperty k:typePrimaryFunction-StoragePlaceFor ; owl:someValuesFrom e:Dishes ] . e:Cup rdfs:subClassOf e:Dishes . e:shelf a e:Shelf .
e:clean k:startTime k:timepoint_90 ; k:endTime k:timepoint_150 . e:wipe k:startTime k:timepoint_110.5 ; k:endTime k:timepoint_120 .
`

func TestTime(t *testing.T) {
	g := knowledge.NewGraph()
	if _, err := rdf.Read(strings.NewReader(kitchen), rdf.Turtle, rdf.ReadOptions{Name: "kitchen"}, func(q rdf.Quad) error {
		g.Add(q.Triple)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	p := prolog.NewProgram()
	p.AddPrefix("e", "http://e/")
	matrix := func(x string) string { return `[1,0,0,` + x + `,0,1,0,0,0,0,1,0.85,0,0,0,1]` }
	for question, want := range map[string]string{
		// What is computed: now the cup is elsewhere.
		"rdf_triple(knowrob:'on-Physical', e:cup, X)":                                   ``,
		"holds(rdf_triple(knowrob:'on-Physical', e:cup, X), 150)":                       `{"X":"e:table"}`,
		"holds(knowrob:'on-Physical'(e:cup, X), 150)":                                   `{"X":"e:table"}`,
		"holds(knowrob:'on-Physical'(X, Y), knowrob:'timepoint_199.5')":                 `{"X":"e:cup","Y":"e:table"}`,
		"holds(on_Physical(e:cup, X), 'http://e/timepoint_150')":                        `{"X":"e:table"}`,
		"holds(on_Physical(e:cup, X), 250)":                                             ``,
		"holds(on_Physical(e:cup, X), now)":                                             ``,
		"holds(rdf_triple(e:touching, e:cup, X), 150)":                                  `{"X":"e:table"}`,
		"holds(rdf_triple(e:carries, X, e:cup), 150)":                                   `{"X":"e:table"}`,
		"holds(rdf_triple(P, e:cup, e:table), 150), P = knowrob:'on-Physical'":          ``,
		"holds(probability(on_Physical(e:cup, X), P), 150)":                             `{"X":"e:table","P":1.0}`,
		"probability(holds(knowrob:'on-Physical'(e:cup, X), 150), P)":                   `{"X":"e:table","P":1.0}`,
		"rdf_triple(knowrob:heightOfObject, e:cup, literal(H))":                         `{"H":"0.1"}`,
		"holds(( on_Physical(e:cup, X), \\+ on_Physical(X, _) ), 150)":                  `{"X":"e:table"}`,
		"holds(( on_Physical(e:cup, X), holds(\\+ on_Physical(e:cup, X), 250) ), 150)":  `{"X":"e:table"}`,
		"holds(member(X, [1, 2]), 150), \\+ on_Physical(e:cup, e:table)":                `{"X":1} {"X":2}`,
		"findall(T, ( member(T, [50, 150, 250]), holds(on_Physical(e:cup, _), T) ), L)": `{"L":[150]}`,
		"catch(holds(throw(here), 150), here, true), \\+ on_Physical(e:cup, e:table)":   `{}`,
		"holds(on_Physical(e:cup, e:table), [120, 180])":                                `{}`,
		"holds(on_Physical(e:cup, e:table), interval(120, 220))":                        ``,
		"holds(knowrob:heightOfObject(e:cup, literal(H)))":                              `{"H":"0.1"}`,
		"current_object_pose(e:cup, P)":                                                 `{"P":` + matrix("5") + `}`,
		"object_pose_at_time(e:cup, 150, P)":                                            `{"P":` + matrix("0.1") + `}`,
		"object_pose_at_time(e:cup, knowrob:timepoint_200, P)":                          `{"P":` + matrix("5") + `}`,
		"object_pose_at_time(e:cup, 50, P)":                                             ``,
		"object_pose_at_time(X, 150, [_,_,_,0.1|_])":                                    `{"X":"e:cup"}`,
		"object_detection(e:cup, 150, D), object_detection(e:cup, 200, E)":              `{"D":"e:see2","E":"e:see3"}`,
		"occurs(e:clean, 100), \\+ occurs(e:clean, 160)":                                `{}`,
		"setof(E, occurs(E, 115), L)":                                                   `{"L":["e:clean","e:wipe"]}`,
		"occurs(e:wipe, T)":                                                             `{"T":[110.5,120]}`,
		"setof(E, during(E, e:clean), L)":                                               `{"L":["e:clean","e:see1","e:see2","e:wipe"]}`,
		"during(e:wipe, [100, 130]), \\+ during(e:clean, interval(100, 200))":           `{}`,
		"allen(e:wipe, R, e:clean), allen(e:clean, S, e:wipe), allen([1,2], T, [2,3])":  `{"R":"during","S":"contains","T":"meets"}`,
		"strip_literal_type(literal(type(a,3)), 3), strip_literal_type(literal(b), literal(b)), time_term(knowrob:timepoint_3, T), range(1, 3, R), zip([a], [b], Q)": `{"T":3,"R":[1,2,3],"Q":[["a","b"]]}`,
		"comp_duringI(X, e:clean), comp_duration(X, D), comp_orientation(e:cup, Y)":                                                                                  `{"X":"e:wipe","D":9.5,"Y":"e:m3"}`,
		"storagePlaceFor(X, e:'Cup')": `{"X":"e:shelf"}`,
		"setof(P, X^Y^(holds(rdf_triple(P, X, Y), 150), X = e:cup, Y = e:table), L), memberchk(knowrob:'on-Physical', L)": ``,
		"rdf_triple(knowrob:duringI, e:wipe, X)":                                                           `{"X":"e:clean"}`,
		"rdf_triple(knowrob:orientation, e:cup, X), holds(rdf_triple(knowrob:orientation, e:cup, Y), 150)": `{"X":"e:m3","Y":"e:m2"}`,
	} {
		rows := []string{}
		var err error
		for row, e := range p.Ask(t.Context(), at(g, 0), question, patience) {
			if err = e; err == nil {
				b, _ := row.MarshalJSON()
				rows = append(rows, string(b))
			}
		}
		if got := strings.ReplaceAll(strings.Join(rows, " "), "http://e/", "e:"); err != nil || got != want {
			t.Errorf("%s\n got %s %v\nwant %s", question, got, err, want)
		}
	}
	for question, want := range map[string]string{
		"holds(on_Physical(e:cup, X), 150)":  "nothing is known here of the past",
		"holds(on_Physical(e:cup, X), soon)": "a time is wanted",
	} {
		if _, err := ask(t, p, g, question, patience); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", question, err, want)
		}
	}
}
