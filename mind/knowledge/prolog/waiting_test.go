package prolog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
)

// Goals that wait: the answers, with what is printed on the way, are those of SWI-Prolog 9.0.4.
func TestWaitingGoals(t *testing.T) {
	for question, want := range map[string]string{
		"freeze(X, writeln(a)), X = 1":                                                      `a {"X":1}`,
		"freeze(X, fail), X = 1":                                                            ``,
		"freeze(X, writeln(a)), freeze(X, writeln(b)), X = 1":                               `a b {"X":1}`,
		"freeze(X, writeln(a)), freeze(Y, writeln(b)), X = Y, writeln(c), X = 1":            `c a b {"X":1,"Y":1}`,
		"freeze(X, writeln(a)), freeze(X, writeln(b)), freeze(Y, writeln(c)), Y = X, X = 1": `a b c {"X":1,"Y":1}`,
		"freeze(X, writeln(a)), freeze(Y, writeln(b)), f(X, Y) = f(1, 2)":                   `a b {"X":1,"Y":2}`,
		"freeze(X, writeln(x(Y))), freeze(Y, writeln(y(X))), f(X, Y) = f(1, 2)":             `x(2) y(1) {"X":1,"Y":2}`,
		"freeze(X, freeze(Y, writeln(z))), X = 1, writeln(n), Y = 2":                        `n z {"X":1,"Y":2}`,
		"freeze(X, member(Y, [1,2])), X = a":                                                `{"X":"a","Y":1} {"X":"a","Y":2}`,
		"freeze(X, Y = 1), ( X = 1 ; X = 2 ; true )":                                        `{"X":1,"Y":1} {"X":2,"Y":1} note answer 3 holds if goals do that wait for values: freeze(X,Y=1) {}`,
		"freeze(X, (writeln(w), fail)), ( X = 1 -> Y = yes ; Y = no )":                      `w note answer 1 holds if goals do that wait for values: freeze(X,(writeln(w),fail)) {"Y":"no"}`,
		"freeze(X, throw(oops)), catch(X = 1, E, true), var(X)":                             `note answer 1 holds if goals do that wait for values: freeze(X,throw(oops)) {"E":"oops"}`,
		"freeze(X, !), ( X = 1 ; X = 2 )":                                                   `{"X":1} {"X":2}`,
		"freeze(_, 1)":                                                                      `note answer 1 holds if goals do that wait for values: freeze(_1,1) {}`,
		"freeze(a, X = 1)":                                                                  `{"X":1}`,
		"freeze(X, writeln(hi)), call((X = 1, writeln(then)))":                              `hi then {"X":1}`,
		"freeze(X, X > 1), member(X, [1,2,3])":                                              `{"X":2} {"X":3}`,
		"freeze(X, fail), findall(X, member(X, [1,2]), L), freeze(Y, true), Y = 1":          `note answer 1 holds if goals do that wait for values: freeze(X,fail) {"L":[],"Y":1}`,
		"freeze(X, fail), ( X \\= 1, \\+ X = 1, \\+ memberchk(X, [1,2]), \\+ unify_with_occurs_check(X, a) -> Y = 1 ; Y = 2 ), nonvar(Y), ignore(X = 1)": `note answer 1 holds if goals do that wait for values: freeze(X,fail) {"Y":1}`,
		"freeze(X, true), ( X \\= 1 -> Y = 1 ; Y = 2 ), X = 3":                             `{"X":3,"Y":2}`,
		"freeze(X, fail), ( subsumes_term(X, a) -> Y = 1 ; Y = 2 ), var(X), X == X":        `note answer 1 holds if goals do that wait for values: freeze(X,fail) {"Y":2}`,
		"freeze(X, Y = b), memberchk(X, [a]), Y == b":                                      `{"X":"a","Y":"b"}`,
		"freeze(X, true), freeze(X, fail), frozen(X, G), copy_term(X, _C, L), L = [_,_|T]": `note answer 1 holds if goals do that wait for values: freeze(X,true), freeze(X,fail) {"G":{"functor":",","args":[{"functor":"freeze","args":[null,"fail"]},{"functor":"freeze","args":[null,"true"]}]},"L":[{"functor":"freeze","args":[null,"true"]},{"functor":"freeze","args":[null,"fail"]}],"T":[]}`,
		"frozen(X, G), frozen(a, H)":                                                       `{"G":"true","H":"true"}`,
		"freeze(X, a(Y)), freeze(Y, b), frozen(X, G), X = Y, G = (freeze(A, _), freeze(B, _)), A == B, copy_term(X-Y, C, [_,_]), term_variables(C, [_])": `note`,
		"freeze(X, true), findall(X, true, [Y]), frozen(Y, G), G = freeze(Z, true), Z == Y, X \\== Y, Y = 1, X = 1":                                      `{"X":1,"Y":1,"G":{"functor":"freeze","args":[1,"true"]},"Z":1}`,
		"freeze(X, writeln(X)), copy_term(X, Y), Y = 1, X = 2":                                                                                           `1 2 {"X":2,"Y":1}`,
		"freeze(X, fail), assertz(foo(X)), foo(1), nb_setval(k, X), nb_getval(k, Y), ( Y = 1 -> true ; X \\== Y )":                                       `note`,
		"freeze(X, writeln(in)), T = f(_), setarg(1, T, X), T = f(1)":                                                                                    `in {"X":1,"T":{"functor":"f","args":[1]}}`,
		"b_setval(v, f(Y)), freeze(Y, writeln(y)), b_getval(v, f(3))":                                                                                    `y {"Y":3}`,

		"freeze(X, writeln(a)), maplist([Y]>>(X = Y, writeln(Y)), [1]), var(X)": `1 note answer 1 holds if goals do that wait for values: freeze(X,writeln(a)) {}`,
		"freeze(X, fail), assertz(foo(X)), foo(Y), frozen(Y, G), Y = 1":         `note answer 1 holds if goals do that wait for values: freeze(X,fail) {"Y":1,"G":"true"}`,
		"dif(a, b), \\+ dif(a, a), dif(f(_), g(_)), \\+ dif(X, X)":              `{}`,
		"dif(X, 1), dif(X, 2), member(X, [1,2,3,4])":                            `{"X":3} {"X":4}`,
		"dif(X, Y), X = Y":                    ``,
		"dif(X, Y), X = 1, Y = 1":             ``,
		"dif(X, Y), X = 1, Y = 2":             `{"X":1,"Y":2}`,
		"dif(X, f(Y)), X = f(Z), Z = Y":       ``,
		"dif(f(X, Y), f(1, 2))":               `note answer 1 holds if goals do that wait for values: dif(f(X,Y),f(1,2)) {}`,
		"dif(f(X, Y), f(1, 2)), X = 1":        `note answer 1 holds if goals do that wait for values: dif(Y,2) {"X":1}`,
		"dif(f(X, Y), f(1, 2)), Y = 2":        `note answer 1 holds if goals do that wait for values: dif(X,1) {"Y":2}`,
		"dif(f(X, Y), f(1, 2)), Y = 3":        `{"Y":3}`,
		"dif(f(X, Y), f(1, 2)), Y = 2, X = 1": ``,
		"dif(f(X, X), f(Y, Z)), Y = Z, X = Y": ``,
		"dif(X-Y, 1-2), X-Y = 1-2":            ``,
		"dif(A, B), dif(B, C), dif(A, C), member(A, [1,2]), member(B, [1,2]), member(C, [1,2,3])": `{"A":1,"B":2,"C":3} {"A":2,"B":1,"C":3}`,
		"dif(X, 1), frozen(X, G), G = dif(Y, 1), Y == X, X = 2":                                   `{"X":2,"G":{"functor":"dif","args":[2,1]},"Y":2}`,
		"( dif(X, 1) ; dif(X, 2) )": `note answer 1 holds if goals do that wait for values: dif(X,1) {} note answer 2 holds if goals do that wait for values: dif(X,2) {}`,

		"when(nonvar(X), Y = 1), X = f(_)":                                               `{"X":{"functor":"f","args":[null]},"Y":1}`,
		"when(ground(X), Y = 1), X = f(Z), writeln(n), Z = 2":                            `n {"X":{"functor":"f","args":[2]},"Y":1,"Z":2}`,
		"when(?=(X, Y), Z = 1), X = 1, writeln(n), Y = 2":                                `n {"X":1,"Y":2,"Z":1}`,
		"when(?=(X, Y), Z = 1), X = Y":                                                   `{"Z":1}`,
		"when(?=(f(X, Y), f(1, 2)), Z = 1), Y = 3":                                       `{"Y":3,"Z":1}`,
		"when((nonvar(X) ; nonvar(Y)), writeln(z)), Y = 1, X = 2":                        `z {"X":2,"Y":1}`,
		"when((nonvar(X), nonvar(Y)), writeln(z)), Y = 1, writeln(n), X = 2":             `n z {"X":2,"Y":1}`,
		"when(nonvar(a), Y = 1)":                                                         `{"Y":1}`,
		"when((nonvar(X) ; ground(Y)), fail), frozen(Y, G), G = when(C, _), C = (_ ; B)": `note`,
		"catch(when(_, true), error(E, _), true)":                                        `{"E":"instantiation_error"}`,
		"catch(when(foo, true), error(E, _), true)":                                      `{"E":{"functor":"domain_error","args":["when_condition","foo"]}}`,
		"when(ground(f(X, Y)), true), X = 1":                                             `note answer 1 holds if goals do that wait for values: when(ground(f(1,Y)),true) {"X":1}`,

		// What is changed is undone on the way back, in all terms that share it.
		"T = f(a), ( setarg(1, T, b), fail ; true )":                                              `{"T":{"functor":"f","args":["a"]}}`,
		"T = f(a), U = g(T), setarg(1, T, b), ( setarg(1, T, c), fail ; true )":                   `{"T":{"functor":"f","args":["b"]},"U":{"functor":"g","args":[{"functor":"f","args":["b"]}]}}`,
		"T = f(a, _), copy_term(T, U), setarg(1, T, b)":                                           `{"T":{"functor":"f","args":["b",null]},"U":{"functor":"f","args":["a",null]}}`,
		"T = f(_), setarg(1, T, Y), Y = 2":                                                        `{"T":{"functor":"f","args":[2]},"Y":2}`,
		"T = f(a), nb_setarg(1, T, g(Y)), Y = 2":                                                  `{"T":{"functor":"f","args":[{"functor":"g","args":[null]}]},"Y":2}`,
		"T = f(a), ( nb_setarg(1, T, b), fail ; true )":                                           `{"T":{"functor":"f","args":["b"]}}`,
		"T = [1,2,3], setarg(2, T, [])":                                                           `{"T":[1]}`,
		"catch(setarg(-1, f(a), b), error(E, _), true)":                                           `{"E":{"functor":"domain_error","args":["not_less_than_zero",-1]}}`,
		"setarg(0, f(a), b) ; setarg(2, f(a), b) ; setarg(1, a, b)":                               ``,
		"catch(setarg(1, _, b), error(E, _), true)":                                               `{"E":"instantiation_error"}`,
		"catch(setarg(x, f(a), b), error(E, _), true)":                                            `{"E":{"functor":"type_error","args":["integer","x"]}}`,
		"nb_setval(v, 1), ( b_setval(v, 2), b_getval(v, Y), writeln(Y), fail ; nb_getval(v, X) )": `2 {"X":1}`,
		"b_setval(v, f(Y)), b_getval(v, X), X = f(3)":                                             `{"Y":3,"X":{"functor":"f","args":[3]}}`,
		"( b_setval(v, a), fail ; catch(b_getval(v, _), error(E, _), true) )":                     `{"E":{"functor":"existence_error","args":["variable","v"]}}`,
		"catch(b_setval(f(x), 1), error(E, _), true)":                                             `{"E":{"functor":"type_error","args":["atom",{"functor":"f","args":["x"]}]}}`,
		"gensym(a, X), gensym(a, Y), reset_gensym(a), gensym(a, Z)":                               `{"X":"a1","Y":"a2","Z":"a1"}`,
		"gensym(a, _), gensym(b, _), reset_gensym, gensym(a, X), gensym(b, Y)":                    `{"X":"a1","Y":"b1"}`,
	} {
		var got []string
		for row, err := range prolog.NewProgram().Ask(t.Context(), of(knowledge.NewGraph()), question, patience, prolog.Notes(func(line string) {
			if strings.HasPrefix(line, "answer") {
				line = "note " + line
			}
			got = append(got, line)
		})) {
			if err != nil {
				got = append(got, err.Error())
				continue
			}
			text, _ := row.MarshalJSON()
			got = append(got, string(text))
		}
		joined := strings.Join(got, " ")
		if joined != want && (want != "note" || !strings.HasPrefix(joined, "note") || strings.Count(joined, "note") != 1) {
			t.Errorf("%s: got %s, want %s", question, joined, want)
		}
	}
}

