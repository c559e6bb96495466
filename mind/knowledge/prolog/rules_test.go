package prolog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// ofUsers are rules as KnowRob's files have them: with predicates of their own in place of the library's, grammars, directives
// that load, and clauses of other modules' predicates.
const ofUsers = `:- module(mine, [before/1]).
:- use_module(library('semweb/rdf_db')).
:- meta_predicate each(1, +).
:- module_transparent each/2.
:- owl_parser:owl_parse('package://mine/owl/mine.owl').
:- rdf_meta above_of(r, r).
:- assertz(fact(1)).
:- dynamic counter/1.
before(X) :- member(X, [a]).
member(X, [X|_]) :- !.
member(X, [_|T]) :- member(X, T).
last([X], X) :- !.
last([_|T], X) :- last(T, X).
each(G, L) :- forall(lists:member(X, L), call(G, X)).
greeting --> [hello], name, !.
greeting --> "hi ", rest(_).
name --> [world].
name --> [X], { atom(X), X \== foo }.
rest([C|Cs]) --> [C], rest(Cs).
rest([]) --> [].
digits([D|T]) --> digit(D), digits(T).
digits([D]) --> digit(D).
digit(D) --> [D], { code_type(D, digit) }.
look(X), [X] --> [X].
anb(N) --> ( [a], anb(M) -> [b], { N is M + 1 } ; { N = 0 } ).
none --> \+ [_].
counter(0).
java(X) :- jpl_call('org.knowrob.Util', get, [X], Y), ( is_list(Y) -> jpl_array_to_list(Y, X) ; X = Y ).
knowrob_temporal:holds(mine(X), _) :- X = 1.
`

