package prolog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// of is the view of a graph.
func of(g *knowledge.Graph) *knowledge.View { return &knowledge.View{Graph: g} }

// ask returns the rows of a question as JSON.
func ask(t *testing.T, p *prolog.Program, g *knowledge.Graph, question string, limits prolog.Limits) ([]string, error) {
	t.Helper()
	rows := []string{}
	for row, err := range p.Ask(context.Background(), of(g), question, limits) {
		if err != nil {
			return rows, err
		}
		b, err := json.Marshal(row)
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		rows = append(rows, string(b))
	}
	return rows, nil
}

var patience = prolog.Limits{Steps: 20_000_000, Memory: 64 << 20}

// The language without facts: rows separated by spaces.
func TestLanguage(t *testing.T) {
	p := prolog.NewProgram()
	for question, want := range map[string]string{
		"true":                                  `{}`,
		"fail":                                  ``,
		"?- X = 1.":                             `{"X":1}`,
		"X = 1 ; X = 2":                         `{"X":1} {"X":2}`,
		"member(X, [a, b, a])":                  `{"X":"a"} {"X":"b"}`,
		"_X = 1, Y = _X":                        `{"Y":1}`,
		"X = Y":                                 `{}`,
		"X = \"text\"":                          `{"X":"text"}`,
		"X = 'it''s'":                           `{"X":"it's"}`,
		"X is 7 // 2, Y is -7 mod 3":            `{"X":3,"Y":2}`,
		"X is 2 ** 10, Y is 2 ** 0.5":           `{"X":1024,"Y":1.4142135623730951}`,
		"X is 7 / 2, Y is 8 / 2":                `{"X":3.5,"Y":4}`,
		"X = f(Y, g), Y = 1":                    `{"X":{"functor":"f","args":[1,"g"]},"Y":1}`,
		"X = [1,2|3]":                           `{"X":{"functor":"[|]","args":[1,{"functor":"[|]","args":[2,3]}]}}`,
		"X = [[1|a],b|f(Y)]":                    `{"X":{"functor":"[|]","args":[{"functor":"[|]","args":[1,"a"]},{"functor":"[|]","args":["b",{"functor":"f","args":[null]}]}]}}`,
		"X = [1,2|_]":                           `{"X":[1,2,null]}`,
		"X = '[|]'(1,[2]), Z = '[|]'(1)":        `{"X":[1,2],"Z":{"functor":"[|]","args":[1]}}`,
		"X = literal(type(a, b))":               `{"X":{"literal":"b","type":"a"}}`,
		"X = [lang(en, b), literal(c)]":         `{"X":[{"value":"b","lang":"en"},{"literal":"c"}]}`,
		"( fail -> X = 1 ; X = 2 )":             `{"X":2}`,
		"( member(X, [1,2]) -> true ; X = 3 )":  `{"X":1}`,
		"( member(X, [1,2]) *-> true ; X = 3 )": `{"X":1} {"X":2}`,
		"( fail *-> true ; X = 3 )":             `{"X":3}`,
		"( true -> fail ; X = 1 )":              ``,
		"( fail -> true )":                      ``,
		"\\+ fail, \\+ \\+ X = 1":               `{}`,
		"\\+ member(3, [1,2])":                  `{}`,
		"findall(X-Y, (member(X,[1,2]), member(Y,[a,b])), L), length(L, N)": `{"L":[{"functor":"-","args":[1,"a"]},{"functor":"-","args":[1,"b"]},{"functor":"-","args":[2,"a"]},{"functor":"-","args":[2,"b"]}],"N":4}`,
		"findall(X, fail, L)":                                                     `{"L":[]}`,
		"findall(X, member(X,[1]), L, [2])":                                       `{"L":[1,2]}`,
		"setof(X, member(X, [c,a,b,a]), L)":                                       `{"L":["a","b","c"]}`,
		"setof(X, Y^member(X-Y, [b-1,a-2]), L)":                                   `{"L":["a","b"]}`,
		"setof(X, member(X-Y, [b-1,a-2,c-1]), L)":                                 `{"Y":1,"L":["b","c"]} {"Y":2,"L":["a"]}`,
		"bagof(X, member(X, []), L)":                                              ``,
		"bagof(X, member(X, [b,a,b]), L)":                                         `{"L":["b","a","b"]}`,
		"aggregate_all(count, member(_, [a,b]), N)":                               `{"N":2}`,
		"aggregate_all(count, fail, N)":                                           `{"N":0}`,
		"aggregate_all(sum(X), member(X, [1,2,3]), S)":                            `{"S":6}`,
		"aggregate_all(max(X), member(X, [1,3,2]), S)":                            `{"S":3}`,
		"aggregate_all(max(X), fail, S)":                                          ``,
		"aggregate_all(max(X, Y), member(X-Y, [1-a,3-b]), max(M, W))":             `{"M":3,"W":"b"}`,
		"aggregate_all(min(X), member(X, [2,1.5]), S)":                            `{"S":1.5}`,
		"aggregate_all(bag(X), member(X, [b,a,b]), S)":                            `{"S":["b","a","b"]}`,
		"aggregate_all(set(X), member(X, [b,a,b]), S)":                            `{"S":["a","b"]}`,
		"aggregate_all(r(count, max(X)), member(X, [1,2]), r(N, M))":              `{"N":2,"M":2}`,
		"forall(member(X, [1,2]), X > 0)":                                         `{}`,
		"forall(member(X, [1,2]), X > 1)":                                         ``,
		"append(X, [c], [a,b,c])":                                                 `{"X":["a","b"]}`,
		"append(X, Y, [a])":                                                       `{"X":[],"Y":["a"]} {"X":["a"],"Y":[]}`,
		"last([a,b], X), reverse([a,b], R), nth0(1, [a,b], Y), nth1(1, [a,b], Z)": `{"X":"b","R":["b","a"],"Y":"b","Z":"a"}`,
		"nth1(I, [a,b], b)":                                                       `{"I":2}`,
		"memberchk(X, [a,b])":                                                     `{"X":"a"}`,
		"length(L, 2), L = [a|_]":                                                 `{"L":["a",null]}`,
		"sort(0, @>=, [1,3,2,3], L)":                                              `{"L":[3,3,2,1]}`,
		"sort(1, @<, [f(2),f(1),f(2)], [f(X)|_])":                                 `{"X":1}`,
		"msort([b,a,b], L)":                                                       `{"L":["a","b","b"]}`,
		"predsort([O,A,B]>>compare(O,A,B), [b,a], L)":                             `{"L":["a","b"]}`,
		"predsort(compare, [b,a,b], L)":                                           `{"L":["a","b"]}`,
		"sum_list([1,2.5], S), max_list([1,3,2], M), min_list([2,1], N)":          `{"S":3.5,"M":3,"N":1}`,
		"exclude([X]>>(X > 1), [1,2], L), foldl([X,A,B]>>(B is A + X), [1,2], 0, S), N = 2, maplist({N}/[X,Y]>>(Y is X * N), [1], M)": `{"L":[1],"S":3,"N":2,"M":[2]}`,
		"include(integer, [1,a,2], L), exclude(integer, [1,a], E)":                                                                    `{"L":[1,2],"E":["a"]}`,
		"maplist(succ, [1,2], L)":              `{"L":[2,3]}`,
		"maplist(atom_number, ['1','2.5'], L)": `{"L":[1,2.5]}`,
		"foldl(plus, [1,2,3], 0, S)":           `{"S":6}`,
		"between(1, 3, X)":                     `{"X":1} {"X":2} {"X":3}`,
		"between(1, inf, X), X * X > 10, !":    `{"X":4}`,
		"succ(X, 4), succ(4, Y)":               `{"X":3,"Y":5}`,
		"atom_number('0x1A', X)":               `{"X":26}`,
		"atom_number('1e3', X)":                `{"X":1000.0}`,
		"atom_number(' 1', X)":                 ``,
		"atom_number('-5', X)":                 `{"X":-5}`,
		"atom_number(a, X)":                    ``,
		"atom_number(X, 5)":                    `{"X":"5"}`,
		"atom_concat(a, b, X), atom_concat(a, Y, abc), atom_concat(Z, c, abc)": `{"X":"ab","Y":"bc","Z":"ab"}`,
		"atom_concat(X, Y, ab)": `{"X":"","Y":"ab"} {"X":"a","Y":"b"} {"X":"ab","Y":""}`,
		"atomic_list_concat([a,1,b], X), atomic_list_concat([a,b], '-', Y), atomic_list_concat(Z, '-', 'x-y')": `{"X":"a1b","Y":"a-b","Z":["x","y"]}`,
		"sub_atom(abcab, B, 2, A, ab)":                                     `{"B":0,"A":3} {"B":3,"A":0}`,
		"sub_atom(abc, 1, L, 0, S)":                                        `{"L":2,"S":"bc"}`,
		"sub_atom('Küche', 1, 1, A, S)":                                    `{"A":3,"S":"ü"}`,
		"sub_atom(ab, B, 1, _, S)":                                         `{"B":0,"S":"a"} {"B":1,"S":"b"}`,
		"findall(S, sub_atom(abc,_,_,_,S), L), length(L, N), L = [_|_]":    `{"L":["","a","ab","abc","","b","bc","","c",""],"N":10}`,
		"atom_codes(X, \"ab\"), atom_length(abc, N), upcase_atom('aß', U)": `{"X":"ab","N":3,"U":"Aß"}`,
		`split_string("//a//b//", "/", "/", L), split_string("  a b ", " ", " ", M), split_string("a,,b", ",", "", N)`: `{"L":["a","b"],"M":["a","b"],"N":["a","","b"]}`,
		`format(atom(A), "~t~w~10||~w~t~8+|~t~2f~8+", [right, left, 3.14159])`:                                         `{"A":"     right|left   |   3.14"}`,
		`format(atom(A), "~` + "`" + `-t~5|~D ~2d ~8r ~c~*c ~e", [1234567, 1234, 64, 104, 2, 0'x, 1.5])`:               `{"A":"-----1,234,567 12.34 100 hxx 1.500000e+00"}`,
		"X is 2 ** -1, Y is max(1, 1.0), Z is min(1.0, 1), W is 2 ^ -1":                                                `{"X":0.5,"Y":1.0,"Z":1.0,"W":0.5}`,
		"list_to_assoc([k-1,a-2], A), put_assoc(z, A, 3, _B), get_assoc(k, _B, X), assoc_to_list(_B, L), \\+ get_assoc(y, _B, _), findall(K, (between(1, 100, I), K = I), _Ks), pairs_keys_values(_Ps, _Ks, _Ks), list_to_assoc(_Ps, _C), get_assoc(77, _C, Y), max_assoc(_C, M, _), A = t(_, _, _, _, _)": `{"A":{"functor":"t","args":["k",1,"\u003c",{"functor":"t","args":["a",2,"-","t","t"]},"t"]},"X":1,"L":[{"functor":"-","args":["a",2]},{"functor":"-","args":["k",1]},{"functor":"-","args":["z",3]}],"Y":77,"M":100}`,
		"nb_setval(n, 0), forall(member(_, [a,b]), ( nb_getval(n, N), M is N + 1, nb_setval(n, M) )), nb_getval(n, V)":                                                                 `{"V":2}`,
		"aggregate(count, X^member(X-Y, [a-1,b-2,c-1]), N)":                                                                                                                            `{"Y":1,"N":2} {"Y":2,"N":1}`,
		"order_by([desc(X)], member(X, [1,3,2]))":                                                                                                                                      `{"X":3} {"X":2} {"X":1}`,
		"findall(X, distinct(X, member(X, [a,b,a])), L), call_nth(member(Y, [a,b,c]), 2), findall(Z, offset(1, member(Z, [a,b,c])), M)":                                                `{"L":["a","b"],"Y":"b","M":["b","c"]}`,
		"f(X, Y) =@= f(A, B), f(X, X) \\=@= f(A, B), subsumes_term(f(_), f(a)), \\+ subsumes_term(f(a), f(_)), numbervars(g(P, Q), 0, E)":                                              `{"P":{"functor":"$VAR","args":[0]},"Q":{"functor":"$VAR","args":[1]},"E":2}`,
		"char_type(a, alpha), char_type(X, digit(5)), code_type(0'a, alnum), string_code(1, abc, C), sub_atom_icasechk('Hello World', S, world), normalize_space(atom(N), '  a   b ')": `{"X":"5","C":97,"S":6,"N":"a b"}`,
		"must_be(integer, 3), is_of_type(oneof([a,b]), a), catch(must_be(integer, a), error(E, _), true), catch(must_be(list, _), error(F, _), true)":                                  `{"E":{"functor":"type_error","args":["integer","a"]},"F":"instantiation_error"}`,
		"partition([X,C]>>compare(C, X, 2), [1,2,3], L, E, G), transpose_pairs([a-2,b-1], T)":                                                                                          `{"L":[1],"E":[2],"G":[3],"T":[{"functor":"-","args":[1,"b"]},{"functor":"-","args":[2,"a"]}]}`,
		"A is 2^100, B is 9223372036854775807 + 1, C is -9223372036854775807 - 2, D is 123456789012345678901234567890 mod 97, E is A // 3, F is A / 2^98":                              `{"A":1267650600228229401496703205376,"B":9223372036854775808,"C":-9223372036854775809,"D":52,"E":422550200076076467165567735125,"F":4}`,
		"A is 1 << 70 >> 69, B is -(-9223372036854775808), C is -7 * 10**20 div 3, D is gcd(10**30, 6), E is truncate(1.0e20), F is 10**20 - 10**20 + 1":                               `{"A":2,"B":9223372036854775808,"C":-233333333333333333334,"D":2,"E":100000000000000000000,"F":1}`,
		"X = 92233720368547758070, integer(X), number(X), atom_number(A, X), atom_number(A, Y), X == Y, X = Y, X > 1, X =\\= 1.0, X < inf, -X < X":                                     `{"X":92233720368547758070,"A":"92233720368547758070","Y":92233720368547758070}`,
		"assertz(p(92233720368547758070, a)), X is 92233720368547758069 + 1, p(X, Y), sort([X, 1, 92233720368547758069, X, 1.0e30], L), term_to_atom(f(X, - 1), A)":                    `{"X":92233720368547758070,"Y":"a","L":[1,92233720368547758069,92233720368547758070,1e+30],"A":"f(92233720368547758070,- 1)"}`,
		"catch(_ is msb(-(10 ** 30)), error(E, _), true)":                                                                                                                              `{"E":{"functor":"type_error","args":["not_less_than_one",-1000000000000000000000000000000]}}`,
		"X is 3 ** -1, Y is (10 ** 30) / (10 ** 29 * 4), Z is max(10 ** 20, 1.0), W is (2 ** 64) ** 0.5":                                                                               `{"X":0.3333333333333333,"Y":2.5,"Z":100000000000000000000,"W":4.294967296e+09}`,
		"A is lsb(12), B is popcount(255), C is getbit(5, 2), D is lcm(4, 6), E is erf(0.0), F is trunc(2.5), _R is random(3), between(0, 2, _R)":                                      `{"A":2,"B":8,"C":1,"D":12,"E":0.0,"F":2}`,
		"term_to_atom((a:-b,c;d->X=1+2,Y is 2**3), A)":                                                                                                                                 `{"A":"a:-b,c;d-\u003e_1=1+2,_2 is 2**3"}`,
		"term_to_atom(f(X, 'A b', [1]), A)":                                    `{"A":"f(_1,'A b',[1])"}`,
		"term_to_atom(T, 'g(X, Y, X)'), T = g(1, 2, Z)":                        `{"T":{"functor":"g","args":[1,2,1]},"Z":1}`,
		"number_codes(X, \"12\")":                                              `{"X":12}`,
		"format(atom(A), '~w-~q ~2d~n', [a, 'B', 314])":                        `{"A":"a-'B' 3.14\n"}`,
		"split_string(\"a, b\", \",\", \" \", [X|_])":                          `{"X":"a"}`,
		"catch(throw(my(1)), my(X), true)":                                     `{"X":1}`,
		"catch(X is a + 1, error(type_error(T, _), _), true)":                  `{"T":"evaluable"}`,
		"catch(member(X, [1,2]), _, true), X > 1":                              `{"X":2}`,
		"catch((member(X, [1,2]), X > 1, throw(found(X))), found(Y), true)":    `{"Y":2}`,
		"catch(catch(throw(a), b, true), X, true)":                             `{"X":"a"}`,
		"catch(throw(a), a, fail) ; X = 1":                                     `{"X":1}`,
		"assertz((p(X) :- X > 1)), assertz(p(0)), member(Y, [0,1,2]), p(Y)":    `{"Y":0} {"Y":2}`,
		"assertz(q(1)), assertz(q(2)), retract(q(1)), findall(X, q(X), L)":     `{"L":[2]}`,
		"assertz(n(0)), retractall(n(_)), \\+ n(_)":                            `{}`,
		"assertz((r(N) :- N > 0, M is N - 1, r(M))), assertz(r(0)), r(100000)": `{}`,
		"copy_term(f(X, Y, X), f(1, B, A))":                                    `{"A":1}`,
		"f(a, B) =.. [F|L]":                                                    `{"F":"f","L":["a",null]}`,
		"functor(f(a, b), N, A), arg(2, f(a, b), X)":                           `{"N":"f","A":2,"X":"b"}`,
		"once(member(X, [1,2])), ignore(fail), call(=, Y, 3)":                  `{"X":1,"Y":3}`,
		"G = member(X, [1,2]), call(G)":                                        `{"G":{"functor":"member","args":[1,[1,2]]},"X":1} {"G":{"functor":"member","args":[2,[1,2]]},"X":2}`,
		"X = a, ( X == a, ! ; X = b )":                                         `{"X":"a"}`,
		"call((member(X, [1,2,3]), !))":                                        `{"X":1}`,
		"\\+ (member(X, [1,2]), !, X > 1)":                                     `{}`,
		"limit(2, member(X, [a,b,c]))":                                         `{"X":"a"} {"X":"b"}`,
		"X = 0'a, Y = 0'''":                                                    `{"X":97,"Y":39}`,
		"X = [1,2|T], T = [3]":                                                 `{"X":[1,2,3],"T":[3]}`,
		"X = - 1, Y is - 1, Z = -1, W is 3 - -1":                               `{"X":{"functor":"-","args":[1]},"Y":-1,"Z":-1,"W":4}`,
		"X = (a :- b, c ; d -> e)":                                             `{"X":{"functor":":-","args":["a",{"functor":";","args":[{"functor":",","args":["b","c"]},{"functor":"-\u003e","args":["d","e"]}]}]}}`,
		"X is max(1, 2.0), Y is truncate(2.7), Z is abs(-3)":                   `{"X":2.0,"Y":2,"Z":3}`,
		"1 =:= 1.0, 1 \\== 1.0, 1.0 @< 1, a @< b, f @< f(a)":                   `{}`,
		"X = 'a\\tb\\x41\\'":                                                   `{"X":"a\tbA"}`,
		"dif(a, b), \\+ dif(a, a)":                                             `{}`,
		"subtract([a,b], [b], L), list_to_set([a,b,a], S), sumlist([1], N)":    `{"L":["a"],"S":["a","b"],"N":1}`,
		"X = 1, % a comment\n /* another */ Y = 2":                             `{"X":1,"Y":2}`,
		"flatten([a,[b,[c]],[]], L)":                                           `{"L":["a","b","c"]}`,
		"pairs_keys_values(P, [a], [1]), P = [K-V]":                            `{"P":[{"functor":"-","args":["a",1]}],"K":"a","V":1}`,
	} {
		got, err := ask(t, p, knowledge.NewGraph(), question, patience)
		if err != nil {
			t.Errorf("%s: %v", question, err)
		} else if joined := strings.Join(got, " "); joined != want {
			t.Errorf("%s\n got %s\nwant %s", question, joined, want)
		}
	}
}

