package rdf

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
)

// counted returns the files of the reference with how many triples an
// independent reader and SWI-Prolog found in each.
func counted(t *testing.T) map[string][2]int {
	data, err := os.ReadFile(testkit.Shared(t, "knowledge", "maps", "triples.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][2]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		cells := strings.Split(line, "\t")
		triples, _ := strconv.Atoi(cells[1])
		prolog, _ := strconv.Atoi(cells[3])
		out[cells[0]] = [2]int{triples, prolog}
	}
	return out
}

func readFile(t *testing.T, file string, o ReadOptions) ([]Triple, Document) {
	t.Helper()
	f, err := os.Open(testkit.Shared(t, "knowledge", "maps", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	format, err := FormatOf(file)
	if err != nil {
		t.Fatal(err)
	}
	o.Name, o.Base = file, "file:///"+file
	var ts []Triple
	doc, err := Read(f, format, o, func(q Quad) error {
		ts = append(ts, q.Triple)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return unique(ts), doc
}

func TestFilesHaveAsManyTriplesAsOthersFound(t *testing.T) {
	for file, want := range counted(t) {
		if ts, _ := readFile(t, file, ReadOptions{}); len(ts) != want[0] {
			t.Errorf("%s: %d triples, want %d", file, len(ts), want[0])
		}
		if ts, _ := readFile(t, file, ReadOptions{Lists: true}); len(ts) != want[1] {
			t.Errorf("%s with typed lists: %d triples, want %d", file, len(ts), want[1])
		}
	}
}

func TestFilesComeBackFromEachFormat(t *testing.T) {
	for file := range counted(t) {
		ts, doc := readFile(t, file, ReadOptions{})
		for _, format := range []Format{RDFXML, Turtle, NTriples, NQuads} {
			var b bytes.Buffer
			if err := Write(&b, format, doc, quads(ts)); err != nil {
				t.Errorf("%s as %v: %v", file, format, err)
				continue
			}
			var back []Triple
			again, err := Read(bytes.NewReader(b.Bytes()), format, ReadOptions{Name: file}, func(q Quad) error {
				back = append(back, q.Triple)
				return nil
			})
			if err != nil {
				t.Errorf("%s as %v: %v", file, format, err)
				continue
			}
			if !isomorphic(ts, back) {
				t.Errorf("%s as %v is another graph: %d and %d triples", file, format, len(ts), len(back))
			}
			if format == Turtle && len(again.Prefixes) != len(newNames(doc.Prefixes).spaces) {
				t.Errorf("%s: %v became the prefixes %v", file, doc.Prefixes, again.Prefixes)
			}
		}
	}
}

// quads puts the triples of a subject side by side.
func quads(ts []Triple) func(func(Quad) bool) {
	ts = slices.Clone(ts)
	first := map[Term]int{}
	for i, t := range ts {
		if _, ok := first[t.S]; !ok {
			first[t.S] = i
		}
	}
	slices.SortStableFunc(ts, func(a, b Triple) int { return first[a.S] - first[b.S] })
	return func(yield func(Quad) bool) {
		for _, t := range ts {
			if !yield(Quad{Triple: t}) {
				return
			}
		}
	}
}
