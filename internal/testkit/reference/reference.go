// Package reference reads the maps and questions of the shared data for tests of several packages.
//
// It is no public API: tests of several wings share it.
package reference

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Load reads the files, which blanks separate, of the shared maps into one graph, as SWI-Prolog reads
// them: the cells of collections are lists.
func Load(t testing.TB, files string) *knowledge.Graph {
	t.Helper()
	g := knowledge.NewGraph()
	for i, file := range strings.Fields(files) {
		b, err := os.ReadFile(testkit.Shared(t, "knowledge", "maps", file))
		if err != nil {
			t.Fatal(err)
		}
		_, err = rdf.Read(bytes.NewReader(b), rdf.RDFXML, rdf.ReadOptions{Name: file, Base: "file:///" + file, Scope: fmt.Sprintf("f%d", i), Lists: true}, func(q rdf.Quad) error {
			g.Add(q.Triple)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// Prefixes returns what the prefixes of the shared questions stand for.
func Prefixes(t testing.TB) map[string]string {
	t.Helper()
	b, err := os.ReadFile(testkit.Shared(t, "knowledge", "prefixes.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if prefix, iri, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && prefix != "prefix" {
			all[prefix] = iri
		}
	}
	return all
}