// What is wrong is said, with its column.
func TestErrors(t *testing.T) {
	p := prolog.NewProgram()
	for question, want := range map[string]string{
		"":                          "there is nothing to read",
		"X = ":                      "column 5: a term is wanted here, not the end",
		"X = 1, foo(X)":             "column 8: there is no predicate foo/1",
		"rdf_haz(X, rdfs:label, Y)": "column 1: there is no predicate rdf_haz/3; did you mean rdf_has?",
		"p(X) :- q(X)":              "there is no predicate :-/2: a rule stands in a file of rules, or is asserted for one question by assertz/1",
		"atom_number(X)":            "there is no predicate atom_number/1; there is atom_number/2",
		"X = 1, Y is X / 0":         "column 10: division by zero",
		"true, findall(X, (member(X, [1]), Y is foo + X), L)": "column 37: foo/0 is nothing that can be computed",
		"member(X, [1,2)":             "column 15: an operator or ] is wanted here, not )",
		"X = 'abc":                    "column 5: the quote ' that begins here does not end",
		"p(X) q(X)":                   "column 6: an operator or the end is wanted here, not q",
		"rdf_has(X, nowrob:label, Y)": "column 1: there is no prefix nowrob; did you mean knowrob?",
		"X is Y + 1":                  "column 3: a variable has no value yet",
		"throw(my_error)":             "column 1: not caught: my_error",
		"true,\n  foo":                "there is no predicate foo/0",
		"true,\n  foo(1)":             "line 2, column 3: there is no predicate foo/1",
		"maplist(foo, [1])":           "column 1: there is no predicate foo/1",
		"call(1)":                     "a goal is wanted, not 1",
		"atom_length(X, Y)":           "a variable has no value yet",
		"X = a. Y = b":                "column 8: there is more after the full stop",
	} {
		_, err := ask(t, p, knowledge.NewGraph(), question, patience)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", question, err, want)
		} else if engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%q: code %v", question, engram.CodeOf(err))
		}
	}
}

