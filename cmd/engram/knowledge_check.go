package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
)

func newKnowledgeCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FILE…]",
		Short: "Look for what is not meant so: names that nothing declares, loops, contradictions",
		Long: `Looks for problems in files together, or in what the memory knows: names that are used as classes or
properties and never declared, loops of classes and properties, several values of functional
properties, individuals of disjoint classes, individuals of which nothing is said, values that are not
of their datatype or range, and more or fewer values than a restriction allows.

With FILEs no server is asked. Exit code 1 says that there are problems.`,
		Example: `  engram knowledge check kitchen.owl --follow-imports maps
  engram knowledge check --at -1h`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return rdfExtensions, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	cmd.Flags().StringArray("follow-imports", nil, "with FILEs: what they import, too, from this folder; may be repeated")
	_ = cmd.MarkFlagDirname("follow-imports")
	addKnowledgeTimeFlags(cmd)
	printing(cmd, checkKnowledge)
	return cmd
}

// knowledgeProblem is a problem as it is printed.
type knowledgeProblem struct {
	Kind    knowledge.ProblemKind `json:"kind"`
	Subject string                `json:"subject"`
	Text    string                `json:"text"`
	Triples []knowledgeTriple     `json:"triples"`
}

type knowledgeTriple struct {
	Subject  termJSON `json:"subject"`
	Property string   `json:"property"`
	Value    termJSON `json:"value"`
}

func checkKnowledge(cmd *cobra.Command, args []string, format string) error {
	g := knowledge.NewGraph()
	if len(args) > 0 {
		if cmd.Flags().Changed("at") || cmd.Flags().Changed("as-of") {
			return usagef("--at and --as-of are of what the memory knows, and files are given")
		}
		folders, _ := cmd.Flags().GetStringArray("follow-imports")
		read, missing, err := readRDFFiles(cmd, args, folders)
		if err != nil {
			return err
		}
		for i, f := range read {
			addApart(g, f.triples, fmt.Sprintf("f%d", i))
		}
		for _, file := range slices.Sorted(maps.Keys(missing)) {
			for _, iri := range missing[file] {
				cmd.PrintErrf("note: %s imports %s, which is not read; --follow-imports names a folder that has it\n", visible(file), visible(iri))
			}
		}
	} else if err := withKnowledge(cmd, func(m *client.Client, c *record.Codec) error {
		said, err := readKnowledge(cmd, m, c, record.All())
		for i := range said {
			addApart(g, said[i].Triples, "")
		}
		return err
	}); err != nil {
		return err
	}
	problems := knowledge.Check(g)
	t := &table{header: []string{"PROBLEM", "WHAT"}, folded: true}
	var all []knowledgeProblem
	for _, p := range problems {
		t.add(string(p.Kind), p.Text)
		one := knowledgeProblem{Kind: p.Kind, Subject: p.Subject.Value, Text: p.Text}
		for _, of := range p.Triples {
			one.Triples = append(one.Triples, knowledgeTriple{termObject(of.S), of.P.Value, termObject(of.O)})
		}
		all = append(all, one)
	}
	if format == "table" && len(problems) == 0 {
		cmd.Printf("%s, no problems\n", countOf(uint64(g.Len()), "triple"))
		return nil
	}
	if err := print(cmd.OutOrStdout(), format, t, all); err != nil {
		return err
	}
	if len(problems) > 0 {
		return errors.New(countOf(uint64(len(problems)), "problem"))
	}
	return nil
}

// addApart adds triples to a graph; the labels of their blank nodes get a prefix.
func addApart(g *knowledge.Graph, triples []rdf.Triple, scope string) {
	for _, t := range triples {
		for _, term := range []*rdf.Term{&t.S, &t.O} {
			if term.Kind == rdf.Blank {
				term.Value = scope + term.Value
			}
		}
		g.Add(t)
	}
}
