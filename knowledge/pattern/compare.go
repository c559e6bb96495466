package pattern

import (
	"math"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/seed-301d4374/engram/knowledge/rdf"
)

// compared is what the name of a variable begins with where it is compared: it is the term itself then, and not
// what CEL makes of it, which has neither large numbers nor times without a zone.
const compared = "@"

// comparing is the function that compares with variables.
const comparing = "@compare"

// comparisons have CEL's operators compare variables by what their literals mean ([rdf.Compare]).
func comparisons() (options []cel.EnvOption) {
	for _, op := range []string{
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.In,
	} {
		options = append(options, cel.Macros(cel.GlobalMacro(op, 2, func(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			some := false
			call := []ast.Expr{f.NewLiteral(types.String(op))}
			for _, arg := range args {
				if arg.Kind() == ast.IdentKind && strings.HasPrefix(arg.AsIdent(), "_") {
					some = true
					arg = f.NewIdent(compared + arg.AsIdent())
				}
				call = append(call, arg)
			}
			if !some {
				return nil, nil // CEL's own
			}
			return f.NewCall(comparing, call...), nil
		})))
	}
	return append(options, cel.Function(comparing, cel.Overload(comparing+"_dyn_dyn", []*cel.Type{cel.StringType, cel.DynType, cel.DynType}, cel.BoolType,
		cel.FunctionBinding(func(args ...ref.Val) ref.Val { return compare(string(args[0].(types.String)), args[1], args[2]) }))))
}

// operand is the value of a variable that is compared.
type operand struct {
	ref.Val // never used
	term    rdf.Term
}

// compare answers an operator on a variable and another value.
func compare(op string, a, b ref.Val) ref.Val {
	if op == operators.In {
		list, ok := b.(traits.Lister)
		if !ok {
			return types.NewErr("no such overload: a value is looked for in a list")
		}
		for it := list.Iterator(); it.HasNext() == types.True; {
			if equal(a, it.Next()) {
				return types.True
			}
		}
		return types.False
	}
	switch op {
	case operators.Equals:
		return types.Bool(equal(a, b))
	case operators.NotEquals:
		return types.Bool(!equal(a, b))
	}
	x, y, ok := sides(a, b)
	c := strings.Compare(x.Value, y.Value)
	if ok && (x.Kind == rdf.Literal || y.Kind == rdf.Literal) {
		c, ok = rdf.Compare(x, y)
	}
	if !ok {
		return types.NewErr("no such overload: %s and %s are in no order", shown(a), shown(b))
	}
	switch op {
	case operators.Less:
		return types.Bool(c < 0)
	case operators.LessEquals:
		return types.Bool(c <= 0)
	case operators.Greater:
		return types.Bool(c > 0)
	}
	return types.Bool(c >= 0)
}

func equal(a, b ref.Val) bool {
	if a == types.NullValue || b == types.NullValue {
		return a == b
	}
	x, y, ok := sides(a, b)
	return ok && rdf.Equal(x, y)
}

// sides returns two values as terms; ok is false if one is none. A string of CEL is compared with the text of what is a
// string in CEL: of an IRI, too, and of a text in any language.
func sides(a, b ref.Val) (x, y rdf.Term, ok bool) {
	x, known := termOf(a)
	y, ok = termOf(b)
	textOf := func(t rdf.Term) rdf.Term {
		if s, is := valueOf(t).(types.String); is {
			return rdf.NewText(string(s))
		}
		return t
	}
	if _, is := a.(types.String); is && ok {
		y = textOf(y)
	}
	if _, is := b.(types.String); is && known {
		x = textOf(x)
	}
	return x, y, known && ok
}

// termOf returns a value of CEL as a term. A double is what it is written as: 0.1 is the decimal.
func termOf(v ref.Val) (t rdf.Term, ok bool) {
	switch v := v.(type) {
	case operand:
		return v.term, true
	case types.String:
		return rdf.NewText(string(v)), true
	case types.Int:
		return rdf.NewTyped(strconv.FormatInt(int64(v), 10), rdf.NSXSD+"integer"), true
	case types.Uint:
		return rdf.NewTyped(strconv.FormatUint(uint64(v), 10), rdf.NSXSD+"integer"), true
	case types.Double:
		switch f := float64(v); {
		case math.IsNaN(f):
			return rdf.NewTyped("NaN", rdf.NSXSD+"double"), true
		case math.IsInf(f, 0):
			return rdf.NewTyped(strings.Replace(strconv.FormatFloat(f, 'g', -1, 64), "Inf", "INF", 1), rdf.NSXSD+"double"), true
		default:
			return rdf.NewTyped(strconv.FormatFloat(f, 'f', -1, 64), rdf.NSXSD+"decimal"), true
		}
	case types.Bool:
		return rdf.NewTyped(strconv.FormatBool(bool(v)), rdf.NSXSD+"boolean"), true
	case types.Timestamp:
		return rdf.NewTyped(v.Time.UTC().Format(time.RFC3339Nano), rdf.NSXSD+"dateTime"), true
	case types.Duration:
		sign, rest := "", v.Duration
		if rest < 0 {
			sign, rest = "-", -rest
		}
		return rdf.NewTyped(sign+"PT"+strconv.FormatFloat(rest.Seconds(), 'f', 9, 64)+"S", rdf.NSXSD+"dayTimeDuration"), true
	}
	return t, false
}

func shown(v ref.Val) string {
	if t, ok := termOf(v); ok {
		return t.String()
	}
	return "a " + v.Type().TypeName()
}
