package prolog

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawTerm draws a term with operators, quotes, numbers, lists and variables.
func drawTerm(t *rapid.T, vars []*Var, depth int) Term {
	names := []string{"a", "f", "[]", "{}", "!", ";", ",", "|", "[|]", ".", "..", "/*", "*/", "||", "", "B", "_x", "a b", "it's", "\\", "\n\t\x00\x7f", "日本", "ünder", "Ünder", "$VAR", "1", "-1", "inf", "nan", "%", "0'a", "`", "\"", "@#"}
	for name := range operators {
		names = append(names, name)
	}
	slices.Sort(names)
	name := func() Atom {
		if rapid.IntRange(0, 9).Draw(t, "any") == 0 {
			return Atom(strings.ToValidUTF8(rapid.String().Draw(t, "text"), "?"))
		}
		return Atom(rapid.SampledFrom(names).Draw(t, "name"))
	}
	kind := rapid.IntRange(0, 12).Draw(t, "kind")
	if depth == 0 {
		kind %= 6
	}
	sub := func() Term { return drawTerm(t, vars, depth-1) }
	switch kind {
	case 0:
		return vars[rapid.IntRange(0, len(vars)-1).Draw(t, "var")]
	case 1:
		return Int(rapid.SampledFrom([]int64{0, 1, -1, 7, -42, math.MaxInt64, math.MinInt64}).Draw(t, "int"))
	case 2:
		return Float(rapid.OneOf(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 1e10, 1e14, 1e15, 1e22, 123456789012345678, 1e-4, 1e-5, -1e-7, 0.1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, 5e-324}), rapid.Float64()).Draw(t, "float"))
	case 3:
		z, _ := new(big.Int).SetString(rapid.SampledFrom([]string{"9223372036854775808", "-9223372036854775809", "100000000000000000000000"}).Draw(t, "big"), 10)
		return z
	case 4:
		return String(name())
	case 5:
		return name()
	case 6: // a list
		var of []Term
		for range rapid.IntRange(1, 3).Draw(t, "length") {
			of = append(of, sub())
		}
		if rapid.Bool().Draw(t, "partial") {
			return listOf(of, sub())
		}
		return listOf(of, atomNil)
	case 7:
		return newTerm("{}", sub())
	case 8, 9:
		return newTerm(name(), sub())
	case 10, 11:
		return newTerm(name(), sub(), sub())
	}
	return newTerm(name(), sub(), sub(), sub())
}

// What is written quoted is read as the same term.
func TestWrittenTermsAreReadAgain(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := &heap{ctx: t.Context()}
		vars := []*Var{h.newVar(), h.newVar(), h.newVar()}
		term := drawTerm(r, vars, 4)
		text, err := h.text(term, writer{quoted: true})
		if err != nil {
			r.Fatal(err)
		}
		again, err := newReader(text, 0, false, h.newVar).whole()
		if err != nil {
			r.Fatalf("%s is not read: %v", text, err)
		}
		if same, err := h.variant(term, again, map[*Var]*Var{}, map[*Var]*Var{}, 0); !same || err != nil {
			second, _ := h.text(again, writer{quoted: true})
			r.Fatalf("%s is read as %s, %v", text, second, err)
		}
	})
}

