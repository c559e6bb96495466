package main

import (
	"bufio"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
)

func newKnowledge() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "knowledge",
		Short: "Import, export and check what is known in OWL and RDF",
		Long: `Keeps ontologies, classes, properties and individuals in the memory Knowledge, and writes them
as files again. Each document has a provider, who says what is in it; what it said before stays asked for by
time. 'engram ask' answers questions of it.`,
	}
	cmd.AddCommand(newKnowledgeImport(), newKnowledgeExport(), newKnowledgeLs(), newKnowledgeShow(), newKnowledgeWithdraw(), newKnowledgeCheck())
	return cmd
}

// withKnowledge calls f with a codec of the server's types.
func withKnowledge(cmd *cobra.Command, f func(m *client.Client, c *record.Codec) error) error {
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	c, err := record.NewCodec(cmd.Context(), m)
	if engram.CodeOf(err) == engram.NotFound {
		return engram.Errorf(engram.NotFound, record.Memory, "no server has the memory; 'engram serve --memory %s' does", record.Memory)
	}
	if err != nil {
		return err
	}
	return f(m, c)
}

// addKnowledgeTimeFlags gives a command the flags that say of which time it tells.
func addKnowledgeTimeFlags(cmd *cobra.Command) {
	cmd.Flags().String("at", "", "what was so at this time: absolute, -10s or now-10s (default: now)")
	cmd.Flags().String("as-of", "", "what was known at this time, when what came later had not arrived")
}

// readKnowledge returns what patterns match, at the time that the command's flags name.
func readKnowledge(cmd *cobra.Command, m *client.Client, c *record.Codec, patterns ...engram.Pattern) ([]record.Statement, error) {
	at, known, err := worldTimeFlags(cmd)
	if err != nil {
		return nil, err
	}
	said, missing, err := c.Read(cmd.Context(), m, patterns, at, known)
	warnMissing(cmd, missing)
	return said, err
}

// rdfFile is a file of triples.
type rdfFile struct {
	name       string
	triples    []rdf.Triple
	doc        rdf.Document
	ontologies []string // that it declares
	imports    []string
	graphs     bool // some of its triples name a graph
}

// readRDF reads a file of triples.
func readRDF(file string) (*rdfFile, error) {
	var triples []rdf.Triple
	f, err := readRDFWith(file, rdf.ReadOptions{}, func(t rdf.Triple) { triples = append(triples, t) })
	if f != nil {
		f.triples = triples
	}
	return f, err
}

