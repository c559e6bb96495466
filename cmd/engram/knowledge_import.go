package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
)

func newKnowledgeImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE…",
		Short: "State what OWL and RDF files say",
		Long: `States what files say: RDF/XML (.owl, .rdf, .xml), Turtle (.ttl), N-Triples (.nt), N-Quads (.nq); a
file's content decides which it is. OWL/XML and other syntaxes are refused by name. Questions see a
file as a whole or not at all; one for which there is no room leaves nothing. Each file's provider is named after its ontology, such as knowrob for http://knowrob.org/kb/knowrob.owl.
A file that is imported again changes what it says otherwise than before, and withdraws what it says
no more; --at says since when.

Things, places, joints and maps of a semantic map become items of the world, too, each with the poses at which
it was perceived and their times; --no-world leaves that out. Places with the same address, such as a
room in the maps of several robots, are told, or made one item by --join.

What a file imports is never fetched. --follow-imports finds it in a folder, by the ontologies
that files there declare, else by their names.`,
		Example: `  engram knowledge import kitchen.owl
  engram knowledge import maps/room.owl --follow-imports maps
  engram knowledge import kitchen.ttl --at 2026-01-31`,
		Args: positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return rdfExtensions, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	f := cmd.Flags()
	f.String("provider", "", "with one FILE: who says it (default: named after the ontology)")
	f.String("at", "", "since when it is so: absolute, -10s or now-10s (default: now)")
	f.StringArray("follow-imports", nil, "import what files import, too, from this folder; may be repeated")
	f.Bool("replace", false, "take the place of another ontology of the same provider, or of most names that it knows")
	f.Bool("dry-run", false, "only say what would be stated")
	_ = cmd.MarkFlagDirname("follow-imports")
	_ = cmd.RegisterFlagCompletionFunc("provider", completeKnowledgeProviders)
	addImportWorldFlags(cmd)
	printing(cmd, importKnowledge)
	return cmd
}

var rdfExtensions = []string{"owl", "rdf", "rdfs", "xml", "ttl", "nt", "nq"}

// knowledgeImported is what the import of a file changed.
type knowledgeImported struct {
	File     string      `json:"file"`
	Ontology string      `json:"ontology"`
	Provider string      `json:"provider"`
	New      int         `json:"new"`
	Changed  int         `json:"changed"`
	Gone     int         `json:"gone"`
	Same     int         `json:"same"`
	Triples  int         `json:"triples"`
	Since    engram.Time `json:"since"`
	DryRun   bool        `json:"dry_run,omitempty"`

	World *worldImported `json:"world,omitempty"`
}