// What was asserted is found by its first argument, whatever changes.
func TestManyAssertedFacts(t *testing.T) {
	p := prolog.NewProgram()
	rules := ":- dynamic q/2.\n"
	for i := range 100 {
		rules += fmt.Sprintf("q(k%d, %d).\n", i, i)
	}
	if err := p.AddRules("facts.pl", rules); err != nil {
		t.Fatal(err)
	}
	const fill = "forall(between(1, 20000, X), (Y is X * 2, assertz(p(X, Y)))), "
	for question, want := range map[string]string{
		fill + "forall(between(1, 20000, X), (p(X, Y), Y =:= X * 2)), p(19999, Z)":                                                                  `{"Z":39998}`,
		fill + "assertz(p(19999, a)), asserta(p(19999, b)), assertz(p(_, c)), findall(Z, p(19999, Z), L)":                                           `{"L":["b",39998,"a","c"]}`,
		fill + "retract(p(10, _)), \\+ p(10, _), retractall(p(11, _)), \\+ p(11, _), assertz(p(11, x)), p(11, Z), aggregate_all(count, p(_, _), N)": `{"Z":"x","N":19999}`,
		"q(k7, X), assertz(q(k7, more)), findall(Y, q(k7, Y), L), retract(q(k8, _)), \\+ q(k8, _), q(Z, 9)":                                         `{"X":7,"L":[7,"more"],"Z":"k9"}`,
		"q(k8, X), \\+ q(k100, _), aggregate_all(count, q(_, _), N)":                                                                                `{"X":8,"N":100}`,
		"assertz(r(f(1), a)), forall(between(1, 20, I), assertz(r(f(I), I))), findall(X, r(f(1), X), L), findall(X, r(g(_), X), M)":                 `{"L":["a",1],"M":[]}`,
	} {
		got, err := ask(t, p, knowledge.NewGraph(), question, prolog.Limits{Time: time.Minute, Steps: 2_000_000, Memory: 256 << 20})
		if joined := strings.Join(got, " "); err != nil || joined != want {
			t.Errorf("%s: got %s, %v, want %s", question, joined, err, want)
		}
	}
}

