package record

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// things are individuals with five triples each.
func things(n int) []rdf.Triple {
	const ns = "http://knowrob.org/kb/ias_semantic_map.owl#"
	var triples []rdf.Triple
	iri := func(s string, i int) rdf.Term { return rdf.NewIRI(fmt.Sprint(ns, s, i)) }
	for i := range n {
		s := iri("Cupboard", i)
		triples = append(triples,
			rdf.Triple{S: s, P: rdf.NewIRI(typeIRI), O: rdf.NewIRI("http://knowrob.org/kb/knowrob.owl#Cupboard")},
			rdf.Triple{S: s, P: rdf.NewIRI("http://knowrob.org/kb/knowrob.owl#describedInMap"), O: iri("Map", i%10)},
			rdf.Triple{S: s, P: rdf.NewIRI("http://knowrob.org/kb/knowrob.owl#widthOfObject"), O: rdf.NewTyped(fmt.Sprint(i), rdf.NSXSD+"double")},
			rdf.Triple{S: s, P: rdf.NewIRI("http://knowrob.org/kb/knowrob.owl#properPhysicalParts"), O: iri("Door", i)},
			rdf.Triple{S: s, P: rdf.NewIRI("http://knowrob.org/kb/knowrob.owl#properPhysicalParts"), O: iri("Handle", i)})
	}
	return triples
}

// BenchmarkImport imports 50,000 triples of 10,000 individuals into a server, new and again.
func BenchmarkImport(b *testing.B) {
	triples := things(10_000)
	for _, again := range []bool{false, true} {
		b.Run(map[bool]string{false: "new", true: "same"}[again], func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				s := serving.New(b, Knowledge())
				c, err := NewCodec(b.Context(), s)
				if err != nil {
					b.Fatal(err)
				}
				load := func() {
					if _, err := c.Import(b.Context(), s, "k", triples, Options{}); err != nil {
						b.Fatal(err)
					}
				}
				if again {
					load()
				}
				b.StartTimer()
				load()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(triples)), "ns/triple")
		})
	}
}

// BenchmarkRead reads 50,000 triples of 10,000 individuals from a server.
func BenchmarkRead(b *testing.B) {
	triples := things(10_000)
	s := serving.New(b, Knowledge())
	c, err := NewCodec(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Import(b.Context(), s, "k", triples, Options{}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if said, _, err := c.Read(b.Context(), s, []engram.Pattern{All()}, engram.Now(), nil); err != nil || len(said) != 10_001 {
			b.Fatal(len(said), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(triples)), "ns/triple")
}
