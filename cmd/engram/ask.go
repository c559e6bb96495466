package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/knowledge"
	"github.com/seed-301d4374/engram/knowledge/prolog"
	"github.com/seed-301d4374/engram/knowledge/rdf"
)

func newAsk() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ask --load FILE [QUESTION]",
		Short: "Ask of OWL and RDF files: patterns, class expressions, Prolog",
		Long: `Answers a question that is a pattern of triples: what must hold, separated by semicolons, with
variables such as ?room. Properties mean what OWL says of them. Names stand for what alone has
them in the files, or have a prefix. "text" is any literal with this text, ~"text" a regular
expression, + one or more steps, ^ the other way round, not { } what must not be; where ?h > 2.0
is a condition in CEL. select, distinct, count, order by and limit say what rows are made.

With --class the question is a class expression in OWL's Manchester syntax, given for this
question, and the rows are its individuals. With --why each row says which facts it rests on.

With --prolog the question is in Prolog, with the predicates of SWI-Prolog's semweb library and of
KnowRob (rdf/3, rdf_has/3, rdf_reachable/3, owl_has/3, owl_individual_of/2 …) over the facts
of files, without a server. Each distinct answer is a row of the question's variables; those
whose names begin with _ are left out. Names such as knowrob:'Door' stand for IRIs.

What the files import is never fetched: give each file that is to be known. Restrictions and
classes of OWL are used if owl.owl is among them.

A question neither reads files nor runs programs, and what it asserts is gone with it. One
that does not end is stopped: by --timeout, --max-memory, --max-steps, or Ctrl-C.

Without a question, questions are read line by line.`,
		Example: `  engram ask --load knowrob.owl --load hospital.owl \
    '?room roomNumber "3001"; ?s properPhysicalParts+ ?room; ?s label ~"Karlstr.*"'
  engram ask --class --why --load knowrob.owl --load hospital.owl \
    'RoomInAConstruction and (roomNumber value "3006") and (inverse properPhysicalParts some Building)'
  engram ask --prolog --load owl.owl --load knowrob.owl --load kitchen.owl \
    "owl_individual_of(D, knowrob:'Door'), owl_has(D, knowrob:properPhysicalParts, Part)"
  engram ask --prolog --load kitchen.ttl --prefix my=http://example.org/my# -o ndjson \
    "aggregate_all(count, rdf(_, rdf:type, my:'Cup'), N)"
  engram ask --prolog --load kitchen.owl --rules kitchen.pl 'tidy(Room)'
  engram ask --prolog --load kitchen.owl`,
		Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	f.Bool("prolog", false, "the question is in Prolog")
	addPatternFlags(cmd)
	f.StringArray("load", nil, "a file of facts: .owl, .rdf, .ttl, .nt or .nq; may be repeated")
	f.StringArray("rules", nil, "a file of rules in Prolog; may be repeated")
	f.StringArray("prefix", nil, "NAME=IRI: what NAME:local stands for; may be repeated")
	f.Duration("timeout", prolog.DefaultLimits.Time, "how long a question may take; 0 is without end")
	f.Int("limit", 0, "print so many rows at most; 0 is all")
	f.Int64("max-memory", prolog.DefaultLimits.Memory>>20, "how much memory a question may take, in MB; 0 is without limit")
	f.Int64("max-steps", 0, "how many steps a question may take; 0 is without limit")
	_ = cmd.MarkFlagFilename("load", "owl", "rdf", "rdfs", "xml", "ttl", "nt", "nq")
	_ = cmd.MarkFlagFilename("rules", "pl")
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		if ok, err := isPattern(cmd); ok || err != nil {
			if err != nil {
				return err
			}
			return askPatterns(cmd, args, format)
		}
		a := asking{cmd: cmd, format: format, view: &knowledge.View{Graph: knowledge.NewGraph()}, program: prolog.NewProgram()}
		if err := a.prepare(); err != nil {
			return err
		}
		if len(args) == 1 {
			return a.ask(args[0])
		}
		return a.session()
	})
	return cmd
}

// asking answers questions of one command.
type asking struct {
	cmd     *cobra.Command
	format  string
	view    *knowledge.View
	program *prolog.Program
	limits  prolog.Limits
	most    int
}

