package prolog_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/reference"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
)

// The reference's questions have the answers that SWI-Prolog gave, as sets of rows.
func TestReference(t *testing.T) {
	b, err := os.ReadFile(testkit.Shared(t, "knowledge", "queries.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	p := prolog.NewProgram()
	for prefix, iri := range reference.Prefixes(t) {
		p.AddPrefix(prefix, iri)
	}
	graphs := map[string]*knowledge.Graph{}
	asked := 0
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) < 8 || cells[0] == "id" {
			continue
		}
		id, files, question := cells[0], cells[2], cells[3]
		if graphs[files] == nil {
			graphs[files] = reference.Load(t, files)
		}
		asked++
		var want []any
		if err := json.Unmarshal([]byte(cells[7]), &want); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		got, err := ask(t, p, graphs[files], question, patience)
		if err != nil {
			t.Errorf("%s: %v\n%s", id, err, question)
			continue
		}
		if missing, extra := differ(t, got, want); len(missing)+len(extra) > 0 {
			t.Errorf("%s: %s\nmissing %v\nextra %v", id, question, missing, extra)
		}
	}
	if asked != 99 {
		t.Errorf("%d questions were asked", asked)
	}
}

// The reports' goals have the rows that SWI-Prolog 9.0.4 gave, in its order.
func TestReports(t *testing.T) {
	b, err := os.ReadFile(testkit.Shared(t, "reports", "prolog.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	p := prolog.NewProgram()
	asked := 0
	for line := range strings.Lines(string(b)) {
		goal, rows, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if goal == "goal" {
			continue
		}
		asked++
		var want []any
		if err := json.Unmarshal([]byte(rows), &want); err != nil {
			t.Fatalf("%s: %v", goal, err)
		}
		got, err := ask(t, p, knowledge.NewGraph(), goal, patience)
		var read any
		if err == nil {
			err = json.Unmarshal([]byte("["+strings.Join(got, ",")+"]"), &read)
		}
		if err != nil || !equal(read, want) {
			t.Errorf("%s\n got %v, %v\nwant %s", goal, got, err, rows)
		}
	}
	if asked != 24 {
		t.Errorf("%d goals were asked", asked)
	}
}

// A question has the answers that SWI-Prolog gave, however often memory is measured.
func TestAnswersAtEachLimit(t *testing.T) {
	rules, err := os.ReadFile(testkit.Shared(t, "reports", "pairs.pl"))
	if err != nil {
		t.Fatal(err)
	}
	p := prolog.NewProgram()
	if err := p.AddRules("pairs.pl", string(rules)); err != nil {
		t.Fatal(err)
	}
	g := reference.Load(t, "knowrob.owl")
	for _, c := range []struct {
		question string
		want     []string
		rows     int
		limits   []int64 // in MB
	}{
		{"aggregate_all(count, pair(X, Y), N)", []string{`{"N":2107}`}, 1, []int64{8}},
		{"between(1, 10000, X), atom_number(A, X), atom_concat(x, A, B), Y is X mod 500, Y =:= 0", nil, 20, []int64{1, 2, 128}},
	} {
		for _, memory := range c.limits {
			got, err := ask(t, p, g, c.question, prolog.Limits{Memory: memory << 20})
			if err != nil || len(got) != c.rows || c.want != nil && !slices.Equal(got, c.want) {
				t.Errorf("%s with %d MB: %d rows, %v, %v", c.question, memory, len(got), got[:min(len(got), 1)], err)
			}
		}
	}
}

// differ returns the rows that are not in both, compared as sets, and numbers to 1e-9.
func differ(t *testing.T, rows []string, want []any) (missing, extra []any) {
	var got []any
	for _, row := range rows {
		var v any
		if err := json.Unmarshal([]byte(row), &v); err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	without := func(a, b []any) (out []any) {
		for _, x := range a {
			found := false
			for _, y := range b {
				found = found || equal(x, y)
			}
			if !found {
				out = append(out, x)
			}
		}
		return out
	}
	return without(want, got), without(got, want)
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && math.Abs(a-b) <= 1e-9
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}