// Goals that wait are those of the library, whatever rules define, and take what they take.
func TestLimitsOfWaitingGoals(t *testing.T) {
	p := prolog.NewProgram()
	const rules = `freeze(_, _) :- fail.
freeze(_) :- fail.
wait(X) :- when(nonvar(X), (Y = 1, wait(Y), Y = 1)).
again(X) :- dif(X, 1), again(X).
chain(X) :- when(nonvar(X), chain(_)), X = 1.
old(0) :- !.
old(N) :- when(nonvar(X), true), X = N, M is N - 1, old(M).
differ([]).
differ([X|Xs]) :- maplist(dif(X), Xs), differ(Xs).
mine :- when(nonvar(_), true), dif(_, a).
tried(N) :- between(1, N, _), mine, fail.
tried(_).
`
	if err := p.AddRules("mine.pl", rules); err != nil {
		t.Fatal(err)
	}
	limits := patience
	limits.Memory, limits.Steps = 2<<20, 0
	for _, question := range []string{"again(X)", "between(1, inf, N), dif(X, N), assertz(n(X)), fail", "length(L, 300), differ(L)", "repeat, findall(X, dif(X, 1), L), nb_getval(k, K), nb_setval(k, [L|K]), fail"} {
		if question[0] == 'r' {
			question = "nb_setval(k, []), " + question
		}
		_, err := ask(t, p, knowledge.NewGraph(), question, limits)
		if engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), "MB of memory") {
			t.Errorf("%s: %v", question, err)
		}
	}
	limits = patience
	limits.Steps = 50_000
	for _, question := range []string{"wait(X), X = 1", "chain(X)"} {
		if _, err := ask(t, p, knowledge.NewGraph(), question, limits); engram.CodeOf(err) != engram.Exhausted {
			t.Errorf("%s: %v", question, err)
		}
	}
	limits.Memory, limits.Steps = 4<<20, 0
	for question, want := range map[string]string{
		"old(30000)":   `{}`, // what was waited for and has come takes nothing
		"tried(30000)": `{}`, // nor does what waits for what is gone
		"\\+ freeze(X, true), when(nonvar(X), Y = 1), X = 1":              `{"X":1,"Y":1}`,
		"length(L, 100), differ(L), numlist(1, 100, L), L = [A|_]":        `first`,
		"length(L, 100), differ(L), numlist(1, 99, N), append(N, [1], L)": ``,
	} {
		got, err := ask(t, p, knowledge.NewGraph(), question, limits)
		if err != nil || want == "first" && len(got) != 1 || want != "first" && strings.Join(got, " ") != want {
			t.Errorf("%s: %.200s, %v", question, got, err)
		}
	}
	if got, err := ask(t, p, knowledge.NewGraph(), "length(_Q, 6), differ(_Q), maplist([X]>>member(X, [1,2,3,4,5,6]), _Q)", patience); err != nil || len(slices.Compact(got)) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
