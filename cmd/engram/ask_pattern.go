package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/knowledge"
	"github.com/seed-301d4374/engram/knowledge/pattern"
	"github.com/seed-301d4374/engram/knowledge/prolog"
	"github.com/seed-301d4374/engram/knowledge/rdf"
)

// addPatternFlags adds the flags of questions that are not in Prolog.
func addPatternFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Bool("class", false, "the question is a class expression in OWL's Manchester syntax: who is in it")
	f.Bool("why", false, "say of each row which facts it rests on (not with --prolog)")
}

// isPattern says whether a command asks in patterns or by a class.
func isPattern(cmd *cobra.Command) (bool, error) {
	f := cmd.Flags()
	class, _ := f.GetBool("class")
	why, _ := f.GetBool("why")
	if ok, _ := f.GetBool("prolog"); !ok {
		return true, nil
	}
	if class || why {
		return false, usagef("--class and --why are not for --prolog")
	}
	return false, nil
}

// patterns answers questions of one command.
type patterns struct {
	cmd      *cobra.Command
	format   string
	view     *knowledge.View
	limits   knowledge.Limits
	prefixes map[string]string
	names    *prolog.Program // shortens IRIs
	most     int
	class    bool
	why      bool
}

// askPatterns answers a question that is a pattern or a class, of files.
func askPatterns(cmd *cobra.Command, args []string, format string) error {
	p := patterns{cmd: cmd, format: format, prefixes: map[string]string{}, names: prolog.NewProgram()}
	f := cmd.Flags()
	p.class, _ = f.GetBool("class")
	p.why, _ = f.GetBool("why")
	p.limits.Time, _ = f.GetDuration("timeout")
	p.limits.Steps, _ = f.GetInt64("max-steps")
	memory, _ := f.GetInt64("max-memory")
	p.most, _ = f.GetInt("limit")
	if p.limits.Time < 0 || p.limits.Steps < 0 || memory < 0 || memory > 1<<40 || p.most < 0 {
		return usagef("--timeout, --limit, --max-memory and --max-steps are not negative")
	}
	p.limits.Memory = memory << 20
	if rules, _ := f.GetStringArray("rules"); len(rules) > 0 {
		return usagef("--rules: rules are for --prolog")
	}
	if p.why && format == "csv" {
		return usagef("--why: CSV has no place for facts; use -o json or ndjson")
	}
	all, _ := f.GetStringArray("prefix")
	for _, text := range all {
		name, iri, ok := strings.Cut(text, "=")
		if !ok || name == "" || iri == "" {
			return usagef("--prefix %s: NAME=IRI is wanted", text)
		}
		p.prefixes[name] = iri
		p.names.AddPrefix(name, iri)
	}
	files, _ := f.GetStringArray("load")
	if len(files) == 0 {
		return usagef("--load FILE: say what the question is about")
	}
	facts := knowledge.NewGraph()
	for i, file := range files {
		if err := loadFacts(facts, file, fmt.Sprintf("f%d", i)); err != nil {
			return err
		}
	}
	p.view = &knowledge.View{Graph: facts}
	if len(args) == 1 {
		return p.ask(args[0])
	}
	lines := bufio.NewScanner(cmd.InOrStdin())
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if question := strings.TrimSpace(lines.Text()); question != "" {
			if err := p.ask(question); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// explained is a row with what it rests on.
type explained struct {
	Row pattern.Row `json:"row"`
	Why []reason    `json:"why"`
}

type reason struct {
	Clause string      `json:"clause"`
	Facts  [][3]string `json:"facts"`
}

// compile finds what a question means.
func (p *patterns) compile(question string) (*pattern.Compiled, error) {
	options := pattern.Options{Prefixes: p.prefixes}
	if p.class {
		return pattern.CompileClass(p.view, question, options)
	}
	return pattern.CompileText(p.view, question, options)
}

// ask prints the rows of one question. As NDJSON, each is printed when it is found.
func (p *patterns) ask(question string) error {
	compiled, err := p.compile(question)
	if err != nil {
		return err
	}
	out := p.cmd.OutOrStdout()
	var rows []explained
	n := 0
	for row, err := range compiled.Ask(p.cmd.Context(), p.view, p.limits) {
		if err != nil {
			return err
		}
		if n++; p.most > 0 && n > p.most {
			p.cmd.PrintErrf("engram: there are more rows than --limit %d\n", p.most)
			break
		}
		it := explained{Row: row}
		if p.why {
			it.Why = p.reasons(row)
		}
		switch {
		case p.format != "ndjson":
			rows = append(rows, it)
		case p.why:
			err = writeJSONLine(out, it)
		default:
			err = writeJSONLine(out, row)
		}
		if err != nil {
			return err
		}
	}
	if p.format == "ndjson" {
		return nil
	}
	return p.print(out, compiled, rows)
}

func (p *patterns) reasons(row pattern.Row) []reason {
	var all []reason
	for _, r := range row.Why() {
		it := reason{Clause: r.Clause}
		for _, t := range r.Facts {
			it.Facts = append(it.Facts, [3]string{p.short(t.S), p.short(t.P), p.short(t.O)})
		}
		all = append(all, it)
	}
	return all
}

// short returns a term as people read it.
func (p *patterns) short(t rdf.Term) string {
	switch t.Kind {
	case rdf.IRI:
		return p.names.Shorten(t.Value)
	case rdf.Blank:
		return "_:" + t.Value
	case rdf.Literal:
		text := pattern.Text(t.Value).String()
		switch {
		case t.Lang != "":
			text += "@" + t.Lang
		case t.Type != "":
			text += "^^" + p.names.Shorten(t.Type)
		}
		return text
	}
	return ""
}

// print prints rows; as a table, a question without variables is answered yes or no.
func (p *patterns) print(out io.Writer, compiled *pattern.Compiled, rows []explained) error {
	if !tabular(p.format) {
		if p.why {
			return print(out, p.format, nil, rows)
		}
		var plain []pattern.Row
		for _, row := range rows {
			plain = append(plain, row.Row)
		}
		return print(out, p.format, nil, plain)
	}
	t := &table{header: compiled.Columns()}
	uncertain := false
	for _, row := range rows {
		uncertain = uncertain || row.Row.Probability < 1
	}
	if uncertain {
		t.header = append(t.header, "probability")
	}
	if len(t.header) == 0 {
		answer := "no"
		if len(rows) > 0 {
			answer = "yes"
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	} else {
		for _, row := range rows {
			var cells []any
			for i := range row.Row.Len() {
				value := row.Row.Value(i)
				shown := value.Value
				if value.Kind == rdf.IRI {
					shown = p.names.Shorten(value.Value)
				}
				cells = append(cells, cell{shown, value.Value})
			}
			if uncertain {
				cells = append(cells, fmt.Sprintf("%.3g", row.Row.Probability))
			}
			t.add(cells...)
		}
		if err := print(out, p.format, t, rows); err != nil {
			return err
		}
	}
	return p.explain(out, rows)
}

// explain prints what rows rest on.
func (p *patterns) explain(out io.Writer, rows []explained) error {
	if !p.why {
		return nil
	}
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "\nrow %d rests on\n", i+1)
		for _, why := range row.Why {
			fmt.Fprintf(&b, "  %s\n", visible(why.Clause))
			for _, fact := range why.Facts {
				fmt.Fprintf(&b, "    %s\n", visible(strings.Join(fact[:], " ")))
			}
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
