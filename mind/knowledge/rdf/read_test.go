package rdf

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func readText(format Format, text string, o ReadOptions) ([]Triple, Document, error) {
	var ts []Triple
	doc, err := Read(strings.NewReader(text), format, o, func(q Quad) error {
		ts = append(ts, q.Triple)
		return nil
	})
	return unique(ts), doc, err
}

// same says that two documents have the same graph.
func same(t *testing.T, name string, format Format, text, lines string) {
	t.Helper()
	got, _, err := readText(format, text, ReadOptions{Name: name, Base: "http://x/doc"})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	want, _, err := readText(NTriples, lines, ReadOptions{Name: name})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !isomorphic(got, want) {
		var b bytes.Buffer
		if err := Write(&b, NTriples, Document{}, quads(got)); err != nil {
			t.Error(err)
		}
		t.Errorf("%s is\n%swant\n%s", name, b.String(), lines)
	}
}

const rdfNS = `xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"`

func TestRDFXML(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"about, ID and nodeID",
			`<e:C rdf:about="#a"><e:p rdf:nodeID="n"/></e:C><rdf:Description rdf:ID="b"><e:p rdf:resource="../r"/></rdf:Description><rdf:Description rdf:nodeID="n"><e:q rdf:resource=""/></rdf:Description>`,
			`<http://x/doc#a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> . <http://x/doc#a> <http://e/p> _:n .
<http://x/doc#b> <http://e/p> <http://x/r> . _:n <http://e/q> <http://x/doc> .`},
		{"literals", `<rdf:Description rdf:about="http://a" xml:lang="de"><e:p>Küche</e:p><e:p xml:lang="">x</e:p><e:p rdf:datatype="http://t">-0.0</e:p><e:p/><e:p xml:lang="en-US"> y </e:p></rdf:Description>`,
			`<http://a> <http://e/p> "Küche"@de . <http://a> <http://e/p> "x" . <http://a> <http://e/p> "-0.0"^^<http://t> . <http://a> <http://e/p> ""@de . <http://a> <http://e/p> " y "@en-US .`},
		{"attributes as properties", `<rdf:Description rdf:about="http://a" e:p="1" rdf:type="#T"><e:q e:p="2"/><e:q rdf:resource="http://b" e:p="3"/></rdf:Description>`,
			`<http://a> <http://e/p> "1" . <http://a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://x/doc#T> . <http://a> <http://e/q> _:x . _:x <http://e/p> "2" . <http://a> <http://e/q> <http://b> . <http://b> <http://e/p> "3" .`},
		{"nested nodes", `<rdf:Description><e:p><e:C><e:q rdf:parseType="Resource"><e:r>1</e:r></e:q></e:C></e:p></rdf:Description>`,
			`_:a <http://e/p> _:b . _:b <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> . _:b <http://e/q> _:c . _:c <http://e/r> "1" .`},
		{"a collection", `<rdf:Description rdf:about="http://a"><e:p rdf:parseType="Collection"><e:C rdf:about="http://1"/><rdf:Description rdf:about="http://2"/></e:p><e:q rdf:parseType="Collection"/></rdf:Description>`,
			`<http://a> <http://e/p> _:1 . _:1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> <http://1> . <http://1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> . _:1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> _:2 . _:2 <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> <http://2> . _:2 <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> <http://www.w3.org/1999/02/22-rdf-syntax-ns#nil> . <http://a> <http://e/q> <http://www.w3.org/1999/02/22-rdf-syntax-ns#nil> .`},
		{"a container", `<rdf:Bag rdf:about="http://a"><rdf:li>x</rdf:li><rdf:li rdf:resource="http://b"/></rdf:Bag>`,
			`<http://a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/1999/02/22-rdf-syntax-ns#Bag> . <http://a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#_1> "x" . <http://a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#_2> <http://b> .`},
		{"a statement's ID", `<rdf:Description rdf:about="http://a"><e:p rdf:ID="s">x</e:p></rdf:Description>`,
			`<http://a> <http://e/p> "x" . <http://x/doc#s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/1999/02/22-rdf-syntax-ns#Statement> . <http://x/doc#s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#subject> <http://a> . <http://x/doc#s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#predicate> <http://e/p> . <http://x/doc#s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#object> "x" .`},
		{"a literal of XML", `<rdf:Description rdf:about="http://a"><e:p rdf:parseType="Literal">a &amp; <e:b z="1" e:y="2">c</e:b><d/></e:p></rdf:Description>`,
			`<http://a> <http://e/p> "a &amp; <e:b xmlns:e=\"http://e/\" z=\"1\" e:y=\"2\">c</e:b><d></d>"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral> .`},
		{"bases", `<rdf:Description xml:base="http://b/c#" rdf:about="#a"><e:p rdf:resource="d" xml:base="http://f/g/h"/></rdf:Description>`,
			`<http://b/c#a> <http://e/p> <http://f/g/d> .`},
		{"comments and instructions", `<!-- > --><?x y?><rdf:Description rdf:about="http://a"><e:p>a<!-- b -->c</e:p></rdf:Description>`,
			`<http://a> <http://e/p> "ac" .`},
	} {
		same(t, c.name, RDFXML, `<rdf:RDF `+rdfNS+`>`+c.body+`</rdf:RDF>`, c.want)
	}
	same(t, "entities", RDFXML, `<?xml version="1.0"?><!DOCTYPE rdf:RDF [
<!-- <!ENTITY no "x"> --><!ENTITY kb 'http://k/'><!ENTITY map "&kb;map#"><!ENTITY kb "http://second/"><!ENTITY % par "x"><!ENTITY far SYSTEM "file:///etc/passwd">]>
<rdf:RDF xmlns="&map;#" xml:base="&map;" `+rdfNS+`><C rdf:about="#a"/><e:D rdf:about="&kb;b"/></rdf:RDF>`,
		`<http://k/map#a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://k/map##C> . <http://k/b> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/D> .`)
	same(t, "a node alone", RDFXML, `<e:C `+rdfNS+` rdf:about="http://a"/>`, `<http://a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> .`)
	same(t, "Latin 1", RDFXML, "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><e:C "+rdfNS+" rdf:about=\"http://a\" e:p=\"K\xfcche\"/>", `<http://a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> . <http://a> <http://e/p> "Küche" .`)
	same(t, "old attributes", RDFXML, `<e:C `+rdfNS+` about="http://a"><e:p resource="http://b"/></e:C>`, `<http://a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> . <http://a> <http://e/p> <http://b> .`)
}