func importKnowledge(cmd *cobra.Command, args []string, format string) error {
	f := cmd.Flags()
	provider, _ := f.GetString("provider")
	if provider != "" && len(args) > 1 {
		return usagef("--provider is that of one file, and %d are given", len(args))
	}
	at, _, err := worldTimeFlag(cmd, "at")
	if err != nil {
		return err
	}
	folders, _ := f.GetStringArray("follow-imports")
	o := record.Options{At: at}
	o.Replace, _ = f.GetBool("replace")
	o.DryRun, _ = f.GetBool("dry-run")
	read, missing, err := readRDFFiles(cmd, args, folders)
	if err != nil {
		return err
	}
	providers := map[string]*rdfFile{}
	for i, file := range read {
		if len(file.triples) == 0 {
			return engram.Errorf(engram.Invalid, file.name, "it says nothing; nothing was stated ('engram knowledge withdraw' takes back what a document said)")
		}
		name := record.ProviderOf(file.ontology())
		if provider != "" && i == 0 {
			name = provider
		}
		if other := providers[name]; other != nil {
			return engram.Errorf(engram.Conflict, name, "%s and %s would have this provider, and one document takes the other's place; import them one by one with --provider", other.name, file.name)
		}
		providers[name] = file
	}
	nameOf := map[*rdfFile]string{}
	for name, file := range providers {
		nameOf[file] = name
	}
	return withKnowledge(cmd, func(m *client.Client, c *record.Codec) error {
		if err := tellImports(cmd, m, c, read, missing, len(folders) > 0); err != nil {
			return err
		}
		t := &table{header: []string{"PROVIDER", "NEW", "CHANGED", "GONE", "SAME", "TRIPLES", "FILE"}, right: []bool{false, true, true, true, true, true}}
		var imported []knowledgeImported
		classes, err := classesOf(cmd, m, c, read)
		if err != nil {
			return err
		}
		followed := slices.Clone(read[len(args):]) // what is imported is there first
		slices.Reverse(followed)
		for _, file := range slices.Concat(followed, read[:len(args)]) {
			if file.graphs {
				cmd.PrintErrf("note: %s: the names of graphs are not kept\n", visible(file.name))
			}
			if err := refusedRules(file); err != nil {
				cmd.PrintErrf("note: %s: %s\n", visible(file.name), visible(oneLine(err.Error())))
			}
			o.Ontology = file.ontology()
			o.Document = record.Document{Source: filepath.Base(file.name), Base: file.doc.Base, Prefixes: file.doc.Prefixes}
			// What of it the world would refuse is told before its facts are stated.
			if _, err := importIntoWorld(cmd, m, classes, file, base.WorldOptions{Provider: nameOf[file], At: o.At, DryRun: true}); err != nil {
				return engram.Errorf(engram.CodeOf(err), file.name, "%w; nothing of it was stated", err)
			}
			sum, err := c.Import(cmd.Context(), m, nameOf[file], file.triples, o)
			if err != nil {
				return engram.Errorf(engram.CodeOf(err), file.name, "%w", err)
			}
			imported = append(imported, knowledgeImported{file.name, o.Ontology, nameOf[file], sum.New, sum.Changed, sum.Gone, sum.Same, sum.Triples, sum.At, o.DryRun, nil})
			into := base.WorldOptions{Provider: nameOf[file], At: sum.At, DryRun: o.DryRun}
			if imported[len(imported)-1].World, err = importIntoWorld(cmd, m, classes, file, into); err != nil {
				return engram.Errorf(engram.CodeOf(err), file.name, "%w", err)
			}
		}
		slices.Reverse(imported[:len(followed)])
		imported = slices.Concat(imported[len(followed):], imported[:len(followed)])
		for _, i := range imported {
			t.add(i.Provider, i.New, i.Changed, i.Gone, i.Same, i.Triples, i.File)
		}
		if err := print(cmd.OutOrStdout(), format, t, imported); err != nil {
			return err
		}
		for _, i := range imported {
			if i.World != nil && format == "table" {
				i.World.tell(cmd, i.Provider)
			}
		}
		if o.DryRun {
			cmd.PrintErrln("nothing was stated, for --dry-run")
		}
		return nil
	})
}

// tellImports says what files import that is neither read nor in the memory.
func tellImports(cmd *cobra.Command, m *client.Client, c *record.Codec, read []*rdfFile, missing map[string][]string, followed bool) error {
	if len(missing) == 0 {
		return nil
	}
	said, _, err := c.Read(cmd.Context(), m, []engram.Pattern{engram.MustPattern(record.Memory + "/Ontology")}, engram.Now(), nil)
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(missing)) {
		left := slices.DeleteFunc(missing[file], func(iri string) bool {
			return slices.ContainsFunc(said, func(s record.Statement) bool {
				return sameOntology(s.Name, iri) || s.Document != nil && s.Document.Source == fileOf(iri)
			})
		})
		if len(left) == 0 {
			continue
		}
		hint := "--follow-imports names a folder that has it"
		if followed {
			hint = "it is in none of the folders"
		}
		cmd.PrintErrf("note: %s imports %s, of which nothing is known; %s\n", visible(file), visible(strings.Join(left, ", ")), hint)
	}
	return nil
}

// completeKnowledgeProviders completes who says something in the memory Knowledge.
func completeKnowledgeProviders(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return completeKnowledge(cmd, typed, func(id engram.ID) string { return id.ProviderSegment() }, record.Memory+"/*/*")
}

// completeOntologies completes the IRIs of ontologies.
func completeOntologies(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return completeKnowledge(cmd, typed, func(id engram.ID) string { return id.Entity() }, record.Memory+"/Ontology/*/*")
}

func completeKnowledge(cmd *cobra.Command, typed string, of func(engram.ID) string, pattern string) (found []string, _ cobra.ShellCompDirective) {
	m, err := connect(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer m.Close()
	q := engram.MustPattern(pattern).Select(engram.Latest(1))
	q.WithoutPayload = true
	r, err := m.Query(cmd.Context(), q)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for it := range r.All() {
		if name := of(it.ID); strings.HasPrefix(name, typed) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
