package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
	"github.com/seed-301d4374/engram/mind/knowledge/swrl"
)

func newAsk() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ask [QUESTION]",
		Short: "Ask in logic what is known: patterns, class expressions, Prolog",
		Long: `Answers a question from what a server knows: from the memory Knowledge, the world, skills and what
follows from all that; or with --load from files alone, without a server.

A question is a pattern of triples: what must hold, separated by semicolons, with variables such
as ?room. Properties mean what OWL says of them. Names stand for what alone has them, or have a
prefix. "text" is any literal with this text, ~"text" a regular expression, + one or more steps,
^ the other way round, not { } what must not be; where ?h > 2.0 is a condition in CEL. select,
distinct, count, order by and limit say what rows are made. Relations such as on, in, above, near and
leftOf follow from poses and boxes when they are asked.

With --class the question is a class expression in OWL's Manchester syntax, given for this
question, and the rows are its individuals.

With --prolog the question is in Prolog, with the predicates of SWI-Prolog's semweb library and of
KnowRob (rdf/3, rdf_has/3, rdf_reachable/3, owl_has/3, owl_individual_of/2, holds/2 …). Each distinct
answer is a row of the question's variables; those whose names begin with _ are left out. Names
such as knowrob:'Door' stand for IRIs. rdf_triple/3 has what is computed, too; holds/2 asks a goal of
another time. Rules of SWRL (swrl:Imp) are used; those with a part that is not supported are named and
left out.

--at asks what was so at a time, --as-of what was believed at one. --why says of each row which facts it
rests on, and in which snapshots they lie.

What files import is never fetched: give each file that is to be known. Restrictions and classes
of OWL are used if owl.owl is among what is known.

A question neither reads files nor runs programs, and what it asserts is gone with it. One that
does not end is stopped: by --timeout, --max-memory, --max-steps, or Ctrl-C. A server has limits of its
own, which these do not raise.

Without a question, questions are read line by line; one that ends with a comma or a semicolon goes on. On
a terminal the arrow keys bring what was asked before, Tab completes names, Ctrl-C stops a question, and halt or
Ctrl-D ends.`,
		Example: `  engram ask '?room roomNumber "3001"; ?s properPhysicalParts+ ?room; ?s label ~"Karlstr.*"'
  engram ask '?x on table' --at -10m --why
  engram ask --class 'RoomInAConstruction and (roomNumber value "3006") and (inverse properPhysicalParts some Building)'
  engram ask --prolog "owl_individual_of(D, knowrob:'Door'), owl_has(D, knowrob:properPhysicalParts, Part)"
  engram ask --prolog --rules kitchen.pl 'tidy(Room)'
  engram ask --prolog --load owl.owl --load knowrob.owl --load kitchen.owl -o ndjson \
    "aggregate_all(count, rdf(_, rdf:type, knowrob:'Cup'), N)"`,
		Args: positional(cobra.MaximumNArgs(1)),
	}
	f := cmd.Flags()
	f.Bool("prolog", false, "the question is in Prolog")
	f.Bool("class", false, "the question is a class expression in OWL's Manchester syntax: who is in it")
	f.Bool("json", false, "the question is a pattern as JSON")
	f.StringArray("load", nil, "ask of a file alone: .owl, .rdf, .ttl, .nt or .nq; may be repeated")
	f.StringArray("rules", nil, "a file of rules in Prolog; may be repeated")
	f.StringArray("prefix", nil, "NAME=IRI: what NAME:local stands for, beside the prefixes of files and the common ones; may be repeated")
	f.String("at", "", "what was so at this time: absolute, -10s or now-10s (default: now)")
	f.String("as-of", "", "what was known at this time, when what came later had not arrived")
	f.StringArray("after", nil, "wait until the world has all that was written up to this MARK of a write; may be repeated")
	f.Bool("why", false, "say of each row which facts it rests on")
	f.Duration("timeout", knowledge.DefaultLimits.Time, "how long a question may take; 0 is without end")
	f.Int("limit", 0, "print so many rows at most; 0 is all")
	f.Int64("max-memory", knowledge.DefaultLimits.Memory>>20, "how much memory a question may take, in MB; 0 is without limit")
	f.Int64("max-steps", 0, "how many steps a question may take; 0 is without limit")
	_ = cmd.MarkFlagFilename("load", "owl", "rdf", "rdfs", "xml", "ttl", "nt", "nq")
	_ = cmd.MarkFlagFilename("rules", "pl")
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		a := asking{cmd: cmd, format: format, names: prolog.NewProgram()}
		if err := a.prepare(); err != nil {
			return err
		}
		return a.with(func() error {
			if len(args) == 1 {
				return a.ask(cmd.Context(), args[0])
			}
			return a.session()
		})
	})
	return cmd
}

