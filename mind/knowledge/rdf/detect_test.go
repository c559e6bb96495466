package rdf

import (
	"bytes"
	"compress/gzip"
	"os"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

const cup = `<http://x/cup1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://x/Cup> .`

// The content of a document says what it is, whatever its name.
func TestContentDecides(t *testing.T) {
	xml := `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><x:Cup xmlns:x="http://x/" rdf:about="http://x/cup1"/></rdf:RDF>`
	for what, text := range map[string]string{
		"RDF/XML": xml, "RDF/XML with a prolog": "<?xml version=\"1.0\"?>\n<!-- a > b -->\n<!DOCTYPE rdf:RDF>\n" + xml, "a node alone": `<x:Cup xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/" rdf:about="http://x/cup1"/>`,
		"Turtle":                          "@prefix x: <http://x/> .\nx:cup1 a x:Cup .",
		"Turtle after comments":           "# a kitchen\n\n  # <rdf:RDF>\r\n@prefix x: # the namespace\n  <http://x/> . # here\nx:cup1 a x:Cup .",
		"Turtle in the words of SPARQL":   "prefix x: <http://x/>\nx:cup1 a x:Cup .",
		"Turtle with a base":              "@base <http://x/> .\n<cup1> a <Cup> .",
		"Turtle with terms of KRSS":       "@prefix instance: <http://x/> .\ninstance:cup1 a instance:Cup .",
		"Turtle that begins with an IRI":  "<http://x/cup1>\n  a <http://x/Cup> .",
		"Turtle that begins with an HTML": "<http://x/cup1> a <http://x/Cup> .\n# <html></html>",
		"N-Triples":                       cup + "\n",
		"N-Triples after comments":        "# a kitchen\n" + cup,
		"N-Quads":                         strings.TrimSuffix(cup, ".") + "<http://x/graph> .\n",
	} {
		for _, name := range []string{"a.owl", "a.rdf", "a.xml", "a.ttl", "A.TTL", "a.nt", "a.nq"} {
			for _, mark := range []string{"", "\ufeff"} {
				got, _, err := readText(Detect, mark+text, ReadOptions{Name: name})
				if err != nil || len(got) != 1 || got[0] != (Triple{NewIRI("http://x/cup1"), NewIRI(NS + "type"), NewIRI("http://x/Cup")}) {
					t.Errorf("%s named %s: %v, %v", what, name, got, err)
				}
			}
		}
	}
	for name, text := range map[string]string{"a.ttl": "", "b.nt": "# nothing\n", "c.nq": "\ufeff"} {
		if got, _, err := readText(Detect, text, ReadOptions{Name: name}); err != nil || len(got) > 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, _, err := readText(Detect, "_:a <http://x/p> \"x\"@en <http://x/g> .\n_:a <http://x/p> 'y' .", ReadOptions{Name: "a.nq"}); err == nil || len(got) != 1 {
		t.Errorf("Turtle's quotes in N-Quads: %v, %v", got, err)
	}
}

// A syntax that is not read is named, with what to do, and nothing of it is read.
func TestSyntaxesThatAreNotRead(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(cup)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://x"><Declaration><Class IRI="#Cup"/></Declaration></Ontology>`:                                          "this is OWL/XML, not RDF/XML; save it as RDF/XML or Turtle",
		`<?xml version="1.0"?><owl:Ontology xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><owl:Prefix name=""/></owl:Ontology>`: "this is OWL/XML",
		`<Ontology xmlns="http://www.w3.org/2006/12/owl2-xml#" URI="http://x"/>`:                                                                                                     "this is OWL/XML",
		"# kitchen\nPrefix(:=<http://x#>)\nOntology(<http://x>\nDeclaration(Class(:Cup))\n)":                                                                                         "this is OWL's functional syntax, not RDF/XML or Turtle; save it as RDF/XML or Turtle",
		"Ontology ( <http://x> )":                                 "this is OWL's functional syntax",
		"Prefix: : <http://x#>\nOntology: <http://x>\nClass: Cup": "this is OWL's Manchester syntax, not RDF/XML or Turtle; save it as RDF/XML or Turtle",
		"Ontology:\n  <http://x>\n":                               "this is OWL's Manchester syntax",
		`{"@context": {}, "@id": "http://x/cup1"}`:                "this is JSON (such as JSON-LD), not RDF/XML or Turtle; save it as RDF/XML or Turtle",
		"[\n {\"@id\": \"http://x/cup1\"}]":                       "this is JSON",
		"{}":                                                      "this is JSON",
		"<!DOCTYPE html>\n<html lang=\"en\"><head></head></html>": "this is an HTML page, not RDF/XML: perhaps what a server has sent in the file's place",
		"<html><head><title>404</title></head></html>":            "this is an HTML page",
		"<!doctype HTML>\n<html lang=en><body><br></body>":        "this is an HTML page",
		`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>`: "this is an HTML page",
		`<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>`:                      "this is an HTML page",
		`<HTML><BODY BGCOLOR="white">Not found</BODY></HTML>`:                            "this is an HTML page",
		`<?xml version="1.0"?><robot name="arm"><link name="a"/></robot>`:                "this is XML with the root element <robot>, not RDF/XML",
		`<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"/>`:                "this is XML with the root element <COLLADA>, not RDF/XML",
		packed.String():      "this is compressed with gzip; unpack it",
		"PK\x03\x04\x14\x00": "this is a ZIP archive; unpack it",
		"\xff\xfe<\x00?\x00": "this is text in UTF-16; write it in UTF-8", "\xfe\xff\x00<\x00?": "this is text in UTF-16", "<\x00?\x00": "this is text in UTF-16", "\x00@\x00p": "this is text in UTF-16",
		"\xff\xfe\x00\x00<\x00\x00\x00": "this is text in UTF-32", "\x00\x00\x00<": "this is text in UTF-32", "<\x00\x00\x00": "this is text in UTF-32",
		"<http://x/g> { <http://x/a> <http://x/b> <http://x/c> }":          "this is TriG or N3, with graphs in braces; save it as N-Quads or Turtle",
		"@prefix x: <http://x/> .\nx:g { x:a x:b x:c }":                    "this is TriG or N3, with graphs in braces; save it as N-Quads or Turtle",
		"(define-concept Cup Vessel)\n":                                    "this is KRSS, not RDF/XML or Turtle; save it as RDF/XML or Turtle",
		";; a kitchen\n\n; again\n(IN-TBOX kitchen)\n(implies Cup Vessel)": "this is KRSS",
		"(defprimconcept CUP VESSEL)":                                      "this is KRSS",
		"( instance cup1 Cup)":                                             "this is KRSS",
		"format-version: 1.2\nontology: x\n":                               "this is OBO",
		"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1": "this is a pointer of Git LFS; fetch the file itself",
	} {
		for _, name := range []string{"a.owl", "a.ttl", "a.nt"} {
			got, _, err := readText(Detect, text, ReadOptions{Name: name})
			if engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), name) || len(got) > 0 {
				t.Errorf("%.40q named %s: %v, %v; want %s", text, name, got, err, want)
			}
		}
	}
	for text, want := range map[string]string{
		"cups and plates": `this is neither RDF/XML nor Turtle, N-Triples or N-Quads: it begins with "cups and plates"`, "\x00\x01": "neither RDF/XML", "404: Not Found": `it begins with "404: Not Found"`, "cups <rdf:RDF/>": "neither RDF/XML", "": `it begins with ""`,
	} {
		if _, _, err := readText(Detect, text, ReadOptions{Name: "a"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if got, _, err := readText(RDFXML, "@prefix x: <http://x/> .", ReadOptions{Name: "a"}); err == nil || len(got) > 0 || !strings.Contains(err.Error(), "text outside of the root element") {
		t.Errorf("Turtle as RDF/XML: %v, %v", got, err)
	}
}

func TestFormatOfNames(t *testing.T) {
	for name, want := range map[string]string{"a.owl.gz": "unpack the file", "a.txt": "have .owl", "a": "have .owl"} {
		if _, err := FormatOf(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// The files of the reports.
func TestReportedFiles(t *testing.T) {
	read := func(file string) ([]Triple, error) {
		data, err := os.ReadFile(testkit.Shared(t, "reports", file))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := readText(Detect, string(data), ReadOptions{Name: file, Base: "file:///" + file})
		return got, err
	}
	for file, want := range map[string]string{
		"owlxml.owl": "this is OWL/XML, not RDF/XML; save it as RDF/XML or Turtle", "owlxml_declarations.owl": "this is OWL/XML, not RDF/XML; save it as RDF/XML or Turtle",
		"functional.owl": "this is OWL's functional syntax",
	} {
		if got, err := read(file); err == nil || !strings.Contains(err.Error(), want) || len(got) > 0 {
			t.Errorf("%s: %v, %v; want %s", file, got, err, want)
		}
	}
	if got, err := read("turtle.owl"); err != nil || len(got) != 3 {
		t.Errorf("turtle.owl: %v, %v", got, err)
	}
	got, err := read("relative.ttl")
	if err != nil || len(got) == 0 || got[0].S != NewIRI("http://example.com/bar/a") {
		t.Errorf("relative.ttl: %v, %v", got, err)
	}
	if got, err = read("trailing_space.owl"); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, NTriples, Document{}, quads(got)); err != nil || !strings.Contains(b.String(), `<http://creativecommons.org/publicdomain/zero/1.0/\u0020>`) {
		t.Errorf("trailing_space.owl: %s, %v", &b, err)
	}
}

// Any bytes are a document of a format, or are refused; what is refused before it is read gives no triple.
func FuzzDetect(f *testing.F) {
	for _, text := range []string{cup, "<html>", "Prefix(:=<a>)", "@prefix a: <b> .", "{}", "<a xmlns:b=\"c\"/>", "_:a <b:c> \"d\"@e <f:g> ."} {
		f.Add(text, "a.owl")
		f.Add(text, "a.nq")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		_, err := detect(name, []byte(text))
		got, _, read := readText(Detect, text, ReadOptions{Name: name})
		if err != nil && !strings.HasPrefix(text, "\ufeff") && (read == nil || len(got) > 0) || engram.CodeOf(read) == engram.Internal && read != nil {
			t.Errorf("%q named %q: %v; %v, %v", text, name, err, got, read)
		}
	})
}
