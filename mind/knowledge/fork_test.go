package knowledge

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Forks that are changed at random have what was added to each, and nothing of each other.
func TestForks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{5, 40, 3_000}).Draw(t, "terms")
		triple := rapid.Custom(func(t *rapid.T) rdf.Triple {
			return rdf.Triple{S: term(size).Draw(t, "s"), P: iri(fmt.Sprint("n", 5*rapid.IntRange(0, 3).Draw(t, "p")+4)), O: term(size).Draw(t, "o")}
		})
		type fork struct {
			*Graph
			model map[rdf.Triple]bool
		}
		forks := []fork{{NewGraph(), map[rdf.Triple]bool{}}}
		if size > 1_000 { // many names that come and go
			for i := range 3 * fewNames {
				it := rdf.Triple{S: iri(fmt.Sprint("gone", i)), P: iri("p"), O: iri("o")}
				forks[0].Add(it)
				forks[0].Remove(it)
			}
		}
		for range rapid.IntRange(1, 300).Draw(t, "changes") {
			f := forks[rapid.IntRange(0, len(forks)-1).Draw(t, "fork")]
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				if len(forks) < 6 {
					other := fork{f.Fork(), map[rdf.Triple]bool{}}
					for it := range f.model {
						other.model[it] = true
					}
					forks = append(forks, other)
				}
			case 1, 2:
				it := triple.Draw(t, "triple")
				f.Remove(it)
				delete(f.model, it)
			default:
				if it := triple.Draw(t, "triple"); f.Add(it) {
					f.model[it] = true
				}
			}
		}
		for i, f := range forks {
			var want []rdf.Triple
			for it := range f.model {
				want = append(want, it)
			}
			got := order(t, f.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}))
			if want := order(t, slices.Values(want)); !slices.Equal(got, want) || f.Len() != len(want) {
				t.Fatalf("fork %d has %v and the length %d, want %v", i, got, f.Len(), want)
			}
			for it := range f.model {
				if n := len(slices.Collect(f.OWLHas(it.S, it.P, it.O))); n != 1 {
					t.Fatalf("fork %d has %v %d times", i, it, n)
				}
			}
		}
	})
}

// Forks are asked while the graph that they are of is changed.
func TestForksAtOnce(t *testing.T) {
	g := NewGraph()
	part := iri("part")
	g.Add(rdf.Triple{S: part, P: rdf.NewIRI(rdf.NS + "type"), O: rdf.NewIRI(rdf.NSOWL + "TransitiveProperty")})
	var asking sync.WaitGroup
	for i := range 200 {
		for j := range 30 {
			g.Add(rdf.Triple{S: iri(fmt.Sprint("n", i)), P: part, O: iri(fmt.Sprint("n", i+1+j))})
		}
		f, want := g.Fork(), i+30
		asking.Add(1)
		go func() {
			defer asking.Done()
			if got := len(slices.Collect(f.OWLHas(iri("n0"), part, rdf.Term{}))); got != want {
				t.Errorf("%d parts after %d, want %d", got, i, want)
			}
			if f.Fork().Remove(rdf.Triple{S: iri("n0"), P: part, O: iri("n1")}); f.Len() != 30*(i+1)+1 {
				t.Errorf("%d triples after %d", f.Len(), i)
			}
		}()
	}
	asking.Wait()
}