// The answers are those of SWI-Prolog 9.0.4.
func TestRulesOfUsers(t *testing.T) {
	p := prolog.NewProgram()
	for name, text := range map[string]string{"mine.pl": ofUsers, "more.pl": ":- multifile reverse/2.\nreverse(x, y).\n"} {
		if err := p.AddRules(name, text); err != nil {
			t.Fatal(err)
		}
	}
	for question, want := range map[string]string{
		"findall(X, member(X, [a,b,c]), L)": `{"L":["a"]}`,
		"findall(X, before(X), L)":          `{"L":["a"]}`,
		"last([1,2,3], X)":                  `{"X":3}`,
		"memberchk(c, [a,b,c]), sumlist([1,2], S), subtract([a,b], [b], L)": `{"S":3,"L":["a"]}`,
		"each(atom, [a,b])":                                                          `{}`,
		"phrase(greeting, [hello, world])":                                           `{}`,
		"phrase(greeting, [hello, X]), X = y":                                        "",
		"phrase(greeting, [hello, foo]) -> X = yes ; X = no":                         `{"X":"no"}`,
		"atom_codes('hi you', Cs), phrase(greeting, Cs), Cs = [C|_]":                 `{"Cs":[104,105,32,121,111,117],"C":104}`,
		"atom_codes('12a', _C), phrase(digits(_D), _C, _R), atom_codes(A, _R)":       `{"A":"a"} {"A":"2a"}`,
		"phrase(look(X), [q, r], R)":                                                 `{"X":"q","R":["q","r"]}`,
		"phrase(anb(N), [a,a,b,b])":                                                  `{"N":2}`,
		"phrase(none, [])":                                                           `{}`,
		"phrase((([x] ; [y]), [z]), [y, z])":                                         `{}`,
		"phrase(call([X,S0,S]>>(S0 = [X|S]), q), [q])":                               `{}`,
		"catch(phrase(_, []), error(E, _), true)":                                    `{"E":"instantiation_error"}`,
		"dcg_translate_rule((a --> b, [c]), (a(A, B) :- b(A, C), C = [c|B])), A = 1": `{"A":1}`,
		"fact(X)": `{"X":1}`,
		"retract(counter(N)), M is N + 1, assertz(counter(M)), counter(K)": `{"N":0,"M":1,"K":1}`,
		"holds(mine(X), now)":      `{"X":1}`,
		"holds(rdf(X, p, o), now)": `{"X":"s"}`,
		"reverse(x, Y)":            `{"Y":"y"}`,
		"reverse([1,2], R)":        `{"R":[2,1]}`,
		"T = count(0), ( between(1, 5, _), arg(1, T, C0), C is C0 + 1, nb_setarg(1, T, C), fail ; arg(1, T, N) )": `{"T":{"functor":"count","args":[5]},"N":5}`,
		"T = f(a,b), ( setarg(1, T, z), T = f(Q, _) ; T = f(Q, _) )":                                              `{"T":{"functor":"f","args":["z","b"]},"Q":"z"} {"T":{"functor":"f","args":["a","b"]},"Q":"a"}`,
		"b_setval(v, 1), ( b_setval(v, 2), b_getval(v, X) ; b_getval(v, X) )":                                     `{"X":2} {"X":1}`,
		"findall(P-T, current_op(P, T, -), L)":                                                                    `{"L":[{"functor":"-","args":[200,"fy"]},{"functor":"-","args":[500,"yfx"]}]}`,
		"random_between(3, 3, X), random_member(Y, [a])":                                                          `{"X":3,"Y":"a"}`,
		"with_output_to(atom(A), (write(a), print('B c'), nl, write(\"s\")))":                                     `{"A":"a'B c'\ns"}`,
		"catch(with_output_to(atom(A), throw(oops)), E, true), format(atom(B), b, [])":                            `{"E":"oops","B":"b"}`,
		"with_output_to(atom(_), fail) -> X = yes ; X = no":                                                       `{"X":"no"}`,
		"format(atom(_A), '~*c', [20000, 0'x]), atom_length(_A, N)":                                               `{"N":20000}`,
		"gensym(x, A), gensym(x, B)":                                                                              `{"A":"x1","B":"x2"}`,
		"rdf_assert(a, p, b), rdf(X, p, b), rdf_retractall(a, p, _), \\+ rdf(a, p, _)":                            `{"X":"a"}`,
		"rdf(s, p, X), rdf_assert(s, p, new), findall(Y, rdf(s, p, Y), L)":                                        `{"X":"o","L":["o","new"]}`,
		"rdf_assert(s, p, literal(type(t, '1'))), rdf(s, p, literal(X))":                                          `{"X":{"value":"1","type":"t"}}`,
		"rdf_update(s, p, o, object(n)), rdf(s, p, X)":                                                            `{"X":"n"}`,
		"format_time(atom(A), '%Y-%m-%d %H:%M:%S', 0)":                                                            `{"A":"1970-01-01 00:00:00"}`,
		"format_time(atom(A), '%d %b %Y %3f', 1700000000.5)":                                                      `{"A":"14 Nov 2023 500"}`,
		"format_time(atom(A), '%FT%T%:z', 1700000000)":                                                            `{"A":"2023-11-14T22:13:20+00:00"}`,
		"format_time(atom(A), '%a %A %j %U %e %y %p %I %s', 1700000000)":                                          `{"A":"Tue Tuesday 318 46 14 23 PM 10 1700000000"}`,
		"format_time(atom(A), '%V %G %W %u %w %C %k %l %D %R %%', 1700000000)":                                    `{"A":"46 2023 46 2 2 20 22 10 11/14/23 22:13 %"}`,
		"format_time(atom(A), '%FT%T%z %Z', date(2023,11,14,22,13,20.0,-3600,'CET',-))":                           `{"A":"2023-11-14T22:13:20+0100 CET"}`,
		"format_time(atom(A), '%FT%T%:z', date(2023,11,14,22,13,20.0,3600,-,-))":                                  `{"A":"2023-11-14T22:13:20-01:00"}`,
		"catch(format_time(atom(_), '%F', date(2023,11,14,0,0,1.0e300,0,-,-)), error(type_error(T, _), _), true)": `{"T":"time"}`,
		"rdf(s, p, X)": `{"X":"o"}`, // others' changes are theirs
		"( rdf(s, p, X) ; fail ) ; rdf_assert(s, p, new), rdf(s, p, X)":                             `{"X":"o"} {"X":"new"}`,
		"catch(phrase(name, bar), error(E, _), true)":                                               `{"E":{"functor":"type_error","args":["list","bar"]}}`,
		"phrase(name, [world|T]), T == []":                                                          `{"T":[]}`,
		"L = [y|T], phrase(([x], L), [x,y,z]), T = [z]":                                             `{"L":["y","z"],"T":["z"]}`,
		"with_output_to(atom(A), (tab(0), tab(-1), tab(1 - 1), format('~*c~0c', [0, 0'x, 0'y])))":   `{"A":""}`,
		"term_to_atom(T, 'f(g(a))'), arg(1, T, G), setarg(1, G, X), term_variables(T, V), V == [X]": `{"T":{"functor":"f","args":[{"functor":"g","args":[null]}]},"G":{"functor":"g","args":[null]},"V":[null]}`,
		"T = f(g(a)), duplicate_term(T, U), arg(1, U, G), setarg(1, G, b), T == f(g(a))":            `{"T":{"functor":"f","args":[{"functor":"g","args":["a"]}]},"U":{"functor":"f","args":[{"functor":"g","args":["b"]}]},"G":{"functor":"g","args":["b"]}}`,
		"catch(format(\"~w ~w\", [x]), error(format(M), _), true)":                                  `{"M":"format/3 has no argument for ~w"}`,
	} {
		g := knowledge.NewGraph()
		g.Add(rdf.Triple{S: rdf.NewIRI("s"), P: rdf.NewIRI("p"), O: rdf.NewIRI("o")})
		got, err := ask(t, p, g, question, patience)
		if joined := strings.Join(got, " "); err != nil || joined != want {
			t.Errorf("%s: got %s, %v, want %s", question, joined, err, want)
		}
		if g.Len() != 1 {
			t.Errorf("%s: the facts are %d", question, g.Len())
		}
	}
}

