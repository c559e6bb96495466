package prolog

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
)

// bigAtom has an atom of 200,000 bytes, A.
const bigAtom = "length(_L, 20000), maplist(=(abcdefghij), _L), atomic_list_concat(_L, _A), "

// What one step allocates is counted before: a question that would take more than it may has not taken it.
func TestMemoryIsCountedBeforeItIsTaken(t *testing.T) {
	const most = 8 << 20
	for question, allowed := range map[string]uint64{
		"numlist(1, 3000000, _L)":                        0,
		"numlist(-9223372036854775808, 1, _L)":           0,
		"numlist(1, 9223372036854775807, _L)":            0,
		"length(_L, 3000000)":                            0,
		"functor(_T, f, 1000000), _T =.. _L":             0,
		"functor(_T, f, 100000), _T =.. _L, _L = [_|_M]": most, // it fits
		"functor(_T, f, 200000), copy_term(_T, _U)":      most,
		"functor(_T, f, 150000), term_variables(_T, _L)": 3 * most,
		"functor(_T, f, 150000), numbervars(_T)":         3 * most,
		"functor(_T, f, 150000), assertz(_T)":            most,
		"functor(_T, f, 150000), nb_setval(k, _T)":       most,
		"functor(_T, f, 150000), unify_with_occurs_check(_X, _T), acyclic_term(_T), call(_T, _, _), fail": most,
		bigAtom + "atom_codes(_A, _L)":                                                 3 * most,
		bigAtom + "atom_chars(_A, _L)":                                                 3 * most,
		bigAtom + "format(codes(_L), '~w', [_A])":                                      3 * most,
		bigAtom + "length(L, 1000), maplist(=(_A), L)":                                 3 * most, // as a row it has 200 MB
		bigAtom + "length(_M, 1000), maplist(=(_A), _M), atomic_list_concat(_M, _B)":   3 * most,
		bigAtom + "length(_M, 1000), maplist(=(_A), _M), atomics_to_string(_M, _B)":    3 * most,
		bigAtom + "length(_M, 1000), maplist(=(_A), _M), term_to_atom(_M, _B)":         3 * most,
		bigAtom + "length(_M, 1000), maplist(=(_A), _M), format(atom(_B), '~w', [_M])": 3 * most,
		bigAtom + "length(_M, 1000), maplist(=(_A), _M), throw(_M)":                    3 * most,
		bigAtom + "throw(error(x, _A))":                                                3 * most,
		"length(_L, 20000), maplist(=(a), _L), atomic_list_concat(_L, ',', _A), length(_M, 50), maplist(=(_A), _M), atomic_list_concat(_M, _B), split_string(_B, \",\", \"\", _P)": 4 * most,
		"length(_L, 20000), maplist(=('ä'), _L), atomic_list_concat([x|_L], _A), throw(error(x, _A))":                                                                              3 * most,
		"X is 2 ** 100000000": 0,
		"X is 1 << 100000000": 0,
		"_X is 2 ** 1000000, length(_L, 1000), maplist(=(_X), _L), sum_list(_L, _S), format(atom(_A), '~D', [_X])": 4 * most,
		"findall(X, between(1, 10000000, X), _L)": 4 * most,
		"findall(x, between(1, 40000, _), _L), msort(_L, _M), sort(0, @>=, _L, _N), findall(_L, between(1, 100, _), _O)": 4 * most,
		"findall(X-_, between(1, 10000000, X), _L)":                                                                    4 * most,
		"aggregate_all(bag(X), between(1, 10000000, X), _L)":                                                           4 * most,
		"aggregate_all(r(count, bag(X), bag(X), bag(X), bag(X)), between(1, 100000, X), _L)":                           4 * most,
		"between(1, inf, N), atom_number(A, N), catch(A, _, fail)":                                                     64 * most,
		"between(1, inf, N), atom_number(A, N), nb_setval(A, N), fail":                                                 64 * most,
		"length(_L, 10000), maplist(=(a), _L), _T =.. [f|_L], bagof(x, (member(_, []), _B^_C^p(_T, _L), \\+ _L^q), _)": 4 * most,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := rowsOf(t, NewProgram(), question, Limits{Memory: most, Steps: 20_000_000})
		runtime.ReadMemStats(&after)
		t.Logf("%4d MB %v: %s", (after.TotalAlloc-before.TotalAlloc)>>20, err, question)
		if took := after.TotalAlloc - before.TotalAlloc; took > allowed+2*most {
			t.Errorf("%s: %d MB were taken, with %d MB at most at once: %v", question, took>>20, most>>20, err)
		}
		if err != nil && len(err.Error()) > 2*maxTold {
			t.Errorf("%s: the error has %d bytes", question, len(err.Error()))
		}
		if err != nil && !utf8.ValidString(err.Error()) {
			t.Errorf("%s: the error is cut within a character", question)
		}
	}
}

