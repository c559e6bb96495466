package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/mind/knowledge/logic"
)

// ask prints the rows of one question. As NDJSON, each is printed when it is found.
func (a *asking) ask(ctx context.Context, question string) error {
	question, err := plainText("", "the question", []byte(question))
	if err != nil {
		return err
	}
	q := a.question
	q.Text = question
	if a.json {
		q.Text, q.JSON = "", json.RawMessage(question)
	}
	told := math.MaxInt
	q.Waits = func(before int) {
		if before <= told/2 { // now and then
			told = before
			a.cmd.PrintErrf("engram: the server answers as many questions as it may at a time, and this one waits; %d wait before it\n", before)
		}
	}
	q.Notes = func(line string) { a.cmd.PrintErrln(visible(line)) }
	out := a.cmd.OutOrStdout()
	var rows []logic.Row
	for row, err := range a.service.Ask(ctx, q) {
		if errors.Is(err, logic.ErrMore) {
			a.cmd.PrintErrf("engram: there are more rows than --limit %d\n", q.Rows)
			break
		}
		if err != nil {
			return err
		}
		if a.format != "ndjson" {
			rows = append(rows, row)
		} else if err := writeJSONLine(out, a.shown(row)); err != nil {
			return err
		}
	}
	if a.format == "ndjson" {
		return nil
	}
	return a.print(out, rows)
}

// explained is a row with what it rests on.
type explained struct {
	Row logic.Row      `json:"row"`
	Why []logic.Reason `json:"why"`
}

// shown is what JSON has of a row.
func (a *asking) shown(row logic.Row) any {
	if !a.question.Why {
		return row
	}
	for i := range row.Why {
		for j := range row.Why[i].Facts {
			t := &row.Why[i].Facts[j].Triple
			for k := range t {
				t[k] = a.short(t[k])
			}
		}
	}
	return explained{row, row.Why}
}

// short shortens what N-Triples writes of a term.
func (a *asking) short(text string) string {
	if iri, ok := strings.CutPrefix(text, "<"); ok {
		return a.names.Shorten(strings.TrimSuffix(iri, ">"))
	}
	if at := strings.LastIndex(text, "^^<"); at > 0 && strings.HasSuffix(text, ">") {
		return text[:at+2] + a.names.Shorten(text[at+3:len(text)-1])
	}
	return text
}

// print prints rows; as a table, a question without variables is answered yes or no.
func (a *asking) print(out io.Writer, rows []logic.Row) error {
	if !tabular(a.format) {
		var all []any
		for _, row := range rows {
			all = append(all, a.shown(row))
		}
		return print(out, a.format, nil, all)
	}
	t := &table{verbatim: true}
	uncertain := false
	for _, row := range rows {
		for _, name := range row.Names {
			if !slices.Contains(t.header, name) {
				t.header = append(t.header, name)
			}
		}
		uncertain = uncertain || row.Probability < 1
	}
	names := t.header
	switch {
	case len(rows) == 0 && a.format == "csv":
		return nil
	case len(rows) == 0:
		_, err := fmt.Fprintln(out, "no")
		return err
	case len(names) == 0 && !uncertain:
		if _, err := fmt.Fprintln(out, "yes"); err != nil {
			return err
		}
		return a.explain(out, rows)
	}
	if uncertain {
		t.header = append(slices.Clone(names), "probability")
	}
	for _, row := range rows {
		cells := make([]any, 0, len(t.header))
		for _, name := range names {
			if i := slices.Index(row.Names, name); i >= 0 {
				cells = append(cells, cellOf(a.names.Shorten(row.Texts[i]), row.Texts[i]))
			} else {
				cells = append(cells, "")
			}
		}
		if uncertain {
			cells = append(cells, fmt.Sprintf("%.3g", row.Probability))
		}
		t.add(cells...)
	}
	if err := print(out, a.format, t, rows); err != nil {
		return err
	}
	return a.explain(out, rows)
}

// explain prints what rows rest on.
func (a *asking) explain(out io.Writer, rows []logic.Row) error {
	if !a.question.Why {
		return nil
	}
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "\nrow %d rests on\n", i+1)
		for _, why := range row.Why {
			fmt.Fprintf(&b, "  %s\n", visible(why.Part))
			for _, fact := range why.Facts {
				fmt.Fprintf(&b, "    %s\n", visible(a.short(fact.Triple[0])+" "+a.short(fact.Triple[1])+" "+a.short(fact.Triple[2])))
				for _, link := range fact.Links {
					fmt.Fprintf(&b, "      %s\n", visible(link))
				}
			}
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
