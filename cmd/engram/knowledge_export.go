package main

import (
	"bytes"
	"cmp"
	"iter"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
)

var rdfFormats = []string{rdf.Turtle.String(), rdf.RDFXML.String(), rdf.NTriples.String(), rdf.NQuads.String()}

func newKnowledgeExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write what is known as an OWL or RDF file",
		Long: `Writes what is known as RDF: all of it, an ontology, or what a provider says. A document comes back as it
was imported, but for the labels of blank nodes. As N-Quads, each triple names the ontology
whose provider says it.

With --world, or --item for a part, the world is written as a semantic map in KnowRob's vocabulary: the
items, the wholes that they are in, joints, maps, and poses as perceptions; --past writes
all poses that the memory has.`,
		Example: `  engram knowledge export --ontology http://knowrob.org/kb/kitchen.owl --out kitchen.owl
  engram knowledge export --provider kitchen -o ntriples --at -1h
  engram knowledge export --item kitchen --past --out kitchen.owl`,
		Args: positional(cobra.NoArgs),
	}
	f := cmd.Flags()
	f.String("ontology", "", "what the document of this ontology says")
	f.String("provider", "", "what this provider says")
	f.Bool("world", false, "the world as a semantic map")
	f.String("item", "", "this item of the world with all that is in it, as a semantic map")
	f.Bool("past", false, "with --world or --item: where things were before, too")
	f.String("out", "", "write to this file instead of standard output")
	f.StringP("output", "o", "", "in which form: turtle, rdfxml, ntriples or nquads (default: by the name of --out, else turtle)")
	addKnowledgeTimeFlags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(rdfFormats, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("provider", completeKnowledgeProviders)
	_ = cmd.RegisterFlagCompletionFunc("ontology", completeOntologies)
	cmd.RunE = exportKnowledge
	return cmd
}

func exportKnowledge(cmd *cobra.Command, _ []string) error {
	if err := exclusive(cmd, "ontology", "provider", "world", "item"); err != nil {
		return err
	}
	f := cmd.Flags()
	ontology, _ := f.GetString("ontology")
	provider, _ := f.GetString("provider")
	whole, _ := f.GetBool("world")
	item, _ := f.GetString("item")
	if past, _ := f.GetBool("past"); past && !whole && item == "" {
		return usagef("--past: it goes with --world or --item")
	}
	out, _ := f.GetString("out")
	format := rdf.Turtle
	if text, _ := f.GetString("output"); text != "" {
		at := slices.Index(rdfFormats, text)
		if at < 0 {
			return usagef("--output %s: turtle, rdfxml, ntriples or nquads; --out names a file", text)
		}
		format = []rdf.Format{rdf.Turtle, rdf.RDFXML, rdf.NTriples, rdf.NQuads}[at]
	} else if out != "" && out != "-" {
		var err error
		if format, err = rdf.FormatOf(out); err != nil {
			return usagef("--out %s: %w, or give --output", out, err)
		}
	}
	if whole || item != "" {
		doc, triples, err := exportSemanticMap(cmd, item)
		if err != nil {
			return err
		}
		return writeRDF(cmd, out, format, doc, func(yield func(rdf.Quad) bool) {
			for _, t := range triples {
				if !yield(rdf.Quad{Triple: t}) {
					return
				}
			}
		})
	}
	return withKnowledge(cmd, func(m *client.Client, c *record.Codec) error {
		pattern := record.All()
		if provider != "" {
			pattern = record.By(provider)
		}
		said, err := readKnowledge(cmd, m, c, pattern)
		if err != nil {
			return err
		}
		if ontology != "" {
			said, err = ofOntology(said, ontology)
		} else if provider != "" && len(said) == 0 {
			err = engram.Errorf(engram.NotFound, provider, "nothing is known of this provider at that time; 'engram knowledge ls' lists those that there are")
		}
		if err != nil {
			return err
		}
		return writeRDF(cmd, out, format, documentOf(said), quadsOf(said))
	})
}

// writeRDF writes triples to a file, or to standard output if its name is empty or "-".
func writeRDF(cmd *cobra.Command, out string, format rdf.Format, doc rdf.Document, quads iter.Seq[rdf.Quad]) error {
	var text bytes.Buffer
	if err := rdf.Write(&text, format, doc, quads); err != nil {
		return err
	}
	if out == "" || out == "-" {
		_, err := cmd.OutOrStdout().Write(text.Bytes())
		return err
	}
	if err := os.WriteFile(out, text.Bytes(), 0o644); err != nil {
		return engram.Errorf(engram.CodeOf(err), out, "%w", err)
	}
	return nil
}

// ofOntology returns what providers of an ontology say.
func ofOntology(said []record.Statement, iri string) ([]record.Statement, error) {
	providers := map[engram.ID]bool{}
	for i := range said {
		if s := &said[i]; s.Kind == record.Ontology && sameOntology(s.Name, iri) {
			providers[providerOf(s)] = true
		}
	}
	if len(providers) == 0 {
		return nil, engram.Errorf(engram.NotFound, iri, "this ontology is not known at that time; 'engram knowledge ls' lists those that there are")
	}
	return slices.DeleteFunc(said, func(s record.Statement) bool { return !providers[providerOf(&s)] }), nil
}

// providerOf returns the memory and provider of a statement, with the segment of ontologies.
func providerOf(s *record.Statement) engram.ID {
	id, err := engram.NewID(s.ID.Memory(), record.Ontology.String(), s.Provider())
	if err != nil {
		return engram.ID{} // it is of an ID
	}
	return id
}

// documentOf returns the prefixes of documents; of one alone its base, too.
func documentOf(said []record.Statement) rdf.Document {
	doc := rdf.Document{Prefixes: map[string]string{}}
	n := 0
	for i := range said {
		if d := said[i].Document; d != nil {
			n++
			doc.Base = d.Base
			for prefix, namespace := range d.Prefixes {
				doc.Prefixes[prefix] = cmp.Or(doc.Prefixes[prefix], namespace)
			}
		}
	}
	if n > 1 {
		doc.Base = ""
		delete(doc.Prefixes, "")
	}
	return doc
}

// quadsOf yields each triple once in each graph.
func quadsOf(said []record.Statement) iter.Seq[rdf.Quad] {
	graphs := map[engram.ID]rdf.Term{}
	for i := range said {
		if s := &said[i]; s.Kind == record.Ontology && s.Document != nil {
			graphs[providerOf(s)] = rdf.NewIRI(s.Name)
		}
	}
	return func(yield func(rdf.Quad) bool) {
		seen := map[rdf.Quad]bool{}
		for i := range said {
			for _, t := range said[i].Triples {
				q := rdf.Quad{Triple: t, Graph: graphs[providerOf(&said[i])]}
				if !seen[q] && !yield(q) {
					return
				}
				seen[q] = true
			}
		}
	}
}
