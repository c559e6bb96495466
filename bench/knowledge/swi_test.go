package knowledge

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// swi returns how long SWI-Prolog takes for a job of testdata/swi.pl, and how many answers it has.
func swi(b *testing.B, job string, files ...string) (took time.Duration, answers int) {
	b.Helper()
	if _, err := exec.LookPath("swipl"); err != nil {
		b.Skip("SWI-Prolog is not installed (Debian's swi-prolog-nox): its part is left out")
	}
	out, err := exec.Command("swipl", append([]string{"testdata/swi.pl", "--", job}, files...)...).Output()
	if err != nil {
		b.Fatal("swipl: ", err)
	}
	var ms float64
	if _, err := fmt.Sscan(string(out), &ms, &answers); err != nil {
		b.Fatalf("swipl: %q: %v", out, err)
	}
	return time.Duration(ms * float64(time.Millisecond)), answers
}

// beside reports SWI-Prolog's time in ms, and how many times as long ours is.
func beside(b *testing.B, job string, files ...string) {
	b.Helper()
	ours := float64(b.Elapsed()) / float64(b.N)
	theirs, answers := swi(b, job, files...)
	b.ReportMetric(theirs.Seconds()*1000, "swi-ms/op")
	b.ReportMetric(ours/float64(theirs), "x-swi")
	b.ReportMetric(float64(answers), "swi-answers")
}

// written writes a graph as N-Triples for SWI-Prolog.
func written(b *testing.B, g *knowledge.Graph) string {
	b.Helper()
	name := filepath.Join(b.TempDir(), "facts.nt")
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for t := range g.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
		fmt.Fprintf(w, "<%s> <%s> ", t.S.Value, t.P.Value)
		if t.O.Kind == rdf.Literal {
			fmt.Fprintf(w, "%q@%s .\n", t.O.Value, t.O.Lang)
		} else {
			fmt.Fprintf(w, "<%s> .\n", t.O.Value)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return name
}

// SWI-Prolog in the same run: loading knowrob.owl, roboearth.owl and a map; the seed question;
// containment through 10 levels, all pairs; a join of three. Both are asked in Prolog, but where it
// says go. SWI-Prolog counts answers, ours makes rows of the seed's and the join's. It answers the seed question with the rules of KnowRob's owl.pl if the environment variable
// KNOWROB_OWL has its path; without it, by its own rdf_reachable/3, which does less.
func BenchmarkBesideSWI(b *testing.B) {
	names := []string{"knowrob.owl", "roboearth.owl", "ias_hospital_room.owl"}
	paths := make([]string, len(names))
	contents := make([][]byte, len(names))
	for i, name := range names {
		paths[i] = testkit.Shared(b, "knowledge", "maps", name)
		data, err := os.ReadFile(paths[i])
		if err != nil {
			b.Fatal(err)
		}
		contents[i] = data
	}
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			g := knowledge.NewGraph()
			for i, name := range names {
				read(b, g, name, contents[i])
			}
		}
		beside(b, "load", paths...)
	})
	b.Run("seed", func(b *testing.B) {
		question(b, load(b, names...), "rdf_has(M, rdfs:label, literal(like('*Munich*'), _)), owl_has(M, knowrob:properPhysicalParts, R), owl_has(R, knowrob:roomNumber, literal(type(_, '3001'))), owl_has(R, knowrob:describedInMap, Map)", 1)
		beside(b, "seed", paths...)
	})
	wholes := chains(10_000)
	b.Run("containment", func(b *testing.B) {
		question(b, wholes, "aggregate_all(count, owl_has(W, knowrob:properPhysicalParts, P), N)", 1)
		beside(b, "containment", written(b, wholes))
	})
	b.Run("containment/go", func(b *testing.B) {
		for b.Loop() {
			count(wholes.OWLHas(unbound, parts, unbound))
		}
		beside(b, "containment", written(b, wholes))
	})
	b.Run("join", func(b *testing.B) {
		g := tree(10_000)
		question(b, g, "rdf(W, rdf:type, '"+ns+"Kind7'), rdf(W, knowrob:properPhysicalParts, P), rdf(P, rdfs:label, L)", 69)
		beside(b, "join", written(b, g))
	})
}
