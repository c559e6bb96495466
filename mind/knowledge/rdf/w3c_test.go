package rdf

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
)

// conformance is a test of a W3C manifest: what is read, and for an evaluation the graph that it is.
type conformance struct{ name, kind, action, result string }

// manifest returns the tests that a suite of the W3C lists, and the base IRI that its inputs have.
func manifest(t *testing.T, suite string) ([]conformance, string) {
	data, err := os.ReadFile(testkit.Shared(t, "w3c-rdf", suite, "manifest.ttl"))
	if err != nil {
		t.Fatal(err)
	}
	const here = "http://manifest/"
	base := "https://w3c.github.io/rdf-tests/rdf/rdf11/" + suite + "/"
	var order []Term
	said := map[Term]map[string]Term{}
	var list Term
	cells := map[Term][2]Term{}
	_, err = Read(bytes.NewReader(data), Turtle, ReadOptions{Name: "manifest.ttl", Base: here}, func(q Quad) error {
		if said[q.S] == nil {
			said[q.S] = map[string]Term{}
		}
		local := path.Base(strings.ReplaceAll(q.P.Value, "#", "/"))
		said[q.S][local] = q.O
		cell := cells[q.S]
		switch local {
		case "entries":
			list = q.O
		case "assumedTestBase":
			base = q.O.Value
		case "first":
			cells[q.S] = [2]Term{q.O, cell[1]}
		case "rest":
			cells[q.S] = [2]Term{cell[0], q.O}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for ; list.Value != NS+"nil"; list = cells[list][1] {
		order = append(order, cells[list][0])
	}
	var out []conformance
	for _, it := range order {
		file := func(role string) string { return strings.TrimPrefix(said[it][role].Value, here) }
		out = append(out, conformance{said[it]["name"].Value, path.Base(strings.ReplaceAll(said[it]["type"].Value, "#", "/")), file("action"), file("result")})
	}
	return out, base
}

// TestW3C runs the suites of the W3C: what is to be read is, as the graph that it is, and what is not is refused.
func TestW3C(t *testing.T) {
	for _, suite := range []struct {
		folder                         string
		format                         Format
		negative, positive, evaluation int
	}{
		{"rdf-xml", RDFXML, 40, 0, 126},
		{"rdf-turtle", Turtle, 94, 74, 145},
		{"rdf-n-triples", NTriples, 29, 41, 0},
		{"rdf-n-quads", NQuads, 34, 53, 0},
	} {
		t.Run(suite.folder, func(t *testing.T) {
			tests, base := manifest(t, suite.folder)
			read := func(file string, format Format) ([]Triple, error) {
				data, err := os.ReadFile(testkit.Shared(t, "w3c-rdf", suite.folder, filepath.FromSlash(file)))
				if err != nil {
					t.Fatal(err)
				}
				var ts []Triple
				_, err = Read(bytes.NewReader(data), format, ReadOptions{Name: file, Base: base + file}, func(q Quad) error {
					ts = append(ts, Triple{plain(q.S), plain(q.P), plain(q.O)})
					return nil
				})
				return ts, err
			}
			counts := map[string]int{}
			for _, c := range tests {
				got, err := read(c.action, suite.format)
				switch {
				case strings.Contains(c.kind, "Negative"):
					counts["negative"]++
					if err == nil {
						t.Errorf("%s: %s is read, as %v", c.name, c.action, got)
					}
				case err != nil:
					t.Errorf("%s: %v", c.name, err)
				case c.result == "":
					counts["positive"]++
				default:
					counts["evaluation"]++
					want, err := read(c.result, NTriples)
					if err != nil {
						t.Errorf("%s: %v", c.name, err)
					} else if !isomorphic(got, want) {
						t.Errorf("%s: %s is\n%v\nwant\n%v", c.name, c.action, got, want)
					}
				}
			}
			if counts["negative"] != suite.negative || counts["positive"] != suite.positive || counts["evaluation"] != suite.evaluation {
				t.Errorf("the suite has the tests %v", counts)
			}
		})
	}
}

// plain returns a literal as RDF 1.1 has it, where a plain one is of type xsd:string and language tags have no case.
func plain(t Term) Term {
	if t.Type == NSXSD+"string" {
		t.Type = ""
	}
	t.Lang = strings.ToLower(t.Lang)
	return t
}
