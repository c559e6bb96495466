package knowledge

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

const (
	knowrob = "http://knowrob.org/kb/knowrob.owl#"
	ns      = "http://example.org/world#"
)

var (
	parts   = rdf.NewIRI(knowrob + "properPhysicalParts")
	number  = rdf.NewIRI(knowrob + "roomNumber")
	isIn    = rdf.NewIRI(knowrob + "describedInMap")
	label   = rdf.NewIRI(rdf.NSRDFS + "label")
	isA     = rdf.NewIRI(rdf.NS + "type")
	unbound = rdf.Term{}
)

// files returns those that the reference's times were measured with.
func files(tb testing.TB) []string {
	data, err := os.ReadFile(testkit.Shared(tb, "knowledge", "timing.tsv"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		if names, ok := strings.CutPrefix(line, "# files: "); ok {
			return strings.Fields(names)
		}
	}
	tb.Fatal("timing.tsv names no files")
	return nil
}

func read(tb testing.TB, g *knowledge.Graph, name string, data []byte) {
	_, err := rdf.Read(bytes.NewReader(data), rdf.RDFXML, rdf.ReadOptions{Name: name, Base: "file:///" + name, Scope: name, Lists: true}, func(q rdf.Quad) error {
		g.Add(q.Triple)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func load(tb testing.TB, names ...string) *knowledge.Graph {
	g := knowledge.NewGraph()
	for _, name := range names {
		data, err := os.ReadFile(testkit.Shared(tb, "knowledge", "maps", name))
		if err != nil {
			tb.Fatal(err)
		}
		read(tb, g, name, data)
	}
	return g
}

// Loading all files from RAM. SWI-Prolog takes 167 ms, as timing.tsv says.
func BenchmarkLoad(b *testing.B) {
	for _, set := range []struct {
		name  string
		files []string
	}{
		{"all", files(b)},
		{"map", []string{"knowrob.owl", "roboearth.owl", "ias_hospital_room.owl"}},
	} {
		b.Run(set.name, func(b *testing.B) {
			contents := map[string][]byte{}
			for _, name := range set.files {
				data, err := os.ReadFile(testkit.Shared(b, "knowledge", "maps", name))
				if err != nil {
					b.Fatal(err)
				}
				contents[name] = data
			}
			triples := 0
			b.ReportAllocs()
			for b.Loop() {
				g := knowledge.NewGraph()
				for _, name := range set.files {
					read(b, g, name, contents[name])
				}
				triples = g.Len()
			}
			b.ReportMetric(float64(triples), "triples")
		})
	}
}

// The seed question in Go. SWI-Prolog takes 0.433 ms.
func BenchmarkSeedQuestion(b *testing.B) {
	g := load(b, files(b)...)
	answers := 0
	for b.Loop() {
		answers = 0
		for m := range g.HasLiteral(unbound, label, knowledge.Pattern{Match: knowledge.Like, Text: "*Munich*"}) {
			for room := range g.OWLHas(m.S, parts, unbound) {
				for range g.OWLHasLiteral(room.O, number, knowledge.Pattern{Match: knowledge.Same, Text: "3001", Qualifier: knowledge.Typed}) {
					for range g.OWLHas(room.O, isIn, unbound) {
						answers++
					}
				}
			}
		}
	}
	if answers != 4 {
		b.Fatalf("%d answers, want 4", answers)
	}
}

// The questions of timing.tsv that are one predicate; SWI-Prolog's median there.
func BenchmarkReference(b *testing.B) {
	g := load(b, files(b)...)
	kb := func(name string) rdf.Term { return rdf.NewIRI(knowrob + name) }
	for _, q := range []struct {
		name string
		want int
		ask  func() int
	}{
		{"t03 parts, 3274 us", 213, func() int { return count(g.OWLHas(unbound, parts, unbound)) }},
		{"t04 like, 12 us", 17, func() int {
			return count(g.HasLiteral(unbound, label, knowledge.Pattern{Match: knowledge.Like, Text: "*m*n*"}))
		}},
		{"t05 substring, 161 us", 69, func() int {
			return count(g.HasLiteral(unbound, rdf.NewIRI(rdf.NSRDFS+"comment"), knowledge.Pattern{Match: knowledge.Substring, Text: "object"}))
		}},
		{"t06 individuals, 89 us", 32, func() int { return count2(g.IndividualOf(unbound, kb("Container"))) }},
		// 592 where the two blank nodes among them, from two files, count as one.
		{"t07 subclasses, 5524 us", 593, func() int { return count2(g.SubclassOf(unbound, kb("EnduringThing-Localized"))) }},
	} {
		b.Run(q.name, func(b *testing.B) {
			got := 0
			for b.Loop() {
				got = q.ask()
			}
			if got != q.want {
				b.Fatalf("%d answers, want %d", got, q.want)
			}
		})
	}
}

func count(answers func(func(rdf.Triple) bool)) (n int) {
	for range answers {
		n++
	}
	return n
}

func count2(answers func(func(a, b rdf.Term) bool)) (n int) {
	for range answers {
		n++
	}
	return n
}

func node(n int) rdf.Term { return rdf.NewIRI(fmt.Sprint(ns, "node", n)) }

// tree is a forest of things: each has 3 parts to a depth of 10 levels at most,
// a type and a label.
func tree(triples int) *knowledge.Graph {
	g := knowledge.NewGraph()
	g.Add(rdf.Triple{S: parts, P: isA, O: rdf.NewIRI(rdf.NSOWL + "TransitiveProperty")})
	for n := 0; g.Len() < triples; n++ {
		if n > 0 {
			g.Add(rdf.Triple{S: node((n - 1) / 3), P: parts, O: node(n)})
		}
		g.Add(rdf.Triple{S: node(n), P: isA, O: rdf.NewIRI(fmt.Sprint(ns, "Kind", n%50))})
		g.Add(rdf.Triple{S: node(n), P: label, O: rdf.NewTagged(fmt.Sprint("thing number ", n), "en")})
	}
	return g
}

// chains are wholes with their parts, ten levels one below the other.
func chains(triples int) *knowledge.Graph {
	g := knowledge.NewGraph()
	g.Add(rdf.Triple{S: parts, P: isA, O: rdf.NewIRI(rdf.NSOWL + "TransitiveProperty")})
	for n := 0; g.Len() < triples; n++ {
		if n%11 > 0 {
			g.Add(rdf.Triple{S: node(n - 1), P: parts, O: node(n)})
		}
	}
	return g
}

func BenchmarkLookUp(b *testing.B) {
	for _, size := range []int{10_000, 1_000_000} {
		g := tree(size)
		s, o := node(size/4), rdf.NewIRI(fmt.Sprint(ns, "Kind", size/4%50))
		b.Run(fmt.Sprint("triples=", size, "/bound=spo"), func(b *testing.B) {
			for b.Loop() {
				if count(g.Match(s, isA, o)) != 1 {
					b.Fatal("not found")
				}
			}
		})
		b.Run(fmt.Sprint("triples=", size, "/bound=sp"), func(b *testing.B) {
			for b.Loop() {
				if count(g.Match(s, isA, unbound)) != 1 {
					b.Fatal("not found")
				}
			}
		})
		b.Run(fmt.Sprint("triples=", size, "/bound=po"), func(b *testing.B) {
			for b.Loop() {
				if count(g.Match(unbound, parts, s)) != 1 {
					b.Fatal("not found")
				}
			}
		})
		b.Run(fmt.Sprint("triples=", size, "/different"), func(b *testing.B) {
			names := make([]rdf.Term, 1024)
			for i := range names {
				names[i] = node(i * (size / 3 / len(names)))
			}
			i := 0
			for b.Loop() {
				i++
				if count(g.Match(names[i%len(names)], isA, unbound)) != 1 {
					b.Fatal("not found")
				}
			}
		})
	}
}

func BenchmarkContainment(b *testing.B) {
	g := chains(10_000)
	b.Run("down", func(b *testing.B) {
		for b.Loop() {
			if count(g.OWLHas(node(0), parts, unbound)) != 10 {
				b.Fatal("not 10 parts")
			}
		}
	})
	b.Run("up", func(b *testing.B) {
		for b.Loop() {
			if count(g.OWLHas(unbound, parts, node(10))) != 10 {
				b.Fatal("not 10 wholes")
			}
		}
	})
	b.Run("all pairs", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n = count(g.OWLHas(unbound, parts, unbound))
		}
		b.ReportMetric(float64(n), "answers")
	})
	t := tree(10_000)
	b.Run("all parts of a tree", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n = count(t.OWLHas(node(0), parts, unbound))
		}
		b.ReportMetric(float64(n), "answers")
	})
}

// A join of three: things of a kind, their parts, and the labels of those.
func BenchmarkJoin(b *testing.B) {
	for _, size := range []int{10_000, 1_000_000} {
		g := tree(size)
		kind := rdf.NewIRI(ns + "Kind7")
		b.Run(fmt.Sprint("triples=", size), func(b *testing.B) {
			n := 0
			for b.Loop() {
				n = 0
				for whole := range g.Match(unbound, isA, kind) {
					if n >= 200 {
						break // as many in both sizes
					}
					for part := range g.Match(whole.S, parts, unbound) {
						n += count(g.Match(part.O, label, unbound))
					}
				}
			}
			b.ReportMetric(float64(n), "answers")
		})
	}
}

// What a triple takes of RAM, with all names and indexes, and how long it takes
// to add.
func BenchmarkMillion(b *testing.B) {
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		g := tree(1_000_000)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(g.Len()), "B/triple")
		runtime.KeepAlive(g)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1e6, "us/triple")
}