func TestTurtle(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"prefixes and lists of predicates", "@prefix e: <http://e/> . PREFIX : <#>\n:a a e:C ; e:p :b, <c> ;; . # end",
			`<http://x/doc#a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> . <http://x/doc#a> <http://e/p> <http://x/doc#b> . <http://x/doc#a> <http://e/p> <http://x/c> .`},
		{"bases", "@base <http://b/c/> . <d> <e> <../f> . BASE <http://g#> <> <p> <#h> .",
			`<http://b/c/d> <http://b/c/e> <http://b/f> . <http://g> <http://g/p> <http://g#h> .`},
		{"literals", "<a:s> <a:p> 1, -2.50, +1e3, .5, 1.E2, true, false, \"x\"@de-AT, 'y', \"1\"^^<a:t>, '''a'b\nc''', \"\"\"q\"\\\"\"\"\", \"\\u00fc\\n\\\"\" .",
			`<a:s> <a:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> . <a:s> <a:p> "-2.50"^^<http://www.w3.org/2001/XMLSchema#decimal> . <a:s> <a:p> "+1e3"^^<http://www.w3.org/2001/XMLSchema#double> . <a:s> <a:p> ".5"^^<http://www.w3.org/2001/XMLSchema#decimal> . <a:s> <a:p> "1.E2"^^<http://www.w3.org/2001/XMLSchema#double> . <a:s> <a:p> "true"^^<http://www.w3.org/2001/XMLSchema#boolean> . <a:s> <a:p> "false"^^<http://www.w3.org/2001/XMLSchema#boolean> . <a:s> <a:p> "x"@de-AT . <a:s> <a:p> "y" . <a:s> <a:p> "1"^^<a:t> . <a:s> <a:p> "a'b\nc" . <a:s> <a:p> "q\"\"" . <a:s> <a:p> "ü\n\"" .`},
		{"a number before the end", "<a:s> <a:p> 1.", `<a:s> <a:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .`},
		{"blank nodes", "[] <a:p> [ <a:q> _:x.y ; <a:r> [] ] . [ <a:p> _:x.y ] . _:x.y <a:p> 'z'.",
			`_:1 <a:p> _:2 . _:2 <a:q> _:x . _:2 <a:r> _:3 . _:4 <a:p> _:x . _:x <a:p> "z" .`},
		{"collections", "(1) <a:p> ( ( ) <a:x> ) .",
			`_:1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> "1"^^<http://www.w3.org/2001/XMLSchema#integer> . _:1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> <http://www.w3.org/1999/02/22-rdf-syntax-ns#nil> . _:1 <a:p> _:2 . _:2 <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> <http://www.w3.org/1999/02/22-rdf-syntax-ns#nil> . _:2 <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> _:3 . _:3 <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> <a:x> . _:3 <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> <http://www.w3.org/1999/02/22-rdf-syntax-ns#nil> .`},
		{"names", "@prefix a.b: <http://e/> . a.b:c.d-e a.b:%41\\(x\\) a.b:1:2 . a.b:x a.b:y a.b:z.",
			`<http://e/c.d-e> <http://e/%41(x)> <http://e/1:2> . <http://e/x> <http://e/y> <http://e/z> .`},
	} {
		same(t, c.name, Turtle, c.text, c.want)
	}
}

