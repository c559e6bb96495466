package knowledge

import (
	"context"
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// question asks in Prolog as often as the benchmark wants, and checks how many rows come.
func question(b *testing.B, g *knowledge.Graph, text string, want int) {
	p := prolog.NewProgram()
	b.ReportAllocs()
	for b.Loop() {
		rows := 0
		for _, err := range p.Ask(context.Background(), &knowledge.View{Graph: g}, text, prolog.DefaultLimits) {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
		if rows != want {
			b.Fatalf("%d rows, want %d", rows, want)
		}
	}
}

// The reference's timed questions, through Prolog, from text to rows. timing.tsv has SWI-Prolog's
// times: 0.433 ms for the first. It counts 592 subclasses because two blank nodes are one row
// there; SWI-Prolog has 593 over the same triples, too.
func BenchmarkPrologReference(b *testing.B) {
	g := load(b, files(b)...)
	for _, q := range []struct {
		name string
		rows int
		text string
	}{
		{"seed", 4, "rdf_has(M, rdfs:label, literal(like('*Munich*'), _)), owl_has(M, knowrob:properPhysicalParts, R), owl_has(R, knowrob:roomNumber, literal(type(_, '3001'))), owl_has(R, knowrob:describedInMap, Map)"},
		{"room", 4, "owl_individual_of(C, knowrob:'City'), rdf_has(C, rdfs:label, literal(exact('munich'), _)), owl_has(C, knowrob:properPhysicalParts, S), owl_individual_of(S, knowrob:'Street'), rdf_has(S, rdfs:label, literal(like('Karlstr*'), _)), owl_has(S, knowrob:properPhysicalParts, B), owl_individual_of(B, knowrob:'Building'), owl_has(B, knowrob:properPhysicalParts, R), owl_individual_of(R, knowrob:'RoomInAConstruction'), owl_has(R, knowrob:roomNumber, literal(type(_, '3001')))"},
		{"parts", 213, "owl_has(Whole, knowrob:properPhysicalParts, Part)"},
		{"subclasses", 593, "owl_subclass_of(X, knowrob:'EnduringThing-Localized')"},
		{"newest", 33, "setof(X, M^rdf_has(X, knowrob:describedInMap, M), _Xs), member(Obj, _Xs), rdf_has(P, knowrob:objectActedOn, Obj), rdf_has(P, knowrob:startTime, _T), rdf_split_url(_, _Tl, _T), atom_concat('timepoint_', _Ta, _Tl), atom_number(_Ta, N), \\+ (rdf_has(P2, knowrob:objectActedOn, Obj), rdf_has(P2, knowrob:startTime, _T2), rdf_split_url(_, _T2l, _T2), atom_concat('timepoint_', _T2a, _T2l), atom_number(_T2a, N2), N2 > N), rdf_has(P, knowrob:eventOccursAt, M)"},
		{"count", 1, "aggregate_all(count, (rdf_has(P, knowrob:objectActedOn, O), rdf_has(P, knowrob:eventOccursAt, M), rdf_has(M, knowrob:m23, literal(type(_, _Z))), atom_number(_Z, Z), Z > 0.5, owl_individual_of(O, knowrob:'SpatialThing')), N)"},
	} {
		b.Run(q.name, func(b *testing.B) { question(b, g, q.text, q.rows) })
	}
}

// A question with one look-up, from text to row, and what each further look-up of a question costs.
func BenchmarkPrologPoint(b *testing.B) {
	g := knowledge.NewGraph()
	for i := range 10_000 {
		g.Add(rdf.Triple{S: rdf.NewIRI(fmt.Sprint(ns, "thing", i)), P: label, O: rdf.NewText(fmt.Sprint("thing ", i))})
	}
	b.Run("question", func(b *testing.B) {
		question(b, g, "rdf('"+ns+"thing5000', rdfs:label, L)", 1)
	})
	b.Run("1000", func(b *testing.B) {
		question(b, g, "\\+ (between(1, 1000, _), \\+ rdf('"+ns+"thing5000', rdfs:label, _))", 1)
	})
}

// A join of three patterns over 10,000 triples, the same as BenchmarkJoin's.
func BenchmarkPrologJoin(b *testing.B) {
	g := tree(10_000)
	p := "'" + ns
	question(b, g, "rdf(W, rdf:type, "+p+"Kind7'), rdf(W, knowrob:properPhysicalParts, P), rdf(P, rdfs:label, L)", 69)
}