// asking answers questions of one command.
type asking struct {
	cmd      *cobra.Command
	format   string
	service  logic.Service
	question logic.Question // without its text
	json     bool
	names    *prolog.Program // shortens IRIs
	facts    string          // of what is asked
	view     *knowledge.View // what files say, or what completion knows; nil before
}

// prepare reads what the flags say of questions.
func (a *asking) prepare() error {
	f := a.cmd.Flags()
	q := &a.question
	languages := 0
	for name, set := range map[string]func(){
		"prolog": func() { q.Language = logic.Prolog }, "class": func() { q.Language = logic.Class }, "json": func() { a.json = true },
	} {
		if ok, _ := f.GetBool(name); ok {
			languages++
			set()
		}
	}
	if languages > 1 {
		return usagef("--prolog, --class and --json: a question has one language")
	}
	q.Limits.Time, _ = f.GetDuration("timeout")
	q.Limits.Steps, _ = f.GetInt64("max-steps")
	memory, _ := f.GetInt64("max-memory")
	q.Rows, _ = f.GetInt("limit")
	if q.Limits.Time < 0 || q.Limits.Steps < 0 || memory < 0 || memory > 1<<40 || q.Rows < 0 {
		return usagef("--timeout, --limit, --max-memory and --max-steps are not negative")
	}
	q.Limits.Memory = memory << 20
	q.Why, _ = f.GetBool("why")
	if q.Why && a.format == "csv" {
		return usagef("--why: CSV has no place for facts; use -o json or ndjson")
	}
	prefixes, _ := f.GetStringArray("prefix")
	q.Prefixes = map[string]string{}
	for _, p := range prefixes {
		name, iri, ok := strings.Cut(p, "=")
		if !ok || name == "" || iri == "" {
			return usagef("--prefix %s: NAME=IRI is wanted", p)
		}
		q.Prefixes[name] = iri
	}
	rules, _ := f.GetStringArray("rules")
	if len(rules) > 0 && q.Language != logic.Prolog {
		return usagef("--rules: rules are for --prolog")
	}
	for _, file := range rules {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rules, err := plainText(file, "it", text)
		if err != nil {
			return err
		}
		q.Rules = append(q.Rules, logic.Rules{Name: file, Text: rules})
	}
	return a.prepareTimes()
}

// plainText returns a text without the mark at its beginning. One that is not in UTF-8 is refused by what it is.
func plainText(name, it string, text []byte) (string, error) {
	if encoding := rdf.Encoding(text); encoding != "" {
		return "", engram.Errorf(engram.Invalid, name, "%s is text in %s; write it in UTF-8", it, encoding)
	}
	if !utf8.Valid(text) {
		return "", engram.Errorf(engram.Invalid, name, "%s is no text in UTF-8", it)
	}
	return strings.TrimPrefix(string(text), "\ufeff"), nil
}

func (a *asking) prepareTimes() error {
	for name, to := range map[string]**engram.Time{"at": &a.question.At, "as-of": &a.question.AsOf} {
		t, given, err := worldTimeFlag(a.cmd, name)
		if err != nil {
			return err
		}
		if given {
			*to = &t
		}
	}
	marks, err := marksFlag(a.cmd)
	for _, m := range marks {
		a.question.After = append(a.question.After, logic.Mark(m))
	}
	return err
}