// What Turtle has no form for comes back from what is written here, and is refused where others write it.
func TestIRIsWithOtherCharacters(t *testing.T) {
	ts := []Triple{{NewIRI("http://e/a"), NewIRI("http://e/p"), NewIRI("http://e/b")}, {NewIRI("http://e/a"), NewIRI("http://e/p"), NewIRI("http://e/ ")},
		{NewIRI("http://e/a"), NewIRI("http://e/p"), NewTyped("x", "http://e/<t>")}, {NewIRI("http://e/{}"), NewIRI("http://e/p"), NewIRI("http://e/ ")}}
	doc := Document{Prefixes: map[string]string{"e": "http://e/", "_": "http://e/_", "a.": "http://e/p"}}
	for _, format := range []Format{Turtle, NTriples, NQuads, RDFXML} {
		var b bytes.Buffer
		if err := Write(&b, format, doc, quads(ts)); err != nil {
			t.Fatal(err)
		}
		back, _, err := readText(format, b.String(), ReadOptions{})
		if err != nil || !isomorphic(ts, back) {
			t.Errorf("%v\n%s\nis %v, %v", format, &b, back, err)
		}
		if _, _, err := readText(format, strings.ReplaceAll(b.String(), escapesNote, "#"), ReadOptions{}); (err != nil) != (format == Turtle) {
			t.Errorf("%v without the comment: %v", format, err)
		}
	}
}

// XML whose root says nothing of RDF is RDF/XML where its name or who reads it says so.
func TestXMLThatIsRDF(t *testing.T) {
	const book = `<Book xmlns="http://e/"><title>Dogs</title></Book>`
	for _, c := range []struct {
		format Format
		name   string
		read   bool
	}{{RDFXML, "a", true}, {Detect, "a.rdf", true}, {Detect, "a.RDF", true}, {Detect, "a.owl", false}, {Detect, "a.xml", false}} {
		got, _, err := readText(c.format, book, ReadOptions{Name: c.name})
		if (err == nil) != c.read || c.read && len(got) != 2 {
			t.Errorf("%s as %v: %v, %v", c.name, c.format, got, err)
		}
	}
}

