package prolog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"pgregory.net/rapid"
)

// measuredAlways has memory measured whenever some is taken.
func measuredAlways() Option {
	return func(m *machine) { m.nextMeasure, m.measureEach = 0, 1 }
}

// rowsOf returns the rows of a question as JSON and text, and how it ended.
func rowsOf(t testing.TB, p *Program, question string, limits Limits, options ...Option) (rows []string, ended error) {
	t.Helper()
	for row, err := range p.Ask(t.Context(), &knowledge.View{Graph: knowledge.NewGraph()}, question, limits, options...) {
		if err != nil {
			return rows, err
		}
		b, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, fmt.Sprint(string(b), row.Values))
	}
	return rows, nil
}

// What questions are made of: $V is a variable, $T a term, $G a goal.
var (
	generatedTerms   = []string{"a", "b", "1", "2", "f($V)", "g($V,$V)", "[$V|$V]", "[a,b]", "[]", "$V", "$V", "$V", `"s"`, "10000000000000000000"}
	generatedChoices = []string{"p($V)", "q($V, $V)", "member($V, [$T,$T,$T])", "between(1, 3, $V)", "path($V, $V)", "append($V, $V, [a,$V])", "select($V, [a,$V,b], $V)", "atom_concat($V, $V, ab)"}
	generatedGoals   = []string{
		"$V = $T", "$V = $T", "member($V, [$T,$T,$T])", "p($V)", "q($V, $T)", "q($V, $V)", "between(1, 3, $V)", "append($V, $V, [a,$T,c])", "$V == $T", "$V \\== $T", "$V \\= $T",
		"var($V)", "copy_term($T, $V)", "atom_concat($V, $V, abc)", "length($V, 2)", "arg($V, g($T, $V), $V)", "$V =.. $V", "select($V, [a,$V,b], $V)", "nth1($V, [a,b,$V], $V)",
		"$V @< $T", "throw($T)", "fail", "!", "$V is $V + 1", "assertz(d($T))", "asserta(d($T))", "retract(d($T))", "d($V)", "retractall(d($T))", "path($V, $V)",
		"permutation([a,$V,b], $V)", "msort([$V, $T], $V)", "length($V, $V), $V = [_,_]", "nb_setval(k, $T)", "nb_getval(k, $V)", "sub_atom(abc, _, 1, _, $V)", "term_variables($T, $V)",
		"clause(path($V, $V), $V)", "maplist(q, [$V,$V], $V)", "foldl([X,Y,Z]>>(Z = g(X,Y)), [a,$V], $V, $V)", "unify_with_occurs_check($V, $T)", "atom_to_term('h(Q,R,Q)', $V, $V)",
	}
	generatedControl = []string{
		"$G, $G", "$G, $G", "$G ; $G", "$G -> $G ; $G", "$G *-> $G ; $G", "$G -> $G", "\\+ $G", "forall($G, $G)", "findall($T, $G, $V)", "bagof($T, $G, $V)", "setof($T, $V^$G, $V)",
		"aggregate_all(count, $G, $V)", "aggregate_all(max($V), $G, $V)", "aggregate_all(bag($T), $G, $V)", "aggregate_all(max($V, $V), $G, $V)", "catch($G, $T, $G)", "catch($G, $V, $G)",
		"once($G)", "ignore($G)", "call($G)", "not($G)", "limit(2, $G)", "offset(1, $G)", "call_nth($G, 2)", "call_nth($G, $V)", "distinct($V, $G)", "order_by([desc($V)], $G)",
		"findnsols(2, $V, $G, $V)", "setup_call_cleanup($G, $G, assertz(d($V)))", "call_cleanup($G, $G)",
	}
)

// generated fills a template in.
func generated(t *rapid.T, templates []string, depth int) string {
	var b strings.Builder
	rest := rapid.SampledFrom(templates).Draw(t, "template")
	for {
		plain, hole, found := strings.Cut(rest, "$")
		b.WriteString(plain)
		if !found {
			return b.String()
		}
		switch rest = hole[1:]; hole[0] {
		case 'V':
			b.WriteString(rapid.SampledFrom([]string{"A", "B", "C", "D"}).Draw(t, "variable"))
		case 'T':
			b.WriteString(generated(t, generatedTerms, 0))
		case 'G':
			of := generatedGoals
			switch {
			case depth == 0 && rapid.Bool().Draw(t, "choice"):
				of = generatedChoices
			case depth > 0 && rapid.IntRange(0, 4).Draw(t, "leaf") > 0:
				of = generatedControl
			}
			b.WriteString("(" + generated(t, of, depth-1) + ")")
		}
	}
}

const generatedRules = `
:- dynamic d/1.
p(a). p(f(_)). p(X) :- X = 1 ; X = b.
q(a, 1). q(X, g(X, _)). q(f(X), X). q(X, Y) :- p(X), \+ Y = [_|_].
edge(a, b). edge(b, c). edge(c, d).
path(X, Y) :- edge(X, Y).
path(X, Z) :- edge(X, Y), path(Y, Z).
`

