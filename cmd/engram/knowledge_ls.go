package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
)

func newKnowledgeLs() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List ontologies, who says them, and how much is in each",
		Args:    positional(cobra.NoArgs),
		Example: "  engram knowledge ls --at -1h",
	}
	addKnowledgeTimeFlags(cmd)
	printing(cmd, listKnowledge)
	return cmd
}

// knowledgeListed is what a provider says.
type knowledgeListed struct {
	Provider    string      `json:"provider"`
	Ontologies  []string    `json:"ontologies"`
	Version     string      `json:"version,omitempty"`
	Source      string      `json:"source,omitempty"`
	Imports     []string    `json:"imports,omitempty"`
	Classes     int         `json:"classes"`
	Properties  int         `json:"properties"`
	Individuals int         `json:"individuals"`
	Triples     int         `json:"triples"`
	Changed     engram.Time `json:"changed"`
}

func listKnowledge(cmd *cobra.Command, _ []string, format string) error {
	return withKnowledge(cmd, func(m *client.Client, c *record.Codec) error {
		said, err := readKnowledge(cmd, m, c, record.All())
		if err != nil {
			return err
		}
		all := []knowledgeListed{}
		for i := range said { // by provider
			s := &said[i]
			if i == 0 || providerOf(s) != providerOf(&said[i-1]) {
				all = append(all, knowledgeListed{Provider: s.Provider(), Ontologies: []string{}, Changed: s.Since()})
			}
			l := &all[len(all)-1]
			l.Triples += len(s.Triples)
			l.Changed = max(l.Changed, s.Since())
			switch s.Kind {
			case record.Class:
				l.Classes++
			case record.Property:
				l.Properties++
			case record.Individual:
				l.Individuals++
			case record.Ontology:
				l.Ontologies = append(l.Ontologies, s.Name)
				if s.Document != nil {
					l.Source = s.Document.Source
				}
				for _, t := range s.Triples {
					switch {
					case t.S != rdf.NewIRI(s.Name):
					case t.P.Value == rdf.NSOWL+"versionInfo":
						l.Version = t.O.Value
					case t.P.Value == rdf.NSOWL+"imports":
						l.Imports = append(l.Imports, t.O.Value)
					}
				}
			}
		}
		t := &table{header: []string{"PROVIDER", "CLASSES", "PROPERTIES", "INDIVIDUALS", "TRIPLES", "CHANGED", "ONTOLOGY"}, right: []bool{false, true, true, true, true}, spare: []string{"PROPERTIES", "CLASSES", "INDIVIDUALS"}}
		for _, l := range all {
			t.add(l.Provider, l.Classes, l.Properties, l.Individuals, l.Triples, age(l.Changed), strings.Join(l.Ontologies, " "))
		}
		if len(all) == 0 && format == "table" {
			cmd.PrintErrln("nothing is known; 'engram knowledge import' states what files say")
			return nil
		}
		return print(cmd.OutOrStdout(), format, t, all)
	})
}

func newKnowledgeShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME|IRI",
		Short: "Print all that is said of a name, by whom, and since when",
		Long: `Prints all that is said of an IRI, of prefix:name with a prefix of a document, or of what ends with
/NAME or #NAME, with what is said of the blank nodes that it leads to.`,
		Example: `  engram knowledge show knowrob:Cupboard
  engram knowledge show Fridge1 --at -1h -o json`,
		Args: positional(cobra.ExactArgs(1)),
	}
	addKnowledgeTimeFlags(cmd)
	printing(cmd, showKnowledge)
	return cmd
}

// knowledgeSaid is a triple that is said of a name.
type knowledgeSaid struct {
	Subject  termJSON    `json:"subject"`
	Property string      `json:"property"`
	Value    termJSON    `json:"value"`
	Provider string      `json:"provider"`
	Since    engram.Time `json:"since"`
	Arrived  engram.Time `json:"arrived"`
}

type termJSON struct {
	Kind     string `json:"kind"`
	Value    string `json:"value"`
	Type     string `json:"type,omitempty"`
	Language string `json:"language,omitempty"`
}

func termObject(t rdf.Term) termJSON {
	return termJSON{[...]string{"", "iri", "blank", "literal"}[t.Kind], t.Value, t.Type, t.Lang}
}