func TestNQuadsHaveGraphs(t *testing.T) {
	var got []Quad
	text := "<a:s> <a:p> \"o\" <a:g> .\n_:x <a:p> _:y _:g . # c\n<a:s> <a:p> <a:o> .\n"
	add := func(q Quad) error { got = append(got, q); return nil }
	if _, err := Read(strings.NewReader(text), NQuads, ReadOptions{}, add); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Graph != NewIRI("a:g") || got[1].Graph.Kind != Blank || !got[2].Graph.IsZero() {
		t.Fatalf("%+v", got)
	}
	var b bytes.Buffer
	if err := Write(&b, NQuads, Document{}, func(yield func(Quad) bool) {
		for _, q := range got {
			if !yield(q) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if want := "<a:s> <a:p> \"o\" <a:g> .\n_:b1 <a:p> _:b2 _:b3 .\n<a:s> <a:p> <a:o> .\n"; b.String() != want {
		t.Fatalf("%s", b.String())
	}
}

func TestFaultsAreTold(t *testing.T) {
	deep := strings.Repeat("<e:p><e:C>", 2000)
	bomb := `<!DOCTYPE x [<!ENTITY a "` + strings.Repeat("x", 1000) + `">`
	for i := 'b'; i < 'h'; i++ {
		bomb += fmt.Sprintf(`<!ENTITY %c "%s">`, i, strings.Repeat("&"+string(i-1)+";", 10))
	}
	bomb += "]><x/>"
	many := `<!DOCTYPE x [<!ENTITY a "` + strings.Repeat("x", 60_000) + `">]><e:C ` + rdfNS + `><e:p>` + strings.Repeat("&a;", 100_000) + `</e:p></e:C>`
	for _, c := range []struct {
		name   string
		format Format
		text   string
		code   engram.Code
		says   string
	}{
		{"nothing", RDFXML, "", engram.Invalid, "no element"},
		{"no end", RDFXML, `<e:C ` + rdfNS + `>`, engram.Invalid, "x:1: the document ends within <C>"},
		{"a wrong end", RDFXML, `<rdf:RDF ` + rdfNS + `><e:C></e:D></rdf:RDF>`, engram.Invalid, "</e:D> does not end <e:C>"},
		{"an unknown prefix", RDFXML, "\n<f:C/>", engram.Invalid, "x:2: the prefix f"},
		{"an unknown entity", RDFXML, `<e:C ` + rdfNS + ` rdf:about="&who;"/>`, engram.Invalid, "&who;"},
		{"an entity elsewhere", RDFXML, `<!DOCTYPE x [<!ENTITY far SYSTEM "file:///etc/passwd">]><e:C ` + rdfNS + ` e:p="&far;"/>`, engram.Invalid, "&far;"},
		{"text between nodes", RDFXML, `<rdf:RDF ` + rdfNS + `>x</rdf:RDF>`, engram.Invalid, "text between nodes"},
		{"two values", RDFXML, `<e:C ` + rdfNS + `><e:p><e:D/><e:D/></e:p></e:C>`, engram.Invalid, "second value"},
		{"too deep", RDFXML, `<e:C ` + rdfNS + `>` + deep, engram.Exhausted, "deeper"},
		{"entities of entities", RDFXML, bomb, engram.Invalid, "longer"},
		{"entities often", RDFXML, many, engram.Exhausted, "expand to too much"},
		{"many namespaces", RDFXML, `<e:C ` + rdfNS + strings.Repeat(` xmlns:a="x"`, 1001) + `/>`, engram.Exhausted, "namespaces"},
		{"an encoding", RDFXML, `<?xml version="1.0" encoding="EBCDIC"?><x/>`, engram.Invalid, "UTF-8"},
		{"no dot", Turtle, "<a:s> <a:p> <a:o>", engram.Invalid, "the end"},
		{"no prefix", Turtle, "\n\nx:s <a:p> 1 .", engram.Invalid, "x:3: the prefix \"x\" is not declared"},
		{"a blank predicate", Turtle, "<a:s> _:p 1 .", engram.Invalid, "no predicate"},
		{"too deep", Turtle, "<a:s> <a:p> " + strings.Repeat("[ <a:p> ", 2000), engram.Exhausted, "deeper"},
		{"lists too deep", Turtle, "<a:s> <a:p> " + strings.Repeat("(", 2000), engram.Exhausted, "deeper"},
		{"a line break", Turtle, "<a:s> <a:p> \"a\nb\" .", engram.Invalid, "line break"},
		{"an escape", Turtle, `<a:s> <a:p> "\q" .`, engram.Invalid, "escape"},
		{"a surrogate", Turtle, `<a:s> <a:p> "\uD800" .`, engram.Invalid, "no character"},
		{"an attribute twice", RDFXML, `<e:C ` + rdfNS + ` e:p="1" e:p="2"/>`, engram.Invalid, "<e:C> has the attribute p twice"},
		{"an attribute twice by two prefixes", RDFXML, `<e:C ` + rdfNS + ` xmlns:f="http://e/" e:p="1" f:p="2"/>`, engram.Invalid, "twice"},
		{"two names", RDFXML, `<e:C ` + rdfNS + ` rdf:about="a" rdf:nodeID="b"/>`, engram.Invalid, "both rdf:about and rdf:nodeID"},
		{"an ID and a name", RDFXML, `<e:C ` + rdfNS + ` rdf:about="a" rdf:ID="b"/>`, engram.Invalid, "rdf:ID and another name"},
		{"an ID twice", RDFXML, `<rdf:RDF ` + rdfNS + ` xml:base="http://x"><e:C rdf:ID="a"/><e:C><e:p rdf:ID="a"/></e:C></rdf:RDF>`, engram.Invalid, `x:1: rdf:ID="a" stands twice`},
		{"an ID that is no name", RDFXML, `<e:C ` + rdfNS + ` rdf:ID="a b"/>`, engram.Invalid, `rdf:ID="a b" is no name of XML`},
		{"a value of a node", RDFXML, `<e:C ` + rdfNS + ` rdf:resource="a"/>`, engram.Invalid, "<e:C> has the attribute rdf:resource, which is not allowed there"},
		{"a datatype of a node", RDFXML, `<e:C ` + rdfNS + ` rdf:datatype="a"/>`, engram.Invalid, "rdf:datatype"},
		{"a name of a property", RDFXML, `<e:C ` + rdfNS + `><e:p rdf:about="a"/></e:C>`, engram.Invalid, "rdf:about"},
		{"a node and a resource", RDFXML, `<e:C ` + rdfNS + `><e:p rdf:resource="a"><e:D/></e:p></e:C>`, engram.Invalid, "rdf:resource"},
		{"a node and a property", RDFXML, `<e:C ` + rdfNS + `><e:p e:q="a"><e:D/></e:p></e:C>`, engram.Invalid, "both a node and the property q"},
		{"a type of parsing and a property", RDFXML, `<e:C ` + rdfNS + `><e:p e:q="a" rdf:parseType="Resource"/></e:C>`, engram.Invalid, "both rdf:parseType and the property q"},
		{"a document with a name", RDFXML, `<rdf:RDF ` + rdfNS + ` rdf:about="a"/>`, engram.Invalid, "rdf:about"},
		{"a syntax term as a property", RDFXML, `<e:C ` + rdfNS + `><rdf:Description/></e:C>`, engram.Invalid, "<rdf:Description> is no property"},
		{"a directive in capitals", Turtle, "@PREFIX x: <http://x/> .", engram.Invalid, "@prefix or @base, in small letters"},
		{"an escape in an IRI", Turtle, `<a:s> <a:p> <a:\u0060> .`, engram.Invalid, `for a character that IRIs do not have: <a:\u0060>`},
		{"a name with a sign", Turtle, "@prefix x: <http://x/> .\nx:a x:b x:c\u00d7 .", engram.Invalid, "no local name"},
		{"a name that begins with a dot", Turtle, "@prefix x: <http://x/> .\nx:a x:b x:.c .", engram.Invalid, "no local name"},
		{"a name that is not UTF-8", Turtle, "@prefix x: <http://x/> .\nx:a x:b x:c\xff .", engram.Invalid, "no local name"},
		{"a prefix that begins with a digit", Turtle, "@prefix 1x: <http://x/> .", engram.Invalid, "no prefix"},
		{"a prefix for blank nodes", Turtle, "@prefix _: <http://x/> .", engram.Invalid, "no prefix"},
		{"a label that begins with a hyphen", Turtle, "_:-a <a:p> 1 .", engram.Invalid, "no label"},
		{"a relative datatype", NQuads, `<a:s> <a:p> "1"^^<t> .`, engram.Invalid, "relative"},
		{"a relative IRI", NTriples, "<a:s> <a:p> <o> .", engram.Invalid, "relative"},
		{"a graph", NTriples, "<a:s> <a:p> <a:o> <a:g> .", engram.Invalid, "expected"},
		{"a literal subject", NTriples, `"s" <a:p> <a:o> .`, engram.Invalid, "subject"},
	} {
		start := time.Now()
		_, _, err := readText(c.format, c.text, ReadOptions{Name: "x"})
		var e *engram.Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s in %v: %v; want %v with %q", c.name, c.format, err, c.code, c.says)
		}
		if took := time.Since(start); took > testkit.Patience {
			t.Errorf("%s in %v took %v", c.name, c.format, took)
		}
	}
	if _, _, err := readText(Turtle, "<a:s> <a:p> 1 .", ReadOptions{MaxBytes: 5}); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("a document that is too long: %v", err)
	}
	stop := errors.New("stop")
	for _, c := range []struct {
		format Format
		text   string
	}{{Turtle, "<a:s> <a:p> 1, 2 ."}, {NTriples, "<a:s> <a:p> <a:o> ."}, {RDFXML, `<e:C ` + rdfNS + ` e:p="1"/>`}} {
		if _, err := Read(strings.NewReader(c.text), c.format, ReadOptions{}, func(Quad) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("%v: %v, want what add returned", c.format, err)
		}
	}
}

func TestResolve(t *testing.T) {
	const base = "http://a/b/c/d;p?q"
	for ref, want := range map[string]string{ // RFC 3986, 5.4
		"g:h": "g:h", "g": "http://a/b/c/g", "./g": "http://a/b/c/g", "g/": "http://a/b/c/g/", "/g": "http://a/g", "//g": "http://g",
		"?y": "http://a/b/c/d;p?y", "g?y": "http://a/b/c/g?y", "#s": "http://a/b/c/d;p?q#s", "g#s": "http://a/b/c/g#s", "": base,
		".": "http://a/b/c/", "./": "http://a/b/c/", "..": "http://a/b/", "../g": "http://a/b/g", "../..": "http://a/", "../../g": "http://a/g",
		"../../../g": "http://a/g", "/./g": "http://a/g", "/../g": "http://a/g", "g.": "http://a/b/c/g.", "..g": "http://a/b/c/..g", "./../g": "http://a/b/g",
		"g/./h": "http://a/b/c/g/h", "g/../h": "http://a/b/c/h",
	} {
		if got := resolve(base, ref); got != want {
			t.Errorf("%q is %q, want %q", ref, got, want)
		}
	}
	for _, c := range [][3]string{{"http://a/b#", "#c", "http://a/b#c"}, {"http://a", "b", "http://a/b"}, {"", "#c", "#c"}, {"http://a/b#c", "", "http://a/b"}, {"urn:x:y", "#z", "urn:x:y#z"}} {
		if got := resolve(c[0], c[1]); got != c[2] {
			t.Errorf("%q at %q is %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

// Any graph whose terms a format can say comes back from it; else it says so.
func TestGraphsComeBackFromEachFormat(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a", "\n", "\r\n", "\"'\\", "]]>", "<&>", "ü", "\x00", "\u0085", "\ufffe", "'''", `"""`}))
	iris := rapid.Custom(func(t *rapid.T) Term {
		return NewIRI(rapid.SampledFrom([]string{"http://e/", "http://e/a#", "urn:x:", "x:y/1"}).Draw(t, "ns") + rapid.OneOf(texts, rapid.StringMatching(`[a-z0-9._-]{0,4}`)).Draw(t, "local"))
	})
	blanks := rapid.Map(rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "c", "_", "1", "a.b"}), texts), NewBlank)
	objects := rapid.OneOf(iris, blanks, rapid.Custom(func(t *rapid.T) Term {
		it := NewText(texts.Draw(t, "text"))
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 1:
			it.Lang = rapid.SampledFrom([]string{"en", "en-US", "de-1901"}).Draw(t, "lang")
		case 2:
			it.Type = iris.Draw(t, "type").Value
		}
		return it
	}))
	rapid.Check(t, func(t *rapid.T) {
		var ts []Triple
		for range rapid.IntRange(0, 8).Draw(t, "triples") {
			ts = append(ts, Triple{rapid.OneOf(iris, blanks).Draw(t, "s"), iris.Draw(t, "p"), objects.Draw(t, "o")})
		}
		doc := Document{Prefixes: map[string]string{"": "http://e/", "a": "http://e/a#", "b": "http://e/a#", "xmlq": "x:y/"}}
		for _, format := range []Format{RDFXML, Turtle, NTriples, NQuads} {
			var b bytes.Buffer
			if err := Write(&b, format, doc, quads(ts)); err != nil {
				if format != RDFXML || engram.CodeOf(err) != engram.Invalid {
					t.Fatalf("%v: %v", format, err)
				}
				continue
			}
			back, _, err := readText(format, b.String(), ReadOptions{})
			if err != nil {
				t.Fatalf("%v: %v of\n%s", format, err, b.String())
			}
			if !isomorphic(ts, back) {
				t.Fatalf("%v\n%s\n is %q, want %q", format, b.String(), back, ts)
			}
		}
	})
}