// Rows do not depend on when memory is measured: they are the same at every limit that does not
// end in an error, and those before an error are the first of them.
func TestMeasuringChangesNothing(t *testing.T) {
	p := NewProgram()
	if err := p.AddRules("rules.pl", generatedRules); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		// Errors are caught, lest most questions end at once.
		question := generated(r, generatedChoices, 0)
		for range rapid.IntRange(1, 4).Draw(r, "goals") {
			question += ", catch(" + generated(r, []string{"$G"}, 2) + ", Error, true)"
		}
		limits := Limits{Steps: 700}
		want, wantErr := rowsOf(t, p, question, limits)
		limits.Memory = 1 << 40
		got, err := rowsOf(t, p, question, limits, measuredAlways())
		if !slices.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			r.Fatalf("%s\nnever measured:  %v %v\nalways measured: %v %v", question, want, wantErr, got, err)
		}
		limits.Memory = int64(rapid.IntRange(1, 100_000).Draw(r, "memory"))
		got, err = rowsOf(t, p, question, limits)
		ended := err != nil && strings.Contains(err.Error(), "of memory")
		if ended && (len(got) > len(want) || !slices.Equal(got, want[:len(got)])) || !ended && (!slices.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr)) {
			r.Fatalf("%s\nwithout a limit: %v %v\nof %d bytes: %v %v", question, want, wantErr, limits.Memory, got, err)
		}
	})
}

// What choices keep for further solutions counts as long as they are there.
func TestChoicesCount(t *testing.T) {
	g := knowledge.NewGraph()
	for i := range 500 {
		g.Add(rdf.Triple{S: rdf.NewIRI(fmt.Sprint("s", i)), P: rdf.NewIRI("p"), O: rdf.NewIRI("o")})
	}
	for question, least := range map[string]int64{
		"numlist(1, 2000, _L), bagof(X, (member(X, _L), Y is X mod 2), _)": 2000 / 2 * 100,
		"rdf(X, p, o)": 499 * 200,
		"forall(between(1, 2000, X), assertz(c(X))), clause(c(_), true)":                                                                                       1999 * 8,
		"atom_concat(_, _, abc), length(_L, 20000), atomic_list_concat(_M, ',', abc), maplist(=(a), _L), atomic_list_concat(_L, _A), sub_atom(_A, _, _, _, _)": 20_000 * 8,
	} {
		m, _, err := NewProgram().prepare(t.Context(), &knowledge.View{Graph: g}, question, Limits{Memory: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := m.run(); !ok || err != nil {
			t.Fatalf("%s: %v, %v", question, ok, err)
		}
		with := m.measure()
		m.choices[len(m.choices)-1].again.held = nil
		if without := m.measure(); with-without < least {
			t.Errorf("%s: %d bytes with what the last choice holds, %d without", question, with, without)
		}
	}
}

// What a question has asserted counts also when it is retracted, since choices may still try it; what it has
// set counts as long as it is set.
func TestWhatOutlivesBacktrackingCounts(t *testing.T) {
	for question, want := range map[string]struct{ least, most int64 }{
		"forall(between(1, 50, _), (length(L, 100), assertz(c(L)), retract(c(_))))":                                   {50 * 100 * 64, 1 << 30},
		"forall(between(1, 50, _), (length(L, 100), assertz(c(L)), retractall(c(_))))":                                {50 * 100 * 64, 1 << 30},
		"forall(true, (length(L, 100), nb_setval(k, L)))":                                                             {100 * 64, 100 * 200},
		"forall(between(1, 50, _), (length(L, 100), nb_setval(k, L)))":                                                {100 * 64, 100 * 200},
		"forall(between(1, 50, _), (nb_setval(k, f(_)), nb_getval(k, f(L)), length(L, 1000), nb_setval(k, x)))":       {64, 1000},
		"nb_setval(k, f(_)), nb_getval(k, f(L)), length(L, 1000), nb_setval(k, x)":                                    {1000 * 64, 1000 * 200},
		"forall(between(1, 50, _), (nb_setval(k, f(_)), nb_getval(k, f(L)), length(L, 1000))), nb_getval(k, f(Free))": {64, 2000},
	} {
		m, _, err := NewProgram().prepare(t.Context(), &knowledge.View{Graph: knowledge.NewGraph()}, question, Limits{Memory: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := m.run(); !ok || err != nil {
			t.Fatalf("%s: %v, %v", question, ok, err)
		}
		if got := m.measure(); got < want.least || got > want.most {
			t.Errorf("%s: %d bytes, not from %d to %d", question, got, want.least, want.most)
		}
	}
}

// A choice keeps the list of clauses that it tries, also when the predicate has another one since. A list
// that several choices keep counts once, and a program's does not.
func TestListsOfClausesCount(t *testing.T) {
	p := NewProgram()
	if err := p.AddRules("rules.pl", strings.Repeat("r(a).\n", 1000)); err != nil {
		t.Fatal(err)
	}
	for question, lists := range map[string]int64{
		"c(_), c(_), c(_)":                         1,
		"c(_), once(retract(c(_))), c(_), c(_)":    2,
		"c(_), retractall(c(1)), c(_)":             2,
		"c(_), asserta(c(1)), c(_), c(_)":          2,
		"r(_), r(_)":                               0,
		"r(_), assertz(r(b)), r(_), r(_)":          1,
		"r(a), assertz(r(b)), r(a), r(_)":          2, // the first is the index's
		"r(_), assertz(r(b)), c(_), c(1000), c(_)": 1,
	} {
		m, _, err := p.prepare(t.Context(), &knowledge.View{Graph: knowledge.NewGraph()}, "forall(between(1, 1000, X), assertz(c(X))), "+question, Limits{Memory: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := m.run(); !ok || err != nil {
			t.Fatalf("%s: %v, %v", question, ok, err)
		}
		with := m.measure()
		for i := range m.choices {
			m.choices[i].of = nil
		}
		if kept := with - m.measure(); kept < lists*990*8 || kept > lists*1400*8 {
			t.Errorf("%s: %d bytes for %d lists", question, kept, lists)
		}
	}
}