// Steps count what takes time: no question goes on for long between two looks at its limits, however it is made.
func TestTimeIsCounted(t *testing.T) {
	// What has itself as both parts, 60 deep, is 2^60 long.
	const shared = "grow(0, a). grow(N, f(X, X)) :- N > 0, M is N - 1, grow(M, X).\n"
	var names strings.Builder
	for i := range 30_000 {
		names.WriteString("A")
		names.WriteString(formatInt(Int(i)))
		names.WriteString(",")
	}
	for name, question := range map[string]string{
		"a name in a shared term":     "grow(60, X), rdf_global_term(X, _)",
		"a goal with a shared term":   "grow(60, X), G = rdf(X, _, _), call(G)",
		"an exception":                "grow(60, X), throw(X)",
		"an answer":                   "grow(60, X)",
		"a fact":                      "grow(60, X), assertz(p(X))",
		"a test":                      "grow(60, X), acyclic_term(X), ground(X), X \\== a, fail",
		"many variables":              "X = [" + names.String() + "b], fail",
		"characters to be left out":   "length(_L, 100000), maplist(=('ä'), _L), atomic_list_concat(_L, A), split_string(A, A, A, P), fail",
		"parts of a text":             "repeat, length(_L, 100000), maplist(=(ab), _L), atomic_list_concat(_L, _A), sub_atom(_A, _, _, _, b), fail",
		"comparisons of texts":        "length(_L, 100000), maplist(=(ab), _L), atomic_list_concat(_L, _A), atomic_list_concat(_L, _B), repeat, _A @< _B",
		"equal texts":                 "length(_L, 100000), maplist(=(ab), _L), atomic_list_concat(_L, _A), atomic_list_concat(_L, _B), repeat, _A = _B, fail",
		"common divisors":             "X is 3 ** 600000, Y is 7 ** 300000, repeat, Z is gcd(X, Y), Z < 0",
		"fractions":                   "X is 3 ** 600000, Y is 7 ** 300000, repeat, Z is X / Y, Z < 0",
		"a type":                      "X is 3 ** 600000, repeat, atomic(X), must_be(atomic, X), functor(X, X, 0), X =.. [X], fail",
		"a literal":                   "X is 3 ** 600000, repeat, rdf(a, b, literal(X)), fail",
		"a literal with a type":       "X is 3 ** 600000, repeat, rdf(a, b, literal(type(X, X))), fail",
		"a literal like another":      "X is 3 ** 600000, repeat, rdf(a, b, literal(ge(X), Y)), fail",
		"digits":                      "X is 3 ** 600000, repeat, atom_length(X, 1)",
		"digits in groups":            "X is 3 ** 600000, repeat, format(atom(A), '~D', [X]), fail",
		"what a condition depends on": "numlist(1, 5000, L), length(L, N), functor(T, f, N), T =.. [_|Vs], repeat, bagof(x, (member(_, []), p(Vs), Vs^q), _)",
	} {
		p := NewProgram()
		if err := p.AddRules("shared.pl", shared); err != nil {
			t.Fatal(err)
		}
		rows, err := rowsOf(t, p, question, Limits{Steps: 300_000, Memory: 32 << 20})
		t.Logf("%s: %v", name, err)
		if err != nil && engram.CodeOf(err) != engram.Exhausted && engram.CodeOf(err) != engram.Invalid || len(rows) > 0 {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
	}
}

// Long lists in clauses do not take a level of Go's stack for each element.
func TestLongListsInClauses(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20))
	rows, err := rowsOf(t, NewProgram(), "length(_L, 50000), assertz(p(_L, _L)), p(_M, _), length(_M, N), p(_M, _O), length(_O, O)", Limits{Memory: 1 << 30})
	if err != nil || len(rows) != 1 || !strings.Contains(rows[0], `{"N":50000,"O":50000}`) {
		t.Errorf("%v, %v", rows, err)
	}
}

// The question holds what it takes of what all may, and ends when the others leave it no more.
func TestQuestionsShareMemory(t *testing.T) {
	const most = 64 << 20
	b := knowledge.NewBudget(2 * most)
	other := b.Share()
	defer other.End()
	ask := func(question string) error {
		s := b.Share()
		defer s.End()
		var last error
		p := NewProgram()
		for _, err := range p.Ask(knowledge.WithShare(t.Context(), s), &knowledge.View{Graph: knowledge.NewGraph()}, question, Limits{Memory: most}) {
			last = err
		}
		return last
	}
	const large = "numlist(1, 400000, _L), length(_L, N)" // about 42 MB
	if err := ask(large); err != nil {
		t.Errorf("alone: %v", err)
	}
	if err := other.Hold(most); err != nil {
		t.Fatal(err)
	}
	if err := ask(large); engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), "32 MB of memory that other questions leave it") {
		t.Errorf("beside another: %v", err)
	}
	if err := ask("catch(numlist(1, 400000, _L), _, true)"); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("what nobody may catch: %v", err)
	}
	if err := ask("numlist(1, 10000, _L), length(_L, N)"); err != nil {
		t.Errorf("a small one: %v", err)
	}
	if err := ask("between(1, 1000000, N), N >= 1000000"); err != nil {
		t.Errorf("one that leaves garbage only: %v", err)
	}
}