func showKnowledge(cmd *cobra.Command, args []string, format string) error {
	return withKnowledge(cmd, func(m *client.Client, c *record.Codec) error {
		documents, err := readKnowledge(cmd, m, c, engram.MustPattern(record.Memory+"/Ontology"))
		if err != nil {
			return err
		}
		short := newShortener(documents)
		iri, whole := short.expand(args[0])
		if !whole {
			iri, whole = args[0], strings.Contains(args[0], ":")
		}
		pattern := record.Of(iri)
		if !whole {
			pattern.Levels[3] = engram.MatchRegex(`(.*[/#:])?` + regexp.QuoteMeta(iri))
		}
		said, err := readKnowledge(cmd, m, c, pattern)
		if err == nil && !whole {
			if len(said) == 0 { // for a hint
				said, err = readKnowledge(cmd, m, c, record.All())
			}
			if err == nil {
				said, err = called(said, iri)
			}
		}
		if err != nil {
			return err
		}
		if len(said) == 0 {
			return engram.Errorf(engram.NotFound, args[0], "nothing is said of it at that time")
		}
		t := &table{header: []string{"PROPERTY", "VALUE", "SAID BY", "SINCE"}, spare: []string{"SINCE", "SAID BY"}}
		var all []knowledgeSaid
		blanks := map[rdf.Term]rdf.Term{} // with short labels
		for i := range said {
			s := &said[i]
			add := func(depth int, of rdf.Triple) {
				shown := of.O
				if shown.Kind == rdf.Blank {
					if _, known := blanks[shown]; !known {
						blanks[shown] = rdf.NewBlank(strconv.Itoa(len(blanks) + 1))
					}
					shown = blanks[shown]
				}
				t.add(cellOf(strings.Repeat("  ", depth)+short.shorten(of.P.Value), of.P.Value), cellOf(short.term(shown), of.O.Value), s.Provider(), age(s.Since()))
				all = append(all, knowledgeSaid{termObject(of.S), of.P.Value, termObject(of.O), s.Provider(), s.Since(), s.Arrived})
			}
			eachSaid(s, add)
		}
		if format == "table" {
			cmd.Printf("%s\n", visible(said[0].Name))
		}
		return print(cmd.OutOrStdout(), format, t, all)
	})
}

// eachSaid calls add with each triple of a statement, those of blank nodes after what leads to them.
func eachSaid(s *record.Statement, add func(depth int, t rdf.Triple)) {
	bySubject := map[rdf.Term][]rdf.Triple{}
	for _, t := range s.Triples {
		bySubject[t.S] = append(bySubject[t.S], t)
	}
	var tell func(subject rdf.Term, depth int)
	tell = func(subject rdf.Term, depth int) {
		triples := bySubject[subject]
		delete(bySubject, subject)
		for _, t := range triples {
			add(min(depth, 20), t)
			if t.O.Kind == rdf.Blank {
				tell(t.O, depth+1)
			}
		}
	}
	tell(rdf.NewIRI(s.Name), 0)
	for _, t := range s.Triples { // what nothing named leads to
		tell(t.S, 1)
	}
}

// called returns what is said of the one IRI that ends with a name.
func called(said []record.Statement, name string) ([]record.Statement, error) {
	local := func(iri string) string { return iri[strings.LastIndexAny(strings.TrimRight(iri, "/#"), "/#:")+1:] }
	var found []record.Statement
	var iris, names []string
	for _, s := range said {
		switch of := local(s.Name); {
		case of == name:
			found = append(found, s)
			if !slices.Contains(iris, s.Name) {
				iris = append(iris, s.Name)
			}
		default:
			names = append(names, of)
		}
	}
	if len(iris) > 1 {
		return nil, engram.Errorf(engram.Conflict, name, "several IRIs end so: %s; name one of them", listed(iris, "and"))
	}
	if len(iris) == 0 {
		if near := spelling.Nearest(name, names); near != "" {
			return nil, engram.Errorf(engram.NotFound, name, "nothing is said of it; did you mean %s?", near)
		}
		return nil, engram.Errorf(engram.NotFound, name, "nothing is said of it")
	}
	return found, nil
}