// Many answers come once each, in whatever order facts give them.
func TestManyAnswers(t *testing.T) {
	g := knowledge.NewGraph()
	part := rdf.NewIRI("part")
	g.Add(rdf.Triple{S: part, P: rdf.NewIRI(rdf.NS + "type"), O: rdf.NewIRI(rdf.NSOWL + "TransitiveProperty")})
	for i := range 2000 {
		if i%4 > 0 {
			g.Add(rdf.Triple{S: rdf.NewIRI(fmt.Sprint("n", i-1)), P: part, O: rdf.NewIRI(fmt.Sprint("n", i))})
		}
	}
	rows, err := ask(t, prolog.NewProgram(), g, "owl_has(A, part, B)", patience)
	if err != nil || len(rows) != 3000 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// Programs that want to harm end with an error, and the next question is answered.
func TestHostilePrograms(t *testing.T) {
	patience := patience
	patience.Memory = int64(testkit.Repeats(8, 64)) << 20
	patience.Steps = int64(testkit.Repeats(5, 20)) * 1e6
	p := prolog.NewProgram()
	for question, want := range map[string]string{
		"repeat, fail":                                                   fmt.Sprintf("takes more than %d steps", patience.Steps),
		"assertz((p :- p)), p":                                           "takes more than",
		"assertz((p :- p, q)), assertz(q), p":                            "takes more than",
		"assertz((p(X) :- p(f(X)))), p(a)":                               "takes more than",
		"assertz((p(X) :- p([X|X]))), p(a)":                              "takes more than",
		"assertz((p :- assertz(q(a)), p)), p":                            "takes more than",
		"length(L, N), N < 0":                                            "takes more than",
		"length(L, 1000000000000)":                                       "takes more than",
		"findall(X, repeat, L)":                                          "takes more than",
		"findall(X, between(1, inf, X), L)":                              "takes more than",
		"numlist(1, 1000000000, L)":                                      "takes more than",
		"functor(X, f, 1000000000)":                                      "an arity is wanted",
		"assertz((d(A) :- atom_concat(A, A, B), d(B))), d(abcdefghijkl)": "takes more than",
		"assertz((d(A) :- atomic_list_concat([A,A,A], B), d(B))), d(abcdefghijkl)": "takes more than",
		"X = f(X), Y = f(Y), X = Y":            "takes more than",
		"X = f(X), copy_term(X, Y)":            "takes more than",
		"X = f(X)":                             "nested too deeply",
		"X = [a|X]":                            "takes more than",
		"X = f(X, a), Y = f(Y, a), X == Y":     "nested too deeply",
		"X = f(X), assertz(p(X))":              "takes more than",
		"X is 1 / 0":                           "division by zero",
		"X is 5 mod 0":                         "division by zero",
		"X is 2 ** 100000000":                  "more than 1048576 bits",
		"X is 1 << 1000000000":                 "more than 1048576 bits",
		"assertz((append(a, b, c) :- true))":   "belongs to the language",
		"assertz((true :- fail))":              "belongs to the language",
		"assertz((a, b))":                      "belongs to the language",
		"retract((member(_, _) :- _))":         "belongs to the language",
		"retractall(rdf(_, _, _))":             "belongs to the language",
		"clause(append(_, _, _), B)":           "belongs to the language",
		"open('/etc/passwd', read, S)":         "neither read nor write files",
		"consult('/etc/passwd')":               "neither read nor write files",
		"shell('id')":                          "run no programs",
		"halt":                                 "run no programs",
		"set_prolog_flag(double_quotes, atom)": "do not change the system",
		"op(700, xfx, foo)":                    "do not change the system",
		"rdf_reset_db":                         "questions change no facts but their own",
		"recorda(a, b)":                        "no such variables",
		"catch(assertz((p :- p)), _, true), catch(p, _, true)":                       "takes more than",
		"catch((length(L, N), N < 0), _, true)":                                      "takes more than",
		"X = (a, X), setof(Y, X, L)":                                                 "nested too deeply",
		"X = (X, a), setof(Y, X, L)":                                                 "nested too deeply",
		"X = Y^X, setof(Y, X, L)":                                                    "takes more than",
		"X = r(X), aggregate_all(X, true, L)":                                        "wanted",
		"X = (X, X), call(X)":                                                        "takes more than",
		"atom_length(A, B), fail ; repeat, fail":                                     "no value yet",
		"assertz((w(N) :- M is N + 1, w(M), true)), w(0)":                            "takes more than",
		"between(1, 1000000, X), atom_codes(A, \"abc\"), fail ; sort(0, bad, [], _)": "an order is wanted",
		// What was retracted is kept for choices.
		"assertz((hog :- assertz(c(a)), \\+ \\+ (length(L, 100), assertz(c(L))), c(_), retractall(c(_)), hog)), hog": fmt.Sprintf("takes more than %d MB of memory", patience.Memory>>20),
		strings.Repeat("(", 100000) + "a" + strings.Repeat(")", 100000):                                              "too deep",
		"X = " + strings.Repeat("[", 100000):                                                                         "too deep",
		strings.Repeat("\\+ ", 100000) + "true":                                                                      "too deep",
		"X = " + strings.Repeat("- ", 100000) + "1":                                                                  "too deep",
		strings.Repeat("a,", 100000) + "a":                                                                           "too deep",
	} {
		start := time.Now()
		shown := question[:min(len(question), 80)]
		_, err := ask(t, p, knowledge.NewGraph(), question, patience)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", shown, err, want)
		}
		t.Logf("%-60s %v", shown, time.Since(start).Round(time.Millisecond))
		if got, err := ask(t, p, knowledge.NewGraph(), "append([a], [b], X), \\+ catch(p, _, fail), \\+ catch(q(_), _, fail)", patience); err != nil || !slices.Equal(got, []string{`{"X":["a","b"]}`}) {
			t.Fatalf("after %s: %s, %v", shown, got, err)
		}
	}
}