// fuzz reads a document: no panic, and what was read comes back.
func fuzz(f *testing.F, format Format, seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		ts, doc, err := readText(format, text, ReadOptions{Name: "x", Base: "http://x/doc"})
		for _, it := range ts {
			if it.S.Kind != IRI && it.S.Kind != Blank || it.P.Kind != IRI || it.O.Kind == 0 || it.O.Type != "" && it.O.Lang != "" {
				t.Fatalf("%+v is no triple", it)
			}
		}
		if err != nil || len(ts) > 50 {
			return
		}
		var b bytes.Buffer
		if Write(&b, Turtle, doc, quads(ts)) != nil {
			return // not UTF-8, or a language that is none
		}
		back, _, err := readText(Turtle, b.String(), ReadOptions{Base: "http://x/doc"})
		if err != nil {
			t.Fatalf("%v of\n%s", err, b.String())
		}
		if len(back) != len(ts) {
			t.Fatalf("%d triples became %d:\n%s", len(ts), len(back), b.String())
		}
	})
}

func FuzzRDFXML(f *testing.F) {
	fuzz(f, RDFXML, `<!DOCTYPE x [<!ENTITY k "http://k/">]><rdf:RDF `+rdfNS+` xml:base="&k;#"><e:C rdf:about="#a" e:q="v"><e:p rdf:parseType="Collection"><e:D/></e:p><e:p rdf:datatype="&k;t">1</e:p><e:p rdf:parseType="Literal"><b/></e:p><rdf:li rdf:nodeID="n"/></e:C></rdf:RDF>`)
}

func FuzzTurtle(f *testing.F) {
	fuzz(f, Turtle, "@prefix e: <http://e/> .\n@base <b> .\ne:a a [ e:p ( 1 -2.5 1e3 'x'@en \"y\"^^e:t true ) ; e:q _:x, e:%41\\( ] .")
}

func FuzzNTriples(f *testing.F) {
	fuzz(f, NTriples, "<a:s> <a:p> \"o\\u00fc\"@en .\n_:x <a:p> \"1\"^^<a:t> .")
}

func FuzzNQuads(f *testing.F) {
	fuzz(f, NQuads, "<a:s> <a:p> \"o\" <a:g> .\n_:x <a:p> _:y _:g .")
}
