package pattern

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// compared is what the name of a variable begins with where it is compared: it is the term itself then, and not
// what CEL makes of it, which has neither large numbers nor times without a zone.
const compared = "@"

// comparing is the function that compares with variables, meaning the one that has what is written beside them mean what
// a literal does, once for all rows if it is a constant.
const (
	comparing = "@compare"
	meaning   = "@meaning"
)

// large is the function that returns an integer beyond 64 bits.
const large = "@integer"

// largeName is the name that stands for such an integer in CEL's text: its first digit is a letter from A on.
var largeName = regexp.MustCompile(`^[A-J][0-9]{18,}$`)

// digitsOf returns the integer that a name stands for.
func digitsOf(name string) string { return string(name[0]-'A'+'0') + name[1:] }

// largeInteger returns the digits of an integer beyond 64 bits, with its sign; "" of what is none.
func largeInteger(e ast.Expr) string {
	sign := ""
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Negate {
		sign, e = "-", e.AsCall().Args()[0]
	}
	if e.Kind() != ast.IdentKind || !largeName.MatchString(e.AsIdent()) {
		return ""
	}
	return sign + digitsOf(e.AsIdent())
}

// comparisons have CEL's operators compare variables by what their literals mean ([rdf.Compare]).
func comparisons() (options []cel.EnvOption) {
	for _, op := range []string{
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.In,
	} {
		options = append(options, cel.Macros(cel.GlobalMacro(op, 2, func(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			some := false
			side := func(arg ast.Expr) ast.Expr {
				if digits := largeInteger(arg); digits != "" {
					some = true
					return f.NewCall(large, f.NewLiteral(types.String(digits)))
				}
				switch {
				case arg.Kind() == ast.IdentKind && strings.HasPrefix(arg.AsIdent(), "_"):
					some = true
					return f.NewIdent(compared + arg.AsIdent())
				case mentionsVariable(arg):
					return arg
				}
				return f.NewCall(meaning, arg)
			}
			call := []ast.Expr{f.NewLiteral(types.String(op))}
			for i, arg := range args {
				switch {
				case op != operators.In || i == 0:
					arg = side(arg)
				case arg.Kind() == ast.ListKind:
					var elements []ast.Expr
					for _, e := range arg.AsList().Elements() {
						elements = append(elements, side(e))
					}
					arg = f.NewList(elements...)
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
		cel.FunctionBinding(func(args ...ref.Val) ref.Val { return compare(string(args[0].(types.String)), args[1], args[2]) }))),
		cel.Function(large, cel.Overload(large+"_string", []*cel.Type{cel.StringType}, cel.DynType, cel.UnaryBinding(func(digits ref.Val) ref.Val {
			return newOperand(rdf.NewTyped(string(digits.(types.String)), rdf.NSXSD+"integer"))
		}))),
		cel.Function(meaning, cel.Overload(meaning+"_dyn", []*cel.Type{cel.DynType}, cel.DynType, cel.UnaryBinding(written))))
}

func mentionsVariable(e ast.Expr) (does bool) {
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		does = does || e.Kind() == ast.IdentKind && strings.HasPrefix(strings.TrimPrefix(e.AsIdent(), compared), "_")
	}))
	return does
}

// constants has what is written mean what it does when a condition is compiled, and not once for each row.
func constants(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if call, ok := i.(interpreter.InterpretableCall); ok && call.Function() == meaning {
		if it, ok := call.Args()[0].(interpreter.InterpretableConst); ok {
			return interpreter.NewConstValue(call.ID(), written(it.Value())), nil
		}
	}
	return i, nil
}

// operand is what is compared: the value of a variable, or what is written beside one.
type operand struct {
	ref.Val // never used
	term    rdf.Term
	value   rdf.Value
	as      ref.Type // the other one is taken as CEL has it, if it is of this type there
}

func newOperand(t rdf.Term) operand { return operand{types.NullValue, t, rdf.ValueOf(t), nil} }

// written returns the operand of what has no variable. A time is the instant that it says.
func written(v ref.Val) ref.Val {
	x, ok := operandOf(v)
	if !ok {
		return v
	}
	if x.as == types.TimestampType {
		x.as = nil
	}
	return x
}

// operandOf returns a value as an operand. A string of CEL is compared with the text of what is a string in CEL: of an
// IRI, too, and of a text in any language. A time that CEL has reckoned is compared with what CEL has, to which a time without
// a zone is one of UTC.
func operandOf(v ref.Val) (x operand, ok bool) {
	if x, ok = v.(operand); ok {
		return x, true
	}
	t, ok := termOf(v)
	if !ok {
		return x, false
	}
	x = newOperand(t)
	if of := v.Type(); of == types.StringType || of == types.TimestampType {
		x.as = of
	}
	return x, true
}

// beside returns an operand as it is compared with another one.
func (x operand) beside(y operand) operand {
	if y.as != nil {
		if v := valueOf(x.term); v.Type() == y.as {
			x, _ = operandOf(v)
		}
	}
	return x
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
	c := strings.Compare(x.term.Value, y.term.Value)
	if ok && (x.term.Kind == rdf.Literal || y.term.Kind == rdf.Literal) {
		v, w := rdf.Alike(x.value, y.value)
		c, ok = v.Compare(w)
	}
	if !ok {
		return types.False
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
	if !ok || x.term.Kind != rdf.Literal || y.term.Kind != rdf.Literal {
		return ok && x.term == y.term
	}
	v, w := rdf.Alike(x.value, y.value)
	return v.Equal(w)
}

// sides returns two values as operands; ok is false if one is none.
func sides(a, b ref.Val) (x, y operand, ok bool) {
	x, known := operandOf(a)
	y, ok = operandOf(b)
	return x.beside(y), y.beside(x), known && ok
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