// prepare reads what the flags name.
func (a *asking) prepare() error {
	f := a.cmd.Flags()
	files, _ := f.GetStringArray("load")
	if len(files) == 0 {
		return usagef("--load FILE: say what the question is about")
	}
	a.limits.Time, _ = f.GetDuration("timeout")
	a.limits.Steps, _ = f.GetInt64("max-steps")
	memory, _ := f.GetInt64("max-memory")
	a.most, _ = f.GetInt("limit")
	if a.limits.Time < 0 || a.limits.Steps < 0 || memory < 0 || memory > 1<<40 || a.most < 0 {
		return usagef("--timeout, --limit, --max-memory and --max-steps are not negative")
	}
	a.limits.Memory = memory << 20
	prefixes, _ := f.GetStringArray("prefix")
	for _, p := range prefixes {
		name, iri, ok := strings.Cut(p, "=")
		if !ok || name == "" || iri == "" {
			return usagef("--prefix %s: NAME=IRI is wanted", p)
		}
		a.program.AddPrefix(name, iri)
	}
	rules, _ := f.GetStringArray("rules")
	for _, file := range rules {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := a.program.AddRules(file, string(text)); err != nil {
			return err
		}
	}
	for i, file := range files {
		if err := loadFacts(a.view.Graph, file, fmt.Sprintf("f%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// loadFacts adds the triples of a file. Its blank nodes get labels that begin with scope.
func loadFacts(to *knowledge.Graph, file, scope string) error {
	format, err := rdf.FormatOf(file)
	if err != nil {
		return err
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	options := rdf.ReadOptions{Name: file, Base: "file://" + filepath.ToSlash(absolute), Scope: scope, Lists: true}
	_, err = rdf.Read(bufio.NewReader(f), format, options, func(q rdf.Quad) error {
		to.Add(q.Triple)
		return nil
	})
	return err
}

// ask prints the rows of one question. As NDJSON, each is printed when it is found.
func (a *asking) ask(question string) error {
	out := a.cmd.OutOrStdout()
	var rows []prolog.Row
	n := 0
	for row, err := range a.program.Ask(a.cmd.Context(), a.view, question, a.limits) {
		if err != nil {
			return err
		}
		if n++; a.most > 0 && n > a.most {
			a.cmd.PrintErrf("engram: there are more rows than --limit %d\n", a.most)
			break
		}
		if a.format != "ndjson" {
			rows = append(rows, row)
		} else if err := writeJSONLine(out, row); err != nil {
			return err
		}
	}
	if a.format == "ndjson" {
		return nil
	}
	return a.print(out, rows)
}

// print prints rows; as a table, a question without variables is answered yes or no.
func (a *asking) print(out io.Writer, rows []prolog.Row) error {
	t := &table{}
	for _, row := range rows {
		for _, name := range row.Names {
			if !slices.Contains(t.header, name) {
				t.header = append(t.header, name)
			}
		}
	}
	if len(t.header) == 0 && (a.format == "table" || a.format == "csv") {
		answer := "no"
		if len(rows) > 0 {
			answer = "yes"
		}
		_, err := fmt.Fprintln(out, answer)
		return err
	}
	for _, row := range rows {
		cells := make([]any, len(t.header))
		for i, name := range t.header {
			cells[i] = ""
			if at := slices.Index(row.Names, name); at >= 0 {
				cells[i] = cell{a.program.Shorten(row.Values[at]), row.Values[at]}
			}
		}
		t.add(cells...)
	}
	return print(out, a.format, t, rows)
}

// session answers questions that are read line by line: on a terminal with a prompt and what
// was typed before (arrow keys), and going on after a mistake.
func (a *asking) session() error {
	stdin, ok := a.cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(stdin.Fd())) {
		lines := bufio.NewScanner(a.cmd.InOrStdin())
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if question := strings.TrimSpace(lines.Text()); question != "" {
				if err := a.ask(question); err != nil {
					return err
				}
			}
		}
		return lines.Err()
	}
	fmt.Fprintf(a.cmd.OutOrStdout(), "%d facts; a question per line, Ctrl-D ends\n", a.view.Len())
	keys := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{stdin, a.cmd.OutOrStdout()}, "?- ")
	for {
		question, err := readKeys(stdin, keys)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case strings.TrimSpace(question) == "":
			continue
		}
		start := time.Now()
		if err := a.ask(question); err != nil {
			if a.cmd.Context().Err() != nil {
				return err
			}
			a.cmd.PrintErrf("engram: %s\n", oneLine(err.Error()))
			continue
		}
		a.cmd.PrintErrf("%s\n", formatDuration(time.Since(start)))
	}
}

// readKeys reads a line from a terminal that gives each key, and leaves the terminal as it was:
// Ctrl-C stops a question.
func readKeys(stdin *os.File, keys *term.Terminal) (string, error) {
	before, err := term.MakeRaw(int(stdin.Fd()))
	if err != nil {
		return "", engram.Errorf(engram.Internal, "", "the terminal: %w", err)
	}
	line, err := keys.ReadLine()
	return line, errors.Join(err, term.Restore(int(stdin.Fd()), before))
}