// The time limit and the caller's context end a question that does not end.
func TestTimeEndsQuestions(t *testing.T) {
	p := prolog.NewProgram()
	_, err := ask(t, p, knowledge.NewGraph(), "repeat, fail", prolog.Limits{Time: time.Millisecond})
	if engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range p.Ask(ctx, of(knowledge.NewGraph()), "X = 1 ; repeat, fail", prolog.Limits{}) {
		if err != nil && engram.CodeOf(err) != engram.Canceled {
			t.Errorf("got %v", err)
		}
		cancel()
	}
}

// One program answers many questions at once.
func TestQuestionsAtOnce(t *testing.T) {
	p := prolog.NewProgram()
	if err := p.AddRules("mine.pl", "f(g(1), [a, b]). f(g(X), [c|T]) :- f(g(X), T). :- dynamic d/1."); err != nil {
		t.Fatal(err)
	}
	g := knowledge.NewGraph()
	for i := range 2000 {
		g.Add(rdf.Triple{S: rdf.NewIRI(fmt.Sprint("s", i)), P: rdf.NewIRI("p"), O: rdf.NewText("o")})
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for question, want := range map[string]int{
				"f(g(X), [c, c, a, b])":                              1,
				"rdf(S, p, literal(o))":                              2000,
				"once(rdf(S, p, _))":                                 1,
				"assertz(d(1)), d(X), findall(Y, d(Y), [_])":         1,
				"findall(S, rdf(S, p, _), L), length(L, 2000), fail": 0,
			} {
				n := 0
				for _, err := range p.Ask(t.Context(), of(g), question, prolog.Limits{Memory: 4 << 20}) {
					if err != nil {
						t.Errorf("%s: %v", question, err)
					}
					n++
				}
				if n != want {
					t.Errorf("%s: %d rows", question, n)
				}
			}
		})
	}
	all.Wait()
}

