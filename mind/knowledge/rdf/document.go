package rdf

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/seed-301d4374/engram"
)

// A Format is a way to write triples down.
type Format uint8

// The formats.
const (
	// Detect is, for a reader, the format that the document's content has.
	Detect Format = iota
	RDFXML
	Turtle
	NTriples
	NQuads
)

var formats = []struct {
	format     Format
	name       string
	extensions []string
}{
	{RDFXML, "rdfxml", []string{".owl", ".rdf", ".xml", ".rdfs"}},
	{Turtle, "turtle", []string{".ttl"}},
	{NTriples, "ntriples", []string{".nt"}},
	{NQuads, "nquads", []string{".nq"}},
}

func (f Format) String() string {
	for _, known := range formats {
		if known.format == f {
			return known.name
		}
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// FormatOf tells the format that a file is written in by its name's extension: .owl, .rdf, .rdfs or
// .xml, .ttl, .nt, .nq. What is read may have another one: [Detect].
func FormatOf(file string) (Format, error) {
	extension := strings.ToLower(path.Ext(file))
	for _, known := range formats {
		for _, e := range known.extensions {
			if e == extension {
				return known.format, nil
			}
		}
	}
	hint := "have .owl, .rdf, .ttl, .nt or .nq"
	switch extension {
	case ".gz", ".zip", ".bz2", ".xz", ".zst", ".7z":
		hint = "unpack the file, and " + hint
	}
	return 0, engram.Errorf(engram.Invalid, file, "the extension %q is of no format; %s", extension, hint)
}

// A Quad is a triple and the graph that it is said in: the zero Term unless
// N-Quads names one.
type Quad struct {
	Triple
	Graph Term
}

// A Document is what a file says beside its triples.
type Document struct {
	Base     string            // the IRI that relative ones were resolved against
	Prefixes map[string]string // prefix ("" is the default one) to namespace
}

// ReadOptions say how a document is read.
type ReadOptions struct {
	// Name stands in errors, such as the file's name. Its extension tells N-Triples and N-Quads from
	// Turtle where the content is all of these.
	Name string
	// Base is the IRI against which relative ones are resolved, unless the
	// document has its own. Without any they stay as they are.
	Base string
	// Scope is what the labels of blank nodes begin with, so that those of
	// several documents differ.
	Scope string
	// Lists adds that each cell of a collection is an rdf:List, as
	// SWI-Prolog's reader of RDF/XML does.
	Lists bool
	// MaxBytes is how long a document may be; 256 MiB if 0.
	MaxBytes int64
}

const (
	defaultMaxBytes = 256 << 20
	maxDepth        = 512 // how deep nodes and collections may be nested
)

// Read calls add with each triple of a document, in its order, until add
// returns an error. A document with a fault gives an error of code
// engram.Invalid with the line; the triples before it have been added. One in a syntax that is not
// read, such as OWL/XML, is told by name, with nothing added. One that
// is too long or nested too deep gives engram.Exhausted.
//
// Blank nodes get labels of their own, numbered in the order in which they
// occur. What a document imports or refers to is never fetched.
func Read(r io.Reader, format Format, o ReadOptions, add func(Quad) error) (Document, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	data, err := io.ReadAll(io.LimitReader(r, o.MaxBytes+1))
	if err != nil {
		return Document{}, fmt.Errorf("%s: %w", o.Name, err)
	}
	if int64(len(data)) > o.MaxBytes {
		return Document{}, engram.Errorf(engram.Exhausted, o.Name, "the document is longer than %d bytes", o.MaxBytes)
	}
	if encoding := Encoding(data); encoding != "" {
		return Document{}, engram.Errorf(engram.Invalid, o.Name, "this is text in %s; write it in UTF-8", encoding)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	loose := format == RDFXML || strings.EqualFold(path.Ext(o.Name), ".rdf")
	if format == Detect {
		if format, err = detect(o.Name, data); err != nil {
			return Document{}, err
		}
	}
	out := &output{options: o, add: add, labels: map[string]Term{}}
	doc := Document{Base: o.Base, Prefixes: map[string]string{}}
	switch format {
	case RDFXML:
		err = readXML(data, out, &doc, loose)
	case Turtle, NTriples, NQuads:
		err = readTurtle(data, format, out, &doc)
	default:
		err = engram.Errorf(engram.Invalid, o.Name, "%v cannot be read", format)
	}
	return doc, err
}

// output is where a reader's triples go.
type output struct {
	options ReadOptions
	add     func(Quad) error
	labels  map[string]Term // blank nodes that the document names
	blanks  int
}

func (o *output) triple(s, p, object Term) error {
	return o.add(Quad{Triple: Triple{S: s, P: p, O: object}})
}

// blank returns a new blank node.
func (o *output) blank() Term {
	o.blanks++
	return NewBlank(fmt.Sprintf("%sb%d", o.options.Scope, o.blanks))
}

// named returns the blank node that the document calls so.
func (o *output) named(label string) Term {
	t, ok := o.labels[label]
	if !ok {
		t = o.blank()
		o.labels[label] = t
	}
	return t
}

func (o *output) fault(line int, format string, args ...any) error {
	return engram.Errorf(engram.Invalid, fmt.Sprintf("%s:%d", o.options.Name, line), format, args...)
}

func (o *output) tooDeep(line int) error {
	return engram.Errorf(engram.Exhausted, fmt.Sprintf("%s:%d", o.options.Name, line), "nested deeper than %d levels", maxDepth)
}

// Write writes triples as a document. The prefixes of doc abbreviate IRIs where
// the format can; others are added where RDF/XML needs them. An IRI, text or
// predicate that the format has no form for gives an error of code
// engram.Invalid; graphs are left out except in N-Quads.
func Write(w io.Writer, format Format, doc Document, quads iter.Seq[Quad]) error {
	switch format {
	case RDFXML:
		return writeXML(w, doc, quads)
	case Turtle:
		return writeTurtle(w, doc, quads)
	case NTriples, NQuads:
		return writeLines(w, format, quads)
	}
	return engram.Errorf(engram.Invalid, "", "%v cannot be written", format)
}
