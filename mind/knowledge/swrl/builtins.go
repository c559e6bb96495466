package swrl

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

func (a atom) builtin() string { return strings.TrimPrefix(a.of.Value, NSBuiltin) }

// builtin is a predicate over literals: a test, or a value that the first argument is.
type builtin struct {
	least, most int // how many arguments; a most of -1 is any number
	test        func(args []rdf.Term) bool
	value       func(args []rdf.Term) (rdf.Term, bool) // of the arguments after the first
}

func (m *match) builtin(a atom, goOn func() bool) bool {
	b := builtins[a.builtin()]
	args := make([]rdf.Term, len(a.args))
	for i, arg := range a.args {
		args[i] = m.get(arg)
		if !args[i].IsZero() && args[i].Kind != rdf.Literal && b.value != nil {
			return true // no builtin makes a value of an individual
		}
	}
	if b.test != nil {
		return !b.test(args) || goOn()
	}
	value, ok := b.value(args[1:])
	switch {
	case !ok:
		return true
	case args[0].IsZero():
		return m.with(a.args[0], value, goOn)
	}
	return !rdf.Equal(args[0], value) || goOn()
}

// number returns the value of a literal, exactly; nil if it is none.
func number(t rdf.Term) *big.Rat {
	text := strings.TrimSpace(t.Value)
	if t.Kind != rdf.Literal || len(text) > 400 || strings.ContainsAny(text, "/_xXpPbBoO") {
		return nil
	}
	if f, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil
	}
	r, _ := new(big.Rat).SetString(text)
	return r
}

// equality is a test whether two literals mean the same, or two individuals are one; of a literal and an individual there is
// none.
func equality(wanted bool) builtin {
	return builtin{least: 2, most: 2, test: func(args []rdf.Term) bool {
		return (args[0].Kind == rdf.Literal) == (args[1].Kind == rdf.Literal) && rdf.Equal(args[0], args[1]) == wanted
	}}
}

// ordered is a test of how two literals compare; it does not hold of those that are in no order.
func ordered(holds func(c int) bool) builtin {
	return builtin{least: 2, most: 2, test: func(args []rdf.Term) bool {
		c, ok := rdf.Compare(args[0], args[1])
		return ok && holds(c)
	}}
}

func tests(holds func(a, b string) bool) builtin {
	return builtin{least: 2, most: 2, test: func(args []rdf.Term) bool {
		return args[0].Kind == rdf.Literal && args[1].Kind == rdf.Literal && holds(args[0].Value, args[1].Value)
	}}
}

// numeric is a number made of others; nil is none.
func numeric(least, most int, of func(args []*big.Rat) *big.Rat) builtin {
	return builtin{least: least + 1, most: withValue(most), value: func(args []rdf.Term) (rdf.Term, bool) {
		numbers := make([]*big.Rat, len(args))
		double := false
		for i, arg := range args {
			if numbers[i] = number(arg); numbers[i] == nil {
				return rdf.Term{}, false
			}
			double = double || arg.Type == rdf.NSXSD+"double" || arg.Type == rdf.NSXSD+"float"
		}
		r := of(numbers)
		if r == nil {
			return rdf.Term{}, false
		}
		return literal(r, double), true
	}}
}

// withValue counts the argument that is the value, too.
func withValue(most int) int {
	if most < 0 {
		return most
	}
	return most + 1
}

// maxDigits is how many digits a decimal has after its point.
const maxDigits = 400

// literal returns a number: a double or, if it is whole, an integer, or a decimal, with all its digits if they end.
func literal(r *big.Rat, double bool) rdf.Term {
	f, _ := r.Float64()
	if double {
		return rdf.NewTyped(strconv.FormatFloat(f, 'g', -1, 64), rdf.NSXSD+"double")
	}
	if r.IsInt() {
		return rdf.NewTyped(r.Num().String(), rdf.NSXSD+"integer")
	}
	if digits, exact := r.FloatPrec(); exact && digits <= maxDigits {
		return rdf.NewTyped(r.FloatString(digits), rdf.NSXSD+"decimal")
	}
	return rdf.NewTyped(strconv.FormatFloat(f, 'f', -1, 64), rdf.NSXSD+"decimal")
}

// texts is a text made of others.
func texts(least, most int, of func(args []string) (string, bool)) builtin {
	return builtin{least: least + 1, most: withValue(most), value: func(args []rdf.Term) (rdf.Term, bool) {
		values := make([]string, len(args))
		for i, arg := range args {
			values[i] = arg.Value
		}
		s, ok := of(values)
		return rdf.NewText(s), ok && len(s) <= 1<<20
	}}
}

func float(f func(x float64) float64) builtin {
	return numeric(1, 1, func(n []*big.Rat) *big.Rat {
		x, _ := n[0].Float64()
		return new(big.Rat).SetFloat64(f(x))
	})
}

func divided(n []*big.Rat, round func(q *big.Rat) *big.Rat) *big.Rat {
	if n[1].Sign() == 0 {
		return nil
	}
	return round(new(big.Rat).Quo(n[0], n[1]))
}

func floor(r *big.Rat) *big.Rat {
	// The denominator is positive, so Euclid's division rounds down.
	return new(big.Rat).SetInt(new(big.Int).Div(r.Num(), r.Denom()))
}