// with calls f with who answers: the server, or what files say.
func (a *asking) with(f func() error) error {
	files, _ := a.cmd.Flags().GetStringArray("load")
	if len(files) > 0 {
		if a.question.AsOf != nil || len(a.question.After) > 0 {
			return usagef("--as-of and --after are for what a server knows, not for --load")
		}
		g := knowledge.NewGraph()
		documents := make([]knowledge.Document, len(files))
		for i, file := range files {
			var err error
			if documents[i], err = loadFacts(g, file, fmt.Sprintf("f%d", i)); err != nil {
				return err
			}
		}
		prefixes := knowledge.NewPrefixes(documents...)
		a.shortenBy(prefixes)
		loaded := g.Len()
		if err := a.infer(g); err != nil {
			return err
		}
		a.view = base.OfGraph(g, prefixes)
		a.service, a.facts = base.Alone{View: a.view}, fmt.Sprintf("%d facts", loaded)
		return f()
	}
	// The server bounds what is asked without a limit.
	if !a.cmd.Flags().Changed("timeout") {
		a.question.Limits.Time = 0
	}
	if !a.cmd.Flags().Changed("max-memory") {
		a.question.Limits.Memory = 0
	}
	m, err := connect(a.cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	a.service, a.facts = m.Knowledge(), "what the server knows"
	if tabular(a.format) || a.question.Why {
		a.shortenBy(prefixesOn(a.cmd, m))
	}
	if err = f(); engram.CodeOf(err) == engram.NotFound || engram.CodeOf(err) == engram.Unsupported {
		return engram.Errorf(engram.CodeOf(err), "", "%w; a server with this memory answers ('engram serve --memory %s'), and --load asks of files", err, client.KnowledgeMemory)
	}
	return a.ofServer(err)
}

// shortenBy has IRIs be shortened by prefixes, and by those that the question brings.
func (a *asking) shortenBy(prefixes *knowledge.Prefixes) {
	a.names.UsePrefixes(prefixes)
	for name, iri := range a.question.Prefixes {
		a.names.AddPrefix(name, iri)
	}
}

// prefixesOn returns the prefixes of the documents of a server; the common ones where they cannot be read, since IRIs are as good.
func prefixesOn(cmd *cobra.Command, m *client.Client) *knowledge.Prefixes {
	c, err := record.NewCodec(cmd.Context(), m)
	if err != nil {
		return nil
	}
	documents, err := readKnowledge(cmd, m, c, engram.MustPattern(record.Memory+"/"+record.Ontology.String()))
	if err != nil {
		return nil
	}
	return prefixesOf(documents)
}

// ofServer says of a question that took too much memory if that is the limit of the server and
// not the one that was asked for.
func (a *asking) ofServer(err error) error {
	flag := a.cmd.Flags().Lookup("max-memory")
	if engram.CodeOf(err) != engram.Exhausted || !flag.Changed || !strings.Contains(err.Error(), "MB of memory") || strings.Contains(err.Error(), " "+flag.Value.String()+" MB") {
		return err
	}
	return engram.Errorf(engram.Exhausted, "", "%w; this is the server's own limit, which --max-memory %s does not raise", err, flag.Value)
}

// infer adds what rules of SWRL in files conclude; it tells of those that are not supported.
func (a *asking) infer(g *knowledge.Graph) error {
	rules, refused := swrl.Rules(g)
	if refused != nil {
		a.cmd.PrintErrf("engram: %v\n", refused)
	}
	ctx := a.cmd.Context()
	if a.question.Limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.question.Limits.Time)
		defer cancel()
	}
	_, err := swrl.Infer(ctx, g, rules)
	return err
}

// loadFacts adds the triples of a file. Its blank nodes get labels that begin with scope.
func loadFacts(to *knowledge.Graph, file, scope string) (knowledge.Document, error) {
	f, err := readRDFWith(file, rdf.ReadOptions{Scope: scope, Lists: true}, func(t rdf.Triple) { to.Add(t) })
	if err != nil {
		return knowledge.Document{}, err
	}
	return knowledge.Document{Name: record.ProviderOf(f.ontology()), Prefixes: f.doc.Prefixes}, nil
}
