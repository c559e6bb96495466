package record

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mapFiles are the files of the reference, those of the original name-space too.
func mapFiles(t *testing.T) []string {
	t.Helper()
	maps := testkit.Shared(t, "knowledge", "maps")
	var files []string
	for _, pattern := range []string{"*.owl", "*.xml", "original/*"} {
		found, err := filepath.Glob(filepath.Join(maps, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("there are no files %s in %s: %v", pattern, maps, err)
		}
		files = append(files, found...)
	}
	return files
}

func readFile(t *testing.T, file string, lists bool) ([]rdf.Triple, rdf.Document) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	format, err := rdf.FormatOf(file)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, f, format, rdf.ReadOptions{Name: file, Base: "file:///" + filepath.Base(file), Lists: lists})
}

func read(t *testing.T, r interface{ Read([]byte) (int, error) }, format rdf.Format, o rdf.ReadOptions) ([]rdf.Triple, rdf.Document) {
	t.Helper()
	var triples []rdf.Triple
	doc, err := rdf.Read(r, format, o, func(q rdf.Quad) error {
		triples = append(triples, q.Triple)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return unique(triples), doc
}

func turtle(t *testing.T, text string) []rdf.Triple {
	t.Helper()
	triples, _ := read(t, strings.NewReader(`
		@prefix : <http://example.org/k#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
		@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
		`+text), rdf.Turtle, rdf.ReadOptions{Name: t.Name()})
	return triples
}

// isomorphic reports whether labels that depend on what is said only are the same. They are of
// different nodes if there are as many of them.
func isomorphic(t *testing.T, a, b []rdf.Triple) bool {
	t.Helper()
	if blanksOf(relabel(a)) != blanksOf(a) || blanksOf(relabel(b)) != blanksOf(b) {
		t.Error("two nodes have one label")
	}
	a, b = relabel(unique(a)), relabel(unique(b))
	slices.SortFunc(a, compareTriples)
	slices.SortFunc(b, compareTriples)
	return slices.Equal(a, b)
}

func blanksOf(triples []rdf.Triple) int {
	seen := map[rdf.Term]bool{}
	for _, t := range triples {
		for _, term := range []rdf.Term{t.S, t.O} {
			if term.Kind == rdf.Blank {
				seen[term] = true
			}
		}
	}
	return len(seen)
}

func newCodec(t *testing.T) (*Codec, *server.Server) {
	t.Helper()
	s := serving.New(t, Knowledge())
	c, err := NewCodec(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// through returns the triples of all records after they were encoded and decoded.
func through(t *testing.T, c *Codec, records []Record) []rdf.Triple {
	t.Helper()
	var triples []rdf.Triple
	for i := range records {
		r := &records[i]
		p, err := c.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		id, err := entityOf(r, "x")
		if err != nil {
			t.Fatal(err)
		}
		s := &engram.Snapshot{Instances: []engram.Instance{engram.NewInstance(p)}}
		back, err := c.decode(id, s, "")
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(back.Triples, compareTriples)
		if back.Kind != r.Kind || back.Name != r.Name || !back.Document.equal(r.Document) || !slices.Equal(back.Triples, r.Triples) {
			t.Fatalf("%v %s came back as\n%+v, not\n%+v", r.Kind, r.Name, back, *r)
		}
		triples = append(triples, back.Triples...)
	}
	if len(unique(triples)) != len(triples) {
		t.Error("a triple is in several records")
	}
	return triples
}

func TestFilesComeBackFromRecords(t *testing.T) {
	c, _ := newCodec(t)
	for _, file := range mapFiles(t) {
		for _, lists := range []bool{false, true} {
			triples, doc := readFile(t, file, lists)
			records := Records(triples, "http://example.org/unnamed", Document{file, doc.Base, doc.Prefixes})
			if !isomorphic(t, triples, through(t, c, records)) {
				t.Errorf("%s does not come back (typed lists: %v)", file, lists)
			}
			if !slices.IsSortedFunc(records, func(a, b Record) int { return int(a.Kind) - int(b.Kind) }) || records[0].Document == nil {
				t.Errorf("%s has no ontology", file)
			}
		}
	}
}

// randomTriples has blank nodes in trees, shared, in circles and by themselves.
func randomTriples(r *rand.Rand) []rdf.Triple {
	term := func(literal bool) rdf.Term {
		switch n := r.IntN(8); {
		case n < 3:
			return rdf.NewBlank(fmt.Sprint("n", r.IntN(9)))
		case n == 3 && literal:
			return rdf.NewTyped(fmt.Sprint("0.", r.IntN(3), "0"), rdf.NSXSD+"double")
		case n == 4 && literal:
			return rdf.NewTagged("é", "de-DE")
		case n == 5:
			return rdf.NewIRI("http://example.org/" + strings.Repeat("long", 129+r.IntN(2)))
		}
		return rdf.NewIRI(fmt.Sprint("http://example.org/", r.IntN(5)))
	}
	properties := []string{
		rdf.NS + "first", rdf.NS + "rest", rdf.NSOWL + "propertyChainAxiom", rdf.NSOWL + "propertyChainAxiom", rdf.NSRDFS + "label", rdf.NSRDFS + "subClassOf", "http://example.org/p",
	}
	var triples []rdf.Triple
	for range r.IntN(30) {
		o := term(true)
		if r.IntN(6) == 0 {
			o = rdf.NewIRI(rdf.NS + "nil")
		}
		triples = append(triples, rdf.Triple{S: term(false), P: rdf.NewIRI(properties[r.IntN(len(properties))]), O: o})
	}
	for i := range 3 { // chains, some of which share their ends
		cell := rdf.NewBlank(fmt.Sprint("c", r.IntN(2)))
		triples = append(triples, rdf.Triple{S: rdf.NewIRI(fmt.Sprint("http://example.org/", i)), P: rdf.NewIRI(rdf.NSOWL + "propertyChainAxiom"), O: cell},
			rdf.Triple{S: cell, P: rdf.NewIRI(firstIRI), O: rdf.NewIRI("http://example.org/p")}, rdf.Triple{S: cell, P: rdf.NewIRI(restIRI), O: rdf.NewIRI(nilIRI)})
	}
	return triples
}

func TestRandomTriplesComeBackFromRecords(t *testing.T) {
	c, _ := newCodec(t)
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		triples := randomTriples(r)
		records := Records(triples, "http://example.org/unnamed", Document{Source: "x"})
		if !isomorphic(t, triples, through(t, c, records)) {
			t.Fatalf("%v do not come back", triples)
		}
		// The same in another order, with other labels.
		other := slices.Clone(triples)
		r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		shift := r.IntN(100)
		renamed := map[rdf.Term]rdf.Term{}
		rename := func(t rdf.Term) rdf.Term {
			if _, known := renamed[t]; !known && t.Kind == rdf.Blank {
				renamed[t] = rdf.NewBlank(fmt.Sprint("m", shift+len(renamed)))
			}
			if to, ok := renamed[t]; ok {
				return to
			}
			return t
		}
		for i, t := range other {
			other[i] = rdf.Triple{S: rename(t.S), P: t.P, O: rename(t.O)}
		}
		if !isomorphic(t, triples, other) {
			t.Fatalf("labels of %v depend on the order", triples)
		}
	}
}

func TestKinds(t *testing.T) {
	records := Records(turtle(t, `
		<http://example.org/k> a owl:Ontology ; owl:imports <http://example.org/j> ; owl:versionInfo "2" .
		:Cup a owl:Class ; rdfs:subClassOf :Thing, [ a owl:Restriction ; owl:onProperty :holds ; owl:hasValue :tea ] .
		:Mug rdfs:subClassOf :Cup .
		:holds a owl:ObjectProperty, owl:TransitiveProperty ; owl:propertyChainAxiom ( :a :b ) .
		:in rdfs:domain :Cup .
		:cup1 a :Cup, owl:NamedIndividual ; rdfs:label "Tasse"@de .
		[] :p :q .`), "http://example.org/none", Document{Source: "f"})
	got := ""
	for _, r := range records {
		got += fmt.Sprintf("%v %s %d\n", r.Kind, r.Name, len(r.Triples))
	}
	const want = `Ontology http://example.org/k 4
Class http://example.org/k#Cup 6
Class http://example.org/k#Mug 1
Property http://example.org/k#holds 7
Property http://example.org/k#in 1
Individual http://example.org/k#cup1 3
`
	if got != want {
		t.Errorf("the records are\n%s, not\n%s", got, want)
	}
	v, err := valueOf(&records[3])
	if err != nil {
		t.Fatal(err)
	}
	if v["transitive"] != true || v["object_property"] != true || v["assertions"] != nil || len(v["chains"].([]any)) != 1 {
		t.Errorf("a property is %v", v)
	}
}

func TestProviderOf(t *testing.T) {
	for iri, want := range map[string]string{
		"http://knowrob.org/kb/knowrob.owl":         "knowrob",
		"http://knowrob.org/kb/ias_map_addons.owl#": "ias_map_addons",
		"http://www.w3.org/2002/07/owl":             "owl",
		"http://example.org/a/b/":                   "b",
		"http://example.org":                        "example.org",
		"urn:x:kitchen":                             "kitchen",
		"file:///home/anna/Küche 2.ttl":             "K-che-2",
		"":                                          "knowledge",
	} {
		if got := ProviderOf(iri); got != want || engram.CheckName(got) != nil {
			t.Errorf("ProviderOf(%q) = %q, want %q", iri, got, want)
		}
	}
}

// imports imports and checks what changed, as "new changed gone same".
func imports(t *testing.T, c *Codec, s Service, triples []rdf.Triple, at engram.Time, want string) {
	t.Helper()
	sum, err := c.Import(t.Context(), s, "k", triples, Options{At: at, Document: Document{Source: "k.ttl"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(sum.New, sum.Changed, sum.Gone, sum.Same); got != want {
		t.Errorf("an import changed %s, want %s", got, want)
	}
}

func reads(t *testing.T, c *Codec, s engram.Reader, at engram.Time, asOf *engram.Time, want []rdf.Triple) {
	t.Helper()
	said, missing, err := c.Read(context.Background(), s, []engram.Pattern{All()}, at, asOf)
	if err != nil || len(missing) > 0 {
		t.Fatal(err, missing)
	}
	var got []rdf.Triple
	for _, one := range said {
		got = append(got, one.Triples...)
	}
	if !isomorphic(t, got, want) {
		t.Errorf("at %v there are\n%v, want\n%v", at, got, want)
	}
}

func TestImportMakesExactlyTheChanges(t *testing.T) {
	c, s := newCodec(t)
	const head = `<http://example.org/k> a owl:Ontology . `
	one := turtle(t, head+`:a :p [ :q 1 ] . :b :p [ :q 2 ], [ :q 2 ] . :c :p "x" .`)
	two := turtle(t, head+`:new :p [ :q 0 ] . :b :p [ :q 2 ], [ :q 2 ] . :a :p [ :q 3 ] .`)
	imports(t, c, s, one, 100, "4 0 0 0")
	first, _, err := c.Read(t.Context(), s, []engram.Pattern{All()}, 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	known := slices.MaxFunc(first, func(a, b Statement) int { return cmp.Compare(a.Arrived, b.Arrived) }).Arrived
	imports(t, c, s, one, 200, "0 0 0 4")
	imports(t, c, s, two, 200, "1 1 1 2")
	reads(t, c, s, 250, nil, two)
	reads(t, c, s, 199, nil, one)
	reads(t, c, s, 99, nil, nil)
	reads(t, c, s, 250, &known, one)
	imports(t, c, s, one, 300, "1 1 1 2") // what was gone is there again, and new is gone
	reads(t, c, s, 300, nil, one)
	reads(t, c, s, 250, nil, two)

	other := turtle(t, `<http://example.org/other> a owl:Ontology . :a :p 1 .`)
	if _, err := c.Import(t.Context(), s, "k", other, Options{At: 400}); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("another ontology of the same provider: %v", err)
	}
	if _, err := c.Import(t.Context(), s, "k", other, Options{At: 400, Replace: true}); err != nil {
		t.Error(err)
	}
	reads(t, c, s, 400, nil, other)
}

// A document that lacks most names of the one before is perhaps another one of the same ontology.
func TestImportOfAnotherDocument(t *testing.T) {
	c, s := newCodec(t)
	const head = `<http://example.org/k> a owl:Ontology . `
	one := turtle(t, head+`:a :p 1 . :b :p 1 . :c :p 1 . :d :p 1 .`)
	half, few, other := turtle(t, head+`:a :p 2 . :b :p 2 .`), turtle(t, head+`:a :p 3 . :z :p 3 .`), turtle(t, head+`:y :p 4 .`)
	imports(t, c, s, one, 100, "5 0 0 0")
	for _, o := range []Options{{At: 200}, {At: 200, DryRun: true}} {
		_, err := c.Import(t.Context(), s, "k", few, o)
		if engram.CodeOf(err) != engram.Conflict || !strings.Contains(err.Error(), "3 of the 4 names that the provider knows, such as http://example.org/k#b, are not in this document and would go") {
			t.Errorf("another document: %v", err)
		}
	}
	reads(t, c, s, 300, nil, one)
	imports(t, c, s, half, 300, "0 2 2 1") // half of them may go
	if _, err := c.Import(t.Context(), s, "k", other, Options{At: 400}); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("another document with the same ontology: %v", err)
	}
	if _, err := c.Import(t.Context(), s, "k", other, Options{At: 400, Replace: true}); err != nil {
		t.Error(err)
	}
	reads(t, c, s, 400, nil, other)
	imports(t, c, s, append(slices.Clone(other), one...), 500, "4 1 0 1") // where it comes from is said now
}

// Providers say the same labels of different nodes.
func TestLabelsOfSeveralProviders(t *testing.T) {
	c, s := newCodec(t)
	for _, provider := range []string{"a", "b"} {
		if _, err := c.Import(t.Context(), s, provider, turtle(t, `:x :p [ :q 1 ] .`), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	said, _, err := c.Read(t.Context(), s, []engram.Pattern{Of("http://example.org/k#x")}, engram.Now(), nil)
	if err != nil || len(said) != 2 {
		t.Fatal(said, err)
	}
	if n := blanksOf(slices.Concat(said[0].Triples, said[1].Triples)); n != 2 {
		t.Errorf("there are %d blank nodes, want 2", n)
	}
}

// A long list and nodes that cannot be told apart cost little.
func TestManyBlankNodes(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(":x :p (")
	for i := range 20_000 {
		fmt.Fprintf(&b, " %d", i)
	}
	b.WriteString(") .")
	for i := range 300 { // a circle
		fmt.Fprintf(&b, "_:c%d :next _:c%d .", i, (i+1)%300)
	}
	triples := turtle(t, b.String())
	if again := slices.Clone(triples); !isomorphic(t, triples, again) {
		t.Error("the same differs")
	}
}

func newServer() (*server.Server, error) {
	return server.New(server.Config{Memories: []server.Memory{Knowledge()}, Log: testkit.Quiet})
}

// A question at a time has the document that was imported for it, in whatever order documents were imported.
func TestTimesOfDocuments(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 2))
	for range 30 {
		c, s := newCodec(t)
		var times []engram.Time
		documents := map[engram.Time][]rdf.Triple{}
		at := func(when engram.Time) []rdf.Triple {
			var of []rdf.Triple
			for _, known := range times {
				if known <= when {
					of = documents[known]
				}
			}
			return of
		}
		for range 12 {
			when := engram.Time(10 * (1 + r.IntN(6)))
			text := `<http://example.org/k> a owl:Ontology . `
			for i := range 4 {
				switch r.IntN(3) {
				case 0:
					text += fmt.Sprintf(":e%d :p [ :q %d ] . ", i, r.IntN(2))
				case 1:
					text += fmt.Sprintf(":e%d a owl:Class . ", i)
				}
			}
			triples := turtle(t, text)
			same := isomorphic(t, triples, at(when))
			if _, err := c.Import(t.Context(), s, "k", triples, Options{At: when, Replace: true}); err != nil {
				t.Fatal(err)
			}
			if !same {
				if _, known := documents[when]; !known {
					times = append(times, when)
					slices.Sort(times)
				}
				documents[when] = triples
			}
			for when := engram.Time(5); when < 80; when += 5 {
				reads(t, c, s, when, nil, at(when))
			}
			if t.Failed() {
				return
			}
		}
	}
}