func ceiling(r *big.Rat) *big.Rat {
	low := floor(new(big.Rat).Neg(r))
	return low.Neg(low)
}

func truncated(r *big.Rat) *big.Rat {
	if r.Sign() < 0 {
		return ceiling(r)
	}
	return floor(r)
}

// builtins are those that are supported, by their names.
var builtins = map[string]builtin{
	"equal":              equality(true),
	"notEqual":           equality(false),
	"lessThan":           ordered(func(c int) bool { return c < 0 }),
	"lessThanOrEqual":    ordered(func(c int) bool { return c <= 0 }),
	"greaterThan":        ordered(func(c int) bool { return c > 0 }),
	"greaterThanOrEqual": ordered(func(c int) bool { return c >= 0 }),

	"add": numeric(1, -1, func(n []*big.Rat) *big.Rat {
		sum := new(big.Rat)
		for _, x := range n {
			sum.Add(sum, x)
		}
		return sum
	}),
	"multiply": numeric(1, -1, func(n []*big.Rat) *big.Rat {
		product := big.NewRat(1, 1)
		for _, x := range n {
			product.Mul(product, x)
		}
		return product
	}),
	"subtract": numeric(2, 2, func(n []*big.Rat) *big.Rat { return new(big.Rat).Sub(n[0], n[1]) }),
	"divide":   numeric(2, 2, func(n []*big.Rat) *big.Rat { return divided(n, func(q *big.Rat) *big.Rat { return q }) }),
	"integerDivide": numeric(2, 2, func(n []*big.Rat) *big.Rat {
		return divided(n, truncated)
	}),
	"mod": numeric(2, 2, func(n []*big.Rat) *big.Rat {
		q := divided(n, truncated)
		if q == nil {
			return nil
		}
		return q.Sub(n[0], q.Mul(q, n[1]))
	}),
	"pow": numeric(2, 2, func(n []*big.Rat) *big.Rat {
		x, _ := n[0].Float64()
		y, _ := n[1].Float64()
		return new(big.Rat).SetFloat64(math.Pow(x, y))
	}),
	"unaryPlus":  numeric(1, 1, func(n []*big.Rat) *big.Rat { return n[0] }),
	"unaryMinus": numeric(1, 1, func(n []*big.Rat) *big.Rat { return new(big.Rat).Neg(n[0]) }),
	"abs":        numeric(1, 1, func(n []*big.Rat) *big.Rat { return new(big.Rat).Abs(n[0]) }),
	"floor":      numeric(1, 1, func(n []*big.Rat) *big.Rat { return floor(n[0]) }),
	"ceiling":    numeric(1, 1, func(n []*big.Rat) *big.Rat { return ceiling(n[0]) }),
	"round":      numeric(1, 1, func(n []*big.Rat) *big.Rat { return floor(new(big.Rat).Add(n[0], big.NewRat(1, 2))) }),
	"sin":        float(math.Sin),
	"cos":        float(math.Cos),
	"tan":        float(math.Tan),

	"stringEqualIgnoreCase": tests(strings.EqualFold),
	"contains":              tests(strings.Contains),
	"containsIgnoreCase":    tests(func(a, b string) bool { return strings.Contains(strings.ToLower(a), strings.ToLower(b)) }),
	"startsWith":            tests(strings.HasPrefix),
	"endsWith":              tests(strings.HasSuffix),
	"matches": tests(func(a, b string) bool {
		if len(b) > 1000 {
			return false
		}
		e, err := regexp.Compile(`\A(?:` + b + `)\z`)
		return err == nil && e.MatchString(a)
	}),
	"stringConcat":   texts(1, -1, func(s []string) (string, bool) { return strings.Join(s, ""), true }),
	"upperCase":      texts(1, 1, func(s []string) (string, bool) { return strings.ToUpper(s[0]), true }),
	"lowerCase":      texts(1, 1, func(s []string) (string, bool) { return strings.ToLower(s[0]), true }),
	"normalizeSpace": texts(1, 1, func(s []string) (string, bool) { return strings.Join(strings.Fields(s[0]), " "), true }),
	"substring":      texts(2, 3, substring),
	"stringLength": {least: 2, most: 2, value: func(args []rdf.Term) (rdf.Term, bool) {
		return rdf.NewTyped(strconv.Itoa(utf8.RuneCountInString(args[0].Value)), rdf.NSXSD+"integer"), true
	}},
	"booleanNot": {least: 2, most: 2, value: func(args []rdf.Term) (rdf.Term, bool) {
		v := args[0].Value
		is := v == "true" || v == "1"
		return rdf.NewTyped(strconv.FormatBool(!is), rdf.NSXSD+"boolean"), is || v == "false" || v == "0"
	}},
}

// substring takes a text from a character on, the first of which is 1, and so many.
func substring(s []string) (string, bool) {
	from, err := strconv.Atoi(strings.TrimSpace(s[1]))
	chars := []rune(s[0])
	n := len(chars)
	if len(s) == 3 && err == nil {
		n, err = strconv.Atoi(strings.TrimSpace(s[2]))
	}
	if err != nil || from > 1<<30 || from < -1<<30 || n < 0 || n > 1<<30 {
		return "", false
	}
	low := min(max(from-1, 0), len(chars))
	high := len(chars)
	if len(s) == 3 {
		high = min(max(from-1+n, low), len(chars))
	}
	return string(chars[low:high]), true
}