// What KnowRob and the semweb library have beside the look-ups.
func TestDescriptions(t *testing.T) {
	const text = `@prefix k: <http://e/k#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
owl:Restriction rdfs:subClassOf owl:Class .
k:Oven a owl:Class ; rdfs:subClassOf k:Box , [ a owl:Restriction ; owl:onProperty k:has ; owl:someValuesFrom k:Heat ] ;
  owl:disjointWith k:Fridge ; rdfs:label "Ofen"@de , "oven" .
k:Box a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty k:doors ; owl:minCardinality "1"^^xsd:nonNegativeInteger ] .
k:Fridge a owl:Class . k:Heat a owl:Class .
k:Any a owl:Class ; owl:unionOf ( k:Oven k:Fridge ) . k:No a owl:Class ; owl:complementOf k:Oven . k:These a owl:Class ; owl:oneOf ( k:a k:b ) .
k:a a k:Oven ; owl:sameAs k:c ; k:size 3 ; k:small 1 . k:small rdfs:subPropertyOf k:size . k:b a k:Fridge .
k:part owl:inverseOf k:of . k:a k:of k:b . k:d k:size 4 ; k:small 4 ; k:near k:c .
k:Twice rdfs:subClassOf [ a owl:Restriction ; owl:onProperty k:has ; owl:hasValue k:a ; owl:minCardinality 2 ] .
k:Half a owl:Class ; owl:unionOf ( k:Oven [ owl:complementOf k:Oven ] ) .
`
	g := knowledge.NewGraph()
	if _, err := rdf.Read(strings.NewReader(text), rdf.Turtle, rdf.ReadOptions{Name: "test"}, func(q rdf.Quad) error {
		g.Add(q.Triple)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	p := prolog.NewProgram()
	p.AddPrefix("k", "http://e/k#")
	for question, want := range map[string]string{
		"owl_direct_subclass_of(k:'Oven', _N), owl_restriction(_N, restriction(_, F))":                         `{"F":{"functor":"some_values_from","args":["k:Heat"]}}`,
		"owl_direct_subclass_of(k:'Box', _N), owl_description(_N, restriction(_, F))":                          `{"F":{"functor":"cardinality","args":[1,"inf"]}}`,
		"owl_restriction_on(k:'Oven', restriction(k:has, F))":                                                  `{"F":{"functor":"some_values_from","args":["k:Heat"]}}`,
		"owl_description(k:'Any', D)":                                                                          `{"D":{"functor":"union_of","args":[[{"functor":"class","args":["k:Oven"]},{"functor":"class","args":["k:Fridge"]}]]}}`,
		"owl_description(k:'No', D)":                                                                           `{"D":{"functor":"complement_of","args":[{"functor":"class","args":["k:Oven"]}]}}`,
		"owl_description(k:'These', D)":                                                                        `{"D":{"functor":"one_of","args":[["k:a","k:b"]]}}`,
		"owl_description(owl:'Thing', D)":                                                                      `{"D":"thing"}`,
		"owl_same_as(k:c, X)":                                                                                  `{"X":"k:c"} {"X":"k:a"}`,
		"owl_disjoint_with(k:'Fridge', k:'Oven')":                                                              `{}`,
		"class_properties(k:'Oven', k:has, V), class_properties_some(k:'Oven', P, V)":                          `{"V":"k:Heat","P":"k:has"}`,
		"owl_cardinality_on_class(k:'Box', k:doors, C)":                                                        `{"C":{"functor":"cardinality","args":[1,"inf"]}}`,
		"rdf_has(k:a, k:size, literal(type(_, V)), R)":                                                         `{"V":"3","R":"k:size"} {"V":"1","R":"k:small"}`,
		"rdf_has(k:b, k:part, X, R)":                                                                           ``,
		"aggregate_all(count, rdf_has(k:c, k:size, _), N), aggregate_all(count, rdf_has(k:d, k:size, _), M)":   `{"N":0,"M":2}`,
		"owl_has(X, k:near, k:c), owl_has(k:d, k:near, Y), \\+ owl_has(_, k:near, k:a)":                        `{"X":"k:d","Y":"k:c"} {"X":"k:d","Y":"k:a"}`,
		"owl_direct_subclass_of(k:'Twice', _N), owl_description(_N, restriction(_, F))":                        `{"F":{"functor":"has_value","args":["k:a"]}} {"F":{"functor":"cardinality","args":[2,"inf"]}}`,
		"owl_has(k:a, k:small, X), rdfs_individual_of(X, rdfs:'Resource'), \\+ owl_individual_of(X, k:'Oven')": `{"X":{"literal":"1","type":"http://www.w3.org/2001/XMLSchema#integer"}}`,
		"owl_individual_of(X, union_of([k:'Fridge', class(k:'Heat')]))":                                        `{"X":"k:b"}`,
		"owl_individual_of(X, intersection_of([k:'Oven', restriction(k:of, has_value(k:b))]))":                 `{"X":"k:a"}`,
		"owl_individual_of(X, intersection_of([one_of([k:a, k:b]), complement_of(k:'Oven')]))":                 `{"X":"k:b"}`,
		"owl_individual_of(X, restriction(k:of, some_values_from(class(k:'Fridge'))))":                         `{"X":"k:a"} {"X":"k:c"}`,
		"owl_individual_of(X, restriction(k:of, all_values_from(k:'Fridge'))), \\+ owl_individual_of(X, restriction(k:of, all_values_from(k:'Oven')))":         `{"X":"k:a"} {"X":"k:c"}`,
		"owl_individual_of(k:d, restriction(k:size, cardinality(1, 1))), \\+ owl_individual_of(k:d, restriction(k:size, cardinality(2, inf)))":                 `{}`,
		"owl_subclass_of(X, restriction(k:has, some_values_from(k:'Heat'))), X == Y":                                                                           ``,
		"owl_subclass_of(k:'Oven', restriction(k:has, some_values_from(X))), owl_subclass_of(k:'Oven', intersection_of([k:'Box', complement_of(k:'Fridge')]))": `{"X":"k:Heat"}`,
		"msort([0.0, -0.0, 0], L), compare(O, -0.0, 0.0)":                                                                                                      `{"L":[-0.0,0.0,0],"O":"\u003c"}`,
		"owl_description(k:'Half', D)":                                                             ``,
		"owl_find('OV', class(k:'Box'), F, prefix, X)":                                             `{"F":["http://www.w3.org/2000/01/rdf-schema#label"],"X":"k:Oven"}`,
		"owl_find('e/k#FR', rdfs:'Resource', [resource], substring, X)":                            `{"X":"k:Fridge"}`,
		"owl_merged_restriction(k:'Oven', k:doors, X)":                                             `{"X":{"functor":"cardinality","args":[1,"inf"]}}`,
		"rdf_reachable(X, rdfs:subPropertyOf, k:size, 1, N)":                                       `{"X":"k:size","N":0} {"X":"k:small","N":1}`,
		"rdf_current_predicate(k:size), rdf_match_label(word, b, 'a B c')":                         `{}`,
		"rdf_has(k:a, k:size, literal(gt(2), L))":                                                  `{"L":{"value":"3","type":"http://www.w3.org/2001/XMLSchema#integer"}}`,
		"rdf_has(k:a, k:size, literal(between(0, 2), type(_, L)))":                                 `{"L":"1"}`,
		"setof(L, rdfs_label(k:'Oven', L), Ls)":                                                    `{"Ls":["Ofen","oven"]}`,
		"rdf_triple(k:size, k:a, literal(type(_, V)))":                                             `{"V":"3"}`,
		"rdf_subject(k:a), rdf_is_resource(k:a), rdf_is_literal(literal(x)), \\+ rdf_subject(k:x)": `{}`,
		"T = k:'Oven', rdf_has(X, rdf:type, T)":                                                    `{"T":{"functor":":","args":["k","Oven"]},"X":"k:a"}`,
		"findall(X, (member(C, [k:'Oven', k:'Fridge']), rdf_has(X, rdf:type, C)), L)":              `{"L":["k:a","k:b"]}`,
		"rdf_global_id(k:a, X), rdf_global_id(Y, X), rdf_split_url(B, N, X)":                       `{"X":"k:a","Y":{"functor":":","args":["k","a"]},"B":"k:","N":"a"}`,
		"owl_satisfies(complement_of(one_of([k:a])), k:b)":                                         `{}`,
		"rdf_has('k:a', P, O)":                                                                     ``,
	} {
		rows, err := ask(t, p, g, question, patience)
		got := strings.ReplaceAll(strings.Join(rows, " "), "http://e/k#", "k:")
		if err != nil || sortedRows(got) != sortedRows(want) {
			t.Errorf("%s\n got %s %v\nwant %s", question, got, err, want)
		}
	}
}

// sortedRows puts rows in order: which comes first is not promised.
func sortedRows(rows string) string {
	all := strings.Split(strings.Trim(rows, "{}"), "} {")
	slices.Sort(all)
	return strings.Join(all, "} {")
}

func TestRules(t *testing.T) {
	p := prolog.NewProgram()
	rules := `% Rules of a user.
:- module(mine, [double/2]).
:- use_module(library(semweb/rdf_db)).
:- rdf_db:rdf_register_ns(my, 'http://example.org/my#', [keep(true)]).
:- rdf_meta is_thing(r).
:- dynamic nothing/1.
double(X, Y) :- Y is 2 * X.
count(N, N).
count(N, X) :- N < 3, M is N + 1, count(M, X).
is_thing(my:thing).
same(X) :- rdf_equal(X, my:thing).
`
	if err := p.AddRules("mine.pl", rules); err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{
		"double(4, X)":       `{"X":8}`,
		"count(1, X)":        `{"X":1} {"X":2} {"X":3}`,
		"\\+ nothing(_)":     `{}`,
		"is_thing(X)":        `{"X":"http://example.org/my#thing"}`,
		"is_thing(my:thing)": `{}`,
		"same(X)":            `{"X":"http://example.org/my#thing"}`,
		"assertz(double(1, 5)), findall(X, double(1, X), L)": `{"L":[2,5]}`,
	} {
		got, err := ask(t, p, knowledge.NewGraph(), question, patience)
		if joined := strings.Join(got, " "); err != nil || joined != want {
			t.Errorf("%s: got %s, %v, want %s", question, joined, err, want)
		}
	}
	_, err := ask(t, p, knowledge.NewGraph(), "double(a, X)", patience)
	if want := "mine.pl: line 7, column 19: a/0 is nothing that can be computed"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for text, want := range map[string]string{
		"a :- b":             "bad.pl: line 1, column 7: the clause does not end with a full stop",
		"a.\nb :- (c.":       "bad.pl: line 2, column 8",
		":- if(id).":         "bad.pl: line 1, column 1: no endif follows",
		"atom_length(a, b).": "atom_length/2 belongs to the language",
		"a.\n1 :- b.":        "line 2",
		"?- a.":              "asks no questions",
		"1 --> b.":           "a goal is wanted",
	} {
		if err := prolog.NewProgram().AddRules("bad.pl", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// FuzzQuestion has no question crash the reader or the machine.
func FuzzQuestion(f *testing.F) {
	for _, seed := range []string{
		"rdf_has(M, rdfs:label, literal(like('*Munich*'), _)), owl_has(M, knowrob:properPhysicalParts, R).",
		"setof(X, Y^member(X-Y, [b-1,a-2]), L)", "X = [1,2|T], \\+ T == 0'a", "X is 1 + 2 * -3.5e2, Y = \"a\\x41\\\"",
		"( a -> b ; c ), {d}, - (1)", "catch(X, Y, Z)", "assertz((p(X) :- q(X, X))), p(Y)", "sub_atom(abc, B, L, A, S)",
		"format(atom(X), '~a~2d', [a, 3])", "term_to_atom(X, 'f(Y)')", "0'a = `abc`",
	} {
		f.Add(seed)
	}
	p := prolog.NewProgram()
	f.Fuzz(func(t *testing.T, question string) {
		hangs := time.AfterFunc(testkit.Patience, func() { panic("it does not end: " + question) })
		defer hangs.Stop()
		for row, err := range p.Ask(context.Background(), of(knowledge.NewGraph()), question, prolog.Limits{Steps: 20_000, Memory: 4 << 20}) {
			if err != nil {
				if engram.CodeOf(err) == engram.Internal {
					t.Fatalf("%q: %v", question, err)
				}
				continue
			}
			if b, err := json.Marshal(row); err != nil || !json.Valid(b) {
				t.Fatalf("%q: row %s: %v", question, b, err)
			}
		}
	})
}

// A row tells the answers of facts that led to it, and not those that were given up.
func TestWhy(t *testing.T) {
	part, a, b := rdf.NewIRI("http://e/part"), rdf.NewIRI("http://e/a"), rdf.NewIRI("http://e/b")
	c, number := rdf.NewIRI("http://e/c"), rdf.NewIRI("http://e/number")
	g := knowledge.NewGraph()
	five := rdf.NewTyped("5", rdf.NSXSD+"integer")
	for _, it := range []rdf.Triple{{S: a, P: part, O: b}, {S: a, P: part, O: c}, {S: c, P: number, O: five}, {S: b, P: part, O: c}} {
		g.Add(it)
	}
	p := prolog.NewProgram()
	p.AddPrefix("e", "http://e/")
	question := `rdf_has(e:a, e:part, X), \+ rdf_has(X, e:part, _), ( rdf_has(X, e:none, _) ; rdf_has(X, e:number, literal(type(_, N))) ), findall(Y, rdf_has(e:a, e:part, Y), L), length(L, 2)`
	n := 0
	for row, err := range p.Ask(t.Context(), &knowledge.View{Graph: g}, question, patience, prolog.Why()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if want := []rdf.Triple{{S: a, P: part, O: c}, {S: c, P: number, O: five}}; !slices.Equal(row.Facts, want) {
			t.Errorf("%v rests on %v, want %v", row.Values, row.Facts, want)
		}
	}
	if n != 1 {
		t.Errorf("%d rows", n)
	}
}
