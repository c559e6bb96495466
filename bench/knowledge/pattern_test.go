package knowledge

import (
	"context"
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/pattern"
)

// askPattern asks a compiled question as often as the benchmark wants, and checks how many rows come.
func askPattern(b *testing.B, g *knowledge.Graph, text string, want int) {
	v := &knowledge.View{Graph: g}
	c, err := pattern.CompileText(v, text)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		rows := 0
		for _, err := range c.Ask(context.Background(), v, knowledge.DefaultLimits) {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
		if want > 0 && rows != want {
			b.Fatalf("%d rows, want %d", rows, want)
		}
		want = rows
	}
	b.ReportMetric(float64(want), "rows")
}

// The seed question and others as patterns; SWI-Prolog takes 0.433 ms for the first.
func BenchmarkPatternReference(b *testing.B) {
	g := load(b, files(b)...)
	for _, q := range []struct {
		name string
		rows int
		text string
	}{
		{"seed", 4, `?m label ~"Munich"; ?m knowrob:properPhysicalParts ?r; ?r knowrob:roomNumber "3001"; ?r knowrob:describedInMap ?map`},
		{"issue", 4, `?room knowrob:roomNumber "3001"; ?s knowrob:properPhysicalParts+ ?room; ?s label ~"Karlstr.*"`},
		{"parts", 0, `?whole knowrob:properPhysicalParts ?part`},
	} {
		b.Run(q.name, func(b *testing.B) { askPattern(b, g, q.text, q.rows) })
	}
}

// One look-up of a compiled question.
func BenchmarkPatternPoint(b *testing.B) {
	for _, size := range []int{10_000, 1_000_000} {
		g := tree(size)
		b.Run(fmt.Sprint("triples=", size, "/label"), func(b *testing.B) { askPattern(b, g, fmt.Sprintf("<%snode%d> label ?l", ns, size/4), 1) })
		b.Run(fmt.Sprint("triples=", size, "/type"), func(b *testing.B) {
			askPattern(b, g, fmt.Sprintf("<%snode%d> a <%sKind%d>", ns, size/4, ns, size/4%50), 1)
		})
	}
}

// A join of three patterns, all answers: the same as BenchmarkJoin's, and one that picks a few of
// many.
func BenchmarkPatternJoin(b *testing.B) {
	for _, size := range []int{10_000, 1_000_000} {
		g := tree(size)
		b.Run(fmt.Sprint("triples=", size, "/kind"), func(b *testing.B) {
			askPattern(b, g, fmt.Sprintf("?w a <%sKind7>; ?w knowrob:properPhysicalParts ?p; ?p label ?l; mode plain", ns), 0)
		})
		b.Run(fmt.Sprint("triples=", size, "/kind owl"), func(b *testing.B) {
			askPattern(b, g, fmt.Sprintf("?w a <%sKind7>; ?p label ?l; ?p ^knowrob:properPhysicalParts ?w; limit 200", ns), 0)
		})
		b.Run(fmt.Sprint("triples=", size, "/wholes"), func(b *testing.B) {
			askPattern(b, g, fmt.Sprintf("?p label \"thing number %d\"; ?w knowrob:properPhysicalParts ?p; ?w a ?kind", size/4), 0)
		})
	}
}

// Reading and compiling a question, whose names are looked up among all.
func BenchmarkPatternCompile(b *testing.B) {
	for _, size := range []int{10_000, 1_000_000} {
		v := &knowledge.View{Graph: tree(size)}
		for name, text := range map[string]string{"local": "?w a Kind7; ?w properPhysicalParts ?p; ?p label ?l", "prefix": "?w knowrob:properPhysicalParts ?p; ?p rdfs:label ?l"} {
			b.Run(fmt.Sprint("triples=", size, "/", name), func(b *testing.B) {
				for b.Loop() {
					if _, err := pattern.CompileText(v, text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Questions for class expressions.
func BenchmarkPatternClass(b *testing.B) {
	v := &knowledge.View{Graph: load(b, files(b)...)}
	c, err := pattern.CompileClass(v, `knowrob:RoomInAConstruction and (knowrob:roomNumber value "3001") and (inverse knowrob:properPhysicalParts some (knowrob:Building and (inverse knowrob:properPhysicalParts some (knowrob:Street and label value "Karlstrasse"))))`)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		rows := 0
		for _, err := range c.Ask(context.Background(), v, knowledge.DefaultLimits) {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
		if rows == 0 {
			b.Fatal("no rows")
		}
	}
}