// readRDFWith calls add with the triples of a file, which the result does not have.
func readRDFWith(file string, o rdf.ReadOptions, add func(rdf.Triple)) (*rdfFile, error) {
	if _, err := rdf.FormatOf(file); err != nil { // by its name it is none of these
		return nil, err
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f := &rdfFile{name: file}
	o.Name, o.Base = file, "file://"+filepath.ToSlash(absolute)
	f.doc, err = rdf.Read(bufio.NewReader(in), rdf.Detect, o, func(q rdf.Quad) error {
		add(q.Triple)
		f.graphs = f.graphs || !q.Graph.IsZero()
		switch {
		case q.S.Kind != rdf.IRI || q.O.Kind != rdf.IRI:
		case q.P.Value == rdf.NS+"type" && q.O.Value == rdf.NSOWL+"Ontology":
			f.ontologies = append(f.ontologies, q.S.Value)
		case q.P.Value == rdf.NSOWL+"imports":
			f.imports = append(f.imports, q.O.Value)
		}
		return nil
	})
	return f, err
}

// ontology returns the IRI of what the file says: the first that it declares, else its base.
func (f *rdfFile) ontology() string {
	if len(f.ontologies) > 0 {
		return slices.Min(f.ontologies)
	}
	return strings.TrimSuffix(f.doc.Base, "#")
}

// is reports whether an import means the file, by the ontology that it declares.
func (f *rdfFile) is(iri string) bool {
	return slices.ContainsFunc(f.ontologies, func(o string) bool { return sameOntology(o, iri) })
}

func sameOntology(a, b string) bool { return strings.TrimSuffix(a, "#") == strings.TrimSuffix(b, "#") }

// fileOf returns the name of the file that an IRI ends with.
func fileOf(iri string) string {
	iri, _, _ = strings.Cut(iri, "#")
	return path.Base(iri)
}

// maxRDFFiles is how many files of triples folders of imports may have.
const maxRDFFiles = 10_000

// imports finds what files import in folders.
type imports struct {
	files    []string            // in the folders
	declared map[string][]string // ontologies of those that were read for it
}

// newImports lists the files of triples in folders and below.
func newImports(folders []string) (*imports, error) {
	in := &imports{declared: map[string][]string{}}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if _, of := rdf.FormatOf(name); of == nil && d.Type().IsRegular() {
				in.files = append(in.files, name)
			}
			if len(in.files) > maxRDFFiles {
				return engram.Errorf(engram.Exhausted, folder, "there are more than %d files of triples; name a smaller folder", maxRDFFiles)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(in.files, func(a, b string) int { // those of the folder itself before those below
		return strings.Count(a, string(filepath.Separator)) - strings.Count(b, string(filepath.Separator))
	})
	return in, nil
}

// find returns the file of an ontology: one that declares it, those of that name first, else
// one of that name; "" if there is none.
func (in *imports) find(ctx context.Context, iri string) string {
	var named []string
	for _, file := range in.files {
		if filepath.Base(file) == fileOf(iri) {
			named = append(named, file)
		}
	}
	for _, file := range append(slices.Clone(named), in.files...) {
		if _, known := in.declared[file]; !known {
			in.declared[file] = nil
			if f, err := readRDF(file); err == nil {
				in.declared[file] = f.ontologies
			}
		}
		if slices.ContainsFunc(in.declared[file], func(o string) bool { return sameOntology(o, iri) }) {
			return file
		}
		if ctx.Err() != nil {
			return ""
		}
	}
	if len(named) > 0 {
		return named[0]
	}
	return ""
}

// readRDFFiles reads files and what they import from folders. What is imported and not found is in
// missing, by the file that imports it.
func readRDFFiles(cmd *cobra.Command, names, folders []string) (read []*rdfFile, missing map[string][]string, err error) {
	in, err := newImports(folders)
	if err != nil {
		return nil, nil, err
	}
	missing = map[string][]string{}
	have := map[string]bool{}
	add := func(name string) error {
		absolute, err := filepath.Abs(name)
		if err != nil || have[absolute] {
			return err
		}
		f, err := readRDF(name)
		if err != nil {
			return err
		}
		have[absolute] = true
		read = append(read, f)
		return nil
	}
	for _, name := range names {
		if err := add(name); err != nil {
			return nil, nil, err
		}
	}
	for i := 0; i < len(read); i++ { // those that are imported come after
		f := read[i]
		for _, iri := range f.imports {
			if slices.ContainsFunc(read, func(other *rdfFile) bool { return other.is(iri) }) {
				continue
			}
			if file := in.find(cmd.Context(), iri); file != "" {
				if err := add(file); err != nil {
					return nil, nil, err
				}
			} else if !slices.ContainsFunc(read, func(other *rdfFile) bool { return filepath.Base(other.name) == fileOf(iri) }) {
				missing[f.name] = append(missing[f.name], iri)
			}
		}
	}
	return read, missing, cmd.Context().Err()
}

// shortener writes IRIs with the prefixes of documents.
type shortener map[string]string // prefix to namespace

// prefixesOf returns the prefixes of documents and the common ones.
func prefixesOf(said []record.Statement) *knowledge.Prefixes {
	var documents []knowledge.Document
	for i := range said {
		if d := said[i].Document; d != nil {
			documents = append(documents, knowledge.Document{Name: said[i].Provider(), Prefixes: d.Prefixes})
		}
	}
	return knowledge.NewPrefixes(documents...)
}

// newShortener has the prefixes of documents and the common ones.
func newShortener(said []record.Statement) shortener {
	s := shortener(prefixesOf(said).All())
	delete(s, "")
	return s
}

// shorten returns prefix:local where a prefix has the IRI, the longest.
func (s shortener) shorten(iri string) string {
	best := ""
	for prefix, namespace := range s {
		if len(iri) > len(namespace) && strings.HasPrefix(iri, namespace) && !strings.ContainsAny(iri[len(namespace):], "/#") &&
			(best == "" || len(namespace) > len(s[best]) || len(namespace) == len(s[best]) && prefix < best) {
			best = prefix
		}
	}
	if best == "" {
		return iri
	}
	return best + ":" + iri[len(s[best]):]
}

// expand returns the IRI of prefix:local; ok is false if it is none.
func (s shortener) expand(name string) (iri string, ok bool) {
	prefix, local, found := strings.Cut(name, ":")
	namespace, known := s[prefix]
	if !found || !known || strings.HasPrefix(local, "//") {
		return "", false
	}
	return namespace + local, true
}

// term writes a term as Turtle does, in short.
func (s shortener) term(t rdf.Term) string {
	switch {
	case t.Kind == rdf.IRI:
		return s.shorten(t.Value)
	case t.Kind == rdf.Blank:
		return "_:" + t.Value
	case t.Lang != "":
		return `"` + t.Value + `"@` + t.Lang
	case t.Type != "":
		return `"` + t.Value + `"^^` + s.shorten(t.Type)
	}
	return `"` + t.Value + `"`
}