// Terms are written as SWI-Prolog writes them.
func TestWrite(t *testing.T) {
	p := NewProgram()
	for term, want := range map[string]string{
		`\+ (a,b)`: `\+ (a,b)`, `- (1)`: `- 1`, `-(-(1))`: `- - 1`, `-(-1)`: `- -1`, `- a`: `-a`, `-(-(a))`: `- -a`, `1 - -1`: `1- -1`, `a - (-1)`: `a- -1`, `a-(-(1))`: `a- - 1`,
		`2 ** (-1)`: `2** -1`, `(-1)^2`: `-1^2`, `-(1^2)`: `- 1^2`, `-(1)^2`: `(- 1)^2`, `-(2-3)`: `- (2-3)`, `1-(2-3)`: `1-(2-3)`, `(1-2)-3`: `1-2-3`, `- = x`: `(-)=x`, `[-]`: `[-]`, `f(-)`: `f(-)`,
		`[(a:-b)]`: `[(a:-b)]`, `f((a:-b))`: `f((a:-b))`, `f((a,b))`: `f((a,b))`, `{a,b}`: `{a,b}`, `'{}'(x,y)`: `{}(x,y)`, `- {a}`: `- {a}`, `-[1]`: `-[1]`, `'|'(a,b)`: `a|b`, `'|'(a)`: `'|'(a)`, `f((a|b))`: `f((a|b))`, `[a|(b|c)]`: `[a|(b|c)]`, `(x:-a|b;c)`: `x:-a|b;c`, `(a|b)|c`: `(a|b)|c`, `(a|b);c`: `(a|b);c`, `- ((a|b))`: `- (a|b)`, `(-(1)|\+b)`: `- 1|\+b`, `'|'('|','|')`: `('|')|('|')`,
		`f(;)`: `f(;)`, `(;)=a`: `(;)=a`, `f(',')`: `f(',')`, `f('|')`: `f('|')`, `f(!)`: `f(!)`, `f([])`: `f([])`, `'\n'`: `'\n'`, `[a|b]`: `[a|b]`, `f(x) is 3`: `f(x)is 3`, `a is (b:-c)`: `a is (b:-c)`,
		`a mod b`: `a mod b`, `\+a=b`: `\+a=b`, `a:b:c`: `a:b:c`, `(a:b):c`: `(a:b):c`, `1.0Inf`: `1.0Inf`, `- (1.0Inf)`: `- 1.0Inf`, `-1.0Inf`: `-1.0Inf`, `1.5NaN`: `1.5NaN`,
		`1.0e10`: `10000000000.0`, `1.0e14`: `100000000000000.0`, `1.0e15`: `1.0e+15`, `1.5e300`: `1.5e+300`, `0.0001`: `0.0001`, `0.00001`: `1.0e-5`, `-0.0`: `-0.0`, `123456789012345.6`: `123456789012345.6`,
		`"a\"b"`: `"a\"b"`, `'it''s'`: `'it\'s'`, `dynamic a`: `dynamic a`, `:- dynamic a`: `:-dynamic a`, `(a->b;c)`: `a->b;c`, `'.'`: `'.'`, `'/*'`: `'/*'`, `- - 1`: `- - 1`, `(dynamic)-1`: `(dynamic)-1`, `+(1)`: `+1`,
	} {
		rows, err := rowsOf(t, p, "T = "+"("+term+"), format(atom(A), '~q', [T])", Limits{})
		if err != nil || len(rows) != 1 || !strings.HasSuffix(rows[0], " "+want+"]") {
			t.Errorf("%s: got %v, %v, want %s", term, rows, err, want)
		}
	}
	for question, want := range map[string]string{
		"V = p(A,B), U = q(B)":                              "[p(_1,_2) q(_2)]",
		"V = p(A,B), U = [B,_,A|_]":                         "[p(_1,_2) [_2,_3,_1|_4]]",
		"X = '$VAR'(1), Y = f('A b', \"s\")":                `['$VAR'(1) f('A b',"s")]`,
		"X = 'A b', Y = \"s\", Z = (:-)":                    "[A b s :-]",
		"T = '$VAR'(27), term_to_atom(T, A)":                `['$VAR'(27) '$VAR'(27)]`,
		"format(atom(A), '~w ~q', ['$VAR'(-1), '$VAR'(x)])": `[$VAR(-1) '$VAR'(x)]`,
		"(X = p(A,B) ; X = p(C,C))":                         "[p(_1,_2)] [p(_1,_1)]",
		"p(_) = p(X), Y = X":                                "[]",
	} {
		rows, err := rowsOf(t, p, question, Limits{})
		for i, row := range rows {
			rows[i] = row[strings.LastIndex(row, "}")+1:]
		}
		if got := strings.Join(rows, " "); got != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", question, got, err, want)
		}
	}
	// No part of a term is left out without a word.
	rows, err := rowsOf(t, p, "findall(1, between(1, 3000, _), _L), foldl([X,Y,X+Y]>>true, _L, 0, _T), term_to_atom(_T, _A), term_to_atom(_U, _A), ( _T == _U -> R = same ; R = other )", Limits{})
	if want := `{"R":"same"}[same]`; err != nil || !slices.Equal(rows, []string{want}) {
		t.Errorf("got %v, %v", rows, err)
	}
}
