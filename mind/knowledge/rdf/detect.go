package rdf

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// saveAs is what to do with an ontology in a syntax that is not read.
const saveAs = "save it as RDF/XML or Turtle"

// braces is what TriG and N3 have where Turtle has none.
const braces = "TriG or N3, with graphs in braces; save it as N-Quads or Turtle"

const html = "an HTML page, not RDF/XML: perhaps what a server has sent in the file's place; have the file itself"

// packed are how files begin that are not text.
var packed = []struct{ magic, what string }{
	{"\x1f\x8b", "compressed with gzip; unpack it"}, {"PK\x03\x04", "a ZIP archive; unpack it"}, {"BZh", "compressed with bzip2; unpack it"},
	{"\xfd7zXZ\x00", "compressed with xz; unpack it"}, {"\x28\xb5\x2f\xfd", "compressed with Zstandard; unpack it"}, {"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it"},
	{"%PDF-", "a PDF document; have the ontology itself"}, {"version https://git-lfs.github.com/", "a pointer of Git LFS; fetch the file itself ('git lfs pull')"},
}

// syntaxes are how documents begin, after comments, in syntaxes that are not read.
var syntaxes = []struct {
	begins *regexp.Regexp
	what   string
}{
	{regexp.MustCompile(`^(Prefix|Namespace|Ontology)\s*\(`), "OWL's functional syntax, not RDF/XML or Turtle; " + saveAs},
	{regexp.MustCompile(`^(Prefix|Namespace|Ontology|Import|Class|Datatype|ObjectProperty|DataProperty|AnnotationProperty|Individual):\s`), "OWL's Manchester syntax, not RDF/XML or Turtle; " + saveAs},
	{regexp.MustCompile(`^(\{\s*["}]|\[\s*\{)`), "JSON (such as JSON-LD), not RDF/XML or Turtle; " + saveAs},
	{regexp.MustCompile(`^(GRAPH\s|(<[^>\s]*>\s*|[^\s{"'<]*\s*)\{)`), braces},
	{regexp.MustCompile(`^(?i:(;[^\n]*\s+)*\(\s*(define-[a-z]|def(prim)?(concept|role|ine)\b|(in|init)-[at]box\b|(implies|equivalent|disjoint|instance|related|signature)\s))`), "KRSS, not RDF/XML or Turtle; " + saveAs},
	{regexp.MustCompile(`^format-version:`), "OBO, not RDF/XML or Turtle; " + saveAs},
}

var (
	// markup is how XML begins, and no IRI of Turtle: a tag has blanks. One that has none may be either.
	markup = regexp.MustCompile(`^<([?!]|[^<>\s"]+\s)`)
	tag    = regexp.MustCompile(`^<(rdf:RDF|[A-Za-z_][\w.-]*)/?>`)
	// page is how pages of HTML begin, which need not be XML.
	page = regexp.MustCompile(`^(?i:<(!doctype\s+html|html|head|body)[\s>])`)
	// turtle is how Turtle begins: with a directive, since names have prefixes, an IRI, a blank node or a collection.
	turtle = regexp.MustCompile(`^((?i:@prefix|@base|prefix|base)\s|[<\[(]|_:)`)
	// statement is a line of N-Triples, or of N-Quads with a graph as the last group.
	statement = regexp.MustCompile(`^(?:<[^>\s]*>|_:\S+)\s*<[^>\s]*>\s*(?:<[^>\s]*>|_:\S+|"(?:[^"\\]|\\.)*"(?:@[\w-]+|\^\^<[^>\s]*>)?)\s*(<[^>\s]*>|_:\S+)?\s*\.\s*(?:#.*)?$`)
)

// Encoding says in which encoding of more than a byte per character a text is, "" if it is in none: it begins with a mark, or with
// an ASCII character beside zeros.
func Encoding(data []byte) string {
	begin := [4]byte{1, 1, 1, 1}
	copy(begin[:], data)
	a, b, c, d := begin[0] == 0, begin[1] == 0, begin[2] == 0, begin[3] == 0
	switch {
	case !a && b && c && d, a && b && c && !d, bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(data, []byte("\x00\x00\xfe\xff")):
		return "UTF-32"
	case !a && b && !c, a && !b && c, bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "UTF-16"
	}
	return ""
}

// detect tells the format of a document by its content, and between Turtle, N-Triples and N-Quads by the extension of its
// name. The error of a syntax that is not read names it and says what to do.
func detect(name string, data []byte) (Format, error) {
	not := func(what string) (Format, error) {
		return 0, engram.Errorf(engram.Invalid, name, "this is %s", what)
	}
	for _, p := range packed {
		if bytes.HasPrefix(data, []byte(p.magic)) {
			return not(p.what)
		}
	}
	byName, _ := FormatOf(name)
	begin := data
	for {
		begin = bytes.TrimLeft(begin, " \t\r\n\f")
		if len(begin) == 0 || begin[0] != '#' {
			break
		}
		end := bytes.IndexAny(begin, "\r\n")
		if end < 0 {
			end = len(begin)
		}
		begin = begin[end:]
	}
	const enough, longest = 4096, 1 << 16
	head := begin[:min(len(begin), enough)]
	line, _, whole := bytes.Cut(begin[:min(len(begin), longest)], []byte("\n"))
	line = bytes.TrimSpace(line)
	whole = whole || len(begin) <= longest
	switch {
	case page.Match(head):
		return not(html)
	case markup.Match(head) || tag.Match(head) && bytes.Contains(head, []byte("</")):
		return RDFXML, nil
	}
	for _, s := range syntaxes {
		if s.begins.Match(head) {
			return not(s.what)
		}
	}
	lines := byName == NTriples || byName == NQuads
	switch parts := statement.FindSubmatch(line); {
	case parts != nil && len(parts[1]) > 0:
		return NQuads, nil
	case lines && (parts != nil || !whole):
		return byName, nil
	case turtle.Match(head):
		return Turtle, nil
	case len(head) == 0 && byName != 0, byName > RDFXML:
		return byName, nil // whose reader says what is wrong, and where
	}
	return not("neither RDF/XML nor Turtle, N-Triples or N-Quads: it begins with " + beginning(line))
}

// beginning quotes the first words of a line.
func beginning(line []byte) string {
	const most = 40
	text := strings.ToValidUTF8(string(line[:min(len(line), most)]), "\uFFFD")
	return strconv.Quote(strings.TrimSpace(text))
}