// Directives that have clauses mean something else are obeyed, or refused; what only loads or does something is left out and told.
func TestDirectives(t *testing.T) {
	p := prolog.NewProgram()
	const text = `:- module(mine, [a/1, op(700, xfx, near)]).
:- use_module(library(lists)), ensure_loaded(other).
:- rdf_db:rdf_register_ns(mine, 'http://mine/', [keep(true)]).
:- rdf_register_prefix(yours, 'http://yours/').
:- op(650, xfx, [before, user:after]).
:- op(200, fy, very).
:- set_prolog_flag(double_quotes, codes).
:- set_prolog_flag(toplevel_print_anon, false).
:- begin_tests(mine).
:- initialization main.
:- start.
:- jpl_set_default_jvm_opts(['-Xmx1g']).
:- register_ros_package(mine), nb_setval(k, 1).
:- shell(id).
:- end_tests(mine).
known(a before b).
known(very very a).
known(c near d).
codes("ab").
iri(X) :- rdf_equal(X, mine:x).
iri(X) :- rdf_equal(X, yours:x).
`
	if err := p.AddRules("mine.pl", text); err != nil {
		t.Fatal(err)
	}
	if err := p.AddRules("more.pl", `text("ab").`); err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{
		"known(X before Y)":  `{"X":"a","Y":"b"}`,
		"known(very very X)": `{"X":"a"}`,
		"known(c near X)":    `{"X":"d"}`,
		"codes(X)":           `{"X":[97,98]}`,
		"text(X)":            `{"X":"ab"}`, // a flag is that of its file
		"iri(X)":             `{"X":"http://mine/x"} {"X":"http://yours/x"}`,
		"term_to_atom(T, 'a before b'), T = (X before Y), current_op(P, xfx, after)": `{"T":{"functor":"before","args":["a","b"]},"X":"a","Y":"b","P":650}`,
	} {
		got, err := ask(t, p, knowledge.NewGraph(), question, patience)
		if joined := strings.Join(got, " "); err != nil || joined != want {
			t.Errorf("%s: got %s, %v, want %s", question, joined, err, want)
		}
	}
	var notes []string
	for _, err := range p.Ask(t.Context(), of(knowledge.NewGraph()), "true", patience, prolog.Notes(func(line string) { notes = append(notes, line) })) {
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{"directives of the rules are left out: begin_tests(mine), (initialization main), start, jpl_set_default_jvm_opts(['-Xmx1g']), register_ros_package(mine), nb_setval(k,1), shell(id), end_tests(mine)"}
	if !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	if _, err := ask(t, prolog.NewProgram(), knowledge.NewGraph(), "X = (a before b)", patience); err == nil {
		t.Error("the operators of a program are those of others")
	}
	for _, text := range []string{
		":- op(200, xf, x).", ":- op(200, xfx, ',').", ":- op(X, xfx, a).",
		":- set_prolog_flag(double_quotes, X).", ":- set_prolog_flag(occurs_check, true).", ":- set_prolog_flag(X, true).", "term_expansion(a, b).", "user:goal_expansion(a, b) :- c.",
	} {
		if err := prolog.NewProgram().AddRules("bad.pl", text); err == nil || !strings.Contains(err.Error(), "mean something else") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Conditional compilation asks of what there is by now. What cannot be decided does not hold, and is told. The answers are those of SWI-Prolog 9.0.4.
func TestConditions(t *testing.T) {
	p := prolog.NewProgram()
	const text = `:- if(nosuch(1)).
a(1).
:- else.
a(2).
:- endif.
:- if(fail).
b(1).
:- if(true).
b(2).
:- else.
b(3).
:- endif.
:- elif(true).
b(4).
:- elif(true).
b(5).
:- else.
b(6).
:- endif.
:- if(\+ current_predicate(b/1)).
c(no).
:- else.
c(yes).
:- endif.
:- if(\+ current_predicate(atomic_list_concat, _)).
atomic_list_concat(_, mine).
:- endif.
:- if((a(X), X > 1, current_predicate(_, a(_)), \+ current_predicate(nosuch, _))).
d(X) :- a(X).
:- endif.
:- if((repeat, fail)).
d(no).
:- endif.
:- user:expand_term((hook(A, B) :- a(A), B = k), X), assert(user:(X)).
:- assertz(user:hook(h, i)).
`
	if err := p.AddRules("mine.pl", text); err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{
		"a(X)": `{"X":2}`, "b(X)": `{"X":4}`, "c(X)": `{"X":"yes"}`, "d(X)": `{"X":2}`,
		"atomic_list_concat([a,b], X)":           `{"X":"ab"}`,
		"hook(X, Y)":                             `{"X":2,"Y":"k"} {"X":"h","Y":"i"}`,
		"set_prolog_flag(float_format, '%.12g')": `{}`,
		"catch(set_prolog_flag(occurs_check, true), error(E, _), true), E = permission_error(_, _, F)": `{"E":{"functor":"permission_error","args":["modify","flag","occurs_check"]},"F":"occurs_check"}`,
	} {
		got, err := ask(t, p, knowledge.NewGraph(), question, patience)
		if joined := strings.Join(got, " "); err != nil || joined != want {
			t.Errorf("%s: got %s, %v, want %s", question, joined, err, want)
		}
	}
	var notes []string
	for _, err := range p.Ask(t.Context(), of(knowledge.NewGraph()), "true", patience, prolog.Notes(func(line string) { notes = append(notes, line) })) {
		if err != nil {
			t.Error(err)
		}
	}
	if want := []string{"directives of the rules are left out: if(nosuch(1)), if((repeat,fail))"}; !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	for text, want := range map[string]string{
		":- else.": "no if comes before it", ":- endif.": "no if comes before it", ":- elif(true).": "no if comes before it",
		"a.\n:- if(true).\nb.": "bad.pl: line 2, column 1: no endif follows",
	} {
		if err := prolog.NewProgram().AddRules("bad.pl", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A name of which nothing is known is looked up once, however often it stands in the question.
func TestUnknownNamesThatComeOften(t *testing.T) {
	g := knowledge.NewGraph()
	p := prolog.NewProgram()
	p.AddPrefix("v", "http://v/")
	for i := range 5000 {
		g.Add(rdf.Triple{S: rdf.NewIRI(fmt.Sprintf("http://v/name%d", i)), P: rdf.NewIRI("http://v/p"), O: rdf.NewIRI("http://v/o")})
	}
	var notes []string
	question := "_ = [" + strings.Repeat("v:nothing, ", 20_000) + "v:p], fail"
	for _, err := range p.Ask(t.Context(), of(g), question, patience, prolog.Notes(func(line string) { notes = append(notes, line) })) {
		t.Error(err)
	}
	if !slices.Equal(notes, []string{"nothing is known of v:nothing"}) {
		t.Errorf("notes %q", notes)
	}
}

// Long lines are several notes, and what a question captures is no more than a term.
func TestLongLines(t *testing.T) {
	p := prolog.NewProgram()
	limits := patience
	limits.Memory = 4 << 20
	for question, want := range map[string][]int{
		"format('~*c', [150000, 0'x])":          {64 << 10, 64 << 10, 150000 - 128<<10},
		"format('x~*c', [50000, 0'\u20ac]), nl": {64 << 10, 64<<10 - 1, 150001 - 128<<10 + 1},
		"( between(1, 5000, _), with_output_to(atom(_), format('~*c', [5000, 0'x])), fail ; write(done) )": {4},
	} {
		var got []int
		for _, err := range p.Ask(t.Context(), of(knowledge.NewGraph()), question, limits, prolog.Notes(func(line string) {
			if !utf8.ValidString(line) {
				t.Error("a note is no text in UTF-8")
			}
			got = append(got, len(line))
		})) {
			if err != nil {
				t.Error(err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: notes of %d bytes, want %d", question, got, want)
		}
	}
}

// Rules use the predicates of files that are read after them, too, and of the same file.
func TestPredicatesThatAreReplacedLater(t *testing.T) {
	p := prolog.NewProgram()
	for _, text := range []string{"a(X) :- last([1,2], X).\nb(X) :- findall(Y, ( reverse([1,2], Y) ; last([], Y) ), X).", "last(_, mine).", "reverse(_, mine).\nlast([], too)."} {
		if err := p.AddRules("mine.pl", text); err != nil {
			t.Fatal(err)
		}
		if len(text) > 40 { // a question between
			if got, err := ask(t, p, knowledge.NewGraph(), "a(X)", patience); err != nil || strings.Join(got, " ") != `{"X":2}` {
				t.Errorf("got %s, %v", got, err)
			}
		}
	}
	for question, want := range map[string]string{"a(X)": `{"X":"mine"}`, "b(X)": `{"X":["mine","mine","too"]}`, "sumlist([1], X), subtract([a], [], L)": `{"X":1,"L":["a"]}`} {
		got, err := ask(t, p, knowledge.NewGraph(), question, patience)
		if joined := strings.Join(got, " "); err != nil || joined != want {
			t.Errorf("%s: got %s, %v, want %s", question, joined, err, want)
		}
	}
}

// Rules that may change facts cost nothing of the graph until they do.
func TestRulesThatMayChangeFacts(t *testing.T) {
	g := knowledge.NewGraph()
	for i := range 10_000 {
		g.Add(rdf.Triple{S: rdf.NewIRI("s"), P: rdf.NewIRI("p"), O: rdf.NewIRI(fmt.Sprint("o", i))})
	}
	p := prolog.NewProgram()
	if err := p.AddRules("mine.pl", "change :- rdf_assert(a, p, b)."); err != nil {
		t.Fatal(err)
	}
	limits := patience
	limits.Memory = 2 << 20
	if got, err := ask(t, p, g, "once(rdf(s, p, o5))", limits); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ask(t, p, g, "change", limits); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("a change: %v", err)
	}
}

// What a question prints, and what its rules lack, are notes, line by line.
func TestNotes(t *testing.T) {
	p := prolog.NewProgram()
	if err := p.AddRules("mine.pl", ofUsers); err != nil {
		t.Fatal(err)
	}
	const lacks = "the rules call predicates that are not there: jpl_array_to_list/2, jpl_call/4"
	const left = "directives of the rules are left out: owl_parse('package://mine/owl/mine.owl')"
	for question, want := range map[string][]string{
		"format('~w is ~q~n', [a, 'B']), write(x), print('Y'), nl, writeln(user_error, z)": {"a is 'B'", "x'Y'", "z"},
		"member(X, [1,2]), format(\"~w\", X), nl, fail":                                    {"1"},
		"tab(2), write(rest)": {"  rest"},
		"portray_clause(f(X, Y, X)), print_message(error, format('~w', [oops]))": {"f(A,B,A).", "oops"},
		"with_output_to(atom(_), write(kept))":                                   nil,
		"write(a), nl, throw(b)":                                                 {"a"},
	} {
		var got []string
		for _, err := range p.Ask(t.Context(), of(knowledge.NewGraph()), question, patience, prolog.Notes(func(line string) { got = append(got, line) })) {
			_ = err
		}
		if len(got) < 2 || got[0] != lacks || got[1] != left || !slices.Equal(got[2:], want) {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
}

// KnowRob's predicates over objects: sizes, colours, matrices.
func TestKnowRobObjects(t *testing.T) {
	p := prolog.NewProgram()
	g := knowledge.NewGraph()
	const kb = "http://knowrob.org/kb/knowrob.owl#"
	say := func(s, p, o string) {
		g.Add(rdf.Triple{S: rdf.NewIRI(s), P: rdf.NewIRI(kb + p), O: rdf.NewText(o)})
	}
	for property, value := range map[string]string{"depthOfObject": "0.5", "widthOfObject": "0.25", "heightOfObject": "1", "mainColorOfObject": "red"} {
		say("cup", property, value)
	}
	for i := range 4 {
		for j := range 4 {
			say("pose", "m"+string(rune('0'+i))+string(rune('0'+j)), string(rune('0'+i+j)))
		}
	}
	for question, want := range map[string]string{
		"object_dimensions(cup, D, W, H)": `{"D":0.5,"W":0.25,"H":1}`,
		"object_color(cup, C)":            `{"C":"red"}`,
		"object_assert_dimensions(box, 1, 2.5, 3), object_dimensions(box, D, W, H)": `{"D":1,"W":2.5,"H":3}`,
		"object_assert_color(box, blue), object_color(box, C)":                      `{"C":"blue"}`,
		"comp_m03(pose, X), comp_m13(pose, Y), comp_zCoord(pose, Z)":                `{"X":3,"Y":4,"Z":5}`,
		"rotmat_to_list(pose, M), matrix_translation(M, T)":                         `{"M":[0,1,2,3,1,2,3,4,2,3,4,5,3,4,5,6],"T":[3,4,5]}`,
		"not(aboveOf(cup, pose)), not(belowOf(pose, cup))":                          `{}`,
	} {
		got, err := ask(t, p, g, question, patience)
		if joined := strings.Join(got, " "); err != nil || joined != want {
			t.Errorf("%s: got %s, %v, want %s", question, joined, err, want)
		}
	}
}

// What prints, changes terms or asserts without end is ended by the limit of memory.
func TestLimitsOfPrintingAndChanging(t *testing.T) {
	p := prolog.NewProgram()
	if err := p.AddRules("endless.pl", "as --> [a], as.\ngrow(T) :- arg(1, T, X), setarg(1, T, f(X, X, abcdefgh)), grow(T).\n"); err != nil {
		t.Fatal(err)
	}
	limits := patience
	limits.Memory, limits.Steps = 2<<20, 0
	for _, question := range []string{
		"repeat, write(abcdefghijklmnop), fail", "repeat, nl, fail", "format('~*c', [200000000, 0'x])", "format(\"~200000000c\", [0'x])", "format(\"~t~200000000|\")",
		"with_output_to(atom(_), (repeat, write(abcdefghijklmnop), fail))", "between(1, inf, N), atom_number(A, N), rdf_assert(s, p, A), fail",
		"phrase(as, _)", "grow(f(a))", "between(1, inf, N), atom_concat(k, N, A), nb_setval(A, f(N)), fail",
		"length(L, 1000), T = f(L), repeat, arg(1, T, X), nb_setarg(1, T, [X|X]), fail",
	} {
		_, err := ask(t, p, knowledge.NewGraph(), question, limits)
		if engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), "MB of memory") {
			t.Errorf("%s: %v", question, err)
		}
	}
}
